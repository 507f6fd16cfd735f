// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients of functions over trees. The function is traced apart, its gradient is built in the same graph, and the
// call of that is recorded in its place; so gradients compose with jit, compile, control flow and themselves. Outside
// of a trace they compile themselves, as jitted functions do, and what is compiled is kept: `grad(f)(x)` in a loop is
// compiled in its first trip. What is kept belongs to the line of the call, the function, and the types and sizes of
// its arguments, as in jit. A function without captures (a lambda `[]`, a pointer to a function) that uses no tensor
// from outside is traced once; numbers that it reads from outside are those of that time. One that captures is traced
// each time, and compiled when it is another one than before; tensors that it captures may differ in their elements
// (integers and booleans of up to 64 elements, which may be sizes, may not).
//
// Of trees, gradients are by the leaves of floats; leaves of integers and booleans (a counter in a model, say) have
// zeros of their own type there. An argument that is itself such a tensor, or has no floats at all, is an error.

#ifndef SINTER_TRACE_GRADIENT_HPP
#define SINTER_TRACE_GRADIENT_HPP

#include "jit.hpp"
#include "tape.hpp"
#include <array>

namespace sinter::inline SINTER_HOST {

struct GradientOptions {
  /// What whiles keep for the backward pass: all, recompute, period(K), binomial(SLOTS), online(SLOTS), implicit;
  /// empty: what each loop says, else all.
  std::string memory = {};
};

namespace detail {

/// The function that is differentiated: reads a tuple of arguments, fills a result.
using ApplyCall = FunctionRef<void(const void *args, void *result)>;

/// What a gradient function gives, as tensors of the trace.
struct Gradients {
  std::vector<Tensor> results; // the value's leaves where the mode has them, then the derivative's
  Tensor problem;

  /// Fills the leaves of `like`, a tree like the derivative, or gives them the error.
  void derivative(AnyTree like) const;
};

/// Traces `f(args)` apart, builds its gradient by the leaves `wrt`, and records the call; fills `value` where the mode
/// has it. `more` are cotangents or tangents.
Gradients recordGradient(const char *name, int mode, ApplyCall f, AnyTree args, AnyTree value,
                         std::span<const int32_t> wrt, std::span<const Tensor> more, const GradientOptions &options,
                         Where where);
/// Numbers of the leaves of the trees `which` among those of all `trees`.
std::vector<int32_t> leavesOf(std::span<const AnyTree> trees, std::initializer_list<size_t> which);
/// Numbers of all leaves.
std::vector<int32_t> allLeavesOf(AnyTree tree);
std::vector<std::string> argumentNames(AnyTree args);

/// Records `f(args)` so that a backward pass computes it again.
void recordCheckpoint(ApplyCall f, AnyTree args, AnyTree result, Where where);

/// Forward part: fills the result and residuals. Backward part: reads residuals and cotangent, fills cotangents.
using BackwardCall = FunctionRef<void(const void *residuals, const void *cotangent, void *cotangents)>;
struct CustomVjp {
  AnyTree args, result, pair, firstOfPair, secondOfPair, cotangents;
  ApplyCall forward;
  BackwardCall backward;
  Where where;
};
void recordCustomVjp(const CustomVjp &parts);

void stopGradient(AnyTree tree, Where where);

/// `f` as a call that knows its types.
template <class Args, class F> auto applies(F &f) {
  return [&f](const void *args, void *result) {
    using Result = result_t<F, Args>;
    *static_cast<Result *>(result) = applyFunction(f, *static_cast<const Args *>(args));
  };
}

/// Arguments I...: one tree, or a tuple of several.
template <size_t... I, class Args> auto pickArguments(const Args &args) {
  if constexpr (sizeof...(I) == 1)
    return std::get<I...>(args);
  else
    return std::make_tuple(std::get<I>(args)...);
}

/// The function that `grad` and `value_and_grad` make; runs inside of a trace.
template <class F, bool WithValue, size_t... I> struct GradientFunction {
  using Wrapped = F;
  mutable F f;
  GradientOptions options;
  Where where;

  template <class... Args>
    requires std::is_invocable_v<F &, const tree_t<Args> &...>
  auto operator()(const Args &...given) const {
    using Arguments = std::tuple<tree_t<Args>...>;
    using Result = result_t<F, Arguments>;
    Arguments args(given...);
    Result value{};
    std::vector<int32_t> wrt =
        std::apply([](const auto &...arg) { return leavesOf(std::array{anyTree(arg)...}, {I...}); }, args);
    Gradients made =
        recordGradient(WithValue ? "value_and_grad" : "grad", WithValue ? SINTER_VALUE_AND_GRAD : SINTER_GRAD,
                       applies<Arguments>(f), anyTree(args), anyTree(value), wrt, {}, options, where);
    auto gradients = pickArguments<I...>(args);
    made.derivative(anyTree(gradients));
    if constexpr (WithValue)
      return std::pair(std::move(value), std::move(gradients));
    else
      return gradients;
  }
  template <class... Trees> auto plain(const Trees &...args) const { return applyFunction(f, std::tie(args...)); }
  bool identify(std::string &state) const {
    return state.append(options.memory) += '\0', detail::identify(std::as_const(f), state);
  }
};

/// The function that `checkpoint` makes.
template <class F> struct CheckpointFunction {
  using Wrapped = F;
  mutable F f;
  Where where;

  template <class... Args>
    requires std::is_invocable_v<F &, const tree_t<Args> &...>
  auto operator()(const Args &...given) const {
    using Arguments = std::tuple<tree_t<Args>...>;
    using Result = result_t<F, Arguments>;
    Arguments args(given...);
    if (!tracing())
      return applyFunction(f, args);
    Result result{};
    recordCheckpoint(applies<Arguments>(f), anyTree(args), anyTree(result), where);
    return result;
  }
  bool identify(std::string &state) const { return detail::identify(std::as_const(f), state); }
};

template <class Args, class Given>
concept CotangentsOf =
    (IsTuple<Given>::value && requires { requires std::tuple_size_v<Given> == std::tuple_size_v<Args>; }) ||
    (std::tuple_size_v<Args> == 1 && std::is_same_v<tree_t<Given>, std::tuple_element_t<0, Args>>);

/// The function that `custom_vjp` makes.
template <class F, class Forward, class Backward> struct CustomVjpFunction {
  using Wrapped = F;
  mutable F f;
  mutable Forward forward;
  mutable Backward backward;
  Where where;

  template <class... Args>
    requires std::is_invocable_v<F &, const tree_t<Args> &...>
  auto operator()(const Args &...given) const {
    using Arguments = std::tuple<tree_t<Args>...>;
    Arguments args(given...);
    using Result = decltype(applyFunction(f, args));
    using Pair = decltype(applyFunction(forward, args));
    static_assert(IsTuple<Pair>::value && std::tuple_size_v<Pair> == 2,
                  "the forward function of custom_vjp returns a pair: the result, and what the backward one needs");
    static_assert(std::is_same_v<Result, std::tuple_element_t<0, Pair>>,
                  "the function of custom_vjp and the forward one return results of one type");
    using Residuals = std::tuple_element_t<1, Pair>;
    using Cotangents = std::invoke_result_t<Backward &, const Residuals &, const Result &>;
    static_assert(CotangentsOf<Arguments, Cotangents>,
                  "the backward function of custom_vjp returns a tuple with a tree like each argument");
    using Given = std::conditional_t<std::is_same_v<tree_t<Cotangents>, std::tuple_element_t<0, Arguments>>,
                                     std::tuple<tree_t<Cotangents>>, Arguments>;
    if (!tracing() && isRecorded(anyTree(args)))
      return onTape<Arguments, Result, Residuals, Given>(std::move(args));
    if (!tracing())
      return applyFunction(f, args);
    Result result{};
    Pair pair{};
    Given back{};
    recordCustomVjp({anyTree(args), anyTree(result), anyTree(pair), anyTree(std::get<0>(pair)),
                     anyTree(std::get<1>(pair)), anyTree(back),
                     [&](const void *used, void *out) {
                       *static_cast<Pair *>(out) = applyFunction(forward, *static_cast<const Arguments *>(used));
                     },
                     [&](const void *residuals, const void *cotangent, void *out) {
                       *static_cast<Given *>(out) = cotangentsOf<Given>(*static_cast<const Residuals *>(residuals),
                                                                        *static_cast<const Result *>(cotangent));
                     },
                     where});
    return result;
  }
  template <class Given, class Residuals, class Result>
  Given cotangentsOf(const Residuals &residuals, const Result &cotangent) const {
    auto given = backward(residuals, cotangent);
    if constexpr (std::is_same_v<tree_t<decltype(given)>, std::tuple_element_t<0, Given>>)
      return Given(asTree(given));
    else
      return treeCast<Given>(std::move(given));
  }
  /// Runs the forward function and records the backward one. Where gradients are recorded, the forward one runs again.
  template <class Arguments, class Result, class Residuals, class Given> Result onTape(Arguments args) const {
    struct State {
      CustomVjpFunction function;
      Arguments args;
      Result result;
      Residuals residuals;
    };
    auto made = no_grad([&] { return applyFunction(forward, args); });
    auto state = std::make_shared<State>(State{*this, std::move(args), std::get<0>(made), std::get<1>(made)});
    Result result = std::get<0>(std::move(made));
    recordCall("custom_vjp", anyTree(state->args), anyTree(result),
               {state,
                [](void *held, std::span<const Tensor> cotangents, bool create) {
                  auto &state = *static_cast<State *>(held);
                  Result given = state.result;
                  anyTree(given).setLeaves(cotangents);
                  Residuals residuals = state.residuals;
                  if (create)
                    residuals = std::get<1>(applyFunction(state.function.forward, state.args));
                  return anyTree(state.function.template cotangentsOf<Given>(residuals, given)).leaves();
                }},
               where);
    return result;
  }
  bool identify(std::string &state) const {
    return detail::identify(std::as_const(f), state) && detail::identify(std::as_const(forward), state) &&
           detail::identify(std::as_const(backward), state);
  }
};

/// `run(args, directions)`, which differentiates `f` at `args`.
template <class F, class Run> struct DirectedFunction {
  F &f;
  Run run;
  const std::string &memory;

  template <class Args, class Directions> auto operator()(const Args &args, const Directions &directions) const {
    return run(args, directions);
  }
  template <class Args, class Directions> auto plain(const Args &args, const Directions &) const {
    return applyFunction(f, args);
  }
  bool identify(std::string &state) const {
    return state.append(memory) += '\0', detail::identify(std::as_const(f), state);
  }
};

/// `run(args, directions)` in a trace: the one that is open, or one of its own that is compiled.
template <class F, class Run, class Args, class Directions>
auto inTrace(F &f, Run run, const std::string &memory, Where where, const Args &args, const Directions &directions) {
  return Jitted<DirectedFunction<F, Run>>({f, std::move(run), memory}, where)(args, directions);
}

} // namespace detail

/// The gradient of `f`, whose result is a float of rank 0 (or a tree that begins with one), by arguments I..., by
/// default the first: a tree like that argument, a tuple of trees for several.
template <size_t... I, class F> auto grad(F &&f, GradientOptions options = {}, Where where = Where::current()) {
  using Plain = std::decay_t<F>;
  if constexpr (sizeof...(I) == 0)
    return grad<0>(std::forward<F>(f), std::move(options), where);
  else
    return Jitted<detail::GradientFunction<Plain, false, I...>>({std::forward<F>(f), std::move(options), where}, where);
}

/// A pair of the result of `f` and its gradient.
template <size_t... I, class F>
auto value_and_grad(F &&f, GradientOptions options = {}, Where where = Where::current()) {
  using Plain = std::decay_t<F>;
  if constexpr (sizeof...(I) == 0)
    return value_and_grad<0>(std::forward<F>(f), std::move(options), where);
  else
    return Jitted<detail::GradientFunction<Plain, true, I...>>({std::forward<F>(f), std::move(options), where}, where);
}

/// Reverse mode: a pair of `f(primals...)` and the cotangents of the primals (a tuple), given those of the results.
template <class F, class... Primals, class Cotangents>
auto vjp(F &&f, const std::tuple<Primals...> &primals, const Cotangents &cotangents, GradientOptions options = {},
         Where where = Where::current()) {
  using Args = std::tuple<detail::tree_t<Primals>...>;
  auto run = [&](const Args &args, const detail::tree_t<Cotangents> &given) {
    using Result = detail::result_t<std::remove_reference_t<F>, Args>;
    std::pair<Result, Args> both{Result{}, args};
    auto made = detail::recordGradient("vjp", SINTER_VJP, detail::applies<Args>(f), detail::anyTree(args),
                                       detail::anyTree(both.first), detail::allLeavesOf(detail::anyTree(args)),
                                       flatten(given), options, where);
    made.derivative(detail::anyTree(both.second));
    return both;
  };
  return detail::inTrace(f, run, options.memory, where, primals, cotangents);
}

/// Forward mode: a pair of `f(primals...)` and its tangent, given the tangents of the primals.
template <class F, class... Primals, class... Tangents>
auto jvp(F &&f, const std::tuple<Primals...> &primals, const std::tuple<Tangents...> &tangents,
         Where where = Where::current()) {
  using Args = std::tuple<detail::tree_t<Primals>...>;
  auto run = [&](const Args &args, const Args &directions) {
    using Result = detail::result_t<std::remove_reference_t<F>, Args>;
    std::pair<Result, Result> both{};
    auto made = detail::recordGradient("jvp", SINTER_JVP, detail::applies<Args>(f), detail::anyTree(args),
                                       detail::anyTree(both.first), detail::allLeavesOf(detail::anyTree(args)),
                                       flatten(directions), {}, where);
    both.second = both.first;
    made.derivative(detail::anyTree(both.second));
    return both;
  };
  return detail::inTrace(f, run, GradientOptions().memory, where, primals, tangents);
}

/// The second derivative of `f`, whose result is a float of rank 0, times `direction`: a tuple like `primals`.
template <class F, class... Primals, class... Tangents>
auto hessian_vector_product(F &&f, const std::tuple<Primals...> &primals, const std::tuple<Tangents...> &direction,
                            GradientOptions options = {}, Where where = Where::current()) {
  using Args = std::tuple<detail::tree_t<Primals>...>;
  auto run = [&](const Args &args, const Args &vectors) {
    detail::result_t<std::remove_reference_t<F>, Args> value{};
    Args product = args;
    detail::recordGradient("hessian_vector_product", SINTER_HVP, detail::applies<Args>(f), detail::anyTree(args),
                           detail::anyTree(value), detail::allLeavesOf(detail::anyTree(args)), flatten(vectors),
                           options, where)
        .derivative(detail::anyTree(product));
    return product;
  };
  return detail::inTrace(f, run, options.memory, where, primals, direction);
}

/// `tree`, through which no gradient goes.
template <class Tree> auto stop_gradient(const Tree &given, Where where = Where::current()) {
  detail::tree_t<Tree> tree = detail::asTree(given);
  detail::stopGradient(detail::anyTree(tree), where);
  return tree;
}

/// `f`, of which a backward pass keeps the arguments only, and computes the rest again.
template <class F> auto checkpoint(F &&f, Where where = Where::current()) {
  return detail::CheckpointFunction<std::decay_t<F>>{std::forward<F>(f), where};
}

/// `f` with a gradient of its own. `forward` takes the same and returns a pair: the result, and residuals, a tree of
/// what `backward(residuals, cotangent)` needs, which returns a tuple with a tree like each argument (for one argument,
/// that tree). What is no float has no cotangent: a Tensor() in both directions. Tensors that the functions capture
/// have no gradient, and to ask for one is an error. Second derivatives are those of `forward` and `backward`; forward
/// mode has none. Traced, `forward` is recorded; `f` runs outside of traces.
///
///   auto clipped = custom_vjp([](Tensor x) { return x * x; },
///                             [](Tensor x) { return std::pair{x * x, x}; },
///                             [](Tensor x, Tensor dy) { return clip(2 * x * dy, -1, 1); });
template <class F, class Forward, class Backward>
auto custom_vjp(F &&f, Forward &&forward, Backward &&backward, Where where = Where::current()) {
  return detail::CustomVjpFunction<std::decay_t<F>, std::decay_t<Forward>, std::decay_t<Backward>>{
      std::forward<F>(f), std::forward<Forward>(forward), std::forward<Backward>(backward), where};
}

struct GradientCheckOptions {
  double tolerance = 1e-6; // relative to max(1, largest magnitude of what is compared)
  double step = 1e-5;      // of the differences, relative to max(1, |x|)
  uint64_t seed = 0;
  int64_t elements = 32; // of each argument that are moved one by one
  /// Compare forward with reverse mode as well; functions of custom_vjp do not have it.
  bool forward_mode = true;
  std::string memory = {}; // as in GradientOptions
};

/// What `check_gradients` found. Errors are relative to max(1, magnitude).
struct GradientCheck {
  bool passed = false;
  double elements = 0;  // gradients against central differences, element by element
  double direction = 0; // along a random direction
  double transpose = 0; // forward against reverse mode
  std::string worst;    // the tensor with the largest of `elements`: "argument 0.w"
  explicit operator bool() const { return passed; }
  /// The error of tracing, in a program without exceptions.
  const Error *error() const { return failure.get(); }
  /// "largest error 3e-10 by single elements (argument 0.w), 2e-11 along a direction, ...".
  std::string str() const;
  std::shared_ptr<Error> failure;
};

namespace detail {
/// The leaves of `args` as specs; false with the error in `check`.
bool checkedSpecs(AnyTree args, std::vector<Spec> &specs, GradientCheck &check, Where where);
void checkGraph(const Graph &graph, AnyTree args, const GradientCheckOptions &options, GradientCheck &check,
                Where where);
} // namespace detail

/// Compares gradients of `f` at `args`, by all of their floats, with central differences, in f64 on the reference
/// evaluator whatever the element types: `check_gradients(f, std::tuple{x, weights})`.
template <class F, class... Args>
GradientCheck check_gradients(F &&f, const std::tuple<Args...> &given, const GradientCheckOptions &options = {},
                              Where where = Where::current()) {
  GradientCheck check;
  auto args = detail::treeCast<std::tuple<detail::tree_t<Args>...>>(given);
  std::vector<Spec> specs;
  if (detail::checkedSpecs(detail::anyTree(args), specs, check, where))
    detail::checkGraph(traceWith(f, args, std::span<const Spec>(specs), "main", {}, {}, where), detail::anyTree(args),
                       options, check, where);
  return check;
}

} // namespace sinter::inline SINTER_HOST

#endif

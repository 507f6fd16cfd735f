// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients of functions over trees. The function is traced apart, its gradient is built in the same graph, and the
// call of that is recorded in its place; so gradients compose with jit, compile, control flow and themselves. Outside
// of a trace they compile themselves, as jitted functions do.

#ifndef SINTER_TRACE_GRADIENT_HPP
#define SINTER_TRACE_GRADIENT_HPP

#include "jit.hpp"
#include <numeric>

namespace sinter {

struct GradientOptions {
  /// What whiles keep for the backward pass: all, recompute, period(K), binomial(SLOTS), online(SLOTS), implicit;
  /// empty: what each loop says, else all.
  std::string memory = {};
};

namespace detail {

template <class Args> std::vector<std::string> argumentNames(const Args &args) {
  std::vector<std::string> names = leaf_paths(args); // "[0].w"
  for (std::string &name : names) {
    size_t end = name.find(']');
    name = "argument " + name.substr(1, end - 1) + name.substr(end + 1);
  }
  return names;
}

template <class Result> std::vector<std::string> resultNames(const Result &result) {
  std::vector<std::string> names = leaf_paths(result);
  for (std::string &name : names)
    name = names.size() == 1 && name.empty() ? "the result" : "result " + name;
  return names;
}

/// What is wrong with cotangents or tangents (`what`) of tensors of types `wanted`; undefined if nothing is.
inline Tensor checkDirections(const char *function, const char *what, std::span<const TensorType> given,
                              std::span<const TensorType> wanted, const std::vector<std::string> &names, Where where) {
  std::string start = std::string(function) + " requires a " + what + " ";
  if (given.size() != wanted.size())
    return fail(where, start + "for each of " + std::to_string(wanted.size()) + " tensors, got " +
                           std::to_string(given.size()));
  for (size_t k = 0; k < given.size(); ++k)
    if (!mayFollow(wanted[k], given[k]))
      return fail(where, start + "of type " + wanted[k].str() + " for " + names[k] + ", got " + given[k].str());
  return Tensor();
}

/// Numbers of the leaves of arguments I... among the leaves of all.
template <size_t... I, class Args> std::vector<int32_t> leavesOf(const Args &args) {
  std::vector<int32_t> result, starts;
  int32_t next = 0;
  std::apply([&](const auto &...arg) { ((starts.push_back(next), next += int32_t(flatten(arg).size())), ...); }, args);
  starts.push_back(next);
  auto add = [&](size_t at) {
    for (int32_t k = starts[at]; k < starts[at + 1]; ++k)
      result.push_back(k);
  };
  (add(I), ...);
  return result;
}

/// Numbers of the leaves of all arguments.
template <class Args> std::vector<int32_t> allLeavesOf(const Args &args) {
  std::vector<int32_t> result(flatten(args).size());
  std::iota(result.begin(), result.end(), 0);
  return result;
}

/// What is wrong with results of `types` for a gradient of this mode; undefined if nothing is.
inline Tensor checkResults(const char *function, int mode, std::span<const TensorType> types, Where where) {
  std::string start = std::string(function) + " requires a function whose ";
  if (mode == SINTER_GRAD || mode == SINTER_VALUE_AND_GRAD || mode == SINTER_HVP) {
    if (types.empty() || types[0].shape.size() != 0 || !is_float(types[0].dtype))
      return fail(where, start + "result is a float of rank 0, got " +
                             (types.empty() ? std::string("no tensor") : types[0].str()));
    return Tensor();
  }
  for (const TensorType &type : types)
    if (!is_float(type.dtype))
      return fail(where, start + "results are floats, got " + type.str());
  return Tensor();
}

/// What a gradient function gives, as tensors of the trace; after an error `value` holds it in all of its leaves.
template <class Result> struct Gradients {
  Result value{};
  std::vector<Tensor> results; // the value's leaves where the mode has them, then the derivative's
  Tensor problem;

  /// The derivative as a tree like `like`.
  template <class Tree> Tree derivative(Tree like) const {
    if (!problem.defined())
      return unflatten(like, std::span(results).last(flatten(like).size()));
    poison(like, problem);
    return like;
  }
};

/// Traces `f`, at arguments of `types` in trees like `args`, as a function of the graph: `value` and `outputs` are what
/// it gives, `function` is its number. Returns what went wrong; undefined if nothing did.
template <class F, class Args, class Result>
Tensor traceApart(Trace &trace, const char *name, F &f, const Args &args, std::span<const TensorType> types,
                  Where where, Result &value, std::vector<TensorType> &outputs, int32_t &function) {
  std::vector<sinter_value_type> lowered;
  for (const TensorType &type : types)
    lowered.push_back(valueType(type));
  lowered.emplace_back(); // so that there is one
  std::vector<uint32_t> ids(lowered.size()), results;
  trace.locate(where);
  if (sinter_graph_begin(trace.handle(), name, int32_t(types.size()), lowered.data(), nullptr, ids.data()))
    return trace.failGraph(where);
  trace.enterRegion();
  std::vector<Tensor> arguments;
  for (size_t k = 0; k < types.size(); ++k)
    arguments.push_back(trace.wrap(ids[k], where));
  value = runFrame(trace, where, [&] { return applyFunction(f, unflatten(args, arguments)); });
  if (trace.error())
    return errorTensor(*trace.error());
  if (!trace.materialize(value, where, results, outputs))
    return *firstError(value);
  if (sinter_graph_end(trace.handle(), int32_t(results.size()), results.data(), nullptr, &function))
    return trace.failGraph(where);
  trace.leaveRegion();
  return Tensor();
}

/// Traces `f(args)` apart, builds its gradient by `wrt`, and records the call. `more` are cotangents or tangents.
template <class F, class Args>
auto recordGradient(Trace &trace, const char *name, int mode, F &f, const Args &args, std::span<const int32_t> wrt,
                    std::span<const Tensor> more, const GradientOptions &options, Where where) {
  using Result = decltype(applyFunction(f, args));
  Gradients<Result> made;
  auto stop = [&](Tensor problem) {
    made.problem = std::move(problem);
    poison(made.value, made.problem);
    return made;
  };
  Args used = args;
  std::vector<uint32_t> operands;
  std::vector<TensorType> types;
  if (!trace.materialize(used, where, operands, types))
    return stop(*firstError(used));
  std::vector<Tensor> further(more.begin(), more.end());
  std::vector<TensorType> furtherTypes;
  std::vector<uint32_t> all = operands;
  if (!trace.materialize(further, where, all, furtherTypes))
    return stop(*firstError(further));
  for (int32_t k : wrt)
    if (!is_float(types[size_t(k)].dtype))
      return stop(fail(where, std::string(name) + " requires float tensors to differentiate by, got " +
                                  types[size_t(k)].str() + " for " + argumentNames(args)[size_t(k)]));
  if (mode == SINTER_JVP || mode == SINTER_HVP)
    if (Tensor problem = checkDirections(name, "tangent", furtherTypes, types, argumentNames(args), where);
        problem.defined())
      return stop(problem);
  uint64_t hash = hashBytes(hashText(79, name), wrt.data(), wrt.size() * sizeof(int32_t));
  Trace::Step *step;
  if (Tensor problem; trace.replay(hash, all, where, step, problem)) {
    if (step && step->tag == &kTypeTag<Gradients<Result>>)
      return *static_cast<const Gradients<Result> *>(step->outcome.get());
    return stop(step ? trace.nonDeterministic(where, step->where) : problem);
  }

  BuildScope scope(trace);
  std::vector<TensorType> outputTypes;
  int32_t function = -1, gradient = -1;
  if (Tensor problem = traceApart(trace, name, f, used, types, where, made.value, outputTypes, function);
      problem.defined())
    return stop(problem);
  if (Tensor problem = checkResults(name, mode, outputTypes, where); problem.defined())
    return stop(problem);
  if (mode == SINTER_VJP)
    if (Tensor problem = checkDirections(name, "cotangent", furtherTypes, outputTypes, resultNames(made.value), where);
        problem.defined())
      return stop(problem);
  sinter_gradient_options lower{};
  lower.struct_size = sizeof(lower);
  lower.mode = mode;
  lower.memory = options.memory.empty() ? nullptr : options.memory.c_str();
  trace.locate(where);
  if (sinter_graph_gradient(trace.handle(), function, int32_t(wrt.size()), wrt.data(), &lower, &gradient))
    return stop(trace.failGraph(where));
  std::vector<uint32_t> results(outputTypes.size() * 2 + wrt.size() + 1);
  int32_t count = 0;
  if (sinter_graph_call(trace.handle(), gradient, int32_t(all.size()), all.data(), int32_t(results.size()),
                        results.data(), &count))
    return stop(trace.failGraph(where));
  scope.finish();
  for (int32_t k = 0; k < count; ++k)
    made.results.push_back(trace.wrap(results[size_t(k)], where));
  if (mode != SINTER_GRAD && mode != SINTER_HVP)
    made.value = unflatten(made.value, made.results);
  Trace::Step &remembered = trace.append(hash, all, where);
  remembered.outcome = std::make_shared<Gradients<Result>>(made);
  remembered.tag = &kTypeTag<Gradients<Result>>;
  return made;
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
    std::tuple<tree_t<Args>...> args(given...);
    std::vector<int32_t> wrt = leavesOf<I...>(args);
    auto made = recordGradient(*Trace::current(), WithValue ? "value_and_grad" : "grad",
                               WithValue ? SINTER_VALUE_AND_GRAD : SINTER_GRAD, f, args, wrt, {}, options, where);
    auto gradients = made.derivative(pickArguments<I...>(args));
    if constexpr (WithValue)
      return std::pair(std::move(made.value), std::move(gradients));
    else
      return gradients;
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
    std::tuple<tree_t<Args>...> args(given...);
    using Result = decltype(applyFunction(f, args));
    Trace *trace = Trace::current();
    if (!trace)
      return applyFunction(f, args);
    std::vector<uint32_t> ids;
    std::vector<TensorType> types;
    Result result{};
    if (!materializeOrPoison(*trace, args, where, ids, types, result))
      return result;
    return controlStep(*trace, "checkpoint", ids, where, std::move(result), [&](Result &out) {
      auto traced = traceRegion(*trace, {}, where, [&](std::span<const Tensor>) { return applyFunction(f, args); });
      out = std::move(traced.tree);
      std::vector<uint32_t> results(traced.ids.size() + 1);
      int32_t count = 0;
      trace->locate(where);
      if (!traced.region ||
          sinter_graph_checkpoint(trace->handle(), traced.region, int32_t(traced.ids.size()), results.data(), &count)) {
        poison(out, traced.region ? trace->failGraph(where) : traced.problem);
        return false;
      }
      wrapLeaves(*trace, out, results, where);
      return true;
    });
  }
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
    Trace *trace = Trace::current();
    if (!trace)
      return applyFunction(f, args);
    std::vector<uint32_t> ids;
    std::vector<TensorType> types;
    Result result{};
    if (!materializeOrPoison(*trace, args, where, ids, types, result))
      return result;
    return controlStep(*trace, "custom_vjp", ids, where, std::move(result), [&](Result &out) {
      auto stop = [&](const Tensor &problem) {
        poison(out, problem);
        return false;
      };
      auto there = traceRegion(*trace, types, where, [&](std::span<const Tensor> leaves) {
        return applyFunction(forward, unflatten(args, leaves));
      });
      out = std::get<0>(there.tree);
      if (!there.region)
        return stop(there.problem);
      size_t results = flatten(out).size();
      std::vector<TensorType> taken(there.types.begin() + std::ptrdiff_t(results), there.types.end());
      size_t residuals = taken.size();
      for (size_t k = 0; k < results; ++k)
        if (is_float(there.types[k].dtype))
          taken.push_back(there.types[k]);
      auto back = traceRegion(*trace, taken, where, [&](std::span<const Tensor> leaves) {
        size_t next = residuals;
        Result cotangent = tree_map(
            [&](const Tensor &leaf) { return is_float(leaf.dtype()) ? leaves[next++] : Tensor(); }, Result(out));
        return cotangents(args, backward(unflatten(std::get<1>(there.tree), leaves), cotangent));
      });
      if (!back.region)
        return stop(back.problem);
      std::vector<uint32_t> made(results + 1);
      int32_t count = 0;
      trace->locate(where);
      if (sinter_graph_custom_vjp(trace->handle(), int32_t(ids.size()), ids.data(), int32_t(results), there.region,
                                  back.region, int32_t(results), made.data(), &count))
        return stop(trace->failGraph(where));
      wrapLeaves(*trace, out, made, where);
      return true;
    });
  }

private:
  /// Those of float arguments, which must be of their types.
  template <class Arguments, class Given>
  std::vector<Tensor> cotangents(const Arguments &args, const Given &given) const {
    auto leaves = [&] {
      if constexpr (std::is_same_v<tree_t<Given>, std::tuple_element_t<0, Arguments>>)
        return flatten(std::tuple<tree_t<Given>>(asTree(given)));
      else
        return flatten(treeCast<Arguments>(given));
    }();
    std::vector<Tensor> wanted = flatten(args), kept;
    std::vector<std::string> names = argumentNames(args);
    Tensor problem;
    if (leaves.size() != wanted.size())
      problem = fail(where, "custom_vjp requires a cotangent per tensor of its arguments, got " +
                                std::to_string(leaves.size()) + " for " + std::to_string(wanted.size()));
    for (size_t k = 0; k < wanted.size() && !problem.defined(); ++k) {
      if (!is_float(wanted[k].dtype()))
        continue;
      Tensor leaf = leaves[k];
      if (leaf.weak())
        leaf = convert(leaf, wanted[k].dtype(), where);
      if (leaf.error())
        problem = leaf;
      else if (!leaf.defined() || !mayFollow(wanted[k].type(), leaf.type()))
        problem = fail(where, "custom_vjp requires a cotangent of the type of each argument, got " +
                                  (leaf.defined() ? leaf.type().str() : std::string("none")) + " for " + names[k] +
                                  ", which is " + wanted[k].type().str());
      kept.push_back(leaf);
    }
    if (problem.defined())
      kept.assign(1, problem);
    return kept;
  }
};

/// Runs `f(trees)` in a trace: the one that is open, or one of its own that is compiled.
template <class F, class... Trees> auto inTrace(F f, Where where, const Trees &...trees) {
  return Jitted<F>(std::move(f), JitOptions{}, where)(trees...);
}

} // namespace detail

/// The gradient of `f`, whose result is a float of rank 0 (or a tree that begins with one), by arguments I..., by
/// default the first: a tree like that argument, a tuple of trees for several.
template <size_t... I, class F> auto grad(F &&f, GradientOptions options = {}, Where where = Where::current()) {
  using Plain = std::decay_t<F>;
  if constexpr (sizeof...(I) == 0)
    return grad<0>(std::forward<F>(f), std::move(options), where);
  else
    return jit(detail::GradientFunction<Plain, false, I...>{std::forward<F>(f), std::move(options), where}, {}, where);
}

/// A pair of the result of `f` and its gradient.
template <size_t... I, class F>
auto value_and_grad(F &&f, GradientOptions options = {}, Where where = Where::current()) {
  using Plain = std::decay_t<F>;
  if constexpr (sizeof...(I) == 0)
    return value_and_grad<0>(std::forward<F>(f), std::move(options), where);
  else
    return jit(detail::GradientFunction<Plain, true, I...>{std::forward<F>(f), std::move(options), where}, {}, where);
}

/// Reverse mode: a pair of `f(primals...)` and the cotangents of the primals (a tuple), given those of the results.
template <class F, class... Primals, class Cotangents>
auto vjp(F &&f, const std::tuple<Primals...> &primals, const Cotangents &cotangents, GradientOptions options = {},
         Where where = Where::current()) {
  using Args = std::tuple<detail::tree_t<Primals>...>;
  auto run = [&](const Args &args, const detail::tree_t<Cotangents> &given) {
    auto made = detail::recordGradient(*detail::Trace::current(), "vjp", SINTER_VJP, f, args, detail::allLeavesOf(args),
                                       flatten(given), options, where);
    Args gradients = made.derivative(args);
    return std::pair(std::move(made.value), std::move(gradients));
  };
  return detail::inTrace(run, where, primals, cotangents);
}

/// Forward mode: a pair of `f(primals...)` and its tangent, given the tangents of the primals.
template <class F, class... Primals, class... Tangents>
auto jvp(F &&f, const std::tuple<Primals...> &primals, const std::tuple<Tangents...> &tangents,
         Where where = Where::current()) {
  using Args = std::tuple<detail::tree_t<Primals>...>;
  auto run = [&](const Args &args, const Args &directions) {
    auto made = detail::recordGradient(*detail::Trace::current(), "jvp", SINTER_JVP, f, args, detail::allLeavesOf(args),
                                       flatten(directions), {}, where);
    auto tangent = made.derivative(made.value);
    return std::pair(std::move(made.value), std::move(tangent));
  };
  return detail::inTrace(run, where, primals, tangents);
}

/// The second derivative of `f`, whose result is a float of rank 0, times `direction`: a tuple like `primals`.
template <class F, class... Primals, class... Tangents>
auto hessian_vector_product(F &&f, const std::tuple<Primals...> &primals, const std::tuple<Tangents...> &direction,
                            GradientOptions options = {}, Where where = Where::current()) {
  using Args = std::tuple<detail::tree_t<Primals>...>;
  auto run = [&](const Args &args, const Args &vectors) {
    return detail::recordGradient(*detail::Trace::current(), "hessian_vector_product", SINTER_HVP, f, args,
                                  detail::allLeavesOf(args), flatten(vectors), options, where)
        .derivative(args);
  };
  return detail::inTrace(run, where, primals, direction);
}

/// `tree`, through which no gradient goes.
template <class Tree> auto stop_gradient(const Tree &given, Where where = Where::current()) {
  detail::tree_t<Tree> tree = detail::asTree(given);
  return tree_map(
      [&](const Tensor &leaf) {
        return detail::Trace::current() && is_float(leaf.dtype()) ? detail::apply("stop_gradient", {leaf}, {}, where)
                                                                  : leaf;
      },
      std::move(tree));
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
  std::string str() const {
    char text[160];
    std::snprintf(text, sizeof text, "%.1e along a direction, %.1e of forward against reverse mode", direction,
                  transpose);
    char first[48];
    std::snprintf(first, sizeof first, "largest error %.1e by single elements", elements);
    return first + (worst.empty() ? "" : " (" + worst + ")") + ", " + text;
  }
  std::shared_ptr<Error> failure;
};

/// Compares gradients of `f` at `args`, by all of their floats, with central differences, in f64 on the reference
/// evaluator whatever the element types: `check_gradients(f, std::tuple{x, weights})`.
template <class F, class... Args>
GradientCheck check_gradients(F &&f, const std::tuple<Args...> &given, const GradientCheckOptions &options = {},
                              Where where = Where::current()) {
  GradientCheck check;
  auto stop = [&](const Tensor &problem) {
    check.failure = std::make_shared<Error>(*problem.error());
    return check;
  };
  auto args = detail::treeCast<std::tuple<detail::tree_t<Args>...>>(given);
  std::vector<Spec> specs;
  std::vector<sinter_tensor> inputs;
  std::vector<int32_t> wrt;
  for (const Tensor &leaf : flatten(args)) {
    if (leaf.error())
      return stop(leaf);
    if (!leaf.defined() || leaf.traced())
      return stop(
          detail::fail(where, "check_gradients requires tensors with elements, got " +
                                  std::string(leaf.traced() ? "one of a trace" : "a Tensor() without a value")));
    if (is_float(leaf.dtype()))
      wrt.push_back(int32_t(specs.size()));
    specs.push_back(spec_of(leaf));
    inputs.push_back(leaf.view());
  }
  Graph graph = traceWith(f, args, std::span<const Spec>(specs), "main", {}, {}, where);
  if (graph.error()) {
    check.failure = std::make_shared<Error>(*graph.error());
    return check;
  }
  sinter_gradient_check_options lowered{};
  lowered.struct_size = sizeof(lowered);
  lowered.reverse_only = !options.forward_mode;
  lowered.seed = options.seed;
  lowered.elements = options.elements;
  lowered.step = options.step;
  lowered.tolerance = options.tolerance;
  lowered.memory = options.memory.empty() ? nullptr : options.memory.c_str();
  sinter_gradient_check outcome{};
  outcome.struct_size = sizeof(outcome);
  if (sinter_graph_check_gradient(graph.handle(), sinter_graph_num_functions(graph.handle()) - 1, int32_t(wrt.size()),
                                  wrt.data(), int32_t(inputs.size()), inputs.data(), &lowered, &outcome))
    return stop(detail::fail(where, sinter_last_error()));
  check.passed = outcome.passed;
  check.elements = outcome.element_error;
  check.direction = outcome.direction_error;
  check.transpose = outcome.transpose_error;
  if (outcome.worst_input >= 0)
    check.worst = detail::argumentNames(args)[size_t(outcome.worst_input)];
  return check;
}

} // namespace sinter

#endif

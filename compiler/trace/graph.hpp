// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs made from functions: what inputs look like (`spec`), and what can be done with a traced function.

#ifndef SINTER_TRACE_GRAPH_HPP
#define SINTER_TRACE_GRAPH_HPP

#include "control.hpp"

namespace sinter::inline SINTER_HOST {

/// The size of an axis: a number, or a name for one that is known when the compiled function is called. Equal names are
/// equal sizes.
struct Dim {
  Dim(int size) : size(size) {}
  Dim(int64_t size) : size(size) {}
  Dim(const char *name) : Dim(std::string(name)) {}
  Dim(std::string text) : size(text.empty() ? -1 : 0), name(std::move(text)) {} // an empty name is no size
  int64_t size = 0;
  std::string name;
};

/// What an input looks like.
struct Spec {
  DType dtype = DType::f32;
  std::vector<Dim> dims;
  /// "f32[batch, 80]".
  std::string str() const;
};

/// `spec<float>({"batch", 80})`.
template <Element T> Spec spec(std::vector<Dim> dims) { return {dtype_of<T>, std::move(dims)}; }
inline Spec spec(DType dtype, std::vector<Dim> dims) { return {dtype, std::move(dims)}; }
/// A spec with the type of `tensor`.
Spec spec_of(const Tensor &tensor);

class Graph;

namespace detail {

template <class F> struct Signature {};
template <class F>
  requires requires { &F::operator(); }
struct Signature<F> : Signature<decltype(&F::operator())> {};
/// A function made from another that takes the same.
template <class F>
  requires requires { typename F::Wrapped; }
struct Signature<F> : Signature<std::remove_pointer_t<typename F::Wrapped>> {};
template <class R, class... A> struct Signature<R (*)(A...)> {
  using Arguments = std::tuple<tree_t<A>...>;
};
template <class R, class... A> struct Signature<R(A...)> : Signature<R (*)(A...)> {};
template <class R, class... A> struct Signature<R (*)(A...) noexcept> : Signature<R (*)(A...)> {};
template <class C, class R, class... A> struct Signature<R (C::*)(A...)> : Signature<R (*)(A...)> {};
template <class C, class R, class... A> struct Signature<R (C::*)(A...) const> : Signature<R (*)(A...)> {};
template <class C, class R, class... A> struct Signature<R (C::*)(A...) noexcept> : Signature<R (*)(A...)> {};
template <class C, class R, class... A> struct Signature<R (C::*)(A...) const noexcept> : Signature<R (*)(A...)> {};

/// A function whose parameters' types are written down.
template <class F>
concept HasSignature = requires { typename Signature<std::remove_pointer_t<std::decay_t<F>>>::Arguments; };
template <class F> using arguments_t = typename Signature<std::remove_pointer_t<std::decay_t<F>>>::Arguments;

template <size_t N, class F, size_t... I> consteval bool takesTensors(std::index_sequence<I...>) {
  return std::is_invocable_v<F &, decltype((void(I), std::declval<const Tensor &>()))...>;
}

/// The number of tensors that a function with parameters `auto` takes, up to 8, or -1.
template <class F, size_t N = 0> consteval int arity() {
  if constexpr (N > 8)
    return -1;
  else if constexpr (takesTensors<N, F>(std::make_index_sequence<N>()))
    return int(N);
  else
    return arity<F, N + 1>();
}

template <class F> auto defaultArguments() {
  if constexpr (HasSignature<F>)
    return arguments_t<F>();
  else {
    constexpr int count = arity<std::decay_t<F>>();
    static_assert(count >= 0, "sinter cannot tell what this function takes; give example arguments instead of specs");
    return []<size_t... I>(std::index_sequence<I...>) {
      return std::make_tuple((void(I), Tensor())...);
    }(std::make_index_sequence<size_t(count)>());
  }
}

/// Traces the function of a program: reads arguments, fills a result.
using TreeCall = FunctionRef<void(const void *arguments, void *result)>;

/// What `f(arguments...)` gives, with numbers as tensors.
template <class F, class Arguments> auto applyFunction(F &f, const Arguments &arguments) {
  return std::apply(
      [&](const auto &...argument) {
        using Result = tree_t<std::invoke_result_t<F &, decltype(argument)...>>;
        return treeCast<Result>(f(argument...));
      },
      arguments);
}
template <class F, class Arguments>
using result_t = decltype(applyFunction(std::declval<F &>(), std::declval<const Arguments &>()));

Graph traceTree(AnyTree arguments, AnyTree result, std::span<const Spec> specs, const char *name,
                const std::vector<std::string> &inputNames, const std::vector<std::string> &outputNames, Where where,
                TreeCall call);

} // namespace detail

/// A traced function: print it, evaluate it by the reference evaluator, save it.
class Graph {
public:
  Graph() = default;
  explicit Graph(sinter_graph *owned);
  explicit Graph(std::shared_ptr<sinter_graph> shared) : graph(std::move(shared)) {}
  /// Reads an ONNX model, `.sinter` or `.mlir`.
  static Graph load(const std::string &path, Where where = Where::current());

  /// Throws; in a program without exceptions a graph that holds the error.
  static Graph failed(Error error);

  bool defined() const { return bool(graph); }
  sinter_graph *handle() const { return graph.get(); }
  /// MLIR text.
  std::string text() const;
  /// Outputs by the reference evaluator. After an error one error tensor.
  std::vector<Tensor> evaluate(std::span<const Tensor> inputs, int32_t function = 0,
                               Where where = Where::current()) const;
  /// Writes `.sinter` or `.mlir`, by the suffix of `path`.
  Status save(const std::string &path, Where where = Where::current()) const;
  /// The number of functions, private ones left out.
  int functions() const { return graph ? sinter_graph_num_functions(graph.get()) : 0; }
  /// The error of tracing or loading, in a program without exceptions.
  const Error *error() const { return failure.get(); }

private:
  friend Graph detail::traceTree(detail::AnyTree arguments, detail::AnyTree result, std::span<const Spec> specs,
                                 const char *name, const std::vector<std::string> &inputNames,
                                 const std::vector<std::string> &outputNames, Where where, detail::TreeCall call);
  std::shared_ptr<sinter_graph> graph;
  std::shared_ptr<Error> failure;
};

/// Traces `f`, called with trees like `arguments` whose leaves look like `specs`.
template <class Arguments, class F>
Graph traceWith(F &&f, const Arguments &arguments, std::span<const Spec> specs, const char *name,
                const std::vector<std::string> &inputNames, const std::vector<std::string> &outputNames, Where where) {
  using Result = detail::result_t<std::remove_reference_t<F>, Arguments>;
  Result result{};
  return detail::traceTree(detail::anyTree(arguments), detail::anyTree(result), specs, name, inputNames, outputNames,
                           where, [&](const void *given, void *out) {
                             *static_cast<Result *>(out) =
                                 detail::applyFunction(f, *static_cast<const Arguments *>(given));
                           });
}

/// The graph of `f`, with one spec per tensor that it takes, in order.
template <class F> Graph trace(F &&f, std::vector<Spec> specs, Where where = Where::current()) {
  return traceWith(f, detail::defaultArguments<F>(), std::span<const Spec>(specs), "main", {}, {}, where);
}

} // namespace sinter::inline SINTER_HOST

#endif

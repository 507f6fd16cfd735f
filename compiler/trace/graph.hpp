// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs made from functions: what inputs look like (`spec`), and what can be done with a traced function.

#ifndef SINTER_TRACE_GRAPH_HPP
#define SINTER_TRACE_GRAPH_HPP

#include "control.hpp"

namespace sinter {

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
  std::string str() const {
    std::string text = std::string(dtype_name(dtype)) + "[";
    for (size_t k = 0; k < dims.size(); ++k)
      text += (k ? ", " : "") + (dims[k].name.empty() ? std::to_string(dims[k].size) : dims[k].name);
    return text + "]";
  }
};

/// `spec<float>({"batch", 80})`.
template <Element T> Spec spec(std::vector<Dim> dims) { return {dtype_of<T>, std::move(dims)}; }
inline Spec spec(DType dtype, std::vector<Dim> dims) { return {dtype, std::move(dims)}; }
/// A spec with the type of `tensor`.
inline Spec spec_of(const Tensor &tensor) {
  Shape shape = tensor.known_shape();
  return {tensor.dtype(), std::vector<Dim>(shape.begin(), shape.end())};
}

namespace detail {

/// The outcome of tracing a function: its number in the graph, or an error.
template <class Result> struct TracedFunction {
  Result result{};
  int32_t function = -1;
  std::vector<TensorType> outputs;
  std::shared_ptr<Error> error;
};

inline std::vector<const char *> pointers(const std::vector<std::string> &names, size_t count) {
  std::vector<const char *> result(count, nullptr);
  for (size_t k = 0; k < count && k < names.size(); ++k)
    result[k] = names[k].c_str();
  return result;
}

/// False with the message in sinter_last_error.
inline bool lowerSpec(sinter_graph *graph, const Spec &spec, sinter_value_type &type) {
  type.dtype = int32_t(spec.dtype);
  type.rank = int32_t(spec.dims.size());
  auto refuse = [](const std::string &message) {
    sinter_set_error(SINTER_INVALID_ARGUMENT, ("a spec requires " + message).c_str());
    return false;
  };
  if (type.rank > SINTER_MAX_RANK)
    return refuse("at most " + std::to_string(SINTER_MAX_RANK) + " axes, got " + std::to_string(type.rank));
  for (size_t k = 0; k < spec.dims.size(); ++k) {
    type.dims[k] = spec.dims[k].size;
    if (type.dims[k] < 0)
      return refuse("sizes of at least 0 or names, got " + std::to_string(type.dims[k]) + " for axis " +
                    std::to_string(k));
    if (!spec.dims[k].name.empty() && sinter_graph_symbol(graph, spec.dims[k].name.c_str(), &type.dims[k]))
      return false;
  }
  return true;
}

/// Traces `call(arguments)`, which returns a tree, into a function of `graph`.
template <class Call>
auto traceFunction(sinter_graph *graph, const char *name, std::span<const Spec> specs,
                   const std::vector<std::string> &inputNames, const std::vector<std::string> &outputNames, Where where,
                   Call &&call) {
  using Result = decltype(call(std::declval<std::span<const Tensor>>()));
  TracedFunction<Result> traced;
  Trace trace(graph);
  auto report = [&] {
    traced.error = std::make_shared<Error>(trace.error() ? *trace.error() : Error(sinter_last_error(), where));
#if SINTER_HAS_EXCEPTIONS
    throw *traced.error;
#endif
  };
  std::vector<sinter_value_type> types(specs.size() + 1);
  for (size_t k = 0; k < specs.size(); ++k)
    if (!lowerSpec(graph, specs[k], types[k])) {
      report();
      return traced;
    }
  std::vector<uint32_t> ids(specs.size() + 1);
  trace.locate(where);
  if (sinter_graph_begin(graph, name, int32_t(specs.size()), types.data(), pointers(inputNames, specs.size()).data(),
                         ids.data())) {
    report();
    return traced;
  }
  trace.enterRegion();
  std::vector<Tensor> arguments;
  for (size_t k = 0; k < specs.size(); ++k)
    arguments.push_back(trace.wrap(ids[k], where));
  traced.result = runFrame(trace, where, [&] { return call(std::span<const Tensor>(arguments)); });
  if (trace.error()) {
    report();
    return traced;
  }
  std::vector<uint32_t> outputs;
  if (!trace.materialize(traced.result, where, outputs, traced.outputs) ||
      sinter_graph_end(graph, int32_t(outputs.size()), outputs.data(), pointers(outputNames, outputs.size()).data(),
                       &traced.function))
    report();
  return traced;
}

//===- calling a function with leaves -----------------------------------------------------------------===//

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

/// What `f(arguments...)` gives, with numbers as tensors.
template <class F, class Arguments> auto applyFunction(F &f, const Arguments &arguments) {
  return std::apply(
      [&](const auto &...argument) {
        using Result = tree_t<std::invoke_result_t<F &, decltype(argument)...>>;
        return treeCast<Result>(f(argument...));
      },
      arguments);
}

} // namespace detail

/// A traced function: print it, evaluate it by the reference evaluator, save it.
class Graph {
public:
  Graph() = default;
  explicit Graph(sinter_graph *owned) : graph(owned, sinter_graph_destroy) {}

  bool defined() const { return bool(graph); }
  sinter_graph *handle() const { return graph.get(); }
  /// MLIR text.
  std::string text() const {
    const char *result = nullptr;
    return !graph || sinter_graph_print(graph.get(), &result) ? std::string() : std::string(result);
  }
  /// Outputs by the reference evaluator. After an error one error tensor.
  std::vector<Tensor> evaluate(std::span<const Tensor> inputs, int32_t function = 0,
                               Where where = Where::current()) const {
    std::vector<sinter_tensor> lowered;
    for (const Tensor &input : inputs) {
      if (!input.defined() || input.traced() || input.error())
        return {input.error() ? input
                              : detail::fail(where, "evaluate requires tensors with elements, got one of a trace")};
      lowered.push_back(input.view());
    }
    sinter_function_info info{};
    info.struct_size = sizeof(info);
    std::vector<sinter_tensor> outputs;
    int32_t count = 0;
    if (!sinter_graph_function(graph.get(), function, &info))
      outputs.resize(size_t(info.num_outputs) + 1);
    if (sinter_graph_evaluate(graph.get(), function, int32_t(lowered.size()), lowered.data(), int32_t(outputs.size()),
                              outputs.data(), &count))
      return {detail::fail(where, sinter_last_error())};
    std::vector<Tensor> results;
    for (int k = 0; k < count; ++k)
      results.push_back(detail::adoptTensor(outputs[size_t(k)], where));
    return results;
  }
  /// Writes `.sinter` or `.mlir`, by the suffix of `path`.
  Status save(const std::string &path, Where where = Where::current()) const {
    if (!sinter_graph_save(graph.get(), path.c_str()))
      return {};
    return detail::report(Error(sinter_last_error(), where));
  }
  /// The error of tracing, in a program without exceptions.
  const Error *error() const { return failure.get(); }

private:
  template <class Arguments, class F>
  friend Graph traceWith(F &&f, const Arguments &arguments, std::span<const Spec> specs, const char *name,
                         const std::vector<std::string> &inputNames, const std::vector<std::string> &outputNames,
                         Where where);
  std::shared_ptr<sinter_graph> graph;
  std::shared_ptr<Error> failure;
};

/// Traces `f`, called with trees like `arguments` whose leaves look like `specs`.
template <class Arguments, class F>
Graph traceWith(F &&f, const Arguments &arguments, std::span<const Spec> specs, const char *name,
                const std::vector<std::string> &inputNames, const std::vector<std::string> &outputNames, Where where) {
  Graph result;
  size_t leaves = flatten(arguments).size();
  if (leaves != specs.size()) {
    Tensor problem = detail::fail(where, "tracing requires one spec per tensor that the function takes, got " +
                                             std::to_string(specs.size()) + " for " + std::to_string(leaves));
    result.failure = std::make_shared<Error>(*problem.error());
    return result;
  }
  sinter_graph *graph = nullptr;
  if (sinter_graph_create(&graph)) {
    result.failure = std::make_shared<Error>(*detail::fail(where, sinter_last_error()).error());
    return result;
  }
  result.graph.reset(graph, sinter_graph_destroy);
  auto traced =
      detail::traceFunction(graph, name, specs, inputNames, outputNames, where, [&](std::span<const Tensor> leaves) {
        return detail::applyFunction(f, unflatten(arguments, leaves));
      });
  result.failure = traced.error;
  return result;
}

/// The graph of `f`, with one spec per tensor that it takes, in order.
template <class F> Graph trace(F &&f, std::vector<Spec> specs, Where where = Where::current()) {
  return traceWith(f, detail::defaultArguments<F>(), std::span<const Spec>(specs), "main", {}, {}, where);
}

} // namespace sinter

#endif

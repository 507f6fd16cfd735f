// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "graph.hpp"
#include "Frames.h"
#include "Functions.h"

namespace sinter::inline SINTER_HOST {

std::string Spec::str() const {
  std::string text = std::string(dtype_name(dtype)) + "[";
  for (size_t k = 0; k < dims.size(); ++k)
    text += (k ? ", " : "") + (dims[k].name.empty() ? std::to_string(dims[k].size) : dims[k].name);
  return text + "]";
}

Spec spec_of(const Tensor &tensor) {
  Shape shape = tensor.known_shape();
  return {tensor.dtype(), std::vector<Dim>(shape.begin(), shape.end())};
}

namespace detail {

static std::vector<const char *> pointers(const std::vector<std::string> &names, size_t count) {
  std::vector<const char *> result(count, nullptr);
  for (size_t k = 0; k < count && k < names.size(); ++k)
    result[k] = names[k].c_str();
  return result;
}

/// False with the message in sinter_last_error.
static bool lowerSpec(sinter_graph *graph, const Spec &spec, sinter_value_type &type) {
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

TracedFunction traceFunction(sinter_graph *graph, const char *name, std::span<const Spec> specs,
                             const std::vector<std::string> &inputNames, const std::vector<std::string> &outputNames,
                             Where where, AnyTree result, FunctionRef<void(std::span<const Tensor>)> call,
                             std::span<const Tensor> bound, Trace::Captures *collected, ScriptedGraph *scripted) {
  TracedFunction traced;
  Trace trace(graph, false, scripted);
  trace.collect(collected);
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
  if (!scripted)
    trace.locate(where);
  if (scripted ? scripted->begin(name, std::span(types).first(specs.size()), ids.data())
               : sinter_graph_begin(graph, name, int32_t(specs.size()), types.data(),
                                    pointers(inputNames, specs.size()).data(), ids.data())) {
    report();
    return traced;
  }
  trace.enterRegion();
  std::vector<Tensor> arguments;
  for (size_t k = 0; k < specs.size(); ++k)
    arguments.push_back(trace.wrap(ids[k], where));
  size_t own = arguments.size() - bound.size();
  for (size_t k = 0; k < bound.size(); ++k)
    trace.bind(bound[k], arguments[own + k]);
  runFrame(trace, where, result, [&] { call(std::span<const Tensor>(arguments).first(own)); });
  if (trace.error()) {
    report();
    return traced;
  }
  std::vector<uint32_t> outputs;
  if (!trace.materialize(result, where, outputs, traced.outputs) ||
      (scripted ? scripted->end(outputs, collected ? collected->log : std::string(), &traced.function)
                : sinter_graph_end(graph, int32_t(outputs.size()), outputs.data(),
                                   pointers(outputNames, outputs.size()).data(), &traced.function)))
    report();
  return traced;
}

Graph traceTree(AnyTree arguments, AnyTree result, std::span<const Spec> specs, const char *name,
                const std::vector<std::string> &inputNames, const std::vector<std::string> &outputNames, Where where,
                TreeCall call) {
  Graph made;
  size_t leaves = arguments.leaves().size();
  if (leaves != specs.size()) {
    Tensor problem = fail(where, "tracing requires one spec per tensor that the function takes, got " +
                                     std::to_string(specs.size()) + " for " + std::to_string(leaves));
    made.failure = std::make_shared<Error>(*problem.error());
    return made;
  }
  sinter_graph *graph = nullptr;
  if (sinter_graph_create(&graph)) {
    made.failure = std::make_shared<Error>(*fail(where, sinter_last_error()).error());
    return made;
  }
  made.graph.reset(graph, sinter_graph_destroy);
  auto traced =
      traceFunction(graph, name, specs, inputNames, outputNames, where, result, [&](std::span<const Tensor> leaves) {
        std::shared_ptr<void> given = arguments.clone();
        arguments.at(given.get()).setLeaves(leaves);
        call(given.get(), result.tree);
      });
  made.failure = traced.error;
  return made;
}

} // namespace detail

Graph::Graph(sinter_graph *owned) : graph(owned, sinter_graph_destroy) {}

Graph Graph::load(const std::string &path, Where where) {
  sinter_graph *loaded = nullptr;
  if (sinter_status_code code = sinter_graph_load(path.c_str(), &loaded))
    return failed(Error(sinter_last_error(), where, StatusCode(code)));
  return Graph(loaded);
}

Graph Graph::failed(Error error) {
  (void)detail::report(error);
  Graph result;
  result.failure = std::make_shared<Error>(std::move(error));
  return result;
}

std::string Graph::text() const {
  const char *result = nullptr;
  return !graph || sinter_graph_print(graph.get(), &result) ? std::string() : std::string(result);
}

std::vector<Tensor> Graph::evaluate(std::span<const Tensor> inputs, int32_t function, Where where) const {
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

Status Graph::save(const std::string &path, Where where) const {
  if (sinter_status_code code = sinter_graph_save(graph.get(), path.c_str()))
    return detail::report(Error(sinter_last_error(), where, StatusCode(code)));
  return {};
}

} // namespace sinter::inline SINTER_HOST

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "module.hpp"
#include "Trace.h"

namespace sinter::inline SINTER_HOST {

Module Module::open(const std::string &path, Where where) {
  sinter_module *opened = nullptr;
  Module result;
  if (sinter_module_open(path.c_str(), nullptr, &opened))
    result.failure = std::make_shared<Error>(*detail::fail(where, sinter_last_error()).error());
  else
    result.module.reset(opened, sinter_module_close);
  return result;
}

Session::Session(Module owner, const char *function, int threads, Where where) : module(std::move(owner)) {
  sinter_session_options options{};
  options.struct_size = sizeof(options);
  options.threads = threads;
  int index = !module.defined() ? -1 : function ? sinter_module_find_function(module.handle(), function) : 0;
  sinter_session *made = nullptr;
  if (module.error())
    failure = std::make_shared<Error>(*module.error());
  else if (index < 0)
    failure =
        std::make_shared<Error>(*detail::fail(where, std::string("a session requires a function of its module, got ") +
                                                         (function ? function : "no module"))
                                     .error());
  else if (sinter_session_create(module.handle(), index, &options, &made))
    failure = std::make_shared<Error>(*detail::fail(where, sinter_last_error()).error());
  session.reset(made);
}

Status Session::call(std::span<const Tensor> inputs, std::span<Tensor> outputs, Where where) {
  if (failure)
    return *failure;
  scratch.clear();
  for (const Tensor &input : inputs) {
    if (!input.defined() || input.traced() || input.error())
      return detail::report(input.error() ? *input.error()
                                          : Error("call requires tensors with elements, got one without", where));
    scratch.push_back(input.view());
  }
  for (const Tensor &output : outputs)
    scratch.push_back(output.defined() ? output.view() : sinter_tensor{});
  sinter_tensor *results = scratch.data() + inputs.size();
  if (sinter_session_call(session.get(), int32_t(inputs.size()), scratch.data(), int32_t(outputs.size()), results))
    return detail::report(Error(sinter_last_error(), where));
  for (size_t k = 0; k < outputs.size(); ++k)
    if (outputs[k].defined()) {
      Shape shape(std::span<const int64_t>(results[k].dims, size_t(results[k].rank)));
      if (!(shape == outputs[k].known_shape()))
        return detail::report(Error("call requires a buffer of the result's sizes " + shape.str() + " for output " +
                                        std::to_string(k) + ", got " + outputs[k].known_shape().str(),
                                    where));
    } else {
      outputs[k] = Tensor::empty(DType(results[k].dtype),
                                 Shape(std::span<const int64_t>(results[k].dims, size_t(results[k].rank))), where);
      if (outputs[k].error())
        return *outputs[k].error();
      if (size_t bytes = size_t(outputs[k].known_size() * dtype_bytes(outputs[k].dtype())))
        std::memcpy(outputs[k].view().data, results[k].data, bytes);
    }
  return {};
}

std::vector<Tensor> Session::operator()(std::span<const Tensor> inputs, Where where) {
  std::vector<Tensor> outputs(failure ? 0 : size_t(sinter_session_function(session.get())->num_outputs));
  Status status = call(inputs, outputs, where);
  if (!status)
    outputs.assign(1, detail::fail(where, status.error()->message()));
  return outputs;
}

std::vector<Tensor> Session::operator()(std::initializer_list<Tensor> inputs, Where where) {
  return (*this)(std::span(inputs.begin(), inputs.size()), where);
}

Module build(const Graph &graph, Where where) {
  Module result;
  sinter_module *made = nullptr;
  if (graph.error())
    result.failure = std::make_shared<Error>(*graph.error());
  else if (sinter_graph_compile(graph.handle(), nullptr, &made))
    result.failure = std::make_shared<Error>(*detail::fail(where, sinter_last_error()).error());
  else
    result.module.reset(made, sinter_module_close);
  return result;
}

Status detail::writeGraph(const Graph &graph, const CompileOptions &options) {
  if (graph.error())
    return *graph.error();
  auto endsWith = [&](std::string_view suffix) { return std::string_view(options.output).ends_with(suffix); };
  if (endsWith(".mlir") || endsWith(".sinter"))
    return graph.save(options.output, options.where);
  sinter_compile_options lowered{};
  lowered.struct_size = sizeof(lowered);
  lowered.opt_level = options.opt_level;
  lowered.fast_math = options.fast_math;
  lowered.target = options.target.empty() ? nullptr : options.target.c_str();
  lowered.header = options.header.empty() ? nullptr : options.header.c_str();
  lowered.sha256 = options.sha256;
  if (!sinter_graph_compile_file(graph.handle(), options.output.c_str(), &lowered))
    return {};
  return report(Error(sinter_last_error(), options.where));
}

} // namespace sinter::inline SINTER_HOST

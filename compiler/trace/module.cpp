// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "module.hpp"
#include "There.h"
#include "Trace.h"

namespace sinter::inline SINTER_HOST {

uint32_t version() { return sinter_abi_version(); }

/// The last message of the C library, as an error of a call that returned `code`.
static Error lastError(sinter_status_code code, Where where) {
  return Error(sinter_last_error(), where, StatusCode(code));
}
/// Throws; in a program without exceptions the error, to be kept.
static std::shared_ptr<Error> keep(Error error) {
  (void)detail::report(error);
  return std::make_shared<Error>(std::move(error));
}
static Status outcome(sinter_status_code code, Where where) {
  return code ? detail::report(lastError(code, where)) : Status();
}

Module Module::open(const std::string &path, Where where) {
  sinter_module *opened = nullptr;
  Module result;
  if (sinter_status_code code = sinter_module_open(path.c_str(), nullptr, &opened))
    result.failure = keep(lastError(code, where));
  else
    result.module.reset(opened, sinter_module_close);
  return result;
}

std::string Module::function_name(int index) const {
  const sinter_function *function = module ? sinter_module_function(module.get(), index) : nullptr;
  return function ? function->name : std::string();
}

//===- sessions -------------------------------------------------------------------------------------===//

static void runOn(void *executor, void (*task)(void *data, int32_t index), void *data, int32_t count) noexcept {
  (*static_cast<const Executor *>(executor))(count, {task, data});
}

Executor shared_threads(int workers) {
  sinter_shared_threads *made = nullptr;
  if (sinter_shared_threads_create(workers, &made))
    return {};
  std::shared_ptr<sinter_shared_threads> threads(made, sinter_shared_threads_destroy);
  return [threads](int count, Executor::Task task) {
    sinter_executor executor = sinter_shared_threads_executor(threads.get());
    executor.run(executor.user, task.call, task.data, count);
  };
}

Session::Session(Module owner, const char *function, int threads, Where where) : module(std::move(owner)) {
  open({.function = function ? function : "", .threads = threads}, where);
}
Session::Session(Module owner, const SessionOptions &options, Where where) : module(std::move(owner)) {
  open(options, where);
}

void Session::open(const SessionOptions &options, Where where) {
  sinter_session_options lowered{};
  lowered.struct_size = sizeof(lowered);
  lowered.threads = options.threads;
  lowered.state_of = options.states_of ? options.states_of->handle() : nullptr;
  lowered.max_bytes = options.max_bytes;
  lowered.max_tape_bytes = options.max_tape_bytes;
  lowered.folder = options.folder.empty() ? nullptr : options.folder.c_str();
  if (options.executor) {
    executor = std::make_shared<Executor>(options.executor);
    lowered.executor = {runOn, executor.get()};
  }
  const std::string &name = options.function;
  int index = !module.defined() ? -1 : name.empty() ? 0 : sinter_module_find_function(module.handle(), name.c_str());
  sinter_session *made = nullptr;
  if (module.error())
    failure = std::make_shared<Error>(*module.error());
  else if (index < 0)
    failure = keep(Error(
        "a session requires a function of its module, got " + (name.empty() ? std::string("no module") : name), where));
  else if (sinter_status_code code = sinter_session_create(module.handle(), index, &lowered, &made))
    failure = keep(lastError(code, where));
  session.reset(made);
  if (!made)
    return;
  const sinter_function &function = *sinter_session_function(made);
  std::vector<bool> reads(size_t(function.num_inputs)), writes(size_t(function.num_outputs));
  for (int k = 0; k < function.num_states; ++k) {
    reads[size_t(function.states[k].input)] = true;
    if (function.states[k].output >= 0)
      writes[size_t(function.states[k].output)] = true;
  }
  for (int k = 0; k < function.num_inputs; ++k)
    if (!reads[size_t(k)])
      given.push_back(k);
  for (int k = 0; k < function.num_outputs; ++k)
    if (!writes[size_t(k)])
      returned.push_back(k);
}

std::vector<std::string> Session::inputs() const {
  std::vector<std::string> names;
  for (int32_t k : given)
    names.push_back(sinter_session_function(session.get())->inputs[k].name);
  return names;
}
std::vector<std::string> Session::outputs() const {
  std::vector<std::string> names;
  for (int32_t k : returned)
    names.push_back(sinter_session_function(session.get())->outputs[k].name);
  return names;
}

static Status refuseThere(const Tensor &tensor, Where where) {
  return detail::report(Error("call requires tensors of the host, got " + detail::placed(tensor) +
                                  " (copy them with to, or use call_on_device)",
                              where));
}

Status Session::call(std::span<const Tensor> inputs, std::span<Tensor> outputs, Where where) {
  if (failure)
    return *failure;
  scratch.resize(inputs.size() + outputs.size());
  for (size_t k = 0; k < inputs.size(); ++k) {
    const Tensor &input = inputs[k];
    if (!input.defined() || input.traced() || input.error())
      return detail::report(input.error() ? *input.error()
                                          : Error("call requires tensors with elements, got one without", where));
    if (detail::deviceOf(input))
      return refuseThere(input, where);
    scratch[k] = input.view();
  }
  sinter_tensor *results = scratch.data() + inputs.size();
  for (size_t k = 0; k < outputs.size(); ++k) {
    if (outputs[k].defined() && detail::deviceOf(outputs[k]))
      return refuseThere(outputs[k], where);
    results[k] = outputs[k].defined() ? outputs[k].view() : sinter_tensor{};
  }
  if (sinter_status_code code =
          sinter_session_call(session.get(), int32_t(inputs.size()), scratch.data(), int32_t(outputs.size()), results))
    return detail::report(lastError(code, where));
  for (size_t k = 0; k < outputs.size(); ++k) {
    const sinter_tensor &result = results[k];
    Shape shape(std::span<const int64_t>(result.dims, size_t(result.rank)));
    if (outputs[k].defined()) {
      if (!(shape == outputs[k].known_shape()))
        return detail::report(Error("call requires a buffer of the result's sizes " + shape.str() + " for output " +
                                        std::to_string(k) + ", got " + outputs[k].known_shape().str(),
                                    where));
    } else {
      outputs[k] = Tensor::empty(DType(result.dtype), shape, where);
      if (outputs[k].error())
        return *outputs[k].error();
      if (size_t bytes = size_t(dtype_bytes(outputs[k].dtype(), outputs[k].known_size())))
        std::memcpy(outputs[k].view().data, result.data, bytes);
    }
  }
  return {};
}

std::vector<Tensor> Session::operator()(std::span<const Tensor> inputs, Where where) {
  bool isWhole = !failure && inputs.size() != given.size();
  std::vector<Tensor> outputs(isWhole ? size_t(sinter_session_function(session.get())->num_outputs) : returned.size());
  Status status = call(inputs, outputs, where);
  if (!status)
    outputs.assign(1, detail::fail(where, status.error()->message()));
  return outputs;
}

std::vector<Tensor> Session::operator()(std::initializer_list<Tensor> inputs, Where where) {
  return (*this)(std::span(inputs.begin(), inputs.size()), where);
}

void Session::cancel() {
  if (session)
    sinter_session_cancel(session.get());
}

//===- states ---------------------------------------------------------------------------------------===//

std::vector<std::string> Session::states() const {
  std::vector<std::string> names;
  for (int k = 0; session && k < sinter_session_num_states(session.get()); ++k)
    names.push_back(sinter_session_state_name(session.get(), k));
  return names;
}

Tensor Session::state(const std::string &name, Where where) const {
  if (failure)
    return detail::fail(where, failure->message());
  sinter_tensor view{};
  if (sinter_status_code code = sinter_session_state_get(session.get(), name.c_str(), &view)) {
    (void)detail::report(lastError(code, where));
    return detail::errorTensor(lastError(code, where));
  }
  Tensor copy = Tensor::empty(DType(view.dtype), Shape(std::span<const int64_t>(view.dims, size_t(view.rank))), where);
  if (size_t bytes = copy.error() ? 0 : size_t(dtype_bytes(copy.dtype(), copy.known_size())))
    std::memcpy(copy.view().data, view.data, bytes);
  return copy;
}

Status Session::set_state(const std::string &name, const Tensor &value, Where where) {
  if (failure)
    return *failure;
  if (!value.defined() || value.traced() || value.error())
    return detail::report(value.error() ? *value.error()
                                        : Error("set_state requires a tensor with elements, got one without", where));
  return outcome(sinter_session_state_set(session.get(), name.c_str(), &value.view()), where);
}
Status Session::reset(Where where) {
  return failure ? Status(*failure) : outcome(sinter_session_state_reset(session.get()), where);
}
Status Session::save(const std::string &path, Where where) const {
  return failure ? Status(*failure) : outcome(sinter_session_save(session.get(), path.c_str()), where);
}
Status Session::load(const std::string &path, Where where) {
  return failure ? Status(*failure) : outcome(sinter_session_load(session.get(), path.c_str()), where);
}
sinter_memory_report Session::memory() const {
  sinter_memory_report report{};
  report.struct_size = sizeof(report);
  if (session)
    (void)sinter_session_memory(session.get(), &report);
  return report;
}

//===- compiling ------------------------------------------------------------------------------------===//

Module build(const Graph &graph, const BuildOptions &options, Where where) {
  Module result;
  sinter_module *made = nullptr;
  sinter_compile_options lowered{};
  lowered.struct_size = sizeof(lowered);
  lowered.opt_level = int32_t(options.opt_level);
  lowered.fast_math = options.fast_math;
  lowered.disk_cache = options.disk_cache;
  lowered.kernel_cache = options.kernel_cache;
  lowered.target = options.target.empty() ? nullptr : options.target.c_str();
  if (graph.error())
    result.failure = std::make_shared<Error>(*graph.error());
  else if (sinter_status_code code = sinter_graph_compile(graph.handle(), &lowered, &made))
    result.failure = keep(lastError(code, where));
  else
    result.module.reset(made, sinter_module_close);
  return result;
}
Module build(const Graph &graph, Where where) { return build(graph, BuildOptions(), where); }

Status detail::writeGraph(const Graph &graph, const CompileOptions &options) {
  if (graph.error())
    return *graph.error();
  auto endsWith = [&](std::string_view suffix) { return std::string_view(options.output).ends_with(suffix); };
  if (endsWith(".mlir") || endsWith(".sinter"))
    return graph.save(options.output, options.where);
  sinter_compile_options lowered{};
  lowered.struct_size = sizeof(lowered);
  lowered.opt_level = int32_t(options.opt_level);
  lowered.fast_math = options.fast_math;
  lowered.strip_debug = options.strip_debug;
  lowered.kernel_cache = options.kernel_cache;
  lowered.target = options.target.empty() ? nullptr : options.target.c_str();
  lowered.header = options.header.empty() ? nullptr : options.header.c_str();
  lowered.sha256 = options.sha256;
  return outcome(sinter_graph_compile_file(graph.handle(), options.output.c_str(), &lowered), options.where);
}
Status compile(const Graph &graph, const CompileOptions &options) { return detail::writeGraph(graph, options); }

} // namespace sinter::inline SINTER_HOST

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled code: modules, sessions that run them on prepared buffers, and `compile`, which writes them to files.

#ifndef SINTER_TRACE_MODULE_HPP
#define SINTER_TRACE_MODULE_HPP

#include "graph.hpp"

namespace sinter {

/// Compiled functions and their weights. Copies share them.
class Module {
public:
  Module() = default;
  /// Takes over one hold.
  explicit Module(sinter_module *owned) : module(owned, sinter_module_close) {}
  /// Opens a `.smod` file or a shared library that `compile` wrote. Both are native code: open what you trust.
  static Module open(const std::string &path, Where where = Where::current()) {
    sinter_module *opened = nullptr;
    Module result;
    if (sinter_module_open(path.c_str(), nullptr, &opened))
      result.failure = std::make_shared<Error>(*detail::fail(where, sinter_last_error()).error());
    else
      result.module.reset(opened, sinter_module_close);
    return result;
  }
  bool defined() const { return bool(module); }
  sinter_module *handle() const { return module.get(); }
  const Error *error() const { return failure.get(); }
  int functions() const { return module ? sinter_module_num_functions(module.get()) : 0; }

private:
  friend Module build(const Graph &graph, Where where);
  std::shared_ptr<sinter_module> module;
  std::shared_ptr<Error> failure;
};

/// A function of a module with the memory and threads that run it. Belongs to one thread at a time.
class Session {
public:
  /// `threads` 0: all cores. `function` is a name, or null for the first.
  explicit Session(Module owner, const char *function = nullptr, int threads = 0, Where where = Where::current())
      : module(std::move(owner)) {
    sinter_session_options options{};
    options.struct_size = sizeof(options);
    options.threads = threads;
    int index = !module.defined() ? -1 : function ? sinter_module_find_function(module.handle(), function) : 0;
    sinter_session *made = nullptr;
    if (module.error())
      failure = std::make_shared<Error>(*module.error());
    else if (index < 0)
      failure = std::make_shared<Error>(
          *detail::fail(where, std::string("a session requires a function of its module, got ") +
                                   (function ? function : "no module"))
               .error());
    else if (sinter_session_create(module.handle(), index, &options, &made))
      failure = std::make_shared<Error>(*detail::fail(where, sinter_last_error()).error());
    session.reset(made);
  }
  sinter_session *handle() const { return session.get(); }
  const Error *error() const { return failure.get(); }

  /// Runs the function. A defined tensor of `outputs` is a buffer that the result is written to; its sizes must be the
  /// result's. Others are replaced by new tensors.
  Status call(std::span<const Tensor> inputs, std::span<Tensor> outputs, Where where = Where::current()) {
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
  /// The same with new tensors for all outputs. After an error one error tensor.
  std::vector<Tensor> operator()(std::span<const Tensor> inputs, Where where = Where::current()) {
    std::vector<Tensor> outputs(failure ? 0 : size_t(sinter_session_function(session.get())->num_outputs));
    Status status = call(inputs, outputs, where);
    if (!status)
      outputs.assign(1, detail::fail(where, status.error()->message()));
    return outputs;
  }
  std::vector<Tensor> operator()(std::initializer_list<Tensor> inputs, Where where = Where::current()) {
    return (*this)(std::span(inputs.begin(), inputs.size()), where);
  }

private:
  struct Destroy {
    void operator()(sinter_session *owned) const { sinter_session_destroy(owned); }
  };
  Module module;
  std::unique_ptr<sinter_session, Destroy> session;
  std::shared_ptr<Error> failure;
  std::vector<sinter_tensor> scratch;
};

/// Compiles a graph in memory.
inline Module build(const Graph &graph, Where where = Where::current()) {
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

/// What `compile` writes, and where.
struct CompileOptions {
  /// The suffix decides: .smod, .o, .a, .so, .s, .sinter, .mlir; none means a program.
  std::string output = {};
  /// The C header beside an object or library; empty: beside the output.
  std::string header = {};
  /// A CPU or level ("x86-64-v3"); several, separated by commas: each machine runs the best that it can; empty: this
  /// machine.
  std::string target = {};
  int opt_level = 0;      // 1 to 3; 0: the default; -1: none
  bool fast_math = false; // rewrites that change rounding, infinities and NaN
  std::string name = "main";
  bool sha256 = false;                                // of a .smod's sections, stated in it
  std::vector<std::string> inputs = {}, outputs = {}; // names, in the order of leaves
  Where where = Where::current();
};

namespace detail {

inline Status writeGraph(const Graph &graph, const CompileOptions &options) {
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

} // namespace detail

/// Compiles `f` ahead of time, with one spec per tensor that it takes:
/// `compile(f, {spec<float>({"batch", 80})}, {.output = "f.o", .header = "f.h"})`.
template <class F> Status compile(F &&f, std::vector<Spec> specs, const CompileOptions &options) {
  return detail::writeGraph(traceWith(f, detail::defaultArguments<F>(), std::span<const Spec>(specs),
                                      options.name.c_str(), options.inputs, options.outputs, options.where),
                            options);
}
/// The same for a function of any trees, with a tuple of example arguments, whose elements do not matter.
template <class F, class... Example>
Status compile(F &&f, const std::tuple<Example...> &examples, const CompileOptions &options) {
  std::vector<Spec> specs;
  detail::eachLeaf(examples, [&](const Tensor &leaf) { specs.push_back(spec_of(leaf)); });
  return detail::writeGraph(traceWith(f, examples, std::span<const Spec>(specs), options.name.c_str(), options.inputs,
                                      options.outputs, options.where),
                            options);
}

} // namespace sinter

#endif

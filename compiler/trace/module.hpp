// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled code: modules, sessions that run them on prepared buffers, and `compile`, which writes them to files.

#ifndef SINTER_TRACE_MODULE_HPP
#define SINTER_TRACE_MODULE_HPP

#include "graph.hpp"

namespace sinter::inline SINTER_HOST {

/// Compiled functions and their weights. Copies share them.
class Module {
public:
  Module() = default;
  /// Takes over one hold.
  explicit Module(sinter_module *owned) : module(owned, sinter_module_close) {}
  /// Opens a `.smod` file or a shared library that `compile` wrote. Both are native code: open what you trust.
  static Module open(const std::string &path, Where where = Where::current());
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
  explicit Session(Module owner, const char *function = nullptr, int threads = 0, Where where = Where::current());
  sinter_session *handle() const { return session.get(); }
  const Error *error() const { return failure.get(); }

  /// Runs the function. A defined tensor of `outputs` is a buffer that the result is written to; its sizes must be the
  /// result's. Others are replaced by new tensors.
  Status call(std::span<const Tensor> inputs, std::span<Tensor> outputs, Where where = Where::current());
  /// The same with new tensors for all outputs. After an error one error tensor.
  std::vector<Tensor> operator()(std::span<const Tensor> inputs, Where where = Where::current());
  std::vector<Tensor> operator()(std::initializer_list<Tensor> inputs, Where where = Where::current());

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
Module build(const Graph &graph, Where where = Where::current());

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

Status writeGraph(const Graph &graph, const CompileOptions &options);

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

} // namespace sinter::inline SINTER_HOST

#endif

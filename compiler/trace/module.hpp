// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled code: modules, sessions that run them on prepared buffers, and `compile`, which writes them to files.

#ifndef SINTER_TRACE_MODULE_HPP
#define SINTER_TRACE_MODULE_HPP

#include "graph.hpp"

namespace sinter::inline SINTER_HOST {

struct BuildOptions;

/// The version of the library's ABI.
uint32_t version();

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
  /// The name of function `index`, empty when there is none.
  std::string function_name(int index) const;

private:
  friend Module build(const Graph &graph, const BuildOptions &options, Where where);
  std::shared_ptr<sinter_module> module;
  std::shared_ptr<Error> failure;
};

/// How much the compiler does.
enum class OptLevel : int32_t {
  each_op = -1, // each op by itself, plain loops: for looking for errors
  standard = 0, // what is right for most: the same as `two`
  one = 1,
  two = 2,
  three = 3
};

class Session;

/// Threads of the program, as sinter_executor: made of a function `run(int count, Executor::Task task)` that calls
/// task(k) for numbers k of [0, count), each at most once, on any threads, and returns when all calls that began have
/// ended. What it leaves out the session's thread does. It throws nothing (std::terminate), and several sessions may
/// call it at the same time.
class Executor {
public:
  struct Task {
    void (*call)(void *data, int32_t index);
    void *data;
    void operator()(int index) const { call(data, index); }
  };
  Executor() = default;
  template <typename F>
    requires(!std::is_same_v<F, Executor>)
  Executor(F run)
      : held(std::make_shared<F>(std::move(run))),
        how([](void *function, int count, Task task) { (*static_cast<F *>(function))(count, task); }) {}
  explicit operator bool() const { return how != nullptr; }
  void operator()(int count, Task task) const { how(held.get(), count, task); }

private:
  std::shared_ptr<void> held;
  void (*how)(void *function, int count, Task task) = nullptr;
};

/// Workers for any number of sessions, as many as are given besides the sessions' own threads; 0: one less than the
/// cores that the process may use. They end with the last copy. Undefined where threads cannot be made.
Executor shared_threads(int workers = 0);

struct SessionOptions {
  std::string function = {};          // empty: the first of the module
  int threads = 0;                    // 0: all cores that the process may use
  const Session *states_of = nullptr; // of the same module: both keep the same states
  int64_t max_bytes = 0;              // most that it may hold at once, states apart; 0: no limit
  int64_t max_tape_bytes = 0;         // most that loops of unknown length may store of their trips; 0: no limit
  std::string folder = {};            // where large states and the arena lie as mapped files; empty: in memory
  Executor executor = {};             // threads of the program, `threads` of them at most; empty: the session's own
};

/// A function of a module with the memory and threads that run it. It keeps the function's states (weights in training,
/// an optimizer's moments, random keys) from call to call; they are neither given nor returned. Belongs to one thread
/// at a time.
class Session {
public:
  /// `threads` 0: all cores. `function` is a name, or null for the first.
  explicit Session(Module owner, const char *function = nullptr, int threads = 0, Where where = Where::current());
  Session(Module owner, const SessionOptions &options, Where where = Where::current());
  sinter_session *handle() const { return session.get(); }
  const Error *error() const { return failure.get(); }

  /// Names of what a call takes and returns, states left out.
  std::vector<std::string> inputs() const;
  std::vector<std::string> outputs() const;

  /// Runs the function. A defined tensor of `outputs` is a buffer that the result is written to; its sizes must be the
  /// result's. Others are replaced by new tensors. (Lists with an entry for each state, in the function's order, are
  /// taken as well: the entries of states are not looked at, and are filled with copies of the states.)
  Status call(std::span<const Tensor> inputs, std::span<Tensor> outputs, Where where = Where::current());
  /// The same with new tensors for all outputs. After an error one error tensor.
  std::vector<Tensor> operator()(std::span<const Tensor> inputs, Where where = Where::current());
  std::vector<Tensor> operator()(std::initializer_list<Tensor> inputs, Where where = Where::current());
  /// Asks the call in progress, of another thread, to stop with StatusCode::cancelled.
  void cancel();

  /// Names of the states.
  std::vector<std::string> states() const;
  /// A copy of a state.
  Tensor state(const std::string &name, Where where = Where::current()) const;
  Status set_state(const std::string &name, const Tensor &value, Where where = Where::current());
  /// Gives all states their first values again.
  Status reset(Where where = Where::current());
  /// Writes all states as safetensors, under their names; the file is the old one or the new one, whatever happens.
  Status save(const std::string &path, Where where = Where::current()) const;
  /// Reads all states or none.
  Status load(const std::string &path, Where where = Where::current());
  /// Bytes that the session holds, by use.
  sinter_memory_report memory() const;

private:
  struct Destroy {
    void operator()(sinter_session *owned) const { sinter_session_destroy(owned); }
  };
  void open(const SessionOptions &options, Where where);
  Module module;
  std::shared_ptr<Executor> executor; // outlives the session
  std::unique_ptr<sinter_session, Destroy> session;
  std::shared_ptr<Error> failure;
  std::vector<sinter_tensor> scratch;
  std::vector<int32_t> given, returned; // numbers of inputs and outputs that are no states
};

/// Compiles a graph in memory.
Module build(const Graph &graph, Where where = Where::current());
struct BuildOptions {
  OptLevel opt_level = OptLevel::standard;
  bool fast_math = false;  // rewrites that change rounding, infinities and NaN
  bool disk_cache = false; // as in JitOptions
  bool kernel_cache = false;
  std::string target = {}; // as in CompileOptions
};
Module build(const Graph &graph, const BuildOptions &options, Where where = Where::current());
/// Compiles a graph, whichever way it was made, to files.
struct CompileOptions;
Status compile(const Graph &graph, const CompileOptions &options);

/// What `compile` writes, and where.
struct CompileOptions {
  /// The suffix decides: .smod, .o, .a, .so, .s, .sinter, .mlir; none means a program.
  std::string output = {};
  /// The C header beside an object or library; empty: beside the output.
  std::string header = {};
  /// A CPU or level ("x86-64-v3"); several, separated by commas: each machine runs the best that it can; empty: this
  /// machine.
  std::string target = {};
  OptLevel opt_level = OptLevel::standard;
  bool fast_math = false;    // rewrites that change rounding, infinities and NaN
  bool strip_debug = false;  // without debug_print and check_finite
  bool kernel_cache = false; // as in JitOptions
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

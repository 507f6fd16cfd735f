// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions compiled when they are called. A jitted function keeps one compiled form per signature: the structure of
// the arguments, and of each tensor its element type, rank and fixed sizes. A call compares its arguments with the
// signature used last, takes a session that is idle, and runs it on buffers from the pool.

#ifndef SINTER_TRACE_JIT_HPP
#define SINTER_TRACE_JIT_HPP

#include "module.hpp"
#include "tape.hpp"

namespace sinter::inline SINTER_HOST {

struct JitOptions {
  /// One per tensor in the arguments, in order, to name sizes that may differ from call to call; empty: all sizes are
  /// fixed.
  std::vector<Spec> specs = {};
  /// Look for compiled code in, and write it to, $XDG_CACHE_HOME/sinter/jit.
  bool disk_cache = false;
  /// Take object code of kernels from $XDG_CACHE_HOME/sinter/kernels, or ~/.cache/sinter/kernels, and keep it there.
  bool kernel_cache = false;
  OptLevel opt_level = OptLevel::standard;
  int threads = 0;        // that run it; 0: all cores for large arguments, else one
  bool fast_math = false; // rewrites that change rounding, infinities and NaN
  bool profile = false;   // count calls and time of each kernel, which costs some 50 ns a call
  /// What is computed again instead of kept where it is read much later, as in a gradient: none, full, budget:64M,
  /// budget:40%; empty: none.
  std::string checkpoint = {};
  /// What products and convolutions of f32 multiply in, as `sinter compile --precision` says it: bf16, f16,
  /// "bf16,convolution=f32"; empty: f32. Sums, results and all other ops stay f32.
  std::string precision = {};
  /// Where the code runs: "cpu", "cuda:1", the GPU of that number, or "cuda", the one whose number SINTER_CUDA_DEVICE
  /// of the environment has, else the first; nothing: where the arguments are. Results are on the device if an argument
  /// is (Tensor::to), else in the host's memory; the CPU computes what has no form on the GPU. A machine without such a
  /// GPU is an error of the first call, and so are another name and arguments on another device.
  std::string device = {};
};

/// What the calls of a jitted function took.
struct Profile {
  struct Kernel {
    std::string name; // a number, the form of its loops, and the first ops that it computes
    int64_t calls = 0;
    double seconds = 0; // that the caller waited for it
    double share = 0;   // of all seconds
  };
  int64_t calls = 0;
  double seconds = 0;          // all told, also copies, branches and what is between kernels
  std::vector<Kernel> kernels; // the longest first
  /// A table.
  std::string str() const;
};

namespace detail {

/// A function that is made again at each call of what makes it (`grad(f)(x)`): what is compiled belongs to the line and
/// the function's type.
struct JitSite {
  const void *type = nullptr; // one address per type
  std::string state = {};     // what the function is made with, as far as it is known
  bool isWhole = false;       // `state` is all of it: the function does the same each time
};

/// Tensors for the leaves of all arguments, and what to fill.
using JitTrace = FunctionRef<void(std::span<const Tensor> leaves, void *result)>;

/// The function alone that a gradient is of, by which a site knows it again.
struct JitProbe {
  AnyTree result;
  JitTrace trace;
};

/// What a jitted function has compiled, whatever its types. Copies share it.
class JitCore {
public:
  JitCore(JitOptions options, Where where);
  JitCore(Where where, const JitSite &site);
  /// Fills `result` by the compiled form for these arguments, which is made if need be, by `trace`.
  void call(std::span<const AnyTree> args, AnyTree result, JitTrace trace, const JitProbe *probe = nullptr) const;
  std::string explain() const;
  int forms() const;
  Profile profile() const;
  /// The text of a phase for these arguments.
  std::string dump(const char *phase, std::span<const AnyTree> args, AnyTree result, JitTrace trace) const;

private:
  struct State;
  std::shared_ptr<State> state;
};

template <class T> inline constexpr char kTypeTag = 0;

/// Appends what makes `f` another function than others of its type; false when that cannot be known (what a lambda
/// captures).
template <class F> bool identify(const F &f, std::string &state) {
  if constexpr (std::is_empty_v<F>)
    return true;
  else if constexpr (std::is_pointer_v<F>)
    return state.append(reinterpret_cast<const char *>(&f), sizeof f), true;
  else if constexpr (requires { f.identify(state); })
    return f.identify(state);
  else
    return false;
}
template <class F> JitSite siteOf(const F &f) {
  JitSite site{&kTypeTag<F>};
  site.isWhole = identify(f, site.state);
  return site;
}

/// Replaces the leaves of all `trees`.
void setLeaves(std::span<const AnyTree> trees, std::span<const Tensor> leaves);

} // namespace detail

/// A function that compiles itself; made by `jit`. Copies share what is compiled. May be called from several threads.
template <class F> class Jitted {
public:
  using Wrapped = F;
  Jitted(F f, JitOptions options, Where where)
      : function(std::make_shared<F>(std::move(f))), core(std::move(options), where) {}
  /// Shares what is compiled with others that were made of such a function at `where`.
  Jitted(F f, Where where)
      : function(std::make_shared<F>(std::move(f))), core(where, detail::siteOf(std::as_const(*function))) {}

  /// Inside of a trace the function becomes part of that trace. On tensors that need a gradient (tape.hpp) it runs op
  /// by op, so that they are recorded.
  template <class... Args>
    requires std::is_invocable_v<F &, const detail::tree_t<Args> &...>
  auto operator()(const Args &...args) const {
    using Result = detail::tree_t<std::invoke_result_t<F &, const detail::tree_t<Args> &...>>;
    if (detail::tracing())
      return detail::treeCast<Result>((*function)(detail::asTree(args)...));
    if constexpr (!requires { function->plain(args...); })
      if ((detail::isRecorded(detail::anyTree(detail::asTree(args))) || ...))
        return detail::treeCast<Result>((*function)(detail::asTree(args)...));
    return run<Result>(detail::asTree(args)...);
  }

  /// One line per compilation: what had changed since the call before.
  std::string explain() const { return core.explain(); }
  /// What calls took since it was made, over all compiled forms, with JitOptions::profile; else nothing. Calls that run
  /// meanwhile in other threads are left out.
  Profile profile() const { return core.profile(); }
  /// The text of a phase of the compiler for such arguments, named as `sinter compile --emit` does: "graph", "fused",
  /// "schedule", "loops", "llvm" or "asm". The function is traced again, and nothing is kept.
  template <class... Args>
    requires std::is_invocable_v<F &, const detail::tree_t<Args> &...>
  std::string dump(const char *phase, const Args &...args) const {
    using Result = detail::tree_t<std::invoke_result_t<F &, const detail::tree_t<Args> &...>>;
    return dumpTrees<Result>(phase, detail::asTree(args)...);
  }
  /// The number of compiled forms.
  int cache_size() const { return core.forms(); }
  bool identify(std::string &state) const { return detail::identify(std::as_const(*function), state); }

private:
  template <class Result, class... Trees> std::string dumpTrees(const char *phase, const Trees &...args) const {
    Result result{};
    const detail::AnyTree list[] = {detail::anyTree(args)..., {}};
    auto traced = [&](std::span<const Tensor> leaves, void *out) {
      trace<Result>([this](const auto &...given) { return (*function)(given...); }, leaves, out, args...);
    };
    return core.dump(phase, std::span(list, sizeof...(Trees)), detail::anyTree(result), traced);
  }
  template <class Result, class... Trees> Result run(const Trees &...args) const {
    Result result{};
    const detail::AnyTree list[] = {detail::anyTree(args)..., {}};
    auto traced = [&](std::span<const Tensor> leaves, void *out) {
      trace<Result>([this](const auto &...given) { return (*function)(given...); }, leaves, out, args...);
    };
    if constexpr (requires { function->plain(args...); }) {
      using Value = decltype(function->plain(args...));
      Value value{};
      auto plain = [&](std::span<const Tensor> leaves, void *out) {
        trace<Value>([this](const auto &...given) { return function->plain(given...); }, leaves, out, args...);
      };
      detail::JitProbe probe{detail::anyTree(value), plain};
      core.call(std::span(list, sizeof...(Trees)), detail::anyTree(result), traced, &probe);
    } else {
      core.call(std::span(list, sizeof...(Trees)), detail::anyTree(result), traced);
    }
    return result;
  }
  template <class Result, class F0, class... Trees>
  void trace(const F0 &f, std::span<const Tensor> leaves, void *out, Trees... args) const {
    const detail::AnyTree list[] = {detail::anyTree(args)..., {}};
    detail::setLeaves(std::span(list, sizeof...(Trees)), leaves);
    *static_cast<Result *>(out) = detail::treeCast<Result>(f(std::as_const(args)...));
  }

  std::shared_ptr<F> function;
  detail::JitCore core;
};

/// `f`, compiled when it is first called with arguments of a new signature. `f` takes and returns trees of tensors;
/// numbers that are passed by themselves are tensors, numbers within structs are fixed.
template <class F> auto jit(F &&f, JitOptions options = {}, Where where = Where::current()) {
  return Jitted<std::decay_t<F>>(std::forward<F>(f), std::move(options), where);
}

/// Most compiled functions, and most kernels of functions that are computed at once, that this process keeps for code
/// that compiles the same again: at first 512 of each. What a jitted function or a module holds does not count.
Status jit_limit(int64_t most, Where where = Where::current());
/// Gives all of them back.
void jit_clear();

} // namespace sinter::inline SINTER_HOST

#endif

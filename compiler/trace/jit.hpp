// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions compiled when they are called. A jitted function keeps one compiled form per signature: the structure of
// the arguments, and of each tensor its element type, rank and fixed sizes. A call compares its arguments with the
// signature used last, takes a session that is idle, and runs it on buffers from the pool.

#ifndef SINTER_TRACE_JIT_HPP
#define SINTER_TRACE_JIT_HPP

#include "module.hpp"

namespace sinter::inline SINTER_HOST {

struct JitOptions {
  /// One per tensor in the arguments, in order, to name sizes that may differ from call to call; empty: all sizes are
  /// fixed.
  std::vector<Spec> specs = {};
  /// Look for compiled code in, and write it to, $XDG_CACHE_HOME/sinter/jit.
  bool disk_cache = false;
  OptLevel opt_level = OptLevel::standard;
  int threads = 0;        // that run it; 0: all cores for large arguments, else one
  bool fast_math = false; // rewrites that change rounding, infinities and NaN
};

namespace detail {

/// What a jitted function has compiled, whatever its types. Copies share it.
class JitCore {
public:
  JitCore(JitOptions options, Where where);
  /// Fills `result` by the compiled form for these arguments, which is made if need be: then `trace` gets tensors for
  /// the leaves of all arguments, and fills a result.
  void call(std::span<const AnyTree> args, AnyTree result,
            FunctionRef<void(std::span<const Tensor> leaves, void *result)> trace) const;
  std::string explain() const;
  int forms() const;

private:
  struct State;
  std::shared_ptr<State> state;
};

/// Replaces the leaves of all `trees`.
void setLeaves(std::span<const AnyTree> trees, std::span<const Tensor> leaves);

} // namespace detail

/// A function that compiles itself; made by `jit`. Copies share what is compiled. May be called from several threads.
template <class F> class Jitted {
public:
  using Wrapped = F;
  Jitted(F f, JitOptions options, Where where)
      : function(std::make_shared<F>(std::move(f))), core(std::move(options), where) {}

  /// Inside of a trace the function becomes part of that trace.
  template <class... Args>
    requires std::is_invocable_v<F &, const detail::tree_t<Args> &...>
  auto operator()(const Args &...args) const {
    using Result = detail::tree_t<std::invoke_result_t<F &, const detail::tree_t<Args> &...>>;
    if (detail::tracing())
      return detail::treeCast<Result>((*function)(detail::asTree(args)...));
    return run<Result>(detail::asTree(args)...);
  }

  /// One line per compilation: what had changed since the call before.
  std::string explain() const { return core.explain(); }
  /// The number of compiled forms.
  int cache_size() const { return core.forms(); }

private:
  template <class Result, class... Trees> Result run(const Trees &...args) const {
    Result result{};
    const detail::AnyTree list[] = {detail::anyTree(args)..., {}};
    core.call(std::span(list, sizeof...(Trees)), detail::anyTree(result),
              [&](std::span<const Tensor> leaves, void *out) { trace<Result>(leaves, out, args...); });
    return result;
  }
  template <class Result, class... Trees> void trace(std::span<const Tensor> leaves, void *out, Trees... args) const {
    const detail::AnyTree list[] = {detail::anyTree(args)..., {}};
    detail::setLeaves(std::span(list, sizeof...(Trees)), leaves);
    *static_cast<Result *>(out) = detail::treeCast<Result>((*function)(std::as_const(args)...));
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

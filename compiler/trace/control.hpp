// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Control flow that becomes part of the graph: cond, switch_. Branches are lambdas over trees of tensors; what they use
// from outside is captured by itself. Outside of a trace the same calls are branches of the host.

#ifndef SINTER_TRACE_CONTROL_HPP
#define SINTER_TRACE_CONTROL_HPP

#include "tree.hpp"

namespace sinter::inline SINTER_HOST {
namespace detail {

/// Whether a function is being traced on this thread.
bool tracing();

/// Calls the branch, which puts what it returns into `result`.
using BranchCall = FunctionRef<void(size_t branch, void *result)>;
/// Fills `result` with what the chosen one of `count` branches returns; the last one when a switch has no such branch.
void chooseBranch(const Operand &predicate, AnyTree result, BranchCall call, std::span<const AnyTree> operands);
void switchBranch(const Operand &index, size_t count, AnyTree result, BranchCall call,
                  std::span<const AnyTree> operands);

} // namespace detail

/// `on_true(operands...)` or `on_false(operands...)`: only one of them is executed. Both return trees of one type, up
/// to sizes; outside of a trace the other one is traced, the first time, to see that it does.
template <class OnTrue, class OnFalse, class... Operands>
auto cond(const Operand &predicate, OnTrue &&on_true, OnFalse &&on_false, const Operands &...operands) {
  using Result = detail::tree_t<std::invoke_result_t<OnTrue &, const Operands &...>>;
  Result result{};
  auto call = [&](size_t branch, void *out) {
    *static_cast<Result *>(out) =
        branch == 0 ? detail::treeCast<Result>(on_true(operands...)) : detail::treeCast<Result>(on_false(operands...));
  };
  const detail::AnyTree trees[] = {detail::anyTree(operands)..., {}};
  detail::chooseBranch(predicate, detail::anyTree(result), call, std::span(trees, sizeof...(Operands)));
  return result;
}

/// `std::get<index>(branches)(operands...)`, the last branch when `index` is out of range. All return trees of one
/// type, as those of cond.
template <class... Branches, class... Operands>
auto switch_(const Operand &index, const std::tuple<Branches...> &branches, const Operands &...operands) {
  using Result = detail::tree_t<
      std::invoke_result_t<const std::tuple_element_t<0, std::tuple<Branches...>> &, const Operands &...>>;
  Result result{};
  auto call = [&](size_t chosen, void *out) {
    size_t next = 0;
    auto consider = [&](const auto &branch) {
      if (next++ == chosen)
        *static_cast<Result *>(out) = detail::treeCast<Result>(branch(operands...));
    };
    std::apply([&](const auto &...branch) { (consider(branch), ...); }, branches);
  };
  const detail::AnyTree trees[] = {detail::anyTree(operands)..., {}};
  detail::switchBranch(index, sizeof...(Branches), detail::anyTree(result), call,
                       std::span(trees, sizeof...(Operands)));
  return result;
}

} // namespace sinter::inline SINTER_HOST

#endif

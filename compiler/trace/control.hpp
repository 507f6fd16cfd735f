// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Control flow that becomes part of the graph: cond, switch_, while_loop, for_loop. Bodies are lambdas over trees of
// tensors; what they use from outside is captured by itself. Outside of a trace the same calls are loops and branches
// of the host.

#ifndef SINTER_TRACE_CONTROL_HPP
#define SINTER_TRACE_CONTROL_HPP

#include "branches.hpp"
#include <functional>
#include <unordered_set>

namespace sinter {

/// What happens when `max_trip` trips are done and the condition still holds.
enum class OnLimit { stop, trap };

/// How a while_loop ends early, and where it stands in the user's program.
struct WhileOptions {
  int64_t max_trip = 0; // 0: no limit
  OnLimit on_limit = OnLimit::stop;
  /// What the loop keeps for its gradient: all, recompute, period(K), binomial(SLOTS), online(SLOTS), implicit; null:
  /// what the gradient says.
  const char *memory = nullptr;
  Where where = Where::current();
};

struct ForOptions {
  const char *memory = nullptr; // as in WhileOptions
};

namespace detail {

/// Options that a variable holds, in the call that they are given to.
struct WhileCall {
  WhileCall(const WhileOptions &options, Where where = Where::current()) : options(options) {
    this->options.where = where;
  }
  WhileOptions options;
};

//===- pieces ---------------------------------------------------------------------------------------===//

/// Drops regions that were opened and what they hold, unless the op that takes them was built.
class BuildScope {
public:
  explicit BuildScope(Trace &trace)
      : trace(trace), depth(trace.openRegions()), mark(sinter_graph_mark(trace.handle())) {}
  BuildScope(const BuildScope &) = delete;
  void finish() { finished = true; }
  ~BuildScope() {
    if (!finished)
      trace.dropRegions(depth, mark);
  }

private:
  Trace &trace;
  size_t depth;
  sinter_mark mark;
  bool finished = false;
};

template <class T> inline constexpr char kTypeTag = 0;

/// One step of control flow: what it gave before when the code comes by it again, else what `build` gives.
/// `build` returns false after an error, which its result then carries.
template <class Result, class Build>
Result controlStep(Trace &trace, const char *name, std::span<const uint32_t> ids, Where where, Result result,
                   Build &&build) {
  uint64_t hash = hashText(77, name);
  Trace::Step *step;
  if (Tensor problem; trace.replay(hash, ids, where, step, problem)) {
    if (step && step->tag == &kTypeTag<Result>)
      return *static_cast<const Result *>(step->outcome.get());
    if (step)
      problem = trace.nonDeterministic(where, step->where);
    poison(result, problem);
    return result;
  }
  BuildScope scope(trace);
  if (!build(result))
    return result;
  scope.finish();
  Trace::Step &made = trace.append(hash, ids, where);
  made.outcome = std::make_shared<Result>(result);
  made.tag = &kTypeTag<Result>;
  return result;
}

template <class Tree> std::vector<TensorType> leafTypes(const Tree &tree) {
  std::vector<TensorType> types;
  eachLeaf(tree, [&](const Tensor &leaf) { types.push_back(leaf.type()); });
  return types;
}

template <class Tree> const Tensor *firstError(const Tree &tree) {
  const Tensor *found = nullptr;
  eachLeaf(tree, [&](const Tensor &leaf) {
    if (leaf.error() && !found)
      found = &leaf;
  });
  return found;
}

/// Makes the leaves of `tree` values of the trace; an error among them becomes that of all leaves of `result`.
template <class Tree, class Result>
bool materializeOrPoison(Trace &trace, Tree &tree, Where where, std::vector<uint32_t> &ids,
                         std::vector<TensorType> &types, Result &result) {
  if (trace.materialize(tree, where, ids, types))
    return true;
  Tensor problem = *firstError(tree); // `result` may hold `tree`
  poison(result, problem);
  return false;
}

/// A region that was traced: what it returned, as values of the region.
template <class Tree> struct TracedRegion {
  Tree tree;
  std::vector<uint32_t> ids;
  std::vector<TensorType> types;
  uint32_t region = 0; // 0 after an error
  Tensor problem;
};

/// Traces `body(arguments)`, where `arguments` are values of `types`, into a region. Those with an entry in `weak` are
/// literals still.
template <class Body>
auto traceRegion(Trace &trace, std::span<const TensorType> types, Where where, Body &&body,
                 const std::vector<bool> &weak = {}) {
  using Tree = decltype(body(std::declval<std::span<const Tensor>>()));
  std::vector<sinter_value_type> lowered;
  for (const TensorType &type : types)
    lowered.push_back(valueType(type));
  std::vector<uint32_t> ids(types.size() + 1);
  std::vector<Tensor> arguments;
  Tensor problem;
  trace.locate(where);
  if (sinter_graph_region_begin(trace.handle(), int32_t(types.size()), lowered.data(), ids.data()))
    problem = trace.failGraph(where);
  trace.enterRegion();
  for (size_t k = 0; k < types.size(); ++k) {
    arguments.push_back(problem.error() ? problem : trace.wrap(ids[k], where));
    arguments.back().value()->weak = k < weak.size() && weak[k];
  }
  TracedRegion<Tree> result{
      runFrame(trace, where, [&] { return body(std::span<const Tensor>(arguments)); }), {}, {}, 0, problem};
  if (problem.error())
    return result;
  if (trace.error()) {
    result.problem = errorTensor(*trace.error());
    return result;
  }
  if (!trace.materialize(result.tree, where, result.ids, result.types)) {
    result.problem = *firstError(result.tree);
    return result;
  }
  trace.locate(where);
  if (sinter_graph_region_end(trace.handle(), int32_t(result.ids.size()), result.ids.data(), &result.region))
    result.problem = trace.failGraph(where);
  trace.leaveRegion();
  return result;
}

/// Handles on results of an op, put into the leaves of `tree`, from result `first` on.
template <class Tree> void wrapLeaves(Trace &trace, Tree &tree, std::span<const uint32_t> ids, Where where) {
  size_t next = 0;
  eachLeaf(tree, [&](Tensor &leaf) { leaf = trace.wrap(ids[next++], where); });
}

/// A rank-0 boolean. `what` names it in the message.
inline Tensor asPredicate(const Tensor &tensor, const char *what, Where where) {
  if (tensor.error())
    return tensor;
  if (!tensor.defined() || tensor.rank() != 0)
    return fail(where, std::string(what) + " requires a condition of rank 0, got " + tensor.type().str());
  return convert(tensor, DType::boolean, where);
}

/// A rank-0 i64.
inline Tensor asIndex(const Tensor &tensor, const char *what, Where where) {
  if (tensor.error())
    return tensor;
  if (!tensor.defined() || tensor.rank() != 0 || !is_integer(tensor.dtype()))
    return fail(where, std::string(what) + " requires an integer of rank 0, got " + tensor.type().str());
  return convert(tensor, DType::i64, where);
}

/// True when a leaf that a trip returns may follow one of type `before`.
inline bool mayFollow(const TensorType &before, const TensorType &after) {
  if (before.dtype != after.dtype || before.shape.size() != after.shape.size())
    return false;
  for (int axis = 0; axis < before.shape.size(); ++axis)
    if (before.shape[axis] >= 0 && after.shape[axis] >= 0 && before.shape[axis] != after.shape[axis])
      return false;
  return true;
}

/// Checks carries from trip to trip; the message names the leaf.
template <class Tree>
bool carriesAgree(const char *what, const Tree &tree, std::span<const TensorType> before,
                  std::span<const TensorType> after, std::string &problem) {
  if (before.size() != after.size()) {
    problem = std::string(what) + " requires as many tensors from its body as it carries, got " +
              std::to_string(after.size()) + " and " + std::to_string(before.size());
    return false;
  }
  for (size_t k = 0; k < before.size(); ++k)
    if (!mayFollow(before[k], after[k])) {
      std::vector<std::string> paths = leaf_paths(tree);
      std::string path = k < paths.size() ? paths[k] : "";
      problem = std::string(what) + " requires a carry of one type, got " + before[k].str() + " before and " +
                after[k].str() + " after a trip" + (path.empty() ? "" : " for carry " + path);
      return false;
    }
  return true;
}

/// Literals take the types of the carries that they replace. Eager carries are checked here as well.
template <class Tree> bool settleCarry(const char *what, Tree &next, std::span<const TensorType> before, Where where) {
  size_t k = 0;
  Tensor problem;
  std::vector<TensorType> after;
  eachLeaf(next, [&](Tensor &leaf) {
    if (k < before.size() && leaf.weak() && leaf.dtype() != before[k].dtype)
      leaf = convert(leaf, before[k].dtype, where);
    if (leaf.error())
      problem = leaf;
    after.push_back(leaf.type());
    ++k;
  });
  if (!problem.defined())
    if (std::string text; !carriesAgree(what, next, before, after, text))
      problem = fail(where, text);
  if (!problem.defined())
    return true;
  poison(next, problem);
  return false;
}

/// `f(first..., carry)`, where a carry of several values is given as several arguments.
template <bool Several, class F, class Carry, class... First>
decltype(auto) callBody(F &f, const Carry &carry, const First &...first) {
  if constexpr (Several)
    return std::apply([&](const auto &...part) { return f(first..., part...); }, carry);
  else if constexpr (IsTuple<Carry>::value) {
    if constexpr (std::is_invocable_v<F &, const First &..., const Carry &>)
      return f(first..., carry);
    else
      return std::apply([&](const auto &...part) { return f(first..., part...); }, carry);
  } else
    return f(first..., carry);
}

//===- cond, switch ---------------------------------------------------------------------------------===//

/// Traces `branches`, which take nothing, and joins them by `op(regions, room, results, count)`.
template <class Result, class Op>
Result joinBranches(Trace &trace, const char *name, std::span<const uint32_t> ids, Where where,
                    std::span<const std::function<Result()>> branches, Op &&op) {
  return controlStep(trace, name, ids, where, Result(), [&](Result &result) {
    std::vector<uint32_t> regions;
    std::vector<TensorType> types;
    // A function that calls itself in a branch ends when it runs, but not when both are traced.
    constexpr size_t most = 64;
    if (trace.isForTypes() && trace.openRegions() > most) {
      poison(result, fail(where, std::string(name) + " requires branches that do not call themselves"));
      return false;
    }
    for (size_t k = 0; k < branches.size(); ++k) {
      auto traced = traceRegion(trace, {}, where, [&](std::span<const Tensor>) { return branches[k](); });
      if (!traced.region) {
        result = std::move(traced.tree);
        poison(result, traced.problem);
        return false;
      }
      std::string problem;
      if (k && !leavesAgree(types, traced.types, leaf_paths(traced.tree), problem)) {
        result = std::move(traced.tree);
        poison(result, fail(where, std::string(name) + " requires branches with results of one type, got " + problem));
        return false;
      }
      if (!k) {
        types = traced.types;
        result = std::move(traced.tree);
      }
      regions.push_back(traced.region);
    }
    std::vector<uint32_t> joined(types.size() + 1);
    int32_t count = 0;
    trace.locate(where);
    if (op(regions, int32_t(types.size()), joined.data(), &count)) {
      poison(result, trace.failGraph(where));
      return false;
    }
    wrapLeaves(trace, result, joined, where);
    return true;
  });
}

//===- branches that are not taken ------------------------------------------------------------------===//

/// What the type of a leaf tells a branch: equal numbers are equal element types and ranks.
template <class... Trees> uint64_t hashTypes(uint64_t hash, const Trees &...trees) {
  auto add = [&](const Tensor &leaf) {
    const int32_t type[] = {int32_t(leaf.dtype()), leaf.rank()};
    hash = hashBytes(hash, type, sizeof(type));
  };
  (eachLeaf(trees, add), ...);
  return hash;
}

/// The types that `branch()` returns, found by tracing it into a graph that is dropped; false when it cannot be traced,
/// as where the host reads elements.
template <class Branch>
bool tracedTypes([[maybe_unused]] Where where, [[maybe_unused]] Branch &&branch,
                 [[maybe_unused]] std::vector<TensorType> &types) {
  sinter_graph *graph = nullptr;
  if (sinter_graph_create(&graph))
    return false;
  std::unique_ptr<sinter_graph, void (*)(sinter_graph *)> owner(graph, sinter_graph_destroy);
  Trace trace(graph, true);
  uint32_t none;
  if (sinter_graph_begin(graph, "branch", 0, nullptr, nullptr, &none))
    return false;
  trace.enterRegion();
#if SINTER_HAS_EXCEPTIONS
  try {
    auto tree = runFrame(trace, where, branch);
    std::vector<uint32_t> ids;
    return trace.materialize(tree, where, ids, types);
  } catch (...) { // it is not taken: what is wrong with it beside its types is no matter
  }
#endif
  return false;
}

/// What `branch(at)`, the branch that is taken, returns; an error when another of the `count` branches returns other
/// types: whether a program is right would depend on the numbers. The others are traced for their types once for the
/// types of operands and result.
template <class Branch, class... Operands>
auto takeBranch(const char *name, Where where, size_t at, size_t count, Branch &&branch, const Operands &...operands) {
  auto taken = branch(at);
  // Without exceptions code goes on after an error, with zeros that nobody computed: its loops might never end.
  if (!SINTER_HAS_EXCEPTIONS || firstError(taken))
    return taken;
  static thread_local std::unordered_set<uint64_t> known;
  const uint64_t place[] = {uint64_t(where.line()), uint64_t(where.column()), at};
  uint64_t key = hashTypes(hashBytes(hashText(81, where.file_name()), place, sizeof(place)), operands..., taken);
  if (known.contains(key))
    return taken;
  std::vector<TensorType> types = leafTypes(taken), others;
  for (size_t k = 0; k < count; ++k) {
    std::string problem;
    others.clear();
    if (k == at || !tracedTypes(where, [&] { return branch(k); }, others))
      continue;
    if (k < at ? leavesAgree(others, types, leaf_paths(taken), problem)
               : leavesAgree(types, others, leaf_paths(taken), problem))
      continue;
    poison(taken, fail(where, std::string(name) + " requires branches with results of one type, got " + problem));
    return taken;
  }
  if (known.size() >= 4096)
    known.clear();
  known.insert(key);
  return taken;
}

} // namespace detail

/// `on_true(operands...)` or `on_false(operands...)`: only one of them is executed. Both return trees of one type, up
/// to sizes; outside of a trace the other one is traced, the first time, to see that it does.
template <class OnTrue, class OnFalse, class... Operands>
auto cond(const Operand &predicate, OnTrue &&on_true, OnFalse &&on_false, const Operands &...operands) {
  using Result = detail::tree_t<std::invoke_result_t<OnTrue &, const Operands &...>>;
  Tensor chosen = detail::asPredicate(predicate.tensor, "cond", predicate.where);
  detail::Trace *trace = detail::Trace::current();
  if (chosen.error()) {
    Result result{};
    detail::poison(result, chosen);
    return result;
  }
  auto branch = [&](size_t k) {
    return k == 0 ? detail::treeCast<Result>(on_true(operands...)) : detail::treeCast<Result>(on_false(operands...));
  };
  if (!trace)
    return detail::takeBranch("cond", predicate.where, chosen.item<bool>() ? 0 : 1, 2, branch, operands...);
  Tensor problem;
  uint32_t id = trace->use(chosen, predicate.where, problem);
  std::function<Result()> branches[] = {[&] { return branch(0); }, [&] { return branch(1); }};
  return detail::joinBranches<Result>(*trace, "cond", std::span(&id, 1), predicate.where, branches,
                                      [&](auto &regions, int32_t room, uint32_t *results, int32_t *count) {
                                        return sinter_graph_cond(trace->handle(), id, regions[0], regions[1], room,
                                                                 results, count);
                                      });
}

/// `std::get<index>(branches)(operands...)`, the last branch when `index` is out of range. All return trees of one
/// type, as those of cond.
template <class... Branches, class... Operands>
auto switch_(const Operand &index, const std::tuple<Branches...> &branches, const Operands &...operands) {
  using Result = detail::tree_t<
      std::invoke_result_t<const std::tuple_element_t<0, std::tuple<Branches...>> &, const Operands &...>>;
  Tensor chosen = detail::asIndex(index.tensor, "switch_", index.where);
  detail::Trace *trace = detail::Trace::current();
  if (chosen.error()) {
    Result result{};
    detail::poison(result, chosen);
    return result;
  }
  std::vector<std::function<Result()>> list;
  std::apply(
      [&](const auto &...branch) {
        (list.push_back([&] { return detail::treeCast<Result>(branch(operands...)); }), ...);
      },
      branches);
  if (!trace) {
    int64_t given = chosen.item<int64_t>();
    size_t at = given < 0 || given >= int64_t(list.size()) ? list.size() - 1 : size_t(given);
    return detail::takeBranch(
        "switch_", index.where, at, list.size(), [&](size_t k) { return list[k](); }, operands...);
  }
  Tensor problem;
  uint32_t id = trace->use(chosen, index.where, problem);
  return detail::joinBranches<Result>(
      *trace, "switch_", std::span(&id, 1), index.where, std::span<const std::function<Result()>>(list),
      [&](auto &regions, int32_t room, uint32_t *results, int32_t *count) {
        return sinter_graph_switch(trace->handle(), id, int32_t(regions.size()), regions.data(), room, results, count);
      });
}

} // namespace sinter

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "control.hpp"
#include "Apply.h"
#include "Frames.h"
#include <unordered_set>

namespace sinter::inline SINTER_HOST::detail {

bool tracing() { return Trace::current(); }

void controlStep(Trace &trace, const char *name, std::span<const uint32_t> ids, Where where, AnyTree result,
                 FunctionRef<bool()> build) {
  uint64_t hash = hashText(77, name);
  Trace::Step *step;
  if (Tensor problem; trace.replay(hash, ids, where, step, problem)) {
    if (step && step->tag == result.ops)
      return result.assign(step->outcome.get());
    if (step)
      problem = trace.nonDeterministic(where, step->where);
    return result.poison(problem);
  }
  BuildScope scope(trace);
  if (!build())
    return;
  scope.finish();
  Trace::Step &made = trace.append(hash, ids, where);
  made.outcome = result.clone();
  made.tag = result.ops;
}

bool materializeOrPoison(Trace &trace, AnyTree tree, Where where, std::vector<uint32_t> &ids,
                         std::vector<TensorType> &types, AnyTree result) {
  if (trace.materialize(tree, where, ids, types))
    return true;
  Tensor problem = *tree.firstError(); // `result` may hold `tree`
  result.poison(problem);
  return false;
}

TracedRegion traceRegion(Trace &trace, std::span<const TensorType> types, Where where, AnyTree result,
                         FunctionRef<void(std::span<const Tensor>)> body, const std::vector<bool> &weak) {
  std::vector<sinter_value_type> lowered;
  for (const TensorType &type : types)
    lowered.push_back(valueType(type));
  std::vector<uint32_t> ids(types.size() + 1);
  std::vector<Tensor> arguments;
  TracedRegion traced;
  if (int32_t count; !trace.ask(regionBegin(lowered), ids.data(), count, where))
    traced.problem = trace.failGraph(where);
  trace.enterRegion();
  for (size_t k = 0; k < types.size(); ++k) {
    arguments.push_back(traced.problem.error() ? traced.problem : trace.wrap(ids[k], where));
    arguments.back().value()->weak = k < weak.size() && weak[k];
  }
  runFrame(trace, where, result, [&] { body(std::span<const Tensor>(arguments)); });
  if (traced.problem.error())
    return traced;
  if (trace.error()) {
    traced.problem = errorTensor(*trace.error());
    return traced;
  }
  if (!trace.materialize(result, where, traced.ids, traced.types)) {
    traced.problem = *result.firstError();
    return traced;
  }
  if (!trace.ask(regionEnd(traced.ids), traced.region, where))
    traced.problem = trace.failGraph(where);
  trace.leaveRegion();
  return traced;
}

void wrapLeaves(Trace &trace, AnyTree tree, std::span<const uint32_t> ids, Where where) {
  size_t next = 0;
  tree.each([&](Tensor &leaf) { leaf = trace.wrap(ids[next++], where); });
}

Tensor asPredicate(const Tensor &tensor, const char *what, Where where) {
  if (tensor.error())
    return tensor;
  if (!tensor.defined() || tensor.rank() != 0)
    return fail(where, std::string(what) + " requires a condition of rank 0, got " + tensor.type().str());
  return convert(tensor, DType::boolean, where);
}

Tensor asIndex(const Tensor &tensor, const char *what, Where where) {
  if (tensor.error())
    return tensor;
  if (!tensor.defined() || tensor.rank() != 0 || !is_integer(tensor.dtype()))
    return fail(where, std::string(what) + " requires an integer of rank 0, got " + tensor.type().str());
  return convert(tensor, DType::i64, where);
}

bool mayFollow(const TensorType &before, const TensorType &after) {
  if (before.dtype != after.dtype || before.shape.size() != after.shape.size())
    return false;
  for (int axis = 0; axis < before.shape.size(); ++axis)
    if (before.shape[axis] >= 0 && after.shape[axis] >= 0 && before.shape[axis] != after.shape[axis])
      return false;
  return true;
}

//===- branches that are traced ---------------------------------------------------------------------===//

/// The op that takes the branches' regions.
using JoinOp = FunctionRef<GraphCall(std::span<const uint32_t> regions, int32_t room)>;

static void joinBranches(Trace &trace, const char *name, uint32_t id, Where where, size_t count, AnyTree result,
                         BranchCall call, JoinOp op) {
  controlStep(trace, name, std::span(&id, 1), where, result, [&] {
    std::vector<uint32_t> regions;
    std::vector<TensorType> types;
    // A function that calls itself in a branch ends when it runs, but not when both are traced.
    constexpr size_t most = 64;
    if (trace.isForTypes() && trace.openRegions() > most) {
      result.poison(fail(where, std::string(name) + " requires branches that do not call themselves"));
      return false;
    }
    for (size_t k = 0; k < count; ++k) {
      std::shared_ptr<void> other = k ? result.clone() : nullptr;
      AnyTree tree = k ? result.at(other.get()) : result;
      auto traced = traceRegion(trace, {}, where, tree, [&](std::span<const Tensor>) { call(k, tree.tree); });
      std::string problem;
      Tensor wrong = traced.problem;
      if (traced.region && k && !leavesAgree(types, traced.types, tree.paths(), problem))
        wrong = fail(where, std::string(name) + " requires branches with results of one type, got " + problem);
      if (wrong.defined()) {
        result.poison(wrong);
        return false;
      }
      if (!k)
        types = traced.types;
      regions.push_back(traced.region);
    }
    std::vector<uint32_t> joined(types.size() + 1);
    int32_t joinedCount = 0;
    if (!trace.ask(op(regions, int32_t(types.size())), joined.data(), joinedCount, where)) {
      result.poison(trace.failGraph(where));
      return false;
    }
    wrapLeaves(trace, result, joined, where);
    return true;
  });
}

//===- branches that are not taken ------------------------------------------------------------------===//

/// What the type of a leaf tells a branch: equal numbers are equal element types and ranks.
static uint64_t hashTypes(uint64_t hash, AnyTree tree) {
  tree.each([&](Tensor &leaf) {
    const int32_t type[] = {int32_t(leaf.dtype()), leaf.rank()};
    hash = hashBytes(hash, type, sizeof(type));
  });
  return hash;
}

/// The types that `branch`, which fills `result`, returns, found by tracing it into a graph that is dropped; false when
/// it cannot be traced, as where the host reads elements.
[[maybe_unused]] static bool tracedTypes(Where where, AnyTree result, FunctionRef<void()> branch,
                                         std::vector<TensorType> &types) {
  sinter_graph *graph = nullptr;
  if (sinter_graph_create(&graph))
    return false;
  GraphHandle owner(graph, sinter_graph_destroy);
  Trace trace(graph, true);
  uint32_t none;
  if (sinter_graph_begin(graph, "branch", 0, nullptr, nullptr, &none))
    return false;
  trace.enterRegion();
#if SINTER_HAS_EXCEPTIONS
  try {
    runFrame(trace, where, result, branch);
    std::vector<uint32_t> ids;
    return trace.materialize(result, where, ids, types);
  } catch (...) { // it is not taken: what is wrong with it beside its types is no matter
  }
#endif
  return false;
}

/// What branch `at`, which is taken, returns; an error when another of the `count` branches returns other types:
/// whether a program is right would depend on the numbers. The others are traced for their types once for the types of
/// operands and result.
static void takeBranch(const char *name, Where where, size_t at, size_t count, AnyTree result, BranchCall call,
                       std::span<const AnyTree> operands) {
  call(at, result.tree);
  // Without exceptions code goes on after an error, with zeros that nobody computed: its loops might never end.
  if (!SINTER_HAS_EXCEPTIONS || result.firstError())
    return;
  static thread_local std::unordered_set<uint64_t> known;
  const uint64_t place[] = {uint64_t(where.line()), uint64_t(where.column()), at};
  uint64_t key = hashBytes(hashText(81, where.file_name()), place, sizeof(place));
  for (const AnyTree &operand : operands)
    key = hashTypes(key, operand);
  key = hashTypes(key, result);
  if (known.contains(key))
    return;
  std::vector<TensorType> types = result.types(), others;
  for (size_t k = 0; k < count; ++k) {
    if (k == at)
      continue;
    std::string problem;
    others.clear();
    std::shared_ptr<void> other = result.clone();
    if (!tracedTypes(where, result.at(other.get()), [&] { call(k, other.get()); }, others))
      continue;
    if (k < at ? leavesAgree(others, types, result.paths(), problem)
               : leavesAgree(types, others, result.paths(), problem))
      continue;
    return result.poison(
        fail(where, std::string(name) + " requires branches with results of one type, got " + problem));
  }
  if (known.size() >= 4096)
    known.clear();
  known.insert(key);
}

void chooseBranch(const Operand &predicate, AnyTree result, BranchCall call, std::span<const AnyTree> operands) {
  Where where = predicate.where;
  Tensor chosen = asPredicate(predicate.tensor, "cond", where);
  if (chosen.error())
    return result.poison(chosen);
  Trace *trace = Trace::current();
  if (!trace)
    return takeBranch("cond", where, chosen.item<bool>() ? 0 : 1, 2, result, call, operands);
  Tensor problem;
  uint32_t id = trace->use(chosen, where, problem);
  if (!id)
    return result.poison(problem);
  joinBranches(*trace, "cond", id, where, 2, result, call,
               [&](std::span<const uint32_t> regions, int32_t room) { return condCall(id, regions, room); });
}

void switchBranch(const Operand &index, size_t count, AnyTree result, BranchCall call,
                  std::span<const AnyTree> operands) {
  Where where = index.where;
  Tensor chosen = asIndex(index.tensor, "switch_", where);
  if (chosen.error())
    return result.poison(chosen);
  Trace *trace = Trace::current();
  if (!trace) {
    int64_t given = chosen.item<int64_t>();
    size_t at = given < 0 || given >= int64_t(count) ? count - 1 : size_t(given);
    return takeBranch("switch_", where, at, count, result, call, operands);
  }
  Tensor problem;
  uint32_t id = trace->use(chosen, where, problem);
  if (!id)
    return result.poison(problem);
  joinBranches(*trace, "switch_", id, where, count, result, call,
               [&](std::span<const uint32_t> regions, int32_t room) { return switchCall(id, regions, room); });
}

} // namespace sinter::inline SINTER_HOST::detail

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop whose gradient has been built stacks what its backward scan reads. Under a policy with snapshots
// (CheckpointPolicy.h) the two are written anew: the forward loop keeps carries of a few trips, and the backward loop
// runs forward from these again. Here is which loops; how is in ExpandPeriod.cpp and ExpandSnapshots.cpp.

#include "passes/Passes.h"
#include "passes/gradient/PairExpansion.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace sinter;

namespace sinter {
#define GEN_PASS_DEF_EXPANDCHECKPOINTS
#include "passes/Passes.h.inc"
} // namespace sinter

static void forEachLoop(Operation *root, llvm::function_ref<void(Operation *)> act) {
  root->walk([&](Operation *op) {
    if (isa<ForOp, ScanOp>(op))
      act(op);
  });
}

static void keepRolled(Operation *op) {
  if (isa<ForOp, ScanOp>(op))
    op->setAttr(kStaysRolled, UnitAttr::get(op->getContext()));
}

/// The loop and what walks its stacks.
static void keepPairRolled(LoopView loop) {
  keepRolled(loop.op);
  for (size_t k = 0; k < loop.stacks; ++k)
    for (Operation *reader : loop.stack(k).getUsers())
      keepRolled(reader);
}

static void expandPair(const LoopPair &pair, OpBuilder &start) {
  PairExpansion expansion(pair, start);
  if (pair.policy.kind == CheckpointPolicy::Kind::Period)
    expandPeriod(expansion);
  else if (pair.policy.count == 1)
    expandFromStart(expansion);
  else
    expandSnapshots(expansion);
}

/// For a loop that nothing reads the stacks of.
static void dropStacks(const LoopPair &pair, OpBuilder &start) {
  PairExpansion(pair, start).forwardPlain();
  pair.loop.op->erase();
}

static LogicalResult expand(LoopView loop) {
  FailureOr<CheckpointPolicy> policy = CheckpointPolicy::of(loop.op);
  if (failed(policy))
    return failure();
  if (policy->kind != CheckpointPolicy::Kind::Implicit)
    keepPairRolled(loop);
  StringRef reason;
  bool runsFromStart = loop.op->hasAttr(kRunsFromStart);
  std::optional<LoopPair> pair = LoopPair::find(loop, *policy, reason);
  for (StringRef attribute : {StringRef("sinter.memory"), StringRef(kStacksForGradient), StringRef(kRunsFromStart)})
    loop.op->removeAttr(attribute);
  if (!policy->hasSnapshots())
    return success();
  if (!pair)
    loop.op->emitWarning() << "keeps all values for its gradient: " << reason;
  OpBuilder start(loop.op);
  Operation *function = loop.op->getParentOfType<func::FuncOp>();
  constexpr llvm::StringLiteral isOld = "sinter.old";
  forEachLoop(function, [&](Operation *op) { op->setAttr(isOld, start.getUnitAttr()); });
  llvm::scope_exit markNew([&] {
    forEachLoop(function, [&](Operation *op) {
      if (!op->removeAttr(isOld))
        keepRolled(op);
    });
  });
  if (pair && pair->scan)
    expandPair(*pair, start);
  else if (pair && runsFromStart) // sizes differ, so that not even what nothing reads can be stacked
    dropStacks(*pair, start);
  return success();
}

/// Outer loops first: their bodies are copied as they are, and what is in the copies comes next.
static LogicalResult expandAll(Operation *function, StringRef attribute) {
  while (true) {
    std::optional<LoopView> found;
    function->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (!op->hasAttr(attribute))
        return WalkResult::advance();
      found = LoopView::of(op);
      return found ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (!found)
      return success();
    if (failed(expand(*found)))
      return failure();
  }
}

LogicalResult sinter::expandLoopsFromStart(Operation *function) { return expandAll(function, kRunsFromStart); }

namespace {
class ExpandCheckpoints : public sinter::impl::ExpandCheckpointsBase<ExpandCheckpoints> {
  void runOnOperation() override {
    if (failed(expandAll(getOperation(), "sinter.memory")))
      signalPassFailure();
  }
};
} // namespace

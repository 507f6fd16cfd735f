// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Control.h"
#include "ir/ControlFlow.h"
#include "ir/Kernel.h"
#include "ir/Shape.h"
#include "passes/Passes.h"
#include "passes/SizeUses.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace sinter;

namespace sinter {
#define GEN_PASS_DEF_HOISTINVARIANTS
#include "passes/Passes.h.inc"
} // namespace sinter

/// Ops that a trip computes from captures and constants alone, in order.
static llvm::SetVector<Operation *> findInvariants(Block &body, unsigned firstCapture) {
  llvm::SetVector<Operation *> invariants;
  auto isInvariant = [&](Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return argument.getArgNumber() >= firstCapture;
    return invariants.contains(value.getDefiningOp());
  };
  for (Operation &op : body.without_terminator())
    if (op.getNumRegions() == 0 && isPure(&op) && llvm::all_of(op.getOperands(), isInvariant))
      invariants.insert(&op);
  return invariants;
}

/// What is cheaper to make again in each trip than to keep in memory.
static bool isCheap(Operation *op) { return isSize(op) || isa<ConstantOp, BroadcastOp, IotaOp>(op); }

static void hoist(Operation *loop, Region &region, unsigned regionNumber) {
  Control control = *controlOf(loop);
  llvm::SetVector<Operation *> invariants = findInvariants(region.front(), control.firstCapture);

  // From the last one up: what a hoisted op reads goes with it.
  llvm::SmallPtrSet<Operation *, 8> moved;
  for (Operation *op : llvm::reverse(invariants)) {
    bool needed = llvm::any_of(op->getUsers(), [&](Operation *user) { return moved.contains(user); });
    if (needed || !isCheap(op))
      moved.insert(op);
  }
  if (moved.empty())
    return;

  OpBuilder b(loop);
  IRMapping map;
  for (auto [k, value] : llvm::enumerate(control.captures))
    map.map(region.getArgument(control.firstCapture + k), value);
  for (Operation *op : invariants) {
    if (!moved.contains(op))
      continue;
    Operation *copy = b.clone(*op, map);
    for (auto [result, outside] : llvm::zip(op->getResults(), copy->getResults())) {
      auto staysIn = [&](OpOperand &use) { return !moved.contains(use.getOwner()); };
      if (isCheap(op) || llvm::none_of(result.getUses(), staysIn))
        continue;
      BlockArgument inside = addCapture(loop, outside)[regionNumber];
      result.replaceUsesWithIf(inside, staysIn);
    }
  }
  for (Operation *op : llvm::reverse(invariants))
    if (op->use_empty())
      op->erase();
}

namespace {

class HoistInvariants : public sinter::impl::HoistInvariantsBase<HoistInvariants> {
  void runOnOperation() override {
    // Inner loops first: what leaves them may leave the outer ones, too.
    SmallVector<Operation *> loops;
    getOperation()->walk<WalkOrder::PostOrder>([&](Operation *op) {
      if (isLoop(op))
        loops.push_back(op);
    });
    for (Operation *loop : loops)
      for (auto [number, region] : llvm::enumerate(loop->getRegions()))
        hoist(loop, region, number);
  }
};

} // namespace

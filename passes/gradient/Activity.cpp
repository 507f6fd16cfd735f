// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/gradient/Activity.h"
#include "ir/ControlFlow.h"
#include "ir/Gradient.h"
#include "ir/gradient/Differentiable.h"
#include "passes/gradient/LoopView.h"

using namespace mlir;
using namespace sinter;

bool Activity::mark(Value value) { return isDifferentiable(value.getType()) && active.insert(value).second; }

void Activity::run(Block &block) {
  for (Operation &op : block)
    visit(&op);
}

/// Runs a region whose arguments are `given`.
void Activity::enter(Region &region, ValueRange given) {
  for (auto [argument, value] : llvm::zip(region.getArguments(), given))
    if (active.contains(value))
      mark(argument);
  run(region.front());
}

void Activity::visit(Operation *op) {
  if (isa<StopGradientOp>(op))
    return;
  if (std::optional<LoopView> loop = LoopView::of(op)) {
    enter(*loop->body, loop->given());
    while (true) {
      bool changed = false;
      for (size_t k = 0; k < loop->carries; ++k)
        if (active.contains(loop->yieldedCarry(k)))
          changed |= mark(loop->carryArgument(k));
      if (!changed)
        break;
      run(loop->body->front());
    }
    for (size_t k = 0; k < loop->carries; ++k)
      if (active.contains(loop->carryArgument(k)))
        mark(loop->carry(k));
    for (size_t k = 0; k < loop->stacks; ++k)
      if (active.contains(loop->yieldedStack(k)))
        mark(loop->stack(k));
    return;
  }
  if (isa<CondOp, SwitchOp, CheckpointOp>(op)) {
    ValueRange given =
        isa<CheckpointOp>(op) ? ValueRange(op->getOperands()) : ValueRange(op->getOperands().drop_front());
    for (Region &region : op->getRegions()) {
      enter(region, given);
      for (auto [yielded, result] : llvm::zip(region.front().getTerminator()->getOperands(), op->getResults()))
        if (active.contains(yielded))
          mark(result);
    }
    return;
  }
  if (llvm::any_of(op->getOperands(), [&](Value operand) { return active.contains(operand); }))
    for (Value result : op->getResults())
      mark(result);
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/gradient/Reverse.h"
#include "ir/Elementwise.h"
#include "ir/Gradient.h"
#include "ir/gradient/Differentiable.h"
#include "passes/gradient/CheckpointPolicy.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace sinter;

void Reverse::add(OpBuilder &builder, Value value, Value cotangent) {
  if (!cotangent || !activity(value))
    return;
  Value &sum = cotangents[value];
  sum = sum ? AddOp::create(builder, value.getLoc(), sum, cotangent).getResult() : cotangent;
}

void Reverse::forget(Operation *op) {
  for (Value result : op->getResults()) {
    cotangents.erase(result);
    activity.forget(result);
  }
}

LogicalResult Reverse::run(Block &block, OpBuilder &builder) {
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  return run(ops, builder);
}

LogicalResult Reverse::run(ArrayRef<Operation *> ops, OpBuilder &builder) {
  for (Operation *op : llvm::reverse(ops))
    if (llvm::any_of(op->getResults(), [&](Value result) { return cotangents.contains(result); }))
      if (failed(reverse(op, builder)))
        return failure();
  return success();
}

LogicalResult Reverse::reverse(Operation *op, OpBuilder &builder) {
  if (std::optional<LoopView> loop = LoopView::of(op)) {
    FailureOr<CheckpointPolicy> policy = CheckpointPolicy::of(op);
    if (failed(policy))
      return failure();
    bool isImplicit = policy->kind == CheckpointPolicy::Kind::Implicit;
    if (isImplicit && !isa<WhileOp>(op))
      return op->emitOpError("has no gradient under the policy implicit: it requires a while");
    return isImplicit ? reverseFixedPoint(*loop, builder) : reverseLoop(*loop, builder);
  }
  if (isa<CondOp, SwitchOp>(op))
    return reverseBranches(op, builder);
  if (isa<CheckpointOp>(op))
    return reverseCheckpoint(op, builder);
  if (isa<CustomVjpOp>(op))
    return reverseCustom(op, builder);
  return reverseByRule(op, builder);
}

LogicalResult Reverse::reverseByRule(Operation *op, OpBuilder &builder) {
  auto rule = dyn_cast<Differentiable>(op);
  if (!rule) {
    if (auto none = dyn_cast<NonDifferentiable>(op))
      return op->emitOpError() << "has no gradient: " << none.reason();
    return op->emitOpError("has no gradient rule");
  }
  SmallVector<Value> given;
  for (Value result : op->getResults())
    given.push_back(cotangents.lookup(result));
  llvm::BitVector wanted(op->getNumOperands());
  for (OpOperand &operand : op->getOpOperands())
    if (activity(operand.get()))
      wanted.set(operand.getOperandNumber());
  VjpBuilder g(builder, op, given, wanted);
  if (failed(rule.vjp(g)))
    return failure();
  for (auto [operand, gradient] : llvm::zip(op->getOperands(), g.gradients())) {
    if (gradient && !agree(gradient.getType(), operand.getType()))
      return op->emitOpError() << "requires a gradient of type " << operand.getType() << ", its rule gives "
                               << gradient.getType();
    add(builder, operand, gradient);
  }
  return success();
}

/// The backward function in place, and the forward one instead of the op.
LogicalResult Reverse::reverseCustom(Operation *op, OpBuilder &builder) {
  auto custom = cast<CustomVjpOp>(op);
  if (auto captures = op->getAttrOfType<IntegerAttr>("sinter.captures"))
    for (Value capture : op->getOperands().take_back(static_cast<size_t>(captures.getInt())))
      if (activity(capture))
        return op->emitOpError("has a gradient by its arguments only, got one by a tensor that it captures; make that "
                               "an argument, or stop its gradient");
  OpBuilder before(op);
  Composer forward(op->getLoc(), before), backward(op->getLoc(), builder);
  IRMapping map;
  for (auto [argument, operand] : llvm::zip(custom.getForward().getArguments(), op->getOperands()))
    map.map(argument, forward.retype(operand, argument.getType()));
  for (Operation &inner : custom.getForward().front().without_terminator())
    before.clone(inner, map);
  SmallVector<Value> given;
  ValueRange yields = custom.getForward().front().getTerminator()->getOperands();
  for (Value residual : yields.drop_front(op->getNumResults()))
    given.push_back(map.lookupOrDefault(residual));
  for (Value result : op->getResults()) {
    if (!isDifferentiable(result.getType()))
      continue;
    Value cotangent = cotangents.lookup(result);
    given.push_back(cotangent ? cotangent : backward.fill(0, result));
  }
  IRMapping backwardMap;
  for (auto [argument, value] : llvm::zip(custom.getBackward().getArguments(), given))
    backwardMap.map(argument, backward.retype(value, argument.getType()));
  for (Operation &inner : custom.getBackward().front().without_terminator())
    builder.clone(inner, backwardMap);
  SmallVector<Value> floats;
  for (Value operand : op->getOperands())
    if (isDifferentiable(operand.getType()))
      floats.push_back(operand);
  for (auto [operand, gradient] : llvm::zip(floats, custom.getBackward().front().getTerminator()->getOperands()))
    add(builder, operand, backwardMap.lookupOrDefault(gradient));

  for (auto [result, value] : llvm::zip(op->getResults(), yields))
    result.replaceAllUsesWith(forward.retype(map.lookupOrDefault(value), result.getType()));
  forget(op);
  op->erase();
  return success();
}

//===- blocks that belong together -----------------------------------------------------------===//

DenseSet<Value> Reverse::reached(Block &block, ArrayRef<Value> seeds) const {
  DenseSet<Value> values;
  auto reach = [&](Value value) {
    if (activity(value))
      values.insert(value);
  };
  llvm::for_each(seeds, reach);
  for (Operation &op : llvm::reverse(block))
    if (llvm::any_of(op.getResults(), [&](Value result) { return values.contains(result); }))
      llvm::for_each(op.getOperands(), reach);
  return values;
}

SmallVector<Value> sinter::readsOf(Block &backward, Block &forward) {
  llvm::SetVector<Value> reads;
  for (Operation &op : backward)
    for (Value operand : op.getOperands())
      if (operand.getParentBlock() == &forward)
        reads.insert(operand);
  return reads.takeVector();
}

void sinter::replaceReads(Block &backward, Block &forward, ArrayRef<Operation *> recomputed, IRMapping &map) {
  OpBuilder builder(backward.getTerminator()->getContext());
  builder.setInsertionPointToStart(&backward);
  SmallVector<Operation *> readers;
  for (Operation &op : backward)
    readers.push_back(&op);
  for (Operation *op : recomputed)
    builder.clone(*op, map);
  for (Operation *op : readers)
    for (OpOperand &operand : op->getOpOperands())
      if (operand.get().getParentBlock() == &forward)
        operand.set(map.lookup(operand.get()));
}

void sinter::orderArguments(Block &block, ArrayRef<BlockArgument> order) {
  unsigned count = block.getNumArguments();
  assert(order.size() == count && "every argument has its place");
  for (BlockArgument argument : order)
    argument.replaceAllUsesWith(block.addArgument(argument.getType(), argument.getLoc()));
  block.eraseArguments(0, count);
}

bool sinter::isStackOfSnapshots(Value value) {
  Operation *op = value.getDefiningOp();
  std::optional<LoopView> loop = op ? LoopView::of(op) : std::nullopt;
  if (!loop || loop->stacks == 0 || cast<OpResult>(value).getResultNumber() < loop->stack(0).getResultNumber())
    return false;
  FailureOr<CheckpointPolicy> policy = CheckpointPolicy::of(op);
  return succeeded(policy) && policy->hasSnapshots();
}

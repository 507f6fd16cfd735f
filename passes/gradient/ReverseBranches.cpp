// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Composer.h"
#include "ir/Gradient.h"
#include "ir/Shape.h"
#include "passes/gradient/Reverse.h"
#include "passes/gradient/SavedValues.h"
#include "passes/gradient/SteppedLoop.h"

using namespace mlir;
using namespace sinter;

/// What a branch yields for a value that only another one has. Nothing reads it: of a `?` it has no element.
static Value placeholder(Composer &b, RankedTensorType type) {
  SmallVector<int64_t> shape(type.getShape());
  for (int64_t &size : shape)
    size = ShapedType::isDynamic(size) ? 0 : size;
  auto empty = RankedTensorType::get(shape, type.getElementType());
  Value zero = b.make<ConstantOp>(HostTensor(type.getElementType(), {}).toAttr());
  return empty.getRank() == 0 ? zero : b.make<BroadcastOp>(zero, Value(), ValueRange(), ArrayRef<int64_t>(), empty);
}

/// The branches again with further results: `saved[r]` of region r, in this order. Replaces `op`.
static Operation *withResults(Operation *op, ArrayRef<SmallVector<Value>> saved) {
  OpBuilder builder(op);
  SmallVector<Type> types(op->getResultTypes());
  for (const SmallVector<Value> &values : saved)
    llvm::append_range(types, ValueRange(values).getTypes());
  OperationState state(op->getLoc(), op->getName(), op->getOperands(), types, op->getAttrs());
  for (size_t k = 0; k < op->getNumRegions(); ++k)
    state.addRegion();
  Operation *wider = builder.create(state);
  for (auto [r, region] : llvm::enumerate(op->getRegions())) {
    wider->getRegion(r).takeBody(region);
    Operation *terminator = wider->getRegion(r).front().getTerminator();
    OpBuilder inner(terminator);
    Composer composer(op->getLoc(), inner);
    SmallVector<Value> further;
    for (auto [owner, values] : llvm::enumerate(saved))
      for (Value value : values)
        further.push_back(owner == r ? value : placeholder(composer, tensorTypeOf(value)));
    terminator->insertOperands(terminator->getNumOperands(), further);
  }
  for (auto [from, to] : llvm::zip(op->getResults(), wider->getResults()))
    from.replaceAllUsesWith(to);
  op->erase();
  return wider;
}

/// At the end of a block of a region that has no op yet.
static OpBuilder builderAt(Block *block, MLIRContext *context) {
  OpBuilder b(context);
  b.setInsertionPointToEnd(block);
  return b;
}

LogicalResult Reverse::reverseBranches(Operation *op, OpBuilder &b) {
  Location loc = op->getLoc();
  unsigned captures = op->getNumOperands() - 1, results = op->getNumResults();
  auto captureOf = [&](unsigned k) { return op->getOperand(k + 1); };
  SmallVector<Value> given; // cotangents that there are
  SmallVector<unsigned> of;
  for (unsigned k = 0; k < results; ++k)
    if (Value cotangent = cotangents.lookup(op->getResult(k))) {
      given.push_back(cotangent);
      of.push_back(k);
    }

  // Each region's backward part, on captures and cotangents.
  SmallVector<std::unique_ptr<Region>> backward;
  llvm::BitVector wanted(captures);
  for (Region &region : op->getRegions()) {
    backward.push_back(std::make_unique<Region>());
    Block *block = new Block;
    backward.back()->push_back(block);
    for (unsigned k = 0; k < captures; ++k)
      block->addArgument(region.getArgument(k).getType(), loc);
    OpBuilder inner = builderAt(block, b.getContext());
    for (auto [k, cotangent] : llvm::zip(of, given))
      add(inner, region.front().getTerminator()->getOperand(k), block->addArgument(cotangent.getType(), loc));
    if (failed(run(region.front(), inner)))
      return failure();
    for (unsigned k = 0; k < captures; ++k)
      if (cotangents.contains(region.getArgument(k)))
        wanted.set(k);
  }
  if (wanted.none())
    return success();

  SmallVector<SmallVector<Value>> saved;
  SmallVector<SavedValues> plans;
  for (auto [region, other] : llvm::zip(op->getRegions(), backward)) {
    Block &block = other->front();
    OpBuilder inner = builderAt(&block, b.getContext());
    Composer inside(loc, inner);
    SmallVector<Value> yields;
    for (unsigned k : wanted.set_bits()) {
      Value value = cotangents.lookup(region.getArgument(k));
      yields.push_back(value ? value : inside.fill(0, block.getArgument(k)));
    }
    YieldOp::create(inner, loc, yields);
    SmallVector<Value> needed = readsOf(block, region.front());
    auto isFree = [](Value value) { return isa<BlockArgument>(value); };
    plans.push_back(planSavedValues({region.front(), needed, isFree, isStackOfSnapshots}));
    saved.push_back(plans.back().saved);
  }
  forget(op);
  op = withResults(op, saved);

  SmallVector<Value> operands{op->getOperand(0)};
  for (unsigned k = 0; k < captures; ++k)
    operands.push_back(captureOf(k));
  llvm::append_range(operands, given);
  llvm::append_range(operands, op->getResults().drop_front(results));
  SmallVector<Type> types;
  for (unsigned k : wanted.set_bits())
    types.push_back(RankedTensorType::get(tensorTypeOf(captureOf(k)).getShape(), elementTypeOf(captureOf(k))));
  for (auto [r, other] : llvm::enumerate(backward)) {
    Block &block = other->front();
    IRMapping map;
    for (unsigned k = 0; k < captures; ++k)
      map.map(op->getRegion(r).getArgument(k), block.getArgument(k));
    for (auto [owner, values] : llvm::enumerate(saved))
      for (Value value : values) {
        BlockArgument argument = block.addArgument(value.getType(), loc);
        if (owner == r)
          map.map(value, argument);
      }
    replaceReads(block, op->getRegion(r).front(), plans[r].recomputed, map);
  }
  OperationState state(loc, op->getName(), operands, types);
  for (size_t k = 0; k < backward.size(); ++k)
    state.addRegion();
  Operation *branches = b.create(state);
  for (auto [region, other] : llvm::zip(branches->getRegions(), backward))
    region.takeBody(*other);
  unsigned next = 0;
  for (unsigned k : wanted.set_bits())
    add(b, captureOf(k), branches->getResult(next++));
  return success();
}

/// A loop of one trip that runs the region again: in a region of its own its ops are not merged with those of the
/// forward part.
LogicalResult Reverse::reverseCheckpoint(Operation *op, OpBuilder &b) {
  Location loc = op->getLoc();
  StepBuilder outside(loc, b);
  Region &source = op->getRegion(0);
  Region region;
  Block *block = new Block;
  region.push_back(block);
  block->addArgument(RankedTensorType::get({}, b.getI64Type()), loc);
  SmallVector<unsigned> wanted;
  SmallVector<Value> inits, captures(op->getOperands());
  for (OpOperand &operand : op->getOpOperands())
    if (activity(operand.get())) {
      wanted.push_back(operand.getOperandNumber());
      inits.push_back(outside.fill(0, operand.get()));
      block->addArgument(inits.back().getType(), loc);
    }

  OpBuilder inner = builderAt(block, b.getContext());
  IRMapping map;
  SmallVector<Value> arguments;
  for (auto [argument, operand] : llvm::zip(source.getArguments(), op->getOperands())) {
    arguments.push_back(block->addArgument(argument.getType(), loc));
    map.map(argument, arguments.back());
    if (activity(operand))
      activity.mark(arguments.back());
  }
  for (Operation &copied : source.front().without_terminator())
    inner.clone(copied, map);
  activity.run(*block);
  for (auto [result, yielded] : llvm::zip(op->getResults(), source.front().getTerminator()->getOperands()))
    if (Value cotangent = cotangents.lookup(result)) {
      captures.push_back(cotangent);
      add(inner, map.lookupOrDefault(yielded), block->addArgument(cotangent.getType(), loc));
    }
  YieldOp end = YieldOp::create(inner, loc, ValueRange()); // `run` reads up to the terminator
  inner.setInsertionPoint(end);
  if (failed(run(*block, inner)))
    return failure();
  Composer inside(loc, inner);
  SmallVector<Value> yields;
  for (unsigned k : wanted) {
    Value value = cotangents.lookup(arguments[k]);
    yields.push_back(inside.retype(value ? value : inside.fill(0, arguments[k]), op->getOperand(k).getType()));
  }
  end->insertOperands(0, yields);

  Value zero = outside.number(0), one = outside.number(1);
  ForOp loop = ForOp::create(b, loc, ValueRange(inits).getTypes(), zero, one, one, inits, captures);
  loop.getBodyRegion().takeBody(region);
  for (auto [k, value] : llvm::zip(wanted, loop.getCarries()))
    add(b, op->getOperand(k), value);
  return success();
}

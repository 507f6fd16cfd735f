// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/train/StepKeys.h"
#include "ir/Composer.h"
#include "ir/ControlFlow.h"
#include "ir/Elementwise.h"
#include "ir/Random.h"
#include "ir/Shape.h"
#include "runtime/abi.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace sinter;

/// True when `key` may depend on an argument of the function.
static bool comesFromArguments(Value key) {
  llvm::SmallSetVector<Value, 16> sources;
  sources.insert(key);
  for (size_t i = 0; i < sources.size(); ++i) {
    Value value = sources[i];
    Operation *op = value.getDefiningOp();
    if (!op) {
      op = cast<BlockArgument>(value).getOwner()->getParentOp();
      if (isa<func::FuncOp>(op))
        return true;
    }
    // Through control flow by type: what enters or is yielded with the type of the value may be it.
    bool isControl = op->getNumRegions() != 0;
    auto add = [&](OperandRange operands) {
      for (Value operand : operands)
        if (!isControl || operand.getType() == value.getType())
          sources.insert(operand);
    };
    add(op->getOperands());
    for (Region &region : op->getRegions())
      add(region.front().getTerminator()->getOperands());
  }
  return false;
}

/// `value`, which is one of `function`'s block, where `op` may use it.
static Value captureFor(Operation *op, Value value, DenseMap<Region *, Value> &captured) {
  Region *region = op->getParentRegion();
  if (region == value.getParentRegion())
    return value;
  if (Value known = captured.lookup(region))
    return known;
  Operation *parent = region->getParentOp();
  Value outside = captureFor(parent, value, captured);
  for (BlockArgument argument : addCapture(parent, outside))
    captured[argument.getOwner()->getParent()] = argument;
  return captured.lookup(region);
}

/// (seed, seed, step, step) in halves, for keys (k0, k1, c2, c3): where keys are stated once and for all, c3 is 0 as a
/// rule.
static Value mixOf(OpBuilder &b, Location loc, Value step, Value seed) {
  Composer c(loc, b);
  Type word = b.getIntegerType(32, /*isSigned=*/false);
  auto i64 = [&](int64_t value) {
    auto type = RankedTensorType::get({}, c.getI64Type());
    return c.make<ConstantOp>(DenseElementsAttr::get(type, value));
  };
  // Conversions to a narrower type saturate.
  auto low = [&](Value wide) { return c.convert(c.make<AndOp>(wide, i64(0xffffffff)), word); };
  auto high = [&](Value wide) { return low(c.make<ShiftRightOp>(wide, i64(32))); };
  SmallVector<Value> words;
  for (Value single : {low(seed), high(seed), high(step), low(step)})
    words.push_back(c.make<ReshapeOp>(single, Value(), RankedTensorType::get({1}, word)));
  return c.make<ConcatenateOp>(words, int64_t(0));
}

void sinter::varyRandomNumbers(func::FuncOp function, States &states, uint64_t seed) {
  SmallVector<RandomBitsOp> draws;
  function.walk([&](RandomBitsOp op) {
    if (!comesFromArguments(op.getKey()))
      draws.push_back(op);
  });
  if (draws.empty())
    return;
  OpBuilder b(function.getContext());
  auto scalar = RankedTensorType::get({}, b.getI64Type());
  Value step = states.find("optimizer.step");
  if (!step)
    step = states.add("optimizer.step", scalar);
  Value ofSeed = states.add(SINTER_SEED_STATE, scalar, DenseElementsAttr::get(scalar, static_cast<int64_t>(seed)));
  b.setInsertionPointToStart(&function.getBody().front());
  Value mix = mixOf(b, function.getLoc(), step, ofSeed);
  DenseMap<Region *, Value> captured;
  for (RandomBitsOp op : draws) {
    Value here = captureFor(op, mix, captured);
    b.setInsertionPoint(op);
    op.getKeyMutable().assign(Composer(op.getLoc(), b).make<XorOp>(op.getKey(), here));
  }
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/RunningTotal.h"
#include "backends/cpu/emit/General.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

RunningTotal::RunningTotal(KernelFunction &fn, Combiner combiner, Type type, int64_t lanes)
    : b(fn.b), lanes(lanes), combiner(combiner), type(type), accumulator(accumulatorType(type)) {
  bool isSum = combiner == Combiner::add || combiner == Combiner::mul;
  isWide = isSum && isa<FloatType>(accumulator) && !accumulator.isF64();
  isCompensated = combiner == Combiner::add && accumulator.isF64();
  Type carried = isWide ? Type(b.getF64Type()) : accumulator;
  start.push_back(identityOf(fn, combiner, isWide ? carried : type));
  if (isCompensated)
    start.push_back(arith::ConstantOp::create(b, b.getZeroAttr(carried)));
  for (Value &value : start)
    if (lanes > 1)
      value = vector::BroadcastOp::create(b, inLanes(value.getType()), value);
}

Type RunningTotal::inLanes(Type scalar) const { return lanes > 1 ? VectorType::get({lanes}, scalar) : scalar; }

SmallVector<Value> RunningTotal::next(ValueRange carried, Value element) {
  Location loc = b.getLoc();
  Value value = widen(b, loc, element, accumulator, isUnsigned(type));
  if (isWide)
    value = arith::ExtFOp::create(b, inLanes(b.getF64Type()), value);
  return combineWith(carried, value);
}

SmallVector<Value> RunningTotal::join(ValueRange first, ValueRange second) {
  SmallVector<Value> joined = combineWith(first, second[0]);
  if (isCompensated)
    joined[1] = arith::AddFOp::create(b, joined[1], second[1]);
  return joined;
}

SmallVector<Value> RunningTotal::combineWith(ValueRange carried, Value value) {
  Type carriedType = isWide ? Type(b.getF64Type()) : type;
  Value total = combine(b, b.getLoc(), combiner, carriedType, carried[0], value);
  if (!isCompensated)
    return {total};
  Value added = arith::SubFOp::create(b, total, carried[0]);
  Value kept = arith::SubFOp::create(b, carried[0], arith::SubFOp::create(b, total, added));
  Value lost = arith::AddFOp::create(b, kept, arith::SubFOp::create(b, value, added));
  return {total, arith::AddFOp::create(b, carried[1], lost)};
}

Value RunningTotal::value(ValueRange carried) {
  Value total = carried[0];
  if (isCompensated) {
    // Beyond infinity there is nothing to correct.
    Value corrected = arith::AddFOp::create(b, total, carried[1]);
    Value isNumber = arith::CmpFOp::create(b, arith::CmpFPredicate::ORD, corrected, corrected);
    total = arith::SelectOp::create(b, isNumber, corrected, total);
  }
  if (isWide)
    total = arith::TruncFOp::create(b, inLanes(accumulator), total);
  return narrow(b, b.getLoc(), total, type);
}

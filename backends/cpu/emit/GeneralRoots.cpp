// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One element of each root op, as scalar loops over its operands.

#include "backends/cpu/emit/General.h"
#include "ir/Contraction.h"
#include "ir/Reduction.h"
#include "ir/Shapes.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

static Type elementOf(Value tensor) { return cast<RankedTensorType>(tensor.getType()).getElementType(); }

Type sinter::cpu::accumulatorType(Type elementType) {
  Type type = signless(elementType);
  return type.isF16() || type.isBF16() ? Type(Float32Type::get(type.getContext())) : type;
}

static Type likeShape(Value value, Type element) {
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    return VectorType::get(vector.getShape(), element);
  return element;
}

Value sinter::cpu::widen(OpBuilder &b, Location loc, Value value, Type accumulator, bool isUnsigned) {
  Type from = getElementTypeOrSelf(value.getType());
  if (from == accumulator)
    return value;
  Type to = likeShape(value, accumulator);
  if (isa<FloatType>(from))
    return arith::ExtFOp::create(b, loc, to, value);
  if (isa<FloatType>(accumulator))
    return isUnsigned ? arith::UIToFPOp::create(b, loc, to, value).getResult()
                      : arith::SIToFPOp::create(b, loc, to, value).getResult();
  if (from.getIntOrFloatBitWidth() > accumulator.getIntOrFloatBitWidth())
    return arith::TruncIOp::create(b, loc, to, value);
  return isUnsigned ? arith::ExtUIOp::create(b, loc, to, value).getResult()
                    : arith::ExtSIOp::create(b, loc, to, value).getResult();
}

Value sinter::cpu::narrow(OpBuilder &b, Location loc, Value value, Type elementType) {
  Type from = getElementTypeOrSelf(value.getType()), to = signless(elementType);
  if (from == to)
    return value;
  if (isa<FloatType>(from))
    return arith::TruncFOp::create(b, loc, likeShape(value, to), value);
  return arith::TruncIOp::create(b, loc, likeShape(value, to), value);
}

Value sinter::cpu::identityOf(KernelFunction &fn, Combiner combiner, Type elementType) {
  Type type = accumulatorType(elementType);
  ImplicitLocOpBuilder &b = fn.b;
  bool wantsGreatest = combiner == Combiner::min, wantsLeast = combiner == Combiner::max;
  if (auto floatType = dyn_cast<FloatType>(type)) {
    APFloat value = wantsGreatest || wantsLeast ? APFloat::getInf(floatType.getFloatSemantics(), wantsLeast)
                    : combiner == Combiner::mul ? APFloat::getOne(floatType.getFloatSemantics())
                                                : APFloat::getZero(floatType.getFloatSemantics());
    return arith::ConstantOp::create(b, b.getFloatAttr(type, value));
  }
  unsigned width = type.getIntOrFloatBitWidth();
  bool wide = isUnsigned(elementType);
  APInt value(width, combiner == Combiner::mul ? 1 : 0);
  if (wantsGreatest)
    value = wide ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width);
  if (wantsLeast)
    value = wide ? APInt::getMinValue(width) : APInt::getSignedMinValue(width);
  if (combiner == Combiner::logical_and)
    value = APInt::getAllOnes(width);
  return arith::ConstantOp::create(b, b.getIntegerAttr(type, value));
}

Value sinter::cpu::combine(OpBuilder &b, Location loc, Combiner combiner, Type elementType, Value x, Value y) {
  bool isFloat = isa<FloatType>(elementType), wide = isUnsigned(elementType);
  switch (combiner) {
  case Combiner::add:
    return isFloat ? arith::AddFOp::create(b, loc, x, y).getResult() : arith::AddIOp::create(b, loc, x, y).getResult();
  case Combiner::mul:
    return isFloat ? arith::MulFOp::create(b, loc, x, y).getResult() : arith::MulIOp::create(b, loc, x, y).getResult();
  case Combiner::max:
    return isFloat ? arith::MaximumFOp::create(b, loc, x, y).getResult()
           : wide  ? arith::MaxUIOp::create(b, loc, x, y).getResult()
                   : arith::MaxSIOp::create(b, loc, x, y).getResult();
  case Combiner::min:
    return isFloat ? arith::MinimumFOp::create(b, loc, x, y).getResult()
           : wide  ? arith::MinUIOp::create(b, loc, x, y).getResult()
                   : arith::MinSIOp::create(b, loc, x, y).getResult();
  case Combiner::logical_and:
    return arith::AndIOp::create(b, loc, x, y);
  case Combiner::logical_or:
    return arith::OrIOp::create(b, loc, x, y);
  case Combiner::set:
    return y;
  }
  llvm_unreachable("all combiners handled");
}

/// Nested loops over `sizes`, one carried accumulator.
static Value accumulate(KernelFunction &fn, ArrayRef<DimExpr> sizes, Value init,
                        function_ref<Value(ArrayRef<Value>, Value)> step) {
  SmallVector<Value> position;
  std::function<Value(Value)> nest = [&](Value sum) -> Value {
    if (position.size() == sizes.size())
      return step(position, sum);
    DimExpr size = sizes[position.size()];
    return fn
        .loop(fn.index(0), fn.materialize(size), 1, ValueRange{sum},
              [&](Value i, ValueRange carried) -> SmallVector<Value> {
                position.push_back(i);
                Value next = nest(carried.front());
                position.pop_back();
                return {next};
              })
        .front();
  };
  return nest(init);
}

static Value reduceElement(KernelFunction &fn, KernelElements &elements, ReduceOp op, ArrayRef<LaneIndex> index) {
  Dims sizes = fn.spec.sizes->dims(op.getOperand());
  Type elementType = elementOf(op.getOperand()), accumulator = accumulatorType(elementType);
  Dims reduced;
  for (int64_t axis : op.getAxes())
    reduced.push_back(sizes[axis]);
  Value sum =
      accumulate(fn, reduced, identityOf(fn, op.getCombiner(), elementType), [&](ArrayRef<Value> at, Value sum) {
        SmallVector<LaneIndex> full(sizes.size());
        for (auto [k, axis] : llvm::enumerate(op.getAxes()))
          full[axis] = elements.uniform(at[k]);
        unsigned next = 0;
        for (LaneIndex &i : full)
          if (!i.base)
            i = index[next++];
        Value value =
            widen(fn.b, fn.b.getLoc(), elements.load(op.getOperand(), full), accumulator, isUnsigned(elementType));
        return combine(fn.b, fn.b.getLoc(), op.getCombiner(), elementType, sum, value);
      });
  return narrow(fn.b, fn.b.getLoc(), sum, elementType);
}

static Value dotElement(KernelFunction &fn, KernelElements &elements, DotGeneralOp op, ArrayRef<LaneIndex> index) {
  Dims lhsSizes = fn.spec.sizes->dims(op.getLhs()), rhsSizes = fn.spec.sizes->dims(op.getRhs());
  Type resultType = elementOf(op.getResult());
  Type accumulator = accumulatorType(resultType);
  bool isFloat = isa<FloatType>(accumulator);
  Dims contracted;
  for (int64_t axis : op.getLhsContract())
    contracted.push_back(lhsSizes[axis]);
  SmallVector<LaneIndex> lhs(lhsSizes.size()), rhs(rhsSizes.size());
  unsigned next = 0;
  for (auto [l, r] : llvm::zip(op.getLhsBatch(), op.getRhsBatch()))
    lhs[l] = rhs[r] = index[next++];
  for (auto [axis, i] : llvm::enumerate(lhs))
    if (!i.base && !llvm::is_contained(op.getLhsContract(), static_cast<int64_t>(axis)))
      i = index[next++];
  for (auto [axis, i] : llvm::enumerate(rhs))
    if (!i.base && !llvm::is_contained(op.getRhsContract(), static_cast<int64_t>(axis)))
      i = index[next++];
  Location loc = fn.b.getLoc();
  Value sum = accumulate(fn, contracted, identityOf(fn, Combiner::add, resultType), [&](ArrayRef<Value> at, Value sum) {
    for (auto [k, axes] : llvm::enumerate(llvm::zip(op.getLhsContract(), op.getRhsContract())))
      lhs[std::get<0>(axes)] = rhs[std::get<1>(axes)] = elements.uniform(at[k]);
    Value x = widen(fn.b, loc, elements.load(op.getLhs(), lhs), accumulator, isUnsigned(elementOf(op.getLhs())));
    Value y = widen(fn.b, loc, elements.load(op.getRhs(), rhs), accumulator, isUnsigned(elementOf(op.getRhs())));
    if (isFloat)
      return math::FmaOp::create(fn.b, loc, x, y, sum).getResult();
    return arith::AddIOp::create(fn.b, loc, sum, arith::MulIOp::create(fn.b, loc, x, y)).getResult();
  });
  return narrow(fn.b, loc, sum, resultType);
}

bool sinter::cpu::hasRootElement(Operation *root) { return isa<ReduceOp, DotGeneralOp>(root); }

Value sinter::cpu::rootElement(KernelFunction &fn, KernelElements &elements, Operation *root, unsigned result,
                               ArrayRef<LaneIndex> index) {
  return llvm::TypeSwitch<Operation *, Value>(root)
      .Case([&](ReduceOp op) { return reduceElement(fn, elements, op, index); })
      .Case([&](DotGeneralOp op) { return dotElement(fn, elements, op, index); });
}

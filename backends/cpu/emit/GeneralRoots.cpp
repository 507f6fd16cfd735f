// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One element of each root op, as scalar loops over its operands.

#include "backends/cpu/emit/ArgReduce.h"
#include "backends/cpu/emit/BlockSums.h"
#include "backends/cpu/emit/General.h"
#include "ir/Contraction.h"
#include "ir/Reduction.h"
#include "ir/Shapes.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

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

/// Nested loops over `sizes`, one carried accumulator, no chain longer than `block`.
static Value accumulate(KernelFunction &fn, ArrayRef<DimExpr> sizes, int64_t block, Value init,
                        function_ref<Value(ArrayRef<Value>, Value)> step) {
  SmallVector<SummedAxis> axes = llvm::map_to_vector(sizes, [&](DimExpr size) { return summedAxis(fn, size); });
  return sumNest(
             fn, axes, 1, block, init, [&](Value x, Value y) { return joinFloats(fn.b, x, y); },
             [&](ArrayRef<Value> at, ValueRange carried) -> SmallVector<Value> { return {step(at, carried.front())}; })
      .front();
}

/// The longest chain of a product with results of `accumulator`.
static int64_t productBlock(Type accumulator) { return isa<FloatType>(accumulator) ? kProductBlock : kNoBlocks; }

static Value reduceElement(KernelFunction &fn, KernelElements &elements, ReduceOp op, ArrayRef<LaneIndex> index) {
  Dims sizes = fn.spec.sizes->dims(op.getOperand());
  Type elementType = getElementTypeOrSelf(op.getOperand()), accumulator = accumulatorType(elementType);
  Dims reduced;
  for (int64_t axis : op.getAxes())
    reduced.push_back(sizes[axis]);
  int64_t block = blockOf(op.getCombiner(), elementType);
  Value sum =
      accumulate(fn, reduced, block, identityOf(fn, op.getCombiner(), elementType), [&](ArrayRef<Value> at, Value sum) {
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
  Type resultType = getElementTypeOrSelf(op.getResult());
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
  Value none = identityOf(fn, Combiner::add, resultType);
  Value sum = accumulate(fn, contracted, productBlock(accumulator), none, [&](ArrayRef<Value> at, Value sum) {
    for (auto [k, axes] : llvm::enumerate(llvm::zip(op.getLhsContract(), op.getRhsContract())))
      lhs[std::get<0>(axes)] = rhs[std::get<1>(axes)] = elements.uniform(at[k]);
    Value x =
        widen(fn.b, loc, elements.load(op.getLhs(), lhs), accumulator, isUnsigned(getElementTypeOrSelf(op.getLhs())));
    Value y =
        widen(fn.b, loc, elements.load(op.getRhs(), rhs), accumulator, isUnsigned(getElementTypeOrSelf(op.getRhs())));
    if (isFloat)
      return math::FmaOp::create(fn.b, loc, x, y, sum).getResult();
    return arith::AddIOp::create(fn.b, loc, sum, arith::MulIOp::create(fn.b, loc, x, y)).getResult();
  });
  return narrow(fn.b, loc, sum, resultType);
}

/// An index along an axis of an operand that may lie outside of it: `inside` is i1.
namespace {
struct Place {
  LaneIndex index;
  Value inside;
};
} // namespace

/// start + offset where it is in [0, size); with `spacing`, only multiples of it are there, and count as one.
static Place placeOf(KernelFunction &fn, KernelElements &elements, Value position, int64_t spacing, Value size) {
  ImplicitLocOpBuilder &b = fn.b;
  Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, position, fn.index(0));
  if (spacing > 1) {
    Value rest = arith::RemSIOp::create(b, position, fn.index(spacing));
    inside = arith::AndIOp::create(b, inside, arith::CmpIOp::create(b, arith::CmpIPredicate::eq, rest, fn.index(0)));
    position = arith::DivSIOp::create(b, position, fn.index(spacing));
  }
  inside = arith::AndIOp::create(b, inside, arith::CmpIOp::create(b, arith::CmpIPredicate::slt, position, size));
  return {elements.uniform(position), inside};
}

/// The first tap of a window: index * stride - low.
static Value windowStart(KernelFunction &fn, KernelElements &elements, const LaneIndex &index, int64_t stride,
                         int64_t low) {
  Value scaled = arith::MulIOp::create(fn.b, elements.toValue(index), fn.index(stride));
  return arith::SubIOp::create(fn.b, scaled, fn.index(low));
}

static Value tapAt(KernelFunction &fn, Value start, Value tap, int64_t dilation) {
  return arith::AddIOp::create(fn.b, start, arith::MulIOp::create(fn.b, tap, fn.index(dilation)));
}

static Value convolutionElement(KernelFunction &fn, KernelElements &elements, ConvolutionOp op,
                                ArrayRef<LaneIndex> index) {
  ImplicitLocOpBuilder &b = fn.b;
  Location loc = b.getLoc();
  Dims inputSizes = fn.spec.sizes->dims(op.getInput()), filterSizes = fn.spec.sizes->dims(op.getFilter());
  bool channelsFirst = op.getLayout() == ConvLayout::channels_first;
  int64_t rank = static_cast<int64_t>(inputSizes.size()), channelAxis = channelsFirst ? 1 : rank - 1;
  int64_t firstSpatial = channelsFirst ? 2 : 1;
  Type resultType = getElementTypeOrSelf(op.getResult()), accumulator = accumulatorType(resultType);
  bool isFloat = isa<FloatType>(accumulator);
  // Output channel o reads the input channels of its group.
  LaneIndex feature = index[channelAxis];
  Value firstChannel = fn.index(0);
  if (op.getGroups() > 1) {
    DimExpr perGroup = fn.spec.dims.floorDiv(filterSizes[0], fn.spec.dims.constant(op.getGroups()));
    Value group = arith::DivUIOp::create(b, elements.toValue(feature), fn.materialize(perGroup));
    firstChannel = arith::MulIOp::create(b, group, fn.materialize(filterSizes[channelAxis]));
  }
  SmallVector<Value> starts;
  Dims taps{filterSizes[channelAxis]};
  for (int64_t k = 0; k < rank - 2; ++k) {
    starts.push_back(windowStart(fn, elements, index[firstSpatial + k], op.getStrides()[k], op.getLow()[k]));
    taps.push_back(filterSizes[firstSpatial + k]);
  }
  Value zero = identityOf(fn, Combiner::add, resultType);
  Value sum = accumulate(fn, taps, productBlock(accumulator), zero, [&](ArrayRef<Value> at, Value sum) {
    SmallVector<LaneIndex> input(rank), filter(rank);
    input[0] = index[0];
    filter[0] = feature;
    input[channelAxis] = elements.uniform(arith::AddIOp::create(b, firstChannel, at[0]));
    filter[channelAxis] = elements.uniform(at[0]);
    Value inside = arith::ConstantIntOp::create(b, b.getI1Type(), 1);
    for (int64_t k = 0; k < rank - 2; ++k) {
      int64_t axis = firstSpatial + k;
      Place place = placeOf(fn, elements, tapAt(fn, starts[k], at[1 + k], op.getDilation()[k]),
                            op.getInputDilation()[k], fn.materialize(inputSizes[axis]));
      input[axis] = place.index;
      filter[axis] = elements.uniform(at[1 + k]);
      inside = arith::AndIOp::create(b, inside, place.inside);
    }
    Value x = elements.choose(
        inside,
        [&] {
          return widen(b, loc, elements.load(op.getInput(), input), accumulator,
                       isUnsigned(getElementTypeOrSelf(op.getInput())));
        },
        [&] { return zero; });
    Value y = widen(b, loc, elements.load(op.getFilter(), filter), accumulator,
                    isUnsigned(getElementTypeOrSelf(op.getFilter())));
    if (isFloat)
      return math::FmaOp::create(b, loc, x, y, sum).getResult();
    return arith::AddIOp::create(b, loc, sum, arith::MulIOp::create(b, loc, x, y)).getResult();
  });
  return narrow(b, loc, sum, resultType);
}

static Value reduceWindowElement(KernelFunction &fn, KernelElements &elements, ReduceWindowOp op,
                                 ArrayRef<LaneIndex> index) {
  ImplicitLocOpBuilder &b = fn.b;
  Dims sizes = fn.spec.sizes->dims(op.getOperand()), taps;
  Type elementType = getElementTypeOrSelf(op.getOperand()), accumulator = accumulatorType(elementType);
  SmallVector<Value> starts;
  for (auto [k, window] : llvm::enumerate(op.getWindow())) {
    taps.push_back(fn.spec.dims.constant(window));
    starts.push_back(windowStart(fn, elements, index[k], op.getStrides()[k], op.getLow()[k]));
  }
  Value identity = identityOf(fn, op.getCombiner(), elementType);
  int64_t block = blockOf(op.getCombiner(), elementType);
  Value total = accumulate(fn, taps, block, identity, [&](ArrayRef<Value> at, Value total) {
    SmallVector<LaneIndex> full;
    Value inside = arith::ConstantIntOp::create(b, b.getI1Type(), 1);
    for (auto [k, tap] : llvm::enumerate(at)) {
      Place place = placeOf(fn, elements, tapAt(fn, starts[k], tap, op.getDilations()[k]), 1, fn.materialize(sizes[k]));
      full.push_back(place.index);
      inside = arith::AndIOp::create(b, inside, place.inside);
    }
    Value value = elements.choose(
        inside,
        [&] {
          return widen(b, b.getLoc(), elements.load(op.getOperand(), full), accumulator, isUnsigned(elementType));
        },
        [&] { return identity; });
    return combine(b, b.getLoc(), op.getCombiner(), elementType, total, value);
  });
  return narrow(b, b.getLoc(), total, elementType);
}

static Value argReduceElement(KernelFunction &fn, KernelElements &elements, ArgReduceOp op, ArrayRef<LaneIndex> index) {
  ImplicitLocOpBuilder &b = fn.b;
  auto axis = static_cast<int64_t>(op.getAxis());
  Type stored = signless(getElementTypeOrSelf(op.getOperand()));
  Value size = fn.materialize(fn.spec.sizes->dims(op.getOperand())[axis]);
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(stored));
  Value best = fn.loop(
      fn.index(0), size, 1, ValueRange{zero, fn.index(0)}, [&](Value i, ValueRange carried) -> SmallVector<Value> {
        SmallVector<LaneIndex> full(index);
        full.insert(full.begin() + axis, elements.uniform(i));
        Value value = elements.load(op.getOperand(), full);
        Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, i, fn.index(0));
        Value wins = winsOver(b, op, value, carried[0]);
        wins = arith::OrIOp::create(b, isFirst, wins);
        return {arith::SelectOp::create(b, wins, value, carried[0]), arith::SelectOp::create(b, wins, i, carried[1])};
      })[1];
  return arith::IndexCastOp::create(b, b.getI64Type(), best);
}

bool sinter::cpu::hasRootElement(Operation *root) {
  return isa<ReduceOp, ArgReduceOp, ReduceWindowOp, DotGeneralOp, ConvolutionOp>(root);
}

Value sinter::cpu::rootElement(KernelFunction &fn, KernelElements &elements, Operation *root, unsigned result,
                               ArrayRef<LaneIndex> index) {
  return llvm::TypeSwitch<Operation *, Value>(root)
      .Case([&](ReduceOp op) { return reduceElement(fn, elements, op, index); })
      .Case([&](ArgReduceOp op) { return argReduceElement(fn, elements, op, index); })
      .Case([&](ReduceWindowOp op) { return reduceWindowElement(fn, elements, op, index); })
      .Case([&](DotGeneralOp op) { return dotElement(fn, elements, op, index); })
      .Case([&](ConvolutionOp op) { return convolutionElement(fn, elements, op, index); });
}

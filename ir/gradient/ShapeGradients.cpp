// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops that move elements are linear: jvp is the op itself on tangents, vjp sums each cotangent into the element that it
// was taken from.

#include "ir/AxisOrder.h"
#include "ir/Constants.h"
#include "ir/Elementwise.h"
#include "ir/Shape.h"
#include "ir/Storage.h"
#include "ir/gradient/LinearRule.h"
#include "ir/gradient/Moves.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::gradient;

namespace {

// broadcast: dx = sum of dy over repeated and added axes
struct BroadcastRule : LinearRule<BroadcastRule, BroadcastOp> {
  static void pull(BroadcastOp op, VjpBuilder &g, Value dy) {
    bool mayRepeat = op.getShape() || !op.getLike().empty();
    RankedTensorType from = tensorTypeOf(op.getOperand()), to = op.getType();
    for (auto [k, axis] : llvm::enumerate(op.getAxes())) // an open size is 1 or the known one
      mayRepeat |= from.isDynamicDim(k) && !to.isDynamicDim(axis) && to.getDimSize(axis) != 1;
    if (g.wants(0))
      g.give(0, sumTo(g, dy, g.operand(0), op.getAxes(), mayRepeat));
  }
};

// reshape: dx = dy in x's shape
struct ReshapeRule : LinearRule<ReshapeRule, ReshapeOp> {
  static void pull(ReshapeOp, VjpBuilder &g, Value dy) {
    if (g.wants(0))
      g.give(0, reshapeLike(g, dy, g.operand(0)));
  }
};

// transpose: dx = dy under the inverse permutation
struct TransposeRule : LinearRule<TransposeRule, TransposeOp> {
  static void pull(TransposeOp op, VjpBuilder &g, Value dy) {
    g.give(0, gradient::transpose(g, dy, inversePermutation(op.getPermutation())));
  }
};

// reverse: dx = reversed dy
struct ReverseRule : LinearRule<ReverseRule, ReverseOp> {
  static void pull(ReverseOp op, VjpBuilder &g, Value dy) { g.give(0, g.make<ReverseOp>(dy, op.getAxes())); }
};

// slice: dx = dy with zeros before, between and after
struct SliceRule : LinearRule<SliceRule, SliceOp> {
  static void pull(SliceOp op, VjpBuilder &g, Value dy) {
    Value x = g.operand(0), zero = g.scalar(elementTypeOf(dy), 0);
    RankedTensorType type = tensorTypeOf(x), small = tensorTypeOf(dy);
    int64_t rank = type.getRank();
    SmallVector<int64_t> low(op.getStarts()), high(rank, 0), interior(rank);
    SmallVector<int64_t> late; // axes whose end is known at run time only
    for (int64_t k = 0; k < rank; ++k) {
      interior[k] = op.getSteps()[k] - 1;
      if (!type.isDynamicDim(k) && !small.isDynamicDim(k))
        high[k] = type.getDimSize(k) - paddedEnd(low[k], interior[k], small.getDimSize(k));
      else if (op.getLimits()[k] != -1 || interior[k] != 0)
        late.push_back(k);
    }
    Value dx = g.make<PadOp>(dy, zero, low, high, interior);
    if (!late.empty()) {
      SmallVector<Value> ends(rank, constantSize(g, 0));
      for (int64_t k : late)
        ends[k] = g.make<SubOp>(g.size(x, k), g.size(dx, k));
      dx = g.make<DynamicPadOp>(dx, zero, constantSizes(g, SmallVector<int64_t>(rank, 0)), joinSizes(g, ends));
    }
    g.give(0, g.retype(dx, type));
  }
  static int64_t paddedEnd(int64_t low, int64_t interior, int64_t size) {
    return low + size + std::max<int64_t>(size - 1, 0) * interior;
  }
};

/// The transpose of any op that moves elements of operand 0: where positions go, cotangents come back from.
static void pullMove(Operation *op, VjpBuilder &g, Value dy) {
  SmallVector<Value> operands{flatPositions(g, g.operand(0))};
  for (unsigned i = 1; i < op->getNumOperands(); ++i)
    operands.push_back(g.operand(i));
  if (isa<PadOp, DynamicPadOp>(op))
    operands[1] = constantSize(g, 0);
  Value positions = rebuild(g, op, operands)->getResult(0);
  g.give(0, scatterFlat(g, positions, dy, g.operand(0)));
}

// range_slice: dx = dy added at the places that were read
struct RangeSliceRule : LinearRule<RangeSliceRule, RangeSliceOp> {
  static void pull(RangeSliceOp op, VjpBuilder &g, Value dy) { pullMove(op, g, dy); }
};

// dynamic_slice: dx = zeros with dy as the window (starts are clamped alike)
struct DynamicSliceRule : LinearRule<DynamicSliceRule, DynamicSliceOp> {
  static void pull(DynamicSliceOp, VjpBuilder &g, Value dy) {
    Value zeros = g.spread(g.scalar(elementTypeOf(dy), 0), g.operand(0), {});
    g.give(0, g.make<DynamicUpdateSliceOp>(zeros, dy, g.operand(1)));
  }
};

// dynamic_update_slice: dx = dy with the window zeroed, du = the window of dy
struct DynamicUpdateSliceRule : LinearRule<DynamicUpdateSliceRule, DynamicUpdateSliceOp> {
  static SmallVector<unsigned> linear(DynamicUpdateSliceOp) { return {0, 1}; }
  static void pull(DynamicUpdateSliceOp, VjpBuilder &g, Value dy) {
    Value u = g.operand(1), starts = g.operand(2);
    RankedTensorType window = tensorTypeOf(u);
    if (g.wants(0)) {
      Value zeros = g.spread(g.scalar(elementTypeOf(dy), 0), u, {});
      g.give(0, g.make<DynamicUpdateSliceOp>(dy, zeros, starts));
    }
    if (!g.wants(1))
      return;
    if (window.hasStaticShape()) {
      g.give(1, g.make<DynamicSliceOp>(dy, starts, window.getShape()));
      return;
    }
    // Sizes that are known at run time only: the same clamped window as a range.
    Value sizes = sizesOf(g, u), zero = constantSizes(g, SmallVector<int64_t>(window.getRank(), 0));
    Value last = g.make<SubOp>(sizesOf(g, g.operand(0)), sizes);
    Value first = g.make<MaxOp>(g.make<MinOp>(starts, last), zero);
    Value du = g.make<RangeSliceOp>(dy, first, g.make<AddOp>(first, sizes),
                                    constantSizes(g, SmallVector<int64_t>(window.getRank(), 1)));
    g.give(1, g.retype(du, window));
  }
};

/// d value: the sum of dy over the places that are not the operand's.
template <typename PadLike> static void pullFill(PadLike op, VjpBuilder &g, Value dy) {
  if (!g.wants(1))
    return;
  SmallVector<Value> operands{g.spread(g.scalar(g.getI1Type(), 0), g.operand(0), {}), g.scalar(g.getI1Type(), 1)};
  for (unsigned i = 2; i < op->getNumOperands(); ++i)
    operands.push_back(g.operand(i));
  Term outside(g, rebuild(g, op, operands)->getResult(0));
  g.give(1, select(outside, {g, dy}, {g, Value()}).sum(axisRange(0, tensorTypeOf(dy).getRank())));
}

// pad: dx = dy without the ends and what is between; modes that repeat elements add all their copies
struct PadRule : LinearRule<PadRule, PadOp> {
  static SmallVector<unsigned> linear(PadOp) { return {0, 1}; }
  static void pull(PadOp op, VjpBuilder &g, Value dy) {
    if (op.getMode() != PadMode::constant) {
      if (g.wants(0))
        pullMove(op, g, dy);
      return;
    }
    pullFill(op, g, dy);
    if (!g.wants(0))
      return;
    auto negated = [](ArrayRef<int64_t> list) { return llvm::map_to_vector(list, [](int64_t k) { return -k; }); };
    SmallVector<int64_t> none(op.getLow().size(), 0);
    Value dx = g.make<PadOp>(dy, g.scalar(elementTypeOf(dy), 0), negated(op.getLow()), negated(op.getHigh()), none);
    if (llvm::any_of(op.getInterior(), [](int64_t k) { return k > 0; })) {
      SmallVector<int64_t> limits, steps;
      for (auto [size, between] : llvm::zip(tensorTypeOf(dx).getShape(), op.getInterior())) {
        limits.push_back(ShapedType::isDynamic(size) ? -1 : size);
        steps.push_back(between + 1);
      }
      dx = g.make<SliceOp>(dx, none, limits, steps);
    }
    g.give(0, g.retype(dx, tensorTypeOf(g.operand(0))));
  }
};

struct DynamicPadRule : LinearRule<DynamicPadRule, DynamicPadOp> {
  static SmallVector<unsigned> linear(DynamicPadOp) { return {0, 1}; }
  static void pull(DynamicPadOp op, VjpBuilder &g, Value dy) {
    if (op.getMode() != PadMode::constant) {
      if (g.wants(0))
        pullMove(op, g, dy);
      return;
    }
    pullFill(op, g, dy);
    if (!g.wants(0))
      return;
    Value dx = g.make<DynamicPadOp>(dy, g.scalar(elementTypeOf(dy), 0), g.make<NegOp>(g.operand(2)),
                                    g.make<NegOp>(g.operand(3)));
    g.give(0, g.retype(dx, tensorTypeOf(g.operand(0))));
  }
};

// concatenate: each operand has its part of dy
struct ConcatenateRule : LinearRule<ConcatenateRule, ConcatenateOp> {
  static SmallVector<unsigned> linear(ConcatenateOp op) {
    return llvm::to_vector(llvm::seq<unsigned>(0, op->getNumOperands()));
  }
  static void pull(ConcatenateOp op, VjpBuilder &g, Value dy) {
    auto axis = static_cast<int64_t>(op.getAxis());
    int64_t at = 0;
    Value late; // the start, once a size before was not static
    for (unsigned i = 0; i < op->getNumOperands(); ++i) {
      RankedTensorType type = tensorTypeOf(op->getOperand(i));
      bool isStatic = !type.isDynamicDim(axis) && !late && !tensorTypeOf(dy).isDynamicDim(axis);
      if (g.wants(i)) {
        Value dx = isStatic ? g.slice(dy, axis, at, at + type.getDimSize(axis))
                            : part(g, dy, axis, late ? late : constantSize(g, at), g.size(g.operand(i), axis));
        g.give(i, g.retype(dx, type));
      }
      if (!late && !type.isDynamicDim(axis)) {
        at += type.getDimSize(axis);
      } else if (i + 1 < op->getNumOperands()) {
        Value size = g.size(g.operand(i), axis);
        late = g.make<AddOp>(late ? late : constantSize(g, at), size);
      }
    }
  }
};

// tile: dx = dy summed over the repetitions, [r0, d0, r1, d1, ...] over the axes r
struct TileRule : LinearRule<TileRule, TileOp> {
  static void pull(TileOp op, VjpBuilder &g, Value dy) {
    if (!g.wants(0))
      return;
    Value x = g.operand(0);
    RankedTensorType type = tensorTypeOf(x);
    std::optional<SmallVector<int64_t>> repeats = constantInts(op.getRepeats());
    SmallVector<int64_t> shape, summed;
    SmallVector<Value> sizes;
    for (int64_t k = 0; k < type.getRank(); ++k) {
      summed.push_back(2 * k);
      shape.append({repeats ? (*repeats)[k] : ShapedType::kDynamic, type.getDimSize(k)});
      Value times = repeats ? constantSize(g, (*repeats)[k])
                            : g.make<ReshapeOp>(g.slice(g.operand(1), 0, k, k + 1), Value(),
                                                RankedTensorType::get({}, g.getI64Type()));
      sizes.append({times, g.size(x, k)});
    }
    RankedTensorType apart = RankedTensorType::get(shape, elementTypeOf(dy));
    Value parts = g.make<ReshapeOp>(dy, apart.hasStaticShape() ? Value() : joinSizes(g, sizes), apart);
    g.give(0, g.retype(g.reduce(parts, summed, Combiner::add), type));
  }
};

} // namespace

void sinter::attachShapeGradients(MLIRContext &context) {
  attach<BroadcastRule, ReshapeRule, TransposeRule, ReverseRule, SliceRule, RangeSliceRule, DynamicSliceRule,
         DynamicUpdateSliceRule, PadRule, DynamicPadRule, ConcatenateRule, TileRule>(context);
  attachNoGradient<Discrete::Fixed, ConstantOp, IotaOp>(context);
  attachNoGradient<Discrete::Sizes, DimOp, ShapeOp>(context);
  attachNoGradient<Discrete::Bits, StorageOp>(context);
}

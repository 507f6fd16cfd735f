// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Symbolic sizes of results, and what integer results contain. A null expression is a size that only running tells; the
// sizes that a type knows need no rule.

#include "ir/Shape.h"

using namespace mlir;
using namespace sinter;

static int64_t rankOf(Value value) { return cast<RankedTensorType>(value.getType()).getRank(); }

/// Elements of an optional operand that gives one size per axis; null expressions when they are not known.
static Dims entries(ShapeQuery &shapes, Value sizes, int64_t rank) {
  std::optional<Dims> contents = sizes ? shapes.contents(sizes) : std::nullopt;
  return contents ? *contents : Dims(rank);
}

static SmallVector<Dims> one(Dims dims) { return {std::move(dims)}; }

//===- sizes ---------------------------------------------------------------------------------===//

SmallVector<Dims> IotaOp::resultDims(ShapeQuery &shapes) {
  return one(entries(shapes, getShape(), rankOf(getResult())));
}

SmallVector<Dims> DimOp::resultDims(ShapeQuery &) { return one({}); }

SmallVector<Dims> ShapeOp::resultDims(ShapeQuery &shapes) {
  return one({shapes.context().constant(rankOf(getOperand()))});
}

/// The size that two meet in where either may be 1 and then gives way.
static DimExpr broadcastSize(DimContext &context, DimExpr a, DimExpr b) {
  if (!a || !b)
    return {};
  auto is = [](DimExpr size, int64_t value) { return size.isConstant() && size.constant() == value; };
  if (a == b || is(b, 1))
    return a;
  if (is(a, 1) || b.isConstant())
    return b;
  if (a.isConstant())
    return a;
  // Right for equal sizes, for 1 and any other, and for 1 and 0.
  return context.min(context.max(a, b), context.mul(a, b));
}

SmallVector<Dims> BroadcastOp::resultDims(ShapeQuery &shapes) {
  Dims operand = shapes.dims(getOperand());
  Dims source(rankOf(getResult()), shapes.context().constant(1));
  for (auto [k, axis] : llvm::enumerate(getAxes()))
    source[axis] = operand[k];
  if (getShape()) {
    Dims target = entries(shapes, getShape(), source.size());
    for (auto [from, to] : llvm::zip(source, target))
      to = broadcastSize(shapes.context(), from, to);
    return one(target);
  }
  return one(getLike().empty() ? source : shapes.dims(getLike().front()));
}

SmallVector<Dims> ReshapeOp::resultDims(ShapeQuery &shapes) {
  if (getShape())
    return one(entries(shapes, getShape(), rankOf(getResult())));
  DimContext &context = shapes.context();
  Dims result, operand = shapes.dims(getOperand());
  ArrayRef<int64_t> shape = cast<RankedTensorType>(getResult().getType()).getShape();
  bool besideZero = llvm::is_contained(shape, 0);
  int64_t copied = llvm::count(shape, ShapedType::kDynamic) - (besideZero ? 0 : 1);
  DimExpr known = context.constant(1);
  for (auto [axis, size] : llvm::enumerate(shape)) {
    if (!ShapedType::isDynamic(size)) {
      result.push_back(context.constant(size));
      known = context.mul(known, result.back());
    } else if (copied-- > 0) {
      result.push_back(axis < operand.size() ? std::exchange(operand[axis], context.constant(1)) : context.constant(0));
    } else {
      result.push_back(DimExpr());
    }
  }
  for (DimExpr &size : result)
    if (!size)
      size = context.floorDiv(context.product(operand), known); // of the axes that were not copied
  return one(result);
}

SmallVector<Dims> TransposeOp::resultDims(ShapeQuery &shapes) {
  Dims operand = shapes.dims(getOperand()), result;
  for (int64_t axis : getPermutation())
    result.push_back(operand[axis]);
  return one(result);
}

SmallVector<Dims> ReverseOp::resultDims(ShapeQuery &shapes) { return one(shapes.dims(getOperand())); }

SmallVector<Dims> SliceOp::resultDims(ShapeQuery &shapes) {
  DimContext &context = shapes.context();
  Dims result = shapes.dims(getOperand());
  for (auto [axis, size] : llvm::enumerate(result)) {
    DimExpr limit = getLimits()[axis] == -1 ? size : context.constant(getLimits()[axis]);
    DimExpr span = context.sub(limit, context.constant(getStarts()[axis]));
    if (getStarts()[axis] != 0)
      span = context.max(span, context.constant(0));
    size = context.ceilDiv(span, context.constant(getSteps()[axis]));
  }
  return one(result);
}

namespace {
/// NumPy's reading of bounds, on expressions whose signs may not be known: a sign is 0 or 1 by min and max.
struct RangeSizes {
  DimContext &context;
  DimExpr number(int64_t value) const { return context.constant(value); }
  DimExpr isNegative(DimExpr x) const {
    return context.max(number(0), context.min(number(1), context.sub(number(0), x)));
  }
  DimExpr resolved(DimExpr bound, DimExpr size, int64_t low) const {
    DimExpr high = context.add(size, number(low));
    DimExpr fromStart = context.add(bound, context.mul(size, isNegative(bound)));
    return context.max(number(low), context.min(fromStart, high));
  }
  /// Elements of start:limit:step.
  DimExpr count(DimExpr start, DimExpr limit, DimExpr step, DimExpr size) const {
    DimExpr up = context.sub(resolved(limit, size, 0), resolved(start, size, 0));
    DimExpr down = context.sub(resolved(start, size, -1), resolved(limit, size, -1));
    DimExpr back = context.sub(number(0), step), span;
    if (step.isConstant())
      span = step.constant() > 0 ? up : step.constant() < 0 ? down : number(0);
    else
      span = context.add(context.mul(isNegative(back), up), context.mul(isNegative(step), down));
    DimExpr magnitude = context.max(number(1), context.max(step, back));
    return context.ceilDiv(context.max(number(0), span), magnitude);
  }
};
} // namespace

SmallVector<Dims> RangeSliceOp::resultDims(ShapeQuery &shapes) {
  Dims result = shapes.dims(getOperand());
  Dims starts = entries(shapes, getStarts(), result.size()), limits = entries(shapes, getLimits(), result.size()),
       steps = entries(shapes, getSteps(), result.size());
  RangeSizes sizes{shapes.context()};
  for (auto [start, limit, step, size] : llvm::zip(starts, limits, steps, result))
    size = start && limit && step ? sizes.count(start, limit, step, size) : DimExpr();
  return one(result);
}

SmallVector<Dims> DynamicSliceOp::resultDims(ShapeQuery &shapes) {
  Dims result;
  for (int64_t size : getSizes())
    result.push_back(shapes.context().constant(size));
  return one(result);
}

SmallVector<Dims> DynamicUpdateSliceOp::resultDims(ShapeQuery &shapes) { return one(shapes.dims(getOperand())); }

SmallVector<Dims> PadOp::resultDims(ShapeQuery &shapes) {
  DimContext &context = shapes.context();
  Dims result = shapes.dims(getOperand());
  for (auto [axis, size] : llvm::enumerate(result)) {
    DimExpr padded = context.add(size, context.constant(getLow()[axis] + getHigh()[axis]));
    if (getInterior()[axis] != 0) {
      DimExpr gaps = context.max(context.sub(size, context.constant(1)), context.constant(0));
      padded = context.add(padded, context.mul(gaps, context.constant(getInterior()[axis])));
    }
    size = getLow()[axis] < 0 || getHigh()[axis] < 0 ? context.max(padded, context.constant(0)) : padded;
  }
  return one(result);
}

SmallVector<Dims> DynamicPadOp::resultDims(ShapeQuery &shapes) {
  DimContext &context = shapes.context();
  Dims result = shapes.dims(getOperand());
  Dims low = entries(shapes, getLow(), result.size()), high = entries(shapes, getHigh(), result.size());
  for (auto [below, above, size] : llvm::zip(low, high, result))
    size = below && above ? context.max(context.add(size, context.add(below, above)), context.constant(0)) : DimExpr();
  return one(result);
}

SmallVector<Dims> ConcatenateOp::resultDims(ShapeQuery &shapes) {
  DimContext &context = shapes.context();
  Dims result = shapes.dims(getOperands().front());
  for (Value operand : getOperands().drop_front())
    for (auto [axis, pair] : llvm::enumerate(llvm::zip(result, shapes.dims(operand)))) {
      auto [size, other] = pair;
      if (static_cast<int64_t>(axis) == static_cast<int64_t>(getAxis()))
        size = context.add(size, other);
      else if (other.isConstant())
        size = other;
    }
  return one(result);
}

SmallVector<Dims> TileOp::resultDims(ShapeQuery &shapes) {
  Dims result = shapes.dims(getOperand());
  Dims repeats = entries(shapes, getRepeats(), result.size());
  for (auto [repeat, size] : llvm::zip(repeats, result))
    size = repeat ? shapes.context().mul(size, repeat) : DimExpr();
  return one(result);
}

//===- contents ------------------------------------------------------------------------------===//

std::optional<Dims> DimOp::resultContents(ShapeQuery &shapes) { return Dims{shapes.dims(getOperand())[getAxis()]}; }

std::optional<Dims> ShapeOp::resultContents(ShapeQuery &shapes) { return shapes.dims(getOperand()); }

std::optional<Dims> IotaOp::resultContents(ShapeQuery &shapes) {
  auto type = cast<RankedTensorType>(getResult().getType());
  if (!type.hasStaticShape() || isa<FloatType>(type.getElementType()))
    return std::nullopt;
  Dims elements;
  forEachIndex(type.getShape(),
               [&](ArrayRef<int64_t> index) { elements.push_back(shapes.context().constant(index[getAxis()])); });
  return elements;
}

std::optional<Dims> SliceOp::resultContents(ShapeQuery &shapes) {
  std::optional<Dims> contents = shapes.contents(getOperand());
  auto operand = cast<RankedTensorType>(getOperand().getType()), result = cast<RankedTensorType>(getResult().getType());
  if (!contents || !operand.hasStaticShape() || !result.hasStaticShape())
    return std::nullopt;
  Dims elements;
  forEachIndex(result.getShape(), [&](ArrayRef<int64_t> index) {
    int64_t position = 0;
    for (int64_t axis = 0; axis < operand.getRank(); ++axis)
      position = position * operand.getDimSize(axis) + getStarts()[axis] + index[axis] * getSteps()[axis];
    elements.push_back((*contents)[position]);
  });
  return elements;
}

std::optional<Dims> ConcatenateOp::resultContents(ShapeQuery &shapes) {
  if (rankOf(getResult()) != 1)
    return std::nullopt;
  Dims elements;
  for (Value operand : getOperands()) {
    std::optional<Dims> contents = shapes.contents(operand);
    if (!contents)
      return std::nullopt;
    llvm::append_range(elements, *contents);
  }
  return elements;
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/gradient/Moves.h"
#include "ir/Constants.h"
#include "ir/Elementwise.h"
#include "ir/Indexing.h"
#include "ir/Reduction.h"
#include "ir/Shape.h"

#include <numeric>

using namespace mlir;

namespace sinter::gradient {

Value constantSizes(Composer &c, ArrayRef<int64_t> values) {
  return c.make<ConstantOp>(HostTensor::ofInts(c.getI64Type(), values).toAttr());
}

Value constantSize(Composer &c, int64_t value) {
  HostTensor tensor(c.getI64Type(), {});
  tensor.setInt(0, value);
  return c.make<ConstantOp>(tensor.toAttr());
}

Value joinSizes(Composer &c, ArrayRef<Value> sizes) {
  SmallVector<int64_t> known;
  for (Value size : sizes)
    if (std::optional<SmallVector<int64_t>> value = constantInts(size))
      known.push_back((*value)[0]);
  if (known.size() == sizes.size())
    return constantSizes(c, known);
  RankedTensorType one = RankedTensorType::get({1}, c.getI64Type());
  SmallVector<Value> entries;
  for (Value size : sizes)
    entries.push_back(c.make<ReshapeOp>(size, Value(), one));
  return c.make<ConcatenateOp>(entries, 0);
}

Value sizesOf(Composer &c, Value value) {
  RankedTensorType type = tensorTypeOf(value);
  return type.hasStaticShape() ? constantSizes(c, type.getShape()) : c.make<ShapeOp>(value);
}

Value elementCount(Composer &c, Value value) {
  RankedTensorType type = tensorTypeOf(value);
  int64_t known = 1;
  Value total;
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    if (!type.isDynamicDim(axis)) {
      known *= type.getDimSize(axis);
      continue;
    }
    Value size = c.size(value, axis);
    total = total ? c.make<MulOp>(total, size) : size;
  }
  if (!total)
    return constantSize(c, known);
  return known == 1 ? total : c.make<MulOp>(total, constantSize(c, known));
}

Value reshapeLike(Composer &c, Value value, Value like) {
  RankedTensorType type = tensorTypeOf(like).clone(elementTypeOf(value));
  if (type == value.getType() && type.hasStaticShape())
    return value;
  Value shape;
  if (needsSizes(type))
    shape = c.make<ShapeOp>(like);
  return c.make<ReshapeOp>(value, shape, type);
}

Value reshapeTo(Composer &c, Value value, ArrayRef<int64_t> shape) {
  RankedTensorType type = RankedTensorType::get(shape, elementTypeOf(value));
  return type == value.getType() ? value : c.make<ReshapeOp>(value, Value(), type);
}

Value flatten(Composer &c, Value value) {
  std::optional<int64_t> count = countElements(tensorTypeOf(value).getShape());
  return reshapeTo(c, value, count ? *count : ShapedType::kDynamic);
}

Value transpose(Composer &c, Value value, ArrayRef<int64_t> permutation) {
  if (llvm::equal(permutation, llvm::seq<int64_t>(0, permutation.size())))
    return value;
  return c.make<TransposeOp>(value, permutation);
}

SmallVector<int64_t> axisRange(int64_t from, int64_t to) { return llvm::to_vector(llvm::seq<int64_t>(from, to)); }

Value trim(Composer &c, Value value, Value like) {
  RankedTensorType type = tensorTypeOf(value), wanted = tensorTypeOf(like).clone(type.getElementType());
  if (type.hasStaticShape() && type == wanted)
    return value;
  int64_t rank = type.getRank();
  if (wanted.hasStaticShape()) {
    SmallVector<int64_t> limits(wanted.getShape());
    return c.make<SliceOp>(value, SmallVector<int64_t>(rank, 0), limits, SmallVector<int64_t>(rank, 1));
  }
  Value cut = c.make<RangeSliceOp>(value, constantSizes(c, SmallVector<int64_t>(rank, 0)), sizesOf(c, like),
                                   constantSizes(c, SmallVector<int64_t>(rank, 1)));
  return c.retype(cut, wanted);
}

Value part(Composer &c, Value value, int64_t axis, Value start, Value size) {
  int64_t rank = tensorTypeOf(value).getRank();
  SmallVector<Value> starts, limits;
  for (int64_t k = 0; k < rank; ++k) {
    starts.push_back(k == axis ? start : constantSize(c, 0));
    limits.push_back(k == axis ? c.make<AddOp>(start, size) : c.size(value, k));
  }
  return c.make<RangeSliceOp>(value, joinSizes(c, starts), joinSizes(c, limits),
                              constantSizes(c, SmallVector<int64_t>(rank, 1)));
}

Value sumTo(Composer &c, Value value, Value like, ArrayRef<int64_t> axes, bool mayRepeat) {
  RankedTensorType target = tensorTypeOf(like);
  SmallVector<bool> equal(target.getRank(), !mayRepeat);
  if (mayRepeat && !target.hasStaticShape()) {
    DimContext context;
    ShapeAnalysis shapes(context);
    Dims before = shapes.dims(like), after = shapes.dims(value);
    for (auto [k, axis] : llvm::enumerate(axes))
      equal[k] = before[k] == after[axis];
  }
  SmallVector<int64_t> added = otherAxes(tensorTypeOf(value).getRank(), axes);
  if (!added.empty())
    value = c.reduce(value, added, Combiner::add);
  RankedTensorType type = tensorTypeOf(value);
  SmallVector<int64_t> repeated, unknown;
  for (int64_t k = 0; k < target.getRank(); ++k) {
    if (target.isDynamicDim(k) && !equal[k] && type.getDimSize(k) != 1)
      unknown.push_back(k);
    else if (target.getDimSize(k) == 1 && type.getDimSize(k) != 1)
      repeated.push_back(k);
  }
  if (!repeated.empty() && unknown.empty())
    return reshapeLike(c, c.reduce(value, repeated, Combiner::add), like);
  if (unknown.empty())
    return c.retype(value, target.clone(type.getElementType()));
  // An axis of n elements that came from d, which is 1 or n: as [n / d, d] it sums over the first. No branch is needed.
  SmallVector<Value> sizes;
  SmallVector<int64_t> shape, summed;
  for (int64_t k = 0; k < target.getRank(); ++k) {
    if (llvm::is_contained(repeated, k) || llvm::is_contained(unknown, k)) {
      summed.push_back(static_cast<int64_t>(sizes.size()));
      Value own = c.size(value, k);
      shape.push_back(target.isDynamicDim(k) ? ShapedType::kDynamic : type.getDimSize(k));
      if (target.isDynamicDim(k))
        own = c.make<DivOp>(own, c.make<MaxOp>(c.size(like, k), constantSize(c, 1)));
      sizes.push_back(own);
    }
    sizes.push_back(c.size(like, k));
    shape.push_back(target.getDimSize(k));
  }
  RankedTensorType split = RankedTensorType::get(shape, type.getElementType());
  Value apart = c.make<ReshapeOp>(value, joinSizes(c, sizes), split);
  return c.retype(c.reduce(apart, summed, Combiner::add), target.clone(type.getElementType()));
}

Value sumTo(Composer &c, Value value, Value like) {
  return sumTo(c, value, like, axisRange(0, tensorTypeOf(like).getRank()));
}

Value iotaLike(Composer &c, Value like, int64_t axis) {
  RankedTensorType type = RankedTensorType::get(tensorTypeOf(like).getShape(), c.getI64Type());
  Value shape;
  if (!type.hasStaticShape())
    shape = c.make<ShapeOp>(like);
  return c.make<IotaOp>(shape, axis, type);
}

Value flatPositions(Composer &c, Value like) {
  std::optional<int64_t> count = countElements(tensorTypeOf(like).getShape());
  Value shape;
  if (!count)
    shape = joinSizes(c, elementCount(c, like));
  RankedTensorType flat = RankedTensorType::get({count ? *count : ShapedType::kDynamic}, c.getI64Type());
  return reshapeLike(c, c.make<IotaOp>(shape, 0, flat), like);
}

Value scatterFlat(Composer &c, Value positions, Value updates, Value like) {
  Value places = flatten(c, positions);
  places = reshapeTo(c, places, {tensorTypeOf(places).getDimSize(0), 1});
  Value zeros = flatten(c, c.spread(c.scalar(elementTypeOf(updates), 0), like, {}));
  Value sums = c.make<ScatterNdOp>(zeros, places, flatten(c, updates), Combiner::add);
  return reshapeLike(c, sums, like);
}

Value gatherFlat(Composer &c, Value values, Value positions) {
  return c.make<GatherOp>(flatten(c, values), positions, 0);
}

Value clampPositions(Composer &c, Value positions, Value size) {
  Term p(c, positions), n(c, size);
  Term fromStart = select(compare(p, CompareKind::lt, 0), p + n, p);
  return c.make<ClampOp>(p.fill(0), fromStart, n - 1);
}

Operation *rebuild(Composer &c, Operation *op, ValueRange operands) {
  Operation *copy = c.clone(*op);
  Type before = op->getNumOperands() ? elementTypeOf(op->getOperand(0)) : Type();
  copy->setOperands(operands);
  Type after = op->getNumOperands() ? elementTypeOf(operands[0]) : Type();
  for (OpResult result : copy->getResults())
    if (before != after && elementTypeOf(result) == before)
      result.setType(tensorTypeOf(result).clone(after));
  return copy;
}

} // namespace sinter::gradient

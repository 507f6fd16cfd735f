// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Composer.h"
#include "ir/Elementwise.h"
#include "ir/Reduction.h"
#include "ir/Shape.h"

using namespace mlir;

namespace sinter {

SmallVector<int64_t> otherAxes(int64_t rank, ArrayRef<int64_t> axes) {
  SmallVector<int64_t> others;
  for (int64_t k = 0; k < rank; ++k)
    if (!llvm::is_contained(axes, k))
      others.push_back(k);
  return others;
}

Value Composer::scalar(Type element, double value) {
  return make<ConstantOp>(HostTensor::scalar(element, value).toAttr());
}

Value Composer::spread(Value value, Value like, ArrayRef<int64_t> axes) {
  RankedTensorType shape = tensorTypeOf(like);
  RankedTensorType type = RankedTensorType::get(shape.getShape(), elementTypeOf(value));
  if (type == value.getType() && llvm::equal(axes, llvm::seq<int64_t>(0, type.getRank())) && type.hasStaticShape())
    return value;
  SmallVector<Value> sizes;
  if (!type.hasStaticShape())
    sizes.push_back(like);
  return make<BroadcastOp>(value, Value(), sizes, axes, type);
}

Value Composer::fill(double value, Value like) { return spread(scalar(elementTypeOf(like), value), like, {}); }

Value Composer::reduce(Value value, ArrayRef<int64_t> axes, Combiner combiner) {
  return make<ReduceOp>(value, axes, combiner);
}

Value Composer::size(Value value, int64_t axis) {
  RankedTensorType type = tensorTypeOf(value);
  if (type.isDynamicDim(axis))
    return make<DimOp>(value, axis);
  HostTensor constant(getI64Type(), {});
  constant.setInt(0, type.getDimSize(axis));
  return make<ConstantOp>(constant.toAttr());
}

Value Composer::count(Value value, ArrayRef<int64_t> axes) {
  int64_t known = 1;
  Value total;
  for (int64_t axis : axes) {
    if (!tensorTypeOf(value).isDynamicDim(axis)) {
      known *= tensorTypeOf(value).getDimSize(axis);
      continue;
    }
    Value axisSize = size(value, axis);
    total = total ? make<MulOp>(total, axisSize) : axisSize;
  }
  Value factor = scalar(elementTypeOf(value), static_cast<double>(known));
  return total ? make<MulOp>(convert(total, elementTypeOf(value)), factor) : factor;
}

Value Composer::convert(Value value, Type element) {
  return elementTypeOf(value) == element ? value : make<ConvertOp>(value, element);
}

Value Composer::reshape(Value value, RankedTensorType type, ValueRange sizes) {
  if (value.getType() == type)
    return value;
  Value shape;
  if (needsSizes(type)) {
    SmallVector<Value> entries;
    RankedTensorType one = RankedTensorType::get({1}, getI64Type());
    for (Value size : sizes)
      entries.push_back(make<ReshapeOp>(size, Value(), one));
    shape = make<ConcatenateOp>(entries, 0);
  }
  return make<ReshapeOp>(value, shape, type);
}

Value Composer::slice(Value value, int64_t axis, int64_t start, int64_t limit) {
  RankedTensorType type = tensorTypeOf(value);
  SmallVector<int64_t> starts(type.getRank(), 0), limits, steps(type.getRank(), 1);
  for (int64_t size : type.getShape())
    limits.push_back(ShapedType::isDynamic(size) ? -1 : size);
  starts[axis] = start;
  limits[axis] = limit;
  return make<SliceOp>(value, starts, limits, steps);
}

Value Composer::interleave(ValueRange parts, ArrayRef<int64_t> counts, int64_t first) {
  SmallVector<Value> values(parts);
  for (auto k = static_cast<int64_t>(counts.size()) - 1; k >= 0; --k) {
    int64_t axis = first + k, count = counts[k];
    if (count == 1)
      continue;
    // [..., m, ...] become [..., m, count, ...] and then one axis.
    RankedTensorType type = tensorTypeOf(values.front());
    SmallVector<int64_t> joined(type.getShape()), apart = joined;
    apart.insert(apart.begin() + axis + 1, 1);
    joined[axis] *= count;
    SmallVector<Value> merged;
    for (size_t at = 0; at < values.size(); at += count) {
      SmallVector<Value> turns;
      for (Value value : ArrayRef(values).slice(at, count))
        turns.push_back(reshape(value, type.clone(apart)));
      merged.push_back(reshape(make<ConcatenateOp>(turns, axis + 1), type.clone(joined)));
    }
    values = merged;
  }
  return values.front();
}

Value Composer::retype(Value value, Type type) {
  if (value.getType() == type)
    return value;
  auto target = cast<RankedTensorType>(type);
  Value shape;
  if (target.getNumDynamicDims() > 1)
    shape = make<ShapeOp>(value);
  // The type is given: inference would refine it again.
  return ReshapeOp::create(*this, type, value, shape, target);
}

} // namespace sinter

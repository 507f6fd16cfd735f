// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Row composites in primitives. f16 and bf16 are computed in f32 and rounded once, as the composites are.

#include "ir/Composer.h"
#include "ir/Elementwise.h"
#include "ir/Normalization.h"
#include "ir/Shape.h"

using namespace mlir;
using namespace sinter;

static Type computeType(Value value) {
  Type element = elementTypeOf(value);
  return element.getIntOrFloatBitWidth() < 32 ? Float32Type::get(value.getContext()) : element;
}

/// The same value rounded to the op's element type, with the op's type.
static Value finish(Composer &c, Value value, Value result) {
  return c.retype(c.convert(value, elementTypeOf(result)), result.getType());
}

/// exp(x - max) / sum, or x - max - log(sum)
static Value softmax(Composer &c, Value x, int64_t axis, bool logarithm) {
  SmallVector<int64_t> kept = otherAxes(tensorTypeOf(x).getRank(), axis);
  Value shifted = c.make<SubOp>(x, c.spread(c.reduce(x, axis, Combiner::max), x, kept));
  Value exponentials = c.make<ExpOp>(shifted);
  Value total = c.reduce(exponentials, axis, Combiner::add);
  if (logarithm)
    return c.make<SubOp>(shifted, c.spread(c.make<LogOp>(total), x, kept));
  return c.make<DivOp>(exponentials, c.spread(total, x, kept));
}

FailureOr<SmallVector<Value>> SoftmaxOp::decompose(OpBuilder &builder) {
  Composer c(getLoc(), builder);
  Value x = c.convert(getOperand(), computeType(getOperand()));
  return SmallVector<Value>{finish(c, softmax(c, x, getAxis(), getLogarithm()), getResult())};
}

/// x normalized over `axes`, with its mean (null unless `center`) and 1 / sqrt(variance + epsilon), both without the
/// axes.
namespace {
struct Normalized {
  Value value, mean, inverse;
};
} // namespace

static Normalized normalize(Composer &c, Value x, ArrayRef<int64_t> axes, double epsilon, bool center) {
  SmallVector<int64_t> kept = otherAxes(tensorTypeOf(x).getRank(), axes);
  Value count = c.count(x, axes);
  auto average = [&](Value value) -> Value {
    Value total = c.reduce(value, axes, Combiner::add);
    return c.make<DivOp>(total, c.spread(count, total, {}));
  };
  Normalized result{x, nullptr, nullptr};
  if (center) {
    result.mean = average(x);
    result.value = c.make<SubOp>(x, c.spread(result.mean, x, kept));
  }
  Value variance = average(c.make<MulOp>(result.value, result.value));
  result.inverse = c.make<RsqrtOp>(c.make<AddOp>(variance, c.fill(epsilon, variance)));
  result.value = c.make<MulOp>(result.value, c.spread(result.inverse, x, kept));
  return result;
}

/// x * scale + bias, with either left out; axis k of the parameters is axis axes[k] of x.
static Value rescale(Composer &c, Value x, Value scale, Value bias, ArrayRef<int64_t> axes) {
  if (scale)
    x = c.make<MulOp>(x, c.spread(c.convert(scale, elementTypeOf(x)), x, axes));
  if (bias)
    x = c.make<AddOp>(x, c.spread(c.convert(bias, elementTypeOf(x)), x, axes));
  return x;
}

FailureOr<SmallVector<Value>> LayerNormOp::decompose(OpBuilder &builder) {
  Composer c(getLoc(), builder);
  Value x = c.convert(getOperand(), computeType(getOperand()));
  auto axis = static_cast<int64_t>(getAxis());
  auto axes = llvm::to_vector(llvm::seq<int64_t>(axis, tensorTypeOf(x).getRank()));
  auto outer = llvm::to_vector(llvm::seq<int64_t>(0, axis));
  Normalized normalized = normalize(c, x, axes, getEpsilon().convertToDouble(), getCenter());
  // Statistics come back with the normalized axes of size 1.
  auto statistic = [&](Value value, Value result) {
    RankedTensorType type = tensorTypeOf(result);
    type = RankedTensorType::get(type.getShape(), elementTypeOf(value));
    return finish(c, c.make<BroadcastOp>(value, Value(), ValueRange(), outer, type), result);
  };
  Value mean = normalized.mean ? normalized.mean : c.fill(0, normalized.inverse);
  return SmallVector<Value>{finish(c, rescale(c, normalized.value, getScale(), getBias(), axes), getResult()),
                            statistic(mean, getMean()), statistic(normalized.inverse, getInverseDeviation())};
}

FailureOr<SmallVector<Value>> BatchNormOp::decompose(OpBuilder &builder) {
  Composer c(getLoc(), builder);
  Type element = computeType(getOperand());
  Value x = c.convert(getOperand(), element), mean = c.convert(getMean(), element);
  Value variance = c.convert(getVariance(), element), scale = c.convert(getScale(), element);
  Value inverse = c.make<RsqrtOp>(c.make<AddOp>(variance, c.fill(getEpsilon().convertToDouble(), variance)));
  Value factor = c.make<MulOp>(scale, inverse);
  auto axis = static_cast<int64_t>(getAxis());
  Value centered = c.make<SubOp>(x, c.spread(mean, x, axis));
  return SmallVector<Value>{finish(c, rescale(c, centered, factor, getBias(), axis), getResult())};
}

FailureOr<SmallVector<Value>> GroupNormOp::decompose(OpBuilder &builder) {
  Composer c(getLoc(), builder);
  Value x = c.convert(getOperand(), computeType(getOperand()));
  RankedTensorType type = tensorTypeOf(x);
  auto groups = static_cast<int64_t>(getGroups());
  // [samples, groups, elements of a group]
  SmallVector<int64_t> inner = llvm::to_vector(llvm::seq<int64_t>(1, type.getRank()));
  std::optional<int64_t> perSample = countElements(type.getShape().drop_front());
  Value elements;
  if (!perSample) {
    for (int64_t axis : inner)
      elements = elements ? c.make<MulOp>(elements, c.size(x, axis)) : c.size(x, axis);
    HostTensor divisor(builder.getI64Type(), {});
    divisor.setInt(0, groups);
    elements = c.make<DivOp>(elements, c.make<ConstantOp>(divisor.toAttr()));
  }
  HostTensor groupCount(builder.getI64Type(), {});
  groupCount.setInt(0, groups);
  RankedTensorType grouped = RankedTensorType::get(
      {type.getDimSize(0), groups, perSample ? *perSample / groups : ShapedType::kDynamic}, type.getElementType());
  SmallVector<Value> sizes;
  if (needsSizes(grouped))
    sizes = {c.size(x, 0), c.make<ConstantOp>(groupCount.toAttr()), elements};
  // A row of its own: back ends have a form for that.
  Value normalized = c.make<LayerNormOp>(c.reshape(x, grouped, sizes), Value(), Value(), 2, getEpsilon(), true);
  Value shape;
  if (needsSizes(type))
    shape = c.make<ShapeOp>(x);
  Value back = c.make<ReshapeOp>(normalized, shape, type);
  return SmallVector<Value>{finish(c, rescale(c, back, getScale(), getBias(), int64_t(1)), getResult())};
}

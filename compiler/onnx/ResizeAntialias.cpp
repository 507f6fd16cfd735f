// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Resize with antialias. Where an axis shrinks by a factor, the filter of its interpolation is stretched by that
// factor, so that every element of the operand counts. Each place of the result is the sum of as many elements as the
// widest window has, times weights that add up to 1; axes follow one another.

#include "compiler/onnx/Resize.h"
#include "ir/Checks.h"
#include "ir/Resampling.h"
#include "ir/SizeArithmetic.h"

#include <cmath>

using namespace mlir;

namespace sinter::onnx {

namespace {
class AntialiasedAxis {
public:
  AntialiasedAxis(OpImport &n, const Resizing &r, int64_t axis) : n(n), r(r), axis(axis), real(n.b.getF64Type()) {}

  /// True if the result surely has the operand's elements.
  bool keeps(Value x);
  /// The scale where it is known.
  std::optional<double> knownScale(Value x);
  /// `x` resized along the axis.
  Value resize(Value x);

private:
  Value number(Size size) {
    return size.isKnown() ? n.scalar(real, double(size.known)) : n.convert(n.reshape(size.tensor, {}), real);
  }
  Size resultSize(Value x);
  /// Where each place of the result [out] lies in the operand.
  Value original(Value place);
  Value filter(Value distance);
  Value sumWindows(Value x, Value index, Value weights);

  OpImport &n;
  const Resizing &r;
  int64_t axis;
  Type real;
  /// Of rank 0: the scale, and the sizes before and after.
  Value scale, in, out;
};
} // namespace

std::optional<double> AntialiasedAxis::knownScale(Value x) {
  if (r.scales) {
    std::optional<HostTensor> known = n.known(r.scales);
    return known ? std::optional(known->getFloat(axis)) : std::nullopt;
  }
  std::optional<SmallVector<int64_t>> sizes = n.partlyKnownInts(r.sizes);
  int64_t size = n.size(x, axis);
  if (!sizes || ShapedType::isDynamic((*sizes)[axis]) || ShapedType::isDynamic(size) || size == 0)
    return std::nullopt;
  return double((*sizes)[axis]) / double(size);
}

bool AntialiasedAxis::keeps(Value x) {
  if (!llvm::is_contained(r.axes, axis))
    return true;
  if (r.coordinates == CoordinateMode::tf_crop_and_resize)
    return false;
  if (std::optional<double> known = knownScale(x))
    return *known == 1;
  if (r.scales || !r.sizes)
    return false;
  std::optional<Dims> wanted = n.symbolicContents(r.sizes);
  Dims own = n.symbolicSizes(x);
  return wanted && (*wanted)[axis] && (*wanted)[axis] == own[axis];
}

Size AntialiasedAxis::resultSize(Value x) {
  if (r.sizes) {
    std::optional<SmallVector<int64_t>> known = n.partlyKnownInts(r.sizes);
    if (known && !ShapedType::isDynamic((*known)[axis]))
      return n.fixed((*known)[axis]);
    return {ShapedType::kDynamic, n.slice(r.sizes, 0, axis, axis + 1)};
  }
  auto [p, q] = scaleAsFraction(*knownScale(x));
  return n.over(n.times(n.sizeOf(x, axis), n.fixed(p)), q);
}

Value AntialiasedAxis::original(Value place) {
  auto centered = [&] { return n.sub(n.div(n.add(place, 0.5), scale), 0.5); };
  auto whereLonger = [&](Value longer, Value otherwise) {
    return n.select(n.compare(CompareKind::gt, out, 1), longer, otherwise);
  };
  Value last = n.sub(in, 1), none = n.scalar(real, 0);
  switch (r.coordinates) {
  case CoordinateMode::half_pixel:
    return centered();
  case CoordinateMode::pytorch_half_pixel:
    return whereLonger(centered(), none);
  case CoordinateMode::align_corners:
    return whereLonger(n.div(n.mul(place, last), n.sub(out, 1)), none);
  case CoordinateMode::asymmetric:
    return n.div(place, scale);
  case CoordinateMode::tf_half_pixel_for_nn:
    return n.div(n.add(place, 0.5), scale);
  case CoordinateMode::half_pixel_symmetric: {
    Value adjustment = n.sub(1, n.div(out, n.mul(scale, in)));
    return n.add(centered(), n.mul(n.mul(in, 0.5), adjustment));
  }
  case CoordinateMode::tf_crop_and_resize: {
    int64_t rank = n.size(r.roi, 0) / 2;
    Value start = n.convert(n.element(r.roi, axis), real), end = n.convert(n.element(r.roi, rank + axis), real);
    Value step = n.div(n.mul(n.sub(end, start), last), n.sub(out, 1));
    return whereLonger(n.add(n.mul(place, step), n.mul(start, last)), n.mul(n.mul(n.add(start, end), 0.5), last));
  }
  }
  llvm_unreachable("all modes handled");
}

Value AntialiasedAxis::filter(Value distance) {
  if (r.mode == ResizeMode::linear)
    return n.max(n.sub(1, distance), 0);
  // Keys 1981.
  double a = r.cubicCoefficient;
  auto horner = [&](std::initializer_list<double> coefficients) {
    Value sum = n.full(distance, *coefficients.begin());
    for (double c : llvm::drop_begin(coefficients))
      sum = n.add(n.mul(sum, distance), c);
    return sum;
  };
  Value near = horner({a + 2, -(a + 3), 0, 1}), far = horner({a, -5 * a, 8 * a, -4 * a});
  Value beyond = n.select(n.compare(CompareKind::lt, distance, 2), far, 0);
  return n.select(n.compare(CompareKind::le, distance, 1), near, beyond);
}

Value AntialiasedAxis::sumWindows(Value x, Value index, Value weights) {
  if (n.failed())
    return {};
  Type element = n.elem(x), wide = n.b.getF32Type();
  if (element.isF64() || (isa<IntegerType>(element) && element.getIntOrFloatBitWidth() > 16))
    wide = real;
  Value taken = n.convert(n.gather(x, index, axis), wide);
  if (n.failed())
    return {};
  Value sum = n.reduce(Combiner::add, n.mul(taken, n.broadcastLike(n.convert(weights, wide), taken, {axis, axis + 1})),
                       {axis + 1}, false);
  return n.convert(isa<FloatType>(element) ? sum : n.make<RoundOp>(sum), element);
}

Value AntialiasedAxis::resize(Value x) {
  Size before = n.sizeOf(x, axis), after = resultSize(x);
  std::optional<double> known = knownScale(x);
  in = number(before), out = number(after);
  scale = known ? n.scalar(real, *known) : r.scales ? n.convert(n.element(r.scales, axis), real) : n.div(out, in);
  if (!before.isKnown()) {
    Value found = n.dim(x, axis), isEmpty = n.compare(CompareKind::le, out, 0);
    x = n.make<RequireOp>(n.binary<OrOp>(n.compare(CompareKind::gt, found, 0), isEmpty), x, found, n.scalarInt(1),
                          "resize got {} elements along an axis, requires {} at least");
  } else if (before.known == 0 && (!after.isKnown() || after.known != 0)) {
    (void)n.error("requires an operand with elements, found " + printShape(n.dims(x)));
  }
  // The filter's half width, and the elements that a window has at most.
  double radius = r.mode == ResizeMode::linear ? 1 : 2;
  Value support = n.max(n.div(radius, scale), radius);
  Size width;
  if (known) {
    double most = std::ceil(std::max(radius / *known, radius)) * 2 + 1;
    width = n.fixed(int64_t(std::min(most, 1e9)));
  } else {
    Value most = n.add(n.mul(n.make<CeilOp>(support), 2), 1);
    width.tensor = n.reshape(n.convert(most, n.b.getI64Type()), {1});
  }
  Value plane = n.spread(n.scalar(real, 0), {after, width});
  Value place = n.convert(n.positions(plane, 0), real), center = n.add(original(place), 0.5);
  Value first = n.make<FloorOp>(n.add(n.sub(center, support), 0.5));
  Value at = n.add(first, n.convert(n.positions(plane, 1), real)), last = n.sub(in, 1);
  Value weights = filter(n.mul(n.make<AbsOp>(n.add(n.sub(at, center), 0.5)), n.min(scale, 1)));
  if (r.excludeOutside) {
    Value isOutside = n.binary<OrOp>(n.compare(CompareKind::lt, at, 0), n.compare(CompareKind::gt, at, last));
    weights = n.select(isOutside, 0, weights);
  }
  Value total = n.reduce(Combiner::add, weights, {1}, true);
  weights = n.div(weights, n.select(n.compare(CompareKind::eq, total, 0), 1, total));
  Value index = n.convert(n.min(n.max(at, 0), last), n.b.getI64Type());
  Value result = sumWindows(x, index, weights);
  if (r.coordinates != CoordinateMode::tf_crop_and_resize || n.failed())
    return result;
  Value middle = n.sub(n.squeeze(n.slice(center, 1, 0, 1), {1}), 0.5);
  Value isOutside = n.binary<OrOp>(n.compare(CompareKind::lt, middle, 0), n.compare(CompareKind::gt, middle, last));
  return n.failed() ? Value() : n.select(n.broadcastLike(isOutside, result, {axis}), r.extrapolation, result);
}

bool mayShrink(OpImport &n, const Resizing &resizing) {
  return llvm::any_of(n.allAxes(resizing.x), [&](int64_t axis) {
    AntialiasedAxis one(n, resizing, axis);
    return !one.keeps(resizing.x) && one.knownScale(resizing.x).value_or(0) < 1;
  });
}

Value resizeAntialiased(OpImport &n, const Resizing &resizing) {
  Value result = resizing.x;
  // Integers round at each axis, so their order is onnxruntime's; floats take the axes first that shrink whole rows.
  SmallVector<int64_t> order = n.allAxes(result);
  if (n.isFloat(result))
    llvm::sort(order, [&](int64_t a, int64_t b) {
      auto grows = [&](int64_t axis) { return AntialiasedAxis(n, resizing, axis).knownScale(result).value_or(0) > 1; };
      return std::pair(grows(a), a) < std::pair(grows(b), b);
    });
  else
    std::reverse(order.begin(), order.end());
  for (int64_t axis : order) {
    AntialiasedAxis one(n, resizing, axis);
    if (!n.failed() && !one.keeps(result))
      result = one.resize(result);
  }
  return result;
}

} // namespace sinter::onnx

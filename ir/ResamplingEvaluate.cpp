// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values of resampling ops, in f64.

#include "ir/Limits.h"
#include "ir/Resampling.h"

#include <cmath>

using namespace mlir;
using namespace sinter;

using Tensors = FailureOr<SmallVector<HostTensor>>;

/// What one position reads along one axis.
namespace {
struct Tap {
  int64_t index;
  double weight;
};
struct AxisTaps {
  SmallVector<Tap, 4> taps;
  bool outside = false;
};
} // namespace

/// Weights of the elements at floor(x) - 1 ... floor(x) + 2, where x - floor(x) = t (Keys 1981).
static std::array<double, 4> cubicWeights(double t, double a) {
  auto near = [&](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  auto far = [&](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

static int64_t clampIndex(int64_t index, int64_t size) { return std::max<int64_t>(0, std::min(index, size - 1)); }

/// The sum over all combinations of one tap per axis.
static double sumTaps(ArrayRef<const AxisTaps *> axes, ArrayRef<int64_t> strides, const std::vector<double> &values,
                      int64_t offset) {
  if (axes.empty())
    return values[offset];
  double sum = 0;
  for (const Tap &tap : axes.front()->taps) {
    int64_t at = offset + tap.index * strides.front();
    double value = sumTaps(axes.drop_front(), strides.drop_front(), values, at);
    // One tap alone moves the element as it is, infinities included.
    sum = axes.front()->taps.size() == 1 ? value : sum + tap.weight * value;
  }
  return sum;
}

//===- resize ------------------------------------------------------------------------------------------------===//

namespace {
struct Axis {
  double scale;
  int64_t size;    // of the operand
  int64_t resized; // of the result
  double length;   // size * scale where scales are given, else `resized`
  double start, end;
};
} // namespace

/// Where the operand is read for position `x` of the result.
static double originalPosition(CoordinateMode mode, const Axis &axis, double x) {
  double last = static_cast<double>(axis.size - 1);
  double centered = (x + 0.5) / axis.scale - 0.5;
  switch (mode) {
  case CoordinateMode::half_pixel:
    return centered;
  case CoordinateMode::pytorch_half_pixel:
    return axis.resized > 1 ? centered : 0;
  case CoordinateMode::align_corners:
    return axis.length > 1 ? x * last / (axis.length - 1) : 0;
  case CoordinateMode::asymmetric:
    return x / axis.scale;
  case CoordinateMode::tf_crop_and_resize:
    return axis.length > 1 ? axis.start * last + x * (axis.end - axis.start) * last / (axis.length - 1)
                           : 0.5 * (axis.start + axis.end) * last;
  case CoordinateMode::tf_half_pixel_for_nn:
    return (x + 0.5) / axis.scale;
  case CoordinateMode::half_pixel_symmetric: {
    double adjustment = static_cast<double>(axis.resized) / axis.length;
    return 0.5 * static_cast<double>(axis.size) * (1 - adjustment) + centered;
  }
  }
  llvm_unreachable("all modes handled");
}

static double roundNearest(NearestMode mode, double x) {
  switch (mode) {
  case NearestMode::round_prefer_floor:
    return std::ceil(x - 0.5);
  case NearestMode::round_prefer_ceil:
    return std::floor(x + 0.5);
  case NearestMode::floor:
    return std::floor(x);
  case NearestMode::ceil:
    return std::ceil(x);
  }
  llvm_unreachable("all modes handled");
}

static AxisTaps tapsAt(ResizeOp op, const Axis &axis, int64_t x) {
  AxisTaps result;
  double last = static_cast<double>(axis.size - 1);
  double position = originalPosition(op.getCoordinates(), axis, static_cast<double>(x));
  if (op.getCoordinates() == CoordinateMode::tf_crop_and_resize)
    result.outside = !(position >= 0 && position <= last);
  if (result.outside)
    return result;
  // Every position further out reads the border, too.
  position = std::max(-4.0, std::min(position, last + 4));
  auto add = [&](double index, double weight) {
    result.taps.push_back({clampIndex(static_cast<int64_t>(index), axis.size), weight});
  };
  double floor = std::floor(position), t = position - floor;
  switch (op.getMode()) {
  case ResizeMode::nearest:
    add(roundNearest(op.getNearest(), position), 1);
    return result;
  case ResizeMode::linear:
    add(floor, 1 - t);
    if (t != 0)
      add(floor + 1, t);
    break;
  case ResizeMode::cubic: {
    if (t == 0 && floor >= 0 && floor <= last) {
      add(floor, 1);
      break;
    }
    std::array<double, 4> weights = cubicWeights(t, op.getCubicCoefficient().convertToDouble());
    for (int i = 0; i < 4; ++i)
      add(floor - 1 + i, weights[i]);
    break;
  }
  }
  if (!op.getExcludeOutside())
    return result;
  double sum = 0;
  for (auto [i, tap] : llvm::enumerate(result.taps)) {
    double index = floor + static_cast<double>(i) - (result.taps.size() == 4 ? 1 : 0);
    if (index < 0 || index > last)
      tap.weight = 0;
    sum += tap.weight;
  }
  for (Tap &tap : result.taps)
    tap.weight /= sum;
  return result;
}

Tensors ResizeOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &evaluator) {
  const HostTensor &x = operands.front();
  operands = operands.drop_front();
  auto next = [&]() {
    HostTensor front = operands.front();
    operands = operands.drop_front();
    return front;
  };
  std::vector<double> scales, roi;
  std::vector<int64_t> sizes;
  if (getScales())
    scales = next().toFloats();
  if (getSizes())
    sizes = next().toInts();
  if (getRoi())
    roi = next().toFloats();
  int64_t rank = x.rank();
  if ((getScales() && static_cast<int64_t>(scales.size()) != rank) ||
      (getSizes() && static_cast<int64_t>(sizes.size()) != rank))
    return emitOpError("requires one scale or size per axis, got ")
               << std::max(scales.size(), sizes.size()) << " for rank " << rank,
           failure();

  SmallVector<Axis> axes;
  SmallVector<int64_t> shape;
  for (int64_t k = 0; k < rank; ++k) {
    Axis axis{};
    axis.size = x.size(k);
    if (getScales() && !isScale(scales[k]))
      return emitOpError("requires scales above 0, got ") << scales[k] << " for axis " << k, failure();
    if (getSizes()) {
      axis.resized = sizes[k];
    } else {
      auto [p, q] = scaleAsFraction(scales[k]);
      axis.resized = axis.size * p / q;
    }
    if (axis.resized < 0)
      return emitOpError("requires sizes of at least 0, got ") << axis.resized << " for axis " << k, failure();
    axis.scale = getScales() ? scales[k] : static_cast<double>(axis.resized) / static_cast<double>(axis.size);
    axis.length = getScales() ? static_cast<double>(axis.size) * axis.scale : static_cast<double>(axis.resized);
    if (getCoordinates() == CoordinateMode::tf_crop_and_resize) {
      axis.start = roi[k];
      axis.end = roi[rank + k];
    }
    axes.push_back(axis);
    shape.push_back(axis.resized);
  }
  if (const Axis *none = llvm::find_if(axes, [](const Axis &axis) { return axis.size == 0; });
      none != axes.end() && !llvm::is_contained(shape, 0))
    return emitOpError("requires a size of at least 1 to take elements from on axis ")
               << none - axes.begin() << ", got 0",
           failure();
  if (failed(requireRoom(*this, evaluator, x.elementType(), shape)))
    return failure();
  HostTensor result(x.elementType(), shape);
  if (result.numElements() == 0)
    return SmallVector<HostTensor>{result};
  if (x.numElements() == 0)
    return emitOpError("requires an operand with elements where the result has some, got sizes ")
               << printShape(x.shape()),
           failure();

  SmallVector<std::vector<AxisTaps>> taps;
  for (const Axis &axis : axes) {
    std::vector<AxisTaps> &along = taps.emplace_back();
    for (int64_t i = 0; i < axis.resized; ++i)
      along.push_back(tapsAt(*this, axis, i));
  }
  std::vector<double> values = x.toFloats(), results;
  results.reserve(result.numElements());
  SmallVector<int64_t> strides = x.strides();
  bool exact = getMode() == ResizeMode::nearest && !x.isFloat();
  std::vector<int64_t> ints = exact ? x.toInts() : std::vector<int64_t>(), intResults;
  double extrapolation = getExtrapolation().convertToDouble();
  forEachIndex(shape, [&](ArrayRef<int64_t> index) {
    SmallVector<const AxisTaps *> at;
    bool outside = false;
    for (auto [k, i] : llvm::enumerate(index)) {
      at.push_back(&taps[k][i]);
      outside |= at.back()->outside;
    }
    if (exact) { // 64-bit integers do not fit into f64
      int64_t offset = 0;
      for (auto [axis, stride] : llvm::zip(at, strides))
        offset += outside ? 0 : axis->taps.front().index * stride;
      intResults.push_back(outside ? static_cast<int64_t>(extrapolation) : ints[offset]);
      return;
    }
    results.push_back(outside ? extrapolation : sumTaps(at, strides, values, 0));
  });
  if (exact)
    result.assignInts(intResults);
  else
    result.assignFloats(results);
  return SmallVector<HostTensor>{result};
}

//===- grid_sample -------------------------------------------------------------------------------------------===//

/// Mirrors `x` at the ends of [low, high] until it lies inside.
static double reflect(double x, double low, double high) {
  double range = high - low;
  if (range <= 0)
    return low;
  double distance = std::fabs(x - low);
  distance -= std::floor(distance / (2 * range)) * (2 * range);
  return low + (distance > range ? 2 * range - distance : distance);
}

/// Taps along one spatial axis; a tap outside has index -1 and reads zero.
static AxisTaps gridTaps(GridSampleOp op, double g, int64_t size) {
  double last = static_cast<double>(size - 1);
  double low = op.getAlignCorners() ? 0 : -0.5, high = op.getAlignCorners() ? last : last + 0.5;
  double x = op.getAlignCorners() ? (g + 1) / 2 * last : ((g + 1) * static_cast<double>(size) - 1) / 2;
  if (std::isnan(x))
    x = 0;
  if (op.getMode() == ResizeMode::nearest)
    x = std::nearbyint(x);
  if (op.getPadding() == PadMode::edge && op.getMode() != ResizeMode::cubic)
    x = std::max(0.0, std::min(x, last));
  else if (op.getPadding() == PadMode::reflect && (x < low || x > high))
    x = reflect(x, low, high);
  x = std::max(-4.0, std::min(x, last + 4)); // all outside alike, and in the range of integers
  AxisTaps result;
  auto add = [&](double index, double weight) {
    if (op.getPadding() == PadMode::reflect && (index < low || index > high))
      index = reflect(index, low, high);
    auto i = static_cast<int64_t>(index);
    bool outside = i < 0 || i >= size;
    result.taps.push_back({outside && op.getPadding() == PadMode::constant ? -1 : clampIndex(i, size), weight});
  };
  double floor = std::floor(x), t = x - floor;
  switch (op.getMode()) {
  case ResizeMode::nearest:
    add(x, 1);
    break;
  case ResizeMode::linear:
    add(floor, 1 - t);
    add(floor + 1, t);
    break;
  case ResizeMode::cubic: {
    std::array<double, 4> weights = cubicWeights(t, -0.75);
    for (int i = 0; i < 4; ++i)
      add(floor - 1 + i, weights[i]);
    break;
  }
  }
  return result;
}

static double sumGridTaps(ArrayRef<AxisTaps> axes, ArrayRef<int64_t> strides, const std::vector<double> &values,
                          int64_t offset) {
  if (axes.empty())
    return values[offset];
  double sum = 0;
  for (const Tap &tap : axes.front().taps) {
    bool outside = tap.index < 0;
    double value =
        outside ? 0
                : sumGridTaps(axes.drop_front(), strides.drop_front(), values, offset + tap.index * strides.front());
    sum += tap.weight * value;
  }
  return sum;
}

Tensors GridSampleOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &evaluator) {
  const HostTensor &x = operands[0], &grid = operands[1];
  int64_t spatial = x.rank() - 2, firstSpatial = firstSpatialAxis(), channel = channelAxis();
  if (grid.size(0) != x.size(0) || grid.size(x.rank() - 1) != spatial)
    return emitOpError("requires a grid of ")
               << x.size(0) << " images and " << spatial << " coordinates, got sizes " << printShape(grid.shape()),
           failure();
  SmallVector<int64_t> shape{x.size(0)};
  llvm::append_range(shape, grid.shape().drop_front().drop_back());
  shape.insert(shape.begin() + channel, x.size(channel));
  if (failed(requireRoom(*this, evaluator, x.elementType(), shape)))
    return failure();
  HostTensor result(x.elementType(), shape);
  if (result.numElements() == 0)
    return SmallVector<HostTensor>{result};
  if (x.numElements() == 0)
    return emitOpError("requires an operand with elements where the result has some, got sizes ")
               << printShape(x.shape()),
           failure();
  std::vector<double> values = x.toFloats(), positions = grid.toFloats(), results;
  SmallVector<int64_t> strides = x.strides(), gridStrides = grid.strides();
  forEachIndex(shape, [&](ArrayRef<int64_t> index) {
    int64_t at = index[0] * gridStrides[0];
    for (int64_t k = 0; k < spatial; ++k)
      at += index[firstSpatial + k] * gridStrides[1 + k];
    SmallVector<AxisTaps> axes;
    for (int64_t k = 0; k < spatial; ++k)
      axes.push_back(gridTaps(*this, positions[at + spatial - 1 - k], x.size(firstSpatial + k)));
    results.push_back(sumGridTaps(axes, ArrayRef(strides).slice(firstSpatial, spatial), values,
                                  index[0] * strides[0] + index[channel] * strides[channel]));
  });
  result.assignFloats(results);
  return SmallVector<HostTensor>{result};
}

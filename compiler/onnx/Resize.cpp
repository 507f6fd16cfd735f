// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading between elements: Resize, Upsample, GridSample, RoiAlign.

#include "compiler/onnx/Resize.h"

using namespace mlir;

namespace sinter::onnx {

static std::optional<ResizeMode> resizeMode(OpImport &n, StringRef name) {
  auto mode = llvm::StringSwitch<std::optional<ResizeMode>>(name)
                  .Case("nearest", ResizeMode::nearest)
                  .Cases({"linear", "bilinear"}, ResizeMode::linear)
                  .Cases({"cubic", "bicubic"}, ResizeMode::cubic)
                  .Default(std::nullopt);
  if (!mode)
    (void)n.unsupported("mode '" + name + "'");
  return mode;
}

/// Per-axis values in the order of `axes` over all axes of a tensor of rank `rank`.
static Value overAllAxes(OpImport &n, Value values, ArrayRef<int64_t> axes, Value otherwise) {
  if (!values || n.failed() || llvm::equal(axes, llvm::seq<int64_t>(0, n.size(otherwise, 0))))
    return values;
  return n.make<ScatterElementsOp>(otherwise, n.ints(axes), values, int64_t(0), Combiner::set);
}

/// The one scale of `axes`, for each of them, that is the least of what `sizes` ask for, or the greatest; `sizes`
/// become what it gives.
static Value keepAspectRatio(OpImport &n, Value x, ArrayRef<int64_t> axes, bool isGreatest, Value &sizes) {
  std::optional<SmallVector<int64_t>> wanted = n.knownInts(sizes);
  Type f32 = n.b.getF32Type(), f64 = n.b.getF64Type();
  if (wanted && n.isStatic(x)) {
    double scale = isGreatest ? 0 : std::numeric_limits<double>::infinity();
    for (auto [axis, size] : llvm::zip(axes, *wanted)) {
      double own = double(size) / double(n.size(x, axis));
      scale = isGreatest ? std::max(scale, own) : std::min(scale, own);
    }
    for (auto [axis, size] : llvm::zip(axes, *wanted))
      size = int64_t(std::floor(scale * double(n.size(x, axis)) + 0.5));
    sizes = n.ints(*wanted);
    return n.floats(f32, SmallVector<double>(axes.size(), scale));
  }
  Value own = n.convert(n.gather(n.shapeOf(x), n.ints(axes), 0), f64), asked = n.div(n.convert(sizes, f64), own);
  Value scale = n.reduce(isGreatest ? Combiner::max : Combiner::min, asked, {0}, false);
  sizes = n.convert(n.make<FloorOp>(n.add(n.mul(own, scale), 0.5)), n.b.getI64Type());
  return n.failed() ? Value() : n.convert(n.broadcastLike(scale, own), f32);
}

static LogicalResult importResize(OpImport &n) {
  Value x = n.in(0), roi, scales, sizes;
  int64_t rank = n.rank(x);
  bool upsample = n.node.op_type() == "Upsample";
  Type f32 = n.b.getF32Type();
  if (upsample && n.version < 9) {
    std::optional<SmallVector<double>> given = n.floatsAttr("scales");
    if (!given)
      return n.error("requires the attribute 'scales'");
    scales = n.floats(f32, *given);
  } else if (n.version < 11) {
    scales = n.in(1);
  } else {
    roi = n.in(1);
    scales = n.in(2);
    sizes = n.in(3);
  }
  // an empty tensor is an absent one
  auto isEmpty = [&](Value value) { return value && n.rank(value) == 1 && n.size(value, 0) == 0; };
  if (isEmpty(scales))
    scales = {};
  if (isEmpty(sizes))
    sizes = {};
  if (isEmpty(roi))
    roi = {};
  if ((!scales && !sizes) || (scales && sizes))
    return n.error("requires one of scales and sizes, found " + Twine(scales ? "both" : "none"));
  if (sizes)
    sizes = n.convert(sizes, n.b.getI64Type());

  std::optional<ResizeMode> mode = resizeMode(n, n.stringAttr("mode", "nearest"));
  if (!mode)
    return failure();
  StringRef coordinateName =
      n.stringAttr("coordinate_transformation_mode", n.version < 11 ? "asymmetric" : "half_pixel");
  std::optional<CoordinateMode> coordinates = symbolizeCoordinateMode(coordinateName);
  if (!coordinates)
    return n.unsupported("coordinate_transformation_mode '" + coordinateName + "'");
  StringRef nearestName = n.stringAttr("nearest_mode", n.version < 11 ? "floor" : "round_prefer_floor");
  std::optional<NearestMode> nearest = symbolizeNearestMode(nearestName);
  if (!nearest)
    return n.unsupported("nearest_mode '" + nearestName + "'");
  StringRef policy = n.stringAttr("keep_aspect_ratio_policy", "stretch");

  SmallVector<int64_t> axes = n.intsAttr("axes").value_or(n.allAxes(x));
  if (failed(n.normalizeAxes(axes, rank)))
    return failure();
  Value given = scales ? scales : sizes;
  if (n.rank(given) != 1 || n.size(given, 0) != int64_t(axes.size()))
    return n.error("requires one scale or size an axis, found " + printShape(n.dims(given)));
  Value ones = n.floats(f32, SmallVector<double>(size_t(rank), 1)), kept;
  if (sizes && policy != "stretch") {
    kept = keepAspectRatio(n, x, axes, policy == "not_smaller", sizes);
    kept = overAllAxes(n, kept, axes, ones);
  }
  scales = overAllAxes(n, scales, axes, ones);
  sizes = overAllAxes(n, sizes, axes, n.shapeOf(x));
  if (scales) {
    if (std::optional<HostTensor> known = n.known(scales)) {
      scales = n.constant(*known);
    } else { // the result's sizes have to be known before it is computed
      Value scaled = n.make<FloorOp>(n.mul(n.convert(n.shapeOf(x), f32), n.convert(scales, f32)));
      sizes = n.max(n.convert(scaled, n.b.getI64Type()), 0);
    }
  }
  scales = kept ? kept : scales;
  if (roi && *coordinates == CoordinateMode::tf_crop_and_resize) {
    int64_t count = int64_t(axes.size());
    if (count != rank) {
      Value starts =
          overAllAxes(n, n.slice(roi, 0, 0, count), axes, n.floats(n.elem(roi), SmallVector<double>(size_t(rank), 0)));
      Value ends = overAllAxes(n, n.slice(roi, 0, count, 2 * count), axes,
                               n.floats(n.elem(roi), SmallVector<double>(size_t(rank), 1)));
      roi = n.concat({starts, ends}, 0);
    }
  } else {
    roi = {};
  }
  if (n.intAttr("antialias", 0)) {
    Resizing resizing{x,
                      scales,
                      sizes,
                      roi,
                      axes,
                      *mode,
                      *coordinates,
                      n.floatAttr("cubic_coeff_a", -0.75),
                      n.intAttr("exclude_outside", 0) != 0,
                      n.floatAttr("extrapolation_value", 0)};
    if (*mode == ResizeMode::nearest)
      return n.unsupported("antialias of mode 'nearest'");
    if (!n.isFloat(x) || mayShrink(n, resizing)) // integers round here and truncate there
      return n.out(resizeAntialiased(n, resizing));
  }
  Value result =
      n.make<ResizeOp>(x, scales, sizes, roi, *mode, *coordinates, *nearest, n.floatAttr("cubic_coeff_a", -0.75),
                       n.intAttr("exclude_outside", 0) != 0, n.floatAttr("extrapolation_value", 0));
  return n.out(result);
}

static LogicalResult importGridSample(OpImport &n) {
  std::optional<ResizeMode> mode = resizeMode(n, n.stringAttr("mode", "bilinear"));
  if (!mode)
    return failure();
  StringRef paddingName = n.stringAttr("padding_mode", "zeros");
  auto padding = llvm::StringSwitch<std::optional<PadMode>>(paddingName)
                     .Case("zeros", PadMode::constant)
                     .Case("border", PadMode::edge)
                     .Case("reflection", PadMode::reflect)
                     .Default(std::nullopt);
  if (!padding)
    return n.unsupported("padding_mode '" + paddingName + "'");
  // Up to version 20, samples are images.
  if (n.rank(n.in(0)) < 3 || (n.rank(n.in(0)) != 4 && n.version < 20))
    return n.unsupported("grid sampling of rank " + Twine(n.rank(n.in(0))));
  return n.out(n.make<GridSampleOp>(n.in(0), n.convert(n.in(1), n.elem(n.in(0))), *mode, *padding,
                                    n.intAttr("align_corners", 0) != 0));
}

/// Coordinates from -1 to 1 along an axis of `size` elements: of their middles, or from the first to the last one.
static Value coordinates(OpImport &n, Size size, bool align, Type type) {
  Value at = n.convert(n.positions(n.spread(n.scalarInt(0), {size}), 0), type);
  Value count = n.convert(size.isKnown() ? n.ints({size.known}) : size.tensor, type);
  if (!align)
    return n.sub(n.div(n.add(n.mul(at, 2), 1), count), 1);
  return n.sub(n.div(n.mul(at, 2), n.max(n.sub(count, 1), 1)), 1); // a lone element lies at the first place
}

static LogicalResult importAffineGrid(OpImport &n) {
  Value theta = n.in(0), size = n.convert(n.in(1), n.b.getI64Type());
  if (n.rank(size) != 1 || (n.size(size, 0) != 4 && n.size(size, 0) != 5))
    return n.error("requires 4 or 5 sizes, found " + printShape(n.dims(size)));
  int64_t spatial = n.size(size, 0) - 2;
  if (n.rank(theta) != 3 || n.size(theta, 1) != spatial || n.size(theta, 2) != spatial + 1)
    return n.error("requires matrices of " + Twine(spatial) + " by " + Twine(spatial + 1) + ", found " +
                   printShape(n.dims(theta)));
  Type type = n.elem(theta), wide = type.isF64() ? type : n.b.getF32Type();
  theta = n.convert(theta, wide);
  // A column of the matrices as [batch, 1 ..., coordinates]; the last one stands alone, the first is for the last axis.
  SmallVector<int64_t> between = llvm::to_vector(llvm::seq<int64_t>(1, spatial + 1));
  auto column = [&](int64_t k) { return n.unsqueeze(n.squeeze(n.slice(theta, 2, k, k + 1), {2}), between); };
  std::optional<SmallVector<int64_t>> known = n.partlyKnownInts(size);
  Value sum;
  for (int64_t k = 0; k < spatial && !n.failed(); ++k) {
    int64_t axis = spatial - 1 - k, place = 2 + axis;
    Size own{known ? (*known)[place] : ShapedType::kDynamic, n.slice(size, 0, place, place + 1)};
    SmallVector<int64_t> others{0};
    for (int64_t other = 0; other <= spatial; ++other)
      if (other != axis)
        others.push_back(other + 1);
    Value along = n.unsqueeze(coordinates(n, own, n.intAttr("align_corners", 0) != 0, wide), others);
    Value part = n.mul(along, column(k));
    sum = sum ? n.add(sum, part) : part;
  }
  return n.out(n.convert(n.add(sum, column(spatial)), type));
}

//===--- RoiAlign -----------------------------------------------------------------------------------------------===//

namespace {

/// Sample places along one axis of each region: [regions, bins, samples], and how to read there.
struct Samples {
  Value low, high;             // i64 positions
  Value weightLow, weightHigh; // f32, both 0 outside
};

} // namespace

/// Where samples lie along one axis. `start` and `bin` are [regions]; `size` is the axis's size, rank 0.
static Samples placeSamples(OpImport &n, Value start, Value bin, Value size, int64_t bins, int64_t samples, Type type) {
  if (n.failed())
    return {};
  Type i64 = n.b.getI64Type();
  SmallVector<double> offsets; // of each sample in units of a bin
  for (int64_t k = 0; k < bins; ++k)
    for (int64_t s = 0; s < samples; ++s)
      offsets.push_back(double(k) + (double(s) + 0.5) / double(samples));
  Value grid = n.reshape(n.floats(type, offsets), {1, bins, samples});
  Value at = n.add(n.unsqueeze(start, {1, 2}), n.mul(n.unsqueeze(bin, {1, 2}), grid));
  Value limit = n.convert(size, type);
  Value outside = n.binary<OrOp>(n.compare(CompareKind::lt, at, -1), n.compare(CompareKind::gt, at, limit));
  Value clamped = n.max(at, 0);
  Value last = n.sub(limit, 1);
  Value low = n.make<FloorOp>(clamped);
  Value beyond = n.compare(CompareKind::ge, low, last);
  low = n.select(beyond, last, low);
  Value high = n.select(beyond, last, n.add(low, 1));
  clamped = n.select(beyond, low, clamped);
  Value fraction = n.sub(clamped, low);
  Samples out;
  out.low = n.convert(low, i64);
  out.high = n.convert(high, i64);
  out.weightLow = n.select(outside, 0, n.sub(1, fraction));
  out.weightHigh = n.select(outside, 0, fraction);
  return out;
}

static LogicalResult importRoiAlign(OpImport &n) {
  // Floats of 16 bits name no places beyond a few hundred, and four times one may be infinite.
  auto widened = [&](Value narrow) { return n.convert(narrow, n.sumType(narrow)); };
  Value x = widened(n.in(0)), rois = widened(n.in(1)), batch = n.convert(n.in(2), n.b.getI64Type());
  if (n.rank(x) != 4 || n.rank(rois) != 2)
    return n.error("requires rank 4 and regions of rank 2, found " + printShape(n.dims(x)) + " and " +
                   printShape(n.dims(rois)));
  int64_t rows = n.intAttr("output_height", 1), columns = n.intAttr("output_width", 1);
  int64_t samples = n.intAttr("sampling_ratio", 0);
  if (samples <= 0)
    return n.unsupported("a sampling_ratio that follows from each region's size");
  constexpr int64_t kMaxSamples = 1 << 20; // of a region
  std::optional<int64_t> all = rows < 1 || columns < 1 ? 0 : countElements({rows, columns, samples, samples});
  if (!all || *all < 1 || *all > kMaxSamples)
    return n.error("requires positive output sizes and at most " + Twine(kMaxSamples) +
                   " samples of a region (kMaxSamples), found sizes " + Twine(rows) + " and " + Twine(columns) +
                   " of " + Twine(samples) + " by " + Twine(samples) + " samples");
  Type type = n.elem(x);
  double scale = n.floatAttr("spatial_scale", 1);
  bool halfPixel = n.version >= 16 && n.stringAttr("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  double shift = halfPixel ? 0.5 : 0;
  auto side = [&](int64_t k) { return n.sub(n.mul(n.squeeze(n.slice(rois, 1, k, k + 1), {1}), scale), shift); };
  Value left = side(0), top = side(1), width = n.sub(side(2), left), height = n.sub(side(3), top);
  if (!halfPixel) {
    width = n.max(width, 1);
    height = n.max(height, 1);
  }
  Samples ys = placeSamples(n, top, n.div(height, double(rows)), n.dim(x, 2), rows, samples, type);
  Samples xs = placeSamples(n, left, n.div(width, double(columns)), n.dim(x, 3), columns, samples, type);
  if (n.failed())
    return failure();
  bool average = n.stringAttr("mode", "avg") == "avg";

  // channels last, so that one tuple (batch, y, x) reads all channels: result axes [regions, rows, sy, columns, sx, C]
  Value image = n.transpose(x, {0, 2, 3, 1});
  Value batches = n.unsqueeze(batch, {1, 2, 3, 4});
  auto corner = [&](Value y, Value wy, Value xAt, Value wx) -> Value {
    SmallVector<Value> tuple = {batches, n.unsqueeze(y, {3, 4}), n.unsqueeze(xAt, {1, 2})};
    if (!n.broadcastTogether(tuple))
      return {};
    for (Value &entry : tuple)
      entry = n.unsqueeze(entry, {5});
    Value pixels = n.make<GatherNdOp>(image, n.concat(tuple, 5), int64_t(0));
    return n.mul(pixels, n.unsqueeze(n.mul(n.unsqueeze(wy, {3, 4}), n.unsqueeze(wx, {1, 2})), {5}));
  };
  Value a = corner(ys.low, ys.weightLow, xs.low, xs.weightLow),
        b = corner(ys.low, ys.weightLow, xs.high, xs.weightHigh);
  Value c = corner(ys.high, ys.weightHigh, xs.low, xs.weightLow),
        d = corner(ys.high, ys.weightHigh, xs.high, xs.weightHigh);
  Value result = average ? n.mean(n.add(n.add(a, b), n.add(c, d)), {2, 4}, false)
                         : n.reduce(Combiner::max, n.max(n.max(a, b), n.max(c, d)), {2, 4}, false);
  return n.out(n.convert(n.transpose(result, {0, 3, 1, 2}), n.elem(n.in(0))));
}

void registerResize(Registry &r) {
  r.add("Resize", 10, 2, importResize);
  r.add("Resize", 11, 1, importResize);
  r.add("Upsample", 7, 1, importResize, 8);
  r.add("Upsample", 9, 2, importResize);
  r.add("GridSample", 16, 2, importGridSample);
  r.addContrib("GridSample", 2, importGridSample, 16);
  r.add("AffineGrid", 20, 2, importAffineGrid);
  r.add("RoiAlign", 10, 3, importRoiAlign);
}

} // namespace sinter::onnx

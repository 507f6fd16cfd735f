// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/onnx/Families.h"
#include "compiler/onnx/Windows.h"

using namespace mlir;

namespace sinter::onnx {

//===--- softmax ------------------------------------------------------------------------------------------------===//

/// Until operator set 12 the operand was made a matrix at `axis`, and its rows were normalized.
static Value overRows(OpImport &n, Value x, int64_t version, llvm::function_ref<Value(Value, int64_t)> build) {
  int64_t axis = n.axisAttr("axis", version < 13 ? 1 : -1, n.rank(x));
  if (axis < 0)
    return {};
  if (version >= 13 || axis == n.rank(x) - 1)
    return build(x, axis);
  Value rows = build(n.flatten(x, axis), 1);
  SmallVector<Size> sizes;
  for (int64_t k = 0; k < n.rank(x); ++k)
    sizes.push_back(n.sizeOf(x, k));
  return n.reshapeSizes(rows, sizes);
}

Value softmax(OpImport &n, Value x, int64_t version, bool logarithm) {
  return overRows(n, x, version, [&](Value rows, int64_t axis) { return n.make<SoftmaxOp>(rows, axis, logarithm); });
}

template <bool logarithm> static LogicalResult importSoftmax(OpImport &n) {
  return n.out(softmax(n, n.in(0), n.version, logarithm));
}

static LogicalResult importHardmax(OpImport &n) {
  return n.out(overRows(n, n.in(0), n.version, [&](Value x, int64_t axis) -> Value {
    if (n.failed() || n.size(x, axis) == 0)
      return x;
    Value row = x;
    if (ShapedType::isDynamic(n.size(x, axis))) { // there may be no element, of which none is the greatest
      SmallVector<int64_t> low(size_t(n.rank(x)), 0), high(low);
      high[axis] = 1;
      row = n.pad(x, n.scalar(n.elem(x), -std::numeric_limits<double>::infinity()), low, high);
    }
    Value best = n.unsqueeze(n.make<ArgReduceOp>(row, axis, Combiner::max, false), {axis});
    if (n.failed())
      return {};
    return n.convert(n.compare(CompareKind::eq, n.positions(x, axis), best), n.elem(x));
  }));
}

//===--- statistics ---------------------------------------------------------------------------------------------===//

static SmallVector<int64_t> axesBut(OpImport &n, Value x, ArrayRef<int64_t> kept) {
  SmallVector<int64_t> axes;
  for (int64_t axis = 0; axis < n.rank(x); ++axis)
    if (!llvm::is_contained(kept, axis))
      axes.push_back(axis);
  return axes;
}

static LogicalResult importBatchNorm(OpImport &n) {
  Value x = n.in(0), scale = n.in(1), bias = n.in(2), mean = n.in(3), variance = n.in(4);
  Type type = n.elem(x);
  double epsilon = n.floatAttr("epsilon", 1e-5f);
  bool training = n.version >= 14 ? n.intAttr("training_mode", 0) != 0 : n.version < 7 && !n.intAttr("is_test", 0);
  training &= !n.forInference();
  if (n.version < 9 && !n.intAttr("spatial", 1))
    return n.unsupported("batch normalization with statistics for each place");
  if (n.version < 14 && training)
    return n.unsupported("training before operator set 14");
  if (n.rank(x) < 2)
    return n.error("requires an operand of rank 2 at least, found " + printShape(n.dims(x)));
  if (training) {
    // the batch's own statistics; the running ones move toward them
    SmallVector<int64_t> axes = axesBut(n, x, {1});
    Type wide = n.elem(mean);
    Value y = n.convert(x, wide), batchMean = n.mean(y, axes, false);
    Value centred = n.sub(y, alongChannels(n, batchMean, y));
    Value batchVariance = n.mean(n.mul(centred, centred), axes, false);
    double momentum = n.floatAttr("momentum", 0.9f);
    Value runningMean = n.add(n.mul(mean, momentum), n.mul(batchMean, 1 - momentum));
    Value runningVariance = n.add(n.mul(variance, momentum), n.mul(batchVariance, 1 - momentum));
    Value result = n.make<BatchNormOp>(x, n.convert(scale, type), n.convert(bias, type), n.convert(batchMean, type),
                                       n.convert(batchVariance, type), int64_t(1), epsilon);
    (void)n.out(result);
    (void)n.out(runningMean);
    return n.out(runningVariance);
  }
  (void)n.out(n.make<BatchNormOp>(x, n.convert(scale, type), n.convert(bias, type), n.convert(mean, type),
                                  n.convert(variance, type), int64_t(1), epsilon));
  if (n.forInference() && n.wants(1)) { // written for training: the statistics stay
    (void)n.out(mean);
    (void)n.out(variance);
  }
  return success(!n.failed());
}

static LogicalResult importInstanceNorm(OpImport &n) {
  Value x = n.in(0), scale = n.in(1), bias = n.in(2);
  int64_t channels = ShapedType::isDynamic(n.size(x, 1)) ? n.size(scale, 0) : n.size(x, 1);
  if (ShapedType::isDynamic(channels))
    return n.unsupported("a number of channels known only at run time");
  return n.out(n.make<GroupNormOp>(x, scale, bias, channels, n.floatAttr("epsilon", 1e-5f)));
}

static LogicalResult importGroupNorm(OpImport &n) {
  Value x = n.in(0), scale = n.in(1), bias = n.in(2);
  int64_t groups = n.intAttr("num_groups", 0), channels = n.size(x, 1);
  if (groups < 1 || (!ShapedType::isDynamic(channels) && channels % groups != 0))
    return n.error("requires channels in groups, found " + Twine(channels) + " channels and " + Twine(groups) +
                   " groups");
  if (n.version < 21) {
    // one scale a group
    if (ShapedType::isDynamic(channels))
      return n.unsupported("a number of channels known only at run time");
    auto spread = [&](Value perGroup) {
      auto type = RankedTensorType::get({groups, channels / groups}, n.elem(perGroup));
      return n.reshape(n.make<BroadcastOp>(perGroup, Value(), ValueRange(), ArrayRef<int64_t>{0}, type), {channels});
    };
    scale = spread(scale);
    bias = spread(bias);
  }
  return n.out(n.make<GroupNormOp>(x, scale, bias, groups, n.floatAttr("epsilon", 1e-5f)));
}

/// `value` in the shape of `x`'s axes from `axis` on.
static Value forRow(OpImport &n, Value value, Value x, int64_t axis) {
  if (!value || n.failed())
    return value;
  SmallVector<Size> sizes;
  SmallVector<int64_t> axes;
  for (int64_t k = axis; k < n.rank(x); ++k)
    sizes.push_back(n.sizeOf(x, k));
  if (llvm::equal(n.dims(value), n.dims(x).drop_front(axis)))
    return value;
  return n.expand(value, n.shapeTensor(sizes));
}

SmallVector<Value> layerNorm(OpImport &n, Value x, Value scale, Value bias, int64_t axis, double epsilon, bool center) {
  Type type = n.elem(x), stash = type;
  if (!type.isF64()) { // statistics, and the result until it is scaled, are f32 unless stash_type says otherwise
    stash = n.elementType(n.intAttr("stash_type", onnxfile::FLOAT));
    if (!stash)
      return SmallVector<Value>(3);
  }
  if (stash == type)
    return n.makeAll<LayerNormOp>(3, x, forRow(n, scale, x, axis), forRow(n, bias, x, axis), axis, epsilon, center);
  SmallVector<Value> results = n.makeAll<LayerNormOp>(3, n.convert(x, stash), Value(), Value(), axis, epsilon, center);
  results[0] = n.mul(n.convert(results[0], n.elem(scale)), scale);
  if (bias)
    results[0] = n.add(results[0], bias);
  return results;
}

template <bool center> static LogicalResult importLayerNorm(OpImport &n) {
  Value x = n.in(0);
  int64_t axis = n.axisAttr("axis", -1, n.rank(x));
  if (axis < 0)
    return failure();
  for (Value result : layerNorm(n, x, n.in(1), n.in(2), axis, n.floatAttr("epsilon", 1e-5f), center))
    (void)n.out(result);
  return success(!n.failed());
}

/// ONNX's function body computes the variance as the mean of squares less the squared mean, of which nothing is left
/// where the mean is large.
static LogicalResult importMeanVarianceNorm(OpImport &n) {
  Type type = n.elem(n.in(0));
  Value x = n.convert(n.in(0), n.sumType(n.in(0)));
  SmallVector<int64_t> axes = n.intsAttr("axes").value_or(SmallVector<int64_t>{0, 2, 3});
  if (failed(n.normalizeAxes(axes, n.rank(x))))
    return failure();
  Value centred = n.sub(x, n.mean(x, axes, true));
  Value deviation = n.make<SqrtOp>(n.mean(n.mul(centred, centred), axes, true));
  return n.out(n.convert(n.div(centred, n.add(deviation, 1e-9)), type));
}

//===--- norms --------------------------------------------------------------------------------------------------===//

static LogicalResult importLrn(OpImport &n) {
  Type type = n.elem(n.in(0));
  Value x = n.convert(n.in(0), n.sumType(n.in(0)));
  int64_t size = n.intAttr("size", 1), rank = n.rank(x);
  if (size < 1 || rank < 2)
    return n.error("requires a positive size and rank 2 at least, found " + Twine(size) + " and " +
                   printShape(n.dims(x)));
  double alpha = n.floatAttr("alpha", 1e-4f), beta = n.floatAttr("beta", 0.75), bias = n.floatAttr("bias", 1);
  SmallVector<int64_t> ones(size_t(rank), 1), window = ones, low(size_t(rank), 0), high = low;
  window[1] = size;
  low[1] = (size - 1) / 2;
  high[1] = size - 1 - low[1];
  Value sum = n.make<ReduceWindowOp>(n.mul(x, x), Combiner::add, window, ones, low, high, ones);
  Value base = n.add(n.mul(sum, alpha / double(size)), bias);
  return n.out(n.convert(n.div(x, n.binary<PowOp>(base, beta)), type));
}

static LogicalResult importLpNorm(OpImport &n) {
  Type type = n.elem(n.in(0));
  Value x = n.convert(n.in(0), n.sumType(n.in(0)));
  int64_t axis = n.axisAttr("axis", -1, n.rank(x)), p = n.intAttr("p", 2);
  if (axis < 0)
    return failure();
  if (p != 1 && p != 2)
    return n.error("requires p = 1 or p = 2, found " + Twine(p));
  Value norm = p == 1 ? n.reduce(Combiner::add, n.make<AbsOp>(x), {axis}, true)
                      : n.make<SqrtOp>(n.reduce(Combiner::add, n.mul(x, x), {axis}, true));
  return n.out(n.convert(n.select(n.compare(CompareKind::eq, norm, 0), 0, n.div(x, norm)), type));
}

void registerNormalization(Registry &r) {
  r.add("Softmax", 1, 1, importSoftmax<false>);
  r.add("LogSoftmax", 1, 1, importSoftmax<true>);
  r.add("Hardmax", 1, 1, importHardmax);
  r.add("BatchNormalization", 1, 5, importBatchNorm);
  r.add("InstanceNormalization", 1, 3, importInstanceNorm);
  r.add("GroupNormalization", 18, 3, importGroupNorm);
  r.add("LayerNormalization", 17, 2, importLayerNorm<true>);
  r.add("RMSNormalization", 23, 2, importLayerNorm<false>);
  r.add("MeanVarianceNormalization", 9, 1, importMeanVarianceNorm);
  r.add("LRN", 1, 1, importLrn);
  r.add("LpNormalization", 1, 1, importLpNorm);
}

} // namespace sinter::onnx

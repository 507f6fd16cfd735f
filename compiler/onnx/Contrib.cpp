// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What onnxruntime's optimizers and its builder of decoders write in their own domain: several operators of ONNX in
// one.

#include "compiler/onnx/Families.h"
#include "compiler/onnx/Quantized.h"
#include "compiler/onnx/Windows.h"

using namespace mlir;

namespace sinter::onnx {

bool haveOneFloatType(OpImport &n, ArrayRef<Value> inputs) {
  for (Value input : inputs)
    if (input && (!n.isFloat(input) || n.elem(input) != n.elem(inputs.front()))) {
      std::string found;
      llvm::raw_string_ostream(found) << n.elem(inputs.front()) << " and " << n.elem(input);
      (void)n.error("requires inputs of one type of floats, found " + Twine(found));
      return false;
    }
  return true;
}

//===--- activations --------------------------------------------------------------------------------------------===//

static LogicalResult importGelu(OpImport &n) { return n.out(gelu(n, n.in(0), false)); }
static LogicalResult importBiasGelu(OpImport &n) { return n.out(gelu(n, n.add(n.in(0), n.in(1)), false)); }
static LogicalResult importFastGelu(OpImport &n) {
  return n.out(gelu(n, n.in(1) ? n.add(n.in(0), n.in(1)) : n.in(0), true));
}

static LogicalResult importQuickGelu(OpImport &n) {
  return n.out(n.inWiderFloats(
      n.in(0), [&](Value x) { return n.mul(x, n.make<LogisticOp>(n.mul(x, n.floatAttr("alpha", 1.702f)))); }));
}

/// The function of `x` that the attribute `activation` names, with `parameters` or its own defaults.
static Value activated(OpImport &n, Value x, ArrayRef<double> parameters) {
  StringRef name = n.stringAttr("activation", "");
  auto parameter = [&](size_t k, double otherwise) { return k < parameters.size() ? parameters[k] : otherwise; };
  if (!x || n.failed() || name.empty())
    return x;
  if (name == "Relu")
    return n.max(x, 0);
  if (name == "Tanh")
    return n.make<TanhOp>(x);
  if (name == "Sigmoid")
    return n.make<LogisticOp>(x);
  if (name == "LeakyRelu")
    return n.select(n.compare(CompareKind::lt, x, 0), n.mul(x, parameter(0, 0.01f)), x);
  if (name == "Clip" && parameters.size() == 2)
    return n.min(n.max(x, parameters[0]), parameters[1]);
  if (name == "HardSigmoid")
    return n.min(n.max(n.add(n.mul(x, parameter(0, 0.2f)), parameter(1, 0.5f)), 0), 1);
  (void)n.unsupported("activation '" + name + "' with " + Twine(parameters.size()) + " parameters");
  return {};
}

//===--- products -----------------------------------------------------------------------------------------------===//

static LogicalResult importFusedConv(OpImport &n) {
  Value x = n.in(0), bias = n.in(2), more = n.in(3);
  if (!haveOneFloatType(n, {x, n.in(1), bias, more}))
    return failure();
  Value result = convolve(n, x, n.in(1), n.elem(x));
  if (bias && result)
    result = n.add(result, alongChannels(n, bias, result));
  if (more && result)
    result = n.add(result, more);
  return n.out(activated(n, result, n.floatsAttr("activation_params").value_or(SmallVector<double>())));
}

static LogicalResult importNhwcFusedConv(OpImport &n) {
  SmallVector<int64_t> second = n.allAxes(n.in(0));
  if (n.in(3) && n.rank(n.in(3)) == n.rank(n.in(0)) && second.size() > 2) {
    std::rotate(second.begin() + 1, second.end() - 1, second.end());
    n.inputs[3] = n.transpose(n.in(3), second);
  }
  return importChannelsLast(n, importFusedConv);
}

static LogicalResult importFusedGemm(OpImport &n) {
  if (!haveOneFloatType(n, {n.in(0), n.in(1), n.in(2)}))
    return failure();
  SmallVector<double> parameters;
  for (StringRef name : {"activation_alpha", "activation_beta", "activation_gamma"})
    if (n.attribute(name))
      parameters.push_back(n.floatAttr(name, 0));
  return n.out(activated(n, gemm(n), parameters));
}

/// A factor of FusedMatMul: its first axis may be the one before the last, and then the last two may change places.
static Value turned(OpImport &n, Value x, bool isBatchTurned, bool isTurned) {
  int64_t rank = n.rank(x);
  SmallVector<int64_t> axes = n.allAxes(x);
  if (isBatchTurned && rank > 2)
    std::rotate(axes.begin(), axes.begin() + 1, axes.end() - 1);
  if (isTurned && rank > 1)
    std::swap(axes[rank - 2], axes[rank - 1]);
  return n.transpose(x, axes);
}

static LogicalResult importFusedMatMul(OpImport &n) {
  if (!haveOneFloatType(n, {n.in(0), n.in(1)}))
    return failure();
  Value a = turned(n, n.in(0), n.intAttr("transBatchA", 0) != 0, n.intAttr("transA", 0) != 0);
  Value b = turned(n, n.in(1), n.intAttr("transBatchB", 0) != 0, n.intAttr("transB", 0) != 0);
  if (n.failed())
    return failure();
  double alpha = n.floatAttr("alpha", 1);
  if (alpha == 1)
    return n.out(n.matmul(a, b, n.elem(a)));
  return n.out(n.convert(n.mul(n.matmul(a, b, n.sumType(a)), alpha), n.elem(a)));
}

//===--- normalizations -----------------------------------------------------------------------------------------===//

/// Normalization of a sum, which is the fourth output.
template <bool center> static LogicalResult importSkipNorm(OpImport &n) {
  Value sum = n.add(n.in(0), n.in(1)), bias = n.in(center ? 4 : 3);
  if (bias)
    sum = n.add(sum, bias);
  if (n.failed())
    return failure();
  if (n.rank(sum) < 1)
    return n.error("requires operands of rank 1 at least, found " + printShape(n.dims(sum)));
  for (Value result : layerNorm(n, sum, n.in(2), center ? n.in(3) : Value(), n.rank(sum) - 1,
                                n.floatAttr("epsilon", center ? 1e-12f : 1e-6f), center))
    (void)n.out(result);
  return n.out(sum);
}

static LogicalResult importSimplifiedNorm(OpImport &n) {
  Value x = n.in(0);
  int64_t axis = n.axisAttr("axis", -1, n.rank(x));
  if (axis < 0)
    return failure();
  SmallVector<Value> results = layerNorm(n, x, n.in(1), Value(), axis, n.floatAttr("epsilon", 1e-5f), false);
  (void)n.out(results[0]);
  return n.out(results[2]);
}

/// Words, their places and segments looked up, added and normalized.
static LogicalResult importEmbedNorm(OpImport &n) {
  Value words = n.in(0), segments = n.in(1), places = n.in(8), mask = n.in(7);
  if (n.rank(words) != 2 || !n.in(2) || !n.in(3) || !n.in(5))
    return n.error("requires ids of rank 2, tables and a scale, found ids " + printShape(n.dims(words)));
  if (!places)
    places = n.positions(words, 1);
  auto rows = [&](Value table, Value ids) { return n.gather(table, n.checked(ids, table, 0), 0); };
  Value sum = n.add(rows(n.in(2), words), rows(n.in(3), places));
  if (segments && n.in(4))
    sum = n.add(sum, rows(n.in(4), segments));
  if (n.failed())
    return failure();
  (void)n.out(layerNorm(n, sum, n.in(5), n.in(6), 2, n.floatAttr("epsilon", 1e-12f), true)[0]);
  // How many tokens of each sequence count.
  Type type = n.b.getI32Type();
  Value counted = mask ? n.convert(n.compare(CompareKind::eq, mask, 1), type) : n.full(n.convert(words, type), 0);
  (void)n.out(n.reduce(Combiner::add, counted, {1}, false));
  return n.out(sum);
}

/// The same of bytes: two tables and what segments have, the scale and the bias, each with a scale and a zero point.
static LogicalResult importQEmbedNorm(OpImport &n) {
  SmallVector<Value> inputs{n.in(0), n.in(1)};
  for (unsigned i = 2; i < 7; ++i) {
    if (n.in(i) && !n.in(i + 6))
      return n.error("requires a scale of input " + Twine(i) + ", found none");
    inputs.push_back(n.in(i) ? dequantize(n, n.in(i), n.in(i + 6), n.in(i + 11), 0) : Value());
  }
  inputs.push_back(n.in(7));
  n.inputs = inputs;
  return n.failed() ? failure() : importEmbedNorm(n);
}

//===--- diffusion ----------------------------------------------------------------------------------------------===//

/// Groups of channels normalized, and what an activation makes of that; of a sum, which is the second output, if
/// `skips`.
template <bool skips> static LogicalResult importChannelGroups(OpImport &n) {
  Value x = n.in(0), bias = n.in(4);
  int64_t activation = n.intAttr("activation", 0), rank = n.rank(x);
  if (rank != 4 || n.rank(n.in(1)) != 1 || n.rank(n.in(2)) != 1)
    return n.error("requires an operand of rank 4, a scale and a bias of rank 1, found " + printShape(n.dims(x)));
  if (activation != 0 && activation != 1)
    return n.unsupported("activation " + Twine(activation));
  bool isLast = n.intAttr("channels_last", 1) != 0;
  if (skips) {
    if (!isLast)
      return n.unsupported("a sum whose channels are not last");
    // For each place, or for each picture.
    Value skip = n.in(3);
    x = n.add(x, n.rank(skip) == 2 ? n.unsqueeze(skip, {1, 2}) : skip);
    x = bias ? n.add(x, bias) : x;
  }
  int64_t groups = n.intAttr("groups", 0), channels = n.size(x, isLast ? 3 : 1);
  if (groups < 1 || (!ShapedType::isDynamic(channels) && channels % groups != 0))
    return n.error("requires channels in groups, found " + Twine(channels) + " channels and " + Twine(groups) +
                   " groups");
  Type type = n.elem(x);
  Value wide = isLast ? n.transpose(x, {0, 3, 1, 2}) : x;
  wide = n.convert(wide, n.elem(n.in(1)));
  Value y = n.make<GroupNormOp>(wide, n.in(1), n.in(2), groups, n.floatAttr("epsilon", 1e-5f));
  if (activation && !n.failed())
    y = n.mul(y, n.make<LogisticOp>(y));
  y = n.convert(y, type);
  (void)n.out(isLast ? n.transpose(y, {0, 2, 3, 1}) : y);
  return skips ? n.out(x) : success(!n.failed());
}

static LogicalResult importBiasAdd(OpImport &n) { return n.out(n.add(n.add(n.in(0), n.in(1)), n.in(2))); }

/// The first half of each row times gelu of the second.
static LogicalResult importBiasSplitGelu(OpImport &n) {
  Value x = n.add(n.in(0), n.in(1));
  int64_t last = n.rank(x) - 1, width = last < 0 ? 0 : n.size(x, last);
  if (last < 0 || ShapedType::isDynamic(width) || width % 2 != 0)
    return n.error("requires rows of an even number of elements, found " + printShape(n.dims(x)));
  return n.out(n.mul(n.slice(x, last, 0, width / 2), gelu(n, n.slice(x, last, width / 2, width), false)));
}

//===--- positions and distances --------------------------------------------------------------------------------===//

/// What T5 adds to scores: for each distance between a query and a key a bucket's row of a table, [1, heads, queries,
/// keys]. Half of the buckets have one distance each, the others logarithmic ranges up to the greatest one.
static LogicalResult importRelativePositionBias(OpImport &n) {
  Value table = n.in(0);
  if (n.rank(table) != 2 || ShapedType::isDynamic(n.size(table, 0)))
    return n.error("requires a table of rank 2 of a known number of buckets, found " + printShape(n.dims(table)));
  bool isBothWays = n.intAttr("is_bidirectional", 0) != 0;
  int64_t all = n.size(table, 0), buckets = isBothWays ? all / 2 : all, exact = buckets / 2,
          most = n.intAttr("max_distance", 0);
  if (exact < 1 || most <= exact)
    return n.error("requires a max_distance above " + Twine(exact) + " for " + Twine(all) + " buckets, found " +
                   Twine(most));
  Type index = n.b.getI64Type(), real = n.b.getF32Type();
  auto lengthOf = [&](Value value) {
    Value length = n.reshape(n.convert(value, index), {1});
    std::optional<SmallVector<int64_t>> known = n.knownInts(length);
    return known ? n.fixed(known->front()) : Size{ShapedType::kDynamic, length};
  };
  Value plane = n.spread(n.scalarInt(0), {lengthOf(n.in(1)), lengthOf(n.in(2))});
  Value distance = n.sub(n.positions(plane, 1), n.positions(plane, 0)), first;
  if (isBothWays) {
    first = n.select(n.compare(CompareKind::gt, distance, 0), double(buckets), n.full(distance, 0));
    distance = n.make<AbsOp>(distance);
  } else {
    distance = n.max(n.sub(0, distance), 0);
  }
  Value ratio = n.make<LogOp>(n.div(n.convert(n.max(distance, 1), real), double(exact)));
  Value far = n.mul(n.div(ratio, std::log(float(most) / float(exact))), double(buckets - exact));
  far = n.min(n.add(n.convert(far, index), double(exact)), double(buckets - 1));
  Value bucket = n.select(n.compare(CompareKind::lt, distance, double(exact)), distance, far);
  bucket = first ? n.add(bucket, first) : bucket;
  return n.out(n.unsqueeze(n.transpose(n.gather(table, bucket, 0), {2, 0, 1}), {0}));
}

/// Distances of all rows of one matrix to all of another.
static LogicalResult importCDist(OpImport &n) {
  StringRef metric = n.stringAttr("metric", "sqeuclidean");
  if (!haveOneFloatType(n, {n.in(0), n.in(1)}))
    return failure();
  if (metric != "sqeuclidean" && metric != "euclidean")
    return n.unsupported("metric '" + metric + "'");
  if (n.rank(n.in(0)) != 2 || n.rank(n.in(1)) != 2)
    return n.error("requires matrices, found " + printShape(n.dims(n.in(0))) + " and " + printShape(n.dims(n.in(1))));
  Value apart = n.sub(n.unsqueeze(n.in(0), {1}), n.unsqueeze(n.in(1), {0}));
  Value sum = n.reduce(Combiner::add, n.mul(apart, apart), {2}, false);
  return n.out(metric == "euclidean" ? n.make<SqrtOp>(sum) : sum);
}

void registerContrib(Registry &r) {
  r.addContrib("Gelu", 1, importGelu);
  r.addContrib("BiasGelu", 2, importBiasGelu);
  r.addContrib("FastGelu", 1, importFastGelu);
  r.addContrib("QuickGelu", 1, importQuickGelu);
  r.addContrib("FusedConv", 2, importFusedConv);
  r.addContrib("FusedGemm", 2, importFusedGemm);
  r.addContrib("NhwcFusedConv", 2, importNhwcFusedConv);
  r.addContrib("FusedMatMul", 2, importFusedMatMul);
  r.addContrib("TransposeMatMul", 2, importFusedMatMul); // its name in earlier versions
  r.addContrib("SkipLayerNormalization", 3, importSkipNorm<true>);
  r.addContrib("SkipSimplifiedLayerNormalization", 3, importSkipNorm<false>);
  r.addContrib("EmbedLayerNormalization", 1, importEmbedNorm);
  r.addContrib("QEmbedLayerNormalization", 1, importQEmbedNorm);
  r.addContrib("GroupNorm", 3, importChannelGroups<false>);
  r.addContrib("SkipGroupNorm", 4, importChannelGroups<true>);
  r.addContrib("BiasAdd", 3, importBiasAdd);
  r.addContrib("BiasSplitGelu", 2, importBiasSplitGelu);
  r.addContrib("RelativePositionBias", 3, importRelativePositionBias);
  r.addContrib("CDist", 2, importCDist);
  r.add("SimplifiedLayerNormalization", 1, 2, importSimplifiedNorm);
}

} // namespace sinter::onnx

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What onnxruntime's optimizers and its builder of decoders write in their own domain: several operators of ONNX in
// one.

#include "compiler/onnx/Families.h"
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
  Value x = n.in(0);
  return n.out(n.mul(x, n.make<LogisticOp>(n.mul(x, n.floatAttr("alpha", 1.702f)))));
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
  Value result = n.matmul(a, b, n.elem(a));
  return n.out(alpha == 1 ? result : n.mul(result, alpha));
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

void registerContrib(Registry &r) {
  r.addContrib("Gelu", 1, importGelu);
  r.addContrib("BiasGelu", 2, importBiasGelu);
  r.addContrib("FastGelu", 1, importFastGelu);
  r.addContrib("QuickGelu", 1, importQuickGelu);
  r.addContrib("FusedConv", 2, importFusedConv);
  r.addContrib("FusedGemm", 2, importFusedGemm);
  r.addContrib("FusedMatMul", 2, importFusedMatMul);
  r.addContrib("SkipLayerNormalization", 3, importSkipNorm<true>);
  r.addContrib("SkipSimplifiedLayerNormalization", 3, importSkipNorm<false>);
  r.addContrib("EmbedLayerNormalization", 1, importEmbedNorm);
  r.add("SimplifiedLayerNormalization", 1, 2, importSimplifiedNorm);
}

} // namespace sinter::onnx

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What onnxruntime's quantizers write in their own domain: float operators over bytes, imported as these operators
// between numbers of bytes and bytes of numbers, and products with weights of few bits in blocks.

#include "compiler/onnx/OpImport.h"
#include "compiler/onnx/Quantized.h"
#include "ir/Blocks.h"

using namespace mlir;

namespace sinter::onnx {

static constexpr llvm::StringLiteral kDomain = "com.microsoft";

/// Input `i` with its scale and zero point behind it, as numbers. Scales of more than one place run along `axis`.
static Value numbersOf(OpImport &n, unsigned i, int64_t axis = 0) {
  return dequantize(n, n.in(i), n.in(i + 1), n.in(i + 2), axis);
}

/// `numbers` as bytes of the scale and zero point that inputs `i` and `i + 1` are.
static LogicalResult outBytes(OpImport &n, Value numbers, unsigned i) {
  if (n.failed() || !numbers)
    return failure();
  Type type = n.in(i + 1) ? n.elem(n.in(i + 1)) : Type(IntegerType::get(n.b.getContext(), 8, IntegerType::Unsigned));
  return n.out(quantize(n, numbers, n.in(i), n.in(i + 1), type));
}

static LogicalResult importQLinearAdd(OpImport &n) { return outBytes(n, n.add(numbersOf(n, 0), numbersOf(n, 3)), 6); }
static LogicalResult importQLinearMul(OpImport &n) { return outBytes(n, n.mul(numbersOf(n, 0), numbersOf(n, 3)), 6); }
static LogicalResult importQLinearSigmoid(OpImport &n) { return outBytes(n, n.make<LogisticOp>(numbersOf(n, 0)), 3); }

static LogicalResult importQLinearLeakyRelu(OpImport &n) {
  Value x = numbersOf(n, 0);
  if (n.failed())
    return failure();
  return outBytes(n, n.select(n.compare(CompareKind::lt, x, 0), n.mul(x, n.floatAttr("alpha", 0.01)), x), 3);
}

static LogicalResult importQLinearGlobalAveragePool(OpImport &n) {
  Value x = numbersOf(n, 0);
  if (n.failed())
    return failure();
  bool isLast = n.intAttr("channels_last", 0) != 0;
  SmallVector<int64_t> spatial;
  int64_t count = 1;
  for (int64_t axis = isLast ? 1 : 2; axis < n.rank(x) - isLast; ++axis) {
    if (ShapedType::isDynamic(n.size(x, axis)))
      return n.unsupported("an average over sizes that are known only at run time");
    spatial.push_back(axis);
    count *= n.size(x, axis);
  }
  return outBytes(n, n.div(n.reduce(Combiner::add, x, spatial, true), double(count)), 3);
}

static LogicalResult importQLinearConcat(OpImport &n) {
  SmallVector<Value> parts;
  for (unsigned i = 2; i + 2 < n.numInputs(); i += 3)
    parts.push_back(numbersOf(n, i));
  if (n.failed() || parts.empty())
    return n.failed() ? failure() : n.error("requires tensors to join, each with a scale and a zero point");
  int64_t axis = n.axisAttr("axis", 0, n.rank(parts.front()));
  return axis < 0 ? failure() : outBytes(n, n.concat(parts, axis), 0);
}

/// alpha a b + bias, the bias in i32 of the scale of products.
static LogicalResult importQGemm(OpImport &n) {
  int64_t contractA = n.intAttr("transA", 0) ? 0 : 1, contractB = n.intAttr("transB", 0) ? 1 : 0;
  Value a = numbersOf(n, 0), b = numbersOf(n, 3, 1 - contractB), bias = n.in(6);
  if (n.failed())
    return failure();
  if (n.rank(a) != 2 || n.rank(b) != 2)
    return n.error("requires matrices, found ranks " + Twine(n.rank(a)) + " and " + Twine(n.rank(b)));
  Value result = n.make<DotGeneralOp>(a, b, ArrayRef<int64_t>(), ArrayRef<int64_t>(), ArrayRef<int64_t>{contractA},
                                      ArrayRef<int64_t>{contractB}, n.elem(a));
  double alpha = n.floatAttr("alpha", 1);
  if (bias)
    result = n.add(result, n.mul(n.convert(bias, n.elem(a)), n.mul(n.reshape(n.in(1), {}), n.in(4))));
  if (alpha != 1)
    result = n.mul(result, alpha);
  return n.in(7) ? outBytes(n, result, 7) : n.out(result);
}

/// The codes of `bits` that bytes of the last axis hold, the first one in the lowest bits: as many more of them.
static Value unpack(OpImport &n, Value bytes, int64_t bits) {
  if (bits == 8 || n.failed())
    return bytes;
  SmallVector<int64_t> apart(n.dims(bytes)), joined(n.dims(bytes));
  apart.push_back(1);
  joined.back() *= 2;
  Value low = n.binary<AndOp>(bytes, 15), high = n.div(bytes, 16);
  return n.reshape(n.concat({n.reshape(low, apart), n.reshape(high, apart)}, int64_t(apart.size()) - 1), joined);
}

/// a times a matrix whose columns are blocks of codes: (code - zero) * scale, a scale and a zero for each block.
static LogicalResult importMatMulNBits(OpImport &n) {
  Value a = n.in(0), codes = n.in(1), scales = n.in(2), zeros = n.in(3);
  int64_t k = n.intAttr("K", 0), columns = n.intAttr("N", 0), bits = n.intAttr("bits", 4),
          block = n.intAttr("block_size", 0);
  if (bits != 4 && bits != 8)
    return n.unsupported("weights of " + Twine(bits) + " bits");
  if (n.in(4))
    return n.unsupported("an order of groups");
  if (k < 1 || columns < 1 || block < 16 || !llvm::isPowerOf2_64(uint64_t(block)))
    return n.error("requires K and N above 0 and a block_size that is a power of two from 16 on, found " + Twine(k) +
                   ", " + Twine(columns) + " and " + Twine(block));
  int64_t blocks = int64_t(llvm::divideCeil(k, block)), perByte = 8 / bits;
  if (!llvm::equal(n.dims(codes), ArrayRef<int64_t>{columns, blocks, block / perByte}))
    return n.error("requires weights of " + Twine(columns) + "x" + Twine(blocks) + "x" + Twine(block / perByte) +
                   ", found " + printShape(n.dims(codes)));
  if (zeros && !isa<FloatType>(n.elem(zeros))) {
    zeros = unpack(n, n.reshape(zeros, {columns, int64_t(llvm::divideCeil(blocks, perByte))}), bits);
    zeros = n.slice(zeros, 1, 0, blocks);
  }
  scales = n.reshape(scales, {columns, blocks});
  if (n.failed())
    return failure();
  Type number = n.elem(a), single = n.b.getF32Type();
  if (n.rank(a) < 1 || (n.size(a, n.rank(a) - 1) != k && !ShapedType::isDynamic(n.size(a, n.rank(a) - 1))))
    return n.error("requires rows of " + Twine(k) + " numbers, found " + printShape(n.dims(a)));
  bool areIntegers = !zeros || !isa<FloatType>(n.elem(zeros));
  if (bits == 4 && areIntegers && !ShapedType::isDynamic(n.size(a, n.rank(a) - 1))) {
    Value result = n.make<BlockDotOp>(n.convert(a, single), codes, n.convert(scales, single), zeros);
    result = n.convert(result, number);
    return n.out(n.in(5) ? n.add(result, n.in(5)) : result);
  }
  Value weights = n.convert(unpack(n, codes, bits), number), centre;
  if (!zeros)
    centre = n.full(weights, double(1 << (bits - 1)));
  else
    centre = n.broadcastLike(n.reshape(n.convert(zeros, number), {columns, blocks}), weights, {0, 1});
  weights = n.mul(n.sub(weights, centre), n.broadcastLike(scales, weights, {0, 1}));
  weights = n.slice(n.reshape(weights, {columns, blocks * block}), 1, 0, k);
  if (n.failed())
    return failure();
  int64_t last = n.rank(a) - 1;
  Value result = n.make<DotGeneralOp>(a, weights, ArrayRef<int64_t>(), ArrayRef<int64_t>(), ArrayRef<int64_t>{last},
                                      ArrayRef<int64_t>{1}, n.elem(a));
  return n.out(n.in(5) ? n.add(result, n.in(5)) : result);
}

void registerQuantizeContrib(Registry &r) {
  auto add = [&](StringRef name, unsigned minInputs, ImportFn import) { r.addIn(kDomain, name, 1, minInputs, import); };
  add("QuantizeLinear", 2, importQuantizeLinear);
  add("DequantizeLinear", 2, importDequantizeLinear);
  add("QLinearAdd", 7, importQLinearAdd);
  add("QLinearMul", 7, importQLinearMul);
  add("QLinearSigmoid", 4, importQLinearSigmoid);
  add("QLinearLeakyRelu", 4, importQLinearLeakyRelu);
  add("QLinearGlobalAveragePool", 4, importQLinearGlobalAveragePool);
  add("QLinearConcat", 5, importQLinearConcat);
  add("QGemm", 6, importQGemm);
  add("MatMulNBits", 3, importMatMulNBits);
}

} // namespace sinter::onnx

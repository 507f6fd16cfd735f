// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of bytes whose results are floats, as onnxruntime's dynamic quantization fuses them.

#include "compiler/onnx/Quantized.h"

using namespace mlir;

namespace sinter::onnx {

/// True for rank 0 and for rank 1 with one element.
static bool isSingle(OpImport &n, Value value) {
  return n.rank(value) == 0 || (n.rank(value) == 1 && n.size(value, 0) == 1);
}

Value floatProduct(OpImport &n, const ByteTensor &a, const ByteTensor &b, Value bias) {
  if (n.failed() || failed(requireBytes(n, {a.codes, b.codes, a.zero, b.zero})))
    return {};
  if (!isSingle(n, a.scale) || (a.zero && !isSingle(n, a.zero))) {
    (void)n.unsupported("a scale or zero point for each row of the first operand");
    return {};
  }
  if (!n.isFloat(a.scale) || n.elem(a.scale) != n.elem(b.scale) || (bias && n.elem(bias) != n.elem(a.scale))) {
    (void)n.error("requires scales and a bias of one type of floats");
    return {};
  }
  // A parameter of `b` is one number, one for each column, or has the rank of b.
  auto ofColumns = [&](Value value) { return value && isSingle(n, value) ? n.reshape(value, {}) : value; };
  Value bScale = ofColumns(b.scale), bZero = ofColumns(b.zero);
  for (Value value : {bScale, bZero})
    if (value && !n.failed() && n.rank(value) > 1 && n.rank(value) != n.rank(b.codes)) {
      (void)n.error("requires parameters of rank 0, 1 or " + Twine(n.rank(b.codes)) +
                    " for the second operand, found " + printShape(n.dims(value)));
      return {};
    }
  Value aZero = a.zero ? n.reshape(a.zero, {}) : Value();
  Value sums = integerProduct(n, a.codes, b.codes, aZero, bZero);
  Value result = n.mul(n.convert(sums, n.elem(a.scale)), n.mul(n.reshape(a.scale, {}), bScale));
  return bias ? n.add(result, bias) : result;
}

static LogicalResult importDynamicQuantizeMatMul(OpImport &n) {
  Value a = n.in(0);
  if (!a || n.failed() || !n.elem(a).isF32())
    return n.error("requires a first operand of f32");
  return n.out(floatProduct(n, quantizeDynamically(n, a), {n.in(1), n.in(2), n.in(3)}, n.in(4)));
}

static LogicalResult importMatMulIntegerToFloat(OpImport &n) {
  return n.out(floatProduct(n, {n.in(0), n.in(2), n.in(4)}, {n.in(1), n.in(3), n.in(5)}, n.in(6)));
}

void registerQuantizeProducts(Registry &r) {
  r.addContrib("DynamicQuantizeMatMul", 3, importDynamicQuantizeMatMul);
  r.addContrib("MatMulIntegerToFloat", 4, importMatMulIntegerToFloat);
}

} // namespace sinter::onnx

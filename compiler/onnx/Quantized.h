// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes of numbers and numbers of bytes, as several operators have them.

#ifndef SINTER_COMPILER_ONNX_QUANTIZED_H
#define SINTER_COMPILER_ONNX_QUANTIZED_H

#include "compiler/onnx/OpImport.h"

namespace sinter::onnx {

/// A parameter of as many places along `axis` as `x` has blocks of `blockSize` there, in the shape of `x`.
mlir::Value alongBlocks(OpImport &n, mlir::Value parameter, mlir::Value x, int64_t axis, int64_t blockSize);
/// (codes - zero) * scale; `scale` and `zero` (may be null) have one place, or one for each along `axis`.
mlir::Value dequantize(OpImport &n, mlir::Value codes, mlir::Value scale, mlir::Value zero, int64_t axis);
/// round(x / scale) + zero, saturated to `type`; `scale` and `zero` (may be null) have one place.
mlir::Value quantize(OpImport &n, mlir::Value x, mlir::Value scale, mlir::Value zero, mlir::Type type);

/// Bytes that stand for (codes - zero) * scale.
struct ByteTensor {
  mlir::Value codes, scale, zero;
};
/// `x` as bytes of one scale and zero point, by its own range (DynamicQuantizeLinear); null values after an error.
ByteTensor quantizeDynamically(OpImport &n, mlir::Value x);
/// Refuses all but bytes, which sums of i32 are made of; null values pass.
mlir::LogicalResult requireBytes(OpImport &n, std::initializer_list<mlir::Value> values);
/// The product of `a` and `b` less their zero points (may be null), in i32.
mlir::Value integerProduct(OpImport &n, mlir::Value a, mlir::Value b, mlir::Value aZero, mlir::Value bZero);
/// The product of `a`, which has one scale, and `b`, with one or one for each column, plus `bias` (may be null), in the
/// scales' type. Zero points may be null.
mlir::Value floatProduct(OpImport &n, const ByteTensor &a, const ByteTensor &b, mlir::Value bias);

mlir::LogicalResult importQuantizeLinear(OpImport &n);
mlir::LogicalResult importDequantizeLinear(OpImport &n);

} // namespace sinter::onnx

#endif // SINTER_COMPILER_ONNX_QUANTIZED_H

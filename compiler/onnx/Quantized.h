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

mlir::LogicalResult importQuantizeLinear(OpImport &n);
mlir::LogicalResult importDequantizeLinear(OpImport &n);

} // namespace sinter::onnx

#endif // SINTER_COMPILER_ONNX_QUANTIZED_H

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Discrete Fourier transforms as graphs.

#ifndef SINTER_COMPILER_ONNX_FOURIER_H
#define SINTER_COMPILER_ONNX_FOURIER_H

#include "compiler/onnx/OpImport.h"

namespace sinter::onnx {

/// Real and imaginary part; `imaginary` is null for real signals.
struct Complex {
  mlir::Value real, imaginary;
};

/// 0, 1, ... size - 1 as `type`; `size` has rank 0.
mlir::Value countUp(OpImport &n, mlir::Value size, mlir::Type type);

/// The transform of length `size` (rank 0, i64) along the last axis, of which the first `kept` results are computed.
/// Both parts of the result are there. The inverse is divided by `size`.
Complex fourierTransform(OpImport &n, Complex signal, mlir::Value size, mlir::Value kept, bool inverse);

} // namespace sinter::onnx

#endif

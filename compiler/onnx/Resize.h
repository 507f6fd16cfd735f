// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a Resize node asks for.

#ifndef SINTER_COMPILER_ONNX_RESIZE_H
#define SINTER_COMPILER_ONNX_RESIZE_H

#include "compiler/onnx/OpImport.h"

namespace sinter::onnx {

/// One scale (f32), size (i64) and pair of ends of each axis of `x`; scales or sizes, and what has no regions, are
/// null.
struct Resizing {
  mlir::Value x, scales, sizes, roi;
  /// The axes that may change.
  llvm::SmallVector<int64_t> axes;
  ResizeMode mode = ResizeMode::linear;
  CoordinateMode coordinates = CoordinateMode::half_pixel;
  double cubicCoefficient = -0.75;
  bool excludeOutside = false;
  double extrapolation = 0;
};

/// False where each axis surely keeps its size or grows: a filter with antialias is the ordinary one then.
bool mayShrink(OpImport &n, const Resizing &resizing);

/// The resize whose linear or cubic filters grow with what they shrink.
mlir::Value resizeAntialiased(OpImport &n, const Resizing &resizing);

} // namespace sinter::onnx

#endif // SINTER_COMPILER_ONNX_RESIZE_H

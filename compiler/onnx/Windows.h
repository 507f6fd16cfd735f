// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What convolutions and poolings share: kernel, strides, dilations and padding of the spatial axes.

#ifndef SINTER_COMPILER_ONNX_WINDOWS_H
#define SINTER_COMPILER_ONNX_WINDOWS_H

#include "compiler/onnx/OpImport.h"

namespace sinter::onnx {

/// The greatest kernel size, stride, dilation, pad or number of groups: sums of products of two of them fit in 64 bits.
inline constexpr int64_t kMaxWindow = int64_t(1) << 30;

/// One entry per spatial axis in each list.
struct Window {
  llvm::SmallVector<int64_t> kernel, strides, dilations, low, high;
  /// Ceil mode only: padding at the end that completes the last window. Not a part of `high`.
  llvm::SmallVector<int64_t> extra;

  /// Pads by auto_pad along axes whose sizes only the call tells, 0 for the others. Not a part of `low` and `high`.
  llvm::SmallVector<Size> openLow, openHigh;

  /// True where `padOpen` pads.
  bool isOpen() const {
    return llvm::any_of(openLow, [](const Size &pad) { return bool(pad.tensor); });
  }
  bool isPadded() const {
    return isOpen() || llvm::any_of(low, [](int64_t pad) { return pad != 0; }) ||
           llvm::any_of(high, [](int64_t pad) { return pad != 0; }) ||
           llvm::any_of(extra, [](int64_t pad) { return pad != 0; });
  }
};

/// Reads the attributes of a node whose input `x` is [N, C, spatial...]; `kernel` is the filter's spatial shape if
/// there is a filter. Resolves auto_pad and ceil_mode. Emits errors.
mlir::FailureOr<Window> readWindow(OpImport &n, mlir::Value x, std::optional<llvm::ArrayRef<int64_t>> kernel);

/// `x` with `fill` (rank 0) where `window` has open pads.
mlir::Value padOpen(OpImport &n, mlir::Value x, const Window &window, mlir::Value fill);

/// Convolution of `x` by `filter` as the node's attributes say, without bias; the result has `elementType`. Borders are
/// zeros, or `fill` if there is one.
mlir::Value convolve(OpImport &n, mlir::Value x, mlir::Value filter, mlir::Type elementType, mlir::Value fill = {});

/// Imports a node whose first input and result have channels last by `import`, which has them second.
mlir::LogicalResult importChannelsLast(OpImport &n, ImportFn import);

/// `bias` [C] along axis 1 of `like`.
mlir::Value alongChannels(OpImport &n, mlir::Value bias, mlir::Value like);

/// DeformConv and Col2Im.
void registerDeform(Registry &registry);

} // namespace sinter::onnx

#endif // SINTER_COMPILER_ONNX_WINDOWS_H

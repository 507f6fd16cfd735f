// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks of axis attributes in shape rules, and the size arithmetic of sliding windows.

#ifndef SINTER_IR_AXES_H
#define SINTER_IR_AXES_H

#include "ir/Dims.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Location.h"
#include "mlir/Support/LLVM.h"
#include <optional>

namespace sinter {

/// Fails unless 0 <= axis < rank.
llvm::LogicalResult checkAxis(std::optional<mlir::Location> loc, llvm::StringRef op, int64_t axis, int64_t rank);
/// The same for each of `axes`, which are distinct.
llvm::LogicalResult checkAxes(std::optional<mlir::Location> loc, llvm::StringRef op, llvm::ArrayRef<int64_t> axes,
                              int64_t rank);

/// `sizes` without the entries at `axes`.
template <typename Sizes> Sizes dropAxes(const Sizes &sizes, llvm::ArrayRef<int64_t> axes) {
  Sizes kept;
  for (int64_t k = 0; k < static_cast<int64_t>(sizes.size()); ++k)
    if (!llvm::is_contained(axes, k))
      kept.push_back(sizes[k]);
  return kept;
}

/// One axis of a sliding window: the size of the result is
/// max(0, floor(((size - 1) * inputDilation + 1 + low + high - ((window - 1) * dilation + 1)) / stride) + 1), where
/// an empty axis stays empty before padding.
struct WindowAxis {
  int64_t window = 1, stride = 1, low = 0, high = 0, dilation = 1, inputDilation = 1;

  /// `?` gives `?`.
  int64_t resultSize(int64_t size) const;
  DimExpr resultSize(DimContext &context, DimExpr size) const;
};

/// The sizes that the type knows as constants, the others as symbols of the value (known once the op ran).
Dims dimsOfResult(DimContext &context, mlir::Value result);

} // namespace sinter

#endif

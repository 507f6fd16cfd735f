// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the captures of a control flow op arrive in its regions.

#ifndef SINTER_PASSES_CAPTURES_H
#define SINTER_PASSES_CAPTURES_H

#include "mlir/IR/Operation.h"
#include <optional>

namespace sinter {

struct Captures {
  llvm::SmallVector<mlir::Value> values;
  /// Capture k is argument firstArgument + k of each region; captures are the last arguments.
  unsigned firstArgument;
};

/// Nothing when `op` is not control flow.
std::optional<Captures> capturesOf(mlir::Operation *op);

/// Appends a capture and returns its argument in each region.
llvm::SmallVector<mlir::BlockArgument> addCapture(mlir::Operation *op, mlir::Value value);

} // namespace sinter

#endif

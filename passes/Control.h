// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Control flow seen as one: what an op with regions captures and carries, and where that arrives. Passes ask this and
// name none of the ops; those that turn one loop into another form have gradient/LoopView.h.

#ifndef SINTER_PASSES_CONTROL_H
#define SINTER_PASSES_CONTROL_H

#include "mlir/IR/Operation.h"
#include <optional>

namespace sinter {

struct Control {
  llvm::SmallVector<mlir::Value> captures;
  /// Capture k is argument firstCapture + k of each region; captures are the last arguments.
  unsigned firstCapture = 0;
  bool isLoop = false;
  /// Of loops: what each carry is in the first trip. Carry k is argument firstCarry + k of the last region, which is
  /// the body and yields the next values first, and argument k of a region before it.
  llvm::SmallVector<mlir::Value> init = {};
  unsigned firstCarry = 0;
};

/// Nothing when `op` is not control flow.
std::optional<Control> controlOf(mlir::Operation *op);

inline bool isLoop(mlir::Operation *op) {
  std::optional<Control> control = controlOf(op);
  return control && control->isLoop;
}

/// Appends a capture and returns its argument in each region.
llvm::SmallVector<mlir::BlockArgument> addCapture(mlir::Operation *op, mlir::Value value);

} // namespace sinter

#endif

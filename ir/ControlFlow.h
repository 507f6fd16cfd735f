// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Control flow seen as one: what an op with regions captures and carries, and where that arrives. Passes ask this and
// name none of the ops; upstream's RegionBranchOpInterface and LoopLikeOpInterface follow from it
// (ControlInterfaces.cpp). Passes that turn one loop into another form have passes/gradient/LoopView.h.

#ifndef SINTER_IR_CONTROLFLOW_H
#define SINTER_IR_CONTROLFLOW_H

#include "mlir/IR/Operation.h"
#include <optional>

namespace sinter {

/// Operand firstInitOperand + k is carry k in the first trip, argument firstCarry + k of the body, which is the last
/// region, argument k of a region before it, yield k of the body, and result firstCarryResult + k.
struct Control {
  llvm::SmallVector<mlir::Value> captures;
  /// Capture k is argument firstCapture + k of each region; captures are the last operands and the last arguments.
  unsigned firstCapture = 0;
  bool isLoop = false;
  /// Of loops: what each carry is in the first trip.
  llvm::SmallVector<mlir::Value> init = {};
  unsigned firstCarry = 0;
  unsigned firstInitOperand = 0;
  unsigned firstCarryResult = 0;
};

/// Nothing when `op` is not control flow.
std::optional<Control> controlOf(mlir::Operation *op);

inline bool isLoop(mlir::Operation *op) {
  std::optional<Control> control = controlOf(op);
  return control && control->isLoop;
}

/// The loop whose capture `value` is, or null.
mlir::Operation *capturingLoop(mlir::Value value);

/// Appends a capture and returns its argument in each region.
llvm::SmallVector<mlir::BlockArgument> addCapture(mlir::Operation *op, mlir::Value value);

/// Attaches upstream's interfaces to the ops of control flow, which are registered.
void attachControlInterfaces(mlir::MLIRContext &context);

} // namespace sinter

#endif

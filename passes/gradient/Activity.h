// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which values depend on the inputs of a gradient in a way that has a derivative: floats, reached from the inputs by
// ops other than stop_gradient.

#ifndef SINTER_PASSES_GRADIENT_ACTIVITY_H
#define SINTER_PASSES_GRADIENT_ACTIVITY_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseSet.h"

namespace sinter {

class Activity {
public:
  /// Marks a float; returns whether that is new.
  bool mark(mlir::Value value);
  /// Marks what the ops of `block`, and of the regions in them, compute from marked values.
  void run(mlir::Block &block);
  bool operator()(mlir::Value value) const { return active.contains(value); }
  /// Of a value that ceases to be.
  void forget(mlir::Value value) { active.erase(value); }

  /// The same for one op.
  void visit(mlir::Operation *op);

private:
  void enter(mlir::Region &region, mlir::ValueRange given);
  llvm::DenseSet<mlir::Value> active;
};

} // namespace sinter

#endif

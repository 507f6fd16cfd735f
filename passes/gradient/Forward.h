// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Forward mode: tangents beside values, op by op. Control flow is built again with tangents as further captures,
// carries, sequences and results.

#ifndef SINTER_PASSES_GRADIENT_FORWARD_H
#define SINTER_PASSES_GRADIENT_FORWARD_H

#include "ir/Gradient.h"
#include "passes/gradient/Activity.h"
#include "passes/gradient/LoopView.h"

#include "mlir/IR/Builders.h"

namespace sinter {

class Forward {
public:
  explicit Forward(Activity &activity) : activity(activity) {}

  void set(mlir::Value value, mlir::Value tangent) { tangents[value] = tangent; }
  /// Null is zero.
  mlir::Value tangent(mlir::Value value) const { return tangents.lookup(value); }
  /// Emits the tangents of the ops of `block`, each after its op. Fails with a diagnostic.
  mlir::LogicalResult run(mlir::Block &block);

private:
  mlir::LogicalResult visit(mlir::Operation *op);
  mlir::LogicalResult visitLoop(LoopView loop);
  mlir::LogicalResult visitBranches(mlir::Operation *op);
  /// A custom_vjp: its backward part is linear in the cotangents, so that the transpose of that is the tangent.
  mlir::LogicalResult visitCustom(CustomVjpOp op);
  /// Gives regions arguments for the tangents of these carries, sequences and captures.
  void addArguments(LoopView loop, llvm::ArrayRef<size_t> carries, llvm::ArrayRef<size_t> walked,
                    llvm::ArrayRef<size_t> captured);
  /// Results of `loop` by those of `after`, which has tangents of `carries` and `stacked` behind them.
  void replace(LoopView loop, LoopView after, llvm::ArrayRef<size_t> carries, llvm::ArrayRef<size_t> stacked);
  mlir::Value tangentOrZero(mlir::OpBuilder &builder, mlir::Value value);

  Activity &activity;
  llvm::DenseMap<mlir::Value, mlir::Value> tangents;
};

} // namespace sinter

#endif

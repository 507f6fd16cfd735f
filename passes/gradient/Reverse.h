// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reverse mode over blocks. The backward part of a body is built apart, reading values of the forward body directly;
// then it is decided which of them the forward part saves (SavedValues.h), and the reads are replaced by slices of what
// was saved or by ops that run again.
//
//   forward                                  backward
//   %c, %s = scan (%x0) over(%a)             %dx, %da = scan (%dc) over(%a reversed, %s reversed)
//     y = sin(c * a); yield y, saved: c        y', dy -> dc = cos(c * a) * a * dy, da = cos(c * a) * c * dy
//
// The backward part of a loop is a scan in reverse order of trips, that of a branch a branch on the same predicate:
// plain ops, which are differentiated again like any others.

#ifndef SINTER_PASSES_GRADIENT_REVERSE_H
#define SINTER_PASSES_GRADIENT_REVERSE_H

#include "passes/gradient/Activity.h"
#include "passes/gradient/LoopView.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace sinter {

class Reverse {
public:
  explicit Reverse(Activity &activity) : activity(activity) {}

  /// Adds to the cotangent of `value`, unless that is not active or `cotangent` is null.
  void add(mlir::OpBuilder &builder, mlir::Value value, mlir::Value cotangent);
  /// Null is zero.
  mlir::Value cotangent(mlir::Value value) const { return cotangents.lookup(value); }
  /// Emits the reverse of the ops of `block`, last to first, at `builder`. Fails with a diagnostic.
  mlir::LogicalResult run(mlir::Block &block, mlir::OpBuilder &builder);
  mlir::LogicalResult run(llvm::ArrayRef<mlir::Operation *> ops, mlir::OpBuilder &builder);

private:
  mlir::LogicalResult reverse(mlir::Operation *op, mlir::OpBuilder &builder);
  mlir::LogicalResult reverseByRule(mlir::Operation *op, mlir::OpBuilder &builder);
  class LoopReversal;
  mlir::LogicalResult reverseLoop(LoopView loop, mlir::OpBuilder &builder);
  mlir::LogicalResult reverseFixedPoint(LoopView loop, mlir::OpBuilder &builder);
  mlir::LogicalResult reverseBranches(mlir::Operation *op, mlir::OpBuilder &builder);
  mlir::LogicalResult reverseCheckpoint(mlir::Operation *op, mlir::OpBuilder &builder);
  mlir::LogicalResult reverseCustom(mlir::Operation *op, mlir::OpBuilder &builder);

  /// Drops what is known of the results of `op`, which is about to be replaced: others may come to lie where they were.
  void forget(mlir::Operation *op);
  /// Arguments of `block` that get a cotangent when `seeds` do.
  llvm::DenseSet<mlir::Value> reached(mlir::Block &block, llvm::ArrayRef<mlir::Value> seeds) const;
  /// Carries that have a cotangent in some trip.
  llvm::BitVector liveCarries(const LoopView &loop) const;

  Activity &activity;
  llvm::DenseMap<mlir::Value, mlir::Value> cotangents;
};

/// Values of `forward` that ops directly in `backward` read, in order of first use.
llvm::SmallVector<mlir::Value> readsOf(mlir::Block &backward, mlir::Block &forward);

/// Lets `backward` read `map` instead of the values of `forward`, after a copy of `recomputed` at its start.
void replaceReads(mlir::Block &backward, mlir::Block &forward, llvm::ArrayRef<mlir::Operation *> recomputed,
                  mlir::IRMapping &map);

/// A stack that a loop of a policy with snapshots does not keep: its backward part is to be in the same block.
bool isStackOfSnapshots(mlir::Value value);

/// Puts the arguments of `block` into this order.
void orderArguments(mlir::Block &block, llvm::ArrayRef<mlir::BlockArgument> order);

} // namespace sinter

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// while, for and scan seen as one: carries, walked sequences, captures, and per-trip outputs.

#ifndef SINTER_PASSES_GRADIENT_LOOPVIEW_H
#define SINTER_PASSES_GRADIENT_LOOPVIEW_H

#include "ir/Control.h"

namespace sinter {

struct LoopView {
  mlir::Operation *op;
  mlir::Region *body;
  size_t carries, sequences, captures, stacks;

  /// Nothing when `op` is not a loop.
  static std::optional<LoopView> of(mlir::Operation *op);

  mlir::Value init(size_t k) const { return op->getOperand(firstInit + k); }
  mlir::Value sequence(size_t k) const { return op->getOperand(firstInit + carries + k); }
  mlir::Value capture(size_t k) const { return op->getOperand(firstInit + carries + sequences + k); }
  mlir::OpResult carry(size_t k) const { return op->getResult(firstResult + k); }
  mlir::OpResult stack(size_t k) const { return op->getResult(firstResult + carries + k); }

  mlir::BlockArgument carryArgument(size_t k) const { return body->getArgument(firstArgument + k); }
  mlir::BlockArgument sequenceArgument(size_t k) const { return body->getArgument(firstArgument + carries + k); }
  mlir::BlockArgument captureArgument(size_t k) const {
    return body->getArgument(firstArgument + carries + sequences + k);
  }
  mlir::Operation *terminator() const { return body->front().getTerminator(); }
  mlir::Value yieldedCarry(size_t k) const { return terminator()->getOperand(k); }
  mlir::Value yieldedStack(size_t k) const { return terminator()->getOperand(carries + k); }
  /// What each body argument is given in the first trip; a walked sequence stands for its slices.
  llvm::SmallVector<mlir::Value> given() const;

  /// The axis of the trips in a sequence or stack, and whether the first trip is at its end.
  int64_t sequenceAxis(size_t k) const { return llvm::cast<ScanOp>(op).getAxes()[k]; }
  bool sequenceReverse(size_t k) const { return llvm::cast<ScanOp>(op).getReverse()[k]; }
  int64_t stackAxis(size_t k) const;
  bool stackReverse(size_t k) const;

  /// The loop again with `values` of its body stacked, too, along a new first axis in order of trips. Replaces the op;
  /// the new stacks are its last results.
  LoopView withStacks(llvm::ArrayRef<mlir::Value> values) const;

private:
  size_t firstInit, firstResult, firstArgument;
};

/// The type of one slice of a walked sequence.
mlir::RankedTensorType sliceType(mlir::Type sequence, int64_t axis);
/// The type of slices along a new axis.
mlir::RankedTensorType stackType(mlir::Type slice, int64_t axis, int64_t trips);

} // namespace sinter

#endif

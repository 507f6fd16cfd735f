// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the forward part of a body keeps for its backward part. Values are nodes with their size in bytes as capacity;
// cheap ops let a value be computed again from its operands. A minimum cut between what is given (carries, results of
// ops that are too dear to run twice) and what the backward part reads is the least to keep.

#ifndef SINTER_PASSES_GRADIENT_SAVEDVALUES_H
#define SINTER_PASSES_GRADIENT_SAVEDVALUES_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace sinter {

struct SavedValues {
  llvm::SmallVector<mlir::Value> saved;
  /// Ops to run again, in the order of the block.
  llvm::SmallVector<mlir::Operation *> recomputed;
};

struct SaveQuestion {
  mlir::Block &block;
  /// Values of `block` that the backward part reads.
  llvm::ArrayRef<mlir::Value> needed;
  /// Block arguments that the backward part has anyhow (captures, slices of sequences).
  llvm::function_ref<bool(mlir::Value)> isFree;
  /// Values of which the size differs from trip to trip.
  llvm::function_ref<bool(mlir::Value)> isRagged;
  /// Recompute whatever costs fewer bytes, not only what is cheap to compute.
  bool recomputeAll = false;
  /// What may run again; without it, what goes over the elements once at most.
  llvm::function_ref<bool(mlir::Operation *)> isRepeatable = nullptr;
  /// What one value weighs in the cut; without it, its bytes.
  llvm::function_ref<int64_t(mlir::Value)> weight = nullptr;
  /// The sizes of all values are known to the backward part, so that an operand of which only these are read is not
  /// needed.
  bool knowsSizes = false;
};

/// Bytes of a tensor; a `?` counts as 64.
int64_t estimatedBytes(mlir::Value value);
/// One pass over the elements at most, and no state.
bool isRecomputable(mlir::Operation *op);

/// The least to keep, by weight. `question` is read during the call only.
SavedValues planSavedValues(const SaveQuestion &question);

} // namespace sinter

#endif

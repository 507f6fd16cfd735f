// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the columns of a row are walked: in lanes by one thread, or by the threads of a block on a GPU.

#ifndef SINTER_BACKENDS_CPU_EMIT_ROWWALK_H
#define SINTER_BACKENDS_CPU_EMIT_ROWWALK_H

#include "backends/cpu/emit/BlockSums.h"
#include "backends/cpu/emit/KernelElements.h"

namespace sinter::cpu {

class RowWalk {
public:
  virtual ~RowWalk() = default;

  /// One scalar from all columns: `step(elements, column, total)` returns the next value of an accumulator in the form
  /// it got it (a vector of lanes, or a scalar). No chain of steps is longer than `block`.
  using Step = llvm::function_ref<mlir::Value(KernelElements &, mlir::Value column, mlir::Value total)>;
  virtual mlir::Value combine(mlir::Value identity, int64_t block, Join join, Step step) = 0;

  /// Calls `body` for columns, or groups of lanes. A column is the same thread's each time.
  virtual void forEach(llvm::function_ref<void(KernelElements &, mlir::Value column)> body) = 0;

  /// True when the row stays in registers: each walk passes the same elements for a column, and what they loaded or an
  /// earlier walk computed from them is still there.
  virtual bool keepsElements() const { return false; }

  /// Does what is done once for the row.
  virtual void once(llvm::function_ref<void()> body) = 0;
};

/// Writes the code of one row: calls `body` once for each way of walking it between which the code chooses.
using WalkRow = llvm::function_ref<void(DimExpr length, llvm::function_ref<void(RowWalk &)> body)>;

/// Fills `fn` with the loops of a kernel that `isRow` knows, `rowsPerChunk` rows a chunk.
EmittedKernel emitRows(KernelFunction &fn, DimExpr rowsPerChunk, WalkRow walkRow);

} // namespace sinter::cpu

#endif

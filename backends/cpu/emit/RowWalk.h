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

  /// Does what is done once for the row.
  virtual void once(llvm::function_ref<void()> body) = 0;
};

using MakeRowWalk = llvm::function_ref<std::unique_ptr<RowWalk>(DimExpr length)>;

/// Fills `fn` with the loops of a kernel that `isRow` knows, `rowsPerChunk` rows a chunk.
EmittedKernel emitRows(KernelFunction &fn, DimExpr rowsPerChunk, MakeRowWalk makeWalk);

} // namespace sinter::cpu

#endif

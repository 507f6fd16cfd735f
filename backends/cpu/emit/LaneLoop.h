// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks one axis in lanes, with or without accumulators. The order of combination is a function of the axis's size
// alone: a few independent vectors of partial results (so that additions overlap), combined pairwise at the end, then
// halves of the vector, then what the vectors left over. Sums of long axes go by blocks of vectors.

#ifndef SINTER_BACKENDS_CPU_EMIT_LANELOOP_H
#define SINTER_BACKENDS_CPU_EMIT_LANELOOP_H

#include "backends/cpu/emit/BlockSums.h"
#include "backends/cpu/emit/KernelElements.h"

namespace sinter::cpu {

/// Lanes of the widest element in the kernel's region (and at least `width` bytes), no more than the axis has.
int64_t lanesOfKernel(KernelSpec &spec, DimExpr axis, int64_t width);

/// One scalar from all lanes of a vector: of halves, halves of these and so on.
mlir::Value joinLanes(mlir::ImplicitLocOpBuilder &b, mlir::Value vector, Join join);

class LaneLoop {
public:
  LaneLoop(KernelFunction &fn, DimExpr size, int64_t lanes);

  /// The index of `column` along the axis, for the elements of one step.
  static LaneIndex at(const KernelElements &elements, mlir::Value column);

  /// Calls `body` for each group of lanes, from `begin` on (a multiple of the lanes; null: 0); the last ones are masked
  /// or scalar.
  void forEach(llvm::function_ref<void(KernelElements &, mlir::Value column)> body, mlir::Value begin = nullptr);

  /// One scalar from all elements of the axis, and that for all positions of `outer`: `step(at, elements, column,
  /// total)` returns the next value of an accumulator in the form it got it (a vector of lanes, or a scalar); `at` is
  /// the position on `outer`. No chain of steps is longer than `block`.
  using Step = llvm::function_ref<mlir::Value(llvm::ArrayRef<mlir::Value> at, KernelElements &, mlir::Value column,
                                              mlir::Value total)>;
  mlir::Value combine(llvm::ArrayRef<SummedAxis> outer, mlir::Value identity, int64_t block, Join join, Step step);

private:
  using ElementStep = llvm::function_ref<mlir::Value(KernelElements &, mlir::Value column, mlir::Value)>;
  bool hasScalarTail() const { return hasTail && !masked; }
  llvm::SmallVector<mlir::Value> accumulators(mlir::Value identity);
  /// Passes each group of lanes in [begin, stop), or in all of the axis, through `step`. `begin` is a multiple of the
  /// vectors that are walked together.
  llvm::SmallVector<mlir::Value> accumulate(mlir::ValueRange accumulators, mlir::Value begin, mlir::Value stop,
                                            ElementStep step);
  mlir::Value finish(mlir::ValueRange accumulators, Join join);
  mlir::Value maskFrom(mlir::Value column);

  KernelFunction &fn;
  DimExpr size;
  int64_t lanes, unroll;
  bool hasTail, masked;
  mlir::Value end, vectorEnd, unrolledEnd;
};

} // namespace sinter::cpu

#endif

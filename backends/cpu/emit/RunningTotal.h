// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What has been combined so far, where blocks (BlockSums.h) would not help: every element of a running combination is a
// result, and sums of many places at once are added to one by one. Narrow floats are combined in f64, and sums of f64
// carry what each addition rounded away (Knuth 1969, 4.2.2, theorem B), beside the chain of additions that the loop
// waits for.

#ifndef SINTER_BACKENDS_CPU_EMIT_RUNNINGTOTAL_H
#define SINTER_BACKENDS_CPU_EMIT_RUNNINGTOTAL_H

#include "backends/cpu/emit/Emitter.h"
#include "ir/Reduction.h"

namespace sinter::cpu {

class RunningTotal {
public:
  /// Of elements of type `type`, so many of them side by side: vectors, or scalars for 1.
  RunningTotal(KernelFunction &fn, Combiner combiner, mlir::Type type, int64_t lanes = 1);

  /// The values of a combination of nothing: one, or two of the same type.
  llvm::SmallVector<mlir::Value> start;
  llvm::SmallVector<mlir::Value> next(mlir::ValueRange carried, mlir::Value element);
  /// What two combinations are together, of the elements of `first` and then those of `second`.
  llvm::SmallVector<mlir::Value> join(mlir::ValueRange first, mlir::ValueRange second);
  /// The result's element.
  mlir::Value value(mlir::ValueRange carried);

private:
  /// `value` has the type of what is carried.
  llvm::SmallVector<mlir::Value> combineWith(mlir::ValueRange carried, mlir::Value value);

  /// A scalar type as that of all lanes.
  mlir::Type inLanes(mlir::Type scalar) const;

  mlir::ImplicitLocOpBuilder &b;
  int64_t lanes;
  Combiner combiner;
  mlir::Type type, accumulator;
  bool isWide, isCompensated;
};

} // namespace sinter::cpu

#endif

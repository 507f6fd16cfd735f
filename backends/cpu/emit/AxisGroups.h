// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_BACKENDS_CPU_EMIT_AXISGROUPS_H
#define SINTER_BACKENDS_CPU_EMIT_AXISGROUPS_H

#include "backends/cpu/emit/KernelElements.h"

namespace sinter::cpu {

/// Axes in runs that are walked as one.
struct AxisGroups {
  Dims sizes;                          // of each run
  llvm::SmallVector<int64_t> carriers; // of each run: the axis that carries its index
  int64_t innermost = 0;               // the first axis of the last run
};

/// Those of `sizes`, by `merges` of mergeableAxes.
AxisGroups groupAxes(KernelSpec &spec, llvm::ArrayRef<DimExpr> sizes, llvm::ArrayRef<bool> merges);

} // namespace sinter::cpu

#endif

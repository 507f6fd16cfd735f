// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors that are larger than a cache, written by one kernel and read by the next: the kernels go through them in
// turns, some blocks of rows at a time, and only a window of each tensor is kept, which stays in the cache. Parts of
// the last kernel's rows are what threads share; what a part reads of rows that another one reads, too, it computes
// itself. Chunks compute what they computed before, so bits stay.
//
//   launch @expand(%x, %w, %t) chunks 896             chain [@expand, @depthwise](%x, %w, %t, %t, %f, %y)
//   launch @depthwise(%t, %f, %y) chunks 448    ->      counts [3, 3] in %t windows [BYTES] parts [0, 4, 8, ...]
//                                                       steps [...]

#ifndef SINTER_BACKENDS_SCHEDULE_WINDOWS_H
#define SINTER_BACKENDS_SCHEDULE_WINDOWS_H

#include "backends/schedule/Backend.h"

namespace sinter::schedule {

/// Rewrites launches of the host in the functions of `schedules` whose kernels say how they walk (RowWalk).
void slideWindows(mlir::ModuleOp schedules, const KernelTable &kernels);

} // namespace sinter::schedule

#endif

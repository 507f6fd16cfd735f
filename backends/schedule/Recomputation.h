// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function of kernels that computes again what it would have to keep for long. A training step reads activations of
// its forward part in its backward part, in reverse order, so that all of them are alive between the two:
//
//   a = k0(x)  b = k1(a)  c = k2(b)  |  dc = k3(c)  db = k4(b, dc)  da = k5(a, db)
//
// With b and a computed again right before they are read, only what the blocks begin with is kept (here x):
//
//   a = k0(x)  b = k1(a)  c = k2(b)  |  dc = k3(c)  a' = k0(x)  b' = k1(a')  db = k4(b', dc)  da = k5(a', db)
//
// The same kernels run on the same numbers, so results have the same bits. It happens on kernels, after all that would
// merge equal ones, and before memory is planned.
//
// How it is decided. Blocks lie between narrow places of the first part, and what is alive there is not computed again
// (Chen et al. 2016, "Training deep nets with sublinear memory cost"). Within blocks a minimum cut tells what to keep:
// a kept value costs its bytes, an op that runs again its time, times a price (Kusumoto et al. 2019, "A graph theoretic
// framework of recomputation algorithms"). Sizes of blocks and prices are tried; the arena of the best ones is planned
// as it will be (SchedulePlan, runtime/arena.h), and the one that takes the least time within the budget is taken.

#ifndef SINTER_BACKENDS_SCHEDULE_RECOMPUTATION_H
#define SINTER_BACKENDS_SCHEDULE_RECOMPUTATION_H

#include "backends/schedule/KeepPolicy.h"
#include "backends/schedule/KernelLaunch.h"

namespace sinter::schedule {

/// Rewrites `function` by `policy` and adds the launches of the new kernels. `registers` and `statesInPlace` are those
/// of SchedulePlan; `sizes` are the function's. Fails with a diagnostic: for a budget that cannot be met, with the
/// least that can; for a budget where sizes are open; for a name that nothing has. Values whose sizes only running
/// tells are kept.
llvm::FailureOr<KeepReport> recompute(mlir::func::FuncOp function, const KeepPolicy &policy, ShapeAnalysis &sizes,
                                      KernelLaunches &launches, bool registers, bool statesInPlace);

} // namespace sinter::schedule

#endif

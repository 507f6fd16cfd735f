// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops and branches in the forms that a back end runs by itself.

#ifndef SINTER_PASSES_SIMPLIFYCONTROL_H
#define SINTER_PASSES_SIMPLIFYCONTROL_H

#include "mlir/Pass/Pass.h"

namespace sinter {

/// `sinter-simplify-control`: a function has no `switch`, and no `for` or `scan` whose carries, slices and per-trip
/// outputs have sizes that are known before it, but `while` and `cond`; one of a single trip is that trip. A while has
/// no per-trip outputs of static sizes but buffers for these that it carries: for as many trips as its limit says,
/// where 64 MiB hold them, else in rounds of trips with a while around them, unless the host takes part in a trip
/// anyway. A counted loop that stays, and the while around rounds, say why in the attribute `sinter.counted_by_host`.
std::unique_ptr<mlir::Pass> createSimplifyControl();

void registerSimplifyControl();

} // namespace sinter

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops and branches in the forms that a back end runs by itself.

#ifndef SINTER_PASSES_SIMPLIFYCONTROL_H
#define SINTER_PASSES_SIMPLIFYCONTROL_H

#include "mlir/Pass/Pass.h"

namespace sinter {

/// `sinter-simplify-control`: a function has no `switch`, and no `for` or `scan` whose carries, sequences and per-trip
/// outputs have static sizes, but `while` and `cond`. A while with a limit of trips has no per-trip outputs of static
/// sizes, where 64 MiB hold as many, but buffers for these that it carries. A counted loop that stays says why in the
/// attribute `sinter.counted_by_host`.
std::unique_ptr<mlir::Pass> createSimplifyControl();

void registerSimplifyControl();

} // namespace sinter

#endif

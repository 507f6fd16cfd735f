// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops and conditionals of scf as branches.

#ifndef SINTER_BACKENDS_CPU_EMIT_BRANCHES_H
#define SINTER_BACKENDS_CPU_EMIT_BRANCHES_H

#include "mlir/IR/Operation.h"
#include "mlir/Rewrite/FrozenRewritePatternSet.h"

namespace sinter::cpu {

/// The patterns of `lowerToBranches`.
mlir::FrozenRewritePatternSet branchPatterns(mlir::MLIRContext *context);

/// Lowers all scf ops within `root`. Each one splits its block, which moves what comes after it: the last one goes
/// first, so that an op moves once, and outer ones before those in their regions, whose blocks the patterns take for
/// one. The conversion driver, which begins with the first and records what moves, takes time that grows with the
/// square of a block's ops.
void lowerToBranches(mlir::Operation *root, const mlir::FrozenRewritePatternSet &patterns);

} // namespace sinter::cpu

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_PASSES_PASSES_H
#define SINTER_PASSES_PASSES_H

#include "ir/Dialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Pass/Pass.h"

namespace sinter {

#define GEN_PASS_DECL
#include "passes/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"

/// True for a composite that stays as it is.
using CompositeFilter = std::function<bool(mlir::Operation *)>;
std::unique_ptr<mlir::Pass> createDecompose(CompositeFilter keep);
/// Leaves convolutions that `keep` says yes to as they are.
std::unique_ptr<mlir::Pass> createFlattenDepth(CompositeFilter keep);
/// Recognizes what `keep` says yes to.
std::unique_ptr<mlir::Pass> createRecognizeAttention(const RecognizeAttentionOptions &options, CompositeFilter keep);

} // namespace sinter

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Derivatives by rewriting: a rule says the op again in simpler ops, and differentiates those.

#ifndef SINTER_IR_GRADIENT_THROUGH_H
#define SINTER_IR_GRADIENT_THROUGH_H

#include "ir/gradient/Rules.h"

namespace sinter::gradient {

/// Builds the results of an op from its operands, in ops that are differentiable.
using Restated = llvm::function_ref<llvm::SmallVector<mlir::Value>(Composer &, mlir::ValueRange operands)>;

/// The op's rule, by that of the ops that `restate` builds.
mlir::LogicalResult vjpThrough(VjpBuilder &g, Restated restate);
mlir::LogicalResult jvpThrough(JvpBuilder &t, Restated restate);

} // namespace sinter::gradient

#endif

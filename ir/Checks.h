// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_IR_CHECKS_H
#define SINTER_IR_CHECKS_H

#include "ir/Dialect.h"

#define GET_OP_CLASSES
#include "ir/Checks.h.inc"

namespace sinter {

/// `positions` as it passes a check that each indexes its axis of `operand`: all of `axes[0]`, or with `tuples` along
/// the last axis of `positions` one for each of `axes`. `positions` itself where that is known. `what` is the op that
/// an error names, "node 'x' (Gather)" say.
mlir::Value checkPositions(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value positions, mlir::Value operand,
                           llvm::ArrayRef<int64_t> axes, bool tuples, llvm::StringRef what);

} // namespace sinter

#endif

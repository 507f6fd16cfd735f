// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What verifiers of ops with regions compare: operands, arguments, yields and results, each a list of leaves.

#ifndef SINTER_IR_LEAVES_H
#define SINTER_IR_LEAVES_H

#include "mlir/IR/Operation.h"

namespace sinter {

/// Pairwise agreement of two lists of types, else an error of `op`; `what` and `other` are what one entry of each is
/// called there.
llvm::LogicalResult checkLeaves(mlir::Operation *op, const llvm::Twine &what, mlir::TypeRange types,
                                const llvm::Twine &other, mlir::TypeRange wanted);

/// Types of what the region's only block yields.
mlir::TypeRange yieldedTypes(mlir::Region &region);

} // namespace sinter

#endif

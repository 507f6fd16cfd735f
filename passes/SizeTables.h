// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables that hold a number for each axis, as a resize is given, where not all of them need be known; and how large
// what has open sizes typically is, for choices that only cost time where they are wrong.

#ifndef SINTER_PASSES_SIZETABLES_H
#define SINTER_PASSES_SIZETABLES_H

#include "ir/Dims.h"
#include "mlir/IR/Builders.h"

namespace sinter {

/// Element `axis` of a table of rank 1: an attribute where it is known, else a tensor of that one element.
mlir::OpFoldResult entryOf(mlir::OpBuilder &b, mlir::Value table, int64_t axis);

/// The size of an axis likewise, as tensor<1xi64>.
mlir::OpFoldResult sizeEntry(mlir::OpBuilder &b, mlir::Value value, int64_t axis);

/// A table of such entries, a constant where all are known.
mlir::Value tableOf(mlir::OpBuilder &b, mlir::Location loc, mlir::Type element,
                    llvm::ArrayRef<mlir::OpFoldResult> entries);

/// Whether there are so many times as many elements of sizes `to` as of `from`, and some, where each open size is one
/// that images often have.
bool typicallyGrows(DimContext &dims, llvm::ArrayRef<DimExpr> from, llvm::ArrayRef<DimExpr> to, int64_t times);

} // namespace sinter

#endif

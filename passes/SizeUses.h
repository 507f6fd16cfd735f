// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Uses that read a value's sizes and none of its elements.

#ifndef SINTER_PASSES_SIZEUSES_H
#define SINTER_PASSES_SIZEUSES_H

#include "ir/Shape.h"

namespace sinter {

/// True of an op whose results are sizes of its operand.
inline bool isSize(mlir::Operation *op) { return llvm::isa<DimOp, ShapeOp>(op); }

inline bool readsOnlySizes(mlir::OpOperand &use) {
  // All operands of a broadcast but the first say how large the result is.
  return isSize(use.getOwner()) || (llvm::isa<BroadcastOp>(use.getOwner()) && use.getOperandNumber() != 0);
}

/// True when one op reads the value's elements; any number may read its sizes.
inline bool hasOneReader(mlir::Value value) {
  mlir::Operation *reader = nullptr;
  for (mlir::OpOperand &use : value.getUses()) {
    if (readsOnlySizes(use))
      continue;
    if (reader && reader != use.getOwner())
      return false;
    reader = use.getOwner();
  }
  return reader != nullptr;
}

} // namespace sinter

#endif

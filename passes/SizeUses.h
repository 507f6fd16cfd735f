// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Uses that read a value's sizes and none of its elements.

#ifndef SINTER_PASSES_SIZEUSES_H
#define SINTER_PASSES_SIZEUSES_H

#include "ir/Shape.h"

namespace sinter {

inline bool readsOnlySizes(mlir::OpOperand &use) {
  // All operands of a broadcast but the first say how large the result is.
  return llvm::isa<DimOp, ShapeOp>(use.getOwner()) ||
         (llvm::isa<BroadcastOp>(use.getOwner()) && use.getOperandNumber() != 0);
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

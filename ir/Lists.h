// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands that are lists: sizes, starts, keys.

#ifndef SINTER_IR_LISTS_H
#define SINTER_IR_LISTS_H

#include "ir/Shapes.h"

namespace sinter {

/// Whether a tensor is of rank 1 and may have `count` elements. Types of results are inferred before those of operands
/// are verified, so any rank may come.
inline bool isListOf(mlir::RankedTensorType type, int64_t count) {
  return type.getRank() == 1 && meetSize(type.getDimSize(0), count);
}

} // namespace sinter

#endif // SINTER_IR_LISTS_H

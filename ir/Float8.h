// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products whose operands are numbers of 8-bit floats, each exact in the type that it has.

#ifndef SINTER_IR_FLOAT8_H
#define SINTER_IR_FLOAT8_H

#include "ir/Contraction.h"
#include "ir/Elementwise.h"

namespace sinter {

inline bool multipliesFloat8(mlir::Operation *op) {
  auto dot = mlir::dyn_cast_or_null<DotGeneralOp>(op);
  return dot && dot.getLhs().getDefiningOp<DecodeFloat8Op>() && dot.getRhs().getDefiningOp<DecodeFloat8Op>();
}

} // namespace sinter

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_IR_ELEMENTWISE_H
#define SINTER_IR_ELEMENTWISE_H

#include "ir/Dialect.h"

#define GET_OP_CLASSES
#include "ir/Elementwise.h.inc"

namespace sinter {

/// The body of a convert: `value`, a scalar or vector, as another element type. Both types are the dialect's, with
/// their sign.
mlir::Value buildConvert(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::Type from,
                         mlir::Type to);

/// True where a greater first operand of the op that gives `value` gives no smaller element of it, if it was made of
/// bytes: their conversion to wider numbers, and sums and positive products of those with one number.
bool keepsOrderOfBytes(mlir::Value value);

} // namespace sinter

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops that bring the elements of one operand to other places, whatever their type.

#ifndef SINTER_IR_ELEMENTMOVES_H
#define SINTER_IR_ELEMENTMOVES_H

#include "ir/Composer.h"

namespace sinter {

/// True for a transpose, a reversal, a part, and a border of one constant number.
bool movesElements(mlir::Operation *op);

/// What `op` does, which `movesElements` or is a reshape, done to `operand`: of the same shape as its first operand,
/// perhaps of another element type.
mlir::Value moveAgain(Composer &c, mlir::Operation *op, mlir::Value operand);

/// The axis of the result of `op` that axis `axis` of its first operand becomes, place by place, where `op` is a
/// transpose, a reversal or a reshape; -1 for none.
int64_t movedAxis(mlir::Operation *op, int64_t axis);

/// True for a join and a pool of the greatest: where numbers keep their order, as when they are rounded, these ops give
/// of such operands what the same done to their result gives.
bool keepsOrder(mlir::Operation *op);

} // namespace sinter

#endif

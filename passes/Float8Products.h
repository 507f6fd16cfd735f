// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of 8-bit floats as devices multiply them: both operands are bytes whose last axis is summed.
//
//   x = decode_float8 %a                              x = decode_float8 (transpose %a)      k last
//   y = transpose (decode_float8 %b)           ->     y = decode_float8 %b
//   z = mul (decode_float8 %c) s                      ... and the product times s, where s is one
//                                                     number, or one for each row or column
//
// and products of numbers of 16 bits by those of 8-bit floats, which are weights:
//
//   y = mul (decode_float8 %b) s               ->     y = decode_float8 %b, and the product (f32) times s

#ifndef SINTER_PASSES_FLOAT8PRODUCTS_H
#define SINTER_PASSES_FLOAT8PRODUCTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter {

/// Rewrites the products of f32, f16 and bf16 whose operands are such numbers.
void formFloat8Products(mlir::func::FuncOp function);

} // namespace sinter

#endif

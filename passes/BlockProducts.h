// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products with constants of 4-bit integers that have scales, as DequantizeLinear before MatMul writes them:
//
//   w = (convert codes - zeros) * scales              w: [k, n] or [n, k], codes of i4 or ui4
//   dot_general x, w                           ->     block_dot x, codes, scales, zeros
//
// where scales and zeros are constants that repeat along k: for all of it, or for blocks of it.

#ifndef SINTER_PASSES_BLOCKPRODUCTS_H
#define SINTER_PASSES_BLOCKPRODUCTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter {

/// Rewrites such products of f32, as long as types still say which constants have 4 bits. Where scales change more
/// often than from 16 codes to the next, a product stays what it is.
void formBlockProducts(mlir::func::FuncOp function);

} // namespace sinter

#endif

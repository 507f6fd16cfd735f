// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of integers of bytes as devices multiply them: what is summed lies inside, as their instructions, and copies
// of 16 bytes at once, read runs of it.
//
//   dot_general %a [m, k], %b [k, n]    ->    dot_general %a, (transpose %b) [n, k]

#ifndef SINTER_PASSES_BYTEPRODUCTS_H
#define SINTER_PASSES_BYTEPRODUCTS_H

#include "ir/Contraction.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter {

/// Whether it is one of integers of bytes with sums of i32, for devices: its operands stay turned so.
bool multipliesBytesOnDevices(DotGeneralOp dot);

/// Turns operands of such products whose last axes are not those that are summed.
void formByteProducts(mlir::func::FuncOp function);

} // namespace sinter

#endif

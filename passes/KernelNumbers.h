// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code is made once for kernels that are equal. A graph of thousands of ops often has kernels that are equal but for a
// number, and each would be compiled by itself:
//
//   kernel(%x) { multiply %x by 1.5 }      kernel(%x, %c0) { multiply %x by %c0 }
//   kernel(%x) { multiply %x by 2.5 }      kernel(%x, %c1) { multiply %x by %c1 }

#ifndef SINTER_PASSES_KERNELNUMBERS_H
#define SINTER_PASSES_KERNELNUMBERS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter {

/// Makes operands of the numbers in which many kernels of `function` differ that are equal otherwise.
void passNumbers(mlir::func::FuncOp function);

} // namespace sinter

#endif

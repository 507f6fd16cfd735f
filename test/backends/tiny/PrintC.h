// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints a function of arith, math, scf and memref ops as C.

#ifndef SINTER_TEST_BACKENDS_TINY_PRINTC_H
#define SINTER_TEST_BACKENDS_TINY_PRINTC_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter::tiny {

/// What stands before the functions of a file.
extern const char *const kPrelude;

/// `int32_t NAME(const int64_t *words)`: a word is the address of a memref's elements, or an index. Nothing with the
/// name of the op or type that has no C form in `unknown`.
std::optional<std::string> printC(mlir::func::FuncOp function, std::string &unknown);

} // namespace sinter::tiny

#endif

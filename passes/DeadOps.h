// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_PASSES_DEADOPS_H
#define SINTER_PASSES_DEADOPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace sinter {

/// Erases what nothing reads, and what that alone read. Rewrites that ask for the only reader of a value would count
/// such ops as readers.
inline void eraseDeadOps(mlir::func::FuncOp function) {
  function->walk<mlir::WalkOrder::PostOrder, mlir::ReverseIterator>([](mlir::Operation *op) {
    if (mlir::isOpTriviallyDead(op))
      op->erase();
  });
}

} // namespace sinter

#endif

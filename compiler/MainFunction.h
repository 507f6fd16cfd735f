// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A file may hold functions beside the one that it is about: gradients, what is called.

#ifndef SINTER_COMPILER_MAINFUNCTION_H
#define SINTER_COMPILER_MAINFUNCTION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace sinter {

/// The function that a model is: `main`, else the first; null if there is none.
inline mlir::func::FuncOp mainFunction(mlir::ModuleOp module) {
  if (auto main = module.lookupSymbol<mlir::func::FuncOp>("main"))
    return main;
  auto functions = module.getOps<mlir::func::FuncOp>();
  return functions.empty() ? mlir::func::FuncOp() : *functions.begin();
}

} // namespace sinter

#endif

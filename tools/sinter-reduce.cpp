// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes MLIR text that shows a defect smaller: `sinter-reduce --reduction-tree="traversal-mode=0 test=is-bad.sh"
// file.mlir`.

#include "compiler/Register.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  sinter::registerDialects(registry);
  sinter::registerPasses();
  mlir::MLIRContext context(registry);
  return mlir::failed(mlir::mlirReduceMain(argc, argv, context)) ? 1 : 0;
}

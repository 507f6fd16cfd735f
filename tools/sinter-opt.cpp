// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs passes on MLIR text: `sinter-opt --sinter-fold-constants file.mlir`.

#include "compiler/Register.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  sinter::registerDialects(registry);
  sinter::registerPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "sinter-opt: runs passes of the Sinter compiler\n", registry));
}

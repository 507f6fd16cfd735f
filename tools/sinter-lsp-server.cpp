// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR's language server with our dialect, for editors.

#include "compiler/Register.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  sinter::registerDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry)) ? 1 : 0;
}

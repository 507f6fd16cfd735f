// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/StripDebug.h"
#include "ir/Checks.h"

using namespace mlir;
using namespace sinter;

void sinter::stripDebug(ModuleOp module) {
  module.walk([](DebugPrintOp print) { print.erase(); });
  module.walk([](CheckFiniteOp check) {
    if (check.getType() != check.getOperand().getType())
      return;
    check.replaceAllUsesWith(check.getOperand());
    check.erase();
  });
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/gradient/Differentiable.h"

using namespace mlir;

void sinter::registerGradients(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *, SinterDialect *) {});
}

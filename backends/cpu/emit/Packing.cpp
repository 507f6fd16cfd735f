// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/Packing.h"
#include "ir/Shape.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

bool sinter::cpu::canBePacked(KernelSpec &spec, BlockArgument input) {
  return input && input.hasOneUse() && spec.isConstant(input.getArgNumber());
}

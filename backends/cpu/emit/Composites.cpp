// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/Composites.h"
#include "backends/cpu/emit/RecurrentForm.h"

bool sinter::cpu::keepsComposite(mlir::Operation *op) { return hasRecurrentTemplate(op); }

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_BACKENDS_CPU_HALFCONVERSION_H
#define SINTER_BACKENDS_CPU_HALFCONVERSION_H

#include "mlir/IR/PatternMatch.h"

namespace sinter::cpu {

/// f32 to f16 and back as arithmetic of 32-bit integers, scalars and vectors, for targets without instructions.
void populateHalfConversion(mlir::RewritePatternSet &patterns);

} // namespace sinter::cpu

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_BACKENDS_CPU_BFLOATROUNDING_H
#define SINTER_BACKENDS_CPU_BFLOATROUNDING_H

#include "mlir/IR/PatternMatch.h"

namespace sinter::cpu {

/// f32 to bf16 as arithmetic of 32-bit integers, scalars and vectors; preferred to MLIR's own pattern.
void populateBFloatRounding(mlir::RewritePatternSet &patterns);

} // namespace sinter::cpu

#endif

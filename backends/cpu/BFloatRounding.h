// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_BACKENDS_CPU_BFLOATROUNDING_H
#define SINTER_BACKENDS_CPU_BFLOATROUNDING_H

#include "mlir/IR/PatternMatch.h"

namespace sinter::cpu {

/// Attribute of functions whose results are sums of units that take denormals of bf16 for 0: vectors are rounded by
/// the instruction that does so, too (vcvtneps2bf16).
inline constexpr llvm::StringLiteral kUnitRounding = "bfloat_units";

/// f32 to bf16 as arithmetic of 32-bit integers, scalars and vectors; preferred to MLIR's own pattern.
void populateBFloatRounding(mlir::RewritePatternSet &patterns);

} // namespace sinter::cpu

#endif

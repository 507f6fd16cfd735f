// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Math functions as polynomials in arith and math.fma, for scalars and vectors of lanes alike: the same operations in
// the same order, so that both give the same bits. No fast-math flags are set.

#ifndef SINTER_BACKENDS_CPU_EMIT_MATH_H
#define SINTER_BACKENDS_CPU_EMIT_MATH_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Rewrite/FrozenRewritePatternSet.h"

namespace sinter::cpu {

/// Replaces, on f32 and on vectors of f32: exp, exp2, expm1, log, log2, log1p, sin, cos, tan, asin, acos, atan, atan2,
/// sinh, cosh, tanh, asinh, acosh, atanh, erf, powf; on f64: exp, exp2, expm1, log and log2 (the rest goes to libm). On
/// both: rsqrt, and maximumf and minimumf (two or three instructions instead of six; of two zeros either may be the
/// result).
///
/// Errors, in units in the last place: exp, exp2, log, log2, tanh and erf at most 2, others 4
/// (test/backends/cpu/emit/MathTest.cpp measures them). Infinities, NaN, zeros, denormal arguments and denormal results
/// are right. Sines of |x| > 2^28 take a branch that calls libm.
///
/// `scales`: as Target::hasScaling. The bits of results are the same.
void populateMathPolynomials(mlir::RewritePatternSet &patterns, bool scales);

/// What MLIR's own lowering loses all digits of, at every level of optimization: expm1. Among the polynomials, too.
void populateMathExpansions(mlir::RewritePatternSet &patterns);

/// Rewrites the module by such patterns, before its conversion to the LLVM dialect.
llvm::LogicalResult expandMath(mlir::ModuleOp module, const mlir::FrozenRewritePatternSet &patterns);

} // namespace sinter::cpu

#endif

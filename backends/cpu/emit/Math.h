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

/// What targets differ in, as far as polynomials are concerned.
struct MathInstructions {
  bool scales = false; // Target::hasScaling. The bits of results are the same.
  bool fuses = true;   // Target::hasFma. Without, a fused multiply-add is a product and a sum.
  bool rounds = true;  // Target::hasRounding. Without, floor, ceil and roundeven are arithmetic, too.
  bool calls = false;  // What hardly any number needs may be a private function of the module, of which code has one.
};

/// Replaces, on f32, f64 and vectors of them: exp, exp2, expm1, log, log2, log1p, sin, cos, tan, asin, acos, atan,
/// atan2, sinh, cosh, tanh, asinh, acosh, atanh, erf, powf, rsqrt, remf, and maximumf and minimumf (two or three
/// instructions instead of six; of two zeros either may be the result). No call of libm is left.
///
/// Errors, in units in the last place, of f64 at most 2; of f32 exp, exp2, log, log2 and erf at most 2 (erf of
/// 2^-30 to 4.5, all of them tried: 1.82, and 2.02 without FMAs), tanh and logistic 2.5, others 4
/// (test/backends/cpu/emit/MathTest.cpp measures them, README.md has a table). Remainders are exact. Infinities, NaN,
/// zeros, denormal arguments and denormal results are right. Sines of large |x| (2^28 of f32, 2^20 of f64) and
/// remainders of distant numbers take branches.
void populateMathPolynomials(mlir::RewritePatternSet &patterns, MathInstructions has);

/// What MLIR's own lowering loses all digits of, at every level of optimization: expm1. Among the polynomials, too.
void populateMathExpansions(mlir::RewritePatternSet &patterns);

/// Rewrites the module by such patterns, before its conversion to the LLVM dialect.
llvm::LogicalResult expandMath(mlir::ModuleOp module, const mlir::FrozenRewritePatternSet &patterns);

} // namespace sinter::cpu

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// x modulo pi/2, for any x.

#ifndef SINTER_BACKENDS_CPU_EMIT_MATHREDUCTION_H
#define SINTER_BACKENDS_CPU_EMIT_MATHREDUCTION_H

#include "backends/cpu/emit/MathPairs.h"

namespace sinter::cpu {

/// x = quadrant pi/2 + rest with |rest| <= pi/4, all of f64.
struct Reduced {
  mlir::Value quadrant; // an integer, of which the low 32 bits count
  Pair rest;            // NaN of infinities and NaN
};

/// `m`: lanes of f64. Where `x` comes from f32, `isNarrow`: then `rest.low` may be null, since `rest.high` has the
/// digits that count. Lanes with |x| beyond 2^20 (2^28 of f32 where the target fuses) take a branch.
Reduced buildReduced(MathLanes &m, mlir::Value x, bool isNarrow);

} // namespace sinter::cpu

#endif

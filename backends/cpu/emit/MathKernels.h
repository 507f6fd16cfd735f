// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What functions near e^x and log x have in common: arguments taken apart, and the short ranges that are left.

#ifndef SINTER_BACKENDS_CPU_EMIT_MATHKERNELS_H
#define SINTER_BACKENDS_CPU_EMIT_MATHKERNELS_H

#include "backends/cpu/emit/MathPairs.h"

#include <limits>

namespace sinter::cpu {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
/// ln 2: the first part ends in zeros, so that its products with exponents are exact without an FMA, too.
constexpr double kLnTwoHigh = 0x1.62e42fee00000p-1, kLnTwoLow = 0x1.a39ef35793c76p-33;

enum class Base { E, Two };

/// e^x = 2^n e^r with n = round(x / ln 2) and |r| <= ln 2 / 2, or 2^x.
struct ExpParts {
  mlir::Value n, r;   // NaN where x is; r is anything where x is infinite or n has more digits than a float
  mlir::Value bits;   // an integer whose low bits are n + `offset`
  mlir::Value coarse; // of e^x: x - n times the first part of ln 2, which is exact
};
ExpParts splitExp(MathLanes &m, mlir::Value x, int offset, Base base = Base::E);

/// e^r for |r| <= ln 2 / 2.
mlir::Value buildFraction(MathLanes &m, mlir::Value r);
/// e^x where that is a normal number, else anything.
mlir::Value buildNormalExp(MathLanes &m, mlir::Value x);
/// factor 2^n, rounded once where it is denormal and infinite where it is too large; `bits` as of ExpParts with an
/// offset of twice the bias of floats.
mlir::Value buildTimesPower(MathLanes &m, mlir::Value factor, mlir::Value bits);
/// e^x 2^`shift`, or 2^(x + shift). With `low`, of which |low| is far below 1, the power of x + low.
mlir::Value buildPower(MathLanes &m, mlir::Value x, Base base, mlir::Value low = {}, int shift = 0);

/// x = 2^n c with c in [sqrt(1/2), sqrt(2)), for x > 0 that is finite.
struct LogParts {
  mlir::Value n, c;
  mlir::Value exponent; // an integer: n unless x is denormal
};
LogParts splitLog(MathLanes &m, mlir::Value x);
/// Of f64, for s = f / (2 + f) and z = s^2: R with log(1 + f) = f - (f^2 / 2 - s (f^2 / 2 + R)).
mlir::Value buildLogTail(MathLanes &m, mlir::Value z);
/// `log`, but -inf, inf or NaN where x is not positive and finite.
mlir::Value withLogLimits(MathLanes &m, mlir::Value x, mlir::Value log);

/// Functions of f64 that f32 has other ways to compute.
namespace doubles {
mlir::Value buildExpM1(MathLanes &m, mlir::Value x);
mlir::Value buildLog1p(MathLanes &m, mlir::Value x);
mlir::Value buildSinh(MathLanes &m, mlir::Value x);
mlir::Value buildCosh(MathLanes &m, mlir::Value x);
mlir::Value buildTanh(MathLanes &m, mlir::Value x);
mlir::Value buildAsinh(MathLanes &m, mlir::Value x);
mlir::Value buildAcosh(MathLanes &m, mlir::Value x);
mlir::Value buildAtanh(MathLanes &m, mlir::Value x);
mlir::Value buildErf(MathLanes &m, mlir::Value x);
/// |x|^y, where neither NaN nor exact cases are asked for.
mlir::Value buildPower(MathLanes &m, mlir::Value magnitude, mlir::Value y);
mlir::Value buildAsin(MathLanes &m, mlir::Value x);
mlir::Value buildAcos(MathLanes &m, mlir::Value x);
mlir::Value buildAtan(MathLanes &m, mlir::Value x);
mlir::Value buildAtan2(MathLanes &m, mlir::Value y, mlir::Value x);
} // namespace doubles

} // namespace sinter::cpu

#endif

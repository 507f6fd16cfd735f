// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of f64 that are sums, quotients or inverses of e^x and log x. Where digits would cancel, sums of two f64
// (MathPairs.h) keep them. tools/fit_polynomials.py makes the coefficients.

#include "backends/cpu/emit/MathKernels.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

constexpr double kFar = 0x1p28, kTiny = 0x1p-28;

//===- near e^x ----------------------------------------------------------------------------------------------===//

namespace {
/// e^x - 1 = factor 2^n. `x` is a number between -40 and 715, or NaN.
struct LessOne {
  Pair factor;
  ExpParts parts; // offset 2046
};
} // namespace

/// With p = e^r - 1 the factor is (1 - 2^-n) + p.
static LessOne buildLessOne(MathLanes &m, Value x) {
  MathPairs pairs(m);
  ExpParts parts = splitExp(m, x, 2046);
  Value r = parts.r, lost = m.fma(parts.n, m.number(-kLnTwoLow), m.sub(parts.coarse, r)), square = m.mul(r, r);
  Value p = m.polynomial(r, {0.5, 0x1.5555555555557p-3, 0x1.5555555555558p-5, 0x1.1111111110048p-7,
                             0x1.6c16c16c1502fp-10, 0x1.a01a01ac90e71p-13, 0x1.a01a01adc46dep-16, 0x1.71ddffe085154p-19,
                             0x1.27e4caeb5511ep-22, 0x1.af52ad20e68b3p-26, 0x1.1f8e51d493d46p-29});
  Value rest = m.fma(square, p, m.fma(r, lost, lost)), one = m.number(1);
  Value inverse = m.fromBits(m.subBits(m.integer(int64_t(3069) << 52), m.shiftLeft(parts.bits, 52))); // 2^-n
  Value most = m.select(m.less(m.number(60), parts.n), one, m.sub(one, inverse));
  Pair sum = pairs.orderedSum(most, r);
  return {{sum.high, m.add(sum.low, rest)}, parts};
}

Value doubles::buildExpM1(MathLanes &m, Value x) {
  LessOne less = buildLessOne(m, m.atMost(m.atLeast(x, -40), 715));
  Value factor = m.add(less.factor.high, less.factor.low);
  return m.copySign(buildTimesPower(m, factor, less.parts.bits), x);
}

/// With t = e^2|x| - 1: t / (t + 2).
Value doubles::buildTanh(MathLanes &m, Value x) {
  MathPairs pairs(m);
  Value a = m.abs(x);
  LessOne less = buildLessOne(m, m.atMost(m.add(a, a), 45));
  Value power = m.fromBits(m.shiftLeft(m.subBits(less.parts.bits, m.integer(1023)), 52));
  Pair factor = pairs.normalized(less.factor);
  Pair t = {m.mul(factor.high, power), m.mul(factor.low, power)}, next = pairs.sum(t.high, m.number(2));
  next.low = m.add(next.low, t.low);
  Pair quotient = pairs.quotient(t, next);
  return m.copySign(m.add(quotient.high, quotient.low), x);
}

namespace {
/// e^a / 2 and e^-a / 2.
struct Halves {
  Value rising, falling;
};
} // namespace

static Halves buildHalves(MathLanes &m, Value a) {
  Value rising = buildPower(m, a, Base::E, {}, -1);
  return {rising, m.div(m.number(0.25), rising)};
}

/// x + x^3 P(x^2) up to 1.
Value doubles::buildSinh(MathLanes &m, Value x) {
  Value a = m.abs(x), square = m.mul(x, x);
  Value p = m.polynomial(square,
                         {0x1.5555555555555p-3, 0x1.1111111111111p-7, 0x1.a01a01a019fbdp-13, 0x1.71de3a557431ep-19,
                          0x1.ae645673db830p-26, 0x1.61246b20cef8fp-33, 0x1.ae755675d0e4bp-41, 0x1.9a7f5c2dc7e6dp-49});
  Value near = m.fma(m.mul(a, square), p, a);
  Halves halves = buildHalves(m, a);
  Value isNear = m.compare(arith::CmpFPredicate::ULT, a, m.number(1));
  return m.copySign(m.select(isNear, near, m.sub(halves.rising, halves.falling)), x);
}

Value doubles::buildCosh(MathLanes &m, Value x) {
  Halves halves = buildHalves(m, m.abs(x));
  return m.add(halves.rising, halves.falling);
}

//===- near log x --------------------------------------------------------------------------------------------===//

/// log(x.high + x.low) + more ln 2; x.low does not matter where x.high is above 2^60. `more` may be null.
static Value buildPairLog(MathLanes &m, Pair x, Value more) {
  MathPairs pairs(m);
  LogParts parts = splitLog(m, x.high);
  Value one = m.number(1), n = more ? m.add(parts.n, more) : parts.n;
  Value scale = m.fromBits(m.subBits(m.toBits(one), m.shiftLeft(parts.exponent, 52)));
  Value low = m.select(m.less(x.high, m.number(0x1p60)), m.mul(x.low, scale), m.number(0));
  Pair f = pairs.orderedSum(m.sub(parts.c, one), low);
  Value s = m.div(f.high, m.add(f.high, m.number(2))), tail = buildLogTail(m, m.mul(s, s));
  Value half = m.mul(m.number(0.5), m.mul(f.high, f.high));
  // Of f.low, log(1 + f) has 1 / (1 + f), which is nearly (1 - s)^2.
  Value left = m.sub(one, s), rest = m.mul(f.low, m.mul(left, left));
  Value correction = m.fma(s, m.add(half, tail), m.fma(n, m.number(kLnTwoLow), rest));
  Value log = m.fma(n, m.number(kLnTwoHigh), m.sub(f.high, m.sub(half, correction)));
  return withLogLimits(m, x.high, log);
}

Value doubles::buildLog1p(MathLanes &m, Value x) {
  return m.copySign(buildPairLog(m, MathPairs(m).sum(m.number(1), x), {}), x);
}

/// log(x + root), or log(2 x) where x is far.
static Value buildRootLog(MathLanes &m, Value x, Pair root) {
  MathPairs pairs(m);
  Value isFar = m.less(m.number(kFar), x), zero = m.number(0);
  Pair sum = pairs.sum(x, root.high);
  sum.low = m.add(sum.low, root.low);
  return buildPairLog(m, pairs.select(isFar, {x, zero}, sum), m.select(isFar, m.number(1), zero));
}

/// log(|x| + sqrt(x^2 + 1)), and x near 0.
Value doubles::buildAsinh(MathLanes &m, Value x) {
  MathPairs pairs(m);
  Value a = m.abs(x);
  Pair square = pairs.product(a, a), next = pairs.sum(square.high, m.number(1));
  next.low = m.add(next.low, square.low);
  Value far = buildRootLog(m, a, pairs.root(next));
  return m.copySign(m.select(m.less(a, m.number(kTiny)), a, far), x);
}

/// log(x + sqrt(x^2 - 1)) with x^2 - 1 = t^2 + 2 t and t = x - 1, which is exact where it matters.
Value doubles::buildAcosh(MathLanes &m, Value x) {
  MathPairs pairs(m);
  Value one = m.number(1), t = m.sub(x, one);
  Pair square = pairs.product(t, t), less = pairs.sum(square.high, m.add(t, t));
  less.low = m.add(less.low, square.low);
  Value log = buildRootLog(m, x, pairs.root(less));
  // x <= -1 has a root, but no result.
  return m.select(m.less(x, one), m.number(kNan), log);
}

/// log((1 + |x|) / (1 - |x|)) / 2, and x near 0.
Value doubles::buildAtanh(MathLanes &m, Value x) {
  MathPairs pairs(m);
  Value a = m.abs(x), one = m.number(1);
  Value log = buildPairLog(m, pairs.quotient(pairs.sum(one, a), pairs.sum(one, m.neg(a))), {});
  return m.copySign(m.select(m.less(a, m.number(kTiny)), a, m.mul(m.number(0.5), log)), x);
}

//===- erf ---------------------------------------------------------------------------------------------------===//

/// 1 - e^Q(|x| - 1), and x + x P(x^2) up to 1 and where x is NaN.
Value doubles::buildErf(MathLanes &m, Value x) {
  Value a = m.abs(x), one = m.number(1);
  Value p = m.polynomial(m.mul(x, x),
                         {0x1.06eba8214db69p-3, -0x1.812746b0379e6p-2, 0x1.ce2f21a042b34p-4, -0x1.b82ce31284f35p-6,
                          0x1.565bcd0dbd8afp-8, -0x1.c02db3db481bbp-11, 0x1.f9a321e490139p-14, -0x1.f4d1e431b8271p-17,
                          0x1.b9df30368e43cp-20, -0x1.5f1f3fbf06d8fp-23, 0x1.f7b99094a5b68p-27, -0x1.38abfbeba0d5dp-30,
                          0x1.0626f4b8fb4dcp-34});
  Value near = m.fma(a, p, a);
  // Past 6 the result is 1.
  Value q = m.polynomial(m.sub(m.atMost(a, 6), one),
                         {-0x1.d97fbf27aa2a1p+0, -0x1.51c9b0006c236p+1, -0x1.afabc11a295f4p-1, -0x1.5477f09c03740p-5,
                          0x1.48c9d3eb1fadep-7, -0x1.033f65b02fb0fp-9, 0x1.f1b389842e5b6p-13, 0x1.b8de9cb9fa481p-16,
                          -0x1.c7a77f3de37b7p-16, 0x1.426bd3eabc1b8p-17, -0x1.147545778dbf4p-19, 0x1.32d37eae613d7p-23,
                          0x1.a2f4fe3a6d7bcp-24, -0x1.befee57e00417p-25, 0x1.002c0b87fba93p-26, -0x1.899ef64a03515p-29,
                          0x1.94e1443769973p-32, -0x1.fae876a3b90a4p-36, 0x1.24774b4d4b355p-40});
  Value far = m.sub(one, buildNormalExp(m, q));
  Value isNear = m.compare(arith::CmpFPredicate::ULT, a, one);
  return m.copySign(m.select(isNear, near, far), x);
}

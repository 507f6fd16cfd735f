// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inverses of sines and tangents of f64. tools/fit_polynomials.py makes the coefficients.

#include "backends/cpu/emit/MathKernels.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

constexpr double kHalfPi = 0x1.921fb54442d18p+0, kHalfPiLow = 0x1.1a62633145c07p-54;

//===- of sines ----------------------------------------------------------------------------------------------===//

namespace {
/// asin |x| for |x| <= 1/2, and asin(sqrt((1 - |x|) / 2)) beyond.
struct Arc {
  Value isFar;
  Pair angle;
};
} // namespace

/// asin s = s + s^3 P(s^2)
static Arc buildArc(MathLanes &m, Value x) {
  MathPairs pairs(m);
  Value a = m.abs(x), half = m.number(0.5), zero = m.number(0);
  Value isFar = m.less(half, a);
  Value rest = m.mul(m.sub(m.number(1), a), half); // exact where far
  Value z = m.select(isFar, rest, m.mul(a, a));
  Pair s = pairs.select(isFar, pairs.root({rest, zero}), {a, zero});
  Value p = m.polynomial(z, {0x1.5555555555578p-3, 0x1.333333332df7fp-4, 0x1.6db6db7226000p-5, 0x1.f1c71a8dc843ep-6,
                             0x1.6e8bdfa5d892cp-6, 0x1.1c49e2c648550p-6, 0x1.ca20cd0659927p-7, 0x1.757b82a6951ecp-7,
                             0x1.6173c2a377eadp-7, 0x1.e2c1821eb890ep-9, 0x1.6491c4b6d3aa8p-6, -0x1.5953317d7ec16p-6,
                             0x1.0baff83ff9f33p-5});
  return {isFar, {s.high, m.fma(m.mul(s.high, z), p, s.low)}};
}

/// `whole` times pi / 2, less x.
static Value lessThanTurn(MathLanes &m, double whole, Pair x) {
  Pair rest = MathPairs(m).orderedSum(m.number(whole * kHalfPi), m.neg(x.high));
  return m.add(rest.high, m.add(rest.low, m.sub(m.number(whole * kHalfPiLow), x.low)));
}

static Pair doubled(MathLanes &m, Pair x) { return {m.add(x.high, x.high), m.add(x.low, x.low)}; }

Value doubles::buildAsin(MathLanes &m, Value x) {
  Arc arc = buildArc(m, x);
  Value near = m.add(arc.angle.high, arc.angle.low);
  return m.copySign(m.select(arc.isFar, lessThanTurn(m, 1, doubled(m, arc.angle)), near), x);
}

Value doubles::buildAcos(MathLanes &m, Value x) {
  Arc arc = buildArc(m, x);
  Pair twice = doubled(m, arc.angle), angle = {m.copySign(arc.angle.high, x), {}};
  Value isNegative = m.less(x, m.number(0));
  angle.low = m.select(isNegative, m.neg(arc.angle.low), arc.angle.low);
  Value far = m.select(isNegative, lessThanTurn(m, 2, twice), m.add(twice.high, twice.low));
  return m.select(arc.isFar, far, lessThanTurn(m, 1, angle));
}

//===- of tangents -------------------------------------------------------------------------------------------===//

/// atan(y / x) for y >= 0 and x > 0 of which neither the sum nor a product of quotient and x overflows. Of the angles
/// 0, pi/4 and pi/2 the nearest is taken away, so that the tangent of the rest is at most tan(pi/8): atan t = t + t^3
/// P(t^2).
static Pair buildAngle(MathLanes &m, Value y, Value x) {
  MathPairs pairs(m);
  Value isMiddle = m.less(m.mul(x, m.number(0x1.a827999fcef32p-2)), y);
  Value isSteep = m.less(m.mul(x, m.number(0x1.3504f333f9de6p+1)), y);
  Value zero = m.number(0);
  auto choose = [&](Pair low, Pair middle, Pair steep) {
    return pairs.select(isSteep, steep, pairs.select(isMiddle, middle, low));
  };
  Pair over = choose({y, zero}, pairs.sum(y, m.neg(x)), {m.neg(x), zero});
  Pair under = choose({x, zero}, pairs.sum(y, x), {y, zero});
  Pair t = pairs.quotient(over, under);
  Value z = m.mul(t.high, t.high);
  Value p = m.polynomial(z, {-0x1.555555555553dp-2, 0x1.99999999958bbp-3, -0x1.24924922afe05p-3, 0x1.c71c70e7200c4p-4,
                             -0x1.745cf8fbf02cep-4, 0x1.3b111b4dea1bbp-4, -0x1.10ebd0e180b38p-4, 0x1.df10a925605e5p-5,
                             -0x1.9cd8b80edbb23p-5, 0x1.37e454e1476c7p-5, -0x1.258957323595ep-6});
  Pair base =
      choose(pairs.constant(0, 0), pairs.constant(kHalfPi / 2, kHalfPiLow / 2), pairs.constant(kHalfPi, kHalfPiLow));
  Pair sum = pairs.orderedSum(base.high, t.high);
  Value rest = m.add(m.fma(m.mul(t.high, z), p, t.low), base.low);
  return {sum.high, m.add(sum.low, rest)};
}

Value doubles::buildAtan(MathLanes &m, Value x) {
  Pair angle = buildAngle(m, m.atMost(m.abs(x), 0x1p100), m.number(1));
  return m.copySign(m.add(angle.high, angle.low), x);
}

Value doubles::buildAtan2(MathLanes &m, Value y, Value x) {
  Value height = m.abs(y), width = m.abs(x), zero = m.number(0), one = m.number(1), inf = m.number(kInf);
  Value most = m.select(m.less(width, height), height, width);
  // A power of two that makes the longer side about 1, where it is not denormal.
  Value field = m.shiftRightUnsigned(m.toBits(m.atMost(most, 0x1p1021)), 52);
  Value scale = m.fromBits(m.shiftLeft(m.subBits(m.integer(2046), field), 52));
  // Infinite sides have no quotient, and neither have two zeros.
  Value isInfinite = m.equal(most, inf);
  auto side = [&](Value length) {
    return m.select(isInfinite, m.select(m.equal(length, inf), one, zero), m.mul(length, scale));
  };
  Pair angle = buildAngle(m, side(height), m.select(m.equal(most, zero), one, side(width)));
  // The sign of a zero counts.
  Value isBehind = m.less(m.copySign(one, x), zero);
  Value result = m.select(isBehind, lessThanTurn(m, 2, angle), m.add(angle.high, angle.low));
  Value isNan = m.compare(arith::CmpFPredicate::UNO, x, y);
  return m.select(isNan, m.add(x, y), m.copySign(result, y));
}

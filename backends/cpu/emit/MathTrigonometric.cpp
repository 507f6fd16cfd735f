// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Coefficients are minimax fits (Remez exchange in 34 digits) of the functions that the comments name.

#include "backends/cpu/emit/MathKernels.h"
#include "backends/cpu/emit/MathReduction.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

namespace {
/// x = quadrant * pi/2 + r with |r| <= pi/4, and the sine and cosine of r; of f32 without low parts.
struct Sines {
  Value quadrant;
  Pair sine, cosine;
};
} // namespace

/// Of f32.
static Sines buildNarrowSines(MathLanes &m, Value x) {
  MathLanes w(m.b, m.withElement(m.b.getF64Type()), m.has);
  Reduced reduced = buildReduced(w, arith::ExtFOp::create(m.b, w.type, x), /*isNarrow=*/true);
  Value r = arith::TruncFOp::create(m.b, m.type, reduced.rest.high), square = m.mul(r, r);
  // sin r = r + r^3 P(r^2), cos r = 1 - r^2 / 2 + r^4 P(r^2)
  Value sine = m.mul(r, m.polynomial(square, {1, -0x1.555556p-3, 0x1.111108p-7, -0x1.a00f7ep-13, 0x1.6cd1b0p-19}));
  Value cosine = m.polynomial(square, {1, -0.5, 0x1.55554ap-5, -0x1.6c0c32p-10, 0x1.99eb4ap-16});
  return {arith::TruncIOp::create(m.b, m.bits, reduced.quadrant), {sine, {}}, {cosine, {}}};
}

/// Of f64. With r + l for r, l far below it, sin r = r + (r^3 P(r^2) + l (1 - r^2 / 2)) and cos r = 1 - r^2 / 2 + (r^4
/// P(r^2) - r l).
static Sines buildDoubleSines(MathLanes &m, Value x) {
  Reduced reduced = buildReduced(m, x, /*isNarrow=*/false);
  auto [r, low] = reduced.rest;
  Value square = m.mul(r, r), half = m.mul(square, m.number(0.5)), one = m.number(1);
  Value p = m.polynomial(square, {-0x1.5555555555549p-3, 0x1.111111110f831p-7, -0x1.a01a019c07fe9p-13,
                                  0x1.71de356f04a99p-19, -0x1.ae5e5f283af94p-26, 0x1.5d90e1f308b84p-33});
  Value sine = m.fma(m.mul(square, r), p, m.fma(m.neg(half), low, low));
  p = m.polynomial(square, {0x1.555555555554cp-5, -0x1.6c16c16c1512dp-10, 0x1.a01a019ca9828p-16, -0x1.27e4f803bd0cdp-22,
                            0x1.1ee9e7885b06fp-29, -0x1.8fac43c0c9279p-37});
  Value most = m.sub(one, half), lost = m.sub(m.sub(one, most), half);
  Value cosine = m.add(lost, m.fma(m.mul(square, square), p, m.neg(m.mul(r, low))));
  return {reduced.quadrant, {r, sine}, {most, cosine}};
}

static Sines buildSines(MathLanes &m, Value x) {
  return m.isDouble() ? buildDoubleSines(m, x) : buildNarrowSines(m, x);
}

static Value rounded(MathLanes &m, Pair x) { return x.low ? m.add(x.high, x.low) : x.high; }

/// The sine `turns` quadrants ahead.
static Value sineAhead(MathLanes &m, Value x, int64_t turns) {
  Sines sines = buildSines(m, x);
  Value quadrant = turns ? m.addBits(sines.quadrant, m.integer(turns)) : sines.quadrant;
  Value value = m.select(m.hasBit(quadrant, 0), rounded(m, sines.cosine), rounded(m, sines.sine));
  return m.fromBits(m.xorBits(m.toBits(value), m.shiftLeft(m.andBits(quadrant, 2), m.isDouble() ? 62 : 30)));
}

/// Sums of two parts lose the sign of -0.
static Value withZeros(MathLanes &m, Value x, Value result) {
  return m.isDouble() ? m.select(m.equal(x, m.number(0)), x, result) : result;
}

Value cpu::buildSin(MathLanes &m, Value x) { return withZeros(m, x, sineAhead(m, x, 0)); }
Value cpu::buildCos(MathLanes &m, Value x) { return sineAhead(m, x, 1); }

Value cpu::buildTan(MathLanes &m, Value x) {
  Sines sines = buildSines(m, x);
  Value isOdd = m.hasBit(sines.quadrant, 0);
  if (!m.isDouble())
    return m.div(m.select(isOdd, m.neg(sines.cosine.high), sines.sine.high),
                 m.select(isOdd, sines.sine.high, sines.cosine.high));
  MathPairs pairs(m);
  Pair sine = pairs.normalized(sines.sine), cosine = pairs.normalized(sines.cosine);
  Pair quotient = pairs.quotient(pairs.select(isOdd, pairs.negated(cosine), sine), pairs.select(isOdd, sine, cosine));
  return withZeros(m, x, m.add(quotient.high, quotient.low));
}

//===- inverses ----------------------------------------------------------------------------------------------===//

/// asin s = s + s^3 P(s^2) for |s| <= 1/2; larger |x| by asin x = pi/2 - 2 asin(sqrt((1 - x) / 2)).
namespace {
struct Arc {
  Value isLarge; // |x| > 1/2
  Value angle;   // asin |x|, or asin(sqrt((1 - |x|) / 2)) where large
};
} // namespace

static Arc buildArc(MathLanes &m, Value x) {
  Value a = m.abs(x), half = m.number(0.5);
  Value isLarge = m.less(half, a);
  Value square = m.select(isLarge, m.mul(m.sub(m.number(1), a), half), m.mul(a, a));
  Value s = m.select(isLarge, m.sqrt(square), a);
  Value p = m.polynomial(square, {1, 0x1.5555c8p-3, 0x1.3301e4p-4, 0x1.747e4ap-5, 0x1.8c2828p-6, 0x1.596d44p-5});
  return {isLarge, m.mul(s, p)};
}

constexpr double kPi = 3.14159265358979323846;

Value cpu::buildAsin(MathLanes &m, Value x) {
  if (m.isDouble())
    return doubles::buildAsin(m, x);
  Arc arc = buildArc(m, x);
  Value large = m.fma(arc.angle, m.number(-2), m.number(kPi / 2));
  return m.copySign(m.select(arc.isLarge, large, arc.angle), x);
}

Value cpu::buildAcos(MathLanes &m, Value x) {
  if (m.isDouble())
    return doubles::buildAcos(m, x);
  Arc arc = buildArc(m, x);
  Value isNegative = m.less(x, m.number(0)), twice = m.add(arc.angle, arc.angle);
  Value large = m.select(isNegative, m.sub(m.number(kPi), twice), twice);
  Value small = m.sub(m.number(kPi / 2), m.copySign(arc.angle, x));
  return m.select(arc.isLarge, large, small);
}

/// atan z = z + z^3 P(z^2) for 0 <= z <= 1.
static Value buildArcTangent(MathLanes &m, Value z) {
  Value p = m.polynomial(m.mul(z, z), {1, -0x1.55553ep-2, 0x1.9991fep-3, -0x1.2421b6p-3, 0x1.c09a02p-4, -0x1.58349cp-4,
                                       0x1.daca04p-5, -0x1.fed19ap-6, 0x1.65a694p-7, -0x1.d63048p-10});
  return m.mul(z, p);
}

Value cpu::buildAtan(MathLanes &m, Value x) {
  if (m.isDouble())
    return doubles::buildAtan(m, x);
  Value a = m.abs(x), one = m.number(1), isLarge = m.less(one, a);
  Value angle = buildArcTangent(m, m.select(isLarge, m.div(one, a), a));
  return m.copySign(m.select(isLarge, m.sub(m.number(kPi / 2), angle), angle), x);
}

Value cpu::buildAtan2(MathLanes &m, Value y, Value x) {
  if (m.isDouble())
    return doubles::buildAtan2(m, y, x);
  Value height = m.abs(y), width = m.abs(x);
  Value isSteep = m.less(width, height);
  Value least = m.select(isSteep, width, height), most = m.select(isSteep, height, width);
  // Equal sides, both infinite or both zero among them, have no quotient to compute.
  Value zero = m.number(0);
  Value equal = m.select(m.equal(most, zero), zero, m.number(1));
  Value angle = buildArcTangent(m, m.select(m.equal(least, most), equal, m.div(least, most)));
  angle = m.select(isSteep, m.sub(m.number(kPi / 2), angle), angle);
  // The sign of a zero counts.
  Value isBehind = m.less(m.copySign(m.number(1), x), zero);
  angle = m.copySign(m.select(isBehind, m.sub(m.number(kPi), angle), angle), y);
  Value isNan = m.compare(arith::CmpFPredicate::UNO, x, y);
  return m.select(isNan, m.add(x, y), angle);
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Coefficients are minimax fits (Remez exchange in 34 digits) of the functions that the comments name. The less
// frequent f32 functions are computed in f64, where simple formulas leave enough digits.

#include "backends/cpu/emit/MathKernels.h"

#include "mlir/IR/Matchers.h"

#include <numbers>

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// Adding 1.5 * 2^23 (2^52) rounds and leaves n in the low bits.
ExpParts cpu::splitExp(MathLanes &m, Value x, int offset, Base base) {
  bool f64 = m.isDouble();
  Value magic = m.number((f64 ? 0x1.8p52 : 0x1.8p23) + offset);
  if (base == Base::Two) {
    Value shifted = m.add(x, magic), n = m.sub(shifted, magic);
    return {n, m.mul(m.sub(x, n), m.number(std::numbers::ln2)), m.toBits(shifted), {}};
  }
  double log2e = 0x1.71547652b82fep+0, high = f64 ? kLnTwoHigh : 0x1.62e4p-1, low = f64 ? kLnTwoLow : 0x1.7f7d1cp-20;
  Value shifted = m.fma(x, m.number(log2e), magic), n = m.sub(shifted, magic), coarse = m.fma(n, m.number(-high), x);
  return {n, m.fma(n, m.number(-low), coarse), m.toBits(shifted), coarse};
}

/// The bias of exponents.
static int biasOf(const MathLanes &m) { return m.isDouble() ? 1023 : 127; }

/// The power of two whose exponent, with its bias, is in the lowest bits; 0 where that is 0.
static Value buildPowerOfTwo(MathLanes &m, Value bits) { return m.fromBits(m.shiftLeft(bits, m.isDouble() ? 52 : 23)); }

/// Of e^r.
static SmallVector<double> fractionCoefficients(const MathLanes &m) {
  if (m.isDouble())
    return {1,
            1,
            0x1.000000000000ap-1,
            0x1.55555555554f9p-3,
            0x1.55555555507f1p-5,
            0x1.1111111127e85p-7,
            0x1.6c16c1844adf2p-10,
            0x1.a01a0129b3242p-13,
            0x1.a01999ae210aep-16,
            0x1.71df262fbb004p-19,
            0x1.28adce2bb3e4ap-22,
            0x1.ad7efcdea06afp-26};
  return {1, 1, 0x1p-1, 0x1.5554b2p-3, 0x1.5555c0p-5, 0x1.1225b6p-7, 0x1.6c831ep-10};
}

Value cpu::buildFraction(MathLanes &m, Value r) { return m.polynomial(r, fractionCoefficients(m)); }

/// e^r - 1 = r + r^2 P(r), which keeps the digits of a small r.
static Value buildFractionM1(MathLanes &m, Value r) {
  SmallVector<double> coefficients = fractionCoefficients(m);
  return m.fma(m.mul(r, r), m.polynomial(r, ArrayRef(coefficients).drop_front(2)), r);
}

Value cpu::buildNormalExp(MathLanes &m, Value x) {
  ExpParts parts = splitExp(m, x, 0);
  Value e = buildFraction(m, parts.r);
  return m.fromBits(m.addBits(m.toBits(e), m.shiftLeft(parts.bits, m.isDouble() ? 52 : 23)));
}

namespace {
/// x = n ln 2 + r. A product with ln 2 as it is rounded leaves r off by less than half a unit in the last place of x.
struct NearParts {
  Value r, power; // power: 2^(n - down), or 0 for the least n that is allowed
};
} // namespace

/// Where 2^(n - down) is normal or n is down - bias.
static NearParts splitNear(MathLanes &m, Value x, int down) {
  ExpParts parts = splitExp(m, x, biasOf(m) - down);
  return {m.fma(parts.n, m.number(-std::numbers::ln2), x), buildPowerOfTwo(m, parts.bits)};
}

/// With x = n ln 2 + r: 2^n / (2^n + e^-r), both times 2^64 (f64: 2^512), so that neither is denormal or infinite where
/// the result is not 1 or rounds to 0; the division rounds denormal results once.
Value cpu::buildLogistic(MathLanes &m, Value x) {
  bool f64 = m.isDouble();
  int up = f64 ? 512 : 64;
  ExpParts parts = splitExp(m, m.atMost(m.atLeast(x, f64 ? -746 : -105), f64 ? 40 : 20), biasOf(m) + up);
  SmallVector<double> coefficients = fractionCoefficients(m);
  for (auto [i, coefficient] : llvm::enumerate(coefficients))
    coefficient = std::ldexp(i % 2 ? -coefficient : coefficient, up);
  Value power = buildPowerOfTwo(m, parts.bits);
  return m.div(power, m.add(power, m.polynomial(parts.r, coefficients)));
}

/// 2 e^r times half a power of two, which is 0 where the exponent's bits are.
static Value timesHalfPower(MathLanes &m, Value r, Value power) {
  SmallVector<double> twice = fractionCoefficients(m);
  for (double &coefficient : twice)
    coefficient *= 2;
  return m.mul(m.polynomial(r, twice), power);
}

/// The least x that shares and e^x of such are not 0 for.
static double leastExponent(const MathLanes &m) { return (1 - biasOf(m)) * std::numbers::ln2; }

Value cpu::buildShare(MathLanes &m, Value x) {
  NearParts parts = splitNear(m, m.atLeast(x, leastExponent(m)), /*down=*/1);
  return timesHalfPower(m, parts.r, parts.power);
}

Value cpu::buildNegativeExp(MathLanes &m, Value x) {
  ExpParts parts = splitExp(m, m.atLeast(x, leastExponent(m)), biasOf(m) - 1);
  return timesHalfPower(m, parts.r, buildPowerOfTwo(m, parts.bits));
}

/// Two powers of two, the halves of the exponent: the first product is exact, the second rounds where it is denormal
/// and overflows where it is too large. With N = n + twice the bias of floats, floor(N / 2) and the rest of N are the
/// exponents as floats hold them.
Value cpu::buildTimesPower(MathLanes &m, Value factor, Value bits) {
  int64_t digits = m.isDouble() ? 52 : 23;
  Value half = m.andBits(m.shiftLeft(bits, digits - 1), -(int64_t{1} << digits));
  Value rest = m.subBits(m.shiftLeft(bits, digits), half);
  return m.mul(m.mul(factor, m.fromBits(half)), m.fromBits(rest));
}

Value cpu::buildPower(MathLanes &m, Value x, Base base, Value low, int shift) {
  bool f64 = m.isDouble();
  auto fraction = [&](Value r) {
    Value e = buildFraction(m, r);
    return low ? m.fma(e, low, e) : e;
  };
  if (canScale(m)) {
    // For huge x, r is anything and n tells the result, unless e^r is infinite or NaN.
    ExpParts parts = splitExp(m, x, 0, base);
    Value n = shift ? m.add(parts.n, m.number(shift)) : parts.n;
    return buildScaled(m, fraction(buildBounded(m, parts.r, 0.5)), n);
  }
  // Past these the power is 0 or infinite. NaN stays, as products keep it.
  double least = f64 ? -750 : -110, most = f64 ? 715 : 100;
  if (base == Base::Two) {
    least = f64 ? -1080 : -155;
    most = f64 ? 1030 : 140;
  }
  ExpParts parts = splitExp(m, m.atMost(m.atLeast(x, least), most), (f64 ? 2046 : 254) + shift, base);
  return buildTimesPower(m, fraction(parts.r), parts.bits);
}

Value cpu::buildExp(MathLanes &m, Value x) { return buildPower(m, x, Base::E); }
Value cpu::buildExp2(MathLanes &m, Value x) { return buildPower(m, x, Base::Two); }

Value cpu::withLogLimits(MathLanes &m, Value x, Value log) {
  Value zero = m.number(0), inf = m.number(kInf);
  Value isInside = m.both(m.less(zero, x), m.less(x, inf));
  Value isNumber = m.compare(arith::CmpFPredicate::OGT, x, zero);
  Value limit = m.select(m.equal(x, zero), m.number(-kInf), m.select(isNumber, inf, m.number(kNan)));
  return m.select(isInside, log, limit);
}

LogParts cpu::splitLog(MathLanes &m, Value x) {
  bool f64 = m.isDouble();
  Value isTiny = m.less(x, m.number(f64 ? 0x1p-1022 : 0x1p-126));
  double up = f64 ? 54 : 24;
  Value normal = m.select(isTiny, m.mul(x, m.number(std::ldexp(1.0, static_cast<int>(up)))), x);
  int64_t digits = f64 ? 52 : 23, root = f64 ? 0x3fe6a09e667f3bcd : 0x3f3504f3;
  Value bits = m.toBits(normal), exponent = m.shiftRight(m.subBits(bits, m.integer(root)), digits);
  Value c = m.fromBits(m.subBits(bits, m.shiftLeft(exponent, digits)));
  // Integer to float by way of the low bits of a large float.
  Value magic = m.number(f64 ? 0x1.8p52 : 0x1.8p23);
  Value n = m.sub(m.fromBits(m.addBits(exponent, m.toBits(magic))), magic);
  return {m.sub(n, m.select(isTiny, m.number(up), m.number(0))), c, exponent};
}

Value cpu::buildLogTail(MathLanes &m, Value z) {
  return m.mul(z,
               m.polynomial(z, {0x1.5555555555593p-1, 0x1.999999997fb32p-2, 0x1.2492494217af3p-2, 0x1.c71c51e7e1c64p-3,
                                0x1.7466463223d48p-3, 0x1.39a0f460b700ap-3, 0x1.2f0d9560ed94ap-3}));
}

/// Of f32, log(1 + f) = f - f^2 / 2 + f^3 P(f): the coefficients behind f.
static ArrayRef<double> logCoefficients() {
  static constexpr double coefficients[] = {-0.5,           0x1.555548p-2, -0x1.000006p-2, 0x1.99a4b6p-3,
                                            -0x1.555c4ep-3, 0x1.233768p-3, -0x1.fc220ap-4, 0x1.e6f06cp-4,
                                            -0x1.de3c12p-4, 0x1.1457a0p-4};
  return coefficients;
}

/// ln 2 as a sum, of f32 with a first part that products with exponents leave exact.
static std::pair<double, double> partsOfLnTwo(const MathLanes &m) {
  return m.isDouble() ? std::pair(kLnTwoHigh, kLnTwoLow) : std::pair(0x1.63p-1, -0x1.bd0106p-13);
}

/// With f = c - 1: log x = n ln 2 + log(1 + f), log2 x = n + log(1 + f) / ln 2.
static Value buildLogarithm(MathLanes &m, Value x, Base base) {
  bool f64 = m.isDouble();
  LogParts parts = splitLog(m, x);
  Value n = parts.n, f = m.sub(parts.c, m.number(1));
  auto [high, low] = partsOfLnTwo(m);
  // Of log2, n is added as it is.
  auto withLow = [&, low = low](Value x, Value y) {
    return base == Base::Two ? m.mul(x, y) : m.fma(x, y, m.mul(n, m.number(low)));
  };
  auto logTwo = [&](Value rest) {
    Value scale = m.number(std::numbers::log2e);
    return m.fma(f, scale, m.fma(rest, scale, n));
  };
  Value square = m.mul(f, f), log;
  if (f64) {
    Value s = m.div(f, m.add(f, m.number(2))), tail = buildLogTail(m, m.mul(s, s));
    Value half = m.mul(m.number(0.5), square);
    Value correction = withLow(s, m.add(half, tail));
    log = base == Base::Two ? logTwo(m.sub(correction, half))
                            : m.fma(n, m.number(high), m.sub(f, m.sub(half, correction)));
  } else {
    Value p = m.polynomial(f, logCoefficients());
    Value tail = withLow(square, p);
    log = base == Base::Two ? logTwo(tail) : m.fma(n, m.number(high), m.add(f, tail));
  }
  return withLogLimits(m, x, log);
}

Value cpu::buildLog(MathLanes &m, Value x) { return buildLogarithm(m, x, Base::E); }
Value cpu::buildLog2(MathLanes &m, Value x) { return buildLogarithm(m, x, Base::Two); }

//===- f32 by way of f64 -------------------------------------------------------------------------------------===//

namespace {
/// f64 lanes for f32 ones, and for themselves.
struct Wide : MathLanes {
  Wide(MathLanes &narrow)
      : MathLanes(narrow.b, narrow.withElement(narrow.b.getF64Type()), narrow.has), narrowType(narrow.type) {}
  Value widen(Value x) { return type == narrowType ? x : arith::ExtFOp::create(b, type, x).getResult(); }
  Value narrow(Value x) { return type == narrowType ? x : arith::TruncFOp::create(b, narrowType, x).getResult(); }
  /// x (1 + c0 t + c1 t^2 + ...)
  Value series(Value x, Value t, ArrayRef<double> c) {
    SmallVector<double> all{1};
    all.append(c.begin(), c.end());
    return mul(x, polynomial(t, all));
  }
  Type narrowType;
};
} // namespace

Value cpu::buildSinh(MathLanes &m, Value x) {
  if (m.isDouble())
    return doubles::buildSinh(m, x);
  Wide w(m);
  Value wide = w.widen(x), e = buildExp(w, wide);
  Value near = w.series(wide, w.mul(wide, wide), {1.0 / 6, 1.0 / 120});
  Value far = w.mul(w.number(0.5), w.sub(e, buildExp(w, w.neg(wide))));
  return w.narrow(w.select(w.less(w.abs(wide), w.number(0x1p-4)), near, far));
}

Value cpu::buildCosh(MathLanes &m, Value x) {
  if (m.isDouble())
    return doubles::buildCosh(m, x);
  Wide w(m);
  Value e = buildExp(w, w.abs(w.widen(x)));
  return w.narrow(w.mul(w.number(0.5), w.add(e, w.div(w.number(1), e))));
}

Value cpu::buildAsinh(MathLanes &m, Value x) {
  if (m.isDouble())
    return doubles::buildAsinh(m, x);
  Wide w(m);
  Value wide = w.widen(x), a = w.abs(wide), square = w.mul(a, a);
  Value near = w.series(a, square, {-1.0 / 6, 3.0 / 40});
  Value far = buildLog(w, w.add(a, w.sqrt(w.add(square, w.number(1)))));
  return w.narrow(w.copySign(w.select(w.less(a, w.number(0x1p-6)), near, far), wide));
}

Value cpu::buildAcosh(MathLanes &m, Value x) {
  if (m.isDouble())
    return doubles::buildAcosh(m, x);
  Wide w(m);
  Value wide = w.widen(x);
  Value root = w.sqrt(w.sub(w.mul(wide, wide), w.number(1)));
  Value log = buildLog(w, w.add(wide, root));
  // x <= -1 has a root, but no result.
  return w.narrow(w.select(w.less(wide, w.number(1)), w.number(kNan), log));
}

Value cpu::buildAtanh(MathLanes &m, Value x) {
  if (m.isDouble())
    return doubles::buildAtanh(m, x);
  Wide w(m);
  Value wide = w.widen(x), a = w.abs(wide), one = w.number(1);
  Value near = w.series(a, w.mul(a, a), {1.0 / 3, 1.0 / 5, 1.0 / 7});
  Value far = w.mul(w.number(0.5), buildLog(w, w.div(w.add(one, a), w.sub(one, a))));
  return w.narrow(w.copySign(w.select(w.less(a, w.number(0x1p-6)), near, far), wide));
}

/// The power of a constant where products or roots give it; null elsewhere.
static Value buildConstantPow(MathLanes &m, Value x, double y) {
  if (y == 1)
    return x;
  if (y == 2)
    return m.mul(x, x);
  if (y == 3)
    return m.mul(m.mul(x, x), x);
  if (y == -1)
    return m.div(m.number(1), x);
  if (y == -2) { // x * x may overflow or be denormal where the result is neither
    Value inverse = m.div(m.number(1), x);
    return m.mul(inverse, inverse);
  }
  if (y == 0.5) // (-0)^0.5 is 0 and (-inf)^0.5 is inf, unlike roots
    return m.select(m.equal(x, m.number(-kInf)), m.number(kInf), m.sqrt(m.add(x, m.number(0))));
  return {};
}

/// The nearest whole number of x >= 0, of f64: of any target, where `floor` is a call on some.
static Value wholePart(MathLanes &m, Value x) {
  Value magic = m.number(0x1p52);
  return m.select(m.less(x, magic), m.sub(m.add(x, magic), magic), x);
}

/// e^(y log|x|), then the sign and the cases that C lists for pow.
Value cpu::buildPow(MathLanes &m, Value x, Value y) {
  Attribute constant;
  if (matchPattern(y, m_Constant(&constant))) {
    if (auto elements = dyn_cast<DenseElementsAttr>(constant); elements && elements.isSplat())
      constant = elements.getSplatValue<Attribute>();
    if (auto exponent = dyn_cast<FloatAttr>(constant))
      if (Value simple = buildConstantPow(m, x, exponent.getValueAsDouble()))
        return simple;
  }
  Wide w(m);
  Value base = w.widen(x), exponent = w.widen(y), zero = w.number(0), one = w.number(1), half = w.number(0.5);
  Value magnitude = w.abs(base);
  Value power =
      m.isDouble() ? doubles::buildPower(m, magnitude, exponent) : buildExp(w, w.mul(exponent, buildLog(w, magnitude)));
  Value length = w.abs(exponent), whole = wholePart(w, length), halved = w.mul(length, half);
  Value isFraction = w.compare(arith::CmpFPredicate::UNE, whole, length);
  Value isOdd = w.both(w.equal(whole, length), w.compare(arith::CmpFPredicate::UNE, wholePart(w, halved), halved));
  // The sign of -0 counts, too: of the bits, not of the value.
  power = w.select(isOdd, w.copySign(power, base), power);
  Value isUndefined = w.both(w.both(w.less(base, zero), w.less(magnitude, w.number(kInf))), isFraction);
  power = w.select(isUndefined, w.number(kNan), power);
  // 1^y and x^0 are 1 even for NaN, and so is (-1)^inf.
  Value isUnit = w.both(w.equal(magnitude, one), w.equal(length, w.number(kInf)));
  isUnit = w.either(isUnit, w.either(w.equal(base, one), w.equal(exponent, zero)));
  return w.narrow(w.select(isUnit, one, power));
}

//===- f32 ---------------------------------------------------------------------------------------------------===//

/// With f = r + r^2 P(r) = e^r - 1: 2 (2^(n - 1) f + 2^(n - 1) - 1 / 2), as 2^n may be infinite where the result is
/// not.
Value cpu::buildExpM1(MathLanes &m, Value x) {
  if (m.isDouble())
    return doubles::buildExpM1(m, x);
  ExpParts parts = splitExp(m, m.atMost(m.atLeast(x, -18), 89), biasOf(m) - 1);
  Value half = buildPowerOfTwo(m, parts.bits), f = buildFractionM1(m, parts.r);
  Value result = m.fma(half, f, m.sub(half, m.number(0.5)));
  return m.copySign(m.add(result, result), x);
}

/// With u = 1 + x as it is rounded, 2^n c: log(2^n (1 + f)), where f = c - 1 plus what rounding took from u, over 2^n.
/// Where n is 0, f is x.
Value cpu::buildLog1p(MathLanes &m, Value x) {
  if (m.isDouble())
    return doubles::buildLog1p(m, x);
  Value one = m.number(1), u = m.add(x, one), isLarge = m.less(one, x);
  Value more = m.select(isLarge, x, one), less = m.select(isLarge, one, x);
  Value lost = m.sub(less, m.sub(u, more));
  LogParts parts = splitLog(m, u);
  // 2^(1 - n), which is 0 for the greatest n of 128.
  Value scale = m.fromBits(m.subBits(m.toBits(m.number(2)), m.shiftLeft(parts.exponent, 23)));
  Value f = m.fma(m.mul(lost, m.number(0.5)), scale, m.sub(parts.c, one));
  auto [high, low] = partsOfLnTwo(m);
  Value tail = m.fma(m.mul(f, f), m.polynomial(f, logCoefficients()), m.mul(parts.n, m.number(low)));
  return m.copySign(withLogLimits(m, u, m.fma(parts.n, m.number(high), m.add(f, tail))), x);
}

/// With |x| = n ln 2 / 2 + r and T = tanh r: (2^n - 1 + (2^n + 1) T) / (2^n + 1 + (2^n - 1) T), which is T where n is
/// 0. Past 9.02 the result is 1 in f32.
Value cpu::buildTanh(MathLanes &m, Value x) {
  if (m.isDouble())
    return doubles::buildTanh(m, x);
  Value a = m.atMost(m.abs(x), 10), magic = m.number(0x1.8p23 + biasOf(m)), one = m.number(1);
  Value shifted = m.fma(a, m.number(2 * std::numbers::log2e), magic);
  Value r = m.fma(m.sub(shifted, magic), m.number(-std::numbers::ln2 / 2), a), square = m.mul(r, r);
  Value near = m.fma(m.mul(r, square), m.polynomial(square, {-0x1.55554ep-2, 0x1.1105bap-3, -0x1.afe854p-5}), r);
  Value power = buildPowerOfTwo(m, m.toBits(shifted)), less = m.sub(power, one), more = m.add(power, one);
  return m.copySign(m.div(m.fma(more, near, less), m.fma(less, near, more)), x);
}

/// 1 - e^q with q = log(1 - erf |x|), a polynomial of |x| without a constant. Of e^q = 2^n (1 + f) both 1 - 2^n and f
/// keep their digits, so that results near 0 do.
Value cpu::buildErf(MathLanes &m, Value x) {
  if (m.isDouble())
    return doubles::buildErf(m, x);
  // Past 3.93 the result is 1 in f32.
  Value a = m.atLeast(m.neg(m.abs(x)), -3.93), one = m.number(1);
  Value tail = m.polynomial(a, {0x1.06eba8p-3, -0x1.45f2fap-1, 0x1.a4fa5ep-4, 0x1.39cdcap-6, -0x1.505a4ep-13,
                                -0x1.b4ff5ap-10, -0x1.4bc89ep-11, -0x1.ed68f6p-14, -0x1.369354p-17});
  NearParts parts = splitNear(m, m.fma(a, tail, a), /*down=*/0);
  Value f = buildFractionM1(m, parts.r);
  return m.copySign(m.fma(m.neg(parts.power), f, m.sub(one, parts.power)), x);
}

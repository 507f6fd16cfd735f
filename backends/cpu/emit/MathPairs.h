// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers of twice the digits, as sums of two f64 (T. J. Dekker, "A floating-point technique for extending the
// available precision", 1971): `high` is the sum rounded, or nearly, and `low` the rest. Operations keep about 100
// bits.
//
//     1 + 2^-60  is  {1, 2^-60};     pairs.product(x, x)  is  {x^2 rounded, what rounding lost}
//
// Exactness needs a product's rest: one instruction where the target fuses, else products of halves of the digits.

#ifndef SINTER_BACKENDS_CPU_EMIT_MATHPAIRS_H
#define SINTER_BACKENDS_CPU_EMIT_MATHPAIRS_H

#include "backends/cpu/emit/MathLanes.h"

namespace sinter::cpu {

struct Pair {
  mlir::Value high, low;
};

class MathPairs {
public:
  explicit MathPairs(MathLanes &lanes) : m(lanes) {}

  using Value = mlir::Value;

  Pair constant(double high, double low) { return {m.number(high), m.number(low)}; }

  /// x + y, exactly.
  Pair sum(Value x, Value y) {
    Value s = m.add(x, y), part = m.sub(s, x);
    return {s, m.add(m.sub(x, m.sub(s, part)), m.sub(y, part))};
  }
  /// The same where x is 0 or |x| >= |y|.
  Pair orderedSum(Value x, Value y) {
    Value s = m.add(x, y);
    return {s, m.sub(y, m.sub(s, x))};
  }
  Pair normalized(Pair x) { return orderedSum(x.high, x.low); }

  /// The upper 26 digits of x.
  Value upperHalf(Value x) { return m.fromBits(m.andBits(m.toBits(x), -(int64_t(1) << 27))); }
  /// x y: exactly, or without fused multiply-adds to 2^-105.
  Pair product(Value x, Value y) {
    Value p = m.mul(x, y);
    if (m.has.fuses)
      return {p, m.fma(x, y, m.neg(p))};
    Value xHigh = upperHalf(x), xLow = m.sub(x, xHigh), yHigh = x == y ? xHigh : upperHalf(y), yLow = m.sub(y, yHigh);
    Value rest = m.sub(m.mul(xHigh, yHigh), p);
    rest = m.add(m.add(rest, m.mul(xHigh, yLow)), m.mul(xLow, yHigh));
    return {p, m.add(rest, m.mul(xLow, yLow))};
  }
  Pair product(Pair x, Pair y) {
    Pair p = product(x.high, y.high);
    return {p.high, m.add(p.low, m.fma(x.high, y.low, m.mul(x.low, y.high)))};
  }
  /// x - q y, rounded near its end: q is x.high / y.high or a root.
  Value rest(Pair x, Value q, Pair y) {
    Pair p = product(q, y.high);
    return m.add(m.sub(m.sub(x.high, p.high), p.low), m.sub(x.low, m.mul(q, y.low)));
  }
  Pair quotient(Pair x, Pair y) {
    Value q = m.div(x.high, y.high);
    return {q, m.div(rest(x, q, y), y.high)};
  }
  /// The root of 0 is 0.
  Pair root(Pair x) {
    Value s = m.sqrt(x.high), zero = m.number(0), twice = m.add(s, s);
    return {s, m.div(rest(x, s, {s, zero}), m.select(m.equal(s, zero), m.number(1), twice))};
  }
  Pair select(Value condition, Pair x, Pair y) {
    return {m.select(condition, x.high, y.high), m.select(condition, x.low, y.low)};
  }
  Pair negated(Pair x) { return {m.neg(x.high), m.neg(x.low)}; }

private:
  MathLanes &m;
};

} // namespace sinter::cpu

#endif

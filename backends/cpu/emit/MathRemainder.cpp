// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// arith.remf, exactly, by long division in f64. A step takes k bits of the quotient at once: with y' = y 2^j so chosen
// that |x| / y' is below 2^(k + 1) and q the nearest whole number, |x| - q y' is a float, too, and where it is below 0,
// it is so by less than y'. One step does for quotients below 2^k, and a loop for others.

#include "backends/cpu/emit/MathPairs.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

namespace {
/// Steps on lanes of f64.
struct Division {
  MathLanes &m;
  Value y; // above 0, finite

  /// How many bits of a quotient a step takes. Without fused multiply-adds, products of halves of y have to be exact.
  int64_t digits() const { return m.has.fuses ? 51 : 25; }

  /// A number such that x is below 2^exponent, and not by more than a half: of denormal numbers, too.
  Value exponentOf(Value x) {
    Value isTiny = m.less(x, m.number(0x1p-1022));
    Value normal = m.select(isTiny, m.mul(x, m.number(0x1p54)), x);
    Value field = m.shiftRightUnsigned(m.toBits(normal), 52);
    return m.subBits(field, m.select(isTiny, m.integer(54), m.integer(0)));
  }

  /// x - q y of a whole q, where that is a float.
  Value rest(Value x, Value q, Value y) {
    if (m.has.fuses)
      return m.fma(m.neg(q), y, x);
    Value upper = MathPairs(m).upperHalf(y);
    return m.sub(m.sub(x, m.mul(q, upper)), m.mul(q, m.sub(y, upper)));
  }

  /// x 2^n for n from 0 to 2072: no float holds the power.
  Value scaled(Value x, Value n) {
    auto by = [&](Value part) {
      x = m.mul(x, m.fromBits(m.shiftLeft(m.addBits(part, m.integer(1023)), 52)));
      n = m.subBits(n, part);
    };
    by(m.shiftRightUnsigned(n, 2));
    by(m.shiftRightUnsigned(n, 1));
    by(n);
    return x;
  }

  /// A lesser number that leaves the same remainder, at least 0: the remainder itself where x < 2^digits y.
  Value step(Value x) {
    Value more = m.subBits(m.subBits(exponentOf(x), exponentOf(y)), m.integer(digits()));
    more = m.select(m.isPositive(more), more, m.integer(0));
    Value divisor = scaled(y, more), magic = m.number(0x1p52); // which rounds to a whole number
    Value quotient = m.div(x, divisor), q = m.sub(m.add(quotient, magic), magic);
    if (!m.has.fuses) // products of a q that was rounded up may be infinite
      q = m.select(m.less(quotient, q), m.sub(q, m.number(1)), q);
    Value left = rest(x, q, divisor);
    return m.select(m.less(left, m.number(0)), m.add(left, divisor), left);
  }
};
} // namespace

static Value buildDoubleRemainder(MathLanes &m, Value x, Value y) {
  ImplicitLocOpBuilder &b = m.b;
  Value zero = m.number(0), one = m.number(1), inf = m.number(std::numeric_limits<double>::infinity());
  Value magnitude = m.abs(x), divisor = m.abs(y);
  Value isDefined = m.both(m.less(magnitude, inf), m.less(zero, divisor)); // y is no NaN
  Value isSmaller = m.less(magnitude, divisor);
  Value isDivided = m.both(isDefined, m.compare(arith::CmpFPredicate::OGE, magnitude, divisor));
  Division division{m, m.select(isDivided, divisor, one)};
  Value first = division.step(m.select(isDivided, magnitude, zero));
  auto isMore = [&](Value left) { return m.compare(arith::CmpFPredicate::OGE, left, division.y); };
  auto loop = scf::WhileOp::create(
      b, TypeRange(m.type), ValueRange(first),
      [&](OpBuilder &, Location loc, ValueRange carried) {
        scf::ConditionOp::create(b, loc, buildAny(m, isMore(carried[0])), carried);
      },
      [&](OpBuilder &, Location loc, ValueRange carried) { scf::YieldOp::create(b, loc, division.step(carried[0])); });
  Value result = m.select(isSmaller, x, m.copySign(loop.getResult(0), x));
  return m.select(isDefined, result, m.number(std::numeric_limits<double>::quiet_NaN()));
}

Value cpu::buildRemainder(MathLanes &m, Value x, Value y) {
  if (m.isDouble())
    return buildDoubleRemainder(m, x, y);
  // The remainder of narrow numbers is as narrow.
  MathLanes w(m.b, m.withElement(m.b.getF64Type()), m.has);
  auto widen = [&](Value value) { return arith::ExtFOp::create(m.b, w.type, value); };
  return arith::TruncFOp::create(m.b, m.type, buildDoubleRemainder(w, widen(x), widen(y)));
}

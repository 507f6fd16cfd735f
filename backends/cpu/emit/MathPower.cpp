// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Powers of f64: e^(y log|x|) needs ten digits more of the logarithm than f64 has, since y log|x| goes up to 745.

#include "backends/cpu/emit/MathKernels.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// log x to 2^-65 of it, for x > 0 that is finite. With s = (c - 1) / (c + 1), log c = 2 s (1 + s^2 / 3 + s^4 P(s^2)).
static Pair buildLongLog(MathLanes &m, Value x) {
  MathPairs pairs(m);
  LogParts parts = splitLog(m, x);
  Value one = m.number(1), zero = m.number(0), next = m.add(parts.c, one);
  Pair s = pairs.quotient({m.sub(parts.c, one), zero}, {next, m.sub(parts.c, m.sub(next, one))});
  Pair z = pairs.product(s.high, s.high);
  z.low = m.fma(m.add(s.high, s.high), s.low, z.low);
  Value p =
      m.polynomial(z.high, {0x1.9999999999996p-3, 0x1.249249249303dp-3, 0x1.c71c71c57f733p-4, 0x1.745d1832c7cb4p-4,
                            0x1.3b136296ea127p-4, 0x1.1120ba4e27c52p-4, 0x1.de32b2e354eb6p-5, 0x1.eb174f1ecad9dp-5});
  Pair third = pairs.orderedSum(m.number(0x1.5555555555555p-2), m.fma(z.high, p, m.number(0x1.5555555555555p-56)));
  Pair t = pairs.product(s, pairs.product(z, third));
  Pair half = pairs.orderedSum(s.high, t.high);
  half.low = m.add(half.low, m.add(s.low, t.low));
  // 42 bits of ln 2, so that the product with n is exact, and 53 more.
  Value n = parts.n, twice = m.add(half.high, half.high), twiceLow = m.add(half.low, half.low);
  Pair log = pairs.orderedSum(m.mul(n, m.number(0x1.62e42fefa3800p-1)), twice);
  log.low = m.add(log.low, m.fma(n, m.number(0x1.ef35793c76730p-45), twiceLow));
  return pairs.normalized(log);
}

Value doubles::buildPower(MathLanes &m, Value magnitude, Value y) {
  MathPairs pairs(m);
  Value zero = m.number(0), inf = m.number(kInf);
  Pair log = buildLongLog(m, magnitude);
  Value limit = m.select(m.equal(magnitude, zero), m.number(-kInf), magnitude); // of infinities and NaN
  Value isInside = m.both(m.less(zero, magnitude), m.less(magnitude, inf));
  log = pairs.select(isInside, log, {limit, zero});
  Pair exponent = pairs.product(y, log.high);
  Value low = m.fma(y, log.low, exponent.low);
  // Where the power is 0 or infinite the products may have been too large.
  low = m.select(m.less(m.abs(exponent.high), m.number(800)), low, zero);
  return cpu::buildPower(m, exponent.high, Base::E, low);
}

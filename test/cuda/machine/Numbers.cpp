// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Numbers.h"

namespace sinter::ptx {

uint32_t encode(double value, Format format, Round round, bool saturate) {
  uint64_t bits = std::bit_cast<uint64_t>(value);
  const int m = format.mantissaBits, bias = (1 << (format.exponentBits - 1)) - 1;
  const uint32_t sign = uint32_t(bits >> 63) << (format.bits() - 1);
  const uint32_t ones = (1u << (format.bits() - 1)) - 1;
  if (value != value)
    return ones;
  const uint32_t infinity = ((1u << format.exponentBits) - 1) << m;
  const uint32_t largest = format.finite ? ones - 1 : infinity - 1;
  if (std::isinf(value))
    return sign | (saturate ? largest : format.finite ? ones : infinity);
  if (value == 0)
    return sign;
  int exponent;
  double fraction = std::frexp(std::fabs(value), &exponent); // [0.5, 1)
  uint64_t mantissa = uint64_t(std::ldexp(fraction, 53));    // 53 bits, exact
  int e = exponent - 1;                                      // value = 1.x * 2^e
  int drop = 52 - m;
  if (e < 1 - bias) // subnormal
    drop += 1 - bias - e;
  uint64_t kept = drop > 63 ? 0 : mantissa >> drop;
  uint64_t rest = drop > 63 ? mantissa : mantissa & ((uint64_t(1) << drop) - 1);
  bool up = false;
  uint64_t half = drop > 63 ? ~uint64_t(0) : uint64_t(1) << (drop - 1);
  switch (round) {
  case Round::Near:
    up = rest > half || (rest == half && (kept & 1));
    break;
  case Round::NearAway:
    up = rest >= half;
    break;
  case Round::Zero:
    break;
  case Round::Down:
    up = rest && sign;
    break;
  case Round::Up:
    up = rest && !sign;
    break;
  }
  kept += up;
  uint64_t result; // a carry runs into the exponent as it should
  if (e < 1 - bias)
    result = kept;
  else
    result = (uint64_t(e + bias) << m) + (kept - (uint64_t(1) << m));
  if (e > bias + 1 || result > largest) {
    bool toInfinity = round == Round::Near || round == Round::NearAway || (round == Round::Up && !sign) ||
                      (round == Round::Down && sign);
    return sign | (saturate || !toInfinity ? largest : format.finite ? ones : infinity);
  }
  return sign | uint32_t(result);
}

double decode(uint32_t bits, Format format) {
  const int m = format.mantissaBits, bias = (1 << (format.exponentBits - 1)) - 1;
  const uint32_t magnitude = bits & ((1u << (format.bits() - 1)) - 1);
  const double sign = bits >> (format.bits() - 1) & 1 ? -1 : 1;
  const int exponent = magnitude >> m;
  const uint32_t mantissa = magnitude & ((1u << m) - 1);
  if (exponent == (1 << format.exponentBits) - 1) {
    if (!format.finite)
      return mantissa ? std::nan("") : sign * INFINITY;
    if (mantissa == (1u << m) - 1)
      return std::nan("");
  }
  if (!exponent)
    return sign * std::ldexp(mantissa, 1 - bias - m);
  return sign * std::ldexp(mantissa | 1u << m, exponent - bias - m);
}

// `x` is the nearest to what is meant, which lies beyond it towards the sign of `error`.
static double odd(double x, double error) {
  uint64_t bits = std::bit_cast<uint64_t>(x);
  if (!(error != 0) || (bits & 1) || !std::isfinite(x))
    return x;
  return std::nextafter(x, error > 0 ? INFINITY : -INFINITY);
}

double addOdd(double a, double b) {
  double sum = a + b;
  if (!std::isfinite(sum))
    return sum;
  double part = sum - a;
  return odd(sum, (a - (sum - part)) + (b - part));
}

double mulOdd(double a, double b) { return a * b; }

double divOdd(double a, double b) {
  double q = a / b;
  if (!std::isfinite(q) || q == 0)
    return q;
  double rest = std::fma(-q, b, a); // a - q b
  return odd(q, (rest > 0) == (b > 0) ? std::fabs(rest) : -std::fabs(rest));
}

double sqrtOdd(double a) {
  double root = std::sqrt(a);
  return std::isfinite(root) ? odd(root, std::fma(-root, root, a)) : root;
}

} // namespace sinter::ptx

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Floating-point formats narrower than f64, by one exact rounding from f64; sums, products and quotients are first
// rounded to odd in f64, which a second rounding to at most 51 bits does not see (Boldo & Melquiond 2005).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace sinter::ptx {

enum class Round : uint8_t { Near, NearAway, Zero, Down, Up };

/// Sign, exponent, mantissa. `finite`: no infinities, one NaN of all ones (e4m3).
struct Format {
  int exponentBits, mantissaBits;
  bool finite = false;
  int bits() const { return 1 + exponentBits + mantissaBits; }
};
constexpr Format kF16{5, 10}, kBF16{8, 7}, kTF32{8, 10}, kF32{8, 23}, kE5M2{5, 2}, kE4M3{4, 3, true};

/// `value` in `format`; beyond the largest number as `round` says, or that number if `saturate`. NaN becomes the
/// canonical one, all ones but the sign.
uint32_t encode(double value, Format format, Round round = Round::Near, bool saturate = false);
double decode(uint32_t bits, Format format);

/// The sum, product, quotient, root rounded to odd: exact, or the neighbour with an odd last bit.
double addOdd(double a, double b);
double mulOdd(double a, double b); // of factors with at most 26 bits: exact
double divOdd(double a, double b);
double sqrtOdd(double a);

inline float halfToFloat(uint16_t h) {
  uint32_t sign = uint32_t(h & 0x8000) << 16, rest = h & 0x7fff;
  if (rest >= 0x7c00)
    return std::bit_cast<float>(sign | 0x7f800000 | (rest & 0x3ff) << 13);
  float magnitude = std::bit_cast<float>(rest << 13) * 0x1p112f; // exact, subnormal ones too
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}
inline float bhalfToFloat(uint16_t h) { return std::bit_cast<float>(uint32_t(h) << 16); }
inline float flush(float x) {
  uint32_t bits = std::bit_cast<uint32_t>(x);
  return bits & 0x7f800000 ? x : std::bit_cast<float>(bits & 0x80000000);
}
inline float canonical(float x) { return x != x ? std::bit_cast<float>(0x7fffffffu) : x; }

} // namespace sinter::ptx

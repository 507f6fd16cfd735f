// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the formats of 8-bit floats say of their bytes.

#ifndef SINTER_TEST_BACKENDS_CUDA_FLOAT8BYTES_H
#define SINTER_TEST_BACKENDS_CUDA_FLOAT8BYTES_H

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace sinter::cuda {

inline const char *const kFine = "f8E4M3FN", *const kCoarse = "f8E5M2";

/// (-1)^s 2^(e - bias) 1.f; the least exponent has 0.f one higher.
inline double numberOf(uint8_t byte, const std::string &format) {
  const bool isFine = format == kFine;
  const int places = isFine ? 3 : 2, bias = isFine ? 7 : 15, exponent = (byte & 0x7f) >> places,
            fraction = byte & ((1 << places) - 1);
  const double sign = byte & 0x80 ? -1 : 1;
  if (isFine && (byte & 0x7f) == 0x7f)
    return std::nan("");
  if (!isFine && exponent == 31)
    return fraction ? std::nan("") : sign * INFINITY;
  const double part = std::ldexp(fraction, -places);
  return sign * (exponent ? std::ldexp(1 + part, exponent - bias) : std::ldexp(part, 1 - bias));
}

/// Bytes of all kinds but for NaN and infinity.
inline std::vector<uint8_t> drawnBytes(std::mt19937 &random, int64_t count, const std::string &format, bool isSmall) {
  std::vector<uint8_t> bytes;
  while (int64_t(bytes.size()) < count) {
    const auto byte = uint8_t(random());
    if (std::isfinite(numberOf(byte, format)) && (!isSmall || std::fabs(numberOf(byte, format)) <= 2))
      bytes.push_back(byte);
  }
  return bytes;
}

} // namespace sinter::cuda

#endif

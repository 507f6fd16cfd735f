// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Farmhash.h"
#include <bit>
#include <cstring>
#include <utility>

namespace {
constexpr uint64_t k0 = 0xC3A5C85C97CB3127u, k1 = 0xB492B66FBE98F273u, k2 = 0x9AE16A3B2F90404Fu;

uint64_t word(const char *at) {
  uint64_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
uint64_t half(const char *at) {
  uint32_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
uint64_t fold(uint64_t value) { return value ^ (value >> 47); }

uint64_t join(uint64_t u, uint64_t v, uint64_t multiplier) {
  uint64_t a = fold((u ^ v) * multiplier);
  return fold((v ^ a) * multiplier) * multiplier;
}

uint64_t upTo16(const char *text, size_t size) {
  uint64_t multiplier = k2 + size * 2;
  if (size >= 8) {
    uint64_t a = word(text) + k2, b = word(text + size - 8);
    return join(std::rotr(b, 37) * multiplier + a, (std::rotr(a, 25) + b) * multiplier, multiplier);
  }
  if (size >= 4)
    return join(size + (half(text) << 3), half(text + size - 4), multiplier);
  if (size == 0)
    return k2;
  auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(text[i])); };
  uint32_t y = byte(0) + (byte(size >> 1) << 8), z = static_cast<uint32_t>(size) + (byte(size - 1) << 2);
  return fold(y * k2 ^ z * k0) * k2;
}

/// What 17 to 64 bytes begin with.
struct Ends {
  uint64_t a, y, z;
};

Ends endsOf(const char *text, size_t size, uint64_t first, uint64_t multiplier) {
  uint64_t a = word(text) * first, b = word(text + 8), c = word(text + size - 8) * multiplier,
           d = word(text + size - 16) * k2;
  return {a, std::rotr(a + b, 43) + std::rotr(c, 30) + d, a + std::rotr(b + k2, 18) + c};
}

uint64_t upTo64(const char *text, size_t size) {
  uint64_t multiplier = k2 + size * 2;
  auto [a, y, z] = endsOf(text, size, size <= 32 ? k1 : k2, multiplier);
  z = join(y, z, multiplier);
  if (size <= 32)
    return z;
  uint64_t e = word(text + 16) * multiplier, f = word(text + 24), g = (y + word(text + size - 32)) * multiplier,
           h = (z + word(text + size - 24)) * multiplier;
  return join(std::rotr(e + f, 43) + std::rotr(g, 30) + h, e + std::rotr(f + a, 18) + g, multiplier);
}

using Pair = std::pair<uint64_t, uint64_t>;

Pair weak(const char *text, uint64_t a, uint64_t b) {
  uint64_t last = word(text + 24);
  a += word(text);
  b = std::rotr(b + a + last, 21);
  uint64_t c = a;
  a += word(text + 8) + word(text + 16);
  return {a + last, b + std::rotr(a, 44) + c};
}
} // namespace

uint64_t sinter::data::fingerprint64(std::string_view bytes) {
  const char *text = bytes.data();
  size_t size = bytes.size();
  if (size <= 16)
    return upTo16(text, size);
  if (size <= 64)
    return upTo64(text, size);
  uint64_t y = 81 * k1 + 113, z = fold(y * k2 + 113) * k2, x = 81 * k2 + word(text);
  Pair v = {0, 0}, w = {0, 0};
  auto block = [&](uint64_t multiplier, uint64_t nine) {
    x = std::rotr(x + y + v.first + word(text + 8), 37) * multiplier;
    y = std::rotr(y + v.second + word(text + 48), 42) * multiplier;
    x ^= w.second * nine;
    y += v.first * nine + word(text + 40);
    z = std::rotr(z + w.first, 33) * multiplier;
    v = weak(text, v.second * multiplier, x + w.first);
    w = weak(text + 32, z + w.second, y + word(text + 16));
    std::swap(z, x);
  };
  const char *end = text + (size - 1) / 64 * 64;
  for (; text != end; text += 64)
    block(k1, 1);
  uint64_t multiplier = k1 + ((z & 0xFF) << 1);
  text = end + ((size - 1) & 63) - 63; // the last 64 bytes
  w.first += (size - 1) & 63;
  v.first += w.first;
  w.first += v.first;
  block(multiplier, 9);
  return join(join(v.first, w.first, multiplier) + fold(y) * k0 + z, join(v.second, w.second, multiplier) + x,
              multiplier);
}

uint64_t sinter::data::joinFingerprints(uint64_t first, uint64_t second) {
  constexpr uint64_t multiplier = 0xC6A4A7935BD1E995u;
  uint64_t result = (first ^ multiplier ^ (fold(second * multiplier) * multiplier)) * multiplier;
  return fold(fold(result) * multiplier);
}

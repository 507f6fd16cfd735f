// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The instruction takes 8 bytes a cycle but gives its result three cycles later, so that long runs are taken in three
// streams, whose checksums are then joined: going on over n bytes is linear in the checksum, and a table for each of
// its bytes says what n zero bytes make of it.

#include "Crc32c.h"
#include <array>
#include <cstdio>
#include <cstring>
#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <arm_acle.h>
#include <sys/auxv.h>
#endif

namespace {
constexpr uint32_t polynomial = 0x82F63B78u;
using Table = std::array<uint32_t, 256>;

constexpr std::array<Table, 8> makeTables() {
  std::array<Table, 8> tables = {};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit)
      crc = (crc >> 1) ^ (crc & 1 ? polynomial : 0);
    tables[0][i] = crc;
  }
  for (size_t t = 1; t < 8; ++t)
    for (size_t i = 0; i < 256; ++i)
      tables[t][i] = (tables[t - 1][i] >> 8) ^ tables[0][tables[t - 1][i] & 255];
  return tables;
}
constexpr std::array<Table, 8> tables = makeTables();

/// On the inverted checksum.
uint32_t byTable(const char *at, size_t size, uint32_t crc) {
  for (; size >= 8; at += 8, size -= 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    word ^= crc;
    crc = 0;
    for (size_t t = 0; t < 8; ++t)
      crc ^= tables[7 - t][(word >> (8 * t)) & 255];
  }
  for (; size; ++at, --size)
    crc = (crc >> 8) ^ tables[0][(crc ^ static_cast<unsigned char>(*at)) & 255];
  return crc;
}

#if defined(__x86_64__)
#define SINTER_HAS_CRC32C 1
#define SINTER_CRC32C_TARGET __attribute__((target("sse4.2")))
SINTER_CRC32C_TARGET inline uint64_t stepWord(uint64_t crc, uint64_t word) { return _mm_crc32_u64(crc, word); }
SINTER_CRC32C_TARGET inline uint32_t stepByte(uint32_t crc, unsigned char byte) { return _mm_crc32_u8(crc, byte); }
bool hasInstruction() { return __builtin_cpu_supports("sse4.2"); }
#elif defined(__aarch64__) && defined(__linux__)
#define SINTER_HAS_CRC32C 1
#define SINTER_CRC32C_TARGET __attribute__((target("+crc")))
SINTER_CRC32C_TARGET inline uint64_t stepWord(uint64_t crc, uint64_t word) {
  return __crc32cd(static_cast<uint32_t>(crc), word);
}
SINTER_CRC32C_TARGET inline uint32_t stepByte(uint32_t crc, unsigned char byte) { return __crc32cb(crc, byte); }
bool hasInstruction() { return getauxval(AT_HWCAP) & (1 << 7); } // HWCAP_CRC32
#endif

#if defined(SINTER_HAS_CRC32C)
constexpr size_t stream = 1024; // bytes

/// What `stream` zero bytes make of a checksum, by the bytes of that.
std::array<Table, 4> makeShift() {
  std::array<Table, 4> shift = {};
  static const char zeros[stream] = {};
  for (size_t byte = 0; byte < 4; ++byte)
    for (uint32_t i = 0; i < 256; ++i)
      shift[byte][i] = byTable(zeros, stream, i << (8 * byte));
  return shift;
}

/// Three streams, as long as there are bytes for them: `at` and `size` become those that are left.
SINTER_CRC32C_TARGET __attribute__((noinline)) uint64_t inStreams(const char *&at, size_t &size, uint64_t crc) {
  static const std::array<Table, 4> shift = makeShift();
  auto shifted = [&](uint64_t value) {
    return shift[0][value & 255] ^ shift[1][(value >> 8) & 255] ^ shift[2][(value >> 16) & 255] ^
           shift[3][(value >> 24) & 255];
  };
  uint64_t a = crc, word;
  for (; size >= 3 * stream; at += 3 * stream, size -= 3 * stream) {
    uint64_t b = 0, c = 0, second, third;
    for (size_t i = 0; i < stream; i += 8) {
      std::memcpy(&word, at + i, 8);
      std::memcpy(&second, at + stream + i, 8);
      std::memcpy(&third, at + 2 * stream + i, 8);
      a = stepWord(a, word);
      b = stepWord(b, second);
      c = stepWord(c, third);
    }
    a = shifted(shifted(a) ^ b) ^ c;
  }
  return a;
}

SINTER_CRC32C_TARGET uint32_t byInstruction(const char *at, size_t size, uint32_t crc) {
  uint64_t a = crc, word;
  if (size >= 3 * stream)
    a = inStreams(at, size, a);
  if (size < 8) {
    auto rest = static_cast<uint32_t>(a);
    for (; size; ++at, --size)
      rest = stepByte(rest, static_cast<unsigned char>(*at));
    return rest;
  }
  for (; size >= 8; at += 8, size -= 8) {
    std::memcpy(&word, at, 8);
    a = stepWord(a, word);
  }
  if (size) { // zeros in front of them change nothing that the checksum is not yet part of
    std::memcpy(&word, at + size - 8, 8);
    word >>= 64 - 8 * size;
    a = stepWord(0, (word ^ a) << (64 - 8 * size)) ^ a >> (8 * size);
  }
  return static_cast<uint32_t>(a);
}

SINTER_CRC32C_TARGET uint32_t wordByInstruction(uint64_t word) {
  return ~static_cast<uint32_t>(stepWord(0xFFFFFFFFu, word));
}
const bool isQuick = hasInstruction();
#endif
} // namespace

uint32_t sinter::data::crc32cByTable(std::string_view bytes, uint32_t crc) {
  return ~byTable(bytes.data(), bytes.size(), ~crc);
}

uint32_t sinter::data::crc32c(std::string_view bytes, uint32_t crc) {
#if defined(SINTER_HAS_CRC32C)
  if (isQuick)
    return ~byInstruction(bytes.data(), bytes.size(), ~crc);
#endif
  return crc32cByTable(bytes, crc);
}

uint32_t sinter::data::crc32c(const std::string &name, const sinter_tensor &tensor, uint32_t crc) {
  int64_t bytes = sinter_dtype_bytes(tensor.dtype);
  std::string head = name + '\0' + std::to_string(tensor.dtype);
  for (int32_t d = 0; d < tensor.rank; ++d) {
    head += " " + std::to_string(tensor.dims[d]);
    bytes *= tensor.dims[d];
  }
  return crc32c({static_cast<const char *>(tensor.data), static_cast<size_t>(bytes)}, crc32c(head, crc));
}

std::string sinter::data::checksumText(uint32_t crc) {
  char text[16];
  std::snprintf(text, sizeof text, "%08x", crc);
  return text;
}

uint32_t sinter::data::crc32cOfWord(uint64_t word) {
#if defined(SINTER_HAS_CRC32C)
  if (isQuick)
    return wordByInstruction(word);
#endif
  return crc32cByTable({reinterpret_cast<const char *>(&word), sizeof word});
}

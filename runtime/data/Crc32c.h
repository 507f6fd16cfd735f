// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CRC-32C (Castagnoli, polynomial 0x82F63B78 reflected), by the CPU's instruction where it has one.

#ifndef SINTER_RUNTIME_DATA_CRC32C_H
#define SINTER_RUNTIME_DATA_CRC32C_H

#include "../sinter.h"
#include <cstdint>
#include <string>
#include <string_view>

namespace sinter::data {

/// The checksum of `bytes`, going on from `crc`; start with 0.
uint32_t crc32c(std::string_view bytes, uint32_t crc = 0);

/// As eight digits of base 16.
std::string checksumText(uint32_t crc);

/// Of a tensor's name, type and elements.
uint32_t crc32c(const std::string &name, const sinter_tensor &tensor, uint32_t crc);

/// The same by tables, whatever the CPU has.
uint32_t crc32cByTable(std::string_view bytes, uint32_t crc = 0);

/// Of the 8 bytes of `word` in memory's order.
uint32_t crc32cOfWord(uint64_t word);

/// What TFRecord files store: a checksum of bytes that hold checksums themselves would be weak.
inline uint32_t masked(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u; }
inline uint32_t maskedCrc32c(std::string_view bytes) { return masked(crc32c(bytes)); }
inline uint32_t maskedCrc32cOfWord(uint64_t word) { return masked(crc32cOfWord(word)); }

} // namespace sinter::data

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CRC-32C (Castagnoli, polynomial 0x82F63B78 reflected), by the CPU's instruction where it has one.

#ifndef SINTER_RUNTIME_DATA_CRC32C_H
#define SINTER_RUNTIME_DATA_CRC32C_H

#include <cstdint>
#include <string_view>

namespace sinter::data {

/// The checksum of `bytes`, going on from `crc`; start with 0.
uint32_t crc32c(std::string_view bytes, uint32_t crc = 0);

/// The same by tables, whatever the CPU has.
uint32_t crc32cByTable(std::string_view bytes, uint32_t crc = 0);

/// What TFRecord files store: a checksum of bytes that hold checksums themselves would be weak.
inline uint32_t maskedCrc32c(std::string_view bytes) {
  uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u;
}

} // namespace sinter::data

#endif

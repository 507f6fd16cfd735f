// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The first 64 bytes of a graph file, little-endian.

#ifndef SINTER_IR_FILE_HEADER_H
#define SINTER_IR_FILE_HEADER_H

#include "llvm/Support/Endian.h"
#include <cstdint>

namespace sinter::file {

static_assert(llvm::endianness::native == llvm::endianness::little, "graph files are little-endian");

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t headerBytes; // sizeof(Header)
  uint64_t graphOffset, graphBytes;
  uint64_t weightsOffset, weightsBytes; // to the end of the file
  uint64_t fileBytes;
  uint64_t reserved; // 0
};
static_assert(sizeof(Header) == 64);

/// No text, and damaged by what changes line ends or cuts at a zero byte.
inline constexpr char kMagic[8] = {'\x8f', 'S', 'I', 'N', 'T', 'E', 'R', '\n'};
/// Of the file as a whole. Fields and ops may be added without a new one; golden files of each version are in
/// test/ir/file/.
inline constexpr uint32_t kVersion = 1;
/// Alignment of sections and weights, in bytes.
inline constexpr uint64_t kAlignment = 64;

inline uint64_t alignUp(uint64_t offset) { return (offset + kAlignment - 1) / kAlignment * kAlignment; }

} // namespace sinter::file

#endif

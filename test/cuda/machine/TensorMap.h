// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tensor maps, which bulk tensor copies go by. Programs see 128 opaque bytes; these are ours.
#pragma once

#include <cstdint>
#include <string>

namespace sinter::ptx {

/// Where 16 bytes lie within rows of 32, 64 or 128 bytes of shared memory: numbers are cuda.h's.
enum class Swizzle : uint8_t { None, Bytes32, Bytes64, Bytes128 };

/// The address at which what belongs to `address` lies: bits 4 and on are xor'd with bits 7 and on.
inline uint64_t swizzled(uint64_t address, Swizzle mode) {
  const uint64_t mask = (uint64_t(1) << unsigned(mode)) - 1;
  return address ^ ((address >> 7 & mask) << 4);
}

struct TensorMap {
  static constexpr uint32_t kMagic = 0x70616d74;
  uint32_t magic = kMagic;
  uint8_t elementBytes = 0, rank = 0;
  Swizzle swizzle = Swizzle::None;
  uint8_t reserved = 0;
  uint64_t address = 0;
  uint64_t strides[5] = {}; // bytes from an element to the next, of each dimension
  uint64_t sizes[5] = {};   // elements, the innermost dimension first
  uint16_t box[5] = {};

  /// What cuTensorMapEncodeTiled takes, by the rules of its documentation; the reason in `why` where it does not.
  static bool encode(TensorMap &map, int type, unsigned rank, uint64_t address, const uint64_t *sizes,
                     const uint64_t *strides, const uint32_t *box, const uint32_t *elementStrides, int interleave,
                     int swizzle, int fill, std::string &why);
};
static_assert(sizeof(TensorMap) <= 128);

} // namespace sinter::ptx

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Regions of device memory. Addresses are made up: no two regions touch, none is used twice, and the host cannot follow
// them, so a wrong address is told whatever it is.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace sinter::ptx {

struct Granule;

// Windows of generic addresses. The 24 low bits are the address in the window; for shared memory the next 8 bits are 0
// for the block itself, or one more than the rank of a block of its cluster.
constexpr uint64_t kSharedWindow = 0x6000'0000'0000, kLocalWindow = 0x6100'0000'0000, kParamWindow = 0x6200'0000'0000;
constexpr uint64_t kDeviceBase = 0x7000'0000'0000;
/// Device addresses are aligned to this and to no more.
constexpr uint64_t kDeviceAlign = 256;

template <class T> struct FreeArray {
  void operator()(T *p) const { std::free(p); }
};
template <class T> using Array = std::unique_ptr<T[], FreeArray<T>>;
/// Zeros whose pages cost nothing until they are touched; null if there is no memory.
template <class T> Array<T> zeroArray(size_t count) {
  return Array<T>(static_cast<T *>(std::calloc(count, sizeof(T))));
}

/// Bytes at consecutive addresses. `valid[i]` is 1 once byte i was written; `shadow[i / 4]` says who touched it.
struct Region {
  uint64_t base = 0, size = 0;
  uint8_t *data = nullptr, *valid = nullptr;
  Granule *shadow = nullptr; // null where races are not looked for
  bool readOnly = false, freed = false;
  std::string name; // "allocation of 64 bytes", "variable s"
  Array<uint8_t> ownData, ownValid;
  Array<Granule> ownShadow;
  bool holds(uint64_t address, uint64_t bytes) const {
    return address - base <= size && bytes <= size - (address - base);
  }
};

/// Addresses of two devices are so far apart.
constexpr uint64_t kDeviceSpan = uint64_t(1) << 40;

/// The memory of one device: what is allocated, and what was.
class Memory {
public:
  Memory(const Memory &) = delete;
  Memory() = default;
  /// Of device number `device`, whose contexts take their addresses from one counter.
  Memory(unsigned device, uint64_t *top) : device(device), top(top) {}
  /// A new region of uninitialised bytes; null beyond `limit`.
  Region *allocate(uint64_t size, std::string name);
  /// The host's memory under an address of the device: what the host wrote counts as written, races are not looked for.
  Region *map(void *host, uint64_t size, std::string name);
  /// False if nothing is allocated at `address`.
  bool release(uint64_t address);
  /// The region (freed ones too) that holds `address` or is the nearest before it; null if there is none.
  Region *find(uint64_t address) const;
  /// The live region that holds all `bytes` at `address`; null if there is none.
  Region *holding(uint64_t address, uint64_t bytes) const;
  /// Where `address` lies, for messages: "4 bytes past the end of variable s (64 bytes)".
  std::string describe(uint64_t address, uint64_t bytes) const;

  uint64_t used() const { return usedBytes; }
  uint64_t limit = uint64_t(16) << 30;
  uint64_t generation = 1; // changes whenever a region ends

private:
  Region *add(std::unique_ptr<Region> region);

  std::map<uint64_t, std::unique_ptr<Region>> regions;
  uint64_t ownTop = kDeviceBase, usedBytes = 0;
  unsigned device = 0;
  uint64_t *top = &ownTop;
};

/// "4 bytes past the end of variable s (64 bytes)"
std::string describeIn(const Region &region, uint64_t address, uint64_t bytes);

} // namespace sinter::ptx

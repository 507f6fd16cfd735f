// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Memory.h"
#include "Shadow.h"

#include <algorithm>

namespace sinter::ptx {

Region *Memory::allocate(uint64_t size, std::string name) {
  if (size > limit || usedBytes > limit - size)
    return nullptr;
  auto region = std::make_unique<Region>();
  region->size = size;
  region->name = std::move(name);
  region->ownData = zeroArray<uint8_t>(size + 1);
  region->ownValid = zeroArray<uint8_t>(size + 1);
  region->ownShadow = zeroArray<Granule>(size / 4 + 1);
  if (!region->ownData || !region->ownValid || !region->ownShadow)
    return nullptr;
  region->data = region->ownData.get();
  region->valid = region->ownValid.get();
  region->shadow = region->ownShadow.get();
  return add(std::move(region));
}

Region *Memory::add(std::unique_ptr<Region> region) {
  // An odd multiple of the alignment, with a gap that is at least as wide.
  region->base = (*top + 2 * kDeviceAlign) / (2 * kDeviceAlign) * (2 * kDeviceAlign) + kDeviceAlign;
  *top = region->base + region->size + kDeviceAlign;
  usedBytes += region->size;
  Region *raw = region.get();
  regions[raw->base] = std::move(region);
  return raw;
}

Region *Memory::map(void *host, uint64_t size, std::string name) {
  auto region = std::make_unique<Region>();
  region->size = size;
  region->name = std::move(name);
  region->data = static_cast<uint8_t *>(host);
  region->ownValid = zeroArray<uint8_t>(size + 1);
  if (!region->ownValid)
    return nullptr;
  region->valid = region->ownValid.get();
  std::fill_n(region->valid, size, uint8_t(1));
  return add(std::move(region));
}

bool Memory::release(uint64_t address) {
  auto it = regions.find(address);
  if (it == regions.end() || it->second->freed)
    return false;
  Region &region = *it->second;
  region.freed = true;
  usedBytes -= region.size;
  region.ownData.reset();
  region.ownValid.reset();
  region.ownShadow.reset();
  region.data = region.valid = nullptr;
  region.shadow = nullptr;
  ++generation;
  return true;
}

Region *Memory::find(uint64_t address) const {
  auto it = regions.upper_bound(address);
  return it == regions.begin() ? nullptr : std::prev(it)->second.get();
}

Region *Memory::holding(uint64_t address, uint64_t bytes) const {
  Region *region = find(address);
  return region && !region->freed && region->holds(address, bytes) ? region : nullptr;
}

static std::string count(uint64_t bytes) { return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes"); }

std::string describeIn(const Region &region, uint64_t address, uint64_t bytes) {
  std::string of = region.name + " (" + count(region.size) + ")";
  if (address < region.base)
    return count(region.base - address) + " before " + of;
  uint64_t offset = address - region.base;
  if (offset >= region.size)
    return count(offset - region.size) + " past the end of " + of;
  if (offset + bytes > region.size)
    return "across the end of " + of + ", at byte " + std::to_string(offset);
  return "at byte " + std::to_string(offset) + " of " + of;
}

std::string Memory::describe(uint64_t address, uint64_t bytes) const {
  if (uint64_t number = (address - kDeviceBase) / kDeviceSpan;
      address >= kDeviceBase && number < 16 && number != device)
    return "this is memory of device " + std::to_string(number) + ", device " + std::to_string(device) + " runs";
  auto after = regions.upper_bound(address);
  const Region *before = after == regions.begin() ? nullptr : std::prev(after)->second.get();
  if (before && (address - before->base < before->size + (uint64_t(1) << 20)))
    return describeIn(*before, address, bytes);
  if (after != regions.end() && after->first - address < (uint64_t(1) << 20))
    return describeIn(*after->second, address, bytes);
  return "no device memory is near";
}

} // namespace sinter::ptx

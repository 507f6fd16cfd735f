// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every access to memory comes through here: where the address lies, whether it may be touched, who touched it before.
#include "Machine.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace sinter::ptx {

static std::string hex(uint64_t value) {
  char text[24];
  snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

static const char *spaceName(Space space) {
  static const char *names[] = {"generic", "global", "shared",   "local",
                                "const",   "param",  "register", "shared::cluster"};
  return names[int(space)];
}

uint32_t Warp::Place::sharedOffset() const { return uint32_t(data - owner->shared.get()); }

Block &Warp::ownerOf(const Inst &i, unsigned lane, Space space, uint64_t &address) {
  const uint64_t number = address >> 24; // one more than the rank
  if (!number || number > 255)
    return block;
  if (number > cluster.blocks.size())
    fault(FaultKind::Invalid, i, lane,
          "shared memory of block " + std::to_string(number - 1) + " of a cluster of " +
              std::to_string(cluster.blocks.size()));
  Block &owner = *cluster.blocks[number - 1];
  address &= 0xffffff;
  if (&owner == &block)
    return owner;
  const std::string whose = "shared memory of block " + std::to_string(owner.rank) + " of the cluster";
  if (space == Space::Shared)
    fault(FaultKind::Invalid, i, lane, "an address in " + whose + ", which .shared::cluster alone reaches");
  if (owner.ended)
    fault(FaultKind::UseAfterFree, i, lane, whose + ", which has ended");
  const auto first = clock.begin() + owner.rank * launch.warpsPerBlock;
  if (std::all_of(first, first + launch.warpsPerBlock, [](uint32_t known) { return known == 0; }))
    fault(FaultKind::Race, i, lane,
          whose + ", which may not have begun: nothing of it was waited for, such as barrier.cluster");
  return owner;
}

Warp::Place Warp::locateOwn(const Inst &i, unsigned lane, Space space, uint64_t address, unsigned bytes,
                            bool forWrite) {
  Place place = locate(i, lane, space, address, bytes, forWrite);
  if (place.owner != &block)
    fault(FaultKind::Invalid, i, lane, place.owner ? "shared memory of another block" : "this is not shared memory");
  return place;
}

Warp::Place Warp::locate(const Inst &i, unsigned lane, Space space, uint64_t address, unsigned bytes, bool forWrite) {
  if (address & (bytes - 1))
    fault(FaultKind::Misaligned, i, lane,
          std::to_string(bytes) + " bytes at " + hex(address) + " of " + spaceName(space) + " memory");
  if (space == Space::Generic) {
    if (address - kSharedWindow < uint64_t(1) << 32) {
      space = Space::SharedCluster;
      address -= kSharedWindow;
    } else if (address - kLocalWindow < uint64_t(1) << 32)
      space = Space::Local;
    else if (address - kParamWindow < uint64_t(1) << 32)
      space = Space::Param;
    else
      space = Space::Global;
    if (space == Space::Local || space == Space::Param)
      address &= 0xffffff;
  }
  switch (space) {
  case Space::Generic:
  case Space::Global:
  case Space::Const:
  case Space::Register: {
    Region *region = i.region;
    if (!region || i.generation != launch.memory->generation || !region->holds(address, bytes)) {
      region = launch.memory->find(address);
      if (!region || !region->holds(address, bytes))
        fault(FaultKind::OutOfBounds, i, lane,
              std::to_string(bytes) + " bytes at " + hex(address) + ": " + launch.memory->describe(address, bytes));
      if (region->freed)
        fault(FaultKind::UseAfterFree, i, lane,
              std::to_string(bytes) + " bytes at " + hex(address) + ": " + launch.memory->describe(address, bytes));
      i.region = region;
      i.generation = launch.memory->generation;
    }
    if (forWrite && region->readOnly)
      fault(FaultKind::ReadOnly, i, lane, launch.memory->describe(address, bytes));
    uint64_t offset = address - region->base;
    return {region->data + offset, region->valid + offset, region->shadow ? region->shadow + offset / 4 : nullptr,
            region, offset};
  }
  case Space::Shared:
  case Space::SharedCluster: {
    Block &owner = ownerOf(i, lane, space, address);
    auto &regions = owner.sharedRegions;
    Region *region = owner.lastRegion < regions.size() ? &regions[owner.lastRegion] : nullptr;
    if (!region || !region->holds(address, bytes)) {
      region = nullptr;
      const Region *near = nullptr;
      for (unsigned n = 0; n < regions.size(); ++n) {
        if (regions[n].holds(address, bytes)) {
          region = &regions[n];
          owner.lastRegion = n;
          break;
        }
        if (!near || regions[n].base <= address)
          near = &regions[n];
      }
      if (!region)
        fault(FaultKind::OutOfBounds, i, lane,
              std::to_string(bytes) + " bytes at " + hex(address) +
                  " of shared memory: " + (near ? describeIn(*near, address, bytes) : "the block has none"));
    }
    uint64_t offset = address - region->base;
    return {region->data + offset, region->valid + offset, region->shadow + offset / 4, region, offset, &owner};
  }
  case Space::Local: {
    uint64_t end = frame->localBase + frame->code->function->localBytes;
    if (address > end || end - address < bytes)
      fault(FaultKind::OutOfBounds, i, lane,
            std::to_string(bytes) + " bytes at " + hex(address) + " of local memory, of which the function has " +
                std::to_string(end) + " bytes");
    return {local.data() + lane * localBytes + address, localValid.data() + lane * localBytes + address, nullptr,
            nullptr, 0};
  }
  case Space::Param: {
    static uint8_t valid[256];
    std::memset(valid, 1, sizeof valid);
    if (forWrite)
      fault(FaultKind::ReadOnly, i, lane, "the parameters of a kernel");
    if (address > launch.params.size() || launch.params.size() - address < bytes)
      fault(FaultKind::OutOfBounds, i, lane,
            std::to_string(bytes) + " bytes at " + hex(address) + " of the parameters, which have " +
                std::to_string(launch.params.size()) + " bytes");
    return {launch.params.data() + address, valid, nullptr, nullptr, 0};
  }
  }
  std::abort();
}

void Warp::checkValid(const Inst &i, unsigned lane, const Place &place, unsigned bytes) {
  for (unsigned n = 0; n < bytes; ++n)
    if (!place.valid[n])
      fault(FaultKind::UninitializedMemory, i, lane,
            std::to_string(bytes) + " bytes of which byte " + std::to_string(n) + " was never written" +
                (place.region ? ", " + describeIn(*place.region, place.region->base + place.offset, bytes)
                              : " (local memory)"));
}

static bool allValid(const uint8_t *valid, unsigned bytes) {
  switch (bytes) {
  case 1:
    return *valid;
  case 2:
    return *reinterpret_cast<const uint16_t *>(valid) == 0x0101;
  case 4:
    return *reinterpret_cast<const uint32_t *>(valid) == 0x01010101;
  default:
    for (unsigned n = 0; n < bytes; n += 8)
      if (*reinterpret_cast<const uint64_t *>(valid + n) != 0x0101010101010101)
        return false;
    return true;
  }
}

namespace {
struct Bytes {
  unsigned first, count, mask; // granules, and the bytes of the first that are meant if there is one
};
} // namespace

static Bytes granules(uint64_t offset, unsigned bytes) {
  if (bytes >= 4)
    return {0, bytes / 4, 15};
  return {0, 1, ((1u << bytes) - 1) << (offset & 3)};
}

static std::string atPlace(const Warp::Place &place, unsigned bytes) {
  return describeIn(*place.region, place.region->base + place.offset, bytes);
}

void Warp::checkWriter(const Inst &i, unsigned lane, const Place &place, unsigned bytes, bool strong, const Granule &g,
                       const char *does) {
  if (g.pending)
    fault(FaultKind::Race, i, lane,
          std::string(does) + " what the asynchronous copy of line " + std::to_string(g.writerLine) +
              " writes, before anybody waited for it; " + atPlace(place, bytes));
  if (g.writer != number(lane) && !(g.writerStrong && strong) && !ordered(g.writer, g.writerClock))
    fault(FaultKind::Race, i, lane,
          std::string(does) + " what " + threadName(g.writer) + " wrote at line " + std::to_string(g.writerLine) +
              " without a barrier between; " + atPlace(place, bytes));
}

void Warp::noteRead(const Inst &i, unsigned lane, const Place &place, unsigned bytes, bool strong) {
  const ThreadNumber me = number(lane);
  const uint32_t now = clock[slot], stamp = place.owner ? place.owner->stamp : launch.stamp;
  const Bytes range = granules(place.offset, bytes);
  for (unsigned n = 0; n < range.count; ++n) {
    Granule &g = place.shadow[n];
    if (g.stamp != stamp) {
      g = {};
      g.stamp = stamp;
    } else if (g.writer && (g.writerMask & range.mask)) {
      checkWriter(i, lane, place, bytes, strong, g, "reads");
    }
    if (g.readers[0] != me) {
      g.readers[1] = g.readers[0];
      g.readerClocks[1] = g.readerClocks[0];
      g.readerMask1 = g.readerMask0;
      g.readerStrong1 = g.readerStrong0;
      g.readers[0] = me;
      g.readerMask0 = 0;
    }
    g.readerClocks[0] = now;
    g.readerMask0 |= range.mask;
    g.readerStrong0 = strong;
  }
}

void Warp::noteWrite(const Inst &i, unsigned lane, const Place &place, unsigned bytes, bool strong, uint32_t line) {
  const ThreadNumber me = number(lane);
  const uint32_t now = clock[slot], stamp = place.owner ? place.owner->stamp : launch.stamp;
  const Bytes range = granules(place.offset, bytes);
  if (place.owner && place.owner->productsUnderWay)
    checkProducts(i, lane, place, bytes);
  if (place.owner && place.owner->storesUnderWay)
    checkStores(i, lane, place, bytes);
  for (unsigned n = 0; n < range.count; ++n) {
    Granule &g = place.shadow[n];
    if (g.stamp != stamp) {
      g = {};
      g.stamp = stamp;
    } else {
      if (g.writer && (g.writerMask & range.mask))
        checkWriter(i, lane, place, bytes, strong, g, "writes");
      const bool race0 = g.readers[0] && g.readers[0] != me && (g.readerMask0 & range.mask) &&
                         !(g.readerStrong0 && strong) && !ordered(g.readers[0], g.readerClocks[0]);
      const bool race1 = g.readers[1] && g.readers[1] != me && (g.readerMask1 & range.mask) &&
                         !(g.readerStrong1 && strong) && !ordered(g.readers[1], g.readerClocks[1]);
      if (race0 || race1)
        fault(FaultKind::Race, i, lane,
              "writes what " + threadName(g.readers[race0 ? 0 : 1]) + " read, without a barrier between; " +
                  atPlace(place, bytes));
    }
    g.writerMask = g.writer == me && g.writerClock == now ? g.writerMask | range.mask : range.mask;
    g.writer = me;
    g.writerClock = now;
    g.writerStrong = strong;
    g.pending = g.writerAsync = 0;
    g.writerLine = line < 32767 ? line : 32767;
  }
}

void Warp::checkProxy(const Inst &i, unsigned lane, const Place &place, unsigned bytes, const char *does) {
  for (unsigned n = 0; n < bytes / 4; ++n) {
    const Granule &g = place.shadow[n];
    if (g.stamp != place.owner->stamp || !g.writer || g.writerAsync)
      continue;
    const uint32_t warp = ((g.writer - 1) >> 5) % launch.warpsPerCluster;
    if (warp >= proxied.size() || proxied[warp] < g.writerClock)
      fault(FaultKind::Race, i, lane,
            std::string(does) + " what " + threadName(g.writer) + " wrote at line " + std::to_string(g.writerLine) +
                " without a fence.proxy.async between; " + atPlace(place, bytes));
  }
}

void Warp::noteAsyncWrite(const Inst &i, unsigned lane, const Place &place, unsigned bytes) {
  if (!place.owner)
    fault(FaultKind::Invalid, i, lane, "a bulk copy must go to shared memory");
  checkProxy(i, lane, place, bytes, "overwrites");
  noteWrite(i, lane, place, bytes, false, i.line);
  for (unsigned n = 0; n < bytes / 4; ++n)
    place.shadow[n].pending = place.shadow[n].writerAsync = 1;
}

uint8_t *Warp::readAsync(const Inst &i, unsigned lane, Space space, uint64_t address, unsigned bytes) {
  Place place = locate(i, lane, space, address, bytes, false);
  if (place.owner != &block)
    fault(FaultKind::Invalid, i, lane, "the operand must lie in the block's own shared memory");
  noteRead(i, lane, place, bytes, false);
  checkProxy(i, lane, place, bytes, "reads");
  if (!allValid(place.valid, bytes))
    checkValid(i, lane, place, bytes);
  return place.data;
}

uint8_t *Warp::read(const Inst &i, unsigned lane, Space space, uint64_t address, unsigned bytes, bool strong) {
  Place place = locate(i, lane, space, address, bytes, false);
  if (place.shadow)
    noteRead(i, lane, place, bytes, strong); // first, for it says more
  if (!allValid(place.valid, bytes))
    checkValid(i, lane, place, bytes);
  return place.data;
}

uint8_t *Warp::write(const Inst &i, unsigned lane, Space space, uint64_t address, unsigned bytes, bool strong) {
  Place place = locate(i, lane, space, address, bytes, true);
  if (place.shadow)
    noteWrite(i, lane, place, bytes, strong, i.line);
  std::memset(place.valid, 1, bytes);
  return place.data;
}

uint8_t *Warp::update(const Inst &i, unsigned lane, Space space, uint64_t address, unsigned bytes) {
  Place place = locate(i, lane, space, address, bytes, true);
  if (!allValid(place.valid, bytes))
    checkValid(i, lane, place, bytes);
  if (place.shadow)
    noteWrite(i, lane, place, bytes, true, i.line);
  return place.data;
}

} // namespace sinter::ptx

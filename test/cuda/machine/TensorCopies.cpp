// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cp.async.bulk.tensor: boxes of tensors between global and shared memory, by tensor maps. What lies outside of the
// tensor is zero and counts among the bytes that arrive.
#include "Mbarriers.h"
#include "TensorMap.h"

#include <bit>
#include <cstring>

namespace sinter::ptx {

bool TensorMap::encode(TensorMap &map, int type, unsigned rank, uint64_t address, const uint64_t *sizes,
                       const uint64_t *strides, const uint32_t *box, const uint32_t *elementStrides, int interleave,
                       int swizzle, int fill, std::string &why) {
  static const uint8_t widths[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  auto fail = [&](std::string what) {
    why = std::move(what);
    return false;
  };
  if (type < 0 || type > 12)
    return fail("elements of type " + std::to_string(type));
  if (rank < 1 || rank > 5)
    return fail("a rank of " + std::to_string(rank));
  if (interleave || fill || swizzle < 0 || swizzle > 3)
    return fail("interleaved layouts, NaN outside and other swizzles are not supported by this machine");
  if (!address || address % 16)
    return fail("an address that is no multiple of 16");
  map = TensorMap();
  map.elementBytes = widths[type];
  map.rank = uint8_t(rank);
  map.swizzle = Swizzle(swizzle);
  map.address = address;
  map.strides[0] = map.elementBytes;
  for (unsigned n = 0; n < rank; ++n) {
    if (!sizes[n] || sizes[n] > uint64_t(1) << 32)
      return fail("a size of " + std::to_string(sizes[n]));
    if (!box[n] || box[n] > 256)
      return fail("a box of " + std::to_string(box[n]) + ", 1 to 256 are possible");
    if (n && elementStrides[n] != 1)
      return fail("steps between elements are not supported by this machine");
    if (n && (strides[n - 1] % 16 || strides[n - 1] >= uint64_t(1) << 40))
      return fail("a stride of " + std::to_string(strides[n - 1]) + " bytes, a multiple of 16 is required");
    map.sizes[n] = sizes[n];
    map.box[n] = uint16_t(box[n]);
    if (n)
      map.strides[n] = strides[n - 1];
  }
  const unsigned inner = box[0] * map.elementBytes;
  if (inner % 16 || (swizzle && inner > 16u << swizzle))
    return fail("a box whose rows have " + std::to_string(inner) + " bytes");
  return true;
}

namespace {
struct TensorCopy {
  Addresses addresses; // shared memory, the map, the mbarrier
  unsigned rank;
  unsigned coordinates; // the first one's operand
  bool toShared;
  int multicast = -1; // the operand of a mask of blocks
};
} // namespace

static TensorMap mapOf(Warp &w, const Inst &i, const TensorCopy &copy, unsigned lane) {
  const uint64_t address = copy.addresses.get(w, i, 1, lane);
  uint8_t bytes[128];
  for (unsigned half = 0; half < 2; ++half)
    std::memcpy(bytes + 64 * half, w.read(i, lane, Space::Generic, address + 64 * half, 64, true), 64);
  TensorMap map;
  std::memcpy(&map, bytes, sizeof map);
  if (map.magic != TensorMap::kMagic)
    w.fault(FaultKind::Invalid, i, lane, "there is no tensor map");
  if (map.rank != copy.rank)
    w.fault(FaultKind::Invalid, i, lane, "the map is of a tensor of rank " + std::to_string(map.rank));
  return map;
}

// Calls f(global address, bytes of the chunk that are inside, offset in the box) for each 16 bytes of the box.
template <class F>
static void forChunks(Warp &w, const Inst &i, const TensorCopy &copy, const TensorMap &map, unsigned lane, F f) {
  uint64_t rows = 1;
  int64_t first[5] = {};
  for (unsigned n = 0; n < map.rank; ++n) {
    first[n] = w.in<int32_t>(i, copy.coordinates + n)[lane];
    rows *= n ? map.box[n] : 1;
  }
  const unsigned rowBytes = map.box[0] * map.elementBytes;
  for (uint64_t row = 0; row < rows; ++row) {
    uint64_t rest = row, from = map.address;
    bool inside = true;
    for (unsigned n = 1; n < map.rank; ++n) {
      const int64_t at = first[n] + int64_t(rest % map.box[n]);
      rest /= map.box[n];
      inside &= at >= 0 && uint64_t(at) < map.sizes[n];
      from += uint64_t(at) * map.strides[n];
    }
    for (unsigned byte = 0; byte < rowBytes; byte += 16)
      f(
          from + uint64_t(first[0]) * map.elementBytes + byte,
          [&](unsigned k) { // byte k of the chunk
            const int64_t at = first[0] + int64_t((byte + k) / map.elementBytes);
            return inside && at >= 0 && uint64_t(at) < map.sizes[0];
          },
          row * rowBytes + byte);
  }
}

static uint64_t sharedBase(Warp &w, const Inst &i, const TensorCopy &copy, unsigned lane) {
  const uint64_t address = copy.addresses.get(w, i, 0, lane);
  if (address % 128)
    w.fault(FaultKind::Misaligned, i, lane, "the box in shared memory requires a multiple of 128");
  return address;
}

static void loadBox(Warp &w, const Inst &i, Mask mask) {
  const TensorCopy &copy = *static_cast<const TensorCopy *>(i.extra);
  for (; mask; mask &= mask - 1) {
    const unsigned l = unsigned(std::countr_zero(mask));
    const TensorMap map = mapOf(w, i, copy, l);
    sharedBase(w, i, copy, l);
    std::vector<Arrival> arrivals;
    for (const Target &target : targets(w, i, l, copy.addresses, copy.multicast))
      arrivals.emplace_back(w, i, l, target);
    forChunks(w, i, copy, map, l, [&](uint64_t from, auto isInside, uint64_t offset) {
      uint8_t data[16] = {};
      if (isInside(0) && isInside(15) && from % 16 == 0)
        std::memcpy(data, w.read(i, l, Space::Global, from, 16, false), 16);
      else
        for (unsigned k = 0; k < 16; k += map.elementBytes)
          if (isInside(k))
            std::memcpy(data + k, w.read(i, l, Space::Global, from + k, map.elementBytes, false), map.elementBytes);
      w.launch.bulkBytes += 16;
      for (Arrival &arrival : arrivals)
        arrival.write(swizzled(arrival.begin() + offset, map.swizzle), data);
    });
    for (Arrival &arrival : arrivals)
      arrival.finish();
  }
}

static void storeBox(Warp &w, const Inst &i, Mask mask) {
  const TensorCopy &copy = *static_cast<const TensorCopy *>(i.extra);
  for (; mask; mask &= mask - 1) {
    const unsigned l = unsigned(std::countr_zero(mask));
    const TensorMap map = mapOf(w, i, copy, l);
    const uint64_t from = sharedBase(w, i, copy, l);
    const Space space = copy.addresses.at[0].space;
    forChunks(w, i, copy, map, l, [&](uint64_t to, auto isInside, uint64_t offset) {
      bool any = false;
      for (unsigned k = 0; k < 16; ++k)
        any |= isInside(k);
      if (!any) // what is there is of no interest
        return;
      const uint8_t *shared = w.readAsync(i, l, space, swizzled(from + offset, map.swizzle), 16);
      w.holdForStore(l, shared);
      uint8_t data[16];
      std::memcpy(data, shared, 16);
      for (unsigned k = 0; k < 16; k += map.elementBytes)
        if (isInside(k))
          std::memcpy(w.write(i, l, Space::Global, to + k, map.elementBytes, false), data + k, map.elementBytes);
    });
  }
}

void decodeTensorCopy(Decoder &d) {
  const int rank = d.oneOf({"1d", "2d", "3d", "4d", "5d"}) + 1;
  d.flag("tile");
  const bool complete = d.flag("mbarrier::complete_tx::bytes"), group = d.flag("bulk_group"),
             hint = d.flag("L2::cache_hint"), multicast = d.flag("multicast::cluster");
  if (!rank || complete == group || (multicast && !complete) || d.words.size() != 2)
    d.unsupported();
  const bool toShared = d.words[0].starts_with("shared") && d.words[1] == "global",
             toGlobal = d.words[0] == "global" && d.words[1].starts_with("shared");
  if ((complete && !toShared) || (group && !toGlobal))
    d.unsupported();
  const Space space = d.words[0] == "shared::cluster" ? Space::SharedCluster : Space::Shared;
  if (multicast && space != Space::SharedCluster)
    d.unsupported();
  d.words.clear();
  const size_t operands = (complete ? 3 : 2) + multicast + hint;
  d.expectCount(operands, operands);
  TensorCopy copy;
  copy.rank = unsigned(rank);
  copy.toShared = toShared;
  const Operand &tensor = d.operand(toShared ? 1 : 0);
  copy.addresses.at[0] = parseAddress(d, d.operand(toShared ? 0 : 1), space);
  copy.addresses.at[1] = parseAddress(d, tensor, Space::Generic);
  if (complete)
    copy.addresses.at[2] = parseAddress(d, d.operand(2), space);
  if (tensor.parts.size() != 2 || tensor.parts[1].parts.size() != copy.rank)
    d.fail(std::to_string(rank) + " coordinates are required");
  copy.coordinates = d.operandCount();
  for (const Operand &coordinate : tensor.parts[1].parts)
    d.in(coordinate, {Kind::Signed, 32});
  if (multicast)
    copy.multicast = int(d.in(d.operand(3), {Kind::Bits, 16}));
  if (hint)
    d.in(d.operand(d.count() - 1), {Kind::Bits, 64});
  d.inst.extra = d.keep(copy);
  d.emit(toShared ? &loadBox : &storeBox);
}

} // namespace sinter::ptx

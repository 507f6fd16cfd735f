// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What orders accesses of different warps besides barriers: a release at an address (a fence, then a strong write; or
// .release) and an acquire of it (a strong read, then a fence; or .acquire).
#include "Machine.h"

namespace sinter::ptx {

// Whether what was seen of the releases holds one of `block` that covers `clock` of its warp; releases hold in turn
// what they saw.
static bool covers(const Launch &launch, const std::map<uint64_t, size_t> &acquired, uint64_t from, uint64_t of,
                   uint32_t warp, uint32_t clock, int depth) {
  for (auto [address, count] : acquired) {
    auto it = launch.releases.find(address);
    if (it == launch.releases.end())
      continue;
    for (size_t n = 0; n < count && n < it->second.size(); ++n) {
      const Release &release = it->second[n];
      if (release.block == of && (release.device || release.block == from) && release.clock[warp] >= clock)
        return true;
    }
    if (depth)
      for (size_t n = 0; n < count && n < it->second.size(); ++n)
        if (covers(launch, it->second[n].acquired, from, of, warp, clock, depth - 1))
          return true;
  }
  return false;
}

bool Warp::ordered(ThreadNumber thread, uint32_t at) const {
  const uint32_t warp = (thread - 1) >> 5;
  if (warp == globalIndex)
    return at < clock[index];
  const uint64_t of = warp / launch.warpsPerBlock;
  const uint32_t in = warp % launch.warpsPerBlock;
  if (of == block.index && clock[in] >= at)
    return true;
  return covers(launch, block.acquired, block.index, of, in, at, 2);
}

void Warp::fence(bool device) {
  fenced[0] = clock;
  if (device)
    fenced[1] = clock;
  ++clock[index];
  for (auto [address, count] : seen) {
    size_t &known = block.acquired[address];
    known = std::max(known, count);
  }
  seen.clear();
}

void Warp::fenceProxy() {
  join(proxied, clock);
  ++clock[index];
  block.showMbarriers(index);
}

void Warp::releaseAt(uint64_t address, bool explicitly, bool device) {
  if (explicitly)
    fence(device);
  if (fenced[0].empty())
    return;
  bool wide = !fenced[1].empty();
  launch.releases[address].push_back({block.index, wide ? fenced[1] : fenced[0], wide, block.acquired});
}

void Warp::acquireAt(uint64_t address, bool explicitly) {
  auto it = launch.releases.find(address);
  if (it == launch.releases.end())
    return;
  if (explicitly) {
    size_t &known = block.acquired[address];
    known = std::max(known, it->second.size());
  } else
    seen.emplace_back(address, it->second.size());
}

} // namespace sinter::ptx

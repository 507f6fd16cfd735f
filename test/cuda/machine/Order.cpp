// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What orders accesses of different warps besides barriers: a release at an address (a fence, then a strong write; or
// .release) and an acquire of it (a strong read, then a fence; or .acquire).
#include "Machine.h"

namespace sinter::ptx {

// Whether what was seen of the releases holds one of cluster `of` that covers `clock` of its warp at `slot`; releases
// hold in turn what they saw.
static bool covers(const Launch &launch, const std::map<uint64_t, size_t> &acquired, const Block &from, uint64_t of,
                   uint32_t slot, uint32_t clock, int depth) {
  for (auto [address, count] : acquired) {
    auto it = launch.releases.find(address);
    if (it == launch.releases.end())
      continue;
    for (size_t n = 0; n < count && n < it->second.size(); ++n) {
      const Release &release = it->second[n];
      const bool isHeard = release.scope == Scope::Device ||
                           (release.scope == Scope::Cluster && of == from.cluster.index) || release.block == from.index;
      if (release.cluster == of && isHeard && release.clock[slot] >= clock)
        return true;
    }
    if (depth)
      for (size_t n = 0; n < count && n < it->second.size(); ++n)
        if (covers(launch, it->second[n].acquired, from, of, slot, clock, depth - 1))
          return true;
  }
  return false;
}

bool Warp::ordered(ThreadNumber thread, uint32_t at) const {
  const uint32_t warp = (thread - 1) >> 5;
  if (warp == globalIndex)
    return at < clock[slot];
  const uint64_t of = warp / launch.warpsPerCluster;
  const uint32_t in = warp % launch.warpsPerCluster;
  if (of == cluster.index && clock[in] >= at)
    return true;
  return covers(launch, block.acquired, block, of, in, at, 2);
}

void Warp::fence(Scope scope) {
  for (int n = 0; n <= int(scope); ++n)
    fenced[n] = clock;
  ++clock[slot];
  for (auto [address, count] : seen) {
    size_t &known = block.acquired[address];
    known = std::max(known, count);
  }
  seen.clear();
}

void Warp::fenceProxy() {
  join(proxied, clock);
  ++clock[slot];
  block.showMbarriers(index);
}

// Shared addresses are those of a block, and mean something else in another.
uint64_t Warp::orderAddress(Space space, uint64_t address) const {
  const bool isShared = space == Space::Shared || space == Space::SharedCluster ||
                        (space == Space::Generic && address - kSharedWindow < uint64_t(1) << 32);
  if (!isShared)
    return address;
  const uint64_t rank = address >> 24 & 255;
  const Block &owner = rank && rank <= cluster.blocks.size() ? *cluster.blocks[rank - 1] : block;
  return uint64_t(1) << 63 | owner.index << 24 | (address & 0xffffff);
}

void Warp::releaseAt(Space space, uint64_t address, bool explicitly, Scope scope) {
  if (explicitly)
    fence(scope);
  if (fenced[0].empty())
    return;
  int widest = 2;
  while (fenced[widest].empty())
    --widest;
  launch.releases[orderAddress(space, address)].push_back(
      {block.index, cluster.index, fenced[widest], Scope(widest), block.acquired});
}

void Warp::acquireAt(Space space, uint64_t address, bool explicitly) {
  address = orderAddress(space, address);
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

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Who touched memory, and whether it was ordered: FastTrack (Flanagan & Freund 2009) with warps as the threads of its
// vector clocks. Each warp counts its synchronizations; a barrier joins the clocks of all that meet there. An access is
// ordered before another of the same cluster if the other's warp knows a later clock of its warp. Lanes of one warp are
// ordered by bar.warp.sync, which advances the warp's own clock. Between clusters only releases and acquires order
// (Order.h).
#pragma once

#include <cstdint>
#include <vector>

namespace sinter::ptx {

/// Threads are numbered over the grid with warps rounded up to 32, from 1: (warp << 5 | lane) + 1.
using ThreadNumber = uint32_t;

/// The last accesses to 4 bytes. `stamp` says which launch (or block, for shared memory) they belong to: older ones
/// have ended. Two readers of different warps are kept, so a race with a third may be missed, but none is invented.
struct Granule {
  uint32_t stamp;
  ThreadNumber writer;
  uint32_t writerClock;
  ThreadNumber readers[2];
  uint32_t readerClocks[2];
  uint16_t writerMask : 4, readerMask0 : 4, readerMask1 : 4, writerStrong : 1, readerStrong0 : 1, readerStrong1 : 1,
      pending : 1;                           // an asynchronous copy that nobody waited for yet
  uint16_t writerLine : 15, writerAsync : 1; // written by the asynchronous proxy
};
static_assert(sizeof(Granule) == 32);

/// What a warp knows of the others in its cluster; [slot] is its own clock.
using Clock = std::vector<uint32_t>;

inline void join(Clock &into, const Clock &from) {
  if (into.size() < from.size())
    into.resize(from.size());
  for (size_t i = 0; i < from.size(); ++i)
    into[i] = into[i] < from[i] ? from[i] : into[i];
}

} // namespace sinter::ptx

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

extern "C" {
#include "runtime/tape.h"
}
#include <cstring>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr int64_t kNoLimit = INT64_MAX / 8;

/// A loop that appends `trips` numbers; the tape's place before and after the last.
struct Loop {
  Memory &memory;
  Scratch &scratch;
  int64_t limit = kNoLimit;
  char *tape = nullptr;
  int64_t capacity = 0, moves = 0;

  bool append(int64_t trip) {
    if (!tape)
      tape = static_cast<char *>(srtScratchAcquire(&memory, &scratch, 0));
    int64_t needed = (trip + 1) * 8;
    if (needed > capacity) {
      void *grown = srtTapeGrow(&memory, &scratch, tape, capacity, needed, limit, &capacity);
      if (!grown)
        return false;
      moves += trip > 0 && grown != tape;
      tape = static_cast<char *>(grown);
    }
    memcpy(tape + trip * 8, &trip, 8);
    return true;
  }
  void run(int64_t trips) {
    for (int64_t trip = 0; trip < trips; ++trip)
      ASSERT_TRUE(append(trip));
    for (int64_t trip = 0; trip < trips; ++trip) {
      int64_t seen;
      memcpy(&seen, tape + trip * 8, 8);
      ASSERT_EQ(seen, trip);
    }
  }
};

TEST(Tape, WhatWasWrittenNeverMoves) {
  Memory memory = {};
  Scratch scratch = {};
  Loop loop{memory, scratch};
  loop.run(3000000);
  EXPECT_EQ(loop.moves, 0);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(loop.tape) % 64, 0u);
  EXPECT_GE(memory.held[ScratchMemory], 24000000);
  EXPECT_LE(memory.held[ScratchMemory], 24000000 * 5 / 4 + (3 << 20));
  srtScratchEndCall(&memory, &scratch);
  EXPECT_EQ(scratch.tapeBytes, 0);
  srtScratchDestroy(&memory, &scratch);
  EXPECT_EQ(memory.total, 0);
}

TEST(Tape, SteadyStateDoesNotAllocate) {
  Memory memory = {};
  Scratch scratch = {};
  int64_t held = 0;
  for (int call = 0; call < 5; ++call) {
    // Two loops one after the other, and two at once.
    Loop a{memory, scratch}, b{memory, scratch}, c{memory, scratch};
    a.run(100000);
    srtScratchRelease(&scratch, a.tape);
    b.run(1000);
    c.run(300000);
    srtScratchEndCall(&memory, &scratch);
    EXPECT_TRUE(call == 0 || memory.total == held);
    held = memory.total;
  }
  srtScratchDestroy(&memory, &scratch);
  EXPECT_EQ(memory.total, 0);
}

TEST(Tape, LimitCountsAllBusyTapesAndLeavesThemUsable) {
  Memory memory = {};
  Scratch scratch = {};
  for (int call = 0; call < 2; ++call) {
    Loop first{memory, scratch, 100000}, second{memory, scratch, 100000};
    first.run(5000);
    int64_t trips = 0;
    while (second.append(trips))
      ++trips;
    EXPECT_LE(first.capacity + second.capacity, 100000);
    EXPECT_GE(trips, (100000 - first.capacity) / 8);
    EXPECT_EQ(srtTapeBytesBeside(&scratch, second.tape), first.capacity);
    srtScratchRelease(&scratch, first.tape);
    EXPECT_TRUE(second.append(trips));
    srtScratchEndCall(&memory, &scratch);
  }
  srtScratchDestroy(&memory, &scratch);
  EXPECT_EQ(memory.total, 0);
}

TEST(Tape, SessionLimitEndsGrowthNotTheTape) {
  Memory memory = {};
  memory.limit = 1 << 20;
  Scratch scratch = {};
  Loop loop{memory, scratch};
  int64_t trips = 0;
  while (loop.append(trips))
    ++trips;
  EXPECT_GT(trips * 8, (1 << 20) * 9 / 10);
  EXPECT_LE(memory.peak, 1 << 20);
  for (int64_t trip = 0; trip < trips; ++trip)
    ASSERT_EQ(memcmp(loop.tape + trip * 8, &trip, 8), 0);
  srtScratchEndCall(&memory, &scratch);
  srtScratchDestroy(&memory, &scratch);
  EXPECT_EQ(memory.total, 0);
}

TEST(Tape, CallersAllocatorGivesAllOfIt) {
  static int64_t live, most;
  live = most = 0;
  Memory memory = {};
  memory.hooks.allocate = [](void *, size_t bytes, size_t alignment) {
    live += static_cast<int64_t>(bytes);
    most = std::max(most, live);
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  };
  memory.hooks.free = [](void *, void *pointer, size_t bytes) {
    live -= static_cast<int64_t>(bytes);
    free(pointer);
  };
  Scratch scratch = {};
  Loop loop{memory, scratch};
  loop.run(100000);
  EXPECT_GT(loop.moves, 0);
  EXPECT_GE(most, 800000);
  EXPECT_EQ(memory.total, live);
  srtScratchEndCall(&memory, &scratch);
  srtScratchDestroy(&memory, &scratch);
  EXPECT_EQ(live, 0);
}

TEST(Tape, FewAddressesMoveIt) {
  rlimit old;
  getrlimit(RLIMIT_AS, &old);
  rlimit small = old;
  // What the process has, and a little.
  FILE *status = fopen("/proc/self/statm", "r");
  long pages = 0;
  ASSERT_EQ(fscanf(status, "%ld", &pages), 1);
  fclose(status);
  small.rlim_cur = static_cast<rlim_t>(pages) * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (100 << 20);
  if (setrlimit(RLIMIT_AS, &small))
    GTEST_SKIP();
  {
    Memory memory = {};
    Scratch scratch = {};
    Loop a{memory, scratch}, b{memory, scratch};
    a.run(200000);
    b.run(200000);
    srtScratchEndCall(&memory, &scratch);
    srtScratchDestroy(&memory, &scratch);
    EXPECT_EQ(memory.total, 0);
  }
  setrlimit(RLIMIT_AS, &old);
}

} // namespace

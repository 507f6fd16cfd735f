// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

extern "C" {
#include "runtime/memory.h"
}
#include <cstring>
#include <gtest/gtest.h>
#include <sys/sysinfo.h>
#include <vector>

namespace {

TEST(Memory, AlignsSmallAndMappedBlocks) {
  Memory memory = {};
  for (int64_t bytes : {int64_t(1), int64_t(63), int64_t(4096), int64_t(2 << 20), int64_t((5 << 20) + 1)}) {
    void *block = srtAllocate(&memory, ArenaMemory, bytes);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u);
    if (bytes >= 2 << 20) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % (2 << 20), 0u);
    }
    memset(block, 1, static_cast<size_t>(bytes));
    EXPECT_EQ(memory.held[ArenaMemory], bytes);
    srtFree(&memory, ArenaMemory, block, bytes);
    EXPECT_EQ(memory.held[ArenaMemory], 0);
  }
  EXPECT_EQ(memory.peak, (5 << 20) + 1);
}

TEST(Memory, RefusesSizesThatNoMachineHas) {
  Memory memory = {};
  EXPECT_EQ(srtAllocate(&memory, ArenaMemory, -1), nullptr);
  EXPECT_EQ(srtAllocate(&memory, ArenaMemory, INT64_MAX), nullptr);
  EXPECT_EQ(srtAllocate(&memory, ArenaMemory, INT64_MAX / 8), nullptr);
  EXPECT_EQ(memory.total, 0);
}

TEST(Memory, RefusesMoreThanTheMachineHas) {
  // The system would promise it, and kill the process that writes there.
  struct sysinfo info;
  ASSERT_EQ(sysinfo(&info), 0);
  int64_t all = static_cast<int64_t>((info.totalram + info.totalswap) * info.mem_unit);
  Memory memory = {};
  EXPECT_EQ(srtAllocate(&memory, ArenaMemory, all + 1), nullptr);
  EXPECT_EQ(memory.total, 0);
  memory.total = all - (4 << 20);
  EXPECT_EQ(srtAllocate(&memory, ArenaMemory, 8 << 20), nullptr);
}

TEST(Scratch, SteadyStateDoesNotAllocate) {
  Memory memory = {};
  Scratch scratch = {};
  int64_t held = 0;
  for (int call = 0; call < 10; ++call) {
    void *a = srtScratchAcquire(&memory, &scratch, 1000);
    void *b = srtScratchAcquire(&memory, &scratch, 5000000);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(a) % 64, 0u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(b) % 64, 0u);
    memset(a, 1, 1000);
    memset(b, 2, 5000000);
    if (call % 2)
      srtScratchRelease(&scratch, a);
    srtScratchEndCall(&memory, &scratch);
    EXPECT_TRUE(call == 0 || memory.total == held);
    held = memory.total;
  }
  srtScratchDestroy(&memory, &scratch);
  EXPECT_EQ(memory.total, 0);
}

TEST(Scratch, ReleasedBuffersAreReusedWithinACall) {
  Memory memory = {};
  Scratch scratch = {};
  void *a = srtScratchAcquire(&memory, &scratch, 1000);
  srtScratchRelease(&scratch, a);
  EXPECT_EQ(srtScratchAcquire(&memory, &scratch, 900), a);
  EXPECT_NE(srtScratchAcquire(&memory, &scratch, 900), a);
  srtScratchDestroy(&memory, &scratch);
  EXPECT_EQ(memory.total, 0);
}

TEST(Scratch, BuffersOfAllSizesDoNotOverlap) {
  Memory memory = {};
  Scratch scratch = {};
  for (int round = 0; round < 3; ++round) {
    std::vector<unsigned char *> buffers;
    for (size_t i = 0; i < 300; ++i) {
      buffers.push_back(
          static_cast<unsigned char *>(srtScratchAcquire(&memory, &scratch, static_cast<int64_t>(i * i))));
      memset(buffers[i], static_cast<int>(i & 0xFF), i * i);
    }
    for (size_t i = 0; i < 300; ++i)
      for (size_t b = 0; b < i * i; ++b)
        ASSERT_EQ(buffers[i][b], i & 0xFF);
    for (size_t i = 0; i < 300; i += 2)
      srtScratchRelease(&scratch, buffers[i]);
    srtScratchEndCall(&memory, &scratch);
  }
  srtScratchDestroy(&memory, &scratch);
  EXPECT_EQ(memory.total, 0);
}

TEST(Scratch, LongIdleBuffersAreFreed) {
  Memory memory = {};
  Scratch scratch = {};
  srtScratchAcquire(&memory, &scratch, 1 << 24);
  srtScratchEndCall(&memory, &scratch);
  for (int call = 0; call < 200; ++call) {
    srtScratchAcquire(&memory, &scratch, 100);
    srtScratchEndCall(&memory, &scratch);
  }
  EXPECT_LT(memory.total, 4096);
  srtScratchDestroy(&memory, &scratch);
}

TEST(Scratch, RefusesNegativeAndHugeSizes) {
  Memory memory = {};
  Scratch scratch = {};
  EXPECT_EQ(srtScratchAcquire(&memory, &scratch, -1), nullptr);
  EXPECT_EQ(srtScratchAcquire(&memory, &scratch, INT64_MAX), nullptr);
  EXPECT_EQ(srtScratchAcquire(&memory, &scratch, INT64_MAX / 16), nullptr);
  srtScratchDestroy(&memory, &scratch);
}

} // namespace

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Functions.h"
extern "C" {
#include "runtime/arena.h"
#include "runtime/plan.h"
}
#include "test/Growth.h"
#include <gtest/gtest.h>
#include <random>

using sinter::test::CountingAllocator;

namespace {

struct Problem {
  std::vector<sinter_buffer_life> lives;
  std::vector<int64_t> bytes;
};

Problem randomProblem(unsigned seed, int count, unsigned positions, unsigned maxLength, unsigned maxBytes) {
  std::mt19937 random(seed);
  Problem problem;
  for (int i = 0; i < count; ++i) {
    auto first = static_cast<int32_t>(random() % positions);
    problem.lives.push_back({first, first + static_cast<int32_t>(random() % maxLength)});
    problem.bytes.push_back(random() % maxBytes);
  }
  return problem;
}

/// Checks that no two live buffers share a byte, and returns total / lower bound.
double checkPlan(const Problem &problem) {
  Memory memory = {};
  auto count = static_cast<int64_t>(problem.bytes.size());
  std::vector<int64_t> offsets(problem.bytes.size(), -1);
  int64_t total = 0;
  EXPECT_EQ(srtPlan(&memory, problem.lives.data(), count, problem.bytes.data(), offsets.data(), &total), SINTER_OK);
  for (size_t i = 0; i < offsets.size(); ++i) {
    EXPECT_EQ(offsets[i] % 64, 0);
    EXPECT_GE(offsets[i], 0);
    EXPECT_LE(offsets[i] + problem.bytes[i], total);
    for (size_t j = 0; j < i; ++j) {
      const auto &p = problem.lives[i], &q = problem.lives[j];
      bool livesMeet = p.first <= q.last && q.first <= p.last;
      bool bytesMeet = offsets[i] < offsets[j] + problem.bytes[j] && offsets[j] < offsets[i] + problem.bytes[i];
      EXPECT_FALSE(livesMeet && bytesMeet && problem.bytes[i] && problem.bytes[j]) << i << " and " << j;
    }
  }
  EXPECT_EQ(memory.total, 0);
  std::vector<PlanEvent> events(2 * problem.bytes.size());
  int64_t bound = srtPlanLowerBound(problem.lives.data(), count, problem.bytes.data(), events.data());
  return bound ? static_cast<double>(total) / static_cast<double>(bound) : 1.0;
}

TEST(Plan, KeepsLiveBuffersApart) {
  for (unsigned seed = 0; seed < 200; ++seed)
    checkPlan(randomProblem(seed, 1 + static_cast<int>(seed % 60), 1 + seed % 40, 1 + seed % 13, 1 + seed * 100));
}

TEST(Plan, TellsTheBytesOfAnArena) {
  const sinter_buffer_life lives[] = {{0, 1}, {1, 2}, {2, 3}};
  const int64_t bytes[] = {100, 64, 100};
  int64_t total = -1;
  ASSERT_EQ(sinter_arena_bytes(lives, 3, bytes, &total), SINTER_OK);
  EXPECT_EQ(total, 128 + 64); // the first and the last share their bytes
  ASSERT_EQ(sinter_arena_bytes(nullptr, 0, nullptr, &total), SINTER_OK);
  EXPECT_EQ(total, 0);
  EXPECT_EQ(sinter_arena_bytes(lives, 3, bytes, nullptr), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(sinter_arena_bytes(nullptr, 3, bytes, &total), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(sinter_arena_bytes(lives, 3, nullptr, &total), SINTER_INVALID_ARGUMENT);
}

TEST(Plan, StaysNearTheLowerBound) {
  double sum = 0;
  for (unsigned seed = 0; seed < 20; ++seed)
    sum += checkPlan(randomProblem(seed, 200, 180, 6, 1 << 20));
  EXPECT_LT(sum / 20, 1.10);
}

TEST(Plan, ReusesTheMemoryOfAChain) {
  Problem problem;
  for (int i = 0; i < 100; ++i) {
    problem.lives.push_back({i, i + 1});
    problem.bytes.push_back(1024);
  }
  EXPECT_EQ(checkPlan(problem), 1.0);
}

TEST(Plan, TimeGrowsNoFasterThanPairsOfBuffers) {
  double times = sinter::test::growth(1000, [](int count) {
    Problem problem = randomProblem(7, count, count, 200, 1 << 16);
    Memory memory = {};
    std::vector<int64_t> offsets(count);
    int64_t total;
    EXPECT_EQ(srtPlan(&memory, problem.lives.data(), count, problem.bytes.data(), offsets.data(), &total), SINTER_OK);
  });
  EXPECT_LT(times, 32); // 64 were it by the third power
}

TEST(Plan, RefusesNegativeSizesBadLivesAndOverflow) {
  Memory memory = {};
  int64_t offsets[2], total;
  sinter_buffer_life lives[2] = {{0, 1}, {0, 1}};
  int64_t negative[2] = {64, -1};
  EXPECT_EQ(srtPlan(&memory, lives, 2, negative, offsets, &total), SINTER_INVALID_ARGUMENT);
  EXPECT_STREQ(sinter_last_error(), "buffer 1 requires a size of 0 or more bytes, got -1");
  int64_t huge[2] = {INT64_MAX / 5, INT64_MAX / 5};
  EXPECT_EQ(srtPlan(&memory, lives, 2, huge, offsets, &total), SINTER_OUT_OF_MEMORY);
  int64_t largest[2] = {INT64_MAX, INT64_MAX};
  EXPECT_EQ(srtPlan(&memory, lives, 2, largest, offsets, &total), SINTER_OUT_OF_MEMORY);
  EXPECT_STREQ(sinter_last_error(), "the sizes of 2 buffers overflow");
  sinter_buffer_life backwards[1] = {{3, 2}};
  EXPECT_EQ(srtPlan(&memory, backwards, 1, negative, offsets, &total), SINTER_INVALID_ARGUMENT);
  EXPECT_STREQ(sinter_last_error(), "buffer 0 requires a life, got [3, 2]");
}

TEST(ArenaPlan, EqualSizesHitTheCache) {
  CountingAllocator allocator;
  Memory memory = {};
  memory.hooks = allocator.hooks();
  Arena *arenas = nullptr;
  Problem problem = randomProblem(3, 50, 40, 5, 10000);
  std::vector<int64_t> first(50), second(50);
  uint8_t *base = srtArenaPlan(&memory, &arenas, problem.lives.data(), 50, problem.bytes.data(), first.data());
  ASSERT_NE(base, nullptr);
  int calls = allocator.calls;
  EXPECT_EQ(srtArenaPlan(&memory, &arenas, problem.lives.data(), 50, problem.bytes.data(), second.data()), base);
  EXPECT_EQ(first, second);
  EXPECT_EQ(allocator.calls, calls);

  // Smaller sizes need a plan but no memory; then both are known.
  Problem smaller = problem;
  for (int64_t &bytes : smaller.bytes)
    bytes /= 2;
  EXPECT_EQ(srtArenaPlan(&memory, &arenas, problem.lives.data(), 50, smaller.bytes.data(), second.data()), base);
  calls = allocator.calls;
  srtArenaPlan(&memory, &arenas, problem.lives.data(), 50, problem.bytes.data(), second.data());
  EXPECT_EQ(first, second);
  srtArenaPlan(&memory, &arenas, problem.lives.data(), 50, smaller.bytes.data(), second.data());
  EXPECT_EQ(allocator.calls, calls);
  srtArenasDestroy(&memory, &arenas);
  EXPECT_EQ(allocator.held, 0);
}

TEST(ArenaPlan, ManySizesDoNotGrowTheCacheForever) {
  Memory memory = {};
  Arena *arenas = nullptr;
  sinter_buffer_life life = {0, 0};
  int64_t offset, held = 0;
  for (int64_t bytes = 1000; bytes > 0; --bytes) {
    ASSERT_NE(srtArenaPlan(&memory, &arenas, &life, 1, &bytes, &offset), nullptr);
    if (bytes == 900)
      held = memory.total;
  }
  EXPECT_EQ(memory.total, held);
  srtArenasDestroy(&memory, &arenas);
  EXPECT_EQ(memory.total, 0);
}

TEST(ArenaPlan, TablesHaveMemoryOfTheirOwn) {
  Memory memory = {};
  Arena *arenas = nullptr;
  sinter_buffer_life outer = {0, 0}, inner = {0, 0};
  int64_t bytes = 100, offset;
  uint8_t *a = srtArenaPlan(&memory, &arenas, &outer, 1, &bytes, &offset);
  uint8_t *b = srtArenaPlan(&memory, &arenas, &inner, 1, &bytes, &offset);
  EXPECT_NE(a, b);
  EXPECT_EQ(srtArenaPlan(&memory, &arenas, &outer, 1, &bytes, &offset), a);
  srtArenasDestroy(&memory, &arenas);
}

TEST(ArenaPlan, NoBuffersStillHaveABase) {
  Memory memory = {};
  Arena *arenas = nullptr;
  EXPECT_NE(srtArenaPlan(&memory, &arenas, nullptr, 0, nullptr, nullptr), nullptr);
  srtArenasDestroy(&memory, &arenas);
}

TEST(ArenaPlan, EveryFailedAllocationIsReportedAndLeaksNothing) {
  Problem problem = randomProblem(5, 20, 20, 5, 1000);
  for (int failAfter = 0; failAfter < 6; ++failAfter) {
    CountingAllocator allocator;
    allocator.failAfter = failAfter;
    Memory memory = {};
    memory.hooks = allocator.hooks();
    Arena *arenas = nullptr;
    std::vector<int64_t> offsets(20);
    uint8_t *base = srtArenaPlan(&memory, &arenas, problem.lives.data(), 20, problem.bytes.data(), offsets.data());
    EXPECT_EQ(base == nullptr, failAfter < 4) << failAfter; // the arena, the plan, room to plan, the memory
    srtArenasDestroy(&memory, &arenas);
    EXPECT_EQ(allocator.held, 0);
  }
}

} // namespace

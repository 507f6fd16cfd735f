// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which rows of a large table stay in memory, against the best choice, which knows how often each row will be needed.
#include "runtime/data/RowCache.h"
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>
#include <random>
#include <unistd.h>
#include <utility>

using namespace sinter::data;

namespace {

constexpr int64_t kRows = 40000, kSlots = 4000, kBatch = 300;

/// Rows of Zipf's law with exponent 1.05, spread over the table.
class Zipf {
public:
  Zipf() {
    double all = 0;
    for (int64_t rank = 0; rank < kRows; ++rank)
      below.push_back(all += std::pow(static_cast<double>(rank + 1), -1.05));
  }
  std::vector<int64_t> draw(int64_t shift) {
    std::vector<int64_t> rows;
    for (int64_t i = 0; i < kBatch; ++i) {
      double u = std::uniform_real_distribution<double>(0, below.back())(random);
      int64_t rank = std::upper_bound(below.begin(), below.end(), u) - below.begin();
      rows.push_back((std::min(rank, kRows - 1) * 7919 + shift) % kRows);
    }
    return rows;
  }
  /// Lookups of rows that are not among the `count` most frequent.
  double missed(int64_t count) const { return 1 - below[static_cast<size_t>(count - 1)] / below.back(); }

private:
  std::vector<double> below;
  std::mt19937 random{3};
};

class RowReplacement : public testing::Test {
protected:
  RowReplacement() : store(folder, {.fields = {{"t", 1}}, .rows = kRows}), values(kSlots) {}
  ~RowReplacement() override { std::filesystem::remove_all(folder); }
  /// The share of lookups that miss, of some batches.
  double missed(RowCache &cache, int batches, int64_t shift) {
    auto before = cache.statistics();
    std::vector<int64_t> next = zipf.draw(shift), places(kBatch);
    for (int i = 0; i < batches; ++i) {
      std::vector<int64_t> rows = std::exchange(next, zipf.draw(shift));
      cache.prepare(rows, places);
      if (i + 1 < batches)
        cache.prefetch(next);
    }
    auto after = cache.statistics();
    return static_cast<double>(after.missed - before.missed) / static_cast<double>(after.lookups - before.lookups);
  }

  std::string folder = testing::TempDir() + "/replacement" + std::to_string(getpid());
  RowStore store;
  std::vector<float> values;
  Zipf zipf;
};

TEST_F(RowReplacement, missesAreFewMoreThanOfTheMostFrequentRows) {
  RowCache cache(store, [&](size_t) { return values.data(); }, kSlots);
  missed(cache, 1000, 0);
  EXPECT_LT(missed(cache, 1000, 0), 1.2 * zipf.missed(kSlots));
}

TEST_F(RowReplacement, rowsThatNobodyNeedsAnyMoreLeave) {
  RowCache cache(store, [&](size_t) { return values.data(); }, kSlots);
  missed(cache, 4000, 0);
  missed(cache, 4000, 3571); // other rows are frequent
  EXPECT_LT(missed(cache, 1000, 3571), 1.2 * zipf.missed(kSlots));
}

TEST_F(RowReplacement, slotsHaveALimit) {
  for (int64_t slots : {int64_t(0), int64_t(1) << 31}) {
    try {
      RowCache cache(store, [&](size_t) { return values.data(); }, slots);
      ADD_FAILURE() << slots;
    } catch (const Error &error) {
      EXPECT_EQ(error.what(), "a row cache requires 1 to 2^31 - 1 slots, got " + std::to_string(slots));
    }
  }
}

} // namespace

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables larger than memory against tables in memory: what is computed with rows must not depend on where they lie.
#include "Messages.h"
#include "runtime/data/RowCache.h"
#include "runtime/data/RowVocabulary.h"
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace sinter::data;
using sinter::test::messageOf;

namespace {

constexpr int64_t kRows = 1000, kWidth = 5;

class Rows : public testing::Test {
protected:
  Rows() { std::filesystem::create_directories(base); }
  ~Rows() override { std::filesystem::remove_all(base); }
  std::string folder(const std::string &name) const { return base + "/" + name; }

  static RowStoreOptions options(RowField::Stored stored = RowField::Stored::F32, int64_t shards = 3) {
    return {.fields = {{"table", kWidth, stored, 0.5f}, {"sum", kWidth}}, .rows = kRows, .shards = shards, .seed = 7};
  }

  std::string base = testing::TempDir() + "/rows" + std::to_string(getpid());
};

/// What a step has: a table and a moment of some rows.
struct Memory {
  explicit Memory(int64_t slots) : table(slots * kWidth), sum(slots * kWidth) {}
  RowMemory access() {
    return [this](size_t field) { return field == 0 ? table.data() : sum.data(); };
  }
  /// Adagrad with the gradient `g` in all elements.
  void move(int64_t slot, float g) {
    for (int64_t k = slot * kWidth; k < (slot + 1) * kWidth; ++k) {
      sum[k] += g * g;
      table[k] -= 0.1f * g / (std::sqrt(sum[k]) + 1e-10f);
    }
  }
  bool sameRow(int64_t slot, const Memory &other, int64_t row) const {
    return std::equal(&table[slot * kWidth], &table[slot * kWidth] + kWidth, &other.table[row * kWidth]) &&
           std::equal(&sum[slot * kWidth], &sum[slot * kWidth] + kWidth, &other.sum[row * kWidth]);
  }
  std::vector<float> table, sum;
};

/// All rows of a store that nobody wrote.
Memory firstValues(const RowStore &store) {
  Memory all(kRows);
  for (int64_t row = 0; row < kRows; ++row)
    store.unpack(0, row, nullptr, &all.table[row * kWidth]);
  return all;
}

/// Rows of `store` that differ from `all`.
int64_t countDifferent(RowStore &store, const Memory &all) {
  Memory few(10);
  RowCache cache(store, few.access(), 10);
  int64_t count = 0;
  for (int64_t row = 0; row < kRows; ++row) {
    int64_t slot;
    cache.prepare({&row, 1}, {&slot, 1}, false);
    count += !few.sameRow(slot, all, row);
  }
  return count;
}

TEST_F(Rows, batchesComputeWhatTheyWouldInMemory) {
  // Rows of a batch at most: of many, several threads read some.
  for (auto [slots, most] : {std::pair<int64_t, int64_t>{40, 39}, {200, 39}, {1000, 39}, {450, 340}}) {
    std::string path = folder("store" + std::to_string(slots));
    RowStore store(path, options());
    Memory all = firstValues(store), few(slots);
    RowCache cache(store, few.access(), slots, 3);
    std::mt19937 random(5);
    auto draw = [&](int64_t count) { // small rows are more frequent
      std::vector<int64_t> rows;
      for (int64_t i = 0; i < count; ++i)
        rows.push_back(random() % (random() % kRows + 1));
      return rows;
    };
    std::vector<int64_t> next = draw(30), places;
    int64_t lookups = 0;
    for (int step = 0; step < 400; ++step) {
      std::vector<int64_t> rows = next;
      next = draw(1 + random() % most);
      places.assign(rows.size(), -1);
      cache.prepare(rows, places);
      lookups += rows.size();
      for (unsigned times = random() % 3; times-- > 0;) // what comes, or something else
        cache.prefetch(random() % 4 ? next : draw(20));
      std::map<int64_t, int64_t> placeOf;
      std::set<int64_t> taken;
      for (size_t i = 0; i < rows.size(); ++i) {
        auto [known, isNew] = placeOf.try_emplace(rows[i], places[i]);
        ASSERT_EQ(known->second, places[i]);
        ASSERT_EQ(taken.insert(places[i]).second, isNew) << "two rows in one slot";
        if (!isNew)
          continue;
        ASSERT_TRUE(few.sameRow(places[i], all, rows[i])) << "row " << rows[i] << " in step " << step;
        float g = static_cast<float>(random() % 100) / 10;
        few.move(places[i], g);
        all.move(rows[i], g);
      }
      if (step % 150 == 99) {
        int64_t row = random() % kRows;
        cache.forget(row);
        store.unpack(0, row, nullptr, &all.table[row * kWidth]);
        std::fill_n(&all.sum[row * kWidth], kWidth, 0.f);
      }
    }
    cache.flush();
    RowCache::Statistics s = cache.statistics();
    EXPECT_EQ(s.lookups, lookups);
    if (slots < kRows) {
      EXPECT_GT(s.prefetched, 0);
    }
    EXPECT_LE(s.prefetched, s.missed);
    EXPECT_GE(s.distinct, s.missed);
    if (slots == kRows) {
      EXPECT_LE(s.missed, kRows + 2); // rows that were forgotten came twice
    }
    RowStore again(path);
    EXPECT_EQ(countDifferent(again, all), 0);
  }
}

/// A step that sums gradients over three batches: where it goes on to name the rows of those that have not moved.
struct SummingMemory : Memory {
  SummingMemory(int64_t slots, std::vector<int64_t> named) : Memory(slots), named(std::move(named)) {}
  RowMemory access() {
    return {[this](size_t field) { return field == 0 ? table.data() : sum.data(); },
            [this] { return std::span(named); }};
  }
  std::vector<int64_t> named;
};

TEST_F(Rows, thoseThatAStepNamesKeepTheirSlots) {
  constexpr int64_t room = 20, batches = 3;
  std::string path = folder("store");
  auto store = std::make_unique<RowStore>(path, options());
  Memory all = firstValues(*store);
  std::mt19937 random(3);
  int64_t slots = 70, opened = 0, forgotten = 0;
  auto few = std::make_unique<SummingMemory>(slots, std::vector<int64_t>(room * batches, slots));
  auto cache = std::make_unique<RowCache>(*store, few->access(), slots, 2);
  std::vector<int64_t> rowOf(room * batches, -1); // what the step names, by rows
  std::map<int64_t, float> sums;
  auto draw = [&] {
    std::set<int64_t> rows;
    for (int64_t count = 1 + random() % room; static_cast<int64_t>(rows.size()) < count;)
      rows.insert(random() % (random() % kRows + 1));
    return std::vector<int64_t>(rows.begin(), rows.end());
  };
  std::vector<int64_t> next = draw(), places;
  for (int64_t step = 0; step < 600; ++step) {
    std::vector<int64_t> rows = next;
    next = draw();
    places.assign(rows.size(), -1);
    cache->prepare(rows, places);
    if (random() % 3)
      cache->prefetch(random() % 4 ? next : draw());
    for (size_t i = 0; i < rows.size(); ++i) {
      ASSERT_TRUE(few->sameRow(places[i], all, rows[i])) << "row " << rows[i] << " in step " << step;
      size_t at = static_cast<size_t>(step % batches * room) + i;
      few->named[at] = places[i];
      rowOf[at] = rows[i];
      sums[rows[i]] += static_cast<float>(random() % 100) / 10;
    }
    if (step % batches == batches - 1) {
      std::set<int64_t> moved;
      for (size_t at = 0; at < few->named.size(); ++at) {
        if (few->named[at] == slots)
          continue;
        ASSERT_TRUE(few->sameRow(few->named[at], all, rowOf[at]) || moved.contains(rowOf[at])) << "step " << step;
        if (moved.insert(rowOf[at]).second)
          few->move(few->named[at], sums.at(rowOf[at]));
      }
      for (auto [row, g] : sums)
        all.move(row, g);
      ASSERT_EQ(moved.size(), sums.size());
      sums.clear();
      few->named.assign(few->named.size(), slots);
      rowOf.assign(rowOf.size(), -1);
    }
    if (random() % 20 == 0 && !sums.empty()) { // what was summed for it is dropped
      int64_t row = sums.begin()->first;
      cache->forget(row);
      sums.erase(row);
      store->unpack(0, row, nullptr, &all.table[row * kWidth]);
      std::fill_n(&all.sum[row * kWidth], kWidth, 0.f);
      for (size_t at = 0; at < rowOf.size(); ++at)
        if (rowOf[at] == row) {
          ASSERT_EQ(few->named[at], slots);
          ++forgotten;
        }
    }
    if (random() % 20 == 0)
      cache->flush(step);
    if (random() % 20 == 0) { // with other slots, in the middle of a sum as a rule
      cache->flush(step);
      std::vector<int64_t> named = few->named;
      cache.reset();
      store = std::make_unique<RowStore>(path, true);
      bool isLate = random() % 2; // states are loaded behind
      slots = 60 + random() % 40;
      few = std::make_unique<SummingMemory>(slots, isLate ? std::vector<int64_t>(named.size(), slots) : named);
      cache = std::make_unique<RowCache>(*store, few->access(), slots, 2);
      if (isLate) {
        cache->prefetch(draw());
        cache->prepare(rows, places, false);
        few->named = named;
      }
      ++opened;
    }
  }
  EXPECT_GT(opened, 10);
  EXPECT_GT(forgotten, 10);
  cache->flush();
  cache.reset();
  EXPECT_EQ(countDifferent(*store, all), 0);
}

TEST_F(Rows, namedRowsThatCannotBeThereAreErrors) {
  RowStore store(folder("store"), options());
  std::vector<int64_t> rows = {1, 2, 3}, places(3);
  SummingMemory few(5, {5, 5, 5, 5, 5, 5});
  RowCache cache(store, few.access(), 5);
  cache.prepare(rows, places);
  std::copy(places.begin(), places.end(), few.named.begin());
  EXPECT_EQ(messageOf([&] { cache.prepare(std::vector<int64_t>{4, 5, 6}, places); }),
            "a batch requires a slot for each of its different rows beside the 3 of batches whose gradients are summed "
            "with its, got 5 slots");
  cache.prepare(std::vector<int64_t>{4, 5, 3}, places);
  cache.flush(7);

  auto refused = [&](int64_t slots, std::vector<int64_t> named) {
    RowStore again(folder("store"), true);
    SummingMemory other(slots, std::move(named));
    RowCache opened(again, other.access(), slots);
    return messageOf([&] { opened.prepare(rows, places); });
  };
  EXPECT_EQ(refused(5, {4, 5, 5}),
            "a step that sums gradients over batches names slot 4, and the folder does not say which row it has: rows "
            "are required to be of the step that the states are of");
  EXPECT_EQ(refused(2, {0, 1, 2}), "rows of batches whose gradients are summed require a slot each, 3, got 2 slots");
  EXPECT_EQ(refused(5, {2, 1, 0}), "nothing");
}

TEST_F(Rows, frequentRowsStay) {
  RowStore store(folder("store"), options());
  Memory few(60);
  RowCache cache(store, few.access(), 60);
  std::vector<int64_t> rows(30), places(30);
  int64_t missed = 0;
  for (int64_t step = 0; step < 100; ++step) {
    for (int64_t i = 0; i < 30; ++i) // ten rows come always, twenty never again
      rows[i] = i < 10 ? i : 10 + (step * 20 + i) % 990;
    cache.prepare(rows, places);
    missed = cache.statistics().missed;
  }
  EXPECT_EQ(missed, 10 + 100 * 20);
}

TEST_F(Rows, snapshotsHoldWhatChanged) {
  RowStore store(folder("store"), options());
  Memory all = firstValues(store), few(50);
  RowCache cache(store, few.access(), 50);
  std::vector<std::string> names;
  auto move = [&](int64_t first, int64_t count) {
    for (int64_t row = first; row < first + count; ++row) {
      int64_t slot;
      cache.prepare({&row, 1}, {&slot, 1});
      few.move(slot, static_cast<float>(row));
      all.move(row, static_cast<float>(row));
    }
    cache.flush();
  };
  move(0, 300);
  std::vector<std::string> first = store.snapshot(folder("all"), 100 * 48); // a row is 48 bytes there
  EXPECT_EQ(first.size(), 3u);
  EXPECT_EQ(first.back(), folder("all") + "-00003-of-00003.safetensors");
  move(290, 20);
  cache.forget(5);
  store.unpack(0, 5, nullptr, &all.table[5 * kWidth]);
  std::fill_n(&all.sum[5 * kWidth], kWidth, 0.f);
  std::vector<std::string> second = store.snapshot(folder("more"));
  ASSERT_EQ(second.size(), 1u);
  EXPECT_NEAR(static_cast<double>(std::filesystem::file_size(second[0])), 21 * 48 + 400, 400); // and a header

  RowStore other(folder("other"), options(RowField::Stored::F32, 1));
  for (const auto &part : {first, second})
    for (const std::string &name : part)
      other.apply(name);
  other.flush();
  EXPECT_EQ(countDifferent(other, all), 0);
}

TEST_F(Rows, narrowRowsAreRounded) {
  for (auto stored : {RowField::Stored::BF16, RowField::Stored::I8}) {
    std::string path = folder(stored == RowField::Stored::I8 ? "i8" : "bf16");
    RowStore store(path, options(stored));
    EXPECT_EQ(store.recordBytes(), (stored == RowField::Stored::I8 ? 4 + kWidth : 2 * kWidth) + 4 * kWidth);
    Memory few(4);
    RowCache cache(store, few.access(), 4);
    std::vector<std::array<float, kWidth>> wanted = {{1, -2, 0.1f, 3e-30f, -127},
                                                     {0, 0, 0, 0, 0},
                                                     {1e30f, -1e30f, 5e29f, 1, -0.f},
                                                     {1 + 1.f / 256, 1 + 3.f / 256, 1, 2, 3}};
    for (int64_t row = 0; row < 4; ++row) {
      int64_t slot;
      cache.prepare({&row, 1}, {&slot, 1});
      std::copy(wanted[row].begin(), wanted[row].end(), &few.table[slot * kWidth]);
    }
    cache.flush();
    RowStore again(path);
    RowCache reading(again, few.access(), 4);
    for (int64_t row = 0; row < 4; ++row) {
      int64_t slot;
      reading.prepare({&row, 1}, {&slot, 1}, false);
      float most = 0;
      for (float value : wanted[row])
        most = std::max(most, std::abs(value));
      for (int64_t k = 0; k < kWidth; ++k) {
        double got = few.table[slot * kWidth + k], value = wanted[row][k];
        // Half a step: of 2^-7 of the value, or of a 127th of the greatest.
        double bound = stored == RowField::Stored::I8 ? most / 254 * (1 + 1e-5) : std::abs(value) / 256;
        EXPECT_LE(std::abs(got - value), bound) << row << " " << k;
      }
    }
    if (stored == RowField::Stored::BF16) { // ties go to the even one
      int64_t row = 3, slot;
      reading.prepare({&row, 1}, {&slot, 1}, false);
      EXPECT_EQ(few.table[slot * kWidth], 1.f);
      EXPECT_EQ(few.table[slot * kWidth + 1], 1 + 4.f / 256);
    }
  }
}

TEST_F(Rows, errorsNameWhatIsWrong) {
  auto message = [](auto body) { return messageOf(body); };
  EXPECT_EQ(message([&] { RowStore(folder("a"), {.fields = {{"t", 1}}, .rows = 0}); }),
            "a row store requires 1 to 2^36 rows, got 0");
  EXPECT_EQ(message([&] { RowStore(folder("a"), {.fields = {{"t", 1}, {"t", 2}}, .rows = 1}); }),
            "a row store requires fields of different names, got 't' twice");
  EXPECT_EQ(message([&] { RowStore(folder("a"), {.fields = {{"t", 0}}, .rows = 1}); }),
            "field 't' requires 1 to 2^20 elements, got 0");
  Memory few(2);
  {
    RowStore store(folder("store"), options());
    EXPECT_EQ(message([&] { RowStore(folder("store"), options()); }),
              "'" + folder("store") + "': the folder holds a row store already");
    RowCache cache(store, few.access(), 2);
    std::vector<int64_t> rows = {1, 2, 1, 3, 4}, places(5);
    EXPECT_EQ(message([&] { cache.prepare(rows, places); }),
              "a batch requires a slot for each of its different rows, got 2 slots");
    rows = {2, kRows, 1, 1, 1};
    EXPECT_EQ(message([&] { cache.prepare(rows, places); }), "a table requires rows from 0 to 999, got 1000");
    EXPECT_EQ(message([&] { cache.prepare(rows, std::span(places).first(2)); }),
              "prepare requires a place for each of 5 rows, got 2");
    rows = {1, 3, 1, 1, 3};
    cache.prepare(rows, places);
    few.move(places[1], 1); // is lost, as the store is not flushed
  }
  EXPECT_EQ(
      message([&] { RowStore again(folder("store")); }),
      "'" + folder("store/index") +
          "': is missing: the rows were never flushed, and whoever wrote them is gone; make a store from snapshots");
  {
    RowStore store(folder("other"), options());
    RowCache cache(store, few.access(), 2);
    int64_t row = 998, place;
    cache.prepare({&row, 1}, {&place, 1});
    cache.flush();
  }
  {
    RowStore reading(folder("other"));
    RowCache cache(reading, few.access(), 2);
    int64_t row = 998, place;
    EXPECT_EQ(message([&] { cache.prepare({&row, 1}, {&place, 1}); }),
              "rows of a store that is open for reading cannot be moved");
    std::filesystem::resize_file(folder("other/0.rows"), 280); // segments of 32 records: 32 rows, then 24 bytes
    EXPECT_EQ(message([&] { cache.prepare({&row, 1}, {&place, 1}, false); }),
              "'" + folder("other/0.rows") + "' at byte 256: the file ends before a row that was written");
    EXPECT_EQ(message([&] { cache.prepare({&row, 1}, {&place, 1}, false); }),
              "'" + folder("other/0.rows") + "' at byte 256: the file ends before a row that was written")
        << "a row that was not read is in no slot";
  }
  auto change = [&](const std::string &name, int64_t at, const std::string &bytes) {
    std::fstream file(folder("other/" + name), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at);
    file << bytes;
  };
  std::string index = "'" + folder("other/index") + "': ";
  auto open = [&] { return message([&] { RowStore again(folder("other")); }); };
  change("index", 100, "x");
  EXPECT_EQ(open(), index + "is damaged: its checksum differs");
  std::filesystem::resize_file(folder("other/index"), 5);
  EXPECT_EQ(open(), index + "requires 5172 bytes, got 5");
  std::filesystem::remove(folder("other/index"));
  EXPECT_EQ(open(),
            index +
                "is missing: the rows were never flushed, and whoever wrote them is gone; make a store from snapshots");
  auto describe = [&](const std::string &text) { std::ofstream(folder("other/rows.json")) << text; };
  std::string description = "'" + folder("other/rows.json") + "': ";
  describe("{\"rows\": 3");
  EXPECT_EQ(open(), description + "requires a row store's description in JSON");
  std::string fields = ", \"shards\": 1, \"seed\": 1, \"fields\": [{\"name\": \"t\", \"count\": 4, \"bound\": 0, "
                       "\"stored\": \"f32\"}]}";
  describe("{\"segment\": 1, \"rows\": 18446744073709551615" + fields);
  EXPECT_EQ(open(), description + "a row store requires 1 to 2^36 rows, got 9223372036854775807");
  describe("{\"segment\": 1, \"rows\": 1.5" + fields);
  EXPECT_EQ(open(), description + "a row store requires 1 to 2^36 rows, got -1");
  for (const char *seed : {"18446744073709551616", "1.5", "-1", "\"1\""}) {
    std::string other = fields;
    describe("{\"segment\": 1, \"rows\": 3" +
             other.replace(other.find("\"seed\": 1"), 9, std::string("\"seed\": ") + seed));
    EXPECT_EQ(open(), description + "requires a seed of 0 to 2^64 - 1");
  }
  describe("{\"segment\": 70000, \"rows\": 1000000" + fields);
  EXPECT_EQ(open(), description + "requires segments of 1 to 2^16 records and a MiB, got 70000");
  describe("{\"segment\": 1" + fields);
  EXPECT_NE(open().find("key 'rows' not found"), std::string::npos);
}

/// A table of a log that is cleaned often, and what rows should hold.
struct LoggedTable {
  LoggedTable(const std::string &folder, const RowStoreOptions &options) : store(folder, options) {
    all = std::make_unique<Memory>(firstValues(store));
  }
  /// Writes a row with numbers that nobody wrote before.
  void write(int64_t row) {
    float value = static_cast<float>(++count);
    std::fill_n(&all->table[row * kWidth], kWidth, value);
    std::fill_n(&all->sum[row * kWidth], kWidth, -value);
    char *record = store.append(row);
    store.pack(0, &all->table[row * kWidth], record);
    store.pack(1, &all->sum[row * kWidth], record);
  }
  void forget(int64_t row) {
    store.forget(row);
    store.unpack(0, row, nullptr, &all->table[row * kWidth]);
    std::fill_n(&all->sum[row * kWidth], kWidth, 0.f);
  }
  RowStore store;
  std::unique_ptr<Memory> all;
  int64_t count = 0;
};

TEST_F(Rows, theLogHoldsTheNewestRecordOfEachRow) {
  for (int64_t flushEach : {1'000'000, 700, 3000}) {
    std::string path = folder("log" + std::to_string(flushEach));
    LoggedTable table(path, options());
    ASSERT_EQ(table.store.segmentRecords(), 32);
    std::mt19937 random(9);
    Memory flushed = *table.all;
    for (int64_t i = 1; i <= 40'000; ++i) {
      int64_t row = random() % (random() % kRows + 1);
      random() % 50 ? table.write(row) : table.forget(row);
      if (i % flushEach == 0) {
        table.store.flush();
        flushed = *table.all;
      }
      if (i % 5000 == 4321 && flushEach < i) { // what a process sees that opens it now: the last flush
        RowStore other(path);
        ASSERT_EQ(countDifferent(other, flushed), 0) << i;
      }
    }
    // Twice the room of the table, and twice that where the last flush keeps segments.
    EXPECT_LE(table.store.segments(), flushEach > 40'000 ? 69 : 2 * 69);
    EXPECT_EQ(countDifferent(table.store, *table.all), 0);
    table.store.flush();
    int64_t segments = table.store.segments();
    RowStore again(path, true); // goes on
    for (int i = 0; i < 3000; ++i) {
      int64_t row = i % 300;
      std::fill_n(&table.all->table[row * kWidth], kWidth, static_cast<float>(i));
      again.pack(0, &table.all->table[row * kWidth], again.append(row));
      std::vector<char> record(again.recordBytes());
      again.read({&row, 1}, record.data());
      again.unpack(1, row, record.data(), &table.all->sum[row * kWidth]);
    }
    EXPECT_EQ(countDifferent(again, *table.all), 0);
    EXPECT_LE(again.segments(), std::max<int64_t>(segments, 2 * 69));
  }
}

TEST_F(Rows, rowsThatCannotBeWrittenStayInMemory) {
  RowStore store(folder("store"), options(RowField::Stored::F32, 1));
  Memory all = firstValues(store), few(100);
  RowCache cache(store, few.access(), 100, 2);
  std::mt19937 random(11);
  rlimit old;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  auto handler = signal(SIGXFSZ, SIG_IGN);
  auto limit = [&](rlim_t bytes) {
    rlimit both = {std::min(bytes, old.rlim_max), old.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &both), 0);
  };
  int failures = 0;
  for (int step = 0; step < 300; ++step) {
    std::vector<int64_t> rows(20), places(20), next(20);
    for (int64_t &row : rows)
      row = random() % kRows;
    for (int64_t &row : next)
      row = random() % kRows;
    if (step % 10 == 5) // the disk is full
      limit(4096);
    for (int tries = 0;; ++tries) {
      std::string text = messageOf([&] { cache.prepare(rows, places); });
      if (text == "nothing" || tries == 3)
        break;
      ++failures;
      EXPECT_EQ(text, "'" + folder("store/0.rows") + "': cannot be written: File too large");
      if (tries == 1) // there is room again
        limit(old.rlim_cur);
    }
    limit(old.rlim_cur);
    for (size_t i = 0; i < rows.size(); ++i) {
      if (std::find(rows.begin(), rows.begin() + i, rows[i]) != rows.begin() + i)
        continue;
      ASSERT_TRUE(few.sameRow(places[i], all, rows[i])) << "row " << rows[i] << " in step " << step;
      few.move(places[i], static_cast<float>(step));
      all.move(rows[i], static_cast<float>(step));
    }
    if (step % 20 == 4) { // fails while it reads ahead
      limit(4096);
      cache.prefetch(next);
      std::vector<int64_t> slots(20);
      for (int i = 0; i < 3; ++i)
        failures += messageOf([&] { cache.prepare(next, slots, false); }) != "nothing";
      limit(old.rlim_cur);
    }
  }
  EXPECT_GT(failures, 20);
  limit(4096);
  EXPECT_EQ(messageOf([&] { cache.flush(); }), "'" + folder("store/0.rows") + "': cannot be written: File too large");
  limit(old.rlim_cur);
  signal(SIGXFSZ, handler);
  cache.flush();
  RowStore again(folder("store"));
  EXPECT_EQ(countDifferent(again, all), 0);
}

TEST_F(Rows, aProcessThatIsKilledLeavesItsLastFlushAndSnapshots) {
  for (int killAt : {3, 60, 61, 77, 100, 143}) {
    std::string path = folder("killed" + std::to_string(killAt));
    int progress[2];
    ASSERT_EQ(pipe(progress), 0);
    pid_t child = fork();
    if (child == 0) { // trains until it is killed: a flush each 20 steps, a snapshot each 50
      RowStore store(path, options());
      Memory few(60);
      RowCache cache(store, few.access(), 60, 1);
      std::mt19937 random(1);
      std::vector<int64_t> rows(30), places(30);
      for (int step = 1;; ++step) {
        for (int64_t &row : rows)
          row = random() % kRows;
        cache.prepare(rows, places);
        for (size_t i = 0; i < rows.size(); ++i)
          few.move(places[i], static_cast<float>(step));
        if (step % 20 == 0 || step % 50 == 0)
          cache.flush();
        if (step % 50 == 0)
          store.snapshot(path + "-" + std::to_string(step));
        if (write(progress[1], "s", 1) != 1)
          _exit(1);
        while (step == 170)
          pause();
      }
    }
    ASSERT_GT(child, 0);
    close(progress[1]);
    char byte;
    for (int i = 0; i < killAt; ++i)
      ASSERT_EQ(read(progress[0], &byte, 1), 1);
    ASSERT_EQ(kill(child, SIGKILL), 0);
    int status;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status));
    int64_t steps = killAt; // of which we know
    while (read(progress[0], &byte, 1) == 1)
      ++steps;
    close(progress[0]);
    // What it would be after any number of steps.
    RowStore first(folder("first" + std::to_string(killAt)), options());
    Memory now = firstValues(first);
    std::vector<std::unique_ptr<Memory>> flushes; // after each
    std::map<int64_t, std::unique_ptr<Memory>> snapshots;
    std::mt19937 random(1);
    for (int64_t step = 1; step <= steps + 1; ++step) {
      for (int i = 0; i < 30; ++i)
        now.move(random() % kRows, static_cast<float>(step));
      if (step % 20 == 0 || step % 50 == 0)
        flushes.push_back(std::make_unique<Memory>(now));
      if (step % 50 == 0)
        snapshots[step] = std::make_unique<Memory>(now);
    }
    // The step after the last that was told may have been done as well, in whole or in part.
    std::string text = messageOf([&] {
      RowStore again(path);
      bool isLast = !flushes.empty() && countDifferent(again, *flushes.back()) == 0;
      bool isBefore = flushes.size() > 1 && countDifferent(again, *flushes[flushes.size() - 2]) == 0;
      EXPECT_TRUE(isLast || (isBefore && (steps + 1) % 10 == 0)) << killAt << ", " << steps;
    });
    if (text != "nothing") {
      EXPECT_LT(steps, 20) << text;
      EXPECT_NE(text.find("never flushed"), std::string::npos) << text;
    }
    RowStore restored(folder("restored" + std::to_string(killAt)), options());
    int64_t last = 0;
    for (int64_t step = 50; std::filesystem::exists(path + "-" + std::to_string(step) + "-00001-of-00001.safetensors");
         step += 50)
      restored.apply(path + "-" + std::to_string(last = step) + "-00001-of-00001.safetensors");
    EXPECT_GE(last, steps / 50 * 50);
    if (last)
      EXPECT_EQ(countDifferent(restored, *snapshots.at(last)), 0) << last;
  }
}

TEST_F(Rows, stagedFlushesAreThoseOfTheirMark) {
  std::string path = folder("store");
  Memory first(0), second(0);
  {
    LoggedTable table(path, options());
    for (int64_t i = 0; i < 3000; ++i)
      table.write(i * 7 % kRows);
    table.store.flush(1);
    first = *table.all;
    for (int64_t i = 0; i < 3000; ++i)
      table.write(i * 11 % kRows);
    second = *table.all;
    table.store.stage(2); // and is killed
  }
  for (bool isCommitted : {false, true}) { // opened for reading, nothing is decided
    RowStore before(path);
    EXPECT_FALSE(before.opensAt(2));
    EXPECT_EQ(before.flushedMark(), 1);
    ASSERT_EQ(countDifferent(before, first), 0);
    if (!isCommitted)
      continue;
    Memory few(10);
    RowStore after(path, true);
    RowCache cache(after, few.access(), 10);
    EXPECT_FALSE(cache.opensAt(3));
    EXPECT_TRUE(cache.opensAt(2));
    EXPECT_EQ(after.flushedMark(), 2);
    ASSERT_EQ(countDifferent(after, second), 0);
  }
  // A row that is written undoes what was staged.
  RowStore last(path, true);
  last.stage(5);
  last.append(3);
  EXPECT_EQ(messageOf([&] { last.commit(); }),
            "'" + path + "': committing requires a flush that was staged, with no row written since");
  EXPECT_FALSE(last.opensAt(5));
  RowStore reader(path);
  EXPECT_EQ(reader.flushedMark(), 2);
  EXPECT_EQ(countDifferent(reader, second), 0);
}

TEST_F(Rows, whatChangedIsKnownAfterOpeningAgain) {
  {
    LoggedTable table(folder("store"), options());
    for (int64_t row = 0; row < 10; ++row)
      table.write(row);
    table.store.flush();
    table.store.snapshot(folder("a"));
    table.write(3);
    table.store.flush();
  }
  RowStore again(folder("store"), true);
  again.append(5);
  std::vector<std::string> names = again.snapshot(folder("b"));
  EXPECT_NEAR(static_cast<double>(std::filesystem::file_size(names.at(0))), 2 * 48 + 400,
              400); // rows 3 and 5, and a header
}

TEST_F(Rows, idsGetAndLoseRowsAsInAModelOfSets) {
  RowVocabulary vocabulary({.rows = 40, .admitAfter = 3, .candidates = 1 << 20});
  struct Known {
    int64_t row, count, seen;
  };
  std::map<int64_t, Known> known;
  std::map<int64_t, int64_t> counted;
  std::set<int64_t> free;
  for (int64_t row = 1; row < 40; ++row)
    free.insert(row);
  std::mt19937_64 random(3);
  int64_t unknown = 0;
  for (int64_t batch = 1; batch <= 300; ++batch) {
    std::vector<int64_t> ids(20), rows(20);
    for (int64_t &id : ids)
      id = static_cast<int64_t>(0x9E3779B97F4A7C15u * (random() % (random() % 120 + 1))) -
           (random() % 2); // far apart, or beside each other
    vocabulary.rowsOf(ids, rows);
    for (size_t i = 0; i < ids.size(); ++i) {
      int64_t wanted = 0;
      if (auto found = known.find(ids[i]); found != known.end()) {
        ++found->second.count;
        found->second.seen = batch;
        wanted = found->second.row;
      } else if (++counted[ids[i]] >= 3 && !free.empty()) {
        wanted = *free.begin();
        free.erase(wanted);
        known[ids[i]] = {wanted, counted[ids[i]], batch};
        counted.erase(ids[i]);
      } else {
        ++unknown;
      }
      ASSERT_EQ(rows[i], wanted) << "batch " << batch << " id " << ids[i];
    }
    if (batch % 40 == 0) {
      std::set<int64_t> leave;
      for (auto entry = known.begin(); entry != known.end();)
        if (batch - entry->second.seen >= 4 && entry->second.count < 30) {
          leave.insert(entry->second.row);
          entry = known.erase(entry);
        } else {
          ++entry;
        }
      free.insert(leave.begin(), leave.end());
      EXPECT_EQ(vocabulary.evict({.age = 4, .count = 30}), std::vector<int64_t>(leave.begin(), leave.end()));
    }
    ASSERT_EQ(vocabulary.size(), static_cast<int64_t>(known.size()));
    if (batch == 150) { // what is saved goes on in the same way
      vocabulary.save(folder("vocabulary"));
      vocabulary = RowVocabulary(folder("vocabulary"));
      unknown = 0;
    }
  }
  EXPECT_EQ(vocabulary.unknown(), unknown);
  std::vector<int64_t> ids = {12345, known.begin()->first}, rows(2);
  for (int i = 0; i < 5; ++i)
    vocabulary.rowsOf(ids, rows, false);
  EXPECT_EQ(rows, (std::vector<int64_t>{0, known.begin()->second.row}));
}

TEST_F(Rows, candidatesAreFew) {
  RowVocabulary vocabulary({.rows = 10, .admitAfter = 4, .candidates = 8});
  std::vector<int64_t> row(1);
  auto see = [&](int64_t id) { return vocabulary.rowsOf({&id, 1}, row), row[0]; };
  see(1), see(1), see(1);
  for (int64_t id = 100; id < 107; ++id) // with the seventh of these there are eight: three become one, ones go
    EXPECT_EQ(see(id), 0);
  EXPECT_EQ(see(1), 0); // 2
  EXPECT_EQ(see(1), 0);
  EXPECT_EQ(see(1), 1);
  EXPECT_EQ(messageOf([] { RowVocabulary({.rows = 1}); }), "a vocabulary of rows requires 2 to 2^32 rows, got 1");
}

TEST_F(Rows, damagedVocabulariesAreErrorsThatNameTheFile) {
  std::string path = folder("vocabulary");
  using Values = std::vector<int64_t>;
  auto open = [&](const std::map<std::string, Values> &changes) {
    std::map<std::string, Values> values = {
        {"settings", {40, 2, 100, 9}}, {"ids", {5, 8}},        {"rows", {1, 4}}, {"counts", {3, 2}}, {"seen", {9, 1}},
        {"candidates", {1, 27}},       {"occurrences", {1, 1}}};
    std::vector<const char *> names;
    std::vector<sinter_tensor> tensors;
    for (auto &[name, content] : values) {
      if (auto change = changes.find(name); change != changes.end())
        content = change->second;
      names.push_back(name.c_str());
      tensors.push_back({.data = content.data(),
                         .dtype = SINTER_I64,
                         .rank = 1,
                         .dims = {static_cast<int64_t>(content.size())},
                         .strides = nullptr});
    }
    check(sinter_safetensors_write(path.c_str(), names.data(), tensors.data(), static_cast<int32_t>(names.size())));
    return messageOf([&] {
      RowVocabulary vocabulary(path);
      Values ids = {100, 101, 5, 102, 103}, rows(5); // takes the lowest rows that are free
      vocabulary.rowsOf(ids, rows);
      vocabulary.rowsOf(ids, rows);
      EXPECT_EQ(rows, (Values{2, 3, 1, 5, 6}));
      EXPECT_EQ(vocabulary.evict({.age = 1}), Values{4});
    });
  };
  const std::string file = "'" + path + "': ",
                    number = file + "is no vocabulary of rows: an id or a row comes twice, or a number is out of range",
                    candidate = file + "is no vocabulary of rows: a candidate comes twice, or a number is out of range";
  EXPECT_EQ(open({}), "nothing");
  EXPECT_EQ(open({{"settings", {int64_t(1) << 32, 2, 100, 9}}}), "nothing"); // no memory for rows that nobody has
  EXPECT_EQ(open({{"settings", {40, 2, 100}}}), file + "is no vocabulary of rows: it requires four settings");
  EXPECT_EQ(open({{"settings", {1, 2, 100, 9}}}), file + "a vocabulary of rows requires 2 to 2^32 rows, got 1");
  EXPECT_EQ(open({{"settings", {40, 2, 100, -1}}}),
            file + "is no vocabulary of rows: its number of batches is out of range");
  EXPECT_EQ(open({{"seen", {9}}}), file + "is no vocabulary of rows: sizes differ");
  EXPECT_EQ(open({{"rows", {4, 4}}}), number);
  EXPECT_EQ(open({{"rows", {4, 40}}}), number);
  EXPECT_EQ(open({{"ids", {5, 5}}}), number);
  EXPECT_EQ(open({{"counts", {INT64_MAX, 1}}}), number);
  EXPECT_EQ(open({{"seen", {INT64_MIN, 1}}}), number);
  EXPECT_EQ(open({{"occurrences", {INT64_MAX, 1}}}), candidate);
  EXPECT_EQ(open({{"candidates", {5, 6}}}), candidate);
}

} // namespace

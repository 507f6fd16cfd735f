// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of a table in safetensors files: what saveAll wrote comes back whole or not at all.
#include "Messages.h"
#include "runtime/data/RowCache.h"
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace sinter::data;
using sinter::test::messageOf;
namespace fs = std::filesystem;

namespace {

constexpr int64_t kRows = 300, kWidth = 4, kRowBytes = 8 + 2 * 4 * kWidth;

class RowFiles : public testing::Test {
protected:
  RowFiles() { fs::create_directories(base); }
  ~RowFiles() override { fs::remove_all(base); }
  std::string path(const std::string &name) const { return base + "/" + name; }

  static RowStoreOptions options(int64_t shards = 1) {
    return {.fields = {{"table", kWidth, RowField::Stored::F32, 0.5f}, {"sum", kWidth}},
            .rows = kRows,
            .shards = shards,
            .seed = 7};
  }
  /// Element k of field f of a row that `writer` wrote.
  static float element(int writer, size_t f, int64_t row, int64_t k) {
    return static_cast<float>(writer * 10000 + row * 10 + k) + (f ? 0.5f : 0.f);
  }
  static void write(RowStore &store, int writer, int64_t begin, int64_t end, int64_t step) {
    for (int64_t row = begin; row < end; row += step) {
      char *record = store.append(row);
      for (size_t f = 0; f < 2; ++f) {
        float values[kWidth];
        for (int64_t k = 0; k < kWidth; ++k)
          values[k] = element(writer, f, row, k);
        store.pack(f, values, record);
      }
    }
  }
  /// Rows that hold neither what `writer` wrote, if `isWritten` says so, nor their first value.
  static int64_t countOthers(const RowStore &store, int writer, const std::function<bool(int64_t)> &isWritten) {
    int64_t others = 0;
    std::vector<char> record(static_cast<size_t>(store.recordBytes()));
    for (int64_t row = 0; row < kRows; ++row) {
      bool isSame = store.isWritten(row) == isWritten(row);
      if (isSame && isWritten(row))
        store.read({&row, 1}, record.data());
      for (size_t f = 0; f < 2 && isSame; ++f) {
        float found[kWidth], first[kWidth];
        store.unpack(f, row, isWritten(row) ? record.data() : nullptr, found);
        store.unpack(f, row, nullptr, first);
        for (int64_t k = 0; k < kWidth; ++k)
          isSame &= found[k] == (isWritten(row) ? element(writer, f, row, k) : first[k]);
      }
      others += !isSame;
    }
    return others;
  }
  static bool isOdd(int64_t row) { return row % 2 == 1; }
  static bool isOfTen(int64_t row) { return row % 10 == 0; }

  /// Files of odd rows of a table.
  std::vector<std::string> save(const std::string &prefix) {
    RowStore store(path("saved"), options());
    write(store, 1, 1, kRows, 2);
    return store.saveAll(prefix, 60 * kRowBytes);
  }

  std::string base = testing::TempDir() + "/row_files" + std::to_string(getpid());
};

TEST_F(RowFiles, replaceAllRowsOfAnyTable) {
  EXPECT_EQ(save(path("best")).size(), 3u);
  for (int64_t shards : {1, 3}) {
    std::string folder = path("of" + std::to_string(shards));
    {
      RowStore store(folder, options(shards));
      write(store, 2, 0, kRows, 10);
      store.flush(5);
      write(store, 3, 0, kRows, 1);
      store.restore(path("best"));
      EXPECT_EQ(countOthers(store, 1, isOdd), 0);
      // Until it is flushed the folder opens as before.
      EXPECT_EQ(countOthers(RowStore(folder), 2, isOfTen), 0);
      store.flush(9);
    }
    RowStore again(folder);
    EXPECT_EQ(again.flushedMark(), 9);
    EXPECT_EQ(countOthers(again, 1, isOdd), 0);
  }
}

TEST_F(RowFiles, slotsAreEmptyThen) {
  save(path("best"));
  RowStore store(path("store"), options());
  std::vector<float> table(8 * kWidth), sum(8 * kWidth);
  RowCache cache(store, [&](size_t f) { return f ? sum.data() : table.data(); }, 8);
  std::vector<int64_t> rows = {1, 2, 3}, slots(3);
  cache.prepare(rows, slots);
  cache.prefetch(std::vector<int64_t>{5, 6});
  cache.restore(path("best"));
  cache.prepare(rows, slots, false);
  EXPECT_EQ(table[static_cast<size_t>(slots[0] * kWidth)], element(1, 0, 1, 0));
  EXPECT_EQ(sum[static_cast<size_t>(slots[2] * kWidth + 3)], element(1, 1, 3, 3));
  EXPECT_EQ(sum[static_cast<size_t>(slots[1] * kWidth)], 0);
  cache.flush();
  EXPECT_EQ(countOthers(store, 1, isOdd), 0);
}

TEST_F(RowFiles, filesOfOtherProgramsNeedNoChecksum) {
  int64_t rows[] = {7, 3};
  float table[2 * kWidth], sum[2 * kWidth];
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t k = 0; k < kWidth; ++k) {
      table[i * kWidth + k] = element(1, 0, rows[i], k);
      sum[i * kWidth + k] = element(1, 1, rows[i], k);
    }
  const char *names[] = {"rows", "sum", "table"};
  auto matrix = [](float *data) { return sinter_tensor{data, SINTER_F32, 2, {2, kWidth}, nullptr}; };
  sinter_tensor tensors[] = {{rows, SINTER_I64, 1, {2}, nullptr}, matrix(sum), matrix(table)};
  check(sinter_safetensors_write(path("mine-1-of-1.safetensors").c_str(), names, tensors, 3));
  RowStore store(path("store"), options());
  store.restore(path("mine"));
  EXPECT_EQ(countOthers(store, 1, [](int64_t row) { return row == 3 || row == 7; }), 0);
}

class DamagedRowFiles : public RowFiles {
protected:
  /// What restoring into a table with these options says. Its rows are those of its last flush then.
  std::string restored(const RowStoreOptions &options, const std::string &prefix = "best") {
    RowStore store(path("store"), options);
    if (options.fields.size() == 2 && options.rows == kRows) {
      write(store, 2, 0, kRows, 10);
      store.flush(5);
      write(store, 3, 0, kRows, 7);
    }
    std::string message = messageOf([&] { store.restore(path(prefix)); });
    if (options.fields.size() == 2 && options.rows == kRows && message != "nothing") {
      EXPECT_EQ(countOthers(store, 2, isOfTen), 0);
      write(store, 3, 0, kRows, 1); // and it goes on
      store.flush(6);
      EXPECT_EQ(countOthers(RowStore(path("store")), 3, [](int64_t) { return true; }), 0);
    }
    fs::remove_all(path("store"));
    return message;
  }
};

TEST_F(DamagedRowFiles, areNamed) {
  std::vector<std::string> names = save(path("best"));
  EXPECT_EQ(restored(options()), "nothing");
  EXPECT_EQ(restored(options(), "worst"),
            "restoring rows requires files " + path("worst") + "-00001-of-NNNNN.safetensors ..., there are none");
  EXPECT_EQ(restored(options(), "nowhere/best"), "restoring rows requires files " + path("nowhere/best") +
                                                     "-00001-of-NNNNN.safetensors ..., there are none");

  fs::rename(names[1], path("aside"));
  EXPECT_EQ(restored(options()), "'" + path("best") + "': files of rows require all of 3, number 2 is missing");
  fs::copy_file(path("aside"), path("best-00002-of-00004.safetensors"));
  EXPECT_EQ(restored(options()),
            "'" + path("best") + "': files of rows require to be of one table, some are of 3 and some of 4");
  fs::remove(path("best-00002-of-00004.safetensors"));

  fs::copy_file(path("aside"), names[1]);
  std::fstream(names[1], std::ios::in | std::ios::out | std::ios::binary).seekp(-5, std::ios::end).put('\x55');
  EXPECT_EQ(restored(options()), "'" + names[1] + "': is damaged: its checksum differs");
  fs::resize_file(names[1], fs::file_size(names[1]) - 8);
  std::string message = restored(options());
  EXPECT_NE(message.find(names[1]), std::string::npos) << message;
  fs::remove(names[1]);
  fs::rename(path("aside"), names[1]);
  EXPECT_EQ(restored(options()), "nothing");
}

TEST_F(DamagedRowFiles, ofOtherTablesAreNamed) {
  std::vector<std::string> names = save(path("best"));
  std::string first = "'" + names[0] + "': ";
  RowStoreOptions other = options();
  other.rows = kRows + 1;
  EXPECT_EQ(restored(other), first + "requires a table of 300 rows, got one of 301");
  other.rows = 10;
  EXPECT_EQ(restored(other), "'" + names[0] + "' record 5: requires rows from 0 to 9, got 11");
  other = options();
  other.seed = 8;
  EXPECT_EQ(restored(other), first + "requires a table with the seed 7, got 8");
  other = options();
  other.fields[0].bound = 0.25f;
  EXPECT_EQ(restored(other), first + "requires a table whose field 'table' has the bound 0.5, got 0.25");
  other = options();
  other.fields.push_back({"mean", kWidth});
  EXPECT_EQ(restored(other), first + "has no tensor 'mean'");
  other = options();
  other.fields.pop_back();
  other.fields[0].count = 3;
  EXPECT_EQ(restored(other), first + "tensor 'table' requires f32 [n, 3]");
  other.fields[0].count = kWidth; // moments may be left out
  EXPECT_EQ(restored(other), "nothing");
  other.fields[0].name = "rows.table";
  EXPECT_EQ(messageOf([&] { RowStore(path("none"), other); }),
            "a field of a row store requires a name that does not begin with 'rows.' and is not 'rows'");

  RowStore(path("reader"), options()).flush();
  EXPECT_EQ(messageOf([&] { RowStore(path("reader")).restore(path("best")); }),
            "'" + path("reader") + "': rows of a store that is open for reading cannot be restored");
}

TEST_F(RowFiles, newStoresLeaveFilesOfOthers) {
  for (std::string name : {"index", "index.next", "0.rows"}) {
    fs::create_directories(path("store"));
    std::ofstream(path("store/" + name)) << "words of somebody else";
    std::string what = name == "0.rows" ? "is there, and" : "is there and no index of rows, and";
    EXPECT_EQ(messageOf([&] { RowStore store(path("store"), options()); }),
              "'" + path("store/" + name) + "': " + what + " a new row store would write over it; remove it first");
    EXPECT_EQ(fs::file_size(path("store/" + name)), 22u);
    fs::remove_all(path("store"));
  }
  { // the index of a store whose description is gone is nobody's
    RowStore store(path("store"), options());
    store.flush();
  }
  fs::remove(path("store/rows.json"));
  RowStore again(path("store"), options());
  EXPECT_FALSE(fs::exists(path("store/index")));
}

} // namespace

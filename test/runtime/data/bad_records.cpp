// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Records that cannot be read, lines that are too long, data that have changed since a state was saved.
#include "Messages.h"
#include "WrittenFiles.h"
#include "runtime/data/Columns.h"
#include "runtime/data/Crc32c.h"
#include "runtime/data/Csv.h"
#include "runtime/data/JsonLines.h"
#include "runtime/data/Text.h"
#include "runtime/data/TfRecord.h"
#include <filesystem>

using namespace sinter::data;
using sinter::test::messageOf;
using DataBadRecords = sinter::test::WrittenFiles;
using DataLimits = sinter::test::WrittenFiles;
using DataSignature = sinter::test::WrittenFiles;

static size_t countOf(const Dataset &dataset) {
  size_t count = 0;
  Loader loader(dataset);
  for (Record record; loader.next(record);)
    ++count;
  return count;
}

TEST_F(DataBadRecords, bad_rows_stand_between_batches) {
  std::string path = write("a.csv", "a,b\n1,2\nx,2\n3\n4,5\n6,7\n8,y\n");
  Dataset rows = readCsvBatches(path, 10, {.columns = {{"a", SINTER_I64}, {"b", SINTER_I32}}});
  std::vector<std::string> expected = {
      "1", "'" + path + "' record 1 at byte 8: column 'a' requires a value of i64, got 'x'",
      "'" + path + "' record 2 at byte 12: a row of 2 fields is required, got 1", "4 6",
      "'" + path + "' record 5 at byte 22: column 'b' requires a value of i32, got 'y'"};
  for (bool isStopped : {false, true}) { // before each batch and each error
    auto loader = std::make_unique<Loader>(rows);
    std::vector<std::string> seen;
    for (bool goesOn = true; goesOn;) {
      std::string text;
      try {
        Record record;
        goesOn = loader->next(record);
        for (int64_t x : goesOn ? record["a"].as<int64_t>() : std::span<const int64_t>())
          text += (text.empty() ? "" : " ") + std::to_string(x);
      } catch (const Error &error) {
        ASSERT_TRUE(error.skippable());
        text = error.what();
      }
      if (goesOn)
        seen.push_back(text);
      if (isStopped) {
        std::string state = loader->save();
        loader = std::make_unique<Loader>(rows);
        loader->load(state);
      }
    }
    EXPECT_EQ(seen, expected);
  }
  Loader loader(rows.skipErrors());
  int64_t sum = 0;
  for (Record record; loader.next(record);)
    for (int64_t x : record["a"].as<int64_t>())
      sum += x;
  EXPECT_EQ(sum, 11);
  EXPECT_EQ(loader.skipped(), 3);
}

/// Too large, so large that the file ends within it, and cut off, alone and in batches.
TEST_F(DataBadRecords, records_whose_length_is_known_are_passed) {
  auto frame = [](uint64_t length, const std::string &bytes) {
    std::string head(reinterpret_cast<const char *>(&length), 8);
    uint32_t crc = maskedCrc32c(head), sum = maskedCrc32c(bytes);
    return head + std::string(reinterpret_cast<const char *>(&crc), 4) + bytes +
           std::string(reinterpret_cast<const char *>(&sum), 4);
  };
  std::string some = frame(1, "a") + frame(2, "bb"), large(3 << 20, 'x');
  auto read = [&](const std::string &content, int64_t rows) {
    std::string path = write("a.tfrecord", content), seen;
    Dataset records =
        rows ? readTfRecordBatches(path, rows, {.maxRecordBytes = 100}) : readTfRecords(path, {.maxRecordBytes = 100});
    auto loader = std::make_unique<Loader>(records);
    for (bool goesOn = true; goesOn;) {
      try {
        Record record;
        goesOn = loader->next(record);
        for (int64_t i = 0; goesOn && i < record.value(0).count(); ++i)
          seen += std::string(record.value(0).bytes(i)) + " ";
      } catch (const Error &error) {
        EXPECT_TRUE(error.skippable());
        seen += "!" + std::to_string(error.place().record) + " ";
      }
      std::string state = loader->save();
      loader = std::make_unique<Loader>(records);
      loader->load(state);
    }
    return seen;
  };
  for (int64_t rows : {0, 1, 2, 5}) {
    EXPECT_EQ(read(some + frame(large.size(), large) + some, rows), "a bb !2 a bb ");
    EXPECT_EQ(read(frame(101, large.substr(0, 101)) + frame(101, large.substr(0, 101)) + some, rows), "!0 !1 a bb ");
    EXPECT_EQ(read(some + frame(INT64_MAX, large), rows), "a bb !2 ");
    EXPECT_EQ(read(some + frame(UINT64_MAX, "x"), rows), "a bb !2 ");
    EXPECT_EQ(read(some + some.substr(0, 14), rows), "a bb !2 ");
    EXPECT_EQ(read(some + some.substr(0, 5), rows), "a bb !2 ");
  }
}

TEST_F(DataLimits, a_row_has_as_many_bytes_as_are_stated_and_no_more) {
  // Whether or not a row lies within what is read at once.
  for (int64_t most : {10, 300000, 3000000})
    for (const char *end : {"\n", "\r\n", ""}) {
      auto size = static_cast<size_t>(most);
      CsvOptions options{.hasHeader = false, .columns = {{"text", Bytes}}, .maxRowBytes = most};
      std::string path = write("a.csv", "x\n" + std::string(size, 'a') + end);
      EXPECT_EQ(countOf(readCsv(path, options)), 2u);
      write("a.csv", "x\n" + std::string(size + 3, 'a') + end);
      EXPECT_NE(messageOf([&] { countOf(readCsv(path, options)); }).find("byte 2: a row is required to end within"),
                std::string::npos)
          << most;
      JsonOptions json{.columns = {{"a", Bytes}}, .maxLineBytes = most};
      path = write("a.jsonl", "{}\n{\"a\":\"" + std::string(size - 8, 'a') + "\"}" + (*end ? "\n" : ""));
      EXPECT_EQ(countOf(readJsonLines(path, json)), 2u);
      write("a.jsonl", "{}\n{\"a\":\"" + std::string(size - 7, 'a') + "\"}" + (*end ? "\n" : ""));
      EXPECT_NE(messageOf([&] { countOf(readJsonLines(path, json)); }).find("byte 3: a line is required to end within"),
                std::string::npos)
          << most;
    }
}

/// A state fits to a file with the same content, wherever that lies, and to no other of the same size.
TEST_F(DataSignature, a_state_fits_to_the_data_it_was_made_with) {
  auto stateOf = [](const std::string &path) {
    Loader loader(readCsv(path));
    Record record;
    loader.next(record);
    return loader.save();
  };
  for (int64_t rows : {10, 500000}) {
    std::string content = "a\n";
    for (int64_t i = 0; i < rows; ++i)
      content += std::to_string(1000000 + i) + "\n";
    std::string path = write("a.csv", content), state = stateOf(path), end = content;
    Loader same(readCsv(path));
    EXPECT_EQ(messageOf([&] { same.load(state); }), "nothing");
    end[end.size() - 2] = 'x';
    std::string begin = content;
    begin[4] = '7';
    std::string sorted = "a\n";
    for (int64_t i = rows; i-- > 0;)
      sorted += std::to_string(1000000 + i) + "\n";
    for (const std::string &other : {end, begin, sorted}) {
      ASSERT_EQ(other.size(), content.size());
      write("a.csv", other);
      Loader changed(readCsv(path));
      EXPECT_NE(messageOf([&] { changed.load(state); }).find("a pipeline's state requires the pipeline 'csv"),
                std::string::npos);
    }
    write("a.csv", content); // written anew
    Loader again(readCsv(path));
    EXPECT_EQ(messageOf([&] { again.load(state); }), "nothing");
  }
}

TEST_F(DataSignature, a_state_fits_to_the_columns_and_the_tokenizer_it_was_made_with) {
  auto columns = [](const std::string &mean) {
    return FeatureColumns::parse(R"({"columns": [{"name": "a", "normalize": true, "deviation": 1, "mean": )" + mean +
                                 "}]}");
  };
  EXPECT_EQ(columns("1").signature(), columns("1.0").signature());
  EXPECT_NE(columns("1").signature(), columns("1.5").signature());
  std::string path = write("a.txt", "some text to train on, and some more text to train on");
  auto chunks = [&](const Tokenizer &tokenizer) {
    return tokenChunks(readText(path), tokenizer, {.size = 4}).signature();
  };
  auto trained = [](const std::string &text) {
    BpeTrainer trainer;
    trainer.add(text);
    return trainer.train({.size = 260});
  };
  std::string one = "to train, to train, to train on", other = "so much, so much, so much";
  EXPECT_EQ(chunks(trained(one)), chunks(trained(one)));
  EXPECT_NE(chunks(trained(one)), chunks(trained(other)));
  EXPECT_NE(chunks(Tokenizer::ofBytes()), chunks(Tokenizer::ofBytes({"<end>"})));
}

/// Records of a damaged kind, of no kind and without a feature, alone and beside each other, take no other along.
TEST_F(DataBadRecords, a_record_that_is_no_example_takes_no_other_along) {
  std::string path = write("a.tfrecord", "");
  TfRecordWriter writer(path);
  const std::set<int64_t> none = {0, 5, 6, 11, 12, 19}, damaged = {3, 7};
  for (int64_t i = 0; i < 20; ++i)
    writer.write(none.contains(i) ? i == 5 ? std::string() : std::string("\x0A\x7F")
                                  : makeExample({{"x", Value::scalar(i)}}));
  writer.close();
  std::string content(static_cast<size_t>(std::filesystem::file_size(path)), '\0');
  std::ifstream(path, std::ios::binary).read(content.data(), static_cast<std::streamsize>(content.size()));
  size_t at = 0;
  for (int64_t i = 0; i < 20; ++i) {
    uint64_t size;
    std::memcpy(&size, content.data() + at, sizeof size);
    if (damaged.contains(i))
      content[at + 13] = static_cast<char>(content[at + 13] ^ 1);
    at += size + 16;
  }
  std::ofstream(path, std::ios::binary) << content;
  std::string expected;
  for (int64_t i = 0; i < 20; ++i)
    expected += (none.contains(i) || damaged.contains(i) ? "!" : "") + std::to_string(i) + " ";
  for (int64_t rows : {1, 2, 4, 7, 100})
    for (bool isStopped : {false, true}) {
      Dataset examples = readExampleBatches(path, rows, {{.name = "x", .dtype = SINTER_I64}});
      auto loader = std::make_unique<Loader>(examples);
      std::string seen;
      for (bool goesOn = true; goesOn;) {
        try {
          Record batch;
          goesOn = loader->next(batch);
          for (int64_t x : goesOn ? batch["x"].as<int64_t>() : std::span<const int64_t>())
            seen += std::to_string(x) + " ";
        } catch (const Error &error) {
          ASSERT_TRUE(error.skippable()) << error.what();
          EXPECT_EQ(error.place().file, path);
          seen += "!" + std::to_string(error.place().record) + " ";
        }
        if (isStopped) {
          std::string state = loader->save();
          loader = std::make_unique<Loader>(examples);
          loader->load(state);
        }
      }
      EXPECT_EQ(seen, expected) << rows;
      Loader skipping(examples.skipErrors());
      int64_t count = 0;
      for (Record batch; skipping.next(batch);)
        count += batch["x"].count();
      EXPECT_EQ(count, 12);
      EXPECT_EQ(skipping.skipped(), 8);
    }
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options of the readers, which Inputs/files.py does not come to.
#include "Messages.h"
#include "WrittenFiles.h"
#include "runtime/data/Arrays.h"
#include "runtime/data/Csv.h"
#include "runtime/data/TfRecord.h"
#include <algorithm>
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace sinter::data;
using sinter::test::messageOf;

namespace {
using DataTables = sinter::test::WrittenFiles;
class DataRecords : public sinter::test::WrittenFiles {
protected:
  /// Ten records of 8 bytes, of which number 3 does not fit its checksum. Returns the path.
  std::string writeRecordsWithABadOne() {
    std::string path = write("a.tfrecord", "");
    TfRecordWriter writer(path);
    for (int i = 0; i < 10; ++i)
      writer.write("record " + std::to_string(i));
    writer.close();
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(3 * (8 + 16) + 14);
    file << 'X';
    return path;
  }
};
using DataArrays = sinter::test::WrittenFiles;
} // namespace

static std::vector<Record> all(const Dataset &dataset) {
  std::vector<Record> records;
  Loader loader(dataset);
  for (Record record; loader.next(record);)
    records.push_back(record);
  return records;
}

TEST_F(DataTables, columns_are_chosen_and_typed) {
  std::string path = write("a.csv", "a,b,c,d\n1,x,0.5,true\n2,NA,-,0\n");
  auto records = all(readCsv(
      path, {.columns = {{"d", SINTER_I1}, {"a", SINTER_F32}, {"b", Bytes}, {"c", SINTER_F64}}, .missing = {"-"}}));
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0]["d"].as<bool>()[0], true);
  EXPECT_EQ(records[1]["a"].as<float>()[0], 2.0f);
  EXPECT_EQ(records[1]["b"].bytes(), "NA");
  EXPECT_TRUE(std::isnan(records[1]["c"].as<double>()[0]));
  EXPECT_EQ(records[0].name(0), "d");
}

TEST_F(DataTables, missing_integers_have_a_value_where_one_is_given) {
  std::string path = write("a.csv", "a\n1\nNA\n");
  auto records = all(readCsvBatches(path, 8, {.hasMissingInteger = true, .missingInteger = -1}));
  EXPECT_EQ(records[0]["a"].as<int64_t>()[1], -1);
}

TEST_F(DataTables, bad_rows_are_counted) {
  std::string path = write("a.csv", "a,b\n1,2\nx,2\n3\n4,5,6\n7,8\n");
  CsvOptions options{.columns = {{"a", SINTER_I64}, {"b", SINTER_I32}}, .maxBadRows = -1};
  Loader loader(readCsvBatches(path, 10, options));
  Record record;
  ASSERT_TRUE(loader.next(record));
  EXPECT_EQ(record["a"], Value::of(std::vector<int64_t>{1, 7}));
  EXPECT_EQ(loader.statistics()[0].skipped, 3);
  options.maxBadRows = 2;
  EXPECT_NE(messageOf([&] { all(readCsv(path, options)); }).find("record 3 at byte 14: a row of 2 fields is required"),
            std::string::npos);
}

TEST_F(DataTables, without_a_header_columns_are_numbered_or_named) {
  std::string path = write("a.tsv", "1\t\"x\n2\t'y'\n");
  CsvOptions options{.separator = '\t', .quote = 0, .hasHeader = false};
  auto records = all(readCsv(path, options));
  EXPECT_EQ(records[0]["c1"].bytes(), "\"x");
  options.columns = {{"n", SINTER_I32}};
  EXPECT_EQ(all(readCsv(path, options))[1]["n"].as<int32_t>()[0], 2);
}

/// The header is longer than what is read at once, and a batch of so many columns takes no memory for rows that the
/// file does not have.
TEST_F(DataTables, a_table_has_very_many_columns) {
  const int64_t columns = 100000;
  std::string header, first, second;
  for (int64_t c = 0; c < columns; ++c) {
    std::string end = c + 1 < columns ? "," : "\n";
    header += "column" + std::to_string(c) + end;
    first += std::to_string(c) + end;
    second += (c % 2 ? std::to_string(-c) : "word") + end;
  }
  std::string path = write("wide.csv", header + first + second);
  Record batch = all(readCsvBatches(path, 4096))[0];
  ASSERT_EQ(batch.size(), columns);
  EXPECT_EQ(batch.value(columns - 1).as<int64_t>()[1], 1 - columns);
  EXPECT_EQ(batch.value(columns - 2).bytes(1), "word");
  EXPECT_EQ(batch.name(columns - 1), "column99999");
  CsvOptions options;
  options.columns = {{"column7", SINTER_I64}, {"column99999", SINTER_F64}};
  EXPECT_EQ(all(readCsv(path, options))[1]["column99999"].as<double>()[0], -99999);
  std::string twice = write("twice.csv", header.substr(0, header.size() - 1) + ",column3\n" + first);
  EXPECT_NE(messageOf([&] { all(readCsv(twice)); }).find("requires distinct names, got 'column3' twice"),
            std::string::npos);
}

/// Memory of columns grows with the rows where there are many columns.
TEST_F(DataTables, wide_batches_grow) {
  const int64_t columns = 200000, rows = 50;
  std::string text;
  for (int64_t c = 0; c < columns; ++c)
    text += "c" + std::to_string(c) + (c + 1 < columns ? "," : "\n");
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      (text += c % 3 ? std::to_string((r + c) % 10) : "w" + std::to_string(r)) += c + 1 < columns ? "," : "\n";
  Record batch = all(readCsvBatches(write("grown.csv", text), rows))[0];
  for (int64_t c : {int64_t(0), int64_t(1), columns - 1})
    for (int64_t r = 0; r < rows; ++r)
      if (c % 3)
        ASSERT_EQ(batch.value(c).as<int64_t>()[static_cast<size_t>(r)], (r + c) % 10);
      else
        ASSERT_EQ(batch.value(c).bytes(r), "w" + std::to_string(r));
}

TEST_F(DataTables, what_cannot_be_is_refused) {
  std::string path = write("a.csv", "a\n1\n");
  EXPECT_NE(messageOf([&] {
              readCsv(path, {.columns = {{"z", SINTER_I64}}});
            }).find("column 'z' is required, the file has 1 columns without it"),
            std::string::npos);
  EXPECT_EQ(messageOf([&] { readCsv(path, {.columns = {{"a", SINTER_U8}}}); }),
            "column 'a' requires bytes, i1, i32, i64, f32 or f64, got ui8");
  EXPECT_EQ(messageOf([&] { readCsvBatches(path, 0); }), "a batch requires 1 row or more, got 0");
  EXPECT_NE(messageOf([&] { readCsv("/does/not/exist.csv"); }).find("No such file"), std::string::npos);
  std::string endless = write("b.csv", "a\n\"" + std::string(3 << 20, 'x') + "\n");
  EXPECT_NE(messageOf([&] {
              all(readCsv(endless, {.maxRowBytes = 1 << 20}));
            }).find("a row is required to end within 1048576 bytes"),
            std::string::npos);
}

TEST_F(DataTables, rows_are_found_across_buffers) {
  // Rows of many lengths, so that the ends of the megabyte that is in memory fall everywhere.
  std::string content = "n,text\n";
  for (int i = 0; i < 60000; ++i)
    content += std::to_string(i) + ",\"" + std::string(static_cast<size_t>(i * 7 % 97), 'a') + "\"\"\r\n\"\r\n";
  auto records = all(readCsvBatches(write("a.csv", content), 1000));
  int64_t n = 0;
  for (const Record &record : records)
    for (int64_t i = 0; i < record["n"].count(); ++i, ++n) {
      ASSERT_EQ(record["n"].as<int64_t>()[static_cast<size_t>(i)], n);
      ASSERT_EQ(record["text"].bytes(i).size(), static_cast<size_t>(n * 7 % 97) + 3);
    }
  EXPECT_EQ(n, 60000);
}

TEST_F(DataRecords, bad_records_are_skipped_and_counted) {
  std::string path = writeRecordsWithABadOne();
  EXPECT_NE(messageOf([&] { all(readTfRecords(path)); }).find("record 3 at byte 72: a record's checksum does not fit"),
            std::string::npos);
  Loader loader(readTfRecords(path).skipErrors());
  Record record;
  int64_t count = 0;
  for (; loader.next(record); ++count)
    ;
  EXPECT_EQ(count, 9);
  EXPECT_EQ(loader.statistics()[1].skipped, 1);
}

TEST_F(DataRecords, a_writer_that_is_not_closed_writes_nothing) {
  std::string path = testing::TempDir() + "/" + std::to_string(getpid()) + "never.tfrecord.gz";
  {
    TfRecordWriter writer(path);
    writer.write("x");
  }
  EXPECT_NE(access(path.c_str(), F_OK), 0);
  EXPECT_NE(messageOf([] { TfRecordWriter writer("/does/not/exist/x"); }).find("cannot write"), std::string::npos);
  TfRecordWriter closed(path);
  closed.close();
  EXPECT_EQ(messageOf([&] { closed.write("x"); }), "a record requires a writer that is not closed");
  unlink(path.c_str());
}

TEST_F(DataRecords, features_have_kinds_dims_and_defaults) {
  Record source{{"n", Value::of(std::vector<int64_t>{1, 2, 3, 4})}, {"s", Value::string("x")}};
  Record bytes{{"record", Value::string(makeExample(source))}};
  auto parse = [&](Feature feature) { return parseExample({feature})(bytes).value(0); };
  EXPECT_EQ(parse({.name = "n", .dtype = SINTER_I32, .dims = {2, -1}}).dims().text(), "2x2");
  EXPECT_EQ(parse({.name = "s", .dtype = Bytes}).bytes(), "x");
  EXPECT_EQ(parse({.name = "f", .dims = {2}, .hasDefault = true, .number = 0.5}).as<float>()[1], 0.5f);
  EXPECT_EQ(messageOf([&] { parse({.name = "f"}); }), "feature 'f' is required, the record lacks it");
  EXPECT_EQ(messageOf([&] { parse({.name = "n", .dtype = SINTER_F32, .dims = {4}}); }),
            "feature 'n' requires float_list, got int64_list");
  EXPECT_EQ(messageOf([&] { parse({.name = "n", .dtype = SINTER_I64}); }), "feature 'n' requires one value, got 4");
  EXPECT_EQ(messageOf([&] { parse({.name = "n", .dtype = SINTER_I64, .dims = {3, -1}}); }),
            "feature 'n' requires 3x? values, got 4");
  EXPECT_EQ(messageOf([&] { parse({.name = "n", .dtype = SINTER_F16}); }),
            "feature 'n' requires bytes, f32, f64, i1, i32 or i64, got f16");
  EXPECT_EQ(messageOf([&] { parse({.name = "n", .dtype = SINTER_I64, .dims = {-1, -1}}); }),
            "feature 'n' requires at most one open dim");
  EXPECT_EQ(messageOf([&] { parse({.name = "n", .isSequence = true}); }),
            "feature 'n' is a sequence, which a tf.Example has not");
  EXPECT_EQ(messageOf([&] { parseExample({{.name = "n"}, {.name = "n"}}); }), "feature 'n' is given twice");
  Record large{{"record", Value::string(makeExample({{"n", Value::scalar(int64_t(1) << 40)}}))}};
  EXPECT_EQ(messageOf([&] { parseExample({{.name = "n", .dtype = SINTER_I32}})(large); }),
            "feature 'n' requires values of i32, got 1099511627776");
  EXPECT_EQ(messageOf([&] { makeExample({{"h", Value(SINTER_F16, {1}, allocate(2))}}); }),
            "column 'h' requires bytes, f32, f64, i1, i8 to i64 or ui8 to ui32 to be a feature, got f16");
}

TEST_F(DataArrays, a_file_that_becomes_shorter_is_an_error) {
  std::vector<float> numbers(100000);
  sinter_tensor tensor = {};
  tensor.data = numbers.data();
  tensor.dtype = SINTER_F32;
  tensor.rank = 1;
  tensor.dims[0] = 100000;
  std::string path = write("a.npy", "");
  ASSERT_EQ(sinter_npy_write(path.c_str(), &tensor), SINTER_OK);
  Loader loader(Dataset::from(openNpy(path)));
  Record record;
  ASSERT_TRUE(loader.next(record));
  ASSERT_EQ(truncate(path.c_str(), 1000), 0);
  std::string message = messageOf([&] {
    while (loader.next(record))
      ;
  });
  EXPECT_NE(message.find("is truncated"), std::string::npos) << message;
}

TEST_F(DataArrays, columns_agree_in_rows) {
  std::string path = write("a.npz", "");
  std::vector<float> numbers(6);
  sinter_tensor tensors[2] = {};
  for (int i = 0; i < 2; ++i) {
    tensors[i].data = numbers.data();
    tensors[i].dtype = SINTER_F32;
    tensors[i].rank = 1;
    tensors[i].dims[0] = 3 + i;
  }
  const char *names[] = {"a", "b"};
  ASSERT_EQ(sinter_npz_write(path.c_str(), names, tensors, 2), SINTER_OK);
  EXPECT_NE(messageOf([&] { openNpz(path); }).find("column 'b' requires 3 rows as the first one has, got 4"),
            std::string::npos);
  EXPECT_EQ(openNpz(path, {"b"})->size(), 4);
  EXPECT_NE(messageOf([&] { openNpz(path, {"b"}, 8); }).find("'b' exceeds it"), std::string::npos);
  ASSERT_EQ(sinter_safetensors_write(path.c_str(), names, tensors, 2), SINTER_OK);
  EXPECT_NE(messageOf([&] { openSafetensors(path); }).find("column 'b' requires 3 rows"), std::string::npos);
  EXPECT_EQ(openSafetensors(path, {"a"})->size(), 3);
  EXPECT_NE(messageOf([&] { openSafetensors(path, {"z"}); }).find("tensor 'z' is required"), std::string::npos);
}

TEST_F(DataArrays, shuffled_rows_are_all_rows) {
  std::vector<int64_t> numbers(5000);
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<int64_t>(i);
  sinter_tensor tensor = Value::of(numbers).tensor();
  tensor.data = numbers.data();
  std::string path = write("a.npy", "");
  ASSERT_EQ(sinter_npy_write(path.c_str(), &tensor), SINTER_OK);
  std::vector<int64_t> seen;
  for (const Record &record : all(Dataset::shuffledFrom(openNpy(path), 3)))
    seen.push_back(record["x"].as<int64_t>()[0]);
  EXPECT_NE(seen, numbers);
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, numbers);
}

TEST_F(DataRecords, batches_are_parsed_as_records_are) {
  std::string path = write("a.tfrecord", "");
  TfRecordWriter writer(path);
  for (int64_t i = 0; i < 23; ++i) {
    Record record{{"ragged", Value::of(std::vector<int64_t>(static_cast<size_t>(i % 4), i))},
                  {"words", Value::strings({std::string(static_cast<size_t>(i), 'w'), "x"})},
                  {"matrix", Value::of(std::vector<float>{float(i), 1, 2, 3})}};
    if (i % 5)
      record.set("rare", Value::scalar(i));
    writer.write(makeExample(record));
  }
  writer.close();
  std::vector<Feature> features = {{.name = "rare", .dtype = SINTER_I32, .hasDefault = true, .number = -1},
                                   {.name = "matrix", .dims = {2, 2}},
                                   {.name = "words", .dtype = Bytes, .dims = {2}},
                                   {.name = "ragged", .dtype = SINTER_I64, .dims = {-1}}};
  Dataset records = readTfRecords(path);
  EXPECT_EQ(all(records.batch({.size = 5}).map(parseExamples(features))),
            all(records.map(parseExample(features)).batch({.size = 5, .ragged = {"ragged"}})));
  EXPECT_EQ(messageOf([&] { all(records.map(parseExamples(features))); }),
            "column 'record' requires a vector of bytes, got bytes scalar");
  EXPECT_EQ(messageOf([&] { parseExamples({{.name = "f", .dims = {2, -1}}}); }),
            "feature 'f' of a batch requires known dims, or the first one open");
  Record none = parseExamples(features)({{"record", Value::strings(std::vector<std::string>())}});
  EXPECT_EQ(none["matrix"].dims().text(), "0x2x2");
  EXPECT_EQ(none["ragged"].rows(), 0);
  features[0].hasDefault = false;
  EXPECT_EQ(messageOf([&] { all(records.batch({.size = 5}).map(parseExamples(features))); }),
            "record 0 of the batch: feature 'rare' is required, the record lacks it");
}

TEST_F(DataRecords, batches_of_records_are_the_records) {
  std::string path = write("a.tfrecord", "");
  for (auto compression : {RecordCompression::None, RecordCompression::Gzip}) {
    TfRecordWriter writer(path, compression);
    for (size_t i = 0; i < 300; ++i) // one is larger than what is read at once
      writer.write(std::string(i == 17 ? 3 << 20 : i * i % 5000, static_cast<char>(i)));
    writer.close();
    TfRecordOptions options{.compression = compression};
    std::vector<Record> wanted = all(readTfRecords(path, options));
    for (int64_t size : {1, 7, 1000}) {
      Dataset batches = readTfRecordBatches(path, size, options);
      EXPECT_TRUE(all(batches.unbatch()) == wanted) << size;
      EXPECT_TRUE(all(batches.shuffleRows({.size = 5})) == all(readTfRecords(path, options).batch({.size = 5})));
      Loader loader(batches), again(batches);
      Record record;
      ASSERT_TRUE(loader.next(record));
      again.load(loader.save());
      while (loader.next(record)) {
        Record other;
        ASSERT_TRUE(again.next(other));
        EXPECT_TRUE(record == other);
      }
    }
  }
  EXPECT_EQ(messageOf([&] { readTfRecordBatches(path, 0); }), "a batch requires 1 record or more, got 0");
}

TEST_F(DataRecords, batches_go_over_the_blocks_that_a_file_is_read_in) {
  std::string path = write("a.tfrecord", "");
  TfRecordWriter writer(path);
  std::vector<std::string> texts;
  for (int i = 0; i < 40; ++i) {
    texts.push_back(
        makeExample({{"n", Value::scalar(int64_t(i))}, {"s", Value::string(std::string(size_t(i * 3000), char(i)))}}));
    writer.write(texts.back());
  }
  writer.close(); // 2.3 MB
  std::vector<Feature> features = {{.name = "n", .dtype = SINTER_I64}, {.name = "s", .dtype = Bytes}};
  auto batches = readTfRecordBatches(path, 7);
  EXPECT_EQ(all(batches), all(readTfRecords(path).batch({.size = 7})));
  auto parsed =
      all(batches.shuffleRows({.window = 16, .seed = 5, .size = 6}).map(parseExamples(features), {.threads = 2}));
  EXPECT_EQ(parsed, all(readTfRecords(path).shuffle(16, 5).map(parseExample(features)).batch({.size = 6})));
}

TEST_F(DataRecords, a_bad_record_stands_between_batches) {
  std::string path = writeRecordsWithABadOne();
  ASSERT_EQ(truncate(path.c_str(), 10 * 24 - 1), 0);
  Dataset batches = readTfRecordBatches(path, 4);
  std::vector<std::string> told;
  std::string state = Loader(batches).save();
  for (int call = 0; call < 6; ++call) { // each from a state
    Loader loader(batches);
    loader.load(state);
    Record record;
    std::string message = messageOf([&] {
      bool isThere = loader.next(record);
      told.push_back(isThere ? std::to_string(record["record"].count()) : "end");
    });
    if (message != "nothing")
      told.push_back(message.substr(message.find("' ") + 2));
    state = loader.save();
  }
  std::string last = "record 9 at byte 216: a record of 8 bytes is truncated";
  EXPECT_EQ(told, (std::vector<std::string>{"3", "record 3 at byte 72: a record's checksum does not fit", "4", "1",
                                            last, "end"}));
}

/// An entry of a map of features, as bytes.
static std::string entry(const std::string &name, const std::string &feature) {
  auto field = [](char key, const std::string &bytes) {
    std::string text(1, key);
    size_t size = bytes.size();
    for (; size >= 128; size >>= 7)
      text += static_cast<char>(size | 128);
    return text + static_cast<char>(size) + bytes;
  };
  return field(10, field(10, name) + field(18, feature));
}

TEST_F(DataRecords, features_come_in_any_order_and_form) {
  std::string common(20, 'n');
  std::vector<std::string> names = {
      "", "a", "b", "abcdefgh", common + "1" + common, common + "2" + common, std::string(200, 'x')};
  std::vector<Feature> features;
  for (const std::string &name : names)
    features.push_back({.name = name, .dtype = SINTER_I64, .dims = {-1}});
  std::vector<std::string> records;
  std::vector<std::vector<int64_t>> wanted(names.size());
  for (size_t r = 0; r < 40; ++r) {
    Record record;
    for (size_t i = 0; i < names.size(); ++i) {
      size_t n = (i * 3 + r) % names.size();
      std::vector<int64_t> numbers;
      for (size_t k = 0; k < (r * 37 + n) % 300; ++k)
        numbers.push_back(static_cast<int64_t>((k * 0x9E3779B97F4A7C15u) >> (k % 64)));
      wanted[n].insert(wanted[n].end(), numbers.begin(), numbers.end());
      record.set(names[n], Value::of(numbers));
    }
    record.set("unwanted", Value::scalar(int64_t(7)));
    records.push_back(makeExample(record));
  }
  Record batch = parseExamples(features)({{"record", Value::strings(records)}});
  for (size_t n = 0; n < names.size(); ++n)
    EXPECT_TRUE(std::ranges::equal(batch.value(static_cast<int64_t>(n)).as<int64_t>(), wanted[n])) << names[n];
  // Numbers not packed, in several lists, a name given twice, a value before its name.
  std::string one = "\x08\x05", two = "\x0A\x02\x06\x07\x08\x05";
  auto list = [](const std::string &content) {
    return "\x1A" + std::string(1, static_cast<char>(content.size())) + content;
  };
  std::string map = entry("a", list(one)) + entry("b", list(two)) + entry("a", list(two)) +
                    std::string("\x0A\x09\x12\x04") + list(one) + std::string("\x0A\x01z") + std::string("\x0A\x00", 2);
  std::string example = "\x0A" + std::string(1, static_cast<char>(map.size())) + map;
  Record odd{{"record", Value::strings(std::vector<std::string>{example, example})}};
  std::vector<Feature> few = {{.name = "a", .dtype = SINTER_I64, .dims = {3}},
                              {.name = "b", .dtype = SINTER_I32, .dims = {-1}},
                              {.name = "z", .dtype = SINTER_I64}};
  Record parsed = parseExamples(few)(odd);
  EXPECT_EQ(parsed["a"], Value::of(std::span<const int64_t>(std::vector<int64_t>{6, 7, 5, 6, 7, 5}), {2, 3}));
  EXPECT_EQ(parsed["b"].row(1), Value::of(std::vector<int32_t>{6, 7, 5}));
  EXPECT_EQ(parsed["z"], Value::of(std::vector<int64_t>{5, 5}));
}

TEST_F(DataRecords, records_of_any_order_stand_beside_each_other) {
  const std::string wide = "a name that is longer than sixteen bytes";
  std::vector<std::string> texts;
  for (int64_t i = 0; i < 200; ++i) {
    int64_t number = (i % 3 ? 1 : -1) * (int64_t(1) << (i % 63)); // of every length
    std::vector<std::pair<std::string, Value>> columns = {
        {"number", Value::scalar(number)},
        {"bag", Value::of(std::vector<int64_t>(static_cast<size_t>(i % 7), i % 5 ? number >> 1 : i))},
        {wide, Value::strings({std::string(static_cast<size_t>(i % 2 ? i : 3), 'w'), "x"})},
        {"unknown", Value::scalar(1.f)},
        {"reals", Value::of(std::vector<float>(static_cast<size_t>(i % 50), float(i)))}};
    if (i % 4 == 0) // an order of its own
      std::rotate(columns.begin(), columns.begin() + i % 5, columns.end());
    if (i % 9 == 0)
      columns.erase(columns.begin() + i % 3);
    Record record;
    for (auto &[name, value] : columns)
      record.set(name, value);
    texts.push_back(makeExample(record));
    if (i % 11 == 0) // a map whose name comes again: the last one counts
      texts.back() += makeExample({{"number", Value::scalar(i)}, {"bag", Value::of(std::vector<int64_t>{i, -i})}});
  }
  std::vector<Feature> features = {
      {.name = "bag", .dtype = SINTER_I64, .dims = {-1}, .hasDefault = true},
      {.name = "reals", .dims = {-1}, .hasDefault = true},
      {.name = wide, .dtype = Bytes, .dims = {2}, .hasDefault = true},
      {.name = "number", .dtype = SINTER_I64, .hasDefault = true, .number = 7},
  };
  Record batch = parseExamples(features)({{"record", Value::strings(texts)}});
  auto single = parseExample(features);
  for (size_t r = 0; r < texts.size(); ++r) {
    Record one = single({{"record", Value::string(texts[r])}});
    for (int64_t c = 0; c < one.size(); ++c)
      ASSERT_TRUE(batch.value(c).row(static_cast<int64_t>(r)) == one.value(c)) << r << " " << one.name(c);
  }
  texts[150] = texts[150].substr(0, texts[150].size() - 1);
  EXPECT_EQ(messageOf([&] { (void)parseExamples(features)({{"record", Value::strings(texts)}}); }),
            "record 150 of the batch: a tf.Example requires fields within their message");
}

/// Rows are located together and added by columns: an error still names its record, whatever stands around it.
TEST_F(DataRecords, a_wrong_record_among_others_is_named) {
  std::vector<Feature> features = {{.name = "i", .dtype = SINTER_I32, .dims = {2}},
                                   {.name = "bag", .dtype = SINTER_I64, .dims = {-1}},
                                   {.name = "f", .dims = {2}},
                                   {.name = "s", .dtype = Bytes}};
  auto message = [](const std::vector<std::string> &entries) {
    std::string map;
    for (const std::string &one : entries)
      map += one;
    return "\x0A" + std::string(1, static_cast<char>(map.size())) + map;
  };
  auto numbers = [](const std::string &bytes) {
    auto size = [&](size_t more) { return std::string(1, static_cast<char>(bytes.size() + more)); };
    return "\x1A" + size(2) + "\x0A" + size(0) + bytes;
  };
  std::string reals = std::string("\x12\x0A\x0A\x08") + std::string(8, '\0'), text = "\x0A\x03\x0A\x01w";
  auto record = [&](const std::string &i, const std::string &bag, const std::string &f, const std::string &s) {
    return message({entry("i", numbers(i)), entry("bag", numbers(bag)), entry("f", f), entry("s", s)});
  };
  std::string good = record("\x01\x02", "\x05\x06\x07", reals, text);
  const std::pair<std::string, const char *> wrong[] = {
      {record("\x01", "\x05", reals, text), "feature 'i' requires 2 values, got 1"},
      {record("\x01\x02\x03", "\x05", reals, text), "feature 'i' requires 2 values, got 3"},
      {record("\x01\xFF\xFF\xFF\xFF\x0F", "\x05", reals, text), "feature 'i' requires values of i32, got 4294967295"},
      {record("\x01\x02", "\x85", reals, text), "a tf.Example requires numbers that end"},
      {record("\x01\x02", std::string(9, '\x85'), reals, text), "a tf.Example requires numbers that end"},
      {record("\x01\x02", std::string(10, '\x85') + "\x01", reals, text),
       "a tf.Example requires numbers of at most 10 bytes"},
      {record("\x01\x02", "\x05", std::string("\x12\x06\x0A\x04", 4) + std::string(4, '\0'), text),
       "feature 'f' requires 2 values, got 1"},
      {record("\x01\x02", "\x05", std::string("\x12\x09\x0A\x07", 4) + std::string(7, '\0'), text),
       "a tf.Example requires packed floats of 4 bytes"},
      {record("\x01\x02", "\x05", reals, "\x0A\x03\x0A\x02w"), "a tf.Example requires fields within their message"},
      {record("\x01\x02", "\x05", reals, "\x0A\x06\x0A\x01w\x0A\x01w"), "feature 's' requires one value, got 2"},
      {message({entry("i", numbers("\x01\x02")), entry("f", reals), entry("s", text)}),
       "feature 'bag' is required, the record lacks it"}};
  auto parse = parseExamples(features);
  for (const auto &[bytes, what] : wrong)
    for (size_t at : {0, 1, 30, 31, 32, 33, 63, 64, 99}) {
      std::vector<std::string> texts(100, good);
      texts[at] = bytes;
      for (size_t later = at + 1; later < texts.size(); later += 7)
        texts[later] = wrong[later % std::size(wrong)].first;
      EXPECT_EQ(messageOf([&] { (void)parse({{"record", Value::strings(texts)}}); }),
                "record " + std::to_string(at) + " of the batch: " + what);
    }
  Record batch = parse({{"record", Value::strings(std::vector<std::string>(100, good))}});
  EXPECT_EQ(batch["bag"].row(99), Value::of(std::vector<int64_t>{5, 6, 7}));
}

/// Bytes of zero are fields that nobody knows, wherever an entry could stand.
TEST_F(DataRecords, unknown_fields_in_a_batch_are_passed_over) {
  std::vector<Feature> features = {{.name = "i", .dtype = SINTER_I64, .hasDefault = true, .number = 7},
                                   {.name = "bag", .dtype = SINTER_I64, .dims = {-1}, .hasDefault = true}};
  std::vector<std::string> texts(60, std::string("\x0A\x08\0\0\0\0\0\0\0\0", 10));
  Record batch = parseExamples(features)({{"record", Value::strings(texts)}});
  EXPECT_EQ(batch["i"], Value::of(std::vector<int64_t>(60, 7)));
  EXPECT_EQ(batch["bag"].row(3).count(), 0);
  (void)parseExamples({})({{"record", Value::strings(texts)}});
}

/// Of fields that come twice in an entry the last ones count, the name among them: {"x": ..., "i" [5]} is "i".
TEST_F(DataRecords, the_last_name_of_an_entry_in_a_batch_counts) {
  std::vector<Feature> features = {{.name = "i", .dtype = SINTER_I64}};
  std::string value = "\x12\x05\x1A\x03\x0A\x01\x05", twice = "\x0A\x01x" + value + "\x0A\x01i" + value;
  std::string record = {'\x0A', static_cast<char>(twice.size() + 2), '\x0A', static_cast<char>(twice.size())};
  record += twice;
  EXPECT_EQ(parseExample(features)({{"record", Value::string(record)}})["i"], Value::scalar(int64_t(5)));
  std::vector<std::string> texts(40, record);
  EXPECT_EQ(parseExamples(features)({{"record", Value::strings(texts)}})["i"], Value::of(std::vector<int64_t>(40, 5)));
}

TEST_F(DataRecords, strings_that_are_missing_in_a_batch_are_empty) {
  std::string full = makeExample({{"s", Value::string("word")}}), empty = makeExample({});
  std::vector<Feature> features = {{.name = "s", .dtype = Bytes, .hasDefault = true}};
  Record batch = parseExamples(features)({{"record", Value::strings(std::vector<std::string>{full, empty, full})}});
  EXPECT_EQ(batch["s"], Value::strings(std::vector<std::string>{"word", "", "word"}));
}

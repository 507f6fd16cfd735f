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

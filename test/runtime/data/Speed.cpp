// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sinter_data_speed: how long readers take, by hand.
//
//   sinter_data_speed examples FILE MEGABYTES FLOATS
//                                                 writes FILE where it is not there, checks it in a bare loop, then
//                                                 reads, checks, shuffles, batches and parses it with one thread,
//                                                 with another one that does the same as this one (two in all), or
//                                                 with one that reads ahead while this one does the rest
//   sinter_data_speed csv FILE                    reads a table in batches
//   sinter_data_speed chars TOKENIZER FILE        makes tokens of a text, line by line, on one thread
#include "runtime/data/Crc32c.h"
#include "runtime/data/Csv.h"
#include "runtime/data/Text.h"
#include "runtime/data/TfRecord.h"
#include <chrono>
#include <cstdio>
#include <ctime>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace sinter::data;

static double wall() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
static double cpu() { return static_cast<double>(clock()) / CLOCKS_PER_SEC; }

template <typename F> static void measure(const char *what, F f) {
  double bestWall = 1e9, bestCpu = 1e9;
  int64_t count = 0;
  for (int i = 0; i < 9; ++i) {
    double w = wall(), c = cpu();
    count = f();
    bestWall = std::min(bestWall, wall() - w);
    bestCpu = std::min(bestCpu, cpu() - c);
  }
  std::printf("%-40s %9lld  %6.3f s  %6.3f s of CPU\n", what, static_cast<long long>(count), bestWall, bestCpu);
}

static void writeExamples(const char *path, int64_t megabytes, int numFloats) {
  TfRecordWriter writer(path);
  int64_t written = 0;
  for (int64_t i = 0; written < megabytes << 20; ++i) {
    std::vector<float> dense;
    for (int d = 0; d < numFloats; ++d)
      dense.push_back(static_cast<float>((i * 37 + d * 11) % 1000));
    std::string example = makeExample({{"label", Value::scalar(int64_t(i % 2))},
                                       {"dense", Value::of(dense)},
                                       {"ids", Value::of(std::vector<int64_t>{i % 100, i % 7777, i})},
                                       {"word", Value::string("word" + std::to_string(i % 1000))},
                                       {"bag", Value::of(std::vector<int64_t>(static_cast<size_t>(i % 5), i % 1234))}});
    writer.write(example);
    written += static_cast<int64_t>(example.size()) + 16;
  }
  writer.close();
}

/// Reads a file in blocks and checks each record: nothing else.
static int64_t check(const char *path) {
  int file = open(path, O_RDONLY);
  std::string buffer(1 << 20, '\0');
  size_t held = 0, good = 0;
  for (;;) {
    ssize_t got = read(file, buffer.data() + held, buffer.size() - held);
    if (got <= 0)
      break;
    held += static_cast<size_t>(got);
    size_t at = 0;
    while (held - at >= 12) {
      uint64_t length;
      uint32_t lengthCrc, crc;
      std::memcpy(&length, &buffer[at], 8);
      std::memcpy(&lengthCrc, &buffer[at + 8], 4);
      if (held - at < 16 + length)
        break;
      std::memcpy(&crc, &buffer[at + 12 + length], 4);
      good += maskedCrc32c({&buffer[at], 8}) == lengthCrc && maskedCrc32c({&buffer[at + 12], length}) == crc;
      at += 16 + length;
    }
    std::memmove(buffer.data(), buffer.data() + at, held - at);
    held -= at;
  }
  close(file);
  return static_cast<int64_t>(good);
}

static int64_t rowsOf(const Dataset &dataset) {
  Loader loader(dataset);
  int64_t rows = 0;
  for (Record record; loader.next(record);)
    rows += record.value(0).rows();
  return rows;
}

static void encodeText(const char *tokenizerPath, const char *path) {
  Tokenizer tokenizer = Tokenizer::read(tokenizerPath);
  std::vector<std::string> lines;
  int64_t bytes = 0;
  Loader loader(readText(path));
  for (Record line; loader.next(line);)
    bytes += static_cast<int64_t>(lines.emplace_back(line.value(0).bytes()).size()) + 1;
  std::printf("%lld bytes\n", static_cast<long long>(bytes));
  measure("tokens of each line", [&] {
    int64_t count = 0;
    std::vector<int32_t> ids;
    for (const std::string &line : lines) {
      ids.clear();
      tokenizer.encode(line, ids);
      count += static_cast<int64_t>(ids.size());
    }
    return count;
  });
}

int main(int argc, char **argv) {
  std::string kind = argc > 2 && (argc > 4 || argv[1][0] == 'c') ? argv[1] : "";
  if (kind == "chars" && argc == 4) {
    encodeText(argv[2], argv[3]);
    return 0;
  }
  if (kind == "csv") {
    measure("table in batches of 1024", [&] { return rowsOf(readCsvBatches(argv[2], 1024)); });
    return 0;
  }
  if (kind != "examples")
    return 2;
  struct stat status;
  if (stat(argv[2], &status) != 0)
    writeExamples(argv[2], std::atoll(argv[3]), std::atoi(argv[4]));
  std::vector<Feature> features = {{.name = "label", .dtype = SINTER_I64},
                                   {.name = "dense", .dims = {std::atoll(argv[4])}},
                                   {.name = "ids", .dtype = SINTER_I64, .dims = {3}},
                                   {.name = "word", .dtype = Bytes},
                                   {.name = "bag", .dtype = SINTER_I64, .dims = {-1}}};
  ShuffleRowsOptions shuffle{.window = 10000, .seed = 7, .size = 512};
  auto records = readTfRecordBatches(argv[2], 512);
  measure("checked in a loop", [&] { return check(argv[2]); });
  measure("read", [&] { return rowsOf(records); });
  measure("read, shuffled", [&] { return rowsOf(records.shuffleRows(shuffle)); });
  measure("read, parsed", [&] { return rowsOf(records.map(parseExamples(features))); });
  measure("read, shuffled, parsed", [&] { return rowsOf(records.shuffleRows(shuffle).map(parseExamples(features))); });
  measure("read, shuffled, parsed, two threads", [&] {
    return rowsOf(records.shuffleRows(shuffle).map(parseExamples(features), {.threads = 1, .capacity = 48}));
  });
  measure("read ahead, shuffled, parsed",
          [&] { return rowsOf(records.prefetch(24).shuffleRows(shuffle).map(parseExamples(features))); });
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sinter_pipelines: runs programs of pipelines, one a line of standard input, and prints what they give, one line each.
// Inputs/pipelines.py makes the programs and knows what they should give. A program is in Polish notation:
//
//   THREADS STOPS DATASET
//
//   DATASET = range N | rows2 DATASET (two columns) | map DATASET | random SEED DATASET | filter M R DATASET
//           | fail M MOST DATASET | batch N WHOLE DATASET | unbatch DATASET | shuffle W SEED DATASET
//           | rows W SEED SIZE WHOLE DATASET | all SEED DATASET | repeat N DATASET
//           | take N DATASET | skip N DATASET | cache DATASET | split PART SEED DATASET | shard R W DATASET
//           | prefetch N DATASET | bucket DATASET | concat N DATASET... | interleave CYCLE BLOCK N DATASET...
//           | zip DATASET DATASET
//
// STOPS is a list such as 3,10 or -: there the state is saved and another loader goes on from it.
#include "runtime/data/Dataset.h"
#include "runtime/data/Random.h"
#include <algorithm>
#include <iostream>
#include <sstream>

using namespace sinter::data;

static int threads;

static int64_t number(std::istream &words) {
  int64_t n = 0;
  words >> n;
  return n;
}

/// `f` of each number of the first column, in one of the same dims.
template <typename F> static Record each(const Record &record, F f) {
  Record result = record;
  const Value &value = record.value(0);
  std::vector<int64_t> numbers;
  for (int64_t x : value.as<int64_t>())
    numbers.push_back(f(x));
  result.value(0) = Value::of(std::span<const int64_t>(numbers), value.dims());
  return result;
}

static int64_t first(const Record &record) { return record.value(0).count() ? record.value(0).as<int64_t>()[0] : 0; }

static Dataset parse(std::istream &words) {
  std::string word;
  words >> word;
  MapOptions options{.threads = threads, .capacity = threads ? 3 : 0};
  if (word == "range")
    return Dataset::range(number(words));
  if (word == "map")
    return parse(words).map([](const Record &r) { return each(r, [](int64_t x) { return 3 * x + 1; }); }, options);
  if (word == "random") {
    auto seed = static_cast<uint64_t>(number(words));
    return parse(words).mapAt(
        [seed](const Record &r, Position at) {
          return each(r, [&](int64_t x) { return x + below(draw(seed, at.epoch, at.record), 1000); });
        },
        options);
  }
  if (word == "filter") {
    int64_t m = number(words), rest = number(words);
    return parse(words).filter([=](const Record &r) { return ((first(r) % m) + m) % m != rest; });
  }
  if (word == "fail") { // records that cannot be read
    int64_t m = number(words), most = number(words);
    return parse(words)
        .map(
            [m](const Record &r) {
              if (first(r) % m == 0)
                throw Error(SINTER_CORRUPT, "bad", {}, true);
              return r;
            },
            options)
        .skipErrors(most);
  }
  if (word == "batch") {
    int64_t size = number(words);
    bool isWhole = number(words) != 0;
    return parse(words).batch({.size = size, .dropRemainder = isWhole, .pads = {{"x", {.number = -7}}}});
  }
  if (word == "unbatch")
    return parse(words).unbatch();
  if (word == "shuffle") {
    int64_t window = number(words), seed = number(words);
    return parse(words).shuffle(window, static_cast<uint64_t>(seed));
  }
  if (word == "rows") {
    int64_t window = number(words), seed = number(words), size = number(words);
    bool isWhole = number(words) != 0;
    return parse(words).shuffleRows(
        {.window = window, .seed = static_cast<uint64_t>(seed), .size = size, .dropRemainder = isWhole});
  }
  if (word == "all") {
    auto seed = static_cast<uint64_t>(number(words));
    return parse(words).shuffleAll({.seed = seed, .memoryBytes = 1 << 16});
  }
  if (word == "repeat") {
    int64_t times = number(words);
    return parse(words).repeat(times);
  }
  if (word == "take") {
    int64_t count = number(words);
    return parse(words).take(count);
  }
  if (word == "skip") {
    int64_t count = number(words);
    return parse(words).skip(count);
  }
  if (word == "cache")
    return parse(words).cache(1 << 24);
  if (word == "split") {
    int64_t part = number(words), seed = number(words);
    return parse(words).split({0.5, 0.25, 0.25}, static_cast<int>(part), static_cast<uint64_t>(seed));
  }
  if (word == "shard") {
    int64_t rank = number(words), world = number(words);
    return parse(words).shard(rank, world);
  }
  if (word == "prefetch") {
    int64_t count = number(words);
    return parse(words).prefetch(static_cast<int>(count));
  }
  if (word == "bucket") // each number n as n mod 9 copies of it, by length
    return parse(words)
        .map(
            [](const Record &r) {
              int64_t x = first(r);
              std::vector<int64_t> copies(static_cast<size_t>(((x % 9) + 9) % 9), x);
              return Record{{"x", Value::of(copies)}};
            },
            options)
        .bucketByLength({.column = "x", .boundaries = {2, 5}, .sizes = {2, 3, 4}, .pads = {{"x", {.number = -7}}}});
  if (word == "concat" || word == "interleave") {
    int64_t cycle = word == "concat" ? 0 : number(words), block = word == "concat" ? 0 : number(words);
    std::vector<Dataset> parts;
    for (int64_t n = number(words); n > 0; --n)
      parts.push_back(parse(words));
    return cycle ? Dataset::interleave(parts, cycle, block) : Dataset::concatenate(parts);
  }
  if (word == "zip") { // the columns summed, as records have one
    Dataset a = parse(words), b = parse(words).map([](const Record &r) { return Record{{"y", r.value(0)}}; }, options);
    return Dataset::zip({a, b}).map(
        [](const Record &r) {
          int64_t other = r.value(1).count() ? r.value(1).as<int64_t>()[0] : 0;
          return Record{{"x", each(r, [=](int64_t x) { return x + other; }).value(0)}};
        },
        options);
  }
  throw Error(SINTER_INVALID_ARGUMENT, "unknown word '" + word + "'");
}

static void print(const Record &record) {
  const Value &value = record.value(0);
  if (value.dims().rank())
    std::cout << value.dims().text() << ':';
  const char *comma = "";
  for (int64_t x : value.as<int64_t>()) {
    std::cout << comma << x;
    comma = ",";
  }
  std::cout << ' ';
}

static void run(const std::string &line) {
  std::istringstream words(line);
  std::string stops;
  words >> threads >> stops;
  std::string text;
  std::getline(words, text);
  auto make = [&] {
    std::istringstream again(text);
    return std::make_unique<Loader>(parse(again));
  };
  std::replace(stops.begin(), stops.end(), ',', ' ');
  std::istringstream list(stops == "-" ? "" : stops);
  auto loader = make();
  int64_t stop = -1, at = 0;
  list >> stop;
  for (Record record; at < 4000; ++at) {
    while (at == stop) {
      std::string state = loader->save();
      threads = 1 - (threads > 0); // the other way of running
      loader = make();
      loader->load(state);
      if (!(list >> stop))
        stop = -1;
    }
    if (!loader->next(record))
      break;
    print(record);
  }
  std::cout << '\n';
}

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    try {
      run(line);
    } catch (const Error &error) {
      std::cout << "error " << error.what() << '\n';
    }
  }
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the random programs of Inputs/pipelines.py do not say: errors, bounds, statistics, values that are no numbers.
#include "Messages.h"
#include "runtime/data/Dataset.h"
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <gtest/gtest.h>
#include <mutex>
#include <thread>

using namespace sinter::data;
using sinter::test::messageOf;

static std::vector<Record> all(const Dataset &dataset) {
  std::vector<Record> records;
  Loader loader(dataset);
  for (Record record; loader.next(record);)
    records.push_back(record);
  return records;
}

/// A record whose vector has as many elements as its number says.
static Record lengthen(const Record &record) {
  int64_t n = record["x"].as<int64_t>()[0];
  return {{"x", Value::of(std::vector<float>(static_cast<size_t>(n), static_cast<float>(n)))},
          {"name", Value::string("n" + std::to_string(n))}};
}

static Record failOnThree(const Record &record) {
  if (record["x"].as<int64_t>()[0] % 10 == 3)
    throw Error(SINTER_CORRUPT, "three is no number", {"a.txt", record["x"].as<int64_t>()[0], 7}, true);
  return record;
}

TEST(DataBatch, pads_and_ragged_columns) {
  auto padded = all(Dataset::range(4).map(lengthen).batch({.size = 4, .pads = {{"x", {.dims = {5}, .number = -1}}}}));
  ASSERT_EQ(padded.size(), 1u);
  EXPECT_EQ(padded[0]["x"].dims().text(), "4x5");
  EXPECT_EQ(padded[0]["x"].as<float>()[11], 2.0f);
  EXPECT_EQ(padded[0]["x"].as<float>()[12], -1.0f);
  EXPECT_EQ(padded[0]["name"].bytes(3), "n3");
  auto ragged = all(Dataset::range(4).map(lengthen).batch({.size = 4, .ragged = {"x"}}));
  EXPECT_EQ(ragged[0]["x"].rows(), 4);
  EXPECT_EQ(ragged[0]["x"].row(3).count(), 3);
}

TEST(DataBatch, what_does_not_fit_is_told) {
  Dataset lengths = Dataset::range(4).map(lengthen);
  EXPECT_EQ(messageOf([&] { all(lengths.batch({.size = 2})); }),
            "column 'x' requires equal dims in a batch, a pad or to be ragged, got 0 and 1");
  EXPECT_EQ(messageOf([&] { all(lengths.batch({.size = 4, .pads = {{"x", {.dims = {2}}}}})); }),
            "column 'x' requires sizes of at most 2 to be padded, got 3");
  EXPECT_EQ(messageOf([&] { all(lengths.batch({.size = 2, .pads = {{"x", {}}}, .ragged = {"name"}})); }),
            "ragged column 'name' requires values that differ in their first dim only, got scalar and scalar");
  EXPECT_EQ(messageOf([&] { all(lengths.batch({.size = 2, .pads = {{"x", {.dims = {2, 2}}}}})); }),
            "column 'x' requires values of one rank to be padded, got 0 and 0");
  EXPECT_EQ(
      messageOf([&] {
        all(Dataset::range(2)
                .map([](const Record &r) { return r["x"].as<int64_t>()[0] ? r : Record{{"x", Value::scalar(1.0f)}}; })
                .batch({.size = 2}));
      }),
      "column 'x' requires dense values of one dtype in a batch, got f32 and i64");
}

TEST(DataStages, arguments_are_checked) {
  Dataset d = Dataset::range(3);
  EXPECT_EQ(messageOf([&] { Dataset::range(-1); }), "range requires a count of 0 or more, got -1");
  EXPECT_EQ(messageOf([&] { d.batch({.size = 0}); }), "batch requires a size of 1 or more, got 0");
  EXPECT_EQ(messageOf([&] { d.shard(2, 2); }), "shard requires a rank below the world's size, got 2 of 2");
  EXPECT_EQ(messageOf([&] { d.shuffle(0, 1); }), "shuffle requires a window of 1 or more, got 0");
  EXPECT_EQ(messageOf([&] { d.shuffleAll({.memoryBytes = 1}); }),
            "shuffleAll requires 65536 bytes of memory or more, got 1");
  EXPECT_EQ(messageOf([&] { d.repeat(-2); }), "repeat requires a number of times or -1, got -2");
  EXPECT_EQ(messageOf([&] { d.prefetch(0); }), "prefetch requires 1 record or more, got 0");
  EXPECT_EQ(messageOf([&] { d.take(-1); }), "take requires a count of 0 or more, got -1");
  EXPECT_EQ(messageOf([&] { d.skip(-1); }), "skip requires a count of 0 or more, got -1");
  EXPECT_EQ(messageOf([&] { d.map(failOnThree, {.threads = -1}); }),
            "map requires threads and a capacity of 0 or more");
  EXPECT_EQ(messageOf([&] { d.split({0.5, 0.4}, 0, 1); }),
            "split requires shares that sum to 1 and one of their numbers, got a sum of 0.9 and part 0");
  EXPECT_EQ(messageOf([&] { d.split({1.5, -0.5}, 0, 1); }), "split requires shares of 0 or more, got -0.5");
  EXPECT_EQ(messageOf([&] { d.bucketByLength({.column = "x", .boundaries = {1}, .sizes = {1}}); }),
            "bucketByLength requires rising boundaries and one batch size more than those, each 1 or more");
  EXPECT_EQ(messageOf([&] { all(d.bucketByLength({.column = "x", .boundaries = {}, .sizes = {1}})); }),
            "column 'x' requires a length, got a scalar of i64");
  EXPECT_EQ(messageOf([&] { Dataset::interleave({d}, 0, 1); }),
            "interleave requires a cycle and a block of 1 or more, got 0 and 1");
  EXPECT_EQ(messageOf([&] { Dataset::zip({}); }), "zip requires a dataset");
  EXPECT_EQ(messageOf([&] { all(Dataset::zip({d, d})); }), "zip requires distinct columns, got 'x' twice");
  EXPECT_EQ(messageOf([&] { Dataset::fromRows({{"a", Value::of(std::vector<float>{1})}, {"b", Value::scalar(1)}}); }),
            "column 'b' requires 1 rows as 'a' has, got scalar");
}

TEST(DataErrors, bad_records_stop_or_are_counted) {
  for (int threads : {0, 2}) {
    Dataset bad = Dataset::range(50).map(failOnThree, {.threads = threads});
    EXPECT_EQ(messageOf([&] { all(bad); }), "'a.txt' record 3 at byte 7: three is no number");
    Loader loader(bad.skipErrors().batch({.size = 100}));
    Record record;
    ASSERT_TRUE(loader.next(record));
    EXPECT_EQ(record["x"].rows(), 45);
    auto stages = loader.statistics();
    EXPECT_EQ(stages[2].stage, "skip errors");
    EXPECT_EQ(stages[2].skipped, 5);
    EXPECT_EQ(messageOf([&] { all(bad.skipErrors(2)); }), "'a.txt' record 23 at byte 7: three is no number");
  }
}

TEST(DataErrors, a_loader_goes_on_after_a_skippable_error) {
  for (int threads : {0, 3}) {
    Loader loader(Dataset::range(9).map(failOnThree, {.threads = threads}).prefetch(2).batch({.size = 2}));
    Record record;
    ASSERT_TRUE(loader.next(record));
    EXPECT_THROW(loader.next(record), Error);
    ASSERT_TRUE(loader.next(record));
    EXPECT_EQ(record["x"].as<int64_t>()[0], 2); // read before the error
    EXPECT_EQ(record["x"].as<int64_t>()[1], 4);
  }
}

/// With one thread, two records are worked on at once: the other one by who waits.
TEST(DataMap, who_waits_for_a_record_works_on_others) {
  std::mutex mutex;
  std::condition_variable entered;
  int numInside = 0, most = 0;
  auto meet = [&](const Record &record) {
    std::unique_lock lock(mutex);
    most = std::max(most, ++numInside);
    entered.notify_all();
    entered.wait_for(lock, std::chrono::seconds(30), [&] { return most == 2; });
    --numInside;
    return record;
  };
  Dataset batches = Dataset::range(64).batch({.size = 4}).shuffleRows({.window = 16, .seed = 3, .size = 4});
  std::vector<Record> records = all(batches.map(meet, {.threads = 1}));
  EXPECT_EQ(most, 2);
  EXPECT_EQ(records, all(batches));
}

/// An error in the middle of what one thread has read at once stays in its place.
TEST(DataMap, errors_of_records_that_others_work_on_keep_their_place) {
  for (int threads : {1, 2, 4})
    for (int capacity : {1, 3, 50}) {
      Loader loader(Dataset::range(200)
                        .batch({.size = 1})
                        .shuffleRows({.window = 20, .size = 1})
                        .map(failOnThree, {.threads = threads, .capacity = capacity}));
      std::vector<Record> plain = all(Dataset::range(200).batch({.size = 1}).shuffleRows({.window = 20, .size = 1}));
      Record record;
      for (const Record &expected : plain)
        if (int64_t x = expected["x"].as<int64_t>()[0]; x % 10 == 3) {
          EXPECT_EQ(messageOf([&] { loader.next(record); }),
                    "'a.txt' record " + std::to_string(x) + " at byte 7: three is no number");
        } else {
          ASSERT_TRUE(loader.next(record));
          ASSERT_EQ(record, expected);
        }
      EXPECT_FALSE(loader.next(record));
    }
}

TEST(DataErrors, exceptions_of_others_come_through) {
  Loader loader(
      Dataset::range(9).map([](const Record &) -> Record { throw std::runtime_error("mine"); }, {.threads = 2}));
  Record record;
  EXPECT_THROW(loader.next(record), std::runtime_error);
}

TEST(DataState, states_of_other_pipelines_and_damaged_ones_are_refused) {
  Dataset d = Dataset::range(100).shuffle(10, 1).batch({.size = 3});
  Loader loader(d);
  Record record;
  loader.next(record);
  std::string state = loader.save();
  Loader other(Dataset::range(100).shuffle(10, 2).batch({.size = 3}));
  EXPECT_EQ(messageOf([&] { other.load(state); }),
            "a pipeline's state requires the pipeline 'range 100 | shuffle 10 seed 1 | batch 3', got "
            "'range 100 | shuffle 10 seed 2 | batch 3'");
  EXPECT_EQ(messageOf([&] { loader.load(state); }), "loading a state requires a loader that has read nothing");
  auto same = [](const Record &of) { return of; };
  Loader first(d.map(same, {.text = "scaled by 2"})), second(d.map(same, {.threads = 1, .text = "scaled by 3"}));
  EXPECT_NE(messageOf([&] {
              second.load(first.save());
            }).find("'range 100 | shuffle 10 seed 1 | batch 3 | map scaled by 2', got"),
            std::string::npos);
  for (size_t i = 0; i < state.size(); ++i) {
    std::string damaged = state;
    damaged[i] = static_cast<char>(damaged[i] ^ 4);
    Loader fresh(d);
    EXPECT_EQ(messageOf([&] { fresh.load(damaged); }), "a pipeline's state is damaged: its checksum does not fit");
    EXPECT_THROW(fresh.load(state.substr(0, i)), Error);
  }
}

TEST(DataState, states_stay_small) {
  auto lengths = [](const Record &r) {
    return Record{{"x", Value::of(std::vector<int64_t>(r["x"].as<int64_t>()[0] % 50 == 0 ? 9 : 1, 1))}};
  };
  Loader loader(Dataset::range(100000)
                    .shuffleAll({.seed = 1})
                    .shuffle(1000, 3)
                    .map(lengths, {.threads = 2})
                    .bucketByLength({.column = "x", .boundaries = {5}, .sizes = {32, 8}})
                    .prefetch(16)
                    .repeat(-1));
  Record record;
  for (int i = 0; i < 1500; ++i)
    ASSERT_TRUE(loader.next(record));
  EXPECT_LT(loader.save().size(), 4096u);
}

TEST(DataShuffle, all_orders_come_equally_often) {
  // Six orders of three records, 6000 seeds: chi-square with 5 degrees of freedom is below 20.5 with probability 0.999.
  for (bool isWhole : {false, true}) {
    std::map<std::vector<int64_t>, int> counts;
    for (uint64_t seed = 0; seed < 6000; ++seed) {
      Dataset d = Dataset::range(3);
      std::vector<int64_t> order;
      for (const Record &record : all(isWhole ? d.shuffleAll({.seed = seed}) : d.shuffle(3, seed)))
        order.push_back(record["x"].as<int64_t>()[0]);
      ++counts[order];
    }
    ASSERT_EQ(counts.size(), 6u);
    double chi = 0;
    for (auto &[order, count] : counts)
      chi += (count - 1000.0) * (count - 1000.0) / 1000.0;
    EXPECT_LT(chi, 20.5);
  }
}

TEST(DataShuffle, the_order_does_not_depend_on_memory) {
  auto grow = [](const Record &r) { return Record{{"x", r["x"]}, {"ballast", Value::string(std::string(500, 'b'))}}; };
  Dataset d = Dataset::range(5000).map(grow); // 3 MB
  EXPECT_EQ(all(d.shuffleAll({.seed = 4})), all(d.shuffleAll({.seed = 4, .memoryBytes = 1 << 16})));
  EXPECT_EQ(messageOf([&] { all(d.shuffleAll({.memoryBytes = 1 << 16, .folder = "/does/not/exist"})); }),
            "cannot make a file of shuffled records in '/does/not/exist': No such file or directory");
  auto huge = [](const Record &r) { return Record{{"x", Value::string(std::string(70000, 'b'))}}; };
  EXPECT_EQ(messageOf([&] { all(Dataset::range(3).map(huge).shuffleAll({.memoryBytes = 1 << 16})); }),
            "shuffling requires more memory: a part of the records exceeds the 65536 bytes that are allowed");
}

TEST(DataShuffle, epochs_differ) {
  auto records = all(Dataset::range(50).shuffle(50, 1).repeat(2));
  ASSERT_EQ(records.size(), 100u);
  EXPECT_FALSE(std::equal(records.begin(), records.begin() + 50, records.begin() + 50));
}

TEST(DataCache, the_input_is_read_once_and_bounded) {
  std::atomic<int> calls = 0;
  Dataset d = Dataset::range(10).map([&](const Record &r) {
    ++calls;
    return r;
  });
  EXPECT_EQ(all(d.cache(1000).repeat(3)).size(), 30u);
  EXPECT_EQ(calls, 10);
  EXPECT_EQ(messageOf([&] { all(d.cache(50)); }),
            "a cache requires its records to take at most 50 bytes, record 6 exceeds it");
}

TEST(DataPrefetch, no_more_than_its_capacity_is_read_ahead) {
  std::atomic<int> reads = 0;
  Loader loader(Dataset::range(1000)
                    .map([&](const Record &r) {
                      ++reads;
                      return r;
                    })
                    .prefetch(5));
  Record record;
  for (int i = 1; i <= 20; ++i) {
    ASSERT_TRUE(loader.next(record));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_LE(reads, i + 5);
  }
}

TEST(DataStatistics, the_side_that_waits_is_named) {
  auto slow = [](const Record &r) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return r;
  };
  Loader data(Dataset::range(20).map(slow, {.threads = 1}));
  Record record;
  while (data.next(record))
    ;
  EXPECT_NE(describe(data.statistics()).find("of the time waits for data"), std::string::npos);
  EXPECT_GT(data.statistics()[1].secondsForData, 0);
  std::atomic<int> reads = 0;
  auto count = [&](const Record &r) {
    ++reads;
    return r;
  };
  Loader compute(Dataset::range(20).map(count).prefetch(2));
  for (int taken = 1; compute.next(record); ++taken) {
    while (reads < std::min(taken + 2, 20)) // the next lie ready, however slowly they came
      std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_NE(describe(compute.statistics()).find("of the time waits for compute"), std::string::npos);
  EXPECT_GT(compute.statistics()[2].secondsForConsumer, 0);
}

TEST(DataRows, errors_come_between_and_a_state_is_exact) {
  Dataset rows = Dataset::range(60)
                     .batch({.size = 5})
                     .map([](const Record &r) {
                       if (r["x"].as<int64_t>()[0] % 15 == 5)
                         throw Error(SINTER_CORRUPT, "no rows here", {}, true);
                       return r;
                     })
                     .shuffleRows({.window = 7, .seed = 3, .size = 4});
  auto step = [](Loader &loader) {
    Record record;
    std::string text;
    std::string error = messageOf([&] {
      if (loader.next(record))
        for (int64_t x : record["x"].as<int64_t>())
          text += std::to_string(x) + " ";
    });
    return error == "nothing" ? text : error;
  };
  Loader straight(rows);
  std::string state = straight.save();
  std::set<std::string> numbers;
  int errors = 0;
  for (std::string wanted = "first"; !wanted.empty();) {
    wanted = step(straight);
    Loader resumed(rows);
    resumed.load(state);
    EXPECT_EQ(step(resumed), wanted);
    EXPECT_EQ(resumed.save(), straight.save());
    state = resumed.save();
    errors += wanted == "no rows here";
    numbers.insert(wanted);
  }
  EXPECT_EQ(errors, 4);
  EXPECT_EQ(numbers.size(), 1 + 10 + 1u); // the error, 40 rows by 4, the end
}

TEST(DataRows, ragged_columns_and_strings_move_with_their_rows) {
  Dataset records = Dataset::range(50).map(lengthen).batch({.size = 8, .ragged = {"x"}});
  auto moved = all(records.shuffleRows({.window = 20, .seed = 1, .size = 6}));
  int64_t count = 0;
  for (const Record &record : moved)
    for (int64_t i = 0; i < record["x"].rows(); ++i, ++count)
      EXPECT_EQ(record["name"].bytes(i), "n" + std::to_string(record["x"].row(i).count()));
  EXPECT_EQ(count, 50);
  EXPECT_EQ(messageOf([&] { records.shuffleRows({.size = 0}); }),
            "shuffleRows requires a window of 0 rows or more and a size of 1 or more, got 0 and 0");
  Dataset odd = Dataset::concatenate(
      {Dataset::range(3).batch({.size = 3}), Dataset::range(4).batch({.size = 2}).batch({.size = 2})});
  EXPECT_EQ(messageOf([&] { all(odd.shuffleRows({.size = 5})); }),
            "column 'x' requires rows of one kind to be shuffled, got i64 2x2 beside others");
  EXPECT_EQ(messageOf([&] { all(Dataset::range(3).shuffleRows({.size = 5})); }),
            "column 'x' requires 0 rows as 'x' has, got scalar");
}

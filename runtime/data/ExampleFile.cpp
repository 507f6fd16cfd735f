// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A file of tf.Examples in batches, of which one that is wrong takes no other along.

#include "TfRecord.h"
#include "Upstream.h"

using namespace sinter::data;

namespace {
class ExampleBatches : public Iterator {
public:
  ExampleBatches(std::unique_ptr<Iterator> input, std::string path, std::string column, Dataset::Map parse,
                 Dataset::Map parseOne)
      : input(std::move(input)), path(std::move(path)), column(std::move(column)), parse(std::move(parse)),
        parseOne(std::move(parseOne)) {}

  bool next(Record &record) override {
    if (!isHeld && !read())
      return false;
    int64_t rows = records.rows(), end = rows;
    try {
      record = parse({{column, row ? records.slice(row, rows) : records}});
    } catch (const Error &error) {
      if (!error.skippable())
        throw;
      end = findBad(); // or throws, where it is the next one
      if (end == rows)
        throw; // none of them alone
      record = parse({{column, records.slice(row, end)}});
    }
    pass(end);
    ++passed;
    return true;
  }

  void save(StateWriter &writer) const override {
    if (isHeld)
      input.save(writer, start);
    else
      input.saveHere(writer);
    writer.number(isHeld ? row : -1);
    writer.number(number);
  }
  void load(StateReader &reader) override {
    start = input.load(reader);
    int64_t saved = reader.number(), first = reader.number(INT64_MAX);
    number = first;
    if (saved < 0)
      return;
    if (!read() || saved >= records.rows())
      throw Error(SINTER_CORRUPT, "a pipeline's state requires record " + std::to_string(saved) + " of a batch",
                  {path, first, -1});
    row = saved;
  }
  void report(std::vector<StageStatistics> &stages) const override {
    input.report(stages);
    stages.push_back({.stage = "examples", .records = passed});
  }

private:
  /// The next records of the file.
  bool read() {
    input.mark();
    input.forgetBefore(input.attempts());
    start = input.attempts();
    Record batch;
    try {
      if (!input.next(batch))
        return false;
    } catch (const Error &error) {
      number += error.skippable(); // a record, too
      throw;
    }
    records = batch[column];
    row = 0;
    isHeld = true;
    return true;
  }

  /// The first record from `row` on that cannot be parsed. Where that is `row`, it is passed, and its error thrown.
  int64_t findBad() {
    for (int64_t i = row; i < records.rows(); ++i) {
      try {
        (void)parseOne({{column, records.row(i)}});
      } catch (const Error &error) {
        if (!error.skippable() || i > row)
          return i;
        Error placed(error.code(), error.what(), {path, number + i, -1}, true);
        pass(row + 1);
        throw placed;
      }
    }
    return records.rows();
  }

  void pass(int64_t to) {
    row = to;
    if (row < records.rows())
      return;
    number += records.rows();
    isHeld = false;
    records = {};
  }

  Upstream input;
  std::string path, column;
  Dataset::Map parse, parseOne;
  Value records;                          // of which those from `row` on are still to come
  int64_t row = 0, start = 0, number = 0; // `number`: of the first of them in the file
  int64_t passed = 0;
  bool isHeld = false;
};

class ExampleNode : public Node {
public:
  ExampleNode(const std::string &path, int64_t rows, const std::vector<Feature> &features,
              const TfRecordOptions &options)
      : path(path), column(options.column), records(readTfRecordBatches(path, rows, options)),
        parse(parseExamples(features, column)), parseOne(parseExample(features, column)) {}
  std::unique_ptr<Iterator> begin(int64_t epoch) const override {
    return std::make_unique<ExampleBatches>(records.begin(epoch), path, column, parse, parseOne);
  }
  std::string signature() const override { return records.signature() + " | examples"; }

private:
  std::string path, column;
  Dataset records;
  Dataset::Map parse, parseOne;
};
} // namespace

Dataset sinter::data::readExampleBatches(const std::string &path, int64_t rows, const std::vector<Feature> &features,
                                         const TfRecordOptions &options) {
  return Dataset(std::make_shared<ExampleNode>(path, rows, features, options));
}

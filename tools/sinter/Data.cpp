// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sinter data: looks at files of data and writes them in another format.

#include "tools/sinter/Data.h"
#include "runtime/data/Columns.h"
#include "runtime/data/Media.h"
#include "runtime/data/Numbers.h"
#include "runtime/data/Open.h"
#include "runtime/data/Text.h"
#include <cmath>
#include <cstdio>
#include <iostream>
#include <limits>
#include <unordered_map>
#include <unordered_set>

using namespace sinter;
using namespace sinter::tool;

void sinter::tool::stopFor(const data::Error &error) {
  switch (error.code()) {
  case SINTER_OUT_OF_MEMORY:
  case SINTER_LIMIT:
    throw Stop(Exit::Limit, error.what());
  case SINTER_IO:
    throw Stop(classOf(error.what(), Exit::File), error.what());
  case SINTER_CORRUPT:
    throw Stop(Exit::Damage, error.what());
  case SINTER_UNSUPPORTED:
    throw Stop(Exit::Unsupported, error.what());
  default:
    throw Stop(Exit::Failure, error.what());
  }
}

void sinter::tool::readEntries(const std::vector<std::string> &texts, const std::string &flag,
                               const std::string &wanted, std::map<std::string, std::string> &to) {
  std::map<std::string, std::string> read;
  for (const std::string &text : texts) {
    size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      throw Stop(Exit::Usage, flag + " requires NAME=" + wanted + ", got '" + text + "'");
    std::string name = text.substr(0, equals);
    if (!read.emplace(name, text.substr(equals + 1)).second)
      throw Stop(Exit::Usage, flag + " requires each name once, got '" + name + "' twice");
  }
  for (auto &[name, what] : read)
    to[name] = what;
}

//===- stats ----------------------------------------------------------------------------------------===//

namespace {
/// What a column holds, in one pass.
class Summary {
public:
  Summary(std::string name, const data::Value &value) : name(std::move(name)), dtype(value.dtype()) {
    dims = value.isRagged() ? "ragged" : value.dims().withoutFront().text();
  }

  void add(const data::Value &rows) {
    if (rows.dtype() != dtype)
      throw Stop(Exit::Failure, "column '" + name + "' requires " + data::dtypeName(dtype) + " in all files, got " +
                                    data::dtypeName(rows.dtype()));
    if (dtype == data::Bytes) {
      for (int64_t i = 0; i < rows.count(); ++i) {
        std::string_view text = rows.bytes(i);
        count(static_cast<double>(text.size()), text.empty());
        if (distinct.size() <= mostDistinct)
          distinct.emplace(text);
      }
      return;
    }
    bool isKnown = data::tryWithType(dtype, [&]<typename T>() {
      for (T x : rows.as<T>())
        count(static_cast<double>(x), std::isnan(static_cast<double>(x)));
    });
    if (!isKnown)
      elements += rows.count();
  }

  void print() const {
    std::printf("  %-24s %-5s %-9s %10lld %8lld", oneLine(name).c_str(), data::dtypeName(dtype), dims.c_str(),
                static_cast<long long>(elements), static_cast<long long>(missing));
    if (known > 0) {
      double deviation = known > 1 ? std::sqrt(squares / static_cast<double>(known)) : 0;
      for (double number : {least, most, mean, deviation})
        std::printf(" %12.6g", std::isnan(number) ? std::abs(number) : number); // a nan has a sign of no meaning
    }
    if (dtype == data::Bytes && !distinct.empty())
      std::printf("  %s%zu distinct", distinct.size() > mostDistinct ? "more than " : "",
                  std::min(distinct.size(), mostDistinct));
    std::printf("\n");
  }

  std::string name;

private:
  static constexpr size_t mostDistinct = 100000;

  void count(double x, bool isMissing) { // Welford 1962
    ++elements;
    missing += isMissing;
    if (isMissing && dtype != data::Bytes)
      return;
    ++known;
    least = std::min(least, x);
    most = std::max(most, x);
    double step = x - mean;
    mean += step / static_cast<double>(known);
    squares += step * (x - mean);
  }

  int32_t dtype;
  std::string dims;
  int64_t elements = 0, missing = 0, known = 0;
  double mean = 0, squares = 0, least = std::numeric_limits<double>::infinity(), most = -least;
  std::unordered_set<std::string> distinct;
};

struct DataFlags {
  std::vector<std::string> files;
  std::string input, output, columns, tokenizer;
  std::vector<std::string> only, specials;
  int64_t count = 10, chunk = 0, size = 8000;
  bool force = false, skip = false;
};
} // namespace

/// `dataset` of `path` without what cannot be read, if that is asked for.
static data::Dataset chosen(const data::Dataset &dataset, const std::string &path, const DataFlags &flags) {
  if (data::formatOf(path) == data::Format::Folder)
    if (std::string others = data::describeOthers(path, data::mediaSuffixes()); !others.empty())
      std::cerr << "sinter: warning: " << oneLine(others) << "\n";
  return flags.skip ? dataset.skipErrors() : dataset;
}

static data::Dataset opened(const std::string &path, const DataFlags &flags) {
  return chosen(data::openFile(path), path, flags);
}

/// For the end of a line.
static std::string skippedText(int64_t skipped) { return skipped ? ", " + std::to_string(skipped) + " skipped" : ""; }

static Exit head(const DataFlags &flags) {
  for (const std::string &path : flags.files) {
    if (flags.files.size() > 1)
      std::cout << "==> " << oneLine(path) << " <==\n";
    data::Loader loader(opened(path, flags).take(flags.count));
    for (data::Record record; loader.next(record);)
      std::cout << data::jsonOf(record, false) << "\n";
    if (int64_t skipped = loader.skipped())
      std::cerr << oneLine(path) << ": " << skipped << " skipped\n";
  }
  return Exit::Success;
}

static Exit stats(const DataFlags &flags) {
  std::vector<Summary> columns;
  std::unordered_map<std::string, size_t> places; // in `columns`
  int64_t records = 0, skipped = 0;
  for (const std::string &path : flags.files) {
    data::Loader loader(chosen(data::openFileBatches(path, 1024), path, flags));
    for (data::Record batch; loader.next(batch);) {
      for (int64_t c = 0; c < batch.size(); ++c) {
        auto [at, isNew] = places.try_emplace(batch.name(c), columns.size());
        if (isNew)
          columns.push_back(Summary(batch.name(c), batch.value(c)));
        columns[at->second].add(batch.value(c));
      }
      records += batch.size() ? batch.value(0).rows() : 0;
    }
    skipped += loader.skipped();
  }
  std::printf("%lld records in %zu file%s%s\n", static_cast<long long>(records), flags.files.size(),
              flags.files.size() == 1 ? "" : "s", skippedText(skipped).c_str());
  std::printf("  %-24s %-5s %-9s %10s %8s %12s %12s %12s %12s\n", "column", "dtype", "dims", "values", "missing",
              "least", "most", "mean", "deviation");
  for (const Summary &column : columns)
    column.print();
  std::fflush(stdout);
  return Exit::Success;
}

/// The tokens of a text: of each line, or chunks of all.
static data::Dataset tokenized(const DataFlags &flags) {
  if (data::formatOf(flags.input) != data::Format::Text)
    throw Stop(Exit::Usage, "--tokenizer requires a text (.txt), got " + flags.input);
  data::Tokenizer tokenizer =
      flags.tokenizer == "bytes" ? data::Tokenizer::ofBytes() : data::Tokenizer::read(flags.tokenizer);
  if (flags.chunk)
    return data::tokenChunks(data::readText(flags.input, {.blockBytes = 1 << 16}), tokenizer, {.size = flags.chunk});
  return data::readText(flags.input).map(data::encodeColumn(tokenizer));
}

static Exit tokenizer(const DataFlags &flags) {
  requireWritable(flags.output, {"", flags.input}, Kind::Text, flags.force);
  if (data::formatOf(flags.input) != data::Format::Text)
    throw Stop(Exit::Usage, "tokenizer requires a text (.txt), got " + flags.input);
  data::BpeTrainer trainer;
  data::Loader loader(data::readText(flags.input, {.blockBytes = 1 << 16}));
  for (data::Record block; loader.next(block);)
    trainer.add(block.value(0).bytes());
  data::Tokenizer made = trainer.train(
      {.size = static_cast<int32_t>(std::min<int64_t>(flags.size, INT32_MAX)), .specials = flags.specials});
  made.write(flags.output);
  std::cerr << "wrote " << oneLine(flags.output) << ": " << made.size() << " tokens\n";
  return Exit::Success;
}

static Exit convert(const DataFlags &flags) {
  data::Format format = data::formatOf(flags.output);
  Kind kind = format == data::Format::Npy           ? Kind::Npy
              : format == data::Format::Safetensors ? Kind::Safetensors
                                                    : Kind::Text;
  requireWritable(flags.output, {"", flags.input}, kind, flags.force, "OUTPUT"); // there is no model, which comes first
  if (flags.chunk && flags.tokenizer.empty())
    throw Stop(Exit::Usage, "--chunk requires --tokenizer");
  data::Dataset dataset = opened(flags.input, flags);
  if (!flags.tokenizer.empty())
    dataset = tokenized(flags);
  if (!flags.only.empty())
    dataset = dataset.map([only = flags.only](const data::Record &record) { return record.select(only); });
  data::Written written = data::writeFile(dataset, flags.output);
  std::cerr << "wrote " << oneLine(flags.output) << ": " << written.records << " records as "
            << data::formatName(format) << skippedText(written.skipped) << "\n";
  return Exit::Success;
}

static Exit fit(const DataFlags &flags) {
  requireWritable(flags.output, {"", flags.input}, Kind::Text, flags.force);
  data::FeatureColumns columns = data::FeatureColumns::load(flags.columns);
  data::Dataset batches = data::openFeatures(flags.input, 1024, columns.features());
  int64_t skipped = columns.fit(chosen(batches, flags.input, flags));
  columns.save(flags.output);
  std::cerr << "wrote " << oneLine(flags.output) << ": " << columns.all().size()
            << (columns.all().size() == 1 ? " column" : " columns") << skippedText(skipped) << "\n";
  return Exit::Success;
}

void sinter::tool::addData(CLI::App &program, Exit &result) {
  auto flags = std::make_shared<DataFlags>();
  CLI::App *data = program.add_subcommand("data", "look at files of data, write them in another format");
  data->require_subcommand(1);
  data->footer(
      "Formats, by suffix: .csv, .tsv, .jsonl, .npy, .npz, .safetensors, .idx, .tfrecord (tf.Examples), .txt; tables,\n"
      "text, IDX and TFRecord also with .gz behind it, TFRecord with .zlib. A folder is its pictures and sounds, "
      "labeled by the folders in "
      "it.");
  auto run = [flags, &result](Exit (*command)(const DataFlags &)) {
    return [flags, &result, command] {
      try {
        result = command(*flags);
      } catch (const data::Error &error) {
        stopFor(error);
      }
    };
  };
  auto addSkip = [&](CLI::App &command) {
    command.add_flag("--skip-errors", flags->skip, "leave out records that cannot be read");
  };
  CLI::App *first = data->add_subcommand("head", "print the first records as lines of JSON");
  first->add_option("files", flags->files, "files of data")->required();
  first->add_option("-n,--count", flags->count, "records of each file (default 10)")->check(positive());
  addSkip(*first);
  first->callback(run(head));
  CLI::App *summary = data->add_subcommand("stats", "print columns, values, missing ones, range, mean and deviation");
  summary->add_option("files", flags->files, "files of data with the same columns")->required();
  addSkip(*summary);
  summary->callback(run(stats));
  CLI::App *fitting = data->add_subcommand("fit", "fit feature columns to a table: means, quantiles, vocabularies");
  fitting->add_option("columns", flags->columns, "JSON file of feature columns")->required();
  fitting->add_option("input", flags->input, "file of data")->required();
  fitting->add_option("-o,--output", flags->output, "JSON file to write, with what was fitted")->required();
  addSkip(*fitting);
  addForce(*fitting, flags->force);
  fitting->callback(run(fit));
  CLI::App *write = data->add_subcommand("convert", "write the records of a file in another format");
  write->add_option("input", flags->input, "file of data")->required();
  write->add_option("output", flags->output, "file to write; its suffix chooses the format")->required();
  write->add_option("--only", flags->only, "columns to write, in this order")->delimiter(',');
  write->add_option("--tokenizer", flags->tokenizer, "tokenizer.json, vocab.json, or 'bytes': write a text's tokens");
  write->add_option("--chunk", flags->chunk, "tokens in a record (default: those of a line)")->check(positive());
  addSkip(*write);
  addForce(*write, flags->force);
  write->callback(run(convert));
  CLI::App *train = data->add_subcommand("tokenizer", "train a byte-level BPE tokenizer from a text");
  train->add_option("input", flags->input, "text (.txt)")->required();
  train->add_option("-o,--output", flags->output, "tokenizer.json to write")->required();
  train->add_option("--size", flags->size, "tokens, of which 256 are bytes (default 8000)")->check(positive());
  train->add_option("--special", flags->specials, "special tokens, the first ones")->delimiter(',');
  addForce(*train, flags->force);
  train->callback(run(tokenizer));
}

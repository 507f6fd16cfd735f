// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sources by position, and the stages that hold nothing back.

#include "Dataset.h"
#include "../decimal.h"
#include "Random.h"
#include "Upstream.h"
#include <cmath>

using namespace sinter::data;

//===- Upstream -------------------------------------------------------------------------------------===//

bool Upstream::next(Record &record) {
  try {
    if (!iterator->next(record))
      return false;
  } catch (const Error &error) {
    numAttempts += error.skippable();
    throw;
  }
  ++numAttempts;
  return true;
}

void Upstream::mark() {
  StateWriter writer;
  iterator->save(writer);
  if (!marks.empty() && marks.back().attempt == numAttempts)
    marks.pop_back();
  marks.push_back({numAttempts, writer.take()});
}

void Upstream::forgetBefore(int64_t attempt) {
  while (marks.size() > 1 && marks[1].attempt <= attempt)
    marks.pop_front();
}

void Upstream::thin(size_t most) {
  if (marks.size() <= most)
    return;
  std::deque<Mark> kept;
  for (size_t i = 0; i < marks.size(); i += 2)
    kept.push_back(std::move(marks[i]));
  marks = std::move(kept);
}

void Upstream::save(StateWriter &writer, int64_t oldest) const {
  const Mark *best = &marks.front();
  for (const Mark &mark : marks)
    if (mark.attempt <= oldest)
      best = &mark;
  writer.number(best->attempt);
  writer.text(best->state);
  writer.number(oldest);
}

void Upstream::saveHere(StateWriter &writer) const {
  StateWriter state;
  iterator->save(state);
  writer.number(numAttempts);
  writer.text(state.take());
  writer.number(numAttempts);
}

int64_t Upstream::load(StateReader &reader) {
  int64_t attempt = reader.number(INT64_MAX);
  StateReader state(reader.text());
  int64_t oldest = reader.number(INT64_MAX);
  iterator->load(state);
  numAttempts = attempt;
  marks.clear();
  mark();
  while (numAttempts < oldest)
    if (!skipOne(*this))
      throw Error(SINTER_CORRUPT, "a pipeline's state requires " + std::to_string(oldest) +
                                      " records of a stage, its input ends after " + std::to_string(numAttempts));
  return oldest;
}

bool sinter::data::skipOne(Upstream &upstream) {
  Record record;
  try {
    return upstream.next(record);
  } catch (const Error &error) {
    if (!error.skippable())
      throw;
    return true;
  }
}

//===- Sources by position --------------------------------------------------------------------------===//

namespace {
class SourceIterator : public Iterator {
public:
  SourceIterator(std::shared_ptr<const Source> source, std::vector<int64_t> order)
      : source(std::move(source)), order(std::move(order)) {}

  bool next(Record &record) override {
    if (at >= source->size())
      return false;
    int64_t i = order.empty() ? at : order[static_cast<size_t>(at)];
    ++at; // before the call, so that a record which cannot be read is passed
    record = source->read(i);
    return true;
  }
  void save(StateWriter &writer) const override { writer.number(at); }
  void load(StateReader &reader) override { at = reader.number(source->size()); }
  void report(std::vector<StageStatistics> &stages) const override {
    stages.push_back({.stage = "source", .records = at});
  }

private:
  std::shared_ptr<const Source> source;
  std::vector<int64_t> order;
  int64_t at = 0;
};

class SourceNode : public Node {
public:
  SourceNode(std::shared_ptr<const Source> source, bool isShuffled, uint64_t seed)
      : source(std::move(source)), isShuffled(isShuffled), seed(seed) {}
  std::unique_ptr<Iterator> begin(int64_t epoch) const override {
    return std::make_unique<SourceIterator>(source, isShuffled ? permutation(source->size(), seed, epoch)
                                                               : std::vector<int64_t>());
  }
  std::string signature() const override {
    return source->signature() + (isShuffled ? " shuffled " + std::to_string(seed) : "");
  }

private:
  std::shared_ptr<const Source> source;
  bool isShuffled;
  uint64_t seed;
};

class Range : public Source {
public:
  Range(int64_t count, const std::string &name)
      : count(count), names(std::make_shared<std::vector<std::string>>(1, name)) {}
  int64_t size() const override { return count; }
  Record read(int64_t i) const override { return {names, {Value::scalar(i)}}; }
  std::string signature() const override { return "range " + std::to_string(count); }

private:
  int64_t count;
  Names names;
};

class Rows : public Source {
public:
  explicit Rows(const Record &columns) : columns(columns), count(columns.size() ? columns.value(0).rows() : 0) {
    for (int64_t c = 0; c < columns.size(); ++c)
      if ((columns.value(c).dims().rank() == 0) || columns.value(c).rows() != count)
        throw Error(SINTER_INVALID_ARGUMENT, "column '" + columns.name(c) + "' requires " + std::to_string(count) +
                                                 " rows as '" + columns.name(0) + "' has, got " +
                                                 columns.value(c).dims().text());
  }
  int64_t size() const override { return count; }
  Record read(int64_t i) const override {
    std::vector<Value> values;
    for (int64_t c = 0; c < columns.size(); ++c)
      values.push_back(columns.value(c).row(i));
    return {columns.names(), std::move(values)};
  }
  std::string signature() const override { return "rows " + std::to_string(count); }

private:
  Record columns;
  int64_t count;
};

//===- Stages of one record -------------------------------------------------------------------------===//

/// Records in, records out, and nothing held between: the state is the upstream's and a count of what was read.
class Simple : public Iterator {
public:
  Simple(std::unique_ptr<Iterator> input, const char *name) : input(std::move(input)), name(name) {}
  void save(StateWriter &writer) const override {
    input->save(writer);
    writer.number(position);
    writer.number(skipped);
  }
  void load(StateReader &reader) override {
    input->load(reader);
    position = reader.number(INT64_MAX);
    skipped = reader.number(INT64_MAX);
  }
  void report(std::vector<StageStatistics> &stages) const override {
    input->report(stages);
    stages.push_back({.stage = name, .records = passed, .skipped = skipped});
  }
  bool next(Record &record) override {
    bool isThere = advance(record);
    passed += isThere;
    return isThere;
  }

protected:
  virtual bool advance(Record &record) = 0;
  bool read(Record &record) {
    if (!input->next(record))
      return false;
    ++position;
    return true;
  }

  std::unique_ptr<Iterator> input;
  const char *name;
  int64_t position = 0, skipped = 0, passed = 0;
};

/// Hands on the records whose number and content a predicate likes.
class Choose : public Simple {
public:
  using Predicate = std::function<bool(const Record &, int64_t)>;
  Choose(std::unique_ptr<Iterator> input, const char *name, Predicate predicate)
      : Simple(std::move(input), name), predicate(std::move(predicate)) {}

protected:
  bool advance(Record &record) override {
    while (read(record))
      if (predicate(record, position - 1))
        return true;
    return false;
  }

private:
  Predicate predicate;
};

class Take : public Simple {
public:
  Take(std::unique_ptr<Iterator> input, int64_t count) : Simple(std::move(input), "take"), count(count) {}

protected:
  bool advance(Record &record) override { return position < count && read(record); }

private:
  int64_t count;
};

class SkipErrors : public Simple {
public:
  SkipErrors(std::unique_ptr<Iterator> input, int64_t most) : Simple(std::move(input), "skip errors"), most(most) {}

protected:
  bool advance(Record &record) override {
    for (;;) {
      try {
        return read(record);
      } catch (const Error &error) {
        if (!error.skippable() || (most >= 0 && skipped >= most))
          throw;
        ++skipped;
      }
    }
  }

private:
  int64_t most;
};

/// Rows of the records of the input. A state is before a record of the input, or at a row of it.
class Unbatch : public Iterator {
public:
  explicit Unbatch(std::unique_ptr<Iterator> input) : input(std::move(input)) {}
  bool next(Record &record) override {
    while (!rows || row >= rows->size()) {
      rows.reset();
      row = 0;
      input.mark();
      input.forgetBefore(input.attempts());
      start = input.attempts();
      Record batch;
      if (!input.next(batch))
        return false;
      rows = std::make_unique<Rows>(batch);
    }
    record = rows->read(row++);
    ++passed;
    return true;
  }
  void save(StateWriter &writer) const override {
    if (rows)
      input.save(writer, start);
    else
      input.saveHere(writer);
    writer.number(rows ? row : -1);
  }
  void load(StateReader &reader) override {
    start = input.load(reader);
    int64_t saved = reader.number();
    if (saved < 0)
      return;
    Record batch;
    if (input.next(batch))
      rows = std::make_unique<Rows>(batch);
    row = saved;
  }
  void report(std::vector<StageStatistics> &stages) const override {
    input.report(stages);
    stages.push_back({.stage = "unbatch", .records = passed});
  }

private:
  Upstream input;
  std::unique_ptr<Rows> rows;
  int64_t row = 0, start = 0, passed = 0;
};
} // namespace

static Dataset stage(const std::shared_ptr<const Node> &input, std::string text, FunctionStage::Begin begin) {
  return Dataset(std::make_shared<FunctionStage>(input, std::move(text), std::move(begin)));
}

static Dataset choose(const std::shared_ptr<const Node> &input, std::string text, const char *name,
                      Choose::Predicate predicate) {
  return stage(input, std::move(text), [=](const Node &node, int64_t epoch) {
    return std::make_unique<Choose>(node.begin(epoch), name, predicate);
  });
}

static void require(bool holds, const std::string &what) {
  if (!holds)
    throw Error(SINTER_INVALID_ARGUMENT, what);
}

Dataset Dataset::from(std::shared_ptr<const Source> source) {
  return Dataset(std::make_shared<SourceNode>(std::move(source), false, 0));
}

Dataset Dataset::shuffledFrom(std::shared_ptr<const Source> source, uint64_t seed) {
  return Dataset(std::make_shared<SourceNode>(std::move(source), true, seed));
}

Dataset Dataset::range(int64_t count, const std::string &name) {
  require(count >= 0, "range requires a count of 0 or more, got " + std::to_string(count));
  return from(std::make_shared<Range>(count, name));
}

Dataset Dataset::fromRows(const Record &columns) { return from(std::make_shared<Rows>(columns)); }

Dataset Dataset::filter(Filter predicate) const {
  return choose(node, "filter", "filter", [=](const Record &record, int64_t) { return predicate(record); });
}

Dataset Dataset::shard(int64_t rank, int64_t world) const {
  require(rank >= 0 && rank < world,
          "shard requires a rank below the world's size, got " + std::to_string(rank) + " of " + std::to_string(world));
  return choose(node, "shard " + std::to_string(rank) + " of " + std::to_string(world), "shard",
                [=](const Record &, int64_t position) { return position % world == rank; });
}

Dataset Dataset::split(std::vector<double> shares, int part, uint64_t seed) const {
  double sum = 0, first = 0, last = 0;
  std::string text = "split";
  for (size_t i = 0; i < shares.size(); ++i) {
    require(shares[i] >= 0, "split requires shares of 0 or more, got " + decimal(shares[i]));
    sum += shares[i];
    first = static_cast<int>(i) == part ? sum - shares[i] : first;
    last = static_cast<int>(i) == part ? sum : last;
    text += " " + decimal(shares[i]);
  }
  require(std::abs(sum - 1) < 1e-9 && part >= 0 && part < static_cast<int>(shares.size()),
          "split requires shares that sum to 1 and one of their numbers, got a sum of " + decimal(sum) + " and part " +
              std::to_string(part));
  bool isLast = part + 1 == static_cast<int>(shares.size());
  return choose(node, text + " part " + std::to_string(part) + " seed " + std::to_string(seed), "split",
                [=](const Record &, int64_t position) {
                  double u = static_cast<double>(draw(seed, 0, position) >> 11) * 0x1p-53;
                  return u >= first && (isLast || u < last);
                });
}

Dataset Dataset::skip(int64_t count) const {
  require(count >= 0, "skip requires a count of 0 or more, got " + std::to_string(count));
  return choose(node, "skip " + std::to_string(count), "skip",
                [=](const Record &, int64_t position) { return position >= count; });
}

Dataset Dataset::take(int64_t count) const {
  require(count >= 0, "take requires a count of 0 or more, got " + std::to_string(count));
  return stage(node, "take " + std::to_string(count),
               [=](const Node &input, int64_t epoch) { return std::make_unique<Take>(input.begin(epoch), count); });
}

Dataset Dataset::skipErrors(int64_t most) const {
  return stage(node, "skip errors", [=](const Node &input, int64_t epoch) {
    return std::make_unique<SkipErrors>(input.begin(epoch), most);
  });
}

Dataset Dataset::unbatch() const {
  return stage(node, "unbatch",
               [](const Node &input, int64_t epoch) { return std::make_unique<Unbatch>(input.begin(epoch)); });
}

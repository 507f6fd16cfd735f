// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// repeat, concatenate, interleave, zip, cache: stages over several walks.

#include "Dataset.h"
#include "Upstream.h"
#include <algorithm>
#include <mutex>

using namespace sinter::data;

using Nodes = std::vector<std::shared_ptr<const Node>>;

/// A nested state, by which a damaged one cannot run into its neighbour's.
static void saveNested(StateWriter &writer, const Iterator &iterator) {
  StateWriter nested;
  iterator.save(nested);
  writer.text(nested.take());
}

static void loadNested(StateReader &reader, Iterator &iterator) {
  StateReader nested(reader.text());
  iterator.load(nested);
}

namespace {
/// One walk after the other: what repeat and concatenate have in common.
class Sequence : public Iterator {
public:
  /// `begin(i)` starts walk i, or returns null behind the last.
  using Begin = std::function<std::unique_ptr<Iterator>(int64_t)>;
  Sequence(const char *name, Begin begin) : name(name), begin(std::move(begin)) {}

  bool next(Record &record) override {
    for (;;) {
      if (!current && !(current = begin(index)))
        return false;
      if (current->next(record)) {
        gave = true;
        ++passed;
        return true;
      }
      if (endless && !gave)
        return false; // a walk without records, for ever
      gave = false;
      done.clear();
      current->report(done);
      current.reset();
      ++index;
    }
  }
  void save(StateWriter &writer) const override {
    writer.number(index);
    writer.number(gave);
    writer.number(current != nullptr);
    if (current)
      saveNested(writer, *current);
  }
  void load(StateReader &reader) override {
    index = reader.number(INT64_MAX);
    gave = reader.number(1);
    if (!reader.number(1))
      return;
    current = begin(index);
    if (!current)
      throw Error(SINTER_CORRUPT, "a pipeline's state requires walk " + std::to_string(index) + " of " + name +
                                      ", which there is none");
    loadNested(reader, *current);
  }
  void report(std::vector<StageStatistics> &stages) const override {
    if (current)
      current->report(stages); // of this walk
    else
      stages.insert(stages.end(), done.begin(), done.end());
    stages.push_back({.stage = name, .records = passed});
  }

  bool endless = false;

private:
  const char *name;
  Begin begin;
  std::unique_ptr<Iterator> current;
  std::vector<StageStatistics> done;
  int64_t index = 0, passed = 0;
  bool gave = false;
};

class Interleave : public Iterator {
public:
  Interleave(Nodes parts, int64_t cycle, int64_t block, int64_t epoch)
      : parts(std::move(parts)), block(block), epoch(epoch), open(static_cast<size_t>(cycle)) {}

  bool next(Record &record) override {
    if (!hasBegun) {
      hasBegun = true;
      for (Slot &slot : open)
        refill(slot);
    }
    for (size_t ended = 0; ended < open.size();) {
      Slot &slot = open[turn];
      if (slot.walk && slot.walk->next(record)) {
        ++passed;
        if (++inBlock == block)
          advance();
        return true;
      }
      // The next part that waits takes the place of one that has ended, and the turn.
      if (slot.walk && refill(slot)) {
        inBlock = 0;
        ended = 0;
        continue;
      }
      ++ended;
      advance();
    }
    return false;
  }
  void save(StateWriter &writer) const override {
    writer.number(hasBegun);
    writer.number(nextPart);
    writer.number(static_cast<int64_t>(turn));
    writer.number(inBlock);
    for (const Slot &slot : open) {
      writer.number(slot.walk ? slot.part : -1);
      if (slot.walk)
        saveNested(writer, *slot.walk);
    }
  }
  void load(StateReader &reader) override {
    hasBegun = reader.number(1);
    nextPart = reader.number(static_cast<int64_t>(parts.size()));
    turn = static_cast<size_t>(reader.number(static_cast<int64_t>(open.size()) - 1));
    inBlock = reader.number(block);
    for (Slot &slot : open) {
      slot.part = reader.number();
      if (slot.part < 0)
        continue;
      if (slot.part >= static_cast<int64_t>(parts.size()))
        throw Error(SINTER_CORRUPT, "a pipeline's state requires part " + std::to_string(slot.part) + " of " +
                                        std::to_string(parts.size()));
      slot.walk = parts[static_cast<size_t>(slot.part)]->begin(epoch);
      loadNested(reader, *slot.walk);
    }
  }
  void report(std::vector<StageStatistics> &stages) const override {
    for (const Slot &slot : open)
      if (slot.walk)
        slot.walk->report(stages);
    stages.push_back({.stage = "interleave", .records = passed});
  }

private:
  struct Slot {
    int64_t part = -1;
    std::unique_ptr<Iterator> walk;
  };

  bool refill(Slot &slot) {
    slot.walk.reset();
    if (nextPart == static_cast<int64_t>(parts.size()))
      return false;
    slot.part = nextPart++;
    slot.walk = parts[static_cast<size_t>(slot.part)]->begin(epoch);
    return true;
  }

  void advance() {
    turn = (turn + 1) % open.size();
    inBlock = 0;
  }

  Nodes parts;
  int64_t block, epoch;
  std::vector<Slot> open;
  bool hasBegun = false;
  int64_t nextPart = 0, inBlock = 0, passed = 0;
  size_t turn = 0;
};

class Zip : public Iterator {
public:
  explicit Zip(std::vector<std::unique_ptr<Iterator>> walks) : walks(std::move(walks)) {}
  bool next(Record &record) override {
    if (isAtEnd)
      return false;
    auto names = std::make_shared<std::vector<std::string>>();
    std::vector<Value> values;
    for (const auto &walk : walks) {
      Record one;
      if (!walk->next(one)) {
        isAtEnd = true;
        return false;
      }
      for (int64_t c = 0; c < one.size(); ++c) {
        if (std::ranges::find(*names, one.name(c)) != names->end())
          throw Error(SINTER_INVALID_ARGUMENT, "zip requires distinct columns, got '" + one.name(c) + "' twice");
        names->push_back(one.name(c));
        values.push_back(std::move(one.value(c)));
      }
    }
    record = {std::move(names), std::move(values)};
    ++passed;
    return true;
  }
  void save(StateWriter &writer) const override {
    writer.number(isAtEnd);
    for (const auto &walk : walks)
      saveNested(writer, *walk);
  }
  void load(StateReader &reader) override {
    isAtEnd = reader.number(1);
    for (const auto &walk : walks)
      loadNested(reader, *walk);
  }
  void report(std::vector<StageStatistics> &stages) const override {
    for (const auto &walk : walks)
      walk->report(stages);
    stages.push_back({.stage = "zip", .records = passed});
  }

private:
  std::vector<std::unique_ptr<Iterator>> walks;
  bool isAtEnd = false;
  int64_t passed = 0;
};

/// What all walks over a cached dataset share. Its records are those of epoch 0, whoever reads them first.
struct Kept {
  std::mutex mutex;
  std::vector<Record> records;
  std::unique_ptr<Iterator> input; // behind the records
  int64_t bytes = 0;
  bool isWhole = false;
};

class Cached : public Iterator {
public:
  Cached(std::shared_ptr<Kept> kept, const Node &input, int64_t maxBytes) : kept(std::move(kept)), maxBytes(maxBytes) {
    std::lock_guard lock(this->kept->mutex);
    if (!this->kept->input)
      this->kept->input = input.begin(0);
  }
  bool next(Record &record) override {
    std::lock_guard lock(kept->mutex);
    if (!reach())
      return false;
    record = kept->records[static_cast<size_t>(at++)];
    return true;
  }
  void save(StateWriter &writer) const override { writer.number(at); }
  void load(StateReader &reader) override {
    int64_t saved = reader.number(INT64_MAX);
    std::lock_guard lock(kept->mutex);
    while (at < saved) {
      try {
        if (!reach())
          throw Error(SINTER_CORRUPT, "a pipeline's state requires " + std::to_string(saved) +
                                          " cached records, there are " + std::to_string(at));
        ++at;
      } catch (const Error &error) {
        if (!error.skippable())
          throw;
      }
    }
  }
  void report(std::vector<StageStatistics> &stages) const override {
    std::lock_guard lock(kept->mutex);
    kept->input->report(stages);
    stages.push_back({.stage = "cache", .records = at});
  }

private:
  /// Whether there is a record at `at`, which is read if it is the first one that is not kept.
  bool reach() {
    if (at < static_cast<int64_t>(kept->records.size()))
      return true;
    Record record;
    if (kept->isWhole || !kept->input->next(record)) {
      kept->isWhole = true;
      return false;
    }
    kept->bytes += record.memoryBytes();
    if (kept->bytes > maxBytes)
      throw Error(SINTER_LIMIT, "a cache requires its records to take at most " + std::to_string(maxBytes) +
                                    " bytes, record " + std::to_string(at) + " exceeds it");
    kept->records.push_back(std::move(record));
    return true;
  }

  std::shared_ptr<Kept> kept;
  int64_t maxBytes, at = 0;
};

/// A node over several others.
class Join : public Node {
public:
  using Begin = std::function<std::unique_ptr<Iterator>(const Nodes &, int64_t)>;
  Join(Nodes parts, std::string text, Begin function)
      : parts(std::move(parts)), text(std::move(text)), function(std::move(function)) {}
  std::unique_ptr<Iterator> begin(int64_t epoch) const override { return function(parts, epoch); }
  std::string signature() const override {
    std::string all = text + " (";
    for (size_t i = 0; i < parts.size(); ++i)
      all += (i ? "; " : "") + parts[i]->signature();
    return all + ")";
  }

private:
  Nodes parts;
  std::string text;
  Begin function;
};
} // namespace

Dataset Dataset::repeat(int64_t times) const {
  if (times < -1)
    throw Error(SINTER_INVALID_ARGUMENT, "repeat requires a number of times or -1, got " + std::to_string(times));
  std::shared_ptr<const Node> input = node;
  return Dataset(std::make_shared<FunctionStage>(
      node, "repeat " + std::to_string(times), [input, times](const Node &, int64_t epoch) {
        auto walk = std::make_unique<Sequence>("repeat", [=](int64_t i) -> std::unique_ptr<Iterator> {
          return times >= 0 && i >= times ? nullptr : input->begin((times > 0 ? epoch * times : 0) + i);
        });
        walk->endless = times < 0;
        return walk;
      }));
}

Dataset Dataset::cache(int64_t maxBytes) const {
  auto kept = std::make_shared<Kept>();
  return Dataset(std::make_shared<FunctionStage>(
      node, "cache", [=](const Node &input, int64_t) { return std::make_unique<Cached>(kept, input, maxBytes); }));
}

Dataset Dataset::concatenate(std::vector<Dataset> parts) {
  Nodes nodes;
  for (const Dataset &part : parts)
    nodes.push_back(part.node);
  return Dataset(std::make_shared<Join>(nodes, "concatenate", [](const Nodes &all, int64_t epoch) {
    return std::make_unique<Sequence>("concatenate", [all, epoch](int64_t i) -> std::unique_ptr<Iterator> {
      return i < static_cast<int64_t>(all.size()) ? all[static_cast<size_t>(i)]->begin(epoch) : nullptr;
    });
  }));
}

Dataset Dataset::interleave(std::vector<Dataset> parts, int64_t cycle, int64_t block) {
  if (cycle < 1 || block < 1)
    throw Error(SINTER_INVALID_ARGUMENT, "interleave requires a cycle and a block of 1 or more, got " +
                                             std::to_string(cycle) + " and " + std::to_string(block));
  Nodes nodes;
  for (const Dataset &part : parts)
    nodes.push_back(part.node);
  return Dataset(std::make_shared<Join>(
      nodes, "interleave " + std::to_string(cycle) + " by " + std::to_string(block),
      [=](const Nodes &all, int64_t epoch) { return std::make_unique<Interleave>(all, cycle, block, epoch); }));
}

Dataset Dataset::zip(std::vector<Dataset> parts) {
  if (parts.empty())
    throw Error(SINTER_INVALID_ARGUMENT, "zip requires a dataset");
  Nodes nodes;
  for (const Dataset &part : parts)
    nodes.push_back(part.node);
  return Dataset(std::make_shared<Join>(nodes, "zip", [](const Nodes &all, int64_t epoch) {
    std::vector<std::unique_ptr<Iterator>> walks;
    for (const auto &part : all)
      walks.push_back(part->begin(epoch));
    return std::make_unique<Zip>(std::move(walks));
  }));
}

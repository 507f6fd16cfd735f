// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What stages that hold records back share: an upstream that can be read again from before the oldest record held. A
// stage marks places from time to time and forgets those that it no longer needs.

#ifndef SINTER_RUNTIME_DATA_UPSTREAM_H
#define SINTER_RUNTIME_DATA_UPSTREAM_H

#include "Dataset.h"
#include <deque>

namespace sinter::data {

class Upstream {
public:
  explicit Upstream(std::unique_ptr<Iterator> iterator) : iterator(std::move(iterator)) { mark(); }

  /// As Iterator::next. A call that throws what can be skipped counts as an attempt, too.
  bool next(Record &record);
  bool isAtHand() const { return iterator->isAtHand(); }
  /// Calls that gave a record or a skippable error.
  int64_t attempts() const { return numAttempts; }

  /// Remembers the state before the next attempt.
  void mark();
  /// Forgets all marks but the last one at or before `attempt`.
  void forgetBefore(int64_t attempt);
  /// Halves the marks where there are more than `most`; the first one stays.
  void thin(size_t most);

  /// Writes the last mark at or before attempt `oldest`, and `oldest` itself.
  void save(StateWriter &writer, int64_t oldest) const;
  /// The same for the state as it is now.
  void saveHere(StateWriter &writer) const;
  /// Goes back to the mark, then forward to attempt `oldest`, which it returns.
  int64_t load(StateReader &reader);

  void report(std::vector<StageStatistics> &stages) const { iterator->report(stages); }

private:
  struct Mark {
    int64_t attempt;
    std::string state;
  };

  std::unique_ptr<Iterator> iterator;
  int64_t numAttempts = 0;
  std::deque<Mark> marks;
};

/// Calls next() of `upstream`; a skippable error counts as a record. False at the end.
bool skipOne(Upstream &upstream);

/// The stages' own nodes have one upstream and a text.
class Stage : public Node {
public:
  Stage(std::shared_ptr<const Node> input, std::string text) : input(std::move(input)), text(std::move(text)) {}
  std::string signature() const override { return input->signature() + " | " + text; }

protected:
  std::shared_ptr<const Node> input;
  std::string text;
};

/// A node that begins by calling a function.
class FunctionStage : public Stage {
public:
  using Begin = std::function<std::unique_ptr<Iterator>(const Node &input, int64_t epoch)>;
  FunctionStage(std::shared_ptr<const Node> input, std::string text, Begin function)
      : Stage(std::move(input), std::move(text)), function(std::move(function)) {}
  std::unique_ptr<Iterator> begin(int64_t epoch) const override { return function(*input, epoch); }

private:
  Begin function;
};

/// Stacks records as batch() says.
Record stack(std::span<const Record> records, const std::map<std::string, Pad> &pads,
             const std::set<std::string> &ragged);

} // namespace sinter::data

#endif

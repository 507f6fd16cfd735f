// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// shuffleRows: rows of records that hold many, shuffled and put together anew, without a record for each row.

#include "Random.h"
#include "Upstream.h"
#include <algorithm>

using namespace sinter::data;

namespace {
/// A record of the input, whose rows go to different batches.
struct Part {
  Record record;
  int64_t attempt = 0, rows = 0;
};

struct Row {
  const Part *part;
  int64_t index;
};
} // namespace

//===- Gathering ------------------------------------------------------------------------------------===//

/// Elements [from, from + count) of each run, one behind the other.
struct Run {
  const Value *value;
  int64_t from, count;
};

static Value gatherStrings(std::span<const Run> runs, const Dims &dims) {
  int64_t count = dims.count(), bytes = 0, at = 0;
  auto memory = allocate((count + 1) * 8);
  std::shared_ptr<int64_t> offsets(memory, reinterpret_cast<int64_t *>(memory.get()));
  for (const Run &run : runs)
    for (int64_t i = run.from; i < run.from + run.count; ++i) {
      offsets.get()[at++] = bytes;
      bytes += static_cast<int64_t>(run.value->bytes(i).size());
    }
  offsets.get()[at] = bytes;
  auto text = allocate(bytes);
  char *to = text.get();
  for (const Run &run : runs)
    for (int64_t i = run.from; i < run.from + run.count; ++i) {
      std::string_view string = run.value->bytes(i);
      if (!string.empty())
        std::memcpy(to, string.data(), string.size());
      to += string.size();
    }
  return Value::strings(dims, std::move(text), std::move(offsets));
}

template <size_t elementBytes> static void copyElements(std::span<const Run> runs, char *to) {
  for (const Run &run : runs) {
    std::memcpy(to, run.value->data() + run.from * static_cast<int64_t>(elementBytes), elementBytes);
    to += elementBytes;
  }
}

static Value gatherNumbers(std::span<const Run> runs, int32_t dtype, const Dims &dims, bool isOfScalars) {
  int64_t element = sinter_dtype_bytes(dtype);
  auto memory = allocate(dims.count() * element);
  char *to = memory.get();
  if (isOfScalars && element == 4) {
    copyElements<4>(runs, to);
  } else if (isOfScalars && element == 8) {
    copyElements<8>(runs, to);
  } else {
    for (const Run &run : runs) {
      auto size = static_cast<size_t>(run.count * element);
      if (size)
        std::memcpy(to, run.value->data() + run.from * element, size);
      to += size;
    }
  }
  return Value(dtype, dims, std::move(memory));
}

using Parts = std::vector<std::shared_ptr<Part>>;

/// Strings, one a row, stay where they are: moving them costs more than looking for them.
static Value gatherSpans(std::span<const Row> rows, int64_t column, const Dims &dims,
                         const std::shared_ptr<const Parts> &parts) {
  struct Spans {
    std::vector<Span, PieceAllocator<Span>> spans;
    std::shared_ptr<const Parts> parts;
  };
  auto gathered = std::make_shared<Spans>();
  gathered->parts = parts;
  gathered->spans.reserve(rows.size());
  for (const Row &row : rows)
    gathered->spans.push_back(row.part->record.value(column).span(row.index));
  return Value::strings(dims, {gathered, gathered->spans.data()});
}

/// `parts` are those of the rows, at least.
static Value gatherColumn(std::span<const Row> rows, int64_t column, const std::shared_ptr<const Parts> &parts,
                          std::vector<Run> &runs) {
  const Value &first = rows[0].part->record.value(column);
  int64_t inner = first.dims().withoutFront().count(), total = 0;
  if (first.dtype() == Bytes && !first.isRagged() && inner == 1) {
    Dims dims = first.dims();
    dims.set(0, static_cast<int64_t>(rows.size()));
    return gatherSpans(rows, column, dims, parts);
  }
  bool isRagged = first.isRagged();
  std::vector<int64_t> splits;
  if (isRagged)
    splits.push_back(0);
  runs.clear();
  for (const Row &row : rows) {
    const Value &value = row.part->record.value(column);
    if (!isRagged) {
      runs.push_back({&value, row.index * inner, inner});
      continue;
    }
    auto at = value.splits();
    int64_t from = at[static_cast<size_t>(row.index)], count = at[static_cast<size_t>(row.index) + 1] - from;
    runs.push_back({&value, from * inner, count * inner});
    splits.push_back(total += count);
  }
  Dims dims = first.dims();
  dims.set(0, isRagged ? total : static_cast<int64_t>(rows.size()));
  Value value = first.dtype() == Bytes ? gatherStrings(runs, dims)
                                       : gatherNumbers(runs, first.dtype(), dims, !isRagged && inner == 1);
  return isRagged ? Value::ragged(value, splits) : value;
}

/// Throws unless rows of `one` can stand beside those of `other`.
static void requireAlike(const Record &one, const Record &other) {
  for (int64_t c = 0; c < one.size(); ++c) {
    const Value &a = one.value(c), &b = c < other.size() ? other.value(c) : a;
    if (a.dims().rank() == 0 || a.rows() != one.value(0).rows())
      throw Error(SINTER_INVALID_ARGUMENT, "column '" + one.name(c) + "' requires " +
                                               std::to_string(one.value(0).rows()) + " rows as '" + one.name(0) +
                                               "' has, got " + a.dims().text());
    if (c >= other.size() || one.name(c) != other.name(c) || one.size() != other.size() || a.dtype() != b.dtype() ||
        a.isRagged() != b.isRagged() || !(a.dims().withoutFront() == b.dims().withoutFront()))
      throw Error(SINTER_INVALID_ARGUMENT, "column '" + one.name(c) +
                                               "' requires rows of one kind to be shuffled, got " +
                                               dtypeName(a.dtype()) + " " + a.dims().text() + " beside others");
  }
}

//===- The stage ------------------------------------------------------------------------------------===//

namespace {
class RowShuffle : public Iterator {
public:
  RowShuffle(std::unique_ptr<Iterator> input, const ShuffleRowsOptions &options, int64_t epoch)
      : input(std::move(input)), options(options), epoch(epoch) {}

  bool next(Record &record) override {
    if (pending.empty())
      batchStart = place();
    collect(INT64_MAX);
    if (pending.empty() || (options.dropRemainder && static_cast<int64_t>(pending.size()) < options.size))
      return false;
    std::vector<Value> columns;
    const Record &first = pending[0].part->record;
    auto parts = std::make_shared<Parts>(held);
    parts->insert(parts->end(), left.begin(), left.end());
    for (int64_t c = 0; c < first.size(); ++c)
      columns.push_back(gatherColumn(pending, c, parts, runs));
    record = {first.names(), std::move(columns)};
    pending.clear();
    left.clear();
    ++passed;
    return true;
  }

  bool isAtHand() const override {
    return isFull && static_cast<int64_t>(rows.size()) - at >= options.size - static_cast<int64_t>(pending.size());
  }

  /// Where the rows are that the next batch begins with; rows are read again.
  void save(StateWriter &writer) const override {
    Place from = pending.empty() ? place() : batchStart;
    if (from.attempt == input.attempts())
      input.saveHere(writer);
    else
      input.save(writer, from.attempt);
    writer.number(from.row);
    writer.number(from.window);
    writer.number(from.at);
    writer.number(input.attempts());
    writer.number(!pending.empty());
  }

  void load(StateReader &reader) override {
    input.load(reader);
    firstRow = reader.number(INT64_MAX);
    window = reader.number(INT64_MAX);
    int64_t saved = reader.number(), attempts = reader.number(INT64_MAX);
    bool hasPending = reader.number(1) != 0;
    replay([&] { fill(attempts); });
    if (saved >= 0) {
      if (!isFull)
        arrange();
      if (saved >= static_cast<int64_t>(rows.size()))
        throw Error(SINTER_CORRUPT, "a pipeline's state requires a place in a window of " +
                                        std::to_string(rows.size()) + " rows, got " + std::to_string(saved));
      at = saved;
    }
    if (hasPending) {
      batchStart = place();
      replay([&] { collect(attempts); });
    }
  }

  void report(std::vector<StageStatistics> &stages) const override {
    input.report(stages);
    stages.push_back({.stage = "shuffle rows", .records = passed});
  }

private:
  /// Row `row` of the record of an attempt begins window `window`, of which `at` rows are given out (-1: not yet full).
  struct Place {
    int64_t attempt, row, window, at;
  };

  Place place() const {
    return {rows.empty() ? carryAttempt() : start.attempt, rows.empty() ? carryRow() : start.row, window,
            isFull ? at : -1};
  }
  int64_t carryAttempt() const { return carry ? carry->attempt : input.attempts(); }
  int64_t carryRow() const { return carry ? nextRow : firstRow; }

  /// Calls `step` to the end; errors that were told before the state was saved are passed over.
  template <typename Step> static void replay(Step step) {
    for (;;) {
      try {
        return step();
      } catch (const Error &error) {
        if (!error.skippable())
          throw;
      }
    }
  }

  /// Takes rows for a batch, from as many windows as it needs, reading up to attempt `last`.
  void collect(int64_t last) {
    while (static_cast<int64_t>(pending.size()) < options.size) {
      if (!isFull && (!fill(last) || !isFull))
        return;
      int64_t count =
          std::min(options.size - static_cast<int64_t>(pending.size()), static_cast<int64_t>(rows.size()) - at);
      for (int64_t i = at; i < at + count; ++i)
        pending.push_back(rows[static_cast<size_t>(order.empty() ? i : order[static_cast<size_t>(i)])]);
      at += count;
      if (at == static_cast<int64_t>(rows.size()))
        leave();
    }
  }

  /// Reads rows up to attempt `last` or until the window is full. False where none is left.
  bool fill(int64_t last) {
    if (rows.empty()) {
      start = {carryAttempt(), carryRow(), window, -1};
      input.forgetBefore(pending.empty() ? start.attempt : batchStart.attempt);
    }
    bool isAtEnd = false;
    while (static_cast<int64_t>(rows.size()) < windowRows()) {
      if (!carry) {
        if (input.attempts() >= last)
          return true;
        if (!read()) {
          isAtEnd = true;
          break;
        }
      }
      int64_t count = std::min(windowRows() - static_cast<int64_t>(rows.size()), carry->rows - nextRow);
      for (int64_t i = 0; i < count; ++i)
        rows.push_back({carry.get(), nextRow + i});
      if (count > 0 && (held.empty() || held.back() != carry))
        held.push_back(carry);
      nextRow += count;
      if (nextRow == carry->rows)
        carry.reset();
    }
    if (rows.empty())
      return false;
    if (isAtEnd || static_cast<int64_t>(rows.size()) == windowRows())
      arrange();
    return true;
  }

  /// Makes the next record that has rows the carry.
  bool read() {
    for (;;) {
      auto part = std::make_shared<Part>();
      input.mark();
      input.thin(64);
      part->attempt = input.attempts();
      if (!input.next(part->record))
        return false;
      nextRow = firstRow;
      firstRow = 0;
      part->rows = part->record.size() ? part->record.value(0).rows() : 0;
      requireAlike(part->record, held.empty() ? part->record : held.front()->record);
      if (nextRow > part->rows)
        throw Error(SINTER_CORRUPT, "a pipeline's state requires row " + std::to_string(nextRow) +
                                        " of a record with " + std::to_string(part->rows));
      if (nextRow == part->rows)
        continue;
      carry = std::move(part);
      return true;
    }
  }

  int64_t windowRows() const { return options.window ? options.window : options.size; }

  void arrange() {
    isFull = true;
    at = 0;
    order.clear();
    if (options.window > 1)
      order = permutation(static_cast<int64_t>(rows.size()), draw(options.seed, epoch, window), 0);
  }

  void leave() {
    if (!pending.empty())
      left.insert(left.end(), held.begin(), held.end());
    held.clear();
    rows.clear();
    isFull = false;
    ++window;
  }

  Upstream input;
  ShuffleRowsOptions options;
  int64_t epoch;
  std::shared_ptr<Part> carry;    // a record of which rows are left for the next window
  int64_t nextRow = 0;            // of `carry`
  int64_t firstRow = 0;           // of the next record that is read
  Parts held, left;               // records of the window; of windows before it that `pending` needs
  std::vector<Row> rows, pending; // of the window; of the batch
  std::vector<int64_t> order;
  std::vector<Run> runs;
  Place start{}, batchStart{};
  bool isFull = false;
  int64_t window = 0, at = 0, passed = 0;
};
} // namespace

Dataset Dataset::shuffleRows(ShuffleRowsOptions options) const {
  if (options.window < 0 || options.size < 1)
    throw Error(SINTER_INVALID_ARGUMENT,
                "shuffleRows requires a window of 0 rows or more and a size of 1 or more, got " +
                    std::to_string(options.window) + " and " + std::to_string(options.size));
  std::string text = "shuffle rows " + std::to_string(options.window) + " seed " + std::to_string(options.seed) +
                     " batch " + std::to_string(options.size) + (options.dropRemainder ? " whole" : "");
  return Dataset(std::make_shared<FunctionStage>(node, text, [=](const Node &input, int64_t epoch) {
    return std::make_unique<RowShuffle>(input.begin(epoch), options, epoch);
  }));
}

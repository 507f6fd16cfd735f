// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A batch of tf.Examples straight into columns. What writers make, each feature once with its name in front, is read in
// one pass in which the next feature is expected to be the one that stood there in the record before; a record that is
// anything else is read once more, by the rules of protocol buffers.

#include "ExamplePlan.h"
#include <algorithm>
#include <mutex>

using namespace sinter::data;
using namespace sinter::data::wire;

static std::unique_ptr<ExampleColumn> columnOf(const Feature &feature, size_t rows, int64_t batchBytes) {
  switch (feature.dtype) {
  case Bytes:
    return std::make_unique<ColumnOf<std::string_view>>(feature, rows, batchBytes);
  case SINTER_F32:
    return std::make_unique<ColumnOf<float>>(feature, rows, batchBytes);
  case SINTER_F64:
    return std::make_unique<ColumnOf<double>>(feature, rows, batchBytes);
  case SINTER_I32:
    return std::make_unique<ColumnOf<int32_t>>(feature, rows, batchBytes);
  case SINTER_I1:
    return std::make_unique<ColumnOf<bool>>(feature, rows, batchBytes);
  default:
    return std::make_unique<ColumnOf<int64_t>>(feature, rows, batchBytes);
  }
}

namespace {
/// The plan that a batch ended with, for the next one, on any thread: what is read does not depend on it.
class LatestPlan {
public:
  std::shared_ptr<const Plan> latest() const {
    std::lock_guard lock(mutex);
    return plan;
  }
  void keep(std::shared_ptr<const Plan> next) const {
    std::lock_guard lock(mutex);
    plan = std::move(next);
  }

private:
  mutable std::mutex mutex;
  mutable std::shared_ptr<const Plan> plan;
};

/// What is known of the features before any record.
struct Layout {
  explicit Layout(std::vector<Feature> given)
      : features(std::move(given)), names(checkFeatures(features)), table(*names) {
    for (const Feature &feature : features) {
      fronts.emplace_back(feature.name, kindOf(feature.dtype));
      auto behind = std::span(feature.dims).subspan(std::min<size_t>(1, feature.dims.size()));
      if (feature.isSequence || std::ranges::any_of(behind, [](int64_t size) { return size < 0; }))
        throw Error(SINTER_INVALID_ARGUMENT,
                    "feature '" + feature.name + "' of a batch requires known dims, or the first one open");
    }
  }

  std::vector<Feature> features;
  Names names;
  NameTable table;
  std::vector<Front> fronts;
  LatestPlan plan;
};

class Parser {
public:
  static constexpr size_t most = 32; // records that are looked through, so that a column then takes some at once

  Parser(const Layout &layout, size_t rows, int64_t batchBytes)
      : layout(layout), finder(layout.features, layout.table, false), rowOf(layout.features.size(), SIZE_MAX),
        pieces((layout.features.size() + 1) * most) {
    for (const Feature &feature : layout.features)
      columns.push_back(columnOf(feature, rows, batchBytes));
    follow(layout.plan.latest());
  }

  /// Adds at most `most` records.
  void add(std::span<const Span> records) {
    while (!records.empty()) {
      size_t count = plan ? locate(records) : walk(records);
      addLocated(records.first(count), plan.get());
      if (count == records.size())
        break;
      const Span &other = records[count];
      if (plan && walk({&other, 1}))
        addLocated({&other, 1}, nullptr);
      else
        addAny(begun++, other);
      if (plan)
        miss();
      records = records.subspan(count + 1);
    }
    if (!plan && numAlike >= patience)
      makePlan();
  }

  Record finish(int64_t rows) {
    layout.plan.keep(plan);
    std::vector<Value> values;
    for (const auto &column : columns)
      values.push_back(column->finish(rows));
    return Record(layout.names, std::move(values));
  }

private:
  static constexpr int64_t mostCredit = 64, missCost = 16;

  /// What stood in a place of the records that were walked through.
  struct Place {
    Entry entry;
    const Front *front = &Front::none();
    std::unique_ptr<Front> own; // of what nobody wants
    std::string name;           // the same
  };

  //===- By the plan --------------------------------------------------------------------------------===//

  /// Expects records of `next`, which may be none.
  void follow(std::shared_ptr<const Plan> next) {
    plan = std::move(next);
    if (!plan)
      return;
    starts.resize((plan->numRuns() + 1) * most);
    credit = mostCredit;
    fixedOf.assign(columns.size(), nullptr);
    for (const Plan::Fixed &fixed : plan->fixed)
      fixedOf[fixed.feature] = &fixed;
  }

  /// Finds the elements of each feature by the plan, up to the first record that is unlike those before.
  size_t locate(std::span<const Span> records) {
    size_t count = plan->locate(
        records, [&](size_t run) { return starts.data() + run * most; },
        [&](size_t f) { return pieces.data() + std::min(f, columns.size()) * most; });
    credit = std::min(mostCredit, credit + static_cast<int64_t>(count));
    return count;
  }

  /// A plan that misses often is worse than none, and the next one has to wait for more records that are alike.
  void miss() {
    credit -= missCost;
    if (credit >= 0)
      return;
    plan = nullptr;
    patience *= 2;
  }

  void makePlan() {
    std::vector<Entry> entries;
    for (const Place &place : std::span(order).first(numPlaces))
      entries.push_back(place.entry);
    follow(Plan::of(entries, columns.size()));
    numAlike = 0;
    if (!plan)
      patience *= 2;
  }

  //===- Entry by entry -----------------------------------------------------------------------------===//

  /// Finds the elements of each feature, up to the first record that is not plain, or wrong: `addAny` tells.
  size_t walk(std::span<const Span> records) {
    for (size_t i = 0; i < records.size(); ++i)
      if (!walk(records[i], i)) [[unlikely]] {
        numAlike = 0;
        return i;
      }
    return records.size();
  }

  bool walk(const Span &record, size_t i) {
    size_t row = begun + i;
    const char *end = record.data + record.size, *at = onlyField(record.data, end, 10);
    if (!at)
      return false;
    bool mayRead = record.limit - end >= Front::read;
    size_t numThere = 0, number = 0;
    for (; at < end; ++number) {
      if (number == order.size()) [[unlikely]]
        order.emplace_back();
      Place &place = order[number];
      const char *begin = at;
      Piece piece = {};
      if (mayRead) [[likely]]
        piece = place.front->elements(at, end);
      place.entry.front = piece.data ? place.front : nullptr;
      if (piece.data) [[likely]]
        at = piece.data + piece.size;
      else if (!look(place, at, end, record.limit, piece))
        return false;
      place.entry.varies |= piece.size != place.entry.elements.size;
      place.entry.begin = begin;
      place.entry.elements = piece;
      size_t f = place.entry.feature;
      if (f == Entry::unwanted)
        continue;
      if (rowOf[f] == row)
        return false;
      rowOf[f] = row;
      pieces[f * most + i] = piece;
      ++numThere;
    }
    numAlike = number == numPlaces ? numAlike + 1 : 0;
    numPlaces = number;
    return numThere == columns.size() || addDefaults(row, i);
  }

  bool addDefaults(size_t row, size_t i) {
    for (size_t f = 0; f < columns.size(); ++f) {
      if (rowOf[f] == row)
        continue;
      if (!layout.features[f].hasDefault)
        return false;
      pieces[f * most + i] = {};
    }
    return true;
  }

  /// The entry at `at`, which is moved behind it, whatever its sizes are, and its elements; it is expected in this
  /// place from now on. False where it is not plain.
  bool look(Place &place, const char *&at, const char *end, const char *limit, Piece &piece) {
    if (end - at <= 2 || *at != 10)
      return false;
    const char *from = at + 2;
    int64_t size = static_cast<unsigned char>(at[1]);
    bool isShort = size < 128;
    if (!isShort) {
      if (*from & 128)
        return false;
      size = (size & 127) | static_cast<int64_t>(*from++) << 7;
    }
    if (size > end - from)
      return false;
    at = from + size;
    int64_t f;
    const char *content = named(from, at, limit, f);
    if (content)
      content = lastContent(content, at); // no other name behind it, which would be the one that counts
    if (!content)
      return false;
    if (f < 0) {
      piece = {content, at - content};
      expectUnwanted(place, {from + 2, static_cast<size_t>(from[1])}, piece, isShort);
      return true;
    }
    auto feature = static_cast<size_t>(f);
    uint64_t kind = kindOf(layout.features[feature].dtype);
    const char *list = onlyField(content, at, static_cast<char>(kind << 3 | 2));
    if (list && kind != 1 && list < at)
      list = onlyField(list, at, 10);
    piece = {list, list ? at - list : 0};
    if (place.entry.feature != feature)
      expect(place, feature, layout.fronts[feature], piece);
    return list;
  }

  void expect(Place &place, size_t feature, const Front &front, const Piece &piece) {
    place.entry = {.feature = feature, .elements = piece};
    place.front = &front;
    numAlike = 0;
  }

  /// The front of a name that nobody wants is made when it comes again.
  void expectUnwanted(Place &place, std::string_view name, const Piece &piece, bool isShort) {
    if (place.entry.feature != Entry::unwanted || place.name != name) {
      place.name = name;
      return expect(place, Entry::unwanted, Front::none(), piece);
    }
    if (!isShort || place.front != &Front::none())
      return;
    place.own = std::make_unique<Front>(name, 0);
    place.front = place.own.get();
  }

  /// Finds which feature an entry is of, -1 for one that is not wanted. Null where the name does not stand in front.
  const char *named(const char *at, const char *end, const char *limit, int64_t &f) const {
    int64_t size = end - at < 2 ? 128 : static_cast<unsigned char>(at[1]);
    if (size >= 128 || *at != 10 || end - at <= size + 2 || at[2 + size] != 18)
      return nullptr;
    f = layout.table.find({at + 2, static_cast<size_t>(size)}, limit);
    return at + size + 3;
  }

  //===- Into columns -------------------------------------------------------------------------------===//

  /// Adds rows that are located, by a plan or without one.
  void addLocated(std::span<const Span> records, const Plan *by) {
    for (size_t from = 0; from < records.size(); ++from) {
      size_t good = records.size() - from;
      for (size_t f = 0; f < columns.size(); ++f)
        good = std::min(good, addRows(f, from, records.subspan(from, good), by));
      from += good;
      if (from < records.size())
        addAny(begun + from, records[from]); // cuts what came behind `good` rows
    }
    begun += records.size();
  }

  size_t addRows(size_t f, size_t from, std::span<const Span> records, const Plan *by) {
    std::span<const Piece> located{pieces.data() + f * most + from, records.size()};
    if (!by)
      return columns[f]->addRows(located, records);
    if (!by->has(f))
      for (size_t i = 0; i < records.size(); ++i)
        columns[f]->addDefault();
    else if (const Plan::Fixed *fixed = fixedOf[f])
      return columns[f]->addFixed({starts.data() + fixed->run * most + from, records.size()}, fixed->offset,
                                  fixed->size, records);
    else
      return columns[f]->addPieces(located, records);
    return records.size();
  }

  void addAny(size_t row, const Span &record) {
    try {
      finder.find({record.data, static_cast<size_t>(record.size)});
      for (size_t f = 0; f < columns.size(); ++f) {
        columns[f]->cut(row);
        columns[f]->add(finder.contents[f], record.limit);
      }
    } catch (const Error &error) {
      throw Error(error.code(), "record " + std::to_string(row) + " of the batch: " + error.what(), {}, true);
    }
  }

  const Layout &layout;
  std::vector<std::unique_ptr<ExampleColumn>> columns;
  Finder finder;
  std::vector<Place> order;  // what stood in each place
  size_t numPlaces = 0;      // of the last record that was walked through
  std::vector<size_t> rowOf; // the last row that had each feature
  std::vector<Piece> pieces; // `most` of each feature
  std::shared_ptr<const Plan> plan;
  std::vector<const Plan::Fixed *> fixedOf; // by the plan, null for features that are in `pieces`
  std::vector<const char *> starts;         // of each run of the plan, `most`
  int64_t credit = 0;
  size_t numAlike = 0, patience = most / 2; // records one behind the other that could have a plan; so many make one
  size_t begun = 0;                         // rows that are added
};
} // namespace

static constexpr int64_t mostBytes = 16 * 1024; // looked through together, which stay in the first cache

/// Shuffled records lie in no order that a CPU could foresee: their memory is asked for before they are read.
static void prefetch(const Span &span) {
  constexpr int64_t line = 64, most = 32 * line;
  int64_t size = std::min(span.size, most);
  for (int64_t at = 0; at < size; at += line)
    __builtin_prefetch(span.data + at);
  if (size > 0)
    __builtin_prefetch(span.data + size - 1);
}

Dataset::Map sinter::data::parseExamples(std::vector<Feature> features, const std::string &column) {
  auto layout = std::make_shared<const Layout>(std::move(features));
  return [=](const Record &batch) {
    const Value &records = batch[column];
    if (records.dtype() != Bytes || records.dims().rank() != 1)
      throw Error(SINTER_INVALID_ARGUMENT, "column '" + column + "' requires a vector of bytes, got " +
                                               dtypeName(records.dtype()) + " " + records.dims().text());
    auto count = static_cast<size_t>(records.count());
    Parser parser(*layout, std::max<size_t>(count, 1), records.memoryBytes());
    std::array<std::array<Span, Parser::most>, 2> some; // the next ones are asked for before these are read
    auto ask = [&](size_t from, std::array<Span, Parser::most> &spans) {
      size_t number = 0;
      for (int64_t bytes = 0; number < spans.size() && from + number < count && bytes < mostBytes; ++number) {
        spans[number] = records.span(static_cast<int64_t>(from + number));
        bytes += spans[number].size;
        prefetch(spans[number]);
      }
      return number;
    };
    size_t next = ask(0, some[0]);
    for (size_t from = 0, turn = 0; from < count; turn = 1 - turn) {
      size_t now = next;
      next = ask(from + now, some[1 - turn]);
      parser.add(std::span(some[turn]).first(now));
      from += now;
    }
    return parser.finish(records.count());
  };
}

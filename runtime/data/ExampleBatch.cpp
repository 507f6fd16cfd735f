// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A batch of tf.Examples straight into columns. What writers make, each feature once with its name in front, is read in
// one pass in which the next feature is expected to be the one that stood there in the record before; a record that is
// anything else is read once more, by the rules of protocol buffers.

#include "ExampleColumn.h"
#include <algorithm>

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
/// What stands before the elements of a feature, as writers make it: keys, the name, and sizes of messages that hold
/// each other and end together, so that all follow from the last. While each is a byte, one comparison tells.
///
///   10 size 10 size name 18 size kind size [10 size] elements       the last two before numbers
class Front {
public:
  Front(const std::string &name, uint64_t kind) : Front() {
    size_t n = name.size();
    if (n + 8 > sizeof expected)
      return;
    std::string bytes = {10, static_cast<char>(n + 6), 10, static_cast<char>(n)};
    bytes += name;
    bytes += {18, 2, static_cast<char>(kind << 3 | 2), 0};
    size = static_cast<int64_t>(bytes.size());
    most = 127 - bytes[1];
    isNumbers = kind != 1;
    for (size_t i = 0; i < bytes.size(); ++i) {
      at(expected, i) = static_cast<unsigned char>(bytes[i]);
      at(cared, i) = 255;
    }
    for (size_t i : {size_t(1), n + 5, n + 7})
      at(sized, i) = 255;
  }

  /// The entry of no feature.
  Front() = default;

  /// The elements of an entry at `at`, which end with it. Nowhere where the entry begins otherwise. `read` bytes of
  /// memory from `at` on may be read.
  static constexpr int64_t read = 40;
  [[gnu::always_inline]] Piece elements(const char *at, const char *end, const char *limit) const {
    auto last = static_cast<unsigned char>(at[size - 1]);
    Half found, all = {last, last, last, last, last, last, last, last, last, last, last, last, last, last, last, last};
    std::memcpy(&found, at, sizeof found);
    Half differs = (found ^ (expected[0] + (all & sized[0]))) & cared[0];
    if (size > static_cast<int64_t>(sizeof found)) {
      std::memcpy(&found, at + sizeof found, sizeof found);
      differs |= (found ^ (expected[1] + (all & sized[1]))) & cared[1];
    }
    uint64_t words[2];
    std::memcpy(words, &differs, sizeof words);
    uint16_t packed;
    std::memcpy(&packed, at + size, sizeof packed);
    bool isPacked = isNumbers & (last != 0), differsThere = isPacked & (packed != (10 | (last - 2) << 8));
    if ((words[0] | words[1] | differsThere) || last > most || end - at < size + last) [[unlikely]]
      return {};
    int64_t front = isPacked ? 2 : 0;
    return {at + size + front, last - front, limit};
  }

private:
  using Half [[gnu::vector_size(16)]] = unsigned char;
  static unsigned char &at(Half *halves, size_t i) { return reinterpret_cast<unsigned char *>(halves)[i]; }

  bool isNumbers = false;
  int64_t size = 1, most = -1;                         // of what stands before the elements; of these, at most
  Half expected[2] = {}, cared[2] = {}, sized[2] = {}; // sized: bytes that are a constant and the last size
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
};

class Parser {
public:
  Parser(const Layout &layout, size_t rows, int64_t batchBytes)
      : layout(layout), finder(layout.features, layout.table, false), rowOf(layout.features.size(), SIZE_MAX),
        pieces(layout.features.size() * most) {
    for (const Feature &feature : layout.features)
      columns.push_back(columnOf(feature, rows, batchBytes));
  }

  /// Rows are looked through first, so that a column then takes some at once.
  void add(size_t row, const Span &record) {
    if (!locate(row, record)) [[unlikely]] {
      flush();
      addAny(row, record);
      begun = row + 1;
      return;
    }
    located[numLocated++] = record;
    locatedBytes += record.size;
    if (numLocated == most || locatedBytes >= mostBytes)
      flush();
  }

  Record finish(int64_t rows) {
    flush();
    std::vector<Value> values;
    for (const auto &column : columns)
      values.push_back(column->finish(rows));
    return Record(layout.names, std::move(values));
  }

private:
  static constexpr size_t most = 32;              // rows that are located, which stay
  static constexpr int64_t mostBytes = 16 * 1024; // in the first cache

  /// Finds the elements of each feature. False where the record is not plain, or wrong: `addAny` tells.
  bool locate(size_t row, const Span &record) {
    const char *end = record.data + record.size, *at = onlyField(record.data, end, 10);
    if (!at)
      return false;
    bool mayRead = record.limit - end >= Front::read;
    size_t numThere = 0;
    for (size_t place = 0; at < end; ++place) {
      if (place == order.size()) [[unlikely]]
        order.emplace_back();
      Expected &expected = order[place];
      Piece piece = {};
      if (mayRead) [[likely]]
        piece = expected.front.elements(at, end, record.limit);
      if (piece.data) [[likely]] {
        at = piece.data + piece.size;
      } else {
        int64_t f;
        if (!look(at, end, record.limit, f, piece))
          return false;
        if (f < 0)
          continue; // nobody wants it
        expected = {layout.fronts[static_cast<size_t>(f)], static_cast<size_t>(f)};
      }
      size_t &seen = rowOf[expected.feature];
      if (seen == row)
        return false;
      seen = row;
      pieces[expected.feature * most + numLocated] = piece;
      ++numThere;
    }
    return numThere == columns.size() || locateDefaults(row);
  }

  bool locateDefaults(size_t row) {
    for (size_t f = 0; f < columns.size(); ++f) {
      if (rowOf[f] == row)
        continue;
      if (!layout.features[f].hasDefault)
        return false;
      pieces[f * most + numLocated] = {};
    }
    return true;
  }

  /// The entry at `at`, which is moved behind it, whatever its sizes are: its feature `f`, -1 for one that is not
  /// wanted, and the elements. False where it is not plain.
  bool look(const char *&at, const char *end, const char *limit, int64_t &f, Piece &piece) const {
    if (end - at <= 2 || *at != 10)
      return false;
    const char *from = at + 2;
    int64_t size = static_cast<unsigned char>(at[1]);
    if (size >= 128) {
      if (*from & 128)
        return false;
      size = (size & 127) | static_cast<int64_t>(*from++) << 7;
    }
    if (size > end - from)
      return false;
    at = from + size;
    const char *content = named(from, at, limit, f);
    if (content)
      content = lastContent(content, at); // no other name behind it, which would be the one that counts
    if (!content || f < 0)
      return content;
    uint64_t kind = kindOf(layout.features[static_cast<size_t>(f)].dtype);
    const char *list = onlyField(content, at, static_cast<char>(kind << 3 | 2));
    if (list && kind != 1 && list < at)
      list = onlyField(list, at, 10);
    piece = {list, list ? at - list : 0, limit};
    return list;
  }

  /// Adds the rows that are located.
  void flush() {
    for (size_t from = 0; from < numLocated;) {
      size_t good = numLocated - from;
      for (size_t f = 0; f < columns.size(); ++f)
        good = std::min(good, columns[f]->addRows({pieces.data() + f * most + from, good}));
      from += good;
      if (from == numLocated)
        break;
      addAny(begun + from, located[from]); // cuts what came behind `good` rows
      ++from;
    }
    begun += numLocated;
    numLocated = 0;
    locatedBytes = 0;
  }

  /// Finds which feature an entry is of, -1 for one that is not wanted. Null where the name does not stand in front.
  const char *named(const char *at, const char *end, const char *limit, int64_t &f) const {
    int64_t size = end - at < 2 ? 128 : static_cast<unsigned char>(at[1]);
    if (size >= 128 || *at != 10 || end - at <= size + 2 || at[2 + size] != 18)
      return nullptr;
    f = layout.table.find({at + 2, static_cast<size_t>(size)}, limit);
    return at + size + 3;
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
  struct Expected {
    Front front;
    size_t feature = 0;
  };
  std::vector<Expected> order; // what stood in each place
  std::vector<size_t> rowOf;   // the last row that had each feature
  std::vector<Piece> pieces;   // `most` of each feature
  std::array<Span, most> located;
  size_t begun = 0, numLocated = 0; // rows before those that are located
  int64_t locatedBytes = 0;
};
} // namespace

/// Shuffled records lie in no order that a CPU could foresee: their memory is asked for some records before they are
/// read, that of large ones into a cache that has room for them.
static constexpr size_t ahead = 12;
static void prefetch(const Span &span) {
  constexpr int64_t line = 64, most = 32 * line, large = 8 * line;
  for (int64_t at = 0; at < std::min(span.size, most); at += line)
    if (span.size < large)
      __builtin_prefetch(span.data + at);
    else
      __builtin_prefetch(span.data + at, 0, 2);
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
    for (size_t r = 0; r < count; ++r) {
      if (r + ahead < count)
        prefetch(records.span(static_cast<int64_t>(r + ahead)));
      parser.add(r, records.span(static_cast<int64_t>(r)));
    }
    return parser.finish(records.count());
  };
}

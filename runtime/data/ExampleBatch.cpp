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
/// What an entry of the map begins with: the name as its key, and the key of the content.
class Front {
public:
  explicit Front(const std::string &name) : size(name.size() < 128 ? name.size() + 3 : 0) {
    bytes = {10, static_cast<char>(name.size())};
    bytes += name + '\x12';
    std::memcpy(words, bytes.data(), std::min(size, sizeof words));
    for (size_t i = 0; i < 16; ++i)
      reinterpret_cast<unsigned char *>(masks)[i] = i < size ? 255 : 0;
  }

  /// Where the size of the content stands; null where the entry begins otherwise. Memory up to `limit` may be read.
  [[gnu::always_inline]] const char *behind(const char *at, const char *end, const char *limit) const {
    if (size == 0 || end - at <= static_cast<int64_t>(size))
      return nullptr;
    if (size > sizeof words || limit - at < static_cast<int64_t>(sizeof words)) [[unlikely]]
      return std::memcmp(at, bytes.data(), size) == 0 ? at + size : nullptr;
    uint64_t found[2];
    std::memcpy(found, at, sizeof found);
    bool isSame = (((found[0] ^ words[0]) & masks[0]) | ((found[1] ^ words[1]) & masks[1])) == 0;
    return isSame ? at + size : nullptr;
  }

private:
  size_t size; // 0: no entry begins so
  uint64_t words[2] = {}, masks[2];
  std::string bytes;
};

/// What is known of the features before any record.
struct Layout {
  explicit Layout(std::vector<Feature> given)
      : features(std::move(given)), names(checkFeatures(features)), table(*names) {
    for (const Feature &feature : features) {
      fronts.emplace_back(feature.name);
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
      : layout(layout), finder(layout.features, layout.table, false), rowOf(layout.features.size(), SIZE_MAX) {
    for (const Feature &feature : layout.features)
      columns.push_back(columnOf(feature, rows, batchBytes));
  }

  void add(size_t row, const Span &record) {
    if (!addPlain(row, record)) [[unlikely]]
      addAny(row, record);
  }

  Record finish(int64_t rows) {
    std::vector<Value> values;
    for (const auto &column : columns)
      values.push_back(column->finish(rows));
    return Record(layout.names, std::move(values));
  }

private:
  /// False where the record is not plain, or wrong: `addAny` tells.
  bool addPlain(size_t row, const Span &record) {
    const char *end = record.data + record.size, *at = onlyField(record.data, end, 10);
    if (!at)
      return false;
    size_t numThere = 0, place = 0;
    for (; at < end; ++place) {
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
      const char *content = nullptr;
      if (place == order.size())
        order.push_back(-1);
      int64_t f = order[place];
      if (f >= 0) [[likely]]
        content = layout.fronts[static_cast<size_t>(f)].behind(from, at, record.limit);
      if (!content) {
        content = look(from, at, record.limit, f);
        if (!content)
          return false;
        order[place] = f;
        if (f < 0)
          continue; // nobody wants it
      }
      content = lastContent(content, at);
      size_t &seen = rowOf[static_cast<size_t>(f)];
      if (!content || seen == row || !columns[static_cast<size_t>(f)]->addPlain(content, at, record.limit))
        return false;
      seen = row;
      ++numThere;
    }
    return numThere == columns.size() || addDefaults(row);
  }

  /// Finds which feature an entry is of, -1 for one that is not wanted. Null where the name does not stand in front.
  const char *look(const char *at, const char *end, const char *limit, int64_t &f) const {
    int64_t size = end - at < 2 ? 128 : static_cast<unsigned char>(at[1]);
    if (size >= 128 || *at != 10 || end - at <= size + 2 || at[2 + size] != 18)
      return nullptr;
    f = layout.table.find({at + 2, static_cast<size_t>(size)}, limit);
    return at + size + 3;
  }

  bool addDefaults(size_t row) {
    for (size_t f = 0; f < columns.size(); ++f) {
      if (rowOf[f] == row)
        continue;
      if (!layout.features[f].hasDefault)
        return false;
      columns[f]->addDefault();
    }
    return true;
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
  std::vector<int64_t> order; // which feature stood in each place, -1: one that is not wanted
  std::vector<size_t> rowOf;  // the last row that had each feature
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

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Csv.h"
#include "File.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>
#include <unordered_set>

using namespace sinter::data;

namespace {
/// Memory for the rows of a batch of one column, written from the front.
struct Column {
  std::string name;
  int32_t dtype = Bytes;
  std::shared_ptr<char> data{};           // elements, or offsets of strings
  std::string text{};                     // of strings
  int64_t elementBytes = 8, capacity = 0; // rows

  void begin(int64_t rows) {
    elementBytes = dtype == Bytes ? 8 : sinter_dtype_bytes(dtype);
    capacity = rows;
    data = allocate((rows + 1) * elementBytes);
    text.clear();
    if (dtype == Bytes)
      reinterpret_cast<int64_t *>(data.get())[0] = 0;
  }
  void grow() {
    auto grown = allocate((2 * capacity + 1) * elementBytes);
    std::memcpy(grown.get(), data.get(), static_cast<size_t>((capacity + 1) * elementBytes));
    data = std::move(grown);
    capacity *= 2;
  }
  Value end(int64_t rows) {
    if (dtype != Bytes)
      return Value(dtype, {rows}, std::move(data));
    auto bytes = allocate(static_cast<int64_t>(text.size()));
    std::memcpy(bytes.get(), text.data(), text.size());
    auto memory = std::move(data);
    return Value::strings({rows}, std::move(bytes), {memory, reinterpret_cast<const int64_t *>(memory.get())});
  }
};

struct Field {
  std::string_view text;
  bool isQuoted = false;
};

/// What can be wrong with a row.
struct Bad {
  std::string what;
};

/// Splits text into rows of fields.
class Splitter {
public:
  Splitter(const std::string &path, const CsvOptions &options)
      : stream(path, Compression::ByContent), options(options) {
    for (size_t c : {static_cast<size_t>(static_cast<unsigned char>(options.separator)), size_t('\n'), size_t('\r')})
      isSpecial[c] = true;
    stream.skipMark();
  }

  /// Calls `take(index, field)` for each field of the next row that is not empty and returns their number; 0 at the
  /// end. Throws Bad for a last row whose quote is not closed, which it has passed.
  template <typename Take> int64_t row(Take take) {
    for (int64_t wanted = 1;;) {
      bool isLast = static_cast<int64_t>(stream.peek(wanted).size()) < wanted;
      std::string_view all = stream.available();
      if (all.empty())
        return 0;
      const char *at = all.data(), *end = at + all.size();
      if (*at == '\n' || *at == '\r') { // an empty line
        stream.consume(1);
        continue;
      }
      int64_t fields = split(at, end, isLast, take);
      constexpr int64_t mark = 2; // CR and LF
      if ((fields > 0 ? at - all.data() - mark : static_cast<int64_t>(all.size())) > options.maxRowBytes)
        stream.refuseLong("row", options.maxRowBytes);
      if (fields > 0) {
        stream.consume(at - all.data());
        return fields;
      }
      if (fields == unclosed) {
        stream.consume(static_cast<int64_t>(all.size()));
        throw Bad{"a quote is required to be closed before the file ends"};
      }
      wanted = std::max<int64_t>(2 * static_cast<int64_t>(all.size()), 1 << 16);
    }
  }

  ByteStream stream;

private:
  enum { incomplete = 0, unclosed = -1 };

  /// Moves `at` behind the row. Without a line end and with `isLast`, the text's end is one.
  template <typename Take> int64_t split(const char *&start, const char *end, bool isLast, Take &take) {
    const char *at = start;
    for (int64_t index = 0;; ++index) {
      const char *from = at;
      Field field;
      if (options.quote && at < end && *at == options.quote) {
        if (!quoted(at, end, isLast, field.text)) {
          start = isLast ? end : start;
          return isLast ? unclosed : incomplete;
        }
        field.isQuoted = true;
        // What stands behind the closing quote belongs to the field, as in pandas and Python's csv.
        from = at;
        while (at < end && !isSpecial[static_cast<unsigned char>(*at)])
          ++at;
        if (at > from) {
          scratch.assign(field.text);
          scratch.append(from, at);
          field.text = scratch;
        }
      } else {
        while (at < end && !isSpecial[static_cast<unsigned char>(*at)])
          ++at;
        field.text = {from, static_cast<size_t>(at - from)};
      }
      if (at == end && !isLast)
        return incomplete;
      take(index, field);
      if (at == end || *at != options.separator) {
        if (at < end && *at == '\r') {
          ++at;
          if (at < end && *at == '\n')
            ++at;
        } else if (at < end) {
          ++at;
        }
        start = at;
        return index + 1;
      }
      ++at;
    }
  }

  bool quoted(const char *&at, const char *end, bool isLast, std::string_view &text) {
    const char *from = ++at;
    bool isCopied = false;
    for (;;) {
      auto *close = static_cast<const char *>(std::memchr(at, options.quote, static_cast<size_t>(end - at)));
      if (!close || (close + 1 == end && !isLast))
        return false;
      bool isDoubled = close + 1 < end && close[1] == options.quote;
      if (isDoubled || isCopied) {
        if (!isCopied)
          unescaped.clear();
        isCopied = true;
        unescaped.append(from, close + isDoubled);
      }
      at = close + 1 + isDoubled;
      if (isDoubled) {
        from = at;
        continue;
      }
      text = isCopied ? std::string_view(unescaped) : std::string_view(from, static_cast<size_t>(close - from));
      return true;
    }
  }

  CsvOptions options;
  std::array<bool, 256> isSpecial = {};
  std::string unescaped, scratch;
};

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
    text.remove_suffix(1);
  return text;
}

template <typename T> bool parse(std::string_view text, T &number) {
  const char *begin = text.data(), *end = begin + text.size();
  if (begin < end && *begin == '+' && begin + 1 < end && begin[1] != '-')
    ++begin;
  auto [rest, error] = std::from_chars(begin, end, number);
  if constexpr (std::is_floating_point_v<T>)
    if (error == std::errc::result_out_of_range && rest == end) { // to infinity or zero, as others do
      bool isSmall = text.find("e-") != text.npos || text.find("E-") != text.npos;
      number = std::copysign(isSmall ? T(0) : std::numeric_limits<T>::infinity(), text.front() == '-' ? T(-1) : T(1));
      return true;
    }
  return error == std::errc() && rest == end && begin < end;
}

bool parseTruth(std::string_view text, char &truth) {
  truth = text == "1" || text == "true" || text == "True" || text == "TRUE";
  return truth || text == "0" || text == "false" || text == "False" || text == "FALSE";
}

bool isMissing(const CsvOptions &options, std::string_view text) {
  if (text.size() > 4 && std::ranges::all_of(options.missing, [](const std::string &m) { return m.size() <= 4; }))
    return false;
  return std::ranges::find(options.missing, text) != options.missing.end();
}

/// Which fields of a row go to which columns.
struct Layout {
  std::vector<CsvColumn> columns;
  std::vector<int> columnOf; // of a field, -1: not read
  int64_t dataOffset = 0, headerRows = 0;
};
} // namespace

static Layout layOut(const std::string &path, const CsvOptions &options) {
  Splitter splitter(path, options);
  Layout layout;
  std::vector<std::string> names;
  auto readNames = [&](int64_t i, const Field &field) {
    if (i == 0)
      names.clear(); // a row that was not yet read to its end begins again
    names.push_back(options.hasHeader ? std::string(field.text) : "c" + std::to_string(i));
  };
  int64_t begin = splitter.stream.offset();
  try {
    splitter.row(readNames);
  } catch (const Bad &bad) {
    throw Error(SINTER_CORRUPT, bad.what, {path, 0, begin});
  }
  if (options.hasHeader) {
    layout.dataOffset = splitter.stream.offset();
    std::unordered_set<std::string_view> known;
    for (const std::string &name : names)
      if (!known.insert(name).second)
        throw Error(SINTER_INVALID_ARGUMENT, "the header requires distinct names, got '" + name + "' twice",
                    {path, -1, begin});
  } else {
    layout.dataOffset = begin;
    for (size_t i = 0; i < std::min(names.size(), options.columns.size()); ++i)
      names[i] = options.columns[i].name;
  }
  layout.columnOf.assign(names.size(), -1);
  std::unordered_map<std::string_view, size_t> placeOf;
  if (!options.columns.empty())
    for (size_t i = 0; i < names.size(); ++i)
      placeOf.emplace(names[i], i);
  for (const CsvColumn &column : options.columns) {
    auto found = placeOf.find(column.name);
    if (found == placeOf.end())
      throw Error(SINTER_INVALID_ARGUMENT,
                  "column '" + column.name + "' is required, the file has " + std::to_string(names.size()) +
                      " columns without it",
                  {path, -1, -1});
    static constexpr std::array<int32_t, 6> known = {Bytes, SINTER_I1, SINTER_I32, SINTER_I64, SINTER_F32, SINTER_F64};
    if (std::ranges::find(known, column.dtype) == known.end())
      throw Error(SINTER_UNSUPPORTED, "column '" + column.name + "' requires bytes, i1, i32, i64, f32 or f64, got " +
                                          dtypeName(column.dtype));
    layout.columnOf[found->second] = static_cast<int>(layout.columns.size());
    layout.columns.push_back(column);
  }
  if (!options.columns.empty())
    return layout;

  struct Seen {
    bool isInteger = true, isNumber = true, isMissing = false, isThere = false;
  };
  std::vector<Seen> seen(names.size());
  splitter.stream.seek(layout.dataOffset);
  splitter.stream.skipMark();
  for (int64_t r = 0; r < options.sampleRows; ++r) {
    try {
      if (!splitter.row([&](int64_t i, const Field &field) {
            if (i >= static_cast<int64_t>(seen.size()))
              return;
            Seen &column = seen[static_cast<size_t>(i)];
            std::string_view text = trim(field.text);
            if (!field.isQuoted && isMissing(options, text)) {
              column.isMissing = true;
              return;
            }
            column.isThere = true;
            int64_t integer;
            double number;
            column.isInteger = column.isInteger && parse(text, integer);
            column.isNumber = column.isNumber && (column.isInteger || parse(text, number));
          }))
        break;
    } catch (const Bad &) { // told when the rows are read
    }
  }
  for (size_t i = 0; i < names.size(); ++i) {
    layout.columnOf[i] = static_cast<int>(i);
    bool isWhole = seen[i].isInteger && seen[i].isThere && (!seen[i].isMissing || options.hasMissingInteger);
    layout.columns.push_back({names[i], isWhole                               ? SINTER_I64
                                        : seen[i].isNumber && seen[i].isThere ? SINTER_F64
                                                                              : Bytes});
  }
  return layout;
}

namespace {
class Rows : public Iterator {
public:
  Rows(std::string path, const CsvOptions &options, std::shared_ptr<const Layout> layout, int64_t batchRows)
      : path(std::move(path)), options(options), layout(std::move(layout)), batchRows(batchRows),
        splitter(this->path, options) {
    auto names = std::make_shared<std::vector<std::string>>();
    for (const CsvColumn &column : this->layout->columns) {
      columns.push_back({.name = column.name, .dtype = column.dtype});
      names->push_back(column.name);
    }
    this->names = std::move(names);
    if (this->layout->dataOffset > splitter.stream.offset())
      splitter.stream.seek(this->layout->dataOffset);
  }

  bool next(Record &record) override {
    if (bad)
      throw takeBad();
    // Of a batch with very many columns, memory grows with the rows that come.
    int64_t few = std::max<int64_t>((int64_t(1) << 23) / static_cast<int64_t>(columns.size() + 1), 1);
    for (Column &column : columns)
      column.begin(std::min(batchRows, few));
    int64_t rows = 0;
    while (rows < batchRows) {
      int64_t offset = splitter.stream.offset();
      bool isThere = false;
      try {
        isThere = readRow(rows);
      } catch (const Bad &found) {
        if (options.maxBadRows >= 0 && skipped >= options.maxBadRows) {
          bad = Error(SINTER_CORRUPT, found.what, {path, row, offset}, true);
          break;
        }
        ++row;
        ++skipped;
        continue;
      }
      if (!isThere)
        break;
      ++row;
      ++rows;
    }
    if (rows == 0 && bad)
      throw takeBad();
    if (rows == 0)
      return false;
    std::vector<Value> values;
    for (Column &column : columns)
      values.push_back(column.end(rows));
    record = {names, std::move(values)};
    passed += rows;
    return true;
  }
  void save(StateWriter &writer) const override {
    writer.number(bad ? bad->place().offset : splitter.stream.offset());
    writer.number(row);
    writer.number(skipped);
  }
  void load(StateReader &reader) override {
    int64_t offset = reader.number(INT64_MAX);
    row = reader.number(INT64_MAX);
    skipped = reader.number(INT64_MAX);
    splitter.stream.seek(offset);
  }
  void report(std::vector<StageStatistics> &stages) const override {
    stages.push_back({.stage = "csv", .records = passed, .skipped = skipped});
  }

private:
  /// The error of a row that is passed now.
  Error takeBad() {
    ++row;
    Error error = std::move(*bad);
    bad.reset();
    return error;
  }

  bool readRow(int64_t rows) {
    badField.clear();
    int64_t fields = splitter.row([&](int64_t i, const Field &field) {
      if (i >= static_cast<int64_t>(layout->columnOf.size()) || layout->columnOf[static_cast<size_t>(i)] < 0)
        return;
      store(columns[static_cast<size_t>(layout->columnOf[static_cast<size_t>(i)])], rows, field);
    });
    if (fields == 0)
      return false;
    if (fields != static_cast<int64_t>(layout->columnOf.size()))
      throw Bad{"a row of " + std::to_string(layout->columnOf.size()) + " fields is required, got " +
                std::to_string(fields)};
    if (!badField.empty())
      throw Bad{badField};
    return true;
  }

  void store(Column &column, int64_t rows, const Field &field) {
    if (rows >= column.capacity) [[unlikely]]
      column.grow();
    char *to = column.data.get() + rows * column.elementBytes;
    if (column.dtype == Bytes) {
      auto *offsets = reinterpret_cast<int64_t *>(to);
      column.text.resize(static_cast<size_t>(offsets[0])); // what a row that was given up has left
      column.text += field.text;
      offsets[1] = static_cast<int64_t>(column.text.size());
      return;
    }
    std::string_view text = field.text;
    if (text.empty() || text.front() <= ' ' || text.back() <= ' ')
      text = trim(text);
    auto put = [&](auto number) { std::memcpy(to, &number, sizeof number); };
    auto number = [&]<typename T>(T value) {
      if (!parse(text, value))
        return false;
      put(value);
      return true;
    };
    char truth;
    switch (column.dtype) {
    case SINTER_F64:
      if (number(0.0))
        return;
      break;
    case SINTER_F32:
      if (number(0.0f))
        return;
      break;
    case SINTER_I64:
      if (number(int64_t(0)))
        return;
      break;
    case SINTER_I32:
      if (number(int32_t(0)))
        return;
      break;
    default:
      if (parseTruth(text, truth))
        return put(truth);
    }
    if (!field.isQuoted && isMissing(options, text)) {
      if (column.dtype == SINTER_F64)
        return put(std::numeric_limits<double>::quiet_NaN());
      if (column.dtype == SINTER_F32)
        return put(std::numeric_limits<float>::quiet_NaN());
      if (options.hasMissingInteger && column.dtype == SINTER_I64)
        return put(options.missingInteger);
      if (options.hasMissingInteger && column.dtype == SINTER_I32)
        return put(static_cast<int32_t>(options.missingInteger));
      if (options.hasMissingInteger)
        return put(static_cast<char>(options.missingInteger != 0));
    }
    if (badField.empty())
      badField = "column '" + column.name + "' requires a value of " + dtypeName(column.dtype) + ", got '" +
                 std::string(field.text.substr(0, 80)) + "'";
  }

  std::string path;
  CsvOptions options;
  std::shared_ptr<const Layout> layout;
  int64_t batchRows;
  Splitter splitter;
  std::vector<Column> columns;
  Names names;
  std::string badField;
  std::optional<Error> bad; // of the row after those that were given out, where that is read
  int64_t row = 0, skipped = 0, passed = 0;
};

class CsvNode : public Node {
public:
  CsvNode(const std::string &path, const CsvOptions &options, int64_t batchRows)
      : path(path), options(options), batchRows(batchRows), layout(std::make_shared<Layout>(layOut(path, options))) {}
  std::unique_ptr<Iterator> begin(int64_t) const override {
    return std::make_unique<Rows>(path, options, layout, batchRows);
  }
  std::string signature() const override {
    return "csv " + File(path).signature() + " by " + std::to_string(batchRows);
  }

private:
  std::string path;
  CsvOptions options;
  int64_t batchRows;
  std::shared_ptr<const Layout> layout;
};
} // namespace

std::vector<CsvColumn> sinter::data::csvColumns(const std::string &path, const CsvOptions &options) {
  return layOut(path, options).columns;
}

Dataset sinter::data::readCsvBatches(const std::string &path, int64_t batchRows, const CsvOptions &options) {
  if (batchRows < 1)
    throw Error(SINTER_INVALID_ARGUMENT, "a batch requires 1 row or more, got " + std::to_string(batchRows));
  return Dataset(std::make_shared<CsvNode>(path, options, batchRows));
}

Dataset sinter::data::readCsv(const std::string &path, const CsvOptions &options) {
  return readCsvBatches(path, 256, options).unbatch();
}

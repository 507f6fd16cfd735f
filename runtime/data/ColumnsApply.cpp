// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Columns over batches: fitting and transforming.

#include "../decimal.h"
#include "Columns.h"
#include "Farmhash.h"
#include "Numbers.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <unordered_map>

using namespace sinter::data;

//===- Features -------------------------------------------------------------------------------------===//

namespace {
/// A feature of a batch: its elements, and where rows begin.
struct Elements {
  const Value *value;
  std::vector<int64_t> splits;
  int64_t rows() const { return static_cast<int64_t>(splits.size()) - 1; }
};

/// Ids of a column, with rows.
struct Ids {
  std::vector<int64_t> ids, splits;
  Dims dims; // of dense ones
  bool isRagged = false;
};
} // namespace

static Elements elementsOf(const Record &batch, const std::string &key) {
  const Value &value = batch[key];
  if (value.dims().rank() == 0)
    throw Error(SINTER_INVALID_ARGUMENT, "feature '" + key + "' requires a batch, got a scalar");
  Elements elements{&value, {}};
  if (value.isRagged()) {
    int64_t inner = value.dims().withoutFront().count();
    for (int64_t split : value.splits())
      elements.splits.push_back(split * inner);
    return elements;
  }
  int64_t rows = value.dims()[0], each = value.dims().withoutFront().count();
  for (int64_t r = 0; r <= rows; ++r)
    elements.splits.push_back(r * each);
  return elements;
}

/// The elements as numbers.
static std::vector<double> numbersOf(const Value &value, const std::string &key) {
  std::vector<double> numbers;
  numbers.reserve(static_cast<size_t>(value.count()));
  withType(value.dtype(), key, [&]<typename T>() {
    for (T x : value.as<T>())
      numbers.push_back(static_cast<double>(x));
  });
  return numbers;
}

/// Calls `take(text, isMissing)` for each element, an integer as its decimal text: missing are "" and -1, as in
/// TensorFlow.
template <typename Take> static void eachText(const Value &value, const std::string &key, Take take) {
  if (value.dtype() == Bytes) {
    for (int64_t i = 0; i < value.count(); ++i)
      take(value.bytes(i), value.bytes(i).empty());
    return;
  }
  withType(value.dtype(), key, [&]<typename T>() {
    if constexpr (std::is_floating_point_v<T>)
      throw Error(SINTER_INVALID_ARGUMENT,
                  "feature '" + key + "' requires integers or bytes to have ids, got " + dtypeName(value.dtype()));
    else
      for (T x : value.as<T>()) {
        char text[24];
        auto number = static_cast<int64_t>(x);
        auto [end, error] = std::to_chars(text, text + sizeof text, number);
        take(std::string_view(text, static_cast<size_t>(end - text)), number == -1);
      }
  });
}

//===- Fitting --------------------------------------------------------------------------------------===//

namespace {
/// What is counted of a column.
struct Fit {
  int64_t values = 0, count = 0; // all, and those that are not missing
  double mean = 0, squares = 0;
  std::vector<double> numbers;
  std::unordered_map<std::string, int64_t> counts;
};
} // namespace

static void count(const FeatureColumn &column, const Value &value, Fit &fit, int64_t maxValues) {
  if (column.kind == ColumnKind::Vocabulary) {
    eachText(value, column.keys[0], [&](std::string_view text, bool isMissing) {
      if (!isMissing)
        ++fit.counts[std::string(text)];
    });
  } else {
    for (double x : numbersOf(value, column.keys[0])) {
      int64_t number = fit.values++;
      if (std::isinf(x))
        throw Error(SINTER_INVALID_ARGUMENT, "column '" + column.name +
                                                 "' requires finite values to be fitted, got one that is infinite as "
                                                 "value " +
                                                 std::to_string(number) + " of '" + column.keys[0] + "'");
      if (std::isnan(x))
        continue;
      if (column.kind == ColumnKind::Bucketed) {
        fit.numbers.push_back(x);
        continue;
      }
      double step = x - fit.mean; // Welford 1962
      fit.mean += step / static_cast<double>(++fit.count);
      fit.squares += step * (x - fit.mean);
    }
  }
  if (static_cast<int64_t>(fit.counts.size() + fit.numbers.size()) > maxValues)
    throw Error(SINTER_LIMIT,
                "column '" + column.name + "' requires at most " + std::to_string(maxValues) + " values to be fitted");
}

static void finish(FeatureColumn &column, Fit &fit) {
  auto require = [&](bool holds) {
    if (!holds)
      throw Error(SINTER_INVALID_ARGUMENT, "column '" + column.name + "' requires data to be fitted, got none");
  };
  if (column.kind == ColumnKind::Numeric) {
    require(fit.count > 0);
    double deviation = std::sqrt(fit.squares / static_cast<double>(fit.count));
    column.mean = column.mean.value_or(fit.mean);
    column.deviation = column.deviation.value_or(deviation > 0 ? deviation : 1);
  } else if (column.kind == ColumnKind::Bucketed) {
    require(!fit.numbers.empty());
    std::ranges::sort(fit.numbers);
    for (int64_t q = 1; q < column.quantiles; ++q) { // between neighbours, as numpy.quantile does
      double at =
          static_cast<double>(q) / static_cast<double>(column.quantiles) * static_cast<double>(fit.numbers.size() - 1);
      auto below = static_cast<size_t>(at);
      double low = fit.numbers[below], high = fit.numbers[std::min(below + 1, fit.numbers.size() - 1)];
      double boundary = low + (high - low) * (at - static_cast<double>(below));
      if (column.boundaries.empty() || boundary > column.boundaries.back())
        column.boundaries.push_back(boundary);
    }
  } else {
    std::vector<std::pair<std::string, int64_t>> counted(fit.counts.begin(), fit.counts.end());
    std::ranges::sort(counted, [](const auto &a, const auto &b) {
      return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    for (const auto &[text, times] : counted)
      if (times >= column.least && (!column.most || static_cast<int64_t>(column.values.size()) < column.most))
        column.values.push_back(text);
    require(!column.values.empty());
  }
}

/// The column that column `c` is fitted with: of the vocabularies of one table the first, or one that is stated; else
/// `c`.
static size_t leaderOf(const std::vector<FeatureColumn> &columns, size_t c) {
  auto tableOf = [&](const FeatureColumn &column) {
    bool hasTable = column.form == ColumnForm::Embedding && column.kind == ColumnKind::Vocabulary;
    return !hasTable ? std::string() : column.table.empty() ? column.name : column.table;
  };
  std::string table = tableOf(columns[c]);
  size_t leader = c;
  for (size_t other = columns.size(); !table.empty() && other-- > 0;)
    if (tableOf(columns[other]) == table && (columns[other].isFitted() || !columns[leader].isFitted()))
      leader = other;
  return leader;
}

int64_t FeatureColumns::fit(const Dataset &batches, int64_t maxValues) {
  std::vector<Fit> fits(columns.size());
  std::vector<size_t> leaders;
  for (size_t c = 0; c < columns.size(); ++c)
    leaders.push_back(leaderOf(columns, c));
  Loader loader(batches);
  for (Record batch; loader.next(batch);)
    for (size_t c = 0; c < columns.size(); ++c)
      if (!columns[leaders[c]].isFitted())
        count(columns[c], batch[columns[c].keys[0]], fits[leaders[c]], maxValues);
  std::vector<FeatureColumn> fitted = columns;
  for (size_t c = 0; c < columns.size(); ++c)
    if (leaders[c] == c && !columns[c].isFitted())
      finish(fitted[c], fits[c]);
  for (size_t c = 0; c < columns.size(); ++c)
    if (leaders[c] != c && !columns[c].isFitted())
      fitted[c].values = fitted[leaders[c]].values;
  *this = FeatureColumns(std::move(fitted));
  return loader.skipped();
}

//===- Transforming ---------------------------------------------------------------------------------===//

namespace {
/// All columns, ready for batches.
class Transform {
public:
  explicit Transform(std::vector<FeatureColumn> given) : columns(std::move(given)), lookups(columns.size()) {
    for (size_t c = 0; c < columns.size(); ++c)
      for (size_t i = 0; i < columns[c].values.size(); ++i)
        lookups[c].emplace(columns[c].values[i], static_cast<int64_t>(i));
  }

  Record apply(const Record &batch) const {
    Record result;
    std::vector<std::pair<std::string, std::vector<Value>>> matrices; // parts of each `into`
    for (size_t c = 0; c < columns.size(); ++c) {
      const FeatureColumn &column = columns[c];
      bool isNumber = column.kind == ColumnKind::Numeric, isIndicator = column.form == ColumnForm::Indicator;
      if (!isNumber && !isIndicator) {
        Ids ids = idsOf(c, batch);
        put(result, column, ids.isRagged, Value::of(std::span<const int64_t>(ids.ids), ids.dims), ids.splits);
        continue;
      }
      std::vector<int64_t> splits;
      Value value = isNumber ? numbers(column, batch, splits) : indicator(column, idsOf(c, batch));
      if (column.isSequence) {
        put(result, column, true, value, splits);
        continue;
      }
      const std::string &into = column.into.empty() ? column.name : column.into;
      auto at = std::ranges::find(matrices, into, &std::pair<std::string, std::vector<Value>>::first);
      if (at == matrices.end()) {
        at = matrices.insert(matrices.end(), {into, {}});
        result.set(into, value); // its place
      }
      at->second.push_back(std::move(value));
    }
    for (const auto &[name, parts] : matrices)
      if (parts.size() > 1)
        result.set(name, joined(parts));
    return result;
  }

private:
  /// Sets the result of a column; a sequence is padded and has its lengths beside it.
  static void put(Record &result, const FeatureColumn &column, bool isRagged, const Value &value,
                  std::span<const int64_t> splits) {
    if (!column.isSequence)
      return result.set(column.name, isRagged ? Value::ragged(value, splits) : value);
    size_t rows = splits.size() - 1;
    int64_t longest = 0;
    std::vector<int64_t> lengths;
    for (size_t r = 0; r < rows; ++r) {
      lengths.push_back(splits[r + 1] - splits[r]);
      longest = std::max(longest, lengths.back());
    }
    int64_t element = sinter_dtype_bytes(value.dtype()), bytes = static_cast<int64_t>(rows) * longest * element;
    auto memory = allocate(bytes);
    std::memset(memory.get(), 0, static_cast<size_t>(bytes));
    for (size_t r = 0; r < rows; ++r)
      if (lengths[r])
        std::memcpy(memory.get() + static_cast<int64_t>(r) * longest * element, value.data() + splits[r] * element,
                    static_cast<size_t>(lengths[r] * element));
    result.set(column.name, Value(value.dtype(), {static_cast<int64_t>(rows), longest}, std::move(memory)));
    result.set(column.name + ".length", Value::of(lengths));
  }

  static Value numbers(const FeatureColumn &column, const Record &batch, std::vector<int64_t> &splits) {
    Elements elements = elementsOf(batch, column.keys[0]);
    double mean = column.isNormalized ? *column.mean : 0, deviation = column.isNormalized ? *column.deviation : 1;
    std::vector<float> result;
    for (double x : numbersOf(*elements.value, column.keys[0])) {
      if (std::isnan(x))
        x = column.missing ? *column.missing : column.isNormalized ? mean : x;
      result.push_back(static_cast<float>((x - mean) / deviation));
    }
    int64_t rows = elements.rows();
    splits = std::move(elements.splits);
    if (column.isSequence)
      return Value::of(result);
    auto count = static_cast<int64_t>(result.size());
    if (elements.value->isRagged() || count != rows * column.size)
      throw Error(SINTER_INVALID_ARGUMENT,
                  "column '" + column.name + "' requires " + std::to_string(column.size) + " values in each row, got " +
                      (elements.value->isRagged() ? "ragged rows" : elements.value->dims().text()));
    return Value::of(std::span<const float>(result), {rows, column.size});
  }

  static Value indicator(const FeatureColumn &column, const Ids &ids) {
    int64_t width = column.numIds(), rows = static_cast<int64_t>(ids.splits.size()) - 1;
    std::vector<float> counts(static_cast<size_t>(rows * width));
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t i = ids.splits[static_cast<size_t>(r)]; i < ids.splits[static_cast<size_t>(r) + 1]; ++i)
        if (int64_t id = ids.ids[static_cast<size_t>(i)]; id >= 0)
          ++counts[static_cast<size_t>(r * width + id)];
    return Value::of(std::span<const float>(counts), {rows, width});
  }

  /// Matrices of f32 side by side.
  static Value joined(const std::vector<Value> &parts) {
    int64_t rows = parts[0].dims()[0], width = 0;
    for (const Value &part : parts)
      width += part.dims()[1];
    std::vector<float> all(static_cast<size_t>(rows * width));
    int64_t at = 0;
    for (const Value &part : parts) {
      int64_t own = part.dims()[1];
      if (part.dims()[0] != rows)
        throw Error(SINTER_INVALID_ARGUMENT, "columns of one matrix require as many rows, got " + std::to_string(rows) +
                                                 " and " + std::to_string(part.dims()[0]));
      auto from = part.as<float>();
      for (int64_t r = 0; r < rows; ++r)
        std::copy_n(from.begin() + r * own, own, all.begin() + r * width + at);
      at += own;
    }
    return Value::of(std::span<const float>(all), {rows, width});
  }

  Ids idsOf(size_t c, const Record &batch) const {
    const FeatureColumn &column = columns[c];
    if (column.kind == ColumnKind::Crossed)
      return cross(column, batch);
    Elements elements = elementsOf(batch, column.keys[0]);
    const Value &value = *elements.value;
    Ids result{{}, std::move(elements.splits), value.isRagged() ? Dims{value.count()} : value.dims(), value.isRagged()};
    if (column.kind == ColumnKind::Bucketed) {
      for (double x : numbersOf(value, column.keys[0]))
        result.ids.push_back(
            std::isnan(x) ? -1 : std::ranges::upper_bound(column.boundaries, x) - column.boundaries.begin());
    } else if (column.kind == ColumnKind::Identity) {
      for (double x : numbersOf(value, column.keys[0])) {
        if (x < -1 || x >= static_cast<double>(column.buckets) || x != std::floor(x))
          throw Error(SINTER_INVALID_ARGUMENT, "column '" + column.name + "' requires ids below " +
                                                   std::to_string(column.buckets) + ", got " + sinter::decimal(x));
        result.ids.push_back(static_cast<int64_t>(x));
      }
    } else {
      bool isHashed = column.kind == ColumnKind::Hashed;
      eachText(value, column.keys[0], [&](std::string_view text, bool isMissing) {
        result.ids.push_back(isMissing ? -1
                             : isHashed
                                 ? static_cast<int64_t>(fingerprint64(text) % static_cast<uint64_t>(column.buckets))
                                 : lookUp(c, text));
      });
    }
    return result;
  }

  int64_t lookUp(size_t c, std::string_view text) const {
    const FeatureColumn &column = columns[c];
    auto at = lookups[c].find(text);
    if (at != lookups[c].end())
      return at->second;
    if (column.oov == 0)
      return -1;
    return static_cast<int64_t>(column.values.size()) +
           static_cast<int64_t>(fingerprint64(text) % static_cast<uint64_t>(column.oov));
  }

  /// Every combination of the values of a row, the last key's changing first; values that are missing have none.
  Ids cross(const FeatureColumn &column, const Record &batch) const {
    struct Key {
      std::vector<uint64_t> prints;
      std::vector<int64_t> splits;
    };
    std::vector<Key> keys;
    for (const std::string &name : column.keys) {
      Key key;
      std::vector<uint64_t> prints;
      std::vector<bool> isMissing;
      std::vector<int64_t> splits;
      auto bucketed = std::ranges::find_if(columns, [&](const FeatureColumn &other) {
        return other.name == name && other.kind == ColumnKind::Bucketed;
      });
      if (bucketed != columns.end()) {
        Ids ids = idsOf(static_cast<size_t>(bucketed - columns.begin()), batch);
        splits = ids.splits;
        for (int64_t id : ids.ids) {
          prints.push_back(static_cast<uint64_t>(id));
          isMissing.push_back(id < 0);
        }
      } else {
        Elements elements = elementsOf(batch, name);
        splits = elements.splits;
        bool isText = elements.value->dtype() == Bytes;
        eachText(*elements.value, name, [&](std::string_view text, bool missing) {
          int64_t number = 0;
          if (!isText)
            std::from_chars(text.data(), text.data() + text.size(), number);
          prints.push_back(isText ? fingerprint64(text) : static_cast<uint64_t>(number));
          isMissing.push_back(missing);
        });
      }
      key.splits.push_back(0);
      for (size_t r = 0; r + 1 < splits.size(); ++r) {
        for (int64_t i = splits[r]; i < splits[r + 1]; ++i)
          if (!isMissing[static_cast<size_t>(i)])
            key.prints.push_back(prints[static_cast<size_t>(i)]);
        key.splits.push_back(static_cast<int64_t>(key.prints.size()));
      }
      if (!keys.empty() && keys[0].splits.size() != key.splits.size())
        throw Error(SINTER_INVALID_ARGUMENT, "column '" + column.name + "' requires keys with as many rows");
      keys.push_back(std::move(key));
    }
    Ids result;
    result.splits.push_back(0);
    for (size_t r = 0; r + 1 < keys[0].splits.size(); ++r) {
      std::vector<uint64_t> row = {crossKey};
      for (const Key &key : keys) {
        std::vector<uint64_t> longer;
        for (uint64_t print : row)
          for (int64_t i = key.splits[r]; i < key.splits[r + 1]; ++i)
            longer.push_back(joinFingerprints(print, key.prints[static_cast<size_t>(i)]));
        row = std::move(longer);
        if (row.size() > 1'000'000)
          throw Error(SINTER_LIMIT, "column '" + column.name + "' requires at most 1000000 combinations in a row");
      }
      for (uint64_t print : row)
        result.ids.push_back(static_cast<int64_t>(print % static_cast<uint64_t>(column.buckets)));
      if (column.size == 1 && row.empty()) // something is missing
        result.ids.push_back(-1);
      if (column.size == 1 && row.size() > 1)
        throw Error(SINTER_INVALID_ARGUMENT, "column '" + column.name +
                                                 "' requires one value of each key in a row, or "
                                                 "a size of -1");
      result.splits.push_back(static_cast<int64_t>(result.ids.size()));
    }
    result.isRagged = column.size != 1;
    result.dims = {static_cast<int64_t>(result.ids.size())};
    return result;
  }

  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  std::vector<FeatureColumn> columns;
  std::vector<std::unordered_map<std::string, int64_t, Hash, std::equal_to<>>> lookups;
};
} // namespace

Dataset::Map FeatureColumns::transform() const {
  for (const FeatureColumn &column : columns)
    if (!column.isFitted())
      throw Error(SINTER_INVALID_ARGUMENT, "column '" + column.name + "' requires to be fitted first");
  auto transform = std::make_shared<const Transform>(columns);
  return [transform](const Record &batch) { return transform->apply(batch); };
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Descriptions of columns, as JSON and back, and what follows from them without data.

#include "Columns.h"
extern "C" {
#include "../file.h"
}
#include "Crc32c.h"
#include "File.h"
#include <algorithm>
#include <nlohmann/json.hpp>

using namespace sinter::data;
using Json = nlohmann::ordered_json;

static constexpr const char *kindNames[] = {"numeric", "bucketed", "vocabulary", "hashed", "crossed", "identity"};
static constexpr const char *formNames[] = {"ids", "indicator", "embedding"};

int64_t FeatureColumn::numIds() const {
  switch (kind) {
  case ColumnKind::Bucketed:
    return static_cast<int64_t>(boundaries.size()) + 1;
  case ColumnKind::Vocabulary:
    return static_cast<int64_t>(values.size()) + oov;
  default:
    return buckets;
  }
}

bool FeatureColumn::isFitted() const {
  return (kind != ColumnKind::Numeric || !isNormalized || (mean && deviation)) &&
         (kind != ColumnKind::Bucketed || !boundaries.empty()) && (kind != ColumnKind::Vocabulary || !values.empty());
}

//===- What is required -----------------------------------------------------------------------------===//

static void require(const FeatureColumn &column, bool holds, const std::string &what) {
  if (!holds)
    throw Error(SINTER_INVALID_ARGUMENT, "column '" + column.name + "' requires " + what);
}

static void requireColumn(const FeatureColumn &c, const std::vector<FeatureColumn> &all) {
  bool isCross = c.kind == ColumnKind::Crossed, isNumber = c.kind == ColumnKind::Numeric;
  require(c, !c.name.empty(), "a name");
  require(c, std::ranges::count(all, c.name, &FeatureColumn::name) == 1, "a name of its own");
  require(c, isCross ? c.keys.size() > 1 : c.keys.size() == 1, isCross ? "two keys or more" : "one key");
  require(c, c.dtype == SINTER_F32 || c.dtype == SINTER_I64 || c.dtype == Bytes, "a dtype of f32, i64 or bytes");
  require(c, c.size >= -1 && c.size != 0, "a size of 1 or more, or -1");
  bool hasNumbers = isNumber || c.kind == ColumnKind::Bucketed;
  require(c, !hasNumbers || c.dtype != Bytes, "numbers");
  require(c, hasNumbers || c.dtype != SINTER_F32, "a dtype of i64 or bytes");
  require(c, c.kind != ColumnKind::Identity || c.dtype == SINTER_I64, "a dtype of i64");
  require(c, !isNumber || c.form == ColumnForm::Ids, "ids to be an indicator or an embedding");
  require(c, c.into.empty() || isNumber || c.form == ColumnForm::Indicator,
          "numbers or an indicator to go into a matrix");
  require(c, !isNumber || c.size != -1 || c.isSequence, "a known size or to be a sequence");
  require(c, !c.isSequence || c.form != ColumnForm::Indicator, "ids or numbers to be a sequence");
  require(c, !c.deviation || *c.deviation > 0, "a deviation above 0");
  require(c, std::ranges::is_sorted(c.boundaries, std::less_equal()), "rising boundaries");
  require(c, c.kind != ColumnKind::Bucketed || !c.boundaries.empty() || c.quantiles > 1,
          "boundaries or 2 quantiles or more");
  require(c, c.oov >= 0 && c.most >= 0 && c.least >= 1, "oov and most of 0 or more, and least of 1 or more");
  bool isHashed = c.kind == ColumnKind::Hashed || isCross || c.kind == ColumnKind::Identity;
  require(c, !isHashed || c.buckets > 0, "buckets above 0");
  std::vector<std::string> values = c.values;
  std::ranges::sort(values);
  require(c, std::ranges::adjacent_find(values) == values.end(), "distinct values");
  require(c, c.form != ColumnForm::Embedding || c.dim > 0, "a dim above 0");
  require(c, c.combiner == "sum" || c.combiner == "mean" || c.combiner == "sqrtn", "a combiner of sum, mean or sqrtn");
}

static bool isBucketed(const std::vector<FeatureColumn> &columns, const std::string &name) {
  return std::ranges::any_of(
      columns, [&](const FeatureColumn &column) { return column.name == name && column.kind == ColumnKind::Bucketed; });
}

FeatureColumns::FeatureColumns(std::vector<FeatureColumn> given) : columns(std::move(given)) {
  for (FeatureColumn &column : columns) {
    column.size = column.isSequence ? -1 : column.size;
    requireColumn(column, columns);
  }
  (void)features();
  (void)tables();
}

std::vector<EmbeddingTable> FeatureColumns::tables() const {
  std::vector<EmbeddingTable> tables;
  for (const FeatureColumn &column : columns) {
    if (column.form != ColumnForm::Embedding)
      continue;
    const std::string &name = column.table.empty() ? column.name : column.table;
    auto at = std::ranges::find(tables, name, &EmbeddingTable::name);
    if (at == tables.end()) {
      tables.push_back({name, column.combiner, column.numIds(), column.dim, {column.name}});
      continue;
    }
    const FeatureColumn &first = *std::ranges::find(columns, at->columns.front(), &FeatureColumn::name);
    bool areFitted = column.isFitted() && first.isFitted();
    require(column, !areFitted || at->rows == column.numIds(),
            "as many ids as the others of table '" + name + "', " + std::to_string(at->rows) + ", got " +
                std::to_string(column.numIds()));
    require(column, at->dim == column.dim && at->combiner == column.combiner,
            "dim and combiner of the others of table '" + name + "'");
    // An id is one row, whichever column it comes from.
    require(column, column.kind == first.kind, "the kind of the others of table '" + name + "'");
    require(column, column.most == first.most && column.least == first.least && column.oov == first.oov,
            "most, least and oov of the others of table '" + name + "'");
    require(column, !areFitted || column.values == first.values, "the values of the others of table '" + name + "'");
    at->columns.push_back(column.name);
  }
  return tables;
}

std::vector<Feature> FeatureColumns::features() const {
  std::vector<Feature> features;
  auto add = [&](const FeatureColumn &column, const std::string &key) {
    std::vector<int64_t> dims;
    if (column.size != 1)
      dims.push_back(column.size);
    auto at = std::ranges::find(features, key, &Feature::name);
    if (at == features.end())
      features.push_back({.name = key, .dtype = column.dtype, .dims = dims});
    else
      require(column, column.kind == ColumnKind::Crossed || (at->dtype == column.dtype && at->dims == dims),
              "the dtype and size that other columns have for the feature '" + key + "'");
  };
  for (const FeatureColumn &column : columns)
    if (column.kind != ColumnKind::Crossed)
      add(column, column.keys[0]);
  for (const FeatureColumn &column : columns) // keys of crosses are what other columns say of them, if one does
    for (const std::string &key : column.keys)
      if (column.kind == ColumnKind::Crossed && !isBucketed(columns, key))
        add(column, key);
  return features;
}

std::vector<CsvColumn> FeatureColumns::csvColumns() const {
  std::vector<CsvColumn> fields;
  for (const Feature &feature : features()) {
    if (!feature.dims.empty())
      throw Error(SINTER_INVALID_ARGUMENT,
                  "feature '" + feature.name + "' requires a size of 1 to be read from a table");
    fields.push_back({feature.name, feature.dtype});
  }
  return fields;
}

bool FeatureColumns::isFitted() const { return std::ranges::all_of(columns, &FeatureColumn::isFitted); }

//===- JSON -----------------------------------------------------------------------------------------===//

namespace {
/// The members of one column, each taken once.
class Members {
public:
  Members(const Json &object, const std::string &file) : object(object), file(file) {
    if (!object.is_object())
      fail("a column is required to be an object");
    if (auto at = object.find("name"); at != object.end() && at->is_string())
      name = at->get<std::string>();
  }

  template <typename T> void take(const char *key, T &value) {
    auto at = object.find(key);
    if (at == object.end())
      return;
    ++taken;
    try {
      if constexpr (std::is_same_v<T, std::optional<double>>)
        value = at->get<double>();
      else if (std::is_same_v<T, int64_t> && !at->is_number_integer())
        fail(std::string("'") + key + "' is required to be an integer");
      else
        value = at->get<T>();
    } catch (const Json::exception &) {
      fail(std::string("'") + key + "' is of another type than is required");
    }
  }

  template <size_t N> size_t choose(const char *key, const char *const (&names)[N], size_t otherwise) {
    std::string text = names[otherwise], all;
    take(key, text);
    for (size_t i = 0; i < N; ++i) {
      if (names[i] == text)
        return i;
      all += (i ? ", " : "") + std::string(names[i]);
    }
    fail(std::string("'") + key + "' requires one of " + all + ", got '" + text + "'");
  }

  void finish() {
    if (taken == object.size())
      return;
    static const char *const known[] = {"name",     "kind",       "key",       "keys",      "dtype", "size",
                                        "sequence", "as",         "into",      "normalize", "mean",  "deviation",
                                        "missing",  "boundaries", "quantiles", "values",    "most",  "least",
                                        "oov",      "buckets",    "dim",       "combiner",  "table"};
    for (const auto &[key, value] : object.items())
      if (std::ranges::find(known, key) == std::end(known))
        fail("nothing is called '" + key + "'");
    fail("'key' and 'keys' exclude each other");
  }

  [[noreturn]] void fail(const std::string &what) const {
    throw Error(SINTER_CORRUPT, (name.empty() ? "" : "column '" + name + "': ") + what, {file, -1, -1});
  }

private:
  const Json &object;
  const std::string &file;
  std::string name;
  size_t taken = 0;
};
} // namespace

static FeatureColumn readColumn(const Json &object, const std::string &file) {
  static constexpr const char *dtypes[] = {"f32", "i64", "bytes"};
  static constexpr int32_t codes[] = {SINTER_F32, SINTER_I64, Bytes};
  Members members(object, file);
  FeatureColumn column;
  members.take("name", column.name);
  column.kind = static_cast<ColumnKind>(members.choose("kind", kindNames, 0));
  std::string key;
  members.take("key", key);
  members.take("keys", column.keys);
  if (!key.empty() && column.keys.empty())
    column.keys = {key};
  else if (key.empty() && column.keys.empty())
    column.keys = {column.name};
  else if (!key.empty())
    members.fail("'key' and 'keys' exclude each other");
  bool hasNumbers = column.kind == ColumnKind::Numeric || column.kind == ColumnKind::Bucketed;
  column.dtype = codes[members.choose("dtype", dtypes, hasNumbers ? 0 : column.kind == ColumnKind::Identity ? 1 : 2)];
  members.take("size", column.size);
  members.take("sequence", column.isSequence);
  column.form = static_cast<ColumnForm>(members.choose("as", formNames, 0));
  members.take("into", column.into);
  members.take("normalize", column.isNormalized);
  members.take("mean", column.mean);
  members.take("deviation", column.deviation);
  members.take("missing", column.missing);
  members.take("boundaries", column.boundaries);
  members.take("quantiles", column.quantiles);
  members.take("values", column.values);
  members.take("most", column.most);
  members.take("least", column.least);
  members.take("oov", column.oov);
  members.take("buckets", column.buckets);
  members.take("dim", column.dim);
  members.take("combiner", column.combiner);
  members.take("table", column.table);
  members.finish();
  return column;
}

FeatureColumns FeatureColumns::parse(const std::string &json, const std::string &name) {
  Json root;
  try {
    root = Json::parse(json);
  } catch (const Json::exception &error) {
    throw Error(SINTER_CORRUPT, std::string("columns are required to be JSON: ") + error.what(), {name, -1, -1});
  }
  auto list = root.is_object() ? root.find("columns") : root.end();
  if (!root.is_object() || root.size() != 1 || list == root.end() || !list->is_array())
    throw Error(SINTER_CORRUPT, "an object with a list 'columns' and nothing else is required", {name, -1, -1});
  std::vector<FeatureColumn> columns;
  for (const Json &object : *list)
    columns.push_back(readColumn(object, name));
  try {
    return FeatureColumns(std::move(columns));
  } catch (const Error &error) {
    throw Error(error.code(), error.what(), {name, -1, -1});
  }
}

FeatureColumns FeatureColumns::load(const std::string &path) {
  File file(path);
  std::string text(static_cast<size_t>(file.size()), '\0');
  file.readAt(0, text.data(), file.size());
  return parse(text, path);
}

static Json described(const std::vector<FeatureColumn> &columns) {
  Json list = Json::array();
  for (const FeatureColumn &column : columns) {
    static const FeatureColumn plain;
    Json object;
    object["name"] = column.name;
    object["kind"] = kindNames[static_cast<size_t>(column.kind)];
    object["keys"] = column.keys;
    object["dtype"] = dtypeName(column.dtype);
    auto put = [&](const char *key, const auto &value, const auto &usual) {
      if (!(value == usual))
        object[key] = value;
    };
    auto putNumber = [&](const char *key, const std::optional<double> &value) {
      if (value)
        object[key] = *value;
    };
    put("size", column.size, plain.size);
    put("sequence", column.isSequence, false);
    if (column.form != ColumnForm::Ids)
      object["as"] = formNames[static_cast<size_t>(column.form)];
    put("into", column.into, plain.into);
    put("normalize", column.isNormalized, false);
    putNumber("mean", column.mean);
    putNumber("deviation", column.deviation);
    putNumber("missing", column.missing);
    put("boundaries", column.boundaries, plain.boundaries);
    put("quantiles", column.quantiles, plain.quantiles);
    put("values", column.values, plain.values);
    put("most", column.most, plain.most);
    put("least", column.least, plain.least);
    put("oov", column.oov, plain.oov);
    put("buckets", column.buckets, plain.buckets);
    put("dim", column.dim, plain.dim);
    put("combiner", column.combiner, plain.combiner);
    put("table", column.table, plain.table);
    list.push_back(std::move(object));
  }
  return {{"columns", std::move(list)}};
}

std::string FeatureColumns::text() const {
  try {
    return described(columns).dump(1) + "\n";
  } catch (const Json::exception &) {
    throw Error(SINTER_UNSUPPORTED, "names and values of columns require UTF-8 to be JSON");
  }
}

std::string FeatureColumns::signature() const {
  std::string text = described(columns).dump(-1, ' ', false, Json::error_handler_t::replace);
  return "columns " + checksumText(crc32c(text));
}

void FeatureColumns::save(const std::string &path) const {
  std::string json = text();
  NewFile file;
  check(srtCreateFile(path.c_str(), &file));
  check(srtFinishFile(&file, srtWriteAll(file.file, json.data(), static_cast<int64_t>(json.size()), path.c_str())));
}

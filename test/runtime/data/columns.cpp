// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Feature columns: TensorFlow's hashes, forms, and what is refused. Inputs/columns.py has the statistics.
#include "runtime/data/Columns.h"
#include "Messages.h"
#include "runtime/data/Farmhash.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace sinter::data;
using sinter::test::messageOf;

using Integers = std::vector<int64_t>;

static Record transformed(const std::string &columns, const Record &batch) {
  return FeatureColumns::parse("{\"columns\": [" + columns + "]}").transform()(batch);
}

static Integers idsOf(const Value &value) {
  auto all = value.as<int64_t>();
  return {all.begin(), all.end()};
}

/// tf.strings.to_hash_bucket_fast of TensorFlow 2.21, with 1000003 and with 1000 buckets.
TEST(DataColumns, strings_and_integers_are_hashed_as_by_tensorflow) {
  std::vector<std::string> texts = {
      "", "a", "red", "user_123456", "a string of more than thirty-two bytes, so that it is long", "\xC3\xBC"};
  Integers wanted = {377723, 291400, 618798, 750828, 102391, 348280};
  for (size_t i = 0; i < texts.size(); ++i)
    EXPECT_EQ(fingerprint64(texts[i]) % 1000003, static_cast<uint64_t>(wanted[i]));
  wanted[0] = -1; // nothing
  EXPECT_EQ(
      idsOf(transformed(R"({"name": "w", "kind": "hashed", "buckets": 1000003})", {{"w", Value::strings(texts)}})["w"]),
      wanted);
  EXPECT_EQ(idsOf(transformed(R"({"name": "w", "kind": "hashed", "buckets": 1000, "dtype": "i64"})",
                              {{"w", Value::of(Integers{0, -7, 12345678901})}})["w"]),
            (Integers{735, 62, 632}));
}

/// fingerprint64 of the pyfarmhash package, of i * 131 + 7 n for i < n.
TEST(DataColumns, fingerprints_of_every_length) {
  uint64_t sum = 0;
  for (int n = 0; n < 300; ++n) {
    std::string text;
    for (int i = 0; i < n; ++i)
      text += static_cast<char>(i * 131 + n * 7);
    sum = sum * 31 + fingerprint64(text);
  }
  EXPECT_EQ(sum, 1403594843619526649u);
}

/// tf.sparse.cross_hashed of TensorFlow 2.21.
TEST(DataColumns, crosses_are_those_of_tensorflow) {
  Record batch{{"color", Value::strings({"red", "blue"})}, {"n", Value::of(Integers{7, -3})}};
  std::string number = R"({"name": "n", "kind": "identity", "buckets": 10}, )";
  EXPECT_EQ(messageOf([&] {
              transformed(number + R"({"name": "x", "kind": "crossed", "keys": ["color", "n"], "buckets": 9})", batch);
            }),
            "column 'n' requires ids below 10, got -3");
  EXPECT_EQ(idsOf(transformed(R"({"name": "m", "kind": "hashed", "key": "n", "dtype": "i64", "buckets": 10},
                           {"name": "x", "kind": "crossed", "keys": ["color", "n"], "buckets": 1000003})",
                              batch)["x"]),
            (Integers{270818, 232907}));
  Record ragged{{"a", Value::ragged(Value::strings({"red", "x", "blue"}), Integers{0, 2, 3})},
                {"b", Value::ragged(Value::strings({"p", "q", "r"}), Integers{0, 1, 3})},
                {"c", Value::of(Integers{5, 6})}};
  Value crossed = transformed(R"({"name": "h", "kind": "hashed", "key": "c", "dtype": "i64", "buckets": 10},
                           {"name": "x", "kind": "crossed", "keys": ["a", "b", "c"], "size": -1, "buckets": 97})",
                              ragged)["x"];
  EXPECT_EQ(idsOf(crossed), (Integers{51, 26, 63, 22}));
  EXPECT_TRUE(std::ranges::equal(crossed.splits(), Integers{0, 2, 4}));
}

/// tf.lookup.StaticVocabularyTable and tf.raw_ops.Bucketize.
TEST(DataColumns, vocabularies_and_buckets_are_those_of_tensorflow) {
  EXPECT_EQ(idsOf(transformed(R"({"name": "w", "kind": "vocabulary", "values": ["red", "green"], "oov": 3})",
                              {{"w", Value::strings({"green", "blue", "zz", "red", ""})}})["w"]),
            (Integers{1, 2, 3, 0, -1}));
  EXPECT_EQ(idsOf(transformed(R"({"name": "b", "kind": "bucketed", "boundaries": [0, 1, 5]})",
                              {{"b", Value::of(std::vector<float>{-1, 0, 0.5f, 1, 9, NAN})}})["b"]),
            (Integers{0, 1, 1, 2, 3, -1}));
}

TEST(DataColumns, bags_count_and_sequences_are_padded) {
  Record batch{{"w", Value::ragged(Value::strings({"a", "b", "a", "c", "a"}), Integers{0, 3, 3, 5})},
               {"f", Value::ragged(Value::of(std::vector<float>{1, 2, 3}), Integers{0, 1, 1, 3})},
               {"g", Value::of(std::span<const float>(std::vector<float>{1, 2, 3, NAN, 5, 6}), {3, 2})}};
  Record bags = transformed(
      R"({"name": "w", "kind": "vocabulary", "values": ["a", "b"], "size": -1, "as": "indicator", "into": "m"},
                         {"name": "g", "size": 2, "missing": 9, "into": "m"})",
      batch);
  EXPECT_EQ(bags.size(), 1);
  EXPECT_EQ(bags["m"],
            Value::of(std::span<const float>(std::vector<float>{2, 1, 1, 2, 0, 0, 3, 9, 1, 0, 5, 6}), {3, 4}));
  Record sequences = transformed(R"({"name": "w", "kind": "vocabulary", "values": ["c", "a", "b"], "sequence": true},
                              {"name": "f", "sequence": true, "normalize": true, "mean": 1, "deviation": 2})",
                                 batch);
  EXPECT_EQ(sequences["w"], Value::of(std::span<const int64_t>(Integers{1, 2, 1, 0, 0, 0, 0, 1, 0}), {3, 3}));
  EXPECT_EQ(idsOf(sequences["w.length"]), (Integers{3, 0, 2}));
  EXPECT_EQ(sequences["f"], Value::of(std::span<const float>(std::vector<float>{0, 0, 0, 0, 0.5f, 1}), {3, 2}));
}

TEST(DataColumns, specifications_follow_and_files_keep_them) {
  std::string text = R"({"columns": [
    {"name": "age", "normalize": true, "mean": 40.5, "deviation": 0.1, "into": "dense"},
    {"name": "range", "kind": "bucketed", "key": "age", "boundaries": [0.1, 30]},
    {"name": "home", "kind": "hashed", "key": "city", "buckets": 9, "as": "embedding", "dim": 4, "table": "cities"},
    {"name": "work", "kind": "hashed", "key": "office", "buckets": 9, "as": "embedding", "dim": 4, "table": "cities"},
    {"name": "both", "kind": "crossed", "keys": ["range", "city", "day"], "buckets": 50},
    {"name": "words", "kind": "vocabulary", "values": ["ü", "b"], "sequence": true, "as": "embedding", "dim": 2, "combiner": "sum"}]})";
  FeatureColumns columns = FeatureColumns::parse(text);
  std::string names;
  for (const Feature &feature : columns.features())
    names += feature.name + " " + dtypeName(feature.dtype) + (feature.dims.empty() ? "" : " open") + ", ";
  EXPECT_EQ(names, "age f32, city bytes, office bytes, words bytes open, day bytes, ");
  auto tables = columns.tables();
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[0].name, "cities");
  EXPECT_EQ(tables[0].rows, 9);
  EXPECT_EQ(tables[0].columns, (std::vector<std::string>{"home", "work"}));
  EXPECT_EQ(tables[1].combiner, "sum");
  std::string path = testing::TempDir() + "/columns.json";
  columns.save(path);
  EXPECT_EQ(FeatureColumns::load(path).text(), columns.text());
  EXPECT_EQ(*FeatureColumns::load(path).all()[0].deviation, 0.1);
  EXPECT_EQ(messageOf([&] { columns.csvColumns(); }), "feature 'words' requires a size of 1 to be read from a table");
}

static std::string refused(const std::string &columns) {
  return messageOf(
      [&] { FeatureColumns::parse(columns.starts_with("{") ? "{\"columns\": [" + columns + "]}" : columns); });
}

TEST(DataColumns, vocabularies_of_one_table_are_fitted_together) {
  Record batch({{"seen", Value::strings({"a", "b", "b", "c"})}, {"bought", Value::strings({"c", "c", "d", "c"})}});
  auto fit = [&](const std::string &first, const std::string &second) {
    std::string more = R"(, "kind": "vocabulary", "as": "embedding", "dim": 2, "table": "items"})";
    FeatureColumns columns = FeatureColumns::parse("{\"columns\": [{\"name\": \"seen\"" + first + more +
                                                   ", {\"name\": \"bought\"" + second + more + "]}");
    columns.fit(Dataset::fromRows(batch).batch({.size = 2}));
    EXPECT_EQ(columns.all()[0].values, columns.all()[1].values);
    EXPECT_EQ(columns.tables()[0].rows, columns.all()[0].numIds());
    return columns.all()[0].values;
  };
  using Values = std::vector<std::string>;
  EXPECT_EQ(fit("", ""), (Values{"c", "b", "a", "d"})); // 4, 2, 1 and 1 of both
  EXPECT_EQ(fit(R"(, "most": 2)", R"(, "most": 2)"), (Values{"c", "b"}));
  EXPECT_EQ(fit("", R"(, "values": ["d", "a"])"), (Values{"d", "a"}));
}

TEST(DataColumns, what_is_wrong_with_a_specification_is_told) {
  EXPECT_NE(refused("[").find("'columns': columns are required to be JSON: "), std::string::npos);
  EXPECT_EQ(refused("[]"), "'columns': an object with a list 'columns' and nothing else is required");
  EXPECT_EQ(refused(R"({"name": "a", "kind": "numbers"})"),
            "'columns': column 'a': 'kind' requires one of numeric, bucketed, vocabulary, hashed, crossed, identity, "
            "got 'numbers'");
  EXPECT_EQ(refused(R"({"name": "a", "bukkets": 3})"), "'columns': column 'a': nothing is called 'bukkets'");
  EXPECT_EQ(refused(R"({"name": "a", "size": "x"})"), "'columns': column 'a': 'size' is required to be an integer");
  EXPECT_EQ(refused(R"({"name": "a", "mean": "x"})"),
            "'columns': column 'a': 'mean' is of another type than is required");
  EXPECT_EQ(refused(R"({"name": "a", "key": "a", "keys": ["b"]})"),
            "'columns': column 'a': 'key' and 'keys' exclude each other");
  const std::pair<const char *, const char *> required[] = {
      {R"({"name": ""})", "a name"},
      {R"({"name": "a"}, {"name": "a"})", "a name of its own"},
      {R"({"name": "a", "keys": ["b", "c"]})", "one key"},
      {R"({"name": "a", "kind": "crossed", "buckets": 3})", "two keys or more"},
      {R"({"name": "a", "size": 0})", "a size of 1 or more, or -1"},
      {R"({"name": "a", "dtype": "bytes"})", "numbers"},
      {R"({"name": "a", "kind": "hashed", "dtype": "f32"})", "a dtype of i64 or bytes"},
      {R"({"name": "a", "kind": "identity", "dtype": "bytes", "buckets": 3})", "a dtype of i64"},
      {R"({"name": "a", "as": "indicator"})", "ids to be an indicator or an embedding"},
      {R"({"name": "a", "kind": "hashed", "buckets": 3, "into": "x"})", "numbers or an indicator to go into a matrix"},
      {R"({"name": "a", "size": -1})", "a known size or to be a sequence"},
      {R"({"name": "a", "kind": "hashed", "buckets": 3, "as": "indicator", "sequence": true})",
       "ids or numbers to be a sequence"},
      {R"({"name": "a", "deviation": 0})", "a deviation above 0"},
      {R"({"name": "a", "kind": "bucketed", "boundaries": [1, 1]})", "rising boundaries"},
      {R"({"name": "a", "kind": "bucketed"})", "boundaries or 2 quantiles or more"},
      {R"({"name": "a", "kind": "vocabulary", "oov": -1})", "oov and most of 0 or more, and least of 1 or more"},
      {R"({"name": "a", "kind": "hashed"})", "buckets above 0"},
      {R"({"name": "a", "kind": "vocabulary", "values": ["x", "x"]})", "distinct values"},
      {R"({"name": "a", "kind": "hashed", "buckets": 3, "as": "embedding"})", "a dim above 0"},
      {R"({"name": "a", "combiner": "max"})", "a combiner of sum, mean or sqrtn"},
      {R"({"name": "b", "key": "a"}, {"name": "a", "kind": "hashed", "buckets": 3})",
       "the dtype and size that other columns have for the feature 'a'"}};
  for (auto [columns, what] : required)
    EXPECT_NE(refused(columns).find(std::string("' requires ") + what), std::string::npos) << refused(columns);
  std::string one = R"({"name": "a", "kind": "hashed", "buckets": 3, "as": "embedding", "dim": 2, "table": "t"}, )";
  EXPECT_NE(refused(one + R"({"name": "b", "kind": "hashed", "buckets": 4, "as": "embedding", "dim": 2, "table": "t"})")
                .find("column 'b' requires as many ids as the others of table 't', 3, got 4"),
            std::string::npos);
  EXPECT_NE(refused(one + R"({"name": "b", "kind": "hashed", "buckets": 3, "as": "embedding", "dim": 3, "table": "t"})")
                .find("column 'b' requires dim and combiner of the others of table 't'"),
            std::string::npos);
  EXPECT_NE(
      refused(one + R"({"name": "b", "kind": "identity", "buckets": 3, "as": "embedding", "dim": 2, "table": "t"})")
          .find("column 'b' requires the kind of the others of table 't'"),
      std::string::npos);
  std::string two =
      R"({"name": "a", "kind": "vocabulary", "values": ["x"], "as": "embedding", "dim": 2, "table": "t"}, )";
  std::string other = R"({"name": "b", "kind": "vocabulary", "as": "embedding", "dim": 2, "table": "t", )";
  EXPECT_NE(
      refused(two + other + R"("values": ["y"]})").find("column 'b' requires the values of the others of table 't'"),
      std::string::npos);
  EXPECT_NE(
      refused(two + other + R"("most": 3})").find("column 'b' requires most, least and oov of the others of table 't'"),
      std::string::npos);
}

TEST(DataColumns, what_is_wrong_with_data_is_told) {
  std::string vocabulary = R"({"name": "a", "kind": "vocabulary"})";
  EXPECT_EQ(messageOf([&] { transformed(vocabulary, {}); }), "column 'a' requires to be fitted first");
  auto fit = [](const std::string &text, const Record &batch, int64_t most = 100) {
    FeatureColumns::parse("{\"columns\": [" + text + "]}").fit(Dataset::fromRows(batch).batch({.size = 2}), most);
  };
  Record words{{"a", Value::strings({"x", "y", ""})}}, none{{"a", Value::strings(std::vector<std::string>{""})}};
  EXPECT_EQ(messageOf([&] { fit(vocabulary, words, 1); }), "column 'a' requires at most 1 values to be fitted");
  EXPECT_EQ(messageOf([&] { fit(vocabulary, none); }), "column 'a' requires data to be fitted, got none");
  EXPECT_EQ(messageOf([&] { transformed(R"({"name": "a"})", {{"a", Value::scalar(1.0f)}}); }),
            "feature 'a' requires a batch, got a scalar");
  EXPECT_EQ(
      messageOf([&] { transformed(R"({"name": "a", "size": 2})", {{"a", Value::of(std::vector<float>{1, 2})}}); }),
      "column 'a' requires 2 values in each row, got 2");
  EXPECT_EQ(messageOf([&] {
              transformed(R"({"name": "a", "kind": "hashed", "buckets": 2})",
                          {{"a", Value::of(std::vector<float>{1})}});
            }),
            "feature 'a' requires integers or bytes to have ids, got f32");
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tf.Examples in batches, whose records are expected to be like those before: whatever they are, a batch is what its
// records are one by one, and what the encoder here was given. It is written after the protocol buffers' format, on its
// own: no function of the library makes these bytes.
#include "Messages.h"
#include "runtime/data/TfRecord.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <random>

using namespace sinter::data;
using sinter::test::messageOf;

//===- An encoder -----------------------------------------------------------------------------------===//

/// `bytes`: at least so many, the ones that are not needed being zeros with a sign that more follow.
static std::string varint(uint64_t number, size_t bytes = 1) {
  std::string out;
  do {
    out += static_cast<char>((number & 127) | 128);
    number >>= 7;
  } while (number || out.size() < bytes);
  out.back() &= 127;
  return out;
}

/// A field of bytes, whose size may take more bytes than it needs.
static std::string field(uint64_t number, const std::string &content, size_t sizeBytes = 1) {
  return varint(number << 3 | 2) + varint(content.size(), sizeBytes) + content;
}

namespace {
enum class Form {
  Plain,        // as writers make it
  Unpacked,     // a field for each number
  TwoFields,    // packed numbers in two fields of one list
  TwoLists,     // a list that the next one replaces
  LongSize,     // a size of more bytes than it needs
  LongNumbers,  // numbers of more bytes than they need
  ValueFirst,   // before the name
  NamedTwice,   // the first name is another one
  Twice,        // an entry before with other numbers, which does not count
  EmptyPacked,  // where there are none: packed numbers of no bytes, no list of no bytes
  UnknownField, // in the feature
  Count
};

struct Column {
  std::string name;
  std::vector<int64_t> integers{};
  std::vector<float> reals{};
  std::vector<std::string> texts{};
  int kind = 3; // 1 texts, 2 reals
};
} // namespace

static std::string listOf(const Column &column, Form form) {
  std::string out, packed;
  if (column.kind == 1) {
    for (const std::string &text : column.texts)
      out += field(1, text, form == Form::LongSize ? 3 : 1);
    return out;
  }
  std::vector<std::string> numbers;
  for (int64_t x : column.integers)
    numbers.push_back(varint(static_cast<uint64_t>(x), form == Form::LongNumbers ? 10 : 1));
  for (float x : column.reals)
    numbers.emplace_back(reinterpret_cast<const char *>(&x), sizeof x);
  if (form == Form::Unpacked) {
    for (const std::string &number : numbers)
      out += static_cast<char>(column.kind == 3 ? 8 : 13) + number;
    return out;
  }
  for (size_t i = 0; i < numbers.size(); ++i) {
    packed += numbers[i];
    if (form == Form::TwoFields && i == 0)
      out += field(1, std::exchange(packed, ""));
  }
  if (!packed.empty() || form == Form::EmptyPacked)
    out += field(1, packed);
  return out;
}

static std::string entryOf(const Column &column, Form form) {
  auto kind = static_cast<uint64_t>(column.kind);
  size_t sizeBytes = form == Form::LongSize ? 2 : 1;
  std::string feature = field(kind, listOf(column, form), sizeBytes), other = field(3, field(1, "\x63"));
  if (form == Form::TwoLists)
    feature = other + feature;
  if (form == Form::UnknownField)
    feature += field(9, "unknown");
  std::string name = field(1, column.name), value = field(2, feature, sizeBytes);
  if (form == Form::ValueFirst)
    return field(1, value + name);
  if (form == Form::NamedTwice)
    name = field(1, "another") + name;
  std::string entry = field(1, name + value, sizeBytes);
  return form == Form::Twice ? field(1, field(1, column.name) + field(2, other)) + entry : entry;
}

/// An example of these columns, in this order.
static std::string exampleOf(const std::vector<Column> &columns, const std::vector<Form> &forms) {
  std::string map;
  for (size_t c = 0; c < columns.size(); ++c)
    map += entryOf(columns[c], forms[c]);
  return field(1, map);
}
static std::string plain(const std::vector<Column> &columns) {
  return exampleOf(columns, std::vector<Form>(columns.size(), Form::Plain));
}

//===- What is expected -----------------------------------------------------------------------------===//

static const std::vector<Feature> features = {
    {.name = "label", .dtype = SINTER_I64},
    {.name = "dense", .dims = {3}},
    {.name = "ids", .dtype = SINTER_I32, .dims = {2}, .hasDefault = true, .number = 7},
    {.name = "word", .dtype = Bytes, .hasDefault = true},
    {.name = "a name that is longer than sixteen bytes", .dtype = SINTER_I1, .hasDefault = true},
    {.name = "wide", .dtype = SINTER_F64, .dims = {-1, 2}, .hasDefault = true},
    {.name = "bag", .dtype = SINTER_I64, .dims = {-1}, .hasDefault = true}};

static std::vector<Column> columnsOf(int64_t i) {
  std::vector<int64_t> bag;
  for (int64_t k = 0; k < i % 5; ++k)
    bag.push_back(i % 3 ? i * (k + 1) : -k);
  std::vector<float> wide(static_cast<size_t>(2 * (i % 3)), static_cast<float>(i) / 2);
  return {{.name = "label", .integers = {i % 2}},
          {.name = "dense", .reals = {static_cast<float>(i), .5f, -1}, .kind = 2},
          {.name = "ids", .integers = {i % 100, i * 77 % 100000}},
          {.name = "unwanted", .reals = {1, 2}, .kind = 2},
          {.name = "word", .texts = {"word" + std::to_string(i * i)}, .kind = 1},
          {.name = "a name that is longer than sixteen bytes", .integers = {i % 7 == 0}},
          {.name = "wide", .reals = wide, .kind = 2},
          {.name = "bag", .integers = bag}};
}

/// Compares row `r` with the columns that the record was made from, those that it lacks with their defaults.
static void expectRow(const Record &batch, int64_t r, const std::vector<Column> &columns) {
  for (const Feature &feature : features) {
    auto found = std::ranges::find(columns, feature.name, &Column::name);
    Column column = found == columns.end() ? Column{.name = feature.name} : *found;
    bool isDefault = found == columns.end();
    Value row = batch[feature.name].row(r);
    std::vector<double> expected(column.reals.begin(), column.reals.end()), got;
    std::vector<int64_t> integers = column.integers;
    if (isDefault && feature.name == "ids")
      integers = {7, 7};
    if (isDefault && feature.name.size() > 16)
      integers = {0};
    switch (feature.dtype) {
    case Bytes:
      ASSERT_EQ(row.bytes(), isDefault ? "" : column.texts[0]) << r;
      continue;
    case SINTER_F32:
      got.assign(row.as<float>().begin(), row.as<float>().end());
      ASSERT_EQ(got, expected) << r << " " << feature.name;
      continue;
    case SINTER_F64:
      got.assign(row.as<double>().begin(), row.as<double>().end());
      ASSERT_EQ(got, expected) << r << " " << feature.name;
      continue;
    case SINTER_I32:
      ASSERT_TRUE(std::ranges::equal(row.as<int32_t>(), integers)) << r;
      continue;
    case SINTER_I1:
      ASSERT_EQ(row.as<bool>()[0], integers[0] != 0) << r;
      continue;
    default:
      ASSERT_TRUE(std::ranges::equal(row.as<int64_t>(), integers)) << r << " " << feature.name;
    }
  }
}

/// Parses records at once, and compares each row with what that record is alone.
static Record parseAndCompare(const std::vector<Feature> &wanted, const std::vector<std::string> &records) {
  Record batch = parseExamples(wanted)({{"record", Value::strings(records)}});
  auto single = parseExample(wanted);
  for (size_t r = 0; r < records.size(); ++r) {
    Record one = single({{"record", Value::string(records[r])}});
    for (int64_t c = 0; c < one.size(); ++c)
      EXPECT_TRUE(batch.value(c).row(static_cast<int64_t>(r)) == one.value(c)) << r << " " << one.name(c);
  }
  return batch;
}

//===- Records unlike those before ------------------------------------------------------------------===//

TEST(DataExamples, records_that_are_alike_are_what_was_written) {
  std::vector<std::string> records;
  for (int64_t i = 0; i < 700; ++i)
    records.push_back(plain(columnsOf(i)));
  Record batch = parseAndCompare(features, records);
  for (int64_t i = 0; i < 700; ++i)
    expectRow(batch, i, columnsOf(i));
}

/// After records that are alike, another order, features that are missing, or a form that few writers make, in one
/// record or from then on.
TEST(DataExamples, what_changes_in_the_middle_is_read) {
  std::mt19937 random(5);
  auto draw = [&](size_t count) { return static_cast<size_t>(random() % count); };
  auto formCount = static_cast<size_t>(Form::Count);
  for (int64_t change = 0; change < 40; ++change) {
    std::vector<std::string> records;
    std::vector<std::vector<Column>> written;
    auto at = static_cast<int64_t>(20 + draw(150));
    bool stays = change % 2;
    size_t rotation = draw(8), missing = 2 + draw(7), changed = draw(8);
    auto form = static_cast<Form>(static_cast<size_t>(change) % formCount);
    for (int64_t i = 0; i < 300; ++i) {
      std::vector<Column> columns = columnsOf(i);
      std::vector<Form> forms(columns.size(), Form::Plain);
      if (i == at || (stays && i > at)) {
        forms[changed] = form;
        std::rotate(columns.begin(), columns.begin() + static_cast<ptrdiff_t>(rotation), columns.end());
        if (change % 3 == 0 && missing < columns.size() && columns[missing].name != "label" &&
            columns[missing].name != "dense") {
          columns.erase(columns.begin() + static_cast<ptrdiff_t>(missing));
          forms.pop_back();
        }
      }
      if (form == Form::Twice && columns[std::min(changed, columns.size() - 1)].kind != 3)
        form = Form::Plain; // the entry before has integers
      if (form == Form::TwoLists && columns[std::min(changed, columns.size() - 1)].kind == 1)
        form = Form::Plain;
      records.push_back(exampleOf(columns, forms));
      written.push_back(columns);
    }
    SCOPED_TRACE(change);
    Record batch = parseAndCompare(features, records);
    for (int64_t i = 0; i < 300; ++i)
      ASSERT_NO_FATAL_FAILURE(expectRow(batch, i, written[static_cast<size_t>(i)]));
  }
}

/// Every record in a form of its own: what never repeats is not expected for long.
TEST(DataExamples, records_of_every_form_stand_beside_each_other) {
  std::mt19937 random(9);
  std::vector<std::string> records;
  std::vector<std::vector<Column>> written;
  for (int64_t i = 0; i < 3000; ++i) {
    std::vector<Column> columns = columnsOf(i);
    std::vector<Form> forms(columns.size(), Form::Plain);
    if (i % 7 == 0 || (i > 1000 && i < 1500)) {
      std::ranges::shuffle(columns, random);
      for (Form &form : forms)
        form = static_cast<Form>(random() % static_cast<size_t>(Form::Twice));
    }
    records.push_back(exampleOf(columns, forms));
    written.push_back(columns);
  }
  Record batch = parseAndCompare(features, records);
  for (int64_t i = 0; i < 3000; ++i)
    ASSERT_NO_FATAL_FAILURE(expectRow(batch, i, written[static_cast<size_t>(i)]));
}

/// What one batch expects of the next is no part of what is read.
TEST(DataExamples, batches_of_other_records_follow_each_other) {
  auto parse = parseExamples(features);
  for (int64_t turn = 0; turn < 6; ++turn) {
    std::vector<std::string> records;
    for (int64_t i = 0; i < 100; ++i) {
      std::vector<Column> columns = columnsOf(turn * 1000 + i);
      std::rotate(columns.begin(), columns.begin() + turn % 4, columns.end());
      records.push_back(plain(columns));
    }
    Record batch = parse({{"record", Value::strings(records)}});
    for (int64_t i = 0; i < 100; ++i)
      ASSERT_NO_FATAL_FAILURE(expectRow(batch, i, columnsOf(turn * 1000 + i)));
  }
}

/// Names that nobody wants, short and long, of one size or many.
TEST(DataExamples, features_that_nobody_wants_are_passed_over) {
  std::vector<std::string> records;
  for (int64_t i = 0; i < 400; ++i) {
    std::vector<Column> columns = columnsOf(i);
    columns.insert(columns.begin(),
                   {.name = "first", .texts = {std::string(static_cast<size_t>(i % 9), 'x')}, .kind = 1});
    columns.push_back({.name = std::string(40, 'n'), .integers = {i}});
    columns.push_back(
        {.name = "picture", .texts = {std::string(i < 200 ? 300 : static_cast<size_t>(i), 'p')}, .kind = 1});
    if (i % 50 == 49) // another name in the place
      columns[0].name = "other" + std::to_string(i);
    records.push_back(plain(columns));
  }
  Record batch = parseAndCompare(features, records);
  for (int64_t i = 0; i < 400; ++i)
    expectRow(batch, i, columnsOf(i));
}

//===- Damage ---------------------------------------------------------------------------------------===//

namespace {
/// Records that are alike, of which one becomes another: the batch is what that record is alone, or its error, also
/// where a batch before was without it.
class Damage {
public:
  Damage() {
    for (int64_t i = 0; i < 80; ++i)
      records.push_back(plain(columnsOf(i)));
    (void)known({{"record", Value::strings(records)}});
  }
  std::string good() const { return plain(columnsOf(at)); }
  void compare(const std::string &bytes) {
    records[at] = bytes;
    Record batch, one, list{{"record", Value::strings(records)}};
    std::string alone = messageOf([&] { one = single({{"record", Value::string(bytes)}}); });
    for (const auto &parse : {known, parseExamples(features)}) {
      std::string together = messageOf([&] { batch = parse(list); });
      ASSERT_EQ(together, one.size() ? alone : "record " + std::to_string(at) + " of the batch: " + alone);
      for (int64_t c = 0; c < one.size(); ++c)
        ASSERT_TRUE(batch.value(c).row(at) == one.value(c)) << one.name(c);
    }
  }

private:
  static constexpr int64_t at = 44;
  std::vector<std::string> records;
  Dataset::Map single = parseExample(features), known = parseExamples(features);
};
} // namespace

TEST(DataExamples, any_damage_is_told_as_of_a_record_alone) {
  Damage damage;
  const std::string good = damage.good();
  for (size_t at = 0; at < good.size(); ++at) {
    SCOPED_TRACE(at);
    ASSERT_NO_FATAL_FAILURE(damage.compare(good.substr(0, at)));
    for (int change : {0, 1, 2, 10, 26, 127, 128, 255, good[at] + 1, good[at] - 1, good[at] ^ 128}) {
      std::string bad = good;
      bad[at] = static_cast<char>(change);
      ASSERT_NO_FATAL_FAILURE(damage.compare(bad));
    }
  }
}

/// Entries behind those that are expected, and sizes that are right but for a byte that says that more follow.
TEST(DataExamples, what_ends_otherwise_is_told_as_of_a_record_alone) {
  Damage damage;
  std::vector<Column> columns = columnsOf(44);
  std::string map;
  for (const Column &column : columns)
    map += entryOf(column, Form::Plain);
  for (const std::string &more :
       {entryOf({.name = "bag", .integers = {5}}, Form::Plain), entryOf({.name = "more", .integers = {5}}, Form::Plain),
        std::string("\x0A"), std::string("\x0A\x05"), std::string(3, '\0'), varint(9 << 3) + varint(5)})
    ASSERT_NO_FATAL_FAILURE(damage.compare(field(1, map + more)));
  columns.pop_back();
  map.clear();
  for (const Column &column : columns)
    map += entryOf(column, Form::Plain);
  for (size_t size = 100; size < 128; ++size) { // a bag of small numbers, all sizes in a byte
    auto byte = [&](size_t more) { return std::string(1, static_cast<char>(size + more)); };
    std::string entry = "\x0A" + byte(11) + "\x0A\x03" + "bag\x12" + byte(4) + "\x1A" + byte(2) + "\x0A" + byte(0) +
                        std::string(size, '\x05');
    ASSERT_NO_FATAL_FAILURE(damage.compare(field(1, map + entry)));
  }
}

/// Memory that ends with each record, so that a sanitizer sees what is read behind it.
TEST(DataExamples, records_may_end_where_their_memory_does) {
  struct Apart {
    std::vector<std::unique_ptr<char[]>> texts;
    std::vector<Span> spans;
  };
  auto apart = std::make_shared<Apart>();
  for (int64_t i = 0; i < 200; ++i) {
    std::string text = plain(columnsOf(i));
    size_t behind = i % 3 ? 0 : static_cast<size_t>(i); // some have memory behind them
    apart->texts.push_back(std::make_unique<char[]>(text.size() + behind));
    std::ranges::copy(text, apart->texts.back().get());
    auto size = static_cast<int64_t>(text.size());
    apart->spans.push_back({apart->texts.back().get(), size, apart->texts.back().get() + text.size() + behind});
  }
  Record batch = parseExamples(features)({{"record", Value::strings({200}, {apart, apart->spans.data()})}});
  for (int64_t i = 0; i < 200; ++i)
    expectRow(batch, i, columnsOf(i));
}

//===- Numbers --------------------------------------------------------------------------------------===//

/// Integers of every length, as many as a row may have, of one size in all rows or of any.
TEST(DataExamples, integers_of_every_length_are_read) {
  std::mt19937_64 random(3);
  for (int64_t count : {0, 1, 2, 3, 7, 8, 9, 40})
    for (int bits : {1, 7, 8, 14, 21, 28, 35, 49, 63, 64}) {
      std::vector<std::string> records;
      std::vector<std::vector<int64_t>> fixed, open;
      for (int64_t r = 0; r < 120; ++r) {
        std::vector<int64_t> numbers, few;
        for (int64_t k = 0; k < count; ++k)
          numbers.push_back(static_cast<int64_t>(
              random() >> (64 - (r % 2 ? bits : 1 + static_cast<int>(random() % static_cast<uint64_t>(bits))))));
        for (uint64_t k = random() % 12; k > 0; --k)
          few.push_back(static_cast<int64_t>(random() >> (64 - bits)));
        records.push_back(plain({{.name = "fixed", .integers = numbers}, {.name = "open", .integers = few}}));
        fixed.push_back(numbers);
        open.push_back(few);
      }
      SCOPED_TRACE(std::to_string(count) + " of " + std::to_string(bits) + " bits");
      Record batch = parseAndCompare({{.name = "fixed", .dtype = SINTER_I64, .dims = {count}},
                                      {.name = "open", .dtype = SINTER_I64, .dims = {-1}}},
                                     records);
      for (size_t r = 0; r < records.size(); ++r) {
        ASSERT_TRUE(std::ranges::equal(batch["fixed"].row(static_cast<int64_t>(r)).as<int64_t>(), fixed[r]));
        ASSERT_TRUE(std::ranges::equal(batch["open"].row(static_cast<int64_t>(r)).as<int64_t>(), open[r]));
      }
    }
}

/// A number that i32 cannot hold, or one of 11 bytes, among rows that are read together.
TEST(DataExamples, a_number_out_of_range_is_told_of_its_record) {
  for (int64_t count : {1, 3, 12}) {
    std::vector<std::string> records;
    for (int64_t r = 0; r < 100; ++r)
      records.push_back(plain({{.name = "i", .integers = std::vector<int64_t>(static_cast<size_t>(count), r)}}));
    std::vector<int64_t> numbers(static_cast<size_t>(count), 5);
    numbers.back() = int64_t(1) << 31;
    std::vector<Feature> narrow = {{.name = "i", .dtype = SINTER_I32, .dims = {count}}};
    for (size_t at : {0, 31, 32, 70, 99}) {
      std::vector<std::string> texts = records;
      texts[at] = plain({{.name = "i", .integers = numbers}});
      EXPECT_EQ(messageOf([&] { parseExamples(narrow)({{"record", Value::strings(texts)}}); }),
                "record " + std::to_string(at) + " of the batch: feature 'i' requires values of i32, got 2147483648");
      std::string packed(static_cast<size_t>(count - 1), '\x05');
      packed += std::string(10, '\x80') + "\x01";
      texts[at] = field(1, field(1, field(1, "i") + field(2, field(3, field(1, packed)))));
      EXPECT_EQ(messageOf([&] { parseExamples(narrow)({{"record", Value::strings(texts)}}); }),
                "record " + std::to_string(at) + " of the batch: a tf.Example requires numbers of at most 10 bytes");
    }
  }
}

/// An open dim of rows that have no elements, as none can be wanted.
TEST(DataExamples, rows_without_elements_are_rows) {
  std::vector<std::string> records(80, plain({{.name = "x", .integers = {1}}}));
  Record batch = parseExamples({{.name = "none", .dtype = SINTER_I64, .dims = {-1, 0}, .hasDefault = true},
                                {.name = "x", .dtype = SINTER_I64}})({{"record", Value::strings(records)}});
  EXPECT_EQ(batch["none"].rows(), 80);
  EXPECT_EQ(batch["x"], Value::of(std::vector<int64_t>(80, 1)));
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Messages.h"
#include "runtime/data/Crc32c.h"
#include "runtime/data/Dataset.h"
#include <gtest/gtest.h>

using namespace sinter::data;
using sinter::test::messageOf;

TEST(DataValue, rows_share_memory) {
  Value matrix = Value::of(std::span<const float>(std::vector<float>{1, 2, 3, 4, 5, 6}), {3, 2});
  Value row = matrix.row(1);
  EXPECT_EQ(row.dims().text(), "2");
  EXPECT_EQ(row.as<float>()[1], 4.0f);
  EXPECT_EQ(row.data(), matrix.data() + 8);
  EXPECT_EQ(matrix.slice(1, 3).dims().text(), "2x2");
}

TEST(DataValue, strings_are_any_bytes) {
  Value texts = Value::strings({"", std::string("a\0b", 3), "\xFF"});
  EXPECT_EQ(texts.bytes(1).size(), 3u);
  EXPECT_EQ(texts.row(2).bytes(), "\xFF");
  EXPECT_EQ(messageOf([&] { texts.as<float>(); }), "a value of f32 is required, got bytes 3");
  EXPECT_EQ(messageOf([&] { texts.tensor(); }), "a tensor of numbers is required, got bytes");
}

TEST(DataValue, strings_may_lie_apart) {
  static const char *const texts[] = {"abc", "", "defg", "h"};
  auto spans = std::make_shared<std::vector<Span>>();
  for (const char *text : texts)
    spans->push_back({text, static_cast<int64_t>(std::strlen(text)), text + std::strlen(text)});
  Value apart = Value::strings({4}, {spans, spans->data()}), beside = Value::strings({"abc", "", "defg", "h"});
  EXPECT_EQ(apart, beside);
  EXPECT_EQ(apart.slice(1, 3), beside.slice(1, 3));
  EXPECT_EQ(apart.row(2).bytes(), "defg");
  EXPECT_EQ(apart.reshaped({2, 2}).row(1), beside.reshaped({2, 2}).row(1));
  EXPECT_EQ(Value::ragged(apart, std::vector<int64_t>{0, 1, 4}).row(1), beside.slice(1, 4));
  EXPECT_EQ(apart.memoryBytes(), 4 * int64_t(sizeof(Span)) + 8);
  EXPECT_EQ(apart.span(2).limit, texts[2] + 4);
  EXPECT_EQ(beside.span(2).limit, beside.bytes(3).data() + 1);
  std::string encoded;
  Record({{"x", apart}}).encode(encoded);
  std::string_view rest = encoded;
  EXPECT_EQ(Record::decode(rest), Record({{"x", beside}}));
}

TEST(DataValue, memory_that_is_given_back_is_used_again_at_the_size_asked_for) {
  for (int64_t bytes :
       {int64_t(1), int64_t(65535), int64_t(65536), int64_t(100000), int64_t(1) << 20, int64_t(9) << 20})
    for (int i = 0; i < 3; ++i) {
      auto memory = allocate(bytes), other = allocate(bytes);
      std::memset(memory.get(), i, static_cast<size_t>(bytes));
      std::memset(other.get(), i + 1, static_cast<size_t>(bytes));
      EXPECT_EQ(memory.get()[bytes - 1], i);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.get()) % 64, 0u);
    }
}

TEST(DataValue, ragged_rows_differ_in_length) {
  Value ragged = Value::ragged(Value::of(std::vector<int64_t>{1, 2, 3, 4}), std::vector<int64_t>{0, 3, 3, 4});
  EXPECT_EQ(ragged.rows(), 3);
  EXPECT_EQ(ragged.row(0).count(), 3);
  EXPECT_EQ(ragged.row(1).count(), 0);
  Value tail = ragged.slice(1, 3);
  EXPECT_EQ(tail.splits()[2], 1);
  EXPECT_EQ(tail.as<int64_t>()[0], 4);
  EXPECT_EQ(messageOf([&] { Value::ragged(Value::of(std::vector<int64_t>{1}), std::vector<int64_t>{0, 2}); }),
            "row splits are required to rise from 0 to the 1 values");
  EXPECT_EQ(messageOf([&] { ragged.row(3); }), "rows 3 to 4 are required of a value with 3");
}

TEST(DataValue, strided_tensors_are_copied) {
  std::vector<int32_t> numbers = {1, 2, 3, 4, 5, 6};
  int64_t strides[2] = {1, 2};
  sinter_tensor tensor = {};
  tensor.data = numbers.data();
  tensor.dtype = SINTER_I32;
  tensor.rank = 2;
  tensor.dims[0] = 2;
  tensor.dims[1] = 3;
  tensor.strides = strides;
  Value copy = Value::copyOf(tensor);
  EXPECT_EQ(copy, Value::of(std::span<const int32_t>(std::vector<int32_t>{1, 3, 5, 2, 4, 6}), {2, 3}));
}

TEST(DataValue, sizes_that_cannot_be_are_refused) {
  EXPECT_EQ(messageOf([] { Dims({2, -1}); }), "a value requires dims of 0 or more, got -1");
  EXPECT_EQ(messageOf([] { Dims({INT64_MAX, 2}).count(); }),
            "a value requires less than 2^63 elements, got 9223372036854775807x2");
  EXPECT_EQ(messageOf([] { Dims(std::vector<int64_t>(17, 1)); }), "a value requires at most 16 dims, got 17");
}

TEST(DataRecord, names_are_told_where_one_is_missing) {
  Record record{{"a", Value::scalar(1.0f)}, {"b", Value::string("x")}};
  EXPECT_EQ(messageOf([&] { record["c"]; }), "column 'c' is required, the record has a, b");
  EXPECT_EQ(messageOf([] { Record({{"a", Value::scalar(1)}, {"a", Value::scalar(2)}}); }),
            "a record requires distinct names, got 'a' twice");
}

TEST(DataRecord, encoding_keeps_everything) {
  Record record{{"a", Value::scalar(1.5)},
                {"b", Value::strings(std::vector<std::string>{"x", "", "long text"})},
                {"c", Value::ragged(Value::of(std::vector<uint8_t>{1, 2, 3}), std::vector<int64_t>{0, 0, 2, 3})},
                {"d", Value::of(std::span<const bool>(), {0, 4})}};
  std::string bytes;
  record.encode(bytes);
  std::string_view rest = bytes;
  EXPECT_EQ(Record::decode(rest), record);
  EXPECT_TRUE(rest.empty());
  for (size_t cut = 0; cut < bytes.size(); ++cut) {
    std::string_view part = std::string_view(bytes).substr(0, cut);
    EXPECT_THROW(Record::decode(part), Error) << cut;
  }
}

TEST(DataError, the_place_comes_first) {
  EXPECT_STREQ(Error(SINTER_CORRUPT, "bad", {"a.csv", 3, 57}).what(), "'a.csv' record 3 at byte 57: bad");
  EXPECT_STREQ(Error(SINTER_CORRUPT, "bad", {"a.csv", -1, -1}).what(), "'a.csv': bad");
  EXPECT_STREQ(Error(SINTER_CORRUPT, "bad").what(), "bad");
}

// RFC 3720, B.4, and the check value of the CRC catalogue.
TEST(DataCrc32c, standard_values) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43u);
  EXPECT_EQ(crc32cByTable("123456789"), 0xE3069283u);
}

TEST(DataCrc32c, instruction_and_table_agree_at_every_length) {
  std::string bytes;
  for (uint32_t i = 0; i < 20000; ++i)
    bytes += static_cast<char>(i * 2654435761u >> 24);
  for (size_t size = 0; size < bytes.size(); size += size < 100 ? 1 : 509) {
    std::string_view part(bytes.data() + size % 7, size);
    if (size % 7 + size <= bytes.size()) {
      ASSERT_EQ(crc32c(part), crc32cByTable(part)) << size;
    }
  }
  for (size_t size = 0; size < 60; ++size) {
    std::string_view part(bytes.data(), 100);
    ASSERT_EQ(crc32c(part.substr(size), crc32c(part.substr(0, size))), crc32cByTable(part)) << size;
  }
  EXPECT_EQ(crc32c(std::string_view(bytes).substr(5000), crc32c(std::string_view(bytes).substr(0, 5000))),
            crc32c(bytes));
}

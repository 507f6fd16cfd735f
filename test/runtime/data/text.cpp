// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/data/Text.h"
#include "Messages.h"
#include "runtime/data/BytePairs.h"
#include "test/Growth.h"
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace sinter::data;
using sinter::test::messageOf;

namespace {
class DataText : public testing::Test {
protected:
  std::string write(const std::string &content) {
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  ~DataText() override { unlink(path.c_str()); }
  std::string path = testing::TempDir() + "text" + std::to_string(getpid()) + ".txt";
};

std::vector<std::string> textsOf(const Dataset &dataset) {
  std::vector<std::string> texts;
  Loader loader(dataset);
  for (Record record; loader.next(record);)
    texts.emplace_back(record.value(0).bytes());
  return texts;
}
} // namespace

TEST_F(DataText, lines_are_records) {
  write("one\r\n\ntwo\n\xFFthree");
  EXPECT_EQ(textsOf(readText(path)), (std::vector<std::string>{"one", "", "two", "\xFFthree"}));
  write("");
  EXPECT_TRUE(textsOf(readText(path)).empty());
  write(std::string(1 << 20, 'x'));
  EXPECT_NE(messageOf([&] {
              textsOf(readText(path, {.maxLineBytes = 10}));
            }).find("record 0 at byte 0: a line is required to end within 10 bytes"),
            std::string::npos);
}

TEST_F(DataText, a_line_has_as_many_bytes_as_are_stated_and_no_more) {
  for (int64_t most : {1, 10, 5000, 3000000})
    for (const char *end : {"", "\n", "\nx"}) {
      TextOptions options{.maxLineBytes = most};
      write(std::string(static_cast<size_t>(most), 'x') + end);
      EXPECT_EQ(textsOf(readText(path, options))[0].size(), static_cast<size_t>(most));
      write("a\n" + std::string(static_cast<size_t>(most) + 1, 'x') + end);
      EXPECT_NE(messageOf([&] { textsOf(readText(path, options)); }).find("record 1 at byte 2: a line is required"),
                std::string::npos);
    }
}

TEST_F(DataText, blocks_are_whole_lines) {
  std::string text;
  for (int i = 0; i < 1000; ++i)
    text += std::string(static_cast<size_t>(i % 50), 'x') + "\n";
  write(text + "end");
  for (int64_t bytes : {1, 7, 100, 5000, 1000000}) {
    std::string joined;
    auto blocks = textsOf(readText(path, {.blockBytes = bytes}));
    for (size_t i = 0; i < blocks.size(); ++i) {
      EXPECT_TRUE(i + 1 == blocks.size() || blocks[i].ends_with('\n'));
      EXPECT_TRUE(i + 1 == blocks.size() || blocks[i].size() >= static_cast<size_t>(bytes));
      joined += blocks[i];
    }
    EXPECT_EQ(joined, text + "end");
  }
}

TEST_F(DataText, chunks_hold_all_tokens_and_resume) {
  std::string text;
  for (int i = 0; i < 300; ++i)
    text += "line " + std::to_string(i) + "\n";
  write(text);
  Tokenizer tokenizer = Tokenizer::ofBytes();
  for (int threads : {0, 2}) {
    Dataset chunks = tokenChunks(readText(path, {.blockBytes = 40}), tokenizer, {.size = 64, .threads = threads});
    Loader loader(chunks);
    std::vector<int32_t> all;
    std::string state;
    int64_t count = 0;
    for (Record record; loader.next(record); ++count) {
      auto tokens = record["tokens"].as<int32_t>();
      ASSERT_EQ(tokens.size(), 64u);
      all.insert(all.end(), tokens.begin(), tokens.end());
      if (count == 10)
        state = loader.save();
    }
    EXPECT_EQ(tokenizer.decode(all), text.substr(0, text.size() / 64 * 64));
    Loader again(chunks);
    again.load(state);
    Record record;
    ASSERT_TRUE(again.next(record));
    EXPECT_EQ(tokenizer.decode(record["tokens"].as<int32_t>()), text.substr(11 * 64, 64));
  }
  EXPECT_EQ(messageOf([&] { tokenChunks(readText(path), tokenizer, {.size = 0}); }),
            "a chunk requires 1 token or more, got 0");
  EXPECT_EQ(messageOf([&] { (void)encodeColumn(tokenizer, "x")({{"x", Value::scalar(1.f)}}); }),
            "column 'x' requires one text, got f32 scalar");
}

TEST(DataTokenizer, special_tokens_are_found_and_can_be_left_as_text) {
  Tokenizer tokenizer = Tokenizer::ofBytes({"<a>", "<a>>"});
  EXPECT_EQ(tokenizer.encode("x<a>>y<a>"), (std::vector<int32_t>{'x', 257, 'y', 256}));
  std::vector<int32_t> ids;
  tokenizer.encode("<a>", ids, false);
  EXPECT_EQ(ids, (std::vector<int32_t>{'<', 'a', '>'}));
  EXPECT_EQ(tokenizer.special("<a>"), 256);
  EXPECT_EQ(tokenizer.special("<b>"), -1);
  EXPECT_EQ(messageOf([&] { (void)tokenizer.decode(std::vector<int32_t>{258}); }),
            "a token is required to be one of 258, got 258");
  EXPECT_EQ(messageOf([&] { (void)Tokenizer::ofBytes({"\xFF"}).json(); }),
            "special tokens are required to be UTF-8 to be written as JSON");
}

TEST(DataTokenizer, words_are_learned_again_when_the_cache_is_full) {
  BpeTrainer trainer;
  trainer.add("the cat sat on the mat, the cat sat on the mat");
  Tokenizer tokenizer = trainer.train({.size = 280});
  std::string text;
  for (int i = 0; i < 400000; ++i)
    text += " " + std::to_string(i * 7919 % 1000003);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
  EXPECT_EQ(tokenizer.encode("the cat").size(), trainer.train({.size = 280}).encode("the cat").size());
}

TEST(DataTokenizer, vocabularies_are_read_and_written_in_time_that_grows_with_them) {
  auto jsonOf = [](int words) {
    std::string text;
    for (int i = 0; i < words; ++i)
      text += " " + std::to_string(int64_t(i) * 2654435761 % 4294967291) + "aa";
    BpeTrainer trainer;
    trainer.add(text);
    return trainer.train({.size = 256 + words, .minCount = 1}).json();
  };
  constexpr int few = 1500;
  std::string small = jsonOf(few), large = jsonOf(4 * few);
  double growth = sinter::test::growth(few, [&](int words) {
    const std::string &json = words == few ? small : large;
    EXPECT_EQ(parseTokenizer(json, "file").json(), json);
  });
  EXPECT_LT(growth, 8);
}

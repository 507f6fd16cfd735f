// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In a program whose locale has a comma for the point, numbers in files and texts stay as they are. locales.test makes
// such a locale; without one these tests are skipped.
#include "runtime/data/Dataset.h"
#include "runtime/decimal.h"
#include "runtime/train/Curve.h"
#include "test/runtime/data/Messages.h"
#include <clocale>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <unistd.h>

using namespace sinter;
namespace fs = std::filesystem;

namespace {

class Locales : public testing::Test {
protected:
  void SetUp() override {
    setlocale(LC_NUMERIC, "");
    if (localeconv()->decimal_point != std::string(","))
      GTEST_SKIP() << "the environment's locale has a point";
  }
  void TearDown() override {
    setlocale(LC_NUMERIC, "C");
    fs::remove_all(folder);
  }
  std::string folder = testing::TempDir() + "sinter_locales_" + std::to_string(getpid());
};

std::string textOf(const std::string &path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(Locales, curvesAreTheSame) {
  fs::create_directories(folder);
  std::string path = folder + "/curve.csv", picture = folder + "/curve.svg";
  train::Curve curve({"mae"});
  curve.add(1, 0.5);
  curve.add(2, 0.25);
  double measured[] = {0.125};
  curve.measure(measured);
  curve.write(path);
  EXPECT_EQ(textOf(path), "step,loss,mae\n1,0.5,\n2,0.25,0.125\n");
  train::Curve again({"mae"});
  again.readUpTo(path, 2);
  again.write(path);
  EXPECT_EQ(textOf(path), "step,loss,mae\n1,0.5,\n2,0.25,0.125\n");
  curve.write(picture);
  setlocale(LC_NUMERIC, "C");
  std::string there = textOf(picture);
  curve.write(picture);
  EXPECT_EQ(there, textOf(picture));
}

TEST_F(Locales, whatResumesIsTheSame) {
  auto signatureOf = [] { return data::Dataset::range(10).split({0.25, 0.75}, 0, 1).signature(); };
  std::string here = signatureOf();
  setlocale(LC_NUMERIC, "C");
  EXPECT_EQ(here, signatureOf());
}

TEST_F(Locales, messagesAreTheSame) {
  EXPECT_EQ(test::messageOf([] { data::Dataset::range(10).split({0.5, 0.25}, 0, 1); }),
            "split requires shares that sum to 1 and one of their numbers, got a sum of 0.75 and part 0");
}

TEST_F(Locales, decimalNumbersAreReadAndWrittenWithAPoint) {
  EXPECT_EQ(decimal(0.1), "0.1");
  EXPECT_EQ(decimal(1e-7f), "1e-07");
  double value;
  EXPECT_TRUE(readDecimal("1024.5", value) && value == 1024.5);
  EXPECT_FALSE(readDecimal("1024,5", value));
  EXPECT_FALSE(readDecimal("", value));
  {
    PlainNumbers plain;
    char text[16];
    std::snprintf(text, sizeof text, "%g", 2.5);
    EXPECT_STREQ(text, "2.5");
    EXPECT_EQ(std::strtod("2.5", nullptr), 2.5);
  }
  char text[16];
  std::snprintf(text, sizeof text, "%g", 2.5);
  EXPECT_STREQ(text, "2,5"); // the program's own
}

} // namespace

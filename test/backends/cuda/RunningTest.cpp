// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Running combinations of long rows that blocks scan, against loops in f64 (long double for f64): lengths around those
// of warps, blocks and parts, both directions, exclusive ones, other axes than the last, all combiners and types.

#include "CudaProgram.h"
#include "Ptxas.h"
#include "RowCase.h"

using namespace sinter;
using namespace sinter::cuda;

namespace {
struct RunningCase {
  std::string type = "f32", combiner = "add";
  int64_t before = 2, length = 300, after = 1;
  bool isReverse = false, isExclusive = false, isKnown = true;
  std::string schedule = "block_running, lanes = 64";
};
} // namespace

static std::string textOf(const RunningCase &c) {
  auto size = [&](int64_t number) { return c.isKnown ? std::to_string(number) : std::string("?"); };
  std::string text = R"(func.func @f(%x: $) -> $ {
  %0 = sinter.kernel single(%x)SCHEDULE : ($) -> $ {
  ^bb0(%a: $):
    %r = sinter.cumulative COMBINER %a {axis = 1 : i64, exclusive = EXCLUSIVE, reverse = REVERSE} : ($) -> $
    sinter.yield(%r) : $
  }
  return %0 : $
})";
  text = filled(text, "COMBINER", c.combiner);
  text = filled(text, "EXCLUSIVE", c.isExclusive ? "true" : "false");
  text = filled(text, "REVERSE", c.isReverse ? "true" : "false");
  text =
      filled(text, "$", "tensor<" + size(c.before) + "x" + size(c.length) + "x" + size(c.after) + "x" + c.type + ">");
  return filled(text, "SCHEDULE", c.schedule.empty() ? "" : " {schedule = #sinter.schedule<" + c.schedule + ">}");
}

static long double combined(const std::string &combiner, long double x, long double y) {
  return combiner == "add" ? x + y : combiner == "mul" ? x * y : combiner == "max" ? std::max(x, y) : std::min(x, y);
}

static long double startOf(const std::string &combiner) {
  return combiner == "add" ? 0 : combiner == "mul" ? 1 : combiner == "max" ? -INFINITY : INFINITY;
}

static void expectRunning(const RunningCase &c) {
  SCOPED_TRACE(textOf(c));
  test::Program program(textOf(c), 2);
  ASSERT_EQ(program.error, "");
  bool isInteger = c.type[0] == 'i', isProduct = c.combiner == "mul";
  HostTensor x(mlir::getElementTypeOrSelf(program.function().getArgumentTypes()[0]), {c.before, c.length, c.after});
  std::mt19937 random(static_cast<unsigned>(c.length));
  int power = 0; // of two, by which the next factor divides: products stay near 1
  for (int64_t i = 0; i < x.numElements(); ++i) {
    power = i % 2 == 0 ? int(random() % 5) - 2 : -power;
    int64_t integer = isProduct ? 1 - int64_t(random() % 2) * 2 : int64_t(random() % 21) - 10;
    double number = isProduct ? std::exp2(power) : double(int(random() % 255) - 127) / 32;
    isInteger ? x.setInt(i, integer) : x.setFloat(i, number);
  }
  auto results = program.run({x}), again = program.run({x});
  ASSERT_TRUE(results && again) << program.error << report();
  EXPECT_EQ(report(), "");
  EXPECT_EQ(std::memcmp((*results)[0].data(), (*again)[0].data(), x.numBytes()), 0);
  double rounding = c.combiner == "add" && !isInteger ? 1.01 * roundingOf(c.type) : 0;
  for (int64_t row = 0; row < c.before * c.after; ++row) {
    long double total = startOf(c.combiner), magnitude = 0;
    for (int64_t k = 0; k < c.length; ++k) {
      int64_t i = c.isReverse ? c.length - 1 - k : k;
      int64_t at = (row / c.after * c.length + i) * c.after + row % c.after;
      long double element = isInteger ? (long double)x.getInt(at) : (long double)x.getFloat(at);
      long double next = combined(c.combiner, total, element), expected = c.isExclusive ? total : next;
      total = next;
      magnitude += std::fabs(element);
      if (c.isExclusive && k == 0 && std::isinf(expected))
        continue; // of nothing: the least or the greatest number
      if (isInteger) {
        auto wrapped = c.type == "i8" ? int64_t(int8_t(int64_t(expected))) : int64_t(expected);
        ASSERT_EQ((*results)[0].getInt(at), wrapped) << row << ", " << i;
      } else {
        double least = c.type == "f64" ? 0x1p-100 * double(magnitude) : 0x1p-48 * double(magnitude);
        ASSERT_NEAR((*results)[0].getFloat(at), double(expected), rounding * std::fabs(double(expected)) + least)
            << row << ", " << i;
      }
    }
  }
}

TEST(Running, OfAllLengths) {
  for (int64_t length : {64, 65, 127, 128, 129, 255, 256, 257, 512, 1000})
    for (const char *schedule : {"block_running, lanes = 32", "block_running, lanes = 64"})
      expectRunning({.length = length, .isReverse = length % 2 == 1, .schedule = schedule});
}

TEST(Running, OfAllTypes) {
  for (const char *type : {"f64", "f16", "bf16", "i8", "i16", "i32", "i64"})
    for (bool isExclusive : {false, true})
      expectRunning({.type = type, .isReverse = isExclusive, .isExclusive = isExclusive});
}

TEST(Running, OfAllCombiners) {
  for (const char *combiner : {"mul", "max", "min"})
    for (const char *type : {"f32", "f16", "i32"})
      for (bool isExclusive : {false, true})
        expectRunning({.type = type, .combiner = combiner, .length = 200, .isExclusive = isExclusive});
  expectRunning({.type = "f64", .combiner = "max"});
}

TEST(Running, OfRowsSideBySide) {
  expectRunning({.before = 3, .length = 130, .after = 5});
  expectRunning({.type = "f64", .before = 1, .length = 300, .after = 2, .isReverse = true});
}

/// Parts that are shorter than others, or empty.
TEST(Running, OfParts) {
  for (const char *type : {"f32", "f64", "i32", "bf16"})
    for (int64_t parts : {2, 3, 7})
      expectRunning({.type = type,
                     .length = parts == 2 ? 3000 : 130,
                     .isReverse = parts == 3,
                     .isExclusive = parts == 7,
                     .schedule = "block_running, lanes = 256, tile = [" + std::to_string(parts) + "]"});
  expectRunning({.combiner = "max", .before = 1, .length = 64, .schedule = "block_running, lanes = 256, tile = [100]"});
}

TEST(Running, OfSizesThatOnlyRunningTells) {
  for (int64_t length : {0, 1, 200})
    expectRunning({.length = length, .after = 2, .isKnown = false});
  expectRunning({.length = 700, .isKnown = false, .schedule = "block_running, lanes = 256, tile = [3]"});
}

/// Sums of a part that are infinite stay so behind it, and those before are not touched; NaN likewise.
TEST(Running, OfInfinitiesAndNaN) {
  for (const char *type : {"f32", "f64"})
    for (const char *schedule : {"block_running, lanes = 32", "block_running, lanes = 256, tile = [4]"}) {
      test::Program program(textOf({.type = type, .before = 1, .schedule = schedule}), 2);
      ASSERT_EQ(program.error, "");
      HostTensor x(mlir::getElementTypeOrSelf(program.function().getArgumentTypes()[0]), {1, 300, 1});
      for (int64_t i = 0; i < 300; ++i)
        x.setFloat(i, i == 100 ? INFINITY : i == 200 ? -INFINITY : 1);
      auto results = program.run({x});
      ASSERT_TRUE(results) << report();
      for (int64_t i = 0; i < 300; ++i) {
        double got = (*results)[0].getFloat(i);
        double expected = i < 100 ? double(i + 1) : i < 200 ? INFINITY : NAN;
        EXPECT_TRUE(got == expected || (std::isnan(got) && std::isnan(expected))) << i << ": " << got;
      }
    }
}

/// Long rows are for many blocks; few elements, and products of f64, are a thread's.
TEST(Running, AreChosenForLongRows) {
  auto codeOf = [](const RunningCase &c) { return compiledCode(textOf(c)); };
  for (const char *type : {"f32", "f64", "i64"}) {
    std::string code = codeOf({.type = type, .before = 1, .length = 1 << 20, .schedule = ""});
    EXPECT_NE(code.find("_join block 256\n"), std::string::npos) << code.substr(0, 200);
    if (hasPtxas())
      expectNoSpills(code.substr(code.find("\n\n") + 2), 2, 96, {"sm_80", "sm_90", "sm_100"});
  }
  EXPECT_NE(codeOf({.before = 4096, .length = 1000, .schedule = ""}).find(" block 256\n"), std::string::npos);
  EXPECT_NE(codeOf({.before = 3, .length = 100, .after = 40, .schedule = ""}).find(" block 32\n"), std::string::npos);
  for (const RunningCase &c : {RunningCase{.length = 63, .schedule = ""},
                               {.length = 100, .after = 1 << 14, .schedule = ""},
                               {.type = "f64", .combiner = "mul", .schedule = ""}})
    EXPECT_NE(codeOf(c).find(" thread "), std::string::npos);
}

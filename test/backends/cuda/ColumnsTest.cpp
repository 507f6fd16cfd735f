// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions whose results lie side by side (sums of columns), of which a block has 32, against sums in f64: widths
// around those of warps, lengths around those of a block's rounds, parts, several axes, all types; when they are
// chosen.

#include "CudaProgram.h"
#include "Ptxas.h"
#include "RowCase.h"
#include <map>
#include <numeric>

using namespace sinter;
using namespace sinter::cuda;

namespace {
struct ColumnCase {
  std::string type = "f32", combiner = "add";
  int64_t before = 1, length = 100, columns = 40; // [before, length, columns]
  int64_t parts = 1;
  bool isKnown = true, reducesBefore = false;
};
} // namespace

static std::string textOf(const ColumnCase &c, bool isForced) {
  auto size = [&](int64_t number) { return c.isKnown ? std::to_string(number) : std::string("?"); };
  std::string text = R"(func.func @f(%x: $) -> # {
  %0 = sinter.kernel reduce(%x)SCHEDULE : ($) -> # {
  ^bb0(%a: $):
    %s = sinter.reduce COMBINER %a axes = [AXES] : ($) -> #
    sinter.yield(%s) : #
  }
  return %0 : #
})";
  text = filled(text, "COMBINER", c.combiner);
  text = filled(text, "AXES", c.reducesBefore ? "0, 1" : "1");
  text =
      filled(text, "$", "tensor<" + size(c.before) + "x" + size(c.length) + "x" + size(c.columns) + "x" + c.type + ">");
  text = filled(text, "#",
                "tensor<" + (c.reducesBefore ? "" : size(c.before) + "x") + size(c.columns) + "x" + c.type + ">");
  std::string tile = c.parts > 1 ? ", tile = [" + std::to_string(c.parts) + "]" : "";
  return filled(text, "SCHEDULE",
                isForced ? " {schedule = #sinter.schedule<block_columns, lanes = 256" + tile + ">}" : "");
}

static void expectColumns(const ColumnCase &c) {
  SCOPED_TRACE(textOf(c, true));
  test::Program program(textOf(c, true), 2);
  ASSERT_EQ(program.error, "");
  bool isInteger = c.type[0] == 'i', isBool = c.type == "i1";
  HostTensor x(mlir::getElementTypeOrSelf(program.function().getArgumentTypes()[0]), {c.before, c.length, c.columns});
  std::mt19937 random(static_cast<unsigned>(c.length + c.columns));
  auto set = [&](int64_t i, int64_t value) { isInteger ? x.setInt(i, value) : x.setFloat(i, double(value) / 16); };
  for (int64_t i = 0; i < x.numElements(); ++i)
    set(i, isBool ? int64_t(random() % 100 == 0) : int64_t(random() % 255) - 127);
  auto results = program.run({x}), again = program.run({x});
  ASSERT_TRUE(results && again) << program.error << report();
  EXPECT_EQ(report(), "");
  EXPECT_EQ(std::memcmp((*results)[0].data(), (*again)[0].data(), (*results)[0].numBytes()), 0);
  std::map<int64_t, Numbers> rows; // of each result
  for (int64_t i = 0; i < (*results)[0].numElements(); ++i)
    rows[i];
  for (int64_t i = 0; i < x.numElements(); ++i) {
    int64_t outer = c.reducesBefore ? 0 : i / c.columns / c.length;
    rows[outer * c.columns + i % c.columns].push_back(isInteger ? double(x.getInt(i)) : x.getFloat(i));
  }
  for (const auto &[i, row] : rows) {
    if (row.empty() && c.combiner != "add")
      continue;
    double expected =
        c.combiner == "add" ? std::accumulate(row.begin(), row.end(), 0.0) : *std::max_element(row.begin(), row.end());
    if (c.type == "i8" && c.combiner == "add")
      expected = double(int8_t(int64_t(expected)));
    double magnitude = 0;
    for (double value : row)
      magnitude += std::fabs(value);
    double got = isInteger ? double((*results)[0].getInt(i)) : (*results)[0].getFloat(i);
    double rounding =
        isInteger || c.combiner != "add" ? 0 : roundingOf(c.type) * (c.type == "f32" ? magnitude : std::fabs(expected));
    ASSERT_NEAR(got, expected, 1.01 * rounding + (isInteger || c.combiner != "add" ? 0 : 0x1p-22 * magnitude)) << i;
  }
}

TEST(Columns, OfAllWidths) {
  for (int64_t columns : {1, 8, 31, 32, 33, 64, 100})
    expectColumns({.columns = columns});
}

/// A block has eight threads for each result, which sum 32 elements in a chain.
TEST(Columns, OfAllLengths) {
  for (int64_t length : {64, 65, 255, 256, 257, 1000, 2100})
    expectColumns({.length = length, .columns = 33});
}

TEST(Columns, OfAllTypes) {
  for (const char *type : {"f64", "f16", "bf16", "i8", "i16", "i32", "i64"})
    for (const char *combiner : {"add", "max"})
      for (int64_t parts : {1, 3})
        expectColumns({.type = type, .combiner = combiner, .parts = parts});
  expectColumns({.type = "i1", .combiner = "or"});
  expectColumns({.type = "i1", .combiner = "or", .parts = 5});
}

/// More parts than elements for them, more tiles than parts and fewer.
TEST(Columns, OfParts) {
  for (int64_t parts : {2, 7, 64, 256})
    expectColumns({.length = 300, .columns = parts == 2 ? 200 : 20, .parts = parts});
}

TEST(Columns, OfSeveralAxes) {
  expectColumns({.before = 5, .columns = 9});
  expectColumns({.before = 5, .length = 70, .columns = 9, .parts = 3});
  expectColumns({.before = 5, .length = 70, .reducesBefore = true});
  expectColumns({.before = 5, .length = 70, .parts = 4, .reducesBefore = true});
}

TEST(Columns, OfSizesThatOnlyRunningTells) {
  for (int64_t parts : {1, 4})
    for (int64_t length : {0, 1, 130})
      expectColumns({.before = 2, .length = length, .columns = 35, .parts = parts, .isKnown = false});
}

/// A gradient of a bias has parts; many results are a thread's each, and those that do not lie side by side a block's.
TEST(Columns, AreChosenForSumsOfColumns) {
  auto codeOf = [](const ColumnCase &c) { return compiledCode(textOf(c, false)); };
  for (const char *type : {"f32", "bf16"}) {
    std::string code = codeOf({.type = type, .length = 16384, .columns = 768});
    EXPECT_NE(code.find("_reduce block 256\nthen"), std::string::npos) << code.substr(0, 200);
    EXPECT_EQ(code.find("\nwide "), std::string::npos) << code.substr(0, 200);
    if (hasPtxas())
      expectNoSpills(code.substr(code.find("\n\n") + 2), 2, 64, {"sm_80", "sm_90", "sm_100"});
  }
  EXPECT_NE(codeOf({.before = 64, .length = 4096, .columns = 2}).find("_reduce block "), std::string::npos);
  EXPECT_NE(codeOf({.before = 1024, .length = 64, .columns = 256}).find("_reduce thread "), std::string::npos);
}

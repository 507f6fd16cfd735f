// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Positions of the greatest and least elements, which a block finds, against a walk over the elements: lengths around
// those of warps and blocks, ties, NaN, zeros of both signs, all types, axes, first and last.

#include "CudaProgram.h"
#include "Ptxas.h"
#include "RowCase.h"

using namespace sinter;
using namespace sinter::cuda;

namespace {
struct ArgCase {
  std::string type = "f32", combiner = "max";
  int64_t before = 3, length = 300, after = 1;
  bool isLast = false, isKnown = true;
  int64_t threads = 64;
};
} // namespace

static std::string textOf(const ArgCase &c, bool isForced = true) {
  auto size = [&](int64_t number) { return c.isKnown ? std::to_string(number) : std::string("?"); };
  std::string text = R"(func.func @f(%x: $) -> # {
  %0 = sinter.kernel reduce(%x)SCHEDULE : ($) -> # {
  ^bb0(%a: $):
    %r = sinter.arg_reduce COMBINER %a {axis = 1 : i64, last = LAST} : ($) -> #
    sinter.yield(%r) : #
  }
  return %0 : #
})";
  text = filled(text, "COMBINER", c.combiner);
  text = filled(text, "LAST", c.isLast ? "true" : "false");
  std::string outer = size(c.before) + "x", inner = size(c.after) + "x";
  text = filled(text, "$", "tensor<" + outer + size(c.length) + "x" + inner + c.type + ">");
  text = filled(text, "#", "tensor<" + outer + inner + "i64>");
  std::string schedule = "#sinter.schedule<block_arg_reduce, lanes = " + std::to_string(c.threads) + ">";
  return filled(text, "SCHEDULE", isForced ? " {schedule = " + schedule + "}" : "");
}

static void expectPositions(const ArgCase &c) {
  SCOPED_TRACE(textOf(c));
  test::Program program(textOf(c), 2);
  ASSERT_EQ(program.error, "");
  HostTensor x(mlir::getElementTypeOrSelf(program.function().getArgumentTypes()[0]), {c.before, c.length, c.after});
  bool isFloat = c.type.find('f') != std::string::npos;
  std::mt19937 random(static_cast<unsigned>(c.length));
  for (int64_t i = 0; i < x.numElements(); ++i) { // many are alike
    int64_t value = c.type == "i1" ? int64_t(random() % 2) : int64_t(random() % 9) - (c.type[0] == 'u' ? 0 : 4);
    isFloat ? x.setFloat(i, value == 0 && random() % 2 ? -0.0 : double(value)) : x.setInt(i, value);
  }
  if (isFloat && c.length > 100) // two in the second row, at different threads
    for (int64_t at : {c.length / 2, c.length / 2 + 7})
      x.setFloat((c.length + at) * c.after, NAN);
  auto results = program.run({x});
  ASSERT_TRUE(results) << program.error << report();
  EXPECT_EQ(report(), "");
  for (int64_t row = 0; row < c.before * c.after; ++row) {
    int64_t best = 0;
    auto at = [&](int64_t i) {
      int64_t flat = (row / c.after * c.length + i) * c.after + row % c.after;
      return isFloat ? x.getFloat(flat) : double(x.getInt(flat));
    };
    for (int64_t i = 1; i < c.length; ++i) {
      bool isBetter = c.combiner == "max" ? at(i) > at(best) : at(i) < at(best), isSame = at(i) == at(best);
      if (std::isnan(at(i)) || std::isnan(at(best))) {
        isBetter = std::isnan(at(i)) && !std::isnan(at(best));
        isSame = std::isnan(at(i)) && std::isnan(at(best));
      }
      best = isBetter || (isSame && c.isLast) ? i : best;
    }
    ASSERT_EQ((*results)[0].getInt(row), best) << row;
  }
}

TEST(ArgReduce, OfAllLengths) {
  for (int64_t length : {1, 31, 32, 33, 63, 64, 65, 128, 129, 1000})
    for (int64_t threads : {32, 64})
      expectPositions({.length = length, .isLast = length % 2 == 0, .threads = threads});
}

TEST(ArgReduce, OfAllTypes) {
  for (const char *type : {"f64", "f16", "bf16", "i1", "i8", "ui8", "i16", "i32", "ui32", "i64"})
    for (const char *combiner : {"max", "min"})
      for (bool isLast : {false, true})
        expectPositions({.type = type, .combiner = combiner, .length = 200, .isLast = isLast});
}

TEST(ArgReduce, OfOtherAxes) {
  expectPositions({.after = 5});
  expectPositions({.combiner = "min", .after = 33, .isLast = true, .threads = 256});
}

TEST(ArgReduce, OfSizesThatOnlyRunningTells) {
  for (int64_t length : {1, 40, 700})
    expectPositions({.length = length, .after = 2, .isKnown = false, .threads = 256});
}

TEST(ArgReduce, IsChosenForLongRows) {
  auto codeOf = [](const ArgCase &c) { return compiledCode(textOf(c, false)); };
  for (const char *type : {"f32", "bf16", "i64"}) {
    std::string code = codeOf({.type = type, .before = 16, .length = 50257});
    EXPECT_NE(code.find("_reduce block 256\n"), std::string::npos) << code.substr(0, 100);
    if (hasPtxas())
      expectNoSpills(code.substr(code.find("\n\n") + 2), 1, 64, {"sm_80", "sm_90", "sm_100"});
  }
  EXPECT_NE(codeOf({.length = 63}).find(" thread "), std::string::npos);
  EXPECT_NE(codeOf({.length = 100, .after = 5000}).find(" thread "), std::string::npos);
}

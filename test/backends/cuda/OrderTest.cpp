// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows that a block orders, against std::sort with ties by position: lengths around those of blocks, stretches and
// warps, all types, axes, both directions, NaN and zeros of both signs, few kept of many, several rows of a block.

#include "CudaProgram.h"
#include "Ptxas.h"
#include "test/backends/cpu/Execute.h"
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

using namespace sinter;

namespace {
struct OrderCase {
  const char *type;
  int64_t before, length, after;
  int64_t kept = -1; // all
  bool descending = false, isKnown = true;
  const char *schedule = nullptr;
};
} // namespace

static std::string tensorOf(const OrderCase &c, int64_t length, const char *type) {
  std::string middle = c.isKnown || (c.kept >= 0 && length == c.kept) ? std::to_string(length) : "?";
  return "tensor<" + std::to_string(c.before) + "x" + middle + "x" + std::to_string(c.after) + "x" + type + ">";
}

static std::string textOf(const OrderCase &c) {
  bool isSort = c.kept < 0;
  std::string x = tensorOf(c, c.length, c.type), y = tensorOf(c, isSort ? c.length : c.kept, c.type),
              p = tensorOf(c, isSort ? c.length : c.kept, "i64"), way = c.descending ? "true" : "false";
  std::string schedule = c.schedule ? std::string(" {schedule = #sinter.schedule<") + c.schedule + ">}" : "";
  std::string op =
      isSort ? "sinter.sort %a {axis = 1 : i64, descending = " + way + "} : (" + x + ") -> (" + y + ", " + p + ")"
             : "sinter.top_k %a, %b {axis = 1 : i64, largest = " + way + "} : (" + x + ", tensor<i64>) -> (" + y +
                   ", " + p + ")";
  return "func.func @f(%x: " + x + ") -> (" + y + ", " + p + ") {\n  %k = sinter.constant dense<" +
         std::to_string(std::max<int64_t>(c.kept, 0)) + "> : tensor<i64>\n  %r:2 = sinter.kernel single(%x, %k)" +
         schedule + " : (" + x + ", tensor<i64>) -> (" + y + ", " + p + ") {\n  ^bb0(%a: " + x +
         ", %b: tensor<i64>):\n    %v, %i = " + op + "\n    sinter.yield(%v, %i) : " + y + ", " + p +
         "\n  }\n  return %r#0, %r#1 : " + y + ", " + p + "\n}";
}

/// Numbers that every type has, some of them alike; floats have NaN, infinities and both zeros among them.
static std::vector<double> drawn(const OrderCase &c) {
  std::mt19937 random(static_cast<unsigned>(c.length));
  std::vector<double> x;
  bool isFloat = std::string(c.type).find('f') != std::string::npos, isUnsigned = c.type[0] == 'u';
  for (int64_t i = 0; i < c.before * c.length * c.after; ++i) {
    double value = double(random() % 200) - (isUnsigned ? 0 : 100);
    unsigned special = random() % 40;
    if (isFloat && special < 4)
      value = std::array{double(NAN), double(INFINITY), -0.0, 0.0}[special];
    x.push_back(std::string(c.type) == "i1" ? double(random() % 2) : value);
  }
  return x;
}

static void expectOrder(const OrderCase &c) {
  SCOPED_TRACE(textOf(c));
  test::Program program(textOf(c), 2);
  ASSERT_EQ(program.error, "");
  EXPECT_NE(cuda::lastCode().find(" block "), std::string::npos) << cuda::lastCode().substr(0, 400);
  HostTensor input(mlir::getElementTypeOrSelf(program.function().getArgumentTypes()[0]), {c.before, c.length, c.after});
  std::vector<double> x = drawn(c);
  for (size_t i = 0; i < x.size(); ++i)
    std::string(c.type).find('f') != std::string::npos ? input.setFloat(int64_t(i), x[i])
                                                       : input.setInt(int64_t(i), int64_t(x[i]));
  auto results = program.run({input});
  ASSERT_TRUE(results) << program.error << cuda::report();
  EXPECT_EQ(cuda::report(), "");
  int64_t kept = c.kept < 0 ? c.length : std::min(c.kept, c.length);
  for (int64_t row = 0; row < c.before * c.after; ++row) {
    int64_t outer = row / c.after, inner = row % c.after;
    auto at = [&](int64_t i, int64_t length) { return (outer * length + i) * c.after + inner; };
    std::vector<int64_t> order(static_cast<size_t>(c.length));
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
      double p = x[size_t(at(i, c.length))], q = x[size_t(at(j, c.length))];
      if (std::isnan(p) != std::isnan(q))
        return std::isnan(q);
      return p == q || std::isnan(p) ? i < j : c.descending ? p > q : p < q;
    });
    for (int64_t rank = 0; rank < kept; ++rank) {
      int64_t position = (*results)[1].getInt(at(rank, kept));
      ASSERT_EQ(position, order[size_t(rank)]) << "row " << row << ", rank " << rank;
    }
  }
}

TEST(Orders, OfAllLengths) {
  for (int64_t length : {64, 65, 127, 128, 129, 300, 1023, 1025, 2500})
    expectOrder({"f32", 1, length, length < 200 ? 2 : 1, -1, length % 2 == 0});
}

TEST(Orders, OfAllTypes) {
  for (const char *type : {"f64", "f16", "bf16", "i1", "i8", "ui8", "i16", "ui16", "i32", "ui32", "i64", "ui64"})
    expectOrder({type, 2, 100, 1, -1, type[0] == 'u'});
}

TEST(Orders, OfLengthsThatOnlyRunningTells) {
  for (int64_t length : {0, 1, 5, 200})
    expectOrder({"f32", 2, length, 1, -1, true, false});
}

TEST(Orders, OfFewThatAreKept) {
  for (int64_t kept : {1, 7, 40, 150})
    for (bool isKnown : {true, false})
      expectOrder({"f32", 1, 300, 2, kept, true, isKnown});
  expectOrder({"i1", 1, 300, 1, 20, false});
  expectOrder({"f64", 1, 300, 1, 20, false});
}

TEST(Orders, OfSeveralRowsOfABlock) {
  expectOrder({"f32", 5, 70, 1, -1, false, true, "block_order, lanes = 128, chunk = 2"});
  expectOrder({"f32", 5, 90, 1, 10, false, true, "block_order, lanes = 256, chunk = 3"});
}

TEST(Orders, SpillNothing) {
  if (!cuda::hasPtxas())
    GTEST_SKIP() << "ptxas is not installed";
  for (const char *type : {"f32", "f64"}) {
    cuda::Compiled compiled;
    std::string error;
    ASSERT_TRUE(cuda::compileText(textOf({type, 4, 5000, 1, 100}), compiled, error)) << error;
    std::string code = cuda::lastCode();
    cuda::expectNoSpills(code.substr(code.find("\n\n") + 2), 1, 128, {"sm_80", "sm_89", "sm_90", "sm_100"});
    std::remove(compiled.path.c_str());
  }
}

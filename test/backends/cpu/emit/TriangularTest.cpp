// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/backends/cpu/KernelCase.h"
#include <limits>

using sinter::test::expectKernel;
using sinter::test::Feed;

/// `count` matrices of order n with a dominant diagonal, symmetric: positive definite, and well behaved as triangles.
static std::vector<double> matrices(int64_t count, int64_t n) {
  std::vector<double> values;
  for (int64_t g = 0; g < count; ++g)
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j)
        values.push_back(i == j ? 4 + static_cast<double>((i + g) % 3)
                                : 0.5 * std::cos(i * j + i + j + g) / (1 + std::abs(i - j)));
  return values;
}

TEST(Triangular, CholeskyOfAnySize) {
  for (const char *type : {"f32", "f64"})
    for (const char *half : {"true", "false"})
      for (int64_t n : {0, 1, 2, 7, 8, 9, 16, 31, 33, 64, 100}) {
        std::string size = std::to_string(n), tensor = "tensor<2x" + size + "x" + size + "x" + type + ">";
        expectKernel("single", {tensor}, {tensor},
                     std::string("%r0 = sinter.cholesky %a {lower = ") + half + "} : (" + tensor + ") -> " + tensor,
                     {{{{2, n, n}, matrices(2, n)}}});
      }
}

TEST(Triangular, CholeskyOfSizesKnownWhenItRuns) {
  std::string tensor = "tensor<?x?x?xf32>";
  expectKernel("single", {tensor}, {tensor}, "%r0 = sinter.cholesky %a : (" + tensor + ") -> " + tensor,
               {{{{3, 5, 5}, matrices(3, 5)}},
                {{{70, 9, 9}, matrices(70, 9)}}, // more matrices than workspaces
                {{{1, 40, 40}, matrices(1, 40)}},
                {{{0, 4, 4}, {}}}});
}

TEST(Triangular, CholeskyIsNanFromTheBadPivotOn) {
  // The third pivot is negative, or zero; what was computed before it stays.
  for (double last : {0.5, 2.0})
    sinter::test::expectMatches(
        "func.func @f(%a: tensor<4x4xf64>) -> tensor<4x4xi1> {\n"
        "  %0 = sinter.cholesky %a : (tensor<4x4xf64>) -> tensor<4x4xf64>\n"
        "  %1 = sinter.compare ne %0, %0 : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xi1>\n"
        "  return %1 : tensor<4x4xi1>\n}\n",
        {{{{4, 4}, {1, 0, 0, 0, 0, 1, 0, 0, 1, 1, last, 0, 1, 1, 1, 9}}}}, 0, /*isGraph=*/true);
}

TEST(Triangular, SolvesInAllDirections) {
  for (const char *type : {"f32", "f64"})
    for (int form = 0; form < 8; form += type[1] == '6' ? 3 : 1)
      for (auto [n, columns] : {std::pair(1, 1), {5, 1}, {8, 3}, {13, 16}, {33, 40}, {20, 100}, {0, 2}, {3, 0}}) {
        std::string order = std::to_string(n), square = "tensor<2x" + order + "x" + order + "x" + type + ">",
                    side = "tensor<2x" + order + "x" + std::to_string(columns) + "x" + type + ">";
        auto flag = [&](int bit) { return form & bit ? std::string("true") : std::string("false"); };
        expectKernel("single", {square, side}, {side},
                     "%r0 = sinter.triangular_solve %a, %b {lower = " + flag(1) + ", transpose = " + flag(2) +
                         ", unit_diagonal = " + flag(4) + "} : (" + square + ", " + side + ") -> " + side,
                     {{{{2, n, n}, matrices(2, n)}, {{2, n, columns}, {}}}});
      }
}

TEST(Triangular, SolvesForSizesKnownWhenItRuns) {
  std::string tensor = "tensor<?x?xf32>";
  for (const char *half : {"true", "false"})
    expectKernel("single", {tensor, tensor}, {tensor},
                 std::string("%r0 = sinter.triangular_solve %a, %b {lower = ") + half + "} : (" + tensor + ", " +
                     tensor + ") -> " + tensor,
                 {{{{11, 11}, matrices(1, 11)}, {{11, 5}, {}}},
                  {{{32, 32}, matrices(1, 32)}, {{32, 50}, {}}},
                  {{{4, 4}, matrices(1, 4)}, {{4, 1}, {}}}});
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cholesky, triangular_solve and det with a block for each matrix. Factors are multiplied again and solutions put into
// their equations, in f64; determinants are of products of triangles, whose diagonals tell them. Orders around those of
// warps and blocks, both halves, transposed, several matrices, matrices that are not positive definite.

#include "CudaProgram.h"
#include "Ptxas.h"
#include "RowCase.h"

using namespace sinter;
using namespace sinter::cuda;

static std::string kernelOf(const std::string &inputs, const std::string &blocks, const std::string &types,
                            const std::string &op, const std::string &result, const std::string &schedule) {
  std::string form = schedule.empty() ? "" : " {schedule = #sinter.schedule<" + schedule + ">}";
  return "func.func @f(" + inputs + ") -> " + result + " {\n  %0 = sinter.kernel single(" +
         std::string(inputs.find("%q") == std::string::npos ? "%p" : "%p, %q") + ")" + form + " : (" + types + ") -> " +
         result + " {\n  ^bb0(" + blocks + "):\n    %r = " + op + " : (" + types + ") -> " + result +
         "\n    sinter.yield(%r) : " + result + "\n  }\n  return %0 : " + result + "\n}";
}

static std::string matrices(int64_t batch, int64_t rows, int64_t columns, const std::string &type,
                            bool isKnown = true) {
  auto size = [&](int64_t number) { return isKnown ? std::to_string(number) : std::string("?"); };
  return "tensor<" + size(batch) + "x" + size(rows) + "x" + size(columns) + "x" + type + ">";
}

/// Lower triangles with a diagonal of about 1, for each matrix of a batch.
static Numbers triangles(int64_t batch, int64_t n) {
  Numbers l(size_t(batch * n * n), 0), x = drawn(batch * n * n, 7);
  for (int64_t m = 0; m < batch; ++m)
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j <= i; ++j) {
        size_t at = size_t((m * n + i) * n + j);
        l[at] = i == j ? 1 + std::fabs(x[at]) / 8 : x[at] / double(4 * n);
      }
  return l;
}

static void factorize(const std::string &type, int64_t batch, int64_t n, bool isLower, bool isKnown = true) {
  std::string tensor = matrices(batch, n, n, type, isKnown);
  std::string text = kernelOf("%p: " + tensor, "%a: " + tensor, tensor,
                              std::string("sinter.cholesky %a {lower = ") + (isLower ? "true" : "false") + "}", tensor,
                              "block_triangular, lanes = 256");
  SCOPED_TRACE(text);
  test::Program program(text, 2);
  ASSERT_EQ(program.error, "");
  Numbers l = triangles(batch, n), a(l.size(), 0);
  for (int64_t m = 0; m < batch; ++m)
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j)
        for (int64_t q = 0; q <= std::min(i, j); ++q)
          a[size_t((m * n + i) * n + j)] += l[size_t((m * n + i) * n + q)] * l[size_t((m * n + j) * n + q)];
  // The other half is not read.
  Numbers given = a;
  for (int64_t m = 0; m < batch; ++m)
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j)
        if (isLower ? j > i : j < i)
          given[size_t((m * n + i) * n + j)] = NAN;
  auto results = program.run({tensorOf(program.function().getArgumentTypes()[0], {batch, n, n}, given)});
  ASSERT_TRUE(results) << program.error << report();
  EXPECT_EQ(report(), "");
  double epsilon = type == "f64" ? 1e-13 : 1e-5;
  for (int64_t m = 0; m < batch; ++m)
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double got = (*results)[0].getFloat((m * n + (isLower ? i : j)) * n + (isLower ? j : i));
        ASSERT_NEAR(got, l[size_t((m * n + i) * n + j)], epsilon) << m << ": " << i << ", " << j;
      }
}

TEST(Triangular, FactorsOfAllOrders) {
  for (int64_t n : {1, 31, 32, 33, 70})
    for (bool isLower : {true, false})
      factorize(n % 2 ? "f32" : "f64", n < 40 ? 3 : 1, n, isLower);
  factorize("f32", 1, 300, true); // more rows than threads
  factorize("f32", 2, 40, true, /*isKnown=*/false);
}

/// From the first pivot on that is not positive the factor is NaN.
TEST(Triangular, AFactorThatIsNone) {
  std::string tensor = matrices(1, 40, 40, "f32");
  test::Program program(
      kernelOf("%p: " + tensor, "%a: " + tensor, tensor, "sinter.cholesky %a", tensor, "block_triangular, lanes = 256"),
      2);
  ASSERT_EQ(program.error, "");
  Numbers a(1600, 0);
  for (size_t i = 0; i < 40; ++i)
    a[i * 41] = i == 20 ? -1 : 4;
  auto results = program.run({tensorOf(program.function().getArgumentTypes()[0], a)});
  ASSERT_TRUE(results) << report();
  for (int64_t i = 0; i < 40; ++i)
    for (int64_t j = 0; j < 40; ++j) {
      double got = (*results)[0].getFloat(i * 40 + j);
      double expected = j > i || j < 20 ? (i == j ? 2 : 0) : NAN;
      EXPECT_TRUE(got == expected || (std::isnan(got) && std::isnan(expected))) << i << ", " << j << ": " << got;
    }
}

static void solve(const std::string &type, int64_t batch, int64_t n, int64_t columns, bool isLower, bool isTransposed,
                  bool isUnit, bool isKnown = true) {
  std::string t = matrices(batch, n, n, type, isKnown), x = matrices(batch, n, columns, type, isKnown);
  auto flag = [](bool value) { return std::string(value ? "true" : "false"); };
  std::string text = kernelOf("%p: " + t + ", %q: " + x, "%a: " + t + ", %b: " + x, t + ", " + x,
                              "sinter.triangular_solve %a, %b {lower = " + flag(isLower) +
                                  ", transpose = " + flag(isTransposed) + ", unit_diagonal = " + flag(isUnit) + "}",
                              x, "block_triangular, lanes = 256");
  SCOPED_TRACE(text);
  test::Program program(text, 2);
  ASSERT_EQ(program.error, "");
  Numbers l = triangles(batch, n), solution = drawn(batch * n * columns, 3), given(l.size(), NAN),
          rhs(solution.size(), 0);
  for (int64_t m = 0; m < batch; ++m)
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j <= i; ++j) {
        double value = l[size_t((m * n + i) * n + j)];
        if (!isUnit || i != j)
          given[size_t((m * n + (isLower ? i : j)) * n + (isLower ? j : i))] = value;
        bool isForward = isLower != isTransposed;
        for (int64_t c = 0; c < columns; ++c)
          rhs[size_t((m * n + (isForward ? i : j)) * columns + c)] +=
              (isUnit && i == j ? 1 : value) * solution[size_t((m * n + (isForward ? j : i)) * columns + c)];
      }
  auto types = program.function().getArgumentTypes();
  auto results = program.run({tensorOf(types[0], {batch, n, n}, given), tensorOf(types[1], {batch, n, columns}, rhs)});
  ASSERT_TRUE(results) << program.error << report();
  EXPECT_EQ(report(), "");
  for (size_t i = 0; i < solution.size(); ++i)
    ASSERT_NEAR((*results)[0].getFloat(int64_t(i)), solution[i], type == "f64" ? 1e-12 : 1e-4) << i;
}

TEST(Triangular, SolutionsOfAllKinds) {
  for (bool isLower : {true, false})
    for (bool isTransposed : {true, false})
      for (bool isUnit : {true, false})
        solve(isUnit ? "f64" : "f32", 2, 37, 5, isLower, isTransposed, isUnit);
}

TEST(Triangular, SolutionsOfAllSizes) {
  for (int64_t columns : {1, 2, 31, 32, 33, 70})
    solve("f32", 1, 45, columns, true, false, false);
  for (int64_t n : {1, 8, 9, 300})
    solve("f32", n == 300 ? 1 : 3, n, 1, true, false, false);
  solve("f64", 2, 40, 34, false, false, false, /*isKnown=*/false);
}

static void determine(const std::string &type, int64_t batch, int64_t n, bool isKnown = true) {
  std::string tensor = matrices(batch, n, n, type, isKnown),
              result = "tensor<" + std::string(isKnown ? std::to_string(batch) : "?") + "x" + type + ">";
  test::Program program(
      kernelOf("%p: " + tensor, "%a: " + tensor, tensor, "sinter.det %a", result, "block_determinant, lanes = 256"), 2);
  ASSERT_EQ(program.error, "");
  // Rows of a triangle by its transpose, in another order.
  Numbers l = triangles(batch, n), a(l.size(), 0), expected(size_t(batch), n > 1 ? -1 : 1);
  for (int64_t m = 0; m < batch; ++m)
    for (int64_t i = 0; i < n; ++i) {
      int64_t to = n > 1 && i < 2 ? 1 - i : i;
      for (int64_t j = 0; j < n; ++j)
        for (int64_t q = 0; q <= std::min(i, j); ++q)
          a[size_t((m * n + to) * n + j)] += l[size_t((m * n + i) * n + q)] * l[size_t((m * n + j) * n + q)];
      expected[size_t(m)] *= l[size_t((m * n + i) * n + i)] * l[size_t((m * n + i) * n + i)];
    }
  if (batch > 1) { // a singular one
    for (int64_t j = 0; j < n; ++j)
      a[size_t(n * n + j)] = 0;
    expected[1] = 0;
  }
  auto results = program.run({tensorOf(program.function().getArgumentTypes()[0], {batch, n, n}, a)});
  ASSERT_TRUE(results) << program.error << report();
  EXPECT_EQ(report(), "");
  for (size_t m = 0; m < expected.size(); ++m)
    EXPECT_NEAR((*results)[0].getFloat(int64_t(m)) / (expected[m] == 0 ? 1 : expected[m]), expected[m] == 0 ? 0 : 1,
                type == "f64" ? 1e-12 : 1e-4)
        << m;
}

TEST(Triangular, Determinants) {
  for (int64_t n : {1, 2, 3, 33, 70})
    determine(n % 2 ? "f64" : "f32", 3, n);
  determine("f32", 600, 2); // several for each block
  determine("f32", 2, 20, /*isKnown=*/false);
}

TEST(Triangular, BlocksAreChosenForManyRows) {
  for (const char *type : {"f32", "f64"}) {
    std::string tensor = matrices(4, 256, 256, type);
    for (const char *op : {"sinter.cholesky %a", "sinter.det %a"}) {
      std::string result = op[7] == 'd' ? std::string("tensor<4x") + type + ">" : tensor;
      std::string code = compiledCode(kernelOf("%p: " + tensor, "%a: " + tensor, tensor, op, result, ""));
      EXPECT_NE(code.find(" block 256\n"), std::string::npos) << code.substr(0, 100);
      if (hasPtxas())
        expectNoSpills(code.substr(code.find("\n\n") + 2), 1, 128, {"sm_80", "sm_90", "sm_100"});
    }
  }
  std::string small = matrices(1000, 8, 8, "f32");
  EXPECT_NE(
      compiledCode(kernelOf("%p: " + small, "%a: " + small, small, "sinter.cholesky %a", small, "")).find(" thread "),
      std::string::npos);
}

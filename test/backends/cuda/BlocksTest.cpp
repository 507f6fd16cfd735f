// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels that the threads of a block compute together: reductions and rows of all lengths around a warp, a block and
// a chain of additions, against formulas in f64.

#include "CudaProgram.h"
#include "test/backends/cpu/Execute.h"
#include <cmath>
#include <numeric>
#include <random>

using namespace sinter;

static std::string filled(std::string text, const std::string &key, const std::string &value) {
  for (size_t at; (at = text.find(key)) != std::string::npos;)
    text.replace(at, key.size(), value);
  return text;
}

/// Results of a graph over one tensor of `rows` x `columns`.
static std::vector<std::vector<double>> run(const std::string &text, const std::vector<double> &x, int64_t rows,
                                            int64_t columns, const char *form) {
  test::Program program(text, 2, 1, /*isGraph=*/true);
  EXPECT_EQ(program.error, "");
  EXPECT_NE(cuda::lastCode().find(form), std::string::npos) << cuda::lastCode().substr(0, 400);
  HostTensor input(mlir::getElementTypeOrSelf(program.function().getArgumentTypes()[0]), {rows, columns});
  input.assignFloats(x);
  auto first = program.run({input}), second = program.run({input});
  EXPECT_TRUE(first && second) << program.error << cuda::report();
  if (!first || !second)
    return {};
  for (size_t i = 0; i < first->size(); ++i) // the same bits each time
    EXPECT_EQ(std::memcmp((*first)[i].data(), (*second)[i].data(), (*first)[i].numBytes()), 0);
  std::vector<std::vector<double>> results;
  for (const HostTensor &result : *first) {
    results.emplace_back();
    for (int64_t k = 0; k < result.numElements(); ++k)
      results.back().push_back(result.getFloat(k));
  }
  return results;
}

static std::vector<double> drawn(int64_t count, const char *type) {
  std::mt19937 random(3);
  std::vector<double> x;
  for (int64_t i = 0; i < count; ++i)
    x.push_back(type[0] == 'i' ? double(int(random() % 15) - 7) : double(int(random() % 257) - 128) / 16);
  return x;
}

static void reduceRows(const char *type, int64_t rows, int64_t columns) {
  SCOPED_TRACE(std::string(type) + " " + std::to_string(rows) + "x" + std::to_string(columns));
  std::string text =
      filled(filled(R"(func.func @f(%x: $) -> (#, #) {
    %s = sinter.reduce add %x axes = [1] : ($) -> #
    %m = sinter.reduce max %x axes = [1] : ($) -> #
    return %s, %m : #, #
  })",
                    "$", "tensor<" + std::to_string(rows) + "x" + std::to_string(columns) + "x" + type + ">"),
             "#", "tensor<" + std::to_string(rows) + "x" + type + ">");
  std::vector<double> x = drawn(rows * columns, type);
  auto results = run(text, x, rows, columns, "_reduce block ");
  ASSERT_EQ(results.size(), 2u);
  for (int64_t row = 0; row < rows; ++row) {
    auto from = x.begin() + row * columns;
    double sum = std::accumulate(from, from + columns, 0.0), magnitude = 0;
    for (int64_t i = 0; i < columns; ++i)
      magnitude += std::fabs(from[i]);
    double epsilon = type[0] == 'i'               ? 0
                     : type == std::string("f64") ? 0x1p-52
                     : type == std::string("f32") ? 0x1p-23
                                                  : 0x1p-8;
    if (std::string(type) == "i8")
      sum = double(int8_t(int64_t(sum)));
    EXPECT_NEAR(results[0][size_t(row)], sum, magnitude * epsilon);
    EXPECT_EQ(results[1][size_t(row)], *std::max_element(from, from + columns));
  }
}

TEST(Blocks, ReductionsOfAllLengths) {
  for (int64_t columns : {64, 65, 127, 128, 129, 256, 1000, 1024, 2049, 8191, 8192, 8193, 9000, 40000})
    reduceRows("f32", columns > 5000 ? 1 : 3, columns);
}

TEST(Blocks, ReductionsOfAllTypes) {
  for (const char *type : {"f64", "f16", "bf16", "i8", "i16", "i32", "i64"})
    reduceRows(type, 2, 300);
}

TEST(Blocks, Softmax) {
  for (int64_t columns : {64, 100, 1025}) {
    std::string type = "tensor<3x" + std::to_string(columns) + "xf32>";
    std::vector<double> x = drawn(3 * columns, "f32");
    auto results = run(filled(R"(func.func @f(%x: $) -> $ {
      %s = sinter.softmax %x {axis = 1 : i64} : ($) -> $
      return %s : $
    })",
                              "$", type),
                       x, 3, columns, "_row block ");
    ASSERT_EQ(results.size(), 1u);
    for (int64_t row = 0; row < 3; ++row) {
      auto from = x.begin() + row * columns;
      double most = *std::max_element(from, from + columns), total = 0;
      for (int64_t i = 0; i < columns; ++i)
        total += std::exp(from[i] - most);
      for (int64_t i = 0; i < columns; ++i)
        EXPECT_NEAR(results[0][size_t(row * columns + i)], std::exp(from[i] - most) / total, 1e-6);
    }
  }
}

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
  std::string text = cuda::filled(
      cuda::filled(R"(func.func @f(%x: $) -> (#, #) {
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
    auto results = run(cuda::filled(R"(func.func @f(%x: $) -> $ {
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

/// One long row is for many blocks; parts that are forced may be shorter than others, or empty.
TEST(Blocks, PartsOfLongRows) {
  setenv("SINTER_CUDA_WGMMA", "off", 1); // no clusters
  std::vector<double> x = drawn(2 * 20000, "f32");
  auto results = run(R"(func.func @f(%x: tensor<2x20000xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
    %s = sinter.reduce add %x axes = [1] : (tensor<2x20000xf32>) -> tensor<2xf32>
    %a = sinter.abs %s : (tensor<2xf32>) -> tensor<2xf32>
    %m = sinter.reduce max %x axes = [1] : (tensor<2x20000xf32>) -> tensor<2xf32>
    return %a, %m : tensor<2xf32>, tensor<2xf32>
  })",
                     x, 2, 20000, "_reduce_join block 256");
  unsetenv("SINTER_CUDA_WGMMA");
  ASSERT_EQ(results.size(), 2u);
  for (int64_t row = 0; row < 2; ++row) {
    auto from = x.begin() + row * 20000;
    EXPECT_NEAR(results[0][size_t(row)], std::fabs(std::accumulate(from, from + 20000, 0.0)), 0.01);
    EXPECT_EQ(results[1][size_t(row)], *std::max_element(from, from + 20000));
  }
}

TEST(Blocks, PartsThatAreForced) {
  for (const char *type : {"f32", "f64", "bf16", "i8", "i1"}) {
    std::string text = cuda::filled(R"(func.func @f(%x: tensor<3x100x$>) -> tensor<3x$> {
      %0 = sinter.kernel reduce(%x) {schedule = #sinter.schedule<block_reduce, lanes = 32, tile = [7]>} : (tensor<3x100x$>) -> tensor<3x$> {
      ^bb0(%a: tensor<3x100x$>):
        %s = sinter.reduce max %a axes = [1] : (tensor<3x100x$>) -> tensor<3x$>
        sinter.yield(%s) : tensor<3x$>
      }
      return %0 : tensor<3x$>
    })",
                                    "$", type);
    SCOPED_TRACE(text);
    std::string name = type;
    if (name == "i1")
      text = cuda::filled(text, "reduce max", "reduce or");
    test::Program program(text, 2);
    ASSERT_EQ(program.error, "");
    EXPECT_NE(cuda::lastCode().find("then sinter_k0_reduce_join block 256"), std::string::npos);
    auto tensor = mlir::cast<mlir::RankedTensorType>(program.function().getArgumentTypes()[0]);
    HostTensor input(tensor.getElementType(), tensor.getShape());
    auto isInteger = name[0] == 'i';
    for (int64_t i = 0; i < 300; ++i) {
      int64_t value = name == "i1" ? i == 199 : i * 37 % 101 - 50;
      isInteger ? input.setInt(i, value) : input.setFloat(i, double(value));
    }
    auto results = program.run({input});
    ASSERT_TRUE(results) << program.error << cuda::report();
    for (int64_t row = 0; row < 3; ++row) {
      double most = -1e9;
      for (int64_t i = row * 100; i < row * 100 + 100; ++i)
        most = std::max(most, isInteger ? double(input.getInt(i)) : input.getFloat(i));
      EXPECT_EQ(isInteger ? double((*results)[0].getInt(row)) : (*results)[0].getFloat(row), most);
    }
  }
}

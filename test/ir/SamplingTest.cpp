// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values of random_bits against published vectors, and of resampling ops where they can be worked out by hand. (All
// modes of resize and grid_sample, compiled and evaluated, are covered by the ONNX suite.)

#include "ir/Random.h"
#include "ir/Resampling.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace sinter;

namespace {

class SamplingTest : public ::testing::Test {
protected:
  SamplingTest() : context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<SinterDialect, func::FuncDialect>();
  }

  /// Runs the body of a function with these arguments.
  HostTensor run(const std::string &function, ArrayRef<HostTensor> arguments) {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(function, &context);
    EXPECT_TRUE(module);
    Evaluator evaluator;
    auto results = evaluator.run((*module->getOps<func::FuncOp>().begin()).getBody(), arguments);
    EXPECT_TRUE(succeeded(results));
    return results->front();
  }

  HostTensor words(ArrayRef<int64_t> values) {
    return HostTensor::ofInts(IntegerType::get(&context, 32, IntegerType::Unsigned), values);
  }
  HostTensor floats(ArrayRef<int64_t> shape, ArrayRef<double> values) {
    HostTensor tensor(Float32Type::get(&context), shape);
    tensor.assignFloats(values);
    return tensor;
  }

  /// `resize` of a row of floats by `scale`.
  std::vector<double> resizeRow(ArrayRef<double> row, const std::string &scale, const std::string &mode,
                                const std::string &coordinates, const std::string &rest = "") {
    std::string type = "tensor<" + std::to_string(row.size()) + "xf32>";
    std::string text = "func.func @f(%x: " + type + ") -> tensor<?xf32> { %s = sinter.constant dense<" + scale +
                       "> : tensor<1xf32> %r = sinter.resize %x scales(%s) {mode = #sinter<resize_mode " + mode +
                       ">, coordinates = #sinter<coordinate_mode " + coordinates + ">" + rest + "} : (" + type +
                       ", tensor<1xf32>) -> tensor<?xf32> return %r : tensor<?xf32> }";
    return run(text, {floats({static_cast<int64_t>(row.size())}, row)}).toFloats();
  }

  MLIRContext context;
};

// The known-answer vectors of Random123: the counter is 0 for element 0, apart from its last two words.
TEST_F(SamplingTest, RandomBitsAreThoseOfPhilox) {
  std::string text = "func.func @f(%k: tensor<4xui32>) -> tensor<6xui32> { %r = sinter.random_bits %k {type = "
                     "tensor<6xui32>} : (tensor<4xui32>) -> tensor<6xui32> return %r : tensor<6xui32> }";
  std::vector<int64_t> zero = run(text, {words({0, 0, 0, 0})}).toInts();
  EXPECT_EQ(std::vector<int64_t>(zero.begin(), zero.begin() + 4),
            (std::vector<int64_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  // Elements 4 and 5 are of the next block.
  EXPECT_NE(zero[4], zero[0]);
  // A longer tensor has the same beginning.
  std::string longer = "func.func @f(%k: tensor<4xui32>) -> tensor<3x4xui32> { %r = sinter.random_bits %k {type = "
                       "tensor<3x4xui32>} : (tensor<4xui32>) -> tensor<3x4xui32> return %r : tensor<3x4xui32> }";
  std::vector<int64_t> more = run(longer, {words({0, 0, 0, 0})}).toInts();
  EXPECT_TRUE(std::equal(zero.begin(), zero.end(), more.begin()));
}

TEST_F(SamplingTest, ScalesStandForTheirSimplestFraction) {
  EXPECT_EQ(scaleAsFraction(0.5), (std::pair<int64_t, int64_t>(1, 2)));
  EXPECT_EQ(scaleAsFraction(2.0f / 3.0f), (std::pair<int64_t, int64_t>(2, 3)));
  EXPECT_EQ(scaleAsFraction(0.7f), (std::pair<int64_t, int64_t>(7, 10)));
  EXPECT_EQ(scaleAsFraction(7), (std::pair<int64_t, int64_t>(7, 1)));
  for (int64_t p = 1; p < 700; p += 13)
    for (int64_t q = 1; q < 700; q += 17) {
      auto [n, d] = scaleAsFraction(static_cast<float>(p) / static_cast<float>(q));
      EXPECT_EQ(q * n / d, p) << p << " / " << q;
    }
}

TEST_F(SamplingTest, NearestPicksBySide) {
  EXPECT_EQ(resizeRow({1, 2, 3}, "2.0", "nearest", "half_pixel"), (std::vector<double>{1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(resizeRow({1, 2}, "2.0", "nearest", "asymmetric"), (std::vector<double>{1, 1, 2, 2}));
  EXPECT_EQ(resizeRow({1, 2}, "2.0", "nearest", "asymmetric", ", nearest = #sinter<nearest_mode ceil>"),
            (std::vector<double>{1, 2, 2, 2}));
  EXPECT_EQ(resizeRow({1, 2, 3, 4}, "0.5", "nearest", "asymmetric"), (std::vector<double>{1, 3}));
}

TEST_F(SamplingTest, LinearAndCubicInterpolate) {
  EXPECT_EQ(resizeRow({1, 2}, "2.0", "linear", "half_pixel"), (std::vector<double>{1, 1.25, 1.75, 2}));
  EXPECT_EQ(resizeRow({0, 3}, "2.0", "linear", "align_corners"), (std::vector<double>{0, 1, 2, 3}));
  // A straight line stays one where no tap is outside.
  std::vector<double> line =
      resizeRow({0, 1, 2, 3, 4, 5}, "2.0", "cubic", "half_pixel", ", cubic_coefficient = -0.5 : f64");
  EXPECT_EQ(line[5], 2.25);
  EXPECT_EQ(line[6], 2.75);
}

TEST_F(SamplingTest, GridSampleReadsCornersAndPads) {
  auto sample = [&](const std::string &padding, ArrayRef<double> grid) {
    std::string points = std::to_string(grid.size() / 2);
    std::string types = "(tensor<1x1x2x2xf32>, tensor<1x1x" + points + "x2xf32>) -> tensor<1x1x1x" + points + "xf32>";
    std::string text =
        "func.func @f(%x: tensor<1x1x2x2xf32>, %g: tensor<1x1x" + points + "x2xf32>) -> tensor<1x1x1x" + points +
        "xf32> { %r = sinter.grid_sample %x, %g {mode = #sinter<resize_mode linear>, padding = "
        "#sinter<pad_mode " +
        padding + ">, align_corners = true} : " + types + " return %r : tensor<1x1x1x" + points + "xf32> }";
    HostTensor image = floats({1, 1, 2, 2}, {1, 2, 3, 4});
    return run(text, {image, floats({1, 1, static_cast<int64_t>(grid.size()) / 2, 2}, grid)}).toFloats();
  };
  // x before y; -1 and 1 are the corners' centers.
  EXPECT_EQ(sample("constant", {-1, -1, 1, -1, -1, 1, 0, 0}), (std::vector<double>{1, 2, 3, 2.5}));
  EXPECT_EQ(sample("constant", {3, -1, 9, 9}), (std::vector<double>{0, 0}));
  EXPECT_EQ(sample("edge", {3, -1, 9, 9}), (std::vector<double>{2, 4}));
  EXPECT_EQ(sample("reflect", {3, -1, -3, -1}), (std::vector<double>{1, 2}));
}

} // namespace

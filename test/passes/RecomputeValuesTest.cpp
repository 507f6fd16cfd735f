// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The time of the pass. What it rewrites is tested in recompute-values.mlir.

#include "ir/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "test/Growth.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace sinter;

/// A chain of functions, and their products backwards, each of which reads a value of the chain and its negative.
static std::string chainAndBack(int count) {
  const std::string type = "tensor<64x64xf32>";
  std::string text = "func.func @f(%h0: " + type + ") -> " + type + " {\n";
  auto unary = [&](const std::string &to, const std::string &op, const std::string &from) {
    text += to + " = sinter." + op + " " + from + " : (" + type + ") -> " + type + "\n";
  };
  auto mul = [&](const std::string &to, const std::string &a, const std::string &b) {
    text += to + " = sinter.mul " + a + ", " + b + " : (" + type + ", " + type + ") -> " + type + "\n";
  };
  for (int i = 1; i <= count; ++i) {
    std::string k = std::to_string(i);
    unary("%h" + k, "exp", "%h" + std::to_string(i - 1));
    unary("%e" + k, "neg", "%h" + k);
  }
  unary("%b" + std::to_string(count + 1), "sin", "%e" + std::to_string(count));
  for (int i = count; i > 0; --i) {
    std::string k = std::to_string(i);
    mul("%c" + k, "%b" + std::to_string(i + 1), "%e" + k);
    mul("%b" + k, "%c" + k, "%h" + k);
  }
  return text + "return %b1 : " + type + "\n}";
}

TEST(RecomputeValues, TimeIsNearlyLinearInTheOpsOfABlock) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<SinterDialect, func::FuncDialect>();
  double ratio = test::growth(1000, [&](int count) {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(chainAndBack(count), &context);
    ASSERT_TRUE(module);
    PassManager passes(&context);
    passes.addNestedPass<func::FuncOp>(createRecomputeValues());
    ASSERT_TRUE(succeeded(passes.run(*module)));
    int negatives = 0;
    module->walk([&](Operation *op) { negatives += op->getName().getStringRef() == "sinter.neg"; });
    EXPECT_EQ(negatives, count); // one each, computed late
  });
  EXPECT_LT(ratio, 8);
}

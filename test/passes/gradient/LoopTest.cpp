// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients through control flow: against central differences in first and second order, forward against reverse mode,
// and each memory policy against keeping everything, to the bit.

#include "compiler/Register.h"
#include "ir/Ops.h"
#include "ir/gradient/Differentiable.h"
#include "passes/gradient/BuildGradient.h"
#include "passes/gradient/CheckGradients.h"
#include "test/passes/gradient/LoopCases.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace sinter;
using namespace sinter::test;

namespace {

class Loops : public testing::TestWithParam<LoopCase> {
protected:
  void SetUp() override {
    DialectRegistry registry;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    module = parseSourceString<ModuleOp>(GetParam().text, &context);
    ASSERT_TRUE(module) << GetParam().text;
    function = *module->getOps<func::FuncOp>().begin();
  }

  SmallVector<HostTensor> inputs() {
    SmallVector<HostTensor> tensors;
    size_t nextInts = 0;
    for (Type type : function.getArgumentTypes()) {
      auto tensorType = cast<RankedTensorType>(type);
      SmallVector<int64_t> shape(tensorType.getShape());
      for (int64_t &axis : shape)
        axis = ShapedType::isDynamic(axis) ? GetParam().size : axis;
      HostTensor tensor(tensorType.getElementType(), shape);
      if (!tensor.isFloat()) {
        tensor.assignInts(GetParam().ints[nextInts++]);
      } else {
        std::vector<double> values(tensor.numElements());
        for (size_t i = 0; i < values.size(); ++i)
          values[i] = 0.4 + 0.13 * static_cast<double>((i * 5 + tensors.size() * 3) % 7);
        tensor.assignFloats(values);
      }
      tensors.push_back(tensor);
    }
    return tensors;
  }

  void expectMatches(func::FuncOp which, ArrayRef<unsigned> wrt, ArrayRef<HostTensor> values, double tolerance = 1e-6) {
    FailureOr<GradientCheck> check = checkGradients(which, wrt, values, {.tolerance = tolerance});
    ASSERT_TRUE(succeeded(check));
    for (auto [k, error] : llvm::zip(wrt, check->elements))
      EXPECT_LE(error, tolerance) << "argument " << k;
    EXPECT_LE(check->direction, tolerance) << "along a random direction";
    EXPECT_LE(check->transpose, tolerance) << "forward against reverse mode";
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
};

TEST_P(Loops, MatchesDifferences) { expectMatches(function, GetParam().wrt, inputs()); }

TEST_P(Loops, MatchesDifferencesInSecondOrder) {
  FailureOr<func::FuncOp> vjp = buildGradient(function, GetParam().wrt);
  ASSERT_TRUE(succeeded(vjp));
  ASSERT_TRUE(succeeded(verify(*module)));
  SmallVector<HostTensor> values = inputs();
  // The cotangents are inputs now, too.
  FailureOr<SmallVector<HostTensor>> results = Evaluator().run(function.getBody(), values);
  ASSERT_TRUE(succeeded(results));
  for (const HostTensor &result : *results)
    if (result.isFloat()) {
      HostTensor cotangent(result.elementType(), result.shape());
      std::vector<double> elements(result.numElements());
      for (size_t i = 0; i < elements.size(); ++i)
        elements[i] = 0.5 - 0.3 * static_cast<double>(i % 4);
      cotangent.assignFloats(elements);
      values.push_back(cotangent);
    }
  expectMatches(*vjp, GetParam().wrt, values, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(All, Loops, testing::ValuesIn(loopCases()),
                         [](const testing::TestParamInfo<LoopCase> &info) { return std::string(info.param.name); });

} // namespace

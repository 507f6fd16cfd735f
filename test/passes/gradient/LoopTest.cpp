// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients through control flow: against central differences in first and second order, forward against reverse mode,
// and each memory policy against keeping everything, to the bit.

#include "compiler/Register.h"
#include "ir/Composer.h"
#include "ir/Ops.h"
#include "ir/gradient/Differentiable.h"
#include "passes/Passes.h"
#include "passes/gradient/BuildGradient.h"
#include "passes/gradient/CheckGradients.h"
#include "test/backends/cpu/Execute.h"
#include "test/passes/gradient/LoopCases.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
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

  /// Lets the function return the sum of all its results.
  void returnSum() {
    OpBuilder b(function.getBody().front().getTerminator());
    Composer composer(function.getLoc(), b);
    Value loss;
    for (Value result : function.getBody().front().getTerminator()->getOperands()) {
      Value sum = composer.reduce(result, llvm::to_vector(llvm::seq<int64_t>(0, tensorTypeOf(result).getRank())),
                                  Combiner::add);
      loss = loss ? composer.make<AddOp>(loss, sum) : sum;
    }
    function.getBody().front().getTerminator()->setOperands(loss);
    function.setType(b.getFunctionType(function.getArgumentTypes(), loss.getType()));
  }

  SmallVector<HostTensor> inputs() { return inputsOf(function); }

  /// Further floats, as cotangents are, look like the others.
  SmallVector<HostTensor> inputsOf(func::FuncOp which) {
    SmallVector<HostTensor> tensors;
    size_t nextInts = 0;
    for (Type type : which.getArgumentTypes()) {
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
    FailureOr<GradientCheck> check =
        checkGradients(which, wrt, values, {.tolerance = tolerance, .forwardMode = GetParam().hasForwardMode});
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

class FixedPoints : public Loops {};
class CompiledLoops : public Loops {};

TEST_P(Loops, MatchesDifferences) { expectMatches(function, GetParam().wrt, inputs()); }

TEST_P(Loops, MatchesDifferencesInSecondOrder) {
  FailureOr<func::FuncOp> vjp = buildGradient(function, GetParam().wrt);
  ASSERT_TRUE(succeeded(vjp));
  ASSERT_TRUE(succeeded(verify(*module)));
  // Also where everything runs again.
  FailureOr<func::FuncOp> again = buildGradient(function, GetParam().wrt, {.name = "again", .memory = "recompute"});
  ASSERT_TRUE(succeeded(again));
  ASSERT_TRUE(succeeded(buildGradient(*again, GetParam().wrt, {.memory = "recompute"})));
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

TEST(StopGradient, TakesItsOperandForAConstant) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(R"(
func.func @f(%x: tensor<f64>) -> tensor<f64> {
  %0 = sinter.stop_gradient %x : (tensor<f64>) -> tensor<f64>
  %1 = sinter.mul %0, %x : (tensor<f64>, tensor<f64>) -> tensor<f64>
  return %1 : tensor<f64>
})",
                                                             &context);
  func::FuncOp function = *module->getOps<func::FuncOp>().begin();
  HostTensor x = HostTensor::scalar(Float64Type::get(&context), 3), one = HostTensor::scalar(x.elementType(), 1);
  FailureOr<func::FuncOp> reverse = buildGradient(function, 0, {.mode = GradientMode::Grad});
  FailureOr<func::FuncOp> forward = buildGradient(function, 0, {.mode = GradientMode::Jvp});
  ASSERT_TRUE(succeeded(reverse) && succeeded(forward));
  EXPECT_EQ((*Evaluator().run(reverse->getBody(), x))[0].getFloat(0), 3);
  EXPECT_EQ((*Evaluator().run(forward->getBody(), {x, one}))[1].getFloat(0), 3);
}

const char *const kPolicies[] = {"recompute",   "period(1)",   "period(3)",   "period(7)",   "period(100)",
                                 "binomial(1)", "binomial(2)", "binomial(3)", "binomial(7)", "binomial(50)",
                                 "online(1)",   "online(2)",   "online(3)",   "online(7)",   "online(50)"};

TEST_P(Loops, GivesTheSameBitsUnderEachPolicy) {
  if (!GetParam().hasPolicies)
    GTEST_SKIP() << "no loop with a policy";
  SmallVector<HostTensor> values = inputs();
  FailureOr<GradientCheck> all = checkGradients(function, GetParam().wrt, values, {.elements = 0, .memory = "all"});
  ASSERT_TRUE(succeeded(all));
  for (const char *policy : kPolicies) {
    FailureOr<GradientCheck> check = checkGradients(
        function, GetParam().wrt, values, {.elements = 0, .memory = policy, .forwardMode = false, .expand = true});
    ASSERT_TRUE(succeeded(check)) << policy;
    for (auto [gradient, expected] : llvm::zip(check->gradients, all->gradients)) {
      ASSERT_EQ(gradient.shape(), expected.shape()) << policy;
      EXPECT_EQ(0, std::memcmp(gradient.data(), expected.data(), expected.numBytes())) << policy;
    }
  }
}

// Forward over reverse mode goes through the pair of loops, which is expanded after it.
TEST_P(Loops, HaveSecondDerivativesUnderEachPolicy) {
  if (!GetParam().hasPolicies || !GetParam().hasForwardMode)
    GTEST_SKIP() << "no loop with a policy";
  returnSum();
  SmallVector<HostTensor> values = inputs();
  for (unsigned k : GetParam().wrt)
    values.push_back(values[k]);
  SmallVector<HostTensor> expected;
  for (const char *policy : {"all", "recompute", "period(2)", "binomial(2)", "online(3)"}) {
    FailureOr<func::FuncOp> product =
        buildGradient(function, GetParam().wrt, {.mode = GradientMode::HessianVectorProduct, .memory = policy});
    ASSERT_TRUE(succeeded(product)) << policy;
    PassManager pm(&context, func::FuncOp::getOperationName());
    pm.addPass(createExpandCheckpoints());
    ASSERT_TRUE(succeeded(pm.run(*product))) << policy;
    FailureOr<SmallVector<HostTensor>> results = Evaluator().run(product->getBody(), values);
    ASSERT_TRUE(succeeded(results)) << policy;
    product->erase();
    if (expected.empty())
      expected = *results;
    for (auto [got, want] : llvm::zip(*results, expected)) {
      ASSERT_EQ(got.shape(), want.shape()) << policy;
      EXPECT_EQ(0, std::memcmp(got.data(), want.data(), want.numBytes())) << policy;
    }
  }
}

TEST_P(FixedPoints, MatchDifferences) {
  SmallVector<HostTensor> values = inputs();
  FailureOr<GradientCheck> check =
      checkGradients(function, GetParam().wrt, values, {.memory = "implicit", .forwardMode = false, .expand = true});
  ASSERT_TRUE(succeeded(check));
  EXPECT_LE(check->elements[0], 1e-6);
  EXPECT_LE(check->direction, 1e-6);
}

// The product of a Hessian goes through the iteration for the cotangent.
TEST_P(FixedPoints, HaveSecondDerivatives) {
  FailureOr<func::FuncOp> product =
      buildGradient(function, GetParam().wrt, {.mode = GradientMode::HessianVectorProduct, .memory = "implicit"});
  ASSERT_TRUE(succeeded(product));
  FailureOr<func::FuncOp> gradient =
      buildGradient(function, GetParam().wrt, {.mode = GradientMode::Grad, .memory = "implicit"});
  ASSERT_TRUE(succeeded(gradient));
  SmallVector<HostTensor> values = inputs(), below(values), above(values);
  below[0].setFloat(0, values[0].getFloat(0) - 1e-5);
  above[0].setFloat(0, values[0].getFloat(0) + 1e-5);
  values.push_back(HostTensor::scalar(values[0].elementType(), 1));
  auto first = [](func::FuncOp which, ArrayRef<HostTensor> arguments) {
    FailureOr<SmallVector<HostTensor>> results = Evaluator().run(which.getBody(), arguments);
    return succeeded(results) ? results->front().getFloat(0) : NAN;
  };
  EXPECT_NEAR(first(*product, values), (first(*gradient, above) - first(*gradient, below)) / 2e-5, 1e-5);
}

/// The gradient of the sum of all results.
/// And give the same bits under each policy.
TEST_P(CompiledLoops, MatchTheEvaluator) {
  SmallVector<std::pair<const char *, int>> variants{{"all", 0}, {"all", 2}};
  if (GetParam().hasPolicies)
    variants.append({{"recompute", 2}, {"period(2)", 2}, {"binomial(2)", 2}, {"online(2)", 2}});
  returnSum();
  std::vector<std::vector<double>> optimized; // the first policy's results at level 2
  for (auto [memory, level] : variants) {
    FailureOr<func::FuncOp> gradient =
        buildGradient(function, GetParam().wrt, {.mode = GradientMode::ValueAndGrad, .memory = memory});
    ASSERT_TRUE(succeeded(gradient));
    std::string text;
    llvm::raw_string_ostream os(text);
    (*gradient)->print(os);
    gradient->erase();
    Program program(text, level, 2, true);
    ASSERT_EQ(program.error, "") << memory << " at level " << level;
    SmallVector<HostTensor> values = inputsOf(program.function());
    FailureOr<SmallVector<HostTensor>> expected = program.evaluate(values);
    ASSERT_TRUE(succeeded(expected));
    for (int call = 0; call < 2; ++call) {
      std::optional<std::vector<HostTensor>> actual = program.run(values);
      ASSERT_TRUE(actual) << program.error;
      if (level == 2) {
        std::vector<std::vector<double>> elements;
        for (const HostTensor &tensor : *actual)
          elements.push_back(tensor.toFloats());
        optimized = optimized.empty() ? elements : optimized;
        EXPECT_EQ(elements, optimized) << memory;
      }
      for (auto [i, pair] : llvm::enumerate(llvm::zip(*actual, *expected))) {
        auto &[got, want] = pair;
        ASSERT_EQ(got.shape(), want.shape());
        for (int64_t k = 0; k < got.numElements(); ++k)
          EXPECT_NEAR(got.getFloat(k), want.getFloat(k), 1e-11 * std::max(1.0, std::abs(want.getFloat(k))))
              << memory << " at level " << level << ": element " << k << " of output " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, CompiledLoops, testing::ValuesIn(loopCases()),
                         [](const testing::TestParamInfo<LoopCase> &info) { return std::string(info.param.name); });
INSTANTIATE_TEST_SUITE_P(All, FixedPoints, testing::ValuesIn(fixedPointCases()),
                         [](const testing::TestParamInfo<LoopCase> &info) { return std::string(info.param.name); });

INSTANTIATE_TEST_SUITE_P(All, Loops, testing::ValuesIn(loopCases()),
                         [](const testing::TestParamInfo<LoopCase> &info) { return std::string(info.param.name); });

} // namespace

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every gradient rule against the op that it differentiates, in f64 on the reference evaluator: both modes against
// central differences, each other's transpose, the second order (the gradient's own gradient), and what gradients
// consist of.

#include "RuleCase.h"
#include "ir/gradient/Differentiable.h"
#include "passes/gradient/BuildGradient.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace sinter;
using namespace sinter::test;

namespace {

double dot(const Tensors &a, const Tensors &b) {
  double sum = 0;
  for (auto [x, y] : llvm::zip(a, b))
    for (int64_t i = 0; i < x.numElements(); ++i)
      sum += x.getFloat(i) * y.getFloat(i);
  return sum;
}

Tensors randomLike(const Tensors &like, std::mt19937 &random) {
  std::uniform_real_distribution<double> draw(-1, 1);
  Tensors made;
  for (const HostTensor &tensor : like) {
    HostTensor copy(tensor.elementType(), tensor.shape());
    std::vector<double> values(static_cast<size_t>(copy.numElements()));
    for (double &value : values)
      value = draw(random);
    copy.assignFloats(values);
    made.push_back(copy);
  }
  return made;
}

/// inputs + h * tangents, on the arguments `wrt`.
Tensors moved(Tensors inputs, ArrayRef<unsigned> wrt, const Tensors &tangents, double h) {
  for (auto [argument, tangent] : llvm::zip(wrt, tangents)) {
    std::vector<double> values = inputs[argument].toFloats();
    for (int64_t i = 0; i < tangent.numElements(); ++i)
      values[i] += h * tangent.getFloat(i);
    inputs[argument].assignFloats(values);
  }
  return inputs;
}

/// The float tensors of `all`.
Tensors floatsOf(const Tensors &all) {
  Tensors floats;
  for (const HostTensor &tensor : all)
    if (tensor.isFloat())
      floats.push_back(tensor);
  return floats;
}

/// Ops that structure a graph: the gradient walks their regions, or they exist only after it.
bool isStructure(StringRef name) {
  static const llvm::StringSet<> names{"sinter.yield",         "sinter.cond",       "sinter.switch",
                                       "sinter.while",         "sinter.for",        "sinter.scan",
                                       "sinter.kernel",        "sinter.checkpoint", "sinter.custom_vjp",
                                       "sinter.stop_gradient", "sinter.debug_print"};
  return names.contains(name);
}

class Checker {
public:
  explicit Checker(const RuleRow &row) : random(29) {
    name = std::string(row.op) + " {" + row.attributes + "} " + row.types;
  }

  /// Checks `function` at `inputs`, and then its gradients `order - 1` times.
  void check(func::FuncOp function, const Tensors &inputs, int order, bool everyElement) {
    SCOPED_TRACE(name + " order " + std::to_string(order));
    SmallVector<unsigned> wrt;
    for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
      if (isDifferentiable(type) && cast<RankedTensorType>(type).getElementType().isF64())
        wrt.push_back(i);
    if (wrt.empty())
      return;
    GradientOptions reverse, forward;
    reverse.mode = GradientMode::Vjp;
    reverse.name = (function.getName() + "_vjp").str();
    forward.mode = GradientMode::Jvp;
    forward.name = (function.getName() + "_jvp").str();
    FailureOr<func::FuncOp> vjp = buildGradient(function, wrt, reverse), jvp = buildGradient(function, wrt, forward);
    ASSERT_TRUE(succeeded(vjp) && succeeded(jvp));
    ASSERT_TRUE(succeeded(verify(*vjp)) && succeeded(verify(*jvp)));
    expectClosed(*vjp);
    expectClosed(*jvp);

    FailureOr<Tensors> results = run(function, inputs);
    ASSERT_TRUE(succeeded(results));
    Tensors primal, outputs = floatsOf(*results);
    for (unsigned i : wrt)
      primal.push_back(inputs[i]);
    Tensors cotangents = randomLike(outputs, random), tangents = randomLike(primal, random);

    Tensors reverseInputs = inputs, forwardInputs = inputs;
    reverseInputs.append(cotangents.begin(), cotangents.end());
    forwardInputs.append(tangents.begin(), tangents.end());
    FailureOr<Tensors> reversed = run(*vjp, reverseInputs), pushed = run(*jvp, forwardInputs);
    ASSERT_TRUE(succeeded(reversed) && succeeded(pushed));
    Tensors dx(reversed->end() - static_cast<ptrdiff_t>(wrt.size()), reversed->end());
    Tensors ty(pushed->end() - static_cast<ptrdiff_t>(outputs.size()), pushed->end());
    for (auto [gradient, input] : llvm::zip(dx, primal))
      ASSERT_EQ(gradient.shape(), input.shape());

    // <v, J t> = <J^T v, t>
    double forwardDot = dot(cotangents, ty), reverseDot = dot(dx, tangents);
    double scale = std::max({1.0, std::abs(forwardDot), std::abs(reverseDot)});
    EXPECT_NEAR(forwardDot, reverseDot, 1e-9 * scale) << "transposes";
    EXPECT_NEAR(difference(function, inputs, wrt, tangents, cotangents), reverseDot, 2e-6 * scale) << "differences";
    // Forward mode result by result.
    Tensors ahead = floatsOf(*run(function, moved(inputs, wrt, tangents, step))),
            back = floatsOf(*run(function, moved(inputs, wrt, tangents, -step)));
    for (auto [k, tangent] : llvm::enumerate(ty)) {
      ASSERT_EQ(tangent.shape(), outputs[k].shape());
      for (int64_t i = 0; i < tangent.numElements(); ++i)
        EXPECT_NEAR((ahead[k].getFloat(i) - back[k].getFloat(i)) / (2 * step), tangent.getFloat(i),
                    2e-6 * std::max(1.0, std::abs(tangent.getFloat(i))))
            << "tangent " << i << " of result " << k;
    }
    // Reverse mode element by element.
    if (everyElement)
      for (auto [k, gradient] : llvm::enumerate(dx))
        for (int64_t i = 0; i < gradient.numElements(); ++i) {
          Tensors one;
          for (const HostTensor &tensor : primal)
            one.push_back(HostTensor(tensor.elementType(), tensor.shape()));
          one[k].setFloat(i, 1);
          EXPECT_NEAR(difference(function, inputs, wrt, one, cotangents), gradient.getFloat(i),
                      2e-6 * std::max(1.0, std::abs(gradient.getFloat(i))))
              << "element " << i << " of the cotangent of argument " << wrt[k];
        }
    if (order > 1 && !::testing::Test::HasFailure()) {
      check(*vjp, reverseInputs, order - 1, false);
      check(*jvp, forwardInputs, order - 1, false);
    }
  }

private:
  /// Rules emit only what can be differentiated again.
  static void expectClosed(func::FuncOp gradient) {
    gradient.walk([](Operation *op) {
      if (isa_and_present<SinterDialect>(op->getDialect()))
        EXPECT_TRUE((isa<Differentiable, NonDifferentiable, Decomposable>(op)) ||
                    isStructure(op->getName().getStringRef()))
            << op->getName().getStringRef().str();
    });
  }
  static FailureOr<Tensors> run(func::FuncOp function, const Tensors &inputs) {
    return Evaluator().run(function.getBody(), inputs);
  }
  /// <cotangents, (f(x + h t) - f(x - h t)) / 2h>
  double difference(func::FuncOp function, const Tensors &inputs, ArrayRef<unsigned> wrt, const Tensors &tangents,
                    const Tensors &cotangents) const {
    FailureOr<Tensors> ahead = run(function, moved(inputs, wrt, tangents, step)),
                       back = run(function, moved(inputs, wrt, tangents, -step));
    return (dot(cotangents, floatsOf(*ahead)) - dot(cotangents, floatsOf(*back))) / (2 * step);
  }

  static constexpr double step = 1e-5;
  std::string name;
  std::mt19937 random;
};

class RuleTest : public ::testing::TestWithParam<size_t> {};

TEST_P(RuleTest, AgreesWithDifferences) {
  const RuleRow &row = allRows()[GetParam()];
  Case one(row);
  ASSERT_TRUE(one.function);
  Checker(row).check(one.function, one.inputs, 2, true);
}

INSTANTIATE_TEST_SUITE_P(Table, RuleTest, ::testing::Range(size_t(0), allRows().size()),
                         [](const auto &info) { return rowName(info.param); });

//===- the whole dialect ---------------------------------------------------------------------===//

TEST(Rules, EveryOpHasAGradientOrSaysWhyNot) {
  for (RegisteredOperationName op : context().getRegisteredOperations()) {
    if (!isa<SinterDialect>(&op.getDialect()) || isStructure(op.getStringRef()))
      continue;
    EXPECT_TRUE(op.hasInterface<Differentiable>() || op.hasInterface<NonDifferentiable>() ||
                op.hasInterface<Decomposable>())
        << op.getStringRef().str() << " has neither a gradient rule, a decomposition, nor a reason";
    EXPECT_FALSE(op.hasInterface<Differentiable>() && op.hasInterface<NonDifferentiable>()) << op.getStringRef().str();
  }
}

TEST(Rules, EveryRuleIsTestedInFiveConfigurations) {
  llvm::StringMap<int> rows;
  for (const RuleRow &row : allRows())
    ++rows[("sinter." + StringRef(row.op)).str()];
  for (RegisteredOperationName op : context().getRegisteredOperations()) {
    if (!isa<SinterDialect>(&op.getDialect()) || isStructure(op.getStringRef()) || op.hasInterface<NonDifferentiable>())
      continue;
    EXPECT_GE(rows.lookup(op.getStringRef()), 5) << op.getStringRef().str();
  }
}

} // namespace

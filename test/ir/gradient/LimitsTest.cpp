// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients at ties, zeros, poles and borders, as ir/gradient/README.md states them.

#include "RuleCase.h"
#include "ir/gradient/Differentiable.h"
#include "passes/gradient/BuildGradient.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace sinter;
using namespace sinter::test;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();

/// The cotangents of the float arguments under cotangents of 1, and that the other mode says the same in sum.
void expectGradient(const RuleRow &row, const std::vector<std::vector<double>> &expected) {
  SCOPED_TRACE(std::string(row.op) + " " + row.types);
  Case one(row);
  ASSERT_TRUE(one.function);
  SmallVector<unsigned> wrt;
  for (auto [i, type] : llvm::enumerate(one.function.getArgumentTypes()))
    if (isDifferentiable(type))
      wrt.push_back(i);
  ASSERT_EQ(wrt.size(), expected.size());
  FailureOr<func::FuncOp> vjp = buildGradient(one.function, wrt);
  ASSERT_TRUE(succeeded(vjp));
  Tensors inputs = one.inputs;
  for (Type type : vjp->getArgumentTypes().drop_front(inputs.size())) {
    HostTensor ones(cast<RankedTensorType>(type).getElementType(), cast<RankedTensorType>(type).getShape());
    ones.assignFloats(std::vector<double>(static_cast<size_t>(ones.numElements()), 1));
    inputs.push_back(ones);
  }
  FailureOr<Tensors> results = Evaluator().run(vjp->getBody(), inputs);
  ASSERT_TRUE(succeeded(results));
  for (auto [k, wanted] : llvm::enumerate(expected)) {
    std::vector<double> actual = (*results)[results->size() - wrt.size() + k].toFloats();
    ASSERT_EQ(actual.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i)
      EXPECT_TRUE(std::isnan(wanted[i]) ? std::isnan(actual[i]) : actual[i] == wanted[i])
          << "element " << i << " of cotangent " << k << " is " << actual[i] << " instead of " << wanted[i];
  }
}

TEST(Limits, AbsAndSteps) {
  expectGradient({"abs", "", "4=-2,0,3,-0 -> 4"}, {{-1, 0, 1, 0}});
  expectGradient({"sign", "", "3=-2,0,3 -> 3"}, {{0, 0, 0}});
  expectGradient({"round", "", "2=0.5,1.5 -> 2"}, {{0, 0}});
}

TEST(Limits, TiesOfMaxAndMinAreShared) {
  expectGradient({"max", "", "3=1,2,3 3=2,2,1 -> 3"}, {{0, 0.5, 1}, {1, 0.5, 0}});
  expectGradient({"min", "", "3=1,2,3 3=2,2,1 -> 3"}, {{1, 0.5, 0}, {0, 0.5, 1}});
}

TEST(Limits, AConstantTakesNoMoreOfATieThanATensor) { // torch.maximum and jnp.maximum
  expectGradient({"max", "", "3=-1,0,1 c3=0,0,0 -> 3"}, {{0, 0.5, 1}});
  expectGradient({"min", "", "c3=0,0,0 3=-1,0,1 -> 3"}, {{1, 0.5, 0}});
}

TEST(Limits, InfiniteBoundsTakeNothing) { // relu
  expectGradient({"clamp", "", "c4=0,0,0,0 4=-1,0,1,inf c4=inf,inf,inf,inf -> 4"}, {{0, 0, 1, 1}});
  expectGradient({"clamp", "", "c3=-inf,-inf,-inf 3=-inf,0,1 c3=0,0,0 -> 3"}, {{1, 0, 0}});
  expectGradient({"clamp", "", "c2=-inf,-inf 2=-inf,inf c2=inf,inf -> 2"}, {{1, 1}});
}

TEST(Limits, BoundsTakeTheTiesOfClamp) {
  expectGradient({"clamp", "", "3=-1,-1,-1 3=-1,0,1 3=1,1,1 -> 3"}, {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}});
  expectGradient({"clamp", "", "1=2 1=0 1=1 -> 1"}, {{0}, {0}, {1}});
}

TEST(Limits, PowersOfZero) {
  expectGradient({"pow", "", "5=0,0,0,0,0 5=2,1,0,0.5,-1 -> 5"}, {{0, 1, 0, inf, -inf}, {0, 0, 0, 0, -inf}});
  expectGradient({"pow", "", "2=-2,-2 2=3,2 -> 2"}, {{12, -4}, {nan, nan}});
  expectGradient({"pow", "", "2=0,-2 c2=2,2 -> 2"}, {{0, -4}});
  expectGradient({"pow", "", "2=0,3 c2=0,0 -> 2"}, {{0, 0}});
}

TEST(Limits, InfiniteSlopes) {
  expectGradient({"sqrt", "", "2=0,4 -> 2"}, {{inf, 0.25}});
  expectGradient({"log", "", "1=0 -> 1"}, {{inf}});
  expectGradient({"div", "", "1=0 1=2 -> 1"}, {{0.5}, {0}});
  expectGradient({"atan2", "", "1=0 1=0 -> 1"}, {{nan}, {nan}});
}

TEST(Limits, ProductsWithZeros) {
  expectGradient({"reduce", "axes = [0], combiner = #combiner mul", "3=2,0,3 -> s"}, {{0, 6, 0}});
  expectGradient({"reduce", "axes = [0], combiner = #combiner mul", "3=0,0,3 -> s"}, {{0, 0, 0}});
  expectGradient({"cumulative", "axis = 0, combiner = #combiner mul", "3=2,0,3 -> 3"}, {{1, 8, 0}});
  expectGradient({"scatter_elements", "axis = 0, combiner = #combiner mul", "2=2,5 i3=0,0,1 3=0,3,0 -> 2"},
                 {{0, 0}, {6, 0, 5}});
}

TEST(Limits, ExtremaOfMany) {
  expectGradient({"reduce", "axes = [0], combiner = #combiner max", "4=2,1,2,0 -> s"}, {{0.5, 0, 0.5, 0}});
  expectGradient({"cumulative", "axis = 0, combiner = #combiner max", "4=2,2,1,3 -> 4"}, {{3, 0, 0, 1}});
  expectGradient({"scatter_elements", "axis = 0, combiner = #combiner max", "2=2,5 i3=0,0,1 3=2,1,0 -> 2"},
                 {{0.5, 1}, {0.5, 0, 0}});
}

TEST(Limits, WindowsTakeTheFirst) {
  expectGradient({"reduce_window",
                  "combiner = #combiner max, window = [2], strides = [2], low = [0], high = [0], dilations = [1]",
                  "4=1,1,2,3 -> 2"},
                 {{1, 0, 0, 1}});
  // The first window lies in the padding.
  expectGradient({"reduce_window",
                  "combiner = #combiner min, window = [2], strides = [2], low = [2], high = [0], dilations = [1]",
                  "2=2,1 -> 2"},
                 {{0, 1}});
}

TEST(Limits, TheLastWriteWins) {
  expectGradient({"scatter_elements", "axis = 0, combiner = #combiner set", "2 i3=0,0,7 3 -> 2"}, {{0, 1}, {0, 1, 0}});
}

TEST(Limits, ReadsOutsideAreThoseOfTheBorder) {
  expectGradient({"gather", "axis = 0", "3 i3=-9,5,-1 -> 3"}, {{1, 0, 2}});
}

TEST(Limits, OrdersAreStable) {
  expectGradient({"sort", "axis = 0", "3=1,1,0 -> 3 i3"}, {{1, 1, 1}});
  expectGradient({"top_k", "axis = 0", "3=1,1,0 cis=1 -> 1 i1"}, {{1, 0, 0}});
}

TEST(Limits, SingularMatricesHaveCofactors) {
  expectGradient({"det", "", "2x2=1,2,2,4 -> s"}, {{4, -2, -2, 1}});
  expectGradient({"det", "", "2x2=0,0,0,0 -> s"}, {{0, 0, 0, 0}});
}

} // namespace

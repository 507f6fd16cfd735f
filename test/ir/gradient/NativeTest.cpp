// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients as native code, plain and optimized, against the evaluator: the first row of each op, and one with sizes
// that are known at run time only.

#include "RuleCase.h"
#include "ir/gradient/Differentiable.h"
#include "passes/gradient/BuildGradient.h"
#include "test/backends/cpu/Execute.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::test;

namespace {

/// Rows to compile: of each op the first, and the first with a `?`.
std::vector<size_t> nativeRows() {
  std::vector<size_t> chosen;
  llvm::StringSet<> fixed, free;
  for (auto [i, row] : llvm::enumerate(allRows()))
    if ((StringRef(row.types).contains('?') ? free : fixed).insert(row.op).second)
      chosen.push_back(i);
  return chosen;
}

class NativeGradient : public ::testing::TestWithParam<size_t> {};

TEST_P(NativeGradient, AgreesWithTheEvaluator) {
  const RuleRow &row = allRows()[GetParam()];
  SCOPED_TRACE(std::string(row.op) + " {" + row.attributes + "} " + row.types);
  Case one(row);
  ASSERT_TRUE(one.function);
  SmallVector<unsigned> wrt;
  for (auto [i, type] : llvm::enumerate(one.function.getArgumentTypes()))
    if (isDifferentiable(type))
      wrt.push_back(i);
  FailureOr<func::FuncOp> vjp = buildGradient(one.function, wrt);
  ASSERT_TRUE(succeeded(vjp));
  FailureOr<Tensors> results = Evaluator().run(one.function.getBody(), one.inputs);
  ASSERT_TRUE(succeeded(results));
  std::vector<HostTensor> inputs(one.inputs.begin(), one.inputs.end());
  for (const HostTensor &result : *results)
    if (result.isFloat()) {
      HostTensor cotangent(result.elementType(), result.shape());
      for (int64_t i = 0; i < cotangent.numElements(); ++i)
        cotangent.setFloat(i, 0.3 * static_cast<double>(i % 7) - 0.8);
      inputs.push_back(cotangent);
    }
  FailureOr<Tensors> expected = Evaluator().run(vjp->getBody(), inputs);
  ASSERT_TRUE(succeeded(expected));
  one.function.erase();
  std::string text;
  llvm::raw_string_ostream(text) << *one.module;
  // Sizes that are known at run time only are a matter of the optimized form.
  for (int level : {2, 0}) {
    if (level == 0 && StringRef(row.types).contains('?'))
      continue;
    Program program(text, level, 2, /*isGraph=*/true);
    ASSERT_EQ(program.error, "") << "at level " << level << "\n" << text;
    auto actual = program.run(inputs);
    ASSERT_TRUE(actual) << program.error;
    ASSERT_EQ(actual->size(), expected->size());
    for (auto [i, pair] : llvm::enumerate(llvm::zip(*actual, *expected))) {
      auto &[got, want] = pair;
      ASSERT_EQ(got.shape(), want.shape()) << "result " << i << " at level " << level;
      for (int64_t k = 0; k < got.numElements(); ++k)
        EXPECT_NEAR(got.getFloat(k), want.getFloat(k), 1e-9 * std::max(1.0, std::abs(want.getFloat(k))))
            << "element " << k << " of result " << i << " at level " << level;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Table, NativeGradient, ::testing::ValuesIn(nativeRows()),
                         [](const auto &info) { return rowName(info.param); });

} // namespace

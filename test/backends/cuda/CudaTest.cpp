// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The programs of ExecuteTest (control flow, loops, sizes that only running tells) as PTX on the machine of test/cuda.

#include "CudaProgram.h"
#include "test/backends/cpu/Execute.h"
#include <cstdio>

using namespace sinter;

/// Every program of this binary is for the CUDA back end.
static sinter_module *openCuda(mlir::ModuleOp fused, int, std::string &error) {
  cuda::Compiled compiled;
  sinter_module *module = nullptr;
  if (cuda::compile(fused, compiled, error) && sinter_module_open(compiled.path.c_str(), nullptr, &module))
    error = sinter_last_error();
  std::remove(compiled.path.c_str());
  return module;
}

static const bool isSet = (test::openProgram = openCuda, true);

namespace {
/// No kernel of any test does what the machine reports.
class CleanMachine : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo &) override { EXPECT_EQ(cuda::report(), ""); }
};
} // namespace

static const bool isWatched = (testing::UnitTest::GetInstance()->listeners().Append(new CleanMachine), true);

static cuda::Compiled compiled(const char *text) {
  cuda::Compiled result;
  std::string error;
  EXPECT_TRUE(cuda::compileGraph(text, result, error)) << error;
  std::remove(result.path.c_str());
  return result;
}

static const char chainText[] = R"(
  func.func @f(%x: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3xf32>) {
    %e = sinter.kernel map(%x) : (tensor<3x4xf32>) -> tensor<3x4xf32> {
    ^bb0(%a: tensor<3x4xf32>):
      %r = sinter.exp %a : (tensor<3x4xf32>) -> tensor<3x4xf32>
      sinter.yield(%r) : tensor<3x4xf32>
    }
    %s = sinter.kernel row(%e) : (tensor<3x4xf32>) -> tensor<3x4xf32> {
    ^bb0(%a: tensor<3x4xf32>):
      %r = sinter.softmax %a {axis = 1 : i64} : (tensor<3x4xf32>) -> tensor<3x4xf32>
      sinter.yield(%r) : tensor<3x4xf32>
    }
    %n = sinter.kernel reduce(%s) : (tensor<3x4xf32>) -> tensor<3xf32> {
    ^bb0(%a: tensor<3x4xf32>):
      %r = sinter.reduce max %a axes = [1] : (tensor<3x4xf32>) -> tensor<3xf32>
      sinter.yield(%r) : tensor<3xf32>
    }
    return %s, %n : tensor<3x4xf32>, tensor<3xf32>
  })";

TEST(Cuda, EveryFormIsOnTheGpu) {
  ASSERT_TRUE(isSet && isWatched);
  cuda::Compiled result = compiled(chainText);
  EXPECT_EQ(result.onDevice, 3u);
  EXPECT_EQ(result.onHost, 0u);
  for (const char *part :
       {".target sm_80", ".version 7.0", ".visible .entry cuda_test_k0_map", "kernel cuda_test_k0_map thread 256\n"})
    EXPECT_NE(result.code.find(part), std::string::npos) << part << " in\n" << result.code;
  test::expectMatches(chainText, {{{{3, 4}, {}}}});
}

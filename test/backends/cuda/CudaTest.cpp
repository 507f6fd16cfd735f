// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The programs of ExecuteTest (control flow, loops, sizes that only running tells) as PTX on the machine of test/cuda.

#include "CudaProgram.h"
#include "test/backends/cpu/Execute.h"
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <unistd.h>

using namespace sinter;

/// Every program of this binary is for the CUDA back end.
static sinter_module *openCuda(mlir::ModuleOp fused, int, std::string &error) {
  cuda::Compiled compiled;
  return cuda::compile(fused, compiled, error) ? cuda::open(compiled, error) : nullptr;
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
  EXPECT_TRUE(cuda::compileText(text, result, error)) << error;
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
       {".target sm_80", ".version 7.0", ".visible .entry sinter_k0_map", "kernel sinter_k0_map thread 256\n"})
    EXPECT_NE(result.code.find(part), std::string::npos) << part << " in\n" << result.code;
  test::expectMatches(chainText, {{{{3, 4}, {}}}});
}

/// The GPU is asked twice about a kernel: when its schedule is chosen, and when code is made, by when it has the
/// host's.
TEST(Cuda, WhatHasNoFormStaysOnTheHost) {
  const char text[] = R"(func.func @f(%x: tensor<3x4xf64>, %y: tensor<4x2xf64>) -> (tensor<3x2xf64>, tensor<2x?xi64>) {
    %p = sinter.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f64} : (tensor<3x4xf64>, tensor<4x2xf64>) -> tensor<3x2xf64>
    %s = sinter.cumulative add %p {axis = 0 : i64} : (tensor<3x2xf64>) -> tensor<3x2xf64>
    %t = sinter.nonzero %s : (tensor<3x2xf64>) -> tensor<2x?xi64>
    return %s, %t : tensor<3x2xf64>, tensor<2x?xi64>
  })";
  cuda::Compiled result = compiled(text);
  EXPECT_EQ(result.onDevice, 2u);
  EXPECT_EQ(result.onHost, 1u);
  test::expectMatches(text, {{{{3, 4}, {}}, {{4, 2}, {}}}}, 1e-14, /*isGraph=*/true);
}

//===- What goes wrong ------------------------------------------------------------------------===//

/// Runs the chain with call number n of a kind failing, for every n until none fails; then the same session works.
static void failEach(const char *kind) {
  test::Program program(chainText, 2);
  ASSERT_EQ(program.error, "");
  std::vector<HostTensor> inputs = {test::makeInput(mlir::Float32Type::get(&program.context), {{3, 4}, {}})};
  auto expected = program.evaluate(inputs);
  unsigned failures = 0;
  for (unsigned n = 1; n < 50; ++n) {
    cuda::failAt(kind, n);
    bool isRight = program.run(inputs).has_value();
    cuda::failAt(kind, 0);
    failures += !isRight;
    if (!isRight)
      EXPECT_NE(program.error.find("back end cuda"), std::string::npos) << program.error;
    auto after = program.run(inputs);
    ASSERT_TRUE(after) << kind << " " << n << ": " << program.error;
    for (int64_t k = 0; k < 3; ++k)
      EXPECT_NEAR((*after)[1].getFloat(k), (*expected)[1].getFloat(k), 1e-6);
  }
  EXPECT_GT(failures, 0u) << kind;
}

TEST(CudaFaults, AFailingCopyLeavesAUsableSession) { failEach("copy"); }

/// A kernel that faults ends its context, as the driver has it: later calls say so.
TEST(CudaFaults, AfterAFailingLaunchEveryCallIsAnError) {
  for (unsigned n = 1; n <= 3; ++n) {
    test::Program program(chainText, 2);
    ASSERT_EQ(program.error, "");
    std::vector<HostTensor> inputs = {test::makeInput(mlir::Float32Type::get(&program.context), {{3, 4}, {}})};
    cuda::failAt("launch", n);
    EXPECT_FALSE(program.run(inputs));
    cuda::failAt("launch", 0);
    EXPECT_NE(program.error.find("back end cuda"), std::string::npos) << program.error;
    EXPECT_FALSE(program.run(inputs));
    EXPECT_NE(program.error.find("unspecified launch failure"), std::string::npos) << program.error;
  }
}

TEST(CudaFaults, AModuleThatTheDriverRefusesIsAnError) {
  cuda::Compiled compiled;
  std::string error;
  ASSERT_TRUE(cuda::compileText(chainText, compiled, error)) << error;
  cuda::failAt("module", 1);
  EXPECT_EQ(cuda::open(compiled, error), nullptr);
  cuda::failAt("module", 0);
  EXPECT_NE(error.find("GPU cuda:0 does not take its code"), std::string::npos) << error;
}

TEST(CudaFaults, AllocationsThatFailAreErrorsOrTriedAgain) {
  for (unsigned n = 1; n < 8; ++n) {
    cuda::failAt("alloc", n);
    test::Program program(chainText, 2);
    std::vector<HostTensor> inputs = {test::makeInput(mlir::Float32Type::get(&program.context), {{3, 4}, {}})};
    if (program.error.empty() && !program.run(inputs))
      EXPECT_NE(program.error.find("memory"), std::string::npos) << program.error;
    else if (!program.error.empty())
      EXPECT_NE(program.error.find("weights on GPU cuda:0"), std::string::npos) << program.error;
    cuda::failAt("alloc", 0);
    if (program.session)
      EXPECT_TRUE(program.run(inputs)) << program.error;
  }
}

//===- ptxas ----------------------------------------------------------------------------------===//

static const char manyText[] = R"(
  func.func @f(%x: tensor<40x70xf32>, %y: tensor<70x30xf32>, %i: tensor<40x70xi64>, %h: tensor<40x70xf16>)
      -> (tensor<40x30xf32>, tensor<40xf32>, tensor<40x70xf32>, tensor<40x70xf32>, tensor<40x70xf16>, tensor<40x70xf32>) {
    %p = sinter.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<40x70xf32>, tensor<70x30xf32>) -> tensor<40x30xf32>
    %s = sinter.reduce add %x axes = [1] : (tensor<40x70xf32>) -> tensor<40xf32>
    %m = sinter.softmax %x {axis = 1 : i64} : (tensor<40x70xf32>) -> tensor<40x70xf32>
    %u = sinter.sin %x : (tensor<40x70xf32>) -> tensor<40x70xf32>
    %t = sinter.tanh %h : (tensor<40x70xf16>) -> tensor<40x70xf16>
    %r = sinter.rem %x, %u : (tensor<40x70xf32>, tensor<40x70xf32>) -> tensor<40x70xf32>
    return %p, %s, %m, %u, %t, %r : tensor<40x30xf32>, tensor<40xf32>, tensor<40x70xf32>, tensor<40x70xf32>, tensor<40x70xf16>, tensor<40x70xf32>
  })";

TEST(CudaPtx, AssemblesForAllGenerations) {
  if (std::system("ptxas --version > /dev/null 2>&1") != 0)
    GTEST_SKIP() << "ptxas is not installed";
  for (const char *target : {"cpu+cuda", "cpu+cuda:sm_90"}) {
    cuda::Compiled compiled;
    std::string error;
    ASSERT_TRUE(cuda::compileText(manyText, compiled, error, target)) << error;
    std::remove(compiled.path.c_str());
    EXPECT_EQ(compiled.onHost, 0u);
    std::string path = testing::TempDir() + "sinter-" + std::to_string(getpid()) + ".ptx";
    size_t ptx = compiled.code.find("\n\n");
    std::ofstream(path) << compiled.code.substr(ptx + 2);
    for (const char *generation : {"sm_80", "sm_89", "sm_90", "sm_100"}) {
      if (std::string(target) == "cpu+cuda:sm_90" && std::string(generation).size() == 5 &&
          generation < std::string("sm_90"))
        continue;
      std::string output = path + ".log";
      int status = std::system(
          ("ptxas -v -o /dev/null -arch=" + std::string(generation) + " " + path + " > " + output + " 2>&1").c_str());
      std::ifstream log(output);
      std::string told((std::istreambuf_iterator<char>(log)), std::istreambuf_iterator<char>());
      EXPECT_EQ(status, 0) << generation << ": " << told;
      // No kernel here may spill.
      for (size_t at = told.find("bytes spill stores"); at != std::string::npos;
           at = told.find("bytes spill stores", at + 1))
        EXPECT_EQ(told.substr(at - 2, 2), "0 ") << generation << ": " << told;
      std::remove(output.c_str());
    }
    std::remove(path.c_str());
  }
}

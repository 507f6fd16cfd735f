// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls as CUDA graphs: how often they are built, launched and changed, what their nodes wait for, and that results
// have the bits that single launches give. The machine runs nodes that are free of each other in an order that is not
// the text's.

#include "CudaProgram.h"
#include "test/backends/cpu/Execute.h"
#include <cstdlib>

using namespace sinter;

/// Two chains that meet at the end: an exponential and a softmax of x, a sum over y.
static const char forkText[] = R"(func.func @f(%x: tensor<?x8xf32>, %y: tensor<?x8xf32>) -> tensor<?xf32> {
    %e = sinter.exp %x : (tensor<?x8xf32>) -> tensor<?x8xf32>
    %s = sinter.softmax %e {axis = 1 : i64} : (tensor<?x8xf32>) -> tensor<?x8xf32>
    %m = sinter.reduce max %s axes = [1] : (tensor<?x8xf32>) -> tensor<?xf32>
    %n = sinter.reduce add %y axes = [1] : (tensor<?x8xf32>) -> tensor<?xf32>
    %c = sinter.cumulative add %n {axis = 0 : i64} : (tensor<?xf32>) -> tensor<?xf32>
    %r = sinter.mul %m, %c : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    return %r : tensor<?xf32>
  })";

TEST(CudaGraphs, ACallIsOneLaunchOfAGraphThatIsBuiltOnce) {
  test::Program program(forkText, 2, 1, /*isGraph=*/true);
  ASSERT_EQ(program.error, "");
  std::vector<HostTensor> inputs = inputsOf(program, {{{3, 8}, {}}, {{3, 8}, {}}});
  for (uint64_t call = 1; call <= 3; ++call) {
    ASSERT_TRUE(program.run(inputs)) << program.error;
    EXPECT_EQ(cuda::count("graph"), call);
    EXPECT_EQ(cuda::count("to host"), call);
  }
  EXPECT_EQ(cuda::count("build"), 1u);
  EXPECT_EQ(cuda::count("update"), 0u);
  EXPECT_EQ(cuda::count("launch"), 0u);
}

/// Two copies of inputs and the kernels; a chain would have one edge fewer than nodes, and so has a tree: what is free
/// stays free, and nothing is ordered twice.
TEST(CudaGraphs, NodesWaitForWhatTheyReadAlone) {
  test::Program program(forkText, 2, 1, /*isGraph=*/true);
  ASSERT_EQ(program.error, "");
  ASSERT_TRUE(program.run(inputsOf(program, {{{3, 8}, {}}, {{3, 8}, {}}}))) << program.error;
  std::string kernels;
  size_t launches = 0;
  for (size_t at = cuda::lastCode().find("kernel sinter"); at != std::string::npos;
       at = cuda::lastCode().find("\nkernel sinter", at + 1))
    ++launches;
  EXPECT_GE(launches, 3u);
  EXPECT_EQ(cuda::count("edge"), launches + 2 - 1) << cuda::lastCode().substr(0, cuda::lastCode().find("\n\n"));
}

/// More sizes than graphs are kept for: their nodes are changed. Each size comes twice.
TEST(CudaGraphs, OtherSizesChangeTheNodes) {
  test::Program program(forkText, 2, 1, /*isGraph=*/true);
  ASSERT_EQ(program.error, "");
  for (int round = 0; round < 2; ++round)
    for (int64_t rows : {3, 5, 300, 7, 1, 64, 40}) {
      std::vector<HostTensor> inputs = inputsOf(program, {{{rows, 8}, {}}, {{rows, 8}, {1, 0.5, 0.25}}});
      auto expected = program.evaluate(inputs);
      auto actual = program.run(inputs);
      ASSERT_TRUE(actual) << program.error;
      for (int64_t k = 0; k < rows; ++k)
        ASSERT_NEAR((*actual)[0].getFloat(k), (*expected)[0].getFloat(k), 2e-5 * (1 + k)) << rows << " rows";
    }
  EXPECT_GT(cuda::count("update"), 0u);
  EXPECT_LT(cuda::count("build"), 14u);
  EXPECT_EQ(cuda::count("launch"), 0u);
}

TEST(CudaGraphs, WithoutThemResultsHaveTheSameBits) {
  std::vector<std::vector<HostTensor>> results;
  for (const char *how : {"on", "off"}) {
    cuda::Graphs graphs(how);
    test::Program program(forkText, 2, 1, /*isGraph=*/true);
    ASSERT_EQ(program.error, "");
    for (int64_t rows : {3, 70}) {
      auto actual = program.run(inputsOf(program, {{{rows, 8}, {}}, {{rows, 8}, {}}}));
      ASSERT_TRUE(actual) << program.error;
      results.push_back(std::move(*actual));
    }
    EXPECT_EQ(cuda::count("graph") > 0, std::string(how) == "on");
    EXPECT_EQ(cuda::count("launch") > 0, std::string(how) == "off");
  }
  for (size_t i : {0, 1})
    EXPECT_EQ(std::string(results[i][0].data(), results[i][0].numBytes()),
              std::string(results[i + 2][0].data(), results[i + 2][0].numBytes()));
}

TEST(CudaGraphs, AnUnknownWayIsAnError) {
  cuda::Graphs graphs("perhaps");
  test::Program program(forkText, 2, 1, /*isGraph=*/true);
  EXPECT_NE(program.error.find("SINTER_CUDA_GRAPHS requires on, launches or off, got 'perhaps'"), std::string::npos)
      << program.error;
}

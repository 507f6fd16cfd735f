// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a jitted function tells of itself: kernels that it ran, and the text of phases.

#include "Agree.h"

using namespace sinter;

namespace {

Tensor network(Tensor x, Tensor w) {
  return sum(for_loop(0, 5, [&](Tensor, Tensor x) { return tanh(matmul(x, w)); }, x));
}

TEST(Profile, CountsTheCallsOfEachKernel) {
  auto f = jit(network, {.profile = true});
  Tensor x = ones({32, 32}), w = full({32, 32}, 0.01f);
  float value = f(x, w).item<float>();
  EXPECT_EQ(value, jit(network)(x, w).item<float>());
  for (int k = 0; k < 2; ++k)
    (void)f(x, w);
  Profile profile = f.profile();
  EXPECT_EQ(profile.calls, 3);
  EXPECT_GT(profile.seconds, 0);
  // A product with its tanh in each of 5 trips, and a sum at the end.
  int64_t products = 0, sums = 0;
  double seconds = 0, share = 0, before = profile.seconds;
  for (const Profile::Kernel &kernel : profile.kernels) {
    if (kernel.name.find("dot_general") != std::string::npos) {
      products += kernel.calls;
      EXPECT_NE(kernel.name.find("tanh"), std::string::npos) << kernel.name;
    }
    if (kernel.name.find(": reduce") != std::string::npos)
      sums += kernel.calls;
    seconds += kernel.seconds;
    share += kernel.share;
    EXPECT_LE(kernel.seconds, before); // the longest first
    before = kernel.seconds;
    EXPECT_NE(profile.str().find(kernel.name), std::string::npos);
  }
  EXPECT_EQ(products, 15);
  EXPECT_EQ(sums, 3);
  EXPECT_LE(seconds, profile.seconds);
  EXPECT_NEAR(share, seconds / profile.seconds, 1e-9);
  EXPECT_NE(profile.str().find("3 calls"), std::string::npos);
}

TEST(Profile, TellsFormsApart) {
  auto f = jit([](Tensor x) { return exp(x); }, {.profile = true});
  (void)f(ones({1000}));
  (void)f(ones({2000}));
  Profile profile = f.profile();
  ASSERT_EQ(profile.kernels.size(), 2U);
  EXPECT_NE(profile.kernels[0].name.substr(0, 6), profile.kernels[1].name.substr(0, 6)); // "form 1", "form 2"
}

TEST(Profile, IsOffByDefault) {
  auto f = jit(network);
  (void)f(ones({8, 8}), ones({8, 8}));
  EXPECT_EQ(f.profile().calls, 0);
  EXPECT_TRUE(f.profile().kernels.empty());
  // Code does not ask for it.
  EXPECT_EQ(f.dump("llvm", ones({8, 8}), ones({8, 8})).find("dot_general tanh"), std::string::npos);
}

TEST(Dump, GivesTheTextOfEachPhase) {
  auto f = jit([](Tensor x) { return exp(x) + 1; });
  Tensor x = ones({1000});
  const std::pair<const char *, const char *> marks[] = {{"graph", "sinter.exp"},
                                                         {"fused", "= sinter.kernel"},
                                                         {"schedule", "schedule.launch"},
                                                         {"loops", "scf.for"},
                                                         {"llvm", "llvm."},
                                                         {"asm", ".text"}};
  for (auto [phase, mark] : marks)
    EXPECT_NE(f.dump(phase, x).find(mark), std::string::npos) << phase << "\n" << f.dump(phase, x);
  EXPECT_EQ(f.dump("graph", x).find("sinter.kernel"), std::string::npos);
  EXPECT_EQ(f.cache_size(), 0); // nothing was compiled to be run
  auto named = jit([](Tensor x) { return exp(x); }, {.specs = {spec<float>({"n"})}});
  EXPECT_NE(named.dump("graph", x).find("tensor<?xf32>"), std::string::npos);
}

TEST(Dump, RefusesOtherPhases) {
  try {
    jit([](Tensor x) { return x; }).dump("none", ones({2}));
    FAIL() << "no error";
  } catch (const Error &error) {
    EXPECT_EQ(error.message(), "dump requires one of graph, fused, schedule, loops, llvm and asm, got 'none'");
  }
}

} // namespace

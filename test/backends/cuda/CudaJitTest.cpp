// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions that are jitted for a GPU, on the machine of test/cuda.

#include "CudaProgram.h"
#include <cmath>
#include <gtest/gtest.h>
#include <sinter/sinter.hpp>

using namespace sinter;

/// x = cos(a x) by Newton's method, as README.md has it.
static Tensor fixedPoint(Tensor a) {
  auto [x, step] = while_loop([](auto, auto step) { return max(abs(step)) > 1e-6f; },
                              [&](auto x, auto) {
                                auto d = (x - cos(a * x)) / (1 + a * sin(a * x));
                                return std::tuple{x - d, d};
                              },
                              full_like(a, 0.5f), full_like(a, 1.f));
  return x;
}

static Tensor values() { return Tensor(std::vector<float>{0.25f, 1, 2, 1.5f}, {4}); }

TEST(CudaJit, RunsOnTheGpuWithoutTheHostInItsLoop) {
  cuda::report(); // opens the machine
  Tensor a = values(), wanted = fixedPoint(a);
  auto onGpu = jit(fixedPoint, {.device = "cuda"});
  Tensor first = onGpu(a);
  uint64_t graphs = cuda::count("graph"), launches = cuda::count("launch");
  Tensor got = onGpu(a);
  EXPECT_LE(max(abs(got - wanted)).item<float>(), 1e-6f);
  EXPECT_EQ(cuda::count("graph"), graphs + 1);
  EXPECT_EQ(cuda::count("launch"), launches);
  EXPECT_EQ(cuda::report(), "");
}

TEST(CudaJit, GradientsRunThere) {
  cuda::report();
  Tensor a = values();
  auto slope = [](Tensor a) { return grad([](Tensor a) { return sum(a * sin(a)); })(a); };
  uint64_t graphs = cuda::count("graph");
  Tensor got = jit(slope, {.device = "cuda"})(a), wanted = jit(slope, {.device = "cpu"})(a);
  EXPECT_GT(cuda::count("graph"), graphs);
  EXPECT_LE(max(abs(got - wanted)).item<float>(), 1e-6f);
  EXPECT_EQ(cuda::report(), "");
}

TEST(CudaJit, AnotherDeviceIsAnError) {
  try {
    jit(fixedPoint, {.device = "tpu"})(values());
    FAIL() << "no error";
  } catch (const Error &error) {
    EXPECT_NE(error.message().find("a jitted function requires a device cpu, cuda or cuda:NUMBER, got 'tpu'"),
              std::string::npos)
        << error.message();
  }
}

TEST(CudaJit, AProfileHasTheKernelsOfTheGpu) {
  auto f = jit([](Tensor x) { return sum(tanh(x) * x); }, {.profile = true, .device = "cuda"});
  Tensor x = full({64, 64}, 0.5f);
  float value = f(x).item<float>();
  EXPECT_EQ(f(x).item<float>(), value);
  EXPECT_NEAR(value, 64 * 64 * 0.5 * std::tanh(0.5), 0.1);
  Profile profile = f.profile();
  EXPECT_EQ(profile.calls, 2);
  int64_t kernels = 0, copies = 0;
  for (const Profile::Kernel &kernel : profile.kernels) {
    bool isCopy = kernel.name.starts_with("copy "), isBack = kernel.name == "copy to the host";
    kernels += isCopy ? 0 : kernel.calls;
    copies += isBack ? kernel.calls : 0;
  }
  EXPECT_GE(kernels, 2) << profile.str();
  EXPECT_EQ(copies, 2) << profile.str();
}

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

/// The gradient keeps what each trip computed: the forward loop makes its trips in rounds, the backward one walks the
/// tape from its end, and the host waits as often however many trips there are.
TEST(CudaJit, GradientsOfLoopsThatDataEndsRunThere) {
  cuda::report();
  auto slope = jit([](Tensor a) { return grad([](Tensor a) { return sum(fixedPoint(a)); })(a); }, {.device = "cuda"});
  std::vector<uint64_t> waits;
  for (float scale : {0.f, 1.f, 2.f}) {
    Tensor a = values() * scale;
    Tensor got = slope(a); // compiled
    uint64_t before = cuda::count("wait");
    got = slope(a);
    waits.push_back(cuda::count("wait") - before);
    // x = cos(a x), so dx = -sin(a x) (x da + a dx).
    Tensor x = fixedPoint(a), wanted = -x * sin(a * x) / (1 + a * sin(a * x));
    EXPECT_LE(max(abs(got - wanted)).item<float>(), 1e-5f) << scale;
    EXPECT_EQ(cuda::report(), "");
  }
  EXPECT_EQ(waits[0], waits[2]); // of 2 and of 6 trips
  EXPECT_LE(waits[2], 8u);
}

/// x + sin(a x) / 10, again and again as long as a number says, with a tape of 64 KiB a trip: rooms of 16, 32, 64
/// trips. The host waits as often as the logarithm of the trips.
TEST(CudaJit, TapesGrowInRounds) {
  cuda::report();
  auto loss = [](Tensor a, Tensor end) {
    auto [x, n] = while_loop([&](auto, auto n) { return n < end; },
                             [&](auto x, auto n) { return std::tuple{x + 0.1f * sin(a * x), n + 1.f}; },
                             full_like(a, 1.f), full({}, 0.f));
    return sum(x);
  };
  auto slope =
      jit([loss](Tensor a, Tensor end) { return grad([&](Tensor a) { return loss(a, end); })(a); }, {.device = "cuda"});
  Tensor a = full({16384}, 0.75f);
  slope(a, full({}, 2.f)); // compiled
  std::vector<uint64_t> waits;
  for (int trips : {1, 15, 20, 40}) {
    uint64_t before = cuda::count("wait");
    Tensor got = slope(a, full({}, float(trips)));
    waits.push_back(cuda::count("wait") - before);
    double x = 1, dx = 0;
    for (int t = 0; t < trips; ++t) {
      dx += 0.1 * std::cos(0.75 * x) * (x + 0.75 * dx);
      x += 0.1 * std::sin(0.75 * x);
    }
    EXPECT_LE(max(abs(got - full({16384}, float(dx)))).item<float>(), 1e-5f * std::fabs(dx)) << trips;
    EXPECT_EQ(cuda::report(), "");
  }
  EXPECT_EQ(waits[0], waits[1]);
  EXPECT_LE(waits[2], waits[0] + 3);
  EXPECT_LE(waits[3], waits[0] + 6);
  EXPECT_LE(waits[0], 10u);
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

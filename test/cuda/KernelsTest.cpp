// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Programs that nvcc made (kernels/), against answers that are known by formula.
#include "test/cuda/Runner.h"

#include <bit>
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <numeric>
#include <sstream>

using namespace sinter::ptx;

static const std::string &text() {
  static const std::string all = [] {
    std::ifstream file(CUDA_KERNELS "/kernels.ptx");
    std::stringstream stream;
    stream << file.rdbuf();
    return stream.str();
  }();
  return all;
}

static std::vector<float> ramp(size_t n) {
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i)
    values[i] = float(int(i * 37 % 101) - 50);
  return values;
}

TEST(Kernels, reductions_by_shuffles_and_by_the_last_block) {
  Runner run(text());
  auto in = ramp(1000);
  const float sum = std::accumulate(in.begin(), in.end(), 0.0f); // integers: exact in any order
  uint64_t p = run.put(in), out = run.room(16), all = run.room(4);
  run.launch("reduce", {4}, {128}, p, out, 1000);
  auto parts = run.get<float>(out, 4);
  EXPECT_EQ(parts[0] + parts[1] + parts[2] + parts[3], sum);
  for (int again = 0; again < 2; ++again) {
    run.launch("reduceAll", {4}, {128}, p, out, all, 1000);
    EXPECT_EQ(run.get<float>(all, 1)[0], sum);
  }
}

TEST(Kernels, histogram_and_transpose) {
  Runner run(text());
  std::vector<uint8_t> bytes(3000);
  std::vector<uint32_t> want(256);
  for (size_t i = 0; i < bytes.size(); ++i)
    ++want[bytes[i] = uint8_t(i * i % 251)];
  uint64_t out = run.put(std::vector<uint32_t>(256));
  run.launch("histogram", {3}, {96}, run.put(bytes), out, 3000);
  EXPECT_EQ(run.get<uint32_t>(out, 256), want);
  auto in = ramp(50 * 70);
  uint64_t to = run.room(50 * 70 * 4);
  run.launch("transpose", {3, 2}, {32, 8}, run.put(in), to, 50, 70);
  auto got = run.get<float>(to, 50 * 70);
  for (int r = 0; r < 50; ++r)
    for (int c = 0; c < 70; ++c)
      ASSERT_EQ(got[c * 50 + r], in[r * 70 + c]);
}

TEST(Kernels, divergent_loops_calls_and_prints) {
  Runner run(text());
  uint64_t out = run.room(100 * 4);
  run.launch("collatz", {2}, {64}, out, 100);
  auto got = run.get<uint32_t>(out, 100);
  for (uint64_t i = 0; i < 100; ++i) {
    uint32_t steps = 0;
    for (uint64_t v = i + 1; v != 1; ++steps)
      v = v % 2 ? 3 * v + 1 : v / 2;
    EXPECT_EQ(got[i], steps);
  }
  run.launch("recursive", {}, {32}, out);
  got = run.get<uint32_t>(out, 32);
  const uint32_t fibonacci[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55};
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(got[i], fibonacci[i % 11]);
  EXPECT_EQ(run.printed, "3 of fibonacci is 2.0\n");
}

TEST(Kernels, elementary_functions_of_nvcc_hold_their_bounds) {
  Runner run(text());
  std::vector<float> in = {0.5f, -1.25f, 3,    20,  -7.5f, 1e-5f, 100,        -0.875f,
                           1e5f, 2.5e6f, 0.1f, -30, 1,     2,     6.2831853f, 44};
  const int n = int(in.size());
  uint64_t out = run.room(uint64_t(n) * 32);
  run.launch("elementary", {}, {32}, run.put(in), out, n);
  auto got = run.get<float>(out, size_t(n) * 8);
  auto near = [](float a, double b, double ulps) {
    return (std::isinf(a) && std::fabs(b) > 3.4e38) ||
           std::fabs(a - b) <= ulps * std::max(std::fabs(b) * 0x1p-23, 0x1p-149);
  };
  for (int i = 0; i < n; ++i) {
    double x = in[i];
    EXPECT_TRUE(near(got[i], std::sin(x), 2)) << x << " " << got[i]; // the bounds of the CUDA guide
    EXPECT_TRUE(near(got[n + i], std::exp(x), 2)) << x << " " << got[n + i];
    EXPECT_TRUE(near(got[2 * n + i], std::log(double(std::fabs(in[i]) + 0.25f)), 1.5)) << x;
    EXPECT_TRUE(near(got[3 * n + i], std::tanh(x), 2)) << x;
    EXPECT_TRUE(near(got[4 * n + i], std::erf(x), 2)) << x;
    EXPECT_EQ(got[5 * n + i], 1.0f / in[i]);
    EXPECT_TRUE(near(got[6 * n + i], std::pow(std::fabs(x), 1.5), 4)) << x;
    EXPECT_TRUE(near(got[7 * n + i], std::lgamma(std::fabs(x) + 1), 2)) << x << " " << got[7 * n + i];
  }
}

TEST(Kernels, integers) {
  Runner run(text());
  std::vector<uint64_t> in(32);
  for (uint64_t i = 0; i < 32; ++i)
    in[i] = (i + 1) * 0x9e3779b97f4a7c15u;
  uint64_t out = run.room(32 * 64);
  run.launch("integers", {}, {32}, run.put(in), out);
  auto got = run.get<uint64_t>(out, 32 * 8);
  for (unsigned i = 0; i < 32; ++i) {
    uint64_t a = in[i], b = in[31 - i], reversed = 0;
    const uint64_t *g = &got[i * 8];
    for (int k = 0; k < 64; ++k)
      reversed |= (a >> k & 1) << (63 - k);
    auto byte = [&](unsigned k) { return uint32_t(k < 4 ? a >> (8 * k) : b >> (8 * (k - 4))) & 255; };
    EXPECT_EQ(g[0], uint64_t((unsigned __int128)a * b >> 64));
    EXPECT_EQ(g[1], a / (b | 1));
    EXPECT_EQ(g[2], uint64_t(int64_t(a) % int64_t(b >> 40 | 1)));
    EXPECT_EQ(g[3], uint64_t(std::popcount(a) + 100 * std::countl_zero(b)));
    EXPECT_EQ(g[4], reversed);
    EXPECT_EQ(uint32_t(g[5]), byte(5) | byte(1) << 8 | byte(7) << 16 | byte(3) << 24);
    EXPECT_EQ(uint32_t(g[5] >> 32), uint32_t(b) << 7 | uint32_t(a) >> 25);
    EXPECT_EQ(uint32_t(g[6]), std::bit_cast<uint32_t>(float(a)));
    EXPECT_EQ(int32_t(g[6] >> 32), int32_t(std::floor(float(int32_t(b)) * 1e-3f)));
    EXPECT_EQ(g[7], (a << (b & 63)) ^ uint64_t(int64_t(a) >> (b & 31)));
  }
}

TEST(Kernels, halves) {
  Runner run(text());
  std::vector<_Float16> a(64), b(64);
  std::vector<uint16_t> c(32);
  for (int i = 0; i < 64; ++i) {
    a[i] = (_Float16)(0.37f * float(i - 20));
    b[i] = (_Float16)(1.0f / float(i + 1));
  }
  for (unsigned i = 0; i < 32; ++i)
    c[i] = uint16_t(std::bit_cast<uint32_t>(1.1f * float(i + 1)) >> 16);
  uint64_t out = run.room(128), out2 = run.room(64);
  run.launch("halves", {}, {32}, run.put(a), run.put(b), out, run.put(c), out2);
  auto got = run.get<_Float16>(out, 64);
  auto got2 = run.get<uint16_t>(out2, 32);
  auto bf16 = [](float x) { // to nearest, ties to even
    uint32_t bits = std::bit_cast<uint32_t>(x);
    return std::bit_cast<float>((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000);
  };
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(got[i], (_Float16)((double)a[i] * (double)b[i] + (double)(_Float16)((double)b[i] * (double)b[i]))) << i;
  for (unsigned i = 0; i < 32; ++i) {
    float x = std::bit_cast<float>(uint32_t(c[i]) << 16);
    EXPECT_EQ(std::bit_cast<float>(uint32_t(got2[i]) << 16), bf16(bf16(x * x) + x)) << i;
  }
}

TEST(Kernels, softmax) {
  Runner run(text());
  auto in = ramp(3 * 700);
  for (float &x : in)
    x /= 8;
  uint64_t out = run.room(3 * 700 * 4);
  run.launch("softmax", {3}, {256}, run.put(in), out, 700);
  auto got = run.get<float>(out, 3 * 700);
  for (int r = 0; r < 3; ++r) {
    double sum = 0;
    for (int i = 0; i < 700; ++i)
      sum += std::exp(double(in[r * 700 + i]));
    for (int i = 0; i < 700; ++i)
      EXPECT_NEAR(got[r * 700 + i], std::exp(double(in[r * 700 + i])) / sum, 1e-6);
  }
}

static std::string productFault(const std::string &ptx, bool check) {
  Runner run(ptx);
  const int m = 64, n = 128, k = 96;
  std::vector<_Float16> a(m * k), b(k * n);
  for (int i = 0; i < m * k; ++i)
    a[i] = (_Float16)(i * 7 % 15 - 7);
  for (int i = 0; i < k * n; ++i)
    b[i] = (_Float16)(i * 5 % 11 - 5);
  uint64_t c = run.room(m * n * 4);
  std::string fault = run.fault("product", {2, 1}, {128}, run.put(a), run.put(b), c, m, n, k);
  if (check) {
    auto got = run.get<float>(c, m * n);
    for (int r = 0; r < m; ++r)
      for (int j = 0; j < n; ++j) {
        float want = 0;
        for (int i = 0; i < k; ++i)
          want += float(a[r * k + i]) * float(b[i * n + j]);
        if (got[r * n + j] != want)
          return "wrong at " + std::to_string(r) + ", " + std::to_string(j);
      }
  }
  return fault;
}

TEST(Kernels, product_by_ldmatrix_mma_and_a_pipeline_of_copies) { EXPECT_EQ(productFault(text(), true), ""); }

// Broken programs: the n-th `from` of the kernel becomes `to`, and the report names the kind, the kernel, and a line of
// it.
struct Mutant {
  const char *kernel, *from;
  int n;
  const char *to, *kind;
};

static std::string mutate(const Mutant &mutant) {
  std::string changed = text();
  size_t begin = changed.find(std::string(".entry ") + mutant.kernel + "("), end = changed.find("\n}", begin),
         at = begin;
  for (int n = 0; n <= mutant.n; ++n) {
    at = changed.find(mutant.from, at + 1);
    if (at == std::string::npos || at > end)
      return "";
  }
  return changed.replace(at, std::string(mutant.from).size(), mutant.to);
}

static std::string runOf(const std::string &kernel, const std::string &ptx) {
  if (kernel == "product")
    return productFault(ptx, false);
  Runner run(ptx);
  auto in = ramp(1000);
  uint64_t p = run.put(in), out = run.room(16);
  if (kernel == "reduce")
    return run.fault("reduce", {4}, {128}, p, out, 1000);
  if (kernel == "reduceAll")
    return run.fault("reduceAll", {4}, {128}, p, out, run.room(4), 1000);
  if (kernel == "histogram")
    return run.fault("histogram", {3}, {96}, run.put(std::vector<uint8_t>(3000, 7)),
                     run.put(std::vector<uint32_t>(256)), 3000);
  if (kernel == "transpose")
    return run.fault("transpose", {1, 2}, {32, 8}, run.put(ramp(32 * 50)), run.room(32 * 50 * 4), 50, 32);
  if (kernel == "collatz")
    return run.fault("collatz", {2}, {64}, run.room(400), 100);
  return run.fault("softmax", {3}, {256}, run.put(ramp(2100)), run.room(8400), 700);
}

TEST(Mutants, are_caught_with_kind_kernel_and_line) {
  // Where another warp has not yet written what is read too early, the read is one of uninitialised memory.
  const char *const race = "race", *const unwritten = "uninitialised memory", *const reg = "uninitialised register",
                    *const outside = "out of bounds";
  const Mutant mutants[] = {
      {"reduce", "bar.sync \t0;", 0, "", unwritten},
      {"reduce", "shfl.sync.down.b32", 0, "@%p1 shfl.sync.down.b32", reg},
      {"reduceAll", "bar.sync \t0;", 0, "", unwritten},
      {"reduceAll", "bar.sync \t0;", 1, "", race},
      {"reduceAll", "bar.sync \t0;", 3, "", race},
      {"reduceAll", "membar.gl;", 0, "", race},
      {"reduceAll", "membar.gl;", 1, "", race},
      {"reduceAll", "atom.global.add.u32", 0, "ld.global.u32 %r1, [arrived]; atom.global.add.u32", race},
      {"histogram", "bar.sync \t0;", 0, "", race},
      {"histogram", "bar.sync \t0;", 1, "", race},
      {"histogram", "atom.shared.add.u32", 0, "st.shared.u32 [%r1], 0; //", reg},
      {"transpose", "bar.sync \t0;", 0, "", unwritten},
      {"collatz", "setp.ge.s32", 0, "setp.gt.s32", outside},
      {"softmax", "bar.sync \t0;", 0, "", race},
      {"softmax", "bar.sync \t0;", 1, "", race},
      {"softmax", "bar.sync \t0;", 2, "", race},
      {"product", "cp.async.wait_group 1;", 0, "", race},
      {"product", "cp.async.wait_group 1;", 0, "cp.async.wait_group 2;", race},
      {"product", "cp.async.wait_group 0;", 0, "", race},
      {"product", "bar.sync \t0;", 0, "", race},
      {"product", "bar.sync \t0;", 1, "", race},
  };
  for (const Mutant &mutant : mutants) {
    const std::string name = std::string(mutant.kernel) + ": " + mutant.from + " " + std::to_string(mutant.n);
    EXPECT_EQ(runOf(mutant.kernel, text()), "") << name;
    const std::string changed = mutate(mutant);
    ASSERT_NE(changed, "") << name;
    const std::string report = runOf(mutant.kernel, changed),
                      begin = std::string(mutant.kind) + ": kernel " + mutant.kernel + ", k.ptx:";
    ASSERT_EQ(report.substr(0, begin.size()), begin) << name << "\n" << report;
    // The line is one of the kernel.
    const size_t line = std::stoul(report.substr(begin.size()));
    const size_t entry = changed.find(std::string(".entry ") + mutant.kernel + "("), end = changed.find("\n}", entry);
    EXPECT_GT(line, size_t(std::count(changed.begin(), changed.begin() + entry, '\n'))) << name;
    EXPECT_LT(line, size_t(std::count(changed.begin(), changed.begin() + end, '\n')) + 1) << name;
  }
}

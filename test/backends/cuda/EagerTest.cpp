// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops that compute at once on a GPU, on the machine of test/cuda, which has two devices here. Oracles are formulas.

#include "CudaProgram.h"
#include <cmath>
#include <cstdio>
#include <gtest/gtest.h>
#include <sinter/losses.hpp>
#include <sinter/nn.hpp>
#include <sinter/sinter.hpp>
#include <sinter/train.hpp>
#include <thread>

using namespace sinter;

static const bool hasTwo = setenv("SINTER_PTX_DEVICE", "sm_90,sm_80", 1) == 0; // before the machine starts

namespace {
class Eager : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(hasTwo);
    cuda::report(); // names the machine as the driver
  }
  void TearDown() override { EXPECT_EQ(cuda::report(), ""); }
};
} // namespace

static int64_t compiles() {
  sinter_jit_report report{};
  report.struct_size = sizeof report;
  EXPECT_EQ(sinter_jit_stats(&report), SINTER_OK);
  return report.eager_compiles;
}

template <class F> static std::string errorOf(F &&f) {
  try {
    f();
  } catch (const Error &error) {
    return error.message();
  }
  return "no error";
}

static void expectContains(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

static void expectNear(const Tensor &got, std::initializer_list<double> wanted, double tolerance = 1e-5) {
  std::vector<double> values = got.to_vector<double>();
  ASSERT_EQ(values.size(), wanted.size());
  size_t k = 0;
  for (double value : wanted)
    EXPECT_NEAR(values[k++], value, tolerance) << "element " << k - 1;
}

TEST_F(Eager, TensorsStayOnTheDeviceBetweenOps) {
  Tensor x = Tensor({0.5f, -1.f, 2.f}).to("cuda:0");
  EXPECT_EQ(x.device(), "cuda:0");
  uint64_t copies = cuda::count("to host"), launches = cuda::count("launch") + cuda::count("graph");
  Tensor y = sum(exp(x) * 2.f + 1.f);
  EXPECT_EQ(y.device(), "cuda:0");
  EXPECT_EQ(cuda::count("to host"), copies);
  EXPECT_GT(cuda::count("launch") + cuda::count("graph"), launches);
  EXPECT_NEAR(y.item<float>(), 2 * (std::exp(0.5) + std::exp(-1.0) + std::exp(2.0)) + 3, 1e-4);
  EXPECT_EQ(cuda::count("to host"), copies + 1);
  EXPECT_EQ(y.item<float>(), y.item<float>()); // kept
  EXPECT_EQ(cuda::count("to host"), copies + 1);
}

TEST_F(Eager, AnOpIsCompiledOnceForAClassOfShapes) {
  auto row = [](int64_t size) { return full({size}, 2.f).to("cuda:0"); };
  expectNear(sqrt(row(3) + row(3)), {2, 2, 2});
  int64_t before = compiles();
  expectNear(sqrt(row(5) + row(5)), {2, 2, 2, 2, 2});
  EXPECT_EQ(compiles(), before + 0);
  expectNear(sqrt(row(1) + row(1)), {2}); // 1 is a class of its own
  EXPECT_GT(compiles(), before);
}

TEST_F(Eager, CopiesGoThereAndBack) {
  Tensor x({1.f, 2.f, 3.f}), there = x.to("cuda"), other = there.to("cuda:1"), back = other.to("cpu");
  EXPECT_EQ(x.device(), "cpu");
  EXPECT_EQ(there.device(), "cuda:0");
  EXPECT_EQ(other.device(), "cuda:1");
  EXPECT_EQ(back.device(), "cpu");
  expectNear(back, {1, 2, 3});
  EXPECT_EQ(there.to("cuda:0").value(), there.value());
  EXPECT_EQ(x.to("cpu").value(), x.value());
  EXPECT_EQ(there.span<float>()[2], 3);
  EXPECT_EQ(there.bytes().size(), 12u);
  EXPECT_EQ(to_string(there), "[1, 2, 3] on cuda:0");
  Tensor none = zeros({0, 3}).to("cuda:0");
  EXPECT_EQ((none + none).device(), "cuda:0");
  EXPECT_EQ((none + none).known_shape()[1], 3);
  Tensor truths = Tensor({1.f, -1.f}).to("cuda:0") > 0.f;
  EXPECT_EQ(truths.device(), "cuda:0");
  EXPECT_EQ(truths.to_vector<bool>(), (std::vector<bool>{true, false}));
}

TEST_F(Eager, TensorsOfSeveralDevicesAreAnError) {
  Tensor x({1.f, 2.f}), a = x.to("cuda:0"), b = x.to("cuda:1");
  expectContains(errorOf([&] { x + a; }),
                 "add requires tensors on one device, got f32[2] on cpu and f32[2] on cuda:0 (move one with to)");
  expectContains(errorOf([&] { a *b; }),
                 "mul requires tensors on one device, got f32[2] on cuda:0 and f32[2] on cuda:1 (move one with to)");
  // Numbers go along.
  Tensor factor = sum(x);
  EXPECT_EQ(factor.device(), "cpu");
  expectNear(a * factor + 1, {4, 7});
  EXPECT_EQ((a * factor).device(), "cuda:0");
}

TEST_F(Eager, DevicesThatAreNotThereAreErrors) {
  Tensor x({1.f, 2.f});
  expectContains(errorOf([&] { x.to("tpu"); }), "to 'tpu': a device is cpu, cuda or cuda:NUMBER, got 'tpu'");
  expectContains(errorOf([&] { x.to("cuda:7"); }), "it requires GPU number 7 of 2");
  expectContains(errorOf([] { DeviceScope scope("cuda:"); }), "DeviceScope 'cuda:': a device is cpu, cuda or");
  expectContains(errorOf([] { (void)set_default_device("cuda:9"); }), "it requires GPU number 9 of 2");
  std::string driver = std::getenv("SINTER_CUDA_DRIVER");
  setenv("SINTER_CUDA_DRIVER", "/none.so", 1);
  expectContains(errorOf([&] { x.to("cuda:3"); }), "it requires the NVIDIA driver");
  setenv("SINTER_CUDA_DRIVER", driver.c_str(), 1);
  expectContains(errorOf([&] { Tensor().to("cuda:0"); }), "to requires a tensor, got a Tensor() without a value");
  expectContains(errorOf([&] { jit([](Tensor x) { return x.to("cuda:0"); })(x); }),
                 "to requires a tensor with elements, got one of a trace");
  expectContains(errorOf([&] { astype(Tensor({1.f}), DType::f8E5M2).to("cuda:0"); }), "has no element type of DLPack");
}

TEST_F(Eager, NewTensorsAreMadeWhereAScopeSays) {
  EXPECT_EQ(default_device(), "cpu");
  {
    DeviceScope gpu("cuda:1");
    EXPECT_EQ(default_device(), "cuda:1");
    EXPECT_EQ(Tensor({1.f, 2.f}).device(), "cuda:1");
    EXPECT_EQ(full({2, 2}, 3.f).device(), "cuda:1");
    EXPECT_EQ(random::uniform(key(1), {4}).device(), "cuda:1");
    expectNear(arange(3, DType::f32) * Tensor({1.f, 2.f, 3.f}), {0, 2, 6});
    {
      DeviceScope cpu("cpu");
      EXPECT_EQ(zeros({2}).device(), "cpu");
    }
    std::thread([] { EXPECT_EQ(zeros({2}).device(), "cpu"); }).join();
    // Tensors of the host stay there with what the library makes for them.
    Tensor host = Tensor({1.f, 0.f, 1.f}).to("cpu");
    EXPECT_EQ(softmax(host).device(), "cpu");
    EXPECT_EQ(cumsum(host).device(), "cpu");
  }
  EXPECT_EQ(zeros({2}).device(), "cpu");
  ASSERT_TRUE(set_default_device("cuda:0"));
  EXPECT_EQ(zeros({2}).device(), "cuda:0");
  std::thread([] { EXPECT_EQ(zeros({2}).device(), "cuda:0"); }).join();
  ASSERT_TRUE(set_default_device("cpu"));
  EXPECT_EQ(zeros({2}).device(), "cpu");
}

TEST_F(Eager, RandomNumbersAreThoseOfTheHost) {
  std::vector<float> wanted = random::normal(key(7), {33}).to_vector<float>();
  DeviceScope gpu("cuda:0");
  Tensor got = random::normal(key(7), {33});
  EXPECT_EQ(got.device(), "cuda:0");
  EXPECT_EQ(got.to_vector<float>(), wanted);
}

TEST_F(Eager, GradientsAreOnTheDeviceOfTheirTensors) {
  Tensor w = Tensor({0.5f, -2.f}).to("cuda:0").requires_grad();
  Tensor x = Tensor({3.f, 0.25f}).to("cuda:0");
  uint64_t copies = cuda::count("to host");
  Tensor y = sum(sin(w) * x);
  EXPECT_EQ(cuda::count("to host"), copies);
  ASSERT_TRUE(backward(y));
  EXPECT_EQ(w.grad().device(), "cuda:0");
  expectNear(w.grad(), {3 * std::cos(0.5), 0.25 * std::cos(-2.0)});
  // Second derivatives.
  w.zero_grad();
  Tensor slope = gradients({sum(w * w * w)}, {w}, {}, {.create_graph = true})[0];
  expectNear(slope, {3 * 0.25, 3 * 4});
  expectNear(gradients({sum(slope)}, {w})[0], {6 * 0.5, -12});
  // Of what does not matter: zeros there.
  Tensor z = Tensor({1.f, 1.f}).to("cuda:0").requires_grad();
  Tensor nothing = gradients({sum(w * 2)}, {z})[0];
  EXPECT_EQ(nothing.device(), "cuda:0");
  expectNear(nothing, {0, 0});
}

TEST_F(Eager, GradientsGoBackThroughCopies) {
  Tensor w = Tensor({0.5f, -2.f}).requires_grad();
  Tensor y = sum(power(w.to("cuda:0"), 2));
  EXPECT_EQ(y.device(), "cuda:0");
  ASSERT_TRUE(backward(y));
  EXPECT_EQ(w.grad().device(), "cpu");
  expectNear(w.grad(), {1, -4});
  Tensor seed({1.f, 1.f});
  Tensor v = Tensor({1.f, 2.f}).to("cuda:0").requires_grad();
  expectContains(errorOf([&] { (void)backward(v * v, seed); }), "a seed on cuda:0, got one on cpu (move it with to)");
  ASSERT_TRUE(backward(v * v, seed.to("cuda:0")));
  expectNear(v.grad(), {2, 4});
}

TEST_F(Eager, ElementsAreReplacedInPlace) {
  Tensor x = Tensor({1.f, 2.f}).to("cuda:0"), same = x, shared = x.detach();
  expectNear(shared, {1, 2}); // a copy on the host
  x.assign(x * 3);
  expectNear(same, {3, 6});
  expectNear(shared, {3, 6});
  EXPECT_EQ(x.version(), 1);
  x.assign(full({2}, 4.f).to("cuda:0"));
  expectNear(shared, {4, 4});
  expectContains(errorOf([&] { x.assign(Tensor({1.f, 2.f})); }),
                 "assign requires values on cuda:0, got them on cpu (move them with to)");
  // A gradient that needs the elements before.
  Tensor w = Tensor({1.f, 2.f}).to("cuda:0").requires_grad();
  Tensor y = sum(w * x);
  x.assign(x + 1);
  expectContains(errorOf([&] { (void)backward(y); }), "changed in place");
}

TEST_F(Eager, WhatHasNoFormThereIsComputedOnCopies) {
  Tensor x = Tensor({0.f, 5.f, 0.f, 7.f}).to("cuda:0");
  Tensor places = nonzero(x); // whose size only running tells
  EXPECT_EQ(places.device(), "cuda:0");
  EXPECT_EQ(places.to_vector<int64_t>(), (std::vector<int64_t>{1, 3}));
  Tensor angles = Tensor({0.25, 1.5}).to("cuda:0"); // sines of f64 have no polynomial
  Tensor sines = sin(angles);
  EXPECT_EQ(sines.device(), "cuda:0");
  expectNear(sines, {std::sin(0.25), std::sin(1.5)}, 1e-15);
}

TEST_F(Eager, IndexingLoopsAndBranchesWorkThere) {
  Tensor x = Tensor({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}}).to("cuda:0");
  EXPECT_EQ(x[1].device(), "cuda:0");
  expectNear(x[1], {4, 5, 6});
  expectNear(x(ellipsis, 2), {3, 6});
  expectNear(x(1, slice(0, 2)), {4, 5});
  expectNear(x.at(0, 1).set(9), {1, 9, 3, 4, 5, 6});
  auto [total, sums] =
      scan([](Tensor sum, Tensor row) { return std::pair(sum + row, sum + row); }, zeros_like(x[0]), x);
  EXPECT_EQ(sums.device(), "cuda:0");
  expectNear(total, {5, 7, 9});
  expectNear(sums, {1, 2, 3, 5, 7, 9});
  Tensor grown = x[0];
  while (sum(grown) < 40.f)
    grown = grown * 2;
  expectNear(grown, {8, 16, 24});
  expectNear(one_hot(Tensor({1, 0}).to("cuda:0"), 2), {0, 1, 1, 0});
  expectNear(concatenate({x, x}, 0).to("cpu")[3], {4, 5, 6});
}

TEST_F(Eager, JittedFunctionsRunWhereTheirArgumentsAre) {
  auto f = jit([](Tensor a, Tensor b) { return std::pair(matmul(a, b), sum(a)); });
  Tensor a({{1.f, 2.f}, {3.f, 4.f}}), there = a.to("cuda:0");
  uint64_t graphs = cuda::count("graph"), copies = cuda::count("to host");
  auto [product, total] = f(there, there);
  EXPECT_GT(cuda::count("graph"), graphs);
  EXPECT_EQ(cuda::count("to host"), copies);
  EXPECT_EQ(product.device(), "cuda:0");
  expectNear(product, {7, 10, 15, 22});
  expectNear(total, {10});
  auto onHost = f(a, a);
  EXPECT_EQ(onHost.first.device(), "cpu");
  expectNear(onHost.first, {7, 10, 15, 22});
  expectNear(f(there + 1, there).first, {11, 16, 19, 28});
  EXPECT_EQ(f.cache_size(), 2);
  expectContains(f.explain(), "the arguments' device changed from cuda:0 to cpu");
  expectContains(errorOf([&] { f(a, there); }),
                 "a jitted function requires tensors on one device, got f32[2, 2] on cpu");
  auto other = jit([](Tensor a) { return a * 2; }, {.device = "cuda:1"});
  expectContains(errorOf([&] { other(there); }),
                 "a jitted function for cuda:1 requires arguments there or on the host, "
                 "got f32[2, 2] on cuda:0 (move it with to)");
  EXPECT_EQ(other(a).device(), "cpu"); // as ever
  EXPECT_EQ(other(a.to("cuda:1")).device(), "cuda:1");
  expectNear(other(a.to("cuda:1")), {2, 4, 6, 8});
  auto cpu = jit([](Tensor a) { return a * 2; }, {.device = "cpu"});
  expectContains(errorOf([&] { cpu(there); }), "a jitted function for cpu requires arguments");
}

TEST_F(Eager, GradientsOfFunctionsAreThere) {
  Tensor x = Tensor({0.5f, 1.f}).to("cuda:0"), scale = Tensor({2.f, 3.f}).to("cuda:0");
  Tensor slope = grad([&](Tensor x) { return sum(scale * x * x); })(x);
  EXPECT_EQ(slope.device(), "cuda:0");
  expectNear(slope, {2, 6});
}

TEST_F(Eager, WhatTakesTensorsOfTheHostAloneSaysSo) {
  Tensor x = Tensor({1.f, 2.f}).to("cuda:0");
  Session session(build(trace([](Tensor x) { return x * 2; }, {spec<float>({2})})));
  Tensor result;
  expectContains(errorOf([&] { (void)session.call(std::span(&x, 1), std::span(&result, 1)); }),
                 "call requires tensors of the host, got f32[2] on cuda:0 (copy them with to, or use call_on_device)");
  struct Line {
    Tensor slope;
  };
  auto loss = [](Line &line, nn::Mode &, const Tensor &x) { return sum(line.slope * x); };
  auto step = train_step(loss, Line{x}, optim::sgd({.lr = 0.1}));
  expectContains(errorOf([&] { step(Tensor({1.f, 2.f})); }),
                 "a training step runs on the CPU and requires tensors of the host, got f32[2] on cuda:0");
}

TEST_F(Eager, OtherLibrariesGetItsMemory) {
  Tensor x = Tensor({1.f, 2.f}).to("cuda:1");
  dlpack::ManagedTensor *managed = to_dlpack(x);
  ASSERT_NE(managed, nullptr);
  EXPECT_EQ(managed->view.device.type, 2);
  EXPECT_EQ(managed->view.device.id, 1);
  EXPECT_EQ(managed->view.shape[0], 2);
  managed->deleter(managed);
}

TEST_F(Eager, FilesAreReadToWhereTheModelIs) {
  struct Line {
    Tensor slope;
  };
  std::string path = testing::TempDir() + "eager-line.safetensors";
  ASSERT_TRUE(nn::save(path, Line{Tensor({1.f, 2.f}).to("cuda:0") * 2}));
  Line line = to_device(Line{zeros({2})}, "cuda:1");
  ASSERT_TRUE(nn::load(path, line));
  std::remove(path.c_str());
  EXPECT_EQ(line.slope.device(), "cuda:1");
  expectNear(line.slope, {2, 4});
}

/// Least squares by steps down the slope; the same in plain C++ by its formula.
TEST_F(Eager, ATrainingLoopRunsThere) {
  constexpr int kRows = 6, kSteps = 20;
  double xs[kRows], ys[kRows], slope = 0, offset = 0;
  std::vector<float> x, y;
  for (int k = 0; k < kRows; ++k) {
    x.push_back(float(xs[k] = 0.3 * k - 0.7));
    y.push_back(float(ys[k] = 1.5 * xs[k] - 0.25 + (k % 2 ? 0.1 : -0.1)));
  }
  for (int step = 0; step < kSteps; ++step) {
    double bySlope = 0, byOffset = 0;
    for (int k = 0; k < kRows; ++k) {
      double error = slope * xs[k] + offset - ys[k];
      bySlope += 2 * error * xs[k] / kRows;
      byOffset += 2 * error / kRows;
    }
    slope -= 0.2 * bySlope;
    offset -= 0.2 * byOffset;
  }
  struct Line {
    Tensor slope, offset;
  };
  Line line = to_device(Line{zeros({1}).requires_grad(), zeros({1}).requires_grad()}, "cuda:0");
  EXPECT_EQ(line.slope.device(), "cuda:0");
  Tensor input = Tensor(x).to("cuda:0"), target = Tensor(y).to("cuda:0");
  uint64_t copies = cuda::count("to host");
  for (int step = 0; step < kSteps; ++step) {
    ASSERT_TRUE(backward(mse_loss(input * line.slope + line.offset, target)));
    NoGrad off;
    for (Tensor *weight : {&line.slope, &line.offset}) {
      weight->assign(*weight - 0.2f * weight->grad());
      weight->zero_grad();
    }
  }
  EXPECT_EQ(cuda::count("to host"), copies);
  EXPECT_NEAR(line.slope.item<float>(), slope, 1e-5);
  EXPECT_NEAR(line.offset.item<float>(), offset, 1e-5);
}

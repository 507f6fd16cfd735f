// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Agree.h"
#include <chrono>
#include <thread>

using namespace sinter;
using namespace sinter::test;

namespace {

TEST(Jit, CompilesOncePerSignature) {
  auto f = jit([](Tensor x, Tensor y) { return x * y + 1; });
  EXPECT_EQ(f(2.f, 3.f).item<float>(), 7);
  EXPECT_EQ(f(4.f, 5.f).item<float>(), 21);
  EXPECT_EQ(f.cache_size(), 1);
  EXPECT_EQ(f(Tensor({1.f, 2.f}), 3.f).to_vector<float>(), (std::vector<float>{4, 7}));
  EXPECT_EQ(f(2, 3).item<int>(), 7);
  EXPECT_EQ(f.cache_size(), 3);
  EXPECT_EQ(f(2.f, 3.f).item<float>(), 7);
  EXPECT_EQ(f.cache_size(), 3);
}

TEST(Jit, ExplainsWhatChanged) {
  auto f = jit([](std::pair<Tensor, Tensor> p) { return p.first + p.second; });
  f(std::pair{scalar(1.f), scalar(2.f)});
  f(std::pair{scalar(1.f), Tensor({2.f, 3.f})});
  std::string text = f.explain();
  EXPECT_NE(text.find("compiled form 1: first call"), std::string::npos) << text;
  EXPECT_NE(text.find("compiled form 2: argument 0[1] changed from f32[] to f32[2]"), std::string::npos) << text;
}

TEST(Jit, NamedSizesShareOneForm) {
  auto f = jit([](Tensor x) { return sum(x * x); }, {.specs = {spec<float>({"n"})}});
  EXPECT_EQ(f(Tensor({1.f, 2.f})).item<float>(), 5);
  EXPECT_EQ(f(Tensor({1.f, 2.f, 3.f})).item<float>(), 14);
  EXPECT_EQ(f.cache_size(), 1);
}

struct Config {
  Tensor x;
  int power;
};

TEST(Jit, NumbersInStructsAreFixed) {
  auto f = jit([](Config c) {
    Tensor y = c.x;
    for (int k = 1; k < c.power; ++k)
      y = y * c.x;
    return y;
  });
  EXPECT_EQ(f(Config{scalar(2.f), 3}).item<float>(), 8);
  EXPECT_EQ(f(Config{scalar(2.f), 5}).item<float>(), 32);
  EXPECT_EQ(f.cache_size(), 2);
  EXPECT_NE(f.explain().find("a number or text in the arguments changed"), std::string::npos);
}

TEST(Jit, InsideOfATraceBecomesPartOfIt) {
  auto inner = jit([](Tensor x) { return x * 2; });
  auto outer = jit([&](Tensor x) { return inner(x) + inner(x); });
  EXPECT_EQ(outer(3.f).item<float>(), 12);
  EXPECT_EQ(inner.cache_size(), 0);
}

TEST(Jit, ResultsOutliveLaterCalls) {
  auto f = jit([](Tensor x) { return x + 1; });
  Tensor a = f(1.f), b = f(a);
  EXPECT_EQ(a.item<float>(), 2);
  EXPECT_EQ(b.item<float>(), 3);
}

TEST(Jit, ReturnsArgumentsAndConstants) {
  auto f = jit([](Tensor x) { return std::tuple{x, Tensor({1.f, 2.f}), x}; });
  auto [a, b, c] = f(5.f);
  EXPECT_EQ(a.item<float>(), 5);
  EXPECT_EQ(b.to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ(c.item<float>(), 5);
}

TEST(Jit, RunsInSeveralThreads) {
  auto f = jit([](Tensor x) { return x * 2; });
  f(1.f);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int k = 0; k < 200; ++k)
        wrong += f(float(t * 1000 + k)).item<float>() != float(t * 1000 + k) * 2;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(f.cache_size(), 1);
}

TEST(Compile, WritesAModuleThatRuns) {
  std::string path = ::testing::TempDir() + "sinter_trace.smod";
  auto f = [](Tensor x, Tensor y) { return x + y; };
  ASSERT_TRUE(compile(f, {spec<float>({"n"}), spec<float>({})}, {.output = path}).ok());
  Session session(Module::open(path));
  EXPECT_EQ(session({Tensor({1.f, 2.f}), scalar(3.f)})[0].to_vector<float>(), (std::vector<float>{4, 5}));
  Tensor buffer = Tensor::empty(DType::f32, {3});
  Tensor inputs[] = {Tensor({1.f, 2.f, 3.f}), scalar(1.f)};
  ASSERT_TRUE(session.call(inputs, std::span(&buffer, 1)).ok());
  EXPECT_EQ(buffer.to_vector<float>(), (std::vector<float>{2, 3, 4}));
  std::remove(path.c_str());
  EXPECT_FALSE(messageOf([&] { Module::open(path); }).empty());
}

TEST(Compile, TakesExampleTrees) {
  std::string path = ::testing::TempDir() + "sinter_trace.mlir";
  auto f = [](auto pair, auto list) { return pair.first + list[0]; };
  ASSERT_TRUE(
      compile(f, std::tuple{std::pair{scalar(1.f), scalar(2)}, std::vector{scalar(3.f)}}, {.output = path}).ok());
  std::remove(path.c_str());
}

TEST(Tracing, TenThousandOpsTakeLessThanASecond) {
  auto f = [](Tensor x) {
    for (int k = 0; k < 5000; ++k)
      x = x * 0.5f + 1;
    return x;
  };
  auto start = std::chrono::steady_clock::now();
  Graph graph = trace(f, {spec<float>({8})});
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_LT(seconds, 5) << "1 s is the aim on a machine that does nothing else";
  RecordProperty("seconds", std::to_string(seconds));
}

} // namespace

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Agree.h"
#include <chrono>
#include <thread>
#include <unistd.h>

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
  EXPECT_NE(f.explain().find("argument 0.power changed from 3 to 5"), std::string::npos);
}

TEST(Jit, ExplainsEveryKindOfChange) {
  auto f = jit([](Tensor x, Config c) { return x * c.x; });
  f(1.f, Config{scalar(2.f), 1});
  f(Tensor({1.f}), Config{scalar(2.f), 1});      // rank
  f(Tensor({1.f, 2.f}), Config{scalar(2.f), 1}); // size
  f(1., Config{scalar(2.), 1});                  // dtypes
  f(1., Config{scalar(2.), 4});                  // a fixed number
  std::string text = f.explain();
  for (const char *line :
       {"compiled form 1: first call\n", "compiled form 2: argument 0 changed from f32[] to f32[1]\n",
        "compiled form 3: argument 0 changed from f32[1] to f32[2]\n",
        "compiled form 4: argument 0 changed from f32[2] to f64[], argument 1.x changed from f32[] to f64[]\n",
        "compiled form 5: argument 1.power changed from 1 to 4\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  auto g = jit([](std::vector<Tensor> list) { return list[0]; });
  g(std::vector<Tensor>{1.f});
  g(std::vector<Tensor>{1.f, 2.f});
  EXPECT_NE(g.explain().find("the structure of the arguments changed, from 1 to 2 tensors"), std::string::npos);
}

TEST(Jit, LogsWhatIsCompiledAgain) {
  const char *self = "/proc/self/exe";
  char path[4096] = {};
  ASSERT_GT(readlink(self, path, sizeof path - 1), 0);
  std::string command =
      "SINTER_LOG=recompiles '" + std::string(path) + "' --gtest_filter=Jit.ExplainsWhatChanged 2>&1 >/dev/null";
  FILE *pipe = popen(command.c_str(), "r");
  ASSERT_TRUE(pipe);
  std::string text;
  for (char line[512]; std::fgets(line, sizeof line, pipe);)
    text += line;
  EXPECT_EQ(pclose(pipe), 0);
  EXPECT_NE(text.find("sinter: "), std::string::npos) << text;
  EXPECT_NE(text.find("jit.cpp:"), std::string::npos) << text;
  EXPECT_NE(text.find(": compiled form 2: argument 0[1] changed from f32[] to f32[2]\n"), std::string::npos) << text;
}

TEST(Jit, KeepsItsCodeOnDiskWhenAsked) {
  std::string folder = ::testing::TempDir() + "sinter_trace_cache_" + std::to_string(getpid());
  setenv("XDG_CACHE_HOME", folder.c_str(), 1);
  auto f = [](Tensor x) { return x * 3 + 0.125f; }; // of no other test, which this process would remember
  sinter_jit_report before{}, after{};
  before.struct_size = after.struct_size = sizeof before;
  ASSERT_EQ(sinter_jit_stats(&before), SINTER_OK);
  EXPECT_EQ(jit(f, {.disk_cache = true})(2.f).item<float>(), 6.125f);
  EXPECT_EQ(jit(f, {.disk_cache = true})(2.f).item<float>(), 6.125f);
  ASSERT_EQ(sinter_jit_stats(&after), SINTER_OK);
  unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(after.compiles, before.compiles + 1);
  EXPECT_EQ(std::system(("test $(ls '" + folder + "/sinter/jit' | wc -l) = 1 && rm -r '" + folder + "'").c_str()), 0);
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

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Agree.h"
#include "test/Growth.h"
#include "test/runtime/Files.h"
#include <cfenv>
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

TEST(Jit, RoundsToNearestWhateverTheHostDoes) {
  std::fesetround(FE_UPWARD);
  auto f = jit([](Tensor x) { return x + scalar(-1.f) / scalar(3.f); });
  float folded = f(0.f).item<float>(), eager = (scalar(-1.f) / scalar(3.f)).item<float>();
  int state = std::fegetround();
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(folded, -0x1.555556p-2f);
  EXPECT_EQ(eager, -0x1.555556p-2f);
  EXPECT_EQ(state, FE_UPWARD);
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

TEST(Jit, SizesOfOtherNamesMustFitWhenItRuns) {
  JitOptions vectors{.specs = {spec<float>({"n"}), spec<float>({"m"})}};
  auto add = jit([](Tensor x, Tensor y) { return x + y; }, vectors);
  EXPECT_EQ(add(ones({2}), ones({1})).to_vector<float>(), (std::vector<float>{2, 2}));
  EXPECT_EQ(messageOf([&] { add(ones({3}), ones({2})); }),
            "broadcast requires an operand size of 1 or 3 on result axis 0, got 2");
  EXPECT_EQ(add(ones({1}), ones({3})).to_vector<float>(), (std::vector<float>{2, 2, 2}));
  auto spread = jit([](Tensor x, Tensor y) { return broadcast_to(x, sizes(y)); }, vectors);
  EXPECT_EQ(messageOf([&] { spread(ones({2}), ones({4})); }),
            "broadcast requires an operand size of 1 or 4 on result axis 0, got 2");
  auto inner = jit([](Tensor x, Tensor y) { return dot(x, y); }, vectors);
  EXPECT_EQ(messageOf([&] { inner(ones({2}), ones({4})); }),
            "dot_general requires equal sizes of lhs axis 0 and rhs axis 0, got 2 and 4");
  auto walk =
      jit([](Tensor x,
             Tensor y) { return map([](std::pair<Tensor, Tensor> s) { return s.first * s.second; }, std::pair{x, y}); },
          vectors);
  EXPECT_EQ(messageOf([&] { walk(ones({5}), ones({3})); }), "scan requires equal sizes of sequences, got 5 and 3");
  auto put = jit([](Tensor x, Tensor y) { return put_along_axis(x, astype(y, DType::i64), ones({3}), 0); }, vectors);
  EXPECT_EQ(messageOf([&] { put(ones({5}), zeros({2})); }),
            "scatter_elements requires equal sizes of positions and updates on axis 0, got 2 and 3");
  auto keep = jit([](Tensor x, Tensor y) { return compress(x, y > 0.f); }, vectors);
  EXPECT_EQ(messageOf([&] { keep(ones({2}), ones({3})); }),
            "compress requires a size of at least 3, that of the mask, on axis 0, got 2");
  auto first = jit([](Tensor x, Tensor) { return argmax(x); }, vectors);
  EXPECT_EQ(messageOf([&] { first(ones({0}), ones({3})); }),
            "arg_reduce requires a size of at least 1 on axis 0, got 0");
  auto window = jit([](Tensor x, Tensor) { return dynamic_slice(x, {Tensor(1)}, {4}); }, vectors);
  EXPECT_EQ(messageOf([&] { window(ones({3}), ones({3})); }),
            "dynamic_slice requires a size of at least 4 on axis 0, got 3");
  auto pairs = jit([](Tensor x, Tensor) { return reshape(x, {2, -1}); }, vectors);
  EXPECT_EQ(messageOf([&] { pairs(ones({5}), ones({3})); }), "reshape requires sizes for 5 elements, got 4");
  JitOptions matrices{.specs = {spec<float>({"n", "k"}), spec<float>({"l", "m"})}};
  auto join = jit([](Tensor x, Tensor y) { return concatenate({x, y}, 1); }, matrices);
  EXPECT_EQ(join(ones({2, 1}), ones({2, 3})).shape(), (Shape{2, 4}));
  EXPECT_EQ(messageOf([&] { join(ones({2, 1}), ones({4, 3})); }),
            "concatenate requires equal sizes on axis 0, got 2 and 4");
  auto narrow = jit([](Tensor x, Tensor) { return squeeze(x, 0); }, matrices);
  EXPECT_EQ(narrow(ones({1, 3}), ones({1, 1})).shape(), (Shape{3}));
  EXPECT_EQ(messageOf([&] { narrow(ones({2, 3}), ones({1, 1})); }),
            "broadcast requires an operand size of 1 on result axis 0, got 2");
}

TEST(Jit, SizesThatDataTellsMustFitToo) {
  auto f = jit([](Tensor x, Tensor mask) { return x + compress(x, mask); });
  EXPECT_EQ(f(ones({2}), Tensor({true, true})).to_vector<float>(), (std::vector<float>{2, 2}));
  EXPECT_EQ(f(ones({2}), Tensor({false, true})).to_vector<float>(), (std::vector<float>{2, 2}));
  EXPECT_FALSE(messageOf([&] { f(ones({3}), Tensor({false, true, true})); }).empty());
}

TEST(Jit, SpecsAreChecked) {
  auto f = [](Tensor x) { return x; };
  EXPECT_EQ(messageOf([&] { jit(f, {.specs = {spec<float>({"n"})}})(zeros({2, 3})); }),
            "a jitted function requires arguments like its specs f32[n], got f32[2, 3]");
  EXPECT_EQ(messageOf([&] { jit(f, {.specs = {spec<float>({"n", 4})}})(zeros({2, 3})); }),
            "a jitted function requires arguments like its specs f32[n, 4], got f32[2, 3]");
  EXPECT_EQ(messageOf([&] { trace(f, {Spec{DType::f32, std::vector<Dim>(17, Dim(1))}}); }),
            "a spec requires at most 16 axes, got 17");
  EXPECT_EQ(messageOf([&] { trace(f, {spec<float>({-3})}); }),
            "a spec requires sizes of at least 0 or names, got -3 for axis 0");
  EXPECT_EQ(messageOf([&] { trace(f, {spec<float>({2, ""})}); }),
            "a spec requires sizes of at least 0 or names, got -1 for axis 1");
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
  Folder folder;
  setenv("XDG_CACHE_HOME", folder.path.c_str(), 1);
  auto f = [](Tensor x) { return x * 3 + 0.125f; }; // of no other test, which this process would remember
  sinter_jit_report before{}, after{};
  before.struct_size = after.struct_size = sizeof before;
  ASSERT_EQ(sinter_jit_stats(&before), SINTER_OK);
  EXPECT_EQ(jit(f, {.disk_cache = true})(2.f).item<float>(), 6.125f);
  EXPECT_EQ(jit(f, {.disk_cache = true})(2.f).item<float>(), 6.125f);
  ASSERT_EQ(sinter_jit_stats(&after), SINTER_OK);
  unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(after.compiles, before.compiles + 1);
  std::filesystem::directory_iterator files(folder.path / "sinter" / "jit");
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
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
  Folder folder;
  std::string path = folder.file("sum.smod");
  auto f = [](Tensor x, Tensor y) { return x + y; };
  ASSERT_TRUE(compile(f, {spec<float>({"n"}), spec<float>({})}, {.output = path}).ok());
  Session session(Module::open(path));
  EXPECT_EQ(session({Tensor({1.f, 2.f}), scalar(3.f)})[0].to_vector<float>(), (std::vector<float>{4, 5}));
  Tensor buffer = Tensor::empty(DType::f32, {3});
  Tensor inputs[] = {Tensor({1.f, 2.f, 3.f}), scalar(1.f)};
  ASSERT_TRUE(session.call(inputs, std::span(&buffer, 1)).ok());
  EXPECT_EQ(buffer.to_vector<float>(), (std::vector<float>{2, 3, 4}));
  buffer = Tensor::empty(DType::f32, {5});
  EXPECT_EQ(messageOf([&] { (void)session.call(inputs, std::span(&buffer, 1)); }),
            "call requires a buffer of the result's sizes [3] for output 0, got [5]");
  std::filesystem::remove(path);
  EXPECT_FALSE(messageOf([&] { Module::open(path); }).empty());
}

TEST(Compile, TakesExampleTrees) {
  Folder folder;
  auto f = [](auto pair, auto list) { return pair.first + list[0]; };
  ASSERT_TRUE(compile(f, std::tuple{std::pair{scalar(1.f), scalar(2)}, std::vector{scalar(3.f)}},
                      {.output = folder.file("sum.mlir")})
                  .ok());
}

TEST(Tracing, TimeGrowsWithTheOps) {
  double times = growth(1250, [](int trips) {
    auto f = [trips](Tensor x) {
      for (int k = 0; k < trips; ++k)
        x = x * 0.5f + 1;
      return x;
    };
    trace(f, {spec<float>({8})});
  });
  EXPECT_LT(times, 8); // 16 were it quadratic
}

} // namespace

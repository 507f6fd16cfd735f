// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Branches of the host whose ways come together again: what follows them is recorded once.

#include "Agree.h"

using namespace sinter;
using namespace sinter::test;

namespace {

size_t countOf(const std::string &text, const std::string &part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

/// `f` of numbers: traced is what it is at once.
template <class F> void agrees(F f, std::vector<float> at) {
  auto compiled = jit(f);
  for (float x : at)
    EXPECT_EQ(compiled(x).template item<float>(), f(scalar(x)).template item<float>()) << x;
}

TEST(Branches, ShareWhatFollows) {
  auto f = [](Tensor x) {
    if (x > 0)
      x = x * 2;
    else
      x = x - 1;
    for (int k = 0; k < 5; ++k)
      x = x * x + 0.5f;
    return x;
  };
  std::string text = trace(f, {spec<float>({})}).text();
  EXPECT_EQ(countOf(text, "sinter.cond"), 1u) << text;
  EXPECT_EQ(countOf(text, "sinter.mul"), 6u) << text;
  EXPECT_EQ(countOf(text, "sinter.add"), 5u) << text;
  agrees(f, {0.5f, -0.5f});
}

TEST(Branches, OneAfterTheOtherGrowByOneEach) {
  auto f = [](Tensor x) {
    for (int k = 0; k < 9; ++k) {
      if (x > k)
        x = x * 0.75f;
      x = x + 1;
    }
    return x;
  };
  std::string text = trace(f, {spec<float>({})}).text();
  EXPECT_EQ(countOf(text, "sinter.cond"), 9u) << text;
  EXPECT_EQ(countOf(text, "sinter.add"), 9u) << text;
  agrees(f, {-20, 0.5f, 3, 4.25f, 100});
}

TEST(Branches, MayChangeTheHost) {
  // What the host remembers decides later, and only after two branches together.
  agrees(
      [](Tensor x) {
        int seen = 0;
        if (x > 1)
          ++seen;
        if (x > 2)
          ++seen;
        if (x > 3)
          ++seen;
        Tensor y = x * seen;
        if (seen == 2)
          y = sin(y);
        return y + 1;
      },
      {0, 1.5f, 2.5f, 3.5f});
}

TEST(Branches, OnTheSameLineOfAFunction) {
  auto half = [](Tensor x) { return x * 0.5f; };
  agrees(
      [&](Tensor x) {
        if (x > 0)
          return half(x) + half(x + 1);
        return half(x - 1);
      },
      {3, -3});
}

TEST(Branches, KeepResultsOfBothWays) {
  auto f = [](Tensor x) {
    Tensor a = x + 1, b = x * 3;
    if (x > 0)
      a = a * 2;
    else
      b = b * 5;
    Tensor used = a; // inside of the branch's product and behind it
    return std::tuple{a + b, used, x, b};
  };
  auto compiled = jit(f);
  for (float x : {2.f, -2.f}) {
    auto [a, b, c, d] = f(scalar(x));
    auto [e, g, h, i] = compiled(x);
    EXPECT_EQ(a.item<float>(), e.item<float>());
    EXPECT_EQ(b.item<float>(), g.item<float>());
    EXPECT_EQ(c.item<float>(), h.item<float>());
    EXPECT_EQ(d.item<float>(), i.item<float>());
  }
}

TEST(Branches, ThatChangeNothingAreGone) {
  auto f = [](Tensor x) {
    if (x > 0)
      (void)(x + 1);
    return x * 2;
  };
  std::string text = trace(f, {spec<float>({})}).text();
  EXPECT_EQ(countOf(text, "sinter.cond"), 0u) << text;
  agrees(f, {1, -1});
}

TEST(Branches, LeaveLargeConstantsWithTheirOps) {
  // Products with constants are compiled for these; one product with either would copy them.
  std::vector<float> values(64 * 64, 0.5f);
  Tensor one(values, {64, 64}), other = one * 2;
  auto f = [&](Tensor x) {
    Tensor weight = one;
    if (x[0] > 0)
      weight = other;
    return sum(matmul(weight, x));
  };
  Graph graph = trace(f, {spec<float>({64})});
  EXPECT_EQ(countOf(graph.text(), "sinter.dot_general"), 2u) << graph.text();
  EXPECT_EQ(countOf(graph.text(), "sinter.reduce"), 1u) << graph.text();
  EXPECT_EQ(jit(f)(ones({64})).item<float>(), 64 * 64);
  EXPECT_EQ(jit(f)(-ones({64})).item<float>(), -64 * 32);
}

TEST(Branches, BeforeLoops) {
  auto f = [](Tensor x) {
    Tensor step = x;
    if (x > 0)
      step = x * 2;
    Tensor y = for_loop(0, 3, [&](auto i, Tensor y) { return y * step + astype(i, DType::f32); }, x);
    return while_loop([](auto y) { return y < 100; }, [&](auto y) { return y + abs(step) + 1; }, y);
  };
  std::string text = trace(f, {spec<float>({})}).text();
  EXPECT_EQ(countOf(text, "sinter.for"), 1u) << text;
  EXPECT_EQ(countOf(text, "sinter.while"), 1u) << text;
  agrees(f, {1.5f, -1.5f});
}

TEST(Branches, InsideOfLoops) {
  auto f = [](Tensor x) {
    return for_loop(
        0, 4,
        [](auto, Tensor x) {
          if (x > 1)
            x = x * 0.5f;
          if (x > 2)
            x = x - 1;
          return x + 1;
        },
        x);
  };
  EXPECT_EQ(countOf(trace(f, {spec<float>({})}).text(), "sinter.cond"), 2u);
  agrees(f, {0, 5, 30});
}

TEST(Branches, OverNamedSizes) {
  auto f = [](Tensor x) {
    Tensor y = x * 2;
    if (sum(x) > 0)
      y = y + 1;
    else
      y = concatenate({y, y})(slice(0, 2));
    return sum(y * y);
  };
  auto compiled = jit(f, {.specs = {spec<float>({"n"})}});
  for (Tensor x : {Tensor({1.f, 2.f}), Tensor({-1.f, -2.f}), Tensor({1.f, 2.f, 3.f})})
    EXPECT_EQ(compiled(x).item<float>(), f(x).item<float>());
}

TEST(Branches, HaveGradients) {
  auto f = [](Tensor x) {
    Tensor y = x;
    if (x > 1)
      y = x * x;
    if (y > 5)
      y = y * 3;
    return sin(y) * x;
  };
  for (double x : {0.5, 1.5, 3.0})
    EXPECT_TRUE(check_gradients(f, std::tuple{x})) << x;
}

} // namespace

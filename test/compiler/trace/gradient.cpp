// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Agree.h"

using namespace sinter;
using namespace sinter::test;

namespace {

/// x such that x = cos(a x); stops when the step is small.
Tensor fixedPoint(Tensor a) {
  auto [x, step] = while_loop([](auto, auto step) { return abs(step) > 1e-6f; },
                              [&](auto x, auto) {
                                auto d = (x - cos(a * x)) / (1 + a * sin(a * x));
                                return std::tuple{x - d, d};
                              },
                              full_like(a, 3.f), full_like(a, 1.f));
  return x;
}

struct Layer {
  Tensor w, b;
};

Tensor loss(std::vector<Layer> layers, Tensor x) {
  for (const Layer &layer : layers)
    x = tanh(matmul(x, layer.w) + layer.b);
  return sum(x * x);
}

double difference(double a) {
  auto solve = [](double a) {
    double x = 1;
    for (int k = 0; k < 100; ++k)
      x -= (x - std::cos(a * x)) / (1 + a * std::sin(a * x));
    return x;
  };
  return (solve(a + 1e-5) - solve(a - 1e-5)) / 2e-5;
}

TEST(Gradient, ThroughADataDependentLoop) {
  auto slope = jit(grad(fixedPoint));
  EXPECT_NEAR(slope(scalar(0.7f)).item<float>(), difference(0.7), 1e-3);
  EXPECT_NEAR(slope(scalar(0.2f)).item<float>(), difference(0.2), 1e-3);
  EXPECT_EQ(slope.cache_size(), 1);
}

TEST(Gradient, EveryMemoryPolicyOfAWhileAgrees) {
  float all = grad(fixedPoint)(scalar(0.7f)).item<float>();
  for (const char *policy : {"recompute", "period(2)", "binomial(3)", "online(3)"})
    EXPECT_EQ(grad(fixedPoint, {.memory = policy})(scalar(0.7f)).item<float>(), all) << policy;
}

TEST(Gradient, IsATreeLikeTheArgument) {
  std::vector<Layer> layers{{Tensor({{0.5f, -0.25f}, {0.125f, 1.f}}), Tensor({0.1f, 0.2f})},
                            {Tensor({{1.f, 0.5f}, {-0.5f, 0.25f}}), Tensor({0.f, 0.3f})}};
  Tensor x({{1.f, 2.f}});
  auto [value, gradient] = value_and_grad(loss)(layers, x);
  ASSERT_EQ(gradient.size(), 2u);
  EXPECT_NEAR(value.item<float>(), loss(layers, x).item<float>(), 1e-5);
  auto with = [&](float b) {
    std::vector<Layer> other = layers;
    other[0].b = Tensor({b, 0.2f});
    return loss(other, x).item<float>();
  };
  EXPECT_NEAR(gradient[0].b.to_vector<float>()[0], (with(0.101f) - with(0.099f)) / 0.002f, 1e-2);
  EXPECT_EQ(gradient[1].w.shape(), Shape({2, 2}));
}

TEST(Gradient, BySeveralArguments) {
  auto [dx, dy] = grad<0, 1>([](Tensor x, Tensor y) { return x * x * y; })(3.f, 5.f);
  EXPECT_EQ(dx.item<float>(), 30);
  EXPECT_EQ(dy.item<float>(), 9);
  EXPECT_EQ((grad<1>([](Tensor x, Tensor y) { return x * x * y; })(3.f, 5.f).item<float>()), 9);
}

TEST(Gradient, OfGradients) {
  auto cube = [](Tensor x) { return x * x * x; };
  EXPECT_EQ(grad(grad(cube))(2.f).item<float>(), 12);
  EXPECT_EQ(grad(grad(grad(cube)))(2.f).item<float>(), 6);
}

TEST(Gradient, InsideOfAFunctionSeesWhatItCaptures) {
  auto f = [](Tensor x) { return grad([&](Tensor y) { return x * y * y; })(x); }; // 2 x y at y = x
  EXPECT_EQ(f(scalar(3.f)).item<float>(), 18);
  EXPECT_EQ(jit(f)(3.f).item<float>(), 18);
  EXPECT_EQ(grad(f)(3.f).item<float>(), 12);
}

TEST(Gradient, InsideOfALoop) {
  auto descend = [](Tensor x) {
    auto slope = grad([](Tensor x) { return (x - 2) * (x - 2); });
    return for_loop(0, 50, [&](auto, auto x) { return x - 0.1f * slope(x); }, x);
  };
  EXPECT_NEAR(jit(descend)(10.f).item<float>(), 2, 1e-3);
}

TEST(Gradient, ThroughAHostBranch) {
  auto f = [](Tensor x) {
    if (x > 0)
      return x * x;
    return -3 * x;
  };
  EXPECT_EQ(grad(f)(5.f).item<float>(), 10);
  EXPECT_EQ(grad(f)(-5.f).item<float>(), -3);
}

TEST(Gradient, AfterAHostBranch) {
  auto f = [](Tensor x) {
    Tensor slope = grad([](Tensor y) { return y * y; })(x);
    if (slope > 0)
      return slope;
    return x;
  };
  EXPECT_EQ(jit(f)(5.f).item<float>(), 10);
  EXPECT_EQ(jit(f)(-5.f).item<float>(), -5);
}

TEST(Gradient, VjpAndJvpAreTransposes) {
  auto f = [](Tensor x, Tensor y) { return sin(x) * y; };
  std::tuple primals{Tensor({0.5f, 1.f}), Tensor({2.f, 3.f})}, tangents{Tensor({1.f, -2.f}), Tensor({0.5f, 0.25f})};
  Tensor cotangent({0.75f, -1.f});
  auto [out, pulled] = vjp(f, primals, cotangent);
  auto [same, pushed] = jvp(f, primals, tangents);
  EXPECT_TRUE(close(out, same, 1e-6));
  float left = sum(cotangent * pushed).item<float>();
  float right = (sum(std::get<0>(pulled) * std::get<0>(tangents)) + sum(std::get<1>(pulled) * std::get<1>(tangents)))
                    .item<float>();
  EXPECT_NEAR(left, right, 1e-5);
}

TEST(Gradient, StopsWhereToldTo) {
  EXPECT_EQ(grad([](Tensor x) { return x * stop_gradient(x); })(3.f).item<float>(), 3);
}

TEST(Gradient, OfACheckpointIsTheSame) {
  auto inner = [](Tensor x, Tensor y) { return sin(x * y) * x; };
  auto plain = grad([&](Tensor x) { return inner(x, x) * 2; });
  auto kept = grad([&](Tensor x) { return checkpoint(inner)(x, x) * 2; });
  EXPECT_EQ(plain(0.5f).item<float>(), kept(0.5f).item<float>());
}

TEST(Gradient, RequiresAFloatOfRank0) {
  EXPECT_EQ(messageOf([] { grad([](Tensor x) { return x * x; })(Tensor({1.f, 2.f})); }),
            "grad requires a function whose result is a float of rank 0, got f32[2]");
}

TEST(Gradient, RequiresFloatsToDifferentiateBy) {
  EXPECT_EQ(messageOf([] { grad([](Tensor x) { return astype(x, DType::f32); })(3); }),
            "grad requires float tensors to differentiate by, got i32[] for argument 0");
}

TEST(Gradient, RequiresACotangentPerResult) {
  auto two = [](Tensor x) { return std::tuple{x, x}; };
  EXPECT_EQ(messageOf([&] { vjp(two, std::tuple{scalar(1.f)}, scalar(1.f)); }),
            "vjp requires one cotangent per result, got 1 for 2");
}

} // namespace

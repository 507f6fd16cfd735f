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

TEST(Gradient, SlopeOfEluAtZero) {
  auto slope = grad([](Tensor x) { return elu(x, 0.5); });
  for (auto [x, expected] : {std::pair(0.0, 0.5), {-1e-9, 0.5}, {1e-9, 1.0}, {1000.0, 1.0}, {-1000.0, 0.0}})
    EXPECT_NEAR(slope(scalar(x)).item<double>(), expected, 1e-8) << "at " << x;
}

/// What torch and JAX say at a tie: maximum and minimum share it, relu has none of it; a clip leaves it to the bound.
TEST(Gradient, TiesAreSharedInEveryForm) {
  Tensor zero = scalar(0.0);
  using Function = std::function<Tensor(Tensor)>;
  std::vector<std::pair<Function, double>> forms = {
      {[](Tensor x) { return maximum(x, 0); }, 0.5},
      {[](Tensor x) { return maximum(x, zeros_like(x)); }, 0.5},
      {[&](Tensor x) { return maximum(x, zero); }, 0.5},
      {[](Tensor x) { return maximum(scalar(1.0) - scalar(1.0), x); }, 0.5},
      {[](Tensor x) { return minimum(0, x); }, 0.5},
      {[&](Tensor x) { return minimum(x, zero); }, 0.5},
      {[](Tensor x) { return relu(x); }, 0},
      {[](Tensor x) { return clip(x, 0, 1); }, 0},
      {[&](Tensor x) { return clip(x, zero, zero + 1); }, 0},
      {[](Tensor x) { return leaky_relu(x, 0.25); }, 0.25},
      {[](Tensor x) { return softplus(x); }, 0.5},
  };
  for (size_t k = 0; k < forms.size(); ++k) {
    EXPECT_EQ(grad(forms[k].first)(zero).item<double>(), forms[k].second) << "eager form " << k;
    EXPECT_EQ(jit(grad(forms[k].first))(zero).item<double>(), forms[k].second) << "jitted form " << k;
  }
  // As an argument, which is no constant anywhere.
  auto both = jit(grad<0, 1>([](Tensor x, Tensor y) { return maximum(x, y); }));
  auto [x, y] = both(zero, zero);
  EXPECT_EQ(x.item<double>(), 0.5);
  EXPECT_EQ(y.item<double>(), 0.5);
}

TEST(Gradient, EveryMemoryPolicyOfAWhileAgrees) {
  float all = grad(fixedPoint)(scalar(0.7f)).item<float>();
  for (const char *policy : {"recompute", "period(2)", "binomial(3)", "online(3)"})
    EXPECT_EQ(grad(fixedPoint, {.memory = policy})(scalar(0.7f)).item<float>(), all) << policy;
}

TEST(Gradient, ByTheSolutionOfALoop) {
  auto solve = [](Tensor a) {
    auto [x, step] = while_loop(
        WhileOptions{.max_trip = 100, .memory = "implicit"}, [](auto, auto step) { return abs(step) > 1e-12; },
        [&](auto x, auto) {
          auto d = (x - cos(a * x)) / (1 + a * sin(a * x));
          return std::tuple{x - d, d};
        },
        full_like(a, 3.), full_like(a, 1.));
    return x;
  };
  EXPECT_NEAR(grad(solve)(0.7).item<double>(), difference(0.7), 1e-8);
  EXPECT_NEAR(grad(fixedPoint, {.memory = "implicit"})(0.7f).item<float>(), difference(0.7), 1e-3);
}

TEST(Gradient, SaysThatAPolicyIsLostWhereReverseModeIsDifferentiatedInReverse) {
  auto slope = [](Tensor x) { return grad(fixedPoint, {.memory = "online(3)"})(x); };
  testing::internal::CaptureStderr();
  (void)jit(grad(slope))(scalar(0.7f));
  std::string told = testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find("warning: keeps all values for its gradient"), std::string::npos) << told;
}

TEST(Gradient, EveryMemoryPolicyOfAScanAgrees) {
  auto with = [](const char *memory) {
    return grad([=](Tensor x) {
             return scan([](Tensor c, Tensor s) { return std::pair{sin(c * s) + s, c}; }, 1.f, x, {.memory = memory})
                 .first;
           })(Tensor({0.5f, 1.5f, -0.25f, 2.f, 0.75f}))
        .to_vector<float>();
  };
  for (const char *memory : {"recompute", "period(2)", "binomial(2)", "online(2)"})
    EXPECT_EQ(with(memory), with("all")) << memory;
  EXPECT_EQ(messageOf([&] { with("some"); }),
            "scan requires a memory policy (all, recompute, period(K), binomial(SLOTS), "
            "online(SLOTS) or implicit), got 'some'");
}

TEST(Gradient, EveryMemoryPolicyOfACountedLoopAgrees) {
  auto step = [](auto, Tensor c) { return sin(c * c) + c; };
  auto with = [&](const char *memory) {
    return grad([=](Tensor x) { return for_loop(ForOptions{.memory = memory}, Range(1, 10, 2), step, x); })(0.4f)
        .item<float>();
  };
  EXPECT_EQ(with(nullptr), grad([=](Tensor x) { return for_loop(0, 5, step, x); })(0.4f).item<float>());
  for (const char *memory : {"all", "recompute", "period(2)", "binomial(2)", "online(2)"}) {
    EXPECT_EQ(with(memory), with(nullptr)) << memory;
    // As the loop says, not as the gradient does; also where a scan has no sequences.
    Graph graph = trace(
        [=](Tensor x) {
          x = for_loop(ForOptions{.memory = memory}, Range(3), step, x);
          return scan([=](Tensor c, auto) { return std::pair{sin(c), c}; }, x, std::tuple(),
                      {.length = 4, .memory = memory})
              .first;
        },
        {spec<float>({})});
    std::string text = graph.text(), attribute = std::string("sinter.memory = \"") + memory + "\"";
    size_t first = text.find(attribute);
    ASSERT_NE(first, std::string::npos) << text;
    EXPECT_NE(text.find(attribute, first + 1), std::string::npos) << text;
  }
  EXPECT_EQ(messageOf([&] { with("period(0)"); }),
            "for requires a memory policy (all, recompute, period(K), binomial(SLOTS), "
            "online(SLOTS) or implicit), got 'period(0)'");
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

TEST(Gradient, OfACheckpointInACheckpoint) {
  auto inner = [](Tensor x) { return sin(exp(x)); };
  auto plain = [=](Tensor x) { return sum(cos(inner(inner(x)) * x)); };
  auto nested = [=](Tensor x) {
    auto kept = checkpoint([=](Tensor y) { return checkpoint(inner)(checkpoint(inner)(y)) * y; });
    return sum(cos(kept(x)));
  };
  Tensor x({0.5, -1.25, 2.});
  EXPECT_EQ(jit(nested)(x).item<double>(), jit(plain)(x).item<double>());
  auto twice = [=](auto f) {
    return grad([=](Tensor y) { return sum(grad(f)(y) * y); })(x).template to_vector<double>();
  };
  std::vector<double> got = twice(nested), expected = twice(plain);
  for (size_t k = 0; k < got.size(); ++k)
    EXPECT_NEAR(got[k], expected[k], 1e-12);
}

TEST(Gradient, HessianVectorProduct) {
  auto f = [](Tensor x, Tensor y) { return sum(x * x * x) + sum(x * y); };
  auto [dx, dy] = hessian_vector_product(f, std::tuple{Tensor({1.f, 2.f}), Tensor({5.f, 7.f})},
                                         std::tuple{Tensor({1.f, -1.f}), Tensor({0.5f, 0.f})});
  EXPECT_EQ(dx.to_vector<float>(), (std::vector<float>{6.5f, -12}));
  EXPECT_EQ(dy.to_vector<float>(), (std::vector<float>{1, -1}));
}

//===- custom_vjp ----------------------------------------------------------------------------------===//

/// x^2 with a gradient that is easily told from the true one.
auto marked(float factor) {
  return custom_vjp([](Tensor x) { return x * x; }, [](Tensor x) { return std::pair{x * x, x}; },
                    [=](Tensor x, Tensor dy) { return factor * x * dy; });
}

TEST(CustomVjp, HasItsOwnGradient) {
  auto f = marked(10);
  EXPECT_EQ(f(3.f).item<float>(), 9); // of the host
  EXPECT_EQ(jit(f)(3.f).item<float>(), 9);
  EXPECT_EQ(grad(f)(3.f).item<float>(), 30);
  EXPECT_EQ(jit(grad(f))(3.f).item<float>(), 30);
  auto [value, slope] = value_and_grad([&](Tensor x) { return 2 * f(x + 1); })(3.f);
  EXPECT_EQ(value.item<float>(), 32);
  EXPECT_EQ(slope.item<float>(), 80);
}

TEST(CustomVjp, RunsItsFunctionOutsideOfTraces) {
  int runs = 0;
  auto f = custom_vjp([&](Tensor x) { return ++runs, x; }, [](Tensor x) { return std::pair{x, std::tuple<>()}; },
                      [](std::tuple<>, Tensor dy) { return dy; });
  f(1.f);
  EXPECT_EQ(runs, 1);
  jit(f)(1.f);
  EXPECT_EQ(runs, 1);
}

TEST(CustomVjp, TwiceDifferentiatesItsParts) {
  EXPECT_EQ(grad(grad(marked(10)))(3.f).item<float>(), 10);
  EXPECT_EQ(grad(grad(grad(marked(10))))(3.f).item<float>(), 0);
  auto cubic = custom_vjp([](Tensor x) { return x * x * x; }, [](Tensor x) { return std::pair{x * x * x, x * x}; },
                          [](Tensor square, Tensor dy) { return 3 * square * dy; });
  EXPECT_EQ(grad(grad(cubic))(2.f).item<float>(), 12);
}

TEST(CustomVjp, InsideOfControlFlow) {
  auto f = marked(10);
  auto counted = [&](Tensor x) { return for_loop(0, 3, [&](auto, Tensor y) { return f(y) + 1; }, x); };
  auto slopeOf = [](float x) { // by hand
    float slope = 1;
    for (int k = 0; k < 3; ++k, x = x * x + 1)
      slope *= 10 * x;
    return slope;
  };
  EXPECT_FLOAT_EQ(grad(counted)(0.5f).item<float>(), slopeOf(0.5f));
  for (const char *memory : {"all", "recompute", "period(2)", "binomial(2)", "online(2)"}) {
    auto open = [&](Tensor x) {
      auto [y, n] = while_loop(
          WhileOptions{.memory = memory}, [](auto, auto n) { return n < 3; },
          [&](Tensor y, Tensor n) { return std::tuple{f(y) + 1, n + 1}; }, x, 0);
      return y;
    };
    EXPECT_FLOAT_EQ(grad(open)(0.5f).item<float>(), slopeOf(0.5f)) << memory;
  }
  auto scanned = [&](Tensor x) {
    return scan([&](Tensor c, Tensor s) { return std::pair{c + f(s), c}; }, 0.f, x).first;
  };
  EXPECT_EQ(grad(scanned)(Tensor({1.f, 2.f})).to_vector<float>(), (std::vector<float>{10, 20}));
  auto branch = [&](Tensor x) { return cond(x > 0, [&] { return f(x); }, [&] { return x; }); };
  EXPECT_EQ(grad(branch)(2.f).item<float>(), 20);
  EXPECT_EQ(grad(branch)(-2.f).item<float>(), 1);
  auto kept = [&](Tensor x) { return checkpoint([&](Tensor x) { return f(x) * 2; })(x); };
  EXPECT_EQ(grad(kept)(2.f).item<float>(), 40);
}

TEST(CustomVjp, MayBranchOnTheHost) {
  auto f = custom_vjp([](Tensor x) { return x > 0 ? x : -x; },
                      [](Tensor x) {
                        if (x > 0)
                          return std::pair{x, scalar(7.f)};
                        return std::pair{-x, scalar(-5.f)};
                      },
                      [](Tensor slope, Tensor dy) { return slope * dy; });
  EXPECT_EQ(grad(f)(2.f).item<float>(), 7);
  EXPECT_EQ(grad(f)(-2.f).item<float>(), -5);
}

TEST(CustomVjp, TakesTreesAndIntegers) {
  // Rows of a table, whose gradient is kept small.
  auto pick = [](Layer table, Tensor row) { return std::pair{table.w[row] + table.b, row}; };
  auto f = custom_vjp(
      pick, [&](Layer table, Tensor row) { return std::pair{pick(table, row), std::pair{table, row}}; },
      [](std::pair<Layer, Tensor> kept, std::pair<Tensor, Tensor> dy) {
        EXPECT_FALSE(dy.second.defined()); // of an integer
        Tensor small = clip(dy.first, -1, 1);
        return std::tuple{Layer{zeros_like(kept.first.w).at(kept.second).add(small), zeros_like(kept.first.b)},
                          Tensor()};
      });
  Layer table{Tensor({{1.f, 2.f}, {3.f, 4.f}}), Tensor({0.f, 0.f})};
  auto g = grad([&](Layer table) { return sum(f(table, scalar(int64_t(1))).first * Tensor({5.f, 0.5f})); })(table);
  EXPECT_EQ(g.w.to_vector<float>(), (std::vector<float>{0, 0, 1, 0.5f}));
  EXPECT_EQ(g.b.to_vector<float>(), (std::vector<float>{0, 0}));
}

TEST(CustomVjp, KeepsNamedSizes) {
  auto f = custom_vjp([](Tensor x) { return x * x; }, [](Tensor x) { return std::pair{x * x, x}; },
                      [](Tensor x, Tensor dy) { return 10 * x * dy; });
  auto slope = jit(grad([&](Tensor x) { return sum(f(x)); }), {.specs = {spec<float>({"n"})}});
  EXPECT_EQ(slope(Tensor({1.f, 2.f})).to_vector<float>(), (std::vector<float>{10, 20}));
  EXPECT_EQ(slope(Tensor({1.f, 2.f, 3.f})).to_vector<float>(), (std::vector<float>{10, 20, 30}));
  EXPECT_EQ(slope.cache_size(), 1);
}

TEST(CustomVjp, HasNoGradientByWhatItCaptures) {
  Tensor weight = Tensor({2.f, 3.f});
  auto scaled = [&](Tensor x, Tensor by) {
    return custom_vjp([&](Tensor x) { return sum(x * by); }, [&](Tensor x) { return std::pair{sum(x * by), 1.f}; },
                      [&](Tensor, Tensor dy) { return dy * by * weight; })(x);
  };
  auto byFirst = grad(scaled)(Tensor({1.f, 1.f}), Tensor({5.f, 7.f}));
  EXPECT_EQ(byFirst.to_vector<float>(), (std::vector<float>{10, 21}));
  std::string message = messageOf([&] { grad<1>(scaled)(Tensor({1.f, 1.f}), Tensor({5.f, 7.f})); });
  EXPECT_EQ(message,
            "'sinter.custom_vjp' op has a gradient by its arguments only, got one by a tensor that it captures; "
            "make that an argument, or stop its gradient");
  auto stopped = grad<1>([&](Tensor x, Tensor by) { return scaled(x, stop_gradient(by)) + sum(by); });
  EXPECT_EQ(stopped(Tensor({1.f, 1.f}), Tensor({5.f, 7.f})).to_vector<float>(), (std::vector<float>{1, 1}));
}

TEST(CustomVjp, ForwardModeTransposesIt) {
  auto f = marked(10);
  auto [value, tangent] = jvp(f, std::tuple{scalar(3.f)}, std::tuple{scalar(2.f)});
  EXPECT_EQ(value.item<float>(), 9);
  EXPECT_EQ(tangent.item<float>(), 60); // 10 x t, not 2 x t
  // y = (a b, a + b) with a pullback that reads both; its loop is transposed, too.
  auto pair = custom_vjp([](Tensor a, Tensor b) { return std::tuple{a * b, a + b}; },
                         [](Tensor a, Tensor b) { return std::pair{std::tuple{a * b, a + b}, std::tuple{a, b}}; },
                         [](std::tuple<Tensor, Tensor> kept, std::tuple<Tensor, Tensor> d) {
                           auto [a, b] = kept;
                           Tensor dp = std::get<0>(d), ds = std::get<1>(d);
                           Tensor sum = for_loop(0, 3, [=](Tensor, Tensor s) { return s + ds / 3.f; }, zeros_like(ds));
                           return std::tuple{b * dp + sum, a * dp + ds};
                         });
  Tensor a({1.f, 2.f}), b({3.f, 5.f}), ta({1.f, -1.f}), tb({0.5f, 2.f});
  auto [values, moved] = jit([&](Tensor a, Tensor b, Tensor ta, Tensor tb) {
    return jvp(pair, std::tuple{a, b}, std::tuple{ta, tb});
  })(a, b, ta, tb);
  EXPECT_EQ(std::get<0>(moved).to_vector<float>(), (std::vector<float>{3.5f, -1.f})); // b ta + a tb
  std::vector<float> sums = std::get<1>(moved).to_vector<float>();
  EXPECT_NEAR(sums[0], 1.5, 1e-6);
  EXPECT_NEAR(sums[1], 1, 1e-6);
  // Forward over reverse, through the backward part.
  auto cube = [&](Tensor x) { return f(x) * x; }; // x^2 + 10 x x, whose slope is 2 x + 20 x
  auto [product] = hessian_vector_product(cube, std::tuple{scalar(3.f)}, std::tuple{scalar(1.f)});
  EXPECT_EQ(product.item<float>(), 66);
}

TEST(CustomVjp, SaysWhatItRequires) {
  auto with = [](auto cotangent) {
    return grad([=](Tensor x) {
      return sum(custom_vjp([](Tensor x) { return x; }, [](Tensor x) { return std::pair{x, x}; },
                            [=](Tensor, Tensor) { return cotangent; })(x));
    });
  };
  EXPECT_EQ(messageOf([&] { with(scalar(1.f))(Tensor({1.f, 2.f})); }),
            "custom_vjp requires a cotangent of the type of each argument, got f32[] for argument 0, which is f32[2]");
  EXPECT_EQ(messageOf([&] { with(Tensor())(Tensor({1.f, 2.f})); }),
            "custom_vjp requires a cotangent of the type of each argument, got none for argument 0, which is f32[2]");
}

//===- check_gradients -----------------------------------------------------------------------------===//

TEST(CheckGradients, AgreesWithTrueOnes) {
  std::vector<Layer> layers{{Tensor({{0.5f, -0.25f}, {0.125f, 1.f}}), Tensor({0.1f, 0.2f})}};
  GradientCheck check = check_gradients(loss, std::tuple{layers, Tensor({{1.f, 2.f}})});
  EXPECT_TRUE(check) << check.str();
  EXPECT_LT(check.elements, 1e-8);
  EXPECT_LT(check.transpose, 1e-12);
  EXPECT_TRUE(check_gradients(fixedPoint, std::tuple{0.7}, {.memory = "binomial(2)"}));
}

TEST(CheckGradients, FindsWrongOnes) {
  auto f = [](Tensor x, Tensor y) { return sum(x) * marked(10)(y); };
  EXPECT_FALSE(check_gradients(f, std::tuple{Tensor({1.f}), 2.f})); // forward mode transposes what is wrong, too
  GradientCheck check = check_gradients(f, std::tuple{Tensor({1.f}), 2.f}, {.forward_mode = false});
  EXPECT_FALSE(check);
  EXPECT_GT(check.elements, 0.1);
  EXPECT_EQ(check.worst, "argument 1");
  EXPECT_TRUE(check.str().starts_with("largest error 8.0e-01 by single elements (argument 1), ")) << check.str();
  EXPECT_TRUE(
      check_gradients([](Tensor x) { return marked(2)(x); }, std::tuple{2.f}, {.forward_mode = false})); // the true one
}

TEST(CheckGradients, SaysWhatItRequires) {
  auto f = [](Tensor x) { return x; };
  EXPECT_EQ(messageOf([&] { check_gradients(f, std::tuple{Tensor()}); }),
            "check_gradients requires tensors with elements, got a Tensor() without a value");
  EXPECT_EQ(messageOf([&] { check_gradients(f, std::tuple{1.f}, {.memory = "some"}); }),
            "gradient check requires a memory policy (all, recompute, period(K), binomial(SLOTS), online(SLOTS) or "
            "implicit), got 'some'");
  EXPECT_EQ(messageOf([&] { check_gradients(f, std::tuple{1.f}, {.step = -1}); }),
            "gradient check requires a step, a tolerance and a number of elements of at least 0");
}

TEST(Gradient, RequiresAFloatOfRank0) {
  EXPECT_EQ(messageOf([] { grad([](Tensor x) { return x * x; })(Tensor({1.f, 2.f})); }),
            "grad requires a function whose result is a float of rank 0, got f32[2]");
}

TEST(Gradient, RequiresFloatsToDifferentiateBy) {
  EXPECT_EQ(messageOf([] { grad([](Tensor x) { return astype(x, DType::f32); })(3); }),
            "grad requires float tensors to differentiate by, got i32[] for argument 0");
}

struct Counted {
  Tensor scale, steps, shift;
};

TEST(Gradient, IntegersWithinATreeHaveZeros) {
  Counted model{Tensor({2., 3.}), Tensor({5, 6}), Tensor(1.)};
  auto f = [](const Counted &m, Tensor x) { return sum(square(m.scale * x) * astype(m.steps, DType::f64) + m.shift); };
  Tensor x({1., 2.});
  for (bool jitted : {false, true}) {
    auto slopes = [&](const Counted &m, const Tensor &x) { return grad(f)(m, x); };
    Counted slope = jitted ? jit(slopes)(model, x) : slopes(model, x);
    EXPECT_EQ(slope.scale.to_vector<double>(), (std::vector<double>{20, 144}));
    EXPECT_EQ(slope.steps.dtype(), DType::i32);
    EXPECT_EQ(slope.steps.to_vector<int32_t>(), (std::vector<int32_t>{0, 0}));
    EXPECT_EQ(slope.shift.item<double>(), 2);
  }
  auto [value, back] = vjp(f, std::tuple{model, x}, scalar(1.));
  EXPECT_EQ(value.item<double>(), 238);
  EXPECT_EQ(std::get<0>(back).steps.to_vector<int32_t>(), (std::vector<int32_t>{0, 0}));
  EXPECT_EQ(std::get<1>(back).to_vector<double>(), (std::vector<double>{40, 216}));
  // In a host's branch the code runs twice, the second time from its log.
  auto branching = [&](const Counted &m, Tensor x) {
    Counted slope = grad(f)(m, x);
    return sum(x) > 0. ? slope.scale : -slope.scale;
  };
  EXPECT_EQ(jit(branching)(model, -x).to_vector<double>(), (std::vector<double>{-20, -144}));
}

TEST(Gradient, RequiresFloatsInATree) {
  struct Counters {
    Tensor a, b;
  };
  auto f = [](const Counters &m) { return sum(astype(m.a, DType::f32)); };
  EXPECT_EQ(messageOf([&] { grad(f)(Counters{Tensor({1, 2}), Tensor(3)}); }),
            "grad requires float tensors to differentiate by, got i32[2] for argument 0.a");
  auto two = [](Tensor x, Tensor n) { return sum(x * astype(n, DType::f32)); };
  EXPECT_EQ(messageOf([&] { grad<0, 1>(two)(Tensor({1.f}), Tensor({3})); }),
            "grad requires float tensors to differentiate by, got i32[1] for argument 1");
}

TEST(Gradient, RequiresACotangentPerResult) {
  auto two = [](Tensor x) { return std::tuple{x, x}; };
  EXPECT_EQ(messageOf([&] { vjp(two, std::tuple{scalar(1.f)}, scalar(1.f)); }),
            "vjp requires a cotangent for each of 2 tensors, got 1");
}

TEST(Gradient, RequiresDirectionsOfTheTypesOfWhatTheyBelongTo) {
  auto twice = [](Tensor x) { return x * 2; };
  auto layer = [](Tensor x) { return Layer{x, sum(x)}; };
  std::tuple x{Tensor({1.f, 2.f, 3.f})};
  EXPECT_EQ(messageOf([&] { vjp(twice, x, Tensor({1.f, 2.f})); }),
            "vjp requires a cotangent of type f32[3] for the result, got f32[2]");
  EXPECT_EQ(messageOf([&] { vjp(layer, x, Layer{std::get<0>(x), scalar(1.)}); }),
            "vjp requires a cotangent of type f32[] for result .b, got f64[]");
  EXPECT_EQ(messageOf([&] { jvp(twice, x, std::tuple{Tensor({1., 2., 3.})}); }),
            "jvp requires a tangent of type f32[3] for argument 0, got f64[3]");
  EXPECT_EQ(messageOf([&] {
              hessian_vector_product([](Layer l) { return sum(l.w * l.b); },
                                     std::tuple{Layer{std::get<0>(x), scalar(1.f)}},
                                     std::tuple{Layer{std::get<0>(x), std::get<0>(x)}});
            }),
            "hessian_vector_product requires a tangent of type f32[] for argument 0.b, got f32[3]");
}

TEST(Gradient, TakesNumbersForTensors) {
  auto square = [](Tensor x) { return x * x; };
  EXPECT_EQ(std::get<0>(vjp(square, std::tuple{3.f}, 2.f).second).item<float>(), 12);
  EXPECT_EQ(jvp(square, std::tuple{3.f}, std::tuple{scalar(2.f)}).second.item<float>(), 12);
  EXPECT_EQ(std::get<0>(hessian_vector_product(square, std::tuple{3.f}, std::tuple{2.f})).item<float>(), 4);
}

} // namespace

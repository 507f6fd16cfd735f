// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients that are made again at each call: what is compiled is kept, and is never taken for another function.

#include "Agree.h"
#include "compiler/trace/GraphScript.h"

using namespace sinter;
using namespace sinter::test;

namespace {

int64_t compiles() {
  sinter_jit_report report{};
  report.struct_size = sizeof report;
  sinter_jit_stats(&report);
  return report.compiles + report.memory_hits; // each asks for a module
}

using Numbers = std::vector<double>;
Numbers numbers(const Tensor &tensor) { return tensor.to_vector<double>(); }

Tensor square(Tensor x) { return sum(x * x); }
Tensor cube(Tensor x) { return sum(x * x * x); }

TEST(GradientCache, AFunctionWithoutCapturesIsCompiledOncePerLine) {
  int64_t before = 0;
  for (int k = 0; k < 4; ++k) {
    Tensor x({1. + k, 2.});
    auto [value, slope] = value_and_grad([](Tensor x) { return sum(x * x); })(x);
    EXPECT_EQ(value.item<double>(), (1. + k) * (1. + k) + 4);
    EXPECT_EQ(numbers(slope), (Numbers{2. + 2 * k, 4.}));
    if (k == 0)
      before = compiles();
  }
  EXPECT_EQ(compiles(), before);
}

TEST(GradientCache, AnotherShapeIsAnotherForm) {
  for (int64_t n : {2, 3, 2, 3})
    EXPECT_EQ(numbers(grad([](Tensor x) { return sum(x * x); })(ones({n}, DType::f64))), Numbers(size_t(n), 2.));
}

TEST(GradientCache, FunctionsOfOneTypeAtOneLineAreToldApart) {
  Tensor x({2., 3.});
  for (int k = 0; k < 2; ++k)
    for (bool third : {false, true}) {
      EXPECT_EQ(numbers(grad(third ? cube : square)(x)), (third ? Numbers{12., 27.} : Numbers{4., 6.}));
      std::function<Tensor(Tensor)> f = third ? cube : square;
      EXPECT_EQ(numbers(grad(f)(x)), (third ? Numbers{12., 27.} : Numbers{4., 6.}));
      double exponent = third ? 3 : 2;
      EXPECT_EQ(numbers(grad([=](Tensor x) { return sum(power(x, exponent)); })(x)),
                (third ? Numbers{12., 27.} : Numbers{4., 6.}));
    }
}

TEST(GradientCache, CapturedTensorsMayHaveOtherElements) {
  int64_t before = 0;
  for (int k = 0; k < 4; ++k) {
    Tensor batch({1. * k, 5.}), other({7., 1. + k}), x({1., 1.});
    EXPECT_EQ(numbers(grad([&](Tensor x) { return sum(x * batch + x * x * other); })(x)),
              (Numbers{k + 14., 5. + 2 * (1 + k)}));
    if (k == 0)
      before = compiles();
  }
  EXPECT_EQ(compiles(), before);
}

TEST(GradientCache, TheSameTensorTwiceIsNotTwoTensors) {
  Tensor a({2., 3.}), b({5., 7.}), x({1., 1.});
  for (int k = 0; k < 2; ++k)
    for (bool same : {true, false}) {
      const Tensor &second = same ? a : b;
      EXPECT_EQ(numbers(grad([&](Tensor x) { return sum(x * a * second); })(x)),
                (same ? Numbers{4., 9.} : Numbers{10., 21.}));
    }
}

TEST(GradientCache, CapturedIntegersAreSizesToo) {
  Tensor x({1., 2., 3., 4.});
  for (int32_t k : {0, 2, 1, 2}) {
    Tensor place({k});
    Numbers wanted(4, 0.);
    wanted[size_t(k)] = 1;
    EXPECT_EQ(numbers(grad([&](Tensor x) { return sum(take(x, place)); })(x)), wanted);
  }
}

TEST(GradientCache, ProgramsThatBeginAlikeAreToldApart) {
  Tensor x({.5, 2.});
  for (int k = 0; k < 9; ++k) { // each was seen before from the fourth trip on
    Tensor factor({1. + k, 1.});
    auto f = [&](Tensor x) {
      Tensor y = x * factor + 1.;
      if (k % 3 == 0)
        return sum(y * y);
      if (k % 3 == 1)
        return sum(y * y * y);
      return sum(y);
    };
    double a = 1. + k, y = .5 * a + 1;
    Numbers wanted = k % 3 == 0   ? Numbers{2 * y * a, 2. * 3}
                     : k % 3 == 1 ? Numbers{3 * y * y * a, 3. * 9}
                                  : Numbers{a, 1.};
    EXPECT_EQ(numbers(grad(f)(x)), wanted) << k;
  }
}

TEST(GradientCache, ProgramsGoOnBehindAKnownBeginning) {
  for (int k = 0; k < 6; ++k) { // shorter and longer than what is known, with loops and branches there
    Tensor factor({2., 3.}), x({1., 1.});
    int more = k % 3;
    auto f = [&](Tensor x) {
      Tensor y = x * factor;
      if (more == 1)
        y = for_loop(0, 2, [&](auto, Tensor c) { return c * factor; }, y);
      if (more == 2)
        y = cond(sum(y) > 0, [&] { return y * y * factor; }, [&] { return y; });
      return sum(y);
    };
    Numbers wanted = more == 0 ? Numbers{2., 3.} : more == 1 ? Numbers{8., 27.} : Numbers{16., 54.};
    EXPECT_EQ(numbers(grad(f)(x)), wanted) << k;
  }
}

using detail::ScriptedGraph;

/// Calls `slopes(x, factor)` for several factors and compares with `wanted(factor)`. A graph is made at the first call
/// only.
template <class Slopes, class Wanted> void expectOneGraph(const char *what, Slopes slopes, Wanted wanted) {
  int64_t before = 0;
  for (int k = 0; k < 5; ++k) {
    double a = 2. + k, b = 3. - k;
    Numbers result = numbers(slopes(Tensor({1., 2.}), Tensor({a, b})));
    Numbers expected = wanted(a, b);
    ASSERT_EQ(result.size(), expected.size()) << what;
    for (size_t i = 0; i < result.size(); ++i)
      EXPECT_NEAR(result[i], expected[i], 1e-12 * std::abs(expected[i])) << what << ", call " << k;
    if (k == 0)
      before = ScriptedGraph::graphsMade();
  }
  EXPECT_EQ(ScriptedGraph::graphsMade(), before) << what;
}

TEST(GradientCache, LoopsWithCapturesAreRecordedOnce) {
  auto cubes = [](double a, double b) { return Numbers{a * a * a, b * b * b}; };
  expectOneGraph(
      "for_loop",
      [](Tensor x, Tensor f) {
        return grad([&](Tensor x) { return sum(for_loop(0, 3, [&](auto, Tensor c) { return c * f; }, x)); })(x);
      },
      cubes);
  expectOneGraph(
      "while_loop",
      [](Tensor x, Tensor f) {
        return grad([&](Tensor x) {
          auto [i, y] = while_loop([](Tensor i, auto) { return i < 3; },
                                   [&](Tensor i, Tensor c) { return std::tuple{i + 1, c * f}; }, Tensor(0), x);
          return sum(y);
        })(x);
      },
      cubes);
  expectOneGraph(
      "scan",
      [](Tensor x, Tensor f) {
        return grad([&](Tensor x) {
          auto [last, all] = scan(
              [&](Tensor c, Tensor) {
                Tensor next = c * f;
                return std::tuple{next, next};
              },
              x, ones({3}, DType::f64));
          return sum(last) + 0. * sum(all);
        })(x);
      },
      cubes);
  expectOneGraph(
      "nested loops, and a carry that begins as a literal",
      [](Tensor x, Tensor f) {
        return grad([&](Tensor x) {
          Tensor total = for_loop(
              0, 2, [&](auto, Tensor sum) { return for_loop(0, 3, [&](auto, Tensor s) { return s + x * f; }, sum); },
              zeros_like(x));
          return sinter::sum(total) * for_loop(0, 1, [&](auto, Tensor c) { return c * f[0] / f[0]; }, Tensor(1.));
        })(x);
      },
      [](double a, double b) { return Numbers{6 * a, 6 * b}; });
}

TEST(GradientCache, BranchesWithCapturesAreRecordedOnce) {
  auto squares = [](double a, double b) { return Numbers{2 * a * a, 4 * b * b}; };
  expectOneGraph(
      "cond",
      [](Tensor x, Tensor f) {
        return grad(
            [&](Tensor x) { return sum(cond(sum(x) > 0, [&] { return x * x * f * f; }, [&] { return x * f; })); })(x);
      },
      squares);
  expectOneGraph(
      "switch_",
      [](Tensor x, Tensor f) {
        return grad([&](Tensor x) {
          return sum(switch_(astype(sum(x), DType::i64) - 2,
                             std::tuple{[&] { return x * f; }, [&] { return x * x * f * f; }}));
        })(x);
      },
      squares);
  expectOneGraph(
      "a branch of the host, within a loop",
      [](Tensor x, Tensor f) {
        return grad([&](Tensor x) {
          return sum(for_loop(
              0, 1,
              [&](auto, Tensor c) {
                if (sum(c) > 0)
                  return c * c * f * f;
                return c * f;
              },
              x));
        })(x);
      },
      squares);
}

TEST(GradientCache, FunctionsWithinAFunctionAreRecordedOnce) {
  auto squares = [](double a, double b) { return Numbers{2 * a * a, 4 * b * b}; };
  expectOneGraph(
      "checkpoint",
      [](Tensor x, Tensor f) {
        return grad([&](Tensor x) { return sum(checkpoint([&](Tensor x) { return x * x * f * f; })(x)); })(x);
      },
      squares);
  expectOneGraph(
      "custom_vjp",
      [](Tensor x, Tensor f) {
        auto square =
            custom_vjp([&](Tensor x) { return x * x * f * f; }, [&](Tensor x) { return std::pair{x * x * f * f, x}; },
                       [&](Tensor x, Tensor d) { return 2. * x * f * f * d; });
        return grad([&](Tensor x) { return sum(square(x)); })(x);
      },
      squares);
  expectOneGraph(
      "a gradient in a gradient",
      [](Tensor x, Tensor f) {
        return grad([&](Tensor x) { return sum(grad([&](Tensor x) { return sum(x * x * x * f * f); })(x)) / 3.; })(x);
      },
      squares);
}

TEST(GradientCache, LoopsThatBeginAlikeAreToldApart) {
  for (int k = 0; k < 8; ++k) {
    Tensor factor({2., 3.}), x({1., 1.});
    auto f = [&](Tensor x) {
      Tensor y = for_loop(0, 2 + k % 2, [&](auto, Tensor c) { return c * factor; }, x);
      return sum(k % 4 < 2 ? y : for_loop(0, 1, [&](auto, Tensor c) { return c + c * factor; }, y));
    };
    Numbers wanted = k % 2 ? Numbers{8., 27.} : Numbers{4., 9.};
    if (k % 4 >= 2)
      wanted = {wanted[0] * 3, wanted[1] * 4};
    EXPECT_EQ(numbers(grad(f)(x)), wanted) << k;
  }
}

TEST(GradientCache, NumbersOfTheHostAreComparedByTheirElements) {
  Tensor x({1., 2.}), factor({2., 2.});
  for (double scale : {3., 4., 3., 5.}) {
    EXPECT_EQ(numbers(grad([&](Tensor x) { return sum(x * factor * scale); })(x)), Numbers(2, 2 * scale));
    Tensor few({scale, scale + 1}); // floats of a program are captures, whatever they are
    EXPECT_EQ(numbers(grad([&](Tensor x) { return sum(x * factor * few); })(x)), (Numbers{2 * scale, 2 * scale + 2}));
    auto made = [&](Tensor x) { return sum(x * factor * Tensor({scale, 1.})); }; // made while it is traced
    EXPECT_EQ(numbers(grad(made)(x)), (Numbers{2 * scale, 2.}));
    auto flags = [&](Tensor x) { return sum(where(Tensor({scale > 3, true}), x * factor, x)); };
    EXPECT_EQ(numbers(grad(flags)(x)), (Numbers{scale > 3 ? 2. : 1., 2.}));
  }
}

TEST(GradientCache, AnErrorBehindAKnownBeginningIsNotKept) {
  Tensor x({1., 2.}), factor({2., 3.}), wrong({1., 2., 3.});
  for (int k = 0; k < 4; ++k) {
    auto f = [&](Tensor x) { return sum(x * factor * (k % 2 ? wrong : factor)); };
    if (k % 2)
      EXPECT_NE(messageOf([&] { (void)grad(f)(x); }).find("shape"), std::string::npos)
          << messageOf([&] { (void)grad(f)(x); });
    else
      EXPECT_EQ(numbers(grad(f)(x)), (Numbers{4., 9.}));
  }
}

TEST(GradientCache, CapturesBranchOnTheHostOfATensor) {
  for (double scale : {2., 3., 2.}) {
    Tensor factor = scalar(scale);
    auto f = [&](Tensor x) {
      if (x > 0)
        return x * factor;
      return x * factor * factor;
    };
    EXPECT_EQ(grad(f)(scalar(1.)).item<double>(), scale);
    EXPECT_EQ(grad(f)(scalar(-1.)).item<double>(), scale * scale);
  }
}

Tensor weights;

TEST(GradientCache, TensorsOfTheProgramAreCaptures) {
  for (double value : {2., 3., 4.}) {
    weights = Tensor({value, value});
    EXPECT_EQ(numbers(grad([](Tensor x) { return sum(x * weights); })(Tensor({1., 1.}))), (Numbers{value, value}));
  }
  weights = Tensor();
}

TEST(GradientCache, WhatIsKeptByTheProgramStaysAsItWas) {
  Tensor factor({2., 2.}), x({1., 1.});
  auto slope = grad([&](Tensor x) { return sum(x * factor); });
  EXPECT_EQ(numbers(slope(x)), (Numbers{2., 2.}));
  factor = Tensor({3., 3.});
  EXPECT_EQ(numbers(slope(x)), (Numbers{2., 2.})); // as a jitted function
}

TEST(GradientCache, DirectionsAreKeptToo) {
  int64_t before = 0;
  for (int k = 0; k < 3; ++k) {
    Tensor x({1. + k, 2.}), ones({1., 1.});
    auto f = [](Tensor x) { return sum(x * x * x); };
    auto [y, back] = vjp(f, std::tuple{x}, scalar(2.));
    EXPECT_EQ(numbers(std::get<0>(back)), (Numbers{6. * (1 + k) * (1 + k), 24.}));
    auto [value, tangent] = jvp(f, std::tuple{x}, std::tuple{ones});
    EXPECT_EQ(tangent.item<double>(), 3. * (1 + k) * (1 + k) + 12);
    auto [product] = hessian_vector_product(f, std::tuple{x}, std::tuple{ones});
    EXPECT_EQ(numbers(product), (Numbers{6. * (1 + k), 12.}));
    if (k == 0)
      before = compiles();
  }
  EXPECT_EQ(compiles(), before);
}

TEST(GradientCache, PoliciesAndOrdersAreToldApart) {
  Tensor x = scalar(2.);
  for (int k = 0; k < 2; ++k)
    for (const char *memory : {"all", "recompute"}) {
      auto f = [](Tensor x) { return for_loop(0, 3, [](auto, Tensor c) { return c * c; }, x); };
      EXPECT_EQ(grad(f, {.memory = memory})(x).item<double>(), 8 * 128.);
      EXPECT_EQ(grad(grad(f))(x).item<double>(), 56 * 64.);
    }
}

TEST(GradientCache, AnErrorIsNotKept) {
  for (int k = 0; k < 2; ++k)
    EXPECT_EQ(messageOf([&] { (void)grad([](Tensor x) { return x * x; })(Tensor({1., 2.})); }),
              "grad requires a function whose result is a float of rank 0, got f64[2]");
}

TEST(GradientCache, IsGivenBackByJitClear) {
  auto slope = [](double x) { return grad([](Tensor x) { return x * x * x; })(scalar(x)).item<double>(); };
  EXPECT_EQ(slope(2), 12);
  int64_t before = compiles();
  jit_clear();
  EXPECT_EQ(slope(3), 27);
  EXPECT_EQ(compiles(), before + 1);
}

} // namespace

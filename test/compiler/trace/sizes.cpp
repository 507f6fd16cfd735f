// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes that have a name: programs that use `dim` in each way a number can be used, compiled once and run at several
// sizes, against what plain loops compute.

#include "Agree.h"
#include <numeric>

using namespace sinter;
using namespace sinter::test;

namespace {

using Program = Tensor (*)(Tensor);
constexpr int64_t sizesTried[] = {1, 4, 9};

float element(int64_t i, int64_t j) { return float((i * 5 + j * 3) % 7) - 2.5f; }

/// [n, 3]
Tensor inputOf(int64_t n) {
  std::vector<float> values;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < 3; ++j)
      values.push_back(element(i, j));
  return Tensor(values, {n, 3});
}

/// What a program gives for x[n, 3].
struct Expected {
  Shape shape;
  std::vector<double> values;
};
/// Row by row, `f(i, j)` for i < rows and j < columns.
template <class F> Expected table(int64_t rows, int64_t columns, F &&f) {
  Expected result{{rows, columns}, {}};
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      result.values.push_back(f(i, j));
  return result;
}
template <class F> Expected line(int64_t count, F &&f) {
  Expected result{{count}, {}};
  for (int64_t i = 0; i < count; ++i)
    result.values.push_back(f(i));
  return result;
}
Expected number(double value) { return {{}, {value}}; }
double sumOf(int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < 3; ++j)
      sum += element(i, j);
  return sum;
}

void compare(const Tensor &got, const Expected &expected, const char *how, int64_t n) {
  ASSERT_EQ(got.shape().str(), expected.shape.str()) << how << " at " << n;
  std::vector<double> values = got.to_vector<double>();
  for (size_t k = 0; k < values.size(); ++k)
    EXPECT_NEAR(values[k], expected.values[k], 1e-5 * (1 + std::abs(expected.values[k])))
        << how << " at " << n << ", element " << k;
}

/// One compilation serves all sizes; at once, sizes are numbers.
void atThreeSizes(Program f, const std::function<Expected(int64_t)> &expected) {
  auto compiled = jit(f, {.specs = {spec<float>({"n", 3})}});
  for (int64_t n : sizesTried) {
    Tensor x = inputOf(n);
    compare(compiled(x), expected(n), "compiled", n);
    compare(f(x), expected(n), "at once", n);
  }
  EXPECT_EQ(compiled.cache_size(), 1);
}

//===- arithmetic -----------------------------------------------------------------------------------===//

TEST(Sizes, DivideASum) {
  atThreeSizes([](Tensor x) { return sum(x) / x.dim(0); }, [](int64_t n) { return number(sumOf(n) / double(n)); });
  atThreeSizes([](Tensor x) { return sum(x) / x.size(); }, [](int64_t n) { return number(sumOf(n) / double(3 * n)); });
  atThreeSizes([](Tensor x) { return sum(x) / (x.dim(0) * x.dim(1)); },
               [](int64_t n) { return number(sumOf(n) / double(3 * n)); });
}

TEST(Sizes, AreComputedWith) {
  atThreeSizes([](Tensor x) { return x * (x.dim(0) * 2 + 1) - x.dim(-2) / 2; },
               [](int64_t n) {
                 return table(n, 3,
                              [&](int64_t i, int64_t j) { return element(i, j) * double(2 * n + 1) - double(n / 2); });
               });
  atThreeSizes([](Tensor x) { return x + (10 - x.dim(0)) % 4 + -x.dim(0); },
               [](int64_t n) {
                 return table(n, 3,
                              [&](int64_t i, int64_t j) { return element(i, j) + double((10 - n) % 4) - double(n); });
               });
  atThreeSizes([](Tensor x) { return x * min(x.dim(0), 4) + max(5, x.dim(0)); },
               [](int64_t n) {
                 return table(n, 3, [&](int64_t i, int64_t j) {
                   return element(i, j) * double(std::min<int64_t>(n, 4)) + double(std::max<int64_t>(5, n));
                 });
               });
  atThreeSizes(
      [](Tensor x) {
        Size n = x.dim(0);
        n += 2;
        n *= x.dim(0);
        n -= 1;
        n /= 2;
        n %= 7;
        return as_tensor(n);
      },
      [](int64_t n) { return number(double(((n + 2) * n - 1) / 2 % 7)); });
}

TEST(Sizes, AreTensors) {
  atThreeSizes([](Tensor x) { return as_tensor(x.dim(0)); }, [](int64_t n) { return number(double(n)); });
  atThreeSizes([](Tensor x) { return Tensor(x.dim(0)); }, [](int64_t n) { return number(double(n)); });
  atThreeSizes([](Tensor x) { return sqrt(astype(as_tensor(x.dim(0)), DType::f32)); },
               [](int64_t n) { return number(std::sqrt(double(n))); });
  EXPECT_EQ(jit([](Tensor x) { return as_tensor(x.dim(0)); }, {.specs = {spec<float>({"n", 3})}})(inputOf(2)).dtype(),
            DType::i64);
}

TEST(Sizes, TakeTheTypeOfWhatTheyMeet) {
  atThreeSizes([](Tensor x) { return astype(astype(x, DType::f64) * x.dim(0), DType::f32); },
               [](int64_t n) { return table(n, 3, [&](int64_t i, int64_t j) { return element(i, j) * double(n); }); });
  atThreeSizes([](Tensor x) { return arange(3, DType::i32) * x.dim(0); },
               [](int64_t n) { return line(3, [&](int64_t i) { return double(i * n); }); });
}

//===- slices ---------------------------------------------------------------------------------------===//

TEST(Sizes, BoundSlices) {
  atThreeSizes([](Tensor x) { return x(slice(0, x.dim(0) / 2 + 1)); },
               [](int64_t n) { return table(n / 2 + 1, 3, element); });
  atThreeSizes([](Tensor x) { return x(slice(x.dim(0) - 1, {})); },
               [](int64_t n) { return table(1, 3, [&](int64_t, int64_t j) { return element(n - 1, j); }); });
  atThreeSizes([](Tensor x) { return x(slice(0, x.dim(0), 2)); },
               [](int64_t n) { return table((n + 1) / 2, 3, [](int64_t i, int64_t j) { return element(2 * i, j); }); });
  atThreeSizes([](Tensor x) { return arange(20)(slice(x.dim(0), x.dim(0) * 2)); },
               [](int64_t n) { return line(n, [&](int64_t i) { return double(n + i); }); });
  atThreeSizes([](Tensor x) { return arange(20)(slice(2, 18, x.dim(0))); },
               [](int64_t n) { return line((16 + n - 1) / n, [&](int64_t i) { return double(2 + i * n); }); });
}

TEST(Sizes, ArePositions) {
  atThreeSizes([](Tensor x) { return x[x.dim(0) - 1]; },
               [](int64_t n) { return line(3, [&](int64_t j) { return element(n - 1, j); }); });
  atThreeSizes([](Tensor x) { return x(x.dim(0) / 2, slice(1, 3)); },
               [](int64_t n) { return line(2, [&](int64_t j) { return element(n / 2, j + 1); }); });
}

TEST(Sizes, BoundUpdates) {
  atThreeSizes([](Tensor x) { return x.at(slice(0, x.dim(0) / 2)).set(7.f); },
               [](int64_t n) {
                 return table(n, 3, [&](int64_t i, int64_t j) { return i < n / 2 ? 7 : double(element(i, j)); });
               });
  atThreeSizes([](Tensor x) { return x.at(slice(x.dim(0) / 2, {}), 1).set(x(slice(x.dim(0) / 2, {}), 0)); },
               [](int64_t n) {
                 return table(n, 3, [&](int64_t i, int64_t j) { return element(i, i >= n / 2 && j == 1 ? 0 : j); });
               });
  atThreeSizes(
      [](Tensor x) { return x.at(x.dim(0) - 1).add(1.f); },
      [](int64_t n) { return table(n, 3, [&](int64_t i, int64_t j) { return element(i, j) + (i == n - 1); }); });
}

//===- loops and branches ---------------------------------------------------------------------------===//

TEST(Sizes, BoundLoops) {
  auto sums = [](int64_t n) {
    return line(3, [&](int64_t j) {
      double sum = 0;
      for (int64_t i = 0; i < n; ++i)
        sum += element(i, j);
      return sum;
    });
  };
  atThreeSizes([](Tensor x) { return for_loop(0, x.dim(0), [&](Tensor i, Tensor c) { return c + x[i]; }, zeros({3})); },
               sums);
  atThreeSizes(
      [](Tensor x) {
        return for_loop(Range(x.dim(0) - 1, -1, -1), [&](Tensor i, Tensor c) { return c + x[i]; }, zeros({3}));
      },
      sums);
  atThreeSizes(
      [](Tensor x) {
        auto [i, c] = while_loop([&](Tensor i, Tensor) { return i < x.dim(0); },
                                 [&](Tensor i, Tensor c) { return std::tuple{i + 1, c + x[i]}; }, 0, zeros({3}));
        return c;
      },
      sums);
}

TEST(Sizes, AreCarried) {
  atThreeSizes([](Tensor x) { return for_loop(0, 3, [&](Tensor i, Tensor c) { return c * 2 + i; }, x.dim(0)); },
               [](int64_t n) { return number(double(((n * 2) * 2 + 1) * 2 + 2)); });
  atThreeSizes( // captured by a body, where it makes a shape
      [](Tensor x) {
        Size n = x.dim(0);
        return for_loop(0, 2, [=](Tensor, Tensor c) { return c + sum(ones({n, n})); }, 0.f);
      },
      [](int64_t n) { return number(double(2 * n * n)); });
}

TEST(Sizes, Branch) {
  atThreeSizes(
      [](Tensor x) {
        if (x.dim(0) > 3)
          return x + 1;
        return x - 1;
      },
      [](int64_t n) { return table(n, 3, [&](int64_t i, int64_t j) { return element(i, j) + (n > 3 ? 1 : -1); }); });
  atThreeSizes(
      [](Tensor x) {
        Size n = x.dim(0);
        if ((n > 3 && n < 9) || n * n == 81)
          return x + 1;
        return !(n == 1) ? x : -x;
      },
      [](int64_t n) {
        return table(n, 3, [&](int64_t i, int64_t j) { return n == 1 ? -element(i, j) : element(i, j) + 1; });
      });
  atThreeSizes(
      [](Tensor x) { return cond(x.dim(0) == 4, [&] { return x * 2; }, [&] { return x; }); },
      [](int64_t n) { return table(n, 3, [&](int64_t i, int64_t j) { return element(i, j) * (n == 4 ? 2 : 1); }); });
  atThreeSizes([](Tensor x) { return where(x.dim(0) >= 4 && x > 0, x, 0.f); },
               [](int64_t n) {
                 return table(n, 3,
                              [&](int64_t i, int64_t j) { return n >= 4 && element(i, j) > 0 ? element(i, j) : 0; });
               });
  atThreeSizes(
      [](Tensor x) {
        return switch_(x.dim(0) % 3, std::tuple{[&] { return x; }, [&] { return x * 10; }, [&] { return x * 100; }});
      },
      [](int64_t n) {
        return table(n, 3, [&](int64_t i, int64_t j) { return element(i, j) * std::pow(10, double(n % 3)); });
      });
}

TEST(Sizes, DecideOnTheHostWhatTheNamesSay) {
  // No branch of the graph: sizes with one name are equal, and none is negative.
  std::string text = trace(
                         [](Tensor x, Tensor y) {
                           EXPECT_TRUE(x.dim(0) == y.dim(0));
                           EXPECT_FALSE(x.dim(0) < y.dim(0));
                           EXPECT_TRUE(x.dim(0) >= 0);
                           EXPECT_TRUE(x.dim(0) != -1);
                           EXPECT_TRUE(x.dim(1) == 3);
                           EXPECT_TRUE(x.dim(0) - y.dim(0) == 0);
                           EXPECT_TRUE(x.dim(0) * 0 == 0);
                           return x + y;
                         },
                         {spec<float>({"n", 3}), spec<float>({"n", 3})})
                         .text();
  EXPECT_EQ(text.find("sinter.cond"), std::string::npos) << text;
}

//===- shapes ---------------------------------------------------------------------------------------===//

TEST(Sizes, Count) {
  atThreeSizes([](Tensor x) { return arange(x.dim(0)); },
               [](int64_t n) { return line(n, [](int64_t i) { return double(i); }); });
  atThreeSizes([](Tensor x) { return arange(1, x.dim(0) * 2, 3); },
               [](int64_t n) { return line((2 * n - 1 + 2) / 3, [](int64_t i) { return double(1 + 3 * i); }); });
  atThreeSizes([](Tensor x) { return arange(x.dim(0), 0, -2, DType::f32); },
               [](int64_t n) { return line((n + 1) / 2, [&](int64_t i) { return double(n - 2 * i); }); });
  atThreeSizes([](Tensor x) { return arange(0, 10, x.dim(0)); },
               [](int64_t n) { return line((10 + n - 1) / n, [&](int64_t i) { return double(n * i); }); });
  atThreeSizes([](Tensor x) { return arange(x.dim(0), 2); },
               [](int64_t n) { return line(std::max<int64_t>(2 - n, 0), [&](int64_t i) { return double(n + i); }); });
  atThreeSizes(
      [](Tensor x) { return linspace(1, 3, x.dim(0)); },
      [](int64_t n) { return line(n, [&](int64_t i) { return n == 1 ? 1 : 1 + 2 * double(i) / double(n - 1); }); });
  atThreeSizes([](Tensor x) { return eye(x.dim(0), x.dim(0) + 1); },
               [](int64_t n) { return table(n, n + 1, [](int64_t i, int64_t j) { return double(i == j); }); });
}

TEST(Sizes, ShapeTensors) {
  atThreeSizes([](Tensor x) { return reshape(x, {x.dim(0) * 3}); },
               [](int64_t n) { return line(3 * n, [](int64_t k) { return element(k / 3, k % 3); }); });
  atThreeSizes([](Tensor x) { return reshape(x, {3, x.dim(0)}); },
               [](int64_t n) {
                 return table(3, n, [&](int64_t i, int64_t j) { return element((i * n + j) / 3, (i * n + j) % 3); });
               });
  atThreeSizes([](Tensor x) { return zeros({x.dim(0), 3}) + x; }, [](int64_t n) { return table(n, 3, element); });
  atThreeSizes([](Tensor x) { return full({x.dim(0) + 1, 2}, 5.f); },
               [](int64_t n) { return table(n + 1, 2, [](int64_t, int64_t) { return 5; }); });
  atThreeSizes([](Tensor x) { return broadcast_to(x[0], {x.dim(0), 3}); },
               [](int64_t n) { return table(n, 3, [](int64_t, int64_t j) { return element(0, j); }); });
  atThreeSizes([](Tensor x) { return tile(arange(2), {x.dim(0)}); },
               [](int64_t n) { return line(2 * n, [](int64_t i) { return double(i % 2); }); });
  atThreeSizes([](Tensor x) { return repeat(arange(2), x.dim(0)); },
               [](int64_t n) { return line(2 * n, [&](int64_t i) { return double(i / n); }); });
  atThreeSizes([](Tensor x) { return as_tensor(concatenate({x, x, x[0](newaxis)}).dim(0)); },
               [](int64_t n) { return number(double(2 * n + 1)); });
}

TEST(Sizes, AreListedByShape) {
  atThreeSizes([](Tensor x) { return arange(x.shape()[0] + x.shape()[1]); },
               [](int64_t n) { return line(n + 3, [](int64_t i) { return double(i); }); });
  atThreeSizes([](Tensor x) { return ones(x.shape()) + x; },
               [](int64_t n) { return table(n, 3, [](int64_t i, int64_t j) { return element(i, j) + 1.0; }); });
  atThreeSizes(
      [](Tensor x) {
        Tensor product = 1;
        for (Size size : x.shape())
          product = product * size;
        return as_tensor(product + x.shape().back() + x.shape().elements());
      },
      [](int64_t n) { return number(double(6 * n + 3)); });
  trace(
      [](Tensor x) {
        EXPECT_EQ(x.shape().str(), "[?, 3]");
        EXPECT_FALSE(x.shape().isStatic());
        EXPECT_EQ(x.shape().size(), 2);
        EXPECT_EQ(x.shape()[1], 3);
        return x;
      },
      {spec<float>({"n", 3})});
  Shape shape = ones({2, 3}).shape();
  EXPECT_EQ(shape, (Shape{2, 3}));
}

TEST(Sizes, OfAShapeAreNoNumbers) {
  auto messageOf = [](auto f) {
    try {
      trace(f, {spec<float>({"n", 3})});
    } catch (const Error &error) {
      return error.message();
    }
    return std::string();
  };
  EXPECT_EQ(messageOf([](Tensor x) {
              int64_t n = x.shape()[0];
              return x * n;
            }),
            messageOf([](Tensor x) {
              int64_t n = x.dim(0);
              return x * n;
            }));
  EXPECT_EQ(messageOf([](Tensor x) {
              Shape shape = x.shape();
              return x * shape[0];
            }),
            "a Shape requires sizes that are known, got [?, 3]; take them by dim or shape()[axis], or describe the "
            "tensor by known_shape");
}

TEST(Sizes, ShapeRandomNumbers) {
  auto f = [](Tensor x) { return random::uniform(key(7), {x.dim(0), 2}); };
  auto compiled = jit(f, {.specs = {spec<float>({"n", 3})}});
  for (int64_t n : sizesTried) {
    Tensor got = compiled(inputOf(n));
    EXPECT_EQ(got.shape().str(), (Shape{n, 2}).str());
    EXPECT_TRUE(close(got, random::uniform(key(7), {n, 2}), 0));
  }
}

//===- everywhere -----------------------------------------------------------------------------------===//

TEST(Sizes, HaveGradientsAroundThem) {
  // d/dx of (sum of x^2 over the first half) / n
  atThreeSizes(
      [](Tensor x) {
        return grad([](Tensor x) {
          Tensor half = x(slice(0, (x.dim(0) + 1) / 2));
          return sum(half * half) / x.dim(0);
        })(x);
      },
      [](int64_t n) {
        return table(n, 3, [&](int64_t i, int64_t j) { return i < (n + 1) / 2 ? 2 * element(i, j) / double(n) : 0; });
      });
  // through a loop over the rows: s = s / 2 + sum of row i
  atThreeSizes(
      [](Tensor x) {
        return grad([](Tensor x) {
          return for_loop(0, x.dim(0), [&](Tensor i, Tensor s) { return s * 0.5f + sum(x[i]); }, 0.f);
        })(x);
      },
      [](int64_t n) { return table(n, 3, [&](int64_t i, int64_t) { return std::pow(0.5, double(n - 1 - i)); }); });
}

TEST(Sizes, AreCompiledAhead) {
  auto f = [](Tensor x, Tensor y) {
    Tensor rows = x(slice(0, min(x.dim(0), y.dim(0))));
    return sum(rows) * y.dim(0) + sum(reshape(y, {y.dim(0) / 2, 2}));
  };
  std::string path = testing::TempDir() + "sizes.smod";
  ASSERT_TRUE(compile(f, {spec<float>({"n", 3}), spec<float>({"m"})}, {.output = path}));
  Session session(Module::open(path), nullptr, 1);
  for (int64_t n : sizesTried)
    for (int64_t m : {2, 6}) {
      double expected = 0;
      for (int64_t i = 0; i < std::min(n, m); ++i)
        for (int64_t j = 0; j < 3; ++j)
          expected += element(i, j);
      expected = expected * double(m) + double(m * (m - 1) / 2);
      EXPECT_NEAR(session({inputOf(n), astype(arange(m), DType::f32)})[0].item<double>(), expected, 1e-4) << n << m;
    }
  std::remove(path.c_str());
}

//===- where a number is demanded -------------------------------------------------------------------===//

TEST(Sizes, OfKnownAxesAreNumbers) {
  Tensor x = inputOf(4);
  int64_t n = x.dim(0);
  int columns = int(x.dim(1));
  double half = x.dim(0) * 0.5;
  int64_t chosen = n > 2 ? x.dim(1) : 1;
  std::vector<float> room(x.size());
  auto count = x.dim(0);
  count = 5;
  EXPECT_EQ(n + columns + count, 12);
  EXPECT_EQ(half, 2);
  EXPECT_EQ(chosen, 3);
  EXPECT_EQ(room.size(), 12u);
  EXPECT_EQ(std::max<int64_t>(x.dim(0), 2), 4);
  bool same = x.dim(0) == n && x.dim(1) != n;
  EXPECT_TRUE(same);
  EXPECT_EQ(std::to_string(x.dim(0)), "4");
  for (int k = 0; k < x.dim(1); ++k)
    --columns;
  EXPECT_EQ(columns, 0);
  EXPECT_EQ(messageOf([&] { (void)(x.dim(0) / 0); }), "a size requires a divisor other than 0, got 0");
}

TEST(Sizes, OfTensorsLeaveTheTensorsAlone) {
  Tensor three = scalar(int64_t(3));
  Size size(three);
  EXPECT_EQ((Tensor(size) * Tensor({0.5f})).item<float>(), 1.5f);
  EXPECT_FALSE(three.weak());
  EXPECT_EQ(arange(10)(slice(1, three)).to_vector<int>(), (std::vector<int>{1, 2}));
  EXPECT_EQ(messageOf([&] { (void)int64_t(size); }),
            "a number requires a size of C++, got a tensor; read it with item");
}

TEST(Sizes, WithNamesAreNoNumbers) {
  const char *message = "a C++ number requires a size that is known while the function is traced, got axis 0 of "
                        "f32[?, 3], which is 'n'; keep it as a sinter::Size (in arithmetic, shapes, slices and loops) "
                        "or take it as a tensor (as_tensor)";
  std::vector<Spec> named = {spec<float>({"n", 3})};
  int line = 0;
  auto asNumber = [&](Tensor x) {
    line = __LINE__ + 1;
    Size n = x.dim(0);
    int64_t number = n;
    return x * number;
  };
  EXPECT_EQ(messageOf([&] { trace(asNumber, named); }), message);
  EXPECT_EQ(lineOf([&] { trace(asNumber, named); }), line);
  EXPECT_EQ(messageOf([&] { trace([](Tensor x) { return x * (x.dim(0) * 0.5); }, named); }), message);
  EXPECT_EQ(
      messageOf([&] { trace([](Tensor x) { return Tensor(std::vector<float>(size_t(x.dim(0)), 1.f)); }, named); }),
      message);
  EXPECT_NE(messageOf([&] {
              trace([](Tensor x) { return x * int64_t(x.dim(0) + 1); }, named);
            }).find("got a size that is computed; keep it"),
            std::string::npos);
  EXPECT_NE(messageOf([&] {
              trace(
                  [](Tensor x) {
                    for (int k = 0; k < x.dim(0); ++k)
                      x = x + 1;
                    return x;
                  },
                  named);
            }).find("use while_loop, for_loop or scan"),
            std::string::npos);
}

//===- && and || ------------------------------------------------------------------------------------===//

TEST(Logic, IsElementwise) {
  auto f = [](Tensors in) -> Tensors {
    Tensor x = in[0];
    return {x > 0 && x < 2, x < 0 || x > 1, !(x > 0) || x == 1, x > 0 && true, false || x > 0, x && x - 1};
  };
  Tensors got = agree(f, {Tensor({-1.f, 0.f, 0.5f, 1.f, 3.f})});
  EXPECT_EQ(got[0].to_vector<int>(), (std::vector<int>{0, 0, 1, 1, 0}));
  EXPECT_EQ(got[1].to_vector<int>(), (std::vector<int>{1, 0, 0, 0, 1}));
  EXPECT_EQ(got[2].to_vector<int>(), (std::vector<int>{1, 1, 0, 1, 0}));
  EXPECT_EQ(got[3].to_vector<int>(), (std::vector<int>{0, 0, 1, 1, 1}));
  EXPECT_EQ(got[4].to_vector<int>(), (std::vector<int>{0, 0, 1, 1, 1}));
  EXPECT_EQ(got[5].to_vector<int>(), (std::vector<int>{1, 0, 1, 0, 1}));
  EXPECT_EQ(got[0].dtype(), DType::boolean);
}

TEST(Logic, IsOneBranchOfTheHost) {
  auto f = [](Tensor x, Tensor y) {
    if (x > 0 && y > 0)
      return x + y;
    return x - y;
  };
  std::string text = trace(f, {spec<float>({}), spec<float>({})}).text();
  size_t first = text.find("sinter.cond");
  EXPECT_NE(first, std::string::npos);
  EXPECT_EQ(text.find("sinter.cond", first + 1), std::string::npos) << text;
  auto compiled = jit(f);
  for (float x : {-1.f, 1.f})
    for (float y : {-2.f, 2.f}) {
      EXPECT_EQ(compiled(x, y).item<float>(), x > 0 && y > 0 ? x + y : x - y);
      EXPECT_EQ(f(scalar(x), scalar(y)).item<float>(), x > 0 && y > 0 ? x + y : x - y);
    }
}

TEST(Logic, MakesLoopPredicates) {
  auto f = [](Tensors in) -> Tensors {
    auto [x, n] = while_loop([](Tensor x, Tensor n) { return x < 100 && !(n >= 5 || x == 7); },
                             [](Tensor x, Tensor n) { return std::tuple{x * 2, n + 1}; }, in[0], 0);
    return {x, n};
  };
  EXPECT_EQ(agree(f, {scalar(30.f)})[1].item<int>(), 2); // 120
  EXPECT_EQ(agree(f, {scalar(1.f)})[1].item<int>(), 5);
  EXPECT_EQ(agree(f, {scalar(3.5f)})[1].item<int>(), 1); // 7
}

TEST(Logic, RefusesWhatDoesNotBroadcast) {
  EXPECT_EQ(messageOf([] { Tensor({true, false}) && Tensor({true, false, true}); }),
            "operator && requires shapes that broadcast, got [2] and [3]");
}

} // namespace

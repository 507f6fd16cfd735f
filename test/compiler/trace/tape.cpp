// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tape: what it records, gives back, refuses, and how it agrees with gradients of graphs.

#include "Agree.h"
#include <cstring>

using namespace sinter;
using namespace sinter::test;

namespace {

using Numbers = std::vector<double>;
Numbers numbers(const Tensor &tensor) { return tensor.to_vector<double>(); }

bool sameBits(const Tensor &a, const Tensor &b) {
  return a.type() == b.type() &&
         std::memcmp(a.view().data, b.view().data, size_t(a.known_size() * dtype_bytes(a.dtype()))) == 0;
}

TEST(Tape, GivesTheGradientOfWhatRan) {
  Tensor w = Tensor({1., 2.}).requires_grad();
  EXPECT_TRUE(w.needs_grad());
  EXPECT_FALSE(w.grad().defined());
  Tensor y = sum(w * w);
  int trips = 0;
  while (y < 100) {
    y = y * sum(w);
    ++trips;
  }
  EXPECT_EQ(trips, 3); // (w.w) (w1 + w2)^3
  EXPECT_TRUE(backward(y).ok());
  EXPECT_EQ(numbers(w.grad()), (Numbers{2. * 27 + 5 * 3 * 9, 4. * 27 + 5 * 3 * 9}));
}

TEST(Tape, AddsUp) {
  Tensor w = scalar(3.).requires_grad();
  for (int k = 1; k <= 3; ++k) {
    (void)backward(w * w);
    EXPECT_EQ(w.grad().item<double>(), 6. * k);
  }
  w.zero_grad();
  EXPECT_FALSE(w.grad().defined());
  Tensor both = w * w + w * 2 + exp(w) * 0;
  (void)backward(both);
  EXPECT_EQ(w.grad().item<double>(), 8);
}

TEST(Tape, ASeedIsTheCotangent) {
  Tensor w = Tensor({1., 2.}).requires_grad();
  (void)backward(w * w, Tensor({10., 100.}));
  EXPECT_EQ(numbers(w.grad()), (Numbers{20., 400.}));
  w.zero_grad();
  std::vector<Tensor> outputs = {w * 2, sum(w * w)}, seeds = {Tensor({1., 1.}), scalar(3.)};
  (void)backward(outputs, seeds);
  EXPECT_EQ(numbers(w.grad()), (Numbers{8., 14.}));
}

TEST(Tape, NothingIsRecordedWithoutNeed) {
  int64_t before = recorded_ops();
  Tensor w = scalar(2.).requires_grad(), x = scalar(3.);
  Tensor plain = x * x;
  EXPECT_FALSE(plain.needs_grad());
  {
    NoGrad off;
    EXPECT_FALSE(grad_enabled());
    EXPECT_FALSE((w * x).needs_grad());
    EnableGrad on;
    EXPECT_TRUE((w * x).needs_grad());
  }
  EXPECT_TRUE(grad_enabled());
  EXPECT_FALSE(no_grad([&] { return w * x; }).needs_grad());
  EXPECT_FALSE((w > x).needs_grad());
  EXPECT_EQ(recorded_ops(), before);
  Tensor y = w * x;
  EXPECT_EQ(recorded_ops(), before + 1);
  EXPECT_FALSE(y.detach().needs_grad());
  EXPECT_FALSE(stop_gradient(y).needs_grad());
  EXPECT_EQ(y.detach().view().data, y.view().data);
  (void)backward(y * y.detach());
  EXPECT_EQ(w.grad().item<double>(), 18);
  w.requires_grad(false);
  EXPECT_FALSE((w * x).needs_grad());
  Tensor other = x.detach().requires_grad();
  EXPECT_FALSE(x.needs_grad());
  EXPECT_EQ(grad([](Tensor x) { return x * x.detach(); })(x).item<double>(), 3);
}

TEST(Tape, IsGivenBack) {
  int64_t before = recorded_ops();
  Tensor w = scalar(0.5).requires_grad();
  {
    Tensor y = w;
    for (int k = 0; k < 10; ++k)
      y = sin(y) * w;
    EXPECT_EQ(recorded_ops(), before + 20);
    y = Tensor(1.f);
    EXPECT_EQ(recorded_ops(), before);
    y = sin(w);
    (void)backward(y);
    EXPECT_EQ(recorded_ops(), before + 1); // y is still there
  }
  EXPECT_EQ(recorded_ops(), before);
}

TEST(Tape, ManyBackwardsDoNotGrow) {
  int64_t before = recorded_ops();
  Tensor w = scalar(1.).requires_grad();
  for (int k = 0; k < 10000; ++k) {
    (void)backward(w * w);
    ASSERT_EQ(recorded_ops(), before);
  }
  EXPECT_EQ(w.grad().item<double>(), 20000);
}

TEST(Tape, ALongChainIsWalkedAndGivenBackWithoutRecursion) {
  int64_t before = recorded_ops();
  {
    Tensor w = scalar(1.).requires_grad(), y = w;
    for (int k = 0; k < 100000; ++k)
      y = y + w;
    EXPECT_EQ(recorded_ops(), before + 100000);
    (void)backward(y, {}, {.retain_graph = true});
    EXPECT_EQ(w.grad().item<double>(), 100001);
  }
  EXPECT_EQ(recorded_ops(), before);
}

TEST(Tape, KeepsWhatItIsAskedToKeep) {
  Tensor w = scalar(3.).requires_grad();
  Tensor middle = (w * w).retain_grad(), y = middle * w;
  (void)backward(y, {}, {.retain_graph = true});
  (void)backward(y);
  EXPECT_EQ(w.grad().item<double>(), 54);
  EXPECT_EQ(middle.grad().item<double>(), 3); // of the last walk
}

TEST(Tape, HigherDerivatives) {
  Tensor w = scalar(2.).requires_grad();
  Tensor first = gradients({w * w * w * w}, {w}, {}, {.create_graph = true})[0];
  EXPECT_EQ(first.item<double>(), 32);
  Tensor second = gradients({first}, {w}, {}, {.create_graph = true})[0];
  EXPECT_EQ(second.item<double>(), 48);
  Tensor third = gradients({second}, {w}, {}, {.create_graph = true})[0];
  EXPECT_EQ(third.item<double>(), 48);
  (void)backward(third);
  EXPECT_EQ(w.grad().item<double>(), 24);
  EXPECT_EQ(numbers(gradients({scalar(1.) * w}, {scalar(1.).requires_grad(), w})[1]), (Numbers{1.}));
}

TEST(Tape, SecondDerivativesAreThoseOfGrad) {
  auto f = [](Tensor x) { return sum(tanh(matmul(x, transpose(x))) * exp(sum(x, 1))); };
  Tensor x = Tensor({0.3, -0.4, 0.5, 0.1, 0.7, -0.2}, {3, 2}), v = Tensor({1., 2., -1., 0.5, 3., -2.}, {3, 2});
  Tensor leaf = x.detach().requires_grad();
  Tensor slope = gradients({f(leaf)}, {leaf}, {}, {.create_graph = true})[0];
  EXPECT_TRUE(close(slope, grad(f)(x), 1e-14));
  Tensor product = gradients({sum(slope * v)}, {leaf})[0];
  EXPECT_TRUE(close(product, std::get<0>(hessian_vector_product(f, std::tuple{x}, std::tuple{v})), 1e-13));
}

TEST(Tape, Hooks) {
  Tensor w = scalar(3.).requires_grad();
  Tensor middle = w * w;
  double seen = 0;
  int64_t first = hook(middle, [&](const Tensor &g) { seen = g.item<double>(); });
  hook(middle, [](const Tensor &g) { return g * 10.; });
  int64_t onLeaf = hook(w, [](const Tensor &g) { return g + 1.; });
  (void)backward(middle * 2., {}, {.retain_graph = true});
  EXPECT_EQ(seen, 2);
  EXPECT_EQ(w.grad().item<double>(), 121);
  EXPECT_TRUE(remove_hook(middle, first));
  EXPECT_FALSE(remove_hook(middle, first));
  EXPECT_TRUE(remove_hook(w, onLeaf));
  seen = 0;
  w.zero_grad();
  (void)backward(middle);
  EXPECT_EQ(seen, 0);
  EXPECT_EQ(w.grad().item<double>(), 60);
  hook(w, [](const Tensor &) { return Tensor({1., 2.}); });
  EXPECT_EQ(messageOf([&] { (void)backward(w * 2.); }), "a hook requires a gradient of type f64[], got f64[2]");
}

TEST(Tape, ChangesInPlace) {
  Tensor w = Tensor({1., 2.}).requires_grad(), x = Tensor({3., 4.});
  {
    NoGrad off;
    w.assign(w - 0.5);
  }
  EXPECT_TRUE(w.needs_grad());
  EXPECT_EQ(numbers(w), (Numbers{0.5, 1.5}));
  EXPECT_EQ(w.version(), 1);
  Tensor product = w * x, total = w + x;
  x.assign(x * 2);
  (void)backward(sum(total)); // does not need the elements
  EXPECT_EQ(messageOf([&] { (void)backward(sum(product)); }),
            "backward requires the operands of mul as they were, got one that was changed in place since");
  Tensor buffer = zeros({2}, DType::f64);
  buffer.assign(w * w);
  w.zero_grad();
  (void)backward(sum(buffer));
  EXPECT_EQ(numbers(w.grad()), (Numbers{1., 3.}));
  Tensor view = w.detach(), squared = w * w;
  view.assign(Tensor({0., 0.}));
  EXPECT_EQ(w.version(), 2);
  EXPECT_NE(messageOf([&] { (void)backward(sum(squared)); }), "");
  EXPECT_EQ(messageOf([&] { w.assign(x); }), "assign requires a tensor without requires_grad, or a NoGrad around it");
  EXPECT_EQ(messageOf([&] { x.assign(Tensor({1., 2., 3.})); }), "assign requires values of type f64[2], got f64[3]");
}

TEST(Tape, Refuses) {
  Tensor w = Tensor({1., 2.}).requires_grad();
  Tensor y = sum(w * w);
  (void)backward(y);
  std::string again = messageOf([&] { (void)backward(y); });
  EXPECT_NE(again.find("which was walked before and given back; pass retain_graph to the first walk"),
            std::string::npos)
      << again;
  EXPECT_EQ(messageOf([&] { (void)backward(w * w); }),
            "backward requires a tensor of one element or a seed, got f64[2]");
  EXPECT_EQ(messageOf([&] { (void)backward(w * w, Tensor({1., 2., 3.})); }),
            "backward requires a seed of type f64[2], got f64[3]");
  EXPECT_EQ(messageOf([&] { (void)backward(scalar(1.)); }),
            "backward requires a tensor that was computed from one with requires_grad, got f64[] that was not");
  EXPECT_EQ(messageOf([&] { (void)backward(Tensor()); }), "backward requires tensors, got a Tensor() without a value");
  EXPECT_EQ(messageOf([&] { Tensor({1, 2}).requires_grad(); }), "requires_grad requires floats, got i32[2]");
  EXPECT_EQ(messageOf([&] { (w * w).requires_grad(false); }),
            "requires_grad(false) requires a tensor that was not computed; use detach");
  EXPECT_EQ(messageOf([&] { scalar(1.).retain_grad(); }),
            "retain_grad requires a tensor that needs a gradient, got one without");
  EXPECT_EQ(messageOf([&] { hook(scalar(1.), [](const Tensor &) {}); }),
            "hook requires a tensor that needs a gradient, got one without");
  EXPECT_EQ(messageOf([&] { (void)gradients({sum(w)}, {scalar(1.)}); }),
            "gradients requires inputs that need a gradient, got f64[] that does not");
  EXPECT_EQ(messageOf([&] { (void)gradients({sum(w)}, {w}, {scalar(1.), scalar(1.)}); }),
            "gradients requires a seed for each output or none, got 2 for 1");
  EXPECT_EQ(messageOf([&] { (void)grad([](Tensor x) { return sum(x); })(w); }),
            "a gradient of a function requires arguments without requires_grad, whose gradients would be lost; detach "
            "them, or use NoGrad");
  EXPECT_EQ(messageOf([&] { (void)jit([&](Tensor x) { return sum(x * w); })(scalar(1.)); }),
            "a function that is traced requires tensors from outside without requires_grad, whose gradient would be "
            "lost; pass the tensor as an argument, or detach it");
  EXPECT_EQ(messageOf([&] {
              (void)trace(
                  [](Tensor x) {
                    x.requires_grad();
                    return x;
                  },
                  {spec<float>({})});
            }),
            "requires_grad requires a tensor with elements, got one of a trace");
}

TEST(Tape, WhatTheLibraryRunsOnTheHostIsRecorded) {
  Tensor w = Tensor({0.5, -0.25, 2.}).requires_grad();
  auto check = [&](auto &&f, double tolerance = 1e-14) {
    Tensor plain = w.detach();
    w.zero_grad();
    (void)backward(f(w));
    EXPECT_TRUE(close(w.grad(), grad(f)(plain), tolerance)) << to_string(w.grad());
  };
  check([](Tensor x) { return x[1] * x[0]; });
  check([](Tensor x) { return sum(x.at(1).set(x[2] * x[2])); });
  check([](Tensor x) { return for_loop(0, 3, [](auto, Tensor c) { return c * c + 1; }, sum(x)); });
  check([](Tensor x) {
    return scan([](Tensor c, Tensor s) { return std::pair{sin(c * s) + s, c * s}; }, scalar(1.), x).second[2];
  });
  check([](Tensor x) { return sum(sinter::map([](Tensor s) { return s * s; }, x)); });
  check([](Tensor x) {
    return while_loop([](Tensor c) { return sum(c * c) < 1e3; }, [](Tensor c) { return c * 2; }, x)[2];
  });
  check([](Tensor x) { return cond(sum(x) > 0, [&] { return sum(x * x); }, [&] { return sum(x); }); });
  check([](Tensor x) { return sum(associative_scan([](Tensor a, Tensor b) { return a * b; }, x)); });
  check(checkpoint([](Tensor x) { return sum(exp(x)); }));
  check(jit([](Tensor x) { return sum(x * x * x); }));
}

TEST(Tape, AFunctionWithAGradientOfItsOwnHasIt) {
  int64_t before = recorded_ops();
  {
    auto f = custom_vjp([](Tensor x) { return x * x; }, [](Tensor x) { return std::pair{x * x, x}; },
                        [](Tensor x, Tensor dy) { return clip(2 * x * dy, -1, 1); });
    Tensor w = Tensor({0.25, 3.}).requires_grad();
    (void)backward(sum(f(w)));
    EXPECT_EQ(numbers(w.grad()), (Numbers{0.5, 1.}));
    Tensor slope = gradients({sum(f(w))}, {w}, {}, {.create_graph = true})[0];
    EXPECT_EQ(numbers(gradients({sum(slope)}, {w})[0]), (Numbers{2., 0.}));
    auto keeps = custom_vjp([](Tensor x) { return exp(x); },
                            [](Tensor x) {
                              Tensor y = exp(x);
                              return std::pair{y, y};
                            },
                            [](Tensor y, Tensor dy) { return y * dy; });
    w.zero_grad();
    (void)backward(sum(keeps(w)));
    EXPECT_TRUE(sameBits(w.grad(), exp(w.detach())));
  }
  EXPECT_EQ(recorded_ops(), before);
}

/// A small network whose branches are large enough for threads.
TEST(Tape, ThreadsDoNotChangeBits) {
  auto walk = [](int threads) {
    Tensor x = sin(iota({128, 256}, 1, DType::f32)), w = cos(iota({256, 128}, 0, DType::f32)).requires_grad();
    Tensor total = scalar(0.f);
    for (int k = 0; k < 6; ++k)
      total = total + sum(tanh(matmul(x * float(k + 1), w) * 0.01f) * float(k - 2));
    (void)backward(total, {}, {.threads = threads});
    return w.grad();
  };
  Tensor one = walk(1);
  for (int threads : {2, 4, 0})
    for (int turn = 0; turn < 3; ++turn)
      EXPECT_TRUE(sameBits(walk(threads), one)) << threads;
}

TEST(Tape, ErrorsInHooksAndRulesEndTheWalk) {
  Tensor w = scalar(2.).requires_grad();
  for (int threads : {1, 0}) {
    Tensor y = w * w;
    hook(y, [](const Tensor &) -> Tensor { throw std::runtime_error("stopped"); });
    EXPECT_EQ(messageOf([&] { (void)backward(y * y, {}, {.threads = threads}); }), "stopped");
    EXPECT_TRUE(grad_enabled());
  }
}

} // namespace

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C functions of the program as ops, against formulas.

#include "Agree.h"
#include <atomic>
#include <cmath>
#include <sinter/custom_op.hpp>
#include <thread>

using namespace sinter;
using sinter::test::messageOf;

namespace {

using Numbers = std::vector<double>;
Numbers numbers(const Tensor &tensor) { return tensor.to_vector<double>(); }

std::atomic<int> calls{0};

int64_t elements(const sinter_tensor &tensor) {
  int64_t count = 1;
  for (int k = 0; k < tensor.rank; ++k)
    count *= tensor.dims[k];
  return count;
}

/// x^3
extern "C" int32_t test_cube(int32_t, const sinter_tensor *x, int32_t, const sinter_tensor *y, char *) {
  ++calls;
  for (int64_t i = 0; i < elements(*x); ++i) {
    double v = static_cast<const double *>(x->data)[i];
    static_cast<double *>(y->data)[i] = v * v * v;
  }
  return SINTER_OK;
}

/// 3 x^2 dy
extern "C" int32_t test_cube_vjp(int32_t, const sinter_tensor *in, int32_t, const sinter_tensor *out, char *) {
  for (int64_t i = 0; i < elements(in[0]); ++i) {
    double v = static_cast<const double *>(in[0].data)[i], dy = static_cast<const double *>(in[1].data)[i];
    static_cast<double *>(out->data)[i] = 3 * v * v * dy;
  }
  return SINTER_OK;
}

/// -1 for x^3: what only the evaluator calls.
extern "C" int32_t test_other(int32_t, const sinter_tensor *x, int32_t, const sinter_tensor *y, char *) {
  for (int64_t i = 0; i < elements(*x); ++i)
    static_cast<double *>(y->data)[i] = -1;
  return SINTER_OK;
}

/// Sums of pairs, their number, and whether there is any: [n] -> [n / 2], i64, i1 (any byte but 0).
extern "C" int32_t test_pairs(int32_t, const sinter_tensor *x, int32_t, const sinter_tensor *out, char *) {
  auto *from = static_cast<const double *>(x->data);
  for (int64_t i = 0; i < out[0].dims[0]; ++i)
    static_cast<double *>(out[0].data)[i] = from[2 * i] + from[2 * i + 1];
  *static_cast<int64_t *>(out[1].data) = out[0].dims[0];
  *static_cast<uint8_t *>(out[2].data) = out[0].dims[0] ? 7 : 0;
  return SINTER_OK;
}

/// sqrt, which fails below 0 with a status of its own or one of C's.
extern "C" int32_t test_root(int32_t, const sinter_tensor *x, int32_t, const sinter_tensor *y, char *message) {
  for (int64_t i = 0; i < elements(*x); ++i) {
    double v = static_cast<const double *>(x->data)[i];
    if (v < -10)
      return -77;
    if (v < 0) {
      std::snprintf(message, SINTER_OP_MESSAGE_BYTES, "{} of %g is no number", v);
      return SINTER_INVALID_ARGUMENT;
    }
    static_cast<double *>(y->data)[i] = std::sqrt(v);
  }
  return SINTER_OK;
}

CustomOp cubeVjp() {
  return custom_op(
      {.name = "test_cube_vjp", .function = test_cube_vjp, .vjp = [](auto in, auto, auto d) -> std::vector<Tensor> {
         return {6 * in[0] * in[1] * d[0], 3 * in[0] * in[0] * d[0]};
       }});
}

CustomOp cube() {
  return custom_op({.name = "test_cube",
                    .function = test_cube,
                    .vjp = [](auto x, auto, auto dy) -> std::vector<Tensor> { return {cubeVjp()(x[0], dy[0])}; }});
}

CustomOp pairs() {
  return custom_op({.name = "test_pairs", .function = test_pairs, .results = [](auto x) -> std::vector<ResultType> {
                      return {{DType::f64, {x[0].dim(0) / 2}}, {DType::i64, {}}, {DType::boolean, {}}};
                    }});
}

CustomOp root() { return custom_op({.name = "test_root", .function = test_root}); }

TEST(CustomOp, RunsAtOnceAndJitted) {
  Tensor x({1., 2., -3.});
  EXPECT_EQ(numbers(cube()(x)), (Numbers{1, 8, -27}));
  auto f = jit([](Tensor x) { return cube()(x + 1) * 2; });
  EXPECT_EQ(numbers(f(x)), (Numbers{16, 54, -16}));
  EXPECT_EQ(numbers(f(Tensor({0., 1., 2.}))), (Numbers{2, 16, 54}));
  EXPECT_EQ(cube()(Tensor(2.)).item<double>(), 8); // of rank 0, in a register
  EXPECT_EQ(jit([](Tensor x) { return cube()(x) + 1; })(Tensor(2.)).item<double>(), 9);
}

TEST(CustomOp, HasTheGradientsOfItsVjp) {
  Tensor x({1., 2., -3.});
  auto loss = [](Tensor x) { return sum(cube()(x) * x); }; // x^4
  EXPECT_EQ(numbers(grad(loss)(x)), (Numbers{4, 32, -108}));
  EXPECT_EQ(numbers(jit(grad(loss))(x)), (Numbers{4, 32, -108}));
  // 12 x^2, through the vjp's own
  EXPECT_EQ(numbers(grad([&](Tensor x) { return sum(grad(loss)(x)); })(x)), (Numbers{12, 48, 108}));
}

TEST(CustomOp, HasTheGradientsOfItsVjpOnATape) {
  Tensor x = Tensor({1., 2., -3.}).requires_grad();
  (void)backward(sum(cube()(x) * x));
  EXPECT_EQ(numbers(x.grad()), (Numbers{4, 32, -108}));
}

TEST(CustomOp, ForwardModeTransposesItsVjp) {
  Tensor x({1., 2., -3.}), t({1., .5, 2.});
  auto f = [](Tensor x) { return cube()(x) * x; }; // x^4, moved by 4 x^3 t
  auto [value, tangent] = jvp(f, std::tuple{x}, std::tuple{t});
  EXPECT_EQ(numbers(value), (Numbers{1, 16, 81}));
  EXPECT_EQ(numbers(tangent), (Numbers{4, 16, -216}));
  auto [jitted, moved] = jit([&](Tensor x, Tensor t) { return jvp(f, std::tuple{x}, std::tuple{t}); })(x, t);
  EXPECT_EQ(numbers(moved), (Numbers{4, 16, -216}));
  // 12 x^2 t, forward over reverse
  auto product = hessian_vector_product([&](Tensor x) { return sum(f(x)); }, std::tuple{x}, std::tuple{t});
  EXPECT_EQ(numbers(std::get<0>(product)), (Numbers{12, 24, 216}));
}

TEST(CustomOp, TangentWithoutAVjpIsAnError) {
  EXPECT_NE(messageOf([] {
              jvp([](Tensor x) { return root()(x); }, std::tuple{Tensor({4.})}, std::tuple{Tensor({1.})});
            }).find("has no gradient: it is a function of the program without a vjp"),
            std::string::npos);
}

TEST(CustomOp, WorksInLoopsAndBranches) {
  // x <- x^3 / 2, three times: x^27 / 2^13; its slope is 27 x^26 / 2^13
  auto f = [](Tensor x) { return for_loop(0, 3, [](Tensor, Tensor x) { return cube()(x) / 2.; }, x); };
  Tensor x({1., 2.});
  double scale = std::pow(2., 13);
  EXPECT_EQ(numbers(jit(f)(x)), (Numbers{1 / scale, std::pow(2., 27) / scale}));
  EXPECT_EQ(numbers(jit(grad([&](Tensor x) { return sum(f(x)); }))(x)),
            (Numbers{27 / scale, 27 * std::pow(2., 26) / scale}));
  auto branch =
      jit(grad([](Tensor x) { return cond(sum(x) > 0., [&] { return sum(cube()(x)); }, [&] { return sum(x); }); }));
  EXPECT_EQ(numbers(branch(x)), (Numbers{3, 12}));
  EXPECT_EQ(numbers(branch(-x)), (Numbers{1, 1}));
}

TEST(CustomOp, IsNotCalledWhereNobodyReadsItsResult) {
  auto f = jit([](Tensor x) {
    (void)cube()(x);
    return x + 1;
  });
  calls = 0;
  (void)f(Tensor({1., 2.}));
  EXPECT_EQ(calls, 0);
}

TEST(CustomOp, SizesOfResultsAreComputedFromNamedOnes) {
  auto f = [](Tensor x) {
    std::vector<Tensor> all = pairs().all({x});
    return std::tuple{all[0] * 2, all[1], all[2]};
  };
  auto named = jit(f, {.specs = {spec<double>({"n"})}});
  for (int n : {5, 4, 1}) {
    auto [sums, count, any] = named(arange(0, n, 1, DType::f64));
    Numbers expected;
    for (int k = 0; k + 1 < n; k += 2)
      expected.push_back(2 * (2 * k + 1));
    EXPECT_EQ(numbers(sums), expected);
    EXPECT_EQ(count.item<int64_t>(), n / 2);
    EXPECT_EQ(any.item<bool>(), n > 1);
    EXPECT_EQ(any.span<bool>()[0], n > 1); // a boolean is 0 or 1
  }
  EXPECT_EQ(named.cache_size(), 1);
}

TEST(CustomOp, ErrorsOfTheFunctionAreErrorsOfTheCall) {
  const std::string text = "op 'test_root' failed: {} of -1 is no number";
  Tensor bad({4., -1.}), worse({-20.});
  EXPECT_EQ(messageOf([&] { root()(bad); }), text);
  auto f = jit([](Tensor x) { return root()(x) + 1; });
  EXPECT_EQ(numbers(f(Tensor({4., 9.}))), (Numbers{3, 4}));
  EXPECT_NE(messageOf([&] { f(bad); }).find(text), std::string::npos);
  EXPECT_NE(messageOf([&] { f(worse); }).find("op 'test_root' failed with status -77"), std::string::npos);
  EXPECT_EQ(numbers(f(Tensor({4., 9.}))), (Numbers{3, 4})); // the next call is fine
}

TEST(CustomOp, GradientWithoutAVjpIsAnError) {
  EXPECT_NE(messageOf([] {
              grad([](Tensor x) { return sum(root()(x)); })(Tensor({4.}));
            }).find("has no gradient: it is a function of the program without a vjp"),
            std::string::npos);
  Tensor x = Tensor({4.}).requires_grad();
  Tensor y = sum(root()(x));
  EXPECT_NE(messageOf([&] { (void)backward(y); }).find("has no gradient"), std::string::npos);
}

TEST(CustomOp, RefusesWhatItCannotBe) {
  (void)cube();
  EXPECT_EQ(messageOf([] { custom_op({.name = "test_cube", .function = test_root}); }),
            "op 'test_cube' is registered with another function");
  EXPECT_EQ(messageOf([] { custom_op({.name = "two words", .function = test_root}); }),
            "an op requires a name that is a C identifier, got 'two words'");
  EXPECT_EQ(messageOf([] { custom_op({.name = "expf", .function = test_root}); }),
            "an op requires a name that is none of the C library's, got 'expf'");
  CustomOp later = custom_op({.name = "test_nowhere"});
  EXPECT_EQ(messageOf([&] { later(Tensor({1.})); }), "test_nowhere requires a function to run at once, got none");
  EXPECT_NE(messageOf([&] {
              jit([&](Tensor x) { return later(x); })(Tensor({1.}));
            }).find("it calls 'test_nowhere', which this runtime does not offer and the program has not registered"),
            std::string::npos);
}

TEST(CustomOp, TheEvaluatorCallsTheReference) {
  CustomOp op = custom_op({.name = "test_twofold", .function = test_cube, .reference = test_other});
  Graph graph = trace([&](Tensor x) { return op(x); }, {spec<double>({2})});
  Tensor x({1., 2.});
  EXPECT_EQ(numbers(graph.evaluate(std::vector{x})[0]), (Numbers{-1, -1}));
  EXPECT_EQ(numbers(jit([&](Tensor x) { return op(x); })(x)), (Numbers{1, 8}));
}

TEST(CustomOp, SessionsCallItSideBySide) {
  auto f = jit([](Tensor x) { return sum(cube()(x)); });
  Tensor x = ones({100}, DType::f64);
  EXPECT_EQ(f(x).item<double>(), 100);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int k = 0; k < 50; ++k)
        wrong += f(x).item<double>() != 100;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

} // namespace

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the tracer's functions mean, on small numbers that can be checked by hand, and what they say when used wrongly.
// That eager, compiled and reference agree is tested by the table in test/numerics/.

#include <cmath>
#include <gtest/gtest.h>
#include <sinter/sinter.hpp>

using namespace sinter;

using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;

static Floats floats(const Tensor &x) { return x.to_vector<float>(); }
static Ints ints(const Tensor &x) { return x.to_vector<int64_t>(); }
static const Tensor six({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}, {2, 3});

/// The message of an error that `f` causes, and whether it names this file.
template <class F> static std::string messageOf(F f) {
#if SINTER_HAS_EXCEPTIONS
  try {
    f();
  } catch (const Error &error) {
    EXPECT_STREQ(error.file(), __FILE__);
    return error.message();
  }
  return "";
#else
  Tensor result = f();
  return result.error() ? result.error()->message() : "";
#endif
}

TEST(Ops, LiteralsTakeTheTypeOfTheTensor) {
  EXPECT_EQ((Tensor({1, 2}) + 1).type().str(), "i32[2]");
  EXPECT_EQ((2.5 * six).type().str(), "f32[2, 3]");
  EXPECT_EQ((1 - astype(six, DType::f16)).type().str(), "f16[2, 3]");
  EXPECT_EQ(sinter::sin(0.5).dtype(), DType::f64);
  EXPECT_EQ(maximum(1, 2.5f).dtype(), DType::f32);
}

TEST(Ops, OperatorsOnIntegersAreThoseOfC) {
  Tensor x({-7, 7, -8, 5}), y({2, -2, 4, 0});
  EXPECT_EQ(ints(x / y), (Ints{-3, -3, -2, -1}));
  EXPECT_EQ(ints(x % y), (Ints{-1, 1, 0, 5}));
  EXPECT_EQ(ints(floor_divide(x, y)), (Ints{-4, -4, -2, -1}));
  EXPECT_EQ(ints(remainder(x, y)), (Ints{1, -1, 0, 5}));
}

TEST(Ops, BroadcastsLikeNumPy) {
  EXPECT_EQ((six + Tensor({10.f, 20.f}, {2, 1})).to_vector<int>(), (std::vector<int>{11, 12, 13, 24, 25, 26}));
  EXPECT_EQ((Tensor({1.f, 2.f}, {2, 1}) * Tensor({1.f, 10.f})).to_vector<int>(), (std::vector<int>{1, 10, 2, 20}));
}

TEST(Ops, SubscriptsAreThoseOfPython) {
  Tensor x = reshape(arange(24), {2, 3, 4});
  EXPECT_EQ(ints(x(1, 2, 3)), Ints{23});
  EXPECT_EQ(ints(x(-1, slice(1, 3), 0)), (Ints{16, 20}));
  EXPECT_EQ(ints(x(0, 0, slice({}, {}, -1))), (Ints{3, 2, 1, 0}));
  EXPECT_EQ(ints(x(0, 0, slice(-1, 0, -2))), (Ints{3, 1}));
  EXPECT_EQ(ints(x(ellipsis, 1)), (Ints{1, 5, 9, 13, 17, 21}));
  EXPECT_EQ(x(newaxis, 0, ellipsis, newaxis).shape(), (Shape{1, 3, 4, 1}));
  EXPECT_EQ(ints(x(0, Tensor(Ints{2, 0}), 1)), (Ints{9, 1}));
  EXPECT_EQ(ints(x(Tensor(Ints{0, 1}), Tensor(Ints{2, 0}), 1)), (Ints{9, 13}));
  EXPECT_EQ(ints(x(0, scalar(int64_t(-1)))), (Ints{8, 9, 10, 11}));
  EXPECT_EQ(x(0, slice(5, 9)).shape(), (Shape{0, 4}));
}

TEST(Ops, UpdatesAreCopiesWithChanges) {
  Tensor x = zeros({5}, DType::i64);
  EXPECT_EQ(ints(x.at(1).set(7)), (Ints{0, 7, 0, 0, 0}));
  EXPECT_EQ(ints(x.at(slice({}, {}, 2)).set(Tensor(Ints{1, 2, 3}))), (Ints{1, 0, 2, 0, 3}));
  EXPECT_EQ(ints(x.at(Tensor(Ints{1, 1, -1})).add(1)), (Ints{0, 2, 0, 0, 1}));
  EXPECT_EQ(ints(x.at(Tensor(Ints{9})).add(1)), (Ints{0, 0, 0, 0, 0}));
  EXPECT_EQ(ints(x), (Ints{0, 0, 0, 0, 0}));
  Tensor m = zeros({2, 3}, DType::i64);
  EXPECT_EQ(ints(m.at(slice(), 1).set(Tensor(Ints{4, 5}))), (Ints{0, 4, 0, 0, 5, 0}));
  EXPECT_EQ(ints(m.at(slice(), Tensor(Ints{2, 0})).set(Tensor(Ints{1, 2}))), (Ints{2, 0, 1, 2, 0, 1}));
  EXPECT_EQ(ints(m.at(Tensor(Ints{0, 1}), Tensor(Ints{2, 0})).max(3)), (Ints{0, 0, 3, 3, 0, 0}));
}

TEST(Ops, MovesElements) {
  EXPECT_EQ(floats(transpose(six)), (Floats{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(floats(roll(six, 1, 1)), (Floats{3, 1, 2, 6, 4, 5}));
  EXPECT_EQ(floats(flip(six, 0)), (Floats{4, 5, 6, 1, 2, 3}));
  EXPECT_EQ(floats(repeat(six(0), 2)), (Floats{1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(floats(tile(six(0), {2})), (Floats{1, 2, 3, 1, 2, 3}));
  EXPECT_EQ(floats(pad(six(0), {{1, 2}}, 0, PadMode::edge)), (Floats{1, 1, 2, 3, 3, 3}));
  EXPECT_EQ(floats(tril(six)), (Floats{1, 0, 0, 4, 5, 0}));
  EXPECT_EQ(floats(triu(six, 1)), (Floats{0, 2, 3, 0, 0, 6}));
  EXPECT_EQ(floats(diag(six)), (Floats{1, 5}));
  EXPECT_EQ(floats(diag(six(0)(slice(2)))), (Floats{1, 0, 0, 2}));
  EXPECT_EQ(floats(moveaxis(reshape(six, {1, 2, 3}), 0, -1)), floats(six));
  EXPECT_EQ(floats(stack({six(0), six(1)}, 1)), (Floats{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(split_at(six, {1}, 1)[1].shape(), (Shape{2, 2}));
  EXPECT_EQ(floats(linspace(0, 1, 5)), (Floats{0, 0.25f, 0.5f, 0.75f, 1}));
  EXPECT_EQ(ints(arange(5, -5, -3)), (Ints{5, 2, -1, -4}));
}

TEST(Ops, Reduces) {
  EXPECT_EQ(floats(sum(six, 0)), (Floats{5, 7, 9}));
  EXPECT_EQ(sum(six, {-1}, true).shape(), (Shape{2, 1}));
  EXPECT_EQ(sum(six > 2).item<int64_t>(), 4);
  EXPECT_EQ(mean(six).item<float>(), 3.5f);
  EXPECT_NEAR(var(six, {}, 1).item<float>(), 3.5, 1e-6);
  EXPECT_NEAR(norm(six(0)).item<float>(), std::sqrt(14.0), 1e-6);
  EXPECT_NEAR(logsumexp(six(0)).item<float>(), std::log(std::exp(1) + std::exp(2) + std::exp(3)), 1e-6);
  EXPECT_EQ(argmax(six).item<int64_t>(), 5);
  EXPECT_EQ(ints(argmin(six, 1)), (Ints{0, 0}));
  EXPECT_EQ(floats(cumsum(six, 1)), (Floats{1, 3, 6, 4, 9, 15}));
  EXPECT_EQ(ints(argsort(Tensor({3.f, 1.f, 2.f}))), (Ints{1, 2, 0}));
  EXPECT_EQ(floats(top_k(six, 2).first), (Floats{3, 2, 6, 5}));
  Tensor sorted({1.f, 2.f, 2.f, 5.f});
  EXPECT_EQ(ints(searchsorted(sorted, Tensor({0.f, 2.f, 3.f, 9.f}))), (Ints{0, 1, 3, 4}));
  EXPECT_EQ(ints(searchsorted(sorted, Tensor({0.f, 2.f, 5.f, 9.f}), true)), (Ints{0, 3, 4, 4}));
}

TEST(Ops, Contracts) {
  EXPECT_EQ(floats(matmul(six, transpose(six))), (Floats{14, 32, 32, 77}));
  EXPECT_EQ(floats(einsum("ij,kj->ki", {six, six(slice(1))})), (Floats{14, 32}));
  EXPECT_EQ(einsum("ij,ij", {six, six}).item<float>(), 91);
  EXPECT_EQ(floats(einsum("ii->i", {matmul(six, transpose(six))})), (Floats{14, 77}));
  EXPECT_EQ(floats(einsum("i...,i->...", {six, Tensor({1.f, 10.f})})), (Floats{41, 52, 63}));
}

TEST(Ops, ConvolvesAndPools) {
  Tensor image = reshape(arange(9, DType::f32), {1, 1, 3, 3}), corner = Tensor({1.f, 0.f, 0.f, 1.f}, {1, 1, 2, 2});
  EXPECT_EQ(floats(conv(image, corner)), (Floats{4, 6, 10, 12}));
  EXPECT_EQ(floats(max_pool(image, {2, 2}, {.strides = {1, 1}})), (Floats{4, 5, 7, 8}));
  EXPECT_EQ(floats(avg_pool(image, {3, 3})), Floats{4});
  EXPECT_EQ(floats(conv_transpose(ones({1, 1, 1, 2}), ones({1, 1, 1, 2}), {.strides = {1, 2}})), (Floats{1, 1, 1, 1}));
  EXPECT_EQ(floats(conv_transpose(ones({1, 1, 1, 3}), ones({1, 1, 1, 2}))), (Floats{1, 2, 2, 1}));
}

TEST(Ops, SolvesSystems) {
  Tensor a({{4.0, 1.0, 0.0}, {1.0, 3.0, 1.0}, {0.0, 1.0, 2.0}}), b({1.0, 2.0, 3.0});
  Tensor l = cholesky(a);
  EXPECT_LT(max(abs(matmul(l, transpose(l)) - a)).item<double>(), 1e-14);
  EXPECT_LT(max(abs(matmul(a, solve(a, b)) - b)).item<double>(), 1e-14);
  EXPECT_LT(max(abs(matmul(l, triangular_solve(l, b)) - b)).item<double>(), 1e-14);
  EXPECT_LT(max(abs(matmul(transpose(l), triangular_solve(l, b, true, false, true)) - b)).item<double>(), 1e-14);
  EXPECT_LT(max(abs(matmul(a, cho_solve(l, b)) - b)).item<double>(), 1e-14);
  EXPECT_LT(max(abs(cholesky(a, true) - transpose(l))).item<double>(), 1e-14);
  EXPECT_TRUE(std::isnan(cholesky(-a)(0, 0).item<double>()));
  EXPECT_LT(max(abs(matmul(inv(a), a) - eye(3, {}, 0, DType::f64))).item<double>(), 1e-14);
  EXPECT_NEAR(det(a).item<double>(), 18, 1e-12);
  Tensor swaps({{0.0, 1.0}, {1.0, 0.0}});
  EXPECT_EQ(solve(swaps, Tensor({1.0, 2.0})).to_vector<double>(), (std::vector<double>{2, 1}));
}

TEST(Ops, LossesAndCells) {
  Tensor logits({{0.f, 0.f}, {0.f, std::log(3.f)}});
  EXPECT_NEAR(cross_entropy(logits, Tensor(Ints{0, 1})).item<float>(), (std::log(2.) + std::log(4. / 3)) / 2, 1e-6);
  EXPECT_EQ(mse_loss(six, six + 2).item<float>(), 4);
  // a cell repeated is the sequence
  Tensor x = reshape(sin(arange(12, DType::f32)), {3, 2, 2}), w = reshape(cos(arange(24, DType::f32)), {12, 2}),
         r = w * 0.5f;
  Tensor h = zeros({2, 3});
  auto [all, last] = gru(x, h, reshape(w(slice(9)), {9, 2}), reshape(cos(arange(27, DType::f32)), {9, 3}));
  for (int64_t t = 0; t < 3; ++t)
    h = gru_cell(x(t), h, reshape(w(slice(9)), {9, 2}), reshape(cos(arange(27, DType::f32)), {9, 3}));
  EXPECT_LT(max(abs(h - last)).item<float>(), 1e-6);
  LstmState state{zeros({2, 3}), zeros({2, 3})};
  Tensor weights = reshape(cos(arange(36, DType::f32)), {12, 3});
  auto [steps, end] = lstm(x, state, w, weights);
  for (int64_t t = 0; t < 3; ++t)
    state = lstm_cell(x(t), state, w, weights);
  EXPECT_LT(max(abs(state.h - end.h)).item<float>(), 1e-6);
  EXPECT_LT(max(abs(state.c - end.c)).item<float>(), 1e-6);
  EXPECT_LT(max(abs(r)).item<float>(), 1);
}

TEST(Ops, MistakesNameTheirPlaceAndWhatWasFound) {
  EXPECT_EQ(messageOf([] { return six + Tensor({1, 2, 3}); }),
            "operator + requires operands of one dtype, got f32 and i32 (convert one with astype)");
  EXPECT_EQ(messageOf([] { return six * ones({2}); }), "operator * requires shapes that broadcast, got [2, 3] and [2]");
  EXPECT_EQ(messageOf([] { return Tensor({1, 2}) + 0.5; }),
            "operator + requires a number that i32 holds, got 0.5 (convert the tensor with astype)");
  EXPECT_EQ(messageOf([] { return astype(six, DType::u8) + 300; }),
            "operator + requires a number that u8 holds, got 300 (convert the tensor with astype)");
  EXPECT_EQ(messageOf([] { return sin(Tensor({1, 2})); }), "sin requires a float dtype, got i32 (convert with astype)");
  EXPECT_EQ(messageOf([] { return sum(six, 2); }), "sum requires an axis in [-2, 2), got 2");
  EXPECT_EQ(messageOf([] { return sum(six, {0, -2}); }), "sum requires distinct axes, got an axis twice");
  EXPECT_EQ(messageOf([] { return reshape(six, {4, -1}); }), "reshape requires sizes for 6 elements, got [4, ?]");
  EXPECT_EQ(messageOf([] { return reshape(six, {-1, -1}); }),
            "reshape requires sizes of at least 0 and one -1 at most, got another negative size");
  EXPECT_EQ(messageOf([] { return six(2); }), "operator () requires a position in [-2, 2) of axis 0, got 2");
  EXPECT_EQ(messageOf([] { return six(0, 0, 0); }), "operator () requires at most 2 subscripts for f32[2, 3], got 3");
  EXPECT_EQ(messageOf([] { return six.at(0).set(ones({2})); }),
            "at.set requires an update that broadcasts to [3], got [2]");
  EXPECT_EQ(messageOf([] { return matmul(six, six); }),
            "matmul requires equal inner sizes, got 3 and 2 of [2, 3] and [2, 3]");
  EXPECT_EQ(messageOf([] { return concatenate({six, six(0)}); }),
            "concatenate requires tensors of one dtype and rank, got f32[2, 3] and f32[3]");
  EXPECT_EQ(messageOf([] { return einsum("ij,jk", {six}); }),
            "einsum requires as many terms as operands, got 1 operands in 'ij,jk'");
  EXPECT_EQ(messageOf([] { return einsum("ij,jk->ik", {six, six}); }),
            "einsum requires one size per letter, got 3 and 2");
  EXPECT_EQ(messageOf([] { return bitcast(six, DType::f64); }),
            "bitcast requires dtypes of one width, got f32 and f64");
  EXPECT_EQ(messageOf([] { return split(six, 2, 1)[0]; }), "split requires a size that 2 divides, got 3");
  EXPECT_EQ(messageOf([] { return transpose(six, {0, 0}); }), "transpose requires each of 2 axes once, got [0, 0]");
  EXPECT_EQ(messageOf([] { return random::normal(Key{six}, {2}); }),
            "random::normal requires a key u32[4], got f32[2, 3]");
  EXPECT_EQ(messageOf([] { return random::randint(key(1), {2}, 3, 3); }),
            "random::randint requires an integer dtype and low below high, got i32, 3 and 3");
  EXPECT_EQ(messageOf([] { return cholesky(six); }), "cholesky requires square matrices, got f32[2, 3]");
  EXPECT_EQ(messageOf([] { return top_k(six, 4).first; }), "top_k requires k in [0, 3], got 4");
}

TEST(Ops, NamedSizesStayOpen) {
  auto f = [](Tensor x, Tensor y) {
    Tensor centered = x - mean(x, 0, true); // batch and 1
    Tensor joined = concatenate({centered, broadcast_to(y, {size(x, 0), 3})}, 1);
    return std::tuple{reshape(joined, {-1}), x + y,      matmul(x, transpose(x)),       ones_like(x),
                      x(slice(1, {})),       sum(x * y), reshape(x, {size(x, 0), 3, 1})};
  };
  auto compiled = jit(f, {.specs = {spec<float>({"batch", 3}), spec<float>({3})}});
  for (int64_t batch : {1, 2, 5}) {
    Tensor x = reshape(sin(arange(batch * 3, DType::f32)), {batch, 3}), y({1.f, 2.f, 3.f});
    auto [a, b, c, d, e, g, h] = compiled(x, y);
    auto [a1, b1, c1, d1, e1, g1, h1] = f(x, y);
    for (auto [got, wanted] : {std::pair{a, a1}, {b, b1}, {c, c1}, {d, d1}, {e, e1}, {g, g1}, {h, h1}}) {
      EXPECT_EQ(got.shape(), wanted.shape());
      EXPECT_LT(got.size() ? max(abs(got - wanted)).item<float>() : 0, 1e-5);
    }
  }
  EXPECT_EQ(compiled.cache_size(), 1);
}

TEST(Ops, RoundLikeNumpy) {
  auto check = [](Tensor quotient) {
    EXPECT_EQ(quotient.to_vector<double>(), (std::vector<double>{9, -10000001, 499, -1, -0., INFINITY, -3}));
    EXPECT_TRUE(std::signbit(quotient(4).item<double>()));
  };
  Tensor x({1., -1., 0.5, 1., -0., 7., 5.}), y({0.1, 1e-7, 0.001, -HUGE_VAL, 3., 0., -2.});
  check(floor_divide(x, y));
  check(jit([](Tensor x, Tensor y) { return floor_divide(x, y); })(x, y));
  EXPECT_EQ(floats(hypot(Tensor({INFINITY, NAN}), Tensor({NAN, -INFINITY}))), (Floats{INFINITY, INFINITY}));
  EXPECT_TRUE(std::signbit(cbrt(Tensor({-0.f}))(0).item<float>()));
  for (double small : {1e-7, 1e-30, -0.25})
    EXPECT_DOUBLE_EQ(expm1(Tensor({small}))(0).item<double>(), std::expm1(small));
  EXPECT_EQ(ints(searchsorted(Tensor({1.f, 2.f, NAN}), Tensor({NAN, 1.5f}))), (Ints{2, 1}));
  EXPECT_EQ(ints(searchsorted(Tensor({1.f, 2.f, NAN}), Tensor({NAN, 1.5f}), true)), (Ints{3, 1}));
}

TEST(Ops, SayInWhichFunctionAnOpIsRefused) {
  EXPECT_EQ(messageOf([] { return Tensor({true}) + Tensor({true}); }),
            "operator + requires a number dtype, got bool (convert with astype)");
  EXPECT_EQ(messageOf([] { return abs(Tensor({true})); }),
            "abs requires a number dtype, got bool (convert with astype)");
  EXPECT_EQ(messageOf([] { return argmax(zeros({0})); }),
            "argmax: arg_reduce requires a non-empty axis, got size 0 of axis 0");
  EXPECT_EQ(messageOf([] { return softmax(Tensor(1.f)); }), "softmax requires rank 1 at least, got rank 0");
  EXPECT_EQ(messageOf([] { return layer_norm(zeros({2, 3}), zeros({4})); }),
            "layer_norm: broadcast requires an operand size of 1 or 3 on result axis 0, got 4");
}

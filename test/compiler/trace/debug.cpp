// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// debug_print and check_finite, at once and in code: what is printed when, and what fails.

#include "Agree.h"
#include <cmath>
#include <limits>

using namespace sinter;
using sinter::test::messageOf;

namespace {

using Lines = std::vector<std::string>;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

/// What is printed while it lives.
struct Log {
  Log() {
    sinter_log_to([](void *log, const char *text) { static_cast<Log *>(log)->lines.emplace_back(text); }, this);
  }
  ~Log() { sinter_log_to(nullptr, nullptr); }
  Lines take() { return std::exchange(lines, {}); }
  Lines lines;
};

TEST(DebugPrint, PrintsAtOnceAndWhenCodeComesBy) {
  Log log;
  Tensor x({1.5, -2.}), n(3);
  debug_print("x = {}, n = {}.", x, n);
  debug_print("plain {");
  EXPECT_EQ(log.take(), (Lines{"x = [1.5, -2], n = 3.", "plain {"}));
  auto f = jit([](Tensor x) {
    debug_print("before {}", x);
    Tensor y = exp(x) * 0.;
    debug_print("after {} {}", y, sum(x) > 0.);
    return x;
  });
  EXPECT_EQ(log.take(), Lines{}); // tracing prints nothing
  (void)f(x);
  (void)f(x + 4.);
  EXPECT_EQ(log.take(), (Lines{"before [1.5, -2]", "after [0, 0] false", "before [5.5, 2]", "after [0, 0] true"}));
}

// The C code's text against the C++ library's.
TEST(DebugPrint, TextIsThatOfToString) {
  Log log;
  auto agrees = [&](const Tensor &x) {
    debug_print("{}", x);
    EXPECT_EQ(log.take(), Lines{to_string(x)});
  };
  std::vector<double> values = {0.,    -0.,    1.,   0.1,   1. / 3, 1e-5,     1e5,     123456.,  1e15, 1e16, 1e22,
                                1e300, 5e-324, kInf, -kInf, kNan,   1200000., 0.00012, 16777216, 1e-7, 100., 3e4};
  Tensor all(values);
  for (DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16})
    agrees(astype(all, dtype));
  for (DType dtype : {DType::i8, DType::i16, DType::i32, DType::i64, DType::u8, DType::u16, DType::u32, DType::u64})
    agrees(astype(Tensor({1., 3., 77.}), dtype) - 1);
  agrees(Tensor({true, false}));
  agrees(reshape(arange(0, 24), Shape{2, 3, 4}));
  agrees(reshape(arange(0, 2000), Shape{20, 100})); // shortened
  agrees(zeros({0, 3}));
  agrees(Tensor(2.5));
}

TEST(DebugPrint, KeepsItsOrderInLoopsAndBranches) {
  Log log;
  auto f = [](Tensor x) {
    debug_print("begin");
    Tensor y = for_loop(
        0, 3,
        [](Tensor i, Tensor x) {
          debug_print("trip {}", i);
          Tensor y = x * 2.;
          debug_print("x {}", y);
          return y;
        },
        x);
    Tensor z = cond(
        sum(y) > 0.,
        [&] {
          debug_print("up");
          return y;
        },
        [&] {
          debug_print("down");
          return -y;
        });
    debug_print("end {}", z);
    return sum(z);
  };
  Lines expected = {"begin", "trip 0", "x 2", "trip 1", "x 4", "trip 2", "x 8", "up", "end 8"};
  (void)jit(f)(Tensor(1.));
  EXPECT_EQ(log.take(), expected);
  (void)f(Tensor(1.));
  EXPECT_EQ(log.take(), expected);
  EXPECT_EQ(jit(grad(f))(Tensor(1.)).item<double>(), 8); // the forward part prints, once
  EXPECT_EQ(log.take(), expected);
  (void)jit(f)(Tensor(-1.));
  EXPECT_EQ(log.take().at(7), "down");
}

TEST(DebugPrint, ABranchOfTheHostPrintsOnItsSide) {
  Log log;
  auto f = jit([](Tensor x) {
    if (x > 0.)
      debug_print("positive {}", x);
    else
      debug_print("negative");
    return x * 2.;
  });
  EXPECT_EQ(f(Tensor(1.)).item<double>() + f(Tensor(-1.)).item<double>(), 0);
  EXPECT_EQ(log.take(), (Lines{"positive 1", "negative"}));
}

TEST(DebugPrint, EqualPrintsAreNotMerged) {
  Log log;
  (void)jit([](Tensor x) {
    for (int k = 0; k < 2; ++k)
      debug_print("again {}", x);
    return x;
  })(Tensor(1.));
  EXPECT_EQ(log.take(), (Lines{"again 1", "again 1"}));
}

TEST(DebugPrint, RefusesOtherNumbersOfTensors) {
  EXPECT_EQ(messageOf([] { debug_print("{} {}", Tensor(1.)); }),
            "debug_print requires a {} for each of 1 tensors, got 2");
  EXPECT_NE(messageOf([] {
              jit([](Tensor x) {
                debug_print("none", x);
                return x;
              })(Tensor(1.));
            }).find("requires a {} for each of 1 operands"),
            std::string::npos);
}

TEST(DebugPrint, StrippedCodeIsSilent) {
  // The graph as text shows what is in it; `sinter compile --strip-debug` and C++ go through one function.
  Log log;
  Graph graph = trace(
      [](Tensor x) {
        debug_print("x {}", x);
        return check_finite(x, "x");
      },
      {spec<double>({2})});
  for (int32_t strip : {0, 1}) {
    sinter_compile_options options{};
    options.struct_size = sizeof options;
    options.strip_debug = strip;
    sinter_module *made = nullptr;
    ASSERT_EQ(sinter_graph_compile(graph.handle(), &options, &made), SINTER_OK) << sinter_last_error();
    Tensor x({kNan, 1.});
    sinter_session *session = nullptr;
    ASSERT_EQ(sinter_session_create(made, 0, nullptr, &session), SINTER_OK);
    ASSERT_EQ(sinter_session_set_input(session, 0, &x.view()), SINTER_OK);
    EXPECT_EQ(sinter_session_run(session), strip ? SINTER_OK : SINTER_RUNTIME_ERROR);
    EXPECT_EQ(log.take(), strip ? Lines{} : Lines{"x [nan, 1]"});
    sinter_session_destroy(session);
    sinter_module_close(made);
  }
}

TEST(CheckFinite, NamesTheFirstPlace) {
  auto says = [](const Tensor &x, const std::string &place) {
    std::string expected = "check_finite requires finite elements in 'w (0)', got one that is not" + place;
    auto f = [](Tensor x) { return check_finite(x, "w {0}") * 2; };
    EXPECT_NE(messageOf([&] { f(x); }).find(expected), std::string::npos) << messageOf([&] { f(x); });
    EXPECT_NE(messageOf([&] { jit(f)(x); }).find(expected), std::string::npos) << messageOf([&] { jit(f)(x); });
    Graph graph = trace(f, {spec_of(x)});
    EXPECT_NE(messageOf([&] { graph.evaluate(std::vector{x}); }).find(expected), std::string::npos);
  };
  says(Tensor(kNan), "");
  says(Tensor({1., -kInf, kNan}), " at [1]");
  says(Tensor({kInf}), " at [0]");
  Tensor big = ones({40, 50}, DType::f32);
  says(big.at(7, 3).set(float(kNan)).at(30, 1).set(float(kInf)), " at [7, 3]");
  says(ones({2, 3, 4}, DType::f16).at(1, 2, 3).set(kNan), " at position 23 of 24 in row-major order");
}

TEST(CheckFinite, GivesTheOperandAndItsGradientOn) {
  for (DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    Tensor x = astype(Tensor({1., -2., 0.}), dtype);
    auto loss = [](Tensor x) { return sum(check_finite(x, "x") * x); };
    EXPECT_EQ(jit(loss)(x).item<double>(), 5);
    EXPECT_EQ(jit(grad(loss))(x).to_vector<double>(), (std::vector<double>{2, -4, 0}));
    Tensor leaf = x.requires_grad();
    (void)backward(loss(leaf));
    EXPECT_EQ(leaf.grad().to_vector<double>(), (std::vector<double>{2, -4, 0}));
  }
  EXPECT_EQ(jit([](Tensor x) { return check_finite(x, "none"); })(zeros({0, 2})).known_size(), 0);
}

TEST(CheckFinite, SizesMayBeNamed) {
  auto f = jit([](Tensor x) { return check_finite(x, "x") + 1; }, {.specs = {spec<double>({"n", "m"})}});
  EXPECT_EQ(f(ones({2, 3}, DType::f64)).to_vector<double>(), std::vector<double>(6, 2.));
  EXPECT_EQ(f(ones({0, 3}, DType::f64)).known_size(), 0);
  EXPECT_NE(messageOf([&] { f(ones({5, 4}, DType::f64).at(4, 2).set(kInf)); }).find("at [4, 2]"), std::string::npos);
}

TEST(CheckFinite, LooksInEveryTripAndOnTakenBranchesOnly) {
  // 1 / (3 - i): infinite in the trip with i = 3
  auto loop = [](Tensor n) {
    return for_loop(
        Range(n), [](Tensor i, Tensor sum) { return check_finite(sum + 1. / (3. - astype(i, DType::f64)), "sum"); },
        Tensor(0.));
  };
  auto f = jit(loop);
  EXPECT_DOUBLE_EQ(f(Tensor(int64_t(3))).item<double>(), 1. / 3 + 1. / 2 + 1);
  EXPECT_NE(messageOf([&] { f(Tensor(int64_t(4))); }).find("in 'sum'"), std::string::npos);
  auto g =
      jit([](Tensor x) { return cond(x > 0., [&] { return check_finite(1. / (x - 1.), "up"); }, [&] { return x; }); });
  EXPECT_EQ(g(Tensor(-kInf)).item<double>(), -kInf);
  EXPECT_NE(messageOf([&] { g(Tensor(1.)); }).find("in 'up'"), std::string::npos);
}

TEST(CheckFinite, ALeftOutResultIsNotChecked) {
  EXPECT_EQ(jit([](Tensor x) {
              (void)check_finite(x, "x");
              return x + 1;
            })(Tensor(kInf))
                .item<double>(),
            kInf);
}

} // namespace

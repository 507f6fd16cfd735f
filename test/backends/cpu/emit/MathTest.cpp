// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles each function for lanes and for a scalar, and measures both against libm's long double.

#include "backends/cpu/emit/Math.h"
#include "backends/cpu/Target.h"

#include "mlir/Parser/Parser.h"
#include "test/Jit.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;

namespace {

using Function = void (*)(const void *, const void *, void *);

/// 1 / (1 + e^-x) of %x as sinter.logistic builds it, named %z.
std::string logistic(const std::string &type, bool isVector, const std::string &flags) {
  auto number = [&](const std::string &value) {
    return isVector ? "dense<" + value + "> : " + type : value + " : " + type;
  };
  return "  %zero = arith.constant " + number("0.0") + "\n  %one = arith.constant " + number("1.0") +
         "\n  %abs = math.absf %x : " + type + "\n  %neg = arith.negf %abs : " + type +
         "\n  %exp = math.exp %neg : " + type + "\n  %less = arith.cmpf olt, %x, %zero : " + type +
         "\n  %n = arith.select %less, %exp, %one : " + flags + type + "\n  %d = arith.addf %one, %exp : " + type +
         "\n  %z = arith.divf %n, %d : " + type;
}

/// The function on lanes and on a scalar, in native code.
class Compiled {
public:
  Compiled(const std::string &op, bool binary, bool f64, int lanes, sinter::cpu::MathInstructions has) {
    std::string scalar = f64 ? "f64" : "f32", count = std::to_string(lanes);
    std::string vector = "vector<" + count + "x" + scalar + ">", buffer = "memref<" + count + "x" + scalar + ">";
    auto body = [&](const std::string &name, const std::string &type, const std::string &load,
                    const std::string &store) {
      std::string tail = type == vector ? ", " + vector : "";
      return "func.func @" + name + "(%a: " + buffer + ", %b: " + buffer + ", %r: " + buffer + ") {\n" +
             "  %c = arith.constant 0 : index\n  %x = " + load + " %a[%c] : " + buffer + tail + "\n  %y = " + load +
             " %b[%c] : " + buffer + tail + "\n" +
             (op == "logistic" ? logistic(type, type == vector, type == vector ? "vector<" + count + "xi1>, " : "")
                               : "  %z = " + op + " %x" + (binary ? ", %y" : "") + " : " + type) +
             "\n  " + store + " %z, %r[%c] : " + buffer + tail + "\n  return\n}\n";
    };
    std::string text =
        body("lanes", vector, "vector.load", "vector.store") + body("scalar", scalar, "memref.load", "memref.store");
    DialectRegistry registry;
    sinter::test::Jit::registerDialects(registry);
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    context.loadAllAvailableDialects();
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    if (!module)
      return;
    jit.emplace(*module, [&](RewritePatternSet &patterns) { sinter::cpu::populateMathPolynomials(patterns, has); });
    onLanes = jit->lookup<Function>("lanes");
    onScalar = jit->lookup<Function>("scalar");
  }

  Function onLanes = nullptr, onScalar = nullptr;

private:
  std::optional<sinter::test::Jit> jit;
};

/// |got - wanted| in units of the last place of T at `wanted`; 0 where both are NaN or round to the same infinity.
template <typename T> double ulps(T got, long double wanted) {
  if (std::isnan(wanted) || std::isnan(got))
    return std::isnan(wanted) && std::isnan(got) ? 0 : HUGE_VAL;
  if (static_cast<T>(wanted) == got)
    return 0;
  if (std::isinf(got))
    return HUGE_VAL;
  int exponent = wanted == 0 ? std::numeric_limits<T>::min_exponent - 1 : std::ilogb(wanted);
  exponent = std::max(exponent, std::numeric_limits<T>::min_exponent - 1);
  return static_cast<double>(std::fabs(got - wanted) /
                             std::ldexp(1.0L, exponent - (std::numeric_limits<T>::digits - 1)));
}

template <typename T> std::vector<T> specialValues() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values{0,
                        Limits::denorm_min(),
                        Limits::min() / 2,
                        Limits::min(),
                        Limits::epsilon(),
                        T(0.5),
                        T(0.6),
                        T(0.9),
                        std::nextafter(T(1), T(0)),
                        1,
                        std::nextafter(T(1), T(2)),
                        2,
                        3,
                        4,
                        T(3.14159265358979),
                        T(87.3365),
                        T(88.72283),
                        T(88.72284),
                        T(103),
                        T(104),
                        T(103.28), // e^-x is 2^-149 + a half, or less
                        T(103.972),
                        T(103.98),
                        T(708.39), // of f64, the least normal result
                        T(708.4),
                        T(709.78),
                        T(709.79),
                        T(720),
                        T(744.44),
                        T(745),
                        T(745.14),
                        T(0x1p28),
                        T(0x1.8p29),
                        T(1e30),
                        Limits::max(),
                        Limits::infinity(),
                        Limits::quiet_NaN()};
  for (size_t i = 0, count = values.size(); i < count; ++i)
    values.push_back(-values[i]);
  return values;
}

template <typename T> struct Case {
  const char *op;
  long double (*wanted)(long double, long double);
  double low, high; // where most points lie
  double ulps;
  bool binary = false;
  bool anyZero = false; // of either sign
};

/// The errors of the function at these points, on lanes, which have the bits of scalars.
template <typename T>
void measureAt(const Case<T> &c, sinter::cpu::MathInstructions has, std::vector<T> xs, std::vector<T> ys) {
  constexpr int lanes = 16;
  Compiled compiled(c.op, c.binary, sizeof(T) == 8, lanes, has);
  ASSERT_TRUE(compiled.onLanes) << c.op;
  ASSERT_EQ(xs.size(), ys.size());
  while (xs.size() % lanes) {
    xs.push_back(1);
    ys.push_back(1);
  }

  double worst = 0;
  size_t at = 0;
  int reported = 0;
  alignas(64) T result[lanes], alone;
  for (size_t i = 0; i < xs.size(); i += lanes) {
    compiled.onLanes(&xs[i], &ys[i], result);
    for (int lane = 0; lane < lanes; ++lane) {
      T x = xs[i + lane], y = ys[i + lane];
      compiled.onScalar(&x, &y, &alone);
      bool same = std::memcmp(&alone, &result[lane], sizeof(T)) == 0 || (std::isnan(alone) && std::isnan(result[lane]));
      if (!same && ++reported < 4)
        ADD_FAILURE() << c.op << "(" << x << ", " << y << "): lanes " << result[lane] << ", scalar " << alone;
      long double wanted = c.wanted(x, y);
      double error = ulps<T>(result[lane], wanted);
      if (error > c.ulps && ++reported < 4)
        ADD_FAILURE() << c.op << "(" << x << ", " << y << ") = " << result[lane] << ", wanted "
                      << static_cast<double>(wanted) << ": off by " << error << " ulp, allowed " << c.ulps;
      if (!c.anyZero && wanted == 0 && result[lane] == 0 && std::signbit(wanted) != std::signbit(result[lane]) &&
          ++reported < 4)
        ADD_FAILURE() << c.op << "(" << x << ", " << y << "): zero of the wrong sign";
      if (error > worst) {
        worst = error;
        at = i + lane;
      }
    }
  }
  ::testing::Test::RecordProperty(c.op, std::to_string(worst));
  std::printf("  %-12s f%zu  %.2f ulp at (%g, %g)\n", c.op, sizeof(T) * 8, worst, double(xs[at]), double(ys[at]));
}

/// At special values, at points of the case's range, and at any bits.
template <typename T> void measure(const Case<T> &c, sinter::cpu::MathInstructions has) {
  std::vector<T> xs, ys;
  std::vector<T> specials = specialValues<T>();
  for (T x : specials)
    for (T y : c.binary ? specials : std::vector<T>{0}) {
      xs.push_back(x);
      ys.push_back(y);
    }
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> inside(c.low, c.high), near(-20, 20);
  for (int i = 0; i < 60000; ++i) {
    xs.push_back(static_cast<T>(inside(random)));
    ys.push_back(static_cast<T>(near(random)));
  }
  for (int i = 0; i < 40000; ++i) { // any bits at all
    T values[2];
    uint64_t bits[2] = {random(), random()};
    std::memcpy(&values[0], &bits[0], sizeof(T));
    std::memcpy(&values[1], &bits[1], sizeof(T));
    xs.push_back(values[0]);
    ys.push_back(values[1]);
  }
  measureAt(c, has, xs, ys);
}

#define UNARY(EXPRESSION) [](long double x, long double) -> long double { return EXPRESSION; }
#define BINARY(EXPRESSION) [](long double x, long double y) -> long double { return EXPRESSION; }

TEST(MathTest, FunctionsOfF32KeepTheirBounds) {
  const Case<float> cases[] = {
      {"math.exp", UNARY(std::exp(x)), -104, 89, 2},
      {"math.log", UNARY(std::log(x)), 0, 4, 2},
      {"math.exp2", UNARY(std::exp2(x)), -150, 128, 2},
      {"math.log2", UNARY(std::log2(x)), 0, 4, 2},
      {"math.tanh", UNARY(std::tanh(x)), -10, 10, 2.5},
      {"logistic", UNARY(1 / (1 + std::exp(-x))), -104, 20, 2.5},
      {"math.erf", UNARY(std::erf(x)), -5, 5, 2},
      {"math.expm1", UNARY(std::expm1(x)), -20, 5, 4},
      {"math.log1p", UNARY(std::log1p(x)), -1, 4, 4},
      {"math.sin", UNARY(std::sin(x)), -100, 100, 4},
      {"math.cos", UNARY(std::cos(x)), -100, 100, 4},
      {"math.tan", UNARY(std::tan(x)), -100, 100, 4},
      {"math.asin", UNARY(std::asin(x)), -1, 1, 4},
      {"math.acos", UNARY(std::acos(x)), -1, 1, 4},
      {"math.atan", UNARY(std::atan(x)), -10, 10, 4},
      {"math.sinh", UNARY(std::sinh(x)), -5, 5, 4},
      {"math.cosh", UNARY(std::cosh(x)), -5, 5, 4},
      {"math.asinh", UNARY(std::asinh(x)), -5, 5, 4},
      {"math.acosh", UNARY(std::acosh(x)), 1, 10, 4},
      {"math.atanh", UNARY(std::atanh(x)), -1, 1, 4},
      {"math.rsqrt", UNARY(1 / std::sqrt(x)), 0, 10, 2},
      {"math.powf", BINARY(std::pow(x, y)), -20, 20, 4, true},
      {"math.atan2", BINARY(std::atan2(x, y)), -20, 20, 4, true},
      {"arith.maximumf", BINARY(std::isnan(x) || std::isnan(y) ? NAN : std::fmax(x, y)), -20, 20, 0, true, true},
      {"arith.minimumf", BINARY(std::isnan(x) || std::isnan(y) ? NAN : std::fmin(x, y)), -20, 20, 0, true, true},
  };
  for (bool fuses : {true, false})
    for (const Case<float> &c : cases)
      measure(c, {.fuses = fuses, .calls = fuses});
}

TEST(MathTest, FunctionsOfF64KeepTheirBounds) {
  const Case<double> cases[] = {
      {"math.exp", UNARY(std::exp(x)), -745, 710, 2},
      {"math.log", UNARY(std::log(x)), 0, 4, 2},
      {"math.exp2", UNARY(std::exp2(x)), -1075, 1024, 2},
      {"math.log2", UNARY(std::log2(x)), 0, 4, 2},
      {"math.rsqrt", UNARY(1 / std::sqrt(x)), 0, 10, 2},
      {"logistic", UNARY(1 / (1 + std::exp(-x))), -750, 40, 2.5},
      {"math.tanh", UNARY(std::tanh(x)), -3, 3, 1},
      {"math.erf", UNARY(std::erf(x)), -6, 6, 1.5},
      {"math.expm1", UNARY(std::expm1(x)), -40, 40, 1.5},
      {"math.log1p", UNARY(std::log1p(x)), -1, 4, 1},
      {"math.sin", UNARY(std::sin(x)), -100, 100, 1},
      {"math.cos", UNARY(std::cos(x)), -1e6, 1e6, 1},
      {"math.tan", UNARY(std::tan(x)), -100, 100, 1.5},
      {"math.asin", UNARY(std::asin(x)), -1, 1, 1},
      {"math.acos", UNARY(std::acos(x)), -1, 1, 1},
      {"math.atan", UNARY(std::atan(x)), -10, 10, 1},
      {"math.sinh", UNARY(std::sinh(x)), -3, 3, 2},
      {"math.cosh", UNARY(std::cosh(x)), -3, 3, 2},
      {"math.asinh", UNARY(std::asinh(x)), -5, 5, 1},
      {"math.acosh", UNARY(std::acosh(x)), 1, 4, 1},
      {"math.atanh", UNARY(std::atanh(x)), -1, 1, 1},
      {"math.powf", BINARY(std::pow(x, y)), 0, 20, 2, true},
      {"math.atan2", BINARY(std::atan2(x, y)), -20, 20, 2, true},
      {"arith.maximumf", BINARY(std::isnan(x) || std::isnan(y) ? NAN : std::fmax(x, y)), -20, 20, 0, true, true},
      {"arith.minimumf", BINARY(std::isnan(x) || std::isnan(y) ? NAN : std::fmin(x, y)), -20, 20, 0, true, true},
  };
  for (bool fuses : {true, false})
    for (const Case<double> &c : cases)
      measure(c, {.fuses = fuses, .calls = fuses});
}

/// Of any two numbers, the last bit included.
TEST(MathTest, RemaindersAreExact) {
  for (bool fuses : {true, false}) {
    measure<double>({"arith.remf", BINARY(std::fmod(x, y)), -1e9, 1e9, 0, true}, {.fuses = fuses, .calls = fuses});
    measure<float>({"arith.remf", BINARY(std::fmod(x, y)), -1e9, 1e9, 0, true}, {.fuses = fuses, .calls = fuses});
  }
}

/// Where the target has no instruction for it.
TEST(MathTest, WholeNumbersAreExact) {
  const Case<double> cases[] = {{"math.floor", UNARY(std::floor(x)), -9, 9, 0},
                                {"math.ceil", UNARY(std::ceil(x)), -9, 9, 0},
                                {"math.roundeven", UNARY(std::rint(x)), -9, 9, 0}};
  for (const Case<double> &c : cases) {
    measure(c, {.rounds = false});
    measure(Case<float>{c.op, c.wanted, c.low, c.high, 0}, {.rounds = false});
    std::vector<double> ties;
    for (double x = -8; x <= 8; x += 0.25)
      ties.insert(ties.end(), {x, std::copysign(0x1p52, x) + x, std::copysign(0x1p51, x) + x});
    measureAt(c, {.rounds = false}, ties, ties);
  }
}

/// Of one function of f64, arguments that are hard for it.
struct Hard {
  Case<double> c;
  std::vector<double> xs, ys = {};
};

/// Arguments nearest to multiples of pi/2, by continued fractions of 2^e / (pi/2) for each exponent e, the worst of all
/// among them; those whose results lie nearest to the middle of two f64 (V. Lefevre and J.-M. Muller, "Worst cases for
/// correct rounding of the elementary functions in double precision", 2001); borders of formulas and of results.
TEST(MathTest, HardDoubles) {
  const std::vector<double> turns = {
      0x1.921fb54442d18p+0,   0x1.6c6cbc45dc8dep+5,   0x1.6c6cbc45dc8dep+8,   0x1.6c6cbc45dc8dep+11,
      0x1.39c6fd67805a7p+18,  0x1.9eb7148f354d6p+20,  0x1.b951f1572eba5p+23,  0x1.504cac51f1eafp+131,
      0x1.e7e44a78ac18cp+197, 0x1.c45cd11154dfdp+295, 0x1.4c96c11134d36p+577, 0x1.db41f3cb71d7bp+680,
      0x1.6ac5b262ca1ffp+849, 0x1.6ac5b262ca1ffp+850, 0x1.cfe482285f8edp+860, 0x1.e009c53148be1p+991};
  auto with = [](std::vector<double> values, std::initializer_list<double> more) {
    values.insert(values.end(), more);
    return values;
  };
  auto around = [](std::initializer_list<double> borders) { // each and its neighbours
    std::vector<double> values;
    for (double border : borders)
      for (double value : {std::nextafter(border, -HUGE_VAL), border, std::nextafter(border, HUGE_VAL)})
        values.insert(values.end(), {value, -value});
    return values;
  };
  const std::vector<Hard> functions = {
      {{"math.sin", UNARY(std::sin(x)), 0, 0, 1}, with(turns, {0x1.E0000000001C2p-20, 0x1.598BAE9E632F6p-7})},
      {{"math.cos", UNARY(std::cos(x)), 0, 0, 1}, with(turns, {0x1.06B505550E6B2p-9, 0x1.34EC2F9FC9C00p+1})},
      {{"math.tan", UNARY(std::tan(x)), 0, 0, 1.5}, with(turns, {0x1.DFFFFFFFFFF1Fp-22, 0x1.50486B2F87014p-5})},
      {{"math.exp", UNARY(std::exp(x)), 0, 0, 1.5}, {0x1.9E9CBBFD6080Bp-31}},
      {{"math.exp2", UNARY(std::exp2(x)), 0, 0, 1.5}, {0x1.E4596526BF94Dp-10}},
      {{"math.log2", UNARY(std::log2(x)), 0, 0, 2}, {0x1.B4EBE40C95A01p0, 0x1.61555F75885B4p-256}},
      {{"math.expm1", UNARY(std::expm1(x)), 0, 0, 1.5},
       with(around({0x1.62e42fefa39efp-2, 41.24, 41.93, 37.4, 709.782712893384, 0x1p-53}), {0x1.274BBF1EFB1A2p-10})},
      {{"math.asin", UNARY(std::asin(x)), 0, 0, 1}, with(around({0.5, 1}), {0x1.C373FF4AAD79Bp-14})},
      {{"math.acos", UNARY(std::acos(x)), 0, 0, 1}, with(around({0.5, 1}), {0x1.53EA6C7255E88p-4})},
      {{"math.atan", UNARY(std::atan(x)), 0, 0, 1},
       with(around({0x1.a827999fcef32p-2, 0x1.3504f333f9de6p+1, 0x1p100}), {0x1.A933FE176B375p-3})},
      {{"math.sinh", UNARY(std::sinh(x)), 0, 0, 2}, around({0x1.1FFFFFFFFFF0Dp-20, 1, 710.4758600739439, 709.79})},
      {{"math.cosh", UNARY(std::cosh(x)), 0, 0, 2}, around({1, 710.4758600739439, 709.79})},
      {{"math.tanh", UNARY(std::tanh(x)), 0, 0, 1}, around({0x1.DFFFFFFFFF6p-22, 19.06, 22.5, 0x1.62e42fefa39efp-3})},
      {{"math.log1p", UNARY(std::log1p(x)), 0, 0, 1}, around({0x1.6a09e667f3bccp-2, 0x1p60, 0x1p53, 0x1p-53, 1})},
      {{"math.asinh", UNARY(std::asinh(x)), 0, 0, 1}, around({0x1p28, 0x1p-28, 0x1.fffffffffffffp1022})},
      {{"math.acosh", UNARY(std::acosh(x)), 0, 0, 1}, around({1, 0x1p28, 0x1.fffffffffffffp1022, 1 + 0x1p-30})},
      {{"math.atanh", UNARY(std::atanh(x)), 0, 0, 1}, around({1, 0x1p-28, 0.5})},
      {{"math.erf", UNARY(std::erf(x)), 0, 0, 1.5}, around({1, 6, 5.9215871957945065, 0x1p-1022})},
      {{"math.powf", BINARY(std::pow(x, y)), 0, 0, 2, true},
       {1 + 0x1p-52,
        1 - 0x1p-53,
        1 - 0x1p-53,
        1.2023269735099198,
        1e300,
        10,
        10,
        0x1p-1074,
        0x1.6a09e667f3bcdp0,
        2,
        2,
        0x1.6a09e667f3bccp-1,
        -2,
        -2,
        -2,
        -3,
        -0.0,
        -0.0,
        -HUGE_VAL,
        0x1.fffffffffffffp1023},
       {3.1e18,
        6.4e18,
        -6.3e18,
        -663.93350948862565,
        0.99999999999999989,
        308.2547155599167,
        -323.60724533877976,
        0.99,
        2047.99,
        1023.9999999999999,
        -1074.5,
        -2046.5,
        1023,
        0x1p53,
        0x1p53 + 2,
        0.5,
        -3,
        3,
        -0x1p52 - 1,
        1}},
      {{"math.atan2", BINARY(std::atan2(x, y)), 0, 0, 1.5, true},
       {0x1.fffffffffffffp1023, 0x1.fffffffffffffp1023, 0x1p-1074, 0x1p-1074, 0x1p-1074, 0x1p1000, 0x1.8p-1022, 1,
        3e-310},
       {0x1.fffffffffffffp1023, 0x1p-1074, 0x1p-1074, 0x1.fffffffffffffp1023, -0x1p-1073, -0x1p970, 3, -0x1p-60,
        0x1p50}},
      {{"arith.remf", BINARY(std::fmod(x, y)), 0, 0, 0, true},
       {0x1.fffffffffffffp1023, 0x1.fffffffffffffp1023, 0x1.fffffffffffffp1023, 0x1.0000000000001p0, 0x1p53, 0x1.8p51,
        0x1.fffffffffffffp-971, 6381956970095103.0 * 0x1p797, 5},
       {0x1p-1074, 0x1.8p-1074, 0x1.0000000000001p-1022, 0x1p-52, 3, 0x1.0000000000001p0, 0x1.5555555555555p-1000,
        0x1.921fb54442d18p0, 0x1.ffffffffffffep0}},
  };
  for (bool fuses : {true, false})
    for (const Hard &hard : functions) {
      std::vector<double> xs = hard.xs, ys = hard.ys.empty() ? std::vector<double>(hard.xs.size()) : hard.ys;
      for (size_t i = 0, count = xs.size(); i < count; ++i) {
        xs.push_back(-xs[i]);
        ys.push_back(ys[i]);
      }
      measureAt(hard.c, {.fuses = fuses, .calls = fuses}, xs, ys);
    }
}

/// Lanes have the bits of scalars, which never scale. Of f64 sixteen are more than a register.
TEST(MathTest, ExponentialsThatScaleKeepTheirBoundsAndBits) {
  if (!sinter::cpu::Target::host().hasScaling)
    GTEST_SKIP() << "the host has no AVX-512";
  const sinter::cpu::MathInstructions has{.scales = true};
  measure<float>({"math.exp", UNARY(std::exp(x)), -104, 89, 2}, has);
  measure<float>({"math.exp2", UNARY(std::exp2(x)), -150, 128, 2}, has);
  measure<float>({"math.expm1", UNARY(std::expm1(x)), -20, 5, 4}, has);
  measure<float>({"math.powf", BINARY(std::pow(x, y)), -20, 20, 4, true}, has);
  measure<double>({"math.exp", UNARY(std::exp(x)), -745, 710, 2}, has);
  measure<double>({"math.exp2", UNARY(std::exp2(x)), -1075, 1024, 2}, has);
  measure<double>({"math.sinh", UNARY(std::sinh(x)), -711, 711, 2}, has);
  measure<double>({"math.cosh", UNARY(std::cosh(x)), -711, 711, 2}, has);
  measure<double>({"math.powf", BINARY(std::pow(x, y)), 0, 20, 2, true}, has);
}

/// Users expect log2(8) to be 3 and exp2(3) to be 8.
TEST(MathTest, PowersOfTwoAreExact) {
  Compiled log2("math.log2", false, false, 16, {}), exp2("math.exp2", false, false, 16, {});
  Compiled log2Wide("math.log2", false, true, 8, {}), exp2Wide("math.exp2", false, true, 8, {});
  for (int n = -1074; n < 1024; ++n) {
    double power = std::ldexp(1.0, n), number = n, result;
    log2Wide.onScalar(&power, &power, &result);
    EXPECT_EQ(result, n);
    exp2Wide.onScalar(&number, &number, &result);
    EXPECT_EQ(result, power);
    if (n < -149 || n > 127)
      continue;
    float narrowPower = std::ldexp(1.f, n), narrowNumber = static_cast<float>(n), narrowResult;
    log2.onScalar(&narrowPower, &narrowPower, &narrowResult);
    EXPECT_EQ(narrowResult, narrowNumber);
    exp2.onScalar(&narrowNumber, &narrowNumber, &narrowResult);
    EXPECT_EQ(narrowResult, narrowPower);
  }
}

} // namespace

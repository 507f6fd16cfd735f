// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions as PTX that have branches or are long: sines far from 0, remainders, all of f64, against the C library.

#include "CudaProgram.h"
#include "Ptxas.h"
#include "test/backends/cpu/Execute.h"
#include <cmath>
#include <map>
#include <random>
#include <regex>

using namespace sinter;

/// One result for each of `count` pairs, which `text` computes from two tensors of that size.
static std::vector<HostTensor> run(const std::string &text, const std::vector<double> &x, const std::vector<double> &y,
                                   std::string &error) {
  test::Program program(text, 2, 1, /*isGraph=*/true);
  error = program.error;
  if (!error.empty())
    return {};
  std::vector<HostTensor> inputs;
  const std::vector<double> *values[] = {&x, &y};
  for (auto [i, type] : llvm::enumerate(program.function().getArgumentTypes())) {
    inputs.emplace_back(mlir::getElementTypeOrSelf(type), llvm::ArrayRef<int64_t>{int64_t(x.size())});
    inputs.back().assignFloats(*values[i]);
  }
  auto results = program.run(inputs);
  error = program.error + cuda::report();
  return results ? *results : std::vector<HostTensor>();
}

static std::string sized(std::string text, const char *type, size_t count) {
  for (size_t at; (at = text.find('$')) != std::string::npos;)
    text.replace(at, 1, "tensor<" + std::to_string(count) + "x" + type + ">");
  return text;
}

/// Sines, cosines and tangents of x, which are numbers of `type`, off by at most `ulps` of their last places.
static void compareSines(const char *type, const std::vector<double> &x, double ulps, int digits) {
  std::string error;
  auto results = run(sized(R"(func.func @f(%x: $) -> ($, $, $) {
    %s = sinter.sin %x : ($) -> $
    %c = sinter.cos %x : ($) -> $
    %t = sinter.tan %x : ($) -> $
    return %s, %c, %t : $, $, $
  })",
                           type, x.size()),
                     x, {}, error);
  ASSERT_EQ(error, "");
  for (size_t i = 0; i < x.size(); ++i) {
    const auto value = static_cast<long double>(x[i]);
    long double expected[] = {std::sin(value), std::cos(value), std::tan(value)};
    for (int k = 0; k < 3; ++k) {
      double last = std::ldexp(1.0, std::ilogb(expected[k]) - (digits - 1));
      EXPECT_NEAR(results[size_t(k)].getFloat(int64_t(i)), static_cast<double>(expected[k]), ulps * last)
          << k << " of " << x[i];
    }
  }
}

TEST(Functions, SinesFarFromZero) {
  std::vector<double> x = {0x1p28, 0x1.000002p28, 1e10, -1e10, 16367173.0 * 0x1p72, 0x1.fffffep127, -0x1.fffffep127};
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    uint32_t bits = (random() & 0x807fffff) | ((155 + random() % 100) << 23);
    float value;
    std::memcpy(&value, &bits, sizeof value);
    x.push_back(value);
  }
  compareSines("f32", x, 4, 24);
}

TEST(Functions, SinesOfF64FarFromZero) {
  // The last but one is the f64 that is nearest to a multiple of pi/2 (J.-M. Muller, "Elementary Functions", 2006).
  std::vector<double> x = {0x1p20, 0x1.0000000000001p20,         -1e10,
                           1e22,   6381956970095103.0 * 0x1p797, 0x1.fffffffffffffp1023};
  std::mt19937_64 random(1);
  for (int i = 0; i < 500; ++i) {
    uint64_t bits = (random() & 0x800fffffffffffff) | ((1043 + random() % 1004) << 52);
    double value;
    std::memcpy(&value, &bits, sizeof value);
    x.push_back(value);
  }
  compareSines("f64", x, 1.5, 53);
}

/// What each function of f64 gives for zeros, infinities, NaN, numbers of any exponent and those of its domain.
TEST(Functions, OfF64) {
  using Unary = long double (*)(long double);
  const std::map<std::string, Unary> functions = {
      {"exp", std::exp},     {"expm1", std::expm1}, {"exp2", std::exp2},   {"log", std::log},   {"log1p", std::log1p},
      {"log2", std::log2},   {"sin", std::sin},     {"cos", std::cos},     {"tan", std::tan},   {"asin", std::asin},
      {"acos", std::acos},   {"atan", std::atan},   {"sinh", std::sinh},   {"cosh", std::cosh}, {"tanh", std::tanh},
      {"asinh", std::asinh}, {"acosh", std::acosh}, {"atanh", std::atanh}, {"erf", std::erf}};
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> x = {0,
                           inf,
                           nan,
                           0x1p-1074,
                           0x1p-1022,
                           1,
                           0x1.fffffffffffffp-1,
                           0x1.0000000000001p0,
                           709.78,
                           710.4,
                           745.1,
                           0x1.fffffffffffffp1023};
  for (size_t i = 0, count = x.size(); i < count; ++i)
    x.push_back(-x[i]);
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> near(-1, 1), far(-30, 30);
  for (int i = 0; i < 60; ++i) {
    uint64_t bits = random();
    double any;
    std::memcpy(&any, &bits, sizeof any);
    x.insert(x.end(), {any, near(random), far(random)});
  }
  for (const auto &[name, function] : functions) {
    std::string error;
    auto results = run(sized("func.func @f(%x: $) -> $ {\n  %r = sinter." + name + " %x : ($) -> $\n  return %r : $\n}",
                             "f64", x.size()),
                       x, {}, error);
    ASSERT_EQ(error, "") << name;
    const std::string &code = cuda::lastCode(); // lines about kernels, an empty one, and PTX
    if ((name == "tan" || name == "atanh" || name == "asinh") && cuda::hasPtxas())
      cuda::expectNoSpills(code.substr(code.find("\n\n") + 2), 1, 64);
    for (size_t i = 0; i < x.size(); ++i) {
      const long double wanted = function(x[i]);
      const double got = results[0].getFloat(int64_t(i)), rounded = static_cast<double>(wanted);
      if (std::isnan(wanted) || std::isinf(rounded) || wanted == 0) {
        EXPECT_TRUE(std::isnan(wanted) ? std::isnan(got) : got == rounded && std::signbit(got) == std::signbit(rounded))
            << name << " of " << x[i] << " is " << rounded << ", got " << got;
        continue;
      }
      const int exponent = std::max(std::ilogb(wanted), -1022);
      EXPECT_LE(std::fabs(got - wanted), 2 * std::ldexp(1.0L, exponent - 52)) << name << " of " << x[i];
    }
  }
}

static void compareRemainders(const char *type, int mantissa, int least, int most) {
  double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  double tiny = std::ldexp(1, least), huge = std::ldexp(1.5, most);
  std::vector<double> x, y, special = {0.0, -0.0, 1, -3, tiny, -tiny, 7 * tiny, huge, -huge, inf, -inf, nan, 0.75};
  for (double a : special)
    for (double b : special) {
      x.push_back(a);
      y.push_back(b);
    }
  std::mt19937_64 random(2);
  auto draw = [&] {
    double fraction = double((random() >> 11) & ((uint64_t(1) << mantissa) - 1));
    int exponent = least + int(random() % uint64_t(most - mantissa - least));
    return std::ldexp(random() & 1 ? fraction : -fraction, exponent);
  };
  for (int i = 0; i < 500; ++i) {
    x.push_back(draw());
    y.push_back(draw());
  }
  std::string error;
  auto results = run(sized(R"(func.func @f(%x: $, %y: $) -> $ {
    %r = sinter.rem %x, %y : ($, $) -> $
    return %r : $
  })",
                           type, x.size()),
                     x, y, error);
  ASSERT_EQ(error, "");
  for (size_t i = 0; i < x.size(); ++i) {
    double expected = std::fmod(x[i], y[i]), actual = results[0].getFloat(int64_t(i));
    EXPECT_TRUE(std::isnan(expected) ? std::isnan(actual)
                                     : actual == expected && std::signbit(actual) == std::signbit(expected))
        << x[i] << " mod " << y[i] << " is " << expected << ", got " << actual;
  }
}

TEST(Functions, RemaindersF32) { compareRemainders("f32", 24, -149, 127); }
TEST(Functions, RemaindersF64) { compareRemainders("f64", 53, -1074, 1023); }

/// To nearest with ties to even, by one instruction: ends of ranges, ties, numbers that are no normal ones, NaN.
TEST(Functions, F32ToBF16) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> x = {0.0,
                           -0.0,
                           1,
                           1 + 0x1p-8,
                           1 + 0x1p-8 + 0x1p-23,
                           1 + 0x3p-8,
                           -1 - 0x3p-8,
                           0x1.fffffep127,
                           -0x1.fffffep127,
                           0x1.fep127,
                           0x1.fefffep127,
                           0x1.ffp127,
                           inf,
                           -inf,
                           nan,
                           -nan,
                           0x1p-149,
                           -0x1p-133,
                           0x1p-134,
                           0x1.8p-133,
                           0x1.fffffcp-127};
  std::mt19937 random(4);
  while (x.size() < 1003) { // an odd one at the end
    const auto bits = uint32_t(random());
    float value;
    std::memcpy(&value, &bits, sizeof value);
    x.push_back(value);
  }
  std::string error;
  const std::string text = sized(R"(func.func @f(%x: $) -> #<bf16> {
    %r = sinter.convert %x {element_type = bf16} : ($) -> #<bf16>
    return %r : #<bf16>
  })",
                                 "f32", x.size());
  auto results =
      run(std::regex_replace(text, std::regex("#<"), "tensor<" + std::to_string(x.size()) + "x"), x, {}, error);
  ASSERT_EQ(error, "");
  EXPECT_NE(cuda::lastCode().find("cvt.rn.bf16"), std::string::npos);
  for (size_t i = 0; i < x.size(); ++i) {
    const auto value = float(x[i]);
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
    float wanted;
    std::memcpy(&wanted, &bits, sizeof wanted);
    const double actual = results[0].getFloat(int64_t(i));
    EXPECT_TRUE(std::isnan(value) ? std::isnan(actual)
                                  : actual == double(wanted) && std::signbit(actual) == std::signbit(wanted))
        << x[i] << " is " << wanted << ", got " << actual;
  }
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions that the CPU leaves to libm, as PTX: sines far from 0 and remainders, against the C library.

#include "CudaProgram.h"
#include "test/backends/cpu/Execute.h"
#include <cmath>
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

TEST(Functions, SinesFarFromZero) {
  std::vector<double> x = {0x1p28, 0x1.000002p28, 1e10, -1e10, 16367173.0 * 0x1p72, 0x1.fffffep127, -0x1.fffffep127};
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    uint32_t bits = (random() & 0x807fffff) | ((155 + random() % 100) << 23);
    float value;
    std::memcpy(&value, &bits, sizeof value);
    x.push_back(value);
  }
  std::string error;
  auto results = run(sized(R"(func.func @f(%x: $) -> ($, $, $) {
    %s = sinter.sin %x : ($) -> $
    %c = sinter.cos %x : ($) -> $
    %t = sinter.tan %x : ($) -> $
    return %s, %c, %t : $, $, $
  })",
                           "f32", x.size()),
                     x, {}, error);
  ASSERT_EQ(error, "");
  for (size_t i = 0; i < x.size(); ++i) {
    double expected[] = {std::sin(x[i]), std::cos(x[i]), std::tan(x[i])};
    for (int k = 0; k < 3; ++k)
      EXPECT_NEAR(results[size_t(k)].getFloat(int64_t(i)), expected[k], std::fabs(expected[k]) * 0x1p-23)
          << k << " of " << x[i];
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

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Functions.h"

#include <cmath>

namespace sinter::numerics {

#define ROW(NAME, DTYPES, LOW, HIGH, TOLERANCE, ...)                                                                   \
  {#NAME, DTYPES, kUnary, LOW, HIGH, TOLERANCE, [](const Tensors &x) { return sinter::NAME(x[0]); }, __VA_ARGS__}
#define ROW2(NAME, DTYPES, LOW, HIGH, TOLERANCE, ...)                                                                  \
  {#NAME, DTYPES, kBinary, LOW, HIGH, TOLERANCE, [](const Tensors &x) { return sinter::NAME(x[0], x[1]); }, __VA_ARGS__}
#define OPERATOR(NAME, DTYPES, LOW, HIGH, OP)                                                                          \
  {"operator" NAME, DTYPES, kBinary, LOW, HIGH, 0, [](const Tensors &x) { return x[0] OP x[1]; }}
#define HOST(BODY)                                                                                                     \
  [](double x, double y) -> double {                                                                                   \
    (void)x, (void)y;                                                                                                  \
    return BODY;                                                                                                       \
  }

static double sigmoidOf(double x) { return 1 / (1 + std::exp(-x)); }
static Tensor truth(const Tensor &x) { return x > 1; }

std::vector<Row> elementwiseRows() {
  return {
      ROW2(add, kNumbers, -4, 4, 0, HOST(x + y)),
      ROW2(subtract, kNumbers, -4, 4, 0, HOST(x - y)),
      ROW2(multiply, kNumbers, -4, 4, 0, HOST(x * y)),
      ROW2(divide, kNumbers, -4, 4, 1),
      ROW2(fmod, kNumbers, -9, 9, 0),
      ROW2(remainder, kSigned, -9, 9, 1),
      ROW2(floor_divide, kSigned, -9, 9, 1),
      ROW2(power, kWideFloats, 0.1, 3, 16, HOST(std::pow(x, y)), 16),
      ROW2(maximum, kAll, -4, 4, 0, HOST(std::max(x, y))),
      ROW2(minimum, kAll, -4, 4, 0, HOST(std::min(x, y))),
      {"clip", kNumbers, kTernary, -4, 4, 0, [](const Tensors &x) { return clip(x[0], x[1], x[2]); }},
      ROW(negative, kSigned, -4, 4, 0, HOST(-x)),
      ROW(abs, kNumbers, -4, 4, 0, HOST(std::abs(x))),
      ROW(sign, kNumbers, -4, 4, 0, HOST((x > 0) - (x < 0))),
      ROW(square, kNumbers, -4, 4, 0, HOST(x * x)),
      ROW(reciprocal, kFloats, 0.5, 4, 1, HOST(1 / x)),
      OPERATOR("+", kNumbers, -4, 4, +),
      OPERATOR("-", kNumbers, -4, 4, -),
      OPERATOR("*", kNumbers, -4, 4, *),
      {"operator/", kNumbers, kBinary, 1, 4, 1, [](const Tensors &x) { return x[0] / x[1]; }},
      OPERATOR("%", kNumbers, 1, 9, %),
      {"operator+=", kNumbers, kUnary, -4, 4, 0,
       [](const Tensors &x) {
         Tensor y = x[0];
         y += 1;
         y -= 2;
         y *= 3;
         return y;
       }},
      {"operator-=", kNumbers, kUnary, -4, 4, 0, [](Tensors x) { return x[0] -= x[0]; }},
      {"operator*=", kNumbers, kUnary, -4, 4, 0, [](Tensors x) { return x[0] *= x[0]; }},
      {"operator/=", kNumbers, kUnary, 1, 4, 1, [](Tensors x) { return x[0] /= 2; }},
      ROW(floor, kNumbers, -4, 4, 0, HOST(std::floor(x))),
      ROW(ceil, kNumbers, -4, 4, 0, HOST(std::ceil(x))),
      ROW(round, kNumbers, -4, 4, 0, HOST(std::nearbyint(x))),
      ROW(trunc, kNumbers, -4, 4, 0, HOST(std::trunc(x))),
      ROW(exp, kFloats, -4, 4, 4, HOST(std::exp(x))),
      ROW(expm1, kFloats, -2, 2, 4, HOST(std::expm1(x)), 16),
      ROW(exp2, kFloats, -4, 4, 8, HOST(std::exp2(x)), 8),
      ROW(log, kFloats, 0.1, 9, 4, HOST(std::log(x)), 16),
      ROW(log1p, kFloats, 0.1, 9, 4, HOST(std::log1p(x))),
      ROW(log2, kFloats, 0.1, 9, 4, HOST(std::log2(x)), 16),
      ROW(log10, kFloats, 0.1, 9, 4, HOST(std::log10(x)), 16),
      ROW(sqrt, kFloats, 0, 9, 1, HOST(std::sqrt(x))),
      ROW(rsqrt, kFloats, 0.1, 9, 4, HOST(1 / std::sqrt(x))),
      ROW(cbrt, kFloats, -9, 9, 8, HOST(std::cbrt(x)), 8),
      ROW2(hypot, kFloats, -9, 9, 4, HOST(std::hypot(x, y)), 4),
      ROW(sin, kFloats, -4, 4, 4, HOST(std::sin(x)), 32),
      ROW(cos, kFloats, -1, 1, 4, HOST(std::cos(x)), 8),
      ROW(tan, kFloats, -1, 1, 8, HOST(std::tan(x)), 8),
      ROW(asin, kFloats, -1, 1, 4, HOST(std::asin(x)), 8),
      ROW(acos, kFloats, -1, 0.5, 4, HOST(std::acos(x)), 8),
      ROW(atan, kFloats, -4, 4, 4, HOST(std::atan(x)), 8),
      ROW(sinh, kFloats, -2, 2, 8, HOST(std::sinh(x)), 8),
      ROW(cosh, kFloats, -2, 2, 8, HOST(std::cosh(x)), 8),
      ROW(tanh, kFloats, -4, 4, 4, HOST(std::tanh(x)), 8),
      ROW(asinh, kFloats, -4, 4, 8, HOST(std::asinh(x)), 8),
      ROW(acosh, kFloats, 1.5, 9, 8, HOST(std::acosh(x)), 16),
      ROW(atanh, kFloats, -0.9, 0.9, 8, HOST(std::atanh(x)), 8),
      ROW2(atan2, kFloats, 0.5, 4, 4, HOST(std::atan2(x, y)), 8),
      ROW(erf, kFloats, -3, 3, 8, HOST(std::erf(x)), 8),
      ROW(erfinv, kFloats, -0.99, 0.99, 8),
      ROW(erfc, kFloats, -3, 4, 16, HOST(std::erfc(x)), 64),
      ROW2(logaddexp, kFloats, -4, 4, 8, HOST(std::log(std::exp(x) + std::exp(y))), 64),
      ROW2(equal, kAll, -2, 2, 0, HOST(x == y)),
      ROW2(not_equal, kAll, -2, 2, 0, HOST(x != y)),
      ROW2(less, kNumbers, -2, 2, 0, HOST(x < y)),
      ROW2(less_equal, kNumbers, -2, 2, 0, HOST(x <= y)),
      ROW2(greater, kNumbers, -2, 2, 0, HOST(x > y)),
      ROW2(greater_equal, kNumbers, -2, 2, 0, HOST(x >= y)),
      OPERATOR("==", kAll, -2, 2, ==),
      OPERATOR("!=", kAll, -2, 2, !=),
      OPERATOR("<", kNumbers, -2, 2, <),
      OPERATOR("<=", kNumbers, -2, 2, <=),
      OPERATOR(">", kNumbers, -2, 2, >),
      OPERATOR(">=", kNumbers, -2, 2, >=),
      ROW2(logical_and, kAll, -1, 1, 0, HOST(x && y)),
      ROW2(logical_or, kAll, -1, 1, 0, HOST(x || y)),
      ROW2(logical_xor, kAll, -1, 1, 0, HOST(!x != !y)),
      ROW(logical_not, kAll, -1, 1, 0, HOST(!x)),
      {"operator!", kNumbers, kUnary, -4, 4, 0, [](const Tensors &x) { return !truth(x[0]); }},
      ROW2(bitwise_and, kIntegers, 0, 99, 0),
      ROW2(bitwise_or, kIntegers, 0, 99, 0),
      ROW2(bitwise_xor, kIntegers, 0, 99, 0),
      ROW(bitwise_not, kIntegers, 0, 99, 0),
      ROW2(left_shift, kIntegers, 0, 3, 0, HOST(x * std::exp2(y))),
      ROW2(right_shift, kIntegers, 0, 9, 0, HOST(std::floor(x / std::exp2(y)))),
      OPERATOR("&", kIntegers, 0, 99, &),
      OPERATOR("|", kIntegers, 0, 99, |),
      OPERATOR("^", kIntegers, 0, 99, ^),
      OPERATOR("<<", kIntegers, 0, 5, <<),
      OPERATOR(">>", kIntegers, 0, 9, >>),
      {"operator~", kIntegers, kUnary, 0, 99, 0, [](const Tensors &x) { return ~x[0]; }},
      {"where", kAll, kTernary, -4, 4, 0, [](const Tensors &x) { return where(x[0] == x[1], x[1], x[2]); }},
      {"isnan", kFloats, kUnary, -1, 1, 0, [](const Tensors &x) { return isnan(log(x[0])); }},
      {"isinf", kFloats, kUnary, -1, 1, 0, [](const Tensors &x) { return isinf(1 / round(x[0])); }},
      {"isfinite", kFloats, kUnary, -1, 1, 0, [](const Tensors &x) { return isfinite(log(round(x[0]))); }},
      {"astype", kAll, kUnary, -4, 4, 0,
       [](const Tensors &x) {
         return Tensors{astype(x[0], DType::f64), astype(x[0], DType::i8), astype(x[0], DType::u32),
                        astype(x[0], DType::f16), astype(x[0], DType::boolean)};
       }},
      {"bitcast", kNumbers, kUnary, -4, 4, 0,
       [](const Tensors &x) {
         int64_t bytes = dtype_bytes(x[0].dtype());
         return bitcast(x[0], bytes == 8 ? DType::i64 : bytes == 4 ? DType::u32 : bytes == 2 ? DType::u16 : DType::i8);
       }},
      ROW(sigmoid, kFloats, -4, 4, 4, HOST(sigmoidOf(x)), 8),
      ROW(relu, kNumbers, -4, 4, 0, HOST(std::max(x, 0.0))),
      {"leaky_relu", kFloats, kUnary, -4, 4, 0, [](const Tensors &x) { return leaky_relu(x[0], 0.125); },
       HOST(x < 0 ? 0.125 * x : x)},
      {"elu", kFloats, kUnary, -4, 4, 4, [](const Tensors &x) { return elu(x[0], 0.5); },
       HOST(x < 0 ? 0.5 * std::expm1(x) : x)},
      ROW(gelu, kFloats, -2, 4, 8, HOST(0.5 * x * std::erfc(-x * std::sqrt(0.5))), 64),
      ROW(silu, kFloats, -4, 4, 8, HOST(x * sigmoidOf(x)), 8),
      ROW(softplus, kFloats, -4, 4, 8, HOST(std::log1p(std::exp(x))), 16),
  };
}

} // namespace sinter::numerics

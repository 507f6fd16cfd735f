// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ops_elementwise.hpp"
#include "Build.h"

namespace sinter::inline SINTER_HOST {

namespace detail {

/// Arithmetic; booleans have none.
static Tensor binary(const char *function, const char *op, const Operand &lhs, const Operand &rhs) {
  Build b(function, lhs.where);
  Tensor x = lhs.tensor, y = rhs.tensor;
  if (b.agree({&x, &y}) == DType::boolean)
    b.numbers(x);
  return b.binary(op, x, y);
}
/// Also of booleans.
static Tensor extremum(const char *function, const char *op, const Operand &lhs, const Operand &rhs) {
  return Build(function, lhs.where).binary(op, lhs.tensor, rhs.tensor);
}
static Tensor comparison(const char *function, const char *kind, const Operand &lhs, const Operand &rhs) {
  return Build(function, lhs.where).compare(kind, lhs.tensor, rhs.tensor);
}
/// An op over floats.
static Tensor math(const char *function, const char *op, const Operand &x) {
  Build b(function, x.where);
  return b.unary(op, b.floats(x.tensor));
}
/// Both operands, of one element type that `allow` allows.
static Tensor bits(const char *function, const char *op, const Operand &lhs, const Operand &rhs,
                   bool allowBool = true) {
  Build b(function, lhs.where);
  Tensor x = lhs.tensor, y = rhs.tensor;
  b.agree({&x, &y});
  b.integers(x, allowBool);
  b.broadcast({&x, &y});
  return b.op(op, {x, y});
}
Tensor logical(const char *function, const char *op, const Operand &lhs, const Operand &rhs) {
  Build b(function, lhs.where);
  return b.binary(op, truth(b, lhs.tensor), truth(b, rhs.tensor));
}
/// floor, ceil and round change no integer.
static Tensor rounding(const char *function, const char *op, const Operand &x) {
  Build b(function, x.where);
  Tensor value = b.strong(x.tensor);
  return b.failed() || !is_float(value.dtype()) ? value : b.unary(op, value);
}

} // namespace detail

Tensor add(const Operand &x, const Operand &y) { return detail::binary("add", "add", x, y); }
Tensor subtract(const Operand &x, const Operand &y) { return detail::binary("subtract", "sub", x, y); }
Tensor multiply(const Operand &x, const Operand &y) { return detail::binary("multiply", "mul", x, y); }

Tensor divide(const Operand &x, const Operand &y) { return detail::binary("divide", "div", x, y); }

Tensor fmod(const Operand &x, const Operand &y) { return detail::binary("fmod", "rem", x, y); }

Tensor remainder(const Operand &x, const Operand &y) {
  detail::Build b("remainder", x.where);
  Tensor lhs = x.tensor, rhs = y.tensor;
  DType dtype = b.agree({&lhs, &rhs});
  b.numbers(lhs);
  b.broadcast({&lhs, &rhs});
  Tensor rest = b.op("rem", {lhs, rhs});
  if (b.failed() || is_unsigned_integer(dtype))
    return rest;
  Tensor zero = b.number(dtype, 0);
  Tensor differs = b.binary("xor", b.compare("lt", rest, zero), b.compare("lt", rhs, zero));
  return b.select(b.both(b.compare("ne", rest, zero), differs), b.add(rest, rhs), rest);
}

Tensor floor_divide(const Operand &x, const Operand &y) {
  detail::Build b("floor_divide", x.where);
  Tensor lhs = x.tensor, rhs = y.tensor;
  DType dtype = b.agree({&lhs, &rhs});
  b.numbers(lhs);
  b.broadcast({&lhs, &rhs});
  if (!b.failed() && is_float(dtype)) {
    // (x - rest) / y is an integer up to rounding, x / y is not: 1 / 0.1 rounds to 10, of which the tenth lies above 1.
    Tensor zero = b.number(dtype, 0), one = b.number(dtype, 1), rest = b.op("rem", {lhs, rhs});
    Tensor whole = b.div(b.sub(lhs, rest), rhs);
    Tensor differs = b.binary("xor", b.compare("lt", rest, zero), b.compare("lt", rhs, zero));
    whole = b.select(b.both(b.compare("ne", rest, zero), differs), b.sub(whole, one), whole);
    Tensor floor = b.unary("floor", whole);
    floor = b.select(b.compare("gt", b.sub(whole, floor), b.number(dtype, 0.5)), b.add(floor, one), floor);
    Tensor quotient = b.div(lhs, rhs);
    floor = b.select(b.compare("eq", whole, zero), b.mul(quotient, zero), floor); // the zero of the quotient's sign
    return b.select(b.compare("eq", rhs, zero), quotient, floor);
  }
  Tensor quotient = b.op("div", {lhs, rhs});
  if (b.failed() || is_unsigned_integer(dtype))
    return quotient;
  Tensor zero = b.number(dtype, 0), rest = b.op("rem", {lhs, rhs});
  Tensor differs = b.binary("xor", b.compare("lt", lhs, zero), b.compare("lt", rhs, zero));
  Tensor lower = b.both(b.both(b.compare("ne", rest, zero), b.compare("ne", rhs, zero)), differs);
  return b.select(lower, b.sub(quotient, b.number(dtype, 1)), quotient);
}
Tensor power(const Operand &x, const Operand &y) { return detail::binary("power", "pow", x, y); }

Tensor maximum(const Operand &x, const Operand &y) { return detail::extremum("maximum", "max", x, y); }

Tensor minimum(const Operand &x, const Operand &y) { return detail::extremum("minimum", "min", x, y); }

Tensor clip(const Operand &x, const Tensor &low, const Tensor &high) {
  detail::Build b("clip", x.where);
  Tensor least = low, value = x.tensor, most = high;
  b.agree({&value, &least, &most});
  value = b.numbers(value);
  b.broadcast({&value, &least, &most});
  return b.op("clamp", {least, value, most});
}
Tensor negative(const Operand &x) {
  detail::Build b("negative", x.where);
  return b.unary("neg", b.numbers(x.tensor));
}

Tensor abs(const Operand &x) {
  detail::Build b("abs", x.where);
  Tensor value = b.numbers(x.tensor);
  return b.failed() || is_unsigned_integer(value.dtype()) ? value : b.unary("abs", value);
}

Tensor sign(const Operand &x) {
  detail::Build b("sign", x.where);
  Tensor value = b.numbers(x.tensor);
  return b.failed() || !is_unsigned_integer(value.dtype()) ? b.unary("sign", value)
                                                           : b.min(value, b.number(value.dtype(), 1));
}
Tensor square(const Operand &x) {
  detail::Build b("square", x.where);
  Tensor value = b.numbers(x.tensor);
  return b.mul(value, value);
}
Tensor reciprocal(const Operand &x) {
  detail::Build b("reciprocal", x.where);
  Tensor value = b.floats(x.tensor);
  return b.div(b.number(value.dtype(), 1), value);
}

Tensor operator+(const Operand &x, const Operand &y) { return detail::binary("operator +", "add", x, y); }
Tensor operator-(const Operand &x, const Operand &y) { return detail::binary("operator -", "sub", x, y); }
Tensor operator*(const Operand &x, const Operand &y) { return detail::binary("operator *", "mul", x, y); }
Tensor operator/(const Operand &x, const Operand &y) { return detail::binary("operator /", "div", x, y); }
Tensor operator%(const Operand &x, const Operand &y) { return detail::binary("operator %", "rem", x, y); }
Tensor operator-(const Operand &x) { return negative(x); }
Tensor operator+(const Operand &x) { return x.tensor; }
Tensor &operator+=(Tensor &x, const Operand &y) { return x = add(Operand(x, y.where), y); }
Tensor &operator-=(Tensor &x, const Operand &y) { return x = subtract(Operand(x, y.where), y); }
Tensor &operator*=(Tensor &x, const Operand &y) { return x = multiply(Operand(x, y.where), y); }
Tensor &operator/=(Tensor &x, const Operand &y) { return x = divide(Operand(x, y.where), y); }

Tensor floor(const Operand &x) { return detail::rounding("floor", "floor", x); }
Tensor ceil(const Operand &x) { return detail::rounding("ceil", "ceil", x); }

Tensor round(const Operand &x) { return detail::rounding("round", "round", x); }

Tensor trunc(const Operand &x) {
  detail::Build b("trunc", x.where);
  Tensor value = b.strong(x.tensor);
  if (b.failed() || !is_float(value.dtype()))
    return value;
  return b.select(b.compare("lt", value, b.number(value.dtype(), 0)), b.unary("ceil", value), b.unary("floor", value));
}

#define GET_POINTWISE_FUNCTIONS
#include "ir/Pointwise.inc"

Tensor log10(const Operand &x) {
  return detail::composed("log10", x, [](detail::Build &b, const Tensor &value) {
    return b.mul(b.unary("log", value), b.number(value.dtype(), 0.4342944819032518));
  });
}

Tensor cbrt(const Operand &x) {
  return detail::composed("cbrt", x, [](detail::Build &b, const Tensor &value) {
    DType dtype = value.dtype();
    Tensor size = b.unary("abs", value), root = b.binary("pow", size, b.number(dtype, 1.0 / 3));
    Tensor area = b.mul(root, root);
    Tensor step = b.mul(b.sub(root, b.div(size, area)), b.number(dtype, 1.0 / 3));
    Tensor isFinite = b.compare("lt", size, b.number(dtype, std::numeric_limits<double>::infinity()));
    root = b.select(isFinite, b.sub(root, step), root);
    root = b.select(b.compare("lt", value, b.number(dtype, 0)), b.unary("neg", root), root);
    return b.select(b.compare("eq", value, b.number(dtype, 0)), value, root); // also -0
  });
}

Tensor hypot(const Operand &x, const Operand &y) {
  detail::Build b("hypot", x.where);
  Tensor lhs = x.tensor, rhs = y.tensor;
  DType dtype = b.agree({&lhs, &rhs});
  b.floats(lhs);
  b.broadcast({&lhs, &rhs});
  lhs = b.unary("abs", lhs);
  rhs = b.unary("abs", rhs);
  Tensor most = b.max(lhs, rhs), ratio = b.div(b.min(lhs, rhs), most);
  Tensor length = b.mul(most, b.unary("sqrt", b.add(b.mul(ratio, ratio), b.number(dtype, 1))));
  Tensor infinity = b.number(dtype, std::numeric_limits<double>::infinity());
  length = b.select(b.compare("eq", most, b.number(dtype, 0)), most, length);
  // also beside NaN, as in C
  return b.select(b.either(b.compare("eq", lhs, infinity), b.compare("eq", rhs, infinity)), infinity, length);
}

Tensor atan2(const Operand &y, const Operand &x) {
  detail::Build b("atan2", y.where);
  Tensor lhs = y.tensor, rhs = x.tensor;
  b.agree({&lhs, &rhs});
  b.floats(lhs);
  b.broadcast({&lhs, &rhs});
  return b.op("atan2", {lhs, rhs});
}

Tensor erfc(const Operand &x) {
  return detail::composed("erfc", x, [](detail::Build &b, const Tensor &value) {
    static constexpr double series[] = {-0.65132685989085493,
                                        0.64196979235649021,
                                        0.019476473204185978,
                                        -0.009561514786808608,
                                        -0.00094659534448162492,
                                        0.00036683949785261432,
                                        4.2523324806698633e-05,
                                        -2.0278578112525036e-05,
                                        -1.6242900045475695e-06,
                                        1.3036558355139909e-06,
                                        1.5626441510755761e-08,
                                        -8.5238095787856657e-08,
                                        6.5290547655675724e-09,
                                        5.0593436370861931e-09,
                                        -9.9136486764853785e-10,
                                        -2.2736570495673081e-10,
                                        9.6467809308781223e-11,
                                        2.3939781184094639e-12,
                                        -6.8859142696793313e-12,
                                        8.9452307000162591e-13,
                                        3.129633124626804e-13,
                                        -1.1279115923841133e-13,
                                        0,
                                        6.8308432849933812e-15};
    DType dtype = value.dtype();
    auto number = [&](double number) { return b.number(dtype, number); };
    Tensor z = b.unary("abs", value), t = b.div(number(2), b.add(z, number(2)));
    Tensor place = b.sub(b.mul(t, number(4)), number(2)); // twice the argument of the Chebyshev polynomials
    Tensor sum = number(0), before = number(0);
    for (int k = dtype == DType::f64 ? 23 : 11; k > 0; --k)
      before = std::exchange(sum, b.sub(b.add(b.mul(place, sum), number(series[k])), before));
    Tensor p = b.sub(b.add(b.mul(b.mul(place, number(0.5)), sum), number(series[0])), before);
    Tensor tail = b.mul(t, b.unary("exp", b.sub(p, b.mul(z, z))));
    return b.select(b.compare("lt", value, number(0)), b.sub(number(2), tail), tail);
  });
}

Tensor logaddexp(const Operand &x, const Operand &y) {
  detail::Build b("logaddexp", x.where);
  Tensor lhs = x.tensor, rhs = y.tensor;
  b.agree({&lhs, &rhs});
  b.floats(lhs);
  b.broadcast({&lhs, &rhs});
  Tensor gap = b.unary("neg", b.unary("abs", b.sub(lhs, rhs)));
  Tensor sum = b.add(b.max(lhs, rhs), b.unary("log1p", b.unary("exp", gap)));
  return b.select(b.compare("eq", lhs, rhs), b.add(lhs, b.number(lhs.dtype(), 0.6931471805599453)), sum); // inf - inf
}

Tensor equal(const Operand &x, const Operand &y) { return detail::comparison("equal", "eq", x, y); }
Tensor not_equal(const Operand &x, const Operand &y) { return detail::comparison("not_equal", "ne", x, y); }
Tensor less(const Operand &x, const Operand &y) { return detail::comparison("less", "lt", x, y); }
Tensor less_equal(const Operand &x, const Operand &y) { return detail::comparison("less_equal", "le", x, y); }
Tensor greater(const Operand &x, const Operand &y) { return detail::comparison("greater", "gt", x, y); }
Tensor greater_equal(const Operand &x, const Operand &y) { return detail::comparison("greater_equal", "ge", x, y); }

Tensor logical_and(const Operand &x, const Operand &y) { return detail::logical("logical_and", "and", x, y); }
Tensor logical_or(const Operand &x, const Operand &y) { return detail::logical("logical_or", "or", x, y); }
Tensor logical_xor(const Operand &x, const Operand &y) { return detail::logical("logical_xor", "xor", x, y); }
Tensor logical_not(const Operand &x) {
  detail::Build b("logical_not", x.where);
  return b.unary("not", detail::truth(b, x.tensor));
}

Tensor bitwise_and(const Operand &x, const Operand &y) { return detail::bits("bitwise_and", "and", x, y); }
Tensor bitwise_or(const Operand &x, const Operand &y) { return detail::bits("bitwise_or", "or", x, y); }
Tensor bitwise_xor(const Operand &x, const Operand &y) { return detail::bits("bitwise_xor", "xor", x, y); }
Tensor bitwise_not(const Operand &x) {
  detail::Build b("bitwise_not", x.where);
  return b.unary("not", b.integers(x.tensor, true));
}

Tensor left_shift(const Operand &x, const Operand &y) { return detail::bits("left_shift", "shift_left", x, y, false); }

Tensor right_shift(const Operand &x, const Operand &y) {
  return detail::bits("right_shift", "shift_right", x, y, false);
}

Tensor operator==(const Operand &x, const Operand &y) { return detail::comparison("operator ==", "eq", x, y); }
Tensor operator!=(const Operand &x, const Operand &y) { return detail::comparison("operator !=", "ne", x, y); }
Tensor operator<(const Operand &x, const Operand &y) { return detail::comparison("operator <", "lt", x, y); }
Tensor operator<=(const Operand &x, const Operand &y) { return detail::comparison("operator <=", "le", x, y); }
Tensor operator>(const Operand &x, const Operand &y) { return detail::comparison("operator >", "gt", x, y); }
Tensor operator>=(const Operand &x, const Operand &y) { return detail::comparison("operator >=", "ge", x, y); }
Tensor operator&(const Operand &x, const Operand &y) { return detail::bits("operator &", "and", x, y); }
Tensor operator|(const Operand &x, const Operand &y) { return detail::bits("operator |", "or", x, y); }
Tensor operator^(const Operand &x, const Operand &y) { return detail::bits("operator ^", "xor", x, y); }
Tensor operator<<(const Operand &x, const Operand &y) { return detail::bits("operator <<", "shift_left", x, y, false); }
Tensor operator>>(const Operand &x, const Operand &y) {
  return detail::bits("operator >>", "shift_right", x, y, false);
}
Tensor operator~(const Operand &x) { return bitwise_not(x); }

Tensor operator!(const Tensor &x) { return logical_not(Operand(x, x.where())); }

Tensor where(const Operand &pred, const Tensor &on_true, const Tensor &on_false) {
  detail::Build b("where", pred.where);
  return b.select(detail::truth(b, pred.tensor), on_true, on_false);
}
Tensor isfinite(const Operand &x) {
  detail::Build b("isfinite", x.where);
  Tensor value = b.floats(x.tensor);
  return b.compare("lt", b.unary("abs", value), b.number(value.dtype(), std::numeric_limits<double>::infinity()));
}

Tensor astype(const Operand &x, DType dtype) {
  detail::Build b("astype", x.where);
  b.in(x.tensor);
  return b.astype(x.tensor, dtype);
}

Tensor bitcast(const Operand &x, DType dtype) {
  detail::Build b("bitcast", x.where);
  Tensor value = b.strong(x.tensor);
  if (!b.failed() && dtype_bytes(value.dtype()) != dtype_bytes(dtype))
    return b.fail("dtypes of one width, got " + std::string(dtype_name(value.dtype())) + " and " + dtype_name(dtype));
  return b.failed() || value.dtype() == dtype ? value : b.op("bitcast", {value}, {{"element_type", dtype}});
}

Tensor relu(const Operand &x) {
  detail::Build b("relu", x.where);
  Tensor value = b.strong(x.tensor);
  if (b.failed() || !is_float(value.dtype()))
    return b.max(value, b.number(value.dtype(), 0));
  Tensor low = b.number(value.dtype(), 0), high = b.number(value.dtype(), std::numeric_limits<double>::infinity());
  b.broadcast({&low, &value, &high});
  return b.op("clamp", {low, value, high});
}

Tensor leaky_relu(const Operand &x, double slope) {
  return detail::composed("leaky_relu", x, [&](detail::Build &b, const Tensor &value) {
    Tensor isLow = b.compare("le", value, b.number(value.dtype(), 0));
    return b.select(isLow, b.mul(value, b.number(value.dtype(), slope)), value);
  });
}

Tensor elu(const Operand &x, double alpha) {
  return detail::composed("elu", x, [&](detail::Build &b, const Tensor &value) {
    Tensor isAbove = b.compare("gt", value, b.number(value.dtype(), 0));
    Tensor low = b.unary("expm1", b.select(isAbove, b.number(value.dtype(), 0), value)); // finite where it is not taken
    return b.select(isAbove, value, b.mul(low, b.number(value.dtype(), alpha)));
  });
}

Tensor gelu(const Operand &x, bool approximate) {
  return detail::composed("gelu", x, [&](detail::Build &b, const Tensor &value) {
    auto number = [&](double number) { return b.number(value.dtype(), number); };
    Tensor inner;
    if (approximate) {
      Tensor cubic = b.mul(b.mul(b.mul(value, value), value), number(0.044715));
      inner = b.unary("tanh", b.mul(b.add(value, cubic), number(0.7978845608028654)));
    } else {
      inner = b.unary("erf", b.mul(value, number(0.7071067811865476)));
    }
    return b.mul(b.mul(value, number(0.5)), b.add(inner, number(1)));
  });
}

Tensor silu(const Operand &x) {
  return detail::composed(
      "silu", x, [](detail::Build &b, const Tensor &value) { return b.mul(value, b.unary("logistic", value)); });
}

Tensor softplus(const Operand &x) {
  return detail::composed("softplus", x, [](detail::Build &b, const Tensor &value) {
    Tensor tail = b.unary("log1p", b.unary("exp", b.unary("neg", b.unary("abs", value))));
    return b.add(b.max(value, b.number(value.dtype(), 0)), tail);
  });
}

} // namespace sinter::inline SINTER_HOST

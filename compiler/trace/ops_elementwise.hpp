// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic, math, comparisons and activations, one element at a time, with NumPy's broadcasting. Operators mean what
// they mean in C++ (integers divide toward zero, % has the sign of its left side), named functions what they mean in
// NumPy. C++ numbers take the element type of the tensor that they meet; tensors of different element types do not mix.

#ifndef SINTER_TRACE_OPS_ELEMENTWISE_HPP
#define SINTER_TRACE_OPS_ELEMENTWISE_HPP

#include "functions.hpp"

namespace sinter::inline SINTER_HOST {

//===--- arithmetic -----------------------------------------------------------------------------------------------===//

Tensor add(const Operand &x, const Operand &y);
Tensor subtract(const Operand &x, const Operand &y);
Tensor multiply(const Operand &x, const Operand &y);
/// Integers truncate toward zero; x / 0 is -1 (all bits set).
Tensor divide(const Operand &x, const Operand &y);
/// Remainder with the sign of x, as in C.
Tensor fmod(const Operand &x, const Operand &y);
/// Remainder with the sign of y, as in Python.
Tensor remainder(const Operand &x, const Operand &y);
/// Quotient rounded toward negative infinity; for integers x / 0 is -1.
Tensor floor_divide(const Operand &x, const Operand &y);
Tensor power(const Operand &x, const Operand &y);
/// NaN propagates. At a tie each side has half of the gradient, whether it is a tensor or a number.
Tensor maximum(const Operand &x, const Operand &y);
/// NaN propagates. At a tie each side has half of the gradient.
Tensor minimum(const Operand &x, const Operand &y);
/// minimum(maximum(x, low), high). At a tie the bound has the gradient.
Tensor clip(const Operand &x, const Tensor &low, const Tensor &high);
Tensor negative(const Operand &x);
/// The least signed integer stays.
Tensor abs(const Operand &x);
/// -1, 0 or 1; NaN stays.
Tensor sign(const Operand &x);
Tensor square(const Operand &x);
Tensor reciprocal(const Operand &x);

Tensor operator+(const Operand &x, const Operand &y);
Tensor operator-(const Operand &x, const Operand &y);
Tensor operator*(const Operand &x, const Operand &y);
Tensor operator/(const Operand &x, const Operand &y);
Tensor operator%(const Operand &x, const Operand &y);
Tensor operator-(const Operand &x);
Tensor operator+(const Operand &x);
Tensor &operator+=(Tensor &x, const Operand &y);
Tensor &operator-=(Tensor &x, const Operand &y);
Tensor &operator*=(Tensor &x, const Operand &y);
Tensor &operator/=(Tensor &x, const Operand &y);

//===--- rounding -------------------------------------------------------------------------------------------------===//

Tensor floor(const Operand &x);
Tensor ceil(const Operand &x);
/// To the nearest integer, ties to even.
Tensor round(const Operand &x);
/// Toward zero.
Tensor trunc(const Operand &x);

//===--- functions of floats (functions.hpp has those that are one op) --------------------------------------------===//

Tensor log10(const Operand &x);
/// The real cube root: a power, then one step of Newton, in which nothing overflows.
Tensor cbrt(const Operand &x);
/// sqrt(x^2 + y^2) without overflow.
Tensor hypot(const Operand &x, const Operand &y);
/// The angle of the point (x, y).
Tensor atan2(const Operand &y, const Operand &x);
/// 1 - erf(x), accurate in the tail: t exp(-z^2 + p(t)) with z = |x|, t = 2 / (2 + z), and p a Chebyshev series fitted
/// to 50 digits.
Tensor erfc(const Operand &x);
/// log(e^x + e^y) without overflow.
Tensor logaddexp(const Operand &x, const Operand &y);

//===--- comparisons, booleans, bits ------------------------------------------------------------------------------===//

Tensor equal(const Operand &x, const Operand &y);
Tensor not_equal(const Operand &x, const Operand &y);
Tensor less(const Operand &x, const Operand &y);
Tensor less_equal(const Operand &x, const Operand &y);
Tensor greater(const Operand &x, const Operand &y);
Tensor greater_equal(const Operand &x, const Operand &y);

/// An element that is not 0 (nor false) counts as true.
Tensor logical_and(const Operand &x, const Operand &y);
Tensor logical_or(const Operand &x, const Operand &y);
Tensor logical_xor(const Operand &x, const Operand &y);
Tensor logical_not(const Operand &x);

/// Of integers or booleans.
Tensor bitwise_and(const Operand &x, const Operand &y);
Tensor bitwise_or(const Operand &x, const Operand &y);
Tensor bitwise_xor(const Operand &x, const Operand &y);
Tensor bitwise_not(const Operand &x);
/// 0 when y is not in [0, width).
Tensor left_shift(const Operand &x, const Operand &y);
/// Signed types repeat the sign.
Tensor right_shift(const Operand &x, const Operand &y);

Tensor operator==(const Operand &x, const Operand &y);
Tensor operator!=(const Operand &x, const Operand &y);
Tensor operator<(const Operand &x, const Operand &y);
Tensor operator<=(const Operand &x, const Operand &y);
Tensor operator>(const Operand &x, const Operand &y);
Tensor operator>=(const Operand &x, const Operand &y);
Tensor operator&(const Operand &x, const Operand &y);
Tensor operator|(const Operand &x, const Operand &y);
Tensor operator^(const Operand &x, const Operand &y);
Tensor operator<<(const Operand &x, const Operand &y);
Tensor operator>>(const Operand &x, const Operand &y);
Tensor operator~(const Operand &x);
/// (Takes no Operand: beside a conversion to bool, that would be ambiguous.)
Tensor operator!(const Tensor &x);

/// `on_true` where `pred` is true, else `on_false`.
Tensor where(const Operand &pred, const Tensor &on_true, const Tensor &on_false);
Tensor isfinite(const Operand &x);
/// Floats to integers truncate toward zero and saturate, NaN gives 0; integers to narrower ones wrap.
Tensor astype(const Operand &x, DType dtype);
/// The same bits in an element type of the same width.
Tensor bitcast(const Operand &x, DType dtype);

//===--- activations ----------------------------------------------------------------------------------------------===//

/// The greater of x and 0, with slope 0 at 0 (maximum(x, 0) has 1/2 there).
Tensor relu(const Operand &x);
/// x above 0, else slope x, with that slope at 0.
Tensor leaky_relu(const Operand &x, double slope = 0.01);
/// x above 0, else alpha (e^x - 1).
Tensor elu(const Operand &x, double alpha = 1);
/// x times the normal distribution function; `approximate` uses tanh.
Tensor gelu(const Operand &x, bool approximate = false);
/// x sigmoid(x).
Tensor silu(const Operand &x);
/// log(1 + e^x) without overflow.
Tensor softplus(const Operand &x);

} // namespace sinter::inline SINTER_HOST

#endif

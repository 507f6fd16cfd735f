// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "init.hpp"
#include "ops.hpp"
#include "ops_linalg.hpp"
#include <cmath>

namespace sinter::inline SINTER_HOST::nn {

namespace {
struct Fans {
  double in, out;
};
} // namespace

/// What `make` gives for the fans of the shape, or an error where it has none.
template <typename Make> static Tensor withFans(const Shape &shape, const char *what, Where where, Make make) {
  if (shape.size() < 2 || !shape.isStatic())
    return detail::fail(where, std::string(what) + " requires a shape of 2 axes or more, got " + shape.str());
  double window = 1;
  for (int axis = 2; axis < shape.size(); ++axis)
    window *= double(shape[axis]);
  return make(Fans{double(shape[1]) * window, double(shape[0]) * window});
}

static Tensor uniformWithin(const Key &key, const Shape &shape, double bound, DType dtype, Where where) {
  return random::uniform(key, shape, -bound, bound, dtype, where);
}
static Tensor normalOf(const Key &key, const Shape &shape, double deviation, DType dtype, Where where) {
  return multiply(Operand(deviation, where), Operand(random::normal(key, shape, dtype, where), where));
}

Tensor xavier_uniform(const Key &key, const Shape &shape, double gain, DType dtype, Where where) {
  return withFans(shape, "xavier_uniform", where, [&](Fans fans) {
    return uniformWithin(key, shape, gain * std::sqrt(6 / (fans.in + fans.out)), dtype, where);
  });
}
Tensor xavier_normal(const Key &key, const Shape &shape, double gain, DType dtype, Where where) {
  return withFans(shape, "xavier_normal", where, [&](Fans fans) {
    return normalOf(key, shape, gain * std::sqrt(2 / (fans.in + fans.out)), dtype, where);
  });
}
Tensor he_uniform(const Key &key, const Shape &shape, double gain, DType dtype, Where where) {
  return withFans(shape, "he_uniform", where,
                  [&](Fans fans) { return uniformWithin(key, shape, gain * std::sqrt(3 / fans.in), dtype, where); });
}
Tensor he_normal(const Key &key, const Shape &shape, double gain, DType dtype, Where where) {
  return withFans(shape, "he_normal", where,
                  [&](Fans fans) { return normalOf(key, shape, gain / std::sqrt(fans.in), dtype, where); });
}
Tensor truncated_normal(const Key &key, const Shape &shape, double deviation, DType dtype, Where where) {
  Tensor unit = random::truncated_normal(key, shape, -2, 2, dtype, where);
  return multiply(Operand(deviation, where), Operand(unit, where));
}

/// x R^-1 with x^T x = R^T R, whose columns are at right angles up to rounding times the condition of x, squared.
static Tensor byCholesky(const Tensor &x) {
  Tensor upper = cholesky(matmul(matrix_transpose(x), x), true);
  return matrix_transpose(triangular_solve(upper, matrix_transpose(x), false, false, true));
}

Tensor orthogonal(const Key &key, const Shape &shape, double gain, DType dtype, Where where) {
  return withFans(shape, "orthogonal", where, [&](Fans) {
    int64_t rows = shape[0], columns = shape.elements() / std::max<int64_t>(rows, 1);
    bool isWide = columns > rows;
    Tensor x = random::normal(key, Shape{std::max(rows, columns), std::min(rows, columns)}, DType::f64, where);
    x = byCholesky(byCholesky(x)); // the second time the condition is 1
    if (isWide)
      x = matrix_transpose(x);
    return astype(reshape(multiply(gain, x), shape), dtype);
  });
}

} // namespace sinter::inline SINTER_HOST::nn

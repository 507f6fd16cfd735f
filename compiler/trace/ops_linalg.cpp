// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ops_linalg.hpp"
#include "Build.h"

namespace sinter::inline SINTER_HOST {

namespace detail {

/// A float matrix; `square` asks for equal sizes.
static Tensor matrix(Build &b, const Tensor &x, bool square) {
  Tensor value = b.floats(x);
  if (!b.failed() && (value.rank() < 2 || (square && !sameDim(value.known_dim(-1), value.known_dim(-2)))))
    return b.fail((square ? "square matrices, got " : "matrices, got ") + value.type().str());
  return value;
}
/// Column (or row) `i` of the last two axes, which keeps its axis with size 1.
static Tensor line(Build &b, const Tensor &x, const Tensor &i, int axis) {
  return b.op("gather", {x, b.reshape(i, {1})}, {{"axis", x.rank() + axis}});
}
/// The right-hand side of a system: its type agrees with that of the matrix, leading axes are equal. A vector becomes a
/// column.
static bool rightSide(Build &b, Tensor &a, Tensor &y) {
  b.agree({&a, &y});
  bool isVector = !b.failed() && y.rank() == a.rank() - 1;
  if (isVector)
    y = b.unsqueeze(y, Shape{y.rank()});
  bool fits = !b.failed() && y.rank() == a.rank();
  for (int k = 0; fits && k < a.rank() - 1; ++k)
    fits = sameDim(a.known_dim(k), y.known_dim(k));
  if (!b.failed() && !fits)
    b.fail("right-hand sides [..., n] or [..., n, k] for " + a.type().str() + ", got " + y.type().str());
  return isVector;
}

/// What factorizations compute in: half precision goes through f32.
static Tensor wide(Build &b, const Tensor &x) {
  return b.failed() || x.dtype() == DType::f64 ? x : b.astype(x, DType::f32);
}
static Tensor triangularSolve(Build &b, const Tensor &matrix, const Tensor &side, bool lower, bool transpose,
                              bool unitDiagonal) {
  if (b.failed())
    return b.error();
  Tensor x = b.op("triangular_solve", {wide(b, matrix), wide(b, side)},
                  {{"lower", lower}, {"transpose", transpose}, {"unit_diagonal", unitDiagonal}});
  return b.astype(x, side.dtype());
}

} // namespace detail

Tensor cholesky(const Operand &x, bool upper) {
  detail::Build b("cholesky", x.where);
  Tensor a = detail::matrix(b, x.tensor, true);
  if (b.failed())
    return b.error();
  return b.astype(b.op("cholesky", {detail::wide(b, a)}, {{"lower", !upper}}), a.dtype());
}

Tensor triangular_solve(const Operand &a, const Tensor &y, bool lower, bool unit_diagonal, bool transpose) {
  detail::Build b("triangular_solve", a.where);
  Tensor matrix = detail::matrix(b, a.tensor, true), side = y;
  bool isVector = detail::rightSide(b, matrix, side);
  Tensor solution = detail::triangularSolve(b, matrix, side, lower, transpose, unit_diagonal);
  return isVector && !b.failed() ? b.squeeze(solution, {matrix.rank() - 1}) : solution;
}

Tensor cho_solve(const Operand &factor, const Tensor &y, bool upper) {
  detail::Build b("cho_solve", factor.where);
  Tensor matrix = detail::matrix(b, factor.tensor, true), side = y;
  bool isVector = detail::rightSide(b, matrix, side);
  Tensor half = detail::triangularSolve(b, matrix, side, !upper, upper, false);
  Tensor solution = detail::triangularSolve(b, matrix, half, !upper, !upper, false);
  return isVector && !b.failed() ? b.squeeze(solution, {matrix.rank() - 1}) : solution;
}

Tensor solve(const Operand &a, const Tensor &y) {
  detail::Build b("solve", a.where);
  Tensor matrix = detail::matrix(b, a.tensor, true), side = y;
  bool isVector = detail::rightSide(b, matrix, side);
  if (b.failed())
    return b.error();
  int rank = matrix.rank();
  if (matrix.known_size() == 0)
    return isVector ? b.squeeze(b.strong(side), {rank - 1}) : b.strong(side);
  Tensor size = b.sizeTensor(b.size(matrix, rank - 1)), zero = b.number(matrix.dtype(), 0);
  auto [rest, solution] = for_loop(
      Range(Operand(b.index(0), b.where), Operand(size, b.where), Operand(b.index(1), b.where)),
      [&](const Tensor &j, const Tensor &rest, const Tensor &solution) {
        detail::Build inner("solve", a.where);
        Tensor column = detail::line(inner, rest, j, -1), row = inner.iota(DType::i64, column, rank - 2);
        // the greatest element at or below row j comes to row j
        Tensor height =
            inner.select(inner.compare("ge", row, j), inner.unary("abs", column), inner.number(column.dtype(), -1));
        Tensor pivot =
            inner.unsqueeze(inner.op("arg_reduce", {height}, {{"axis", rank - 2}, {"combiner", "max"}}), {rank - 2});
        Tensor order =
            inner.select(inner.compare("eq", row, j), pivot, inner.select(inner.compare("eq", row, pivot), j, row));
        auto swapped = [&](const Tensor &x) {
          return inner.op("gather_elements", {x, inner.spreadLike(order, x)}, {{"axis", rank - 2}});
        };
        Tensor left = swapped(rest), right = swapped(solution);
        column = detail::line(inner, left, j, -1);
        Tensor top = detail::line(inner, column, j, -2), isRow = inner.compare("eq", row, j);
        Tensor leftRow = inner.div(detail::line(inner, left, j, -2), top),
               rightRow = inner.div(detail::line(inner, right, j, -2), top);
        Tensor factor = inner.select(isRow, zero, column);
        return std::tuple{inner.select(isRow, leftRow, inner.sub(left, inner.mul(factor, leftRow))),
                          inner.select(isRow, rightRow, inner.sub(right, inner.mul(factor, rightRow)))};
      },
      matrix, side);
  return isVector ? b.squeeze(solution, {rank - 1}) : solution;
}

Tensor inv(const Operand &x) {
  detail::Build b("inv", x.where);
  Tensor a = detail::matrix(b, x.tensor, true);
  if (b.failed())
    return b.error();
  Tensor isDiagonal = b.compare("eq", b.iota(DType::i64, a, a.rank() - 2), b.iota(DType::i64, a, a.rank() - 1));
  return solve(Operand(a, x.where), b.astype(isDiagonal, a.dtype()));
}

Tensor det(const Operand &x) {
  detail::Build b("det", x.where);
  return b.op("det", {detail::matrix(b, x.tensor, true)});
}

} // namespace sinter::inline SINTER_HOST

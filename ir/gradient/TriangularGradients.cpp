// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Derivatives of factorizations and triangular systems. What the ops do not read (the other half of a matrix) has a
// gradient of zero: that of cholesky is with respect to the half that it reads, each of whose elements stands for two.

#include "ir/Contraction.h"
#include "ir/Elementwise.h"
#include "ir/gradient/Moves.h"
#include "ir/gradient/Rules.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::gradient;

namespace {

/// Formulas over matrices in the last two axes.
class Matrices {
public:
  Matrices(Composer &c, Value like) : c(c), rank(tensorTypeOf(like).getRank()) {}

  /// a b, with either one transposed if asked for.
  Value product(Value a, Value b, bool transposeA = false, bool transposeB = false) {
    SmallVector<int64_t> batch = axisRange(0, rank - 2);
    return c.make<DotGeneralOp>(a, b, batch, batch, ArrayRef<int64_t>(transposeA ? rank - 2 : rank - 1),
                                ArrayRef<int64_t>(transposeB ? rank - 1 : rank - 2), elementTypeOf(a));
  }
  Value transposed(Value x) {
    SmallVector<int64_t> order = axisRange(0, rank);
    std::swap(order[rank - 1], order[rank - 2]);
    return gradient::transpose(c, x, order);
  }
  /// x where the element's row KIND its column, else zero.
  Value where(Value x, CompareKind kind) { return select(places(x, kind), Term(c, x), Term(c, c.fill(0, x))); }
  /// The lower half of x with half its diagonal.
  Value lowerHalf(Value x) {
    Term half = select(places(x, CompareKind::eq), 0.5 * Term(c, x), Term(c, x));
    return where(half, CompareKind::ge);
  }
  Value add(Value a, Value b) { return Term(c, a) + Term(c, b); }

private:
  Term places(Value x, CompareKind kind) {
    return compare(Term(c, iotaLike(c, x, rank - 2)), kind, Term(c, iotaLike(c, x, rank - 1)));
  }

  Composer &c;
  int64_t rank;
};

Value solve(Composer &c, Value matrix, Value rhs, bool lower, bool transpose, bool unit = false) {
  return c.make<TriangularSolveOp>(matrix, rhs, lower, transpose, unit);
}

// cholesky, h(x) the lower half of x with half its diagonal:
//   reverse  dA = h(S + S^T) with S = L^-T h(L^T dL) L^-1
//   forward  dL = L h(L^-1 (T + T^T) L^-T) with T = h(dA) (Murray 2016)
struct CholeskyRule : Rule<CholeskyRule, CholeskyOp> {
  LogicalResult vjp(CholeskyOp op, VjpBuilder &g) const {
    Value dy = g.cotangent();
    if (!dy || !g.wants(0))
      return success();
    Matrices m(g, dy);
    bool lower = op.getLower();
    Value l = lower ? g.result() : m.transposed(g.result());
    Value middle = m.lowerHalf(m.product(l, lower ? dy : m.transposed(dy), true));
    Value left = solve(g, l, middle, true, true);                           // L^-T h
    Value both = solve(g, l, m.transposed(left), true, /*transpose=*/true); // (L^-T h L^-1)^T
    Value half = m.lowerHalf(m.add(both, m.transposed(both)));
    g.give(0, lower ? half : m.transposed(half));
    return success();
  }
  LogicalResult jvp(CholeskyOp op, JvpBuilder &t) const {
    Value tx = t.tangent();
    if (!tx)
      return success();
    Matrices m(t, tx);
    bool lower = op.getLower();
    Value l = lower ? t.result() : m.transposed(t.result());
    Value half = m.lowerHalf(lower ? tx : m.transposed(tx));
    Value left = solve(t, l, m.add(half, m.transposed(half)), true, false);
    Value both = solve(t, l, m.transposed(left), true, false);
    Value tl = m.product(l, m.lowerHalf(both));
    t.set(0, lower ? tl : m.transposed(tl));
    return success();
  }
};

// op(A) x = b: db = op(A)^-T dx, d op(A) = -db x^T; forward tx = op(A)^-1 (tb - op(tA) x)
struct TriangularSolveRule : Rule<TriangularSolveRule, TriangularSolveOp> {
  /// What of a matrix is read.
  static Value triangle(TriangularSolveOp op, Matrices &m, Value x) {
    bool unit = op.getUnitDiagonal();
    return m.where(x, op.getLower() ? (unit ? CompareKind::gt : CompareKind::ge)
                                    : (unit ? CompareKind::lt : CompareKind::le));
  }
  LogicalResult vjp(TriangularSolveOp op, VjpBuilder &g) const {
    Value dy = g.cotangent();
    if (!dy)
      return success();
    Matrices m(g, dy);
    Value db = solve(g, g.operand(0), dy, op.getLower(), !op.getTranspose(), op.getUnitDiagonal());
    g.give(1, db);
    if (!g.wants(0))
      return success();
    Value x = g.result();
    Value product = op.getTranspose() ? m.product(x, db, false, true) : m.product(db, x, false, true);
    g.give(0, triangle(op, m, -Term(g, product)));
    return success();
  }
  LogicalResult jvp(TriangularSolveOp op, JvpBuilder &t) const {
    Value ta = t.tangent(0), right = t.tangent(1);
    if (!ta && !right)
      return success();
    Matrices m(t, ta ? ta : right);
    if (ta) {
      Value moved = m.product(triangle(op, m, ta), t.result(), op.getTranspose());
      right = right ? Value(Term(t, right) - Term(t, moved)) : Value(-Term(t, moved));
    }
    t.set(0, solve(t, t.operand(0), right, op.getLower(), op.getTranspose(), op.getUnitDiagonal()));
    return success();
  }
};

} // namespace

void sinter::attachTriangularGradients(MLIRContext &context) { attach<CholeskyRule, TriangularSolveRule>(context); }

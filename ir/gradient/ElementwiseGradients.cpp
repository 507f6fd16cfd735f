// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pointwise op is one partial derivative per operand, from which both modes follow: vjp gives dx_i = dy * partial_i,
// jvp sums tx_i * partial_i. What happens at ties, zeros and infinities is in ir/gradient/README.md.

#include "ir/Constants.h"
#include "ir/Elementwise.h"
#include "ir/Storage.h"
#include "ir/gradient/Rules.h"
#include "ir/gradient/Term.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace sinter;
using namespace sinter::gradient;

namespace {

/// d result / d operand as a factor, or simpler: none, 1, -1, or 1 where a mask holds (a product with 0 and 1 would
/// make NaN of infinities).
struct Partial {
  enum Kind { Zero, One, Minus, Factor, Where } kind;
  Value value;

  Partial(Kind kind) : kind(kind) {}
  Partial(Kind kind, Value value) : kind(kind), value(value) {}
  Partial(Term factor) : kind(Factor), value(factor.v()) {}

  Term times(Term x) const {
    switch (kind) {
    case Zero:
      return {x.c(), Value()};
    case One:
      return x;
    case Minus:
      return -x;
    case Factor:
      return x * Term(x.c(), value);
    case Where:
      return select(Term(x.c(), value), x, Term(x.c(), Value()));
    }
    llvm_unreachable("all kinds handled");
  }
};

/// The place at which a derivative is taken: operands and result of the op.
struct Point {
  GradientBuilder &c;

  Term x(unsigned i = 0) const { return {c, c.operand(i)}; }
  Term y() const { return {c, c.result()}; }
  /// The one value of all elements of operand `i`, if it is known.
  std::optional<double> constant(unsigned i) const { return uniformValue(c.operand(i)); }
};

using PartialOf = Partial (*)(const Point &, unsigned operand);

template <typename OpT, PartialOf partial> struct PartialRule : Rule<PartialRule<OpT, partial>, OpT> {
  LogicalResult vjp(OpT op, VjpBuilder &g) const {
    Term dy(g, g.cotangent());
    if (!dy)
      return success();
    Point at{g};
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      if (g.wants(i))
        if (Term dx = partial(at, i).times(dy))
          g.give(i, dx);
    return success();
  }
  LogicalResult jvp(OpT op, JvpBuilder &t) const {
    Point at{t};
    Term ty(t, Value());
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      if (Value tx = t.tangent(i))
        ty = ty + partial(at, i).times({t, tx});
    if (ty)
      t.set(0, ty);
    return success();
  }
};

} // namespace

//===- partial derivatives that take statements (the others are in ir/Elementwise.td) ---------===//

// a rem b = a - trunc(a / b) b, where trunc(a / b) = (a - y) / b, an integer
static Partial remainderPartial(const Point &p, unsigned i) {
  if (i == 0)
    return Partial::One;
  return -((p.x(0) - p.y()) / p.x(1)).then<RoundOp>();
}

// (a^b)' = b a^(b-1) and y log(a). Where a and b are 0 the first is 0 * 0^0, and log(0) counts as 0 for b >= 0.
static Partial powerPartial(const Point &p, unsigned i) {
  Term a = p.x(0), b = p.x(1);
  if (i == 1) {
    Term vanishing = both(compare(a, CompareKind::eq, 0), compare(b, CompareKind::ge, 0));
    return p.y() * gradient::log(select(vanishing, a.fill(1), a));
  }
  if (std::optional<double> exponent = p.constant(1)) {
    if (*exponent == 0)
      return Partial::Zero;
    if (*exponent == 1)
      return Partial::One;
    if (*exponent == 2)
      return 2 * a;
    return *exponent * a.then<PowOp>(a.fill(*exponent - 1).v());
  }
  Term zeros = both(compare(a, CompareKind::eq, 0), compare(b, CompareKind::eq, 0));
  return b * a.then<PowOp>(select(zeros, Term(p.c, Value()), b - 1).v());
}

// The operand that wins has 1, at a tie each has 1/2, whether either is a constant or not: what is known of an operand
// changes no gradient. Both have 1 where either is NaN.
static Partial extremumPartial(const Point &p, unsigned i, CompareKind loses) {
  Term mine = p.x(i), other = p.x(1 - i);
  Term lost = compare(mine, loses, other);
  Term atTie = select(compare(mine, CompareKind::eq, other), mine.fill(0.5), mine.fill(1));
  return select(lost, Term(p.c, Value()), atTie);
}

// atan2(y, x)' = x / (x^2 + y^2) and -y / (x^2 + y^2)
static Partial atan2Partial(const Point &p, unsigned i) {
  Term y = p.x(0), x = p.x(1), norm = x * x + y * y;
  return i == 0 ? x / norm : -(y / norm);
}

#define GET_POINTWISE_PARTIALS
#include "ir/Pointwise.inc"

//===- three operands, types -----------------------------------------------------------------===//

static Partial selection(const Point &p, unsigned i) {
  if (i == 0)
    return Partial::Zero;
  Term mask = p.x(0);
  return {Partial::Where, i == 1 ? mask : mask.then<NotOp>()};
}

// min(max(x, low), high): a bound takes a tie with x, high takes a tie with low. An infinite number as a bound takes
// nothing: relu is a clamp to [0, inf).
static Partial clamp(const Point &p, unsigned i) {
  Term low = p.x(0), x = p.x(1), high = p.x(2);
  if (i == 1) {
    // Where x is strictly between the bounds the result is, and x need not be kept: relu stays part of the product
    // before it.
    bool hasLow = p.constant(0) != -std::numeric_limits<double>::infinity();
    bool hasHigh = p.constant(2) != std::numeric_limits<double>::infinity();
    if (!hasLow && !hasHigh)
      return Partial::One;
    Term above = hasLow ? compare(p.y(), CompareKind::gt, low) : Term(p.c, Value());
    Term below = hasHigh ? compare(p.y(), CompareKind::lt, high) : Term(p.c, Value());
    return {Partial::Where, !hasLow ? below : !hasHigh ? above : both(above, below)};
  }
  if (i == 2)
    return {Partial::Where, compare(x.then<MaxOp>(low.v()), CompareKind::ge, high)};
  return {Partial::Where, both(compare(x, CompareKind::le, low), compare(low, CompareKind::lt, high))};
}

namespace {
/// dx = dy in x's element type, where both are floats of at least 16 bits; a step otherwise.
struct ConvertRule : Rule<ConvertRule, ConvertOp> {
  static bool isSmooth(ConvertOp op) {
    auto isSmoothType = [](Type type) { return isa<FloatType>(type) && !isStorageOnly(type); };
    return isSmoothType(elementTypeOf(op.getOperand())) && isSmoothType(op.getElementType());
  }
  LogicalResult vjp(ConvertOp op, VjpBuilder &g) const {
    if (Value dy = g.cotangent(); dy && g.wants(0) && isSmooth(op))
      g.give(0, g.convert(dy, elementTypeOf(op.getOperand())));
    return success();
  }
  LogicalResult jvp(ConvertOp op, JvpBuilder &t) const {
    if (Value tx = t.tangent(); tx && isSmooth(op))
      t.set(0, t.convert(tx, op.getElementType()));
    return success();
  }
};
} // namespace

template <typename OpT, PartialOf partial> static void attachPartial(MLIRContext &context) {
  attach<PartialRule<OpT, partial>>(context);
}

void sinter::attachElementwiseGradients(MLIRContext &context) {
#define GET_POINTWISE_GRADIENTS
#include "ir/Pointwise.inc"
  attachPartial<SelectOp, selection>(context);
  attachPartial<ClampOp, clamp>(context);
  attach<ConvertRule>(context);
  attachNoGradient<Discrete::Values, CompareOp>(context);
  attachNoGradient<Discrete::Bits, BitcastOp>(context);
  attachNoGradient<Discrete::Bits, DecodeFloat8Op>(context);
}

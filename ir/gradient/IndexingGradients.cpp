// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a gather reads, its cotangent is added to; what a scatter writes, its cotangent is read from. Reads clamp a
// position to the axis and writes skip one outside, so the transpose of a read clamps first, and the transpose of a
// write is zero outside.

#include "ir/AxisOrder.h"
#include "ir/Checks.h"
#include "ir/Elementwise.h"
#include "ir/External.h"
#include "ir/Indexing.h"
#include "ir/Reduction.h"
#include "ir/Shape.h"
#include "ir/Sparse.h"
#include "ir/gradient/LinearRule.h"
#include "ir/gradient/Moves.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::gradient;

/// True where a write happens: -size <= p < size.
static Term isInside(Composer &c, Value positions, Value size) {
  Term p(c, positions), n(c, size);
  return both(compare(p, CompareKind::ge, -n), compare(p, CompareKind::lt, n));
}

/// The size of an axis in the type and shape of `positions`.
static Value sizeLike(Composer &c, Value operand, int64_t axis, Value positions) {
  return c.spread(c.convert(c.size(operand, axis), elementTypeOf(positions)), positions, {});
}

/// The sizes of the axes that a tuple indexes, from `first` on, in the type and shape of `positions` [..., q].
static Value tupleSizes(Composer &c, Value operand, int64_t first, Value positions) {
  RankedTensorType type = tensorTypeOf(positions);
  SmallVector<Value> sizes;
  for (int64_t k = 0; k < type.getShape().back(); ++k)
    sizes.push_back(c.size(operand, first + k));
  return c.spread(c.convert(joinSizes(c, sizes), type.getElementType()), positions, type.getRank() - 1);
}

static Value zerosLike(Composer &c, Value like, Type element) { return c.spread(c.scalar(element, 0), like, {}); }

/// [...] -> [..., 1]
static Value asTuples(Composer &c, Value positions) {
  SmallVector<int64_t> shape(tensorTypeOf(positions).getShape());
  shape.push_back(1);
  RankedTensorType type = RankedTensorType::get(shape, elementTypeOf(positions));
  Value sizes;
  if (needsSizes(type)) {
    SmallVector<Value> entries;
    for (int64_t axis = 0; axis + 1 < type.getRank(); ++axis)
      entries.push_back(c.size(positions, axis));
    entries.push_back(constantSize(c, 1));
    sizes = joinSizes(c, entries);
  }
  return c.make<ReshapeOp>(positions, sizes, type);
}

/// The transpose of gather: zeros like `operand` with slices of `dy` added at `positions` of `axis`.
static Value scatterSlices(Composer &c, Value operand, Value positions, int64_t axis, Value dy) {
  Value places = clampPositions(c, positions, sizeLike(c, operand, axis, positions));
  int64_t depth = tensorTypeOf(positions).getRank(), rank = tensorTypeOf(operand).getRank();
  // The axis, and the positions in dy, to the front: scatter_nd writes whole slices.
  SmallVector<int64_t> axisFirst{axis}, positionsFirst = axisRange(axis, axis + depth);
  llvm::append_range(axisFirst, otherAxes(rank, axis));
  llvm::append_range(positionsFirst, otherAxes(rank - 1 + depth, positionsFirst));
  Value zeros = gradient::transpose(c, zerosLike(c, operand, elementTypeOf(dy)), axisFirst);
  Value sums =
      c.make<ScatterNdOp>(zeros, asTuples(c, places), gradient::transpose(c, dy, positionsFirst), Combiner::add);
  return gradient::transpose(c, sums, inversePermutation(axisFirst));
}

namespace {

// gather: dx = zeros with dy added at the positions
struct GatherRule : LinearRule<GatherRule, GatherOp> {
  static void pull(GatherOp op, VjpBuilder &g, Value dy) {
    if (g.wants(0))
      g.give(0, scatterSlices(g, g.operand(0), g.operand(1), op.getAxis(), dy));
  }
};

struct GatherElementsRule : LinearRule<GatherElementsRule, GatherElementsOp> {
  static void pull(GatherElementsOp op, VjpBuilder &g, Value dy) {
    Value x = g.operand(0), positions = g.operand(1);
    int64_t axis = op.getAxis();
    Value places = clampPositions(g, positions, sizeLike(g, x, axis, positions));
    g.give(0, g.make<ScatterElementsOp>(zerosLike(g, x, elementTypeOf(dy)), places, dy, axis, Combiner::add));
  }
};

struct GatherNdRule : LinearRule<GatherNdRule, GatherNdOp> {
  static void pull(GatherNdOp op, VjpBuilder &g, Value dy) {
    Value x = g.operand(0), positions = g.operand(1);
    auto batch = static_cast<int64_t>(op.getBatchAxes());
    Value places = clampPositions(g, positions, tupleSizes(g, x, batch, positions));
    if (batch > 0) {
      // Shared axes become entries of the tuples.
      SmallVector<Value> parts;
      Value one = g.slice(positions, tensorTypeOf(positions).getRank() - 1, 0, 1);
      for (int64_t axis = 0; axis < batch; ++axis)
        parts.push_back(g.convert(iotaLike(g, one, axis), elementTypeOf(positions)));
      parts.push_back(places);
      places = g.make<ConcatenateOp>(parts, tensorTypeOf(positions).getRank() - 1);
    }
    g.give(0, g.make<ScatterNdOp>(zerosLike(g, x, elementTypeOf(dy)), places, dy, Combiner::add));
  }
};

/// What both scatters share, in terms of: write(base, updates, combiner), the scatter itself at the op's positions;
/// read(values), the elements at the positions, in the shape of the updates; inside, where an update is written at all
/// (that shape).
struct ScatterForm {
  Composer &c;
  Combiner combiner;
  Value operand, updates, result;
  llvm::function_ref<Value(Value base, Value updates, Combiner)> write;
  llvm::function_ref<Value(Value values)> read;
  llvm::function_ref<Value()> inside;

  Term term(Value value) const { return {c, value}; }
  Term zero() const { return {c, Value()}; }
  /// `values` at the positions, zero for updates that are not written.
  Term readInside(Value values) const { return select(term(inside()), term(read(values)), zero()); }

  /// The update that is written last, at each place that is written: 1 for it, else 0. Ties of `set` are won by the
  /// last.
  Term isLast() const {
    Term order(c, flatPositions(c, updates));
    Value last = write(c.spread(c.scalar(c.getI64Type(), -1), operand, {}), order, Combiner::set);
    return compare(term(read(last)), CompareKind::eq, order);
  }
  /// Where max and min were reached: 1 / the number of elements that tie, for the operand and for the updates.
  std::pair<Term, Term> shares() const {
    Term x(c, operand), u(c, updates), y(c, result);
    auto indicator = [&](Term mask, Term like) { return select(mask, like.fill(1), zero()); };
    Term mine = indicator(compare(x, CompareKind::eq, y), x);
    Term theirs = indicator(both(compare(u, CompareKind::eq, term(read(y))), term(inside())), u);
    Term ties(c, write(mine, theirs, Combiner::add));
    // A place that nobody wins (NaN) has no ties, and nobody divides by their number.
    ties = ties.then<MaxOp>(ties.fill(1).v());
    return {mine / ties, theirs / term(read(ties))};
  }
  /// Factors of products: of the operand, the product of the updates at each place; of each update, the operand times
  /// the other updates at its place. A zero counts as the only one or makes all others 0, so that nothing is divided by
  /// zero.
  std::pair<Term, Term> factors() const {
    Term x(c, operand), u(c, updates);
    Term isZero = compare(u, CompareKind::eq, 0);
    Term nonzero(c, write(x.fill(1), select(isZero, u.fill(1), u), Combiner::mul));
    Term zeros(c, write(zerosLike(c, operand, u.element()), select(isZero, u.fill(1), zero()), Combiner::add));
    Term product = select(compare(zeros, CompareKind::eq, 0), nonzero, zero());
    Term others = term(read(nonzero)) / select(isZero, u.fill(1), u);
    Term otherZeros = term(read(zeros)) - select(isZero, u.fill(1), zero());
    others = select(compare(otherZeros, CompareKind::eq, 0), others, zero());
    return {product, select(term(inside()), term(read(x)) * others, zero())};
  }

  /// dx and du from dy.
  std::pair<Term, Term> pull(Term dy, bool wantsOperand, bool wantsUpdates) const {
    Term dx = zero(), du = zero();
    switch (combiner) {
    case Combiner::add: // y = x + sum u
      return {dy, wantsUpdates ? readInside(dy) : zero()};
    case Combiner::set: // y = the last u, else x
      if (wantsOperand)
        dx = term(write(dy, zerosLike(c, updates, dy.element()), Combiner::set));
      if (wantsUpdates)
        du = select(isLast(), term(read(dy)), zero());
      return {dx, du};
    case Combiner::mul: { // y = x prod u
      auto [ofOperand, ofUpdates] = factors();
      return {wantsOperand ? dy * ofOperand : zero(), wantsUpdates ? term(read(dy)) * ofUpdates : zero()};
    }
    case Combiner::max:
    case Combiner::min: { // y = the greatest (least) of x and u: ties share
      auto [ofOperand, ofUpdates] = shares();
      return {wantsOperand ? dy * ofOperand : zero(), wantsUpdates ? term(read(dy)) * ofUpdates : zero()};
    }
    default:
      return {dx, du};
    }
  }
  /// ty from tx and tu, either null.
  Term push(Term tx, Term tu) const {
    Term base = tx ? tx : Term(c, zerosLike(c, operand, elementTypeOf(result)));
    switch (combiner) {
    case Combiner::add:
    case Combiner::set:
      return term(write(base, tu ? tu.v() : zerosLike(c, updates, elementTypeOf(result)), combiner));
    case Combiner::mul:
    case Combiner::max:
    case Combiner::min: {
      auto [ofOperand, ofUpdates] = combiner == Combiner::mul ? factors() : shares();
      Term ty = tx ? tx * ofOperand : base;
      return tu ? term(write(ty, tu * ofUpdates, Combiner::add)) : ty;
    }
    default:
      return zero();
    }
  }
};

template <typename Derived, typename OpT> struct ScatterRule : Rule<ScatterRule<Derived, OpT>, OpT> {
  LogicalResult vjp(OpT op, VjpBuilder &g) const {
    if (!g.cotangent())
      return success();
    Derived::withForm(op, g, [&](const ScatterForm &form) {
      auto [dx, du] = form.pull({g, g.cotangent()}, g.wants(0), g.wants(2));
      g.give(0, dx);
      g.give(2, du);
    });
    return success();
  }
  LogicalResult jvp(OpT op, JvpBuilder &t) const {
    if (t.tangent(0) || t.tangent(2))
      Derived::withForm(op, t,
                        [&](const ScatterForm &form) { t.set(0, form.push({t, t.tangent(0)}, {t, t.tangent(2)})); });
    return success();
  }
};

struct ScatterElementsRule : ScatterRule<ScatterElementsRule, ScatterElementsOp> {
  static void withForm(ScatterElementsOp op, GradientBuilder &b, llvm::function_ref<void(const ScatterForm &)> use) {
    Value positions = b.operand(1);
    int64_t axis = op.getAxis();
    auto write = [&](Value base, Value updates, Combiner combiner) {
      return b.make<ScatterElementsOp>(base, positions, updates, axis, combiner);
    };
    auto read = [&](Value values) { return b.make<GatherElementsOp>(values, positions, axis); };
    auto inside = [&]() -> Value { return isInside(b, positions, sizeLike(b, b.operand(0), axis, positions)); };
    use({b, op.getCombiner(), b.operand(0), b.operand(2), b.result(), write, read, inside});
  }
};

struct ScatterNdRule : ScatterRule<ScatterNdRule, ScatterNdOp> {
  static void withForm(ScatterNdOp op, GradientBuilder &b, llvm::function_ref<void(const ScatterForm &)> use) {
    Value positions = b.operand(1), updates = b.operand(2);
    int64_t depth = tensorTypeOf(positions).getRank() - 1;
    auto write = [&](Value base, Value values, Combiner combiner) {
      return b.make<ScatterNdOp>(base, positions, values, combiner);
    };
    auto read = [&](Value values) { return b.make<GatherNdOp>(values, positions, 0); };
    auto inside = [&]() -> Value {
      Term each = isInside(b, positions, tupleSizes(b, b.operand(0), 0, positions));
      Value all = b.reduce(each, depth, Combiner::logical_and);
      return b.spread(all, updates, axisRange(0, depth));
    };
    use({b, op.getCombiner(), b.operand(0), updates, b.result(), write, read, inside});
  }
};

// compress: dx = zeros with dy at the places where the mask is true
struct CompressRule : LinearRule<CompressRule, CompressOp> {
  static void pull(CompressOp op, VjpBuilder &g, Value dy) {
    if (!g.wants(0))
      return;
    Value kept = reshapeTo(g, g.make<NonzeroOp>(g.operand(1)), ShapedType::kDynamic);
    g.give(0, scatterSlices(g, g.operand(0), kept, op.getAxis(), dy));
  }
};

// unique: values = slices of x at `first`
struct UniqueRule : Rule<UniqueRule, UniqueOp> {
  LogicalResult vjp(UniqueOp op, VjpBuilder &g) const {
    if (Value dy = g.cotangent(0); dy && g.wants(0))
      g.give(0, scatterSlices(g, g.operand(0), g.result(1), op.getAxis(), dy));
    return success();
  }
  LogicalResult jvp(UniqueOp op, JvpBuilder &t) const {
    if (Value tx = t.tangent(0))
      t.set(0, t.make<GatherOp>(tx, t.result(1), op.getAxis()));
    return success();
  }
};

// y[b] = sum of w[i] x[p[i]] over the bag b: dx = zeros with w[i] dy[b of i] added at p[i], dw[i] = sum of x[p[i]] dy[b
// of i]
struct BagSumRule : Rule<BagSumRule, BagSumOp> {
  /// The bag of each position: -1 before the first bag, the number of bags after the last.
  static Value bagOf(Composer &c, BagSumOp op) {
    Value positions = c.convert(op.getPositions(), c.getI64Type()), splits = op.getSplits();
    Value marks = c.make<ScatterElementsOp>(c.fill(0, positions), splits, c.fill(1, splits), int64_t(0), Combiner::add);
    return Term(c, c.make<CumulativeOp>(marks, int64_t(0), Combiner::add)) - 1;
  }

  LogicalResult vjp(BagSumOp op, VjpBuilder &g) const {
    Value dy = g.cotangent(), weights = op.getWeights();
    if (!dy || (!g.wants(0) && !(weights && g.wants(3))))
      return success();
    Value x = op.getOperand(), positions = op.getPositions(), bag = bagOf(g, op);
    Term isInBag = isInside(g, bag, sizeLike(g, dy, 0, bag));
    isInBag = both(isInBag, compare(Term(g, bag), CompareKind::ge, 0));
    Value each = g.make<GatherOp>(dy, bag, int64_t(0));
    if (g.wants(0)) {
      Value size = sizeLike(g, x, 0, positions);
      Value places = select(isInBag, Term(g, clampPositions(g, positions, size)), Term(g, size));
      Value updates = weights ? g.make<MulOp>(each, g.spread(weights, each, {0})) : each;
      g.give(0, g.make<ScatterNdOp>(zerosLike(g, x, elementTypeOf(dy)), asTuples(g, places), updates, Combiner::add));
    }
    if (weights && g.wants(3)) {
      Value product = g.make<MulOp>(g.make<GatherOp>(x, positions, int64_t(0)), each);
      if (int64_t rank = tensorTypeOf(product).getRank(); rank > 1)
        product = g.reduce(product, axisRange(1, rank), Combiner::add);
      g.give(3, select(isInBag, Term(g, product), Term(g, Value())));
    }
    return success();
  }

  LogicalResult jvp(BagSumOp op, JvpBuilder &t) const {
    if (Value tx = t.tangent(0))
      t.set(0, t.make<BagSumOp>(tx, op.getPositions(), op.getSplits(), op.getWeights()));
    if (Value tw = op.getWeights() ? t.tangent(3) : Value())
      t.set(0, t.make<BagSumOp>(op.getOperand(), op.getPositions(), op.getSplits(), tw));
    return success();
  }
};

// gradient_rows: the values are rows of the gradient
struct GradientRowsRule : Rule<GradientRowsRule, GradientRowsOp> {
  LogicalResult vjp(GradientRowsOp op, VjpBuilder &g) const {
    if (Value dy = g.cotangent(1); dy && g.wants(0))
      g.give(0, g.make<ScatterNdOp>(zerosLike(g, op.getGradient(), elementTypeOf(dy)), asTuples(g, g.result(0)), dy,
                                    Combiner::add));
    return success();
  }
  LogicalResult jvp(GradientRowsOp op, JvpBuilder &t) const {
    if (Value tx = t.tangent(0))
      t.set(1, t.make<GatherOp>(tx, t.result(0), int64_t(0)));
    return success();
  }
};

// check_finite: dx = dy
struct CheckFiniteRule : Rule<CheckFiniteRule, CheckFiniteOp> {
  LogicalResult vjp(CheckFiniteOp, VjpBuilder &g) const {
    g.give(0, g.cotangent());
    return success();
  }
  LogicalResult jvp(CheckFiniteOp, JvpBuilder &t) const {
    t.set(0, t.tangent());
    return success();
  }
};

// require: d value = dy
struct RequireRule : Rule<RequireRule, RequireOp> {
  static constexpr unsigned value = 1; // the operand
  LogicalResult vjp(RequireOp, VjpBuilder &g) const {
    if (g.wants(value))
      g.give(value, g.cotangent());
    return success();
  }
  LogicalResult jvp(RequireOp, JvpBuilder &t) const {
    t.set(0, t.tangent(value));
    return success();
  }
};

/// Nobody but the program knows what it computes.
struct ExternalRule : NonDifferentiable::ExternalModel<ExternalRule, CallExternalOp> {
  StringRef reason(Operation *) const { return "it is a function of the program without a vjp"; }
};

} // namespace

void sinter::attachIndexingGradients(MLIRContext &context) {
  attach<GatherRule, GatherElementsRule, GatherNdRule, ScatterElementsRule, ScatterNdRule, CompressRule, UniqueRule,
         BagSumRule, GradientRowsRule, CheckFiniteRule, RequireRule>(context);
  CallExternalOp::attachInterface<ExternalRule>(context);
  attachNoGradient<Discrete::Positions, NonzeroOp, NonMaxSuppressionOp, CheckPositionsOp, GroupRowsOp>(context);
}

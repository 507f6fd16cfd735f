// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums spread their cotangent; products multiply it by all other factors, found by products from both sides, so that
// zeros need no division; max and min hand it to where they were reached; sort and top_k know where their elements came
// from.

#include "ir/AxisOrder.h"
#include "ir/Elementwise.h"
#include "ir/Indexing.h"
#include "ir/Reduction.h"
#include "ir/Regions.h"
#include "ir/Shape.h"
#include "ir/gradient/LinearRule.h"
#include "ir/gradient/Moves.h"
#include "ir/gradient/Through.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::gradient;

namespace {

// reduce
//   add: dx = dy, spread
//   mul: dx_i = dy * prod_{j < i} x_j * prod_{j > i} x_j
//   max, min: dx = dy / ties where x = y
struct ReduceRule : Rule<ReduceRule, ReduceOp> {
  /// d y / d x, in x's shape.
  static Term factor(ReduceOp op, GradientBuilder &b) {
    Term x(b, b.operand(0)), y(b, b.result());
    SmallVector<int64_t> kept = otherAxes(x.rank(), op.getAxes());
    if (op.getCombiner() == Combiner::mul)
      return others(b, x, op.getAxes());
    Term reached = compare(x, CompareKind::eq, y.spread(x, kept));
    Term ones = select(reached, x.fill(1), {b, Value()});
    // NaN is reached nowhere, and nobody divides by the number of ties.
    Term ties = ones.sum(op.getAxes());
    return ones / ties.then<MaxOp>(ties.fill(1).v()).spread(x, kept);
  }
  /// The product of all other elements along `axes`.
  static Term others(Composer &c, Term x, ArrayRef<int64_t> axes) {
    if (axes.empty())
      return x.fill(1);
    // One axis is walked; of several, all are brought to the end and made one.
    SmallVector<int64_t> order = otherAxes(x.rank(), axes);
    auto kept = static_cast<int64_t>(order.size());
    llvm::append_range(order, axes);
    Value moved = axes.size() == 1 ? x.v() : gradient::transpose(c, x, order), line = moved;
    int64_t axis = axes[0];
    if (axes.size() > 1) {
      axis = kept;
      SmallVector<int64_t> shape(tensorTypeOf(moved).getShape().take_front(kept));
      std::optional<int64_t> count = countElements(tensorTypeOf(moved).getShape().drop_front(kept));
      shape.push_back(count ? *count : ShapedType::kDynamic);
      RankedTensorType type = RankedTensorType::get(shape, x.element());
      Value sizes;
      if (needsSizes(type)) {
        SmallVector<Value> entries;
        for (int64_t k = 0; k < kept; ++k)
          entries.push_back(c.size(moved, k));
        Value last;
        for (int64_t k = kept; k < x.rank(); ++k)
          last = last ? c.make<MulOp>(last, c.size(moved, k)) : c.size(moved, k);
        entries.push_back(last);
        sizes = joinSizes(c, entries);
      }
      line = c.make<ReshapeOp>(moved, sizes, type);
    }
    Term before(c, c.make<CumulativeOp>(line, axis, Combiner::mul, /*exclusive=*/true, /*reverse=*/false));
    Term after(c, c.make<CumulativeOp>(line, axis, Combiner::mul, /*exclusive=*/true, /*reverse=*/true));
    Value product = before * after;
    if (axes.size() == 1)
      return {c, product};
    return {c, gradient::transpose(c, reshapeLike(c, product, moved), inversePermutation(order))};
  }

  LogicalResult vjp(ReduceOp op, VjpBuilder &g) const {
    Term dy(g, g.cotangent());
    if (!dy || !g.wants(0))
      return success();
    Value x = g.operand(0);
    Term spread = dy.spread(x, otherAxes(tensorTypeOf(x).getRank(), op.getAxes()));
    g.give(0, op.getCombiner() == Combiner::add ? spread : spread * factor(op, g));
    return success();
  }
  LogicalResult jvp(ReduceOp op, JvpBuilder &t) const {
    if (Term tx(t, t.tangent()); tx)
      t.set(0, (op.getCombiner() == Combiner::add ? tx : tx * factor(op, t)).sum(op.getAxes()));
    return success();
  }
};

// cumulative
//   add: dx = dy summed from the other side
//   mul: dx_k = prod_{j < k} x_j * s_k with s_k = sum_{i >= k} dy_i prod_{k < j <= i} x_j, a recurrence from the other
//   side max, min: dx = dy added where the running extremum was first reached
struct CumulativeRule : Rule<CumulativeRule, CumulativeOp> {
  /// One value per element from (x, d) walked along the axis: a scan whose carry `step` replaces.
  using Step = llvm::function_ref<std::pair<Value, Value>(Composer &, Value carry, Value x, Value d)>;
  static Value walk(GradientBuilder &b, Value x, Value d, int64_t axis, bool reverse, Step step) {
    Value zero = b.reduce(b.fill(0, d), axis, Combiner::add);
    auto body = [&](OpBuilder &builder, Location loc, ValueRange args) {
      Composer c(loc, builder);
      auto [carry, out] = step(c, args[0], args[1], args[2]);
      return SmallVector<Value>{carry, out};
    };
    ScanOp scan =
        buildScan(b, b.getLoc(), zero, ValueRange{x, d}, {}, {axis, axis}, {reverse, reverse}, axis, reverse, body);
    return b.retype(scan.getStacks()[0], d.getType());
  }
  /// Where the running extremum of an inclusive walk was reached: positions along the axis.
  static Value reachedAt(CumulativeOp op, GradientBuilder &b) {
    Value x = b.operand(0);
    int64_t axis = op.getAxis();
    bool isMax = op.getCombiner() == Combiner::max, reverse = op.getReverse();
    Term before(b, b.make<CumulativeOp>(x, axis, op.getCombiner(), /*exclusive=*/true, reverse));
    Term at(b, iotaLike(b, x, axis)), value(b, x);
    // The first element is a record even if it is the identity; a NaN is one, too.
    Term notBetter = compare(value, isMax ? CompareKind::le : CompareKind::ge, before);
    Value first = reverse ? b.make<SubOp>(b.size(x, axis), constantSize(b, 1)) : constantSize(b, 0);
    Term records = select(notBetter, Term(b, b.spread(first, x, {})), at);
    // The latest record is the last position in the order of the walk.
    return b.make<CumulativeOp>(records, axis, reverse ? Combiner::min : Combiner::max, /*exclusive=*/false, reverse);
  }
  /// `positions` of the element before (in the order of the walk), and `outside` for the first.
  static Value shifted(GradientBuilder &b, CumulativeOp op, Value positions, int64_t outside) {
    SmallVector<int64_t> low(tensorTypeOf(positions).getRank(), 0), high = low, interior = low;
    low[op.getAxis()] = op.getReverse() ? -1 : 1;
    high[op.getAxis()] = op.getReverse() ? 1 : -1;
    return b.retype(b.make<PadOp>(positions, constantSize(b, outside), low, high, interior), positions.getType());
  }

  LogicalResult vjp(CumulativeOp op, VjpBuilder &g) const {
    Term dy(g, g.cotangent());
    if (!dy || !g.wants(0))
      return success();
    Value x = g.operand(0);
    int64_t axis = op.getAxis();
    bool exclusive = op.getExclusive(), reverse = op.getReverse();
    switch (op.getCombiner()) {
    case Combiner::add:
      g.give(0, g.make<CumulativeOp>(dy, axis, Combiner::add, exclusive, !reverse));
      return success();
    case Combiner::mul: {
      auto step = [&](Composer &c, Value carry, Value xk, Value dk) -> std::pair<Value, Value> {
        Term u(c, carry), factor(c, xk), d(c, dk);
        if (exclusive) // u_k = sum_{i > k} dy_i prod_{k < j < i} x_j
          return {d + factor * u, u};
        Term s = d + u;
        return {factor * s, s};
      };
      Term before(g, g.make<CumulativeOp>(x, axis, Combiner::mul, /*exclusive=*/true, reverse));
      g.give(0, before * Term(g, walk(g, x, dy, axis, !reverse, step)));
      return success();
    }
    default: {
      Value positions = reachedAt(op, g);
      // An exclusive walk's first element is the identity: its cotangent is written outside, that is, nowhere.
      if (exclusive)
        positions = shifted(g, op, positions, std::numeric_limits<int64_t>::max());
      g.give(0, g.make<ScatterElementsOp>(Term(g, x).fill(0), positions, dy, axis, Combiner::add));
      return success();
    }
    }
  }

  LogicalResult jvp(CumulativeOp op, JvpBuilder &t) const {
    Term tx(t, t.tangent());
    if (!tx)
      return success();
    Value x = t.operand(0);
    int64_t axis = op.getAxis();
    bool exclusive = op.getExclusive(), reverse = op.getReverse();
    switch (op.getCombiner()) {
    case Combiner::add:
      t.set(0, t.make<CumulativeOp>(tx, axis, Combiner::add, exclusive, reverse));
      return success();
    case Combiner::mul: {
      // ty_i = ty_{i-1} x_i + prod_{j < i} x_j tx_i
      Term before(t, t.make<CumulativeOp>(x, axis, Combiner::mul, /*exclusive=*/true, reverse));
      auto step = [&](Composer &c, Value carry, Value xk, Value dk) -> std::pair<Value, Value> {
        Term next = Term(c, carry) * Term(c, xk) + Term(c, dk);
        return {next, exclusive ? carry : next.v()};
      };
      t.set(0, walk(t, x, before * tx, axis, reverse, step));
      return success();
    }
    default: {
      Value positions = reachedAt(op, t);
      Term taken(t, t.make<GatherElementsOp>(tx, positions, axis));
      if (exclusive) {
        positions = shifted(t, op, positions, -1);
        taken = {t, t.make<GatherElementsOp>(tx, positions, axis)};
        taken = select(compare({t, positions}, CompareKind::ge, 0), taken, {t, Value()});
      }
      t.set(0, taken);
      return success();
    }
    }
  }
};

// reduce_window
//   add: dx = dy with strides as zeros between, summed under the same window from the other side
//   max, min: dx = dy added where the first greatest element under the window is
//   mul: as a product over an axis that lists the window's elements
struct ReduceWindowRule : Rule<ReduceWindowRule, ReduceWindowOp> {
  static void pullSum(ReduceWindowOp op, VjpBuilder &g, Value dy) {
    Value x = g.operand(0);
    RankedTensorType type = tensorTypeOf(x), small = tensorTypeOf(dy);
    int64_t rank = type.getRank();
    SmallVector<int64_t> none(rank, 0), ones(rank, 1), interior, low, high;
    for (int64_t k = 0; k < rank; ++k) {
      int64_t reach = op.getDilations()[k] * (op.getWindow()[k] - 1), stride = op.getStrides()[k];
      int64_t n = type.getDimSize(k), m = small.getDimSize(k);
      interior.push_back(stride - 1);
      low.push_back(reach - op.getLow()[k]);
      // So that the result has n elements; where n is not known, at least that many.
      bool known = !ShapedType::isDynamic(n) && !ShapedType::isDynamic(m) && m > 0;
      high.push_back(known ? n - (m - 1) * stride - 1 + op.getLow()[k] : reach - op.getHigh()[k] + stride - 1);
    }
    Value apart = dy;
    if (llvm::any_of(interior, [](int64_t k) { return k > 0; }))
      apart = g.make<PadOp>(dy, g.scalar(elementTypeOf(dy), 0), none, none, interior);
    Value dx = g.make<ReduceWindowOp>(apart, Combiner::add, op.getWindow(), ones, low, high, op.getDilations());
    g.give(0, trim(g, dx, x));
  }
  /// The axes with those that windows do not move over at the end: for pools over images channels last, as pools
  /// themselves are computed.
  static SmallVector<int64_t> order(ReduceWindowOp op) {
    SmallVector<int64_t> still, moved;
    for (int64_t k = 0, rank = tensorTypeOf(op.getOperand()).getRank(); k < rank; ++k) {
      bool slides =
          op.getWindow()[k] != 1 || op.getStrides()[k] != 1 || op.getLow()[k] != 0 || op.getHigh()[k] != 0 || k == 0;
      (slides ? moved : still).push_back(k);
    }
    moved.append(still);
    return moved;
  }
  static SmallVector<int64_t> permuted(ArrayRef<int64_t> values, ArrayRef<int64_t> order) {
    return llvm::map_to_vector(order, [&](int64_t axis) { return values[axis]; });
  }
  /// Row-major positions, in x with its axes in `order`, of the elements that the windows took.
  static Value reachedAt(ReduceWindowOp op, GradientBuilder &b, ArrayRef<int64_t> order) {
    Value x = gradient::transpose(b, b.operand(0), order);
    if (op.getCombiner() == Combiner::min)
      x = -Term(b, x);
    return b.make<ArgReduceWindowOp>(x, permuted(op.getWindow(), order), permuted(op.getStrides(), order),
                                     permuted(op.getLow(), order), permuted(op.getHigh(), order),
                                     permuted(op.getDilations(), order));
  }
  /// Windows that lie in the padding alone took nothing.
  static Term tookSome(ReduceWindowOp op, GradientBuilder &b) {
    for (int64_t k = 0; k < tensorTypeOf(b.operand(0)).getRank(); ++k) {
      int64_t reach = op.getDilations()[k] * (op.getWindow()[k] - 1) + 1;
      if (std::max(op.getLow()[k], op.getHigh()[k]) < reach && op.getDilations()[k] == 1)
        continue;
      Value ones = b.fill(1, b.operand(0));
      Value counts = b.make<ReduceWindowOp>(ones, Combiner::add, op.getWindow(), op.getStrides(), op.getLow(),
                                            op.getHigh(), op.getDilations());
      return compare({b, counts}, CompareKind::gt, 0);
    }
    return {b, Value()};
  }
  /// y in elementary ops: the window's elements along a new last axis, and their product.
  static SmallVector<Value> restateProduct(ReduceWindowOp op, Composer &c, Value x) {
    RankedTensorType type = tensorTypeOf(x), result = op.getType();
    int64_t rank = type.getRank();
    SmallVector<int64_t> none(rank, 0);
    Value padded = c.make<PadOp>(x, c.scalar(type.getElementType(), 1), op.getLow(), op.getHigh(), none);
    SmallVector<int64_t> wide(result.getShape());
    wide.push_back(1);
    SmallVector<Value> parts;
    forEachIndex(op.getWindow(), [&](ArrayRef<int64_t> at) {
      Value taken = padded;
      SmallVector<int64_t> starts, limits, steps(op.getStrides());
      for (int64_t k = 0; k < rank; ++k) {
        starts.push_back(at[k] * op.getDilations()[k]);
        limits.push_back(starts[k] + (result.getDimSize(k) - 1) * steps[k] + 1);
      }
      taken = c.make<SliceOp>(padded, starts, limits, steps);
      parts.push_back(reshapeTo(c, taken, wide));
    });
    return {c.reduce(c.make<ConcatenateOp>(parts, rank), rank, Combiner::mul)};
  }
  static LogicalResult checkStatic(ReduceWindowOp op) {
    if (op.getType().hasStaticShape() && op.getType().getNumElements() > 0)
      return success();
    return op.emitOpError("requires static sizes above 0 for the gradient of a product, got ") << op.getType();
  }

  LogicalResult vjp(ReduceWindowOp op, VjpBuilder &g) const {
    Term dy(g, g.cotangent());
    if (!dy || !g.wants(0))
      return success();
    if (op.getCombiner() == Combiner::add) {
      pullSum(op, g, dy);
      return success();
    }
    if (op.getCombiner() == Combiner::mul) {
      if (failed(checkStatic(op)))
        return failure();
      return vjpThrough(g, [&](Composer &c, ValueRange x) { return restateProduct(op, c, x[0]); });
    }
    if (Term mask = tookSome(op, g))
      dy = select(mask, dy, {g, Value()});
    SmallVector<int64_t> axes = order(op);
    Value like = gradient::transpose(g, g.operand(0), axes);
    Value dx = scatterFlat(g, reachedAt(op, g, axes), gradient::transpose(g, dy, axes), like);
    g.give(0, gradient::transpose(g, dx, inversePermutation(axes)));
    return success();
  }
  LogicalResult jvp(ReduceWindowOp op, JvpBuilder &t) const {
    Term tx(t, t.tangent());
    if (!tx)
      return success();
    if (op.getCombiner() == Combiner::add) {
      t.set(0, rebuild(t, op, tx.v())->getResult(0));
      return success();
    }
    if (op.getCombiner() == Combiner::mul) {
      if (failed(checkStatic(op)))
        return failure();
      return jvpThrough(t, [&](Composer &c, ValueRange x) { return restateProduct(op, c, x[0]); });
    }
    SmallVector<int64_t> axes = order(op);
    Value gathered = gatherFlat(t, gradient::transpose(t, tx, axes), reachedAt(op, t, axes));
    Term taken(t, gradient::transpose(t, gathered, inversePermutation(axes)));
    if (Term mask = tookSome(op, t))
      taken = select(mask, taken, {t, Value()});
    t.set(0, taken);
    return success();
  }
};

// sort, top_k: values are x at positions, which are distinct
template <typename Derived, typename OpT> struct OrderRule : Rule<OrderRule<Derived, OpT>, OpT> {
  LogicalResult vjp(OpT op, VjpBuilder &g) const {
    if (Value dy = g.cotangent(0); dy && g.wants(0))
      g.give(0, g.make<ScatterElementsOp>(g.fill(0, g.operand(0)), g.result(1), dy, op.getAxis(), Combiner::add));
    return success();
  }
  LogicalResult jvp(OpT op, JvpBuilder &t) const {
    if (Value tx = t.tangent(0))
      t.set(0, t.make<GatherElementsOp>(tx, t.result(1), op.getAxis()));
    return success();
  }
};
struct SortRule : OrderRule<SortRule, SortOp> {};
struct TopKRule : OrderRule<TopKRule, TopKOp> {};

} // namespace

void sinter::attachReductionGradients(MLIRContext &context) {
  attach<ReduceRule, CumulativeRule, ReduceWindowRule, SortRule, TopKRule>(context);
  attachNoGradient<Discrete::Positions, ArgReduceOp, ArgReduceWindowOp>(context);
}

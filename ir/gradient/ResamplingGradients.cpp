// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A resize is linear and works axis by axis: along each it is a product with a matrix of weights, which the resize of
// an identity matrix gives. A grid sample is restated as a sum of weighted gathers, which its gradient goes through.

#include "ir/AxisOrder.h"
#include "ir/Constants.h"
#include "ir/Contraction.h"
#include "ir/Elementwise.h"
#include "ir/Indexing.h"
#include "ir/Resampling.h"
#include "ir/Shape.h"
#include "ir/gradient/Moves.h"
#include "ir/gradient/Through.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::gradient;

//===- resize --------------------------------------------------------------------------------===//

namespace {

// resize: y = x times a matrix W_k along each axis k, so dx = dy times W_k^T along each
struct ResizeRule : Rule<ResizeRule, ResizeOp> {
  /// True when axis k is surely left as it is.
  static bool isKept(ResizeOp op, int64_t axis) {
    if (op.getCoordinates() == CoordinateMode::tf_crop_and_resize ||
        op.getCoordinates() == CoordinateMode::tf_half_pixel_for_nn)
      return false;
    if (op.getScales()) {
      std::optional<SmallVector<double>> scales = constantFloats(op.getScales());
      return scales && (*scales)[axis] == 1 && !op.getSizes();
    }
    int64_t before = tensorTypeOf(op.getOperand()).getDimSize(axis), after = op.getType().getDimSize(axis);
    return before == after && !ShapedType::isDynamic(before);
  }

  static Value oneOf(Composer &c, Value list, int64_t k) { return c.slice(list, 0, k, k + 1); }

  /// The weights [resized, size] of axis k, in `element`.
  static Value weights(ResizeOp op, GradientBuilder &b, Value dy, int64_t k) {
    Type element = elementTypeOf(dy);
    Value x = b.operand(0), size = b.size(x, k);
    RankedTensorType type = tensorTypeOf(x);
    int64_t n = type.getDimSize(k), rank = type.getRank();
    bool nearest = op.getMode() == ResizeMode::nearest;
    // Nearest reads one position, so the resize of the positions says which; this needs no second axis.
    // The sizes that came out are given, even where scales led to them.
    Value scales, roi, resizedSize = b.size(dy, k);
    Value sizes = nearest ? joinSizes(b, resizedSize) : joinSizes(b, {resizedSize, size});
    if (op.getScales()) {
      SmallVector<float, 2> pair{1, 1};
      if (std::optional<SmallVector<double>> known = constantFloats(op.getScales()))
        pair[0] = static_cast<float>((*known)[k]);
      ArrayRef<float> list = ArrayRef(pair).take_front(nearest ? 1 : 2);
      HostTensor numbers(b.getF32Type(), {static_cast<int64_t>(list.size())});
      for (auto [i, value] : llvm::enumerate(list))
        numbers.setFloat(static_cast<int64_t>(i), value);
      Value one = b.make<ConstantOp>(numbers.toAttr());
      scales = constantFloats(op.getScales()) ? one
               : nearest ? oneOf(b, op.getScales(), k)
                         : b.make<ConcatenateOp>(ValueRange{oneOf(b, op.getScales(), k), oneOf(b, one, 1)}, 0);
    }
    if (op.getRoi()) {
      Type roiType = elementTypeOf(op.getRoi());
      RankedTensorType single = RankedTensorType::get({1}, roiType);
      auto number = [&](double value) { return b.make<ReshapeOp>(b.scalar(roiType, value), Value(), single); };
      Value start = oneOf(b, op.getRoi(), k), end = oneOf(b, op.getRoi(), rank + k);
      roi = nearest ? b.make<ConcatenateOp>(ValueRange{start, end}, 0)
                    : b.make<ConcatenateOp>(ValueRange{start, number(0), end, number(1)}, 0);
    }
    auto resized = [&](Value table, double extrapolation) {
      return b.make<ResizeOp>(table, scales, sizes, roi, op.getMode(), op.getCoordinates(), op.getNearest(),
                              op.getCubicCoefficient(), op.getExcludeOutside(), APFloat(extrapolation));
    };
    SmallVector<int64_t> square{n, n};
    RankedTensorType table = RankedTensorType::get(square, b.getI64Type());
    Value shape;
    if (ShapedType::isDynamic(n))
      shape = joinSizes(b, {size, size});
    if (nearest) {
      Value line = b.make<IotaOp>(ShapedType::isDynamic(n) ? joinSizes(b, size) : Value(), 0,
                                  RankedTensorType::get({n}, b.getI64Type()));
      Term at(b, resized(line, -1));
      // [resized, size]: 1 where the position is the column.
      int64_t rows = tensorTypeOf(at.v()).getDimSize(0);
      Value whole = joinSizes(b, {b.size(at, 0), size});
      RankedTensorType wide = RankedTensorType::get({rows, n}, b.getI64Type());
      Term row(b, b.make<BroadcastOp>(at.v(), whole, ValueRange(), int64_t(0), wide));
      Term column(b, b.make<BroadcastOp>(line, whole, ValueRange(), int64_t(1), wide));
      return b.convert(compare(row, CompareKind::eq, column), element);
    }
    Value rows = b.make<IotaOp>(shape, 0, table), columns = b.make<IotaOp>(shape, 1, table);
    Value identity = b.convert(compare({b, rows}, CompareKind::eq, {b, columns}), element);
    return resized(identity, 0);
  }
  static LogicalResult check(ResizeOp op, function_ref<bool(unsigned)> isActive) {
    for (unsigned i = 1; i < op->getNumOperands(); ++i)
      if (isActive(i))
        return op.emitOpError("has no gradient with respect to its scales and its region, only to what is resized");
    if (op.getMode() != ResizeMode::nearest && op.getCoordinates() == CoordinateMode::tf_half_pixel_for_nn)
      return op.emitOpError("requires mode nearest for the gradient under tf_half_pixel_for_nn, got ")
             << stringifyResizeMode(op.getMode());
    return success();
  }

  LogicalResult vjp(ResizeOp op, VjpBuilder &g) const {
    Value dx = g.cotangent();
    if (!dx)
      return success();
    if (failed(check(op, [&](unsigned i) { return g.wants(i); })))
      return failure();
    int64_t rank = tensorTypeOf(dx).getRank();
    for (int64_t k = 0; k < rank; ++k) {
      if (isKept(op, k))
        continue;
      Value product = g.make<DotGeneralOp>(dx, weights(op, g, dx, k), ArrayRef<int64_t>(), ArrayRef<int64_t>(), k,
                                           int64_t(0), elementTypeOf(dx));
      // The axis came out last.
      SmallVector<int64_t> order = axisRange(0, rank - 1);
      order.insert(order.begin() + k, rank - 1);
      dx = gradient::transpose(g, product, order);
    }
    g.give(0, g.retype(dx, tensorTypeOf(g.operand(0))));
    return success();
  }
  LogicalResult jvp(ResizeOp op, JvpBuilder &t) const {
    if (failed(check(op, [&](unsigned i) { return static_cast<bool>(t.tangent(i)); })))
      return failure();
    if (!t.tangent(0))
      return success();
    SmallVector<Value> operands(op->getOperands());
    operands[0] = t.tangent(0);
    auto resized = cast<ResizeOp>(rebuild(t, op, operands));
    resized.setExtrapolationAttr(t.getF64FloatAttr(0)); // a constant has no derivative
    t.set(0, resized.getResult());
    return success();
  }
};

} // namespace

//===- grid_sample ---------------------------------------------------------------------------===//

namespace {

/// A grid sample in elementary ops. Positions are f64, as in the op itself.
class GridStatement {
public:
  GridStatement(GridSampleOp op, Composer &c, Value x, Value grid)
      : op(op), c(c), x(x), grid(c.convert(grid, c.getF64Type())), rank(tensorTypeOf(x).getRank()), spatial(rank - 2) {}

  Value build() {
    SmallVector<SmallVector<Tap>> taps;
    for (int64_t k = 0; k < spatial; ++k)
      taps.push_back(tapsAlong(k));
    // Samples, places, channels: whole rows of channels are gathered.
    bool isLast = op.getLayout() == ConvLayout::channels_last;
    rows = isLast ? x : gradient::transpose(c, x, channelsToLast(rank));
    SmallVector<const Tap *> chosen;
    combine(taps, chosen);
    return c.retype(isLast ? sum : gradient::transpose(c, sum, channelsToFirst(rank)), op.getType());
  }

private:
  struct Tap {
    Term index, weight;
  };

  /// The sum over one tap per axis.
  void combine(ArrayRef<SmallVector<Tap>> taps, SmallVector<const Tap *> &chosen) {
    if (!taps.empty()) {
      for (const Tap &tap : taps.front()) {
        chosen.push_back(&tap);
        combine(taps.drop_front(), chosen);
        chosen.pop_back();
      }
      return;
    }
    SmallVector<Value> tuple;
    Term weight(c, Value());
    for (const Tap *tap : chosen) {
      tuple.push_back(withUnitAxis(tap->index));
      weight = weight ? weight * tap->weight : tap->weight;
    }
    Term values(c, c.make<GatherNdOp>(rows, c.make<ConcatenateOp>(tuple, rank - 1), 1));
    Term part = values * weight.as(values.element()).spread(values, axisRange(0, rank - 1));
    sum = sum ? Value(Term(c, sum) + part) : part.v();
  }

  /// [N, d...] -> [N, d..., 1]
  Value withUnitAxis(Value value) {
    SmallVector<int64_t> shape(tensorTypeOf(value).getShape());
    shape.push_back(1);
    RankedTensorType type = RankedTensorType::get(shape, elementTypeOf(value));
    return c.make<BroadcastOp>(value, Value(), ValueRange(), axisRange(0, rank - 1), type);
  }

  /// Mirrors at the ends of [low, high] until inside.
  Term reflected(Term v, Term low, Term high) {
    Term range = high - low, point = compare(range, CompareKind::le, 0);
    Term safe = select(point, range.fill(1), range), twice = 2 * safe;
    Term distance = (v - low).then<AbsOp>();
    distance = distance - (distance / twice).then<FloorOp>() * twice;
    distance = select(compare(distance, CompareKind::gt, safe), twice - distance, distance);
    return select(point, low, low + distance);
  }
  Term reflectedOutside(Term v, Term low, Term high) {
    Term outside = compare(v, CompareKind::lt, low).then<OrOp>(compare(v, CompareKind::gt, high).v());
    return select(outside, reflected(v, low, high), v);
  }

  SmallVector<Tap> tapsAlong(int64_t k) {
    Value coordinate = c.slice(grid, rank - 1, spatial - 1 - k, spatial - k);
    // The last grid axis is dropped by a sum over its one element: no sizes are needed.
    Term g = Term(c, coordinate).sum(rank - 1);
    Term size(c, c.spread(c.convert(c.size(x, op.firstSpatialAxis() + k), c.getF64Type()), g, {}));
    Term last = size - 1, low = op.getAlignCorners() ? g.fill(0) : g.fill(-0.5), high = last - low;
    Term at = op.getAlignCorners() ? 0.5 * ((g + 1) * last) : 0.5 * ((g + 1) * size - 1);
    at = select(at.then<IsNanOp>(), Term(c, Value()), at);
    if (op.getMode() == ResizeMode::nearest)
      at = at.then<RoundOp>();
    if (op.getPadding() == PadMode::edge && op.getMode() != ResizeMode::cubic)
      at = g.fill(0).then<ClampOp>(at.v(), last.v());
    else if (op.getPadding() == PadMode::reflect)
      at = reflectedOutside(at, low, high);
    at = g.fill(-4).then<ClampOp>(at.v(), (last + 4).v());
    Term first = at.then<FloorOp>(), t = at - first;
    SmallVector<Tap> taps;
    auto add = [&](Term index, Term weight) {
      if (op.getPadding() == PadMode::reflect)
        index = reflectedOutside(index, low, high);
      if (op.getPadding() == PadMode::constant) {
        Term inside = both(compare(index, CompareKind::ge, 0), compare(index, CompareKind::le, last));
        weight = select(inside, weight, Term(c, Value()));
      }
      // A negative position would count from the end.
      index = index.fill(0).then<ClampOp>(index.v(), last.v());
      taps.push_back({index.as(c.getI64Type()), weight});
    };
    switch (op.getMode()) {
    case ResizeMode::nearest:
      add(at, g.fill(1));
      break;
    case ResizeMode::linear:
      add(first, 1 - t);
      add(first + 1, t);
      break;
    case ResizeMode::cubic: {
      // Keys 1981 with a = -3/4.
      const double a = -0.75;
      auto near = [&](Term d) { return (((a + 2) * d - (a + 3)) * d * d) + 1; };
      auto far = [&](Term d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
      add(first - 1, far(t + 1));
      add(first, near(t));
      add(first + 1, near(1 - t));
      add(first + 2, far(2 - t));
      break;
    }
    }
    return taps;
  }

  GridSampleOp op;
  Composer &c;
  Value x, grid;
  int64_t rank, spatial;
  Value rows, sum;
};

struct GridSampleRule : Rule<GridSampleRule, GridSampleOp> {
  static SmallVector<Value> restate(GridSampleOp op, Composer &c, ValueRange operands) {
    return {GridStatement(op, c, operands[0], operands[1]).build()};
  }
  LogicalResult vjp(GridSampleOp op, VjpBuilder &g) const {
    return vjpThrough(g, [&](Composer &c, ValueRange operands) { return restate(op, c, operands); });
  }
  LogicalResult jvp(GridSampleOp op, JvpBuilder &t) const {
    return jvpThrough(t, [&](Composer &c, ValueRange operands) { return restate(op, c, operands); });
  }
};

} // namespace

void sinter::attachResamplingGradients(MLIRContext &context) { attach<ResizeRule, GridSampleRule>(context); }

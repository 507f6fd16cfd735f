// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One element of a resampling op. Positions are computed in f64, as the reference does, so that both round a
// position between two elements to the same side; values are weighed in f32 (f64 for f64 and for wide integers).

#include "ir/Constants.h"
#include "ir/Elementwise.h"
#include "ir/Resampling.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sinter;

namespace {

/// One element that an axis reads: its index (in range) and weight. Without a weight it stands for itself; with
/// `inside`, it is zero where that is false.
struct Tap {
  LaneIndex index;
  Value weight;
  Value inside;
};

/// The taps of an axis; `looped` ones are visited by a loop instead of being written out.
struct AxisTaps {
  SmallVector<Tap, 4> taps;
  bool looped = false;
};

/// Arithmetic on scalars and lane vectors of floats in any mixture.
class Reals {
public:
  Reals(ElementBuilder &e) : e(e), f64(e.b.getF64Type()) {}

  Value number(double value) { return buildConstant(e.b, e.loc, f64, value); }
  template <typename OpT> Value make(Value x, Value y) {
    Value sides[] = {x, y};
    e.unify(sides);
    return OpT::create(e.b, e.loc, sides[0], sides[1]);
  }
  Value add(Value x, Value y) { return make<arith::AddFOp>(x, y); }
  Value sub(Value x, Value y) { return make<arith::SubFOp>(x, y); }
  Value mul(Value x, Value y) { return make<arith::MulFOp>(x, y); }
  Value div(Value x, Value y) { return make<arith::DivFOp>(x, y); }
  /// The other side where one is not a number.
  Value min(Value x, Value y) { return make<arith::MinNumFOp>(x, y); }
  Value max(Value x, Value y) { return make<arith::MaxNumFOp>(x, y); }
  Value floor(Value x) { return math::FloorOp::create(e.b, e.loc, x); }
  Value ceil(Value x) { return math::CeilOp::create(e.b, e.loc, x); }
  Value compare(arith::CmpFPredicate predicate, Value x, Value y) {
    Value sides[] = {x, y};
    e.unify(sides);
    return arith::CmpFOp::create(e.b, e.loc, predicate, sides[0], sides[1]);
  }
  Value either(Value x, Value y) { return make<arith::OrIOp>(x, y); }
  Value select(Value condition, Value x, Value y) {
    Value values[] = {condition, x, y};
    e.unify(values);
    return arith::SelectOp::create(e.b, e.loc, values[0], values[1], values[2]);
  }
  /// A float of any width as f64, and the reverse.
  Value widen(Value x) { return buildConvert(e.b, e.loc, x, getElementTypeOrSelf(x.getType()), f64); }
  Value narrow(Value x, Type type) { return buildConvert(e.b, e.loc, x, f64, type); }

  Value fromIndex(Value index) {
    Type i64 = e.b.getI64Type();
    auto vector = dyn_cast<VectorType>(index.getType());
    Type wide = vector ? Type(VectorType::get(vector.getShape(), i64)) : i64;
    return buildConvert(e.b, e.loc, arith::IndexCastOp::create(e.b, e.loc, wide, index), i64, f64);
  }
  /// Of a whole number that fits.
  LaneIndex toIndex(Value x) {
    Type i64 = e.b.getI64Type();
    auto vector = dyn_cast<VectorType>(x.getType());
    Type wide = vector ? Type(VectorType::get(vector.getShape(), i64)) : i64;
    return e.fromValue(arith::FPToSIOp::create(e.b, e.loc, wide, x));
  }
  /// Into [-4, last + 4]: all positions further out read alike, and integers can hold these. NaN is -4.
  Value bound(Value x, Value last) { return max(min(x, add(last, number(4))), number(-4)); }

  ElementBuilder &e;
  Type f64;
};

} // namespace

/// The type in which values of an element type are weighed.
static Type weightType(Type element) {
  bool isWide = element.isF64() || (isa<IntegerType>(element) && element.getIntOrFloatBitWidth() > 16);
  return isWide ? Type(Float64Type::get(element.getContext())) : Float32Type::get(element.getContext());
}

/// Weights of the elements at floor(x) - 1 ... floor(x) + 2, where x - floor(x) = t (Keys 1981).
static SmallVector<Value> cubicWeights(Reals &r, Value t, double a) {
  auto horner = [&](Value d, std::initializer_list<double> coefficients) {
    Value sum;
    for (double c : coefficients)
      sum = sum ? r.add(r.mul(sum, d), r.number(c)) : r.number(c);
    return sum;
  };
  auto near = [&](Value d) { return horner(d, {a + 2, -(a + 3), 0, 1}); };
  auto far = [&](Value d) { return horner(d, {a, -5 * a, 8 * a, -4 * a}); };
  Value one = r.number(1), two = r.number(2);
  return {far(r.add(t, one)), near(t), near(r.sub(one, t)), far(r.sub(two, t))};
}

/// i1, or one per lane.
static Value isOutsideOf(Reals &r, const LaneIndex &index, Value size) {
  ElementBuilder &e = r.e;
  return r.either(e.less(index, e.constant(0)), e.less(e.sub(e.uniform(size), e.constant(1)), index));
}

/// The sum over all combinations of one tap per axis, in `type`; `index` has the entries of the axes before.
static Value sumTaps(Reals &r, Value tensor, Type element, Type type, ArrayRef<AxisTaps> axes,
                     SmallVector<LaneIndex> index) {
  ElementBuilder &e = r.e;
  if (axes.empty())
    return buildConvert(e.b, e.loc, e.load(tensor, index), element, type);
  auto inner = [&](const LaneIndex &at) {
    SmallVector<LaneIndex> extended = index;
    extended.push_back(at);
    return sumTaps(r, tensor, element, type, axes.drop_front(), std::move(extended));
  };
  auto weigh = [&](const Tap &tap) {
    Value value = inner(tap.index);
    if (tap.inside)
      value = r.select(tap.inside, value, buildConstant(e.b, e.loc, type, 0.0));
    return tap.weight ? r.mul(tap.weight, value) : value;
  };
  ArrayRef<Tap> taps = axes.front().taps;
  if (!axes.front().looped) {
    Value sum;
    for (const Tap &tap : taps)
      sum = sum ? r.add(sum, weigh(tap)) : weigh(tap);
    return sum;
  }
  auto bound = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(e.b, e.loc, value); };
  Value zero = e.splat(buildConstant(e.b, e.loc, type, 0.0));
  auto loop = scf::ForOp::create(e.b, e.loc, bound(0), bound(taps.size()), bound(1), zero);
  {
    OpBuilder::InsertionGuard guard(e.b);
    e.b.setInsertionPointToStart(loop.getBody());
    Tap current = taps.back();
    for (int64_t k = static_cast<int64_t>(taps.size()) - 2; k >= 0; --k) {
      Value isTap = arith::CmpIOp::create(e.b, e.loc, arith::CmpIPredicate::eq, loop.getInductionVar(), bound(k));
      current.index = e.select(isTap, taps[k].index, current.index);
      current.weight = r.select(isTap, taps[k].weight, current.weight);
      if (current.inside)
        current.inside = r.select(isTap, taps[k].inside, current.inside);
    }
    Value sum = e.splat(r.add(loop.getRegionIterArg(0), weigh(current)));
    scf::YieldOp::create(e.b, e.loc, sum);
  }
  return loop.getResult(0);
}

/// Cubic taps of three axes and more would be 64 loads and up: loops over all axes but the last two.
static void loopOuterAxes(MutableArrayRef<AxisTaps> axes) {
  unsigned cubic = llvm::count_if(axes, [](const AxisTaps &axis) { return axis.taps.size() == 4; });
  for (AxisTaps &axis : axes)
    if (axis.taps.size() == 4 && cubic-- > 2)
      axis.looped = true;
}

//===- resize ------------------------------------------------------------------------------------------------===//

namespace {

/// Positions along one axis of a resize.
class ResizeAxis {
public:
  ResizeAxis(ResizeOp op, Reals &r, int64_t axis) : op(op), r(r), axis(axis) {
    sizeStatic = cast<RankedTensorType>(op.getOperand().getType()).getDimSize(axis);
    resizedStatic = cast<RankedTensorType>(op.getResult().getType()).getDimSize(axis);
    if (std::optional<SmallVector<double>> scales = constantFloats(op.getScales()))
      scaleStatic = (*scales)[axis];
    else if (!op.getScales() && !ShapedType::isDynamic(sizeStatic) && !ShapedType::isDynamic(resizedStatic))
      scaleStatic = static_cast<double>(resizedStatic) / static_cast<double>(sizeStatic);
  }

  /// True when every position reads the element at the same index.
  bool isCopied() const {
    if ((scaleStatic ? scaleStatic != 1 : !keepsOpenSize()) || (op.getScales() && op.getSizes()))
      return false;
    if (op.getCoordinates() == CoordinateMode::tf_half_pixel_for_nn)
      return false;
    if (op.getCoordinates() != CoordinateMode::tf_crop_and_resize)
      return true;
    std::optional<SmallVector<double>> roi = constantFloats(op.getRoi());
    return roi && (*roi)[axis] == 0 && (*roi)[roi->size() / 2 + axis] == 1;
  }

  /// Nearest element by integer arithmetic, for the usual upsampling by whole numbers.
  std::optional<LaneIndex> nearestByWhole(const LaneIndex &x) const {
    if (!scaleStatic || *scaleStatic < 1 || *scaleStatic != std::floor(*scaleStatic) || *scaleStatic > 1024)
      return std::nullopt;
    auto k = static_cast<int64_t>(*scaleStatic);
    NearestMode nearest = op.getNearest();
    bool rounds = nearest == NearestMode::round_prefer_floor || nearest == NearestMode::round_prefer_ceil;
    std::optional<int64_t> shift;
    if (op.getCoordinates() == CoordinateMode::half_pixel && rounds)
      shift = 0; // (x + 0.5) / k - 0.5 never lies halfway between two elements
    else if (op.getCoordinates() == CoordinateMode::asymmetric && nearest == NearestMode::floor)
      shift = 0;
    else if (op.getCoordinates() == CoordinateMode::asymmetric && nearest == NearestMode::round_prefer_floor)
      shift = (k - 1) / 2;
    if (!shift)
      return std::nullopt;
    ElementBuilder &e = r.e;
    LaneIndex index = e.floorDiv(e.add(x, e.constant(*shift)), e.constant(k));
    bool isInside = *shift == 0 && resizedStatic == sizeStatic * k && !ShapedType::isDynamic(sizeStatic);
    return isInside ? index : e.clamp(index, size());
  }

  Value size() const { return r.e.size(op.getOperand(), axis); }
  Value last() const {
    return ShapedType::isDynamic(sizeStatic) ? r.sub(r.fromIndex(size()), r.number(1))
                                             : r.number(static_cast<double>(sizeStatic - 1));
  }

  /// Where the operand is read for position `x` of the result.
  Value originalPosition(const LaneIndex &index) const {
    Value x = r.fromIndex(r.e.toValue(index));
    auto centered = [&] { return r.sub(r.div(r.add(x, r.number(0.5)), scale()), r.number(0.5)); };
    auto whereLonger = [&](Value length, Value longer, Value otherwise) {
      return r.select(r.compare(arith::CmpFPredicate::OGT, length, r.number(1)), longer, otherwise);
    };
    switch (op.getCoordinates()) {
    case CoordinateMode::half_pixel:
      return centered();
    case CoordinateMode::pytorch_half_pixel:
      return whereLonger(resized(), centered(), r.number(0));
    case CoordinateMode::align_corners:
      return whereLonger(length(), r.div(r.mul(x, last()), r.sub(length(), r.number(1))), r.number(0));
    case CoordinateMode::asymmetric:
      return r.div(x, scale());
    case CoordinateMode::tf_half_pixel_for_nn:
      return r.div(r.add(x, r.number(0.5)), scale());
    case CoordinateMode::half_pixel_symmetric: {
      Value adjustment = r.sub(r.number(1), r.div(resized(), length()));
      Value half = r.mul(r.number(0.5), r.add(last(), r.number(1)));
      return r.add(r.mul(half, adjustment), centered());
    }
    case CoordinateMode::tf_crop_and_resize: {
      int64_t rank = cast<RankedTensorType>(op.getOperand().getType()).getRank();
      Value start = read(op.getRoi(), axis), end = read(op.getRoi(), rank + axis);
      Value span = r.mul(r.mul(x, r.sub(end, start)), last());
      Value longer = r.add(r.mul(start, last()), r.div(span, r.sub(length(), r.number(1))));
      return whereLonger(length(), longer, r.mul(r.mul(r.number(0.5), r.add(start, end)), last()));
    }
    }
    llvm_unreachable("all modes handled");
  }

private:
  /// Sizes that are known to be equal are one value.
  bool keepsOpenSize() const { return !op.getScales() && size() == r.e.size(op.getResult(), axis); }
  Value read(Value list, int64_t i) const { return r.widen(r.e.load(list, {r.e.constant(i)})); }
  Value resized() const {
    if (!ShapedType::isDynamic(resizedStatic))
      return r.number(static_cast<double>(resizedStatic));
    return r.fromIndex(r.e.size(op.getResult(), axis));
  }
  Value scale() const {
    if (scaleStatic)
      return r.number(*scaleStatic);
    return op.getScales() ? read(op.getScales(), axis) : r.div(resized(), r.add(last(), r.number(1)));
  }
  Value length() const { return op.getScales() ? r.mul(r.add(last(), r.number(1)), scale()) : resized(); }

  mutable ResizeOp op; // accessors of ops are not const
  Reals &r;
  int64_t axis;
  int64_t sizeStatic, resizedStatic;
  std::optional<double> scaleStatic;
};

} // namespace

static Value roundNearest(Reals &r, NearestMode mode, Value x) {
  switch (mode) {
  case NearestMode::round_prefer_floor:
    return r.ceil(r.sub(x, r.number(0.5)));
  case NearestMode::round_prefer_ceil:
    return r.floor(r.add(x, r.number(0.5)));
  case NearestMode::floor:
    return r.floor(x);
  case NearestMode::ceil:
    return r.ceil(x);
  }
  llvm_unreachable("all modes handled");
}

/// Weighted taps around `position` (bounded) of linear and cubic modes.
static AxisTaps interpolate(Reals &r, ResizeOp op, const ResizeAxis &axis, Value position, Type type) {
  ElementBuilder &e = r.e;
  Value floor = r.floor(position), t = r.sub(position, floor);
  bool isCubic = op.getMode() == ResizeMode::cubic;
  SmallVector<Value> weights = isCubic ? cubicWeights(r, t, op.getCubicCoefficient().convertToDouble())
                                       : SmallVector<Value>{r.sub(r.number(1), t), t};
  LaneIndex first = r.toIndex(floor);
  AxisTaps result;
  Value sum;
  for (auto [k, weight] : llvm::enumerate(weights)) {
    LaneIndex index = e.add(first, e.constant(static_cast<int64_t>(k) - (isCubic ? 1 : 0)));
    if (op.getExcludeOutside()) {
      Value isOutside = isOutsideOf(r, index, axis.size());
      weight = r.select(isOutside, r.number(0), weight);
      sum = sum ? r.add(sum, weight) : weight;
    }
    result.taps.push_back({e.clamp(index, axis.size()), weight, {}});
  }
  for (Tap &tap : result.taps)
    tap.weight = r.narrow(sum ? r.div(tap.weight, sum) : tap.weight, type);
  return result;
}

Value ResizeOp::buildElement(ElementBuilder &e, unsigned, ArrayRef<LaneIndex> index) {
  Reals r(e);
  Type element = getElementTypeOrSelf(getResult().getType()), type = weightType(element);
  SmallVector<AxisTaps> axes;
  Value outside;
  for (auto [k, x] : llvm::enumerate(index)) {
    ResizeAxis axis(*this, r, static_cast<int64_t>(k));
    if (axis.isCopied()) {
      axes.push_back({{{x, {}, {}}}});
      continue;
    }
    if (getMode() == ResizeMode::nearest)
      if (std::optional<LaneIndex> whole = axis.nearestByWhole(x)) {
        axes.push_back({{{*whole, {}, {}}}});
        continue;
      }
    Value position = axis.originalPosition(x);
    if (getCoordinates() == CoordinateMode::tf_crop_and_resize) {
      Value isOut = r.either(r.compare(arith::CmpFPredicate::ULT, position, r.number(0)),
                             r.compare(arith::CmpFPredicate::UGT, position, axis.last()));
      outside = outside ? r.either(outside, isOut) : isOut;
    }
    position = r.bound(position, axis.last());
    if (getMode() == ResizeMode::nearest) {
      LaneIndex nearest = r.toIndex(roundNearest(r, getNearest(), position));
      axes.push_back({{{e.clamp(nearest, axis.size()), {}, {}}}});
      continue;
    }
    axes.push_back(interpolate(r, *this, axis, position, type));
  }
  loopOuterAxes(axes);
  // A nearest element is moved as it is.
  Type computed = getMode() == ResizeMode::nearest ? element : type;
  Value value = buildConvert(e.b, e.loc, sumTaps(r, getOperand(), element, computed, axes, {}), computed, element);
  if (!outside)
    return value;
  Value extrapolation = buildConstant(e.b, e.loc, signless(element), getExtrapolation().convertToDouble());
  return r.select(outside, extrapolation, value);
}

//===- grid_sample -------------------------------------------------------------------------------------------===//

namespace {
/// Mirrors positions at the ends of [low, high].
struct Mirror {
  Reals &r;
  Value low, high;

  Value operator()(Value x) {
    Value range = r.sub(high, low), twice = r.mul(range, r.number(2));
    Value distance = math::AbsFOp::create(r.e.b, r.e.loc, r.sub(x, low));
    distance = r.sub(distance, r.mul(r.floor(r.div(distance, twice)), twice));
    Value isBack = r.compare(arith::CmpFPredicate::OGT, distance, range);
    Value mirrored = r.add(low, r.select(isBack, r.sub(twice, distance), distance));
    Value isEmpty = r.compare(arith::CmpFPredicate::OLE, range, r.number(0));
    mirrored = r.select(isEmpty, low, mirrored);
    Value isInside = arith::AndIOp::create(r.e.b, r.e.loc, r.compare(arith::CmpFPredicate::OGE, x, low),
                                           r.compare(arith::CmpFPredicate::OLE, x, high));
    return r.select(isInside, x, mirrored);
  }
};
} // namespace

static AxisTaps gridTaps(Reals &r, GridSampleOp op, Value g, int64_t axis, Type type) {
  ElementBuilder &e = r.e;
  Value size = e.size(op.getOperand(), axis), length = r.fromIndex(size);
  Value one = r.number(1), half = r.number(0.5), zero = r.number(0), last = r.sub(length, one);
  bool corners = op.getAlignCorners();
  Value x = corners ? r.mul(r.mul(r.add(g, one), half), last) : r.mul(r.sub(r.mul(r.add(g, one), length), one), half);
  x = r.select(r.compare(arith::CmpFPredicate::UNO, x, x), zero, x);
  if (op.getMode() == ResizeMode::nearest)
    x = math::RoundEvenOp::create(e.b, e.loc, x);
  Mirror mirror{r, corners ? zero : r.number(-0.5), corners ? last : r.add(last, half)};
  bool reflects = op.getPadding() == PadMode::reflect;
  // Of a cubic, each element is bounded by itself, below: a position outside still has weights of its own.
  bool isCubic = op.getMode() == ResizeMode::cubic;
  if (op.getPadding() == PadMode::edge && !isCubic)
    x = r.max(zero, r.min(x, last));
  else if (reflects)
    x = mirror(x);
  x = r.bound(x, last);

  AxisTaps result;
  auto add = [&](Value index, Value weight) {
    LaneIndex at = r.toIndex(reflects ? mirror(index) : index);
    Tap tap{e.clamp(at, size), weight ? r.narrow(weight, type) : Value(), {}};
    if (op.getPadding() == PadMode::constant) {
      Value isOutside = isOutsideOf(r, at, size);
      tap.inside = arith::XOrIOp::create(e.b, e.loc, isOutside, buildConstant(e.b, e.loc, isOutside.getType(), 1));
    }
    result.taps.push_back(tap);
  };
  if (op.getMode() == ResizeMode::nearest) {
    add(x, {});
    return result;
  }
  Value floor = r.floor(x), t = r.sub(x, floor);
  SmallVector<Value> weights = isCubic ? cubicWeights(r, t, -0.75) : SmallVector<Value>{r.sub(one, t), t};
  for (auto [k, weight] : llvm::enumerate(weights))
    add(r.add(floor, r.number(static_cast<double>(k) - (isCubic ? 1 : 0))), weight);
  return result;
}

Value GridSampleOp::buildElement(ElementBuilder &e, unsigned, ArrayRef<LaneIndex> index) {
  Reals r(e);
  Type element = getElementTypeOrSelf(getResult().getType()), type = weightType(element);
  auto spatial = static_cast<int64_t>(index.size()) - 2;
  int64_t firstSpatial = firstSpatialAxis(), channel = channelAxis();
  SmallVector<AxisTaps> axes{{{{index[0], {}, {}}}}};
  for (int64_t k = 0; k < spatial; ++k) {
    SmallVector<LaneIndex> at{index[0]};
    llvm::append_range(at, index.slice(firstSpatial, spatial));
    at.push_back(e.constant(spatial - 1 - k));
    axes.push_back(gridTaps(r, *this, r.widen(e.load(getGrid(), at)), firstSpatial + k, type));
  }
  axes.insert(axes.begin() + channel, AxisTaps{{{index[channel], {}, {}}}});
  loopOuterAxes(axes);
  Type computed = getMode() == ResizeMode::nearest ? element : type;
  return buildConvert(e.b, e.loc, sumTaps(r, getOperand(), element, computed, axes, {}), computed, element);
}

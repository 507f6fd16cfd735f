// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One element of each op's result. Along the axis that goes in lanes an index stays affine wherever it can: a condition
// that all lanes share is a branch, and where lanes may differ (a group that straddles the edge of a padding, say) a
// branch tests first whether they do.

#include "ir/Constants.h"
#include "ir/Shape.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace sinter;

static RankedTensorType tensor(Value value) { return cast<RankedTensorType>(value.getType()); }
static std::optional<int64_t> staticSize(Value value, int64_t axis) {
  int64_t size = tensor(value).getDimSize(axis);
  return ShapedType::isDynamic(size) ? std::nullopt : std::optional(size);
}

/// Sizes that are surely equal: both static, or one and the same run-time value.
static bool sameSize(ElementBuilder &e, Value a, int64_t axisOfA, Value b, int64_t axisOfB) {
  std::optional<int64_t> m = staticSize(a, axisOfA), n = staticSize(b, axisOfB);
  if (m && n)
    return *m == *n;
  Value x = e.size(a, axisOfA), y = e.size(b, axisOfB);
  if (x == y)
    return true;
  std::optional<int64_t> p = getConstantIntValue(x), q = getConstantIntValue(y);
  return p && q && *p == *q;
}

static std::optional<int64_t> knownSize(ElementBuilder &e, Value value, int64_t axis) {
  if (std::optional<int64_t> size = staticSize(value, axis))
    return size;
  return getConstantIntValue(e.size(value, axis));
}

static LaneIndex difference(ElementBuilder &e, Value a, Value b) { return e.sub(e.uniform(a), e.uniform(b)); }

/// The entry for `axis` of a rank-1 operand, as a uniform index.
static LaneIndex entry(ElementBuilder &e, Value sizes, int64_t axis) {
  if (std::optional<SmallVector<int64_t>> values = constantInts(sizes))
    return e.constant((*values)[axis]);
  return e.fromValue(e.load(sizes, {e.constant(axis)}));
}

static Value both(ElementBuilder &e, Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  Value sides[] = {a, b};
  e.unify(sides);
  return arith::AndIOp::create(e.b, e.loc, sides[0], sides[1]);
}

/// What must hold of each axis of an index into `operand` before it may be loaded from.
namespace {
struct Window {
  Value scalar;   // all lanes share it; null is true
  Value allLanes; // scalar: the lanes of affine indices are inside, every one; null is true
  Value eachLane; // per lane; null is true
  void require(ElementBuilder &e, const LaneIndex &index, Value size) {
    if (index.isUniform()) {
      scalar = both(e, scalar, e.inRange(index, size));
      return;
    }
    eachLane = both(e, eachLane, e.inRange(index, size));
    if (index.varying) {
      neverAll = true;
      return;
    }
    LaneIndex first{index.base, 0, nullptr, 1};
    allLanes = both(e, allLanes, both(e, e.inRange(first, size), e.inRange(e.lastLane(index), size)));
  }
  bool neverAll = false;
};
} // namespace

/// `inside` where the window holds, else `outside`. `inside(clamped)` is asked to clamp its index when some of
/// the lanes that it builds are not in the window.
static Value inWindow(ElementBuilder &e, const Window &window, function_ref<Value(bool)> inside,
                      function_ref<Value()> outside) {
  auto byLane = [&]() -> Value {
    if (!window.eachLane)
      return inside(false);
    auto slow = [&] { return e.choose(window.eachLane, [&] { return inside(true); }, outside); };
    if (window.neverAll || !window.allLanes)
      return slow();
    return e.choose(window.allLanes, [&] { return inside(false); }, slow);
  };
  return window.scalar ? e.choose(window.scalar, byLane, outside) : byLane();
}

static SmallVector<LaneIndex> clampAll(ElementBuilder &e, Value operand, ArrayRef<LaneIndex> index) {
  SmallVector<LaneIndex> clamped;
  for (auto [axis, position] : llvm::enumerate(index))
    clamped.push_back(e.clamp(position, e.size(operand, axis)));
  return clamped;
}

//===- iota, broadcast, transpose, reverse ---------------------------------------------------===//

Value IotaOp::buildElement(ElementBuilder &elements, unsigned, ArrayRef<LaneIndex> index) {
  Value position = elements.toValue(index[getAxis()]);
  Type element = signless(tensor(getResult()).getElementType());
  auto like = [&](Type type) -> Type {
    if (auto vector = dyn_cast<VectorType>(position.getType()))
      return VectorType::get(vector.getShape(), type);
    return type;
  };
  OpBuilder &b = elements.b;
  if (!isa<FloatType>(element))
    return arith::IndexCastOp::create(b, elements.loc, like(element), position);
  Value integer = arith::IndexCastOp::create(b, elements.loc, like(b.getI64Type()), position);
  return arith::SIToFPOp::create(b, elements.loc, like(element), integer);
}

Value BroadcastOp::buildElement(ElementBuilder &elements, unsigned, ArrayRef<LaneIndex> index) {
  Value operand = getOperand();
  SmallVector<LaneIndex> source;
  std::optional<unsigned> doubtful; // an axis in lanes that may or may not repeat
  for (auto [k, axis] : llvm::enumerate(getAxes())) {
    std::optional<int64_t> size = knownSize(elements, operand, k);
    if (size == 1) {
      source.push_back(elements.constant(0));
    } else if (size || sameSize(elements, operand, k, getResult(), axis)) {
      source.push_back(index[axis]);
    } else if (index[axis].isUniform() || doubtful) {
      source.push_back(elements.clamp(index[axis], elements.size(operand, k)));
    } else {
      source.push_back(index[axis]);
      doubtful = k;
    }
  }
  if (!doubtful)
    return elements.load(operand, source);
  LaneIndex size = elements.uniform(elements.size(operand, *doubtful));
  return elements.choose(
      elements.equal(size, elements.constant(1)),
      [&] {
        source[*doubtful] = elements.constant(0);
        return elements.load(operand, source);
      },
      [&] {
        source[*doubtful] = index[getAxes()[*doubtful]];
        return elements.load(operand, source);
      });
}

Value TransposeOp::buildElement(ElementBuilder &elements, unsigned, ArrayRef<LaneIndex> index) {
  SmallVector<LaneIndex> source(index.size());
  for (auto [k, axis] : llvm::enumerate(getPermutation()))
    source[axis] = index[k];
  return elements.load(getOperand(), source);
}

Value ReverseOp::buildElement(ElementBuilder &elements, unsigned, ArrayRef<LaneIndex> index) {
  SmallVector<LaneIndex> source(index);
  for (int64_t axis : getAxes())
    source[axis] =
        elements.sub(difference(elements, elements.size(getOperand(), axis), elements.constant(1).base), index[axis]);
  return elements.load(getOperand(), source);
}

//===- reshape -------------------------------------------------------------------------------===//

namespace {
/// Adjacent axes of the operand that hold the same elements as adjacent axes of the result.
struct ReshapeGroup {
  int64_t operandBegin, operandEnd;
  int64_t resultBegin, resultEnd;
};
} // namespace

/// Splits a reshape into independent groups: equal axes at both ends are matched one to one, and runs of static axes
/// where their products meet. What is left is one group.
static SmallVector<ReshapeGroup> reshapeGroups(ElementBuilder &e, Value operand, Value result) {
  int64_t operandRank = tensor(operand).getRank(), resultRank = tensor(result).getRank();
  SmallVector<ReshapeGroup> front, back;
  int64_t o = 0, r = 0;
  /// Grows a group from one end until both sides have the same static product. Nothing when a `?` is in the way.
  auto meet = [&](int64_t oLimit, int64_t rLimit, int64_t step, int64_t oAt,
                  int64_t rAt) -> std::optional<std::pair<int64_t, int64_t>> {
    int64_t oCount = 0, rCount = 0;
    std::optional<int64_t> m = 1, n = 1;
    while (oCount == 0 || rCount == 0 || *m != *n) {
      bool growOperand = oCount == 0 || (rCount != 0 && *m < *n);
      if (growOperand ? oCount == oLimit : rCount == rLimit)
        return std::nullopt;
      std::optional<int64_t> size =
          growOperand ? knownSize(e, operand, oAt + step * oCount) : knownSize(e, result, rAt + step * rCount);
      if (!size || *size == 0)
        return std::nullopt;
      (growOperand ? *m : *n) *= *size;
      ++(growOperand ? oCount : rCount);
    }
    return std::pair(oCount, rCount);
  };
  while (o < operandRank && r < resultRank) {
    if (sameSize(e, operand, o, result, r)) {
      front.push_back({o, o + 1, r, r + 1});
      ++o, ++r;
      continue;
    }
    auto met = meet(operandRank - o, resultRank - r, 1, o, r);
    if (!met)
      break;
    front.push_back({o, o + met->first, r, r + met->second});
    o += met->first, r += met->second;
  }
  int64_t oEnd = operandRank, rEnd = resultRank;
  while (o < oEnd && r < rEnd) {
    if (sameSize(e, operand, oEnd - 1, result, rEnd - 1)) {
      back.push_back({oEnd - 1, oEnd, rEnd - 1, rEnd});
      --oEnd, --rEnd;
      continue;
    }
    auto met = meet(oEnd - o, rEnd - r, -1, oEnd - 1, rEnd - 1);
    if (!met)
      break;
    back.push_back({oEnd - met->first, oEnd, rEnd - met->second, rEnd});
    oEnd -= met->first, rEnd -= met->second;
  }
  if (o < oEnd || r < rEnd)
    front.push_back({o, oEnd, r, rEnd});
  front.append(back.rbegin(), back.rend());
  return front;
}

Value ReshapeOp::buildElement(ElementBuilder &elements, unsigned, ArrayRef<LaneIndex> index) {
  Value operand = getOperand(), result = getResult();
  SmallVector<LaneIndex> source(tensor(operand).getRank(), elements.constant(0));
  for (const ReshapeGroup &group : reshapeGroups(elements, operand, result)) {
    // Axes of size 1 take no part.
    SmallVector<int64_t> from, to;
    for (int64_t axis = group.resultBegin; axis < group.resultEnd; ++axis)
      if (knownSize(elements, result, axis) != 1)
        from.push_back(axis);
    for (int64_t axis = group.operandBegin; axis < group.operandEnd; ++axis)
      if (knownSize(elements, operand, axis) != 1)
        to.push_back(axis);
    LaneIndex flat = elements.constant(0);
    for (int64_t axis : from) {
      if (axis != from.front())
        flat = elements.mul(flat, elements.size(result, axis));
      flat = elements.add(flat, index[axis]);
    }
    for (size_t k = to.size(); k-- > 0;) {
      if (k == 0) {
        source[to[k]] = flat;
        break;
      }
      LaneIndex size = elements.uniform(elements.size(operand, to[k]));
      source[to[k]] = elements.rem(flat, size);
      flat = elements.div(flat, size);
    }
  }
  return elements.load(operand, source);
}

//===- slices --------------------------------------------------------------------------------===//

Value SliceOp::buildElement(ElementBuilder &elements, unsigned, ArrayRef<LaneIndex> index) {
  SmallVector<LaneIndex> source;
  for (auto [axis, position] : llvm::enumerate(index)) {
    LaneIndex at = elements.add(elements.mul(position, getSteps()[axis]), elements.constant(getStarts()[axis]));
    // A limit that is given may be past a size that is not.
    std::optional<int64_t> size = knownSize(elements, getOperand(), axis);
    bool inside = getLimits()[axis] == -1 || (size && getLimits()[axis] <= *size);
    source.push_back(inside ? at : elements.clamp(at, elements.size(getOperand(), axis)));
  }
  return elements.load(getOperand(), source);
}

/// `position + size` where it is negative.
static LaneIndex fromEnd(ElementBuilder &e, const LaneIndex &position, Value size) {
  LaneIndex zero = e.constant(0);
  return e.select(e.less(position, zero), e.add(position, e.uniform(size)), position);
}

Value RangeSliceOp::buildElement(ElementBuilder &elements, unsigned, ArrayRef<LaneIndex> index) {
  Value operand = getOperand();
  LaneIndex zero = elements.constant(0), one = elements.constant(1);
  SmallVector<LaneIndex> source;
  for (auto [axis, position] : llvm::enumerate(index)) {
    Value size = elements.size(operand, axis);
    LaneIndex step = entry(elements, getSteps(), axis),
              start = fromEnd(elements, entry(elements, getStarts(), axis), size);
    // Going up, the start lies in [0, size]; going down, in [-1, size - 1].
    LaneIndex last = elements.sub(elements.uniform(size), one);
    LaneIndex up = elements.max(elements.min(start, elements.uniform(size)), zero);
    LaneIndex down = elements.max(elements.min(start, last), elements.constant(-1));
    LaneIndex first = elements.select(elements.less(step, zero), down, up);
    LaneIndex at = elements.add(elements.mul(position, step.base), first);
    // A result size that is computed from the bounds keeps inside; one that a type claims may not.
    source.push_back(staticSize(getResult(), axis) ? elements.clamp(at, size) : at);
  }
  return elements.load(operand, source);
}

Value DynamicSliceOp::buildElement(ElementBuilder &elements, unsigned, ArrayRef<LaneIndex> index) {
  Value operand = getOperand();
  SmallVector<LaneIndex> source;
  for (auto [axis, position] : llvm::enumerate(index)) {
    Value size = elements.size(operand, axis);
    LaneIndex room = elements.sub(elements.uniform(size), elements.constant(getSizes()[axis]));
    LaneIndex start = elements.max(elements.min(entry(elements, getStarts(), axis), room), elements.constant(0));
    LaneIndex at = elements.add(position, start);
    source.push_back(knownSize(elements, operand, axis) ? at : elements.clamp(at, size));
  }
  return elements.load(operand, source);
}

Value DynamicUpdateSliceOp::buildElement(ElementBuilder &elements, unsigned, ArrayRef<LaneIndex> index) {
  Value operand = getOperand(), update = getUpdate();
  SmallVector<LaneIndex> source;
  Window window;
  for (auto [axis, position] : llvm::enumerate(index)) {
    if (sameSize(elements, operand, axis, update, axis)) {
      source.push_back(position);
      continue;
    }
    Value size = elements.size(update, axis);
    LaneIndex room = difference(elements, elements.size(operand, axis), size);
    LaneIndex start = elements.max(elements.min(entry(elements, getStarts(), axis), room), elements.constant(0));
    source.push_back(elements.sub(position, start));
    window.require(elements, source.back(), size);
  }
  return inWindow(
      elements, window,
      [&](bool clamped) { return elements.load(update, clamped ? clampAll(elements, update, source) : source); },
      [&] { return elements.load(operand, index); });
}

//===- larger tensors ------------------------------------------------------------------------===//

namespace {
/// Padding of one axis. `low` is uniform; a check is off where nothing is added. Modes that repeat elements do so with
/// `rest` of them from `removed` on, if these are there.
struct AxisPadding {
  LaneIndex low;
  int64_t interior = 0;
  bool checksLow = true, checksHigh = true;
  std::optional<LaneIndex> removed = std::nullopt;
  Value rest = nullptr;
};
} // namespace

static Value padElement(ElementBuilder &e, Value operand, Value fill, PadMode mode, ArrayRef<AxisPadding> paddings,
                        ArrayRef<LaneIndex> index) {
  SmallVector<LaneIndex> source;
  Window window;
  for (auto [axis, pair] : llvm::enumerate(llvm::zip(index, paddings))) {
    const auto &[position, padding] = pair;
    Value size = padding.rest ? padding.rest : e.size(operand, axis);
    LaneIndex at = e.sub(position, padding.low);
    if (padding.interior > 0) {
      LaneIndex period = e.constant(padding.interior + 1);
      LaneIndex left = e.mod(at, period);
      Value isElement = e.equal(left, e.constant(0));
      at = e.floorDiv(at, period);
      if (isa<VectorType>(isElement.getType())) {
        window.eachLane = both(e, window.eachLane, isElement);
        window.neverAll = true;
      } else {
        window.scalar = both(e, window.scalar, isElement);
      }
      window.require(e, at, size);
    } else if (padding.checksLow || padding.checksHigh) {
      window.require(e, at, size);
    }
    source.push_back(at);
  }
  if (mode == PadMode::constant)
    return inWindow(
        e, window, [&](bool clamped) { return e.load(operand, clamped ? clampAll(e, operand, source) : source); },
        [&] { return e.load(fill, {}); });

  auto loadFromRest = [&](SmallVector<LaneIndex> taken) {
    for (auto [at, padding] : llvm::zip(taken, paddings))
      if (padding.removed)
        at = e.add(at, *padding.removed);
    return e.load(operand, taken);
  };
  auto wrapped = [&]() -> Value {
    SmallVector<LaneIndex> taken;
    for (auto [axis, pair] : llvm::enumerate(llvm::zip(source, paddings))) {
      auto [at, padding] = pair;
      Value size = padding.rest ? padding.rest : e.size(operand, axis);
      if (padding.checksLow || padding.checksHigh) {
        if (mode == PadMode::wrap) {
          at = e.mod(at, e.uniform(size));
        } else if (mode == PadMode::reflect) {
          // -k and 2 * (size - 1) - (size - 1 + k) are k steps from an end.
          LaneIndex twice = e.mul(e.sub(e.uniform(size), e.constant(1)), 2);
          LaneIndex upper = e.min(at, e.sub(twice, at));
          at = e.max(upper, e.sub(e.constant(0), at));
        }
        at = e.clamp(at, size);
      }
      taken.push_back(at);
    }
    return loadFromRest(taken);
  };
  // One load serves every lane, inside or not; the branch keeps whole groups inside affine.
  if (!window.eachLane)
    return wrapped();
  if (window.neverAll || !window.allLanes)
    return wrapped();
  Value inside = both(e, window.scalar, window.allLanes);
  return e.choose(inside, [&] { return loadFromRest(source); }, wrapped);
}

/// Padding of an axis by a mode that repeats elements: what is negative is removed before the rest is padded.
static AxisPadding padRest(ElementBuilder &e, Value operand, int64_t axis, const LaneIndex &low,
                           const LaneIndex &high) {
  LaneIndex zero = e.constant(0), removed = e.max(e.sub(zero, low), zero), removedHigh = e.max(e.sub(zero, high), zero);
  Value rest = e.sub(e.sub(e.uniform(e.size(operand, axis)), removed), removedHigh).base;
  return {e.max(low, zero), 0, true, true, removed, rest};
}

Value PadOp::buildElement(ElementBuilder &elements, unsigned, ArrayRef<LaneIndex> index) {
  SmallVector<AxisPadding> paddings;
  for (auto [axis, amounts] : llvm::enumerate(llvm::zip(getLow(), getHigh(), getInterior()))) {
    auto [low, high, interior] = amounts;
    paddings.push_back({elements.constant(low), interior, low > 0, high > 0});
    if (getMode() != PadMode::constant && (low < 0 || high < 0))
      paddings.back() =
          padRest(elements, getOperand(), static_cast<int64_t>(axis), elements.constant(low), elements.constant(high));
  }
  return padElement(elements, getOperand(), getValue(), getMode(), paddings, index);
}

Value DynamicPadOp::buildElement(ElementBuilder &elements, unsigned, ArrayRef<LaneIndex> index) {
  std::optional<SmallVector<int64_t>> lows = constantInts(getLow()), highs = constantInts(getHigh());
  SmallVector<AxisPadding> paddings;
  for (int64_t axis = 0, rank = index.size(); axis < rank; ++axis) {
    LaneIndex low = entry(elements, getLow(), axis);
    if (getMode() == PadMode::constant)
      paddings.push_back({low, 0, !lows || (*lows)[axis] > 0, !highs || (*highs)[axis] > 0});
    else
      paddings.push_back(padRest(elements, getOperand(), axis, low, entry(elements, getHigh(), axis)));
  }
  return padElement(elements, getOperand(), getValue(), getMode(), paddings, index);
}

Value ConcatenateOp::buildElement(ElementBuilder &elements, unsigned, ArrayRef<LaneIndex> index) {
  int64_t axis = getAxis();
  const LaneIndex &at = index[axis];
  OperandRange operands = getOperands();
  SmallVector<LaneIndex> offsets{elements.constant(0)};
  for (Value operand : operands)
    offsets.push_back(elements.add(offsets.back(), elements.uniform(elements.size(operand, axis))));
  auto load = [&](size_t i, bool clamped) {
    SmallVector<LaneIndex> source(index);
    source[axis] = elements.sub(at, offsets[i]);
    if (clamped)
      source[axis] = elements.clamp(source[axis], elements.size(operands[i], axis));
    return elements.load(operands[i], source);
  };

  // Lanes that cannot straddle a boundary act as one.
  int64_t span = std::abs(at.stride) * elements.lanes;
  bool together =
      !at.varying &&
      (at.stride == 0 || (at.stride > 0 && at.multiple % span == 0 &&
                          llvm::all_of(offsets, [&](const LaneIndex &offset) { return offset.multiple % span == 0; })));
  size_t last = operands.size() - 1;
  // What `leaf` makes of the operand that `place` lies in, found by halves: lists are long where joins of joins were
  // one.
  std::function<Value(size_t, size_t, const LaneIndex &, function_ref<Value(size_t)>)> search =
      [&](size_t low, size_t high, const LaneIndex &place, function_ref<Value(size_t)> leaf) -> Value {
    if (low == high)
      return leaf(low);
    size_t middle = low + (high - low) / 2;
    return elements.choose(
        elements.less(place, offsets[middle + 1]), [&] { return search(low, middle, place, leaf); },
        [&] { return search(middle + 1, high, place, leaf); });
  };
  auto loadThere = [&](size_t i) { return load(i, false); };
  if (together)
    return search(0, last, LaneIndex{at.base, 0, nullptr, at.multiple}, loadThere);
  auto byLane = [&] { return search(0, last, at, [&](size_t i) { return load(i, true); }); };
  if (at.varying)
    return byLane();
  LaneIndex first{at.base, 0, nullptr, 1}, end = elements.lastLane(at);
  LaneIndex low = at.stride > 0 ? first : end, high = at.stride > 0 ? end : first;
  constexpr size_t kFew = 4;
  if (operands.size() > kFew) {
    Value isOne = search(0, last, low, [&](size_t i) { return elements.less(high, offsets[i + 1]); });
    return elements.choose(isOne, [&] { return search(0, last, low, loadThere); }, byLane);
  }
  std::function<Value(size_t)> from = [&](size_t i) -> Value {
    if (i > last)
      return byLane();
    Value alone = both(elements, i == 0 ? Value() : elements.less(elements.sub(offsets[i], elements.constant(1)), low),
                       i == last ? Value() : elements.less(high, offsets[i + 1]));
    return alone ? elements.choose(alone, [&] { return load(i, false); }, [&] { return from(i + 1); }) : load(i, false);
  };
  return from(0);
}

Value TileOp::buildElement(ElementBuilder &elements, unsigned, ArrayRef<LaneIndex> index) {
  SmallVector<LaneIndex> source;
  for (auto [axis, position] : llvm::enumerate(index)) {
    if (sameSize(elements, getOperand(), axis, getResult(), axis))
      source.push_back(position);
    else
      source.push_back(elements.rem(position, elements.uniform(elements.size(getOperand(), axis))));
  }
  return elements.load(getOperand(), source);
}

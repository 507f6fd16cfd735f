// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Elements.h"
#include "ir/Constants.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace sinter;

/// The value of a constant scalar.
static std::optional<int64_t> known(Value index) {
  return index && !isa<VectorType>(index.getType()) ? getConstantIntValue(index) : std::nullopt;
}
static std::optional<int64_t> known(const LaneIndex &index) {
  return index.isUniform() ? known(index.base) : std::nullopt;
}
static Value number(OpBuilder &b, Location loc, int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }

/// Sums and products of scalars and of lane vectors; constants disappear here so that equal indices look equal.
static Value addValues(OpBuilder &b, Location loc, Value x, Value y) {
  std::optional<int64_t> m = known(x), n = known(y);
  if (m == 0)
    return y;
  if (n == 0)
    return x;
  if (m && n)
    return number(b, loc, *m + *n);
  return arith::AddIOp::create(b, loc, x, y);
}
static Value subValues(OpBuilder &b, Location loc, Value x, Value y) {
  std::optional<int64_t> m = known(x), n = known(y);
  if (n == 0)
    return x;
  if (m && n)
    return number(b, loc, *m - *n);
  return arith::SubIOp::create(b, loc, x, y);
}
static Value mulValues(OpBuilder &b, Location loc, Value x, Value y) {
  std::optional<int64_t> m = known(x), n = known(y);
  if (m == 1)
    return y;
  if (n == 1)
    return x;
  if (m && n)
    return number(b, loc, *m * *n);
  return arith::MulIOp::create(b, loc, x, y);
}

//===- forms ---------------------------------------------------------------------------------===//

LaneIndex ElementBuilder::constant(int64_t value) { return {number(b, loc, value), 0, nullptr, std::abs(value)}; }

LaneIndex ElementBuilder::uniform(Value index) {
  std::optional<int64_t> value = known(index);
  return {index, 0, nullptr, value ? std::abs(*value) : 1};
}

SmallVector<LaneIndex> ElementBuilder::uniform(ArrayRef<Value> position) {
  return llvm::map_to_vector(position, [&](Value index) { return uniform(index); });
}

static LaneIndex varyingIndex(Value lanes) { return {nullptr, 0, lanes, 1}; }

Value ElementBuilder::splat(Value scalar) {
  if (lanes == 1 || isa<VectorType>(scalar.getType()))
    return scalar;
  return vector::BroadcastOp::create(b, loc, VectorType::get({lanes}, scalar.getType()), scalar);
}

Value ElementBuilder::toValue(const LaneIndex &index) {
  if (index.varying)
    return index.varying;
  if (index.stride == 0)
    return index.base;
  SmallVector<int64_t> steps;
  for (int64_t lane = 0; lane < lanes; ++lane)
    steps.push_back(lane * index.stride);
  auto type = VectorType::get({lanes}, b.getIndexType());
  Value offsets = arith::ConstantOp::create(b, loc, type, DenseElementsAttr::get(type, ArrayRef(steps)));
  return known(index.base) == 0 ? offsets : Value(arith::AddIOp::create(b, loc, splat(index.base), offsets));
}

LaneIndex ElementBuilder::fromValue(Value value) {
  auto vector = dyn_cast<VectorType>(value.getType());
  if (!vector) {
    if (!value.getType().isIndex())
      value = arith::IndexCastOp::create(b, loc, b.getIndexType(), value);
    return uniform(value);
  }
  if (!vector.getElementType().isIndex())
    value = arith::IndexCastOp::create(b, loc, VectorType::get(vector.getShape(), b.getIndexType()), value);
  return varyingIndex(value);
}

LaneIndex ElementBuilder::lastLane(const LaneIndex &a) {
  assert(!a.varying && "lanes without an affine form have no last one");
  return {addValues(b, loc, a.base, number(b, loc, (lanes - 1) * a.stride)), 0, nullptr, 1};
}

//===- arithmetic ----------------------------------------------------------------------------===//

LaneIndex ElementBuilder::add(const LaneIndex &x, const LaneIndex &y) {
  if (!x.varying && !y.varying)
    return {addValues(b, loc, x.base, y.base), x.stride + y.stride, nullptr, std::gcd(x.multiple, y.multiple)};
  if (known(x) == 0)
    return y;
  if (known(y) == 0)
    return x;
  return varyingIndex(arith::AddIOp::create(b, loc, splat(toValue(x)), splat(toValue(y))));
}

LaneIndex ElementBuilder::sub(const LaneIndex &x, const LaneIndex &y) {
  if (!x.varying && !y.varying)
    return {subValues(b, loc, x.base, y.base), x.stride - y.stride, nullptr, std::gcd(x.multiple, y.multiple)};
  if (known(y) == 0)
    return x;
  return varyingIndex(arith::SubIOp::create(b, loc, splat(toValue(x)), splat(toValue(y))));
}

LaneIndex ElementBuilder::mul(const LaneIndex &a, int64_t factor) {
  if (factor == 0)
    return constant(0);
  if (factor == 1)
    return a;
  Value value = number(b, loc, factor);
  if (!a.varying)
    return {mulValues(b, loc, a.base, value), a.stride * factor, nullptr, a.multiple * std::abs(factor)};
  return varyingIndex(arith::MulIOp::create(b, loc, a.varying, splat(value)));
}

LaneIndex ElementBuilder::mul(const LaneIndex &a, Value factor) {
  if (std::optional<int64_t> value = known(factor))
    return mul(a, *value);
  if (a.isUniform())
    return {mulValues(b, loc, a.base, factor), 0, nullptr, a.multiple};
  return varyingIndex(arith::MulIOp::create(b, loc, toValue(a), splat(factor)));
}

/// All lanes of `a` fall into one row of a constant `divisor`.
bool ElementBuilder::staysInRow(const LaneIndex &a, const LaneIndex &divisor) const {
  std::optional<int64_t> size = known(divisor);
  if (a.varying || a.stride <= 0 || !size || *size <= 0)
    return false;
  // The base is a multiple of the row's part that the lanes span.
  int64_t span = a.stride * lanes;
  return *size % span == 0 && a.multiple % span == 0;
}

namespace {
/// A quotient or remainder of values of one form.
struct Divider {
  OpBuilder &b;
  Location loc;
  Value splatted(Value scalar, Type type) const {
    if (auto vector = dyn_cast<VectorType>(type); vector && !isa<VectorType>(scalar.getType()))
      return vector::BroadcastOp::create(b, loc, vector, scalar);
    return scalar;
  }
  Value bits(int64_t value, Type type) const { return buildConstant(b, loc, type, value); }

  Value quotient(Value a, Value divisor, bool nonNegative) const {
    std::optional<int64_t> n = known(divisor), m = known(a);
    if (n == 1)
      return a;
    if (m && n && *n > 0)
      return number(b, loc, llvm::divideFloorSigned(*m, *n));
    if (n && llvm::isPowerOf2_64(*n)) {
      Value shift = bits(llvm::Log2_64(*n), a.getType());
      return nonNegative ? Value(arith::ShRUIOp::create(b, loc, a, shift))
                         : Value(arith::ShRSIOp::create(b, loc, a, shift));
    }
    divisor = splatted(divisor, a.getType());
    if (nonNegative)
      return arith::DivUIOp::create(b, loc, a, divisor);
    // Truncation, less one where the remainder is negative.
    Value truncated = arith::DivSIOp::create(b, loc, a, divisor);
    Value left = arith::RemSIOp::create(b, loc, a, divisor);
    Value negative = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, left, bits(0, a.getType()));
    Value below = arith::SubIOp::create(b, loc, truncated, bits(1, a.getType()));
    return arith::SelectOp::create(b, loc, negative, below, truncated);
  }

  Value remainder(Value a, Value divisor, bool nonNegative) const {
    std::optional<int64_t> n = known(divisor), m = known(a);
    if (n == 1)
      return bits(0, a.getType());
    if (m && n && *n > 0)
      return number(b, loc, *m - *n * llvm::divideFloorSigned(*m, *n));
    if (n && llvm::isPowerOf2_64(*n))
      return arith::AndIOp::create(b, loc, a, bits(*n - 1, a.getType()));
    divisor = splatted(divisor, a.getType());
    if (nonNegative)
      return arith::RemUIOp::create(b, loc, a, divisor);
    Value left = arith::RemSIOp::create(b, loc, a, divisor);
    Value negative = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, left, bits(0, a.getType()));
    return arith::SelectOp::create(b, loc, negative, arith::AddIOp::create(b, loc, left, divisor), left);
  }
};
} // namespace

/// What divides a quotient by `divisor`, given what divides the dividend.
static int64_t quotientMultiple(const LaneIndex &a, const LaneIndex &divisor) {
  std::optional<int64_t> n = known(divisor);
  return n && *n > 0 && a.multiple % *n == 0 ? a.multiple / *n : 1;
}

static LaneIndex divide(ElementBuilder &e, const LaneIndex &a, const LaneIndex &divisor, bool inRow, bool nonNegative) {
  Divider divider{e.b, e.loc};
  if (known(divisor) == 1)
    return a;
  if ((a.isUniform() || inRow) && divisor.isUniform())
    return {divider.quotient(a.base, divisor.base, nonNegative), 0, nullptr, quotientMultiple(a, divisor)};
  Value by = divisor.isUniform() ? divisor.base : e.toValue(divisor);
  return varyingIndex(divider.quotient(e.splat(e.toValue(a)), by, nonNegative));
}

static LaneIndex remain(ElementBuilder &e, const LaneIndex &a, const LaneIndex &divisor, bool inRow, bool nonNegative) {
  Divider divider{e.b, e.loc};
  if (known(divisor) == 1)
    return e.constant(0);
  if ((a.isUniform() || inRow) && divisor.isUniform())
    return {divider.remainder(a.base, divisor.base, nonNegative), a.stride, nullptr,
            std::gcd(a.multiple, divisor.multiple)};
  Value by = divisor.isUniform() ? divisor.base : e.toValue(divisor);
  return varyingIndex(divider.remainder(e.splat(e.toValue(a)), by, nonNegative));
}

LaneIndex ElementBuilder::floorDiv(const LaneIndex &a, const LaneIndex &divisor) {
  return divide(*this, a, divisor, staysInRow(a, divisor), false);
}
LaneIndex ElementBuilder::mod(const LaneIndex &a, const LaneIndex &divisor) {
  return remain(*this, a, divisor, staysInRow(a, divisor), false);
}
LaneIndex ElementBuilder::div(const LaneIndex &a, const LaneIndex &divisor) {
  return divide(*this, a, divisor, staysInRow(a, divisor), true);
}
LaneIndex ElementBuilder::rem(const LaneIndex &a, const LaneIndex &divisor) {
  return remain(*this, a, divisor, staysInRow(a, divisor), true);
}

LaneIndex ElementBuilder::min(const LaneIndex &x, const LaneIndex &y) {
  if (x.isUniform() && y.isUniform()) {
    std::optional<int64_t> m = known(x), n = known(y);
    return m && n ? constant(std::min(*m, *n)) : uniform(arith::MinSIOp::create(b, loc, x.base, y.base));
  }
  return varyingIndex(arith::MinSIOp::create(b, loc, splat(toValue(x)), splat(toValue(y))));
}

LaneIndex ElementBuilder::max(const LaneIndex &x, const LaneIndex &y) {
  if (x.isUniform() && y.isUniform()) {
    std::optional<int64_t> m = known(x), n = known(y);
    return m && n ? constant(std::max(*m, *n)) : uniform(arith::MaxSIOp::create(b, loc, x.base, y.base));
  }
  return varyingIndex(arith::MaxSIOp::create(b, loc, splat(toValue(x)), splat(toValue(y))));
}

LaneIndex ElementBuilder::clamp(const LaneIndex &a, Value size) {
  if (known(size) == 1)
    return constant(0);
  return max(min(a, uniform(subValues(b, loc, size, number(b, loc, 1)))), constant(0));
}

//===- choices -------------------------------------------------------------------------------===//

LaneIndex ElementBuilder::select(Value condition, const LaneIndex &ifTrue, const LaneIndex &ifFalse) {
  bool scalar = !isa<VectorType>(condition.getType());
  if (scalar && !ifTrue.varying && !ifFalse.varying && ifTrue.stride == ifFalse.stride)
    return {arith::SelectOp::create(b, loc, condition, ifTrue.base, ifFalse.base), ifTrue.stride, nullptr,
            std::gcd(ifTrue.multiple, ifFalse.multiple)};
  return varyingIndex(arith::SelectOp::create(b, loc, condition, splat(toValue(ifTrue)), splat(toValue(ifFalse))));
}

static Value compare(ElementBuilder &e, arith::CmpIPredicate predicate, const LaneIndex &x, const LaneIndex &y) {
  // With equal lane steps the bases decide equality for all lanes.
  bool alike = !x.varying && !y.varying && x.stride == y.stride;
  if (alike)
    return arith::CmpIOp::create(e.b, e.loc, predicate, x.base, y.base);
  return arith::CmpIOp::create(e.b, e.loc, predicate, e.splat(e.toValue(x)), e.splat(e.toValue(y)));
}

Value ElementBuilder::less(const LaneIndex &x, const LaneIndex &y) {
  return compare(*this, arith::CmpIPredicate::slt, x, y);
}
Value ElementBuilder::equal(const LaneIndex &x, const LaneIndex &y) {
  return compare(*this, arith::CmpIPredicate::eq, x, y);
}
Value ElementBuilder::inRange(const LaneIndex &a, Value size) {
  return compare(*this, arith::CmpIPredicate::ult, a, uniform(size)); // a negative index is a huge one
}

Value ElementBuilder::floatConstant(Type type, double value) { return buildConstant(b, loc, type, value); }
Value ElementBuilder::intConstant(Type type, int64_t value) { return buildConstant(b, loc, type, value); }

void ElementBuilder::unify(MutableArrayRef<Value> values) {
  if (llvm::none_of(values, [](Value value) { return isa<VectorType>(value.getType()); }))
    return;
  for (Value &value : values)
    value = splat(value);
}

Value ElementBuilder::choose(Value condition, function_ref<Value()> ifTrue, function_ref<Value()> ifFalse) {
  if (std::optional<int64_t> value = known(condition))
    return *value ? ifTrue() : ifFalse();
  if (isa<VectorType>(condition.getType())) {
    Value sides[] = {ifTrue(), ifFalse()};
    sides[0] = splat(sides[0]);
    sides[1] = splat(sides[1]);
    return arith::SelectOp::create(b, loc, condition, sides[0], sides[1]);
  }

  // The sides are built before the type that both of them take is known.
  auto draft = scf::IfOp::create(b, loc, TypeRange(), condition, /*withElseRegion=*/true);
  Value sides[2];
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(draft.thenBlock());
    sides[0] = ifTrue();
    b.setInsertionPointToStart(draft.elseBlock());
    sides[1] = ifFalse();
    bool spread = isa<VectorType>(sides[0].getType()) || isa<VectorType>(sides[1].getType());
    for (auto [side, block] : llvm::zip(sides, SmallVector<Block *>{draft.thenBlock(), draft.elseBlock()})) {
      b.setInsertionPoint(block->getTerminator());
      if (spread)
        side = splat(side);
      scf::YieldOp::create(b, loc, side);
      block->getTerminator()->erase();
    }
  }
  auto chosen = scf::IfOp::create(b, loc, TypeRange(sides[0].getType()), condition, /*withElseRegion=*/true);
  chosen.getThenRegion().takeBody(draft.getThenRegion());
  chosen.getElseRegion().takeBody(draft.getElseRegion());
  draft.erase();
  return chosen.getResult(0);
}

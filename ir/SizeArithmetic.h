// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What size expressions (Dims.h) mean as numbers, and the one walk that computes them for whoever needs them: as
// numbers of the host, as ops of a schedule, as arith ops in a kernel, as LLVM in an entry function.
//
//   sums, products   of two numbers at a time, from the first operand on; what exceeds 64 bits stays at the nearest
//                    number
//   floor_div        x / y rounded down
//   ceil_div         x / y rounded up
//   mod              x - y * floor_div(x, y)
//   x / 0            as x / 1: floor_div and ceil_div are x, mod is 0
//   least / -1       the greatest number; mod is 0
//
// Nothing traps. Users see neither case as a size: the rule of no op divides by what may be 0 (they take a maximum with
// 1, or ask bounds), and a tensor of 2^63 - 1 elements is refused where its sizes are checked. DimContext simplifies
// exactly, as if numbers had no end, and divides by a term only where it is surely not 0; so two forms of an expression
// differ at most where one of them exceeds 64 bits on the way.

#ifndef SINTER_IR_SIZEARITHMETIC_H
#define SINTER_IR_SIZEARITHMETIC_H

#include "ir/Dims.h"
#include "ir/Ranges.h"
#include "mlir/IR/Builders.h"
#include <algorithm>
#include <limits>

namespace sinter {

inline constexpr int64_t kLeastSize = std::numeric_limits<int64_t>::min();
inline constexpr int64_t kGreatestSize = std::numeric_limits<int64_t>::max();

/// A number of some target, with numbers that it is surely not below and not above.
template <typename Value> struct SizeNumber {
  Value value;
  int64_t low = kLeastSize, high = kGreatestSize;

  bool isConstant() const { return low == high; }
  bool mayBe(int64_t number) const { return low <= number && number <= high; }
};

/// Calls `visit` for `expr` and what it consists of, operands first and from the first on, without recursion: sizes of
/// deep graphs are deep. What `isKnown` holds for is left out.
void visitSize(DimExpr expr, llvm::function_ref<bool(DimExpr)> isKnown, llvm::function_ref<void(DimExpr)> visit);

/// Computes `expr`: `leaf` gives constants and symbols, `combine(kind, number, number)` makes one number of two.
/// `lookup` gives what is known already, a null Value for all else; `keep(part, value)` is called for the rest in
/// order.
template <typename Value, typename Combine>
Value buildSize(DimContext &dims, DimExpr expr, llvm::function_ref<Value(DimExpr)> lookup,
                llvm::function_ref<void(DimExpr, Value)> keep, llvm::function_ref<Value(DimExpr)> leaf,
                Combine combine) {
  auto number = [&](DimExpr part) -> SizeNumber<Value> {
    DimBounds bounds = dims.bounds(part);
    return {lookup(part), bounds.low.value_or(kLeastSize), bounds.high.value_or(kGreatestSize)};
  };
  auto isKnown = [&](DimExpr part) { return bool(lookup(part)); };
  visitSize(expr, isKnown, [&](DimExpr part) {
    if (part.operands().empty())
      return keep(part, leaf(part));
    SizeNumber<Value> made = number(part.operands().front());
    for (DimExpr operand : part.operands().drop_front())
      made = combine(part.kind(), made, number(operand));
    keep(part, made.value);
  });
  return lookup(expr);
}

/// Two numbers combined by the kind of an expression, in operations of `Target`, which has a type Value and
///   constant(int64_t); add, mul, min, max(Value, Value)        add and mul are only asked for what fits
///   saturatingAdd, saturatingMul(SizeNumber, SizeNumber)       the nearest number where it does not
///   quotient, remainder(Value, Value)                          toward zero; never by 0, nor the least number by -1
///   isLess, isEqual(Value, Value), both, either(of two conditions), select(condition, Value, Value)
/// Conditions are of whatever type isLess returns. What the bounds exclude costs nothing.
template <typename Target> class SizeArithmetic {
public:
  using Value = typename Target::Value;
  using Number = SizeNumber<Value>;

  explicit SizeArithmetic(Target &target) : t(target) {}

  Number combine(DimExpr::Kind kind, Number x, Number y) {
    switch (kind) {
    case DimExpr::Kind::Add:
      return sum(x, y);
    case DimExpr::Kind::Mul:
      return product(x, y);
    case DimExpr::Kind::Min:
      return {t.min(x.value, y.value), std::min(x.low, y.low), std::min(x.high, y.high)};
    case DimExpr::Kind::Max:
      return {t.max(x.value, y.value), std::max(x.low, y.low), std::max(x.high, y.high)};
    case DimExpr::Kind::FloorDiv:
    case DimExpr::Kind::CeilDiv:
    case DimExpr::Kind::Mod:
      return divide(kind, x, y);
    case DimExpr::Kind::Constant:
    case DimExpr::Kind::Symbol:
      break;
    }
    llvm_unreachable("constants and symbols have no operands to combine");
  }

private:
  Number constant(int64_t number) { return {t.constant(number), number, number}; }

  Number sum(Number x, Number y) {
    if (x.isConstant() && x.low == 0)
      return y;
    if (y.isConstant() && y.low == 0)
      return x;
    int64_t low, high;
    bool below = __builtin_add_overflow(x.low, y.low, &low), above = __builtin_add_overflow(x.high, y.high, &high);
    return {below || above ? t.saturatingAdd(x, y) : t.add(x.value, y.value), saturatingAdd(x.low, y.low),
            saturatingAdd(x.high, y.high)};
  }

  Number product(Number x, Number y) {
    if (x.isConstant() && x.low == 1)
      return y;
    if (y.isConstant() && y.low == 1)
      return x;
    bool fits = true;
    int64_t low = kGreatestSize, high = kLeastSize;
    for (int64_t a : {x.low, x.high})
      for (int64_t b : {y.low, y.high}) {
        int64_t corner;
        fits &= !__builtin_mul_overflow(a, b, &corner);
        low = std::min(low, saturatingMul(a, b));
        high = std::max(high, saturatingMul(a, b));
      }
    return {fits ? t.mul(x.value, y.value) : t.saturatingMul(x, y), low, high};
  }

  Number divide(DimExpr::Kind kind, Number x, Number y) {
    Number result = {Value(), kLeastSize, kGreatestSize};
    if (y.low >= 0 && kind == DimExpr::Kind::Mod)
      result = {Value(), 0, std::max<int64_t>(y.high - 1, 0)};
    else if (y.low >= 0)
      result = {Value(), std::min<int64_t>(x.low, 0), std::max<int64_t>(x.high, 0)};
    if (y.mayBe(0)) {
      y.value = t.select(t.isEqual(y.value, t.constant(0)), t.constant(1), y.value);
      y = {y.value, y.low == 0 ? 1 : y.low, std::max<int64_t>(y.high, 1)};
    }
    if (y.mayBe(-1) && x.mayBe(kLeastSize)) {
      Value next = t.max(x.value, t.constant(-kGreatestSize));
      x.value = t.select(t.isEqual(y.value, t.constant(-1)), next, x.value);
    }
    // The remainder has the sign of the dividend; the quotient is rounded toward zero.
    Value remainder = t.remainder(x.value, y.value);
    bool isPositive = x.low >= 0 && y.low > 0;
    if (kind == DimExpr::Kind::Mod) {
      result.value = remainder;
      if (!isPositive)
        result.value = t.select(hasSign(remainder, y, false), t.add(remainder, y.value), remainder);
      return result;
    }
    Value quotient = t.quotient(x.value, y.value);
    result.value = quotient;
    if (kind == DimExpr::Kind::CeilDiv)
      result.value = t.select(hasSign(remainder, y, true), t.add(quotient, t.constant(1)), quotient);
    else if (!isPositive)
      result.value = t.select(hasSign(remainder, y, false), t.add(quotient, t.constant(-1)), quotient);
    return result;
  }

  /// Whether a remainder is not 0 and has the divisor's sign (`same`), or the other one.
  auto hasSign(Value remainder, Number divisor, bool same) {
    Value zero = t.constant(0);
    auto sign = [&](bool positive) { return positive ? t.isLess(zero, remainder) : t.isLess(remainder, zero); };
    if (divisor.low > 0 || divisor.high < 0)
      return sign(same == (divisor.low > 0));
    auto up = t.both(t.isLess(zero, divisor.value), sign(same));
    auto down = t.both(t.isLess(divisor.value, zero), sign(!same));
    return t.either(up, down);
  }

  Target &t;
};

/// The same in numbers of the host.
int64_t combineSizes(DimExpr::Kind kind, int64_t x, int64_t y);

/// The number that `expr` is where `symbol` says what its symbols are.
int64_t evaluateSize(DimContext &dims, DimExpr expr, llvm::function_ref<int64_t(DimExpr symbol)> symbol);

/// The target of kernels: arith ops on numbers of type index.
class ArithSizes {
public:
  using Value = mlir::Value;
  using Number = SizeNumber<Value>;

  ArithSizes(mlir::OpBuilder &builder, mlir::Location loc) : b(builder), loc(loc) {}

  Value constant(int64_t number);
  Value add(Value x, Value y);
  Value mul(Value x, Value y);
  Value min(Value x, Value y);
  Value max(Value x, Value y);
  Value saturatingAdd(Number x, Number y);
  Value saturatingMul(Number x, Number y);
  Value quotient(Value x, Value y);
  Value remainder(Value x, Value y);
  Value isLess(Value x, Value y);
  Value isEqual(Value x, Value y);
  Value both(Value x, Value y);
  Value either(Value x, Value y);
  Value select(Value condition, Value x, Value y);

private:
  mlir::OpBuilder &b;
  mlir::Location loc;
};

} // namespace sinter

#endif

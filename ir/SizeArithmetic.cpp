// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/SizeArithmetic.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include <optional>

using namespace mlir;
using namespace sinter;

void sinter::visitSize(DimExpr expr, llvm::function_ref<bool(DimExpr)> isKnown,
                       llvm::function_ref<void(DimExpr)> visit) {
  SmallVector<DimExpr> stack{expr};
  while (!stack.empty()) {
    DimExpr next = stack.back();
    size_t before = stack.size();
    if (!isKnown(next))
      for (DimExpr operand : llvm::reverse(next.operands()))
        if (!isKnown(operand))
          stack.push_back(operand);
    if (stack.size() > before)
      continue;
    stack.pop_back();
    if (!isKnown(next))
      visit(next);
  }
}

//===- numbers of the host -------------------------------------------------------------------------===//

namespace {
struct HostSizes {
  using Value = int64_t;
  using Number = SizeNumber<int64_t>;

  static int64_t constant(int64_t number) { return number; }
  static int64_t add(int64_t x, int64_t y) { return x + y; }
  static int64_t mul(int64_t x, int64_t y) { return x * y; }
  static int64_t min(int64_t x, int64_t y) { return std::min(x, y); }
  static int64_t max(int64_t x, int64_t y) { return std::max(x, y); }
  static int64_t saturatingAdd(Number x, Number y) { return sinter::saturatingAdd(x.value, y.value); }
  static int64_t saturatingMul(Number x, Number y) { return sinter::saturatingMul(x.value, y.value); }
  static int64_t quotient(int64_t x, int64_t y) { return x / y; }
  static int64_t remainder(int64_t x, int64_t y) { return x % y; }
  static bool isLess(int64_t x, int64_t y) { return x < y; }
  static bool isEqual(int64_t x, int64_t y) { return x == y; }
  static bool both(bool x, bool y) { return x && y; }
  static bool either(bool x, bool y) { return x || y; }
  static int64_t select(bool condition, int64_t x, int64_t y) { return condition ? x : y; }
};
} // namespace

int64_t sinter::combineSizes(DimExpr::Kind kind, int64_t x, int64_t y) {
  HostSizes host;
  return SizeArithmetic<HostSizes>(host).combine(kind, {x, x, x}, {y, y, y}).value;
}

int64_t sinter::evaluateSize(DimContext &dims, DimExpr expr, llvm::function_ref<int64_t(DimExpr)> symbol) {
  using Known = std::optional<int64_t>;
  llvm::DenseMap<const void *, int64_t> made;
  auto lookup = [&](DimExpr part) -> Known {
    auto found = made.find(part.getOpaqueValue());
    return found == made.end() ? Known() : found->second;
  };
  return *buildSize<Known>(
      dims, expr, lookup, [&](DimExpr part, Known value) { made[part.getOpaqueValue()] = *value; },
      [&](DimExpr part) { return Known(part.isConstant() ? part.constant() : symbol(part)); },
      [](DimExpr::Kind kind, SizeNumber<Known> x, SizeNumber<Known> y) {
        return SizeNumber<Known>{combineSizes(kind, *x.value, *y.value)};
      });
}

//===- arith ops -----------------------------------------------------------------------------------===//

Value ArithSizes::constant(int64_t number) { return arith::ConstantIndexOp::create(b, loc, number); }
Value ArithSizes::add(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
Value ArithSizes::mul(Value x, Value y) { return arith::MulIOp::create(b, loc, x, y); }
Value ArithSizes::min(Value x, Value y) { return arith::MinSIOp::create(b, loc, x, y); }
Value ArithSizes::max(Value x, Value y) { return arith::MaxSIOp::create(b, loc, x, y); }
Value ArithSizes::quotient(Value x, Value y) { return arith::DivSIOp::create(b, loc, x, y); }
Value ArithSizes::remainder(Value x, Value y) { return arith::RemSIOp::create(b, loc, x, y); }
Value ArithSizes::isLess(Value x, Value y) { return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, x, y); }
Value ArithSizes::isEqual(Value x, Value y) { return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, x, y); }
Value ArithSizes::both(Value x, Value y) { return arith::AndIOp::create(b, loc, x, y); }
Value ArithSizes::either(Value x, Value y) { return arith::OrIOp::create(b, loc, x, y); }
Value ArithSizes::select(Value condition, Value x, Value y) { return arith::SelectOp::create(b, loc, condition, x, y); }

Value ArithSizes::saturatingAdd(Number x, Number y) {
  Value sum = add(x.value, y.value);
  if (x.low >= 0 && y.low >= 0) // less than 2^64
    return arith::MinUIOp::create(b, loc, sum, constant(kGreatestSize));
  // Both have the sign that the sum has not.
  Value sign = both(arith::XOrIOp::create(b, loc, x.value, sum), arith::XOrIOp::create(b, loc, y.value, sum));
  Value zero = constant(0);
  Value nearest = select(isLess(x.value, zero), constant(kLeastSize), constant(kGreatestSize));
  return select(isLess(sign, zero), nearest, sum);
}

Value ArithSizes::saturatingMul(Number x, Number y) {
  if (y.isConstant())
    std::swap(x, y);
  if (x.isConstant() && x.low == -1)
    return arith::SubIOp::create(b, loc, constant(0), max(y.value, constant(-kGreatestSize)));
  if (int64_t factor = x.low; x.isConstant() && factor != 0) {
    // One product and, for each end that the other may go beyond, one comparison with a constant.
    Value product = mul(x.value, y.value);
    int64_t least = (factor > 0 ? kLeastSize : kGreatestSize) / factor;
    int64_t greatest = (factor > 0 ? kGreatestSize : kLeastSize) / factor;
    if (y.high > greatest)
      product = select(isLess(constant(greatest), y.value), constant(factor > 0 ? kGreatestSize : kLeastSize), product);
    if (y.low < least)
      product = select(isLess(y.value, constant(least)), constant(factor > 0 ? kLeastSize : kGreatestSize), product);
    return product;
  }
  auto both = arith::MulSIExtendedOp::create(b, loc, x.value, y.value);
  Value sign = arith::ShRSIOp::create(b, loc, both.getLow(), constant(63));
  Value nearest = constant(kGreatestSize);
  if (x.low < 0 || y.low < 0)
    nearest = select(isLess(both.getHigh(), constant(0)), constant(kLeastSize), nearest);
  return select(isEqual(both.getHigh(), sign), both.getLow(), nearest);
}

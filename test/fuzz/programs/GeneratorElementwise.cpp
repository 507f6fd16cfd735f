// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps of one element at a time.

#include "ir/Elementwise.h"
#include "test/fuzz/programs/Generator.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::test;

/// Functions of one argument, each where it is smooth and its derivative small: the argument is prepared first.
void RegionGenerator::smooth() {
  Known k = pickFloat();
  if (!k.value)
    return;
  Value x = k.value;
  auto unit = [&](double scale) { return c.make<MulOp>(number(k, scale), c.make<TanhOp>(x)); }; // (-scale, scale)
  auto above = [&](double low) { return c.make<AddOp>(c.make<MulOp>(x, x), number(k, low)); };  // [low, ...)
  double square = k.bound * k.bound;
  switch (below(27)) {
  case 0:
    return give(c.make<ExpOp>(unit(2)), false, 8);
  case 1:
    return give(c.make<Expm1Op>(unit(2)), false, 8);
  case 2:
    return give(c.make<LogOp>(above(0.5)), false, std::log(square + 1) + 1);
  case 3:
    return give(c.make<Log1pOp>(c.make<MulOp>(x, x)), false, std::log1p(square));
  case 4:
    return give(c.make<SinOp>(x), false, 1);
  case 5:
    return give(c.make<CosOp>(x), false, 1);
  case 6:
    return give(c.make<TanOp>(unit(1)), false, 2);
  case 7:
    return give(c.make<AsinOp>(unit(0.9)), false, 2);
  case 8:
    return give(c.make<AcosOp>(unit(0.9)), false, 3);
  case 9:
    return give(c.make<AtanOp>(x), false, 2);
  case 10:
    return give(c.make<SinhOp>(unit(2)), false, 4);
  case 11:
    return give(c.make<CoshOp>(unit(2)), false, 4);
  case 12:
    return give(c.make<TanhOp>(x), false, 1);
  case 13:
    return give(c.make<AsinhOp>(x), false, std::asinh(k.bound));
  case 14:
    return give(c.make<AcoshOp>(above(1.5)), false, std::acosh(square + 1.5));
  case 15:
    return give(c.make<AtanhOp>(unit(0.9)), false, 2);
  case 16:
    return give(c.make<ErfOp>(x), false, 1);
  case 17:
    return give(c.make<LogisticOp>(x), false, 1);
  case 18:
    return give(c.make<SqrtOp>(above(0.5)), false, k.bound + 1);
  case 19:
    return give(c.make<RsqrtOp>(above(0.5)), false, 2);
  case 20:
    return giveMoved(c.make<NegOp>(x), k);
  case 21:
    return giveMoved(c.make<AbsOp>(x), k);
  case 22:
    return give(c.make<MulOp>(x, x), false, square);
  case 23:
    return give(c.make<Exp2Op>(unit(2)), false, 4);
  case 24:
    return give(c.make<Log2Op>(above(0.5)), false, std::log2(square + 1) + 1);
  case 25:
    return give(c.make<ErfinvOp>(unit(0.9)), false, 2);
  default:
    return give(c.make<MulOp>(x, number(k, 0.3)), false, k.bound);
  }
}

void RegionGenerator::arithmetic() {
  Known a = pickFloat();
  if (!a.value)
    return;
  Known b = pickLike(a);
  bool exact = a.exact && b.exact;
  double sum = a.bound + b.bound;
  switch (below(9)) {
  case 0:
    return give(c.make<AddOp>(a.value, b.value), exact, sum);
  case 1:
    return give(c.make<SubOp>(a.value, b.value), exact, sum);
  case 2:
    return give(c.make<MulOp>(a.value, b.value), false, a.bound * b.bound);
  case 3: // a / (1 + b b)
    return give(c.make<DivOp>(a.value, c.make<AddOp>(c.make<MulOp>(b.value, b.value), number(b, 1))), false, a.bound);
  case 4:
    return give(c.make<MaxOp>(a.value, b.value), exact, std::max(a.bound, b.bound));
  case 5:
    return give(c.make<MinOp>(a.value, b.value), exact, std::max(a.bound, b.bound));
  case 6: // atan2(a, 1 + b b), away from the cut
    return give(c.make<Atan2Op>(a.value, c.make<AddOp>(c.make<MulOp>(b.value, b.value), number(b, 1))), false, 2);
  case 7: // (0.5 + a a) ^ tanh(b)
    return give(c.make<PowOp>(c.make<AddOp>(c.make<MulOp>(a.value, a.value), number(a, 0.5)), c.make<TanhOp>(b.value)),
                false, a.bound * a.bound + 2);
  default: {
    Known low = pickLike(a);
    return give(c.make<ClampOp>(number(a, -1), a.value, c.make<AbsOp>(low.value)), a.exact && low.exact,
                std::max(1.0, std::max(a.bound, low.bound)));
  }
  }
}

/// Of exact values only, unless a derivative is what matters: there a value that is a whole number but for rounding, as
/// the sum of a softmax, is moved away from the jump.
void RegionGenerator::jumps() {
  Known a = pick([&](const Known &k) { return k.isFloat() && (k.exact || options.differentiable); });
  if (!a.value)
    return;
  Value x = options.differentiable ? c.make<AddOp>(a.value, number(a, 0.377)) : a.value;
  switch (below(6)) {
  case 0:
    return give(c.make<SignOp>(x), a.exact, 1);
  case 1:
    return give(c.make<FloorOp>(x), a.exact, a.bound + 2);
  case 2:
    return give(c.make<CeilOp>(x), a.exact, a.bound + 2);
  case 3:
    return give(c.make<RoundOp>(x), a.exact, a.bound + 2);
  case 4:
    return give(c.make<IsNanOp>(x));
  default: {
    Known b = pick([&](const Known &k) { return k.type() == a.type() && k.exact == a.exact; });
    return give(c.make<CompareOp>(x, b.value, static_cast<CompareKind>(below(6))));
  }
  }
}

void RegionGenerator::integers() {
  Known a = pick([](const Known &k) { return k.isInteger(); });
  if (!a.value)
    return;
  Known b = pickLike(a);
  Value x = a.value, y = b.value;
  switch (below(15)) {
  case 0:
    return give(c.make<AddOp>(x, y));
  case 1:
    return give(c.make<SubOp>(x, y));
  case 2:
    return give(c.make<MulOp>(x, y));
  case 3:
    return give(c.make<DivOp>(x, y));
  case 4:
    return give(c.make<RemOp>(x, y));
  case 5:
    return give(c.make<AndOp>(x, y));
  case 6:
    return give(c.make<OrOp>(x, y));
  case 7:
    return give(c.make<XorOp>(x, y));
  case 8:
    return give(c.make<ShiftLeftOp>(x, y));
  case 9:
    return give(c.make<ShiftRightOp>(x, y));
  case 10:
    return give(c.make<MaxOp>(x, y));
  case 11:
    return give(c.make<MinOp>(x, y));
  case 12:
    return give(c.make<AbsOp>(x));
  case 13:
    return give(c.make<NotOp>(x));
  default:
    return give(c.make<CompareOp>(x, y, static_cast<CompareKind>(below(6))));
  }
}

void RegionGenerator::logic() {
  Known a = pick([](const Known &k) { return k.isBool(); });
  if (!a.value)
    return;
  Known b = pickLike(a);
  switch (below(8)) {
  case 0:
    return give(c.make<AndOp>(a.value, b.value));
  case 1:
    return give(c.make<OrOp>(a.value, b.value));
  case 2:
    return give(c.make<XorOp>(a.value, b.value));
  case 3:
    return give(c.make<NotOp>(a.value));
  case 4:
    return give(c.make<CompareOp>(a.value, b.value, coin() ? CompareKind::eq : CompareKind::ne));
  case 5:
    return give(coin() ? c.make<MaxOp>(a.value, b.value) : c.make<MinOp>(a.value, b.value));
  default: {
    Known taken = pick([&](const Known &k) { return k.shape() == a.shape() && !k.isBool(); });
    if (!taken.value)
      return;
    Known other = pickLike(taken);
    return give(c.make<SelectOp>(a.value, taken.value, other.value), taken.exact && other.exact,
                std::max(taken.bound, other.bound));
  }
  }
}

void RegionGenerator::conversion() {
  Known a = pick([&](const Known &k) { return k.exact && !options.differentiable; });
  if (!a.value)
    return;
  Type types[] = {c.getI32Type(), c.getI64Type(), c.getI1Type(),       c.getIntegerType(8, false),
                  c.getF32Type(), c.getF64Type(), c.getIntegerType(16)};
  Type to = types[below(std::size(types))];
  // A wide integer does not stay exact in a float.
  if (isa<FloatType>(to) && a.isInteger() && a.element().getIntOrFloatBitWidth() > 8)
    return;
  give(c.make<ConvertOp>(a.value, to), true, a.isFloat() ? a.bound : 255);
}

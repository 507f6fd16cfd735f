// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an emitter computes for one element, or for a vector of lanes: the same ops serve both. f16 and bf16 are
// computed in f32 and rounded back. No body traps: divisors that would are replaced before the division. The bodies
// themselves are in Elementwise.td; here is what they are written in, and those that take statements.

#include "ir/Constants.h"
#include "ir/Elementwise.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace sinter;

namespace {

/// Builds on values of one form (scalar or vector); `type` is the element type that the op computes in.
class Body {
public:
  /// `element`: the op's own element type, with its sign.
  Body(OpBuilder &builder, Location loc, Type element, ValueRange args)
      : b(loc, builder), element(element), isFloat(isa<FloatType>(element)), asUnsigned(isUnsigned(element)) {
    for (Value arg : args)
      values.push_back(isFloat && element.getIntOrFloatBitWidth() < 32 ? resize(arg, b.getF32Type()) : arg);
  }

  Value operator[](unsigned i) const { return values[i]; }
  Value constant(double value) { return buildConstant(b, b.getLoc(), values[0].getType(), value); }
  Value constant(int64_t value) { return buildConstant(b, b.getLoc(), values[0].getType(), value); }
  unsigned width() const { return element.getIntOrFloatBitWidth(); }

  /// `value` with another element type, in the same form.
  static Type withElement(Type form, Type elementType) {
    auto vector = dyn_cast<VectorType>(form);
    return vector ? Type(VectorType::get(vector.getShape(), elementType, vector.getScalableDims())) : elementType;
  }
  /// Widens or rounds a float.
  Value resize(Value value, FloatType to) {
    auto from = cast<FloatType>(getElementTypeOrSelf(value.getType()));
    if (from == to)
      return value;
    if (from.getWidth() == to.getWidth()) // f16 and bf16
      value = resize(value, b.getF32Type());
    Type type = withElement(value.getType(), to);
    from = cast<FloatType>(getElementTypeOrSelf(value.getType()));
    if (from.getWidth() < to.getWidth())
      return arith::ExtFOp::create(b, type, value);
    if (from.getWidth() == 64 && to.getWidth() == 16)
      return resize(roundToOdd(value), to);
    return arith::TruncFOp::create(b, type, value);
  }
  /// An f64 as f32 such that rounding it again gives what rounding once would have given: toward zero, and the last bit
  /// is set where digits were lost (S. Boldo and G. Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
  Value roundToOdd(Value value) {
    Type f32 = withElement(value.getType(), b.getF32Type()), i32 = withElement(value.getType(), b.getI32Type());
    Value nearest = arith::TruncFOp::create(b, f32, value), back = arith::ExtFOp::create(b, value.getType(), nearest);
    Value isInexact = arith::CmpFOp::create(b, arith::CmpFPredicate::ONE, back, value);
    Value isAway =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, make<math::AbsFOp>(back), make<math::AbsFOp>(value));
    Value bits = arith::BitcastOp::create(b, i32, nearest);
    bits = arith::SubIOp::create(b, bits, arith::ExtUIOp::create(b, i32, isAway));
    bits = arith::OrIOp::create(b, bits, arith::ExtUIOp::create(b, i32, isInexact));
    return arith::BitcastOp::create(b, f32, bits);
  }
  /// A result that was computed in f32 for f16 and bf16.
  Value finish(Value result) {
    return isFloat && isa<FloatType>(getElementTypeOrSelf(result.getType())) ? resize(result, cast<FloatType>(element))
                                                                             : result;
  }

  template <typename OpT> Value make(ValueRange operands) { return OpT::create(b, operands); }
  Value less(Value lhs, Value rhs) { return compare(CompareKind::lt, lhs, rhs); }
  Value select(Value condition, Value ifTrue, Value ifFalse) {
    return arith::SelectOp::create(b, condition, ifTrue, ifFalse);
  }
  Value compare(CompareKind kind, Value lhs, Value rhs);
  Value divide(Value lhs, Value rhs, bool remainder);
  Value power(Value lhs, Value rhs);
  Value greater(Value lhs, Value rhs);
  Value lesser(Value lhs, Value rhs);

  ImplicitLocOpBuilder b;
  Type element;
  bool isFloat, asUnsigned;
  SmallVector<Value> values;
};

} // namespace

Value Body::compare(CompareKind kind, Value lhs, Value rhs) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  auto make = [&](F onFloats, I onSigned, I onUnsigned) -> Value {
    if (isFloat)
      return arith::CmpFOp::create(b, onFloats, lhs, rhs);
    return arith::CmpIOp::create(b, asUnsigned ? onUnsigned : onSigned, lhs, rhs);
  };
  switch (kind) {
  case CompareKind::eq:
    return make(F::OEQ, I::eq, I::eq);
  case CompareKind::ne:
    return make(F::UNE, I::ne, I::ne);
  case CompareKind::lt:
    return make(F::OLT, I::slt, I::ult);
  case CompareKind::le:
    return make(F::OLE, I::sle, I::ule);
  case CompareKind::gt:
    return make(F::OGT, I::sgt, I::ugt);
  case CompareKind::ge:
    return make(F::OGE, I::sge, I::uge);
  }
  llvm_unreachable("all kinds handled");
}

Value Body::greater(Value lhs, Value rhs) {
  if (isFloat)
    return arith::MaximumFOp::create(b, lhs, rhs);
  return asUnsigned ? make<arith::MaxUIOp>({lhs, rhs}) : make<arith::MaxSIOp>({lhs, rhs});
}

Value Body::lesser(Value lhs, Value rhs) {
  if (isFloat)
    return arith::MinimumFOp::create(b, lhs, rhs);
  return asUnsigned ? make<arith::MinUIOp>({lhs, rhs}) : make<arith::MinSIOp>({lhs, rhs});
}

Value Body::divide(Value lhs, Value rhs, bool remainder) {
  if (isFloat)
    return remainder ? make<arith::RemFOp>({lhs, rhs}) : make<arith::DivFOp>({lhs, rhs});
  Value zero = constant(int64_t(0)), unit = constant(int64_t(1)), ones = constant(int64_t(-1));
  Value byZero = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, rhs, zero);
  Value ifZero = remainder ? lhs : ones;
  if (asUnsigned) {
    Value safe = select(byZero, unit, rhs);
    Value quotient = remainder ? make<arith::RemUIOp>({lhs, safe}) : make<arith::DivUIOp>({lhs, safe});
    return select(byZero, ifZero, quotient);
  }
  // The least number / -1 traps on some machines; -x is the wrapped quotient.
  Value byMinusOne = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, rhs, ones);
  Value safe = select(make<arith::OrIOp>({byZero, byMinusOne}), unit, rhs);
  Value quotient = remainder ? make<arith::RemSIOp>({lhs, safe}) : make<arith::DivSIOp>({lhs, safe});
  Value ifMinusOne = remainder ? zero : make<arith::SubIOp>({zero, lhs});
  return select(byZero, ifZero, select(byMinusOne, ifMinusOne, quotient));
}

Value Body::power(Value lhs, Value rhs) {
  if (isFloat)
    return math::PowFOp::create(b, lhs, rhs);
  Value zero = constant(int64_t(0)), unit = constant(int64_t(1)), ones = constant(int64_t(-1));
  auto is = [&](Value value, Value other) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, value, other);
  };
  // By repeated squaring, all bits of the exponent, without branches.
  Value result = unit, square = lhs;
  for (unsigned bit = 0; bit < width(); ++bit) {
    Value mask = constant(int64_t(1) << bit);
    Value isClear = is(arith::AndIOp::create(b, rhs, mask), zero);
    result = select(isClear, result, arith::MulIOp::create(b, result, square));
    if (bit + 1 < width())
      square = arith::MulIOp::create(b, square, square);
  }
  if (asUnsigned)
    return result;
  // 1 / lhs^-rhs truncates to 0 except for the units; 1 / 0 is -1.
  Value isOdd = is(arith::AndIOp::create(b, rhs, unit), unit);
  Value inverse = select(is(lhs, unit), unit, zero);
  inverse = select(is(lhs, ones), select(isOdd, ones, unit), inverse);
  inverse = select(is(lhs, zero), ones, inverse);
  return select(arith::CmpIOp::create(b, arith::CmpIPredicate::slt, rhs, zero), inverse, result);
}

static Type operandElement(Operation *op, unsigned i = 0) { return getElementTypeOrSelf(op->getOperand(i).getType()); }

//===- one operand -------------------------------------------------------------------------------------------===//

static Value buildAbs(Body &x) {
  if (x.isFloat)
    return x.make<math::AbsFOp>(x[0]);
  if (x.asUnsigned)
    return x[0];
  Value zero = x.constant(int64_t(0));
  return x.greater(x[0], x.make<arith::SubIOp>({zero, x[0]})); // the least number: both sides are it
}

static Value buildNeg(Body &x) {
  return x.isFloat ? x.make<arith::NegFOp>(x[0]) : x.make<arith::SubIOp>({x.constant(int64_t(0)), x[0]});
}

static Value buildSign(Body &x) {
  Value zero = x.constant(int64_t(0)), unit = x.constant(int64_t(1));
  // Zeros of both signs and NaN fall through.
  Value otherwise = x.asUnsigned ? x[0] : x.select(x.less(x[0], zero), x.constant(int64_t(-1)), x[0]);
  return x.select(x.compare(CompareKind::gt, x[0], zero), unit, otherwise);
}

/// With z = e^-|x|, which cannot overflow: 1 / (1 + z) above 0, z / (1 + z) below.
static Value buildLogistic(Body &x) {
  Value z = x.make<math::ExpOp>(x.make<arith::NegFOp>(x.make<math::AbsFOp>(x[0])));
  Value unit = x.constant(1.0);
  Value numerator = x.select(x.less(x[0], x.constant(0.0)), z, unit);
  return x.make<arith::DivFOp>({numerator, x.make<arith::AddFOp>({unit, z})});
}

static Value buildIsInf(Body &x) {
  Value infinity = x.constant(std::numeric_limits<double>::infinity());
  return arith::CmpFOp::create(x.b, arith::CmpFPredicate::OEQ, x.make<math::AbsFOp>(x[0]), infinity);
}

/// c[0] + c[1] x + c[2] x^2 + ...
static Value polynomial(Body &x, Value at, ArrayRef<double> c) {
  Value sum = x.constant(c.back());
  for (double next : llvm::reverse(c.drop_back()))
    sum = x.make<math::FmaOp>({sum, at, x.constant(next)});
  return sum;
}

/// erfinv(x) / x is smooth in w = -log(1 - x^2), far out in sqrt(w) (M. Giles, "Approximating the erfinv function",
/// 2011). The series are Chebyshev fits of 40 digits about the middle of each range: w below 6.25, sqrt(w) to 4 and to
/// the greatest number below 1; of f32 w below 5, and to the greatest number below 1.
static Value buildErfinv(Body &x) {
  Value one = x.constant(1.0);
  Value rest = x.make<arith::MulFOp>({x.make<arith::SubFOp>({one, x[0]}), x.make<arith::AddFOp>({one, x[0]})});
  Value w = x.make<arith::NegFOp>(x.make<math::LogOp>(rest)), root = x.make<math::SqrtOp>(w);
  auto series = [&](Value at, double middle, ArrayRef<double> c) {
    return polynomial(x, x.make<arith::SubFOp>({at, x.constant(middle)}), c);
  };
  Value factor;
  if (x.element.isF64()) {
    Value far = series(root, 5.0625,
                       {0x1.3a6f678932e7fp+2, 0x1.02a1c126f26efp+0, -0x1.73d5046abed0fp-13, -0x1.9cacac55843dbp-13,
                        0x1.260719459bb47p-14, -0x1.2f0bc9b74063ap-16, 0x1.142d7900b9514p-18, -0x1.dc536e811c43fp-21,
                        0x1.a3ebf0ff624abp-23, -0x1.c148de879883ap-25, 0x1.5f8a9db36d895p-26, -0x1.63efde65c63ecp-27,
                        0x1.65ccdf72c0fe8p-28, -0x1.525aee897176bp-29, 0x1.39bd7645269a2p-30, -0x1.93798718451f6p-32,
                        0x1.71b726c26d2d0p-38, 0x1.b26844c88ab8bp-36});
    Value between = series(
        root, 3.25, {0x1.8abcc380d5a48p+1,   0x1.0158a6d641d54p+0,   0x1.5ffcfe5b71831p-8,   -0x1.ebadabb9fd945p-9,
                     0x1.468eeca71fc73p-9,   -0x1.ba9240d9b7431p-10, 0x1.f3cc552091e2bp-11,  -0x1.7448bc8217f18p-12,
                     0x1.932d7684a6a52p-16,  0x1.1e6ab36be6c27p-14,  -0x1.8cf0bea0971c6p-15, 0x1.a242f876789c6p-17,
                     0x1.88af4a1d56a98p-19,  -0x1.0b8068913d37bp-18, 0x1.924ec74d8058bp-20,  -0x1.cfedcff902170p-26,
                     -0x1.235ac6aaf025ep-22, 0x1.1969ef2a93940p-23,  0x1.7f235c757454ep-31,  -0x1.03765b5ec5c93p-26});
    Value near = series(
        w, 3.125, {0x1.a755e7c99ae86p+0,   0x1.ebd80d9b13df9p-3,   -0x1.8b6c33114eeaep-8,  -0x1.84576948353e1p-11,
                   0x1.879c2a20da432p-13,  -0x1.d1d1f7ca4030fp-17, -0x1.6e8a53f106129p-20, 0x1.c6b4f890935ddp-22,
                   -0x1.f36ce4ae847fdp-26, -0x1.1a9eb1bc8f0f0p-28, 0x1.20f4e6bf074cfp-30,  -0x1.dc3ee8b6c53ccp-35,
                   -0x1.c89564c5d1004p-37, 0x1.723527b7cff86p-39,  -0x1.6d9ec5e3ec6afp-44, -0x1.686642b67610ap-45,
                   0x1.db523eb040288p-48,  -0x1.73898c37dc54ap-55, -0x1.2c266176e7096p-53, 0x1.1f4ba5de5dc3fp-56,
                   0x1.536d397f9b9b1p-60,  -0x1.9d290dd3bcb70p-62, -0x1.5087a244b0f6cp-70, 0x1.e9b8ae7230c25p-69});
    factor = x.select(x.less(w, x.constant(6.25)), near, x.select(x.less(root, x.constant(4.0)), between, far));
  } else {
    Value far = series(root, 3.1805339887498949,
                       {0x1.81cd6bf96074ap+1, 0x1.0123f52fed5b3p+0, 0x1.987db16744c71p-8, -0x1.28fa2b9806bf0p-8,
                        0x1.9a4560d208f71p-9, -0x1.163b31e18b3c2p-9, 0x1.3978fc552ec67p-10, -0x1.725e2d460036ap-12,
                        -0x1.098c81c589aa5p-13, 0x1.c171cd35c98f8p-14});
    Value near = series(w, 2.5,
                        {0x1.805c5cfcedef5p+0, 0x1.f91e8b47bc332p-3, -0x1.11c3ccf583fccp-8, -0x1.4866876636aa3p-10,
                         0x1.c9b8392b34813p-13, -0x1.4cd6db31136aep-18, -0x1.cb7b9e68dc51ap-19, 0x1.f3bcf6b20a36ap-22,
                         0x1.129bb8c97f855p-26, -0x1.2c4526ac24209p-27, 0x1.00d79ace31a9fp-31});
    factor = x.select(x.less(w, x.constant(5.0)), near, far);
  }
  return x.make<arith::MulFOp>({x[0], factor});
}

//===- two operands ------------------------------------------------------------------------------------------===//

/// A negative amount is, as an unsigned number, past the width.
static Value isInWidth(Body &x) {
  return arith::CmpIOp::create(x.b, arith::CmpIPredicate::ult, x[1], x.constant(int64_t(x.width())));
}

static Value buildShiftLeft(Body &x) {
  Value inWidth = isInWidth(x), zero = x.constant(int64_t(0));
  return x.select(inWidth, x.make<arith::ShLIOp>({x[0], x.select(inWidth, x[1], zero)}), zero);
}

static Value buildShiftRight(Body &x) {
  Value inWidth = isInWidth(x), zero = x.constant(int64_t(0));
  if (x.asUnsigned)
    return x.select(inWidth, x.make<arith::ShRUIOp>({x[0], x.select(inWidth, x[1], zero)}), zero);
  return x.make<arith::ShRSIOp>({x[0], x.select(inWidth, x[1], x.constant(int64_t(x.width() - 1)))});
}

#define BODY(OP, RESULT)                                                                                               \
  Value OP::buildBody(OpBuilder &builder, Location loc, ValueRange args) {                                             \
    Body x(builder, loc, operandElement(*this), args);                                                                 \
    return x.finish(RESULT);                                                                                           \
  }
#define GET_POINTWISE_BODIES
#include "ir/Pointwise.inc"

//===- three operands and changes of type --------------------------------------------------------------------===//

BODY(CompareOp, x.compare(getKind(), x[0], x[1]))
BODY(ClampOp, x.lesser(x.greater(x[1], x[0]), x[2]))
#undef BODY

Value SelectOp::buildBody(OpBuilder &builder, Location loc, ValueRange args) {
  return arith::SelectOp::create(builder, loc, args[0], args[1], args[2]);
}

/// The same for integers of which every float type holds all: bounded before, so that nothing is chosen behind it.
static Value floatToSmallInt(Body &x, IntegerType to) {
  bool asUnsigned = isUnsigned(to);
  Type type = Body::withElement(x[0].getType(), signless(to));
  int64_t range = int64_t(1) << to.getWidth();
  Value least = x.constant(static_cast<double>(asUnsigned ? 0 : -range / 2));
  Value most = x.constant(static_cast<double>((asUnsigned ? range : range / 2) - 1));
  // Where nothing is below 0, comparisons that are false of NaN make it 0.
  Value number = x[0];
  if (!asUnsigned)
    number = x.select(arith::CmpFOp::create(x.b, arith::CmpFPredicate::ORD, number, number), number, x.constant(0.0));
  number = x.select(arith::CmpFOp::create(x.b, arith::CmpFPredicate::OGT, number, least), number, least);
  number = x.select(arith::CmpFOp::create(x.b, arith::CmpFPredicate::OLT, number, most), number, most);
  return asUnsigned ? Value(arith::FPToUIOp::create(x.b, type, number))
                    : Value(arith::FPToSIOp::create(x.b, type, number));
}

/// Truncated, saturated, NaN as 0. `x` has been widened to f32 at least.
static Value floatToInt(Body &x, IntegerType to) {
  if (to.getWidth() <= 16)
    return floatToSmallInt(x, to);
  bool asUnsigned = isUnsigned(to);
  Type type = Body::withElement(x[0].getType(), signless(to));
  // Both limits are powers of two (or 0), exact in every float type that reaches them; f32 holds 2^64.
  double least = asUnsigned ? 0.0 : -std::ldexp(1.0, to.getWidth() - 1);
  double past = std::ldexp(1.0, asUnsigned ? to.getWidth() : to.getWidth() - 1);
  Value tooLow = x.compare(CompareKind::le, x[0], x.constant(least));
  Value tooHigh = x.compare(CompareKind::ge, x[0], x.constant(past));
  Value zero = x.constant(0.0);
  // NaN is the unordered one; a conversion out of range would be undefined.
  Value isNan = arith::CmpFOp::create(x.b, arith::CmpFPredicate::UNO, x[0], zero);
  Value isOut = x.make<arith::OrIOp>({x.make<arith::OrIOp>({tooLow, tooHigh}), isNan});
  Value safe = x.select(isOut, zero, x[0]);
  Value result =
      asUnsigned ? Value(arith::FPToUIOp::create(x.b, type, safe)) : Value(arith::FPToSIOp::create(x.b, type, safe));
  APInt lowest = asUnsigned ? APInt::getZero(to.getWidth()) : APInt::getSignedMinValue(to.getWidth());
  APInt highest = asUnsigned ? APInt::getMaxValue(to.getWidth()) : APInt::getSignedMaxValue(to.getWidth());
  Location loc = x.b.getLoc();
  result = x.select(tooLow, buildConstant(x.b, loc, type, lowest.getSExtValue()), result);
  return x.select(tooHigh, buildConstant(x.b, loc, type, highest.getSExtValue()), result);
}

/// A 64-bit integer of which f64 holds every digit, and which rounds to 16 bits as `value` does: past 2^53 the last 11
/// bits are gone, and the one above them is set where any of them was.
static Value sticky(Body &x, Value value) {
  Value low = arith::AndIOp::create(x.b, value, x.constant(int64_t(0x7FF)));
  Value high = arith::SubIOp::create(x.b, value, low);
  Value isInexact = arith::CmpIOp::create(x.b, arith::CmpIPredicate::ne, low, x.constant(int64_t(0)));
  Value odd = arith::OrIOp::create(x.b, high, x.select(isInexact, x.constant(int64_t(0x800)), x.constant(int64_t(0))));
  // Of signed numbers the distance from -2^53: one comparison for both ends.
  int64_t most = int64_t(1) << 53;
  Value place = x.asUnsigned ? value : Value(arith::AddIOp::create(x.b, value, x.constant(most)));
  Value isLarge =
      arith::CmpIOp::create(x.b, arith::CmpIPredicate::ugt, place, x.constant(x.asUnsigned ? most : 2 * most));
  return x.select(isLarge, odd, value);
}

/// 16-bit floats by way of f32, rounded once: integers that f32 does not hold by way of f64.
static Value intToFloat(Body &x, FloatType to) {
  bool isNarrow = to.getWidth() < 32;
  FloatType wide = !isNarrow ? to : x.width() < 32 ? x.b.getF32Type() : x.b.getF64Type();
  Type type = Body::withElement(x[0].getType(), wide);
  Value value = isNarrow && x.width() == 64 ? sticky(x, x[0]) : x[0];
  Value result = x.asUnsigned ? Value(arith::UIToFPOp::create(x.b, type, value))
                              : Value(arith::SIToFPOp::create(x.b, type, value));
  return x.resize(result, to);
}

static Value intToInt(Body &x, IntegerType to) {
  Type type = Body::withElement(x[0].getType(), signless(to));
  if (to.getWidth() == x.width())
    return x[0];
  if (to.getWidth() < x.width())
    return arith::TruncIOp::create(x.b, type, x[0]);
  return x.asUnsigned ? Value(arith::ExtUIOp::create(x.b, type, x[0])) : Value(arith::ExtSIOp::create(x.b, type, x[0]));
}

Value sinter::buildConvert(OpBuilder &builder, Location loc, Value value, Type from, Type to) {
  if (signless(from) == signless(to))
    return value;
  Body x(builder, loc, from, value);
  if (to.isInteger(1))
    return x.compare(CompareKind::ne, x[0], x.constant(int64_t(0)));
  if (auto floatType = dyn_cast<FloatType>(to))
    return x.isFloat ? x.resize(x[0], floatType) : intToFloat(x, floatType);
  return x.isFloat ? floatToInt(x, cast<IntegerType>(to)) : intToInt(x, cast<IntegerType>(to));
}

Value ConvertOp::buildBody(OpBuilder &builder, Location loc, ValueRange args) {
  return buildConvert(builder, loc, args[0], operandElement(*this), getElementTypeOrSelf(getType()));
}

Value BitcastOp::buildBody(OpBuilder &builder, Location loc, ValueRange args) {
  Type from = signless(operandElement(*this)), to = signless(getElementTypeOrSelf(getType()));
  if (from == to)
    return args[0];
  return arith::BitcastOp::create(builder, loc, Body::withElement(args[0].getType(), to), args[0]);
}

/// Both formats have their exponent and fraction within those of f16: e5m2 is its upper byte, e4m3fn less by 2^8.
Value DecodeFloat8Op::buildBody(OpBuilder &builder, Location loc, ValueRange args) {
  ImplicitLocOpBuilder b(loc, builder);
  auto formed = [&](Type element) { return Body::withElement(args[0].getType(), element); };
  Type words = formed(b.getI16Type());
  auto constant = [&](int64_t value) { return buildConstant(b, loc, words, value); };
  auto shifted = [&](Value value, int64_t by) { return arith::ShLIOp::create(b, value, constant(by)); };
  auto asHalf = [&](Value word) { return arith::BitcastOp::create(b, formed(b.getF16Type()), word); };
  auto to = cast<FloatType>(getElementType());
  Value word = arith::ExtUIOp::create(b, words, args[0]), half;
  bool isFine = !isa<Float8E5M2Type>(getFormat());
  if (isFine) {
    Value magnitude = arith::AndIOp::create(b, word, constant(0x7f));
    Value sign = shifted(arith::AndIOp::create(b, word, constant(0x80)), 8);
    Value nan = arith::OrIOp::create(b, sign, constant(0x7e00)); // keeps its sign
    Value isNan = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, magnitude, constant(0x7f));
    half = asHalf(arith::SelectOp::create(b, isNan, nan, arith::OrIOp::create(b, sign, shifted(magnitude, 7))));
  } else {
    half = asHalf(shifted(word, 8));
    if (to.isF16())
      return half;
  }
  Value wide = arith::ExtFOp::create(b, formed(b.getF32Type()), half);
  if (isFine)
    wide = arith::MulFOp::create(b, wide, buildConstant(b, loc, wide.getType(), 256.0));
  return to.isF32() ? wide : arith::TruncFOp::create(b, formed(to), wide);
}

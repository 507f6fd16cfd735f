// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Coefficients are minimax fits (Remez exchange in 34 digits) of the functions that the comments name.

#include "backends/cpu/emit/MathLanes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

namespace {
/// x = quadrant * pi/2 + r with |r| <= pi/4, and the sine and cosine of r.
struct Reduced {
  Value quadrant, sine, cosine;
};
} // namespace

/// For |x| <= 2^28: in f64, pi/2 in two parts leaves r right to all of its f32 digits.
static Reduced reduce(MathLanes &m, Value x) {
  MathLanes w(m.b, m.withElement(m.b.getF64Type()), m.has);
  Value wide = arith::ExtFOp::create(m.b, w.type, x), magic = w.number(0x1.8p52);
  Value shifted = w.fma(wide, w.number(0x1.45f306dc9c883p-1), magic), n = w.sub(shifted, magic);
  Value rest = w.fma(n, w.number(-0x1.1a62633145c07p-54), w.fma(n, w.number(-0x1.921fb54442d18p+0), wide));
  Value r = arith::TruncFOp::create(m.b, m.type, rest), square = m.mul(r, r);
  Reduced result;
  result.quadrant = arith::TruncIOp::create(m.b, m.bits, w.toBits(shifted));
  // sin r = r + r^3 P(r^2), cos r = 1 - r^2 / 2 + r^4 P(r^2)
  result.sine = m.mul(r, m.polynomial(square, {1, -0x1.555556p-3, 0x1.111108p-7, -0x1.a00f7ep-13, 0x1.6cd1b0p-19}));
  result.cosine = m.polynomial(square, {1, -0.5, 0x1.55554ap-5, -0x1.6c0c32p-10, 0x1.99eb4ap-16});
  return result;
}

static Value isOdd(MathLanes &m, Value quadrant) {
  return arith::CmpIOp::create(m.b, arith::CmpIPredicate::ne, m.andBits(quadrant, 1), m.integer(0));
}

/// `fast`, but `OpT` on f64 in the lanes whose argument is out of the reach of `reduce`. A loop over these lanes takes
/// a call and not one for each lane: a kernel of many sines would be mostly calls that nobody makes.
template <typename OpT> static Value guardLarge(MathLanes &m, Value x, Value fast) {
  ImplicitLocOpBuilder &b = m.b;
  auto exact = [&](Value lane) -> Value {
    Value wide = OpT::create(b, arith::ExtFOp::create(b, b.getF64Type(), lane));
    return arith::TruncFOp::create(b, b.getF32Type(), wide);
  };
  Value isLarge = m.less(m.number(0x1p28), m.abs(x));
  auto vector = dyn_cast<VectorType>(m.type);
  OpBuilder::InsertionGuard guard(b);
  if (!vector) {
    auto choice = scf::IfOp::create(b, TypeRange(m.type), isLarge, /*withElseRegion=*/true);
    b.setInsertionPointToStart(choice.thenBlock());
    scf::YieldOp::create(b, exact(x));
    b.setInsertionPointToStart(choice.elseBlock());
    scf::YieldOp::create(b, fast);
    return choice.getResult(0);
  }
  int64_t lanes = vector.getNumElements();
  auto flatType = VectorType::get({lanes}, vector.getElementType());
  auto flattened = [&](Value value, VectorType type) -> Value {
    return vector.getRank() == 1 ? value : vector::ShapeCastOp::create(b, type, value).getResult();
  };
  Value flat = flattened(x, flatType);
  Value flags = flattened(isLarge, VectorType::get({lanes}, b.getI1Type()));
  Type mask = b.getIntegerType(static_cast<unsigned>(lanes)), word = b.getI64Type();
  Value packed = vector::BitCastOp::create(b, VectorType::get({1}, mask), flags);
  Value first = vector::ExtractOp::create(b, packed, 0);
  if (lanes < 64)
    first = arith::ExtUIOp::create(b, word, first);
  Value zero = arith::ConstantIntOp::create(b, word, 0), one = arith::ConstantIntOp::create(b, word, 1);
  // One bit for each lane that is left.
  auto loop = scf::WhileOp::create(
      b, TypeRange{word, flatType}, ValueRange{first, flattened(fast, flatType)},
      [&](OpBuilder &, Location loc, ValueRange carried) {
        Value more = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, carried[0], zero);
        scf::ConditionOp::create(b, loc, more, carried);
      },
      [&](OpBuilder &, Location loc, ValueRange carried) {
        Value lane = arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                                math::CountTrailingZerosOp::create(b, loc, carried[0]).getResult());
        Value next =
            vector::InsertOp::create(b, loc, exact(vector::ExtractOp::create(b, loc, flat, lane)), carried[1], lane);
        Value rest = arith::AndIOp::create(b, loc, carried[0], arith::SubIOp::create(b, loc, carried[0], one));
        scf::YieldOp::create(b, loc, ValueRange{rest, next});
      });
  Value result = loop.getResult(1);
  return vector.getRank() == 1 ? result : vector::ShapeCastOp::create(b, vector, result).getResult();
}

/// The sine `turns` quadrants ahead.
static Value sineAhead(MathLanes &m, Value x, int64_t turns) {
  Reduced r = reduce(m, x);
  Value quadrant = turns ? m.addBits(r.quadrant, m.integer(turns)) : r.quadrant;
  Value value = m.select(isOdd(m, quadrant), r.cosine, r.sine);
  Value sign = m.shiftLeft(m.andBits(quadrant, 2), 30);
  return m.fromBits(arith::XOrIOp::create(m.b, m.toBits(value), sign));
}

Value cpu::buildSin(MathLanes &m, Value x) { return guardLarge<math::SinOp>(m, x, sineAhead(m, x, 0)); }
Value cpu::buildCos(MathLanes &m, Value x) { return guardLarge<math::CosOp>(m, x, sineAhead(m, x, 1)); }

Value cpu::buildTan(MathLanes &m, Value x) {
  Reduced r = reduce(m, x);
  Value odd = isOdd(m, r.quadrant);
  Value tangent = m.div(m.select(odd, m.neg(r.cosine), r.sine), m.select(odd, r.sine, r.cosine));
  return guardLarge<math::TanOp>(m, x, tangent);
}

/// asin s = s + s^3 P(s^2) for |s| <= 1/2; larger |x| by asin x = pi/2 - 2 asin(sqrt((1 - x) / 2)).
namespace {
struct Arc {
  Value isLarge; // |x| > 1/2
  Value angle;   // asin |x|, or asin(sqrt((1 - |x|) / 2)) where large
};
} // namespace

static Arc buildArc(MathLanes &m, Value x) {
  Value a = m.abs(x), half = m.number(0.5);
  Value isLarge = m.less(half, a);
  Value square = m.select(isLarge, m.mul(m.sub(m.number(1), a), half), m.mul(a, a));
  Value s = m.select(isLarge, m.sqrt(square), a);
  Value p = m.polynomial(square, {1, 0x1.5555c8p-3, 0x1.3301e4p-4, 0x1.747e4ap-5, 0x1.8c2828p-6, 0x1.596d44p-5});
  return {isLarge, m.mul(s, p)};
}

constexpr double kPi = 3.14159265358979323846;

Value cpu::buildAsin(MathLanes &m, Value x) {
  Arc arc = buildArc(m, x);
  Value large = m.fma(arc.angle, m.number(-2), m.number(kPi / 2));
  return m.copySign(m.select(arc.isLarge, large, arc.angle), x);
}

Value cpu::buildAcos(MathLanes &m, Value x) {
  Arc arc = buildArc(m, x);
  Value isNegative = m.less(x, m.number(0)), twice = m.add(arc.angle, arc.angle);
  Value large = m.select(isNegative, m.sub(m.number(kPi), twice), twice);
  Value small = m.sub(m.number(kPi / 2), m.copySign(arc.angle, x));
  return m.select(arc.isLarge, large, small);
}

/// atan z = z + z^3 P(z^2) for 0 <= z <= 1.
static Value buildArcTangent(MathLanes &m, Value z) {
  Value p = m.polynomial(m.mul(z, z), {1, -0x1.55553ep-2, 0x1.9991fep-3, -0x1.2421b6p-3, 0x1.c09a02p-4, -0x1.58349cp-4,
                                       0x1.daca04p-5, -0x1.fed19ap-6, 0x1.65a694p-7, -0x1.d63048p-10});
  return m.mul(z, p);
}

Value cpu::buildAtan(MathLanes &m, Value x) {
  Value a = m.abs(x), one = m.number(1), isLarge = m.less(one, a);
  Value angle = buildArcTangent(m, m.select(isLarge, m.div(one, a), a));
  return m.copySign(m.select(isLarge, m.sub(m.number(kPi / 2), angle), angle), x);
}

Value cpu::buildAtan2(MathLanes &m, Value y, Value x) {
  Value height = m.abs(y), width = m.abs(x);
  Value isSteep = m.less(width, height);
  Value least = m.select(isSteep, width, height), most = m.select(isSteep, height, width);
  // Equal sides, both infinite or both zero among them, have no quotient to compute.
  Value zero = m.number(0);
  Value equal = m.select(m.equal(most, zero), zero, m.number(1));
  Value angle = buildArcTangent(m, m.select(m.equal(least, most), equal, m.div(least, most)));
  angle = m.select(isSteep, m.sub(m.number(kPi / 2), angle), angle);
  // The sign of a zero counts.
  Value isBehind = m.less(m.copySign(m.number(1), x), zero);
  angle = m.copySign(m.select(isBehind, m.sub(m.number(kPi), angle), angle), y);
  Value isNan = m.compare(arith::CmpFPredicate::UNO, x, y);
  return m.select(isNan, m.add(x, y), angle);
}

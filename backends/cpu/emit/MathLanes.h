// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic on one float or on a vector of floats, short enough to write formulas in.

#ifndef SINTER_BACKENDS_CPU_EMIT_MATHLANES_H
#define SINTER_BACKENDS_CPU_EMIT_MATHLANES_H

#include "backends/cpu/emit/Math.h"
#include "ir/Constants.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace sinter::cpu {

/// A product of integers of 64 bits.
struct WideProduct {
  mlir::Value low, high;
};

class MathLanes {
public:
  /// `type`: f32, f64 or a vector of one of them.
  MathLanes(mlir::ImplicitLocOpBuilder &builder, mlir::Type type, MathInstructions has)
      : b(builder), type(type), bits(withElement(b.getIntegerType(isDouble() ? 64 : 32))), has(has) {}

  using Value = mlir::Value;

  bool isDouble() const { return mlir::getElementTypeOrSelf(type).isF64(); }
  mlir::Type withElement(mlir::Type element) const {
    auto vector = mlir::dyn_cast<mlir::VectorType>(type);
    return vector ? mlir::Type(vector.clone(element)) : element;
  }

  Value number(double value) { return buildConstant(b, b.getLoc(), type, value); }
  Value add(Value x, Value y) { return mlir::arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return mlir::arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return mlir::arith::MulFOp::create(b, x, y); }
  Value div(Value x, Value y) { return mlir::arith::DivFOp::create(b, x, y); }
  /// x y + z, rounded once where the target has the instruction.
  Value fma(Value x, Value y, Value z) {
    return has.fuses ? mlir::math::FmaOp::create(b, x, y, z).getResult() : add(mul(x, y), z);
  }
  Value sqrt(Value x) { return mlir::math::SqrtOp::create(b, x); }
  Value abs(Value x) { return mlir::math::AbsFOp::create(b, x); }
  Value neg(Value x) { return mlir::arith::NegFOp::create(b, x); }
  Value copySign(Value magnitude, Value sign) { return mlir::math::CopySignOp::create(b, magnitude, sign); }
  Value select(Value condition, Value x, Value y) { return mlir::arith::SelectOp::create(b, condition, x, y); }
  Value compare(mlir::arith::CmpFPredicate predicate, Value x, Value y) {
    return mlir::arith::CmpFOp::create(b, predicate, x, y);
  }
  /// False where a side is NaN.
  Value less(Value x, Value y) { return compare(mlir::arith::CmpFPredicate::OLT, x, y); }
  Value equal(Value x, Value y) { return compare(mlir::arith::CmpFPredicate::OEQ, x, y); }
  Value isNan(Value x) { return compare(mlir::arith::CmpFPredicate::UNO, x, x); }
  /// The greater of two, one instruction on x86; of a NaN and a number either one.
  Value greater(Value x, Value y) { return select(compare(mlir::arith::CmpFPredicate::OGT, y, x), y, x); }
  /// NaN stays NaN.
  Value atLeast(Value x, double low) { return select(less(x, number(low)), number(low), x); }
  Value atMost(Value x, double high) { return select(less(number(high), x), number(high), x); }
  /// c[0] + c[1] x + c[2] x^2 + ...
  Value polynomial(Value x, llvm::ArrayRef<double> c) {
    Value sum = number(c.back());
    for (double next : llvm::reverse(c.drop_back()))
      sum = fma(sum, x, number(next));
    return sum;
  }

  Value toBits(Value x) { return mlir::arith::BitcastOp::create(b, bits, x); }
  Value fromBits(Value x) { return mlir::arith::BitcastOp::create(b, type, x); }
  Value integer(int64_t value) { return buildConstant(b, b.getLoc(), bits, value); }
  Value addBits(Value x, Value y) { return mlir::arith::AddIOp::create(b, x, y); }
  Value subBits(Value x, Value y) { return mlir::arith::SubIOp::create(b, x, y); }
  Value andBits(Value x, int64_t mask) { return mlir::arith::AndIOp::create(b, x, integer(mask)); }
  Value shiftLeft(Value x, int64_t by) { return mlir::arith::ShLIOp::create(b, x, integer(by)); }
  Value shiftRight(Value x, int64_t by) { return mlir::arith::ShRSIOp::create(b, x, integer(by)); }
  Value shiftRightUnsigned(Value x, int64_t by) { return mlir::arith::ShRUIOp::create(b, x, integer(by)); }
  Value shiftLeft(Value x, Value by) { return mlir::arith::ShLIOp::create(b, x, by); }
  Value shiftRightUnsigned(Value x, Value by) { return mlir::arith::ShRUIOp::create(b, x, by); }
  Value orBits(Value x, Value y) { return mlir::arith::OrIOp::create(b, x, y); }
  Value xorBits(Value x, Value y) { return mlir::arith::XOrIOp::create(b, x, y); }
  WideProduct mulBits(Value x, Value y) {
    auto product = mlir::arith::MulUIExtendedOp::create(b, x, y);
    return {product.getLow(), product.getHigh()};
  }
  Value lessUnsigned(Value x, Value y) { return mlir::arith::CmpIOp::create(b, mlir::arith::CmpIPredicate::ult, x, y); }
  Value isPositive(Value x) { return mlir::arith::CmpIOp::create(b, mlir::arith::CmpIPredicate::sgt, x, integer(0)); }
  /// 1 where the flag is set.
  Value bitOf(Value flag) { return mlir::arith::ExtUIOp::create(b, bits, flag); }
  /// A signed integer as a float.
  Value toNumber(Value x) { return mlir::arith::SIToFPOp::create(b, type, x); }
  /// Whether bit `bit` is set.
  Value hasBit(Value x, int bit) {
    return mlir::arith::CmpIOp::create(b, mlir::arith::CmpIPredicate::ne, andBits(x, int64_t(1) << bit), integer(0));
  }

  Value both(Value x, Value y) { return mlir::arith::AndIOp::create(b, x, y); }
  Value either(Value x, Value y) { return mlir::arith::OrIOp::create(b, x, y); }

  mlir::ImplicitLocOpBuilder &b;
  mlir::Type type, bits;
  MathInstructions has;
};

// On machines that scale, in MathScaling.cpp.

/// Whether the lanes are vectors that `buildScaled` and `buildBounded` take.
bool canScale(const MathLanes &m);
/// x * 2^n of an integer n in floats, rounded once: denormal, 0 or infinite where that is. NaN where n is.
mlir::Value buildScaled(MathLanes &m, mlir::Value x, mlir::Value n);
/// x with a magnitude of at most `most`, which NaN becomes, too.
mlir::Value buildBounded(MathLanes &m, mlir::Value x, double most);

/// Where some lanes need what others hardly ever do: `usual`, but in lanes of which `isRare` holds `build(lane of x)`,
/// on scalars of the same element types. A loop over these lanes has the code once, or calls the module's function
/// `name`, which `build` alone depends on. In MathRareLanes.cpp.
mlir::SmallVector<mlir::Value> buildRareLanes(MathLanes &m, llvm::StringRef name, mlir::Value isRare, mlir::Value x,
                                              mlir::ValueRange usual,
                                              llvm::function_ref<mlir::SmallVector<mlir::Value>(mlir::Value)> build);
/// One i1: whether a flag of any lane is set.
mlir::Value buildAny(MathLanes &m, mlir::Value flags);

// Functions of f32 and f64, in MathExponential.cpp.
mlir::Value buildExp(MathLanes &m, mlir::Value x);
mlir::Value buildExp2(MathLanes &m, mlir::Value x);
mlir::Value buildLog(MathLanes &m, mlir::Value x);
mlir::Value buildLog2(MathLanes &m, mlir::Value x);
/// e^x of x <= 0 as softmax takes it, a bound and a product shorter than buildExp: 0 where that is below 2^-125.5
/// (f64: 2^-1021.5), so that no result is denormal. NaN where x is.
mlir::Value buildShare(MathLanes &m, mlir::Value x);
/// The same with all digits of x: shares lose those of half a unit in the last place of x.
mlir::Value buildNegativeExp(MathLanes &m, mlir::Value x);
/// 1 / (1 + e^-x).
mlir::Value buildLogistic(MathLanes &m, mlir::Value x);

// Those near e^x and its inverse: of f32 in MathExponential.cpp, of f64 in MathHyperbolic.cpp and MathPower.cpp.
mlir::Value buildExpM1(MathLanes &m, mlir::Value x);
mlir::Value buildLog1p(MathLanes &m, mlir::Value x);
mlir::Value buildSinh(MathLanes &m, mlir::Value x);
mlir::Value buildCosh(MathLanes &m, mlir::Value x);
mlir::Value buildTanh(MathLanes &m, mlir::Value x);
mlir::Value buildAsinh(MathLanes &m, mlir::Value x);
mlir::Value buildAcosh(MathLanes &m, mlir::Value x);
mlir::Value buildAtanh(MathLanes &m, mlir::Value x);
mlir::Value buildErf(MathLanes &m, mlir::Value x);
mlir::Value buildPow(MathLanes &m, mlir::Value x, mlir::Value y);

// In MathTrigonometric.cpp, and of f64 in MathArcs.cpp.
mlir::Value buildSin(MathLanes &m, mlir::Value x);
mlir::Value buildCos(MathLanes &m, mlir::Value x);
mlir::Value buildTan(MathLanes &m, mlir::Value x);
mlir::Value buildAsin(MathLanes &m, mlir::Value x);
mlir::Value buildAcos(MathLanes &m, mlir::Value x);
mlir::Value buildAtan(MathLanes &m, mlir::Value x);
mlir::Value buildAtan2(MathLanes &m, mlir::Value y, mlir::Value x);

/// C's fmod, exactly. In MathRemainder.cpp.
mlir::Value buildRemainder(MathLanes &m, mlir::Value x, mlir::Value y);

} // namespace sinter::cpu

#endif

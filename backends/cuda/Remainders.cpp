// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// arith.remf, exactly, by long division: x = m 2^e and y = n 2^f leave (m 2^(e - f) mod n) 2^f, and as m and n have 53
// bits, 11 bits of the quotient are found at a time.

#include "backends/cpu/emit/MathLanes.h"
#include "backends/cuda/Lowering.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sinter;

constexpr int64_t kFraction = (int64_t(1) << 52) - 1, kStep = 11;

namespace {
/// A positive f64 as integer * 2^exponent.
struct Split {
  Value integer, exponent;
};

struct ExpandRemainder : OpRewritePattern<arith::RemFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::RemFOp op, PatternRewriter &rewriter) const override {
    if (!isa<FloatType>(op.getType()))
      return rewriter.notifyMatchFailure(op, "loops of a GPU are scalar");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    cpu::MathLanes f(b, b.getF64Type(), {});
    bool isNarrow = !op.getType().isF64();
    auto widen = [&](Value value) { return isNarrow ? arith::ExtFOp::create(b, f.type, value).getResult() : value; };
    Value x = widen(op.getLhs()), y = widen(op.getRhs()), magnitude = f.abs(x), divisor = f.abs(y);
    // The remainder of narrow numbers is as narrow.
    Value result = build(f, x, magnitude, divisor);
    rewriter.replaceOp(op, isNarrow ? arith::TruncFOp::create(b, op.getType(), result).getResult() : result);
    return success();
  }

  static Split split(cpu::MathLanes &f, Value positive) {
    Value bits = f.toBits(positive), field = f.shiftRightUnsigned(bits, 52), fraction = f.andBits(bits, kFraction);
    Value isNormal = arith::CmpIOp::create(f.b, arith::CmpIPredicate::ne, field, f.integer(0));
    return {f.select(isNormal, f.addBits(fraction, f.integer(kFraction + 1)), fraction),
            f.subBits(f.select(isNormal, field, f.integer(1)), f.integer(1075))};
  }

  static Value build(cpu::MathLanes &f, Value x, Value magnitude, Value divisor) {
    ImplicitLocOpBuilder &b = f.b;
    Split of = split(f, magnitude), by = split(f, divisor);
    Value isZero = f.equal(divisor, f.number(0));
    Value n = f.select(isZero, f.integer(1), by.integer);
    Value first = arith::RemUIOp::create(b, of.integer, n), left = f.subBits(of.exponent, by.exponent);
    auto loop = scf::WhileOp::create(
        b, TypeRange{f.bits, f.bits}, ValueRange{first, left},
        [&](OpBuilder &, Location, ValueRange carried) {
          Value isMore = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, carried[1], f.integer(0));
          scf::ConditionOp::create(b, isMore, carried);
        },
        [&](OpBuilder &, Location, ValueRange carried) {
          Value step = arith::MinSIOp::create(b, carried[1], f.integer(kStep));
          Value shifted = arith::ShLIOp::create(b, carried[0], step);
          Value rest = arith::RemUIOp::create(b, shifted, n);
          scf::YieldOp::create(b, ValueRange{rest, f.subBits(carried[1], step)});
        });
    // 2^exponent of y, which may be denormal.
    Value biased = f.addBits(by.exponent, f.integer(1023));
    Value isNormal = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, biased, f.integer(0));
    Value low = arith::AndIOp::create(b, f.addBits(by.exponent, f.integer(1074)), f.integer(63));
    Value scale = f.fromBits(f.select(isNormal, f.shiftLeft(biased, 52), arith::ShLIOp::create(b, f.integer(1), low)));
    Value rest = f.mul(arith::UIToFPOp::create(b, f.type, loop.getResult(0)), scale);
    Value result = f.select(f.less(magnitude, divisor), x, f.copySign(rest, x));
    Value isDefined = f.both(f.less(magnitude, f.number(std::numeric_limits<double>::infinity())),
                             f.compare(arith::CmpFPredicate::OGT, divisor, f.number(0)));
    return f.select(isDefined, result, f.number(std::numeric_limits<double>::quiet_NaN()));
  }
};
} // namespace

void cuda::populateRemainders(RewritePatternSet &patterns) { patterns.add<ExpandRemainder>(patterns.getContext()); }

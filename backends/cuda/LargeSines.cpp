// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// x = m 2^e with m < 2^24 is taken modulo 2 pi as m (2^e 2/pi) modulo 4 (Payne & Hanek 1983). Of 2/pi, bits of a weight
// of 4 or more in 2^e 2/pi make whole turns and do not matter; the 96 bits behind them give the product 62 bits behind
// the quadrant. No f32 is so near to a multiple of pi/2 that fewer than 30 of them are left.

#include "backends/cpu/emit/MathLanes.h"
#include "backends/cuda/Lowering.h"

using namespace mlir;
using namespace sinter;

/// The first 256 bits of 2/pi.
static constexpr uint64_t kTwoOverPi[] = {0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041,
                                          0xFE5163ABDEBBC561};

namespace {
/// In 64-bit integers and f64.
struct Turns {
  ImplicitLocOpBuilder &b;
  cpu::MathLanes f;

  explicit Turns(ImplicitLocOpBuilder &b) : b(b), f(b, b.getF64Type(), {}) {}

  Value word(uint64_t value) { return f.integer(static_cast<int64_t>(value)); }
  Value mul(Value x, Value y) { return arith::MulIOp::create(b, x, y); }
  Value left(Value x, Value by) { return arith::ShLIOp::create(b, x, by); }
  Value right(Value x, Value by) { return arith::ShRUIOp::create(b, x, by); }
  /// 64 bits from bit `by` < 64 of high:low.
  Value window(Value high, Value low, Value by) {
    Value rest = right(f.shiftRightUnsigned(low, 1), f.subBits(word(63), by));
    return arith::OrIOp::create(b, left(high, by), rest);
  }
};

template <typename OpT> struct ReduceLarge : OpRewritePattern<OpT> {
  using OpRewritePattern<OpT>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpT op, PatternRewriter &rewriter) const override {
    auto widened = op.getOperand().template getDefiningOp<arith::ExtFOp>();
    if (!op.getType().isF64() || !widened || !widened.getIn().getType().isF32())
      return rewriter.notifyMatchFailure(op, "its argument was no f32");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Turns t(b);
    cpu::MathLanes &f = t.f;
    Value bits32 = arith::BitcastOp::create(b, b.getI32Type(), widened.getIn());
    Value bits = arith::ExtUIOp::create(b, b.getI64Type(), bits32);
    Value exponent = f.andBits(f.shiftRightUnsigned(bits, 23), 255);
    Value m = arith::OrIOp::create(b, f.andBits(bits, (1 << 23) - 1), t.word(1 << 23));
    // The bit of 2/pi with weight 2: x = m 2^(exponent - 150), and bit k of 2/pi has weight 2^(-1 - k).
    Value first = f.subBits(exponent, t.word(152));
    Value isLater = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, first, t.word(64));
    auto wordAt = [&](unsigned k) { return f.select(isLater, t.word(kTwoOverPi[k + 1]), t.word(kTwoOverPi[k])); };
    Value by = f.andBits(first, 63), second = wordAt(1);
    Value high = t.window(wordAt(0), second, by), low = f.shiftRightUnsigned(t.window(second, wordAt(2), by), 32);
    Value turn = f.addBits(t.mul(m, high), f.shiftRightUnsigned(t.mul(m, low), 32)); // 2 bits before the point
    Value quadrant = f.shiftRightUnsigned(f.addBits(turn, t.word(uint64_t(1) << 61)), 62);
    Value rest = f.subBits(turn, f.shiftLeft(quadrant, 62));
    Value r = f.mul(arith::SIToFPOp::create(b, f.type, rest), f.number(0x1.921fb54442d18p-62));
    Value square = f.mul(r, r);
    Value sine = f.mul(r, f.polynomial(square, {1, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800}));
    Value cosine = f.polynomial(square, {1, -0.5, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600});
    Value isOdd = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, f.andBits(quadrant, 1), t.word(0));
    Value isNegative = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, f.shiftRightUnsigned(bits, 31), t.word(0));
    auto flipFor = [&](Value value, int64_t quadrants) { // where bit 1 of the quadrant, that much ahead, is set
      Value bit = f.andBits(f.addBits(quadrant, t.word(static_cast<uint64_t>(quadrants))), 2);
      return f.fromBits(arith::XOrIOp::create(b, f.toBits(value), f.shiftLeft(bit, 62)));
    };
    Value result;
    if constexpr (std::is_same_v<OpT, math::CosOp>) {
      result = flipFor(f.select(isOdd, sine, cosine), 1);
    } else {
      if constexpr (std::is_same_v<OpT, math::TanOp>)
        result = f.div(f.select(isOdd, f.neg(cosine), sine), f.select(isOdd, sine, cosine));
      else
        result = flipFor(f.select(isOdd, cosine, sine), 0);
      result = f.select(isNegative, f.neg(result), result);
    }
    Value isNumber = f.less(f.abs(op.getOperand()), f.number(std::numeric_limits<double>::infinity()));
    rewriter.replaceOp(op, f.select(isNumber, result, f.number(std::numeric_limits<double>::quiet_NaN())));
    return success();
  }
};
} // namespace

void cuda::populateLargeSines(RewritePatternSet &patterns) {
  patterns.add<ReduceLarge<math::SinOp>, ReduceLarge<math::CosOp>, ReduceLarge<math::TanOp>>(patterns.getContext());
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   divsi x, y  ->  fptosi(divf(sitofp x, sitofp y))
//   remsi x, y  ->  x - y (divsi x, y)
//
// in f64 for 32 bits, in f32 for fewer. Truncation gives what integers give: a quotient q that is not whole is at least
// 1 / y below the next whole number, and rounding moves it by q 2^-53 at most (f32: q 2^-24), which is less, since q y
// is below 2^32 (2^16).

#include "backends/cpu/LaneQuotients.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace sinter;

/// A constant, by which LLVM multiplies: perhaps spread, and behind the choice of 1 where it is no divisor.
static bool isKnown(Value divisor) {
  if (auto choice = divisor.getDefiningOp<arith::SelectOp>();
      choice && matchPattern(choice.getTrueValue(), m_Constant()))
    divisor = choice.getFalseValue();
  if (auto spread = divisor.getDefiningOp<vector::BroadcastOp>())
    divisor = spread.getSource();
  return matchPattern(divisor, m_Constant());
}

namespace {
template <typename OpT> struct DivideAsFloats : OpRewritePattern<OpT> {
  using OpRewritePattern<OpT>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpT op, PatternRewriter &rewriter) const override {
    constexpr bool isSigned = std::is_same_v<OpT, arith::DivSIOp> || std::is_same_v<OpT, arith::RemSIOp>;
    constexpr bool isRemainder = std::is_same_v<OpT, arith::RemSIOp> || std::is_same_v<OpT, arith::RemUIOp>;
    auto type = dyn_cast<VectorType>(op.getType());
    auto element = type ? dyn_cast<IntegerType>(type.getElementType()) : IntegerType();
    unsigned width = element ? element.getWidth() : 64;
    if (width > 32 || width < 8 || type.getNumElements() < 2 || isKnown(op.getRhs()))
      return rewriter.notifyMatchFailure(op, "no lanes of integers of 8 to 32 bits, or a constant divisor");
    Location loc = op.getLoc();
    Type wide = type.clone(rewriter.getI32Type());
    Type floats = type.clone(width == 32 ? Type(rewriter.getF64Type()) : rewriter.getF32Type());
    auto toFloat = [&](Value x) -> Value {
      // What has fewer bits is a positive number of 32 bits, too, where it has no sign.
      if (width < 32)
        x = isSigned ? arith::ExtSIOp::create(rewriter, loc, wide, x).getResult()
                     : arith::ExtUIOp::create(rewriter, loc, wide, x).getResult();
      if (isSigned || width < 32)
        return arith::SIToFPOp::create(rewriter, loc, floats, x);
      return arith::UIToFPOp::create(rewriter, loc, floats, x);
    };
    Value quotient = arith::DivFOp::create(rewriter, loc, toFloat(op.getLhs()), toFloat(op.getRhs()));
    Value whole = isSigned || width < 32 ? arith::FPToSIOp::create(rewriter, loc, wide, quotient).getResult()
                                         : arith::FPToUIOp::create(rewriter, loc, wide, quotient).getResult();
    if (width < 32)
      whole = arith::TruncIOp::create(rewriter, loc, type, whole);
    if (isRemainder)
      whole =
          arith::SubIOp::create(rewriter, loc, op.getLhs(), arith::MulIOp::create(rewriter, loc, whole, op.getRhs()));
    rewriter.replaceOp(op, whole);
    return success();
  }
};
} // namespace

void sinter::cpu::populateLaneQuotients(RewritePatternSet &patterns) {
  patterns.add<DivideAsFloats<arith::DivSIOp>, DivideAsFloats<arith::DivUIOp>, DivideAsFloats<arith::RemSIOp>,
               DivideAsFloats<arith::RemUIOp>>(patterns.getContext());
}

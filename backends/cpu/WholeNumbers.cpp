// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Quantized graphs round a float, add a zero point, narrow it to a byte, and what reads the byte makes a float of it
// again. In one kernel both conversions are none where the float was whole before: it has been bounded to the byte's
// range (ir/ElementwiseBodies.cpp), which all floats hold exactly.
//
//   sitofp(subi(extui(fptoui(x)), c))  ->  x - c        x whole, of at most 16 bits as an integer

#include "backends/cpu/WholeNumbers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace sinter;

/// How many ops a search looks through.
constexpr int kMostDepth = 8;
/// Sums of such integers with others of 16 bits are whole in f32.
constexpr int64_t kMostOffset = 1 << 20;

/// True of numbers without a fraction, infinities and NaN: sums and products of whole floats are whole, as large floats
/// have no fractions.
static bool isWhole(Value value, int depth = kMostDepth) {
  APFloat number(0.0);
  if (matchPattern(value, m_ConstantFloat(&number)))
    return number.isInteger();
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return false;
  if (isa<math::RoundEvenOp, math::RoundOp, math::FloorOp, math::CeilOp, math::TruncOp, arith::SIToFPOp,
          arith::UIToFPOp>(op))
    return true;
  auto areWhole = [&](ValueRange values) {
    return llvm::all_of(values, [&](Value operand) { return isWhole(operand, depth - 1); });
  };
  if (auto choice = dyn_cast<arith::SelectOp>(op))
    return areWhole({choice.getTrueValue(), choice.getFalseValue()});
  return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::MaximumFOp, arith::MinimumFOp>(op) &&
         areWhole(op->getOperands());
}

namespace {
template <typename ToFloat> struct KeepWhole : OpRewritePattern<ToFloat> {
  using OpRewritePattern<ToFloat>::OpRewritePattern;

  LogicalResult matchAndRewrite(ToFloat op, PatternRewriter &rewriter) const override {
    constexpr bool isSigned = std::is_same_v<ToFloat, arith::SIToFPOp>;
    Value value = op.getIn();
    unsigned width = getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth();
    int64_t offset = 0;
    // What is added to a byte in 32 bits does not wrap.
    while (Operation *sum = value.getDefiningOp()) {
      APInt constant;
      if (!isSigned || width < 32 || !isa<arith::AddIOp, arith::SubIOp>(sum) ||
          !matchPattern(sum->getOperand(1), m_ConstantInt(&constant)))
        break;
      offset += isa<arith::AddIOp>(sum) ? constant.getSExtValue() : -constant.getSExtValue();
      value = sum->getOperand(0);
      if (std::abs(constant.getSExtValue()) > kMostOffset || std::abs(offset) > kMostOffset)
        return rewriter.notifyMatchFailure(op, "a sum may wrap");
    }
    bool isExtended = false, asUnsigned = !isSigned;
    if (auto wide = value.getDefiningOp<arith::ExtUIOp>()) {
      value = wide.getIn();
      isExtended = asUnsigned = true;
    } else if (auto wide = value.getDefiningOp<arith::ExtSIOp>()) {
      value = wide.getIn();
      isExtended = true;
      asUnsigned = false;
    }
    Operation *from = value.getDefiningOp();
    bool fits = from && (asUnsigned ? isa<arith::FPToUIOp>(from) : isa<arith::FPToSIOp>(from)) &&
                (isExtended || offset == 0) && getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth() <= 16;
    if (!fits || from->getOperand(0).getType() != op.getType() || !isWhole(from->getOperand(0)))
      return rewriter.notifyMatchFailure(op, "no small integer of a whole float");
    // Adding 0 makes 0 of -0, as integers do.
    Type type = op.getType();
    TypedAttr number = rewriter.getFloatAttr(getElementTypeOrSelf(type), static_cast<double>(offset));
    if (auto vector = dyn_cast<VectorType>(type))
      number = DenseElementsAttr::get(vector, Attribute(number));
    Value distance = arith::ConstantOp::create(rewriter, op.getLoc(), number);
    rewriter.replaceOpWithNewOp<arith::AddFOp>(op, from->getOperand(0), distance);
    return success();
  }
};
} // namespace

void sinter::cpu::populateWholeNumbers(RewritePatternSet &patterns) {
  patterns.add<KeepWhole<arith::SIToFPOp>, KeepWhole<arith::UIToFPOp>>(patterns.getContext());
}

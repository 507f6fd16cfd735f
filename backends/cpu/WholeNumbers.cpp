// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Quantized graphs round a float, add a zero point, narrow it to a byte, and what reads the byte makes a float of it
// again. In one kernel both conversions are none where the float was whole before: it has been bounded to the byte's
// range (ir/ElementwiseBodies.cpp), which all floats hold exactly.
//
//   sitofp(subi(extui(fptoui(x)), c))  ->  x - c        x whole, of at most 16 bits as an integer
//
// What is stored as a byte is rounded by the conversion itself, after it has been bounded, and the zero point is added
// to integers; bounds are whole, so that both orders give the same.
//
//   fptoui(bound(roundeven(y) + z))    ->  trunc(lrint(bound(y)) + z)        bounds less z
//
// Where one instruction narrows unsigned words to bytes and saturates them, it is the upper bound: what is beyond all
// words becomes the word whose first bit alone is set.

#include "backends/cpu/WholeNumbers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include <cmath>

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

/// A constant of the type of `like`, which may be a vector.
static Value constantLike(PatternRewriter &rewriter, Location loc, Value like, double number) {
  Type type = like.getType();
  TypedAttr attribute = rewriter.getFloatAttr(getElementTypeOrSelf(type), number);
  if (auto vector = dyn_cast<VectorType>(type))
    attribute = DenseElementsAttr::get(vector, Attribute(attribute));
  return arith::ConstantOp::create(rewriter, loc, attribute);
}

/// `number + offset`, bounded as floats are that become small integers (ir/ElementwiseBodies.cpp).
struct Bounded {
  Value number;
  double offset = 0, least, most;
  bool isChecked = false; // NaN becomes 0, not the lower bound

  static std::optional<Bounded> match(Value value);
  /// The bounded number less `offset`, of `number` in place of this one's; `isAbove`: without the upper bound.
  Value buildOf(PatternRewriter &rewriter, Location loc, Value number, bool isAbove = false) const;
};

/// The number that `value` is where it compares to a constant so, and the constant else.
static Value matchChoice(Value value, arith::CmpFPredicate predicate, double &bound) {
  auto choice = value.getDefiningOp<arith::SelectOp>();
  auto compare = choice ? choice.getCondition().getDefiningOp<arith::CmpFOp>() : arith::CmpFOp();
  APFloat constant(0.0);
  if (!compare || compare.getPredicate() != predicate || compare.getLhs() != choice.getTrueValue() ||
      !matchPattern(choice.getFalseValue(), m_ConstantFloat(&constant)))
    return {};
  bool isBound = compare.getRhs() == choice.getFalseValue() || predicate == arith::CmpFPredicate::ORD;
  bound = constant.convertToDouble();
  return isBound ? choice.getTrueValue() : Value();
}

std::optional<Bounded> Bounded::match(Value value) {
  Bounded bounded;
  Value below = matchChoice(value, arith::CmpFPredicate::OLT, bounded.most);
  bounded.number = below ? matchChoice(below, arith::CmpFPredicate::OGT, bounded.least) : Value();
  if (!bounded.number)
    return std::nullopt;
  double otherwise = 0;
  if (Value checked = matchChoice(bounded.number, arith::CmpFPredicate::ORD, otherwise)) {
    if (otherwise != 0)
      return std::nullopt;
    bounded.number = checked;
    bounded.isChecked = true;
  }
  APFloat constant(0.0);
  auto sum = bounded.number.getDefiningOp<arith::AddFOp>();
  if (sum && matchPattern(sum.getRhs(), m_ConstantFloat(&constant)) && constant.isInteger() &&
      std::abs(constant.convertToDouble()) <= kMostOffset) {
    bounded.number = sum.getLhs();
    bounded.offset = constant.convertToDouble();
  }
  return bounded;
}

Value Bounded::buildOf(PatternRewriter &rewriter, Location loc, Value number, bool isAbove) const {
  auto choose = [&](arith::CmpFPredicate predicate, Value than, double otherwise) {
    Value constant = constantLike(rewriter, loc, number, otherwise);
    Value holds = arith::CmpFOp::create(rewriter, loc, predicate, number, than ? than : constant);
    number = arith::SelectOp::create(rewriter, loc, holds, number, constant);
  };
  if (isChecked)
    choose(arith::CmpFPredicate::ORD, number, -offset);
  choose(arith::CmpFPredicate::OGT, Value(), least - offset);
  if (!isAbove)
    choose(arith::CmpFPredicate::OLT, Value(), most - offset);
  return number;
}

namespace {
/// A byte of what has been rounded to the nearest even number.
template <typename ToInteger> struct RoundToInteger : OpRewritePattern<ToInteger> {
  RoundToInteger(MLIRContext *context, bool saturates) : OpRewritePattern<ToInteger>(context), saturates(saturates) {}

  LogicalResult matchAndRewrite(ToInteger op, PatternRewriter &rewriter) const override {
    std::optional<Bounded> bounded = Bounded::match(op.getIn());
    auto round = bounded ? bounded->number.getDefiningOp<math::RoundEvenOp>() : math::RoundEvenOp();
    if (!round || !getElementTypeOrSelf(op.getIn()).isF32() ||
        getElementTypeOrSelf(op.getType()).getIntOrFloatBitWidth() > 16)
      return rewriter.notifyMatchFailure(op, "no small integer of a rounded f32");
    // KeepWhole makes floats of these.
    if (llvm::any_of(op->getUsers(), [](Operation *user) {
          return isa<arith::ExtUIOp, arith::ExtSIOp, arith::SIToFPOp, arith::UIToFPOp>(user);
        }))
      return rewriter.notifyMatchFailure(op, "is made a float again");
    Location loc = op.getLoc();
    Type wide = rewriter.getI32Type();
    if (auto vector = dyn_cast<VectorType>(op.getType()))
      wide = vector.clone(wide);
    auto constant = [&](int32_t number) {
      TypedAttr attribute = rewriter.getI32IntegerAttr(number);
      if (auto vector = dyn_cast<VectorType>(wide))
        attribute = DenseElementsAttr::get(vector, number);
      return arith::ConstantOp::create(rewriter, loc, attribute);
    };
    bool isByte = getElementTypeOrSelf(op.getType()).isInteger(8) && bounded->least == 0 && bounded->most == 255;
    bool isAbove = saturates && isByte && isa<VectorType>(wide);
    Value number = bounded->buildOf(rewriter, loc, round.getOperand(), isAbove);
    Value whole = LLVM::LrintOp::create(rewriter, loc, wide, number);
    if (bounded->offset != 0)
      whole = arith::AddIOp::create(rewriter, loc, whole, constant(static_cast<int32_t>(bounded->offset)));
    if (isAbove)
      whole = arith::MinUIOp::create(rewriter, loc, whole, constant(255));
    // Bounds that the type holds tell that the instructions that saturate narrow it.
    auto flags = arith::IntegerOverflowFlags::none;
    unsigned bits = getElementTypeOrSelf(op.getType()).getIntOrFloatBitWidth();
    if (!isAbove && bounded->least >= 0 && bounded->most < std::ldexp(1.0, static_cast<int>(bits)))
      flags = arith::IntegerOverflowFlags::nuw;
    else if (!isAbove && std::max(-bounded->least, bounded->most + 1) <= std::ldexp(1.0, static_cast<int>(bits) - 1))
      flags = arith::IntegerOverflowFlags::nsw;
    rewriter.replaceOpWithNewOp<arith::TruncIOp>(op, op.getType(), whole, flags);
    return success();
  }

private:
  bool saturates;
};

/// Whether all that is computed from `value` is the same for 0 and -0.
static bool ignoresSignOfZero(Value value, int depth = kMostDepth) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (isa<arith::FPToSIOp, arith::FPToUIOp, LLVM::LrintOp, arith::CmpFOp>(user))
      return true;
    return depth > 0 && isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::SelectOp, math::RoundEvenOp>(user) &&
           ignoresSignOfZero(user->getResult(0), depth - 1);
  });
}

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
      if (!isSigned)
        return rewriter.notifyMatchFailure(op, "a number below 0 becomes a large one");
      value = wide.getIn();
      isExtended = true;
      asUnsigned = false;
    }
    Operation *from = value.getDefiningOp();
    bool fits = from && (asUnsigned ? isa<arith::FPToUIOp>(from) : isa<arith::FPToSIOp>(from)) &&
                (isExtended || offset == 0) && getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth() <= 16;
    if (!fits || from->getOperand(0).getType() != op.getType() || !isWhole(from->getOperand(0)))
      return rewriter.notifyMatchFailure(op, "no small integer of a whole float");
    // A zero point that is added before moves the bounds instead. Adding 0 makes 0 of -0, as integers do.
    Value number = from->getOperand(0);
    auto distance = static_cast<double>(offset);
    if (std::optional<Bounded> bounded = Bounded::match(number); bounded && isWhole(bounded->number)) {
      number = bounded->buildOf(rewriter, op.getLoc(), bounded->number);
      distance += bounded->offset;
    }
    if (distance == 0 && ignoresSignOfZero(op.getResult()))
      rewriter.replaceOp(op, number);
    else
      rewriter.replaceOpWithNewOp<arith::AddFOp>(op, number, constantLike(rewriter, op.getLoc(), number, distance));
    return success();
  }
};
} // namespace

void sinter::cpu::populateWholeNumbers(RewritePatternSet &patterns, bool saturates) {
  patterns.add<KeepWhole<arith::SIToFPOp>, KeepWhole<arith::UIToFPOp>>(patterns.getContext());
  patterns.add<RoundToInteger<arith::FPToSIOp>, RoundToInteger<arith::FPToUIOp>>(patterns.getContext(), saturates);
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/NumberRewrites.h"
#include "ir/Composer.h"
#include "ir/Constants.h"
#include "ir/Elementwise.h"
#include "ir/Shape.h"
#include "passes/SizeUses.h"

#include <cmath>

using namespace mlir;
using namespace sinter;

static bool isFloat(Value value) { return isa<FloatType>(tensorTypeOf(value).getElementType()); }

Value sinter::buildUniform(OpBuilder &b, Location loc, double number, Value like) {
  RankedTensorType type = tensorTypeOf(like);
  Type element = type.getElementType();
  TypedAttr value = isa<FloatType>(element) ? TypedAttr(b.getFloatAttr(element, number))
                                            : TypedAttr(b.getIntegerAttr(element, static_cast<int64_t>(number)));
  if (type.hasStaticShape())
    return ConstantOp::create(b, loc, type, DenseElementsAttr::get(type, value));
  auto scalarType = RankedTensorType::get({}, element);
  Value scalar = ConstantOp::create(b, loc, scalarType, DenseElementsAttr::get(scalarType, value));
  return BroadcastOp::create(b, loc, type, scalar, Value(), ValueRange{like}, ArrayRef<int64_t>(), type);
}

/// `number` in the element type of `like`; nothing where that is no normal number.
static std::optional<double> normalIn(double number, Value like) {
  const llvm::fltSemantics &semantics = cast<FloatType>(tensorTypeOf(like).getElementType()).getFloatSemantics();
  APFloat rounded(number);
  bool isLossy;
  rounded.convert(semantics, APFloat::rmNearestTiesToEven, &isLossy);
  if (!rounded.isNormal())
    return std::nullopt;
  rounded.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &isLossy);
  return rounded.convertToDouble();
}

/// True when every value of `from` is one of `to`.
static bool contains(Type to, Type from) {
  if (auto wide = dyn_cast<FloatType>(to)) {
    if (auto narrow = dyn_cast<FloatType>(from))
      return wide.getFPMantissaWidth() >= narrow.getFPMantissaWidth() && wide.getWidth() >= narrow.getWidth() &&
             !(wide.isF16() && narrow.isBF16()) && !(wide.isBF16() && narrow.isF16());
    return static_cast<unsigned>(wide.getFPMantissaWidth()) > from.getIntOrFloatBitWidth();
  }
  if (isa<FloatType>(from))
    return false;
  unsigned wide = to.getIntOrFloatBitWidth(), narrow = from.getIntOrFloatBitWidth();
  return isUnsigned(from) ? wide > narrow || (wide == narrow && isUnsigned(to)) : wide >= narrow && !isUnsigned(to);
}

namespace {

/// Fast math `merge-numbers`: (x * p) * q = x * (p * q) and (x + p) + q = x + (p + q) on floats, for constants that are
/// one number each. x * p may have been rounded, infinite or zero, and x + p rounded on purpose.
template <typename Op> struct MergeNumbers : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &b) const override {
    constexpr bool isProduct = std::is_same_v<Op, MulOp>;
    if (!isFloat(op.getResult()))
      return b.notifyMatchFailure(op, "is not on floats");
    auto split = [](Op binary) -> std::optional<std::pair<Value, double>> {
      if (std::optional<double> number = uniformValue(binary.getRhs()))
        return std::pair(binary.getLhs(), *number);
      if (std::optional<double> number = uniformValue(binary.getLhs()))
        return std::pair(binary.getRhs(), *number);
      return std::nullopt;
    };
    auto outer = split(op);
    auto before = outer ? outer->first.template getDefiningOp<Op>() : Op();
    auto inner = before ? split(before) : std::nullopt;
    if (!inner || !hasOneReader(before))
      return b.notifyMatchFailure(op, "has no chain of numbers");
    std::optional<double> merged =
        normalIn(isProduct ? inner->second * outer->second : inner->second + outer->second, op.getResult());
    if (!merged)
      return b.notifyMatchFailure(op, "the merged number is out of range");
    Value number = buildUniform(b, op.getLoc(), *merged, inner->first);
    b.replaceOpWithNewOp<Op>(op, op.getType(), inner->first, number);
    return success();
  }
};

/// x / 2^k = x * 2^-k: both round the same product once. Fast math `reciprocal`: x / c = x * (1 / c).
struct DivideByMultiplying : OpRewritePattern<DivOp> {
  DivideByMultiplying(MLIRContext *context, bool anyNumber) : OpRewritePattern(context), anyNumber(anyNumber) {}
  LogicalResult matchAndRewrite(DivOp op, PatternRewriter &b) const override {
    std::optional<double> number = isFloat(op.getResult()) ? uniformValue(op.getRhs()) : std::nullopt;
    int exponent;
    if (!number || (!anyNumber && std::abs(std::frexp(*number, &exponent)) != 0.5))
      return b.notifyMatchFailure(op, "is not divided by a power of two");
    std::optional<double> inverse = normalIn(1 / *number, op.getResult());
    if (!inverse || !normalIn(*number, op.getResult()))
      return b.notifyMatchFailure(op, "the divisor or its inverse is no normal number");
    b.replaceOpWithNewOp<MulOp>(op, op.getType(), op.getLhs(), buildUniform(b, op.getLoc(), *inverse, op.getLhs()));
    return success();
  }
  bool anyNumber;
};

/// min(max(x, low), inf) = max(x, low), and the same of the other bound. Not before gradients are taken: a bound takes
/// ties, an operand of max half of them.
struct DropInfiniteBound : OpRewritePattern<ClampOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ClampOp op, PatternRewriter &b) const override {
    if (!isFloat(op.getResult()))
      return b.notifyMatchFailure(op, "is not on floats");
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (uniformValue(op.getHigh()) == infinity) {
      b.replaceOpWithNewOp<MaxOp>(op, op.getType(), op.getOperand(), op.getLow());
      return success();
    }
    // max(x, -inf) is x, also where x is NaN.
    if (uniformValue(op.getLow()) == -infinity) {
      b.replaceOpWithNewOp<MinOp>(op, op.getType(), op.getOperand(), op.getHigh());
      return success();
    }
    return b.notifyMatchFailure(op, "both bounds are finite");
  }
};

/// a -> b -> c = a -> c when b holds every value of a. Not of integers by way of floats: those saturate where integers
/// wrap.
struct MergeConverts : OpRewritePattern<ConvertOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConvertOp op, PatternRewriter &b) const override {
    auto before = op.getOperand().getDefiningOp<ConvertOp>();
    if (!before)
      return b.notifyMatchFailure(op, "does not follow a conversion");
    Type from = tensorTypeOf(before.getOperand()).getElementType(),
         between = tensorTypeOf(op.getOperand()).getElementType();
    if (!contains(between, from))
      return b.notifyMatchFailure(op, "the conversion before loses values");
    Type to = tensorTypeOf(op.getResult()).getElementType();
    if (isa<FloatType>(between) && !isa<FloatType>(from) && !isa<FloatType>(to) && !contains(to, from))
      return b.notifyMatchFailure(op, "a float saturates");
    b.modifyOpInPlace(op, [&] { op.setOperand(before.getOperand()); });
    return success();
  }
};

} // namespace

void sinter::populateNumberRewrites(RewritePatternSet &patterns, bool fastMath) {
  MLIRContext *context = patterns.getContext();
  patterns.add<DropInfiniteBound, MergeConverts>(context);
  patterns.add<DivideByMultiplying>(context, /*anyNumber=*/fastMath);
  if (fastMath)
    patterns.add<MergeNumbers<MulOp>, MergeNumbers<AddOp>>(context);
}

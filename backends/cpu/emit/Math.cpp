// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/Math.h"
#include "backends/cpu/emit/MathLanes.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

static bool hasLanes(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isF32() || element.isF64();
}

namespace {

/// An op of one or two operands that is built from lanes.
template <typename OpT, Value (*Build)(MathLanes &, Value)> struct ReplaceUnary : OpRewritePattern<OpT> {
  ReplaceUnary(MLIRContext *context, MathInstructions has) : OpRewritePattern<OpT>(context), has(has) {}
  LogicalResult matchAndRewrite(OpT op, PatternRewriter &rewriter) const override {
    if (!hasLanes(op.getType()))
      return rewriter.notifyMatchFailure(op, "of neither f32 nor f64");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    MathLanes lanes(b, op.getType(), has);
    rewriter.replaceOp(op, Build(lanes, op.getOperand()));
    return success();
  }
  MathInstructions has;
};

template <typename OpT, Value (*Build)(MathLanes &, Value, Value)> struct ReplaceBinary : OpRewritePattern<OpT> {
  ReplaceBinary(MLIRContext *context, MathInstructions has) : OpRewritePattern<OpT>(context), has(has) {}
  LogicalResult matchAndRewrite(OpT op, PatternRewriter &rewriter) const override {
    if (!hasLanes(op.getType()))
      return rewriter.notifyMatchFailure(op, "of neither f32 nor f64");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    MathLanes lanes(b, op.getType(), has);
    rewriter.replaceOp(op, Build(lanes, op->getOperand(0), op->getOperand(1)));
    return success();
  }
  MathInstructions has;
};

/// maximumf and minimumf. `y > x ? y : x` is one instruction on x86 and gives x where a side is NaN; that leaves a NaN
/// in y.
template <typename OpT, arith::CmpFPredicate predicate> struct ReplaceExtremum : OpRewritePattern<OpT> {
  using OpRewritePattern<OpT>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpT op, PatternRewriter &rewriter) const override {
    if (!hasLanes(op.getType()))
      return rewriter.notifyMatchFailure(op, "of neither f32 nor f64");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    MathLanes m(b, op.getType(), {});
    Value x = op.getLhs(), y = op.getRhs();
    if (matchPattern(x, m_Constant()))
      std::swap(x, y);
    Value result = m.select(m.compare(predicate, y, x), y, x);
    if (!isNumber(y))
      result = m.select(m.isNan(y), y, result);
    rewriter.replaceOp(op, result);
    return success();
  }
  /// A constant without NaN.
  static bool isNumber(Value value) {
    Attribute constant;
    if (!matchPattern(value, m_Constant(&constant)))
      return false;
    if (auto elements = dyn_cast<DenseFPElementsAttr>(constant))
      return llvm::none_of(elements.getValues<APFloat>(), [](const APFloat &element) { return element.isNaN(); });
    auto number = dyn_cast<FloatAttr>(constant);
    return number && !number.getValue().isNaN();
  }
};

/// 1 / (1 + e^-x) as sinter.logistic builds it, with z = e^-|x|: (x < 0 ? z : 1) / (1 + z). As a whole it takes half as
/// many instructions.
struct ReplaceLogistic : OpRewritePattern<math::ExpOp> {
  // Before e^-|x| becomes a polynomial.
  ReplaceLogistic(MLIRContext *context, MathInstructions has) : OpRewritePattern(context, /*benefit=*/2), has(has) {}
  LogicalResult matchAndRewrite(math::ExpOp op, PatternRewriter &rewriter) const override {
    auto negated = op.getOperand().getDefiningOp<arith::NegFOp>();
    auto magnitude = negated ? negated.getOperand().getDefiningOp<math::AbsFOp>() : math::AbsFOp();
    if (!magnitude || !hasLanes(op.getType()) || !op.getResult().hasNUses(2))
      return rewriter.notifyMatchFailure(op, "not e^-|x| of f32 or f64 for a numerator and a denominator");
    Value x = magnitude.getOperand(), z = op;
    for (Operation *user : op->getUsers()) {
      auto quotient = user->hasOneUse() ? dyn_cast<arith::DivFOp>(*user->user_begin()) : arith::DivFOp();
      if (!quotient || !isLogistic(quotient, x, z))
        continue;
      ImplicitLocOpBuilder b(quotient.getLoc(), rewriter);
      rewriter.setInsertionPoint(quotient);
      MathLanes lanes(b, op.getType(), has);
      rewriter.replaceOp(quotient, buildLogistic(lanes, x));
      return success();
    }
    return rewriter.notifyMatchFailure(op, "no quotient is a logistic function");
  }
  static bool isLogistic(arith::DivFOp quotient, Value x, Value z) {
    auto select = quotient.getLhs().getDefiningOp<arith::SelectOp>();
    auto isNegative = select ? select.getCondition().getDefiningOp<arith::CmpFOp>() : arith::CmpFOp();
    auto sum = quotient.getRhs().getDefiningOp<arith::AddFOp>();
    return isNegative && isNegative.getPredicate() == arith::CmpFPredicate::OLT && isNegative.getLhs() == x &&
           matchPattern(isNegative.getRhs(), m_PosZeroFloat()) && select.getTrueValue() == z &&
           matchPattern(select.getFalseValue(), m_OneFloat()) && sum &&
           ((sum.getLhs() == z && matchPattern(sum.getRhs(), m_OneFloat())) ||
            (sum.getRhs() == z && matchPattern(sum.getLhs(), m_OneFloat())));
  }
  MathInstructions has;
};

/// expm1 of types without lanes of their own. MLIR lowers it to e^x - 1, which leaves no digit of a small x; with u =
/// e^x as it was rounded, (u - 1) (x / log(u)) is right (W. Kahan), until u is too small to tell x.
struct ExpandExpM1 : OpRewritePattern<math::ExpM1Op> {
  ExpandExpM1(MLIRContext *context) : OpRewritePattern(context, /*benefit=*/0) {}
  LogicalResult matchAndRewrite(math::ExpM1Op op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    MathLanes m(b, op.getType(), {});
    Value x = op.getOperand(), u = math::ExpOp::create(b, x), one = m.number(1), less = m.sub(u, one);
    Value result = m.mul(less, m.div(x, math::LogOp::create(b, u)));
    result = m.select(m.equal(u, one), x, result);
    Value isFar = m.select(m.less(x, m.number(-40)), m.number(-1), result);
    rewriter.replaceOp(op, m.select(m.equal(u, m.number(std::numeric_limits<double>::infinity())), u, isFar));
    return success();
  }
};

} // namespace

void cpu::populateMathExpansions(RewritePatternSet &patterns) { patterns.add<ExpandExpM1>(patterns.getContext()); }

//===- whole numbers -----------------------------------------------------------------------------------------===//

/// Adding 2^23 (2^52) rounds what is smaller.
static Value buildRoundEven(MathLanes &m, Value x) {
  Value a = m.abs(x), magic = m.number(m.isDouble() ? 0x1p52 : 0x1p23);
  return m.copySign(m.select(m.less(a, magic), m.sub(m.add(a, magic), magic), a), x);
}

static Value buildFloor(MathLanes &m, Value x) {
  Value nearest = buildRoundEven(m, x);
  return m.select(m.less(x, nearest), m.sub(nearest, m.number(1)), nearest);
}

/// The sign is that of x: -0 between -1 and 0.
static Value buildCeil(MathLanes &m, Value x) {
  Value nearest = buildRoundEven(m, x);
  return m.copySign(m.select(m.less(nearest, x), m.add(nearest, m.number(1)), nearest), x);
}

static Value buildRsqrt(MathLanes &m, Value x) { return m.div(m.number(1), m.sqrt(x)); }

void cpu::populateMathPolynomials(RewritePatternSet &patterns, MathInstructions has) {
  MLIRContext *context = patterns.getContext();
  populateMathExpansions(patterns);
  patterns.add<
      ReplaceUnary<math::ExpOp, buildExp>, ReplaceUnary<math::Exp2Op, buildExp2>, ReplaceUnary<math::LogOp, buildLog>,
      ReplaceUnary<math::Log2Op, buildLog2>, ReplaceUnary<math::RsqrtOp, buildRsqrt>,
      ReplaceUnary<math::ExpM1Op, buildExpM1>, ReplaceUnary<math::Log1pOp, buildLog1p>,
      ReplaceUnary<math::SinhOp, buildSinh>, ReplaceUnary<math::CoshOp, buildCosh>,
      ReplaceUnary<math::TanhOp, buildTanh>, ReplaceUnary<math::AsinhOp, buildAsinh>,
      ReplaceUnary<math::AcoshOp, buildAcosh>, ReplaceUnary<math::AtanhOp, buildAtanh>,
      ReplaceUnary<math::ErfOp, buildErf>, ReplaceUnary<math::SinOp, buildSin>, ReplaceUnary<math::CosOp, buildCos>,
      ReplaceUnary<math::TanOp, buildTan>, ReplaceUnary<math::AsinOp, buildAsin>, ReplaceUnary<math::AcosOp, buildAcos>,
      ReplaceUnary<math::AtanOp, buildAtan>, ReplaceBinary<math::PowFOp, buildPow>,
      ReplaceBinary<math::Atan2Op, buildAtan2>, ReplaceBinary<arith::RemFOp, buildRemainder>>(context, has);
  patterns.add<ReplaceLogistic>(context, has);
  if (!has.rounds)
    patterns.add<ReplaceUnary<math::FloorOp, buildFloor>, ReplaceUnary<math::CeilOp, buildCeil>,
                 ReplaceUnary<math::RoundEvenOp, buildRoundEven>>(context, has);
  patterns.add<ReplaceExtremum<arith::MaximumFOp, arith::CmpFPredicate::OGT>,
               ReplaceExtremum<arith::MinimumFOp, arith::CmpFPredicate::OLT>>(context);
}

LogicalResult sinter::cpu::expandMath(ModuleOp module, const FrozenRewritePatternSet &patterns) {
  GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  if (failed(applyPatternsGreedily(module, patterns, config)))
    return module.emitError("the rewrites before the conversion to the LLVM dialect do not come to an end");
  return success();
}

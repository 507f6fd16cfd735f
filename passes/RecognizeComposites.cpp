// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Older exports write softmax and norms in primitives. A statistic of a row comes back to the row's shape through
// broadcasts, reshapes that add axes of size 1, and arithmetic with numbers; RowStatistic follows it and remembers
// which axis of the row each of its axes is.

#include "ir/Composer.h"
#include "ir/Constants.h"
#include "ir/Elementwise.h"
#include "ir/Normalization.h"
#include "ir/Reduction.h"
#include "ir/Shape.h"
#include "passes/Passes.h"
#include "passes/SizeUses.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include <cmath>

using namespace mlir;
using namespace sinter;

namespace sinter {
#define GEN_PASS_DEF_RECOGNIZECOMPOSITES
#include "passes/Passes.h.inc"
} // namespace sinter

namespace {

class RowStatistic {
public:
  explicit RowStatistic(Value row) : value(row) {
    for (int64_t axis = 0; axis < tensorTypeOf(row).getRank(); ++axis)
      axes.push_back(axis);
  }

  Value value;
  /// axes[k] is the axis of the row that axis k of `value` is.
  SmallVector<int64_t> axes;

  /// Steps over everything that only repeats.
  void skipRepeats() {
    while (true) {
      if (auto broadcast = value.getDefiningOp<BroadcastOp>()) {
        SmallVector<int64_t> inner;
        for (int64_t axis : broadcast.getAxes())
          inner.push_back(axes[axis]);
        axes = inner;
        value = broadcast.getOperand();
      } else if (auto reshape = value.getDefiningOp<ReshapeOp>(); reshape && skipAddedAxes(reshape)) {
        value = reshape.getOperand();
      } else {
        return;
      }
    }
  }

  /// Steps over one op with a number on one side; the number, if it is that op.
  template <typename Op> std::optional<double> skipNumber(bool onlyRight = false) {
    skipRepeats();
    auto op = value.getDefiningOp<Op>();
    if (!op)
      return std::nullopt;
    if (std::optional<double> number = uniformValue(op.getRhs())) {
      value = op.getLhs();
      return number;
    }
    std::optional<double> number = onlyRight ? std::nullopt : uniformValue(op.getLhs());
    if (number)
      value = op.getRhs();
    return number;
  }

  template <typename Op> bool skip() {
    skipRepeats();
    auto op = value.getDefiningOp<Op>();
    if (!op)
      return false;
    value = op.getOperand();
    return true;
  }

  /// The reduction of `row`'s trailing axes from the returned one on (or of one axis, with `single`).
  std::optional<int64_t> reducedFrom(Combiner combiner, Value row, bool single = false) {
    skipRepeats();
    auto reduce = value.getDefiningOp<ReduceOp>();
    if (!reduce || reduce.getCombiner() != combiner || reduce.getOperand() != row || reduce.getAxes().empty())
      return std::nullopt;
    SmallVector<int64_t> reduced(reduce.getAxes()), kept;
    llvm::sort(reduced);
    int64_t rank = tensorTypeOf(row).getRank();
    for (int64_t axis = 0; axis < rank; ++axis)
      if (!llvm::is_contained(reduced, axis))
        kept.push_back(axis);
    if (kept != axes)
      return std::nullopt;
    if (single)
      return reduced.size() == 1 ? std::optional(reduced[0]) : std::nullopt;
    if (reduced.back() != rank - 1 || reduced.back() - reduced.front() + 1 != static_cast<int64_t>(reduced.size()))
      return std::nullopt;
    return reduced.front();
  }

  /// The mean over trailing axes of `row`: a sum over them, divided by their number.
  std::optional<int64_t> meanFrom(Value row) {
    std::optional<double> divisor = skipNumber<DivOp>(/*onlyRight=*/true), factor;
    if (!divisor)
      factor = skipNumber<MulOp>();
    std::optional<int64_t> axis = reducedFrom(Combiner::add, row);
    if (!axis)
      return std::nullopt;
    std::optional<int64_t> count = countElements(tensorTypeOf(row).getShape().drop_front(*axis));
    // As the element type rounds them: one element less is another divisor, however many there are.
    auto rounded = [&](double number) {
      return HostTensor::scalar(tensorTypeOf(row).getElementType(), number).getFloat(0);
    };
    double elements = count ? static_cast<double>(*count) : 0;
    if (!count || (divisor ? *divisor != rounded(elements) : factor.value_or(1) != rounded(1 / elements)))
      return std::nullopt;
    return axis;
  }

private:
  bool skipAddedAxes(ReshapeOp reshape) {
    RankedTensorType from = tensorTypeOf(reshape.getOperand()), to = reshape.getType();
    SmallVector<int64_t> inner;
    int64_t k = 0;
    for (auto [axis, size] : llvm::enumerate(to.getShape())) {
      if (k < from.getRank() && from.getDimSize(k) == size) {
        inner.push_back(axes[axis]);
        ++k;
      } else if (size != 1) {
        return false;
      }
    }
    if (k != from.getRank() || llvm::count_if(from.getShape(), ShapedType::isDynamic) > 1)
      return false;
    axes = inner;
    return true;
  }
};

/// exp(x - max(x)) / sum(exp(x - max(x)))
struct RecognizeSoftmax : OpRewritePattern<DivOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DivOp op, PatternRewriter &b) const override {
    auto exp = op.getLhs().getDefiningOp<ExpOp>();
    auto difference = exp ? exp.getOperand().getDefiningOp<SubOp>() : SubOp();
    if (!difference)
      return b.notifyMatchFailure(op, "divides no exponential of a difference");
    RowStatistic sum(op.getRhs()), greatest(difference.getRhs());
    std::optional<int64_t> axis = sum.reducedFrom(Combiner::add, exp, /*single=*/true);
    std::optional<int64_t> maxAxis = greatest.reducedFrom(Combiner::max, difference.getLhs(), /*single=*/true);
    if (!axis || axis != maxAxis)
      return b.notifyMatchFailure(op, "no sum and maximum over one axis");
    b.replaceOpWithNewOp<SoftmaxOp>(op, op.getType(), difference.getLhs(), *axis, false);
    return success();
  }
};

/// (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon), or without the means; `value` is the divisor, or 1 / divisor.
static std::optional<std::pair<int64_t, double>> matchDeviation(Value value, Value centred, bool inverted) {
  RowStatistic statistic(value);
  if (inverted ? !statistic.skip<RsqrtOp>() : !statistic.skip<SqrtOp>())
    return std::nullopt;
  std::optional<double> epsilon = statistic.skipNumber<AddOp>();
  if (!epsilon)
    return std::nullopt;
  // The square is reduced, behind the division by the number of elements.
  RowStatistic probe = statistic;
  while (true) {
    probe.skipRepeats();
    if (!probe.skipNumber<DivOp>(true) && !probe.skipNumber<MulOp>())
      break;
  }
  auto reduce = probe.value.getDefiningOp<ReduceOp>();
  Value square = reduce ? reduce.getOperand() : Value();
  auto product = square ? square.getDefiningOp<MulOp>() : MulOp();
  auto power = square ? square.getDefiningOp<PowOp>() : PowOp();
  bool squares = (product && product.getLhs() == centred && product.getRhs() == centred) ||
                 (power && power.getLhs() == centred && uniformValue(power.getRhs()) == 2.0);
  if (!squares)
    return std::nullopt;
  std::optional<int64_t> axis = statistic.meanFrom(square);
  return axis ? std::optional(std::pair(*axis, *epsilon)) : std::nullopt;
}

template <typename Op> struct RecognizeNorm : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &b) const override {
    constexpr bool inverted = std::is_same_v<Op, MulOp>;
    Value centred = op.getLhs();
    auto found = matchDeviation(op.getRhs(), centred, inverted);
    if (!found && inverted) {
      centred = op.getRhs();
      found = matchDeviation(op.getLhs(), centred, inverted);
    }
    if (!found)
      return b.notifyMatchFailure(op, "scales by no deviation");
    auto [axis, epsilon] = *found;
    Value x = centred;
    bool center = false;
    if (auto difference = centred.getDefiningOp<SubOp>()) {
      RowStatistic mean(difference.getRhs());
      if (mean.meanFrom(difference.getLhs()) == axis) {
        x = difference.getLhs();
        center = true;
      }
    }
    SmallVector<int64_t> statistics(tensorTypeOf(x).getShape());
    std::fill(statistics.begin() + axis, statistics.end(), 1);
    Type statisticType = RankedTensorType::get(statistics, tensorTypeOf(x).getElementType());
    auto norm =
        LayerNormOp::create(b, op.getLoc(), TypeRange{op.getType(), statisticType, statisticType}, x, Value(), Value(),
                            b.getI64IntegerAttr(axis), b.getF64FloatAttr(epsilon), b.getBoolAttr(center));
    b.replaceOp(op, norm.getResult());
    return success();
  }
};

/// norm * scale and norm + bias, where the other operand repeats a row.
template <typename Op> struct ExtendNorm : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &b) const override {
    constexpr bool isScale = std::is_same_v<Op, MulOp>;
    for (auto [value, other] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
      auto norm = value.template getDefiningOp<LayerNormOp>();
      if (!norm || value != norm.getResult() || !hasOneReader(value) || norm.getBias() || (isScale && norm.getScale()))
        continue;
      auto broadcast = other.template getDefiningOp<BroadcastOp>();
      int64_t rank = tensorTypeOf(value).getRank(), axis = norm.getAxis();
      if (!broadcast || tensorTypeOf(broadcast.getOperand()).getRank() != rank - axis ||
          tensorTypeOf(broadcast.getOperand()).getShape() != tensorTypeOf(value).getShape().drop_front(axis) ||
          !tensorTypeOf(broadcast.getOperand()).hasStaticShape() || broadcast.getAxes().front() != axis)
        continue;
      Value row = broadcast.getOperand();
      auto extended = LayerNormOp::create(b, op.getLoc(), norm->getResultTypes(), norm.getOperand(),
                                          isScale ? row : norm.getScale(), isScale ? norm.getBias() : row,
                                          norm.getAxisAttr(), norm.getEpsilonAttr(), norm.getCenterAttr());
      b.replaceAllUsesWith(norm.getMean(), extended.getMean());
      b.replaceUsesWithIf(norm.getResult(), extended.getResult(), readsOnlySizes);
      b.replaceAllUsesWith(norm.getInverseDeviation(), extended.getInverseDeviation());
      b.replaceOp(op, extended.getResult());
      return success();
    }
    return b.notifyMatchFailure(op, "no norm meets a repeated row");
  }
};

class RecognizeComposites : public sinter::impl::RecognizeCompositesBase<RecognizeComposites> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<RecognizeSoftmax, RecognizeNorm<DivOp>, RecognizeNorm<MulOp>, ExtendNorm<MulOp>, ExtendNorm<AddOp>>(
        &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

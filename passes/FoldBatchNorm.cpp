// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// y = (x - mean) / sqrt(variance + epsilon) * scale + bias = x * s + t with one s and t per channel. After a
// convolution with a constant filter, s goes into the filter's output channels; a bias that was added in between
// becomes bias * s + t.
//
// Rounding differs: s is rounded once instead of three times, and a sum of products of scaled weights has an error of
// its own. Both are as small as those of the sum itself. By itself x * s + t loses what x - mean would have kept, so it
// is left alone where the mean is more than 16 deviations; and nothing is folded that would overflow or leave no
// normal weight in a channel: results are infinite or NaN only where they were.

#include "ir/Composer.h"
#include "ir/Constants.h"
#include "ir/Contraction.h"
#include "ir/Elementwise.h"
#include "ir/Normalization.h"
#include "ir/Shape.h"
#include "passes/Passes.h"
#include "passes/SizeUses.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include <cmath>

using namespace mlir;
using namespace sinter;

namespace sinter {
#define GEN_PASS_DEF_FOLDBATCHNORM
#include "passes/Passes.h.inc"
} // namespace sinter

static Value buildConstant(PatternRewriter &b, Location loc, const HostTensor &tensor, StringRef name) {
  return ConstantOp::create(b, loc, tensor.tensorType(), tensor.toAttr(name));
}

/// A vector per channel, along `axis` of the shape of `like`.
static Value perChannel(PatternRewriter &b, Location loc, Type element, ArrayRef<double> values, int64_t axis,
                        Value like) {
  HostTensor tensor(element, {static_cast<int64_t>(values.size())});
  tensor.assignFloats(values);
  Value vector = buildConstant(b, loc, tensor, "batch_norm");
  RankedTensorType type = tensorTypeOf(like);
  SmallVector<Value> sizes;
  if (!type.hasStaticShape())
    sizes.push_back(like);
  return BroadcastOp::create(b, loc, type, vector, Value(), sizes, ArrayRef<int64_t>{axis}, type);
}

/// The constant vector that `value` repeats along `axis`, as numbers.
static std::optional<std::vector<double>> channelVector(Value value, int64_t axis) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  if (!broadcast)
    return std::nullopt;
  std::optional<HostTensor> tensor = constantTensor(broadcast.getOperand());
  if (!tensor)
    return std::nullopt;
  // Sizes of 1 but for the one axis.
  for (auto [k, size] : llvm::enumerate(tensor->shape()))
    if (size != 1 && broadcast.getAxes()[k] != axis)
      return std::nullopt;
  std::vector<double> numbers = tensor->toFloats();
  if (numbers.size() == 1 && tensorTypeOf(value).isDynamicDim(axis))
    return std::nullopt;
  if (numbers.size() == 1)
    numbers.resize(tensorTypeOf(value).getDimSize(axis), numbers[0]);
  return numbers;
}

/// `weights` with each slice of `axis` times its factor.
static HostTensor scaleAxis(const HostTensor &weights, int64_t axis, ArrayRef<double> factors) {
  HostTensor scaled(weights.elementType(), weights.shape());
  std::vector<double> values = weights.toFloats();
  int64_t inner = weights.strides()[axis], size = weights.size(axis);
  for (int64_t i = 0; i < weights.numElements(); ++i)
    values[i] *= factors[i / inner % size];
  scaled.assignFloats(values);
  return scaled;
}

/// True where every number is finite in `element`.
static bool areFinite(Type element, ArrayRef<double> numbers) {
  double most = APFloat::getLargest(cast<FloatType>(element).getFloatSemantics()).convertToDouble();
  return llvm::all_of(numbers, [&](double number) { return std::abs(number) <= most; });
}

/// True where scaling left every weight finite, and the largest of each slice of `axis` normal: then what others lose
/// below the normal numbers is less than what the largest is rounded by.
static bool keepsRange(const HostTensor &weights, const HostTensor &scaled, int64_t axis, ArrayRef<double> factors) {
  const llvm::fltSemantics &semantics = cast<FloatType>(weights.elementType()).getFloatSemantics();
  double least = APFloat::getSmallestNormalized(semantics).convertToDouble();
  int64_t inner = weights.strides()[axis];
  std::vector<double> before = weights.toFloats(), after = scaled.toFloats();
  std::vector<double> mostBefore(factors.size(), 0.0), mostAfter(factors.size(), 0.0);
  for (size_t i = 0; i < after.size(); ++i) {
    size_t channel = i / inner % factors.size();
    if (!std::isfinite(after[i]))
      return false;
    mostBefore[channel] = std::max(mostBefore[channel], std::abs(before[i]));
    mostAfter[channel] = std::max(mostAfter[channel], std::abs(after[i]));
  }
  for (auto [factor, old, now] : llvm::zip(factors, mostBefore, mostAfter))
    if (factor != 0 && old != 0 && now < least)
      return false;
  return true;
}

/// The operand with constant weights whose output channels are `axis` of the op's result, and which of its axes they
/// are.
static std::optional<std::pair<unsigned, int64_t>> weightsOf(Operation *op, int64_t axis) {
  if (auto convolution = dyn_cast<ConvolutionOp>(op)) {
    int64_t channels = convolution.getLayout() == ConvLayout::channels_first ? 1 : convolution.getType().getRank() - 1;
    return axis == channels ? std::optional(std::pair(1u, int64_t(0))) : std::nullopt;
  }
  if (auto dot = dyn_cast<DotGeneralOp>(op)) {
    // Free axes of rhs are the last of the result.
    SmallVector<int64_t> free;
    for (int64_t k = 0; k < tensorTypeOf(dot.getRhs()).getRank(); ++k)
      if (!llvm::is_contained(dot.getRhsBatch(), k) && !llvm::is_contained(dot.getRhsContract(), k))
        free.push_back(k);
    int64_t first = dot.getType().getRank() - static_cast<int64_t>(free.size());
    if (axis >= first)
      return std::pair(1u, free[axis - first]);
  }
  return std::nullopt;
}

namespace {

struct FoldStatistics : OpRewritePattern<BatchNormOp> {
  FoldStatistics(MLIRContext *context, bool fastMath) : OpRewritePattern(context), fastMath(fastMath) {}
  bool fastMath;
  LogicalResult matchAndRewrite(BatchNormOp op, PatternRewriter &b) const override {
    std::optional<HostTensor> scale = constantTensor(op.getScale()), bias = constantTensor(op.getBias());
    std::optional<HostTensor> mean = constantTensor(op.getMean()), variance = constantTensor(op.getVariance());
    if (!scale || !bias || !mean || !variance)
      return b.notifyMatchFailure(op, "statistics are not constant");
    std::vector<double> s = scale->toFloats(), t = bias->toFloats(), m = mean->toFloats(), v = variance->toFloats();
    double epsilon = op.getEpsilon().convertToDouble();
    bool isCentred = true;
    for (size_t c = 0; c < s.size(); ++c) {
      double deviation = std::sqrt(v[c] + epsilon);
      s[c] /= deviation;
      t[c] -= m[c] * s[c];
      isCentred &= std::abs(m[c]) <= 16 * deviation;
    }
    int64_t axis = op.getAxis();
    Type element = tensorTypeOf(op.getResult()).getElementType();
    if (!areFinite(element, s) || !areFinite(element, t))
      return b.notifyMatchFailure(op, "a factor or a sum is not finite");

    Value x = op.getOperand();
    Operation *before = x.getDefiningOp();
    std::vector<double> added(s.size(), 0.0);
    if (auto add = dyn_cast_or_null<AddOp>(before); add && hasOneReader(add)) {
      for (auto [value, other] : {std::pair(add.getLhs(), add.getRhs()), std::pair(add.getRhs(), add.getLhs())})
        if (auto vector = channelVector(other, axis);
            vector && value.getDefiningOp() && weightsOf(value.getDefiningOp(), axis)) {
          added = *vector;
          before = value.getDefiningOp();
          break;
        }
    }
    auto place = before && before->getNumResults() == 1 && hasOneReader(before->getResult(0)) ? weightsOf(before, axis)
                                                                                              : std::nullopt;
    std::optional<HostTensor> weights = place ? constantTensor(before->getOperand(place->first)) : std::nullopt;
    bool fits = weights && added.size() == s.size() && weights->size(place->second) == static_cast<int64_t>(s.size());
    std::optional<HostTensor> filter = fits ? std::optional(scaleAxis(*weights, place->second, s)) : std::nullopt;
    std::vector<double> sums(t);
    for (size_t c = 0; fits && c < s.size(); ++c)
      sums[c] += added[c] * s[c];
    if (!fits || !keepsRange(*weights, *filter, place->second, s) || !areFinite(element, sums)) {
      if (!isCentred && !fastMath)
        return b.notifyMatchFailure(op, "the mean is far larger than the deviation");
      Value product = MulOp::create(b, op.getLoc(), op.getType(), x, perChannel(b, op.getLoc(), element, s, axis, x));
      b.replaceOpWithNewOp<AddOp>(op, op.getType(), product, perChannel(b, op.getLoc(), element, t, axis, x));
      return success();
    }
    b.setInsertionPoint(before);
    Operation *scaled = b.clone(*before);
    b.setInsertionPoint(scaled);
    scaled->setOperand(place->first, buildConstant(b, before->getLoc(), *filter, "folded_filter"));
    b.setInsertionPoint(op);
    Value result = scaled->getResult(0);
    b.replaceUsesWithIf(before->getResult(0), result, readsOnlySizes);
    b.replaceUsesWithIf(x, result, readsOnlySizes);
    b.replaceOpWithNewOp<AddOp>(op, op.getType(), result, perChannel(b, op.getLoc(), element, sums, axis, result));
    return success();
  }
};

class FoldBatchNorm : public sinter::impl::FoldBatchNormBase<FoldBatchNorm> {
  using FoldBatchNormBase::FoldBatchNormBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FoldStatistics>(&getContext(), fastMath);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

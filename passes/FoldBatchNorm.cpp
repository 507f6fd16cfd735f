// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// y = (x - mean) / sqrt(variance + epsilon) * scale + bias = x * s + t with one s and t per channel. After a
// convolution with a constant filter, s goes into the filter's output channels; a bias that was added in between
// becomes bias * s + t.

#include "ir/Composer.h"
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

static std::optional<HostTensor> constantOf(Value value) {
  ElementsAttr attr;
  if (!matchPattern(value, m_Constant(&attr)))
    return std::nullopt;
  FailureOr<HostTensor> tensor = HostTensor::fromAttr(attr);
  return succeeded(tensor) ? std::optional<HostTensor>(std::move(*tensor)) : std::nullopt;
}

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
  std::optional<HostTensor> tensor = constantOf(broadcast.getOperand());
  if (!tensor)
    return std::nullopt;
  // Sizes of 1 but for the one axis.
  for (auto [k, size] : llvm::enumerate(tensor->shape()))
    if (size != 1 && broadcast.getAxes()[k] != axis)
      return std::nullopt;
  std::vector<double> numbers = tensor->toFloats();
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
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BatchNormOp op, PatternRewriter &b) const override {
    std::optional<HostTensor> scale = constantOf(op.getScale()), bias = constantOf(op.getBias());
    std::optional<HostTensor> mean = constantOf(op.getMean()), variance = constantOf(op.getVariance());
    if (!scale || !bias || !mean || !variance)
      return b.notifyMatchFailure(op, "statistics are not constant");
    std::vector<double> s = scale->toFloats(), t = bias->toFloats(), m = mean->toFloats(), v = variance->toFloats();
    double epsilon = op.getEpsilon().convertToDouble();
    for (size_t c = 0; c < s.size(); ++c) {
      s[c] /= std::sqrt(v[c] + epsilon);
      t[c] -= m[c] * s[c];
    }
    int64_t axis = op.getAxis();
    Type element = tensorTypeOf(op.getResult()).getElementType();

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
    std::optional<HostTensor> weights = place ? constantOf(before->getOperand(place->first)) : std::nullopt;
    if (!weights || added.size() != s.size() || weights->size(place->second) != static_cast<int64_t>(s.size())) {
      Value product = MulOp::create(b, op.getLoc(), op.getType(), x, perChannel(b, op.getLoc(), element, s, axis, x));
      b.replaceOpWithNewOp<AddOp>(op, op.getType(), product, perChannel(b, op.getLoc(), element, t, axis, x));
      return success();
    }
    for (size_t c = 0; c < s.size(); ++c)
      t[c] += added[c] * s[c];
    b.setInsertionPoint(before);
    Operation *scaled = b.clone(*before);
    b.setInsertionPoint(scaled);
    scaled->setOperand(place->first,
                       buildConstant(b, before->getLoc(), scaleAxis(*weights, place->second, s), "folded_filter"));
    b.setInsertionPoint(op);
    Value result = scaled->getResult(0);
    b.replaceUsesWithIf(before->getResult(0), result, readsOnlySizes);
    b.replaceUsesWithIf(x, result, readsOnlySizes);
    b.replaceOpWithNewOp<AddOp>(op, op.getType(), result, perChannel(b, op.getLoc(), element, t, axis, result));
    return success();
  }
};

class FoldBatchNorm : public sinter::impl::FoldBatchNormBase<FoldBatchNorm> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FoldStatistics>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

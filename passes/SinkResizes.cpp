// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A head of a segmentation network makes small maps large and joins their channels, which a convolution of one tap
// combines. Each place is resized by itself and each channel by the same weights, so what resizes may do so to the
// sums instead, of which there are fewer places to compute:
//
//   conv(join(resize(a), b), w) = resize(conv(a, w_a)) + conv(b, w_b)

#include "ir/Composer.h"
#include "ir/Contraction.h"
#include "ir/Elementwise.h"
#include "ir/Resampling.h"
#include "ir/Shape.h"
#include "passes/Devices.h"
#include "passes/HoistPointwise.h"
#include "passes/Passes.h"
#include "passes/SizeTables.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace sinter;

namespace sinter {
#define GEN_PASS_DEF_SINKRESIZES
#include "passes/Passes.h.inc"
} // namespace sinter

/// The resize that `part` of the input of `op` is, where sums of what it reads are fewer than half of those of `part`.
static ResizeOp shrinkingResize(ConvolutionOp op, Value part) {
  auto resize = part.getDefiningOp<ResizeOp>();
  if (!resize || resize.getRoi() || resize.getMode() == ResizeMode::cubic)
    return nullptr;
  DimContext context;
  ShapeAnalysis sizes(context);
  Dims from = sizes.dims(resize.getOperand()), to = sizes.dims(resize.getResult());
  int64_t channels = channelAxis(op);
  if (from[0] != to[0] || from[channels] != to[channels] || !to[channels].isConstant())
    return nullptr;
  bool grows = typicallyGrows(context, from, to, /*times=*/2);
  return grows && op.getType().getDimSize(channels) <= to[channels].constant() ? resize : ResizeOp();
}

namespace {

struct ConvolveBeforeResize : OpRewritePattern<ConvolutionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConvolutionOp op, PatternRewriter &b) const override {
    if (hasDevices(op))
      return b.notifyMatchFailure(op, "a device may run it, where one large product is not known to be slower");
    Type element = op.getType().getElementType();
    auto hasElement = [&](Value value) { return tensorTypeOf(value).getElementType() == element; };
    if (!isa<Float32Type, Float64Type>(element) || !hasElement(op.getInput()) || !hasElement(op.getFilter()))
      return b.notifyMatchFailure(op, "sums would be rounded to a narrow type");
    if (!hasOneTap(op) || !matchPattern(op.getFilter(), m_Constant()))
      return b.notifyMatchFailure(op, "is no convolution of one constant tap");
    auto joined = op.getInput().getDefiningOp<ConcatenateOp>();
    if (joined && static_cast<int64_t>(joined.getAxis()) != channelAxis(op))
      return b.notifyMatchFailure(op, "joins no channels");
    SmallVector<Value> parts = joined ? SmallVector<Value>(joined.getOperands()) : SmallVector<Value>{op.getInput()};
    if (llvm::any_of(parts, [&](Value part) { return tensorTypeOf(part).isDynamicDim(channelAxis(op)); }))
      return b.notifyMatchFailure(op, "numbers of channels are known at run time only");
    if (llvm::none_of(parts, [&](Value part) { return shrinkingResize(op, part); }))
      return b.notifyMatchFailure(op, "nothing is made larger");

    SmallVector<Value> sums, others, weightsOfOthers;
    int64_t begin = 0;
    for (Value part : parts) {
      int64_t end = begin + tensorTypeOf(part).getDimSize(channelAxis(op));
      Value weights = weightsOf(b, op, begin, end);
      begin = end;
      if (ResizeOp resize = shrinkingResize(op, part)) {
        sums.push_back(resized(b, op, resize, convolved(b, op, resize.getOperand(), weights)));
      } else {
        others.push_back(part);
        weightsOfOthers.push_back(weights);
      }
    }
    if (!others.empty())
      sums.insert(sums.begin(), convolved(b, op, join(b, op, others), join(b, op, weightsOfOthers)));
    Value sum = sums.front();
    for (Value next : ArrayRef(sums).drop_front())
      sum = AddOp::create(b, op.getLoc(), sum, next);
    b.replaceOp(op, sum);
    return success();
  }

private:
  /// The filter for channels [begin, end) of the input.
  static Value weightsOf(PatternRewriter &b, ConvolutionOp op, int64_t begin, int64_t end) {
    RankedTensorType type = tensorTypeOf(op.getFilter());
    SmallVector<int64_t> starts(type.getRank(), 0), limits(type.getShape()), steps(type.getRank(), 1), sizes(limits);
    starts[channelAxis(op)] = begin;
    limits[channelAxis(op)] = end;
    sizes[channelAxis(op)] = end - begin;
    return SliceOp::create(b, op.getFilter().getLoc(), type.clone(sizes), op.getFilter(), starts, limits, steps);
  }

  static Value join(PatternRewriter &b, ConvolutionOp op, ArrayRef<Value> parts) {
    return parts.size() == 1 ? parts.front() : ConcatenateOp::create(b, op.getLoc(), parts, channelAxis(op));
  }

  static Value convolved(PatternRewriter &b, ConvolutionOp op, Value input, Value weights) {
    Operation *copy = b.clone(*op);
    copy->setOperands({input, weights});
    SmallVector<int64_t> sizes(tensorTypeOf(input).getShape());
    sizes[channelAxis(op)] = op.getType().getDimSize(channelAxis(op));
    copy->getResult(0).setType(op.getType().clone(sizes));
    return copy->getResult(0);
  }

  /// `resize` of `small`, which has the channels of the result of `op`.
  static Value resized(PatternRewriter &b, ConvolutionOp op, ResizeOp resize, Value small) {
    ResizeOp copy = resize.clone();
    b.insert(copy);
    copy.getOperandMutable().assign(small);
    SmallVector<int64_t> sizes(resize.getType().getShape());
    sizes[channelAxis(op)] = op.getType().getDimSize(channelAxis(op));
    copy.getResult().setType(resize.getType().clone(sizes));
    if (Value given = resize.getSizes()) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(copy);
      auto number = [&](int64_t size) { return b.getIntegerAttr(tensorTypeOf(given).getElementType(), size); };
      SmallVector<OpFoldResult> entries;
      for (auto [axis, size] : llvm::enumerate(sizes))
        entries.push_back(ShapedType::isDynamic(size) ? entryOf(b, given, axis) : OpFoldResult(number(size)));
      copy.getSizesMutable().assign(tableOf(b, given.getLoc(), tensorTypeOf(given).getElementType(), entries));
    }
    return copy.getResult();
  }
};

/// A resize to the sizes that are there reads each element where it lies.
struct DropIdleResize : OpRewritePattern<ResizeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ResizeOp op, PatternRewriter &b) const override {
    bool isIdle = op.getType().hasStaticShape() && op.getType() == tensorTypeOf(op.getOperand()) && !op.getScales();
    if (!isIdle || op.getRoi() || op.getCoordinates() == CoordinateMode::tf_half_pixel_for_nn)
      return b.notifyMatchFailure(op, "moves elements");
    b.replaceOp(op, op.getOperand());
    return success();
  }
};

class SinkResizes : public sinter::impl::SinkResizesBase<SinkResizes> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ConvolveBeforeResize, DropIdleResize>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

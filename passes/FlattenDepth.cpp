// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A convolution over three axes is one over the last two: positions along the first (the depth, or time) are rows of
// the batch, and its taps are channels. That copies the input once a tap, and saves a second register kernel: the same
// holds for gradients by inputs and by filters, which are convolutions.

#include "ir/AxisOrder.h"
#include "ir/Composer.h"
#include "ir/Contraction.h"
#include "ir/Shape.h"
#include "passes/HoistPointwise.h"
#include "passes/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace sinter;

namespace sinter {
#define GEN_PASS_DEF_FLATTENDEPTH
#include "passes/Passes.h.inc"
} // namespace sinter

static Value transposed(OpBuilder &b, Location loc, Value value, ArrayRef<int64_t> permutation) {
  return TransposeOp::create(b, loc, value, permutation);
}

/// The input [N, D, ..., C] with its padding and the zeros between its elements along D.
static Value padDepth(OpBuilder &b, ConvolutionOp op, Value last) {
  RankedTensorType type = tensorTypeOf(last);
  int64_t between = op.getInputDilation()[0] - 1;
  SmallVector<int64_t> low(5, 0), high(5, 0), interior(5, 0), shape(type.getShape());
  low[1] = op.getLow()[0];
  high[1] = op.getHigh()[0];
  interior[1] = between;
  shape[1] += (shape[1] - 1) * between + low[1] + high[1];
  auto scalar = RankedTensorType::get({}, type.getElementType());
  Value zero =
      ConstantOp::create(b, op.getLoc(), scalar, DenseElementsAttr::get(scalar, b.getZeroAttr(type.getElementType())));
  return PadOp::create(b, op.getLoc(), type.clone(shape), last, zero, low, high, interior);
}

namespace {

struct FlattenConvolution : OpRewritePattern<ConvolutionOp> {
  FlattenConvolution(MLIRContext *context, const CompositeFilter &keep) : OpRewritePattern(context), keep(keep) {}

  LogicalResult matchAndRewrite(ConvolutionOp op, PatternRewriter &b) const override {
    Location loc = op.getLoc();
    bool isFirst = op.getLayout() == ConvLayout::channels_first;
    RankedTensorType input = tensorTypeOf(op.getInput()), filter = tensorTypeOf(op.getFilter()), result = op.getType();
    if (input.getRank() != 5)
      return b.notifyMatchFailure(op, "has not three axes beside rows and channels");
    if (!input.hasStaticShape() || !filter.hasStaticShape() || !result.hasStaticShape())
      return b.notifyMatchFailure(op, "sizes are known at run time only");
    if (input.getNumElements() == 0 || filter.getNumElements() == 0 || result.getNumElements() == 0)
      return b.notifyMatchFailure(op, "multiplies nothing");
    if (!isa<FloatType>(result.getElementType()) || op.getGroups() > 1)
      return b.notifyMatchFailure(op, "is not on floats, or has groups");
    if (keep && keep(op))
      return b.notifyMatchFailure(op, "has a kernel that slides over all axes");
    SmallVector<int64_t> toLast = channelsToLast(5), toFirst = channelsToFirst(5);
    Value x = isFirst ? transposed(b, loc, op.getInput(), toLast) : op.getInput();
    Value w = isFirst ? transposed(b, loc, op.getFilter(), toLast) : op.getFilter();
    int64_t depthAxis = isFirst ? 2 : 1;
    int64_t batch = input.getDimSize(0), depth = result.getDimSize(depthAxis);
    int64_t height = tensorTypeOf(x).getDimSize(2), width = tensorTypeOf(x).getDimSize(3);
    int64_t outputs = filter.getDimSize(0), taps = filter.getDimSize(depthAxis);
    int64_t channels = tensorTypeOf(x).getDimSize(4);

    // What tap t meets at position z of the result: [N, depth, H, W, C] each, side by side [N, depth, H, W, taps * C].
    Value padded = padDepth(b, op, x);
    SmallVector<Value> met;
    for (int64_t tap = 0; tap < taps; ++tap) {
      SmallVector<int64_t> starts(5, 0), steps(5, 1), limits(tensorTypeOf(padded).getShape());
      starts[1] = tap * op.getDilation()[0];
      steps[1] = op.getStrides()[0];
      limits[1] = starts[1] + (depth - 1) * steps[1] + 1;
      met.push_back(SliceOp::create(b, loc, padded, starts, limits, steps));
    }
    auto metType = input.clone({batch, depth, height, width, taps * channels});
    Value all = met.size() == 1 ? met[0] : Value(ConcatenateOp::create(b, loc, metType, met, 4));
    all = reshaped(b, loc, all, {batch * depth, height, width, taps * channels});
    Value flat = transposed(b, loc, w, {0, 2, 3, 1, 4});
    flat = reshaped(b, loc, flat,
                    {outputs, tensorTypeOf(w).getDimSize(2), tensorTypeOf(w).getDimSize(3), taps * channels});

    auto planes = cast<ConvolutionOp>(b.clone(*op));
    planes->setOperands({all, flat});
    int64_t rows = result.getDimSize(depthAxis + 1), columns = result.getDimSize(depthAxis + 2);
    planes.getResult().setType(result.clone({batch * depth, rows, columns, outputs}));
    planes.setLayout(ConvLayout::channels_last);
    planes.setStrides(op.getStrides().drop_front());
    planes.setLow(op.getLow().drop_front());
    planes.setHigh(op.getHigh().drop_front());
    planes.setInputDilation(op.getInputDilation().drop_front());
    planes.setDilation(op.getDilation().drop_front());
    Value split = reshaped(b, loc, planes, {batch, depth, rows, columns, outputs});
    b.replaceOp(op, isFirst ? transposed(b, loc, split, toFirst) : split);
    return success();
  }

  const CompositeFilter &keep;
};

class FlattenDepth : public sinter::impl::FlattenDepthBase<FlattenDepth> {
public:
  using FlattenDepthBase::FlattenDepthBase;
  explicit FlattenDepth(CompositeFilter keep) : keep(std::move(keep)) {}

private:
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FlattenConvolution>(&getContext(), keep);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }

  CompositeFilter keep;
};

} // namespace

std::unique_ptr<Pass> sinter::createFlattenDepth(CompositeFilter keep) {
  return std::make_unique<FlattenDepth>(std::move(keep));
}

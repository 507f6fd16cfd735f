// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Heads of segmentation models grow an image by a transposed convolution and multiply each pixel's channels by a matrix
// then, often as a second one. Once phases are channels (SplitPhases), what lies between is a move of pixels:
//
//   convolution(reshape(transpose(y)))    ->    reshape(transpose(convolution(y)))
//
// so that fewer channels are moved, and moves follow each other.

#include "ir/AxisOrder.h"
#include "ir/Composer.h"
#include "ir/Shape.h"
#include "passes/HoistPointwise.h"
#include "passes/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace sinter;

namespace sinter {
#define GEN_PASS_DEF_SINKMOVES
#include "passes/Passes.h.inc"
} // namespace sinter

/// What `value` is with its axes in this order, or null where it is something else.
static Value operandOfTranspose(Value value, ArrayRef<int64_t> order) {
  auto transpose = value.getDefiningOp<TransposeOp>();
  return transpose && transpose->hasOneUse() && transpose.getPermutation() == order ? transpose.getOperand() : Value();
}

namespace {

struct MultiplyBeforeMove : OpRewritePattern<ConvolutionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConvolutionOp op, PatternRewriter &b) const override;
};

class SinkMoves : public sinter::impl::SinkMovesBase<SinkMoves> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<MultiplyBeforeMove>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

LogicalResult MultiplyBeforeMove::matchAndRewrite(ConvolutionOp op, PatternRewriter &b) const {
  Location loc = op.getLoc();
  bool isFirst = op.getLayout() == ConvLayout::channels_first;
  int64_t rank = op.getType().getRank();
  SmallVector<int64_t> toFirst = channelsToFirst(rank);
  Value moved = op.getInput();
  if (!isFirst)
    if (Value turned = operandOfTranspose(moved, channelsToLast(rank)))
      moved = operandOfTranspose(turned, toFirst);
  if (isFirst)
    moved = operandOfTranspose(moved, toFirst);
  auto reshape = moved ? moved.getDefiningOp<ReshapeOp>() : ReshapeOp();
  auto move = reshape && reshape->hasOneUse() ? reshape.getOperand().getDefiningOp<TransposeOp>() : TransposeOp();
  if (!move || !move->hasOneUse() || !hasOneTap(op))
    return b.notifyMatchFailure(op, "is no convolution of one tap of pixels that were moved");
  RankedTensorType source = tensorTypeOf(move.getOperand()), target = tensorTypeOf(moved);
  int64_t channels = target.getShape().back(), outputs = tensorTypeOf(op.getFilter()).getDimSize(0);
  ArrayRef<int64_t> order = move.getPermutation();
  if (!source.hasStaticShape() || !target.hasStaticShape() || source.getShape().back() != channels ||
      order.back() != source.getRank() - 1)
    return b.notifyMatchFailure(op, "the move is not of pixels");
  if (outputs > channels || channels == 0)
    return b.notifyMatchFailure(op, "would move more");

  SmallVector<int64_t> pixels(rank, 1), taps(rank, 1), sizes(source.getShape()), places(target.getShape());
  pixels[rank - 2] = source.getNumElements() / channels;
  pixels[rank - 1] = taps[rank - 1] = channels;
  taps[0] = sizes.back() = places.back() = outputs;
  ConvolutionOp sums = op.clone();
  b.insert(sums);
  b.setInsertionPoint(sums);
  sums->setOperands({reshaped(b, loc, move.getOperand(), pixels), reshaped(b, loc, op.getFilter(), taps)});
  pixels[rank - 1] = outputs;
  sums.getResult().setType(op.getType().clone(pixels));
  sums.setLayout(ConvLayout::channels_last);
  Value results = sums;
  SmallVector<Operation *> replaced;
  Operation *end = hoistPointwise(b, op, results, /*phases=*/1, replaced);
  Value placed = TransposeOp::create(b, loc, reshaped(b, loc, results, sizes), order);
  placed = reshaped(b, loc, placed, places);
  b.replaceOp(end, isFirst ? Value(TransposeOp::create(b, loc, placed, toFirst)) : placed);
  for (Operation *earlier : llvm::reverse(replaced))
    b.eraseOp(earlier);
  return success();
}

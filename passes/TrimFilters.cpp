// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/LiveTaps.h"
#include "ir/Shape.h"
#include "passes/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace sinter;

namespace sinter {
#define GEN_PASS_DEF_TRIMFILTERS
#include "passes/Passes.h.inc"
} // namespace sinter

namespace {

struct TrimTaps : OpRewritePattern<ConvolutionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConvolutionOp op, PatternRewriter &b) const override {
    auto filter = cast<RankedTensorType>(op.getFilter().getType());
    if (!filter.hasStaticShape())
      return b.notifyMatchFailure(op, "the filter's sizes are not known");
    int64_t first = op.getLayout() == ConvLayout::channels_first ? 2 : 1;
    SmallVector<int64_t> starts(filter.getRank(), 0), limits(filter.getShape()), steps(filter.getRank(), 1);
    SmallVector<int64_t> low(op.getLow()), high(op.getHigh());
    for (auto [k, range] : llvm::enumerate(liveTaps(op))) {
      int64_t axis = first + static_cast<int64_t>(k), dilation = op.getDilation()[k];
      low[k] -= range.begin * dilation;
      high[k] -= (limits[axis] - range.end) * dilation;
      starts[axis] = range.begin;
      limits[axis] = range.end;
    }
    if (llvm::equal(limits, filter.getShape()) && llvm::all_of(starts, [](int64_t start) { return start == 0; }))
      return b.notifyMatchFailure(op, "every border of the filter meets the input");
    Value taps = SliceOp::create(b, op.getFilter().getLoc(), op.getFilter(), starts, limits, steps);
    b.modifyOpInPlace(op, [&] {
      op.getFilterMutable().assign(taps);
      op.setLow(low);
      op.setHigh(high);
    });
    return success();
  }
};

class TrimFilters : public sinter::impl::TrimFiltersBase<TrimFilters> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<TrimTaps>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Composer.h"
#include "ir/Constants.h"
#include "ir/LiveTaps.h"
#include "ir/Shape.h"
#include "passes/Passes.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include <cmath>

using namespace mlir;
using namespace sinter;

namespace sinter {
#define GEN_PASS_DEF_TRIMFILTERS
#include "passes/Passes.h.inc"
} // namespace sinter

/// True where no element outside of [starts, limits) is infinite or NaN.
static bool areFiniteOutside(const HostTensor &tensor, ArrayRef<int64_t> starts, ArrayRef<int64_t> limits) {
  for (auto [i, value] : llvm::enumerate(tensor.toFloats())) {
    if (std::isfinite(value))
      continue;
    bool isInside = true;
    for (size_t axis = 0; axis < starts.size(); ++axis) {
      int64_t at = static_cast<int64_t>(i) / tensor.strides()[axis] % tensor.size(static_cast<int64_t>(axis));
      isInside &= at >= starts[axis] && at < limits[axis];
    }
    if (!isInside)
      return false;
  }
  return true;
}

namespace {

struct TrimTaps : OpRewritePattern<ConvolutionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConvolutionOp op, PatternRewriter &b) const override {
    auto filter = cast<RankedTensorType>(op.getFilter().getType());
    if (!filter.hasStaticShape())
      return b.notifyMatchFailure(op, "the filter's sizes are not known");
    // No tap meets anything in an input without elements: all sums are 0.
    RankedTensorType input = tensorTypeOf(op.getInput()), result = op.getType();
    if (llvm::is_contained(input.getShape(), 0) && result.hasStaticShape()) {
      Composer c(op.getLoc(), b);
      b.replaceOp(op, c.fill(0, op.getResult()));
      return success();
    }
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
    // What is infinite or NaN makes NaN of the zeros that it would have met.
    if (matchPattern(op.getFilter(), m_Constant())) {
      std::optional<HostTensor> weights = constantTensor(op.getFilter());
      if (!weights || !areFiniteOutside(*weights, starts, limits))
        return b.notifyMatchFailure(op, "a tap that meets padding is infinite or NaN");
    }
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

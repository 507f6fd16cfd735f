// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Images that grow along several axes, as at the end of a network that tells of each pixel what it shows. Where lanes
// are neighbours along a resized axis, each of them gathers what it reads: four elements for a linear mode, of which
// neighbours above and below read most again. The last axis by itself first is a fraction of the elements, and what
// is left reads and weighs whole lines.
//
//   resize [N, C, h, w] -> [N, C, H, W]    =    resize [N, C, h, w] -> [N, C, h, W] -> [N, C, H, W]
//
// Both sum what lies along the last axis first, in the type of the result, so that bits stay. A transpose that follows
// moves fewer elements before.

#include "ir/Constants.h"
#include "ir/Resampling.h"
#include "ir/Shape.h"
#include "passes/Devices.h"
#include "passes/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace sinter;

namespace sinter {
#define GEN_PASS_DEF_SPLITRESIZES
#include "passes/Passes.h.inc"
} // namespace sinter

/// How many times as many elements as before make it worth to write and read those in between.
constexpr int64_t kLeastGrowth = 2;

namespace {
/// What decides along which axes a resize of known sizes moves elements, and how far.
struct ResizePlan {
  SmallVector<double> scales; // those given, or empty
  SmallVector<int64_t> from, to;

  bool resizes(int64_t axis) const { return scales.empty() ? from[axis] != to[axis] : scales[axis] != 1; }
};
} // namespace

/// Null with the reason in `refusal` where axes depend on each other, or sizes are not known.
static std::optional<ResizePlan> planOf(ResizeOp op, std::string &refusal) {
  auto from = cast<RankedTensorType>(op.getOperand().getType()), to = cast<RankedTensorType>(op.getType());
  std::optional<ResizePlan> plan;
  std::optional<SmallVector<double>> scales = constantFloats(op.getScales());
  if (hasDevices(op))
    refusal = "a device may run it, where one kernel is not known to be slower";
  else if (!from.hasStaticShape() || !to.hasStaticShape() || (op.getScales() && (op.getSizes() || !scales)))
    refusal = "sizes or scales are not known";
  else if (op.getRoi() || op.getCoordinates() == CoordinateMode::tf_half_pixel_for_nn)
    refusal = "positions along axes of the same size are computed, too";
  else
    plan = ResizePlan{scales.value_or(SmallVector<double>()), SmallVector<int64_t>(from.getShape()),
                      SmallVector<int64_t>(to.getShape())};
  return plan;
}

/// `op` of another operand, to the sizes or by the scales that are given for its axes.
static Value resizeTo(PatternRewriter &b, ResizeOp op, Value operand, const ResizePlan &plan) {
  ResizeOp copy = op.clone();
  b.insert(copy);
  copy.getOperandMutable().assign(operand);
  if (plan.scales.empty()) {
    auto type = RankedTensorType::get({static_cast<int64_t>(plan.to.size())}, b.getI64Type());
    copy.getSizesMutable().assign(
        ConstantOp::create(b, op.getLoc(), type, DenseElementsAttr::get(type, ArrayRef(plan.to))));
  } else {
    auto type = RankedTensorType::get({static_cast<int64_t>(plan.scales.size())}, b.getF32Type());
    SmallVector<float> scales(plan.scales.begin(), plan.scales.end());
    copy.getScalesMutable().assign(
        ConstantOp::create(b, op.getLoc(), type, DenseElementsAttr::get(type, ArrayRef(scales))));
  }
  copy.getResult().setType(cast<RankedTensorType>(op.getType()).clone(plan.to));
  return copy;
}

namespace {

struct TransposeBeforeResize : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &b) const override {
    auto resize = op.getOperand().getDefiningOp<ResizeOp>();
    if (!resize || !resize->hasOneUse())
      return b.notifyMatchFailure(op, "it moves no resized image, or others read that as it lies");
    std::string refusal;
    std::optional<ResizePlan> plan = planOf(resize, refusal);
    if (!plan)
      return b.notifyMatchFailure(op, refusal);
    if (ShapedType::getNumElements(plan->to) < kLeastGrowth * ShapedType::getNumElements(plan->from))
      return b.notifyMatchFailure(op, "there are not many fewer elements before");
    ResizePlan moved;
    int64_t last = -1; // of the resized axes, whose order is that of the sums
    for (int64_t axis : op.getPermutation()) {
      if (plan->resizes(axis)) {
        if (axis < last)
          return b.notifyMatchFailure(op, "it sums along axes in another order");
        last = axis;
      }
      moved.to.push_back(plan->to[axis]);
      if (!plan->scales.empty())
        moved.scales.push_back(plan->scales[axis]);
    }
    Value before = TransposeOp::create(b, op.getLoc(), resize.getOperand(), op.getPermutation());
    b.replaceOp(op, resizeTo(b, resize, before, moved));
    b.eraseOp(resize);
    return success();
  }
};

struct SplitResize : OpRewritePattern<ResizeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ResizeOp op, PatternRewriter &b) const override {
    Type element = getElementTypeOrSelf(op.getType());
    if (op.getMode() == ResizeMode::nearest || !(element.isF32() || element.isF64()))
      return b.notifyMatchFailure(op, "it weighs no elements, or not in their type");
    std::string refusal;
    std::optional<ResizePlan> plan = planOf(op, refusal);
    if (!plan)
      return b.notifyMatchFailure(op, refusal);
    auto last = static_cast<int64_t>(plan->to.size()) - 1;
    if (last < 0 || !plan->resizes(last))
      return b.notifyMatchFailure(op, "neighbours of a result are neighbours of what it reads");
    ResizePlan line = *plan, rest = *plan;
    for (int64_t axis = 0; axis < last; ++axis) {
      line.to[axis] = plan->from[axis];
      if (!line.scales.empty())
        line.scales[axis] = 1;
    }
    if (!rest.scales.empty())
      rest.scales[last] = 1;
    if (ShapedType::getNumElements(plan->to) < kLeastGrowth * ShapedType::getNumElements(line.to))
      return b.notifyMatchFailure(op, "what lies in between has about as many elements");
    b.replaceOp(op, resizeTo(b, op, resizeTo(b, op, op.getOperand(), line), rest));
    return success();
  }
};

class SplitResizes : public sinter::impl::SplitResizesBase<SplitResizes> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<TransposeBeforeResize, SplitResize>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

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
#include "passes/SizeTables.h"

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
/// What decides along which axes a resize moves elements, and how far.
struct ResizePlan {
  DimContext context;
  ShapeAnalysis sizes{context};
  SmallVector<double> scales; // those given, or empty
  Dims from, to;

  /// Nothing with the reason in `refusal` where axes depend on each other.
  LogicalResult find(ResizeOp op, std::string &refusal);
  bool resizes(int64_t axis) const { return scales.empty() ? from[axis] != to[axis] : scales[axis] != 1; }
  bool grows(ArrayRef<DimExpr> before) { return typicallyGrows(context, before, to, kLeastGrowth); }
};
} // namespace

LogicalResult ResizePlan::find(ResizeOp op, std::string &refusal) {
  std::optional<SmallVector<double>> given = constantFloats(op.getScales());
  if (hasDevices(op))
    refusal = "a device may run it, where one kernel is not known to be slower";
  else if (op.getScales() && (op.getSizes() || !given))
    refusal = "scales are not known";
  else if (op.getRoi() || op.getCoordinates() == CoordinateMode::tf_half_pixel_for_nn)
    refusal = "positions along axes of the same size are computed, too";
  else {
    scales = given.value_or(SmallVector<double>());
    from = sizes.dims(op.getOperand());
    to = sizes.dims(op.getResult());
    return success();
  }
  return failure();
}

/// The sizes or scales that a resize is given, by axis.
static SmallVector<OpFoldResult> entriesOf(PatternRewriter &b, ResizeOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  Value table = op.getSizes() ? op.getSizes() : op.getScales();
  SmallVector<OpFoldResult> entries;
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    bool isKnown = op.getSizes() && !type.isDynamicDim(axis);
    entries.push_back(isKnown ? OpFoldResult(b.getI64IntegerAttr(type.getDimSize(axis))) : entryOf(b, table, axis));
  }
  return entries;
}

/// `op` of another operand, to `shape`, by the entries of a table like its own.
static Value resizeTo(PatternRewriter &b, ResizeOp op, Value operand, ArrayRef<OpFoldResult> entries,
                      ArrayRef<int64_t> shape) {
  ResizeOp copy = op.clone();
  b.insert(copy);
  copy.getOperandMutable().assign(operand);
  MutableOperandRange table = op.getSizes() ? copy.getSizesMutable() : copy.getScalesMutable();
  Type element = getElementTypeOrSelf(op.getSizes() ? op.getSizes() : op.getScales());
  b.setInsertionPoint(copy);
  table.assign(tableOf(b, op.getLoc(), element, entries));
  b.setInsertionPointAfter(copy);
  copy.getResult().setType(cast<RankedTensorType>(op.getType()).clone(shape));
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
    ResizePlan plan;
    if (failed(plan.find(resize, refusal)))
      return b.notifyMatchFailure(op, refusal);
    if (!plan.grows(plan.from))
      return b.notifyMatchFailure(op, "there are not many fewer elements before");
    int64_t last = -1; // of the resized axes, whose order is that of the sums
    for (int64_t axis : op.getPermutation()) {
      if (!plan.resizes(axis))
        continue;
      if (axis < last)
        return b.notifyMatchFailure(op, "it sums along axes in another order");
      last = axis;
    }
    SmallVector<OpFoldResult> entries = entriesOf(b, resize), moved;
    for (int64_t axis : op.getPermutation())
      moved.push_back(entries[axis]);
    Value before = TransposeOp::create(b, op.getLoc(), resize.getOperand(), op.getPermutation());
    b.replaceOp(op, resizeTo(b, resize, before, moved, cast<RankedTensorType>(op.getType()).getShape()));
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
    ResizePlan plan;
    if (failed(plan.find(op, refusal)))
      return b.notifyMatchFailure(op, refusal);
    auto last = static_cast<int64_t>(plan.to.size()) - 1;
    if (last < 0 || !plan.resizes(last))
      return b.notifyMatchFailure(op, "neighbours of a result are neighbours of what it reads");
    Dims between = plan.from;
    between[last] = plan.to[last];
    if (!plan.grows(between))
      return b.notifyMatchFailure(op, "what lies in between has about as many elements");
    SmallVector<OpFoldResult> line = entriesOf(b, op), rest = line;
    SmallVector<int64_t> shape(cast<RankedTensorType>(op.getOperand().getType()).getShape());
    shape[last] = cast<RankedTensorType>(op.getType()).getDimSize(last);
    for (int64_t axis = 0; axis < last; ++axis)
      line[axis] = op.getSizes() ? sizeEntry(b, op.getOperand(), axis) : OpFoldResult(b.getF32FloatAttr(1));
    if (!op.getSizes())
      rest[last] = b.getF32FloatAttr(1);
    Value lines = resizeTo(b, op, op.getOperand(), line, shape);
    b.replaceOp(op, resizeTo(b, op, lines, rest, cast<RankedTensorType>(op.getType()).getShape()));
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

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Folds and canonicalizations. They go from the dynamic form of an op to the static one, from ops that copy to views
// (reshape), and from two moves to one. Elements of constants are left to a pass that has a budget.

#include "ir/Constants.h"
#include "ir/Ranges.h"
#include "ir/Shape.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace sinter;

static RankedTensorType tensor(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Larger than any axis: what "to the end" looks like in models.
static constexpr int64_t kBeyondAnyAxis = int64_t(1) << 40;

//===- folds ---------------------------------------------------------------------------------===//

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

OpFoldResult DimOp::fold(FoldAdaptor) {
  int64_t size = tensor(getOperand()).getDimSize(getAxis());
  if (ShapedType::isDynamic(size))
    return {};
  return DenseElementsAttr::get(tensor(getResult()), size);
}

OpFoldResult ShapeOp::fold(FoldAdaptor) {
  RankedTensorType operand = tensor(getOperand());
  if (!operand.hasStaticShape())
    return {};
  return DenseElementsAttr::get(tensor(getResult()), operand.getShape());
}

/// The sizes of both types are surely the same.
static bool sameStaticType(Value a, Value b) { return a.getType() == b.getType() && tensor(a).hasStaticShape(); }

OpFoldResult BroadcastOp::fold(FoldAdaptor) {
  Value operand = getOperand(), result = getResult();
  if (sameStaticType(operand, result))
    return operand;
  // Without sizes from elsewhere, an operand of full rank keeps its own.
  if (operand.getType() == result.getType() && !getShape() && getLike().empty())
    return operand;
  return {};
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  RankedTensorType operand = tensor(getOperand()), result = tensor(getResult());
  if (operand == result && (!getShape() || !needsSizes(result)))
    return getOperand();
  // Constants change their type only; the elements are shared.
  if (!result.hasStaticShape())
    return {};
  if (auto dense = dyn_cast_or_null<DenseElementsAttr>(adaptor.getOperand()))
    return dense.reshape(result);
  if (auto resource = dyn_cast_or_null<DenseResourceElementsAttr>(adaptor.getOperand()))
    return DenseResourceElementsAttr::get(result, resource.getRawHandle());
  return {};
}

static bool isIdentity(ArrayRef<int64_t> permutation) {
  return llvm::all_of(llvm::enumerate(permutation),
                      [](auto entry) { return static_cast<int64_t>(entry.index()) == entry.value(); });
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  if (isIdentity(getPermutation()) && getOperand().getType() == getResult().getType())
    return getOperand();
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(adaptor.getOperand());
      splat && tensor(getResult()).hasStaticShape())
    return splat.resizeSplat(tensor(getResult()));
  return {};
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  if (getOperand().getType() != getResult().getType())
    return {};
  for (auto [axis, size] : llvm::enumerate(tensor(getOperand()).getShape())) {
    bool whole = getStarts()[axis] == 0 && getSteps()[axis] == 1 && getLimits()[axis] == -1;
    if (!whole && ShapedType::isDynamic(size))
      return {};
  }
  return getOperand(); // a static axis that keeps its size is whole
}

OpFoldResult PadOp::fold(FoldAdaptor) {
  auto isZero = [](int64_t amount) { return amount == 0; };
  if (getOperand().getType() == getResult().getType() && llvm::all_of(getLow(), isZero) &&
      llvm::all_of(getHigh(), isZero) && llvm::all_of(getInterior(), isZero))
    return getOperand();
  return {};
}

OpFoldResult ConcatenateOp::fold(FoldAdaptor) {
  if (getOperands().size() == 1 && getOperands().front().getType() == getResult().getType())
    return getOperands().front();
  return {};
}

//===- sizes that types know -----------------------------------------------------------------===//

namespace {
struct DropSizesOfIota : OpRewritePattern<IotaOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(IotaOp op, PatternRewriter &rewriter) const override {
    RankedTensorType type = tensor(op.getResult());
    if (!op.getShape() || !type.hasStaticShape())
      return rewriter.notifyMatchFailure(op, "sizes are needed");
    rewriter.replaceOpWithNewOp<IotaOp>(op, type, Value(), op.getAxis(), type);
    return success();
  }
};

struct DropSizesOfBroadcast : OpRewritePattern<BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BroadcastOp op, PatternRewriter &rewriter) const override {
    RankedTensorType type = tensor(op.getResult());
    if ((!op.getShape() && op.getLike().empty()) || !type.hasStaticShape())
      return rewriter.notifyMatchFailure(op, "sizes are needed");
    rewriter.replaceOpWithNewOp<BroadcastOp>(op, type, op.getOperand(), Value(), ValueRange(), op.getAxes(), type);
    return success();
  }
};

/// Adding axes of size 1 moves nothing.
struct BroadcastToReshape : OpRewritePattern<BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BroadcastOp op, PatternRewriter &rewriter) const override {
    RankedTensorType type = tensor(op.getResult());
    std::optional<int64_t> from = countElements(tensor(op.getOperand()).getShape()),
                           to = countElements(type.getShape());
    if (!from || !to || *from != *to || *from == 0)
      return rewriter.notifyMatchFailure(op, "elements are repeated");
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, type, op.getOperand(), Value(), type);
    return success();
  }
};

struct MergeBroadcasts : OpRewritePattern<BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BroadcastOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getOperand().getDefiningOp<BroadcastOp>();
    if (!inner || !tensor(op.getResult()).hasStaticShape())
      return rewriter.notifyMatchFailure(op, "no two broadcasts to a static type");
    SmallVector<int64_t> axes;
    for (int64_t axis : inner.getAxes())
      axes.push_back(op.getAxes()[axis]);
    RankedTensorType type = tensor(op.getResult());
    rewriter.replaceOpWithNewOp<BroadcastOp>(op, type, inner.getOperand(), Value(), ValueRange(), axes, type);
    return success();
  }
};

struct DropSizesOfReshape : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    RankedTensorType type = tensor(op.getResult());
    if (!op.getShape() || needsSizes(type))
      return rewriter.notifyMatchFailure(op, "sizes are needed");
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, type, op.getOperand(), Value(), type);
    return success();
  }
};

struct MergeReshapes : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getOperand().getDefiningOp<ReshapeOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(op, "operand is not a reshape");
    if (!op.getShape() && needsSizes(op.getType()))
      return rewriter.notifyMatchFailure(op, "sizes are copied from the operand");
    RankedTensorType type = tensor(op.getResult());
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, type, inner.getOperand(), op.getShape(),
                                           op.getShape() ? op.getType() : type);
    return success();
  }
};

//===- transpose -----------------------------------------------------------------------------===//

struct MergeTransposes : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getOperand().getDefiningOp<TransposeOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(op, "operand is not a transpose");
    SmallVector<int64_t> permutation;
    for (int64_t axis : op.getPermutation())
      permutation.push_back(inner.getPermutation()[axis]);
    rewriter.replaceOpWithNewOp<TransposeOp>(op, tensor(op.getResult()), inner.getOperand(), permutation);
    return success();
  }
};

/// Where the axes of more than one element keep their order, nothing moves.
struct TransposeToReshape : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    RankedTensorType operand = tensor(op.getOperand()), type = tensor(op.getResult());
    int64_t last = -1;
    for (int64_t axis : op.getPermutation()) {
      if (operand.getDimSize(axis) == 1)
        continue;
      if (axis < last)
        return rewriter.notifyMatchFailure(op, "axes of more than one element move");
      last = axis;
    }
    if (needsSizes(type))
      return rewriter.notifyMatchFailure(op, "a reshape would need sizes");
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, type, op.getOperand(), Value(), type);
    return success();
  }
};

//===- slices --------------------------------------------------------------------------------===//

struct MergeSlices : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SliceOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getOperand().getDefiningOp<SliceOp>();
    if (!inner || !tensor(inner.getOperand()).hasStaticShape())
      return rewriter.notifyMatchFailure(op, "no two slices of a static type");
    SmallVector<int64_t> starts, limits, steps;
    for (int64_t axis = 0, rank = tensor(op.getResult()).getRank(); axis < rank; ++axis) {
      int64_t count = tensor(op.getResult()).getDimSize(axis);
      int64_t start = inner.getStarts()[axis] + op.getStarts()[axis] * inner.getSteps()[axis];
      int64_t step = inner.getSteps()[axis] * op.getSteps()[axis];
      if (ShapedType::isDynamic(count))
        return rewriter.notifyMatchFailure(op, "result is dynamic");
      start = count == 0 ? 0 : start;
      starts.push_back(start);
      steps.push_back(step);
      limits.push_back(count == 0 ? start : start + (count - 1) * step + 1);
    }
    rewriter.replaceOpWithNewOp<SliceOp>(op, tensor(op.getResult()), inner.getOperand(), starts, limits, steps);
    return success();
  }
};

struct RangeSliceToSlice : OpRewritePattern<RangeSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(RangeSliceOp op, PatternRewriter &rewriter) const override {
    std::optional<SmallVector<int64_t>> begins = constantInts(op.getStarts()), ends = constantInts(op.getLimits()),
                                        strides = constantInts(op.getSteps());
    if (!begins || !ends || !strides)
      return rewriter.notifyMatchFailure(op, "bounds are not constant");
    SmallVector<int64_t> starts, limits, steps, reversed;
    for (auto [axis, size] : llvm::enumerate(tensor(op.getOperand()).getShape())) {
      int64_t begin = (*begins)[axis], end = (*ends)[axis], step = (*strides)[axis];
      if (!ShapedType::isDynamic(size)) {
        AxisRange range = resolveRange(begin, end, step, size);
        int64_t reach = std::max<int64_t>(range.count - 1, 0) * std::abs(range.step);
        int64_t first = range.step > 0 ? range.start : range.start - reach;
        starts.push_back(first);
        limits.push_back(range.count == 0 ? first : first + reach + 1);
        steps.push_back(std::abs(range.step));
        if (range.step < 0 && range.count > 1)
          reversed.push_back(axis);
        continue;
      }
      bool forward = begin >= 0 && begin < kBeyondAnyAxis && end >= kBeyondAnyAxis && step > 0;
      bool backward = (begin == -1 || begin >= kBeyondAnyAxis) && end <= -kBeyondAnyAxis && step == -1;
      if (!forward && !backward)
        return rewriter.notifyMatchFailure(op, "bounds depend on a size that is not known");
      starts.push_back(forward ? begin : 0);
      limits.push_back(-1);
      steps.push_back(forward ? step : 1);
      if (backward)
        reversed.push_back(axis);
    }
    RankedTensorType type = tensor(op.getResult());
    Value slice = SliceOp::create(rewriter, op.getLoc(), type, op.getOperand(), starts, limits, steps);
    if (!reversed.empty())
      slice = ReverseOp::create(rewriter, op.getLoc(), type, slice, reversed);
    rewriter.replaceOp(op, slice);
    return success();
  }
};

struct DynamicSliceToSlice : OpRewritePattern<DynamicSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DynamicSliceOp op, PatternRewriter &rewriter) const override {
    std::optional<SmallVector<int64_t>> begins = constantInts(op.getStarts());
    RankedTensorType operand = tensor(op.getOperand());
    if (!begins || !operand.hasStaticShape())
      return rewriter.notifyMatchFailure(op, "starts or sizes are not known");
    SmallVector<int64_t> starts, limits;
    for (auto [axis, size] : llvm::enumerate(op.getSizes())) {
      starts.push_back(std::clamp<int64_t>((*begins)[axis], 0, operand.getDimSize(axis) - size));
      limits.push_back(starts.back() + size);
    }
    SmallVector<int64_t> steps(starts.size(), 1);
    rewriter.replaceOpWithNewOp<SliceOp>(op, tensor(op.getResult()), op.getOperand(), starts, limits, steps);
    return success();
  }
};

struct ReplaceWholeUpdate : OpRewritePattern<DynamicUpdateSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DynamicUpdateSliceOp op, PatternRewriter &rewriter) const override {
    if (!sameStaticType(op.getUpdate(), op.getResult()))
      return rewriter.notifyMatchFailure(op, "update is a part");
    rewriter.replaceOp(op, op.getUpdate());
    return success();
  }
};

//===- larger tensors ------------------------------------------------------------------------===//

struct DynamicPadToPad : OpRewritePattern<DynamicPadOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DynamicPadOp op, PatternRewriter &rewriter) const override {
    std::optional<SmallVector<int64_t>> low = constantInts(op.getLow()), high = constantInts(op.getHigh());
    if (!low || !high)
      return rewriter.notifyMatchFailure(op, "amounts are not constant");
    SmallVector<int64_t> interior(low->size(), 0);
    rewriter.replaceOpWithNewOp<PadOp>(op, tensor(op.getResult()), op.getOperand(), op.getValue(), *low, *high,
                                       interior, op.getMode());
    return success();
  }
};

/// Zeros around what has zeros around it: one pad. Interior elements and what a pad removes stay apart.
struct MergePads : OpRewritePattern<PadOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PadOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getOperand().getDefiningOp<PadOp>();
    auto isPlain = [](PadOp pad) {
      auto isZero = [](int64_t amount) { return amount == 0; };
      auto adds = [](int64_t amount) { return amount >= 0; };
      return pad.getMode() == PadMode::constant && llvm::all_of(pad.getInterior(), isZero) &&
             llvm::all_of(pad.getLow(), adds) && llvm::all_of(pad.getHigh(), adds);
    };
    if (!inner || !isPlain(op) || !isPlain(inner))
      return rewriter.notifyMatchFailure(op, "no two pads that add elements");
    Attribute filled, filledBefore;
    bool same = op.getValue() == inner.getValue() ||
                (matchPattern(op.getValue(), m_Constant(&filled)) &&
                 matchPattern(inner.getValue(), m_Constant(&filledBefore)) && filled == filledBefore);
    if (!same)
      return rewriter.notifyMatchFailure(op, "they fill with different values");
    SmallVector<int64_t> low, high;
    for (size_t axis = 0; axis < op.getLow().size(); ++axis) {
      int64_t before, after;
      if (llvm::AddOverflow(op.getLow()[axis], inner.getLow()[axis], before) ||
          llvm::AddOverflow(op.getHigh()[axis], inner.getHigh()[axis], after))
        return rewriter.notifyMatchFailure(op, "the sum is no size");
      low.push_back(before);
      high.push_back(after);
    }
    rewriter.replaceOpWithNewOp<PadOp>(op, tensor(op.getResult()), inner.getOperand(), op.getValue(), low, high,
                                       op.getInterior(), op.getMode());
    return success();
  }
};

/// Operands without elements go, and operands that are concatenated along the same axis move up.
struct FlattenConcatenate : OpRewritePattern<ConcatenateOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConcatenateOp op, PatternRewriter &rewriter) const override {
    SmallVector<Value> operands;
    for (Value operand : op.getOperands()) {
      auto inner = operand.getDefiningOp<ConcatenateOp>();
      if (inner && inner.getAxis() == op.getAxis() && inner->hasOneUse())
        llvm::append_range(operands, inner.getOperands());
      else if (tensor(operand).getDimSize(op.getAxis()) != 0)
        operands.push_back(operand);
    }
    if (operands.empty() || llvm::equal(operands, op.getOperands()))
      return rewriter.notifyMatchFailure(op, "operands are flat and have elements");
    rewriter.replaceOpWithNewOp<ConcatenateOp>(op, tensor(op.getResult()), operands, op.getAxis());
    return success();
  }
};

struct TileToBroadcast : OpRewritePattern<TileOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TileOp op, PatternRewriter &rewriter) const override {
    std::optional<SmallVector<int64_t>> repeats = constantInts(op.getRepeats());
    RankedTensorType operand = tensor(op.getOperand()), type = tensor(op.getResult());
    if (!repeats)
      return rewriter.notifyMatchFailure(op, "repeats are not constant");
    if (operand == type && llvm::all_of(*repeats, [](int64_t repeat) { return repeat == 1; })) {
      rewriter.replaceOp(op, op.getOperand());
      return success();
    }
    SmallVector<int64_t> axes;
    for (auto [axis, repeat] : llvm::enumerate(*repeats)) {
      if (repeat != 1 && operand.getDimSize(axis) != 1)
        return rewriter.notifyMatchFailure(op, "an axis of several elements is repeated");
      axes.push_back(axis);
    }
    if (!type.hasStaticShape())
      return rewriter.notifyMatchFailure(op, "a broadcast would need sizes");
    rewriter.replaceOpWithNewOp<BroadcastOp>(op, type, op.getOperand(), Value(), ValueRange(), axes, type);
    return success();
  }
};
} // namespace

void IotaOp::getCanonicalizationPatterns(RewritePatternSet &results, MLIRContext *context) {
  results.add<DropSizesOfIota>(context);
}
void BroadcastOp::getCanonicalizationPatterns(RewritePatternSet &results, MLIRContext *context) {
  results.add<DropSizesOfBroadcast, BroadcastToReshape, MergeBroadcasts>(context);
}
void ReshapeOp::getCanonicalizationPatterns(RewritePatternSet &results, MLIRContext *context) {
  results.add<DropSizesOfReshape, MergeReshapes>(context);
}
void TransposeOp::getCanonicalizationPatterns(RewritePatternSet &results, MLIRContext *context) {
  results.add<MergeTransposes, TransposeToReshape>(context);
}
void SliceOp::getCanonicalizationPatterns(RewritePatternSet &results, MLIRContext *context) {
  results.add<MergeSlices>(context);
}
void RangeSliceOp::getCanonicalizationPatterns(RewritePatternSet &results, MLIRContext *context) {
  results.add<RangeSliceToSlice>(context);
}
void DynamicSliceOp::getCanonicalizationPatterns(RewritePatternSet &results, MLIRContext *context) {
  results.add<DynamicSliceToSlice>(context);
}
void DynamicUpdateSliceOp::getCanonicalizationPatterns(RewritePatternSet &results, MLIRContext *context) {
  results.add<ReplaceWholeUpdate>(context);
}
void DynamicPadOp::getCanonicalizationPatterns(RewritePatternSet &results, MLIRContext *context) {
  results.add<DynamicPadToPad, MergePads>(context); // all ops' patterns run together
}
void ConcatenateOp::getCanonicalizationPatterns(RewritePatternSet &results, MLIRContext *context) {
  results.add<FlattenConcatenate>(context);
}
void TileOp::getCanonicalizationPatterns(RewritePatternSet &results, MLIRContext *context) {
  results.add<TileToBroadcast>(context);
}

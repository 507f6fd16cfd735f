// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions and pools work on channels last: (kernel column, channel) is then one contiguous run and lanes run along
// channels. Each such op first gets a transpose before and after it; then the transposes after, which put channels back
// to axis 1, sink through what follows until they meet a transpose before and both vanish. What is left stands at the
// edges.
//
//   conv -> to_first -> max -> to_last -> conv        conv -> max -> conv

#include "ir/AxisOrder.h"
#include "ir/Composer.h"
#include "ir/Constants.h"
#include "ir/Contraction.h"
#include "ir/Elementwise.h"
#include "ir/Normalization.h"
#include "ir/Reduction.h"
#include "ir/Resampling.h"
#include "ir/Shape.h"
#include "passes/ChannelsLast.h"
#include "passes/Passes.h"
#include "passes/ReshapeAfterPointwise.h"
#include "passes/SizeTables.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

using namespace mlir;
using namespace sinter;

namespace sinter {
#define GEN_PASS_DEF_ASSIGNLAYOUT
#include "passes/Passes.h.inc"
} // namespace sinter

template <typename T> static SmallVector<T> permute(ArrayRef<T> values, ArrayRef<int64_t> permutation) {
  SmallVector<T> result;
  for (int64_t axis : permutation)
    result.push_back(values[axis]);
  return result;
}

static RankedTensorType permuteType(RankedTensorType type, ArrayRef<int64_t> permutation) {
  return RankedTensorType::get(permute(type.getShape(), permutation), type.getElementType());
}

static Value transpose(OpBuilder &b, Location loc, Value value, ArrayRef<int64_t> permutation) {
  return TransposeOp::create(b, loc, permuteType(tensorTypeOf(value), permutation), value, permutation);
}

/// `op` again with other operands and a result of `type`.
template <typename Op> static Op cloneWith(OpBuilder &b, Op op, ValueRange operands, RankedTensorType type) {
  auto copy = cast<Op>(b.clone(*op.getOperation()));
  copy->setOperands(operands);
  copy->getResult(0).setType(type);
  return copy;
}

TransposeOp sinter::layoutTranspose(Value value) {
  auto op = value.getDefiningOp<TransposeOp>();
  if (!op || op.getPermutation().size() < 3 ||
      op.getPermutation() != ArrayRef(channelsToFirst(op.getPermutation().size())))
    return nullptr;
  return op;
}

namespace {

//===- the ops that choose -------------------------------------------------------------------===//

struct ConvolutionLast : OpRewritePattern<ConvolutionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConvolutionOp op, PatternRewriter &b) const override {
    if (op.getLayout() == ConvLayout::channels_last)
      return b.notifyMatchFailure(op, "has channels last");
    SmallVector<int64_t> first = channelsToFirst(tensorTypeOf(op.getInput()).getRank()),
                         last = inversePermutation(first);
    Value input = transpose(b, op.getLoc(), op.getInput(), last);
    Value filter = transpose(b, op.getFilter().getLoc(), op.getFilter(), last);
    auto moved = cloneWith(b, op, {input, filter}, permuteType(op.getType(), last));
    moved.setLayout(ConvLayout::channels_last);
    b.replaceOp(op, transpose(b, op.getLoc(), moved.getResult(), first));
    return success();
  }
};

/// Pools: windows over all axes but the first two.
template <typename Op> struct WindowLast : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &b) const override {
    int64_t rank = tensorTypeOf(op.getOperand()).getRank();
    auto slides = [&](int64_t axis) {
      return op.getWindow()[axis] != 1 || op.getStrides()[axis] != 1 || op.getLow()[axis] != 0 ||
             op.getHigh()[axis] != 0;
    };
    if (rank < 3 || slides(0) || slides(1) || llvm::none_of(llvm::seq<int64_t>(2, rank), slides))
      return b.notifyMatchFailure(op, "slides along the first two axes, or not at all");
    SmallVector<int64_t> first = channelsToFirst(rank), last = inversePermutation(first);
    auto moved = cloneWith(b, op, transpose(b, op.getLoc(), op.getOperand(), last), permuteType(op.getType(), last));
    moved.setWindow(permute(op.getWindow(), last));
    moved.setStrides(permute(op.getStrides(), last));
    moved.setLow(permute(op.getLow(), last));
    moved.setHigh(permute(op.getHigh(), last));
    moved.setDilations(permute(op.getDilations(), last));
    b.replaceOp(op, transpose(b, op.getLoc(), moved.getResult(), first));
    return success();
  }
};

/// Channels of a grid sample that are worth two transposes: all of them read one place with the same weights.
constexpr int64_t kFewestSampled = 8;

struct GridSampleLast : OpRewritePattern<GridSampleOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GridSampleOp op, PatternRewriter &b) const override {
    RankedTensorType type = op.getType();
    if (op.getLayout() == ConvLayout::channels_last || type.isDynamicDim(1) || type.getDimSize(1) < kFewestSampled)
      return b.notifyMatchFailure(op, "has channels last, or few channels");
    SmallVector<int64_t> first = channelsToFirst(type.getRank()), last = inversePermutation(first);
    Value image = transpose(b, op.getLoc(), op.getOperand(), last);
    auto moved = cloneWith(b, op, {image, op.getGrid()}, permuteType(type, last));
    moved.setLayout(ConvLayout::channels_last);
    b.replaceOp(op, transpose(b, op.getLoc(), moved.getResult(), first));
    return success();
  }
};

//===- transposes sink -----------------------------------------------------------------------===//

/// A broadcast whose result axes are permuted, if its operand stays as it is or is small.
static Value permuteBroadcast(PatternRewriter &b, BroadcastOp op, ArrayRef<int64_t> permutation, Value like) {
  SmallVector<int64_t> where = inversePermutation(permutation);
  SmallVector<std::pair<int64_t, int64_t>> axes; // (new result axis, operand axis)
  for (auto [k, axis] : llvm::enumerate(op.getAxes()))
    axes.emplace_back(where[axis], k);
  llvm::sort(axes);
  SmallVector<int64_t> resultAxes, order;
  for (auto [axis, k] : axes) {
    resultAxes.push_back(axis);
    order.push_back(k);
  }
  Value operand = op.getOperand();
  if (!llvm::is_sorted(order))
    operand = transpose(b, op.getLoc(), operand, order);
  RankedTensorType type = permuteType(op.getType(), permutation);
  SmallVector<Value> sizes;
  if (!type.hasStaticShape())
    sizes.push_back(like);
  return BroadcastOp::create(b, op.getLoc(), type, operand, Value(), sizes, resultAxes, type);
}

/// The transpose of `value` by `last` that a convolution in the block of `reader` reads, as its result is mostly added
/// to `value` then; null where there is none.
static TransposeOp movedForOthers(Value value, ArrayRef<int64_t> last, Operation *reader) {
  auto isConvolution = [](Operation *user) { return isa<ConvolutionOp>(user); };
  for (Operation *user : value.getUsers())
    if (auto op = dyn_cast<TransposeOp>(user); op && op->getBlock() == reader->getBlock() &&
                                               op.getPermutation() == last &&
                                               llvm::any_of(op->getUsers(), isConvolution))
      return op;
  return nullptr;
}

/// `value` with its axes permuted by `last`, where that costs no pass over a large tensor; null otherwise.
static Value absorb(PatternRewriter &b, Value value, ArrayRef<int64_t> last, Value like) {
  if (TransposeOp op = layoutTranspose(value))
    return op.getOperand();
  if (auto op = value.getDefiningOp<BroadcastOp>())
    return permuteBroadcast(b, op, last, like);
  if (auto op = value.getDefiningOp<ConstantOp>())
    return transpose(b, op.getLoc(), value, last); // folded
  return nullptr;
}

/// Transposes the result of `op` instead of its operands. With `takesOthers`, operands that have channels first may be
/// those that a convolution reads transposed.
static LogicalResult sinkThroughPointwise(Pointwise op, PatternRewriter &b, bool takesOthers) {
  TransposeOp found;
  for (Value operand : op->getOperands())
    if (TransposeOp candidate = layoutTranspose(operand)) {
      found = candidate;
      break;
    }
  if (!found)
    return b.notifyMatchFailure(op, "no operand is transposed");
  SmallVector<int64_t> first(found.getPermutation()), last = inversePermutation(first);
  auto canAbsorb = [&](Value value) {
    return layoutTranspose(value) || isa_and_nonnull<BroadcastOp, ConstantOp>(value.getDefiningOp()) ||
           (takesOthers && movedForOthers(value, last, op));
  };
  if (!llvm::all_of(op->getOperands(), canAbsorb))
    return b.notifyMatchFailure(op, "another operand has channels first");
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(absorb(b, operand, last, found.getOperand()));
    if (operands.back())
      continue;
    TransposeOp moved = movedForOthers(operand, last, op);
    if (op->isBeforeInBlock(moved))
      b.moveOpBefore(moved, op);
    operands.back() = moved;
  }
  Operation *moved = cloneWith(b, op, operands, permuteType(tensorTypeOf(op->getResult(0)), last));
  b.replaceOp(op, transpose(b, op->getLoc(), moved->getResult(0), first));
  return success();
}

struct SinkThroughPointwise : OpInterfaceRewritePattern<Pointwise> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(Pointwise op, PatternRewriter &b) const override {
    return sinkThroughPointwise(op, b, /*takesOthers=*/false);
  }
};

/// Adds to what convolutions read where that is transposed; true where anything changed. Each op is looked at once: of
/// three axes, the order of channels last is its own inverse, and what one such step did, another would undo.
static bool takeWhatConvolutionsRead(func::FuncOp function) {
  SmallVector<Pointwise> ops;
  function.walk([&](Pointwise op) { ops.push_back(op); });
  PatternRewriter b(function.getContext());
  bool any = false;
  for (Pointwise op : ops) {
    b.setInsertionPoint(op);
    any |= succeeded(sinkThroughPointwise(op, b, /*takesOthers=*/true));
  }
  return any;
}

struct SinkThroughReduce : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceOp op, PatternRewriter &b) const override {
    TransposeOp found = layoutTranspose(op.getOperand());
    if (!found)
      return b.notifyMatchFailure(op, "the operand is not transposed");
    SmallVector<int64_t> axes, kept, before;
    for (auto [k, axis] : llvm::enumerate(found.getPermutation())) {
      if (llvm::is_contained(op.getAxes(), static_cast<int64_t>(k)))
        axes.push_back(axis);
      else
        kept.push_back(axis);
    }
    llvm::sort(axes);
    SmallVector<int64_t> order(kept), permutation;
    llvm::sort(order);
    for (int64_t axis : kept)
      permutation.push_back(std::distance(order.begin(), llvm::find(order, axis)));
    auto moved = cloneWith(b, op, found.getOperand(), permuteType(op.getType(), inversePermutation(permutation)));
    moved.setAxes(axes);
    Value result = moved.getResult();
    b.replaceOp(op, llvm::is_sorted(permutation) ? result : transpose(b, op.getLoc(), result, permutation));
    return success();
  }
};

struct SinkThroughConcatenate : OpRewritePattern<ConcatenateOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConcatenateOp op, PatternRewriter &b) const override {
    SmallVector<Value> operands;
    SmallVector<int64_t> first;
    for (Value operand : op.getOperands()) {
      TransposeOp found = layoutTranspose(operand);
      if (!found)
        return b.notifyMatchFailure(op, "an operand has channels first");
      first.assign(found.getPermutation().begin(), found.getPermutation().end());
      operands.push_back(found.getOperand());
    }
    if (first.empty())
      return failure();
    auto moved = cloneWith(b, op, operands, permuteType(op.getType(), inversePermutation(first)));
    moved.setAxis(first[op.getAxis()]);
    b.replaceOp(op, transpose(b, op.getLoc(), moved.getResult(), first));
    return success();
  }
};

struct SinkThroughPad : OpRewritePattern<PadOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PadOp op, PatternRewriter &b) const override {
    TransposeOp found = layoutTranspose(op.getOperand());
    if (!found)
      return b.notifyMatchFailure(op, "the operand is not transposed");
    SmallVector<int64_t> first(found.getPermutation()), last = inversePermutation(first);
    auto moved = cloneWith(b, op, {found.getOperand(), op.getValue()}, permuteType(op.getType(), last));
    moved.setLow(permute(op.getLow(), last));
    moved.setHigh(permute(op.getHigh(), last));
    moved.setInterior(permute(op.getInterior(), last));
    b.replaceOp(op, transpose(b, op.getLoc(), moved.getResult(), first));
    return success();
  }
};

struct SinkThroughSlice : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SliceOp op, PatternRewriter &b) const override {
    TransposeOp found = layoutTranspose(op.getOperand());
    if (!found)
      return b.notifyMatchFailure(op, "the operand is not transposed");
    SmallVector<int64_t> first(found.getPermutation()), last = inversePermutation(first);
    auto moved = cloneWith(b, op, found.getOperand(), permuteType(op.getType(), last));
    moved.setStarts(permute(op.getStarts(), last));
    moved.setLimits(permute(op.getLimits(), last));
    moved.setSteps(permute(op.getSteps(), last));
    b.replaceOp(op, transpose(b, op.getLoc(), moved.getResult(), first));
    return success();
  }
};

struct SinkThroughResize : OpRewritePattern<ResizeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ResizeOp op, PatternRewriter &b) const override {
    TransposeOp found = layoutTranspose(op.getOperand());
    if (!found || op.getRoi())
      return b.notifyMatchFailure(op, "the operand is not transposed, or a region is read");
    SmallVector<int64_t> first(found.getPermutation()), last = inversePermutation(first);
    SmallVector<Value> operands = {found.getOperand()};
    for (Value table : {Value(op.getScales()), Value(op.getSizes())}) {
      if (!table)
        continue;
      auto moved = llvm::map_to_vector(last, [&](int64_t axis) { return entryOf(b, table, axis); });
      operands.push_back(tableOf(b, table.getLoc(), cast<RankedTensorType>(table.getType()).getElementType(), moved));
    }
    Operation *copy = cloneWith(b, op, operands, permuteType(op.getType(), last));
    b.replaceOp(op, transpose(b, op.getLoc(), copy->getResult(0), first));
    return success();
  }
};

/// A reshape that only drops or adds axes of size 1: the transpose goes on with one axis less or more.
struct SinkThroughUnitReshape : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &b) const override {
    TransposeOp found = layoutTranspose(op.getOperand());
    if (!found || op.getShape())
      return b.notifyMatchFailure(op, "the operand is not transposed");
    RankedTensorType from = tensorTypeOf(op.getOperand()), to = op.getType();
    if (to.getRank() >= from.getRank())
      return b.notifyMatchFailure(op, "drops no axis");
    // Which operand axes stay: walked together, skipping operand axes of size 1.
    SmallVector<int64_t> kept;
    int64_t k = 0;
    for (int64_t size : to.getShape()) {
      while (k < from.getRank() && from.getDimSize(k) == 1 && size != 1)
        ++k;
      if (k == from.getRank() || from.getDimSize(k) != size)
        return b.notifyMatchFailure(op, "does more than drop unit axes");
      kept.push_back(k++);
    }
    for (; k < from.getRank(); ++k)
      if (from.getDimSize(k) != 1)
        return b.notifyMatchFailure(op, "does more than drop unit axes");
    if (needsSizes(to))
      return b.notifyMatchFailure(op, "a reshape would need sizes");
    SmallVector<int64_t> source; // axes of the transposed value's operand, in the result's order
    for (int64_t axis : kept)
      source.push_back(found.getPermutation()[axis]);
    SmallVector<int64_t> order(source), permutation;
    llvm::sort(order);
    for (int64_t axis : source)
      permutation.push_back(std::distance(order.begin(), llvm::find(order, axis)));
    RankedTensorType type = permuteType(to, inversePermutation(permutation));
    Value moved = ReshapeOp::create(b, op.getLoc(), type, found.getOperand(), Value(), type);
    b.replaceOp(op, llvm::is_sorted(permutation) ? moved : transpose(b, op.getLoc(), moved, permutation));
    return success();
  }
};

/// The product of the sizes of all axes but the first two; nothing where one is not known.
static std::optional<int64_t> places(RankedTensorType type) {
  ArrayRef<int64_t> spatial = type.getShape().drop_front(2);
  if (ShapedType::isDynamicShape(spatial))
    return std::nullopt;
  return ShapedType::getNumElements(spatial);
}

/// A reshape that merges the spatial axes, or splits them: tokens become an image. Images and channels stay.
struct SinkThroughSpatialReshape : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &b) const override {
    TransposeOp found = layoutTranspose(op.getOperand());
    RankedTensorType from = tensorTypeOf(op.getOperand()), to = op.getType();
    if (!found || to.getRank() < 3 || llvm::is_contained(to.getShape(), 0))
      return b.notifyMatchFailure(op, "the operand is not transposed");
    bool keepsChannels = !from.isDynamicDim(1) && from.getDimSize(1) == to.getDimSize(1);
    if (!keepsChannels || !(op.getShape() ? keepsNumberOfImages(op) : keepsImages(from, to)))
      return b.notifyMatchFailure(op, "does more than merge or split the spatial axes");
    SmallVector<int64_t> first = channelsToFirst(to.getRank()), last = inversePermutation(first);
    RankedTensorType type = permuteType(to, last);
    Value shape;
    if (op.getShape()) {
      auto entries = llvm::map_to_vector(last, [&](int64_t axis) {
        return to.isDynamicDim(axis) ? entryOf(b, op.getShape(), axis)
                                     : OpFoldResult(b.getI64IntegerAttr(to.getDimSize(axis)));
      });
      shape = tableOf(b, op.getLoc(), b.getI64Type(), entries);
    }
    Value moved = ReshapeOp::create(b, op.getLoc(), type, found.getOperand(), shape, type);
    b.replaceOp(op, transpose(b, op.getLoc(), moved, first));
    return success();
  }

private:
  static bool keepsNumberOfImages(ReshapeOp op) {
    DimContext context;
    ShapeAnalysis sizes(context);
    return sizes.dims(op.getOperand())[0] == sizes.dims(op.getResult())[0];
  }

  static bool keepsImages(RankedTensorType from, RankedTensorType to) {
    std::optional<int64_t> before = places(from), after = places(to);
    if (before && after)
      return *before == *after;
    // One axis takes all places: the operand's images are the result's.
    if (to.getRank() != 3)
      return false;
    return from.isDynamicDim(0) ? to.isDynamicDim(0) && !after : from.getDimSize(0) == to.getDimSize(0);
  }
};

class AssignLayout : public sinter::impl::AssignLayoutBase<AssignLayout> {
  using AssignLayoutBase::AssignLayoutBase;

  void runOnOperation() override {
    RewritePatternSet choose(&getContext());
    choose.add<ConvolutionLast, WindowLast<ReduceWindowOp>>(&getContext());
    if (sampleLast)
      choose.add<GridSampleLast>(&getContext());
    // Each op once: a pool that leaves its first spatial axis alone looks the same with channels last.
    walkAndApplyPatterns(getOperation(), std::move(choose));
    RewritePatternSet sink(&getContext());
    sink.add<SinkThroughPointwise, SinkThroughReduce, SinkThroughConcatenate, SinkThroughPad, SinkThroughSlice,
             SinkThroughResize, SinkThroughUnitReshape, SinkThroughSpatialReshape>(&getContext());
    populateReshapesAfterPointwise(sink);
    if (normalizeColumns)
      populateNormalizationOfColumns(sink);
    TransposeOp::getCanonicalizationPatterns(sink, &getContext());
    ReshapeOp::getCanonicalizationPatterns(sink, &getContext());
    FrozenRewritePatternSet sinking(std::move(sink));
    if (failed(applyPatternsGreedily(getOperation(), sinking)) ||
        (takeWhatConvolutionsRead(getOperation()) && failed(applyPatternsGreedily(getOperation(), sinking))))
      return signalPassFailure();
  }
};

} // namespace

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/AxisOrder.h"
#include "ir/Composer.h"
#include "ir/Constants.h"
#include "ir/Contraction.h"
#include "ir/Elementwise.h"
#include "ir/Indexing.h"
#include "ir/Reduction.h"
#include "ir/Shape.h"
#include "passes/ByteProducts.h"
#include "passes/Devices.h"
#include "passes/NumberRewrites.h"
#include "passes/Passes.h"
#include "passes/Producers.h"
#include "passes/ReshapeAfterPointwise.h"
#include "passes/SizeUses.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include <cmath>

using namespace mlir;
using namespace sinter;

namespace sinter {
#define GEN_PASS_DEF_SIMPLIFYALGEBRA
#include "passes/Passes.h.inc"
} // namespace sinter

static bool isFloat(Value value) { return isa<FloatType>(tensorTypeOf(value).getElementType()); }

/// The product that `value` is, where nothing else reads it.
static DotGeneralOp ownProduct(Value value) {
  auto dot = value.getDefiningOp<DotGeneralOp>();
  return dot && hasOneReader(dot) ? dot : DotGeneralOp();
}

/// True when those of `axes` that have more than one element follow each other, with no other such axis between them.
static bool isRun(RankedTensorType type, ArrayRef<int64_t> axes) {
  auto isWide = [&](int64_t axis) { return type.getDimSize(axis) != 1; };
  SmallVector<int64_t> wide = llvm::filter_to_vector(axes, isWide);
  for (size_t i = 1; i < wide.size(); ++i)
    if (wide[i] <= wide[i - 1] || llvm::any_of(llvm::seq(wide[i - 1] + 1, wide[i]), isWide))
      return false;
  return true;
}

/// True when a product reads its operand well where it lies: rows or columns and the sum are each one run of axes, and
/// what is multiplied, not batches, lies side by side.
static bool liesInRuns(RankedTensorType type, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) {
  int64_t innermost = -1, innermostOfBatch = -1;
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    if (type.getDimSize(axis) != 1)
      (llvm::is_contained(batch, axis) ? innermostOfBatch : innermost) = axis;
  bool endsWithBatch = innermost >= 0 && innermost < innermostOfBatch;
  return !endsWithBatch && isRun(type, freeAxes(type.getRank(), batch, contract)) && isRun(type, contract);
}

static bool isPositiveZero(Value value) {
  std::optional<double> number = uniformValue(value);
  return number && *number == 0 && !std::signbit(*number);
}

namespace {

/// A matrix whose columns are multiplied with a vector comes second: its rows are then read as they lie. Gradients of
/// products with vectors are such.
struct ReadRows : OpRewritePattern<DotGeneralOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DotGeneralOp op, PatternRewriter &b) const override {
    bool isMatrix = tensorTypeOf(op.getLhs()).getRank() == 2, isVector = tensorTypeOf(op.getRhs()).getRank() == 1;
    if (!isMatrix || !isVector || op.getLhsContract() != ArrayRef<int64_t>{0})
      return b.notifyMatchFailure(op, "the product is no sum over the rows of a matrix");
    b.replaceOpWithNewOp<DotGeneralOp>(op, op.getType(), op.getRhs(), op.getLhs(), op.getRhsBatch(), op.getLhsBatch(),
                                       op.getRhsContract(), op.getLhsContract(), op.getElementType());
    return success();
  }
};

/// A product whose rows, columns or sum are several runs of axes, as of an einsum whose batch lies in their middle,
/// reads a copy of its operand where each is one.
struct MakeRuns : OpRewritePattern<DotGeneralOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DotGeneralOp op, PatternRewriter &b) const override {
    if (multipliesBytesOnDevices(op) || (!tryOperand(op, 0, b) && !tryOperand(op, 1, b)))
      return b.notifyMatchFailure(op, "rows, columns and the sum are runs");
    return success();
  }

private:
  static bool tryOperand(DotGeneralOp op, unsigned k, PatternRewriter &b) {
    Value operand = op->getOperand(k);
    RankedTensorType type = tensorTypeOf(operand);
    if (k == 1 && matchPattern(operand, m_Constant())) // packed in any order
      return false;
    SmallVector<int64_t> batch(k == 0 ? op.getLhsBatch() : op.getRhsBatch());
    SmallVector<int64_t> contract(k == 0 ? op.getLhsContract() : op.getRhsContract());
    if (liesInRuns(type, batch, contract))
      return false;
    SmallVector<int64_t> free = freeAxes(type.getRank(), batch, contract);
    // Rows of the sum on the left, of columns on the right.
    SmallVector<int64_t> order(batch);
    llvm::append_range(order, k == 0 ? free : contract);
    llvm::append_range(order, k == 0 ? contract : free);
    SmallVector<int64_t> place = inversePermutation(order);
    auto moved = [&](ArrayRef<int64_t> axes) {
      return llvm::map_to_vector(axes, [&](int64_t axis) { return place[axis]; });
    };
    Value copy = TransposeOp::create(b, op.getLoc(), operand, order);
    b.modifyOpInPlace(op, [&] {
      op->setOperand(k, copy);
      if (k == 0) {
        op.setLhsBatch(moved(batch));
        op.setLhsContract(moved(contract));
      } else {
        op.setRhsBatch(moved(batch));
        op.setRhsContract(moved(contract));
      }
    });
    return true;
  }
};

/// A product names the axes of what is transposed before it.
struct ReadTransposed : OpRewritePattern<DotGeneralOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DotGeneralOp op, PatternRewriter &b) const override {
    if (tryOperand(op, 0, b) || tryOperand(op, 1, b))
      return success();
    return b.notifyMatchFailure(op, "no operand is transposed, or its free axes would change their order");
  }

  static bool tryOperand(DotGeneralOp op, unsigned k, PatternRewriter &b) {
    auto transpose = op->getOperand(k).getDefiningOp<TransposeOp>();
    if (!transpose || multipliesBytesOnDevices(op)) // these were turned for it
      return false;
    ArrayRef<int64_t> batch = k == 0 ? op.getLhsBatch() : op.getRhsBatch();
    ArrayRef<int64_t> contract = k == 0 ? op.getLhsContract() : op.getRhsContract();
    ArrayRef<int64_t> permutation = transpose.getPermutation();
    SmallVector<int64_t> newBatch, newContract, free;
    for (int64_t axis : batch)
      newBatch.push_back(permutation[axis]);
    for (int64_t axis : contract)
      newContract.push_back(permutation[axis]);
    for (auto [axis, source] : llvm::enumerate(permutation))
      if (!llvm::is_contained(batch, static_cast<int64_t>(axis)) &&
          !llvm::is_contained(contract, static_cast<int64_t>(axis)))
        free.push_back(source);
    if (!llvm::is_sorted(free))
      return false;
    // Constant weights are packed in any order. Others are read where they lie.
    bool isPacked = k == 1 && matchPattern(transpose.getOperand(), m_Constant());
    if (!isPacked && !liesInRuns(tensorTypeOf(transpose.getOperand()), newBatch, newContract))
      return false;
    b.modifyOpInPlace(op, [&] {
      op->setOperand(k, transpose.getOperand());
      if (k == 0) {
        op.setLhsBatch(newBatch);
        op.setLhsContract(newContract);
      } else {
        op.setRhsBatch(newBatch);
        op.setRhsContract(newContract);
      }
    });
    return true;
  }
};

/// A product whose result is transposed is the product of the factors in the other order; what is left to move are rows
/// of the new one. Gradients of weights are such, and those of keys.
struct SwapFactors : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &b) const override {
    DotGeneralOp dot = ownProduct(op.getOperand());
    if (!dot)
      return b.notifyMatchFailure(op, "transposes no product that it alone reads");
    int64_t rank = tensorTypeOf(dot).getRank(), batch = dot.getLhsBatch().size();
    int64_t rows = tensorTypeOf(dot.getLhs()).getRank() - batch - static_cast<int64_t>(dot.getLhsContract().size());
    if (rows == 0 || batch + rows == rank)
      return b.notifyMatchFailure(op, "a factor has no free axis");
    // Columns of the new product are the last axes, in their order.
    ArrayRef<int64_t> permutation = op.getPermutation();
    if (!llvm::equal(permutation.take_back(rows), llvm::seq<int64_t>(batch, batch + rows)))
      return b.notifyMatchFailure(op, "its last axes are not the product's rows");
    SmallVector<int64_t> moved;
    for (int64_t source : permutation)
      moved.push_back(source < batch ? source : source < batch + rows ? source + rank - batch - rows : source - rows);
    // What is read by columns should have them side by side, unless neither factor has.
    auto endsWithSum = [](Value factor, ArrayRef<int64_t> contract) {
      return llvm::is_contained(contract, tensorTypeOf(factor).getRank() - 1);
    };
    if (endsWithSum(dot.getLhs(), dot.getLhsContract()) && !endsWithSum(dot.getRhs(), dot.getRhsContract()))
      return b.notifyMatchFailure(op, "the first factor's columns are apart");
    Value swapped =
        DotGeneralOp::create(b, op.getLoc(), dot.getRhs(), dot.getLhs(), dot.getRhsBatch(), dot.getLhsBatch(),
                             dot.getRhsContract(), dot.getLhsContract(), dot.getElementType());
    if (!llvm::equal(moved, llvm::seq<int64_t>(0, rank)))
      swapped = TransposeOp::create(b, op.getLoc(), swapped, moved);
    b.replaceOp(op, swapped);
    return success();
  }
};

/// A sum of parts that zeros surround, each at another place of one axis, is their concatenation. Gradients of what was
/// sliced or split are such. Each part is still added to a zero, which makes 0 of -0.
struct JoinParts : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AddOp op, PatternRewriter &b) const override {
    RankedTensorType type = tensorTypeOf(op);
    if (!type.hasStaticShape())
      return b.notifyMatchFailure(op, "sizes are known at run time only");
    SmallVector<Part> parts;
    if (!collect(op, parts))
      return b.notifyMatchFailure(op, "adds more than parts that zeros surround");
    llvm::sort(parts, [](const Part &x, const Part &y) { return x.begin < y.begin; });
    int64_t axis = parts[0].axis, at = parts[0].begin;
    // Before anything is created: a pattern that leaves ops behind and fails is tried without end.
    for (Part &part : parts) {
      if (part.axis != axis || part.begin < at)
        return b.notifyMatchFailure(op, "the parts overlap");
      at = part.end;
    }
    at = parts[0].begin;
    SmallVector<Value> joined;
    for (Part &part : parts) {
      if (part.begin > at) {
        RankedTensorType gap = resized(type, axis, part.begin - at);
        joined.push_back(
            ConstantOp::create(b, op.getLoc(), gap, DenseElementsAttr::get(gap, b.getZeroAttr(gap.getElementType()))));
      }
      Value value = part.pad.getOperand();
      if (isFloat(value))
        value = AddOp::create(b, op.getLoc(), value, buildUniform(b, op.getLoc(), 0, value));
      joined.push_back(value);
      at = part.end;
    }
    Value result = ConcatenateOp::create(b, op.getLoc(), resized(type, axis, at - parts[0].begin), joined, axis);
    if (result.getType() != type) {
      SmallVector<int64_t> low(type.getRank(), 0), high(low), interior(low);
      low[axis] = parts[0].begin;
      high[axis] = type.getDimSize(axis) - at;
      result = PadOp::create(b, op.getLoc(), type, result, parts[0].pad.getValue(), low, high, interior);
    }
    b.replaceOp(op, result);
    return success();
  }

private:
  struct Part {
    PadOp pad;
    int64_t axis, begin, end; // of the axis that is padded
  };
  static RankedTensorType resized(RankedTensorType type, int64_t axis, int64_t size) {
    SmallVector<int64_t> shape(type.getShape());
    shape[axis] = size;
    return type.clone(shape);
  }
  /// More parts are joined some at a time, so that a long sum is not walked from each of its ops.
  static constexpr size_t kMaxParts = 256;

  /// The addends of `op`; false when one of them is no such part. What is near is looked at first: a sum of other
  /// things is left at once. What is added twice overlaps with itself.
  static bool collect(AddOp op, SmallVectorImpl<Part> &parts) {
    SmallVector<Value> addends(op->getOperands());
    llvm::SmallDenseSet<Value, 16> seen;
    for (size_t i = 0; i < addends.size(); ++i) {
      Value value = addends[i];
      if (i > 2 * kMaxParts || !seen.insert(value).second || !hasOneReader(value))
        return false;
      if (auto sum = value.getDefiningOp<AddOp>())
        llvm::append_range(addends, sum->getOperands());
      else if (!addPart(value, parts))
        return false;
    }
    return true;
  }

  static bool addPart(Value value, SmallVectorImpl<Part> &parts) {
    auto pad = value.getDefiningOp<PadOp>();
    if (!pad || pad.getMode() != PadMode::constant || !isPositiveZero(pad.getValue()))
      return false;
    Part part{pad, -1, 0, 0};
    for (int64_t axis = 0; axis < tensorTypeOf(pad).getRank(); ++axis) {
      int64_t low = pad.getLow()[axis], high = pad.getHigh()[axis];
      if (low < 0 || high < 0 || pad.getInterior()[axis] != 0)
        return false;
      if (low == 0 && high == 0)
        continue;
      if (part.axis >= 0)
        return false;
      part.axis = axis;
      part.begin = low;
      part.end = tensorTypeOf(pad).getDimSize(axis) - high;
    }
    parts.push_back(part);
    return part.axis >= 0;
  }
};

/// What is kept where an axis has a named position, zero elsewhere, adds up to what is kept there, or to zero if there
/// is no such position: sum over j of (name == j ? x[j] : 0). What labels pick has such sums, and its gradient. (A sum
/// that is zero may have either sign.)
struct SumOfPicked : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceOp op, PatternRewriter &b) const override {
    auto select = op.getOperand().getDefiningOp<SelectOp>();
    auto compare = select ? select.getPred().getDefiningOp<CompareOp>() : CompareOp();
    if (!compare || compare.getKind() != CompareKind::eq || op.getCombiner() != Combiner::add ||
        !tensorTypeOf(select).hasStaticShape() || uniformValue(select.getOnFalse()) != 0.0)
      return b.notifyMatchFailure(op, "adds no picked elements");
    Type position = elementTypeOf(compare.getLhs());
    if (!position.isSignlessInteger(32) && !position.isSignlessInteger(64))
      return b.notifyMatchFailure(op, "compares no positions that gathers take");
    for (int64_t axis : op.getAxes())
      for (bool swap : {false, true})
        if (Value name = swap ? compare.getLhs() : compare.getRhs(),
            positions = swap ? compare.getRhs() : compare.getLhs();
            isPositions(positions, axis))
          if (Value wanted = withoutAxis(b, name, axis))
            return replace(op, select, axis, wanted, b);
    return b.notifyMatchFailure(op, "compares with no positions, or names another element at each position");
  }

private:
  static LogicalResult replace(ReduceOp op, SelectOp select, int64_t axis, Value wanted, PatternRewriter &b) {
    Location loc = op.getLoc();
    int64_t size = tensorTypeOf(select).getDimSize(axis);
    Value kept = withoutAxis(b, select.getOnTrue(), axis);
    if (!kept) {
      SmallVector<int64_t> shape(tensorTypeOf(select).getShape());
      shape[axis] = 1;
      RankedTensorType oneType = tensorTypeOf(wanted).clone(shape);
      Value one = ReshapeOp::create(b, loc, oneType, wanted, Value(), oneType);
      Value found = GatherElementsOp::create(b, loc, select.getOnTrue(), one, axis);
      RankedTensorType type = RankedTensorType::get(tensorTypeOf(wanted).getShape(), elementTypeOf(found));
      kept = ReshapeOp::create(b, loc, type, found, Value(), type);
    }
    auto isThere = [&](CompareKind kind, double bound) -> Value {
      return CompareOp::create(b, loc, wanted, buildUniform(b, loc, bound, wanted), kind);
    };
    Value valid =
        AndOp::create(b, loc, isThere(CompareKind::ge, 0), isThere(CompareKind::lt, static_cast<double>(size)));
    Value result = SelectOp::create(b, loc, valid, kept, buildUniform(b, loc, 0, kept));
    SmallVector<int64_t> axes;
    for (int64_t other : op.getAxes())
      if (other != axis)
        axes.push_back(other < axis ? other : other - 1);
    if (!axes.empty())
      result = ReduceOp::create(b, loc, result, axes, op.getCombiner());
    b.replaceOp(op, result);
    return success();
  }

  /// 0, 1, 2 ... along the axis.
  static bool isPositions(Value value, int64_t axis) {
    auto broadcast = broadcastOf(value);
    if (!broadcast || broadcast.getAxes() != ArrayRef<int64_t>{axis} ||
        tensorTypeOf(broadcast.getOperand()).getDimSize(0) != tensorTypeOf(value).getDimSize(axis))
      return false;
    if (broadcast.getOperand().getDefiningOp<IotaOp>())
      return true;
    std::optional<SmallVector<int64_t>> numbers = constantInts(broadcast.getOperand());
    return numbers && llvm::equal(*numbers, llvm::seq<int64_t>(0, static_cast<int64_t>(numbers->size())));
  }
  /// `value`, which is the same all along the axis, without it; null if it is not.
  static Value withoutAxis(PatternRewriter &b, Value value, int64_t axis) {
    auto broadcast = broadcastOf(value);
    if (!broadcast || llvm::is_contained(broadcast.getAxes(), axis))
      return {};
    SmallVector<int64_t> shape(tensorTypeOf(value).getShape()), axes;
    shape.erase(shape.begin() + axis);
    for (int64_t k : broadcast.getAxes())
      axes.push_back(k < axis ? k : k - 1);
    RankedTensorType type = tensorTypeOf(value).clone(shape);
    if (tensorTypeOf(broadcast.getOperand()) == type && llvm::equal(axes, llvm::seq<int64_t>(0, type.getRank())))
      return broadcast.getOperand();
    return BroadcastOp::create(b, value.getLoc(), type, broadcast.getOperand(), Value(), ValueRange(), axes, type);
  }
};

/// Known positions that read a part of the columns of a product with a constant factor: the others are not computed.
/// Relative positions of attention are such, whose table holds those of the longest text.
struct ComputeWhatIsRead : OpRewritePattern<GatherElementsOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GatherElementsOp op, PatternRewriter &b) const override {
    DotGeneralOp dot = ownProduct(op.getOperand());
    if (!dot || !tensorTypeOf(dot).hasStaticShape())
      return b.notifyMatchFailure(op, "reads no product that it alone reads");
    auto axis = static_cast<int64_t>(op.getAxis());
    std::optional<std::pair<unsigned, int64_t>> factor = factorOf(dot, axis);
    if (!factor || !matchPattern(dot->getOperand(factor->first), m_Constant()))
      return b.notifyMatchFailure(op, "columns are not those of a constant");
    std::optional<Range> range = rangeOf(op.getPositions(), tensorTypeOf(dot), axis);
    int64_t size = tensorTypeOf(dot).getDimSize(axis);
    if (!range || 4 * (range->end - range->begin) > 3 * size)
      return b.notifyMatchFailure(op, "most columns are read, or it is not known which");
    auto narrow = [&](RankedTensorType type, int64_t along) {
      SmallVector<int64_t> sizes(type.getShape());
      sizes[along] = range->end - range->begin;
      return RankedTensorType::get(sizes, type.getElementType());
    };
    Value constant = dot->getOperand(factor->first);
    SmallVector<int64_t> starts(tensorTypeOf(constant).getRank(), 0), limits(tensorTypeOf(constant).getShape()),
        steps(starts.size(), 1);
    starts[factor->second] = range->begin;
    limits[factor->second] = range->end;
    Value columns = SliceOp::create(b, constant.getLoc(), narrow(tensorTypeOf(constant), factor->second), constant,
                                    starts, limits, steps);
    Operation *product = b.clone(*dot);
    product->setOperand(factor->first, columns);
    product->getResult(0).setType(narrow(tensorTypeOf(dot), axis));
    b.replaceOpWithNewOp<GatherElementsOp>(op, op.getType(), product->getResult(0),
                                           countFrom(b, op.getPositions(), range->begin), op.getAxis());
    return success();
  }

private:
  struct Range {
    int64_t begin, end;
  };

  /// The operand, and its axis, that axis `axis` of a product's result comes from; nothing for an axis of both.
  static std::optional<std::pair<unsigned, int64_t>> factorOf(DotGeneralOp dot, int64_t axis) {
    int64_t place = axis - static_cast<int64_t>(dot.getLhsBatch().size());
    if (place < 0)
      return std::nullopt;
    for (unsigned k : {0u, 1u}) {
      ArrayRef<int64_t> batch = k == 0 ? dot.getLhsBatch() : dot.getRhsBatch();
      ArrayRef<int64_t> contract = k == 0 ? dot.getLhsContract() : dot.getRhsContract();
      for (int64_t own = 0; own < tensorTypeOf(dot->getOperand(k)).getRank(); ++own)
        if (!llvm::is_contained(batch, own) && !llvm::is_contained(contract, own) && place-- == 0)
          return std::pair(k, own);
    }
    return std::nullopt;
  }

  /// What lies between the least and the greatest position of a constant, in whole lines of the cache.
  static std::optional<Range> rangeOf(Value positions, RankedTensorType type, int64_t axis) {
    constexpr int64_t lineBits = 8 * 64;
    auto broadcast = broadcastOf(positions);
    std::optional<SmallVector<int64_t>> known = constantInts(broadcast ? broadcast.getOperand() : positions);
    if (!known || known->empty())
      return std::nullopt;
    auto [least, greatest] = std::minmax_element(known->begin(), known->end());
    if (*least < 0 || *greatest >= type.getDimSize(axis))
      return std::nullopt;
    int64_t line = std::max<int64_t>(lineBits / type.getElementTypeBitWidth(), 1);
    int64_t begin = *least / line * line, end = llvm::divideCeil(*greatest + 1, line) * line;
    return Range{begin, std::min(end, type.getDimSize(axis))};
  }

  /// `positions` less `begin`, taken from the constant before it is broadcast.
  static Value countFrom(PatternRewriter &b, Value positions, int64_t begin) {
    auto broadcast = broadcastOf(positions);
    Value known = broadcast ? broadcast.getOperand() : positions;
    auto number =
        DenseElementsAttr::get(tensorTypeOf(known), b.getIntegerAttr(tensorTypeOf(known).getElementType(), begin));
    Value less =
        SubOp::create(b, known.getLoc(), known, ConstantOp::create(b, known.getLoc(), known.getType(), number));
    if (!broadcast)
      return less;
    Operation *copy = b.clone(*broadcast);
    copy->setOperand(0, less);
    return copy->getResult(0);
  }
};

/// One number from a large array goes by rows, which are combined on all threads, and then by their results.
struct SplitReduction : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceOp op, PatternRewriter &b) const override {
    constexpr int64_t minElements = 1 << 17, minRows = 32, minLength = 64;
    RankedTensorType type = tensorTypeOf(op.getOperand());
    int64_t rank = type.getRank();
    if (!type.hasStaticShape() || rank < 2 || static_cast<int64_t>(op.getAxes().size()) != rank)
      return b.notifyMatchFailure(op, "combines no whole array of known size");
    int64_t count = type.getNumElements(), rows = type.getDimSize(0);
    if (count < minElements || rows < minRows || count / rows < minLength)
      return b.notifyMatchFailure(op, "the array is small, or its rows are few or short");
    bool isOrder = op.getCombiner() == Combiner::max || op.getCombiner() == Combiner::min;
    if (!isOrder && isa<FloatType>(type.getElementType()) && type.getElementTypeBitWidth() < 32)
      return b.notifyMatchFailure(op, "sums of rows would be rounded to 16 bits");
    auto inner = llvm::to_vector(llvm::seq<int64_t>(1, rank));
    Value ofRows = ReduceOp::create(b, op->getLoc(), op.getOperand(), inner, op.getCombiner());
    b.replaceOpWithNewOp<ReduceOp>(op, op.getType(), ofRows, ArrayRef<int64_t>{0}, op.getCombiner());
    return success();
  }
};

/// max(widen(x)) = widen(max(x)) under a window: bytes that became floats, by what keeps their order, are compared as
/// bytes. Every window holds an element, as there is no number of bytes below all others.
struct PoolNarrow : OpRewritePattern<ReduceWindowOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceWindowOp op, PatternRewriter &b) const override {
    RankedTensorType type = tensorTypeOf(op.getResult());
    auto isBelowWindow = [&](ArrayRef<int64_t> padding) {
      return llvm::all_of(llvm::zip(padding, op.getWindow()),
                          [](auto pair) { return std::get<0>(pair) >= 0 && std::get<0>(pair) < std::get<1>(pair); });
    };
    auto isOne = [](int64_t dilation) { return dilation == 1; };
    if (op.getCombiner() != Combiner::max || !type.hasStaticShape() || hasDevices(op) || !isFloat(op.getOperand()) ||
        !isBelowWindow(op.getLow()) || !isBelowWindow(op.getHigh()) || !llvm::all_of(op.getDilations(), isOne))
      return b.notifyMatchFailure(op, "no greatest number of windows that all hold an element");
    SmallVector<Operation *> chain; // the last one first
    Value source = op.getOperand();
    while (keepsOrderOfBytes(source) && source.hasOneUse()) {
      chain.push_back(source.getDefiningOp());
      source = chain.back()->getOperand(0);
    }
    if (chain.empty() || !tensorTypeOf(source).getElementType().isInteger(8))
      return b.notifyMatchFailure(op, "its operand is not made of bytes");
    auto shaped = [&](Value like) { return type.clone(tensorTypeOf(like).getElementType()); };
    Value value = ReduceWindowOp::create(b, op.getLoc(), shaped(source), source, op.getCombiner(), op.getWindow(),
                                         op.getStrides(), op.getLow(), op.getHigh(), op.getDilations());
    for (Operation *widen : llvm::reverse(chain)) {
      Operation *moved = b.clone(*widen);
      moved->setOperand(0, value);
      if (moved->getNumOperands() == 2) {
        RankedTensorType numbers = shaped(widen->getOperand(1));
        double number = *uniformValue(widen->getOperand(1));
        bool isReal = isa<FloatType>(numbers.getElementType());
        Attribute attribute = isReal ? Attribute(b.getFloatAttr(numbers.getElementType(), number))
                                     : b.getIntegerAttr(numbers.getElementType(), static_cast<int64_t>(number));
        moved->setOperand(1, ConstantOp::create(b, op.getLoc(), numbers, DenseElementsAttr::get(numbers, attribute)));
      }
      moved->getResult(0).setType(shaped(widen->getResult(0)));
      value = moved->getResult(0);
    }
    b.replaceOp(op, value);
    return success();
  }
};

/// Repeats of repeats.
struct MergeBroadcasts : OpRewritePattern<BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BroadcastOp op, PatternRewriter &b) const override {
    auto before = broadcastOf(op.getOperand());
    if (!before)
      return b.notifyMatchFailure(op, "does not follow a broadcast");
    if (!op.getType().hasStaticShape() && !op.getShape() && op.getLike().empty())
      return b.notifyMatchFailure(op, "takes sizes from the broadcast before");
    SmallVector<int64_t> axes;
    for (int64_t axis : before.getAxes())
      axes.push_back(op.getAxes()[axis]);
    b.modifyOpInPlace(op, [&] {
      op.getOperandMutable().assign(before.getOperand());
      op.setAxes(axes);
    });
    return success();
  }
};

/// A broadcast adds axes by itself.
struct BroadcastOfAddedAxes : OpRewritePattern<BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BroadcastOp op, PatternRewriter &b) const override {
    ReshapeOp reshape = reshapeOf(op.getOperand());
    if (!reshape || reshape.getShape())
      return b.notifyMatchFailure(op, "does not follow a reshape");
    if (!op.getType().hasStaticShape() && !op.getShape() && op.getLike().empty())
      return b.notifyMatchFailure(op, "takes sizes from the reshape");
    RankedTensorType from = tensorTypeOf(reshape.getOperand()), to = reshape.getType();
    if (llvm::count_if(from.getShape(), ShapedType::isDynamic) > 1)
      return b.notifyMatchFailure(op, "several sizes are unknown");
    SmallVector<int64_t> axes;
    int64_t k = 0;
    for (auto [axis, size] : llvm::enumerate(to.getShape())) {
      bool matches = k < from.getRank() && from.getDimSize(k) == size;
      // Of equal neighbours any may be the added one only if its size is 1.
      if (matches) {
        axes.push_back(op.getAxes()[axis]);
        ++k;
      } else if (size != 1) {
        return b.notifyMatchFailure(op, "the reshape does more than add unit axes");
      }
    }
    if (k != from.getRank())
      return b.notifyMatchFailure(op, "the reshape does more than add unit axes");
    b.modifyOpInPlace(op, [&] {
      op.getOperandMutable().assign(reshape.getOperand());
      op.setAxes(axes);
    });
    return success();
  }
};

/// Sizes of what only moves or computes are sizes of what it reads: nothing is kept alive to be measured.
struct MeasureSource : OpRewritePattern<DimOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DimOp op, PatternRewriter &b) const override {
    Operation *source = op.getOperand().getDefiningOp();
    if (!source)
      return b.notifyMatchFailure(op, "measures an argument");
    Value operand;
    int64_t axis = op.getAxis();
    if (auto transpose = dyn_cast<TransposeOp>(source)) {
      operand = transpose.getOperand();
      axis = transpose.getPermutation()[axis];
    } else if (isa<Pointwise>(source)) {
      // Constants and repeated numbers are made to the others' size.
      for (Value candidate : source->getOperands())
        if (!matchPattern(candidate, m_Constant()) && !broadcastOf(candidate)) {
          operand = candidate;
          break;
        }
    } else if (auto broadcast = dyn_cast<BroadcastOp>(source); broadcast && broadcast.getLike().size() == 1) {
      operand = broadcast.getLike().front();
    }
    if (!operand)
      return b.notifyMatchFailure(op, "the size is made there");
    b.modifyOpInPlace(op, [&] {
      op.setOperand(operand);
      op.setAxis(axis);
    });
    return success();
  }
};

struct ShapeOfPointwise : OpRewritePattern<ShapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ShapeOp op, PatternRewriter &b) const override {
    Operation *source = op.getOperand().getDefiningOp();
    if (!isa_and_nonnull<Pointwise>(source))
      return b.notifyMatchFailure(op, "does not measure a pointwise op");
    for (Value candidate : source->getOperands())
      if (!matchPattern(candidate, m_Constant()) && !broadcastOf(candidate)) {
        b.modifyOpInPlace(op, [&] { op.setOperand(candidate); });
        return success();
      }
    return b.notifyMatchFailure(op, "the sizes are made there");
  }
};

/// shape(x)[i] = dim(x, i)
struct GatherOfShape : OpRewritePattern<GatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GatherOp op, PatternRewriter &b) const override {
    auto shape = op.getOperand().getDefiningOp<ShapeOp>();
    std::optional<SmallVector<int64_t>> position = constantInts(op.getPositions());
    if (!shape || !position || position->size() != 1 || op.getType().getNumElements() != 1)
      return b.notifyMatchFailure(op, "picks no one size of a shape");
    int64_t rank = tensorTypeOf(shape.getOperand()).getRank(),
            axis = position->front() + (position->front() < 0 ? rank : 0);
    Value size = DimOp::create(b, op.getLoc(), shape.getOperand(), std::clamp<int64_t>(axis, 0, rank - 1));
    if (op.getType().getRank() != 0)
      size = ReshapeOp::create(b, op.getLoc(), op.getType(), size, Value(), op.getType());
    b.replaceOp(op, size);
    return success();
  }
};

class SimplifyAlgebra : public sinter::impl::SimplifyAlgebraBase<SimplifyAlgebra> {
  using SimplifyAlgebraBase::SimplifyAlgebraBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns
        .add<ReadRows, MakeRuns, ReadTransposed, SwapFactors, JoinParts, SumOfPicked, ComputeWhatIsRead, SplitReduction,
             PoolNarrow, MergeBroadcasts, BroadcastOfAddedAxes, MeasureSource, ShapeOfPointwise, GatherOfShape>(
            &getContext());
    populateReshapesAfterPointwise(patterns);
    populateNumberRewrites(patterns, fastMath);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

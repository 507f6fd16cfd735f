// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Constants.h"
#include "ir/Contraction.h"
#include "ir/Elementwise.h"
#include "ir/Shape.h"
#include "passes/Passes.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include <cmath>

using namespace mlir;
using namespace sinter;

namespace sinter {
#define GEN_PASS_DEF_SIMPLIFYALGEBRA
#include "passes/Passes.h.inc"
} // namespace sinter

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }
static bool isFloat(Value value) { return isa<FloatType>(typeOf(value).getElementType()); }

/// All elements of `like`'s type are `number`: a constant, broadcast where the shape is not static.
static Value buildUniform(PatternRewriter &b, Location loc, double number, Value like) {
  RankedTensorType type = typeOf(like);
  Type element = type.getElementType();
  TypedAttr value = isa<FloatType>(element) ? TypedAttr(b.getFloatAttr(element, number))
                                            : TypedAttr(b.getIntegerAttr(element, static_cast<int64_t>(number)));
  if (type.hasStaticShape())
    return ConstantOp::create(b, loc, type, DenseElementsAttr::get(type, value));
  auto scalarType = RankedTensorType::get({}, element);
  Value scalar = ConstantOp::create(b, loc, scalarType, DenseElementsAttr::get(scalarType, value));
  return BroadcastOp::create(b, loc, type, scalar, Value(), ValueRange{like}, ArrayRef<int64_t>(), type);
}

namespace {

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
    if (!transpose)
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
    // Constant weights are packed in any order. Others are read where they lie: rows, columns and sums must each be one
    // run of axes, and the innermost axis is no batch.
    auto isRun = [](ArrayRef<int64_t> axes) {
      for (size_t i = 1; i < axes.size(); ++i)
        if (axes[i] != axes[i - 1] + 1)
          return false;
      return true;
    };
    if (!llvm::is_sorted(free))
      return false;
    bool isConstant = matchPattern(transpose.getOperand(), m_Constant());
    if (!(k == 1 && isConstant)) {
      int64_t last = static_cast<int64_t>(permutation.size()) - 1;
      if (!isRun(free) || !isRun(newContract) || llvm::is_contained(newBatch, last))
        return false;
    }
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

/// (x * p) * q = x * (p * q) and (x + p) + q = x + (p + q) on floats, for constants that are one number each.
template <typename Op> struct MergeNumbers : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &b) const override {
    constexpr bool isProduct = std::is_same_v<Op, MulOp>;
    if (!isFloat(op.getResult()))
      return b.notifyMatchFailure(op, "is not on floats");
    auto split = [](Op binary) -> std::optional<std::pair<Value, double>> {
      if (std::optional<double> number = uniformValue(binary.getRhs()))
        return std::pair(binary.getLhs(), *number);
      if (std::optional<double> number = uniformValue(binary.getLhs()))
        return std::pair(binary.getRhs(), *number);
      return std::nullopt;
    };
    auto outer = split(op);
    auto before = outer ? outer->first.template getDefiningOp<Op>() : Op();
    auto inner = before ? split(before) : std::nullopt;
    if (!inner || !before->hasOneUse())
      return b.notifyMatchFailure(op, "has no chain of numbers");
    double merged = isProduct ? inner->second * outer->second : inner->second + outer->second;
    if (!std::isfinite(merged) || (isProduct && std::abs(merged) < 1e-30))
      return b.notifyMatchFailure(op, "the merged number is out of range");
    Value number = buildUniform(b, op.getLoc(), merged, inner->first);
    b.replaceOpWithNewOp<Op>(op, op.getType(), inner->first, number);
    return success();
  }
};

/// x / 2^k = x * 2^-k, exactly.
struct DivideByPowerOfTwo : OpRewritePattern<DivOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DivOp op, PatternRewriter &b) const override {
    std::optional<double> number = isFloat(op.getResult()) ? uniformValue(op.getRhs()) : std::nullopt;
    int exponent;
    if (!number || std::abs(std::frexp(*number, &exponent)) != 0.5 || std::abs(exponent) > 100 ||
        (typeOf(op.getResult()).getElementType().isF16() && std::abs(exponent) > 10))
      return b.notifyMatchFailure(op, "is not divided by a power of two");
    Value inverse = buildUniform(b, op.getLoc(), 1 / *number, op.getLhs());
    b.replaceOpWithNewOp<MulOp>(op, op.getType(), op.getLhs(), inverse);
    return success();
  }
};

/// True when every value of `from` is one of `to`.
static bool contains(Type to, Type from) {
  if (auto wide = dyn_cast<FloatType>(to)) {
    if (auto narrow = dyn_cast<FloatType>(from))
      return wide.getFPMantissaWidth() >= narrow.getFPMantissaWidth() && wide.getWidth() >= narrow.getWidth() &&
             !(wide.isF16() && narrow.isBF16()) && !(wide.isBF16() && narrow.isF16());
    return static_cast<unsigned>(wide.getFPMantissaWidth()) > from.getIntOrFloatBitWidth();
  }
  if (isa<FloatType>(from))
    return false;
  unsigned wide = to.getIntOrFloatBitWidth(), narrow = from.getIntOrFloatBitWidth();
  return isUnsigned(from) ? wide > narrow || (wide == narrow && isUnsigned(to)) : wide >= narrow && !isUnsigned(to);
}

/// a -> b -> c = a -> c when b holds every value of a.
struct MergeConverts : OpRewritePattern<ConvertOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConvertOp op, PatternRewriter &b) const override {
    auto before = op.getOperand().getDefiningOp<ConvertOp>();
    if (!before)
      return b.notifyMatchFailure(op, "does not follow a conversion");
    Type from = typeOf(before.getOperand()).getElementType(), between = typeOf(op.getOperand()).getElementType();
    if (!contains(between, from))
      return b.notifyMatchFailure(op, "the conversion before loses values");
    b.modifyOpInPlace(op, [&] { op.setOperand(before.getOperand()); });
    return success();
  }
};

/// Repeats of repeats.
struct MergeBroadcasts : OpRewritePattern<BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BroadcastOp op, PatternRewriter &b) const override {
    auto before = op.getOperand().getDefiningOp<BroadcastOp>();
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
    auto reshape = op.getOperand().getDefiningOp<ReshapeOp>();
    if (!reshape || reshape.getShape())
      return b.notifyMatchFailure(op, "does not follow a reshape");
    if (!op.getType().hasStaticShape() && !op.getShape() && op.getLike().empty())
      return b.notifyMatchFailure(op, "takes sizes from the reshape");
    RankedTensorType from = typeOf(reshape.getOperand()), to = reshape.getType();
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

class SimplifyAlgebra : public sinter::impl::SimplifyAlgebraBase<SimplifyAlgebra> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ReadTransposed, MergeNumbers<MulOp>, MergeNumbers<AddOp>, DivideByPowerOfTwo, MergeConverts,
                 MergeBroadcasts, BroadcastOfAddedAxes>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

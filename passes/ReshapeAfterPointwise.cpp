// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reshapes move behind pointwise ops, which then share a kernel with what computes the reshaped tensor.

#include "passes/ReshapeAfterPointwise.h"
#include "ir/Composer.h"
#include "ir/Elementwise.h"
#include "ir/Shape.h"
#include "passes/Producers.h"
#include "passes/SizeUses.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace sinter;

/// A number that fills `value`: as a tensor without axes, built where it is needed.
static bool isNumber(Value value) {
  ElementsAttr attr;
  if (auto broadcast = broadcastOf(value))
    return tensorTypeOf(broadcast.getOperand()).getRank() == 0;
  return matchPattern(value, m_Constant(&attr)) && isa<DenseElementsAttr>(attr) && attr.isSplat();
}

static Value numberOf(OpBuilder &b, Value value) {
  if (auto broadcast = broadcastOf(value))
    return broadcast.getOperand();
  ElementsAttr attr;
  matchPattern(value, m_Constant(&attr));
  auto type = RankedTensorType::get({}, tensorTypeOf(value).getElementType());
  return ConstantOp::create(b, value.getLoc(), type, cast<DenseElementsAttr>(attr).resizeSplat(type));
}

namespace {

/// f(reshape(x), numbers) = reshape(f(x, numbers)): x and f may share a kernel, and the reshape stays a view. Several
/// operands may be reshaped from one shape, what fills only axes behind those that change, as a bias, fills x, and x
/// may have several readers of which all can move: x * sigmoid(x).
struct ReshapeAfterPointwise : OpInterfaceRewritePattern<Pointwise> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(Pointwise op, PatternRewriter &b) const override {
    ReshapeOp reshape;
    for (Value operand : op->getOperands())
      if (!reshape)
        reshape = reshapeOf(operand);
    // Shape arithmetic is no work to be fused.
    auto isShape = [](Type element) { return element.isInteger() && !element.isInteger(1); };
    if (!reshape || !reshape.getOperand().getDefiningOp() || isShape(tensorTypeOf(reshape).getElementType()))
      return b.notifyMatchFailure(op, "no operand is reshaped");
    Value x = reshape.getOperand();
    auto isMoved = [&](Value operand) { return fills(operand, x) || isReshapedLike(operand, x); };
    if (!llvm::all_of(op->getOperands(), isMoved))
      return b.notifyMatchFailure(op, "another operand neither fills x nor is reshaped from its shape");
    auto allows = [&](OpOperand &use) { return readsOnlySizes(use) || canMove(use.getOwner(), x, kLongestChain); };
    if (!llvm::all_of(reshape->getUses(), allows))
      return b.notifyMatchFailure(op, "the reshape stays for another reader");
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(fills(operand, x) ? fill(b, op->getLoc(), operand, x) : reshapeOf(operand).getOperand());
    Operation *moved = b.clone(*op);
    moved->setOperands(operands);
    auto resultType = tensorTypeOf(op->getResult(0));
    moved->getResult(0).setType(RankedTensorType::get(tensorTypeOf(x).getShape(), resultType.getElementType()));
    auto newType = RankedTensorType::get(reshape.getType().getShape(), resultType.getElementType());
    b.replaceOpWithNewOp<ReshapeOp>(op, resultType, moved->getResult(0), reshape.getShape(), newType);
    return success();
  }

private:
  static constexpr unsigned kLongestChain = 8; // ops of an activation

  static bool isReshapedLike(Value value, Value x) {
    ReshapeOp reshape = reshapeOf(value);
    if (!reshape)
      return false;
    RankedTensorType from = tensorTypeOf(reshape.getOperand()), like = tensorTypeOf(x);
    return reshape.getOperand() == x || (from.hasStaticShape() && from.getShape() == like.getShape());
  }

  /// True when the pattern moves `op` in front of the reshape of `x`, once it has moved what `op` reads.
  static bool canMove(Operation *op, Value x, unsigned steps) {
    return isa<Pointwise>(op) && llvm::all_of(op->getOperands(), [&](Value operand) {
             if (fills(operand, x) || isReshapedLike(operand, x))
               return true;
             Operation *producer = operand.getDefiningOp();
             return producer && hasOneReader(operand) && steps > 0 && canMove(producer, x, steps - 1);
           });
  }

  /// Axes that two shapes have in common at their ends.
  static int64_t commonAxes(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
    auto ends = llvm::zip(llvm::reverse(a), llvm::reverse(b));
    return std::distance(ends.begin(),
                         llvm::find_if(ends, [](auto pair) { return std::get<0>(pair) != std::get<1>(pair); }));
  }

  /// True for a number, and for a broadcast over axes that a reshape of `x` to the shape of `value` leaves alone.
  static bool fills(Value value, Value x) {
    if (isNumber(value))
      return true;
    BroadcastOp broadcast = broadcastOf(value);
    RankedTensorType type = tensorTypeOf(value), like = tensorTypeOf(x);
    if (!broadcast || !type.hasStaticShape() || !like.hasStaticShape())
      return false;
    int64_t firstKept = type.getRank() - commonAxes(type.getShape(), like.getShape());
    return llvm::all_of(broadcast.getAxes(), [&](int64_t axis) { return axis >= firstKept; });
  }

  /// What fills `value`, filling a tensor with the sizes of `x`.
  static Value fill(PatternRewriter &b, Location loc, Value value, Value x) {
    auto type = RankedTensorType::get(tensorTypeOf(x).getShape(), tensorTypeOf(value).getElementType());
    if (!isNumber(value)) {
      BroadcastOp broadcast = broadcastOf(value);
      SmallVector<int64_t> axes;
      for (int64_t axis : broadcast.getAxes())
        axes.push_back(axis + type.getRank() - tensorTypeOf(value).getRank());
      return BroadcastOp::create(b, loc, type, broadcast.getOperand(), Value(), ValueRange(), axes, type);
    }
    SmallVector<Value> like;
    if (!type.hasStaticShape())
      like.push_back(x);
    return BroadcastOp::create(b, loc, type, numberOf(b, value), Value(), like, ArrayRef<int64_t>(), type);
  }
};

} // namespace

void sinter::populateReshapesAfterPointwise(RewritePatternSet &patterns) {
  patterns.add<ReshapeAfterPointwise>(patterns.getContext());
}

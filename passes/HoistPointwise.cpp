// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/HoistPointwise.h"
#include "ir/Composer.h"
#include "ir/Shape.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace sinter;

int64_t sinter::channelAxis(ConvolutionOp op) {
  return op.getLayout() == ConvLayout::channels_first ? 1 : op.getType().getRank() - 1;
}

bool sinter::hasOneTap(ConvolutionOp op) {
  auto areOnes = [](ArrayRef<int64_t> values) { return llvm::all_of(values, [](int64_t v) { return v == 1; }); };
  auto areZeros = [](ArrayRef<int64_t> values) { return llvm::all_of(values, [](int64_t v) { return v == 0; }); };
  RankedTensorType filter = tensorTypeOf(op.getFilter());
  return filter.hasStaticShape() && op.getGroups() == 1 && areOnes(op.getStrides()) && areOnes(op.getInputDilation()) &&
         areZeros(op.getLow()) && areZeros(op.getHigh()) &&
         filter.getNumElements() == filter.getDimSize(0) * filter.getDimSize(channelAxis(op));
}

Value sinter::reshaped(OpBuilder &b, Location loc, Value value, ArrayRef<int64_t> shape) {
  RankedTensorType type = tensorTypeOf(value).clone(shape);
  return ReshapeOp::create(b, loc, type, value, Value(), type);
}

/// `operand` of a pointwise op on results of `op`, for the op on `product`, whose last axis has `phases` times the
/// channels: what is the same everywhere, or for a channel. Null for others.
static Value operandOfProduct(OpBuilder &b, Value operand, int64_t channelAxis, Value product, int64_t phases) {
  Location loc = operand.getLoc();
  Composer c(loc, b);
  SplatElementsAttr splat;
  if (matchPattern(operand, m_Constant(&splat))) {
    RankedTensorType type = tensorTypeOf(product).clone(splat.getElementType());
    return ConstantOp::create(b, loc, type, splat.resizeSplat(type));
  }
  auto broadcast = operand.getDefiningOp<BroadcastOp>();
  if (!broadcast)
    return {};
  Value source = broadcast.getOperand();
  if (broadcast.getAxes().empty())
    return c.spread(source, product, {});
  if (broadcast.getAxes() != ArrayRef{channelAxis} ||
      tensorTypeOf(source).getDimSize(0) * phases != tensorTypeOf(product).getShape().back())
    return {};
  Value ofPhases = phases == 1 ? source : Value(ConcatenateOp::create(b, loc, SmallVector<Value>(phases, source), 0));
  return c.spread(ofPhases, product, {tensorTypeOf(product).getRank() - 1});
}

Operation *sinter::hoistPointwise(PatternRewriter &b, ConvolutionOp op, Value &product, int64_t phases,
                                  SmallVectorImpl<Operation *> &replaced) {
  Operation *last = op;
  while (last->hasOneUse()) {
    Operation *next = *last->user_begin();
    if (!isa<Pointwise>(next) || next->getNumResults() != 1 ||
        tensorTypeOf(next->getResult(0)).getShape() != op.getType().getShape())
      break;
    b.setInsertionPoint(next);
    SmallVector<Value> operands;
    for (Value operand : next->getOperands())
      operands.push_back(
          operand == last->getResult(0) ? product : operandOfProduct(b, operand, channelAxis(op), product, phases));
    if (!llvm::all_of(operands, [](Value operand) { return operand; }))
      break;
    Operation *moved = b.clone(*next);
    moved->setOperands(operands);
    moved->getResult(0).setType(tensorTypeOf(product).clone(elementTypeOf(next->getResult(0))));
    product = moved->getResult(0);
    replaced.push_back(last);
    last = next;
  }
  b.setInsertionPointAfter(last);
  return last;
}

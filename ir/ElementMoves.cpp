// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/ElementMoves.h"
#include "ir/Constants.h"
#include "ir/Reduction.h"
#include "ir/Shape.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace sinter;

bool sinter::movesElements(Operation *op) {
  if (auto pad = dyn_cast<PadOp>(op))
    return pad.getMode() == PadMode::constant && matchPattern(pad.getValue(), m_Constant());
  return isa<TransposeOp, ReverseOp, SliceOp>(op);
}

Value sinter::moveAgain(Composer &c, Operation *op, Value operand) {
  RankedTensorType type = tensorTypeOf(op->getResult(0)).clone(elementTypeOf(operand));
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return ReshapeOp::create(c, type, operand, reshape.getShape(), type);
  Operation *copy = c.clone(*op);
  copy->setOperand(0, operand);
  copy->getResult(0).setType(type);
  if (auto pad = dyn_cast<PadOp>(copy)) {
    OpBuilder::InsertionGuard guard(c);
    c.setInsertionPoint(pad);
    // Emitters look for a number.
    std::optional<double> number = uniformValue(pad.getValue());
    bool isFloat = isa<FloatType>(type.getElementType()) && isa<FloatType>(elementTypeOf(pad.getValue()));
    pad.getValueMutable().assign(number && isFloat ? c.scalar(type.getElementType(), *number)
                                                   : c.convert(pad.getValue(), type.getElementType()));
  }
  return copy->getResult(0);
}

int64_t sinter::movedAxis(Operation *op, int64_t axis) {
  if (auto transpose = dyn_cast<TransposeOp>(op))
    return llvm::find(transpose.getPermutation(), axis) - transpose.getPermutation().begin();
  if (auto reverse = dyn_cast<ReverseOp>(op))
    return llvm::is_contained(reverse.getAxes(), axis) ? -1 : axis;
  RankedTensorType from = tensorTypeOf(op->getOperand(0)), to = tensorTypeOf(op->getResult(0));
  if (!isa<ReshapeOp>(op) || !from.hasStaticShape() || !to.hasStaticShape())
    return -1;
  // The axis of the same size with as many places before it.
  auto before = [](RankedTensorType type, int64_t k) {
    return ShapedType::getNumElements(type.getShape().take_front(k));
  };
  for (int64_t k = 0; k < to.getRank(); ++k)
    if (to.getDimSize(k) == from.getDimSize(axis) && before(to, k) == before(from, axis))
      return k;
  return -1;
}

bool sinter::keepsOrder(Operation *op) {
  auto pool = dyn_cast<ReduceWindowOp>(op);
  return isa<ConcatenateOp>(op) || (pool && pool.getCombiner() == Combiner::max);
}

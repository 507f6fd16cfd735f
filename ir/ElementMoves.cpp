// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/ElementMoves.h"
#include "ir/Constants.h"
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

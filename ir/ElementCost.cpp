// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/ElementCost.h"
#include "ir/Dialect.h"
#include "ir/Random.h"
#include "ir/Resampling.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace sinter;

int64_t sinter::elementCost(Operation *op) {
  if (isa<RandomBitsOp, GridSampleOp>(op))
    return 64;
  if (auto resize = dyn_cast<ResizeOp>(op))
    return resize.getMode() == ResizeMode::nearest ? 8 : 32;
  auto pointwise = dyn_cast<Pointwise>(op);
  if (!pointwise)
    return 1;
  Block scratch;
  SmallVector<Value> arguments;
  for (Value operand : op->getOperands())
    arguments.push_back(scratch.addArgument(signless(getElementTypeOrSelf(operand)), op->getLoc()));
  OpBuilder b(op->getContext());
  b.setInsertionPointToEnd(&scratch);
  pointwise.buildBody(b, op->getLoc(), arguments);
  int64_t cost = 0;
  scratch.walk([&](Operation *step) {
    if (isa<math::MathDialect>(step->getDialect()))
      cost += isa<math::AbsFOp, math::AbsIOp, math::FmaOp, math::FloorOp, math::CeilOp, math::RoundEvenOp,
                  math::CopySignOp>(step)
                  ? 1
                  : 12;
    else if (isa<arith::DivFOp, arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::RemFOp>(step))
      cost += 6;
    else if (!step->hasTrait<OpTrait::ConstantLike>())
      cost += 1;
  });
  return cost;
}

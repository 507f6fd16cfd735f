// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/IndexPolicy.h"
#include "ir/Checks.h"
#include "ir/Indexing.h"
#include "ir/Shape.h"
#include "ir/Sparse.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sinter;

/// The op's name and where it comes from, for messages.
static std::string describe(Operation *op) {
  std::string name = op->getName().stripDialect().str(), node, file;
  op->getLoc()->walk([&](Location inner) {
    if (auto named = dyn_cast<NameLoc>(inner); named && node.empty())
      node = named.getName().str();
    if (auto position = dyn_cast<FileLineColLoc>(inner); position && position.getColumn() && file.empty())
      file = position.getFilename().str() + ":" + std::to_string(position.getLine());
    return WalkResult::advance();
  });
  if (!node.empty())
    return "node '" + node + "' (" + name + ")";
  return file.empty() ? name : file + ": " + name;
}

/// Rows that are no row of a table are past its end on purpose, and read or written by nobody.
static bool isOfGroups(Value positions) {
  return isa_and_nonnull<GroupRowsOp, GradientRowsOp>(withoutReshapes(positions).getDefiningOp());
}

static void check(Operation *op, Value operand, OpOperand &positions, ArrayRef<int64_t> axes, bool tuples) {
  if (positions.get().getDefiningOp<CheckPositionsOp>() || isOfGroups(positions.get()))
    return;
  OpBuilder builder(op);
  positions.set(checkPositions(builder, op->getLoc(), positions.get(), operand, axes, tuples, describe(op)));
}

/// The axes that tuples index, from `first` on.
static SmallVector<int64_t> tupleAxes(Value positions, int64_t first) {
  int64_t length = cast<RankedTensorType>(positions.getType()).getShape().back();
  return llvm::to_vector(llvm::seq<int64_t>(first, first + length));
}

void sinter::applyIndexPolicy(ModuleOp module, IndexPolicy policy) {
  if (policy == IndexPolicy::Clamp) {
    module.walk([](Operation *op) {
      Value through;
      if (auto check = dyn_cast<CheckPositionsOp>(op))
        through = check.getPositions();
      else if (auto require = dyn_cast<RequireOp>(op))
        through = require.getValue();
      if (!through || through.getType() != op->getResult(0).getType())
        return;
      op->getResult(0).replaceAllUsesWith(through);
      op->erase();
    });
    return;
  }
  module.walk([](Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case<GatherOp, GatherElementsOp, ScatterElementsOp>([](auto op) {
          check(op, op.getOperand(), op.getPositionsMutable(), {static_cast<int64_t>(op.getAxis())}, /*tuples=*/false);
        })
        .Case([](BagSumOp op) { check(op, op.getOperand(), op.getPositionsMutable(), {0}, /*tuples=*/false); })
        .Case([](GatherNdOp op) {
          check(op, op.getOperand(), op.getPositionsMutable(),
                tupleAxes(op.getPositions(), static_cast<int64_t>(op.getBatchAxes())), /*tuples=*/true);
        })
        .Case([](ScatterNdOp op) {
          check(op, op.getOperand(), op.getPositionsMutable(), tupleAxes(op.getPositions(), 0), /*tuples=*/true);
        });
  });
}

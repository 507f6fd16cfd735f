// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/ControlFlow.h"
#include "ir/Control.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sinter;

std::optional<Control> sinter::controlOf(Operation *op) {
  auto branch = [](auto choice) { return Control{SmallVector<Value>(choice.getCaptures())}; };
  // An empty range of operands may lie behind the last one, so that it cannot be asked where it begins.
  auto loop = [](auto loop, unsigned firstCarry, size_t sequences, unsigned firstInit, unsigned firstCarryResult) {
    SmallVector<Value> init(loop.getInit());
    return Control{SmallVector<Value>(loop.getCaptures()),
                   static_cast<unsigned>(firstCarry + init.size() + sequences),
                   /*isLoop=*/true,
                   init,
                   firstCarry,
                   firstInit,
                   firstCarryResult};
  };
  return llvm::TypeSwitch<Operation *, std::optional<Control>>(op)
      .Case<CondOp, SwitchOp>(branch)
      .Case([&](WhileOp op) { return loop(op, 0, 0, /*firstInit=*/0, /*firstCarryResult=*/1); })
      .Case([&](ForOp op) { return loop(op, 1, 0, /*firstInit=*/3, 0); })
      .Case([&](ScanOp op) { return loop(op, 0, op.getSequences().size(), /*firstInit=*/0, 0); })
      .Default([](Operation *) { return std::nullopt; });
}

Operation *sinter::capturingLoop(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  Operation *loop = argument ? argument.getOwner()->getParentOp() : nullptr;
  if (!loop || !isLoop(loop))
    return nullptr;
  return argument.getArgNumber() >= controlOf(loop)->firstCapture ? loop : nullptr;
}

SmallVector<BlockArgument> sinter::addCapture(Operation *op, Value value) {
  llvm::TypeSwitch<Operation *>(op)
      .Case<CondOp, SwitchOp, WhileOp, ForOp, ScanOp>([&](auto control) { control.getCapturesMutable().append(value); })
      .Default([](Operation *) { llvm_unreachable("only control flow captures"); });
  SmallVector<BlockArgument> arguments;
  for (Region &region : op->getRegions())
    arguments.push_back(region.addArgument(value.getType(), value.getLoc()));
  return arguments;
}

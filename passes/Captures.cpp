// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/Captures.h"
#include "ir/Control.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sinter;

std::optional<Captures> sinter::capturesOf(Operation *op) {
  auto list = [](auto captures, unsigned before) {
    return std::optional(Captures{SmallVector<Value>(captures), before});
  };
  return llvm::TypeSwitch<Operation *, std::optional<Captures>>(op)
      .Case([&](CondOp cond) { return list(cond.getCaptures(), 0); })
      .Case([&](SwitchOp choice) { return list(choice.getCaptures(), 0); })
      .Case([&](WhileOp loop) { return list(loop.getCaptures(), loop.getInit().size()); })
      .Case([&](ForOp loop) { return list(loop.getCaptures(), 1 + loop.getInit().size()); })
      .Case([&](ScanOp loop) { return list(loop.getCaptures(), loop.getInit().size() + loop.getSequences().size()); })
      .Default([](Operation *) { return std::nullopt; });
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

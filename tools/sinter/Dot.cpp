// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/sinter/Dot.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tools/sinter/Tensors.h"
#include <sstream>

using namespace mlir;
using namespace sinter;
using namespace sinter::tool;

std::string tool::printDot(ModuleOp module) {
  std::ostringstream text;
  text << "digraph sinter {\n  node [shape=box, fontname=monospace];\n";
  DenseMap<Operation *, int> numbers;
  auto number = [&](Operation *op) { return numbers.try_emplace(op, numbers.size()).first->second; };
  module.walk([&](Operation *op) {
    if (isa<ModuleOp, func::FuncOp>(op))
      return;
    text << "  n" << number(op) << " [label=\"" << op->getName().getStringRef().str();
    if (op->getNumResults())
      if (auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType()))
        text << "\\n" << describe(type);
    text << "\"];\n";
    for (Value operand : op->getOperands())
      if (Operation *from = operand.getDefiningOp())
        text << "  n" << number(from) << " -> n" << number(op) << ";\n";
  });
  text << "}\n";
  return text.str();
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/gradient/Dependencies.h"

#include "mlir/IR/Operation.h"

using namespace mlir;

llvm::SetVector<Value> sinter::dependenciesOf(Value value, ArrayRef<Value> ends) {
  llvm::SetVector<Value> found;
  found.insert(value);
  for (size_t k = 0; k < found.size(); ++k) {
    Operation *op = found[k].getDefiningOp();
    if (op && !llvm::is_contained(ends, found[k])) // regions are isolated: what they read are operands
      found.insert_range(op->getOperands());
  }
  return found;
}

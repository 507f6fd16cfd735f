// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Leaves.h"
#include "ir/Shapes.h"

using namespace mlir;
using namespace sinter;

LogicalResult sinter::checkLeaves(Operation *op, const Twine &what, TypeRange types, const Twine &other,
                                  TypeRange wanted) {
  if (types.size() != wanted.size())
    return op->emitOpError() << "requires as many " << what << "s as " << other << "s, got " << types.size() << " and "
                             << wanted.size();
  for (auto [k, pair] : llvm::enumerate(llvm::zip(types, wanted)))
    if (auto [type, otherType] = pair; !agree(type, otherType))
      return op->emitOpError() << "requires " << what << " " << k << " of the type of " << other << " " << k << ", got "
                               << type << " and " << otherType;
  return success();
}

TypeRange sinter::yieldedTypes(Region &region) { return region.front().getTerminator()->getOperandTypes(); }

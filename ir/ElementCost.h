// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_IR_ELEMENTCOST_H
#define SINTER_IR_ELEMENTCOST_H

#include "mlir/IR/Operation.h"

namespace sinter {

/// About how many additions one element of a pointwise or elemental op takes. A pointwise op is asked for its body.
int64_t elementCost(mlir::Operation *op);

} // namespace sinter

#endif

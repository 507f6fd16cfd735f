// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_PASSES_ZEROBLOCKS_H
#define SINTER_PASSES_ZEROBLOCKS_H

#include "mlir/IR/Value.h"

namespace sinter {

/// True when much of `value` is likely zero by blocks: probabilities of what a mask hides, and products with them.
/// Whoever uses this looks at the numbers when they are there.
bool mayHoldZeroBlocks(mlir::Value value);

} // namespace sinter

#endif

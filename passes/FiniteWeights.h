// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_PASSES_FINITEWEIGHTS_H
#define SINTER_PASSES_FINITEWEIGHTS_H

#include "mlir/IR/Value.h"

namespace sinter {

/// True when `weights` are known here and one is infinite or NaN, which makes NaN of zeros that it is multiplied with.
bool holdsInfiniteConstants(mlir::Value weights);

/// True when `weights` are known here and none is infinite or NaN.
bool areFiniteConstants(mlir::Value weights);

} // namespace sinter

#endif

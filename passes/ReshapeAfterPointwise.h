// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// f(reshape(x)) = reshape(f(x)) for pointwise f, which SimplifyAlgebra and AssignLayout share.

#ifndef SINTER_PASSES_RESHAPEAFTERPOINTWISE_H
#define SINTER_PASSES_RESHAPEAFTERPOINTWISE_H

#include "mlir/IR/PatternMatch.h"

namespace sinter {

void populateReshapesAfterPointwise(mlir::RewritePatternSet &patterns);

} // namespace sinter

#endif

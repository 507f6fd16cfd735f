// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of SimplifyAlgebra that computes with numbers: what is exact, and what `fast-math` adds (REWRITES.md).

#ifndef SINTER_PASSES_NUMBERREWRITES_H
#define SINTER_PASSES_NUMBERREWRITES_H

#include "mlir/IR/PatternMatch.h"

namespace sinter {

/// All elements of `like`'s type are `number`: a constant, broadcast where the shape is not static.
mlir::Value buildUniform(mlir::OpBuilder &b, mlir::Location loc, double number, mlir::Value like);

void populateNumberRewrites(mlir::RewritePatternSet &patterns, bool fastMath);

} // namespace sinter

#endif

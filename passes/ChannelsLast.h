// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the files of AssignLayout share.

#ifndef SINTER_PASSES_CHANNELSLAST_H
#define SINTER_PASSES_CHANNELSLAST_H

#include "ir/Shape.h"

#include "mlir/IR/PatternMatch.h"

namespace sinter {

/// The transpose that `value` is, when it brings channels from the end to axis 1.
TransposeOp layoutTranspose(mlir::Value value);

/// Adds the pattern that normalizes images, of each channel or group of channels, with channels last.
void populateNormalizationOfColumns(mlir::RewritePatternSet &patterns);

} // namespace sinter

#endif

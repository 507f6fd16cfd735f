// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What rewrites of convolutions share that compute sums before these are moved, repeated or put in their places.

#ifndef SINTER_PASSES_HOISTPOINTWISE_H
#define SINTER_PASSES_HOISTPOINTWISE_H

#include "ir/Contraction.h"
#include "mlir/IR/PatternMatch.h"

namespace sinter {

/// The axis of channels of the input and the result.
int64_t channelAxis(ConvolutionOp op);

/// One tap of known sizes without groups, which meets each element of the input once.
bool hasOneTap(ConvolutionOp op);

/// `value`, whose sizes are known, as a tensor of `shape`.
mlir::Value reshaped(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value, llvm::ArrayRef<int64_t> shape);

/// Computes on `product`, whose last axis has `phases` times the channels of `op`'s results, what follows `op` element
/// by element. Returns the op whose result that is, in other places, with `product` set to it; those between are in
/// `replaced`.
mlir::Operation *hoistPointwise(mlir::PatternRewriter &b, ConvolutionOp op, mlir::Value &product, int64_t phases,
                                llvm::SmallVectorImpl<mlir::Operation *> &replaced);

} // namespace sinter

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What makes a value, where that is an op that rewrites look through; null otherwise.

#ifndef SINTER_PASSES_PRODUCERS_H
#define SINTER_PASSES_PRODUCERS_H

#include "ir/Shape.h"

namespace sinter {

inline BroadcastOp broadcastOf(mlir::Value value) { return value.getDefiningOp<BroadcastOp>(); }

inline ReshapeOp reshapeOf(mlir::Value value) { return value.getDefiningOp<ReshapeOp>(); }

} // namespace sinter

#endif

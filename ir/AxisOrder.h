// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Orders of axes, as transposes take them: the axis of the operand that becomes each axis of the result.

#ifndef SINTER_IR_AXISORDER_H
#define SINTER_IR_AXISORDER_H

#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace sinter {

/// The order that undoes `permutation`.
llvm::SmallVector<int64_t> inversePermutation(llvm::ArrayRef<int64_t> permutation);

/// Channels from the last axis of `rank` to the second.
llvm::SmallVector<int64_t> channelsToFirst(int64_t rank);

/// And back.
llvm::SmallVector<int64_t> channelsToLast(int64_t rank);

/// The axes of a product's operand of `rank` that are neither batches nor summed, in increasing order.
llvm::SmallVector<int64_t> freeAxes(int64_t rank, llvm::ArrayRef<int64_t> batch, llvm::ArrayRef<int64_t> contract);

} // namespace sinter

#endif

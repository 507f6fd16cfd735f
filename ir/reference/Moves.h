// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moving elements of host tensors without looking at them.

#ifndef SINTER_IR_REFERENCE_MOVES_H
#define SINTER_IR_REFERENCE_MOVES_H

#include "ir/reference/HostTensor.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <algorithm>

namespace sinter {

/// The position that a read uses; -1 when the axis is empty.
inline int64_t readPosition(int64_t position, int64_t size) {
  return size == 0 ? -1 : std::clamp<int64_t>(position < 0 ? position + size : position, 0, size - 1);
}

/// The position that a write uses; -1 when it is outside.
inline int64_t writePosition(int64_t position, int64_t size) {
  position = position < 0 ? position + size : position;
  return position < size ? std::max<int64_t>(position, -1) : -1;
}

/// One side of a strided copy; both are in elements and may be negative.
struct StridedView {
  int64_t start;
  llvm::SmallVector<int64_t> strides;
};

/// to[toView(i)] = from[fromView(i)] for each index i of `shape`. The tensors have one element type.
void copyStrided(HostTensor &to, const StridedView &toView, const HostTensor &from, const StridedView &fromView,
                 llvm::ArrayRef<int64_t> shape);

/// A tensor of `shape` with result[i] = from[view(i)].
HostTensor takeStrided(const HostTensor &from, const StridedView &view, llvm::ArrayRef<int64_t> shape);

/// A tensor of `shape` with result[i] = from[position(i)]; a negative position leaves 0.
HostTensor takeElements(const HostTensor &from, llvm::ArrayRef<int64_t> shape,
                        llvm::function_ref<int64_t(llvm::ArrayRef<int64_t>)> position);

/// All elements of `tensor` become the one of `scalar`.
void fill(HostTensor &tensor, const HostTensor &scalar);

} // namespace sinter

#endif

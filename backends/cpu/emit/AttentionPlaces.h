// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where attention finds its rows. Queries, keys and values are often parts of one product, with heads in an axis behind
// the rows, and the result goes back to that order. The kernel holds these moves and reads and writes where they lead:
//
//   x [64, 49, 3, 2, 32]  transpose 2, 0, 3, 1, 4  gather 1  ->  k [64, 2, 49, 32] = x[64 elements on], strides 9408,
//   32, 192, 1

#ifndef SINTER_BACKENDS_CPU_EMIT_ATTENTIONPLACES_H
#define SINTER_BACKENDS_CPU_EMIT_ATTENTIONPLACES_H

#include "backends/cpu/KernelSpec.h"

namespace sinter::cpu {

/// Where the elements of a tensor lie in an input or a result of the kernel: at `first` and, for each step along an
/// axis, so many elements further. Along the last axis that is 1.
struct AttentionPlace {
  unsigned number; // of the input or the result
  DimExpr first;
  Dims strides; // one for each axis of the tensor
  bool isMoved; // it is not the whole of the input or the result in its order
};

/// The place of `value`, which the kernel is given or moves by whole rows; nothing if it computes it.
std::optional<AttentionPlace> placeOfInput(KernelSpec &spec, mlir::Value value);
/// The root's result that result `number` of the kernel is, perhaps moved by whole rows; null if it is something else.
mlir::OpResult rootResult(KernelSpec &spec, mlir::Operation *root, unsigned number);
/// The place of a result of the root that is yielded once.
AttentionPlace placeOfResult(KernelSpec &spec, mlir::OpResult result);

/// The attention of a kernel that moves whole rows before and behind it and does nothing else; null for others.
mlir::Operation *attentionRoot(KernelSpec &spec);

} // namespace sinter::cpu

#endif

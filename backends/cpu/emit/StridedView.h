// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel operand seen through the transposes, broadcasts and slices from the start between it and an input: the input
// and a stride for each axis. Emitters that address their operands themselves read such views without a copy.

#ifndef SINTER_BACKENDS_CPU_EMIT_STRIDEDVIEW_H
#define SINTER_BACKENDS_CPU_EMIT_STRIDEDVIEW_H

#include "backends/cpu/emit/Emitter.h"

namespace sinter::cpu {

struct StridedView {
  unsigned input = 0; // of the kernel
  Dims sizes;
  Dims strides; // elements; 0 where broadcast
};

/// Nothing when `value` is computed rather than viewed.
std::optional<StridedView> viewOf(KernelSpec &spec, mlir::Value value);

/// A run of axes walked as one: its size and the stride of one step.
struct MergedAxes {
  DimExpr size;
  DimExpr stride;
};

/// Merges `axes` (in this order, outermost first); nothing when memory does not allow it.
std::optional<MergedAxes> mergeAxes(KernelSpec &spec, const StridedView &view, llvm::ArrayRef<int64_t> axes);

} // namespace sinter::cpu

#endif

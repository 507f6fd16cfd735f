// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which kernels the CPU back end has an emitter for, as the pass that forms kernels asks before it keeps one.

#ifndef SINTER_BACKENDS_CPU_TAKENKERNELS_H
#define SINTER_BACKENDS_CPU_TAKENKERNELS_H

#include "ir/Dims.h"
#include "ir/Kernel.h"

namespace sinter::cpu {

/// True when an emitter takes the kernel, on every target. `sizes` is the analysis of the function around it.
bool takesKernel(KernelOp kernel, ShapeAnalysis &sizes);

} // namespace sinter::cpu

#endif

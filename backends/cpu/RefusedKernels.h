// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A fusion plan knows no back end. Should it form a kernel that no emitter takes, the kernel's ops go back to the
// schedule, where each becomes a kernel of its own.

#ifndef SINTER_BACKENDS_CPU_REFUSEDKERNELS_H
#define SINTER_BACKENDS_CPU_REFUSEDKERNELS_H

#include "backends/cpu/KernelSpec.h"

namespace sinter::cpu {

/// Puts the ops of each kernel of several ops that no emitter takes in the kernel's place. Returns the number of such
/// kernels; the function is then no schedule until kernels are formed of what is not in one.
unsigned inlineRefusedKernels(mlir::ModuleOp module, const KernelOptions &options);

} // namespace sinter::cpu

#endif

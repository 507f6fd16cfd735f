// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_PASSES_FORMKERNELS_H
#define SINTER_PASSES_FORMKERNELS_H

#include "ir/Dims.h"
#include "ir/Kernel.h"
#include "passes/Passes.h"

namespace sinter {

/// True for a kernel that the back end has a form for; `sizes` is the analysis of the function around it.
using KernelFilter = std::function<bool(KernelOp kernel, ShapeAnalysis &sizes)>;

/// The pass that forms kernels; one that the back end has no form for becomes one kernel an op.
std::unique_ptr<mlir::Pass> createFormKernels(const FormKernelsOptions &options, KernelFilter takes);

} // namespace sinter

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_BACKENDS_CUDA_ARGREDUCEFORM_H
#define SINTER_BACKENDS_CUDA_ARGREDUCEFORM_H

#include "backends/cuda/KernelForms.h"

namespace sinter::cuda {

std::string planBlockArgReduce(KernelSpec &spec, llvm::StringRef name, ScheduleAttr &schedule);
cpu::EmittedKernel emitBlockArgReduce(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef symbol);

} // namespace sinter::cuda

#endif

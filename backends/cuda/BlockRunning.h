// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_BACKENDS_CUDA_BLOCKRUNNING_H
#define SINTER_BACKENDS_CUDA_BLOCKRUNNING_H

#include "backends/cuda/KernelForms.h"

namespace sinter::cuda {

std::string planBlockRunning(KernelSpec &spec, llvm::StringRef name, ScheduleAttr &schedule);
cpu::EmittedKernel emitBlockRunning(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef symbol);

} // namespace sinter::cuda

#endif

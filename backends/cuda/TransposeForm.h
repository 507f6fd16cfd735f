// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_BACKENDS_CUDA_TRANSPOSEFORM_H
#define SINTER_BACKENDS_CUDA_TRANSPOSEFORM_H

#include "backends/cuda/KernelForms.h"

namespace sinter::cuda {

std::string planBlockTranspose(KernelSpec &spec, llvm::StringRef name, ScheduleAttr &schedule);
cpu::EmittedKernel emitBlockTranspose(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef symbol);

} // namespace sinter::cuda

#endif

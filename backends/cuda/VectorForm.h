// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_BACKENDS_CUDA_VECTORFORM_H
#define SINTER_BACKENDS_CUDA_VECTORFORM_H

#include "backends/cuda/KernelForms.h"

namespace sinter::cuda {

std::string planVectors(KernelSpec &spec, llvm::StringRef name, ScheduleAttr &schedule);
cpu::EmittedKernel emitVectors(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef symbol);

} // namespace sinter::cuda

#endif

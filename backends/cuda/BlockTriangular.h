// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_BACKENDS_CUDA_BLOCKTRIANGULAR_H
#define SINTER_BACKENDS_CUDA_BLOCKTRIANGULAR_H

#include "backends/cuda/KernelForms.h"

namespace sinter::cuda {

std::string planBlockTriangular(KernelSpec &spec, llvm::StringRef name, ScheduleAttr &schedule);
cpu::EmittedKernel emitBlockTriangular(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef symbol);
std::string planBlockDeterminant(KernelSpec &spec, llvm::StringRef name, ScheduleAttr &schedule);
cpu::EmittedKernel emitBlockDeterminant(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef symbol);

} // namespace sinter::cuda

#endif

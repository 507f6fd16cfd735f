// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_BACKENDS_CUDA_BLOCKFORMS_H
#define SINTER_BACKENDS_CUDA_BLOCKFORMS_H

#include "backends/cuda/KernelForms.h"

namespace sinter::cuda {

std::string planBlockReduce(KernelSpec &spec, llvm::StringRef name, ScheduleAttr &schedule);
cpu::EmittedKernel emitBlockReduce(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef symbol);
std::string planBlockRow(KernelSpec &spec, llvm::StringRef name, ScheduleAttr &schedule);
cpu::EmittedKernel emitBlockRow(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef symbol);

} // namespace sinter::cuda

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// dynamic_update_slice as the last op of a kernel: only the window is written, an element by each thread. The schedule
// sees to it that the result holds the operand before (KernelTraits::updates).

#ifndef SINTER_BACKENDS_CUDA_UPDATEFORM_H
#define SINTER_BACKENDS_CUDA_UPDATEFORM_H

#include "backends/cuda/KernelForms.h"

namespace sinter::cuda {

std::string planUpdate(KernelSpec &spec, llvm::StringRef name, ScheduleAttr &schedule);
cpu::EmittedKernel emitUpdate(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef symbol);

} // namespace sinter::cuda

#endif

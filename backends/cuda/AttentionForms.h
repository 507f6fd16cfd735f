// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_BACKENDS_CUDA_ATTENTIONFORMS_H
#define SINTER_BACKENDS_CUDA_ATTENTIONFORMS_H

#include "backends/cuda/AttentionShape.h"

namespace sinter::cuda {

cpu::EmittedKernel emitAttention(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef symbol, Core core,
                                 const AttentionTile &tile);
cpu::EmittedKernel emitAttentionGradient(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef symbol, Core core,
                                         const AttentionTile &tile);

} // namespace sinter::cuda

#endif

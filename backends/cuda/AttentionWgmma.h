// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention of sm_90a (wgmma), forward. A kernel stands beside one of mma_attention, as wgmma_product does beside
// mma_product (WgmmaForms.h).
//
//     #sinter.schedule<wgmma_attention, lanes = 384, tile = [128, 64, 64]>
//                      rows of a block, keys of a slab, rows of a warpgroup

#ifndef SINTER_BACKENDS_CUDA_ATTENTIONWGMMA_H
#define SINTER_BACKENDS_CUDA_ATTENTIONWGMMA_H

#include "backends/cuda/KernelForms.h"

namespace sinter::cuda {

std::string planWgmmaAttention(KernelSpec &spec, llvm::StringRef name, ScheduleAttr &schedule);
cpu::EmittedKernel emitWgmmaAttention(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef symbol);

} // namespace sinter::cuda

#endif

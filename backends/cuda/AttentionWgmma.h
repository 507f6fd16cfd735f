// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention of sm_90a (wgmma). A kernel stands beside one of mma_attention or mma_attention_gradient, as wgmma_product
// does beside mma_product (WgmmaForms.h).
//
//     #sinter.schedule<wgmma_attention, lanes = 384, tile = [128, 64, 64]>
//                      rows of a block, keys of a slab, rows of a warpgroup
//     #sinter.schedule<wgmma_attention_gradient, lanes = 384, tile = [128, 64, 64]>
//                      keys (or rows) of a block, rows (or keys) of a slab, keys (or rows) of a warpgroup
//
// Where only running tells how many blocks there are, a fourth number says from how many on this kernel runs, and below
// that the one beside does: blocks of 128 rows may be too few for all multiprocessors.

#ifndef SINTER_BACKENDS_CUDA_ATTENTIONWGMMA_H
#define SINTER_BACKENDS_CUDA_ATTENTIONWGMMA_H

#include "backends/cuda/KernelForms.h"

namespace sinter::cuda {

std::string planWgmmaAttention(KernelSpec &spec, llvm::StringRef name, ScheduleAttr &schedule);
cpu::EmittedKernel emitWgmmaAttention(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef symbol);
std::string planWgmmaAttentionGradient(KernelSpec &spec, llvm::StringRef name, ScheduleAttr &schedule);
cpu::EmittedKernel emitWgmmaAttentionGradient(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef symbol);

} // namespace sinter::cuda

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes loops as kernels of one block (LoopKernels.h) around the functions of their kernels, in LLVM IR.

#ifndef SINTER_BACKENDS_CUDA_LOOPPTX_H
#define SINTER_BACKENDS_CUDA_LOOPPTX_H

#include "backends/cuda/LoopKernels.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Module.h"

namespace sinter::cuda {

/// How chunks of a kernel's function, NAME_body, are computed.
struct LoopedFunction {
  Chunk chunk;
  int64_t threads;
  bool isJoined; // by NAME_join_body
};

/// Adds `void NAME(words..., stop, chunks)`, for a grid of one block; the word at `stop` asks the loop to end.
void addLoop(llvm::Module &module, const LoopKernel &loop, const llvm::StringMap<LoopedFunction> &functions);

} // namespace sinter::cuda

#endif

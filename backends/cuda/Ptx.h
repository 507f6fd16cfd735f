// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels in the LLVM dialect -> PTX.

#ifndef SINTER_BACKENDS_CUDA_PTX_H
#define SINTER_BACKENDS_CUDA_PTX_H

#include "backends/cuda/LoopKernels.h"
#include "llvm/ADT/StringSet.h"

namespace sinter::cuda {

/// The generation of GPUs that code is for: newer ones run it as well.
struct Generation {
  std::string cpu = "sm_80";
  std::string features = "+ptx70";
};

/// Kernel functions whose loops are in a module of their own: (buffers..., sizes..., begin, end) -> i32.
struct PtxUnit {
  struct Entry {
    std::string kernel;
    Chunk chunk;
    int64_t threads;
    int64_t threadsAtOnce = 0; // of the form (KernelForms.h)
    unsigned numMaps = 0;      // tensor maps behind the chunks
    int64_t cluster = 1;       // blocks of a cluster
  };
  mlir::ModuleOp module; // in the LLVM dialect
  llvm::SmallVector<Entry, 2> entries;
};

/// Loops of these kernels, and which of the kernels are launched by themselves, too.
struct PtxLoops {
  llvm::ArrayRef<LoopKernel> kernels;
  const llvm::StringSet<> &launched;
};

/// Kernels NAME(buffers and sizes as 64-bit words..., chunks, tensor maps...), each of which walks over all chunks
/// whatever the grid.
/// Fails with a diagnostic.
llvm::FailureOr<std::string> generatePtx(llvm::ArrayRef<PtxUnit> units, const Generation &generation,
                                         mlir::Location loc, const PtxLoops *loops = nullptr);

} // namespace sinter::cuda

#endif

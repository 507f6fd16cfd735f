// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row that the threads of a block walk together: thread t takes columns t, t + threads, ..., so that neighbours read
// neighbours. Each thread combines its columns in order (sums by blocks, cpu/emit/BlockSums.h); then the lanes of a
// warp combine theirs in five exchanges, lane i with i xor 16, 8, 4, 2, 1; the warps' totals go through shared memory
// and every thread combines them in order, so that all have the same bits. No order depends on what runs first.

#ifndef SINTER_BACKENDS_CUDA_BLOCKWALK_H
#define SINTER_BACKENDS_CUDA_BLOCKWALK_H

#include "backends/cpu/emit/RowWalk.h"

namespace sinter::cuda {

class BlockWalk final : public cpu::RowWalk {
public:
  /// `threads`: of the block, a power of two from 32 on.
  BlockWalk(cpu::KernelFunction &fn, DimExpr length, int64_t threads);

  mlir::Value combine(mlir::Value identity, int64_t block, cpu::Join join, Step step) override;
  void forEach(llvm::function_ref<void(cpu::KernelElements &, mlir::Value column)> body) override;
  void once(llvm::function_ref<void()> body) override;

private:
  /// Of all threads; in all threads.
  mlir::Value joinThreads(mlir::Value value, cpu::Join join);

  cpu::KernelFunction &fn;
  mlir::ImplicitLocOpBuilder &b;
  DimExpr length;
  int64_t threads;
  mlir::Value thread; // its number, as an index
};

} // namespace sinter::cuda

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row that the threads of a block walk together: thread t takes columns t, t + threads, ..., so that neighbours read
// neighbours, or as many columns side by side as are a vector of 16 bytes. Each thread combines its columns in order
// (sums by blocks, cpu/emit/BlockSums.h), then the lanes of its vector; then the lanes of a warp combine theirs in five
// exchanges, lane i with i xor 16, 8, 4, 2, 1; the warps' totals go through shared memory and every thread combines
// them in order, so that all have the same bits. No order depends on what runs first.
//
// Rows that lie side by side in memory (sums of columns) are walked 32 at once: thread t has row t mod 32 and takes
// columns t / 32, t / 32 + threads / 32, ..., so that the lanes of a warp read neighbours. What a row's threads have
// goes through shared memory and is combined in the order of the threads.
//
// A row of few vectors a thread stays in registers from one walk to the next.
//
// Where the blocks of a cluster (sm_90a) walk a row together, thread t of block r is number r * threads + t of all of
// them. Every block sends what it combined to all others, into their shared memory, and each combines these values in
// the order of the blocks. A barrier of the cluster stands between, and one before a row, as what was sent for the row
// before has been read then.

#ifndef SINTER_BACKENDS_CUDA_BLOCKWALK_H
#define SINTER_BACKENDS_CUDA_BLOCKWALK_H

#include "backends/cpu/emit/RowWalk.h"

namespace sinter::cuda {

/// What a thread reads or writes at once.
inline constexpr int64_t kVectorBytes = 16;

/// Who walks a row.
struct Walkers {
  int64_t threads;     // of a block, a power of two from 32 on
  int64_t cluster = 1; // blocks that walk it together
  int64_t side = 1;    // rows that lie side by side, of which thread t has number t mod `side`; 1: one row
  int64_t all() const { return threads / side * cluster; }
};

class BlockWalk final : public cpu::RowWalk {
public:
  /// `lanes`: columns of a vector, which divide the length where they are more than 1; the vectors that lie in the
  /// kernel's buffers are then `kVectorBytes` aligned.
  BlockWalk(cpu::KernelFunction &fn, DimExpr length, Walkers walkers, int64_t lanes = 1);
  ~BlockWalk() override;

  mlir::Value combine(mlir::Value identity, int64_t block, cpu::Join join, Step step) override;
  void forEach(llvm::function_ref<void(cpu::KernelElements &, mlir::Value column)> body) override;
  void once(llvm::function_ref<void()> body) override;
  bool keepsElements() const override { return !kept.empty(); }

private:
  /// Columns that a thread has in registers.
  struct Kept {
    mlir::Value column, isThere; // null: always
    std::unique_ptr<cpu::KernelElements> elements;
  };
  std::unique_ptr<cpu::KernelElements> makeElements();
  /// A thread's columns in order; those of all threads together in blocks of `block`.
  mlir::Value combineColumns(mlir::Value identity, int64_t block, cpu::Join join, Step step);
  /// Of all threads of the block; in all of them.
  mlir::Value joinThreads(mlir::Value value, cpu::Join join);
  /// Of all threads of each row side by side; in all of them.
  mlir::Value joinSide(mlir::Value value, cpu::Join join);
  /// Of all blocks of the cluster; in all of them.
  mlir::Value joinBlocks(mlir::Value value, cpu::Join join);
  /// Numbers of that type in the block's shared memory.
  mlir::Value shared(int64_t count, mlir::Type type);
  void meetCluster();

  cpu::KernelFunction &fn;
  mlir::ImplicitLocOpBuilder &b;
  DimExpr length;
  Walkers walkers;
  int64_t lanes;
  mlir::Value thread, rank;  // its number in the block and that of the block in the cluster (null: no cluster)
  mlir::Value row;           // null where there is one
  mlir::Value number, first; // its number among all and its first column, as indices
  llvm::SmallVector<Kept> kept;
};

/// Whether all buffers of the kernel begin at multiples of `kVectorBytes`, at run time: slices that a loop reads or
/// writes where they lie begin anywhere.
mlir::Value areAligned(cpu::KernelFunction &fn);

/// This thread's number in its block, as an index.
mlir::Value threadNumber(cpu::KernelFunction &fn);

/// An array that the threads of a block share; it begins undefined, and all chunks of the block have the same.
mlir::Value sharedArray(cpu::KernelFunction &fn, mlir::Type element, int64_t count);

/// As many elements of `type` as a vector has that divides rows of `length`; 1 where that is not known.
int64_t vectorLanes(cpu::KernelSpec &spec, DimExpr length, mlir::Type type);

} // namespace sinter::cuda

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Records (cpu/emit/KeyOrder.h) that the threads of a block sort by four bits of their keys after the other. Each
// thread has a stretch of them. It counts its digits; counts are summed over digits and, for each digit, over threads;
// then it moves its records, in their order, to where the sums say. So equal keys stay in order, whatever runs first.

#ifndef SINTER_BACKENDS_CUDA_BLOCKSORT_H
#define SINTER_BACKENDS_CUDA_BLOCKSORT_H

#include "backends/cpu/emit/KeyOrder.h"

namespace sinter::cuda {

class BlockSort {
public:
  /// `threads`: of the block, at least 128, a power of two.
  BlockSort(cpu::SingleKernel &k, cpu::Records records, int64_t threads);

  const int64_t threads;
  const mlir::Value thread; // this one's number, an index
  const mlir::Value counts; // in shared memory: of digits, or whatever else there are up to `cpu::kBounds` of

  /// Sorts by the last `width` bits (an index) of the keys. What was written before a barrier is sorted, and all
  /// threads see the result. Returns the word where it begins: `from` or `to`.
  mlir::Value sort(mlir::Value from, mlir::Value to, mlir::Value count, mlir::Value width);

  /// Sum of the threads' values before this one's, and of all. A barrier follows before the next scan.
  std::pair<mlir::Value, mlir::Value> scan(mlir::Value value);
  void barrier();
  /// Every so-manieth of [0, end) for this thread.
  void share(mlir::Value end, llvm::function_ref<void(mlir::Value)> body) { k.fn.loop(thread, end, threads, body); }
  /// This thread's stretch of [0, count).
  std::pair<mlir::Value, mlir::Value> stretch(mlir::Value count);

  /// An array of i32 that the block shares.
  mlir::Value shared(int64_t count);
  mlir::Value loadFrom(mlir::Value buffer, mlir::Value at); // as an index
  void storeIn(mlir::Value buffer, mlir::Value value, mlir::Value at);
  mlir::Value loadCount(mlir::Value at) { return loadFrom(counts, at); }
  void storeCount(mlir::Value value, mlir::Value at) { storeIn(counts, value, at); }

private:
  void move(mlir::Value shift, mlir::Value from, mlir::Value to, mlir::Value count);

  cpu::SingleKernel &k;
  mlir::ImplicitLocOpBuilder &b;
  cpu::Records records;
  mlir::Value sums; // in shared memory
};

/// Where `sort` leaves the records.
mlir::Value sortedPlace(cpu::SingleKernel &k, mlir::Value from, mlir::Value to, mlir::Value width);

} // namespace sinter::cuda

#endif

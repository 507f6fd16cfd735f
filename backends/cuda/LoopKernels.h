// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop whose kernels are all small as one kernel of one block, which goes round on the GPU by itself: the kernels of
// its condition and of its body one after the other, barriers between. As a graph each of them is a node of its own,
// and another one decides whether there is one more trip.
//
//     graph                                     one kernel, of T threads
//     WHILE { k1 -> k2 -> k0 -> sinter_loop }   for (;;) {
//                                                 chunks of k0; barrier; if (any thread says so: barrier.red) break;
//                                                 chunks of k1; barrier; chunks of k2; barrier
//                                               }
//
// A chunk that a thread computes goes to thread `chunk mod T`; one that a block of B threads computes goes to one of
// T / B groups, whose barriers are named and whose shared memory is apart. So every chunk is computed by as many
// threads and in the same order as in a grid: the bits are the same.

#ifndef SINTER_BACKENDS_CUDA_LOOPKERNELS_H
#define SINTER_BACKENDS_CUDA_LOOPKERNELS_H

#include "backends/cuda/KernelForms.h"
#include "backends/schedule/LoopProgram.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace sinter::cuda {

/// What is launched in loops. Its loops are those before they are lowered.
struct LoopedKernel {
  Chunk chunk;
  int64_t threads; // of the block that computes a chunk
  bool isJoined, isWide;
  bool takesRegisters; // ptxas may share out all registers among few threads
  mlir::ModuleOp loops;
  llvm::StringRef symbol;
};
using FindKernel = llvm::function_ref<LoopedKernel(llvm::StringRef)>;

/// A loop as a kernel of one block.
struct LoopKernel {
  std::string symbol;
  int64_t threads;
  schedule::LoopStep loop;
  llvm::SmallVector<bool> areBuffers; // of the words
};

/// Bytes of shared memory of a kernel's module.
int64_t sharedBytesOf(mlir::ModuleOp loops);
/// Blocks of a kernel that a block of `threads` computes side by side.
int64_t groupsOf(int64_t threads, int64_t threadsOfChunk, int64_t sharedBytes);
/// Each group's shared memory begins at a multiple.
inline constexpr int64_t kGroupAlignment = 128;

/// What the cost model expects of a trip.
struct TripTimes {
  double oneNs = 0;   // as a part of one kernel
  double graphNs = 0; // as nodes of a graph
};

/// The program's loop as one kernel; else why it is none. `threads` and `times` are what the cost model found best.
/// With `isForced` a loop of any time is one.
std::string planLoop(const schedule::LoopProgram &program, llvm::StringRef generation, bool isForced, FindKernel find,
                     int64_t &threads, TripTimes &times);

} // namespace sinter::cuda

#endif

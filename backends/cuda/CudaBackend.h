// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NVIDIA GPUs as a back end: PTX for one generation, which newer ones run as well. Kernels have the GPU's memory, and
// what has no form here the CPU computes on copies.
//
// The code of a module is text, which runtime/cuda_device.c reads: a line for each kernel, an empty line, the PTX.
//
//     kernel NAME thread|block THREADS     a chunk is computed by a thread, or by a block of as many threads
//     then NAME block THREADS              runs behind the one before whenever that is launched, on as many chunks
//     wide NAME THREADS BYTES CHUNKS       for sm_90a, instead of the kernel before and what runs behind it where that
//                                          has CHUNKS or more: a block of THREADS, with BYTES of dynamic shared memory,
//                                          for each multiprocessor; behind the words and the number of chunks it takes
//                                          tensor maps; a line `then` behind them says what runs behind the wide kernel
//     wide ... CHUNKS BLOCKS               the same in clusters of so many BLOCKS
//     wide ... CHUNKS BLOCKS MOST          with a cluster of so many BLOCKS for each chunk, where there are MOST or
//                                          fewer (0: any number)
//     loop NAME block THREADS              a whole loop, which one block runs: behind the words it takes the address of
//                                          the word that asks it to end
//     map WORD f16|bf16 SIZES STRIDES BOX  of the buffer of that word, numbers with commas, the innermost axis first;
//                                          strides, in bytes, are those of the other axes. A number may be followed by
//                                          words that it is multiplied with, 2*w5*w4. Rows of a box have 128 bytes and
//                                          are swizzled
//
// Where the PTX is for another generation than sm_90a and there are wide kernels, a line `=== sm_90a` follows, and the
// PTX of these. They are launched on such GPUs, if addresses and strides are multiples of 16 bytes.

#ifndef SINTER_BACKENDS_CUDA_CUDABACKEND_H
#define SINTER_BACKENDS_CUDA_CUDABACKEND_H

#include "backends/cuda/Ptx.h"
#include "backends/schedule/Backend.h"

namespace sinter::cuda {

class CudaBackend final : public schedule::Backend {
public:
  explicit CudaBackend(Generation generation = {});
  ~CudaBackend() override;

  llvm::StringRef name() const override { return "cuda"; }
  bool hasOwnMemory() const override { return true; }
  bool runsControl() const override { return true; }
  std::unique_ptr<schedule::KernelSpec> specify(KernelOp kernel, ShapeAnalysis *outer) override;
  std::string refusal(schedule::KernelSpec &spec) override;
  llvm::LogicalResult settle(schedule::KernelSpec &spec, Refused refused) override;
  llvm::SmallVector<ScheduleAttr> neighbours(schedule::KernelSpec &spec) override;
  llvm::SmallVector<schedule::Packing> packing(schedule::KernelSpec &) override { return {}; }
  schedule::KernelTraits describe(schedule::KernelSpec &spec, llvm::StringRef symbol) override;
  llvm::LogicalResult chooseLoops(mlir::ModuleOp schedules) override;
  llvm::FailureOr<schedule::CodeObject> code(mlir::Location loc) override;

  unsigned numKernels() const { return kernels.size(); }

private:
  struct Kernel {
    std::string symbol;
    Chunk chunk;
    int64_t threads;       // of a block
    int64_t threadsAtOnce; // of the form
    bool isJoined;         // by a second function
    mlir::OwningOpRef<mlir::ModuleOp> loops;
    WideKernel wide;
  };
  LoopedKernel looped(llvm::StringRef symbol) const;
  /// Makes the loop one kernel where that is best, or loops in it.
  llvm::LogicalResult chooseLoop(schedule::RepeatOp loop, llvm::StringRef function);

  Generation generation;
  cpu::Target target;
  cpu::KernelOptions options; // of the CPU's emitters: plain scalar loops
  std::vector<Kernel> kernels;
  llvm::StringMap<size_t> bySymbol; // of kernels
  std::vector<LoopKernel> loops;
  llvm::StringSet<> launched; // kernels that are launched by themselves
};

} // namespace sinter::cuda

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a kernel is spread over a GPU, and its loops.
//
// A kernel's function computes chunks [begin, end), as on the CPU; on a GPU a chunk is what one thread, or one block of
// threads, computes. General forms are the CPU's scalar loops with chunks of one element or one row; they cover every
// op that has such loops.

#ifndef SINTER_BACKENDS_CUDA_KERNELFORMS_H
#define SINTER_BACKENDS_CUDA_KERNELFORMS_H

#include "backends/cpu/KernelSpec.h"
#include "mlir/IR/OwningOpRef.h"

namespace sinter::cuda {

/// Who computes a chunk; `Grid`: the kernel itself shares its work among blocks, or clusters of them (WideKernel).
enum class Chunk { Thread, Block, Cluster, Grid };

/// A kernel for sm_90a beside one for the same words: of as many blocks as there are multiprocessors, each of which
/// gets its number and theirs where others get chunks, then pointers to tensor maps; or clusters of these, which get
/// the clusters' numbers. Or one of clusters, each of which computes chunks as blocks of the kernel beside do.
struct WideKernel {
  mlir::OwningOpRef<mlir::ModuleOp> module; // null where there is none
  Chunk chunk = Chunk::Grid;                // or Cluster
  int64_t threads = 0, sharedBytes = 0;     // of a block; the memory is dynamic
  unsigned numMaps = 0;
  std::string maps; // lines that the runtime makes them of (CudaBackend.h)
  /// The second function of the kernel beside runs behind this one, too.
  bool isJoined = false;
  /// It runs where the kernel beside would have so many chunks or more.
  int64_t leastChunks = 0;
  /// Blocks of a cluster; 1: each is for itself. One whose clusters compute chunks runs where the kernel beside would
  /// have so many chunks or fewer; 0: always.
  int64_t cluster = 1, mostChunks = 0;
};

/// A kernel with the loops that were written for it.
class KernelSpec final : public cpu::KernelSpec {
public:
  using cpu::KernelSpec::KernelSpec;

  mlir::OwningOpRef<mlir::ModuleOp> loops;
  cpu::EmittedKernel emitted;
  int64_t threads = 0; // of a block, where they are not those of the schedule
  WideKernel wide;
};

/// A second function of a kernel's module, by its name behind the first one's: it runs after all of the first, over as
/// many chunks, each of which is a block's of so many threads.
inline constexpr llvm::StringLiteral kJoinSuffix = "_join";
inline constexpr int64_t kJoinThreads = 256;
/// A wide kernel's name behind the other's.
inline constexpr llvm::StringLiteral kWideSuffix = "_wide";

struct KernelForm {
  llvm::StringLiteral name;
  Chunk chunk = Chunk::Thread;
  int64_t threads = 256; // of a block; 0: as many as the schedule has lanes
  /// Why the form does not take the kernel, or not by the schedule that is given, empty when it does; with none given
  /// `schedule` becomes what it would choose.
  std::string (*plan)(KernelSpec &spec, llvm::StringRef name, ScheduleAttr &schedule);
  cpu::EmittedKernel (*emit)(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef symbol);
  /// Threads of a multiprocessor that are enough: ptxas may share out all registers among them, and need not spill so
  /// that more fit. 0: ptxas chooses.
  int64_t threadsAtOnce = 0;
};

/// Whether kernels for sm_90a can stand beside those for a generation: it is that one, or GPUs of it run the others.
bool canBeWide(llvm::StringRef generation);

/// All forms, in the order in which they are asked.
llvm::ArrayRef<KernelForm> kernelForms();
/// Null for no form of that name.
const KernelForm *findForm(llvm::StringRef name);

/// An op in a kernel's loops that no instruction and no polynomial of ours computes, with its type; empty for none.
std::string findUnsupported(mlir::ModuleOp loops);

} // namespace sinter::cuda

#endif

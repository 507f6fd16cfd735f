// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_BACKENDS_CUDA_BLOCKFORMS_H
#define SINTER_BACKENDS_CUDA_BLOCKFORMS_H

#include "backends/cuda/BlockWalk.h"
#include "backends/cuda/KernelForms.h"
#include "ir/Reduction.h"

namespace sinter::cuda {

/// Rows of fewer columns are a thread's.
inline constexpr int64_t kFewColumns = 64;
inline constexpr int64_t kLeastThreads = 32, kMostThreads = 256;
/// A schedule that is given may have more.
inline constexpr int64_t kMostGivenThreads = 512;

/// As many threads as have four columns each, or a longer vector: a power of two up to `most`.
int64_t threadsFor(DimExpr length, int64_t lanes = 1, int64_t most = kMostThreads);
/// Whether a schedule that is given may have so many: a power of two.
bool areThreads(int64_t threads, int64_t most);
/// Parts of each of `results`, up to `most`, with `leastElements` of `length` or more each: as many as give every
/// multiprocessor two blocks.
int64_t partsFor(KernelSpec &spec, DimExpr length, DimExpr results, int64_t leastElements, int64_t most);
/// The schedule of blocks of so many threads; `tile` = [several]: parts of a result, or blocks of a cluster.
ScheduleAttr blockSchedule(KernelSpec &spec, llvm::StringRef name, int64_t threads, int64_t several = 1);
/// Parts of each result in such a schedule.
int64_t partsOf(ScheduleAttr schedule);
/// Blocks that share out rows or matrices when each needs a workspace of so many bytes: as many as 64 MiB allow, but
/// enough for any GPU.
DimExpr blocksAtOnce(DimContext &dims, DimExpr bytes);
/// For a form whose blocks have `threads` always: why the schedule that is given is another one; with none given
/// `schedule` becomes it.
std::string takeOnly(KernelSpec &spec, llvm::StringRef name, int64_t threads, ScheduleAttr &schedule);

std::string planBlockReduce(KernelSpec &spec, llvm::StringRef name, ScheduleAttr &schedule);
cpu::EmittedKernel emitBlockReduce(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef symbol);
/// A reduction whose results lie side by side: a block has 32 of them.
std::string planBlockColumns(KernelSpec &spec, llvm::StringRef name, ScheduleAttr &schedule);
cpu::EmittedKernel emitBlockColumns(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef symbol);
std::string planBlockRow(KernelSpec &spec, llvm::StringRef name, ScheduleAttr &schedule);
cpu::EmittedKernel emitBlockRow(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef symbol);

/// How many elements each result of a reduction is made of, and how many a thread takes at once.
struct Columns {
  DimExpr length;
  int64_t lanes;
};
Columns columnsOfReduce(KernelSpec &spec, ReduceOp op);
Columns columnsOfRow(KernelSpec &spec);

/// Loops that `walkers` compute a chunk by. Those of a reduction have the results of `parts` of each; a function that
/// has a workspace for nothing takes the words of one that needs it.
cpu::EmittedKernel emitReduceLoops(KernelSpec &spec, ReduceOp op, mlir::ModuleOp module, llvm::StringRef symbol,
                                   Walkers walkers, int64_t parts, bool hasWorkspace);
/// The same with the second function of the module where there are parts.
cpu::EmittedKernel emitReduceBy(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef symbol, ScheduleAttr schedule);
cpu::EmittedKernel emitRowLoops(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef symbol, Walkers walkers);
/// What a row form reads rows of.
mlir::Value rowOperand(KernelSpec &spec);

} // namespace sinter::cuda

#endif

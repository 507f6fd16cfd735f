// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a schedule must know of the code of a kernel, and of one launch of it. The code itself is the back end's own.

#ifndef SINTER_BACKENDS_SCHEDULE_KERNELLAUNCH_H
#define SINTER_BACKENDS_SCHEDULE_KERNELLAUNCH_H

#include "backends/schedule/KernelSpec.h"
#include <functional>

namespace sinter::schedule {

/// How elements come into another order.
struct PackedForm {
  int64_t bytes;
  /// Writes `bytes` bytes, which are zero before, from the row-major elements. Touches no IR: several run at once.
  std::function<void(const char *from, char *to)> write;
};

/// A constant in the order in which a kernel reads it. Packing happens once, at compile time: the kernel finds the
/// packed bytes where an input would lie. The IR keeps the logical type.
struct Packing {
  unsigned input; // of the kernel
  /// Equal constants with equal tags have equal packed bytes.
  std::string tag;
  /// How a constant of that type is packed.
  std::function<PackedForm(mlir::RankedTensorType)> form;
};

/// How the chunks of a kernel go through the rows of its only result, where all sizes are known: `parts` chunks after
/// each other write one block of rows of an image, and blocks and images follow each other as memory has them.
struct RowWalk {
  int64_t images, rows, rowBytes; // rows of an image
  int64_t rowsOfBlock, parts;
  int64_t leastRows; // the last block of an image computes at least so many, perhaps again

  /// Of an input of the kernel, row r of the result reads rows [stride r - before, stride r - before + reach).
  unsigned input;
  int64_t inputRows, inputRowBytes, stride, before, reach;

  int64_t blocksOfImage() const { return (rows + rowsOfBlock - 1) / rowsOfBlock; }
  int64_t blocks() const { return images * blocksOfImage(); }
  /// Bytes of the result from its start on that are there after the first `count` blocks.
  int64_t written(int64_t count) const;
  /// Bytes of the input, from its start on, that the first `count` blocks read.
  int64_t needed(int64_t count) const;
  /// The first byte of the input that block `number` and those behind it read.
  int64_t firstRead(int64_t number) const;
  /// The first byte of the result that block `number` and those behind it write.
  int64_t firstWritten(int64_t number) const;

private:
  int64_t firstRow(int64_t block) const { return std::clamp<int64_t>(rows - leastRows, 0, block * rowsOfBlock); }
};

/// What code needs and what it promises. Sizes are over the symbols of the kernel's spec.
struct KernelTraits {
  /// Number of chunks; at least 1 unless the kernel has nothing to do.
  DimExpr chunks;
  /// All chunks run so many times, each time after the time before, whose number is the code's last argument. Null:
  /// once, without such an argument.
  DimExpr steps;
  /// Bytes of scratch memory for one launch, or null for none.
  DimExpr workspaceBytes;
  /// Results whose size only running tells: the kernel has a `sizes` buffer and writes every size of every result that
  /// is not a constant in `spec.sizes` to it, in order; `capacity[i]` elements are reserved for result i.
  bool writesSizes = false;
  llvm::SmallVector<DimExpr> capacity;
  /// A result may share memory with an input, each with another, that is read through pointwise ops alone: the loop
  /// nest stores element i of any result after its last read of element i of every input, and computes no element
  /// twice.
  bool inPlace = false;
  /// The input that the only result must hold when the kernel is called: only what differs is written. -1: none. Reads
  /// of that input come before writes that they could see, so that both may be one buffer.
  int64_t updates = -1;
  /// The launch takes so little time that starting it elsewhere would take longer.
  bool isShort = false;
  /// Launches of this code and of others like it run in the order of the schedule, whatever they read and write.
  bool isOrdered = false;
  /// A launch takes some nanoseconds: a loop of such kernels alone need not look in each trip whether it was cancelled.
  bool isBrief = false;
  /// About how many nanoseconds the whole launch takes on one core. Over static sizes only; 0 means unknown.
  double estimatedNs = 0;
  /// Over open sizes: 0 where the launch is as short as `isShort` says. Null: unknown.
  DimExpr forks;
  std::optional<RowWalk> walk;
};

/// One kernel op and the code that it runs, with sizes as expressions over the symbols of the function around.
struct KernelLaunch {
  /// The code's symbol.
  std::string kernel;
  /// The back end that runs it; empty for the host's.
  std::string backend;
  /// Of the code. Only `chunks`, `workspaceBytes`, `capacity` and `forks` are over the symbols of the function around.
  KernelTraits traits;
  /// The value of each size argument; null where nothing is known before the launch.
  Dims symbols;
  /// (result, axis) in the order in which the kernel writes sizes.
  llvm::SmallVector<std::pair<unsigned, int64_t>> writtenSizes;
  llvm::SmallVector<Packing> packed;
};

using KernelLaunches = llvm::DenseMap<mlir::Operation *, KernelLaunch>;

/// The launch of code that was made for `spec` by `kernel`, which has equal code. `symbols` are those of `kernel`'s own
/// spec. Fails with a diagnostic where only values of operands tell an amount.
llvm::FailureOr<KernelLaunch> describeLaunch(KernelOp kernel, KernelSpec &spec, const KernelTraits &traits,
                                             Dims symbols, DimContext &outer);

/// What each size argument of a kernel is in the function around; null for what only running tells.
Dims argumentsOf(KernelSpec &spec, ShapeAnalysis &outer);

} // namespace sinter::schedule

#endif

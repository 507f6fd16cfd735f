// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels of a module: each distinct one is emitted once, into a module of its own. Two kernel ops are the same
// code when their regions, attributes and sizes (up to names of symbols) are equal.

#ifndef SINTER_BACKENDS_CPU_KERNELS_H
#define SINTER_BACKENDS_CPU_KERNELS_H

#include "backends/cpu/KernelSpec.h"
#include "backends/cpu/emit/Packing.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"

namespace sinter::cpu {

struct KernelCode {
  std::string name;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::unique_ptr<KernelSpec> spec; // of the first kernel op with this code
  EmittedKernel emitted;
  unsigned uses = 0; // kernel ops with this code
  double emitMs = 0;
  /// Small, of static sizes and one chunk: compiled as a part of the schedule, which LLVM inlines it into.
  bool isSmall = false;
  /// How schedules reach it: by its own arguments, or as a wrapper over words that `parallel` calls.
  unsigned directCalls = 0;
  bool calledInParallel = false;

  /// The symbol of direct calls.
  std::string bodyName() const { return name + "_body"; }
};

/// One kernel op, with sizes as expressions over the symbols of the function around.
struct KernelLaunch {
  unsigned code = 0;
  Dims symbols; // per size argument; null where nothing is known before the launch
  DimExpr chunks;
  DimExpr workspaceBytes; // or null
  Dims capacity;          // elements per result, only when sizes are written
  /// (result, axis) in the order in which the kernel writes sizes.
  llvm::SmallVector<std::pair<unsigned, int64_t>> writtenSizes;
  llvm::SmallVector<Packing> packed;
};

class KernelTable {
public:
  /// Names of kernels are PREFIX_k0_map, ...
  KernelTable(const KernelOptions &options, std::string prefix) : options(options), prefix(std::move(prefix)) {}

  /// Emits the kernel by its schedule, which it gets here if nobody chose one, unless the code is known. Fails with a
  /// diagnostic at the op that no emitter takes, or whose schedule does not fit.
  llvm::FailureOr<KernelLaunch> add(KernelOp kernel, ShapeAnalysis &sizes);

  const KernelOptions &kernelOptions() const { return options; }
  llvm::ArrayRef<KernelCode> codes() const { return all; }
  llvm::MutableArrayRef<KernelCode> codes() { return all; }

private:
  const KernelOptions &options;
  std::string prefix;
  std::vector<KernelCode> all;
  llvm::StringMap<llvm::SmallVector<unsigned, 1>> bySignature;
};

} // namespace sinter::cpu

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CPU as a back end: emitters say which kernels they take and write their loops, each into a module of its own.

#ifndef SINTER_BACKENDS_CPU_CPUBACKEND_H
#define SINTER_BACKENDS_CPU_CPUBACKEND_H

#include "backends/cpu/KernelSpec.h"
#include "backends/schedule/Backend.h"
#include "mlir/IR/OwningOpRef.h"

namespace sinter::cpu {

/// The loops of one kernel.
struct KernelCode {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Small, of static sizes and one chunk: compiled as a part of the schedule, which LLVM inlines it into.
  bool isSmall = false;
};

class CpuBackend final : public schedule::Backend {
public:
  /// `target` outlives the object. `optLevel` is that of KernelOptions.
  CpuBackend(const Target &target, int optLevel) : options{&target, optLevel} {}

  llvm::StringRef name() const override { return "cpu"; }
  bool holdsElements() const override { return options.optLevel > 0; }
  std::unique_ptr<schedule::KernelSpec> specify(KernelOp kernel, ShapeAnalysis *outer) override;
  std::string refusal(schedule::KernelSpec &spec) override;
  llvm::LogicalResult settle(schedule::KernelSpec &spec, Refused refused = nullptr) override;
  bool takesStrides(schedule::KernelSpec &spec) override;
  int64_t joinedBytes() override { return options.target->l2Bytes; }
  int64_t windowBytes() override { return options.optLevel > 0 ? options.target->l2Bytes / 3 : 0; }
  llvm::SmallVector<ScheduleAttr> neighbours(schedule::KernelSpec &spec) override;
  llvm::SmallVector<schedule::Packing> packing(schedule::KernelSpec &spec) override;
  schedule::KernelTraits describe(schedule::KernelSpec &spec, llvm::StringRef symbol) override;

  /// The loops of a kernel that was described.
  KernelCode &loopsOf(llvm::StringRef symbol) { return codes.find(symbol)->second; }
  /// Whether any kernel that was described uses tiles of matrix units.
  bool usesTiles() const { return anyTiles; }
  /// Describes the kernels in the text of a schedule; their loops take the place of the text, each in a module of its
  /// own that is named after the kernel. Fails with a diagnostic at a kernel of another back end, or that nothing
  /// takes.
  llvm::LogicalResult emitKernels(mlir::ModuleOp schedules);

private:
  KernelOptions options;
  llvm::StringMap<KernelCode> codes;
  int64_t numSmall = 0;
  bool anyTiles = false;
};

} // namespace sinter::cpu

#endif

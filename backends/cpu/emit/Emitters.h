// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The emitters by name, in the order in which they are asked.

#ifndef SINTER_BACKENDS_CPU_EMIT_EMITTERS_H
#define SINTER_BACKENDS_CPU_EMIT_EMITTERS_H

#include "backends/cpu/emit/Emitter.h"
#include "backends/cpu/emit/Packing.h"
#include "backends/cpu/emit/Plan.h"
#include <optional>

namespace sinter::cpu {

struct KernelEmitter {
  llvm::StringLiteral name;
  /// With `given`, a schedule that names this emitter, the plan is for its lanes and packing.
  Plan (*plan)(KernelSpec &spec, ScheduleAttr given);
  /// Writes the loops that the kernel's schedule asks for, which must be one that the plan allows.
  EmittedKernel (*emit)(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef name);
  /// The template of the kernels for which it is asked, when code is optimized; none: it is asked for every kernel.
  std::optional<KernelTemplate> kernels;
  /// Its code addresses inputs and results by the kernel's `strides`.
  bool takesStrides = false;
  /// How input `input` is packed, for emitters whose plans pack.
  Packing (*pack)(KernelSpec &spec, unsigned input) = nullptr;
};

/// Null for no emitter of that name.
const KernelEmitter *findEmitter(llvm::StringRef name);
/// Those that are asked for a kernel, by its template and the optimization level; the general one comes last.
llvm::SmallVector<const KernelEmitter *> emittersFor(KernelSpec &spec);

/// Gives a kernel without a schedule that of the first emitter that takes it; checks one that it has. `refused` sees
/// the emitters before that one and their reasons. Fails with a diagnostic at the op that no emitter takes, or whose
/// schedule does not fit.
llvm::LogicalResult
settleSchedule(KernelSpec &spec,
               llvm::function_ref<void(llvm::StringRef emitter, llvm::StringRef why)> refused = nullptr);

/// Emits by the kernel's schedule, which is settled.
EmittedKernel emitKernel(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef name);

/// The inputs that the kernel's schedule packs.
llvm::SmallVector<Packing> packingOf(KernelSpec &spec);

} // namespace sinter::cpu

#endif

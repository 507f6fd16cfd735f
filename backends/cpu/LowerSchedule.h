// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Schedules (backends/schedule/Schedule.td) -> entry functions of the LLVM dialect, `i32 NAME(ctx, inputs, outputs,
// symbols, weights)` (runtime/abi.h). Kernels are declared: NAME, a wrapper over words that `parallel` calls, or
// NAME_body, which `inline` launches call by its own arguments.

#ifndef SINTER_BACKENDS_CPU_LOWERSCHEDULE_H
#define SINTER_BACKENDS_CPU_LOWERSCHEDULE_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace sinter::cpu {

/// Replaces every schedule.function of `module`; what else its regions hold (arith, math) stays as it is. With
/// `smallOnStack`, buffers of few known bytes lie on the stack and need no place in the arena. Where `names` has texts
/// for kernels, their calls are counted under these.
void lowerSchedules(mlir::ModuleOp module, bool smallOnStack, const llvm::StringMap<std::string> *names = nullptr);

} // namespace sinter::cpu

#endif

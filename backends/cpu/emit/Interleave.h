// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops whose bodies are parts that do not depend on each other, such as some vectors of results with long functions.
//
// A function of a vector is a chain in which each instruction waits for the one before it, some 90 cycles long; a core
// looks ahead over as many instructions as two or three such chains have. Where the parts' instructions alternate, it
// works on all of them at once.

#ifndef SINTER_BACKENDS_CPU_EMIT_INTERLEAVE_H
#define SINTER_BACKENDS_CPU_EMIT_INTERLEAVE_H

#include "backends/cpu/emit/Emitter.h"

namespace sinter::cpu {

/// Vectors of a tile whose functions a loop computes side by side: more of them would leave no registers for constants.
constexpr int64_t kPartsTogether = 2;

/// `for (i = low; i < high; i += step)` with `count` of its steps as parts of one, and the steps that are left one by
/// one. `body` writes the parts of one step, `partsOfStep` of them. Every part ends with as many stores as the others,
/// and none reads what another one writes.
void loopOfParts(KernelFunction &fn, mlir::Value low, mlir::Value high, int64_t step, int64_t count,
                 int64_t partsOfStep, llvm::function_ref<void(mlir::Value)> body);

/// Lets the ops of all such loops' parts alternate: before that the parts follow one another. Called when functions
/// are arithmetic, and before loops become branches.
void interleaveParts(mlir::ModuleOp module);

} // namespace sinter::cpu

#endif

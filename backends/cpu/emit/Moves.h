// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels that only move axes of one input: what the emitters of transposes ask of them.

#ifndef SINTER_BACKENDS_CPU_EMIT_MOVES_H
#define SINTER_BACKENDS_CPU_EMIT_MOVES_H

#include "backends/cpu/emit/Emitter.h"
#include <optional>

namespace sinter::cpu {

/// What the kernel moves: the input, and for each of its axes the result's axis that it became and whether it is read
/// from its end.
struct Moves {
  mlir::BlockArgument operand;
  llvm::SmallVector<int64_t> axes;
  llvm::SmallVector<bool> reversed;
  int64_t padding = 0; // zeros after each row of the result
};

/// Nothing where the kernel does more.
std::optional<Moves> findMoves(KernelSpec &spec);

} // namespace sinter::cpu

#endif

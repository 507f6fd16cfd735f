// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles along an axis whose size only running tells: whole ones, and for what is left the least tile that holds it,
// which reaches back over the one before it. Where the axis is shorter than a tile, several small ones.

#ifndef SINTER_BACKENDS_CPU_EMIT_OPENTILES_H
#define SINTER_BACKENDS_CPU_EMIT_OPENTILES_H

#include "backends/cpu/emit/Emitter.h"

namespace sinter::cpu {

/// Tiles of an axis of `size` places that cover [begin, end), where `begin` is a multiple of `wide` and `end` too, or
/// `size`. `body(length, at, number)` has a tile of `length` places from `at` on, and its number among these; there is
/// one more than whole tiles would be at most. A place has `vectors` sums.
void forOpenTiles(KernelFunction &fn, int64_t wide, int64_t vectors, mlir::Value size, mlir::Value begin,
                  mlir::Value end, llvm::function_ref<void(int64_t length, mlir::Value at, mlir::Value number)> body);

} // namespace sinter::cpu

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles along an axis that they need not divide.
//
// Of a known size, the last ones may be one place lower, so that none computes what another does: 28 places in tiles of
// six are three of six and two of five. Else the last one reaches back over the one before it. Where only running tells
// the size, whole tiles are followed by the least one that holds what is left, which reaches back, too; an axis that is
// shorter than a tile has several small ones.

#ifndef SINTER_BACKENDS_CPU_EMIT_OPENTILES_H
#define SINTER_BACKENDS_CPU_EMIT_OPENTILES_H

#include "backends/cpu/emit/Emitter.h"

namespace sinter::cpu {

/// Tiles of `high` places and `vectors` sums each, of which the last `lower` have one place less and cover `size`
/// places exactly; 0 where all are of one height, as the last one reaches back over few places, or lower ones would
/// have too few sums to hide their latency.
int64_t lowerTiles(int64_t size, int64_t high, int64_t vectors);
/// The same for blocks of `length` places, whole tiles, of which the last has to hold all lower ones.
int64_t lowerTilesOfBlocks(int64_t size, int64_t high, int64_t vectors, int64_t length);

/// Where the first of `lower` lower tiles begins.
inline int64_t beginOfLower(int64_t size, int64_t high, int64_t lower) { return size - lower * (high - 1); }

/// Tiles of an axis of `size` places that cover [begin, end), where `begin` is a multiple of `high` and `end` too, or
/// `size`; `lower` ones all lie in one such range. `body(length, at)` has a tile of `length` places from `at` on.
void forKnownTiles(KernelFunction &fn, int64_t high, int64_t lower, int64_t size, mlir::Value begin, mlir::Value end,
                   llvm::function_ref<void(int64_t length, mlir::Value at)> body);

/// The same where `size` is known at run time only. `body(length, at, number)` has a tile's number among these, too;
/// there is one more than whole tiles would be at most. A place has `vectors` sums.
void forOpenTiles(KernelFunction &fn, int64_t wide, int64_t vectors, mlir::Value size, mlir::Value begin,
                  mlir::Value end, llvm::function_ref<void(int64_t length, mlir::Value at, mlir::Value number)> body);

} // namespace sinter::cpu

#endif

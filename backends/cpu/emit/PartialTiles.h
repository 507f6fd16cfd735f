// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums of products whose k is walked in blocks outside of tiles: what the blocks before added to a tile's accumulators
// waits in the workspace. A tile has a place of its own there, so that one that overlaps the tile before it adds
// nothing twice.

#ifndef SINTER_BACKENDS_CPU_EMIT_PARTIALTILES_H
#define SINTER_BACKENDS_CPU_EMIT_PARTIALTILES_H

#include "backends/cpu/emit/MicroKernel.h"

namespace sinter::cpu {

class PartialTiles {
public:
  /// Tiles of accumulators like `vectorType`, at the begin of the workspace.
  PartialTiles(KernelFunction &fn, const RegisterTile &tile, mlir::VectorType vectorType);

  /// Elements of a place.
  int64_t elements() const { return tileElements; }

  /// The block of k at hand, of `count`.
  void enter(mlir::Value block, int64_t count);

  /// Adds what blocks before this one left in the place of tile `tile`.
  llvm::SmallVector<mlir::Value> add(mlir::ValueRange sums, mlir::Value tile);

  /// Calls `finish` in the last block; leaves the sums for the next one in all others.
  void finishOrKeep(mlir::ValueRange sums, mlir::Value tile, llvm::function_ref<void()> finish);

private:
  mlir::Value at(mlir::Value tile, size_t accumulator);

  KernelFunction &fn;
  mlir::ImplicitLocOpBuilder &b;
  mlir::VectorType vectorType;
  int64_t tileElements;
  mlir::Value memory, hasBefore, isLast; // hasBefore: index, 0 or 1
};

} // namespace sinter::cpu

#endif

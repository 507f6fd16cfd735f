// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the threads of a block multiply two slabs in shared memory, and which results each of them sums.
//
// Threads (f32, f64, integers). A warp is 4 x 8 threads; thread (y, x) sums rows and columns in runs of a chunk where
// these lie side by side in shared memory (free inner), else every so-manieth one:
//
//     rows y*4 .. y*4+3, and so on every 4 * threads of a column; or y, y + threads of a column, ...
//
// Warps (mma.sync m16n8k16 of f16 and bf16, m16n8k32 of bytes). Lane l of a warp holds, of each 16 x 8 tile of results,
// columns 2 (l % 4) and the next of rows l / 4 and l / 4 + 8. 8-bit floats come as bytes do, four k in a register: the
// first and the third become a pair of f16, the second and the fourth another, and m16n8k16 multiplies either pairs (in
// which order k are summed is open, as long as both operands have the same). f32 is rounded to tf32 (m16n8k8) as it
// comes from shared memory, to nearest with ties away from zero.

#ifndef SINTER_BACKENDS_CUDA_TILECORE_H
#define SINTER_BACKENDS_CUDA_TILECORE_H

#include "backends/cuda/TileMemory.h"

namespace sinter::cuda {

/// How the instruction for 8-bit floats begins (PTX 8.4, sm_89 on).
inline constexpr llvm::StringLiteral kFloat8Mma = "mma.sync.aligned.m16n8k32.row.col.f32.";

class TileCore {
public:
  virtual ~TileCore();

  /// Results side by side in a row of the tile.
  struct Run {
    mlir::Value row, column; // within the tile
    llvm::SmallVector<unsigned, 4> sums;
  };
  /// All that this thread sums.
  virtual llvm::SmallVector<Run> runs() = 0;
  virtual int64_t numSums() const = 0;
  virtual llvm::SmallVector<mlir::Value> multiply(mlir::Value slabA, mlir::Value slabB, mlir::ValueRange sums) = 0;

  /// What all that `multiply` gave is times, in the end: 8-bit floats are multiplied as f16 of another exponent.
  virtual double factor() const { return 1; }

  /// The same with an operand a that threads hold: what a core of the same threads and rows sums, whose columns are
  /// this one's k. Free positions of b lie side by side, and rows are those of one warp.
  virtual llvm::SmallVector<mlir::Value> multiplyHeld(mlir::ValueRange held, mlir::Value slabB,
                                                      mlir::ValueRange sums) = 0;
  /// Of how many rows this thread sums elements; `runs` has those of one row together, as many of each.
  virtual int64_t numRows() const = 0;
  /// How many threads of a warp share a row.
  virtual int64_t threadsOfRow() const = 0;
  /// `value` of this thread joined with theirs.
  mlir::Value joinRow(mlir::Value value, llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> join);

  static std::unique_ptr<TileCore> of(Core core, TileBuilder &t, const ProductTile &tile, const ProductTypes &types,
                                      const SlabLayout &a, const SlabLayout &b, mlir::Value thread);

protected:
  explicit TileCore(TileBuilder &t) : t(t) {}
  TileBuilder &t;
};

} // namespace sinter::cuda

#endif

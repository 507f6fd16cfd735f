// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tiles of a product's result, in the order in which they are computed, and what becomes of sums in registers: what
// follows the product in the kernel's region, and stores.

#ifndef SINTER_BACKENDS_CUDA_PRODUCTRESULT_H
#define SINTER_BACKENDS_CUDA_PRODUCTRESULT_H

#include "backends/cuda/TileCore.h"

namespace sinter::cuda {

class ProductResult {
public:
  ProductResult(KernelSpec &spec, const MatrixProduct &product, const ProductTypes &types, const ProductTile &tile);

  /// A tile: its part of k, its batch (flat, and by axes), its number among those of a row and a column of tiles, the
  /// rank of its block.
  struct Place {
    mlir::Value part, flatBatch, row, column;
    llvm::SmallVector<mlir::Value> batch;
    mlir::Value rank = nullptr; // where blocks share slabs
  };
  /// Tiles in groups of rows, down in each group first, so that what they read of b is still in the cache. Where blocks
  /// of a cluster share slabs of b, theirs are one above the other and have one number; `rank` says whose it is. The
  /// last one may lie behind all rows.
  Place place(TileBuilder &t, mlir::Value number, mlir::Value rank = nullptr);
  /// How many numbers there are, of all parts.
  DimExpr count() const { return tiles; }
  /// Elements of the result.
  DimExpr elements() const { return results; }

  /// Once, before anything is stored: which results take vectors.
  void prepare(TileBuilder &t);
  /// Stores a thread's sums; with several parts of k those of `part` into the workspace.
  void storeRuns(TileBuilder &t, llvm::ArrayRef<TileCore::Run> runs, mlir::ValueRange sums, const SlabPlace &forA,
                 const SlabPlace &forB, mlir::Value part);
  /// Calls `take` with what follows the product of each run and the place of its first element among the run's, where
  /// it is in the result; of kernels with one result.
  void takeRuns(TileBuilder &t, llvm::ArrayRef<TileCore::Run> runs, mlir::ValueRange sums, const SlabPlace &forA,
                const SlabPlace &forB,
                llvm::function_ref<void(const TileCore::Run &run, size_t first, mlir::Value value)> take);
  /// What follows the product, on one run of its results.
  void finishRun(TileBuilder &t, llvm::ArrayRef<mlir::Value> batch, mlir::Value row, mlir::Value column,
                 mlir::Value sums, int64_t lanes);

private:
  mlir::Value startOfPart(TileBuilder &t, mlir::Value part, llvm::ArrayRef<mlir::Value> batch);
  bool divides(DimExpr size, int64_t by);
  /// A run, or one element of it where these do not lie side by side in the result.
  struct Piece {
    const TileCore::Run &run;
    size_t first;
    int64_t lanes;
    mlir::Value row, column, sums;
  };
  void forPieces(TileBuilder &t, llvm::ArrayRef<TileCore::Run> runs, mlir::ValueRange sums, const SlabPlace &forA,
                 const SlabPlace &forB, llvm::function_ref<void(const Piece &)> body);
  struct Finished {
    llvm::SmallVector<mlir::Value> values; // by result
    llvm::SmallVector<LaneIndex> index;
  };
  Finished finished(TileBuilder &t, cpu::KernelElements &elements, llvm::ArrayRef<mlir::Value> batch, mlir::Value row,
                    mlir::Value column, mlir::Value sums, int64_t lanes);

  KernelSpec &spec;
  DimContext &dims;
  const MatrixProduct &product;
  const ProductTypes &types;
  ProductTile tile;
  DimExpr tilesDown, tilesAcross, tiles, results;
  llvm::SmallVector<mlir::Value> isAligned; // by result
};

} // namespace sinter::cuda

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results of products by wgmma, stored by tensor maps. A warp writes 16 rows of 128 bytes to shared memory, and one
// thread of it has that box stored while the warp writes the next:
//
//     dynamic shared memory     │ slabs, mbarriers │ warp 0: box, box │ warp 1: box, box │ ...   swizzled
//
// A pair of results is one store to shared memory. By threads it would be one to global memory with a branch around it
// (is the result aligned), which fills half of the 32 bytes that memory takes at once, or a quarter of bytes. What is
// past the last row or column the copy leaves out.

#ifndef SINTER_BACKENDS_CUDA_RESULTBOXES_H
#define SINTER_BACKENDS_CUDA_RESULTBOXES_H

#include "backends/cuda/ProductResult.h"
#include "backends/cuda/TensorMaps.h"

namespace sinter::cuda {

class ResultBoxes {
public:
  /// Of kernels whose one result lies in rows that are multiples of 16 bytes apart, where tiles are as wide as a box
  /// and leave shared memory for it; nothing for others. `firstSize` as for `mapOf`.
  static std::optional<ResultBoxes> of(KernelSpec &spec, const MatrixProduct &product, const ProductTypes &types,
                                       const ProductTile &tile, unsigned firstSize);

  /// Of the block, with what slabs take.
  int64_t sharedBytes() const;
  /// What the runtime makes the map of, for which the kernel has a parameter.
  MapLine map;

  /// Stores a tile of a warpgroup. `runs` are those of the thread: of its first row all columns, then of its second.
  void store(TileBuilder &t, ProductResult &result, mlir::Value address, mlir::Value memory, mlir::Value warpgroup,
             llvm::ArrayRef<TileCore::Run> runs, mlir::ValueRange sums, const ProductResult::Place &at,
             const SlabPlace &forA, const SlabPlace &forB);
  /// Before the kernel ends.
  static void finish(TileBuilder &t);

private:
  explicit ResultBoxes(const ProductTile &tile) : tile(tile) {}
  /// Boxes of a warp in shared memory.
  int64_t atOnce() const;

  ProductTile tile;
  int64_t width = 1, columns = 0; // bytes of an element; columns of a box
  int64_t perTile = 0;            // boxes that a warp fills
  int64_t begin = 0;              // of boxes in shared memory
};

} // namespace sinter::cuda

#endif

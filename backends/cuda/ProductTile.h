// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a product is cut into tiles. In a schedule `lanes` are the threads of a block and `tile` the seven numbers:
//
//     #sinter.schedule<product, lanes = 256, tile = [128, 128, 16, 8, 8, 2, 1]>
//                                   a block's rows, columns, slab of k; a thread's (product) or a warp's (mma_product)
//                                   rows and columns; slabs in shared memory at once; parts of k
//
// Of `wgmma_product` the rows and columns of a thread are those of a warpgroup, beside which one more brings the slabs.
// `cluster_product` has the same of each block; two of them, one above the other, share the slabs of b.

#ifndef SINTER_BACKENDS_CUDA_PRODUCTTILE_H
#define SINTER_BACKENDS_CUDA_PRODUCTTILE_H

#include "backends/cuda/Gpus.h"
#include "backends/cuda/MatrixProduct.h"

namespace sinter::cuda {

/// Who multiplies: threads, element by element; warps by mma.sync; warps f32 that are rounded to tf32; warpgroups (four
/// warps) by wgmma.
enum class Core { Threads, Warps, WarpsTf32, Warpgroups };
inline bool isOfWarps(Core core) { return core != Core::Threads; }

/// The form whose blocks share slabs of b, and how many do.
inline constexpr llvm::StringLiteral kClusterProduct = "cluster_product";
inline constexpr int64_t kSharingBlocks = 2;

struct ProductTile {
  int64_t rows = 0, columns = 0, slab = 0;
  int64_t innerRows = 0, innerColumns = 0; // of a thread or a warp
  int64_t stages = 2, parts = 1;
  int64_t blocks = 1; // of a cluster, one above the other, which share slabs of b

  int64_t threads(Core core) const {
    int64_t cores = rows / innerRows * (columns / innerColumns);
    return core == Core::Warpgroups ? 128 * (1 + cores) : cores * (isOfWarps(core) ? 32 : 1);
  }
  static ProductTile of(ScheduleAttr schedule);
  ScheduleAttr schedule(mlir::MLIRContext *context, llvm::StringRef name, Core core) const;
};

/// Threads of a multiprocessor that hide each other's waiting: each may have all the registers that it can name.
inline constexpr int64_t kThreadsAtOnce = 256;

/// Shared memory of a block, without asking the driver for more.
inline constexpr int64_t kMostSharedBytes = 48 << 10;

/// The types that a block multiplies and sums.
struct ProductTypes {
  mlir::Type a, b; // as shared memory holds them, signless
  mlir::Type sum;
  bool aUnsigned = false, bUnsigned = false;
  mlir::Type formatA, formatB; // of bytes that hold 8-bit floats; else null
  bool isFloat8 = false;       // warps multiply these as they are, not as f16

  /// Nothing with the reason in `refusal`.
  static std::optional<ProductTypes> of(const MatrixProduct &product, Core core, std::string &refusal);
  int64_t width() const { return static_cast<int64_t>(a.getIntOrFloatBitWidth() / 8); }
};

/// Bytes of shared memory of all stages.
int64_t sharedBytes(const ProductTile &tile, const ProductTypes &types, const MatrixProduct &product, Core core);

/// Why no code can be written by the tile; empty where it can.
std::string unfit(const ProductTile &tile, const ProductTypes &types, const MatrixProduct &product, Core core);

struct RankedTile {
  ProductTile tile;
  double ns; // by the cost model
};
/// The tiles that the cost model knows for these sizes on a GPU, with that many parts of k (0: as many as may be worth
/// it) and of blocks that share slabs, the one that it prefers first.
std::vector<RankedTile> rankTiles(KernelSpec &spec, const MatrixProduct &product, const ProductTypes &types, Core core,
                                  const Gpu &gpu, int64_t parts = 0, int64_t blocks = 1);
/// The first of these; its time in `ns`.
ProductTile chooseTile(KernelSpec &spec, const MatrixProduct &product, const ProductTypes &types, Core core,
                       const Gpu &gpu, double *ns = nullptr, int64_t parts = 0, int64_t blocks = 1);
/// Of a form of products.
int64_t sharingBlocksOf(llvm::StringRef form);

} // namespace sinter::cuda

#endif

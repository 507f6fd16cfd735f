// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cuda/ProductTile.h"
#include "backends/cpu/emit/General.h"
#include "backends/cuda/TileMemory.h"
#include "ir/Shapes.h"
#include <cmath>

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

constexpr int64_t kMostParts = 64;
/// What a thread takes to find 16 bytes of pixels and to ask for their copy, or to make as many of 8-bit floats, some
/// 30 instructions of the four warps of a multiprocessor that do so at once.
constexpr double kNsOfChunk = 20;
/// What blocks of a cluster take to begin and to end together; an estimate, as it was not timed.
constexpr double kMeetingNs = 1400;
/// Sizes that only running tells are taken for this.
constexpr int64_t kUsualSize = 1024;

//===- Types ------------------------------------------------------------------------------------===//

std::optional<ProductTypes> ProductTypes::of(const MatrixProduct &product, Core core, std::string &refusal) {
  ProductTypes types;
  Type a = signless(product.a->type), b = signless(product.b->type), result = signless(product.resultType);
  types.aUnsigned = isUnsigned(product.a->type);
  types.bUnsigned = isUnsigned(product.b->type);
  if (types.formatA = product.formatA, types.formatB = product.formatB; types.formatA) {
    types.a = types.b = a;
    types.sum = Float32Type::get(a.getContext());
    types.isFloat8 = product.hasFloat8 && product.mayRoundSums;
    if (core == Core::Warps || (core == Core::Warpgroups && product.mayRoundSums))
      return types;
    refusal = core == Core::Warpgroups ? "its sums of 8-bit floats are f32, and nobody allows to round them"
                                       : "mma_product multiplies 8-bit floats";
    return std::nullopt;
  }
  if (core == Core::WarpsTf32) {
    types.a = types.b = types.sum = a;
    if (a.isF32() && b.isF32() && result.isF32())
      return types;
    refusal = "only f32 is rounded to tf32";
    return std::nullopt;
  }
  if (core == Core::Warps || core == Core::Warpgroups) {
    types.a = a;
    types.b = b;
    bool isHalf = a == b && (a.isF16() || a.isBF16()) && (result == a || result.isF32());
    bool isBytes = a.isInteger(8) && b.isInteger(8) && result.isInteger(32);
    types.sum = isHalf ? Type(Float32Type::get(a.getContext())) : Type(IntegerType::get(a.getContext(), 32));
    if (isHalf || isBytes)
      return types;
    refusal = core == Core::Warps ? "no mma.sync multiplies its types" : "it multiplies f16, bf16 and bytes alone";
    return std::nullopt;
  }
  types.sum = cpu::accumulatorType(product.resultType);
  if (types.sum.isInteger() && types.sum.getIntOrFloatBitWidth() < 32) // modulo 2^n all the same
    types.sum = IntegerType::get(a.getContext(), 32);
  types.a = types.b = types.sum;
  return types;
}

//===- Tiles ------------------------------------------------------------------------------------===//

int64_t cuda::sharingBlocksOf(StringRef form) { return form == kClusterProduct ? kSharingBlocks : 1; }

ProductTile ProductTile::of(ScheduleAttr schedule) {
  ArrayRef<int64_t> tile = schedule.getTile();
  assert(tile.size() == 7 && "a product's schedule was checked");
  return {tile[0], tile[1], tile[2], tile[3], tile[4], tile[5], tile[6], sharingBlocksOf(schedule.getEmitter())};
}

ScheduleAttr ProductTile::schedule(MLIRContext *context, StringRef name, Core core) const {
  int64_t tile[] = {rows, columns, slab, innerRows, innerColumns, stages, parts};
  return ScheduleAttr::get(context, name, threads(core), tile, 0, {}, {});
}

int64_t cuda::sharedBytes(const ProductTile &tile, const ProductTypes &types, const MatrixProduct &product, Core core) {
  if (core == Core::Warpgroups) // with two mbarriers of each slab
    return tile.stages * ((tile.rows + tile.columns) * tile.slab * types.width() + 16);
  return tile.stages * (SlabLayout::of(tile, types, *product.a, true, core).bytes() +
                        SlabLayout::of(tile, types, *product.b, false, core).bytes());
}

static std::string unfitOfParts(const ProductTile &tile) {
  return tile.parts < 1 || tile.parts > kMostParts ? "k has 1 to " + std::to_string(kMostParts) + " parts" : "";
}

/// Of `cluster_product` alone.
static std::string unfitOfSharing(const ProductTile &tile, const MatrixProduct &product) {
  for (const ProductSide *side : {product.a.get(), product.b.get()})
    if (side->isGathered() || side->encoding)
      return "blocks share what tensor maps bring, and threads find or make an operand";
  if (!product.b->kInner && tile.columns / tile.blocks < 64)
    return "columns that lie side by side come 64 at once, and a block brings half of them";
  return "";
}

/// Of `wgmma_product` and `cluster_product`.
static std::string unfitOfWarpgroups(const ProductTile &tile, const ProductTypes &types, const MatrixProduct &product) {
  if (tile.rows != 64 && tile.rows != 128)
    return "its tile has 64 or 128 rows";
  if (tile.columns != 32 && tile.columns != 64 && tile.columns != 128 && tile.columns != 256)
    return "its tile has 32, 64, 128 or 256 columns";
  if (tile.columns == 32 && !product.b->kInner)
    return "columns that lie side by side come 64 at once";
  if (types.width() == 1 && !(product.a->kInner && product.b->kInner))
    return "it multiplies bytes whose k lies inside";
  if (types.formatA && tile.columns > 128)
    return "sums of a slab of 8-bit floats have registers of their own: 128 columns at most";
  if ((product.a->encoding || product.b->encoding) && tile.columns > 128)
    return "bytes that become numbers of 16 bits take registers: 128 columns at most";
  if (int64_t slab = 128 / types.width(); tile.slab != slab)
    return "its slab is " + std::to_string(slab) + ", which are 128 bytes";
  if (tile.innerRows != 64 || tile.innerColumns != tile.columns)
    return "a warpgroup takes 64 rows of all columns";
  if (std::string reason = tile.blocks > 1 ? unfitOfSharing(tile, product) : ""; !reason.empty())
    return reason;
  if (tile.stages < 2 || tile.stages > 16)
    return "2 to 16 slabs are held at once";
  if (std::string reason = unfitOfParts(tile); !reason.empty())
    return reason;
  int64_t most = gpuOf("sm_90").sharedOfBlock;
  if (sharedBytes(tile, types, product, Core::Warpgroups) > most)
    return "its slabs do not fit into " + std::to_string(most >> 10) + " KiB";
  return "";
}

std::string cuda::unfit(const ProductTile &tile, const ProductTypes &types, const MatrixProduct &product, Core core) {
  if (core == Core::Warpgroups)
    return unfitOfWarpgroups(tile, types, product);
  for (int64_t size : {tile.rows, tile.columns, tile.slab})
    if (size < 8 || !llvm::isPowerOf2_64(static_cast<uint64_t>(size)))
      return "its tile requires powers of two from 8 on";
  if (tile.innerRows < 1 || tile.innerColumns < 1 || tile.rows % tile.innerRows || tile.columns % tile.innerColumns)
    return "what a thread or warp takes has to divide the tile";
  if (tile.stages < 2 || tile.stages > 4)
    return "2 to 4 slabs are held at once";
  if (std::string reason = unfitOfParts(tile); !reason.empty())
    return reason;
  int64_t perChunk = kChunkBytes / types.width();
  if (isOfWarps(core)) {
    if (tile.innerRows % 16 || tile.innerColumns % 16 || tile.slab % (2 * perChunk))
      return "a warp takes multiples of 16 rows and columns, and two chunks of k";
  } else if (tile.rows / tile.innerRows % 4 || tile.columns / tile.innerColumns % 8 || tile.innerRows % perChunk ||
             tile.innerColumns % perChunk || tile.slab % perChunk) {
    return "a warp has 4 x 8 threads, each with whole chunks of rows, columns and k";
  }
  int64_t sums = tile.innerRows * tile.innerColumns / (isOfWarps(core) ? 32 : 1);
  if (sums * static_cast<int64_t>(types.sum.getIntOrFloatBitWidth()) > 64 * 32)
    return "a thread has 64 words of sums at most";
  if (tile.threads(core) > 512)
    return "a block has 512 threads at most";
  if (sharedBytes(tile, types, product, core) > kMostSharedBytes)
    return "its slabs do not fit into 48 KiB";
  return "";
}

//===- The cost model ---------------------------------------------------------------------------===//

namespace {
struct Sizes {
  int64_t batches, rows, columns, k;
  bool areKnown;
};
} // namespace

static Sizes sizesOf(cuda::KernelSpec &spec, const MatrixProduct &product) {
  Sizes sizes{1, 1, 1, 1, true};
  auto known = [&](DimExpr expr, int64_t otherwise) {
    expr = spec.dims.resolve(expr);
    sizes.areKnown &= expr.isConstant();
    return expr.isConstant() ? std::max<int64_t>(expr.constant(), 1) : otherwise;
  };
  sizes.batches = known(product.batchCount, 1);
  sizes.rows = known(product.rowCount, kUsualSize);
  sizes.columns = known(product.columnCount, kUsualSize);
  sizes.k = known(product.k, kUsualSize);
  return sizes;
}

static int64_t blocksOf(const ProductTile &tile, const Sizes &sizes) {
  const int64_t down = llvm::divideCeil(sizes.rows, tile.rows * tile.blocks) * tile.blocks; // the last may be empty
  return sizes.batches * down * llvm::divideCeil(sizes.columns, tile.columns);
}

/// Nanoseconds, roughly: waves of blocks, each bound by its multiply-adds or by what it reads.
static double costOf(const ProductTile &tile, const Sizes &sizes, const ProductTypes &types,
                     const MatrixProduct &product, Core core, const Gpu &gpu) {
  auto tiles = [](int64_t size, int64_t of) { return static_cast<double>((size + of - 1) / of); };
  auto blocks = static_cast<double>(blocksOf(tile, sizes) * tile.parts);
  double slabs = std::ceil(tiles(sizes.k, tile.slab) / static_cast<double>(tile.parts)), slab = double(tile.slab);
  double ofWarps = core == Core::Warpgroups           ? gpu.macsWgmma * 2 / double(types.width())
                   : core == Core::WarpsTf32          ? gpu.macs16 / 2
                   : types.formatA && !types.isFloat8 ? gpu.macs16 / 2 // numbers are made of bytes in registers
                   : types.width() == 1               ? gpu.macs8
                                                      : gpu.macs16;
  double macs = isOfWarps(core) ? ofWarps : types.width() == 8 ? gpu.macs64 : gpu.macs32;
  // A multiprocessor that has few threads waits for memory; sums in registers are what an element is used for.
  double threads = static_cast<double>(tile.threads(core));
  double waiting =
      core == Core::Warpgroups
          ? 1
          : 1 + 24 / (static_cast<double>(tile.innerRows * tile.innerColumns) / (isOfWarps(core) ? 32 : 1));
  double multiplying = double(tile.rows * tile.columns) * slab / macs * waiting;
  auto bytesOf = [&](const ProductSide &side) { return side.encoding ? side.memoryBytes() : types.width(); };
  double reading = double(tile.rows * bytesOf(*product.a) + tile.columns / tile.blocks * bytesOf(*product.b)) * slab /
                   (gpu.cacheRate * gpu.bandwidth / double(gpu.multiprocessors)); // most of it is in the second cache
  // Beside warpgroups that multiply, one finds pixels chunk by chunk; who multiplies by mma.sync does both.
  int64_t byThreads =
      (product.a->isGathered() || product.a->encoding ? tile.rows : 0) + (product.b->encoding ? tile.columns : 0);
  double gathering = byThreads && core == Core::Warpgroups
                         ? double(byThreads) * slab * double(types.width()) / (kChunkBytes * 128) * kNsOfChunk
                         : 0;
  // Blocks of few threads share a multiprocessor, which multiplies and reads no faster for that.
  double atOnce = std::max(1.0, kThreadsAtOnce / threads), places = double(gpu.multiprocessors) * atOnce;
  double waves = std::ceil(blocks / places);
  double sharing = std::min(atOnce, std::ceil(blocks / double(gpu.multiprocessors)));
  double each = slabs * std::max({multiplying, reading, gathering, 40 * threads / 256}) * sharing + 600;
  double cost = waves * each + (tile.blocks > 1 ? kMeetingNs : 0);
  if (tile.parts > 1)
    cost += gpu.launchNs + 2 * static_cast<double>(sizes.batches * sizes.rows * sizes.columns * tile.parts) *
                               static_cast<double>(types.sum.getIntOrFloatBitWidth() / 8) / gpu.bandwidth;
  return cost;
}

std::vector<RankedTile> cuda::rankTiles(cuda::KernelSpec &spec, const MatrixProduct &product, const ProductTypes &types,
                                        Core core, const Gpu &gpu, int64_t parts, int64_t blocks) {
  static const ProductTile ofThreads[] = {{128, 128, 16, 8, 8}, {64, 128, 16, 8, 8}, {64, 64, 16, 4, 4},
                                          {32, 64, 16, 4, 4},   {32, 32, 32, 4, 4},  {16, 64, 32, 4, 4}};
  static const ProductTile ofWarps[] = {{128, 128, 32, 64, 32, 3}, {128, 64, 32, 32, 32, 3}, {64, 64, 32, 32, 32, 3},
                                        {64, 32, 32, 16, 32, 3},   {32, 32, 64, 16, 16, 3},  {16, 64, 64, 16, 16, 3}};
  static const ProductTile ofWarpgroups[] = {{128, 256, 64, 64, 256, 4}, {128, 128, 64, 64, 128, 6},
                                             {128, 64, 64, 64, 64, 8},   {64, 256, 64, 64, 256, 5},
                                             {64, 128, 64, 64, 128, 8},  {64, 64, 64, 64, 64, 12}};
  Sizes sizes = sizesOf(spec, product);
  std::vector<RankedTile> ranked;
  for (ProductTile tile : core == Core::Warpgroups ? ArrayRef(ofWarpgroups)
                          : isOfWarps(core)        ? ArrayRef(ofWarps)
                                                   : ArrayRef(ofThreads)) {
    tile.blocks = blocks;
    if (isOfWarps(core)) // as many bytes as of 16-bit elements
      tile.slab = tile.slab * 2 / types.width();
    if (core == Core::Threads && types.width() == 8)
      tile.innerRows = tile.innerColumns = 4;
    int64_t slabs = llvm::divideCeil(sizes.k, tile.slab);
    for (tile.parts = parts ? parts : 1; tile.parts <= (parts ? parts : kMostParts); tile.parts *= 2) {
      if (!parts && tile.parts > 1 &&
          (!sizes.areKnown || slabs < 4 * tile.parts || blocksOf(tile, sizes) >= gpu.multiprocessors))
        break;
      if (!unfit(tile, types, product, core).empty())
        continue;
      RankedTile next{tile, costOf(tile, sizes, types, product, core, gpu)};
      auto isBefore = [](const RankedTile &x, const RankedTile &y) { return x.ns < y.ns; };
      ranked.insert(std::upper_bound(ranked.begin(), ranked.end(), next, isBefore), next);
    }
  }
  return ranked;
}

ProductTile cuda::chooseTile(cuda::KernelSpec &spec, const MatrixProduct &product, const ProductTypes &types, Core core,
                             const Gpu &gpu, double *ns, int64_t parts, int64_t blocks) {
  std::vector<RankedTile> ranked = rankTiles(spec, product, types, core, gpu, parts, blocks);
  assert(!ranked.empty() && "some tile fits any product");
  if (ns)
    *ns = ranked.front().ns;
  return ranked.front().tile;
}

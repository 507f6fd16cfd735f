// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cuda/ResultBoxes.h"
#include "backends/cuda/WgmmaInstructions.h"
#include "ir/Contraction.h"
#include "ir/Shapes.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

/// Rows of a warp; boxes that it fills in turn.
constexpr int64_t kBoxRows = 16, kMostBoxes = 2, kBoxBytes = kBoxRows * kSwizzleBytes;
constexpr int64_t kWarps = 4; // of a warpgroup

/// As bytes, whatever the elements are.
static ProductSide::Panel panelOf(cuda::KernelSpec &spec, const MatrixProduct &product, int64_t rowBytes) {
  DimContext &dims = spec.dims;
  DimExpr row = dims.constant(rowBytes), stride = row, ofBatch = dims.mul(row, product.rowCount);
  if (isa<ConvolutionOp>(product.root)) { // groups are columns side by side
    ofBatch = row;
    stride = dims.mul(row, product.batchCount);
  }
  ProductSide::Panel panel{row, product.rowCount, stride, {}};
  if (DimExpr batches = dims.resolve(product.batchCount); !batches.isConstant() || batches.constant() != 1)
    panel.batches.push_back({batches, ofBatch, std::nullopt});
  return panel;
}

std::optional<ResultBoxes> ResultBoxes::of(cuda::KernelSpec &spec, const MatrixProduct &product,
                                           const ProductTypes &types, const ProductTile &tile, unsigned firstSize) {
  DimExpr columns = spec.dims.resolve(product.columnCount);
  if (tile.parts > 1 || spec.kernel.getNumResults() != 1 || !columns.isConstant())
    return std::nullopt;
  const int64_t bits = getElementTypeOrSelf(spec.kernel.getResult(0)).getIntOrFloatBitWidth();
  const int64_t rowBytes = columns.constant() * bits / 8, tileBytes = tile.columns * bits / 8;
  if (bits < 8 || bits > 32 || rowBytes % kChunkBytes || rowBytes > INT32_MAX || tileBytes % kSwizzleBytes)
    return std::nullopt;
  ResultBoxes boxes(tile);
  boxes.width = bits / 8;
  boxes.columns = kSwizzleBytes / boxes.width;
  boxes.perTile = tileBytes / kSwizzleBytes;
  boxes.begin = static_cast<int64_t>(
      llvm::alignTo(cuda::sharedBytes(tile, types, product, Core::Warpgroups), uint64_t(kPatternBytes)));
  if (boxes.sharedBytes() > gpuOf("sm_90").sharedOfBlock)
    return std::nullopt;
  std::string refusal;
  boxes.map = mapOf(spec, panelOf(spec, product, rowBytes), unsigned(spec.kernel.getInputs().size()),
                    IntegerType::get(spec.kernel.getContext(), 8), kBoxRows, firstSize, refusal);
  return refusal.empty() ? std::optional(boxes) : std::nullopt;
}

int64_t ResultBoxes::atOnce() const { return std::min(perTile, kMostBoxes); }

int64_t ResultBoxes::sharedBytes() const { return begin + tile.rows / tile.innerRows * kWarps * atOnce() * kBoxBytes; }

void ResultBoxes::store(TileBuilder &t, ProductResult &result, Value address, Value memory, Value warpgroup,
                        ArrayRef<TileCore::Run> runs, ValueRange sums, const ProductResult::Place &at,
                        const SlabPlace &forA, const SlabPlace &forB) {
  WgmmaBuilder w(t);
  Value lane = t.rem(t.threadNumber(), 32), warp = t.rem(t.div(t.threadNumber(), 32), kWarps);
  Value isFirst = t.less(lane, t.fn.index(1)), rowOfLane = t.div(lane, 4);
  Value own = t.behind(memory, t.add(t.mul(t.add(t.mul(warpgroup, kWarps), warp), atOnce() * kBoxBytes), begin));
  Value row = t.add(t.add(forA.free, t.mul(warpgroup, tile.innerRows)), t.mul(warp, kBoxRows));
  const auto perRow = static_cast<size_t>(tile.columns / 8), perBox = static_cast<size_t>(columns / 8);
  for (int64_t box = 0; box < perTile; ++box) {
    Value to = t.behind(own, t.fn.index(box % atOnce() * kBoxBytes));
    w.waitForBoxes(atOnce() - 1);
    w.joinWarp();
    for (size_t half = 0; half < 2; ++half) {
      ArrayRef<TileCore::Run> part = runs.slice(half * perRow + static_cast<size_t>(box) * perBox, perBox);
      result.takeRuns(t, part, sums, forA, forB, [&](const TileCore::Run &run, size_t first, Value value) {
        // Chunk c of row r lies at c xor r % 8, which is the lane's row in either half.
        Value byte = t.add(t.mul(t.rem(run.column, columns), width), static_cast<int64_t>(first) * width);
        byte = arith::XOrIOp::create(t.b, byte, t.mul(rowOfLane, kChunkBytes));
        Value place = t.add(t.add(t.mul(rowOfLane, kSwizzleBytes), byte), static_cast<int64_t>(half) * kPatternBytes);
        auto vector = dyn_cast<VectorType>(value.getType());
        t.store(value, t.behind(to, place), width * (vector ? vector.getNumElements() : 1));
      });
    }
    w.fenceForProducts();
    w.joinWarp();
    SmallVector<Value> coordinates;
    for (const MapLine::Axis &axis : map.axes)
      coordinates.push_back(axis.kind == MapLine::Axis::Batch   ? at.flatBatch
                            : axis.kind == MapLine::Axis::Inner ? t.mul(t.add(forB.free, box * columns), width)
                                                                : row);
    w.storeBoxWhere(isFirst, address, coordinates, to);
  }
}

void ResultBoxes::finish(TileBuilder &t) { WgmmaBuilder(t).waitForBoxes(0); }

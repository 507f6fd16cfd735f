// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Direct convolution, channels last, one to three spatial axes. The register tile of matrix products (MicroKernel.h)
// with output pixels as rows, output channels as columns and (kh, kw, input channel) as k. Constant filters are packed
// as [group][panel][kh][kw * channels][32]. Others come with their taps first, [kh][kw][channels][O], or in pairs of
// channels (ir/FilterOrder.h), and are read where they lie: their columns are contiguous, too.
//
// Along a row of pixels (kw, channel) is one contiguous run of the input, so that only kh is an outer loop. Zeros
// around the image are left out: rows of the filter that lie outside are skipped, and tiles at the ends of a row
// multiply each tap with the pixels that find it inside (tapRuns); so do all tiles where taps lie apart. Other padding
// and input dilation are a copy of the rows that a chunk reads into its part of the workspace: one store for each kh *
// kw * 32 multiply-adds. A pointwise convolution without stride is a matrix product over all pixels. A tile may have
// several rows of a narrow image, of which the last tile multiplies those that are left. Where columns are few, vectors
// hold input channels instead (ChannelLanes.h).
//
// Panels that the second-level cache does not hold are walked in parts, rows of the filter or less: all tiles of a
// chunk multiply one part before the next, and their sums wait in the workspace (FilterParts, SumPart).
//
// A third axis, the depth, is one more loop around that over kh: over the planes of the filter that lie inside.
//
//   chunk     one plane of one image, one group, a block of output rows, one tile of output channels

#include "backends/cpu/emit/AxisGroups.h"
#include "backends/cpu/emit/BlockSums.h"
#include "backends/cpu/emit/ConvolutionPlan.h"
#include "backends/cpu/emit/General.h"
#include "backends/cpu/emit/MicroKernel.h"
#include "backends/cpu/emit/OpenTiles.h"
#include "backends/cpu/emit/Packing.h"
#include "backends/cpu/emit/Tiles.h"
#include "ir/Contraction.h"
#include "ir/Shape.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

namespace {
/// `high` rows of `wide` pixels of the result, from (row, pixel) on.
struct PixelTile {
  int64_t high, wide;
  Value row, pixel;
  SmallVector<Value> rowBases = {}; // what the first pixel of each row reads first
  bool isWhole = true;              // all rows exist, in the last tile, too
  bool sharesLast = false;          // MicroOperands
  Value ahead = {};                 // nextPanel
  int64_t aheadStride = 0;
};

/// Steps [from, to) of a run of row `kh` of plane `kd` of the filter, and of column `kw` where runs are of one tap
/// (else null).
struct Steps {
  Value kd, kh, kw, from, to;
};

class ConvolutionEmitter : ScheduledConvolution {
public:
  ConvolutionEmitter(KernelFunction &fn, const ScheduledConvolution &scheduled)
      : ScheduledConvolution(scheduled), fn(fn), b(fn.b), dims(fn.spec.dims),
        vectorType(VectorType::get({lanes}, typeOf(product.sum, b.getContext()))),
        masked(tileColumns(tile.vectors, lanes) % lanes != 0 || groupOut % lanes != 0 || hasPartOfGroups()) {
    if (flattened)
      pixelAxes = groupPixelAxes();
  }
  EmittedKernel emit();

private:
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulIOp::create(b, x, y); }
  int64_t constantOr(DimExpr expr, int64_t otherwise) { return cpu::constantOr(dims, expr, otherwise); }
  void emitPixels(int64_t high, int64_t wide, Value row, Value begin, Value end);
  /// `high` rows of `wide` pixels at (row, pixel), columns from `column` on within the group. `number` is that of the
  /// tile among those of its block, where it does not follow from the place.
  void emitTile(int64_t high, int64_t wide, Value row, Value pixel, Value number = {});
  bool computesOnce();
  int64_t chooseLower();
  SmallVector<int64_t> tilesOfRow(int64_t wide);
  Value numberOfTile(Value row, Value pixel, Value begin);
  std::pair<Value, int64_t> nextPanel(Value row, Value pixel, int64_t steps, int64_t stepElements, int64_t grain);
  std::pair<Value, int64_t> nextPart(Value number);
  void finishTile(const PixelTile &at, SmallVector<Value> sums);
  void prefetchResults(int64_t high, int64_t wide, Value row, Value pixel);
  Value placeInTiles(Value i);
  int64_t pixelsOfTile();
  void emitTiles(Value row, Value pixel);
  Value rowBase(Value row, Value pixel);
  Value rowElements();
  Value planeElements();
  SmallVector<Value> findRowsInside(const PixelTile &at, Value kh);
  int64_t vectorOffset(int64_t j);
  MicroOperands filterAt(const PixelTile &at, Steps &steps, Value &inputOffset);
  SmallVector<Value> multiply(const PixelTile &at, int64_t lowRow, int64_t endRow, const TapRun &taps, Steps steps,
                              ValueRange sums);
  SmallVector<Value> multiplyRuns(const PixelTile &at, ArrayRef<TapRun> taps, int64_t lowRow, int64_t endRow,
                                  const Steps &steps, ValueRange sums);
  SmallVector<Value> multiplyInside(const PixelTile &at, ArrayRef<int64_t> starts, int64_t lowRow, int64_t endRow,
                                    const Steps &steps, ValueRange sums);
  SmallVector<Value> multiplyRows(const PixelTile &at, const Steps &steps, ValueRange sums);
  SmallVector<Value> startsOf(const PixelTile &at);
  SmallVector<SummedAxis> summedAxes(const PixelTile &at);
  SmallVector<Value> sumTile(const PixelTile &at, ArrayRef<SummedAxis> axes);
  void inParts(llvm::function_ref<void()> walkTiles);
  /// Axes in front of those of an image.
  int64_t planeAxes() const { return shape.kernelD > 1 ? 2 : 0; }
  /// Whether a tile holds all pixels.
  bool isOneTile() {
    DimExpr pixels = dims.mul(dims.mul(shape.images, shape.outHeight), shape.outWidth);
    return shape.outDepth * constantOr(pixels, 0) == tile.high * tile.wide;
  }
  AxisGroups groupPixelAxes();
  SmallVector<LaneIndex> resultIndex(KernelElements &elements, Value row, Value pixel);
  Value columnMask(Value at, int64_t pack);
  /// Whether the last vector has channels of fewer groups than the others.
  bool hasPartOfGroups() const { return groups * groupIn != shape.channels; }
  /// Vectors of results of a pixel of a tile.
  int64_t resultVectors() const { return channelLanes ? 1 : vectors; }
  void copyRows(Value source, Value imageBase, Value copy, Value rows, Value channelBegin);

  KernelFunction &fn;
  ImplicitLocOpBuilder &b;
  DimContext &dims;
  VectorType vectorType;
  AxisGroups pixelAxes;          // of a flattened one
  SumPart part;                  // at hand, where there are several
  bool masked;                   // the last vector of a group
  int64_t lower = chooseLower(); // of the last tiles along a row
  std::optional<TileSums> tiles; // of forms that multiply tiles
  // Of the chunk being emitted.
  int64_t vectors;   // of a pixel's accumulators
  Value channelMask; // of what pixels read, where the last vector has fewer groups
  bool isLastTile;   // of a group's columns
  Value image, plane, group, column, filterBase;
  Value blockBegin;                  // its first row, or pixel where it goes along a row
  Value partPlaces;                  // of the sums of its tiles that wait for the next part
  bool panelsOutside;                // blocks of a panel follow each other, not panels of a block
  Value input, inputBase, inputRow0; // inputBase addresses (row inputRow0, pixel 0, first channel of the group)
};
} // namespace

/// What output pixel (row, pixel) reads first, be it outside of the image.
Value ConvolutionEmitter::rowBase(Value row, Value pixel) {
  Value inputRow = arith::SubIOp::create(b, mul(row, fn.index(shape.strideH)), inputRow0);
  Value base = add(inputBase, mul(inputRow, rowElements()));
  base = add(base, mul(pixel, fn.index(shape.strideW * pixelStride)));
  return skips ? arith::SubIOp::create(b, base, fn.index(shape.lowW * pixelStride)) : base;
}

/// From one row to the next of what tiles read.
Value ConvolutionEmitter::rowElements() {
  return mul(fn.materialize(skips ? shape.width : shape.paddedWidth), fn.index(pixelStride));
}

/// From one plane to the next of the input.
Value ConvolutionEmitter::planeElements() {
  return mul(mul(fn.materialize(shape.height), fn.materialize(shape.width)), fn.index(shape.pixelPitch));
}

Value ConvolutionEmitter::columnMask(Value at, int64_t pack) {
  if (!masked)
    return nullptr;
  Value end = mul(add(group, fn.index(1)), fn.index(groupOut));
  if (channelLanes)
    end = add(add(mul(group, fn.index(groupOut)), column), fn.index(tileColumns(vectors, lanes)));
  if (hasPartOfGroups())
    end = fn.index(shape.outChannels);
  Value left = arith::SubIOp::create(b, end, at);
  return vector::CreateMaskOp::create(b, VectorType::get({lanes * pack}, b.getI1Type()),
                                      ValueRange{pack == 1 ? left : mul(left, fn.index(pack))});
}

/// Those of the results that the one row of a flattened convolution goes over.
AxisGroups ConvolutionEmitter::groupPixelAxes() {
  Dims sizes = fn.spec.sizes->dims(op.getResult());
  SmallVector<bool> merges = mergeableAxes(fn.spec, sizes, op);
  std::fill_n(merges.begin(), planeAxes(), false);
  merges.back() = false; // with channels
  AxisGroups groups = groupAxes(fn.spec, sizes, merges);
  auto dropOthers = [&](auto &list) {
    list.erase(list.begin(), list.begin() + planeAxes());
    list.pop_back();
  };
  dropOthers(groups.sizes);
  dropOthers(groups.carriers);
  return groups;
}

SmallVector<LaneIndex> ConvolutionEmitter::resultIndex(KernelElements &elements, Value row, Value pixel) {
  Dims sizes = fn.spec.sizes->dims(op.getResult());
  SmallVector<LaneIndex> index(sizes.size(), elements.constant(0));
  if (planeAxes() > 0) {
    index[0] = elements.uniform(image);
    index[1] = elements.uniform(plane);
  }
  if (flattened) {
    for (auto [axis, position] : llvm::zip(pixelAxes.carriers, fn.delinearize(pixel, pixelAxes.sizes)))
      index[axis] = elements.uniform(position);
    return index;
  }
  index[0] = elements.uniform(image);
  index[sizes.size() - 2] = elements.uniform(pixel);
  if (sizes.size() >= 4)
    index[sizes.size() - 3] = elements.uniform(row);
  return index;
}

/// The tile at (row, pixel) by tiles of matrix units. Each has pixels of one row, or of several that lie in one run of
/// padded pixels, with what is between them (rowsOfTile).
void ConvolutionEmitter::emitTiles(Value row, Value pixel) {
  bool oneRun = shape.kernelW == 1 || (shape.dilationW == 1 && pixelStride == pitch);
  int64_t perStep = product.kStep / product.kPack, words = (oneRun ? shape.kernelW : 1) * pitch / product.kPack;
  int64_t runs = oneRun ? 1 : shape.kernelW, steps = words / perStep, perPanel = panel / lanes;
  int64_t filterPitch = (inPlace ? shape.outChannels : panel) * product.kPack;
  int64_t rowFilter = shape.kernelW * pitch / product.kPack * filterPitch;
  TileOperands operands;
  operands.a = input;
  operands.b = fn.input(filterInput(op).getArgNumber());
  operands.aPitch = fn.index(shape.strideW * pixelStride);
  operands.bPitch = fn.index(filterPitch);
  bool isHigh = tile.high > 1;
  for (int64_t i = 0; i < tiles->rowTiles(); ++i)
    operands.aTiles.push_back(isHigh ? rowBase(add(row, fn.index(i * tile.high / 2)), pixel)
                                     : rowBase(row, add(pixel, tiles->firstRow(i))));
  for (int64_t j = 0; j < vectors; ++j) {
    int64_t ahead = inPlace ? j * lanes * product.kPack
                            : j / perPanel * shape.kernelH * rowFilter + j % perPanel * lanes * product.kPack;
    operands.bTiles.push_back(add(filterBase, fn.index(ahead)));
  }
  std::tie(operands.ahead, operands.aheadStride) =
      nextPanel(row, pixel, shape.kernelH * runs * steps, product.kStep * panel,
                fn.spec.target().cacheLineBytes / widthOf(product.b));
  if (shape.kernelH == 1 && runs == 1) {
    tiles->addInBlocks(operands, dims.constant(steps), vectors);
  } else {
    // A sum is folded behind each run, or each part of one, where all of them are more than a block.
    int64_t block = tiles->blockSteps(shape.kernelH * runs * steps);
    bool folds = block != kNoBlocks && shape.kernelH * runs * steps > block;
    int64_t part = folds ? std::min(block, steps) : steps;
    tiles->begin(vectors, folds);
    fn.loop(fn.index(0), fn.index(shape.kernelH), 1, [&](Value kh) {
      fn.loop(fn.index(0), fn.index(runs), 1, [&](Value kw) {
        fn.loop(fn.index(0), fn.index(steps), part, [&](Value from) {
          Value inputOffset =
              add(mul(mul(kh, fn.index(shape.dilationH)), rowElements()),
                  add(mul(kw, fn.index(shape.dilationW * pixelStride)), mul(from, fn.index(product.kStep))));
          Value filterOffset = add(mul(kh, fn.index(rowFilter)),
                                   mul(add(mul(kw, fn.index(steps)), from), fn.index(perStep * filterPitch)));
          TileOperands moved = operands;
          for (Value &at : moved.aTiles)
            at = add(at, inputOffset);
          for (Value &at : moved.bTiles)
            at = add(at, filterOffset);
          if (moved.ahead) {
            Value step = add(mul(add(mul(kh, fn.index(runs)), kw), fn.index(steps)), from);
            moved.ahead = add(moved.ahead, mul(step, fn.index(moved.aheadStride)));
          }
          Value left = arith::SubIOp::create(b, fn.index(steps), from);
          tiles->addProducts(moved, arith::MinSIOp::create(b, left, fn.index(part)));
          if (folds)
            tiles->fold();
        });
      });
    });
    tiles->end();
  }
  tiles->finish(
      op.getResult(),
      [&](KernelElements &elements, Value i) {
        if (!isHigh)
          return resultIndex(elements, row, add(pixel, i));
        Value up = arith::DivUIOp::create(b, i, fn.index(tile.wide));
        return resultIndex(elements, add(row, up), add(pixel, arith::RemUIOp::create(b, i, fn.index(tile.wide))));
      },
      add(mul(group, fn.index(groupOut)), column), [&](Value at) { return columnMask(at, 1); },
      isHigh ? fn.index(tile.high * tile.wide) : Value(), [&](Value i) { return isHigh ? placeInTiles(i) : i; });
}

/// The number of a tile among those from row `begin` of an image on, or from pixel `begin` where there is one row only.
Value ConvolutionEmitter::numberOfTile(Value row, Value pixel, Value begin) {
  // The last tile reaches back over pixels of the one before it.
  auto numberOf = [&](Value place, Value begin, int64_t size) -> Value {
    Value last = add(arith::SubIOp::create(b, place, begin), fn.index(size - 1));
    return arith::DivUIOp::create(b, last, fn.index(size));
  };
  Value number = numberOf(pixel, blocks.alongRow ? begin : fn.index(0), tile.wide);
  if (blocks.alongRow)
    return number;
  return add(mul(numberOf(row, begin, tile.high), fn.index(blocks.tilesOfRow)), number);
}

/// Filters come from beyond the second-level cache, as those of other kernels have been there since. Each tile of a
/// block asks for its part of the panel of the next columns, where both fit that cache beside the pixels: from which
/// element on, null where it asks for none, and how many a step, whole `grain`s of them.
std::pair<Value, int64_t> ConvolutionEmitter::nextPanel(Value row, Value pixel, int64_t steps, int64_t stepElements,
                                                        int64_t grain) {
  int64_t tilesOfPanel = panelsOutside ? blocks.tilesOfImage : blocks.tiles;
  bool fits = 2 * steps * stepElements * widthOf(product.b) <= fn.spec.target().l2Bytes * 3 / 4;
  if (inPlace || channelLanes || tile.vectors * lanes != panel || !fits || tilesOfPanel == 0 ||
      stepElements < tilesOfPanel * grain)
    return {};
  auto stride = static_cast<int64_t>(llvm::alignTo(llvm::divideCeil(stepElements, tilesOfPanel), grain));
  Value number = numberOfTile(row, pixel, panelsOutside ? fn.index(0) : blockBegin);
  Value share = mul(number, fn.index(stride * steps));
  return {add(add(filterBase, fn.index(steps * stepElements)), share), stride};
}

/// The same for the next part of a panel, or the first of the next panel, which lies behind it, for tile `number`.
std::pair<Value, int64_t> ConvolutionEmitter::nextPart(Value number) {
  if (tile.vectors * lanes != panel || blocks.tiles == 0 || runs.step < blocks.tiles)
    return {};
  Value begin = fn.index(0), end; // in steps
  for (auto [steps, positions] : llvm::zip(parts.steps, part.positions)) {
    end = add(begin, mul(positions.second, fn.index(steps)));
    begin = add(begin, mul(positions.first, fn.index(steps)));
  }
  auto stride = static_cast<int64_t>(llvm::divideCeil(runs.step, blocks.tiles));
  Value share = mul(number, fn.index(stride * parts.positions * parts.steps.back()));
  Value first = add(add(filterBase, mul(end, fn.index(runs.step))), share);
  return {arith::SubIOp::create(b, first, mul(begin, fn.index(stride))), stride};
}

/// Of a tile at (row, pixel): what its epilogue reads and writes.
void ConvolutionEmitter::prefetchResults(int64_t high, int64_t wide, Value row, Value pixel) {
  SmallVector<Value> places;
  Value firstPlane = shape.kernelD > 1 ? add(mul(image, fn.index(shape.outDepth)), plane) : image;
  Value firstRow = add(mul(firstPlane, fn.materialize(shape.outHeight)), row),
        firstColumn = add(mul(group, fn.index(groupOut)), column);
  for (int64_t r = 0; r < high; ++r) {
    Value first = add(mul(add(firstRow, fn.index(r)), fn.materialize(shape.outWidth)), pixel);
    for (int64_t i = 0; i < wide; ++i)
      places.push_back(add(mul(add(first, fn.index(i)), fn.index(shape.outChannels)), firstColumn));
  }
  prefetchEpilogue(fn, op, places, resultVectors(), lanes);
}

/// Where the sums of result `i` of a tile of several rows are.
Value ConvolutionEmitter::placeInTiles(Value i) {
  int64_t perTile = tile.high / 2;
  if (perTile == 1)
    return i;
  Value up = arith::DivUIOp::create(b, i, fn.index(tile.wide)),
        along = arith::RemUIOp::create(b, i, fn.index(tile.wide));
  Value which = arith::DivUIOp::create(b, up, fn.index(perTile)),
        within = arith::RemUIOp::create(b, up, fn.index(perTile));
  return add(add(mul(which, fn.index(pixelsOfTile())), mul(within, fn.materialize(shape.paddedWidth))), along);
}

/// Pixels of a tile of matrix units, of which there are two, each with half of the rows.
int64_t ConvolutionEmitter::pixelsOfTile() {
  int64_t between = tile.high > 2 ? (tile.high / 2 - 1) * constantOr(shape.paddedWidth, 0) : 0;
  return between + tile.wide;
}

/// Which of a tile's rows exist and find row `kh` of the filter inside of the image; empty where all do.
SmallVector<Value> ConvolutionEmitter::findRowsInside(const PixelTile &at, Value kh) {
  SmallVector<Value> inside;
  if (at.high == 1 || (at.isWhole && !skips))
    return inside;
  for (int64_t r = 0; r < at.high; ++r) {
    Value row = add(at.row, fn.index(r));
    Value exists = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, row, fn.materialize(shape.outHeight));
    if (skips) {
      Value top = arith::SubIOp::create(b, mul(row, fn.index(shape.strideH)), fn.index(shape.lowH));
      Value from = add(top, mul(kh, fn.index(shape.dilationH)));
      Value isInside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, from, fn.materialize(shape.height));
      exists = arith::AndIOp::create(b, exists, isInside);
    }
    inside.push_back(exists);
  }
  return inside;
}

/// The elements of the filter from vector 0 of a tile to vector `j`.
int64_t ConvolutionEmitter::vectorOffset(int64_t j) {
  int64_t perPanel = panel / lanes;
  return inPlace || channelLanes
             ? j * lanes * product.kPack
             : j / perPanel * (runs.header + filterRows() * runs.rowFilter) + j % perPanel * lanes * product.kPack;
}

/// What all pixels of a tile read at some steps: the filter, and what is asked for early. `inputOffset` becomes the
/// distance from where a pixel begins.
MicroOperands ConvolutionEmitter::filterAt(const PixelTile &at, Steps &steps, Value &inputOffset) {
  MicroOperands operands(product);
  operands.sharesLast = at.sharesLast;
  operands.a = input;
  if (runs.inputStep > 1)
    operands.aStride = fn.index(runs.inputStep);
  operands.b = fn.input(filterInput(op).getArgNumber());
  operands.bStride = fn.index(runs.step);
  // Rows of many channels lie pages apart, where no hardware prefetches; panels that the first-level cache does not
  // keep come from the second for each tile.
  if (inPlace && runs.step * widthOf(product.b) >= 1024)
    operands.prefetchRows = 16;
  else if (!inPlace && filterRows() * runs.rowFilter * widthOf(product.b) > fn.spec.target().l1Bytes)
    operands.prefetchPanels(/*once=*/isOneTile());
  operands.aheadStride = at.aheadStride;
  Value filterRow = steps.kd ? add(mul(steps.kd, fn.index(shape.kernelH)), steps.kh) : steps.kh;
  if (at.ahead) {
    Value run = mul(filterRow, fn.index(runs.count));
    run = mul(steps.kw ? add(run, steps.kw) : run, fn.index(runs.length * at.aheadStride));
    operands.ahead = add(at.ahead, run);
  }
  inputOffset = mul(mul(steps.kh, fn.index(shape.dilationH)), rowElements());
  if (steps.kd)
    inputOffset = add(inputOffset, mul(mul(steps.kd, fn.index(shape.dilationD)), planeElements()));
  Value filterOffset = mul(filterRow, fn.index(runs.rowFilter));
  if (skips) { // what is before the first of these steps may lie outside of memory
    inputOffset = add(inputOffset, mul(steps.from, fn.index(runs.inputStep)));
    filterOffset = add(filterOffset, mul(steps.from, fn.index(runs.step)));
    if (at.ahead)
      operands.ahead = add(operands.ahead, mul(steps.from, fn.index(at.aheadStride)));
    steps.to = b.createOrFold<arith::SubIOp>(steps.to, steps.from);
    steps.from = fn.index(0);
  }
  if (steps.kw) {
    inputOffset = add(inputOffset, mul(steps.kw, fn.index(shape.dilationW * pixelStride)));
    filterOffset = add(filterOffset, mul(steps.kw, fn.index(runs.tapSteps * runs.step)));
  }
  Value groupColumn = add(mul(group, fn.index(groupOut)), column);
  for (int64_t j = 0; j < vectors; ++j) {
    operands.bVectors.push_back(add(add(filterBase, filterOffset), fn.index(runs.header + vectorOffset(j))));
    if (inPlace)
      operands.bMasks.push_back(columnMask(add(groupColumn, fn.index(j * lanes)), product.kPack));
  }
  return operands;
}

/// Adds the products of some steps for rows [lowRow, endRow) of a tile, and of them the pixels that `taps` are for.
SmallVector<Value> ConvolutionEmitter::multiply(const PixelTile &at, int64_t lowRow, int64_t endRow, const TapRun &taps,
                                                Steps steps, ValueRange sums) {
  Value inputOffset;
  MicroOperands operands = filterAt(at, steps, inputOffset);
  if (skips) // between taps that lie apart
    inputOffset = add(inputOffset, fn.index(taps.firstTap * (shape.dilationW * pixelStride - pitch)));
  SmallVector<int64_t> places; // of their sums
  for (int64_t r = lowRow; r < endRow; ++r)
    for (int64_t i = taps.first; i < taps.end; ++i) {
      operands.aRows.push_back(add(add(at.rowBases[r], fn.index(i * shape.strideW * pixelStride)), inputOffset));
      llvm::append_range(places, llvm::seq((r * at.wide + i) * vectors, (r * at.wide + i + 1) * vectors));
    }
  auto addProducts = [&](ValueRange sums) {
    return channelLanes ? emitChannelSteps(fn, operands, vectorType, channelMask, steps.from, steps.to, sums)
                        : emitMicroKernel(fn, operands, vectorType, steps.from, steps.to, sums);
  };
  if (static_cast<int64_t>(operands.aRows.size()) == at.high * at.wide)
    return addProducts(sums);
  SmallVector<Value> next(sums), some = llvm::map_to_vector(places, [&](int64_t place) { return Value(sums[place]); });
  for (auto [place, sum] : llvm::zip(places, addProducts(some)))
    next[place] = sum;
  return next;
}

/// The same of several runs of taps.
SmallVector<Value> ConvolutionEmitter::multiplyRuns(const PixelTile &at, ArrayRef<TapRun> taps, int64_t lowRow,
                                                    int64_t endRow, const Steps &steps, ValueRange sums) {
  SmallVector<Value> next(sums);
  for (const TapRun &run : taps) {
    Steps some = steps;
    some.from = fn.index(run.firstTap * runs.tapSteps);
    some.to = fn.index(run.endTap * runs.tapSteps);
    if (runs.parts != 1) {
      some.from = arith::MaxSIOp::create(b, some.from, steps.from);
      some.to = arith::MinSIOp::create(b, some.to, steps.to);
    }
    next = multiply(at, lowRow, endRow, run, some, next);
  }
  return next;
}

/// The same of all taps that lie inside of the image, in tiles that begin at one of `starts` and in others.
SmallVector<Value> ConvolutionEmitter::multiplyInside(const PixelTile &at, ArrayRef<int64_t> starts, int64_t lowRow,
                                                      int64_t endRow, const Steps &steps, ValueRange sums) {
  if (starts.empty()) {
    TapRun all{0, shape.kernelW, 0, at.wide};
    if (!skips || tapsFollow())
      return multiply(at, lowRow, endRow, all, steps, sums);
    auto taps =
        llvm::map_to_vector(llvm::seq(shape.kernelW), [&](int64_t tap) { return TapRun{tap, tap + 1, 0, at.wide}; });
    return multiplyRuns(at, taps, lowRow, endRow, steps, sums);
  }
  auto atBorder = [&] {
    return multiplyRuns(at, tapRuns(shape, starts.front(), at.wide, tapsFollow()), lowRow, endRow, steps, sums);
  };
  if (shape.outWidth.staticSize() == at.wide)
    return atBorder();
  Value isBorder = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, at.pixel, fn.index(starts.front()));
  return fn.choose(isBorder, sums.getTypes(), atBorder,
                   [&] { return multiplyInside(at, starts.drop_front(), lowRow, endRow, steps, sums); });
}

/// The same for all rows of a tile at once where all find the row of the filter inside, else for those that do.
SmallVector<Value> ConvolutionEmitter::multiplyRows(const PixelTile &at, const Steps &steps, ValueRange sums) {
  SmallVector<int64_t> borders = skips ? bordersOf(shape, tilesOfRow(at.wide), at.wide) : SmallVector<int64_t>();
  auto multiplyAll = [&] { return multiplyInside(at, borders, 0, at.high, steps, sums); };
  SmallVector<Value> inside = findRowsInside(at, steps.kh);
  if (inside.empty())
    return multiplyAll();
  Value all = inside.front();
  for (Value other : ArrayRef(inside).drop_front())
    all = arith::AndIOp::create(b, all, other);
  return fn.choose(all, sums.getTypes(), multiplyAll, [&] {
    SmallVector<Value> next(sums);
    for (int64_t r = 0; r < at.high; ++r)
      next = fn.choose(
          inside[r], sums.getTypes(), [&] { return multiplyInside(at, borders, r, r + 1, steps, next); },
          [&] { return next; });
    return next;
  });
}

/// What sums begin with: zeros, or what stands in front of the panels.
SmallVector<Value> ConvolutionEmitter::startsOf(const PixelTile &at) {
  int64_t pixels = at.high * at.wide;
  SmallVector<Value> starts = zeroAccumulators(fn, vectorType, tileAccumulators(pixels, vectors, at.sharesLast));
  for (int64_t j = 0; product.headers() && j < vectors; ++j) {
    auto type = VectorType::get({lanes * product.kPack}, typeOf(product.b, b.getContext()));
    Value start = vector::LoadOp::create(b, type, fn.input(filterInput(op).getArgNumber()),
                                         ValueRange{add(filterBase, fn.index(vectorOffset(j)))});
    start = vector::BitCastOp::create(b, vectorType, start);
    for (int64_t i = 0; i < pixels; ++i)
      starts[i * vectors + j] = start;
  }
  return starts;
}

/// What a tile's sum goes over: (kd, kh, kw, part of a run); what is of size 1 is no axis.
SmallVector<SummedAxis> ConvolutionEmitter::summedAxes(const PixelTile &at) {
  SmallVector<SummedAxis> axes =
      llvm::map_to_vector(summedSizes(runs), [&](int64_t size) { return summedAxis(fn, dims.constant(size)); });
  if (shape.kernelD != 1)
    axes.front() = filterPlanesInside(fn, shape, plane);
  if (skips && at.high == 1 && shape.kernelH != 1)
    axes[shape.kernelD != 1] = filterRowsInside(fn, shape, at.row);
  return axes;
}

/// The sums of a tile over `axes`, or over the part at hand.
SmallVector<Value> ConvolutionEmitter::sumTile(const PixelTile &at, ArrayRef<SummedAxis> axes) {
  return sumNest(
      fn, axes, runs.perPart, runs.block, startsOf(at), [&](Value x, Value y) { return joinFloats(b, x, y); },
      [&](ArrayRef<Value> position, ValueRange carried) {
        Steps steps{Value(), fn.index(0), Value(), fn.index(0), fn.index(runs.length)};
        if (shape.kernelD != 1)
          steps.kd = position.consume_front();
        if (shape.kernelH != 1)
          steps.kh = position.consume_front();
        if (runs.count != 1)
          steps.kw = position.consume_front();
        if (runs.parts != 1) {
          steps.from = mul(position.front(), fn.index(runs.perPart));
          steps.to = arith::MinSIOp::create(b, add(steps.from, fn.index(runs.perPart)), steps.to);
        }
        return multiplyRows(at, steps, carried);
      },
      parts ? &part : nullptr);
}

/// Calls `walkTiles`, which goes through all tiles of the chunk, for each part of the panel.
void ConvolutionEmitter::inParts(llvm::function_ref<void()> walkTiles) {
  part.positions.clear();
  SmallVector<int64_t> sizes = summedSizes(runs);
  std::function<void(size_t)> walk = [&](size_t axis) {
    if (axis == parts.steps.size())
      return walkTiles();
    int64_t positions = axis + 1 == parts.steps.size() ? parts.positions : 1;
    fn.loop(fn.index(0), fn.index(sizes[axis]), positions, [&](Value from) {
      part.positions.push_back({from, add(from, fn.index(positions))});
      walk(axis + 1);
      part.positions.pop_back();
    });
  };
  walk(0);
}

void ConvolutionEmitter::emitTile(int64_t high, int64_t wide, Value row, Value pixel, Value number) {
  PixelTile at{high, wide, row, pixel};
  for (int64_t r = 0; r < high; ++r)
    at.rowBases.push_back(rowBase(add(row, fn.index(r)), pixel));
  int64_t pixels = high * wide;
  at.isWhole = constantOr(shape.outHeight, 1) % high == 0;
  at.sharesLast = isLastTile && vectors > 1 && pixels % 2 == 0 && at.isWhole && canShareLast(lanes);
  SmallVector<SummedAxis> axes = summedAxes(at);
  Value isLast; // part
  if (parts) {
    isLast = part.isLast(fn, axes);
    number = number ? number : numberOfTile(row, pixel, blockBegin);
    part.place = add(partPlaces, mul(number, fn.index(parts.placeElements)));
    std::tie(at.ahead, at.aheadStride) = nextPart(number);
  } else {
    std::tie(at.ahead, at.aheadStride) = nextPanel(row, pixel, filterRows() * runs.count * runs.length, runs.step, 1);
  }
  fn.ifThen(isLast, [&] { prefetchResults(high, wide, row, pixel); });
  SmallVector<Value> sums = sumTile(at, axes);
  fn.ifThen(isLast, [&] { finishTile(at, sums); });
}

/// What follows the sums of a tile.
void ConvolutionEmitter::finishTile(const PixelTile &at, SmallVector<Value> sums) {
  int64_t high = at.high, wide = at.wide, pixels = high * wide;
  Value row = at.row, pixel = at.pixel;
  if (at.sharesLast)
    sums = unshareLast(fn, sums, pixels, vectors, vectorType);
  if (channelLanes)
    sums = llvm::map_to_vector(llvm::seq(pixels), [&](int64_t i) {
      return addChannelLanes(b, ValueRange(sums).slice(i * vectors, vectors), *channelLanes);
    });
  Value results; // pixels that exist
  if (!at.isWhole) {
    Value left = arith::SubIOp::create(b, fn.materialize(shape.outHeight), row);
    results = mul(arith::MinSIOp::create(b, left, fn.index(high)), fn.index(wide));
  }
  emitTileEpilogue(
      fn, op.getResult(), sums, pixels, resultVectors(), vectorType,
      [&](KernelElements &elements, Value i) {
        Value up = high == 1 ? fn.index(0) : arith::DivUIOp::create(b, i, fn.index(wide)).getResult();
        Value along = high == 1 ? i : arith::RemUIOp::create(b, i, fn.index(wide)).getResult();
        return resultIndex(elements, add(row, up), add(pixel, along));
      },
      add(mul(group, fn.index(groupOut)), column), [&](Value at) { return columnMask(at, 1); }, results, wide);
}

/// Tiles of `high` rows from `row` on, over the pixels [begin, end).
void ConvolutionEmitter::emitPixels(int64_t high, int64_t wide, Value row, Value begin, Value end) {
  if (tiles) {
    Value lastStart = fn.materialize(dims.max(dims.constant(0), dims.sub(shape.outWidth, dims.constant(wide))));
    fn.loop(begin, end, wide, [&](Value x) { emitTiles(row, arith::MinSIOp::create(b, x, lastStart)); });
    return;
  }
  if (int64_t outWidth = constantOr(shape.outWidth, ShapedType::kDynamic); outWidth != ShapedType::kDynamic) {
    return forKnownTiles(fn, wide, lower, outWidth, begin, end,
                         [&](int64_t length, Value at) { emitTile(high, length, row, at); });
  }
  forOpenTiles(fn, wide, vectors, fn.materialize(shape.outWidth), begin, end,
               [&](int64_t length, Value at, Value number) { emitTile(high, length, row, at, number); });
}

/// Whether no tile reaches back over results of the one before it, which may lie where an operand of what follows the
/// convolution was.
bool ConvolutionEmitter::computesOnce() {
  bool areRowsWhole = !tiles || constantOr(shape.outHeight, tile.high + 1) % tile.high == 0;
  return areRowsWhole && (lower > 0 || constantOr(shape.outWidth, tile.wide + 1) % tile.wide == 0);
}

/// How many of the last tiles along a row have one pixel less.
int64_t ConvolutionEmitter::chooseLower() {
  int64_t outWidth = constantOr(shape.outWidth, 0), length = constantOr(blocks.length, 0);
  if (product.isTiled() || channelLanes || tile.high > 1 || canShareLast(lanes) || length == 0)
    return 0;
  return blocks.alongRow ? lowerTilesOfBlocks(outWidth, tile.wide, tile.vectors, length)
                         : lowerTiles(outWidth, tile.wide, tile.vectors);
}

/// Where tiles of `wide` pixels of a row of known width begin.
SmallVector<int64_t> ConvolutionEmitter::tilesOfRow(int64_t wide) {
  int64_t outWidth = shape.outWidth.staticSize(), middle = beginOfLower(outWidth, tile.wide, lower);
  SmallVector<int64_t> starts;
  bool isLower = lower > 0 && wide < tile.wide;
  int64_t end = lower > 0 && !isLower ? middle : outWidth, last = std::max<int64_t>(outWidth - wide, 0);
  for (int64_t at = isLower ? middle : 0; at < end; at += wide)
    starts.push_back(std::min(at, last));
  return starts;
}

/// Copies `rows` padded rows of the channels of a group.
void ConvolutionEmitter::copyRows(Value source, Value imageBase, Value copy, Value rows, Value channelBegin) {
  // Vectors of the copy that few channels fill, too.
  int64_t copied = lanes;
  if (product.step != ProductForm::Step::fused)
    copied = std::min(fn.spec.target().lanes(std::max(widthOf(product.a), widthOf(product.row))),
                      static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>(groupIn))));
  auto copyChannels = [&](int64_t channels) {
    emitPaddedRows(fn, shape, source, imageBase, copy, inputBase, inputRow0, rows, channelBegin, channels, pixelStride,
                   copied, product);
  };
  if (!hasPartOfGroups())
    return copyChannels(groupIn);
  Value isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, group, fn.index(groups - 1));
  fn.branch(isLast, [&] { copyChannels(shape.channels - (groups - 1) * groupIn); }, [&] { copyChannels(groupIn); });
}

EmittedKernel ConvolutionEmitter::emit() {
  int64_t panels = llvm::divideCeil(groupOut, panel);
  int64_t high = tile.high, wide = tile.wide;
  int64_t tileColumns = this->tileColumns(tile.vectors, lanes);
  int64_t columnTiles = llvm::divideCeil(groupOut, tileColumns);
  int64_t taps = sumLength();
  DimExpr one = dims.constant(1), walked = blocks.walked, blockLength = blocks.length;
  DimExpr blocksOfImage = dims.ceilDiv(walked, blockLength);
  bool alongRow = blocks.alongRow;
  // Rows of padded input that a block reads.
  DimExpr inputRows =
      alongRow ? dims.constant((shape.kernelH - 1) * shape.dilationH + 1)
               : dims.add(dims.mul(dims.sub(dims.min(blockLength, walked), one), dims.constant(shape.strideH)),
                          dims.constant((shape.kernelH - 1) * shape.dilationH + 1));
  // A block's last tile that reaches back reads up to `high - 1` output rows more.
  bool reachesBack = !alongRow && high > 1 && product.isTiled();
  if (reachesBack)
    inputRows = dims.add(inputRows, dims.constant((high - 1) * shape.strideH));
  DimExpr copyElements = dims.mul(inputRows, dims.mul(shape.paddedWidth, dims.constant(pixelStride)));
  unsigned inputNumber = convolvedInput(op).getArgNumber();
  Value source = fn.input(inputNumber), copy;
  DimExpr chunks =
      dims.mul(dims.mul(shape.images, dims.constant(shape.outDepth * groups * columnTiles)), blocksOfImage);
  // Copies, then places of sums, those of a chunk after the other.
  DimExpr workspaceBytes =
      dims.mul(dims.mul(chunks, copyElements), dims.constant(shape.needsCopy ? widthOf(product.row) : 0));
  if (parts) {
    DimExpr line = dims.constant(fn.spec.target().cacheLineBytes);
    workspaceBytes = dims.mul(dims.ceilDiv(workspaceBytes, line), line);
    auto type = MemRefType::get({kHuge}, vectorType.getElementType());
    part.memory = memref::ViewOp::create(b, type, fn.workspace(), fn.materialize(workspaceBytes), ValueRange{});
    int64_t placeElements = blocks.tiles * parts.placeElements;
    partPlaces = mul(fn.begin(), fn.index(placeElements));
    workspaceBytes = dims.add(workspaceBytes, dims.mul(chunks, dims.constant(placeElements * widthOf(product.sum))));
  }
  if (shape.needsCopy)
    copy = memref::ViewOp::create(b, MemRefType::get({kHuge}, typeOf(product.row, b.getContext())), fn.workspace(),
                                  fn.index(0), ValueRange{});
  if (product.isTiled()) {
    DimExpr along = dims.min(dims.resolve(shape.outWidth), dims.constant(wide));
    DimExpr ofTile = dims.constant(pixelsOfTile());
    TileSums::Rows rows =
        high > 1 ? TileSums::Rows{ofTile, ofTile, dims.add(ofTile, ofTile)} : TileSums::split(dims, along, wide);
    tiles.emplace(fn, product, rows, tile.vectors);
  }
  // Where the filter does not stay in the second-level cache but the image does, it is read once.
  int64_t half = fn.spec.target().l2Bytes / 2;
  int64_t imageBytes =
      shape.depth * constantOr(dims.mul(shape.height, shape.width), half) * shape.channels * widthOf(product.a);
  panelsOutside = !shape.needsCopy && !product.isTiled() && groups == 1 && imageBytes <= half &&
                  shape.outChannels * taps * widthOf(product.b) > half;
  Value blockCount = fn.materialize(blocksOfImage), walkedSize = fn.materialize(walked);
  Value elementsOfPlane = planeElements();
  Value imageElements = shape.kernelD == 1 ? elementsOfPlane : mul(elementsOfPlane, fn.index(shape.depth));

  fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
    Value rest = chunk;
    auto take = [&](Value count) {
      Value quotient = arith::DivUIOp::create(b, rest, count);
      Value digit = arith::SubIOp::create(b, rest, mul(quotient, count));
      rest = quotient;
      return digit;
    };
    Value block = panelsOutside ? take(blockCount) : Value();
    if (shape.kernelD > 1 && panelsOutside)
      plane = take(fn.index(shape.outDepth));
    Value columnTile = take(fn.index(columnTiles));
    // Groups of a block follow each other: a thread then has pixels that it has computed before, not channels of all.
    group = take(fn.index(groups));
    if (!panelsOutside)
      block = take(blockCount);
    if (shape.kernelD > 1 && !panelsOutside)
      plane = take(fn.index(shape.outDepth));
    image = rest;
    column = mul(columnTile, fn.index(tileColumns));
    if (inPlace) {
      filterBase = add(mul(group, fn.index(groupOut)), column);
      if (product.kPack > 1)
        filterBase = mul(filterBase, fn.index(product.kPack));
    } else if (channelLanes) {
      Value number = add(mul(group, fn.index(columnTiles)), columnTile);
      filterBase = mul(number, fn.index(filterRows() * runs.rowFilter));
    } else {
      Value panelIndex = add(mul(group, fn.index(panels)), arith::DivUIOp::create(b, column, fn.index(panel)));
      Value inPanel = arith::RemUIOp::create(b, column, fn.index(panel));
      if (product.kPack > 1)
        inPanel = mul(inPanel, fn.index(product.kPack));
      int64_t steps = product.headers() + filterRows() * shape.kernelW * (pitch / product.kPack);
      filterBase = add(mul(panelIndex, fn.index(steps * panel * product.kPack)), inPanel);
    }

    Value low = blockBegin = mul(block, fn.materialize(blockLength));
    Value high_ = arith::MinSIOp::create(b, add(low, fn.materialize(blockLength)), walkedSize);
    Value imageBase = mul(image, imageElements);
    if (shape.kernelD > 1) {
      Value front = arith::SubIOp::create(b, mul(plane, fn.index(shape.strideD)), fn.index(shape.lowD));
      imageBase = add(imageBase, mul(front, elementsOfPlane));
    }
    Value channelBegin = mul(group, fn.index(groupIn));
    if (hasPartOfGroups() && !shape.needsCopy) {
      Value left = arith::SubIOp::create(b, fn.index(shape.channels), channelBegin);
      channelMask = vector::CreateMaskOp::create(b, VectorType::get({lanes}, b.getI1Type()), ValueRange{left});
    }
    // The last tile of a block may reach back over the block's begin; the copy starts at the first row that any tile
    // reads.
    Value firstRow = alongRow ? fn.index(0) : low;
    if (reachesBack) {
      Value lastStart = arith::SubIOp::create(b, walkedSize, fn.index(high));
      firstRow = arith::MinSIOp::create(b, low, lastStart);
    }
    if (shape.needsCopy) {
      input = copy;
      // One copy for all columns of a call, in the same place for all its blocks, so that it stays in cache.
      inputBase = mul(fn.begin(), fn.materialize(copyElements));
      inputRow0 = mul(firstRow, fn.index(shape.strideH));
      Value rows = alongRow ? fn.materialize(inputRows)
                            : add(mul(arith::SubIOp::create(b, arith::SubIOp::create(b, high_, firstRow), fn.index(1)),
                                      fn.index(shape.strideH)),
                                  fn.index((shape.kernelH - 1) * shape.dilationH + 1));
      Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, chunk, fn.begin());
      Value isOther = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, columnTile, fn.index(0));
      fn.ifThen(arith::OrIOp::create(b, isFirst, isOther),
                [&] { copyRows(source, imageBase, copy, rows, channelBegin); });
    } else {
      input = source;
      inputBase = add(imageBase, channelBegin);
      inputRow0 = fn.index(skips ? shape.lowH : 0);
    }

    auto walk = [&](int64_t tileVectors, bool isLast) {
      vectors = channelLanes ? channelLanes->columns : tileVectors;
      isLastTile = isLast;
      inParts([&] {
        if (alongRow)
          return emitPixels(1, wide, fn.index(0), low, high_);
        Value lastStart = arith::SubIOp::create(b, walkedSize, fn.index(high));
        fn.loop(low, high_, high, [&](Value row) {
          Value start = reachesBack ? arith::MinSIOp::create(b, row, lastStart).getResult() : row;
          emitPixels(high, wide, start, fn.index(0), fn.materialize(shape.outWidth));
        });
      });
    };
    int64_t last = lastTileVectors(llvm::divideCeil(groupOut, lanes), tile.vectors);
    if (columnTiles == 1 || (last == tile.vectors && !canShareLast(lanes)))
      return walk(last, columnTiles == 1);
    Value isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, columnTile, fn.index(columnTiles - 1));
    fn.branch(isLast, [&] { walk(last, true); }, [&] { walk(tile.vectors, false); });
  });
  if (tiles)
    tiles->release();
  markUnitRounding(fn, product);
  fn.finish();

  EmittedKernel emitted;
  emitted.function = fn.function;
  emitted.usesTiles = tiles.has_value();
  emitted.inPlace = fn.spec.kernel.getNumResults() == 1 && computesOnce();
  emitted.chunks = chunks;
  if (shape.needsCopy || parts)
    emitted.workspaceBytes = workspaceBytes;
  emitted.estimate(fn.spec, dims.mul(pixels(dims), dims.constant(shape.outChannels * taps)),
                   1 / macsPerNs(fn.spec.costs(), product));
  if (groups == 1 && !panelsOutside)
    emitted.walk = walkOf(fn.spec, shape, blockLength, alongRow ? wide : high, columnTiles);
  return emitted;
}

EmittedKernel sinter::cpu::emitConvolution(KernelSpec &spec, ModuleOp module, StringRef name) {
  ScheduledConvolution scheduled(spec, convolutionOf(spec));
  KernelFunction fn(spec, module, name, {.workspace = scheduled.shape.needsCopy || scheduled.parts});
  return ConvolutionEmitter(fn, scheduled).emit();
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Direct convolution, channels last, one or two spatial axes. The register tile of matrix products (MicroKernel.h) with
// output pixels as rows, output channels as columns and (kh, kw, input channel) as k. Constant filters are packed as
// [group][panel][kh][kw * channels][32]. Others come with their taps first, [kh][kw][channels][O], or in
// pairs of channels (ir/FilterOrder.h), and are read where they lie: their columns are contiguous, too.
//
// Along a row of pixels (kw, channel) is one contiguous run of the input, so that only kh is an outer loop. Padding and
// input dilation are a copy of the rows that a chunk reads into its part of the workspace: one store for each kh * kw *
// 32 multiply-adds. A pointwise convolution without stride is a matrix product over all pixels.
//
//   chunk     one image, one group, a block of output rows, one tile of output channels

#include "backends/cpu/emit/Convolution.h"
#include "backends/cpu/emit/BlockSums.h"
#include "backends/cpu/emit/General.h"
#include "backends/cpu/emit/MicroKernel.h"
#include "backends/cpu/emit/Packing.h"
#include "backends/cpu/emit/Tiles.h"
#include "ir/Contraction.h"
#include "ir/Shape.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

static int64_t sizeOr(DimContext &dims, DimExpr expr, int64_t otherwise) {
  expr = dims.resolve(expr);
  return expr.isConstant() ? expr.constant() : otherwise;
}

namespace {
/// What is known of a convolution before its tile is chosen.
struct ConvolutionForm {
  ConvolutionForm(KernelSpec &spec, ConvolutionOp op);

  ConvolutionOp op;
  ConvolutionShape shape;
  ProductForm product;
  int64_t panel, groups, groupIn, groupOut;
  int64_t pixelStride; // elements from one pixel to the next where tiles read
  int64_t pitch;       // channels of a group, whole steps of them
  bool flattened = false;
  bool inPlace; // the filter is read as [kh][kw][channels][O], or as [kh][kw][channels / 2][O][2]

  /// Whether rows may share accumulators of the last of a group's vectors.
  bool canShareLast(int64_t lanes) const {
    int64_t vectors = llvm::divideCeil(groupOut, lanes);
    return !inPlace && cpu::canShareLast(product, vectors, lanes, groupOut - (vectors - 1) * lanes);
  }
};

/// Rows and pixels of output, and vectors of channels.
struct ConvolutionTile {
  int64_t high, wide, vectors;
};

class ConvolutionEmitter : ConvolutionForm {
public:
  ConvolutionEmitter(KernelFunction &fn, ConvolutionOp op)
      : ConvolutionForm(fn.spec, op), fn(fn), b(fn.b), dims(fn.spec.dims), lanes(fn.spec.schedule().getLanes()),
        vectorType(VectorType::get({lanes}, typeOf(product.sum, b.getContext()))) {
    ArrayRef<int64_t> numbers = fn.spec.schedule().getTile();
    tile = {numbers[0], numbers[1], numbers[2]};
    masked = groupOut % lanes != 0;
  }
  EmittedKernel emit();

private:
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulIOp::create(b, x, y); }
  int64_t constantOr(DimExpr expr, int64_t otherwise) { return sizeOr(dims, expr, otherwise); }
  void emitPixels(int64_t high, int64_t wide, Value row, Value begin, Value end);
  /// `high` rows of `wide` pixels at (row, pixel), columns from `column` on within the group.
  void emitTile(int64_t high, int64_t wide, Value row, Value pixel);
  std::pair<Value, int64_t> nextPanel(Value row, Value pixel, int64_t steps, int64_t stepElements, int64_t grain);
  void prefetchResults(int64_t high, int64_t wide, Value row, Value pixel);
  Value placeInTiles(Value i);
  int64_t pixelsOfTile();
  void emitTiles(Value row, Value pixel);
  Value rowBase(Value row, Value pixel);
  SmallVector<LaneIndex> resultIndex(KernelElements &elements, Value row, Value pixel);
  Value columnMask(Value at, int64_t pack);

  KernelFunction &fn;
  ImplicitLocOpBuilder &b;
  DimContext &dims;
  int64_t lanes;
  VectorType vectorType;
  ConvolutionTile tile;
  bool masked;                   // the last vector of a group
  std::optional<TileSums> tiles; // of forms that multiply tiles
  // Of the chunk being emitted.
  int64_t vectors;
  bool isLastTile; // of a group's columns
  Value image, group, column, filterBase;
  Value blockBegin; // its first row, or pixel where it goes along a row
  bool alongRow;
  DimExpr blockLength;
  Value input, inputBase, inputRow0; // inputBase addresses (row inputRow0, pixel 0, first channel of the group)
};
} // namespace

ConvolutionForm::ConvolutionForm(KernelSpec &spec, ConvolutionOp op) : op(op), shape(spec, op) {
  std::string refusal;
  product = *productFormOf(spec, op, refusal);
  panel = spec.target().panelBytes / widthOf(product.sum);
  groups = op.getGroups();
  groupIn = shape.channels / groups;
  groupOut = shape.outChannels / groups;
  inPlace = !isa<BlockArgument>(op.getFilter());
  pitch = product.paddedChannels(groupIn);
  shape.needsCopy |= product.copiesRows() || pitch != groupIn;
  pixelStride = shape.needsCopy ? pitch : shape.pixelPitch;
  // The pixels of a tile would share cache sets.
  if (shape.needsCopy && pixelStride * shape.strideW * widthOf(product.row) % 4096 == 0)
    pixelStride += spec.target().cacheLineBytes / widthOf(product.row);
  // A pointwise convolution walks all pixels as one row.
  if (shape.kernelH == 1 && shape.kernelW == 1 && shape.strideH == 1 && shape.strideW == 1 && !shape.needsCopy) {
    DimExpr one = spec.dims.constant(1);
    DimExpr pixels = spec.dims.mul(shape.images, spec.dims.mul(shape.height, shape.width));
    flattened = true;
    shape.images = shape.height = shape.outHeight = shape.paddedHeight = one;
    shape.width = shape.outWidth = shape.paddedWidth = pixels;
  }
}

/// What output pixel (row, pixel) reads first.
Value ConvolutionEmitter::rowBase(Value row, Value pixel) {
  Value rowElements = mul(fn.materialize(shape.paddedWidth), fn.index(pixelStride));
  Value inputRow = arith::SubIOp::create(b, mul(row, fn.index(shape.strideH)), inputRow0);
  return add(add(inputBase, mul(inputRow, rowElements)), mul(pixel, fn.index(shape.strideW * pixelStride)));
}

Value ConvolutionEmitter::columnMask(Value at, int64_t pack) {
  if (!masked)
    return nullptr;
  Value left = arith::SubIOp::create(b, mul(add(group, fn.index(1)), fn.index(groupOut)), at);
  return vector::CreateMaskOp::create(b, VectorType::get({lanes * pack}, b.getI1Type()),
                                      ValueRange{pack == 1 ? left : mul(left, fn.index(pack))});
}

SmallVector<LaneIndex> ConvolutionEmitter::resultIndex(KernelElements &elements, Value row, Value pixel) {
  Dims sizes = fn.spec.sizes->dims(op.getResult());
  SmallVector<LaneIndex> index(sizes.size(), elements.constant(0));
  if (flattened) {
    sizes.pop_back();
    for (auto [k, position] : llvm::enumerate(fn.delinearize(pixel, sizes)))
      index[k] = elements.uniform(position);
    return index;
  }
  index[0] = elements.uniform(image);
  index[sizes.size() - 2] = elements.uniform(pixel);
  if (sizes.size() == 4)
    index[1] = elements.uniform(row);
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
    Value rowElements = mul(fn.materialize(shape.paddedWidth), fn.index(pixelStride));
    fn.loop(fn.index(0), fn.index(shape.kernelH), 1, [&](Value kh) {
      fn.loop(fn.index(0), fn.index(runs), 1, [&](Value kw) {
        fn.loop(fn.index(0), fn.index(steps), part, [&](Value from) {
          Value inputOffset =
              add(mul(mul(kh, fn.index(shape.dilationH)), rowElements),
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

/// Filters come from beyond the second-level cache, as those of other kernels have been there since. Each tile of a
/// block asks for its part of the panel of the next columns, where both fit that cache beside the pixels: from which
/// element on, null where it asks for none, and how many a step, whole `grain`s of them.
std::pair<Value, int64_t> ConvolutionEmitter::nextPanel(Value row, Value pixel, int64_t steps, int64_t stepElements,
                                                        int64_t grain) {
  DimExpr along = alongRow ? blockLength : shape.outWidth;
  int64_t tilesOfRow = llvm::divideCeil(constantOr(along, 0), tile.wide);
  int64_t tilesOfBlock = (alongRow ? 1 : llvm::divideCeil(constantOr(blockLength, 0), tile.high)) * tilesOfRow;
  bool fits = 2 * steps * stepElements * widthOf(product.b) <= fn.spec.target().l2Bytes * 3 / 4;
  if (inPlace || tile.vectors * lanes != panel || !fits || tilesOfBlock == 0 || stepElements < tilesOfBlock * grain)
    return {};
  auto stride = static_cast<int64_t>(llvm::alignTo(llvm::divideCeil(stepElements, tilesOfBlock), grain));
  // The last tile reaches back over pixels of the one before it.
  auto numberOf = [&](Value place, Value begin, int64_t size) -> Value {
    Value last = add(arith::SubIOp::create(b, place, begin), fn.index(size - 1));
    return arith::DivUIOp::create(b, last, fn.index(size));
  };
  Value number = numberOf(pixel, alongRow ? blockBegin : fn.index(0), tile.wide);
  if (!alongRow)
    number = add(mul(numberOf(row, blockBegin, tile.high), fn.index(tilesOfRow)), number);
  Value share = mul(number, fn.index(stride * steps));
  return {add(add(filterBase, fn.index(steps * stepElements)), share), stride};
}

/// Of a tile at (row, pixel): what its epilogue reads and writes.
void ConvolutionEmitter::prefetchResults(int64_t high, int64_t wide, Value row, Value pixel) {
  SmallVector<Value> places;
  Value firstRow = add(mul(image, fn.materialize(shape.outHeight)), row),
        firstColumn = add(mul(group, fn.index(groupOut)), column);
  for (int64_t r = 0; r < high; ++r) {
    Value first = add(mul(add(firstRow, fn.index(r)), fn.materialize(shape.outWidth)), pixel);
    for (int64_t i = 0; i < wide; ++i)
      places.push_back(add(mul(add(first, fn.index(i)), fn.index(shape.outChannels)), firstColumn));
  }
  prefetchEpilogue(fn, op, places, vectors, lanes);
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

void ConvolutionEmitter::emitTile(int64_t high, int64_t wide, Value row, Value pixel) {
  Value rowElements = mul(fn.materialize(shape.paddedWidth), fn.index(pixelStride));
  SmallVector<Value> rowBases;
  for (int64_t r = 0; r < high; ++r)
    rowBases.push_back(rowBase(add(row, fn.index(r)), pixel));
  // (kw, channel) is one run when nothing lies between the channels of neighbouring taps.
  bool oneRun = shape.kernelW == 1 || (shape.dilationW == 1 && pixelStride == pitch);
  int64_t tapSteps = pitch / product.kPack, runLength = oneRun ? shape.kernelW * tapSteps : tapSteps;
  int64_t runs = oneRun ? 1 : shape.kernelW;
  int64_t perPanel = panel / lanes;
  int64_t step = (inPlace ? shape.outChannels : panel) * product.kPack; // of the filter
  int64_t rowFilter = shape.kernelW * tapSteps * step, header = product.headers() * step;
  auto aheadOf = [&](int64_t j) {
    return inPlace ? j * lanes * product.kPack
                   : j / perPanel * (header + shape.kernelH * rowFilter) + j % perPanel * lanes * product.kPack;
  };
  Value groupColumn = add(mul(group, fn.index(groupOut)), column);

  auto [ahead, aheadStride] = nextPanel(row, pixel, shape.kernelH * runs * runLength, step, 1);
  prefetchResults(high, wide, row, pixel);
  bool sharesLast = isLastTile && vectors > 1 && high * wide % 2 == 0 && canShareLast(lanes);

  auto run = [&](Value kh, Value kw, Value from, Value to, ValueRange sums) {
    MicroOperands operands(product);
    operands.sharesLast = sharesLast;
    operands.a = input;
    if (product.kPack > 1)
      operands.aStride = fn.index(product.kPack);
    operands.b = fn.input(filterInput(op).getArgNumber());
    operands.bStride = fn.index(step);
    // Rows of many channels lie pages apart, where no hardware prefetches; panels that the first-level cache does not
    // keep come from the second for each tile.
    if (inPlace && step * widthOf(product.b) >= 1024)
      operands.prefetchRows = 16;
    else if (!inPlace && shape.kernelH * rowFilter * widthOf(product.b) > fn.spec.target().l1Bytes)
      operands.prefetchRows = 128;
    operands.aheadStride = aheadStride;
    if (ahead) {
      Value first = mul(kh, fn.index(runs));
      first = mul(kw ? add(first, kw) : first, fn.index(runLength * aheadStride));
      operands.ahead = add(ahead, first);
    }
    Value inputOffset = mul(mul(kh, fn.index(shape.dilationH)), rowElements);
    Value filterOffset = mul(kh, fn.index(rowFilter));
    if (kw) {
      inputOffset = add(inputOffset, mul(kw, fn.index(shape.dilationW * pixelStride)));
      filterOffset = add(filterOffset, mul(kw, fn.index(tapSteps * step)));
    }
    for (int64_t r = 0; r < high; ++r)
      for (int64_t i = 0; i < wide; ++i)
        operands.aRows.push_back(add(add(rowBases[r], fn.index(i * shape.strideW * pixelStride)), inputOffset));
    for (int64_t j = 0; j < vectors; ++j) {
      operands.bVectors.push_back(add(add(filterBase, filterOffset), fn.index(header + aheadOf(j))));
      if (inPlace)
        operands.bMasks.push_back(columnMask(add(groupColumn, fn.index(j * lanes)), product.kPack));
    }
    return emitMicroKernel(fn, operands, vectorType, from, to, sums);
  };

  // Over (kh, kw, part of a run); what is of size 1 is no loop.
  int64_t block = product.sumsByBlocks() ? product.stepsOfBlock(kProductBlock) : kNoBlocks;
  int64_t parts = product.sumsByBlocks() ? llvm::divideCeil(runLength, block) : 1,
          perPart = llvm::divideCeil(runLength, parts);
  int64_t sizes[] = {shape.kernelH, runs, parts};
  SmallVector<SummedAxis> axes;
  for (int64_t size : sizes)
    if (size != 1)
      axes.push_back(summedAxis(fn, dims.constant(size)));
  SmallVector<Value> starts = zeroAccumulators(fn, vectorType, tileAccumulators(high * wide, vectors, sharesLast));
  for (int64_t j = 0; product.headers() && j < vectors; ++j) {
    auto type = VectorType::get({lanes * product.kPack}, typeOf(product.b, b.getContext()));
    Value start = vector::LoadOp::create(b, type, fn.input(filterInput(op).getArgNumber()),
                                         ValueRange{add(filterBase, fn.index(aheadOf(j)))});
    start = vector::BitCastOp::create(b, vectorType, start);
    for (int64_t i = 0; i < high * wide; ++i)
      starts[i * vectors + j] = start;
  }
  SmallVector<Value> sums = sumNest(
      fn, axes, perPart, block, starts, [&](Value x, Value y) { return joinFloats(b, x, y); },
      [&](ArrayRef<Value> at, ValueRange carried) -> SmallVector<Value> {
        Value kh = fn.index(0), kw, from = fn.index(0), to = fn.index(runLength);
        if (shape.kernelH != 1)
          kh = at.consume_front();
        if (runs != 1)
          kw = at.consume_front();
        if (parts != 1) {
          from = mul(at.front(), fn.index(perPart));
          to = arith::MinSIOp::create(b, add(from, fn.index(perPart)), to);
        }
        return run(kh, kw, from, to, carried);
      });

  if (sharesLast)
    sums = unshareLast(fn, sums, high * wide, vectors, vectorType);
  emitTileEpilogue(
      fn, op.getResult(), sums, high * wide, vectors, vectorType,
      [&](KernelElements &elements, Value i) {
        Value up = high == 1 ? fn.index(0) : arith::DivUIOp::create(b, i, fn.index(wide)).getResult();
        Value along = high == 1 ? i : arith::RemUIOp::create(b, i, fn.index(wide)).getResult();
        return resultIndex(elements, add(row, up), add(pixel, along));
      },
      groupColumn, [&](Value at) { return columnMask(at, 1); });
}

/// Tiles of `high` rows from `row` on, over the pixels [begin, end).
void ConvolutionEmitter::emitPixels(int64_t high, int64_t wide, Value row, Value begin, Value end) {
  if (tiles) {
    Value lastStart = fn.materialize(dims.max(dims.constant(0), dims.sub(shape.outWidth, dims.constant(wide))));
    fn.loop(begin, end, wide, [&](Value x) { emitTiles(row, arith::MinSIOp::create(b, x, lastStart)); });
    return;
  }
  if (int64_t outWidth = constantOr(shape.outWidth, ShapedType::kDynamic); outWidth != ShapedType::kDynamic) {
    Value lastStart = fn.index(outWidth - wide);
    fn.loop(begin, end, wide, [&](Value x) { emitTile(high, wide, row, arith::MinSIOp::create(b, x, lastStart)); });
    return;
  }
  Value size = fn.materialize(shape.outWidth);
  Value enough = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, size, fn.index(wide));
  auto branch = scf::IfOp::create(b, enough, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Value lastStart = arith::SubIOp::create(b, size, fn.index(wide));
  fn.loop(begin, end, wide, [&](Value x) { emitTile(high, wide, row, arith::MinSIOp::create(b, x, lastStart)); });
  b.setInsertionPointToStart(branch.elseBlock());
  Value x = begin;
  for (int64_t step : {8, 4, 2, 1}) {
    if (step >= wide)
      continue;
    Value left = arith::SubIOp::create(b, end, x);
    Value stop = add(x, mul(arith::DivUIOp::create(b, left, fn.index(step)), fn.index(step)));
    fn.loop(x, stop, step, [&](Value at) { emitTile(high, step, row, at); });
    x = stop;
  }
}

/// Rows of a narrow image that a tile of matrix units holds: pixels of a tile are equally far apart, so with a stride
/// of 1 those of several rows are one run of padded pixels.
static int64_t rowsOfTile(DimContext &dims, const ConvolutionShape &shape, int64_t outWidth) {
  int64_t paddedWidth = sizeOr(dims, shape.paddedWidth, 0);
  if (shape.strideH != 1 || shape.strideW != 1 || paddedWidth == 0 || outWidth > kTileRows)
    return 1;
  return static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>((kTileRows - outWidth) / paddedWidth + 1)));
}

/// `vectors` is how many of them a group's channels fill.
static ConvolutionTile chooseTileShape(KernelSpec &spec, const ConvolutionForm &form, int64_t vectors, int64_t lanes) {
  int64_t outWidth = sizeOr(spec.dims, form.shape.outWidth, ShapedType::kDynamic),
          outHeight = sizeOr(spec.dims, form.shape.outHeight, ShapedType::kDynamic);
  if (form.product.isTiled()) {
    bool isNarrow = outWidth != ShapedType::kDynamic && outWidth <= kTileRows;
    int64_t high = 1;
    if (isNarrow && outHeight != ShapedType::kDynamic && outHeight >= 2)
      high = 2 * std::min(rowsOfTile(spec.dims, form.shape, outWidth),
                          static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>(outHeight / 2))));
    RegisterTile chosen = chooseTileOfTiles(outWidth, vectors);
    return {high, chosen.rows, chosen.vectors};
  }
  int64_t width = widthOf(form.shape.needsCopy ? form.product.row : form.product.a);
  bool conflicting = form.pixelStride * form.shape.strideW * width % 4096 == 0, shares = form.canShareLast(lanes);
  constexpr int64_t many = 1 << 20;
  int64_t parts = form.product.parts(), ways = spec.target().l1Ways;
  int64_t highest = chooseTile(spec.target(), many, vectors, false, parts, shares).rows;
  // Ways that hold most of the rows suffice: wide, low tiles would read the filter more often.
  bool suffice = 4 * ways >= 3 * highest;
  auto choose = [&](int64_t rows) {
    return chooseTile(spec.target(), rows, vectors, conflicting, parts, shares, suffice);
  };
  RegisterTile tile = choose(outWidth);
  if (outWidth == ShapedType::kDynamic || outWidth > tile.rows || outHeight == ShapedType::kDynamic)
    return {1, tile.rows, tile.vectors};
  // Narrow images: a tile takes several rows.
  RegisterTile most = choose(outWidth * outHeight);
  int64_t mostHigh =
      std::clamp<int64_t>(most.rows / std::max<int64_t>(outWidth, 1), 1, std::max<int64_t>(outHeight, 1));
  // The last tile overlaps the one before it: take the height that computes the fewest rows twice.
  int64_t high = mostHigh;
  for (int64_t rows = mostHigh; rows > 0; --rows)
    if (llvm::divideCeil(outHeight, rows) * rows < llvm::divideCeil(outHeight, high) * high)
      high = rows;
  return {high, std::max<int64_t>(outWidth, 1), high > 1 ? most.vectors : tile.vectors};
}

/// Multiply-adds of a chunk: as many chunks as threads may share, unless a chunk would take no longer than waking a
/// thread costs, or copy more than a quarter of its rows for a neighbour's, too.
static int64_t chooseChunk(KernelSpec &spec, const ConvolutionForm &form, const ConvolutionTile &tile, int64_t lanes) {
  const CostModel &costs = spec.costs();
  DimContext &dims = spec.dims;
  const ConvolutionShape &shape = form.shape;
  int64_t taps = shape.kernelH * shape.kernelW * form.groupIn;
  int64_t results = sizeOr(dims, dims.mul(shape.images, dims.mul(shape.outHeight, shape.outWidth)), 0);
  if (results == 0)
    return costs.convolutionMacs;
  int64_t all = results * shape.outChannels * taps;
  auto least = static_cast<int64_t>(4 * costs.inlineNs * macsPerNs(costs, form.product));
  if (shape.needsCopy) {
    int64_t shared = std::max<int64_t>((shape.kernelH - 1) * shape.dilationH + 1 - shape.strideH, 0);
    int64_t rows = llvm::divideCeil(4 * shared, shape.strideH);
    least = std::max(least, rows * sizeOr(dims, shape.outWidth, 1) * tile.vectors * lanes * taps);
  }
  int64_t most = costs.convolutionMacs;
  bool isTiled = form.product.isTiled();
  int64_t filterBytes = shape.outChannels * taps * widthOf(form.product.b);
  if (isTiled || (!shape.needsCopy && filterBytes <= spec.target().l2Bytes / 4)) {
    // Sums of few products, and those of tiles, are no longer computed than stored: the columns of a block follow each
    // other while what lies where its results do is in the second-level cache.
    int64_t pixelBytes = 0;
    for (Type type : spec.kernel.getResultTypes())
      pixelBytes += shape.outChannels * byteWidth(getElementTypeOrSelf(type));
    if (!isTiled)
      for (BlockArgument argument : spec.body().getArguments())
        if (spec.sizes->sameShape(argument, ConvolutionOp(form.op).getResult()))
          pixelBytes += shape.outChannels * byteWidth(getElementTypeOrSelf(argument.getType()));
    int64_t pixels = spec.target().l2Bytes / 16 / std::max<int64_t>(pixelBytes, 1);
    pixels = std::max(pixels, isTiled ? 2 * kTileRows : tile.high * tile.wide);
    most = std::min(most, pixels * tile.vectors * lanes * taps);
    if (isTiled && !shape.needsCopy)
      least = 0;
  }
  return std::clamp(all / costs.parallelChunks, std::min(least, most), most);
}

Plan sinter::cpu::planConvolution(KernelSpec &spec, ScheduleAttr given) {
  Plan plan = planFilter(spec);
  if (!plan.takes())
    return plan;
  ConvolutionOp op = convolutionOf(spec);
  if (isDepthwise(op))
    return Plan::refuse("it is depthwise, for which the emitter of that name is");
  ConvolutionForm form(spec, op);
  int64_t lanes = lanesOr(given, plan.lanes.chosen);
  int64_t vectors = llvm::divideCeil(form.groupOut, lanes);
  ConvolutionTile tile = chooseTileShape(spec, form, vectors, lanes);
  bool isTiled = form.product.isTiled();
  auto most = [&](DimExpr size, int64_t chosen, int64_t otherwise, int64_t rows) {
    return std::max(chosen, std::clamp<int64_t>(sizeOr(spec.dims, size, otherwise), 1, rows));
  };
  int64_t widest = isTiled ? 2 * kTileRows : kMostTileRows, mostVectors = isTiled ? 2 : kMostTileVectors;
  plan.addTile(tile.high, isTiled ? tile.high : most(form.shape.outHeight, tile.high, 1, kMostTileRows));
  if (isTiled) // half of the rows in each tile of matrix units
    plan.tile.back().divides = tile.high;
  plan.addTile(tile.wide, most(form.shape.outWidth, tile.wide, widest, widest));
  plan.addTile(tile.vectors, std::max(tile.vectors, std::min(vectors, mostVectors)), mostVectors);
  plan.setChunk(chooseChunk(spec, form, tile, lanes));
  return plan;
}

EmittedKernel ConvolutionEmitter::emit() {
  int64_t panels = llvm::divideCeil(groupOut, panel);
  int64_t high = tile.high, wide = tile.wide;
  int64_t tileColumns = tile.vectors * lanes;
  int64_t columnTiles = llvm::divideCeil(groupOut, tileColumns);
  int64_t taps = shape.kernelH * shape.kernelW * groupIn;
  DimExpr one = dims.constant(1);
  // A block is output rows, or a run of pixels when there is one row only.
  alongRow = constantOr(shape.outHeight, ShapedType::kDynamic) == 1;
  DimExpr unit = alongRow ? dims.constant(wide) : dims.mul(dims.constant(high), shape.outWidth);
  DimExpr units = dims.max(
      one, dims.floorDiv(dims.constant(std::max<int64_t>(1, fn.spec.schedule().getChunk() / (tileColumns * taps))),
                         dims.max(unit, one)));
  // Blocks of one size: threads would wait for a large one behind a small one.
  DimExpr walked = alongRow ? shape.outWidth : shape.outHeight, perUnit = dims.constant(alongRow ? wide : high);
  DimExpr allUnits = dims.max(one, dims.ceilDiv(walked, perUnit));
  units = dims.ceilDiv(allUnits, dims.ceilDiv(allUnits, units));
  blockLength = dims.mul(units, perUnit);
  // The copy of one row serves the whole row: splitting it would repeat the copy.
  if (alongRow && shape.needsCopy)
    blockLength = dims.max(walked, one);
  DimExpr blocks = dims.ceilDiv(walked, blockLength);
  // Rows of padded input that a block reads.
  DimExpr inputRows =
      alongRow ? dims.constant((shape.kernelH - 1) * shape.dilationH + 1)
               : dims.add(dims.mul(dims.sub(dims.min(blockLength, walked), one), dims.constant(shape.strideH)),
                          dims.constant((shape.kernelH - 1) * shape.dilationH + 1));
  // A block's last tile that reaches back reads up to `high - 1` output rows more.
  if (!alongRow)
    inputRows = dims.add(inputRows, dims.constant((high - 1) * shape.strideH));
  DimExpr copyElements = dims.mul(inputRows, dims.mul(shape.paddedWidth, dims.constant(pixelStride)));
  // Vectors of the copy that few channels fill, too.
  int64_t copied = lanes;
  if (product.step != ProductForm::Step::fused)
    copied = std::min(fn.spec.target().lanes(std::max(widthOf(product.a), widthOf(product.row))),
                      static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>(groupIn))));

  unsigned inputNumber = convolvedInput(op).getArgNumber();
  Value source = fn.input(inputNumber), copy;
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
  Value blockCount = fn.materialize(blocks), walkedSize = fn.materialize(walked);
  Value imageElements = mul(mul(fn.materialize(shape.height), fn.materialize(shape.width)), fn.index(shape.pixelPitch));

  fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
    Value rest = chunk;
    auto take = [&](Value count) {
      Value quotient = arith::DivUIOp::create(b, rest, count);
      Value digit = arith::SubIOp::create(b, rest, mul(quotient, count));
      rest = quotient;
      return digit;
    };
    Value columnTile = take(fn.index(columnTiles));
    Value block = take(blockCount);
    group = take(fn.index(groups));
    image = rest;
    column = mul(columnTile, fn.index(tileColumns));
    if (inPlace) {
      filterBase = add(mul(group, fn.index(groupOut)), column);
      if (product.kPack > 1)
        filterBase = mul(filterBase, fn.index(product.kPack));
    } else {
      Value panelIndex = add(mul(group, fn.index(panels)), arith::DivUIOp::create(b, column, fn.index(panel)));
      Value inPanel = arith::RemUIOp::create(b, column, fn.index(panel));
      if (product.kPack > 1)
        inPanel = mul(inPanel, fn.index(product.kPack));
      int64_t steps = product.headers() + shape.kernelH * shape.kernelW * (pitch / product.kPack);
      filterBase = add(mul(panelIndex, fn.index(steps * panel * product.kPack)), inPanel);
    }

    Value low = blockBegin = mul(block, fn.materialize(blockLength));
    Value high_ = arith::MinSIOp::create(b, add(low, fn.materialize(blockLength)), walkedSize);
    Value imageBase = mul(image, imageElements);
    Value channelBegin = mul(group, fn.index(groupIn));
    // The last tile of a block may reach back over the block's begin; the copy starts at the first row that any tile
    // reads.
    Value firstRow = alongRow ? fn.index(0) : low;
    if (!alongRow && high > 1) {
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
      auto make = scf::IfOp::create(b, arith::OrIOp::create(b, isFirst, isOther), /*withElseRegion=*/false);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(make.thenBlock());
      emitPaddedRows(fn, shape, source, imageBase, copy, inputBase, inputRow0, rows, channelBegin, groupIn, pixelStride,
                     copied, product);
    } else {
      input = source;
      inputBase = add(imageBase, channelBegin);
      inputRow0 = fn.index(0);
    }

    auto walk = [&](int64_t tileVectors, bool isLast) {
      vectors = tileVectors;
      isLastTile = isLast;
      if (alongRow)
        return emitPixels(1, wide, fn.index(0), low, high_);
      Value lastStart = arith::SubIOp::create(b, walkedSize, fn.index(high));
      fn.loop(low, high_, high, [&](Value row) {
        Value start = high == 1 ? row : arith::MinSIOp::create(b, row, lastStart).getResult();
        emitPixels(high, wide, start, fn.index(0), fn.materialize(shape.outWidth));
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
  emitted.chunks = dims.mul(dims.mul(shape.images, dims.constant(groups * columnTiles)), blocks);
  if (shape.needsCopy)
    emitted.workspaceBytes = dims.mul(dims.mul(emitted.chunks, copyElements), dims.constant(widthOf(product.row)));
  if (int64_t outputs = constantOr(dims.mul(shape.images, dims.mul(shape.outHeight, shape.outWidth)), 0))
    emitted.estimatedNs = static_cast<double>(outputs) * shape.outChannels * taps / macsPerNs(fn.spec.costs(), product);
  return emitted;
}

EmittedKernel sinter::cpu::emitConvolution(KernelSpec &spec, ModuleOp module, StringRef name) {
  ConvolutionOp op = convolutionOf(spec);
  KernelFunction fn(spec, module, name, {.workspace = ConvolutionForm(spec, op).shape.needsCopy});
  return ConvolutionEmitter(fn, op).emit();
}

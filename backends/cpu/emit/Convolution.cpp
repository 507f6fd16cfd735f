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
// The chunks are here; tiles of pixels are in ConvolutionTiles.cpp.
//
// A third axis, the depth, is one more loop around that over kh: over the planes of the filter that lie inside.
//
//   chunk     one plane of one image, one group, a block of output rows, one tile of output channels

#include "backends/cpu/emit/ConvolutionEmitter.h"
#include "backends/cpu/emit/OpenTiles.h"
#include "backends/cpu/emit/Packing.h"
#include "ir/Contraction.h"
#include "ir/Shape.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// From one plane to the next of the input.
Value ConvolutionEmitter::planeElements() {
  return mul(mul(fn.materialize(shape.height), fn.materialize(shape.width)), fn.index(shape.pixelPitch));
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

/// Pixels of a tile of matrix units, of which there are two, each with half of the rows.
int64_t ConvolutionEmitter::pixelsOfTile() {
  int64_t between = tile.high > 2 ? (tile.high / 2 - 1) * constantOr(shape.paddedWidth, 0) : 0;
  return between + tile.wide;
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
      panelBase = mul(panelIndex, fn.index(runs.panel));
      filterBase = add(panelBase, inPanel);
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

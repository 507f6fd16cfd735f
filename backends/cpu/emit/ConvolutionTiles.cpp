// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of a convolution's pixels (Convolution.cpp has the chunks): the taps that a tile multiplies, what it asks for
// ahead, and what follows its sums. Those of matrix units are here, too (emitTiles).

#include "backends/cpu/emit/ConvolutionEmitter.h"
#include "ir/Contraction.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

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
  return inPlace || channelLanes ? j * lanes * product.kPack
                                 : j / perPanel * runs.panel + j % perPanel * lanes * product.kPack;
}

/// Where the order of the panel of vector `j` is, at the step that lies `filterOffset` behind the first one.
Value ConvolutionEmitter::orderAt(int64_t j, Value filterOffset) {
  int64_t first = j / (panel / lanes) * runs.panel + product.flips * runs.step;
  Value behind = arith::DivUIOp::create(b, filterOffset, fn.index(panel));
  return add(add(panelBase, fn.index(first)), behind);
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
    if (product.group)
      operands.bOrders.push_back(j % (panel / lanes) ? operands.bOrders.back() : orderAt(j, filterOffset));
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
  operands.otherSums = static_cast<int64_t>(sums.size() - places.size());
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

/// Adds the products of the extra words of a tile's panels.
SmallVector<Value> ConvolutionEmitter::addExtraWords(const PixelTile &at, ValueRange sums) {
  Steps none{fn.index(0), fn.index(0), fn.index(0), fn.index(0), fn.index(0)};
  Value unused;
  MicroOperands operands = filterAt({at.high, at.wide, at.row, at.pixel}, none, unused);
  for (Value base : at.rowBases)
    for (int64_t i = 0; i < at.wide; ++i)
      operands.aRows.push_back(add(base, fn.index(i * shape.strideW * pixelStride)));
  auto split = [&](Value place, int64_t size) {
    return std::pair(arith::DivUIOp::create(b, place, fn.index(size)).getResult(),
                     arith::RemUIOp::create(b, place, fn.index(size)).getResult());
  };
  Value words = fn.index(filterRows() * runs.rowFilter / runs.step);
  return emitExtraWords(fn, operands, vectorType, words, sums, [&](Value k) {
    auto [tap, channel] = split(k, pitch);
    auto [filterRow, kw] = split(tap, shape.kernelW);
    auto [kd, kh] = split(filterRow, shape.kernelH);
    Value offset = add(channel, mul(kw, fn.index(shape.dilationW * pixelStride)));
    offset = add(offset, mul(mul(kh, fn.index(shape.dilationH)), rowElements()));
    return shape.kernelD == 1 ? offset : add(offset, mul(mul(kd, fn.index(shape.dilationD)), planeElements()));
  });
}

/// What sums begin with: zeros, or what stands in front of the panels.
SmallVector<Value> ConvolutionEmitter::startsOf(const PixelTile &at) {
  int64_t pixels = at.high * at.wide;
  SmallVector<Value> starts = zeroAccumulators(fn, vectorType, tileAccumulators(pixels, vectors, at.sharesLast));
  for (int64_t j = 0; product.flips && j < vectors; ++j) {
    auto type = VectorType::get({lanes * product.kPack}, typeOf(product.b, b.getContext()));
    Value start = vector::LoadOp::create(b, type, fn.input(filterInput(op).getArgNumber()),
                                         ValueRange{add(filterBase, fn.index(vectorOffset(j)))});
    start = vector::BitCastOp::create(b, vectorType, start);
    for (int64_t i = 0; i < pixels; ++i)
      starts[i * vectors + j] = start;
  }
  return product.extras ? addExtraWords(at, starts) : starts;
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

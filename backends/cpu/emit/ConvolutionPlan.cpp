// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/ConvolutionPlan.h"
#include "backends/cpu/emit/MicroKernel.h"
#include "backends/cpu/emit/Tiles.h"
#include "ir/Contraction.h"
#include "ir/Shape.h"
#include "ir/SizeArithmetic.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

ConvolutionForm::ConvolutionForm(KernelSpec &spec, ConvolutionOp op) : op(op), shape(spec, op) {
  std::string refusal;
  product = *productFormOf(spec, op, refusal);
  panel = spec.target().panelBytes / widthOf(product.sum);
  groups = op.getGroups();
  groupIn = shape.channels / groups;
  groupOut = shape.outChannels / groups;
  channelLanes = channelLanesOf(spec.target(), op, product);
  if (channelLanes) {
    groups = llvm::divideCeil(groups, channelLanes->groups);
    groupIn *= channelLanes->groups;
    groupOut *= channelLanes->groups;
  }
  inPlace = !isa<BlockArgument>(op.getFilter());
  pitch = product.paddedChannels(groupIn);
  shape.needsCopy |= product.copiesRows() || pitch != groupIn;
  skips = false;
  skips = canSkip(spec.target());
  shape.needsCopy &= !skips;
  pixelStride = shape.needsCopy ? pitch : shape.pixelPitch;
  // The pixels of a tile would share cache sets.
  if (shape.needsCopy && pixelStride * shape.strideW * widthOf(product.row) % 4096 == 0)
    pixelStride += spec.target().cacheLineBytes / widthOf(product.row);
  if (!shape.images.isConstant())
    openImages = shape.images;
  // A pointwise convolution walks all pixels as one row.
  if (shape.kernelH == 1 && shape.kernelW == 1 && shape.strideH == 1 && shape.strideW == 1 && !shape.needsCopy &&
      !skips) {
    DimExpr one = spec.dims.constant(1);
    DimExpr pixels = spec.dims.mul(shape.height, shape.width);
    if (shape.kernelD == 1) {
      pixels = spec.dims.mul(shape.images, pixels);
      shape.images = one;
    }
    flattened = true;
    shape.height = shape.outHeight = shape.paddedHeight = one;
    shape.width = shape.outWidth = shape.paddedWidth = pixels;
  }
}

/// Three vectors of half the width hold what would leave half of the second of two empty.
int64_t ConvolutionForm::columnLanes(const Target &target) const {
  int64_t most = target.lanes(widthOf(product.sum)), vectors = llvm::divideCeil(groupOut, most);
  bool isLastHalf = vectors == 2 && cpu::canShareLast(product, vectors, most, groupOut - most);
  return target.hasHalfUnits && isLastHalf ? most / 2 : most;
}

bool ConvolutionForm::canShareLast(int64_t lanes) const {
  int64_t vectors = llvm::divideCeil(groupOut, lanes);
  return !inPlace && !skips && !channelLanes &&
         cpu::canShareLast(product, vectors, lanes, groupOut - (vectors - 1) * lanes);
}

DimExpr ConvolutionForm::pixels(DimContext &dims) const {
  DimExpr ofImage = dims.mul(dims.constant(shape.outDepth), dims.mul(shape.outHeight, shape.outWidth));
  return dims.resolve(dims.mul(shape.images, ofImage));
}

std::optional<int64_t> ConvolutionForm::knownPixels(DimContext &dims) const {
  DimExpr all = pixels(dims);
  bool isKnown = true;
  DimContext::forEachSymbol(all, [&](unsigned symbol) {
    isKnown &= openImages && openImages.kind() == DimExpr::Kind::Symbol && openImages.symbol() == symbol;
  });
  if (!isKnown)
    return std::nullopt;
  return evaluateSize(dims, all, [](DimExpr) { return 1; });
}

int64_t ConvolutionForm::sumLength() const {
  int64_t together = channelLanes ? channelLanes->groups : 1;
  return shape.kernelD * shape.kernelH * shape.kernelW * groupIn / together;
}

FilterRuns ConvolutionForm::filterRuns() const {
  FilterRuns runs;
  bool isOneRun = shape.kernelW == 1 || skips || tapsFollow();
  runs.inputStep = channelLanes ? channelLanes->lanes : product.kPack;
  runs.tapSteps = pitch / runs.inputStep;
  runs.count = isOneRun ? 1 : shape.kernelW;
  runs.length = isOneRun ? shape.kernelW * runs.tapSteps : runs.tapSteps;
  runs.step = channelLanes ? channelLanes->columns * channelLanes->lanes
                           : (inPlace ? shape.outChannels : panel) * product.kPack;
  runs.rowFilter = shape.kernelW * runs.tapSteps * runs.step;
  runs.header = product.headers(filterRows() * shape.kernelW * runs.tapSteps, panel) * runs.step;
  runs.panel = runs.header + filterRows() * runs.rowFilter + product.extras * runs.step;
  runs.block = product.sumsByBlocks() ? product.stepsOfBlock(kProductBlock) : kNoBlocks;
  runs.parts = product.sumsByBlocks() ? llvm::divideCeil(runs.length, runs.block) : 1;
  runs.perPart = llvm::divideCeil(runs.length, runs.parts);
  if (skips && runs.parts > 1 && runs.tapSteps <= runs.block) { // whole taps
    int64_t taps = llvm::divideCeil(shape.kernelW, llvm::divideCeil(shape.kernelW, runs.block / runs.tapSteps));
    runs.perPart = taps * runs.tapSteps;
    runs.parts = llvm::divideCeil(runs.length, runs.perPart);
  }
  return runs;
}

SmallVector<int64_t> ConvolutionForm::summedSizes(const FilterRuns &runs) const {
  SmallVector<int64_t> sizes = {shape.kernelD, shape.kernelH, runs.count, runs.parts};
  llvm::erase(sizes, 1);
  return sizes;
}

ConvolutionBlocks ConvolutionForm::blocksOf(DimContext &dims, const ConvolutionTile &tile, int64_t lanes,
                                            DimExpr chunk) const {
  ConvolutionBlocks blocks;
  DimExpr one = dims.constant(1);
  blocks.alongRow = constantOr(dims, shape.outHeight, ShapedType::kDynamic) == 1;
  DimExpr unit = blocks.alongRow ? dims.constant(tile.wide) : dims.mul(dims.constant(tile.high), shape.outWidth);
  DimExpr perResult = dims.constant(tileColumns(tile.vectors, lanes) * sumLength());
  DimExpr units = dims.max(one, dims.floorDiv(dims.max(one, dims.floorDiv(chunk, perResult)), dims.max(unit, one)));
  // Blocks of one size: threads would wait for a large one behind a small one.
  blocks.walked = blocks.alongRow ? shape.outWidth : shape.outHeight;
  DimExpr perUnit = dims.constant(blocks.alongRow ? tile.wide : tile.high);
  DimExpr allUnits = dims.max(one, dims.ceilDiv(blocks.walked, perUnit));
  units = dims.ceilDiv(allUnits, dims.ceilDiv(allUnits, units));
  blocks.length = dims.mul(units, perUnit);
  // The copy of one row serves the whole row: splitting it would repeat the copy.
  if (blocks.alongRow && shape.needsCopy)
    blocks.length = dims.max(blocks.walked, one);
  int64_t length = constantOr(dims, blocks.length, 0), width = constantOr(dims, shape.outWidth, 0),
          height = constantOr(dims, shape.outHeight, 0), tilesOfWidth = llvm::divideCeil(width, tile.wide);
  blocks.tilesOfRow = blocks.alongRow ? llvm::divideCeil(length, tile.wide) : tilesOfWidth;
  blocks.tiles = blocks.tilesOfRow * (blocks.alongRow ? 1 : llvm::divideCeil(length, tile.high));
  blocks.tilesOfImage = tilesOfWidth * (blocks.alongRow ? 1 : llvm::divideCeil(height, tile.high));
  return blocks;
}

/// Tiles that pay for bringing a panel, or a part of it.
constexpr int64_t kFewestTilesOfPanel = 4;

FilterParts ConvolutionForm::filterParts(const Target &target, const ConvolutionTile &tile, int64_t lanes,
                                         int64_t tiles) const {
  FilterParts parts;
  FilterRuns runs = filterRuns();
  int64_t stepBytes = tile.vectors * lanes * product.kPack * widthOf(product.b);
  int64_t steps = filterRows() * runs.count * runs.length;
  bool isPlain = !inPlace && !channelLanes && !product.isTiled() && product.sumsByBlocks();
  int64_t most = target.l2Bytes * 3 / 4, bytes = steps * stepBytes;
  bool streams = groupOut / (tile.vectors * lanes) * bytes > target.l2Bytes;
  if (!isPlain || tiles < kFewestTilesOfPanel || bytes <= (streams ? most / 2 : most))
    return parts;
  SmallVector<int64_t> sizes = summedSizes(runs);
  NestBlocks nested(sizes, runs.perPart, runs.block);
  int64_t fast = bytes <= most ? most / 4 : most / 2;
  for (size_t axis = 0; axis < nested.single() && (axis == 0 || steps * stepBytes > fast); ++axis) {
    bool isPartOfRun = runs.parts != 1 && axis + 1 == sizes.size();
    steps = isPartOfRun ? runs.perPart : steps / sizes[axis];
    parts.steps.push_back(steps);
  }
  if (!parts)
    return parts;
  int64_t size = sizes[parts.steps.size() - 1], fitting = std::clamp<int64_t>(fast / (steps * stepBytes), 1, size);
  parts.positions = llvm::divideCeil(size, llvm::divideCeil(size, fitting)); // parts of one size
  parts.placeElements = nested.levels() * tile.high * tile.wide * tile.vectors * lanes;
  return parts;
}

/// Multiply-adds of a chunk at least: it takes longer than waking a thread costs, and copies few rows that a neighbour
/// copies, too.
static DimExpr leastChunk(KernelSpec &spec, const ConvolutionForm &form, const ConvolutionTile &tile, int64_t lanes) {
  const CostModel &costs = spec.costs();
  DimContext &dims = spec.dims;
  const ConvolutionShape &shape = form.shape;
  DimExpr least = dims.constant(static_cast<int64_t>(4 * costs.inlineNs * macsPerNs(costs, form.product)));
  if (!shape.needsCopy)
    return least;
  int64_t shared = std::max<int64_t>((shape.kernelH - 1) * shape.dilationH + 1 - shape.strideH, 0);
  int64_t rows = llvm::divideCeil(4 * shared, shape.strideH);
  int64_t ofPixels = rows * form.tileColumns(tile.vectors, lanes) * form.sumLength();
  return dims.max(least, dims.mul(shape.outWidth, dims.constant(ofPixels)));
}

/// Multiply-adds of a chunk as the schedule has them; where the sizes are not known, of as many chunks as threads may
/// share.
static DimExpr chunkOf(KernelSpec &spec, const ConvolutionForm &form, const ConvolutionTile &tile, int64_t lanes) {
  DimContext &dims = spec.dims;
  DimExpr most = dims.constant(spec.schedule().getChunk());
  if (form.knownPixels(dims))
    return most;
  DimExpr all = dims.mul(form.pixels(dims), dims.constant(form.shape.outChannels * form.sumLength()));
  DimExpr share = dims.floorDiv(all, dims.constant(spec.costs().parallelChunks));
  return dims.min(most, dims.max(share, leastChunk(spec, form, tile, lanes)));
}

ScheduledConvolution::ScheduledConvolution(KernelSpec &spec, ConvolutionOp op)
    : ConvolutionForm(spec, op), lanes(spec.schedule().getLanes()), runs(filterRuns()) {
  ArrayRef<int64_t> numbers = spec.schedule().getTile();
  tile = {numbers[0], numbers[1], numbers[2]};
  blocks = blocksOf(spec.dims, tile, lanes, chunkOf(spec, *this, tile, lanes));
  parts = filterParts(spec.target(), tile, lanes, blocks.tiles);
}

/// The share of products of a padded axis that find an element of the image.
static double shareInside(int64_t size, int64_t results, int64_t taps, int64_t stride, int64_t dilation, int64_t low) {
  int64_t inside = 0;
  for (int64_t tap = 0; tap < taps; ++tap)
    for (int64_t i = 0; i < results; ++i)
      if (int64_t at = i * stride + tap * dilation - low; at >= 0 && at < size)
        ++inside;
  return static_cast<double>(inside) / static_cast<double>(std::max<int64_t>(results * taps, 1));
}

/// The share of products whose pixel is one of the image; 1 where sizes are not known.
static double liveShare(const ConvolutionShape &shape) {
  int64_t height = shape.height.staticSize(), outHeight = shape.outHeight.staticSize();
  int64_t width = shape.width.staticSize(), outWidth = shape.outWidth.staticSize();
  if (llvm::any_of(ArrayRef{height, outHeight, width, outWidth}, ShapedType::isDynamic))
    return 1;
  return shareInside(height, outHeight, shape.kernelH, shape.strideH, shape.dilationH, shape.lowH) *
         shareInside(width, outWidth, shape.kernelW, shape.strideW, shape.dilationW, shape.lowW);
}

/// Zeros around an image need no copy where each tap is one run of some channels and filters are so small that few
/// tiles reach beyond a row, or that few runs are written out for those that do.
bool ConvolutionForm::canSkip(const Target &target) const {
  constexpr int64_t mostTaps = ConvolutionShape::mostTaps, mostBorderTaps = 256;
  bool isPadding = shape.needsCopy && shape.fill == 0 && shape.inputDilationH == 1 && shape.inputDilationW == 1;
  bool isPlain = product.kPack == 1 && !product.copiesRows() && !product.isTiled();
  bool isKnown = !ShapedType::isDynamic(shape.width.staticSize()) && shape.outWidth.staticSize() > 0;
  if (!isPadding || !isPlain || pitch != groupIn || !isKnown)
    return false;
  int64_t borders =
      std::min(std::max<int64_t>(shape.lowW, 0) + std::max<int64_t>(shape.highW, 0), shape.outWidth.staticSize());
  bool follow = shape.dilationW == 1 && shape.pixelPitch == pitch;
  bool hasFewRuns = follow || shape.kernelW == 1 ? std::max(shape.lowW, shape.highW) < mostTaps
                                                 : shape.kernelW * borders <= mostBorderTaps;
  bool isSmall = std::max(shape.kernelH, shape.kernelW) <= mostTaps && hasFewRuns;
  bool walksRows = shape.kernelH > 1 || (shape.lowH <= 0 && shape.highH <= 0);
  // Pixels that share cache sets are copied further apart, unless many products of that would be with zeros, or those
  // of a row find ways beside what passes of the filter, which nothing asks for in advance.
  constexpr double leastLive = .75;
  int64_t width = shape.outWidth.staticSize(), perPanel = panel / target.lanes(widthOf(product.sum));
  bool findWays = product.step == ProductForm::Step::fused && width < target.l1Ways &&
                  heldVectors(target, product, width * perPanel, perPanel) < perPanel;
  bool conflicts =
      shape.pixelPitch * shape.strideW * widthOf(product.row) % 4096 == 0 && !findWays && liveShare(shape) >= leastLive;
  bool prefersCopy = conflicts || canShareLast(columnLanes(target));
  return isSmall && walksRows && groupIn >= ConvolutionShape::leastSkipped && (shape.kernelD > 1 || !prefersCopy);
}

/// Rows of a narrow image that a tile of matrix units holds: pixels of a tile are equally far apart, so with a stride
/// of 1 those of several rows are one run of padded pixels.
static int64_t rowsOfTile(DimContext &dims, const ConvolutionShape &shape, int64_t outWidth) {
  int64_t paddedWidth = constantOr(dims, shape.paddedWidth, 0);
  if (shape.strideH != 1 || shape.strideW != 1 || paddedWidth == 0 || outWidth > kTileRows)
    return 1;
  return static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>((kTileRows - outWidth) / paddedWidth + 1)));
}

/// Vectors of a tile that is wider than a packed panel: one of all columns need not begin where a panel does.
constexpr int64_t kVectorsBeyondPanel = 3;

/// `vectors` is how many of them a group's channels fill.
static ConvolutionTile chooseTileShape(KernelSpec &spec, const ConvolutionForm &form, int64_t vectors, int64_t lanes) {
  int64_t outWidth = constantOr(spec.dims, form.shape.outWidth, ShapedType::kDynamic),
          outHeight = constantOr(spec.dims, form.shape.outHeight, ShapedType::kDynamic);
  if (form.product.isTiled()) {
    bool isNarrow = outWidth != ShapedType::kDynamic && outWidth <= kTileRows;
    int64_t high = 1;
    if (isNarrow && outHeight != ShapedType::kDynamic && outHeight >= 2)
      high = 2 * std::min(rowsOfTile(spec.dims, form.shape, outWidth),
                          static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>(outHeight / 2))));
    RegisterTile chosen = chooseTileOfTiles(outWidth, vectors);
    return {high, chosen.rows, chosen.vectors};
  }
  if (form.channelLanes) {
    constexpr int64_t many = 1 << 20;
    int64_t columns = form.channelLanes->columns, wide = chooseChannelPixels(spec.target(), outWidth, columns);
    if (outWidth != wide || outHeight == ShapedType::kDynamic)
      return {1, wide, 1};
    int64_t most = chooseChannelPixels(spec.target(), many, columns);
    return {std::clamp<int64_t>(most / wide, 1, std::max<int64_t>(outHeight, 1)), wide, 1};
  }
  int64_t width = widthOf(form.shape.needsCopy ? form.product.row : form.product.a);
  bool conflicting = form.pixelStride * form.shape.strideW * width % 4096 == 0, shares = form.canShareLast(lanes);
  constexpr int64_t many = 1 << 20;
  bool masked = form.inPlace && form.groupOut % lanes != 0;
  TileLimits limits = limitsOf(form.product, vectors);
  limits.sharesLast = shares;
  limits.readsColumns = !masked && canReadColumns(spec.target(), form.product);
  int64_t highest = chooseTile(spec.target(), many, vectors, limits).rows, ways = spec.target().l1Ways;
  // Ways that hold most of the rows suffice: wide, low tiles would read the filter more often.
  bool suffice = 4 * ways >= 3 * highest;
  limits.conflicting = conflicting;
  limits.staysNarrow = suffice;
  limits.mayBeLower = !shares;
  auto choose = [&](int64_t rows) { return chooseTile(spec.target(), rows, vectors, limits); };
  RegisterTile tile = choose(outWidth);
  // Three vectors are one tile where that is faster than one of two and a narrow one.
  if (vectors == kVectorsBeyondPanel)
    tile = widenTile(spec.target(), tile, outWidth, kVectorsBeyondPanel, vectors, limits);
  if (outWidth == ShapedType::kDynamic || outWidth > tile.rows || outHeight == ShapedType::kDynamic)
    return {1, tile.rows, tile.vectors};
  // Narrow images: a tile takes several rows.
  RegisterTile most = choose(many);
  int64_t high = std::clamp<int64_t>(most.rows / std::max<int64_t>(outWidth, 1), 1, std::max<int64_t>(outHeight, 1));
  // Rows that are left of the last tile are multiplied one by one; each multiplication loads the filter once.
  auto cost = [&](int64_t rows) {
    return outHeight / rows * (rows * outWidth + 1) + outHeight % rows * (outWidth + 1);
  };
  for (int64_t rows = high; rows > 0; --rows)
    if (cost(rows) < cost(high))
      high = rows;
  return {high, std::max<int64_t>(outWidth, 1), high > 1 ? most.vectors : tile.vectors};
}

/// Results of a block whose panel fills more than half of the second-level cache, so that it comes from beyond it few
/// times: those of an image that fills up to half of it, else of as many rows (or pixels of one row) as read a quarter
/// of it.
static int64_t resultsOfPanel(KernelSpec &spec, const ConvolutionForm &form, const ConvolutionTile &tile) {
  DimContext &dims = spec.dims;
  const ConvolutionShape &shape = form.shape;
  int64_t outHeight = constantOr(dims, shape.outHeight, 0), outWidth = constantOr(dims, shape.outWidth, 0);
  int64_t height = constantOr(dims, shape.height, 0), width = constantOr(dims, shape.width, 0);
  int64_t pixelBytes = form.groupIn * widthOf(form.product.row), fast = spec.target().l2Bytes;
  if (shape.depth * height * width * pixelBytes <= fast / 2)
    return outHeight * outWidth;
  bool alongRow = outHeight == 1;
  int64_t taps = alongRow ? shape.kernelW : shape.kernelH, stride = alongRow ? shape.strideW : shape.strideH;
  int64_t dilation = alongRow ? shape.dilationW : shape.dilationH, size = alongRow ? outWidth : outHeight;
  int64_t lineBytes = shape.kernelD * pixelBytes * (alongRow ? 1 : width), step = alongRow ? tile.wide : tile.high;
  auto bytesRead = [&](int64_t lines) {
    int64_t ofTap = (lines - 1) * stride + 1;
    return (ofTap + (taps - 1) * std::min(dilation, ofTap)) * lineBytes;
  };
  int64_t lines = llvm::divideCeil(kFewestTilesOfPanel, alongRow ? 1 : llvm::divideCeil(outWidth, tile.wide)) * step;
  while (lines < size && bytesRead(lines + step) <= fast / 4)
    lines += step;
  return lines * (alongRow ? 1 : outWidth);
}

/// Multiply-adds of a chunk: as many chunks as threads may share, unless a chunk would take no longer than waking a
/// thread costs, or copy more than a quarter of its rows for a neighbour's, too.
static int64_t chooseChunk(KernelSpec &spec, const ConvolutionForm &form, const ConvolutionTile &tile, int64_t lanes) {
  const CostModel &costs = spec.costs();
  DimContext &dims = spec.dims;
  const ConvolutionShape &shape = form.shape;
  int64_t taps = form.sumLength(), columns = form.tileColumns(tile.vectors, lanes);
  int64_t all = form.knownPixels(dims).value_or(0) * shape.outChannels * taps;
  int64_t least = constantOr(dims, leastChunk(spec, form, tile, lanes), 0);
  int64_t most = costs.convolutionMacs;
  bool isTiled = form.product.isTiled();
  int64_t filterBytes = shape.outChannels * taps * widthOf(form.product.b);
  if (isTiled || (!shape.needsCopy && form.groups == 1 && filterBytes <= spec.target().l2Bytes / 4)) {
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
    most = std::min(most, pixels * columns * taps);
    if (isTiled && !shape.needsCopy)
      least = 0;
  }
  if (!isTiled && columns * taps * widthOf(form.product.b) > spec.target().l2Bytes / 2)
    most = std::max(most, resultsOfPanel(spec, form, tile) * columns * taps);
  return all == 0 ? most : std::clamp(all / costs.parallelChunks, std::min(least, most), most);
}

Plan sinter::cpu::planConvolution(KernelSpec &spec, ScheduleAttr given) {
  Plan plan = planFilter(spec);
  if (!plan.takes())
    return plan;
  ConvolutionOp op = convolutionOf(spec);
  if (isDepthwise(op))
    return Plan::refuse("it is depthwise, for which the emitter of that name is");
  ConvolutionForm form(spec, op);
  if (form.shape.kernelD > 1 && form.shape.needsCopy)
    return Plan::refuse("its input has to be copied, of which it needs several planes");
  if (form.channelLanes)
    plan.setLanes(form.channelLanes->lanes, form.channelLanes->lanes);
  else
    plan.setLanes(form.columnLanes(spec.target()), form.product.leastLanes());
  int64_t lanes = lanesOr(given, plan.lanes.chosen);
  int64_t vectors = form.channelLanes ? 1 : llvm::divideCeil(form.groupOut, lanes);
  ConvolutionTile tile = chooseTileShape(spec, form, vectors, lanes);
  bool isTiled = form.product.isTiled();
  auto most = [&](DimExpr size, int64_t chosen, int64_t otherwise, int64_t rows) {
    return std::max(chosen, std::clamp<int64_t>(constantOr(spec.dims, size, otherwise), 1, rows));
  };
  int64_t widest = isTiled ? 2 * kTileRows : kMostTileRows, mostVectors = isTiled ? 2 : kMostTileVectors;
  bool isHighFixed = isTiled || form.channelLanes;
  if (form.channelLanes)
    widest = std::max(tile.wide, spec.target().vectorRegisters / form.channelLanes->columns);
  plan.addTile(tile.high, isHighFixed ? tile.high : most(form.shape.outHeight, tile.high, 1, kMostTileRows));
  if (isTiled) // half of the rows in each tile of matrix units
    plan.tile.back().divides = tile.high;
  plan.addTile(tile.wide, most(form.shape.outWidth, tile.wide, widest, widest));
  plan.addTile(tile.vectors, std::max(tile.vectors, std::min(vectors, mostVectors)),
               tile.vectors == kVectorsBeyondPanel ? kVectorsBeyondPanel : mostVectors);
  plan.setChunk(chooseChunk(spec, form, tile, lanes));
  return plan;
}

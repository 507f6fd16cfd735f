// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Depthwise convolution, channels last: lanes are channels. A tile is a few output pixels of one channel vector; the
// inputs of one filter row are loaded once and used by every pixel that they touch.
//
//   chunk     one image, a few output rows (so that their input stays in the second-level cache), all channels, or some
//             where rows alone give few chunks: nothing is read twice for that
//   order     channel vectors, rows, pixels: the input rows of a channel vector stay in the first-level cache from one
//             output row to the next; rows, pixels, channel vectors where the filter has one row or pixels are long
//
// Zeros around an image of known width are not read: rows of the filter outside are left out, and the first and the
// last tile of a row leave out columns that are not there. Where taps lie so far apart that more tiles reach them, the
// tiles of a row are cut where a tap enters or leaves the image. Otherwise a chunk copies its rows first, padded.

#include "backends/cpu/emit/BlockSums.h"
#include "backends/cpu/emit/Convolution.h"
#include "backends/cpu/emit/MicroKernel.h"
#include <set>

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// Pixels of a tile that may be forced.
constexpr int64_t kMostPixels = 14;

/// Products of bytes whose sum floats hold exactly: it stays below 2^24.
constexpr int64_t kExactByteProducts = (1 << 24) / (255 * 255);

/// Bytes from pixel to pixel from which on hardware does not prefetch along a row (strides of up to 2 KiB in a page of
/// 4, of which this leaves few steps).
constexpr int64_t kFarPixels = 1024;

/// Runs of tiles that a row may be cut into for taps that lie outside of the image.
constexpr size_t kMostRuns = 16;

namespace {
/// What exists of what a tile reads: columns, counted from its first input column, and taps of a row of the filter.
struct Inside {
  int64_t lowColumn = 0, highColumn = std::numeric_limits<int64_t>::max();
  int64_t lowTap = 0, highTap = std::numeric_limits<int64_t>::max();
};

/// `count` tiles of `wide` pixels each, from output pixel `x` of a row on.
struct TileRun {
  int64_t x, count, wide;
  Inside inside;
};

/// A row of known width from left to right, and whether zeros around the image are left out of it.
struct RowTiles {
  std::vector<TileRun> runs;
  bool skips = false;
};
} // namespace

/// Adds tiles of about one size, of `pixels` pixels at most, for output pixels [begin, end).
static void addTiles(std::vector<TileRun> &runs, int64_t begin, int64_t end, int64_t pixels, Inside inside) {
  if (begin >= end)
    return;
  int64_t width = end - begin, count = llvm::divideCeil(width, pixels), wide = llvm::divideCeil(width, count);
  int64_t first = width - (count - 1) * wide;
  runs.push_back({begin, 1, first, inside});
  if (count > 1)
    runs.push_back({begin + first, count - 1, wide, inside});
}

/// The columns that exist of a tile that begins at output pixel `x` of a row.
static Inside columnsAt(const ConvolutionShape &shape, int64_t x) {
  int64_t first = x * shape.strideW - shape.lowW; // of the image
  Inside inside;
  inside.lowColumn = -first;
  inside.highColumn = shape.width.staticSize() - first;
  return inside;
}

/// Tiles of which only the first and the last of a row read zeros around the image, which they leave out.
static std::optional<RowTiles> tilesWithEdges(const ConvolutionShape &shape, const std::vector<TileRun> &runs) {
  int64_t outWidth = shape.outWidth.staticSize(), reach = (shape.kernelW - 1) * shape.dilationW;
  RowTiles tiles{{runs.front()}, /*skips=*/true};
  tiles.runs.front().inside = columnsAt(shape, 0);
  if (runs.size() == 1)
    return tiles;
  TileRun others = runs.back();
  // Pixels from the second tile to those of the last one read nothing outside.
  int64_t last = outWidth - others.wide;
  if (columnsAt(shape, others.x).lowColumn > 0 || (last > others.x && reach >= columnsAt(shape, last - 1).highColumn))
    return std::nullopt;
  if (--others.count > 0)
    tiles.runs.push_back(others);
  tiles.runs.push_back({last, 1, others.wide, columnsAt(shape, last)});
  return tiles;
}

/// Tiles of runs of pixels of which the same taps are in the image, where taps lie far from each other.
static std::optional<RowTiles> tilesOfTaps(const ConvolutionShape &shape, int64_t pixels) {
  int64_t outWidth = shape.outWidth.staticSize(), width = shape.width.staticSize(), step = shape.dilationW;
  // The first pixel whose tap `kw` is at `column` or behind it.
  auto firstAt = [&](int64_t kw, int64_t column) {
    return std::clamp<int64_t>(llvm::divideCeilSigned(column + shape.lowW - kw * step, shape.strideW), 0, outWidth);
  };
  std::set<int64_t> begins{0, outWidth};
  for (int64_t kw = 0; kw < shape.kernelW; ++kw)
    begins.insert({firstAt(kw, 0), firstAt(kw, width)});
  RowTiles tiles{{}, /*skips=*/true};
  for (auto at = begins.begin(); std::next(at) != begins.end(); ++at) {
    Inside inside;
    inside.highTap = 0;
    for (int64_t kw = shape.kernelW; kw-- > 0;)
      if (*at >= firstAt(kw, 0) && *at < firstAt(kw, width)) {
        inside.highTap = std::max(inside.highTap, kw + 1);
        inside.lowTap = kw;
      }
    addTiles(tiles.runs, *at, *std::next(at), pixels, inside);
  }
  if (tiles.runs.size() > kMostRuns)
    return std::nullopt;
  return tiles;
}

/// Nothing for a row of unknown width.
static std::optional<RowTiles> tilesOf(const ConvolutionShape &shape, int64_t pixels) {
  int64_t outWidth = shape.outWidth.staticSize();
  if (outWidth == ShapedType::kDynamic || outWidth == 0)
    return std::nullopt;
  RowTiles tiles;
  addTiles(tiles.runs, 0, outWidth, pixels, {});
  bool mayLeaveOut = shape.needsCopy && shape.width.staticSize() != ShapedType::kDynamic && shape.fill == 0 &&
                     shape.inputDilationH == 1 && shape.inputDilationW == 1;
  if (!mayLeaveOut)
    return tiles;
  if (std::optional<RowTiles> found = tilesWithEdges(shape, tiles.runs))
    return found;
  return tilesOfTaps(shape, pixels).value_or(tiles);
}

/// Channels are lanes, so that nothing has to lie side by side: elements become sums where they are copied, or else
/// where they are loaded.
static ProductForm depthwiseForm(KernelSpec &spec, const ConvolutionShape &shape, bool copies) {
  std::string refusal;
  ProductForm form = *productFormOf(spec, shape.op, refusal);
  if (form.step == ProductForm::Step::fused && !form.copiesRows())
    return form;
  form.step = ProductForm::Step::converted;
  form.kPack = form.kStep = 1;
  form.flips = false;
  if (widthOf(form.a) == 1 && widthOf(form.b) == 1 && shape.kernelH * shape.kernelW <= kExactByteProducts)
    form.sum = Number::f32;
  form.row = copies ? form.sum : form.a;
  return form;
}

/// Whether rows are copied where a tile has `pixels` pixels.
static bool copiesRows(const ConvolutionShape &shape, int64_t pixels) {
  std::optional<RowTiles> tiles = tilesOf(shape, pixels);
  return shape.needsCopy && !(tiles && tiles->skips);
}

/// Bytes of input of a chunk: so many that at most a third of the rows that it reads are a neighbour's, too, as long
/// as half of the second-level cache holds them. At most half of an image where nothing is copied: what threads share
/// by rows of pixels then lies where the kernels before and after have it.
static int64_t chooseChunk(KernelSpec &spec, const ConvolutionShape &shape, int64_t pixels) {
  int64_t usual = spec.costs().depthwiseBytes, width = constantOr(spec.dims, shape.paddedWidth, 0);
  if (width == 0)
    return usual;
  ConvolutionOp op = shape.op;
  int64_t rowBytes = width * shape.channels * byteWidth(getElementTypeOrSelf(op.getInput()));
  int64_t chunk = usual;
  if (shape.needsCopy) {
    int64_t shared = std::max<int64_t>((shape.kernelH - 1) * shape.dilationH + 1 - shape.strideH, 0);
    int64_t rows = llvm::divideCeil(2 * shared, shape.strideH) * shape.strideH;
    chunk = std::clamp(rows * rowBytes, usual, std::max(usual, spec.target().l2Bytes / 2));
  }
  constexpr int64_t leastRows = 2; // of a half
  int64_t half = llvm::divideCeil(constantOr(spec.dims, shape.outHeight, 0), 2);
  if (half >= leastRows && !copiesRows(shape, pixels))
    chunk = std::min(chunk, half * shape.strideH * rowBytes);
  return chunk;
}

/// Output rows of a chunk, of which each but the last of an image has as many.
static DimExpr rowsOfChunk(DimContext &dims, const ConvolutionShape &shape, int64_t chunkBytes) {
  ConvolutionOp op = shape.op;
  int64_t pixelBytes = shape.channels * byteWidth(getElementTypeOrSelf(op.getInput()));
  DimExpr one = dims.constant(1), bytes = dims.mul(shape.paddedWidth, dims.constant(pixelBytes * shape.strideH));
  DimExpr most = dims.max(one, dims.floorDiv(dims.constant(chunkBytes), dims.max(bytes, one)));
  return dims.max(one, dims.ceilDiv(shape.outHeight, dims.max(one, dims.ceilDiv(shape.outHeight, most))));
}

/// Multiply-adds of all of it.
static DimExpr productsOf(KernelSpec &spec, const ConvolutionShape &shape) {
  DimContext &dims = spec.dims;
  DimExpr results = dims.mul(shape.images, dims.mul(shape.outHeight, shape.outWidth));
  return dims.resolve(dims.mul(results, dims.constant(shape.channels * shape.kernelH * shape.kernelW)));
}

/// Vectors of channels of a chunk: all, unless rows give fewer chunks than threads may share, or than take as long as
/// waking some threads. A copy of rows would be made again for each part of their channels.
static int64_t chooseVectors(KernelSpec &spec, ConvolutionShape &shape, const Plan &plan, int64_t vectors) {
  DimContext &dims = spec.dims;
  DimExpr rows = rowsOfChunk(dims, shape, plan.chunk.chosen);
  int64_t blocks = constantOr(dims, dims.mul(shape.images, dims.ceilDiv(shape.outHeight, rows)), 0);
  int64_t products = constantOr(dims, productsOf(spec, shape), -1);
  if (blocks == 0 || products < 0 || copiesRows(shape, plan.tile.front().chosen))
    return vectors;
  const CostModel &costs = spec.costs();
  int64_t chunks =
      std::min(static_cast<int64_t>(static_cast<double>(products) / costs.streamedMacsPerNs / (4 * costs.inlineNs)),
               costs.parallelChunks);
  return llvm::divideCeil(vectors, std::clamp<int64_t>(llvm::divideCeil(chunks, blocks), 1, vectors));
}

Plan sinter::cpu::planDepthwise(KernelSpec &spec, ScheduleAttr given) {
  Plan plan = planFilter(spec);
  if (!plan.takes())
    return plan;
  ConvolutionOp op = convolutionOf(spec);
  if (!isDepthwise(op))
    return Plan::refuse("it is not depthwise");
  // Accumulators and the inputs of one filter row fit the registers.
  ConvolutionShape shape(spec, op);
  int64_t pixels = spec.target().vectorRegisters > 16 ? 7 : 4;
  if (int64_t size = shape.outWidth.staticSize(); size != ShapedType::kDynamic)
    pixels = std::clamp<int64_t>(size, 1, pixels);
  plan.addTile(pixels, kMostPixels);
  plan.setChunk(chooseChunk(spec, shape, pixels));
  int64_t vectors = llvm::divideCeil(shape.channels, lanesOr(given, plan.lanes.chosen));
  plan.addTile(chooseVectors(spec, shape, plan, vectors), vectors);
  return plan;
}

namespace {
class DepthwiseKernel {
public:
  DepthwiseKernel(KernelSpec &spec, ModuleOp module, StringRef name);
  EmittedKernel emit();

private:
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubIOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulIOp::create(b, x, y); }
  /// Finds where the chunk reads rows from, and copies them there if they have to be padded.
  void findRows(Value low, Value high);
  /// Each tile goes through its channels, as memory has them: where the filter has one row, so that nothing is read
  /// again from one output row to the next, and where channels are so many that caches are not asked for the next pixel
  /// of a vector of them before it is read.
  bool takesAllChannels() const { return shape.kernelH == 1 || pixel * widthOf(form.row) >= kFarPixels; }
  void emitRow(function_ref<void(int64_t wide, Value x, Inside inside)> emit);
  void emitRows(Value low, Value high, Value firstChannel, int64_t parts);
  void emitTile(int64_t wide, Value x, Value channel, Value mask, Inside inside);
  Value load(Value buffer, Number number, Value at, Value mask);
  /// Adds the products of one row of the filter for `wide` pixels.
  SmallVector<Value> addRow(Value kh, Value pixelBase, Value channel, Value mask, Inside inside, ValueRange sums);

  ConvolutionShape shape;
  int64_t pixels, lanes;
  std::optional<RowTiles> tiles;
  bool copies, skips; // rows are copied; zeros around the image are left out
  int64_t pixel;      // elements from one pixel to the next of what is read
  ProductForm form;
  KernelFunction fn;
  ImplicitLocOpBuilder &b;
  DimContext &dims;
  VectorType sumType;
  DimExpr copyElements;       // of a chunk, where it copies
  Value source, filter, read; // read: the source or its copy
  Value rowElements;          // of a row of what is read
  // While code is emitted: the number of the image; the input row at `base`, counted with those above the image.
  Value image, firstRow, base;
  Value row; // of the output
};
} // namespace

DepthwiseKernel::DepthwiseKernel(KernelSpec &spec, ModuleOp module, StringRef name)
    : shape(spec, convolutionOf(spec)), pixels(spec.schedule().getTile().front()), lanes(spec.schedule().getLanes()),
      tiles(tilesOf(shape, pixels)), copies(shape.needsCopy && !(tiles && tiles->skips)),
      skips(shape.needsCopy && !copies), pixel(copies ? shape.channels : shape.pixelPitch),
      form(depthwiseForm(spec, shape, copies)), fn(spec, module, name, {.workspace = copies}), b(fn.b),
      dims(fn.spec.dims), sumType(VectorType::get({lanes}, typeOf(form.sum, b.getContext()))) {}

Value DepthwiseKernel::load(Value buffer, Number number, Value at, Value mask) {
  auto type = VectorType::get({lanes}, typeOf(number, b.getContext()));
  if (!mask)
    return toSum(b, form, vector::LoadOp::create(b, type, buffer, ValueRange{at}), number);
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type));
  return toSum(b, form, vector::MaskedLoadOp::create(b, type, buffer, ValueRange{at}, mask, zero), number);
}

SmallVector<Value> DepthwiseKernel::addRow(Value kh, Value pixelBase, Value channel, Value mask, Inside inside,
                                           ValueRange sums) {
  auto wide = static_cast<int64_t>(sums.size());
  SmallVector<Value> next(sums);
  SmallVector<SmallVector<Value>> parts; // of a long row
  Value rowAt = add(pixelBase, mul(mul(kh, fn.index(shape.dilationH)), rowElements));
  Value filterRow = add(mul(kh, fn.index(shape.kernelW * shape.channels)), channel);
  std::map<int64_t, Value> inputs; // by column
  int64_t end = std::min(shape.kernelW, inside.highTap);
  for (int64_t kw = inside.lowTap; kw < end; ++kw) {
    if (kw > inside.lowTap && kw % kProductBlock == 0 && form.sumsByBlocks()) {
      parts.push_back(next);
      next = zeroAccumulators(fn, sumType, wide);
    }
    Value tap = load(filter, form.b, add(filterRow, fn.index(kw * shape.channels)), mask);
    for (int64_t i = 0; i < wide; ++i) {
      int64_t column = i * shape.strideW + kw * shape.dilationW;
      if (column < inside.lowColumn || column >= inside.highColumn)
        continue;
      Value &input = inputs[column];
      if (!input)
        input = load(read, form.row, add(rowAt, fn.index(column * pixel)), mask);
      next[i] = multiplyAdd(b, form, input, tap, next[i]);
    }
  }
  for (; !parts.empty(); parts.pop_back())
    for (auto [sum, part] : llvm::zip(next, parts.back()))
      sum = joinFloats(b, part, sum);
  return next;
}

void DepthwiseKernel::emitTile(int64_t wide, Value x, Value channel, Value mask, Inside inside) {
  Value rowBase = add(base, mul(sub(mul(row, fn.index(shape.strideH)), firstRow), rowElements));
  Value pixelBase = add(add(rowBase, mul(x, fn.index(shape.strideW * pixel))), channel);
  if (skips)
    pixelBase = sub(pixelBase, fn.index(shape.lowW * pixel));
  int64_t length = std::min(shape.kernelW, kProductBlock), block = form.sumsByBlocks() ? kProductBlock : kNoBlocks;
  SmallVector<Value> sums = sumNest(
      fn, skips ? filterRowsInside(fn, shape, row) : summedAxis(fn, dims.constant(shape.kernelH)), length, block,
      zeroAccumulators(fn, sumType, wide), [&](Value x, Value y) { return joinFloats(b, x, y); },
      [&](ArrayRef<Value> at, ValueRange carried) {
        return addRow(at.front(), pixelBase, channel, mask, inside, carried);
      });
  auto resultType = VectorType::get({lanes}, getElementTypeOrSelf(shape.op.getType()));
  if (resultType.getElementType().isInteger(32) && isFloat(form.sum))
    for (Value &sum : sums)
      sum = arith::FPToSIOp::create(b, resultType, sum);
  emitTileEpilogue(
      fn, shape.op.getResult(), sums, wide, 1, cast<VectorType>(sums.front().getType()),
      [&](KernelElements &elements, Value i) {
        int64_t rank = fn.spec.sizes->dims(shape.op.getResult()).size();
        SmallVector<LaneIndex> index(rank, elements.constant(0));
        index[0] = elements.uniform(image);
        index[rank - 2] = elements.uniform(add(x, i));
        if (rank == 4)
          index[1] = elements.uniform(row);
        return index;
      },
      channel, [&](Value) { return mask; });
}

void DepthwiseKernel::emitRow(function_ref<void(int64_t wide, Value x, Inside inside)> emit) {
  if (!tiles) {
    Value width = fn.materialize(shape.outWidth), tail = arith::RemUIOp::create(b, width, fn.index(pixels));
    Value whole = sub(width, tail);
    fn.loop(fn.index(0), whole, pixels, [&](Value x) { emit(pixels, x, {}); });
    if (pixels > 1)
      fn.loop(whole, width, 1, [&](Value x) { emit(1, x, {}); });
    return;
  }
  for (const TileRun &run : tiles->runs)
    if (run.count == 1)
      emit(run.wide, fn.index(run.x), run.inside);
    else
      fn.loop(fn.index(run.x), fn.index(run.x + run.count * run.wide), run.wide,
              [&](Value x) { emit(run.wide, x, run.inside); });
}

void DepthwiseKernel::findRows(Value low, Value high) {
  Value imageElements = mul(mul(fn.materialize(shape.height), fn.materialize(shape.width)), fn.index(shape.pixelPitch));
  Value imageBase = mul(image, imageElements);
  read = source;
  base = imageBase;
  firstRow = fn.index(skips ? shape.lowH : 0);
  rowElements = fn.materialize(dims.mul(skips ? shape.width : shape.paddedWidth, dims.constant(pixel)));
  if (!copies)
    return;
  auto copyType = MemRefType::get({kHuge}, typeOf(form.row, b.getContext()));
  read = memref::ViewOp::create(b, copyType, fn.workspace(), fn.index(0), ValueRange{});
  base = mul(fn.begin(), fn.materialize(copyElements)); // the same place for all chunks of a call
  firstRow = mul(low, fn.index(shape.strideH));
  Value steps = mul(sub(sub(high, low), fn.index(1)), fn.index(shape.strideH));
  Value rows = add(steps, fn.index((shape.kernelH - 1) * shape.dilationH + 1));
  emitPaddedRows(fn, shape, source, imageBase, read, base, firstRow, rows, fn.index(0), shape.channels, shape.channels,
                 lanes, form);
}

/// Output rows [low, high) of the channels of a part.
void DepthwiseKernel::emitRows(Value low, Value high, Value firstChannel, int64_t parts) {
  int64_t wholeChannels = shape.channels / lanes * lanes, partChannels = fn.spec.schedule().getTile()[1] * lanes;
  auto overChannels = [&](function_ref<void(Value channel, Value mask)> emit) {
    if (wholeChannels) {
      Value end = arith::MinSIOp::create(b, add(firstChannel, fn.index(partChannels)), fn.index(wholeChannels));
      fn.loop(firstChannel, end, lanes, [&](Value channel) { emit(channel, nullptr); });
    }
    if (shape.channels == wholeChannels)
      return;
    Value isLast =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, firstChannel, fn.index((parts - 1) * partChannels));
    fn.ifThen(isLast, [&] {
      auto maskType = VectorType::get({lanes}, b.getI1Type());
      Value mask = vector::CreateMaskOp::create(b, maskType, ValueRange{fn.index(shape.channels - wholeChannels)});
      emit(fn.index(wholeChannels), mask);
    });
  };
  auto overRows = [&](function_ref<void(int64_t wide, Value x, Inside inside)> emit) {
    fn.loop(low, high, 1, [&](Value number) {
      row = number;
      emitRow(emit);
    });
  };
  if (takesAllChannels())
    return overRows([&](int64_t wide, Value x, Inside inside) {
      overChannels([&](Value channel, Value mask) { emitTile(wide, x, channel, mask, inside); });
    });
  overChannels([&](Value channel, Value mask) {
    overRows([&](int64_t wide, Value x, Inside inside) { emitTile(wide, x, channel, mask, inside); });
  });
}

EmittedKernel DepthwiseKernel::emit() {
  source = fn.input(convolvedInput(shape.op).getArgNumber());
  filter = fn.input(filterInput(shape.op).getArgNumber());
  DimExpr one = dims.constant(1), stride = dims.constant(shape.strideH);
  DimExpr blockRows = rowsOfChunk(dims, shape, fn.spec.schedule().getChunk());
  DimExpr blocks = dims.ceilDiv(shape.outHeight, blockRows);
  DimExpr inputRows = dims.add(dims.mul(dims.sub(dims.min(blockRows, shape.outHeight), one), stride),
                               dims.constant((shape.kernelH - 1) * shape.dilationH + 1));
  copyElements = dims.mul(inputRows, dims.mul(shape.paddedWidth, dims.constant(shape.channels)));

  int64_t partChannels = fn.spec.schedule().getTile()[1] * lanes,
          parts = llvm::divideCeil(shape.channels, partChannels);
  Value blockCount = fn.materialize(blocks), rowsOfBlock = fn.materialize(blockRows);
  fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
    Value block = parts == 1 ? chunk : arith::DivUIOp::create(b, chunk, fn.index(parts));
    Value firstChannel = mul(sub(chunk, mul(block, fn.index(parts))), fn.index(partChannels));
    image = arith::DivUIOp::create(b, block, blockCount);
    Value low = mul(sub(block, mul(image, blockCount)), rowsOfBlock);
    Value high = arith::MinSIOp::create(b, add(low, rowsOfBlock), fn.materialize(shape.outHeight));
    findRows(low, high);
    emitRows(low, high, firstChannel, parts);
  });
  fn.finish();

  EmittedKernel emitted;
  emitted.function = fn.function;
  emitted.chunks = dims.mul(dims.mul(shape.images, blocks), dims.constant(parts));
  if (copies)
    emitted.workspaceBytes = dims.mul(dims.mul(emitted.chunks, copyElements), dims.constant(widthOf(form.row)));
  emitted.estimate(fn.spec, productsOf(fn.spec, shape), 1 / fn.spec.costs().streamedMacsPerNs);
  emitted.walk = walkOf(fn.spec, shape, blockRows, 1, parts);
  return emitted;
}

EmittedKernel sinter::cpu::emitDepthwise(KernelSpec &spec, ModuleOp module, StringRef name) {
  return DepthwiseKernel(spec, module, name).emit();
}

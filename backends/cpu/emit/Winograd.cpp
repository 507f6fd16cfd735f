// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Winograd's F(4x4, 3x3): 16 results of a 3x3 convolution from 36 multiplications for each pair of channels, where the
// direct one takes 144. Only for convolutions that say they may be computed so (passes/AllowWinograd), and where the
// cost model finds it cheaper.
//
//   U = G g G^T         of the constant filter, when it is packed: 36 matrices [channels][output channels]
//   V = B^T d B         of each tile, 6x6 pixels of input that overlap by two: 36 matrices [tiles][channels]
//   M = V U             36 products with the register tile of matrix products
//   Y = A^T M A         4x4 results of a tile, and then what follows the convolution
//
// A chunk is a block of tiles by some column tiles. V of its tiles stays in the second-level cache while column tiles
// go by; M and Y are those of one column tile. Tiles of all images are numbered through; those that reach beyond the
// image read zeros and leave out results.

#include "backends/cpu/emit/BlockSums.h"
#include "backends/cpu/emit/Convolution.h"
#include "backends/cpu/emit/MicroKernel.h"
#include "backends/cpu/emit/Packing.h"
#include "ir/Composer.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

constexpr int64_t kOut = 4, kIn = 6, kProducts = kIn * kIn; // results, pixels and products of a tile

//===- the filter ------------------------------------------------------------------------------------------===//

/// The polynomials are met at 0, +-near, +-far and infinity. Of such points whose powers are short binary fractions
/// these give the smallest errors: about a quarter of those of 0, +-1, +-2.
constexpr double kNear = 0.75, kFar = 1.5, kNear2 = kNear * kNear, kFar2 = kFar * kFar;

/// G g along one axis: six numbers of three taps.
static void transformTaps(const double *taps, int64_t stride, double *to, int64_t toStride) {
  double first = taps[0], second = taps[stride], third = taps[2 * stride];
  auto at = [&](double point) { return first + point * (second + point * third); };
  double ofNear = 2 * kNear2 * (kNear2 - kFar2), ofFar = 2 * kFar2 * (kFar2 - kNear2);
  double results[kIn] = {first / (kNear2 * kFar2), at(kNear) / ofNear, at(-kNear) / ofNear,
                         at(kFar) / ofFar,         at(-kFar) / ofFar,  third};
  for (int64_t i = 0; i < kIn; ++i)
    to[i * toStride] = results[i];
}

/// [O, 3, 3, C] becomes [panel][36][C][columns], zero beyond O.
static PackedForm packTransformed(RankedTensorType source, int64_t panel) {
  int64_t outputs = source.getDimSize(0), channels = source.getShape().back();
  int64_t panels = llvm::divideCeil(outputs, panel);
  return {panels * kProducts * channels * panel * int64_t(sizeof(float)), [=](const char *from, char *to) {
            const auto *filter = reinterpret_cast<const float *>(from);
            auto *packed = reinterpret_cast<float *>(to);
            for (int64_t o = 0; o < outputs; ++o)
              for (int64_t c = 0; c < channels; ++c) {
                double taps[9], rows[3 * kIn], all[kProducts];
                for (int64_t tap = 0; tap < 9; ++tap)
                  taps[tap] = filter[(o * 9 + tap) * channels + c];
                for (int64_t row = 0; row < 3; ++row)
                  transformTaps(taps + row * 3, 1, rows + row * kIn, 1);
                for (int64_t column = 0; column < kIn; ++column)
                  transformTaps(rows + column, kIn, all + column, kIn);
                for (int64_t k = 0; k < kProducts; ++k)
                  packed[((o / panel * kProducts + k) * channels + c) * panel + o % panel] = static_cast<float>(all[k]);
              }
          }};
}

Packing sinter::cpu::packWinograd(KernelSpec &spec, unsigned input) {
  int64_t panel = spec.target().panelBytes / int64_t(sizeof(float));
  return {input, "winograd;" + std::to_string(panel),
          [panel](RankedTensorType source) { return packTransformed(source, panel); }};
}

//===- what is chosen --------------------------------------------------------------------------------------===//

namespace {
struct WinogradForm {
  WinogradForm(KernelSpec &spec, ConvolutionOp op);

  ConvolutionShape shape;
  ProductForm product = ProductForm::fusedOf(Number::f32);
  int64_t height, width, outHeight, outWidth; // constants here
  int64_t high, wide;                         // tiles of an image
  int64_t knownTiles;                         // of all images, or of one where their number is not known
  int64_t panel;                              // columns
  /// Elements from tile to tile and from product to product: odd numbers of cache lines, so that the 36 that a tile
  /// writes lie in different sets.
  int64_t pitch;
};
} // namespace

static int64_t oddLines(int64_t elements, int64_t line) {
  int64_t lines = llvm::divideCeil(elements, line);
  return (lines | 1) * line;
}

WinogradForm::WinogradForm(KernelSpec &spec, ConvolutionOp op) : shape(spec, op) {
  DimContext &dims = spec.dims;
  height = constantOr(dims, shape.height, 0);
  width = constantOr(dims, shape.width, 0);
  outHeight = constantOr(dims, shape.outHeight, 0);
  outWidth = constantOr(dims, shape.outWidth, 0);
  high = llvm::divideCeil(outHeight, kOut);
  wide = llvm::divideCeil(outWidth, kOut);
  knownTiles = constantOr(dims, shape.images, 1) * high * wide;
  panel = spec.target().panelBytes / int64_t(sizeof(float));
  pitch = oddLines(shape.channels, spec.target().cacheLineBytes / int64_t(sizeof(float)));
}

/// Tiles of a block: V fits into the second-level cache, whole register tiles, some blocks for threads.
static int64_t chooseBlock(KernelSpec &spec, const WinogradForm &form, int64_t rows) {
  int64_t bytes = kProducts * form.pitch * int64_t(sizeof(float));
  int64_t tiles = llvm::divideCeil(form.knownTiles, rows);                             // in register tiles
  int64_t most = std::max<int64_t>(spec.target().l2Bytes * 3 / 4 / (bytes * rows), 2); // the filter comes once a block
  int64_t blocks = std::max<int64_t>(llvm::divideCeil(tiles, most),
                                     std::min<int64_t>(llvm::divideCeil(tiles, 2), spec.costs().winogradChunks));
  return llvm::divideCeil(tiles, std::max<int64_t>(blocks, 1)) * rows;
}

/// What both ways cost, as multiply-adds of a register tile.
static bool isCheaper(KernelSpec &spec, const WinogradForm &form, int64_t block, int64_t tileColumns) {
  const CostModel &costs = spec.costs();
  const ConvolutionShape &shape = form.shape;
  auto inputs = static_cast<double>(shape.channels), outputs = static_cast<double>(shape.outChannels);
  auto columns = static_cast<double>(llvm::alignTo(shape.outChannels, tileColumns));
  auto tiles = static_cast<double>(form.knownTiles);
  auto blocks = static_cast<double>(llvm::divideCeil(form.knownTiles, block));
  double direct = tiles / static_cast<double>(form.high * form.wide) *
                  static_cast<double>(form.outHeight * form.outWidth) * 9 * inputs * outputs;
  double ours = blocks * static_cast<double>(block) * kProducts * inputs * columns +
                tiles * (costs.winogradInputMacs * inputs + costs.winogradOutputMacs * outputs);
  auto streamed = [&](double filterBytes) {
    return filterBytes > static_cast<double>(spec.target().l2Bytes) ? filterBytes * costs.streamedByteMacs : 0.0;
  };
  ours += blocks * streamed(kProducts * inputs * columns * sizeof(float));
  direct += streamed(9 * inputs * outputs * sizeof(float));
  return ours * costs.winogradGain < direct;
}

Plan sinter::cpu::planWinograd(KernelSpec &spec, ScheduleAttr given) {
  ConvolutionOp op = convolutionOf(spec);
  if (!op || !op->hasAttr(kWinogradAttr))
    return Plan::refuse("its root is no convolution that may be computed so (--fast-math)");
  Plan plan = planFilter(spec);
  if (!plan.takes())
    return plan;
  std::string refusal;
  std::optional<ProductForm> product = productFormOf(spec, op, refusal);
  if (!plan.needsPacking || !product || product->step != ProductForm::Step::fused || product->sum != Number::f32 ||
      product->a != Number::f32 || product->b != Number::f32)
    return Plan::refuse("it is not of f32, or its filter is no constant");
  WinogradForm form(spec, op);
  const ConvolutionShape &shape = form.shape;
  bool isPlain = tensorTypeOf(op.getFilter()).getRank() == 4 && shape.kernelH == 3 && shape.kernelW == 3 &&
                 shape.strideH == 1 && shape.strideW == 1 && shape.dilationH == 1 && shape.dilationW == 1 &&
                 shape.inputDilationH == 1 && shape.inputDilationW == 1 && op.getGroups() == 1 && shape.fill == 0;
  if (!isPlain)
    return Plan::refuse("it is not 3x3 with stride 1, without dilation and groups, and padded with zeros");
  if (form.height <= 0 || form.width <= 0 || form.outHeight <= 0 || form.outWidth <= 0)
    return Plan::refuse("the sizes of its images are not known, or zero");
  if (shape.channels % product->leastLanes() != 0)
    return Plan::refuse("its channels fill no whole vectors");
  int64_t lanes = lanesOr(given, plan.lanes.chosen), perPanel = form.panel / lanes;
  RegisterTile tile = chooseTile(spec.target(), form.knownTiles, std::min<int64_t>(2, perPanel), {});
  int64_t block = chooseBlock(spec, form, tile.rows), tileColumns = tile.vectors * lanes;
  if (!given && !isCheaper(spec, form, block, tileColumns))
    return Plan::refuse("the direct convolution is cheaper");
  int64_t columnTiles = llvm::divideCeil(shape.outChannels, tileColumns);
  // Columns are split, too, where there are few blocks; each chunk transforms its tiles again.
  int64_t blocks = llvm::divideCeil(form.knownTiles, block);
  int64_t split = std::clamp<int64_t>(llvm::divideCeil(spec.costs().winogradChunks, blocks), 1,
                                      std::max<int64_t>(columnTiles / 2, 1));
  plan.addTile(tile.rows, kMostTileRows);
  plan.addTile(tile.vectors, perPanel, perPanel);
  plan.addTile(llvm::divideCeil(columnTiles, split), columnTiles);
  plan.setChunk(block);
  return plan;
}

//===- code ------------------------------------------------------------------------------------------------===//

namespace {
class WinogradEmitter : WinogradForm {
public:
  WinogradEmitter(KernelFunction &fn, ConvolutionOp op)
      : WinogradForm(fn.spec, op), op(op), fn(fn), b(fn.b), dims(fn.spec.dims), lanes(fn.spec.schedule().getLanes()),
        vectorType(VectorType::get({lanes}, b.getF32Type())) {
    ArrayRef<int64_t> numbers = fn.spec.schedule().getTile();
    rows = numbers[0];
    vectors = numbers[1];
    tileColumns = vectors * lanes;
    perChunk = numbers[2];
    block = static_cast<int64_t>(llvm::alignTo(fn.spec.schedule().getChunk(), rows));
    int64_t line = fn.spec.target().cacheLineBytes / int64_t(sizeof(float));
    inStride = oddLines(block * pitch, line);
    outStride = oddLines(block * tileColumns, line);
    chunkElements = kProducts * (inStride + outStride) + kOut * kOut * tileColumns;
  }
  EmittedKernel emit();

private:
  using Vectors = SmallVector<Value, kIn>;

  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulIOp::create(b, x, y); }
  Value plus(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value minus(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value number(double value, Value like) {
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(cast<VectorType>(like.getType()), static_cast<float>(value)));
  }
  Value times(double factor, Value x) { return arith::MulFOp::create(b, number(factor, x), x); }
  /// factor * x + y
  Value scaled(double factor, Value x, Value y) { return multiplyAdd(b, product, number(factor, x), x, y); }
  SmallVector<Value> transformIn(ArrayRef<Value> d);
  SmallVector<Value> transformOut(ArrayRef<Value> m);
  /// Splits a tile's number: its image and the first of its results.
  void locate(Value tile, Value &image, Value &row, Value &column);
  void emitInputs(Value firstTile);
  /// One tile, whose pixels begin at (row, column) of the image at `base`; `inside` says that all of them exist.
  void emitInput(Value base, Value row, Value column, Value target, bool inside);
  void emitProducts(Value column);
  void emitOutputs(Value firstTile, Value column);

  ConvolutionOp op;
  KernelFunction &fn;
  ImplicitLocOpBuilder &b;
  DimContext &dims;
  int64_t lanes;
  VectorType vectorType;
  int64_t rows, vectors, tileColumns, perChunk, block, inStride, outStride, chunkElements;
  Value tiles;                       // of all images
  Value workspace, in, out, results; // V, M and Y begin there
};
} // namespace

/// B^T d of six vectors.
SmallVector<Value> WinogradEmitter::transformIn(ArrayRef<Value> d) {
  Value evenNear = scaled(-kFar2, d[2], d[4]), oddNear = scaled(-kFar2, d[1], d[3]);
  Value evenFar = scaled(-kNear2, d[2], d[4]), oddFar = scaled(-kNear2, d[1], d[3]);
  return {scaled(kNear2 * kFar2, d[0], scaled(-kNear2 - kFar2, d[2], d[4])),
          scaled(kNear, oddNear, evenNear),
          scaled(-kNear, oddNear, evenNear),
          scaled(kFar, oddFar, evenFar),
          scaled(-kFar, oddFar, evenFar),
          scaled(kNear2 * kFar2, d[1], scaled(-kNear2 - kFar2, d[3], d[5]))};
}

/// A^T m of six vectors: four.
SmallVector<Value> WinogradEmitter::transformOut(ArrayRef<Value> m) {
  Value evenNear = plus(m[1], m[2]), oddNear = minus(m[1], m[2]), evenFar = plus(m[3], m[4]),
        oddFar = minus(m[3], m[4]);
  auto sum = [&](double nearFactor, Value near, double farFactor, Value far) {
    return scaled(farFactor, far, times(nearFactor, near));
  };
  return {plus(m[0], plus(evenNear, evenFar)), sum(kNear, oddNear, kFar, oddFar), sum(kNear2, evenNear, kFar2, evenFar),
          plus(m[5], sum(kNear * kNear2, oddNear, kFar * kFar2, oddFar))};
}

void WinogradEmitter::locate(Value tile, Value &image, Value &row, Value &column) {
  Value line = arith::DivUIOp::create(b, tile, fn.index(wide));
  column = mul(arith::SubIOp::create(b, tile, mul(line, fn.index(wide))), fn.index(kOut));
  image = arith::DivUIOp::create(b, line, fn.index(high));
  row = mul(arith::SubIOp::create(b, line, mul(image, fn.index(high))), fn.index(kOut));
}

void WinogradEmitter::emitInput(Value base, Value row, Value column, Value target, bool inside) {
  int64_t inLanes = lanes;
  while (shape.channels % inLanes != 0)
    inLanes /= 2;
  auto type = VectorType::get({inLanes}, b.getF32Type()), bits = VectorType::get({inLanes}, b.getI32Type());
  // Where pixels are, and ones in all bits where they exist.
  SmallVector<Value> rowAt, columnAt, rowMask, columnMask;
  auto place = [&](Value first, int64_t size, int64_t step, SmallVector<Value> &at, SmallVector<Value> &masks) {
    for (int64_t i = 0; i < kIn; ++i) {
      Value position = add(first, fn.index(i));
      if (!inside) {
        Value exists =
            arith::AndIOp::create(b, arith::CmpIOp::create(b, arith::CmpIPredicate::sge, position, fn.index(0)),
                                  arith::CmpIOp::create(b, arith::CmpIPredicate::slt, position, fn.index(size)));
        masks.push_back(arith::ExtSIOp::create(b, b.getI32Type(), exists));
        position = arith::MaxSIOp::create(b, arith::MinSIOp::create(b, position, fn.index(size - 1)), fn.index(0));
      }
      at.push_back(mul(position, fn.index(step)));
    }
  };
  place(row, height, width * shape.pixelPitch, rowAt, rowMask);
  place(column, width, shape.pixelPitch, columnAt, columnMask);
  Value source = fn.input(convolvedInput(op).getArgNumber());
  fn.loop(fn.index(0), fn.index(shape.channels), inLanes, [&](Value channel) {
    SmallVector<Vectors, kIn> columns; // B^T d
    for (int64_t x = 0; x < kIn; ++x) {
      Vectors pixels;
      Value at = add(add(base, columnAt[x]), channel);
      for (int64_t y = 0; y < kIn; ++y) {
        Value pixel = vector::LoadOp::create(b, type, source, ValueRange{add(at, rowAt[y])});
        if (!inside) {
          Value mask = arith::AndIOp::create(b, rowMask[y], columnMask[x]);
          mask = vector::BroadcastOp::create(b, bits, mask);
          Value kept = arith::AndIOp::create(b, vector::BitCastOp::create(b, bits, pixel), mask);
          pixel = vector::BitCastOp::create(b, type, kept);
        }
        pixels.push_back(pixel);
      }
      columns.push_back(Vectors(transformIn(pixels)));
    }
    for (int64_t y = 0; y < kIn; ++y) {
      Vectors line;
      for (int64_t x = 0; x < kIn; ++x)
        line.push_back(columns[x][y]);
      for (auto [x, value] : llvm::enumerate(transformIn(line))) {
        int64_t k = y * kIn + static_cast<int64_t>(x);
        vector::StoreOp::create(b, value, workspace, ValueRange{add(add(target, fn.index(k * inStride)), channel)});
      }
    }
  });
}

void WinogradEmitter::emitInputs(Value firstTile) {
  Value imageElements = fn.index(height * width * shape.pixelPitch);
  Value last = arith::SubIOp::create(b, tiles, fn.index(1));
  fn.loop(fn.index(0), fn.index(block), 1, [&](Value i) {
    // What is beyond the last tile repeats it: products are of whole register tiles.
    Value image, row, column;
    locate(arith::MinSIOp::create(b, add(firstTile, i), last), image, row, column);
    row = arith::SubIOp::create(b, row, fn.index(shape.lowH));
    column = arith::SubIOp::create(b, column, fn.index(shape.lowW));
    Value base = mul(image, imageElements), target = add(in, mul(i, fn.index(pitch)));
    auto lies = [&](Value from, int64_t size) {
      Value begins = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, from, fn.index(0));
      Value ends = arith::CmpIOp::create(b, arith::CmpIPredicate::sle, add(from, fn.index(kIn)), fn.index(size));
      return arith::AndIOp::create(b, begins, ends);
    };
    Value inside = arith::AndIOp::create(b, lies(row, height), lies(column, width));
    fn.branch(
        inside, [&] { emitInput(base, row, column, target, true); },
        [&] { emitInput(base, row, column, target, false); });
  });
}

void WinogradEmitter::emitProducts(Value column) {
  int64_t productElements = shape.channels * panel;
  Value panelBase = mul(arith::DivUIOp::create(b, column, fn.index(panel)), fn.index(kProducts * productElements));
  Value filterBase = add(panelBase, arith::RemUIOp::create(b, column, fn.index(panel)));
  fn.loop(fn.index(0), fn.index(kProducts), 1, [&](Value k) {
    Value inBase = add(in, mul(k, fn.index(inStride))), outBase = add(out, mul(k, fn.index(outStride)));
    Value filter = add(filterBase, mul(k, fn.index(productElements)));
    fn.loop(fn.index(0), fn.index(block), rows, [&](Value row) {
      MicroOperands operands(product);
      operands.a = workspace;
      operands.b = fn.input(filterInput(op).getArgNumber());
      operands.bStride = fn.index(panel);
      operands.prefetchRows = 128;
      for (int64_t i = 0; i < rows; ++i)
        operands.aRows.push_back(add(inBase, mul(add(row, fn.index(i)), fn.index(pitch))));
      for (int64_t j = 0; j < vectors; ++j)
        operands.bVectors.push_back(add(filter, fn.index(j * lanes)));
      SmallVector<Value> sums = emitBlockedMicroKernel(fn, operands, vectorType, fn.index(0), fn.index(shape.channels),
                                                       dims.constant(shape.channels));
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < vectors; ++j)
          vector::StoreOp::create(
              b, sums[i * vectors + j], workspace,
              ValueRange{add(add(outBase, mul(add(row, fn.index(i)), fn.index(tileColumns))), fn.index(j * lanes))});
    });
  });
}

void WinogradEmitter::emitOutputs(Value firstTile, Value column) {
  auto columnMask = [&](Value at) -> Value {
    if (shape.outChannels % lanes == 0 && shape.outChannels % tileColumns == 0)
      return nullptr;
    Value left = arith::SubIOp::create(b, fn.index(shape.outChannels), at);
    return vector::CreateMaskOp::create(b, VectorType::get({lanes}, b.getI1Type()), ValueRange{left});
  };
  Value end = arith::MinSIOp::create(b, arith::SubIOp::create(b, tiles, firstTile), fn.index(block));
  fn.loop(fn.index(0), end, 1, [&](Value i) {
    Value image, row, first;
    locate(add(firstTile, i), image, row, first);
    Value from = add(out, mul(i, fn.index(tileColumns)));
    fn.loop(fn.index(0), fn.index(tileColumns), lanes, [&](Value lane) {
      SmallVector<Vectors, kIn> columns; // A^T M
      for (int64_t x = 0; x < kIn; ++x) {
        Vectors products;
        for (int64_t y = 0; y < kIn; ++y)
          products.push_back(vector::LoadOp::create(
              b, vectorType, workspace, ValueRange{add(add(from, fn.index((y * kIn + x) * outStride)), lane)}));
        columns.push_back(Vectors(transformOut(products)));
      }
      for (int64_t y = 0; y < kOut; ++y) {
        Vectors line;
        for (int64_t x = 0; x < kIn; ++x)
          line.push_back(columns[x][y]);
        for (auto [x, value] : llvm::enumerate(transformOut(line))) {
          int64_t at = (y * kOut + static_cast<int64_t>(x)) * tileColumns;
          vector::StoreOp::create(b, value, workspace, ValueRange{add(add(results, fn.index(at)), lane)});
        }
      }
    });
    auto exist = [&](Value begin, int64_t size) -> Value {
      return arith::MinSIOp::create(b, arith::SubIOp::create(b, fn.index(size), begin), fn.index(kOut));
    };
    fn.loop(fn.index(0), exist(row, outHeight), 1, [&](Value y) {
      fn.loop(fn.index(0), exist(first, outWidth), 1, [&](Value x) {
        Value at = add(results, mul(add(mul(y, fn.index(kOut)), x), fn.index(tileColumns)));
        SmallVector<Value> values;
        for (int64_t j = 0; j < vectors; ++j)
          values.push_back(vector::LoadOp::create(b, vectorType, workspace, ValueRange{add(at, fn.index(j * lanes))}));
        Value pixelRow = add(row, y), pixel = add(first, x);
        emitTileEpilogue(
            fn, op.getResult(), values, 1, vectors, vectorType,
            [&](KernelElements &elements, Value) {
              SmallVector<LaneIndex> index(4, elements.constant(0));
              index[0] = elements.uniform(image);
              index[1] = elements.uniform(pixelRow);
              index[2] = elements.uniform(pixel);
              return index;
            },
            column, columnMask);
      });
    });
  });
}

EmittedKernel WinogradEmitter::emit() {
  int64_t columnTiles = llvm::divideCeil(shape.outChannels, tileColumns);
  int64_t groups = llvm::divideCeil(columnTiles, perChunk);
  DimExpr allTiles = dims.mul(shape.images, dims.constant(high * wide));
  tiles = fn.materialize(allTiles);
  workspace =
      memref::ViewOp::create(b, MemRefType::get({kHuge}, b.getF32Type()), fn.workspace(), fn.index(0), ValueRange{});
  // One place for all chunks of a call, so that it stays in cache.
  in = mul(fn.begin(), fn.index(chunkElements));
  out = add(in, fn.index(kProducts * inStride));
  results = add(out, fn.index(kProducts * outStride));
  fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
    Value number = arith::DivUIOp::create(b, chunk, fn.index(groups));
    Value group = arith::SubIOp::create(b, chunk, mul(number, fn.index(groups)));
    Value firstTile = mul(number, fn.index(block));
    Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, chunk, fn.begin());
    Value isOther = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, group, fn.index(0));
    fn.branch(arith::OrIOp::create(b, isFirst, isOther), [&] { emitInputs(firstTile); }, [] {});
    Value begin = mul(group, fn.index(perChunk));
    Value end = arith::MinSIOp::create(b, add(begin, fn.index(perChunk)), fn.index(columnTiles));
    fn.loop(begin, end, 1, [&](Value columnTile) {
      Value column = mul(columnTile, fn.index(tileColumns));
      emitProducts(column);
      emitOutputs(firstTile, column);
    });
  });
  fn.finish();

  EmittedKernel emitted;
  emitted.function = fn.function;
  emitted.chunks = dims.mul(dims.ceilDiv(allTiles, dims.constant(block)), dims.constant(groups));
  emitted.workspaceBytes = dims.mul(emitted.chunks, dims.constant(chunkElements * static_cast<int64_t>(sizeof(float))));
  emitted.estimatedNs = static_cast<double>(llvm::alignTo(knownTiles, block)) * kProducts *
                        static_cast<double>(shape.channels * shape.outChannels) / fn.spec.costs().tiledMacsPerNs;
  return emitted;
}

EmittedKernel sinter::cpu::emitWinograd(KernelSpec &spec, ModuleOp module, StringRef name) {
  KernelFunction fn(spec, module, name, {.workspace = true});
  return WinogradEmitter(fn, convolutionOf(spec)).emit();
}

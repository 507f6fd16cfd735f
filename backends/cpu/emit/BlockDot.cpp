// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products with a constant matrix of 4-bit codes (block_dot), which stays so in memory. Eight codes of a column, a word
// of 32 bits, lie beside those of the next columns:
//
//   codes     [panel][k / 8][columns of a panel]     32 bits each: byte i holds codes i and, above it, i + 4
//   scales    [panel][blocks][columns of a panel]
//   zeros     [panel][blocks][columns of a panel]    bytes
//
//   chunk     a run of panels
//   few rows  codes stream through registers, once for some rows; a block's sums times its scale are added to the
//             column's
//   more      the columns of a panel become a strip of floats in the workspace, which a register tile reads for all
//             rows (MicroKernel.h); memory holds codes alone
//
// Few rows become digits of bytes where the target multiplies bytes (DigitRows.h, BlockDotDigits.cpp): a mask makes
// four codes of each column bytes, and products by four digits, or three where two bytes are multiplied at a time, take
// less time than the codes from memory. Rows that are bytes already are one digit, however many they are, and no strip
// is made.
//
// Elsewhere and in strips a code becomes a float by no conversion. Where it lies in the mantissa, at bit 4 p of the
// word's lower half, its bits with those of 2^(23 - 4 p) are that number plus the code; subtracting the number plus the
// zero point is exact. So a code takes three instructions of a whole vector: and with or (one with AVX-512),
// subtraction, multiply-add.

#include "backends/cpu/emit/BlockDotEmitter.h"
#include "backends/cpu/emit/BlockDotForm.h"
#include "backends/cpu/emit/BlockSums.h"
#include "backends/cpu/emit/Packing.h"
#include "backends/cpu/emit/TakenForms.h"
#include "ir/Shape.h"
#include "llvm/Support/Endian.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// Rows of digits whose sums have registers at once.
constexpr int64_t kDigitRows = 2;
/// Rows of bytes whose sums of pairs are in registers at once, at most.
constexpr int64_t kPairRows = 8;
/// Rows of bytes whose digits are written at a time: they stay in a cache while codes stream by.
constexpr int64_t kByteRows = 64;
/// Columns that each chunk takes at least: it writes the rows' bytes anew, which takes as long as some 60 columns of
/// their products.
constexpr int64_t kByteColumns = 256;
/// Independent multiply-adds, by rows, vectors and chains.
constexpr int64_t kSums = 8;

/// Which of a word's elements code `i` from the lowest bits on is multiplied with.
static int64_t elementOf(int64_t i) { return i / 2 + i % 2 * kHalfCodes; }

//===- what is multiplied --------------------------------------------------------------------===//

/// Columns of a panel, on all targets: vectors of x are multiplied with many columns' codes while they are in
/// registers.
constexpr int64_t kPanelColumns = 32;

bool sinter::cpu::hasBlockDotTemplate(Operation *op) {
  auto dot = dyn_cast<BlockDotOp>(op);
  return dot && getElementTypeOrSelf(dot.getX()).isF32() &&
         llvm::all_of(llvm::drop_begin(op->getOperands()),
                      [](Value operand) { return operand.getDefiningOp<ConstantOp>() != nullptr; });
}

bool sinter::cpu::isBlockDot(KernelSpec &spec) {
  auto dot = dyn_cast_or_null<BlockDotOp>(findShapedRoot(spec));
  return dot && canBuildAfter(spec, dot);
}

static std::optional<BlockProduct> blockProductOf(KernelSpec &spec) {
  auto op = dyn_cast_or_null<BlockDotOp>(findShapedRoot(spec));
  if (!op || !getElementTypeOrSelf(op.getX()).isF32() || !llvm::all_of(op->getOperands(), llvm::IsaPred<BlockArgument>))
    return std::nullopt;
  auto inputOf = [](Value value) { return cast<BlockArgument>(value).getArgNumber(); };
  for (Value constant : llvm::drop_begin(op->getOperands()))
    if (!canBePacked(spec, cast<BlockArgument>(constant)))
      return std::nullopt;
  BlockProduct p;
  p.op = op;
  p.x = inputOf(op.getX());
  p.codes = inputOf(op.getCodes());
  p.scales = inputOf(op.getScales());
  if (op.getZeros())
    p.zeros = inputOf(op.getZeros());
  p.columns = op.getCodes().getType().getDimSize(0);
  p.blocks = op.getCodes().getType().getDimSize(1);
  p.block = op.blockSize();
  p.k = op.getX().getType().getShape().back();
  p.panel = kPanelColumns;
  p.rowSizes = spec.sizes->dims(op.getResult());
  p.rowSizes.pop_back();
  p.rows = spec.dims.resolve(spec.dims.product(p.rowSizes));
  return p;
}

/// A word of codes in their order, two of them a byte, with code i and code i + 4 in byte i.
static uint32_t packedWord(uint32_t codes) {
  auto spread = [](uint32_t half) {
    half = (half | half << 8) & 0x00FF00FF;
    return (half | half << 4) & 0x0F0F0F0F;
  };
  return spread(codes & 0xFFFF) | spread(codes >> 16) << 4;
}

static void packWords(const char *from, char *to, int64_t count, int64_t step) {
  for (int64_t i = 0; i < count; ++i) {
    uint32_t word = packedWord(llvm::support::endian::read32le(from + 4 * i));
    std::memcpy(to + i * step, &word, sizeof word);
  }
}

Packing sinter::cpu::packBlockDot(KernelSpec &spec, unsigned input) {
  int64_t panel = blockProductOf(spec)->panel;
  // Columns side by side: of codes in words, of scales and zeros one by one.
  return {input, "columns;" + std::to_string(panel), [panel](RankedTensorType source) {
            bool areCodes = source.getRank() == 3;
            int64_t columns = source.getDimSize(0), width = areCodes ? 4 : byteWidth(source.getElementType());
            int64_t units = source.getNumElements() * byteWidth(source.getElementType()) / (columns * width);
            int64_t bytes = static_cast<int64_t>(llvm::alignTo(columns, panel)) * units * width;
            return PackedForm{bytes, [=](const char *from, char *to) {
                                for (int64_t column = 0; column < columns; ++column, from += units * width) {
                                  char *place = to + (column / panel * units * panel + column % panel) * width;
                                  if (areCodes)
                                    packWords(from, place, units, panel * width);
                                  for (int64_t unit = 0; !areCodes && unit < units; ++unit)
                                    std::memcpy(place + unit * panel * width, from + unit * width, width);
                                }
                              }};
          }};
}

//===- code ----------------------------------------------------------------------------------===//

Value BlockDotEmitter::wordPlace(const Columns &columns, Value word, int64_t vector) {
  Value line = add(mul(columns.panelIndex, words()), word);
  return add(mul(line, panel), fn.index((columns.first + vector) * lanes));
}

Value BlockDotEmitter::wordsAt(const Columns &columns, Value word, int64_t vector) {
  return vector::LoadOp::create(b, ints, wordsOf, ValueRange{wordPlace(columns, word, vector)});
}

/// Of a block's scales and zeros.
Value BlockDotEmitter::placeOf(const Columns &columns, Value block, int64_t vector) {
  Value line = mul(add(mul(columns.panelIndex, blocks), block), panel);
  return add(line, fn.index((columns.first + vector) * lanes));
}

Value BlockDotEmitter::zerosAt(Value place) {
  auto bytes = VectorType::get({lanes}, b.getI8Type());
  return arith::ExtUIOp::create(b, ints, vector::LoadOp::create(b, bytes, fn.input(*zeros), ValueRange{place}));
}

BlockDotEmitter::BlockNumbers BlockDotEmitter::numbersOf(const Columns &columns, Value block) {
  BlockNumbers numbers;
  for (int64_t j = 0; j < columns.vectors; ++j) {
    Value at = placeOf(columns, block, j), zero;
    numbers.scales.push_back(vector::LoadOp::create(b, floats, fn.input(scales), ValueRange{at}));
    if (zeros)
      zero = arith::SIToFPOp::create(b, floats, zerosAt(at));
    SmallVector<Value> &centres = numbers.centres.emplace_back();
    for (int64_t place = 0; place < kHalfCodes; ++place)
      centres.push_back(zeros ? arith::AddFOp::create(b, zero, splat(baseOf(place))).getResult()
                              : splat(baseOf(place) + kUsualZero));
  }
  return numbers;
}

/// The codes at `place` of the lower halves of `words`, less their zeros.
Value BlockDotEmitter::codesAt(Value words, int64_t place, Value centre) {
  auto base = llvm::bit_cast<int32_t>(baseOf(place));
  Value bits = arith::AndIOp::create(b, words, splatInt(15 << (4 * place)));
  Value number = vector::BitCastOp::create(b, floats, arith::OrIOp::create(b, bits, splatInt(base)));
  return arith::SubFOp::create(b, number, centre);
}

/// Adds `count` codes of word `word` times the rows' elements to `sums` [chain][row][vector].
SmallVector<Value> BlockDotEmitter::addWord(const Columns &columns, Value word, int64_t count,
                                            const BlockNumbers &numbers, ArrayRef<Value> rows, ValueRange sums) {
  SmallVector<Value> next(sums), words;
  int64_t tileSize = static_cast<int64_t>(rows.size()) * columns.vectors;
  int64_t chains = static_cast<int64_t>(sums.size()) / tileSize;
  for (int64_t j = 0; j < columns.vectors; ++j)
    words.push_back(wordsAt(columns, word, j));
  for (int64_t i = 0; i < kWordCodes; ++i) {
    if (i == kHalfCodes)
      for (Value &half : words)
        half = arith::ShRUIOp::create(b, half, splatInt(16));
    if (elementOf(i) >= count)
      continue;
    SmallVector<Value> weights;
    for (auto [half, centres] : llvm::zip(words, numbers.centres))
      weights.push_back(codesAt(half, i % kHalfCodes, centres[i % kHalfCodes]));
    Value at = add(mul(word, kWordCodes), fn.index(elementOf(i)));
    for (auto [r, row] : llvm::enumerate(rows)) {
      Value element = memref::LoadOp::create(b, fn.input(x), ValueRange{add(row, at)});
      Value spread = vector::BroadcastOp::create(b, floats, element);
      for (auto [j, weight] : llvm::enumerate(weights)) {
        Value &sum = next[i % chains * tileSize + static_cast<int64_t>(r) * columns.vectors + static_cast<int64_t>(j)];
        sum = vector::FMAOp::create(b, weight, spread, sum);
      }
    }
  }
  return next;
}

/// Adds the products of `count` codes of block `block` to `totals` [row][vector].
SmallVector<Value> BlockDotEmitter::addBlock(const Columns &columns, Value block, int64_t count, ArrayRef<Value> rows,
                                             ValueRange totals) {
  BlockNumbers numbers = numbersOf(columns, block);
  auto tileSize = static_cast<int64_t>(totals.size());
  int64_t chains = std::clamp<int64_t>(kSums / tileSize, 1, kWordCodes);
  SmallVector<Value> sums(chains * tileSize, splat(0));
  int64_t perBlock = this->block / kWordCodes, whole = count / kWordCodes;
  Value first = mul(block, perBlock);
  sums = fn.loop(fn.index(0), fn.index(whole), 1, sums, [&](Value word, ValueRange carried) {
    return addWord(columns, add(first, word), kWordCodes, numbers, rows, carried);
  });
  if (int64_t rest = count % kWordCodes)
    sums = addWord(columns, add(first, fn.index(whole)), rest, numbers, rows, sums);
  for (; chains > 1; chains /= 2)
    for (int64_t i = 0; i < chains / 2 * tileSize; ++i)
      sums[i] = arith::AddFOp::create(b, sums[i], sums[i + chains / 2 * tileSize]);
  SmallVector<Value> next;
  for (int64_t i = 0; i < tileSize; ++i)
    next.push_back(vector::FMAOp::create(b, sums[i], numbers.scales[i % columns.vectors], totals[i]));
  return next;
}

/// `height` rows from `row` on times columns whose codes stream by.
void BlockDotEmitter::emitStream(const Columns &columns, Value row, int64_t height) {
  SmallVector<Value> rows;
  for (int64_t i = 0; i < height; ++i)
    rows.push_back(mul(add(row, fn.index(i)), k));
  // The digits of elements beyond k are zeros, so that all blocks are whole.
  int64_t whole = digitRows ? blocks : k / block;
  SmallVector<Value> totals(height * columns.vectors, splat(0));
  totals = sumRange(
      fn, fn.index(0), fn.index(whole), dims.constant(whole), kProductBlock, totals, totals,
      [&](Value x, Value y) { return joinFloats(b, x, y); },
      [&](Value low, Value high, ValueRange start) {
        return fn.loop(low, high, 1, start, [&](Value at, ValueRange carried) {
          if (!digitRows)
            return addBlock(columns, at, block, rows, carried);
          SmallVector<Value> next(carried);
          for (int64_t i = 0; i < columns.vectors; i += fewVectors)
            addDigits(columns, i, at, row, height, next);
          return next;
        });
      });
  if (int64_t rest = k % block; rest && !digitRows)
    totals = addBlock(columns, fn.index(whole), rest, rows, totals);
  finishTile(totals, row, height, columns);
}

void BlockDotEmitter::finishTile(ValueRange sums, Value row, int64_t height, const Columns &columns) {
  Value column = add(mul(columns.panelIndex, panel), fn.index(columns.first * lanes));
  bool masked = this->columns % panel != 0;
  emitTileEpilogue(
      fn, op.getResult(), SmallVector<Value>(sums), height, columns.vectors, floats,
      [&](KernelElements &elements, Value i) {
        SmallVector<LaneIndex> index = elements.uniform(fn.delinearize(add(row, i), rowSizes));
        index.push_back(elements.constant(0));
        return index;
      },
      column,
      [&](Value at) -> Value {
        if (!masked)
          return nullptr;
        Value left = arith::SubIOp::create(b, fn.index(this->columns), at);
        return vector::CreateMaskOp::create(b, VectorType::get({lanes}, b.getI1Type()), ValueRange{left});
      });
}

/// [low, high) in tiles of `most` rows, and what is left in lower ones, each half as high.
void BlockDotEmitter::forRows(Value low, Value high, int64_t most, function_ref<void(Value, int64_t)> emitRows) {
  for (int64_t height = most; height > 0; height /= 2) {
    Value tiles = arith::DivUIOp::create(b, arith::SubIOp::create(b, high, low), fn.index(height));
    Value end = add(low, mul(tiles, height));
    fn.loop(low, end, height, [&](Value at) { emitRows(at, height); });
    low = end;
  }
}

/// All rows, of which there are few, or the rows of bytes at hand times one panel.
void BlockDotEmitter::streamRows(Value panelIndex) {
  // What stands in for digits has no registers for as much, unless there are many.
  const Target &target = fn.spec.target();
  bool standsIn = DigitRows::areFor(target) && !digitRows, arePairs = DigitRows::arePairs(target);
  int64_t registers = target.vectorRegisters, vectors = standsIn && registers < 32 ? 1 : fewVectors;
  int64_t most = digitRows || standsIn ? kDigitRows : kFewRows;
  if (digitRows && arePairs && registers < 32)
    most = 1;
  if (firstRow) // a sum and a total each, beside codes, a mask and what is loaded; totals of pairs may be in memory
    most = arePairs ? std::min((registers - 8) / vectors, kPairRows)
                    : std::max<int64_t>((registers - 7) / (2 * vectors), 1);
  // Memory is one stream if all columns of a block are multiplied before the next block's.
  if (digitRows && arePairs)
    vectors = panel / lanes;
  for (int64_t first = 0; first < panel / lanes; first += vectors) {
    Columns columns{panelIndex, first, vectors};
    if (knownRows() && !firstRow) {
      for (int64_t row = 0; row < *knownRows(); row += most)
        emitStream(columns, fn.index(row), std::min(most, *knownRows() - row));
      continue;
    }
    Value low = firstRow ? firstRow : fn.index(0), high = firstRow ? rowEnd : fn.materialize(rows);
    forRows(low, high, most, [&](Value at, int64_t height) { emitStream(columns, at, height); });
  }
}

/// Writes the numbers that the codes of a panel stand for, [k][columns of the panel].
void BlockDotEmitter::writeStrip(Value panelIndex) {
  Columns columns{panelIndex, 0, panel / lanes};
  fn.loop(fn.index(0), fn.index(blocks), 1, [&](Value at) {
    BlockNumbers numbers = numbersOf(columns, at);
    Value first = mul(at, block / kWordCodes);
    fn.loop(first, add(first, fn.index(block / kWordCodes)), 1, [&](Value word) {
      Value line = add(stripBase, mul(word, kWordCodes * panel));
      for (int64_t j = 0; j < columns.vectors; ++j) {
        Value half = wordsAt(columns, word, j);
        for (int64_t i = 0; i < kWordCodes; ++i) {
          if (i == kHalfCodes)
            half = arith::ShRUIOp::create(b, half, splatInt(16));
          Value code = codesAt(half, i % kHalfCodes, numbers.centres[j][i % kHalfCodes]);
          vector::StoreOp::create(b, arith::MulFOp::create(b, code, numbers.scales[j]), strip,
                                  ValueRange{add(line, fn.index(elementOf(i) * panel + j * lanes))});
        }
      }
    });
  });
}

/// A register tile over the strip, from vector `first` of its columns and row `row` on.
void BlockDotEmitter::emitTile(const RegisterTile &shape, Value panelIndex, int64_t first, Value row) {
  MicroOperands operands(ProductForm::fusedOf(Number::f32));
  operands.a = fn.input(x);
  for (int64_t i = 0; i < shape.rows; ++i)
    operands.aRows.push_back(mul(add(row, fn.index(i)), k));
  operands.b = strip;
  operands.bStride = fn.index(panel);
  for (int64_t j = 0; j < shape.vectors; ++j)
    operands.bVectors.push_back(add(stripBase, fn.index((first + j) * lanes)));
  SmallVector<Value> sums =
      emitBlockedMicroKernel(fn, operands, floats, fn.index(0), fn.index(k), dims.constant(k), {});
  finishTile(sums, row, shape.rows, {panelIndex, first, shape.vectors});
}

/// All rows, of which there are more than few, times one panel. The last tile overlaps the one before it; where the
/// number of rows is not known, fewer than a tile take lower ones.
void BlockDotEmitter::tileRows(Value panelIndex) {
  writeStrip(panelIndex);
  Value rowCount = fn.materialize(rows);
  for (int64_t first = 0; first < panel / lanes; first += tile.vectors) {
    auto wholeTiles = [&] {
      Value last = arith::SubIOp::create(b, rowCount, fn.index(tile.rows));
      fn.loop(fn.index(0), rowCount, tile.rows,
              [&](Value row) { emitTile(tile, panelIndex, first, arith::MinSIOp::create(b, row, last)); });
    };
    if (knownRows()) {
      wholeTiles();
      continue;
    }
    Value enough = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, rowCount, fn.index(tile.rows));
    fn.branch(enough, wholeTiles, [&] {
      constexpr uint64_t highest = 8;
      auto lower = static_cast<int64_t>(std::min(highest, llvm::bit_floor(static_cast<uint64_t>(tile.rows - 1))));
      forRows(fn.index(0), rowCount, lower,
              [&](Value at, int64_t height) { emitTile({height, tile.vectors}, panelIndex, first, at); });
    });
  }
}

/// The bytes of a chunk's workspace.
int64_t BlockDotEmitter::workspaceBytes() {
  const Target &target = fn.spec.target();
  bool areAllDigits = areBytes(target);
  int64_t strips = mayHaveStrips() && !areAllDigits ? stripElements() * widthOf(Number::f32) : 0;
  int64_t most = areAllDigits ? kByteRows : kFewRows, rowCount = std::min(knownRows().value_or(most), most);
  bool hasDigits = areAllDigits || (DigitRows::areFor(target) && knownRows().value_or(most) <= most);
  int64_t digits = hasDigits ? rowCount * DigitRows::wordsOf(k, block, digitCount()) * 4 : 0;
  return llvm::alignTo(std::max(strips, digits), target.cacheLineBytes);
}

EmittedKernel BlockDotEmitter::emit() {
  int64_t perChunk = std::max<int64_t>(1, fn.spec.schedule().getChunk() / stripElements());
  int64_t chunkBytes = workspaceBytes();
  auto walk = [&](void (BlockDotEmitter::*rowsOf)(Value)) {
    fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
      Value low = mul(chunk, perChunk);
      Value high = arith::MinSIOp::create(b, add(low, fn.index(perChunk)), fn.index(panels()));
      fn.loop(low, high, 1, [&](Value panelIndex) { (this->*rowsOf)(panelIndex); });
    });
  };
  Value work = mul(fn.begin(), chunkBytes / 4); // in 32-bit words, one for all chunks of a call
  auto many = [&] {
    auto type = MemRefType::get({kHuge}, b.getF32Type());
    strip = memref::ViewOp::create(b, type, fn.workspace(), fn.index(0), ValueRange{});
    stripBase = work;
    walk(&BlockDotEmitter::tileRows);
  };
  auto few = [&] {
    if (!DigitRows::areFor(fn.spec.target()))
      return walk(&BlockDotEmitter::streamRows);
    digitRows.emplace(fn, k, block, digitCount(), fn.workspace(), work);
    Value none = arith::ConstantOp::create(b, b.getBoolAttr(false));
    Value isSpecial = fn.loop(fn.index(0), fn.materialize(rows), 1, none, [&](Value row, ValueRange carried) {
      return SmallVector<Value>{digitRows->write(row, fn.input(x), mul(row, k), carried[0])};
    })[0];
    auto asDigits = [&] { walk(&BlockDotEmitter::streamRows); };
    auto asFloats = [&] {
      digitRows.reset();
      walk(&BlockDotEmitter::streamRows);
    };
    fn.branch(arith::XOrIOp::create(b, isSpecial, arith::ConstantOp::create(b, b.getBoolAttr(true))), asDigits,
              asFloats);
  };
  auto bytes = [&] {
    digitRows.emplace(fn, k, block, digitCount(), fn.workspace(), work);
    Value rowCount = fn.materialize(rows), none = arith::ConstantOp::create(b, b.getBoolAttr(false));
    fn.loop(fn.index(0), rowCount, kByteRows, [&](Value from) {
      firstRow = from;
      rowEnd = arith::MinSIOp::create(b, add(from, fn.index(kByteRows)), rowCount);
      fn.loop(firstRow, rowEnd, 1, [&](Value row) {
        digitRows->write(arith::SubIOp::create(b, row, from), fn.input(x), mul(row, k), none);
      });
      walk(&BlockDotEmitter::streamRows);
    });
  };
  if (areBytes(fn.spec.target()))
    bytes();
  else if (knownRows())
    mayHaveStrips() ? many() : few();
  else
    fn.branch(arith::CmpIOp::create(b, arith::CmpIPredicate::sle, fn.materialize(rows), fn.index(kFewRows)), few, many);
  fn.finish();
  EmittedKernel emitted;
  emitted.function = fn.function;
  int64_t chunks = llvm::divideCeil(panels(), perChunk);
  emitted.chunks = dims.constant(chunks);
  if (chunkBytes)
    emitted.workspaceBytes = dims.constant(chunks * chunkBytes);
  double rate = mayHaveStrips() ? fn.spec.costs().tiledMacsPerNs : fn.spec.costs().streamedMacsPerNs;
  if (areBytes(fn.spec.target()))
    rate = DigitRows::arePairs(fn.spec.target()) ? fn.spec.costs().pairMacsPerNs : fn.spec.costs().byteMacsPerNs;
  emitted.estimate(fn.spec, dims.mul(rows, dims.constant(k * columns)), 1 / rate);
  return emitted;
}

//===- the plan ------------------------------------------------------------------------------===//

Plan sinter::cpu::planBlockDot(KernelSpec &spec, ScheduleAttr given) {
  std::optional<BlockProduct> product = blockProductOf(spec);
  if (!product || !canBuildAfter(spec, product->op) || spec.target().vectorBytes < 16)
    return Plan::refuse("it is no product with constant codes in blocks, or the target has no vectors");
  Plan plan;
  int64_t most = spec.target().lanes(widthOf(Number::f32));
  plan.setLanes(most, 4);
  int64_t perPanel = product->panel / lanesOr(given, most);
  bool conflicting = product->k * widthOf(Number::f32) % 4096 == 0;
  int64_t rows = product->knownRows().value_or(ShapedType::kDynamic);
  RegisterTile tile = chooseTile(spec.target(), rows, perPanel, {.conflicting = conflicting});
  int64_t highest = product->knownRows() ? std::clamp<int64_t>(rows, 1, kMostTileRows) : kMostTileRows;
  plan.addTile(std::clamp<int64_t>(tile.rows, 1, highest), highest);
  plan.addTile(std::min(tile.vectors, perPanel), perPanel, perPanel);
  // More vectors would leave no registers for masks and what is subtracted.
  plan.addTile(
      std::min<int64_t>(perPanel, spec.target().vectorRegisters >= 32 || DigitRows::areFor(spec.target()) ? 2 : 1),
      perPanel, perPanel);
  // Each chunk has a strip, so that there are few where strips are made.
  int64_t panelMacs = product->words() * kWordCodes * product->panel;
  int64_t perChunk =
      product->mayHaveStrips() ? llvm::divideCeil(product->panels(), spec.costs().stripChunks) : int64_t(1);
  if (product->areBytes(spec.target()))
    perChunk = std::max(perChunk, std::min(kByteColumns / product->panel, product->panels()));
  plan.setChunk(std::max(spec.costs().streamedMacs, perChunk * panelMacs));
  for (std::optional<unsigned> input : {std::optional(product->codes), std::optional(product->scales), product->zeros})
    if (input)
      plan.packing.push_back(*input);
  llvm::sort(plan.packing);
  plan.needsPacking = true;
  return plan;
}

EmittedKernel sinter::cpu::emitBlockDot(KernelSpec &spec, ModuleOp module, StringRef name) {
  BlockProduct product = *blockProductOf(spec);
  KernelFunction fn(spec, module, name, {.workspace = product.mayHaveStrips() || DigitRows::areFor(spec.target())});
  return BlockDotEmitter(fn, product).emit();
}

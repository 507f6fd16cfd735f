// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/Tiles.h"
#include "backends/cpu/emit/BlockSums.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include <cmath>

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// Products in one chain of additions: sums of bf16 are off by far less than the rounding of their operands.
constexpr int64_t kTileBlock = 2048;

RegisterTile sinter::cpu::chooseTileOfTiles(int64_t rows, int64_t vectors) {
  int64_t most = 2 * kTileRows, width = std::min<int64_t>(vectors, 2);
  if (rows == ShapedType::kDynamic)
    return {most, width};
  if (rows <= most)
    return {std::max<int64_t>(rows, 1), width};
  // The last tile overlaps the one before it. An instruction takes as long as it has rows, and loads as many as four.
  int64_t best = most;
  auto cost = [&](int64_t height) { return llvm::divideCeil(rows, height) * (height + 4); };
  for (int64_t height = most - 1; height > kTileRows; --height)
    if (cost(height) < cost(best))
      best = height;
  return {best, width};
}

TileSums::Rows TileSums::split(DimContext &dims, DimExpr rows, int64_t most) {
  rows = dims.resolve(rows);
  if (most <= kTileRows)
    return {rows, {}, rows};
  DimExpr one = dims.constant(1);
  DimExpr first = rows.isConstant() ? dims.constant(llvm::divideCeil(rows.constant(), 2))
                                    : dims.min(rows, dims.constant(kTileRows));
  return {first, dims.max(one, dims.sub(rows, first)), rows};
}

TileSums::TileSums(KernelFunction &fn, const ProductForm &form, Rows rows, int64_t vectors)
    : fn(fn), b(fn.b), form(form), mostVectors(vectors), isHigh(static_cast<bool>(rows.second)),
      vectorType(VectorType::get({kTileColumns}, typeOf(form.sum, b.getContext()))) {
  DimContext &dims = fn.spec.dims;
  DimExpr one = dims.constant(1), first = dims.max(one, rows.first), second = isHigh ? rows.second : one;
  rowCount = fn.materialize(rows.all);
  if (isHigh)
    half = fn.materialize(dims.min(first, dims.max(dims.constant(0), dims.sub(rows.all, one))));
  Value firstRows = fn.materialize(first), secondRows = fn.materialize(second);

  Value shapes;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&fn.function.getBody().front());
    shapes = memref::AllocaOp::create(b, MemRefType::get({64}, b.getI8Type()), b.getI64IntegerAttr(64));
  }
  // Byte 0 is the palette, bytes 16 + 2 t the bytes of a row of tile t, bytes 48 + t its rows.
  auto zeros = VectorType::get({64}, b.getI8Type());
  int64_t step = form.kStep * widthOf(form.row);
  SmallVector<int8_t> constants(64, 0);
  constants[0] = 1;
  for (int64_t t = 0; t < 8; ++t)
    constants[16 + 2 * t] = static_cast<int8_t>(t == 4 || t == 5 ? step : kTileBytes);
  for (int64_t t : {6, 7})
    constants[48 + t] = static_cast<int8_t>(step / 4); // a word of k is four bytes
  vector::StoreOp::create(b, arith::ConstantOp::create(b, DenseElementsAttr::get(zeros, ArrayRef<int8_t>(constants))),
                          shapes, ValueRange{fn.index(0)});
  for (auto [t, count] : {std::pair(0, firstRows), std::pair(1, firstRows), std::pair(2, secondRows),
                          std::pair(3, secondRows), std::pair(4, firstRows), std::pair(5, secondRows)}) {
    Value narrow = arith::IndexCastOp::create(b, b.getI8Type(), count);
    memref::StoreOp::create(b, narrow, shapes, ValueRange{fn.index(48 + t)});
  }
  call("ldtilecfg", {}, pointer(shapes, fn.index(0), Number::i8));
}

Value TileSums::firstRow(int64_t i) { return i ? half : fn.index(0); }

Value TileSums::bytes(Value elements, Number number) {
  Value wide = arith::IndexCastOp::create(b, b.getI64Type(), elements);
  if (widthOf(number) == 1)
    return wide;
  return arith::MulIOp::create(b, wide, arith::ConstantIntOp::create(b, b.getI64Type(), widthOf(number)));
}

Value TileSums::pointer(Value buffer, Value offset, Number element) {
  Value base = pointerTo(b, buffer);
  SmallVector<LLVM::GEPArg> distance = {bytes(offset, element)};
  return LLVM::GEPOp::create(b, base.getType(), b.getI8Type(), base, distance);
}

void TileSums::call(StringRef name, ArrayRef<int64_t> tiles, ValueRange others) {
  SmallVector<Value> operands;
  for (int64_t tile : tiles)
    operands.push_back(LLVM::ConstantOp::create(b, b.getI8Type(), b.getI8IntegerAttr(static_cast<int8_t>(tile))));
  llvm::append_range(operands, others);
  LLVM::CallIntrinsicOp::create(b, b.getStringAttr("llvm.x86." + name), operands);
}

void TileSums::clear() {
  for (int64_t i = 0; i < rowTiles(); ++i)
    for (int64_t j = 0; j < vectors; ++j)
      call("tilezero", {2 * i + j});
}

void TileSums::begin(int64_t count, bool folds) {
  assert(count <= mostVectors && "a sum has no more vectors than the kernel's tile");
  vectors = count;
  isFolding = folds;
  clear();
  if (!folds)
    return;
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(vectorType));
  fn.loop(fn.index(0), fn.index(2 * kTileRows * vectors * kTileColumns), kTileColumns,
          [&](Value at) { vector::StoreOp::create(b, zero, sumsIn(hot), ValueRange{at}); });
}

void TileSums::addProducts(const TileOperands &operands, Value steps) {
  bool aIsSigned = form.a == Number::i8, bIsSigned = form.b == Number::i8;
  StringRef product = form.sum == Number::f32 ? "tdpbf16ps"
                      : aIsSigned             ? (bIsSigned ? "tdpbssd" : "tdpbsud")
                                              : (bIsSigned ? "tdpbusd" : "tdpbuud");
  Value aBytes = bytes(operands.aPitch, form.row), bBytes = bytes(operands.bPitch, form.column);
  Value wordsOfStep = fn.index(form.kStep / form.kPack), elementsOfStep = fn.index(form.kStep);
  fn.loop(fn.index(0), steps, 1, [&](Value step) {
    auto add = [&](Value x, Value y) { return arith::AddIOp::create(b, x, y).getResult(); };
    auto mul = [&](Value x, Value y) { return arith::MulIOp::create(b, x, y).getResult(); };
    Value aOffset = mul(step, elementsOfStep), bOffset = mul(mul(step, wordsOfStep), operands.bPitch);
    auto loadB = [&](int64_t j) {
      call("tileloadd64", {6 + j}, {pointer(operands.b, add(operands.bTiles[j], bOffset), form.column), bBytes});
    };
    loadB(0);
    for (int64_t i = 0; i < rowTiles(); ++i) {
      call("tileloadd64", {4 + i}, {pointer(operands.a, add(operands.aTiles[i], aOffset), form.row), aBytes});
      for (int64_t j = 0; j < vectors; ++j) {
        if (i == 0 && j > 0)
          loadB(j);
        call(product, {2 * i + j, 4 + i, 6 + j});
      }
    }
    for (int64_t j = 0; operands.prefetchSteps && j < vectors; ++j) {
      Value ahead =
          add(operands.bTiles[j], mul(fn.index(operands.prefetchSteps * form.kStep / form.kPack), operands.bPitch));
      for (int64_t word = 0; word < form.kStep / form.kPack; ++word)
        memref::PrefetchOp::create(b, operands.b,
                                   ValueRange{add(add(ahead, bOffset), mul(fn.index(word), operands.bPitch))},
                                   /*isWrite=*/false, /*localityHint=*/3, /*isDataCache=*/true);
    }
    if (operands.ahead)
      prefetchAhead(fn, form, operands.b, operands.ahead, step, operands.aheadStride);
  });
}

void TileSums::moveSums(StringRef instruction, Value buffer, Value at, Value pitch) {
  Value distance = bytes(pitch, form.sum);
  for (int64_t i = 0; i < rowTiles(); ++i)
    for (int64_t j = 0; j < vectors; ++j) {
      Value row = arith::MulIOp::create(b, firstRow(i), pitch);
      Value first = arith::AddIOp::create(b, at, arith::AddIOp::create(b, row, fn.index(j * kTileColumns)));
      call(instruction, {2 * i + j}, {pointer(buffer, first, form.sum), distance});
    }
}

void TileSums::load(Value buffer, Value at, Value pitch, int64_t count) {
  assert(count <= mostVectors && "a sum has no more vectors than the kernel's tile");
  vectors = count;
  isFolding = false;
  moveSums("tileloadd64", buffer, at, pitch);
}

void TileSums::store(Value buffer, Value at, Value pitch) { moveSums("tilestored64", buffer, at, pitch); }

Value TileSums::sumsIn(Value &buffer) {
  if (!buffer) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&fn.function.getBody().front());
    auto sums = MemRefType::get({2 * kTileRows * mostVectors * kTileColumns}, vectorType.getElementType());
    buffer = memref::AllocaOp::create(b, sums, b.getI64IntegerAttr(64));
  }
  return buffer;
}

void TileSums::addScratch() {
  fn.loop(fn.index(0), fn.index(2 * kTileRows * vectors * kTileColumns), kTileColumns, [&](Value at) {
    Value sum = vector::LoadOp::create(b, vectorType, hot, ValueRange{at});
    Value part = vector::LoadOp::create(b, vectorType, scratch, ValueRange{at});
    vector::StoreOp::create(b, joinFloats(b, sum, part), hot, ValueRange{at});
  });
}

void TileSums::fold() {
  assert(isFolding && "the sum was begun to be folded");
  storeTo(sumsIn(scratch));
  addScratch();
  clear();
}

void TileSums::end() {
  if (!isFolding)
    storeTo(sumsIn(hot));
}

int64_t TileSums::blockSteps(int64_t steps) const {
  if (!form.sumsByBlocks())
    return kNoBlocks;
  int64_t least = std::max<int64_t>(1, kTileBlock / form.kStep);
  if (steps == ShapedType::kDynamic)
    return least;
  // Of very long sums, as many blocks as a block has products.
  return std::max(least, static_cast<int64_t>(std::sqrt(static_cast<double>(steps) / form.kStep)));
}

void TileSums::addInBlocks(const TileOperands &operands, DimExpr size, int64_t count) {
  size = fn.spec.dims.resolve(size);
  int64_t known = size.isConstant() ? size.constant() : ShapedType::kDynamic, block = blockSteps(known);
  Value steps = fn.materialize(size);
  if (block == kNoBlocks || (known != ShapedType::kDynamic && known <= block)) {
    begin(count, /*folds=*/false);
    addProducts(operands, steps);
    return end();
  }
  begin(count, /*folds=*/true);
  fn.loop(fn.index(0), steps, block, [&](Value from) {
    TileOperands part = operands;
    auto add = [&](Value x, Value y) { return arith::AddIOp::create(b, x, y).getResult(); };
    auto mul = [&](Value x, Value y) { return arith::MulIOp::create(b, x, y).getResult(); };
    for (Value &tile : part.aTiles)
      tile = add(tile, mul(from, fn.index(form.kStep)));
    for (Value &tile : part.bTiles)
      tile = add(tile, mul(mul(from, fn.index(form.kStep / form.kPack)), operands.bPitch));
    if (part.ahead)
      part.ahead = add(part.ahead, mul(from, fn.index(part.aheadStride)));
    Value left = arith::SubIOp::create(b, steps, from);
    addProducts(part, arith::MinSIOp::create(b, left, fn.index(block)));
    fold();
  });
  end();
}

void TileSums::finish(Value root, function_ref<SmallVector<LaneIndex>(KernelElements &, Value)> rowIndex, Value column,
                      function_ref<Value(Value)> mask, Value results, function_ref<Value(Value)> place) {
  emitHotEpilogue(fn, root, hot, results ? results : rowCount, vectors, vectorType, rowIndex, column, mask, place);
}

void TileSums::release() { call("tilerelease", {}); }

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix products: result[batch, m, n] = sum over k of lhs[batch, m, k] * rhs[batch, k, n], then pointwise ops.
//
//   chunk     one batch, a block of rows, a group of panels          (claimed by any thread)
//   tile      MR rows by NV vectors of accumulators in registers     (MicroKernel.h)
//
// A constant rhs is packed at compile time as [panel][k][32 columns], and one that a loop leaves as it is before the
// loop (PackInvariants). Otherwise the columns of one tile after the other go to the workspace as a strip [k][columns]:
// transposed when its k is contiguous (q k^T), copied when its rows lie far apart and many rows of lhs read them (then
// they share few cache sets and each is a page of its own); else rhs is read where it lies. Row blocks of one panel
// follow each other, so that a strip is made once in most calls. The left operand is never packed: one scalar a row and
// k is read whatever its strides are, unless steps of k want several elements side by side or others than memory holds
// (ProductForm.h): then a chunk takes many panels, and first copies its rows to the workspace, where the chunks of a
// call that need the same rows share them. So it does with rows that lie along the columns of memory far apart (x^T y),
// where many columns read them: they are turned, of one product in a step of their own that copies all rows and strips
// once (emitCopiedOnce). When the rows do not divide into tiles the last tile overlaps the one before
// it and computes a few rows twice; below one tile, tiles of 8, 4, 2 and 1 rows follow each other.
//
// Where the schedule lists an input that may hold blocks of zeros, as probabilities behind a mask do, a tile looks at
// its rows of lhs, or at what its result is multiplied with, and sums only from the first block that is not zero to the
// last. The sums have the same bits, unless rhs holds infinities or NaNs where lhs is zero.

#include "ir/Contraction.h"
#include "backends/cpu/emit/ContractionPlan.h"
#include "backends/cpu/emit/General.h"
#include "backends/cpu/emit/MicroKernel.h"
#include "backends/cpu/emit/Packing.h"
#include "backends/cpu/emit/PartialTiles.h"
#include "backends/cpu/emit/Strips.h"
#include "backends/cpu/emit/Tiles.h"
#include "backends/cpu/emit/ZeroSearch.h"
#include "ir/Elementwise.h"
#include <cmath>

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// Sums so long that what the epilogue needs is asked for before them.
constexpr int64_t kPrefetchedFromK = 64;

namespace {
class ContractionEmitter {
public:
  ContractionEmitter(KernelFunction &fn, DotGeneralOp dot, const ContractionPlan &plan)
      : fn(fn), b(fn.b), spec(fn.spec), dims(fn.spec.dims), dot(dot), plan(plan), form(plan.form) {
    ResultAxes axes(spec, dot, plan);
    resultSizes = axes.sizes;
    rowAxes = axes.rowAxes;
    walksAxes = axes.walksAxes;
    width = widthOf(form.sum);
    lanes = spec.schedule().getLanes();
    vectorType = VectorType::get({lanes}, typeOf(form.sum, b.getContext()));
    tile = {spec.schedule().getTile()[0], spec.schedule().getTile()[1]};
    // A strip holds the columns of one tile: of more, the last one would reach beyond the end of rhs.
    int64_t tileColumns = tile.vectors * lanes;
    panel = plan.hasStrips() ? tileColumns : spec.target().panelBytes / width;
    int64_t columns = constantOr(plan.columns, ShapedType::kDynamic);
    bool isOpen = columns == ShapedType::kDynamic || (plan.hasStrips() && form.isTiled());
    masked = columns == ShapedType::kDynamic || columns % (isOpen ? tileColumns : lanes) != 0;
    lastVectors = isOpen ? tile.vectors : lastTileVectors(llvm::divideCeil(columns, lanes), tile.vectors);
    DimExpr pack = dims.constant(form.kPack);
    steps = form.words(dims, plan.k);
    stripElements = dims.mul(dims.add(steps, dims.constant(form.headers())), dims.constant(panel * form.kPack));
    // Rows that lie a multiple of 4 KiB apart would share cache sets.
    rowPitch = dims.mul(steps, pack);
    if (form.isTiled() && form.kStep * widthOf(form.row) < kTileBytes) // whole lines hold whole rows
      rowPitch = dims.constant(llvm::PowerOf2Ceil(form.kStep));
    if (constantOr(rowPitch, 1) * widthOf(form.row) % 4096 == 0)
      rowPitch = dims.add(rowPitch, dims.constant(64 / widthOf(form.row)));
  }

  EmittedKernel emit();

private:
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulIOp::create(b, x, y); }
  int64_t constantOr(DimExpr expr, int64_t otherwise) { return cpu::constantOr(dims, expr, otherwise); }
  void emitStrip(Value base, Value columnBegin);
  void copyRows(Value begin, Value end, Value lhsBase);
  std::pair<Value, Value> findColumns(Value group, Value batch, Value rhsBase);
  void emitGroup(Value group, std::pair<Value, Value> rhs, Value lhsBase, Value rowBegin, Value rowEnd,
                 ArrayRef<Value> batchIndex);
  void emitGroups(Value first, Value end, Value batch, Value lhsBase, Value rhsBase, Value rowBegin, Value rowEnd,
                  ArrayRef<Value> batchIndex);
  void chooseBlocks(DimExpr groups);
  EmittedKernel emitPanelChunks();
  EmittedKernel emitRowChunks();
  EmittedKernel emitCopiedOnce();
  DimExpr rowBlocks(DimExpr chunks);
  EmittedKernel finish(DimExpr chunks, DimExpr workspaceBytes);
  /// Quotient and rest.
  std::pair<Value, Value> split(Value index, Value count) {
    Value outer = arith::DivUIOp::create(b, index, count);
    return {outer, arith::SubIOp::create(b, index, mul(outer, count)).getResult()};
  }
  std::pair<Value, Value> basesOf(ArrayRef<Value> batchIndex);
  void emitTile(const RegisterTile &tile, Value row, Value column, Value lhsBase, Value rhsBase, Value rhsStep,
                ArrayRef<Value> batchIndex);
  void emitTiles(Value row, int64_t vectors, Value lhsBase, Value rhsBase, Value column, ArrayRef<Value> batchIndex);
  void emitRows(const RegisterTile &tile, Value rowBegin, Value rowEnd, Value column, Value lhsBase, Value rhsBase,
                Value rhsStep, ArrayRef<Value> batchIndex);
  void prefetchPanels(MicroOperands &operands, Value rhsBase);
  void moveToBlock(MicroOperands &operands);
  void prefetchEpilogue(const RegisterTile &tile, Value row, Value column, ArrayRef<Value> batchIndex);
  Value flatPosition(Value row, Value column, ArrayRef<Value> batchIndex);
  bool mayHoldZeros(unsigned input);
  BlockArgument zeroFactor();
  Value nonzeroEnd(const RegisterTile &tile, BlockArgument factor, Value row, Value column, ArrayRef<Value> batchIndex);
  SmallVector<LaneIndex> resultIndex(KernelElements &elements, ArrayRef<Value> batchIndex, Value row);
  Value columnMask(Value column);

  KernelFunction &fn;
  ImplicitLocOpBuilder &b;
  KernelSpec &spec;
  DimContext &dims;
  DotGeneralOp dot;
  const ContractionPlan &plan;
  const ProductForm &form;
  int64_t width = 4, lanes = 16, panel = 32;
  DimExpr steps, stripElements, rowPitch;
  VectorType vectorType; // of sums
  RegisterTile tile;
  int64_t lastVectors;   // of the last tile of columns
  DimExpr tilesPerBlock; // of rows
  Value tileOfBlock;     // the number of the one at hand
  bool masked = false;
  bool walksAxes = false;               // rows or columns cannot be walked as one in the epilogue
  std::optional<TileSums> tiles;        // of forms that multiply tiles
  int64_t blockSteps = 0;               // of k, where it is walked in blocks
  std::optional<PartialTiles> partials; // where it is
  Value stepBegin, stepEnd;             // of the block at hand: where it begins, how many there are
  Value firstPlace;                     // of the tiles of a block of rows and a group of panels
  Value strip, stripBase;               // the columns of this chunk that are not read where they lie
  Value copies, copyBase, copyBegin;    // the rows that this chunk copied, from row `copyBegin` on
  Dims resultSizes;
  int64_t rowAxes = 0;
};
} // namespace

Value ContractionEmitter::columnMask(Value column) {
  if (!masked)
    return nullptr;
  Value left = arith::SubIOp::create(b, fn.materialize(plan.columns), column);
  return vector::CreateMaskOp::create(b, VectorType::get({lanes}, b.getI1Type()), ValueRange{left});
}

SmallVector<LaneIndex> ContractionEmitter::resultIndex(KernelElements &elements, ArrayRef<Value> batchIndex,
                                                       Value row) {
  SmallVector<LaneIndex> index(resultSizes.size(), elements.constant(0));
  for (auto [k, i] : llvm::enumerate(batchIndex))
    index[k] = elements.uniform(i);
  int64_t rowBegin = batchIndex.size();
  if (rowAxes > 0 && walksAxes) {
    Dims sizes(resultSizes.begin() + rowBegin, resultSizes.begin() + rowBegin + rowAxes);
    for (auto [k, i] : llvm::enumerate(fn.delinearize(row, sizes)))
      index[rowBegin + k] = elements.uniform(i);
  } else if (rowAxes > 0) {
    index[carrierAxis(spec, resultSizes, rowBegin, rowBegin + rowAxes)] = elements.uniform(row);
  }
  return index;
}

/// Where an element lies in what has the result's shape.
Value ContractionEmitter::flatPosition(Value row, Value column, ArrayRef<Value> batchIndex) {
  Value flat = fn.index(0);
  for (auto [k, i] : llvm::enumerate(batchIndex))
    flat = add(mul(flat, fn.materialize(plan.batches[k])), i);
  flat = add(mul(flat, fn.materialize(plan.rows)), row);
  return add(mul(flat, fn.materialize(plan.columns)), column);
}

bool ContractionEmitter::mayHoldZeros(unsigned input) { return spec.schedule().looksForZeros(input); }

/// What the product is multiplied with at once, if that may hold blocks of zeros and lies as the result does.
BlockArgument ContractionEmitter::zeroFactor() {
  auto product = dot->hasOneUse() ? dyn_cast<MulOp>(*dot->user_begin()) : MulOp();
  if (!product || masked || walksAxes)
    return {};
  Value other = product.getLhs() == dot.getResult() ? product.getRhs() : product.getLhs();
  auto factor = dyn_cast<BlockArgument>(other);
  return factor && mayHoldZeros(factor.getArgNumber()) && spec.kernel.stridesOf(factor.getArgNumber()).empty() &&
                 spec.sizes->sameShape(factor, dot.getResult())
             ? factor
             : BlockArgument();
}

/// The end of k, or 0 where the tile of `factor` is zero.
Value ContractionEmitter::nonzeroEnd(const RegisterTile &tile, BlockArgument factor, Value row, Value column,
                                     ArrayRef<Value> batchIndex) {
  Value isZero = ZeroSearch(fn, vectorType)
                     .isZeroTile(tile, fn.input(factor.getArgNumber()), flatPosition(row, column, batchIndex),
                                 fn.materialize(plan.columns));
  return arith::SelectOp::create(b, isZero, fn.index(0), fn.materialize(plan.k));
}

/// Asks for the lines of the tile that the epilogue reads and writes, which the sum over k leaves time to bring.
void ContractionEmitter::prefetchEpilogue(const RegisterTile &tile, Value row, Value column,
                                          ArrayRef<Value> batchIndex) {
  if (walksAxes || constantOr(plan.k, 0) < kPrefetchedFromK)
    return;
  Value flat = flatPosition(row, column, batchIndex);
  SmallVector<Value> places;
  for (int64_t i = 0; i < tile.rows; ++i)
    places.push_back(add(flat, mul(fn.index(i), fn.materialize(plan.columns))));
  cpu::prefetchEpilogue(fn, dot, places, tile.vectors, lanes);
}

/// Panels that stream from beyond the second-level cache: each tile asks for its part of the next columns' panels,
/// where both fit that cache beside the rows, else for what it needs 128 steps later.
void ContractionEmitter::prefetchPanels(MicroOperands &operands, Value rhsBase) {
  int64_t bytes = constantOr(dims.mul(steps, plan.columns), 0) * form.kPack * widthOf(form.b);
  if (!(plan.packed || (plan.copiesOnce && plan.hasStrips())) || bytes <= spec.target().l2Bytes)
    return;
  int64_t stepElements = tile.vectors * lanes * form.kPack, stepCount = partials ? blockSteps : constantOr(steps, 0);
  int64_t tiles = tilesPerBlock.isConstant() ? tilesPerBlock.constant() : 0;
  // What lies ahead is in one piece: whole panels, or a block of one of them.
  bool arePanels = partials ? tile.vectors * lanes == panel : tile.vectors * lanes % panel == 0;
  if (!arePanels || tiles == 0 || stepElements * widthOf(form.b) * stepCount > spec.target().l2Bytes / 4) {
    operands.prefetchRows = 128;
    return;
  }
  operands.aheadStride = llvm::divideCeil(stepElements, tiles);
  Value share = mul(tileOfBlock, fn.index(operands.aheadStride * stepCount));
  Value next = mul(fn.index(tile.vectors * lanes / panel), fn.materialize(stripElements));
  operands.ahead = add(add(rhsBase, next), share);
  if (partials)
    operands.ahead = add(operands.ahead, mul(stepBegin, operands.bStride));
}

void ContractionEmitter::emitTile(const RegisterTile &tile, Value row, Value column, Value lhsBase, Value rhsBase,
                                  Value rhsStep, ArrayRef<Value> batchIndex) {
  MicroOperands operands(form);
  operands.b = fn.input(plan.rhs.input);
  if (plan.copiesRows) {
    operands.a = copies;
    Value first = arith::SubIOp::create(b, row, copyBegin);
    for (int64_t i = 0; i < tile.rows; ++i)
      operands.aRows.push_back(add(copyBase, mul(add(first, fn.index(i)), fn.materialize(rowPitch))));
    if (form.kPack > 1)
      operands.aStride = fn.index(form.kPack);
  } else {
    operands.a = fn.input(plan.lhs.input);
    Value rowStride = fn.materialize(plan.lhsRows.stride);
    for (int64_t i = 0; i < tile.rows; ++i)
      operands.aRows.push_back(add(lhsBase, mul(add(row, fn.index(i)), rowStride)));
    if (form.kPack > 1) {
      operands.aStride = fn.index(form.kPack);
    } else if (int64_t step = constantOr(plan.lhsK.stride, 0); step != 1) {
      operands.aStride = fn.materialize(plan.lhsK.stride);
      // The rows of a tile lie beside each other then, and each k on lines of its own that nothing foresees.
      if (step * width >= spec.costs().farBytes && constantOr(plan.lhsRows.stride, 0) == 1)
        operands.prefetchSteps = 16;
    }
  }

  SmallVector<Value> starts;
  if (plan.packed || plan.hasStrips()) {
    operands.bStride = fn.index(panel * form.kPack);
    if (plan.hasStrips())
      operands.b = strip;
    int64_t perPanel = panel / lanes;
    for (int64_t j = 0; j < tile.vectors; ++j) {
      int64_t next = j / perPanel;
      Value first = next ? add(rhsBase, mul(fn.index(next), fn.materialize(stripElements))) : rhsBase;
      first = add(first, fn.index(j % perPanel * lanes * form.kPack));
      if (form.headers()) {
        auto type = VectorType::get({lanes * form.kPack}, typeOf(form.b, b.getContext()));
        Value header = vector::LoadOp::create(b, type, operands.b, ValueRange{first});
        starts.push_back(vector::BitCastOp::create(b, vectorType, header));
        first = add(first, operands.bStride);
      }
      operands.bVectors.push_back(first);
    }
    prefetchPanels(operands, rhsBase);
    // Nothing foresees that a strip or a panel begins again with each tile.
    bool beginsAgain = plan.hasStrips() || (form.step == ProductForm::Step::fused && operands.prefetchRows == 0 &&
                                            constantOr(plan.rows, 0) > tile.rows);
    if (beginsAgain && constantOr(stripElements, 0) * widthOf(form.column) > spec.target().l1Bytes / 2)
      operands.prefetchRows = 16;
  } else {
    operands.bStride = rhsStep;
    for (int64_t j = 0; j < tile.vectors; ++j) {
      Value at = add(column, fn.index(j * lanes));
      operands.bVectors.push_back(add(rhsBase, fn.index(j * lanes)));
      operands.bMasks.push_back(columnMask(at));
    }
  }
  SmallVector<Value> firstRow(starts);
  for (int64_t i = 1; i < tile.rows; ++i)
    starts.append(firstRow);
  prefetchEpilogue(tile, row, column, batchIndex);
  if (partials)
    moveToBlock(operands);
  Value kBegin = fn.index(0), kEnd = partials ? stepEnd : fn.materialize(steps);
  bool isLine = !operands.aStride || constantOr(plan.lhsRows.stride, 0) == 1;
  if (BlockArgument factor = zeroFactor())
    kEnd = nonzeroEnd(tile, factor, row, column, batchIndex);
  else if (mayHoldZeros(plan.lhs.input) && isLine && constantOr(plan.k, 1) % kZeroBlock == 0)
    std::tie(kBegin, kEnd) = ZeroSearch(fn, vectorType).nonzeroRange(operands, plan.lhsRows.stride, plan.k);
  DimExpr most = partials ? dims.constant(blockSteps) : steps;
  SmallVector<Value> sums = emitBlockedMicroKernel(fn, operands, vectorType, kBegin, kEnd, most, starts);
  auto finish = [&] {
    emitTileEpilogue(
        fn, dot.getResult(), sums, tile.rows, tile.vectors, vectorType,
        [&](KernelElements &elements, Value i) { return resultIndex(elements, batchIndex, add(row, i)); }, column,
        [&](Value at) { return columnMask(at); });
  };
  if (!partials)
    return finish();
  Value place = add(firstPlace, tileOfBlock);
  sums = partials->add(sums, place);
  partials->finishOrKeep(sums, place, finish);
}

/// Operands of the block of k at hand.
void ContractionEmitter::moveToBlock(MicroOperands &operands) {
  Value aBegin = operands.aStride ? mul(stepBegin, operands.aStride) : stepBegin;
  for (Value &row : operands.aRows)
    row = add(row, aBegin);
  for (Value &vector : operands.bVectors)
    vector = add(vector, mul(stepBegin, operands.bStride));
}

/// The same by tiles of matrix units: `vectors` vectors of columns that are packed or in a strip.
void ContractionEmitter::emitTiles(Value row, int64_t vectors, Value lhsBase, Value rhsBase, Value column,
                                   ArrayRef<Value> batchIndex) {
  TileOperands operands;
  operands.a = plan.copiesRows ? copies : fn.input(plan.lhs.input);
  operands.b = plan.hasStrips() ? strip : fn.input(plan.rhs.input);
  operands.aPitch = fn.materialize(plan.copiesRows ? rowPitch : plan.lhsRows.stride);
  operands.bPitch = fn.index(panel * form.kPack);
  Value first = plan.copiesRows ? arith::SubIOp::create(b, row, copyBegin).getResult() : row;
  for (int64_t i = 0; i < tiles->rowTiles(); ++i)
    operands.aTiles.push_back(
        add(plan.copiesRows ? copyBase : lhsBase, mul(add(first, tiles->firstRow(i)), operands.aPitch)));
  for (int64_t j = 0; j < vectors; ++j)
    operands.bTiles.push_back(add(rhsBase, fn.index(j * lanes * form.kPack)));
  DimExpr whole = dims.floorDiv(steps, dims.constant(form.kStep / form.kPack));
  MicroOperands panels(form);
  prefetchPanels(panels, rhsBase);
  operands.ahead = panels.ahead;
  operands.aheadStride = panels.aheadStride * form.kStep / form.kPack;
  operands.prefetchSteps = panels.prefetchRows * form.kPack / form.kStep;
  tiles->addInBlocks(operands, whole, vectors);
  tiles->finish(
      dot.getResult(),
      [&](KernelElements &elements, Value i) { return resultIndex(elements, batchIndex, add(row, i)); }, column,
      [&](Value at) { return columnMask(at); });
}

/// Writes columns [columnBegin, columnBegin + panel) of rhs to `strip`.
void ContractionEmitter::emitStrip(Value base, Value columnBegin) {
  StripSource source{fn.input(plan.rhs.input),         base,
                     fn.materialize(plan.k),           fn.materialize(plan.columns),
                     fn.materialize(plan.rhsK.stride), fn.materialize(plan.rhsColumns.stride)};
  source.transposed = plan.transposed;
  source.masked = masked || constantOr(plan.columns, 1) % panel != 0;
  cpu::emitStrip(fn, form, source, columnBegin, panel, lanes, strip, stripBase);
}

/// Writes rows [begin, end) of lhs to `copies`, and those before them that an overlapping last tile reads.
void ContractionEmitter::copyRows(Value begin, Value end, Value lhsBase) {
  RowSource source{fn.input(plan.lhs.input), lhsBase, fn.materialize(plan.k), fn.materialize(plan.lhsRows.stride),
                   fn.materialize(plan.lhsK.stride)};
  source.isContiguous = constantOr(plan.lhsK.stride, 0) == 1;
  source.isTransposed = !source.isContiguous && constantOr(plan.lhsRows.stride, 0) == 1;
  emitRowCopy(fn, form, source, begin, end, fn.materialize(dims.mul(steps, dims.constant(form.kPack))),
              fn.materialize(rowPitch), copies, copyBase);
}

/// The tiles of one row block. Where the number of rows is not known before the call, it may be less than a tile.
void ContractionEmitter::emitRows(const RegisterTile &tile, Value rowBegin, Value rowEnd, Value column, Value lhsBase,
                                  Value rhsBase, Value rhsStep, ArrayRef<Value> batchIndex) {
  Value rowCount = fn.materialize(plan.rows);
  auto enter = [&](Value row) {
    tileOfBlock = arith::DivUIOp::create(b, arith::SubIOp::create(b, row, rowBegin), fn.index(tile.rows));
  };
  if (tiles) {
    Value lastStart = fn.materialize(dims.max(dims.constant(0), dims.sub(plan.rows, dims.constant(tile.rows))));
    fn.loop(rowBegin, rowEnd, tile.rows, [&](Value row) {
      enter(row);
      emitTiles(arith::MinSIOp::create(b, row, lastStart), tile.vectors, lhsBase, rhsBase, column, batchIndex);
    });
    return;
  }
  auto wholeTiles = [&] {
    Value lastStart = arith::SubIOp::create(b, rowCount, fn.index(tile.rows));
    fn.loop(rowBegin, rowEnd, tile.rows, [&](Value row) {
      enter(row);
      emitTile(tile, arith::MinSIOp::create(b, row, lastStart), column, lhsBase, rhsBase, rhsStep, batchIndex);
    });
  };
  if (constantOr(plan.rows, ShapedType::kDynamic) != ShapedType::kDynamic) {
    wholeTiles();
    return;
  }
  Value enough = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, rowCount, fn.index(tile.rows));
  fn.branch(enough, wholeTiles, [&] {
    Value row = rowBegin;
    for (int64_t height : {8, 4, 2, 1}) {
      if (height >= tile.rows)
        continue;
      Value left = arith::SubIOp::create(b, rowEnd, row);
      Value end = add(row, mul(arith::DivUIOp::create(b, left, fn.index(height)), fn.index(height)));
      fn.loop(row, end, height,
              [&](Value at) { emitTile({height, tile.vectors}, at, column, lhsBase, rhsBase, rhsStep, batchIndex); });
      row = end;
    }
  });
}

/// Where the matrices of a batch begin.
std::pair<Value, Value> ContractionEmitter::basesOf(ArrayRef<Value> batchIndex) {
  Value lhsBase = fn.index(0), rhsBase = fn.index(0);
  for (auto [k, i] : llvm::enumerate(batchIndex)) {
    lhsBase = add(lhsBase, mul(i, fn.materialize(plan.lhs.strides[plan.lhsBatch[k]])));
    if (!plan.packed)
      rhsBase = add(rhsBase, mul(i, fn.materialize(plan.rhs.strides[plan.rhsBatch[k]])));
  }
  return {lhsBase, rhsBase};
}

/// Where the columns of a group of panels are: their begin in the right operand, or in the strip that they are written
/// to, if they were not before, and the elements from step to step of those that are read where they lie.
std::pair<Value, Value> ContractionEmitter::findColumns(Value group, Value batch, Value rhsBase) {
  Value column = mul(group, fn.index(tile.vectors * lanes));
  if (plan.hasStrips() && plan.copiesOnce)
    return {mul(group, fn.materialize(stripElements)), Value()};
  if (plan.hasStrips()) {
    emitStrip(rhsBase, column);
    return {stripBase, Value()};
  }
  if (!plan.packed)
    return {add(rhsBase, column), fn.materialize(plan.rhsK.stride)};
  Value panelIndex = arith::DivUIOp::create(b, column, fn.index(panel));
  Value inPanel = arith::RemUIOp::create(b, column, fn.index(panel));
  if (form.kPack > 1)
    inPanel = mul(inPanel, fn.index(form.kPack));
  Value panels = fn.materialize(dims.ceilDiv(plan.columns, dims.constant(panel)));
  Value flatPanel = add(mul(batch, panels), panelIndex);
  return {add(mul(flatPanel, fn.materialize(stripElements)), inPanel), Value()};
}

/// One group of panels, at `rhs`, over rows [rowBegin, rowEnd).
void ContractionEmitter::emitGroup(Value group, std::pair<Value, Value> rhs, Value lhsBase, Value rowBegin,
                                   Value rowEnd, ArrayRef<Value> batchIndex) {
  auto [rhsBase, rhsStep] = rhs;
  Value column = mul(group, fn.index(tile.vectors * lanes));
  auto emit = [&, rhsBase = rhsBase, rhsStep = rhsStep](int64_t vectors) {
    emitRows({tile.rows, vectors}, rowBegin, rowEnd, column, lhsBase, rhsBase, rhsStep, batchIndex);
  };
  if (lastVectors == tile.vectors)
    return emit(tile.vectors);
  Value end = fn.materialize(plan.columns), next = add(column, fn.index(tile.vectors * lanes));
  Value isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, next, end);
  fn.branch(isLast, [&] { emit(lastVectors); }, [&] { emit(tile.vectors); });
}

EmittedKernel ContractionEmitter::emit() {
  if (plan.hasStrips())
    strip = memref::ViewOp::create(b, MemRefType::get({kHuge}, typeOf(form.column, b.getContext())), fn.workspace(),
                                   fn.index(0), ValueRange{});
  if (form.isTiled())
    tiles.emplace(fn, form, TileSums::split(dims, dims.min(plan.rows, dims.constant(tile.rows)), tile.rows),
                  tile.vectors);
  return plan.copiesOnce ? emitCopiedOnce() : plan.copiesRows ? emitRowChunks() : emitPanelChunks();
}

/// Blocks of rows, of one size: threads would wait for a large one behind a small one.
void ContractionEmitter::chooseBlocks(DimExpr groups) {
  int64_t tileColumns = tile.vectors * lanes;
  tilesPerBlock =
      dims.max(dims.constant(1), dims.floorDiv(dims.constant(spec.schedule().getChunk() / (tileColumns * tile.rows)),
                                               dims.max(plan.k, dims.constant(1))));
  DimExpr tiles = dims.ceilDiv(plan.rows, dims.constant(tile.rows));
  if (plan.hasStrips() && !plan.copiesOnce) {
    DimExpr strips = dims.max(dims.constant(1), dims.mul(dims.product(plan.batches), groups));
    DimExpr wanted = dims.ceilDiv(dims.constant(spec.costs().stripChunks), strips);
    tilesPerBlock = dims.max(tilesPerBlock, dims.ceilDiv(tiles, wanted));
  }
  DimExpr equal = dims.max(dims.constant(1), dims.ceilDiv(tiles, tilesPerBlock));
  tilesPerBlock = dims.resolve(dims.max(dims.constant(1), dims.ceilDiv(tiles, equal)));
}

/// All chunks of a first step copy their parts of both operands, those of a second one multiply them: a chunk is one
/// group of panels and a block of rows there, as of packed columns.
EmittedKernel ContractionEmitter::emitCopiedOnce() {
  DimExpr groups = dims.ceilDiv(plan.columns, dims.constant(tile.vectors * lanes));
  chooseBlocks(groups);
  DimExpr blockRows = dims.mul(tilesPerBlock, dims.constant(tile.rows)), blocks = dims.ceilDiv(plan.rows, blockRows);
  DimExpr chunks = dims.mul(blocks, groups);
  int64_t line = spec.target().cacheLineBytes;
  DimExpr stripBytes =
      dims.mul(dims.ceilDiv(dims.mul(dims.mul(groups, stripElements), dims.constant(width)), dims.constant(line)),
               dims.constant(plan.hasStrips() ? line : 0));
  copies = memref::ViewOp::create(b, MemRefType::get({kHuge}, typeOf(form.row, b.getContext())), fn.workspace(),
                                  fn.materialize(stripBytes), ValueRange{});
  auto [lhsBase, rhsBase] = basesOf({});
  Value groupCount = fn.materialize(groups), blockCount = fn.materialize(blocks), chunkCount = fn.materialize(chunks);
  Value rowCount = fn.materialize(plan.rows);
  auto stripOf = [&](Value group) { return mul(group, fn.materialize(stripElements)); };
  auto copy = [&, lhsBase = lhsBase, rhsBase = rhsBase] {
    fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
      // Squares of rows are turned: the last chunk has what is left of them.
      Value squares = fn.materialize(dims.floorDiv(plan.rows, dims.constant(lanes)));
      auto rowOf = [&](Value part) {
        return mul(arith::DivUIOp::create(b, mul(part, squares), chunkCount), fn.index(lanes));
      };
      Value next = add(chunk, fn.index(1)), begin = rowOf(chunk);
      Value isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, next, chunkCount);
      Value end = arith::SelectOp::create(b, isLast, rowCount, rowOf(next));
      copyBase = mul(begin, fn.materialize(rowPitch));
      if (plan.copiesRows)
        copyRows(begin, end, lhsBase);
      if (!plan.hasStrips())
        return;
      auto [group, rest] = split(chunk, blockCount);
      fn.branch(
          arith::CmpIOp::create(b, arith::CmpIPredicate::eq, rest, fn.index(0)),
          [&, group = group] {
            stripBase = stripOf(group);
            emitStrip(rhsBase, mul(group, fn.index(tile.vectors * lanes)));
          },
          [] {});
    });
  };
  auto multiply = [&, lhsBase = lhsBase, rhsBase = rhsBase] {
    fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
      auto [block, group] = split(chunk, groupCount);
      Value rowBegin = mul(block, fn.materialize(blockRows));
      Value rowEnd = arith::MinSIOp::create(b, add(rowBegin, fn.materialize(blockRows)), rowCount);
      copyBegin = copyBase = fn.index(0);
      std::pair<Value, Value> rhs = findColumns(group, fn.index(0), rhsBase);
      emitGroup(group, rhs, lhsBase, rowBegin, rowEnd, {});
    });
  };
  fn.branch(arith::CmpIOp::create(b, arith::CmpIPredicate::eq, fn.step(), fn.index(0)), copy, multiply);
  DimExpr copyBytes = dims.mul(dims.mul(plan.rows, rowPitch), dims.constant(plan.copiesRows ? widthOf(form.row) : 0));
  EmittedKernel emitted = finish(chunks, dims.add(stripBytes, copyBytes));
  emitted.steps = dims.constant(2);
  return emitted;
}

/// Rows are read where they lie: a chunk is one group of panels and a block of rows.
EmittedKernel ContractionEmitter::emitPanelChunks() {
  blockSteps = plan.blockSteps(spec);
  if (blockSteps)
    partials.emplace(fn, tile, vectorType);
  DimExpr groups = dims.ceilDiv(plan.columns, dims.constant(tile.vectors * lanes));
  chooseBlocks(groups);
  DimExpr blockRows = dims.mul(tilesPerBlock, dims.constant(tile.rows));
  DimExpr blocks = dims.ceilDiv(plan.rows, blockRows);

  // Of chunks that follow each other, those with strips share them, the others share rows of lhs.
  Value rowCount = fn.materialize(plan.rows), outerCount = fn.materialize(plan.hasStrips() ? groups : blocks),
        innerCount = fn.materialize(plan.hasStrips() ? blocks : groups);
  auto rowsOf = [&](Value block) {
    Value rowBegin = mul(block, fn.materialize(blockRows));
    return std::pair(rowBegin,
                     arith::MinSIOp::create(b, add(rowBegin, fn.materialize(blockRows)), rowCount).getResult());
  };
  Value lastOuter = arith::DivUIOp::create(b, arith::SubIOp::create(b, fn.end(), fn.index(1)), innerCount);
  Value firstOuter = arith::DivUIOp::create(b, fn.begin(), innerCount);
  fn.loop(firstOuter, add(lastOuter, fn.index(1)), 1, [&](Value outer) {
    Value before = mul(outer, innerCount);
    Value first = arith::MaxSIOp::create(b, arith::SubIOp::create(b, fn.begin(), before), fn.index(0));
    Value end = arith::MinSIOp::create(b, arith::SubIOp::create(b, fn.end(), before), innerCount);
    auto [batch, place] = split(outer, outerCount);
    SmallVector<Value> batchIndex = fn.delinearize(batch, plan.batches);
    auto [lhsBase, rhsBase] = basesOf(batchIndex);
    if (!plan.hasStrips()) {
      auto [rowBegin, rowEnd] = rowsOf(place);
      return emitGroups(first, end, batch, lhsBase, rhsBase, rowBegin, rowEnd, batchIndex);
    }
    // One strip for all chunks of a call, where it stays in cache.
    stripBase = mul(fn.begin(), fn.materialize(stripElements));
    std::pair<Value, Value> rhs = findColumns(place, batch, rhsBase);
    fn.loop(first, end, 1, [&, place = place, lhsBase = lhsBase](Value block) {
      auto [rowBegin, rowEnd] = rowsOf(block);
      emitGroup(place, rhs, lhsBase, rowBegin, rowEnd, batchIndex);
    });
  });
  DimExpr chunks = dims.mul(dims.product(plan.batches), dims.mul(blocks, groups));
  if (!partials)
    return finish(chunks, dims.mul(dims.mul(chunks, stripElements), dims.constant(widthOf(form.column))));
  DimExpr places = dims.mul(chunks, tilesPerBlock);
  return finish(chunks, dims.mul(places, dims.constant(partials->elements() * width)));
}

/// Groups [first, end) of panels that lie packed or are read where they lie: by blocks of k where panels are long, each
/// through as many groups as the cache holds the sums of.
void ContractionEmitter::emitGroups(Value first, Value end, Value batch, Value lhsBase, Value rhsBase, Value rowBegin,
                                    Value rowEnd, ArrayRef<Value> batchIndex) {
  auto emit = [&](Value group) {
    emitGroup(group, findColumns(group, batch, rhsBase), lhsBase, rowBegin, rowEnd, batchIndex);
  };
  if (!partials)
    return fn.loop(first, end, 1, emit);
  int64_t most = std::max<int64_t>(1, ContractionPlan::kBlockColumns / (tile.vectors * lanes));
  int64_t count = llvm::divideCeil(constantOr(steps, 0), blockSteps);
  fn.loop(first, end, most, [&](Value begin) {
    Value until = arith::MinSIOp::create(b, add(begin, fn.index(most)), end);
    fn.loop(fn.index(0), fn.index(count), 1, [&](Value block) {
      partials->enter(block, count);
      stepBegin = mul(block, fn.index(blockSteps));
      stepEnd =
          arith::MinSIOp::create(b, arith::SubIOp::create(b, fn.materialize(steps), stepBegin), fn.index(blockSteps));
      fn.loop(begin, until, 1, [&](Value group) {
        // The places of a call, in what the workspace has for its first chunks.
        Value number = add(fn.begin(), arith::SubIOp::create(b, group, begin));
        firstPlace = mul(number, fn.materialize(tilesPerBlock));
        emit(group);
      });
    });
  });
}

/// Blocks of copied rows, of `chunks` chunks. Each block makes all strips again and each part of the columns copies all
/// rows again: so many blocks that this is the least together, and that the copies of a block stay in the second-level
/// cache. Packed columns cost nothing again.
DimExpr ContractionEmitter::rowBlocks(DimExpr chunks) {
  int64_t rows = constantOr(plan.rows, 0), columns = constantOr(plan.columns, 0), most = constantOr(chunks, 0);
  if (!plan.hasStrips() || rows <= 0 || columns <= 0 || most <= 1)
    return chunks;
  auto least = static_cast<int64_t>(std::sqrt(static_cast<double>(most) * rows / columns));
  int64_t rowBytes = constantOr(rowPitch, 1) * widthOf(form.row);
  int64_t fitting =
      llvm::divideCeil(rows, std::max<int64_t>(1, spec.target().l2Bytes / 2 / std::max<int64_t>(1, rowBytes)));
  return dims.constant(std::clamp<int64_t>(std::max(least, fitting), 1, most));
}

/// Rows are copied: a chunk is a block of rows and all columns, or a part of them where there are few rows.
EmittedKernel ContractionEmitter::emitRowChunks() {
  auto atLeastOne = [&](DimExpr expr) { return dims.max(dims.constant(1), expr); };
  DimExpr tileRows = dims.constant(tile.rows), tileColumns = dims.constant(tile.vectors * lanes);
  DimExpr groups = dims.ceilDiv(plan.columns, tileColumns), tiles = dims.ceilDiv(plan.rows, tileRows);
  DimExpr wanted = dims.ceilDiv(dims.constant(spec.costs().stripChunks), atLeastOne(dims.product(plan.batches)));
  DimExpr tilesOfWork = dims.floorDiv(dims.constant(spec.schedule().getChunk()), atLeastOne(plan.k)); // elements of c
  auto share = [&](DimExpr count, DimExpr chunks, DimExpr elements) {
    return dims.max(atLeastOne(dims.ceilDiv(count, chunks)), dims.floorDiv(tilesOfWork, atLeastOne(elements)));
  };
  tilesPerBlock = dims.min(atLeastOne(tiles), share(tiles, rowBlocks(wanted), dims.mul(tileRows, plan.columns)));
  DimExpr blockRows = dims.mul(tilesPerBlock, tileRows);
  DimExpr blocks = dims.ceilDiv(plan.rows, blockRows);
  DimExpr parts = dims.ceilDiv(wanted, atLeastOne(blocks));
  DimExpr groupsPerChunk = share(groups, parts, dims.mul(blockRows, tileColumns));
  DimExpr splits = dims.ceilDiv(groups, groupsPerChunk);
  DimExpr chunks = dims.mul(dims.product(plan.batches), dims.mul(blocks, splits));
  // A strip for each chunk, then copied rows for each.
  DimExpr line = dims.constant(64);
  DimExpr stripBytes = dims.constant(0);
  if (plan.hasStrips())
    stripBytes = dims.mul(
        dims.ceilDiv(dims.mul(dims.mul(chunks, stripElements), dims.constant(widthOf(form.column))), line), line);
  DimExpr copyElements = dims.mul(dims.add(blockRows, tileRows), rowPitch);
  DimExpr copyBytes = dims.mul(dims.mul(chunks, copyElements), dims.constant(widthOf(form.row)));

  copies = memref::ViewOp::create(b, MemRefType::get({kHuge}, typeOf(form.row, b.getContext())), fn.workspace(),
                                  fn.materialize(stripBytes), ValueRange{});
  Value rowCount = fn.materialize(plan.rows), splitCount = fn.materialize(splits), blockCount = fn.materialize(blocks);
  fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
    auto [outer, part] = split(chunk, splitCount);
    auto [batch, block] = split(outer, blockCount);
    SmallVector<Value> batchIndex = fn.delinearize(batch, plan.batches);
    auto [lhsBase, rhsBase] = basesOf(batchIndex);
    stripBase = mul(fn.begin(), fn.materialize(stripElements));
    copyBase = mul(fn.begin(), fn.materialize(copyElements));
    Value rowBegin = mul(block, fn.materialize(blockRows));
    Value rowEnd = arith::MinSIOp::create(b, add(rowBegin, fn.materialize(blockRows)), rowCount);
    // The last tile overlaps the one before it, which may be another block's.
    Value lastTile = arith::MaxSIOp::create(b, arith::SubIOp::create(b, rowCount, fn.index(tile.rows)), fn.index(0));
    copyBegin = arith::MinSIOp::create(b, rowBegin, lastTile);
    // The parts of a block follow each other, and those of a call share its rows.
    Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, chunk, fn.begin());
    Value isOther = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, part, fn.index(0));
    fn.ifThen(arith::OrIOp::create(b, isFirst, isOther),
              [&, lhsBase = lhsBase] { copyRows(copyBegin, rowEnd, lhsBase); });
    Value groupBegin = mul(part, fn.materialize(groupsPerChunk));
    Value groupEnd = arith::MinSIOp::create(b, add(groupBegin, fn.materialize(groupsPerChunk)), fn.materialize(groups));
    fn.loop(groupBegin, groupEnd, 1, [&, rhsBase = rhsBase, lhsBase = lhsBase, batch = batch](Value group) {
      emitGroup(group, findColumns(group, batch, rhsBase), lhsBase, rowBegin, rowEnd, batchIndex);
    });
  });
  return finish(chunks, dims.add(stripBytes, copyBytes));
}

EmittedKernel ContractionEmitter::finish(DimExpr chunks, DimExpr workspaceBytes) {
  markUnitRounding(fn, form);
  if (tiles)
    tiles->release();
  fn.finish();
  EmittedKernel emitted;
  emitted.function = fn.function;
  emitted.usesTiles = tiles.has_value();
  emitted.chunks = chunks;
  if (plan.hasStrips() || plan.copiesRows || partials)
    emitted.workspaceBytes = workspaceBytes;
  DimExpr work = dims.mul(dims.product(plan.batches), dims.mul(plan.rows, dims.mul(plan.columns, plan.k)));
  if (int64_t macs = constantOr(work, 0))
    emitted.estimatedNs = static_cast<double>(macs) / macsPerNs(spec.costs(), form);
  return emitted;
}

EmittedKernel sinter::cpu::emitContraction(KernelSpec &spec, ModuleOp module, StringRef name) {
  auto dot = cast<DotGeneralOp>(findShapedRoot(spec));
  std::string refusal;
  ContractionPlan plan = *ContractionPlan::of(spec, dot, spec.schedule().getPacking(), refusal);
  bool hasWorkspace = plan.hasStrips() || plan.copiesRows || plan.blockSteps(spec);
  KernelFunction fn(spec, module, name, {.workspace = hasWorkspace, .step = plan.copiesOnce});
  return ContractionEmitter(fn, dot, plan).emit();
}

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
// once (ContractionChunks.cpp). When the rows do not divide into tiles the last tile overlaps the one before
// it and computes a few rows twice, or the last tiles are one row lower (OpenTiles.h); below one tile, tiles of 8, 4, 2
// and 1 rows follow each other. Where the epilogue reads what its result may be written over, as updates of weights do,
// a last tile has the rows that are left.
//
// Where the schedule lists an input that may hold blocks of zeros, as probabilities behind a mask do, a tile looks at
// its rows of lhs, or at what its result is multiplied with, and sums only from the first block that is not zero to the
// last. The sums have the same bits, unless rhs holds infinities or NaNs where lhs is zero.

#include "backends/cpu/emit/ContractionEmitter.h"
#include "backends/cpu/emit/OpenTiles.h"
#include "backends/cpu/emit/Packing.h"
#include "backends/cpu/emit/Strips.h"
#include "backends/cpu/emit/ZeroSearch.h"
#include "ir/Elementwise.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// Sums so long that what the epilogue needs is asked for before them.
constexpr int64_t kPrefetchedFromK = 64;

ContractionEmitter::ContractionEmitter(KernelFunction &fn, DotGeneralOp dot, const ContractionPlan &plan)
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
  int64_t others = form.headers(constantOr(steps, 0), panel) + form.extras;
  stripElements = dims.mul(dims.add(steps, dims.constant(others)), dims.constant(panel * form.kPack));
  overwrites = mayOverwrite();
  // Rows that lie a multiple of 4 KiB apart would share cache sets.
  rowPitch = dims.mul(steps, pack);
  if (form.isTiled() && form.kStep * widthOf(form.row) < kTileBytes) // whole lines hold whole rows
    rowPitch = dims.constant(llvm::PowerOf2Ceil(form.kStep));
  if (constantOr(rowPitch, 1) * widthOf(form.row) % 4096 == 0)
    rowPitch = dims.add(rowPitch, dims.constant(64 / widthOf(form.row)));
}

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

/// True where the result may be written over something that the epilogue reads at the same place: each element is then
/// computed once. Not of constant columns, which weights in training are not.
bool ContractionEmitter::mayOverwrite() {
  bool hasConstant = llvm::is_contained(spec.schedule().getPacking(), static_cast<int64_t>(plan.rhs.input));
  bool isPlain = form.step == ProductForm::Step::fused && !hasConstant && !walksAxes;
  return isPlain && dot.getType().hasStaticShape() && llvm::any_of(spec.body().getArguments(), [&](Value argument) {
           unsigned input = cast<BlockArgument>(argument).getArgNumber();
           return !llvm::is_contained(dot->getOperands(), argument) && argument.getType() == dot.getType() &&
                  spec.kernel.stridesOf(input).empty();
         });
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
/// where both fit that cache beside the rows, else for what it needs 128 steps later. What one tile of rows reads once
/// is asked for as memory brings it (MicroOperands::prefetchPanels).
void ContractionEmitter::prefetchPanels(MicroOperands &operands, Value rhsBase) {
  int64_t bytes = constantOr(dims.mul(steps, plan.columns), 0) * form.kPack * widthOf(form.b);
  if (!(plan.packed || (plan.copiesOnce && plan.hasStrips())) || bytes <= spec.target().l2Bytes)
    return;
  int64_t stepElements = tile.vectors * lanes * form.kPack, stepCount = partials ? blockSteps : constantOr(steps, 0);
  int64_t tiles = tilesPerBlock.isConstant() ? tilesPerBlock.constant() : 0;
  // What lies ahead is in one piece: whole panels, or a block of one of them.
  bool arePanels = partials ? tile.vectors * lanes == panel : tile.vectors * lanes % panel == 0;
  bool once = constantOr(plan.rows, ShapedType::kDynamic) == tile.rows;
  if (once || !arePanels || tiles == 0 || stepElements * widthOf(form.b) * stepCount > spec.target().l2Bytes / 4) {
    operands.prefetchPanels(once);
    return;
  }
  operands.aheadStride = llvm::divideCeil(stepElements, tiles);
  Value share = mul(tileOfBlock, fn.index(operands.aheadStride * stepCount));
  Value next = mul(fn.index(tile.vectors * lanes / panel), fn.materialize(stripElements));
  operands.ahead = add(add(rhsBase, next), share);
  if (partials)
    operands.ahead = add(operands.ahead, mul(stepBegin, operands.bStride));
}

/// Where the order of a panel is, of which `first` is column `column`.
Value ContractionEmitter::orderAt(Value first, Value column) {
  Value inPanel = mul(arith::RemUIOp::create(b, column, fn.index(panel)), fn.index(form.kPack));
  return add(arith::SubIOp::create(b, first, inPanel), fn.index(form.flips * panel * form.kPack));
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
      if (form.group)
        operands.bOrders.push_back(j % perPanel ? operands.bOrders.back() : orderAt(first, column));
      if (form.flips) {
        auto type = VectorType::get({lanes * form.kPack}, typeOf(form.b, b.getContext()));
        Value header = vector::LoadOp::create(b, type, operands.b, ValueRange{first});
        starts.push_back(vector::BitCastOp::create(b, vectorType, header));
      }
      first = add(first, mul(fn.index(form.headers(constantOr(steps, 0), panel)), operands.bStride));
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
  if (form.extras) {
    if (starts.empty())
      starts = zeroAccumulators(fn, vectorType, tile.rows * tile.vectors);
    starts = emitExtraWords(fn, operands, vectorType, fn.materialize(steps), starts, [](Value k) { return k; });
  }
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
  // Lower tiles begin before, and so does one that reaches back.
  auto enter = [&](Value row) {
    Value last = add(arith::SubIOp::create(b, row, rowBegin), fn.index(tile.rows - 1));
    tileOfBlock = arith::DivUIOp::create(b, last, fn.index(tile.rows));
  };
  if (tiles) {
    Value lastStart = fn.materialize(dims.max(dims.constant(0), dims.sub(plan.rows, dims.constant(tile.rows))));
    fn.loop(rowBegin, rowEnd, tile.rows, [&](Value row) {
      enter(row);
      emitTiles(arith::MinSIOp::create(b, row, lastStart), tile.vectors, lhsBase, rhsBase, column, batchIndex);
    });
    return;
  }
  auto emitAt = [&](int64_t rows, Value row) {
    enter(row);
    emitTile({rows, tile.vectors}, row, column, lhsBase, rhsBase, rhsStep, batchIndex);
  };
  int64_t rows = constantOr(plan.rows, ShapedType::kDynamic);
  if (int64_t rest = overwrites && lower == 0 ? constantOr(plan.rows, 0) % tile.rows : 0) {
    Value whole = fn.index(rows - rest);
    fn.loop(rowBegin, arith::MinSIOp::create(b, rowEnd, whole), tile.rows, [&](Value row) { emitAt(tile.rows, row); });
    fn.ifThen(arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, rowEnd, whole), [&] { emitAt(rest, whole); });
    return;
  }
  if (rows != ShapedType::kDynamic)
    return forKnownTiles(fn, tile.rows, lower, rows, rowBegin, rowEnd, emitAt);
  forOpenTiles(fn, tile.rows, tile.vectors, rowCount, rowBegin, rowEnd, [&](int64_t rows, Value at, Value number) {
    tileOfBlock = number;
    emitTile({rows, tile.vectors}, at, column, lhsBase, rhsBase, rhsStep, batchIndex);
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

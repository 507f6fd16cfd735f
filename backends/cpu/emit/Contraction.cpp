// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix products: result[batch, m, n] = sum over k of lhs[batch, m, k] * rhs[batch, k, n], then pointwise ops.
//
//   chunk     one batch, a block of rows, a group of panels          (claimed by any thread)
//   tile      MR rows by NV vectors of accumulators in registers     (MicroKernel.h)
//
// A constant rhs is packed at compile time as [panel][k][32 columns], and one that a loop leaves as it is before the
// loop (PackInvariants). Otherwise one panel after the other goes to the workspace as a strip [k][32 columns]:
// transposed when its k is contiguous (q k^T), copied when its rows lie far apart and many rows of lhs read them (then
// they share few cache sets and each is a page of its own); else rhs is read where it lies. Row blocks of one panel
// follow each other, so that a strip is made once in most calls. The left operand is never packed: one scalar a row and
// k is read whatever its strides are. When the rows do not divide into tiles the last tile overlaps the one before it
// and computes a few rows twice; below one tile, tiles of 8, 4, 2 and 1 rows follow each other.
//
// Where the schedule lists an input that may hold blocks of zeros, as probabilities behind a mask do, a tile looks at
// its rows of lhs, or at what its result is multiplied with, and sums only from the first block that is not zero to the
// last. The sums have the same bits, unless rhs holds infinities or NaNs where lhs is zero.

#include "ir/Contraction.h"
#include "backends/cpu/emit/ContractionPlan.h"
#include "backends/cpu/emit/General.h"
#include "backends/cpu/emit/MicroKernel.h"
#include "backends/cpu/emit/Packing.h"
#include "ir/Elementwise.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// Elements of k that are looked at together for being zero.
constexpr int64_t kZeroBlock = 32;
/// Sums so long that what the epilogue needs is asked for before them.
constexpr int64_t kPrefetchedFromK = 64;

static int64_t constantOr(DimContext &dims, DimExpr expr, int64_t otherwise) {
  expr = dims.resolve(expr);
  return expr.isConstant() ? expr.constant() : otherwise;
}

namespace {
/// How the result's axes are walked.
struct ResultAxes {
  Dims sizes;
  int64_t rowAxes = 0, columnAxes = 0;
  bool mergesColumns = true;
  bool walksAxes = false; // rows or columns cannot be walked as one in the epilogue

  ResultAxes(KernelSpec &spec, DotGeneralOp dot, const ContractionPlan &plan);
};

class ContractionEmitter {
public:
  ContractionEmitter(KernelFunction &fn, DotGeneralOp dot, const ContractionPlan &plan)
      : fn(fn), b(fn.b), spec(fn.spec), dims(fn.spec.dims), dot(dot), plan(plan) {
    Type type = getElementTypeOrSelf(dot.getResult());
    ResultAxes axes(spec, dot, plan);
    resultSizes = axes.sizes;
    rowAxes = axes.rowAxes;
    walksAxes = axes.walksAxes;
    width = byteWidth(type);
    lanes = spec.schedule().getLanes();
    vectorType = VectorType::get({lanes}, type);
    panel = spec.target().panelBytes / width;
    tile = {spec.schedule().getTile()[0], spec.schedule().getTile()[1]};
    int64_t columns = constantOr(plan.columns, ShapedType::kDynamic);
    masked = columns == ShapedType::kDynamic || columns % panel != 0;
  }

  EmittedKernel emit();

private:
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulIOp::create(b, x, y); }
  int64_t constantOr(DimExpr expr, int64_t otherwise) { return ::constantOr(dims, expr, otherwise); }
  void prefetch(Value buffer, Value at, bool isWrite) {
    memref::PrefetchOp::create(b, buffer, ValueRange{at}, isWrite, /*localityHint=*/3, /*isDataCache=*/true);
  }
  void emitStrip(Value base, Value columnBegin);
  void emitCopiedStrip(Value base, Value columnBegin);
  void emitTransposedStrip(Value base, Value columnBegin);
  void emitTile(const RegisterTile &tile, Value row, Value column, Value lhsBase, Value rhsBase, Value rhsStep,
                ArrayRef<Value> batchIndex);
  void emitRows(Value rowBegin, Value rowEnd, Value column, Value lhsBase, Value rhsBase, Value rhsStep,
                ArrayRef<Value> batchIndex);
  void prefetchEpilogue(const RegisterTile &tile, Value row, Value column, ArrayRef<Value> batchIndex);
  Value flatPosition(Value row, Value column, ArrayRef<Value> batchIndex);
  bool mayHoldZeros(unsigned input);
  BlockArgument zeroFactor();
  Value isZero(Value bits);
  Value noBits();
  Value bitsOf(Value buffer, Value at, Value mask, Value others);
  std::pair<Value, Value> nonzeroRange(const MicroOperands &operands);
  Value nonzeroEnd(const RegisterTile &tile, BlockArgument factor, Value row, Value column, ArrayRef<Value> batchIndex);
  SmallVector<LaneIndex> resultIndex(KernelElements &elements, ArrayRef<Value> batchIndex, Value row);
  Value columnMask(Value column);

  KernelFunction &fn;
  ImplicitLocOpBuilder &b;
  KernelSpec &spec;
  DimContext &dims;
  DotGeneralOp dot;
  const ContractionPlan &plan;
  int64_t width = 4, lanes = 16, panel = 32;
  VectorType vectorType;
  RegisterTile tile;
  bool masked = false;
  bool walksAxes = false; // rows or columns cannot be walked as one in the epilogue
  Value strip, stripBase; // the transposed right operand of this chunk
  Dims resultSizes;
  int64_t rowAxes = 0;
};
} // namespace

ResultAxes::ResultAxes(KernelSpec &spec, DotGeneralOp dot, const ContractionPlan &plan)
    : sizes(spec.sizes->dims(dot.getResult())) {
  columnAxes = freeAxes(plan.rhs.sizes.size(), plan.rhsBatch, dot.getRhsContract()).size();
  rowAxes = static_cast<int64_t>(sizes.size()) - plan.batches.size() - columnAxes;
  SmallVector<bool> merges = mergeableAxes(spec, sizes, dot);
  auto mergesAll = [&](int64_t begin, int64_t count) {
    for (int64_t k = begin; k + 1 < begin + count; ++k)
      if (!merges[k])
        return false;
    return true;
  };
  int64_t rowBegin = plan.batches.size();
  mergesColumns = mergesAll(rowBegin + rowAxes, columnAxes);
  walksAxes = !mergesAll(rowBegin, rowAxes);
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
  return factor && mayHoldZeros(factor.getArgNumber()) && spec.sizes->sameShape(factor, dot.getResult())
             ? factor
             : BlockArgument();
}

/// True when all bits but the signs' are zero.
Value ContractionEmitter::isZero(Value bits) {
  auto type = cast<VectorType>(bits.getType());
  Value magnitude = arith::ShLIOp::create(
      b, bits, arith::ConstantOp::create(b, DenseElementsAttr::get(type, b.getIntegerAttr(type.getElementType(), 1))));
  Value any = vector::ReductionOp::create(b, vector::CombiningKind::OR, magnitude);
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(any.getType()));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, any, zero);
}

/// What `bitsOf` starts from.
Value ContractionEmitter::noBits() {
  auto integer = b.getIntegerType(static_cast<unsigned>(8 * width));
  return arith::ConstantOp::create(b, b.getZeroAttr(VectorType::get({lanes}, integer)));
}

/// The bits of a vector in memory, joined to those of `others`.
Value ContractionEmitter::bitsOf(Value buffer, Value at, Value mask, Value others) {
  Value elements;
  if (mask) {
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(vectorType));
    elements = vector::MaskedLoadOp::create(b, vectorType, buffer, ValueRange{at}, mask, zero);
  } else {
    elements = vector::LoadOp::create(b, vectorType, buffer, ValueRange{at});
  }
  return arith::OrIOp::create(b, vector::BitCastOp::create(b, others.getType(), elements), others);
}

/// The part of k outside of which the tile's rows of lhs are zero.
std::pair<Value, Value> ContractionEmitter::nonzeroRange(const MicroOperands &operands) {
  Value none = noBits();
  auto rows = static_cast<int64_t>(operands.aRows.size());
  auto isZeroFrom = [&](Value k) {
    if (!operands.aStride) {
      Value bits = none;
      for (Value row : operands.aRows)
        for (int64_t at = 0; at < kZeroBlock; at += lanes) {
          Value from = add(add(row, k), fn.index(at));
          bits = bitsOf(operands.a, from, nullptr, bits);
          prefetch(operands.a, add(from, mul(fn.index(rows), fn.materialize(plan.lhsRows.stride))), false);
        }
      return isZero(bits);
    }
    SmallVector<Value> bits = fn.loop(k, add(k, fn.index(kZeroBlock)), 1, none, [&](Value at, ValueRange carried) {
      Value bits = carried[0], first = add(operands.aRows.front(), mul(at, operands.aStride));
      for (int64_t i = 0; i < rows; i += lanes) {
        Value mask;
        if (rows - i < lanes)
          mask =
              vector::CreateMaskOp::create(b, VectorType::get({lanes}, b.getI1Type()), ValueRange{fn.index(rows - i)});
        bits = bitsOf(operands.a, add(first, fn.index(i)), mask, bits);
      }
      prefetch(operands.a, add(first, mul(fn.index(kZeroBlock), operands.aStride)), false);
      return SmallVector<Value>{bits};
    });
    return isZero(bits[0]);
  };
  // Steps over blocks of zeros from `from` on until `end`.
  auto skip = [&](Value from, Value end, arith::CmpIPredicate before, int64_t step, int64_t blockAt) -> Value {
    auto loop = scf::WhileOp::create(
        b, TypeRange{b.getIndexType()}, ValueRange{from},
        [&](OpBuilder &, Location, ValueRange at) {
          Value more = arith::CmpIOp::create(b, before, at[0], end);
          auto zero = scf::IfOp::create(b, TypeRange{b.getI1Type()}, more, /*withElseRegion=*/true);
          {
            OpBuilder::InsertionGuard guard(b);
            b.setInsertionPointToStart(zero.thenBlock());
            scf::YieldOp::create(b, isZeroFrom(add(at[0], fn.index(blockAt))));
            b.setInsertionPointToStart(zero.elseBlock());
            scf::YieldOp::create(b, more);
          }
          scf::ConditionOp::create(b, zero.getResult(0), at);
        },
        [&](OpBuilder &, Location, ValueRange at) { scf::YieldOp::create(b, add(at[0], fn.index(step))); });
    return loop.getResult(0);
  };
  Value end = skip(fn.materialize(plan.k), fn.index(0), arith::CmpIPredicate::sgt, -kZeroBlock, -kZeroBlock);
  return {skip(fn.index(0), end, arith::CmpIPredicate::slt, kZeroBlock, 0), end};
}

/// The end of k, or 0 where the tile of `factor` is zero.
Value ContractionEmitter::nonzeroEnd(const RegisterTile &tile, BlockArgument factor, Value row, Value column,
                                     ArrayRef<Value> batchIndex) {
  Value bits = noBits(), flat = flatPosition(row, column, batchIndex), columnCount = fn.materialize(plan.columns);
  Value source = fn.input(factor.getArgNumber());
  for (int64_t i = 0; i < tile.rows; ++i)
    for (int64_t j = 0; j < tile.vectors; ++j) {
      Value at = add(flat, add(mul(fn.index(i), columnCount), fn.index(j * lanes)));
      bits = bitsOf(source, at, nullptr, bits);
      // Nothing hides the time that it takes to come, so the next tile's is asked for.
      prefetch(source, add(at, mul(fn.index(tile.rows), columnCount)), false);
    }
  return arith::SelectOp::create(b, isZero(bits), fn.index(0), fn.materialize(plan.k));
}

/// Asks for the lines of the tile that the epilogue reads and writes, which the sum over k leaves time to bring.
void ContractionEmitter::prefetchEpilogue(const RegisterTile &tile, Value row, Value column,
                                          ArrayRef<Value> batchIndex) {
  if (walksAxes || constantOr(plan.k, 0) < kPrefetchedFromK)
    return;
  SmallVector<std::pair<Value, bool>> buffers;
  for (BlockArgument argument : spec.body().getArguments())
    if (argument != dot.getLhs() && argument != dot.getRhs() && spec.sizes->sameShape(argument, dot.getResult()))
      buffers.emplace_back(fn.input(argument.getArgNumber()), false);
  for (unsigned i = 0; i < spec.kernel.getNumResults(); ++i)
    buffers.emplace_back(fn.result(i), true);
  Value flat = flatPosition(row, column, batchIndex), columnCount = fn.materialize(plan.columns);
  for (int64_t i = 0; i < tile.rows; ++i)
    for (int64_t j = 0; j < tile.vectors; ++j) {
      Value at = add(flat, add(mul(fn.index(i), columnCount), fn.index(j * lanes)));
      for (auto [buffer, isWrite] : buffers)
        prefetch(buffer, at, isWrite);
    }
}

void ContractionEmitter::emitTile(const RegisterTile &tile, Value row, Value column, Value lhsBase, Value rhsBase,
                                  Value rhsStep, ArrayRef<Value> batchIndex) {
  MicroOperands operands;
  operands.a = fn.input(plan.lhs.input);
  operands.b = fn.input(plan.rhs.input);
  Value rowStride = fn.materialize(plan.lhsRows.stride);
  for (int64_t i = 0; i < tile.rows; ++i)
    operands.aRows.push_back(add(lhsBase, mul(add(row, fn.index(i)), rowStride)));
  if (int64_t step = constantOr(plan.lhsK.stride, 0); step != 1) {
    operands.aStride = fn.materialize(plan.lhsK.stride);
    // The rows of a tile lie beside each other then, and each k on lines of its own that nothing foresees.
    if (step * width >= spec.costs().farBytes && constantOr(plan.lhsRows.stride, 0) == 1)
      operands.prefetchSteps = 16;
  }

  Value kSize = fn.materialize(plan.k);
  if (plan.packed || plan.hasStrips()) {
    operands.bStride = fn.index(panel);
    if (plan.hasStrips())
      operands.b = strip;
    int64_t perPanel = panel / lanes;
    for (int64_t j = 0; j < tile.vectors; ++j) {
      Value panelBase = j / perPanel ? add(rhsBase, mul(fn.index(j / perPanel * panel), kSize)) : rhsBase;
      operands.bVectors.push_back(add(panelBase, fn.index(j % perPanel * lanes)));
    }
    // Prefetching pays when the panels stream from beyond L2.
    int64_t bytes = constantOr(dims.mul(plan.k, plan.columns), 0) * width;
    if (plan.packed && bytes > spec.target().l2Bytes)
      operands.prefetchRows = 128;
  } else {
    operands.bStride = rhsStep;
    for (int64_t j = 0; j < tile.vectors; ++j) {
      Value at = add(column, fn.index(j * lanes));
      operands.bVectors.push_back(add(rhsBase, fn.index(j * lanes)));
      operands.bMasks.push_back(columnMask(at));
    }
  }
  prefetchEpilogue(tile, row, column, batchIndex);
  Value kBegin = fn.index(0), kEnd = kSize;
  bool isLine = !operands.aStride || constantOr(plan.lhsRows.stride, 0) == 1;
  if (BlockArgument factor = zeroFactor())
    kEnd = nonzeroEnd(tile, factor, row, column, batchIndex);
  else if (mayHoldZeros(plan.lhs.input) && isLine && constantOr(plan.k, 1) % kZeroBlock == 0)
    std::tie(kBegin, kEnd) = nonzeroRange(operands);
  SmallVector<Value> sums = emitBlockedMicroKernel(fn, operands, vectorType, kBegin, kEnd, plan.k);
  emitTileEpilogue(
      fn, dot.getResult(), sums, tile.rows, tile.vectors, vectorType,
      [&](KernelElements &elements, Value i) { return resultIndex(elements, batchIndex, add(row, i)); }, column,
      [&](Value at) { return columnMask(at); });
}

/// Writes columns [columnBegin, columnBegin + panel) of rhs to `strip` as [k][panel]. What is beyond the last column
/// does not matter.
void ContractionEmitter::emitStrip(Value base, Value columnBegin) {
  if (plan.transposed)
    emitTransposedStrip(base, columnBegin);
  else
    emitCopiedStrip(base, columnBegin);
}

void ContractionEmitter::emitCopiedStrip(Value base, Value columnBegin) {
  Value source = fn.input(plan.rhs.input), step = fn.materialize(plan.rhsK.stride);
  fn.loop(fn.index(0), fn.materialize(plan.k), 1, [&](Value k) {
    Value from = add(add(base, columnBegin), mul(k, step)), to = add(stripBase, mul(k, fn.index(panel)));
    for (int64_t at = 0; at < panel; at += lanes) {
      Value row;
      if (Value mask = columnMask(add(columnBegin, fn.index(at)))) {
        Value zero = arith::ConstantOp::create(b, b.getZeroAttr(vectorType));
        row = vector::MaskedLoadOp::create(b, vectorType, source, ValueRange{add(from, fn.index(at))}, mask, zero);
      } else {
        row = vector::LoadOp::create(b, vectorType, source, ValueRange{add(from, fn.index(at))});
      }
      vector::StoreOp::create(b, row, strip, ValueRange{add(to, fn.index(at))});
    }
  });
}

/// k is contiguous in rhs.
void ContractionEmitter::emitTransposedStrip(Value base, Value columnBegin) {
  Value kSize = fn.materialize(plan.k), columnCount = fn.materialize(plan.columns);
  Value columnStride = fn.materialize(plan.rhsColumns.stride);
  Value source = fn.input(plan.rhs.input);
  Value tail = arith::RemUIOp::create(b, kSize, fn.index(lanes));
  Value kEnd = arith::SubIOp::create(b, kSize, tail);
  Value last = arith::SubIOp::create(b, columnCount, fn.index(1));
  auto columnBase = [&](Value column) {
    // A column past the end repeats the last one; its products are not stored.
    Value inside = arith::MinSIOp::create(b, column, last);
    return add(base, mul(inside, columnStride));
  };
  for (int64_t block = 0; block < panel; block += lanes) {
    SmallVector<Value> columns;
    for (int64_t i = 0; i < lanes; ++i)
      columns.push_back(columnBase(add(columnBegin, fn.index(block + i))));
    fn.loop(fn.index(0), kEnd, lanes, [&](Value k) {
      SmallVector<Value> rows;
      for (Value column : columns)
        rows.push_back(vector::LoadOp::create(b, vectorType, source, ValueRange{add(column, k)}));
      for (auto [i, row] : llvm::enumerate(transposeVectors(b, rows))) {
        Value to = add(mul(add(k, fn.index(i)), fn.index(panel)), fn.index(block));
        vector::StoreOp::create(b, row, strip, ValueRange{add(stripBase, to)});
      }
    });
    fn.loop(kEnd, kSize, 1, [&](Value k) {
      for (auto [i, column] : llvm::enumerate(columns)) {
        Value value = memref::LoadOp::create(b, source, ValueRange{add(column, k)});
        Value to = add(mul(k, fn.index(panel)), fn.index(block + i));
        memref::StoreOp::create(b, value, strip, ValueRange{add(stripBase, to)});
      }
    });
  }
}

/// The tiles of one row block. Where the number of rows is not known before the call, it may be less than a tile.
void ContractionEmitter::emitRows(Value rowBegin, Value rowEnd, Value column, Value lhsBase, Value rhsBase,
                                  Value rhsStep, ArrayRef<Value> batchIndex) {
  Value rowCount = fn.materialize(plan.rows);
  auto wholeTiles = [&] {
    Value lastStart = arith::SubIOp::create(b, rowCount, fn.index(tile.rows));
    fn.loop(rowBegin, rowEnd, tile.rows, [&](Value row) {
      emitTile(tile, arith::MinSIOp::create(b, row, lastStart), column, lhsBase, rhsBase, rhsStep, batchIndex);
    });
  };
  if (constantOr(plan.rows, ShapedType::kDynamic) != ShapedType::kDynamic) {
    wholeTiles();
    return;
  }
  Value enough = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, rowCount, fn.index(tile.rows));
  auto branch = scf::IfOp::create(b, enough, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  wholeTiles();
  b.setInsertionPointToStart(branch.elseBlock());
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
}

EmittedKernel ContractionEmitter::emit() {
  int64_t tileColumns = tile.vectors * lanes;
  DimExpr groups = dims.ceilDiv(plan.columns, dims.constant(tileColumns));
  DimExpr panels = dims.ceilDiv(plan.columns, dims.constant(panel));
  DimExpr tilesPerBlock =
      dims.max(dims.constant(1), dims.floorDiv(dims.constant(spec.schedule().getChunk() / (tileColumns * tile.rows)),
                                               dims.max(plan.k, dims.constant(1))));
  if (plan.hasStrips()) {
    DimExpr tiles = dims.ceilDiv(plan.rows, dims.constant(tile.rows));
    DimExpr strips = dims.max(dims.constant(1), dims.mul(dims.product(plan.batches), groups));
    DimExpr wanted = dims.ceilDiv(dims.constant(spec.costs().stripChunks), strips);
    tilesPerBlock = dims.max(tilesPerBlock, dims.ceilDiv(tiles, wanted));
  }
  DimExpr blockRows = dims.mul(tilesPerBlock, dims.constant(tile.rows));
  DimExpr blocks = dims.ceilDiv(plan.rows, blockRows);
  DimExpr stripElements = dims.mul(plan.k, dims.constant(panel));

  Value rowCount = fn.materialize(plan.rows), groupCount = fn.materialize(groups), blockCount = fn.materialize(blocks);
  if (plan.hasStrips())
    strip = memref::ViewOp::create(b, MemRefType::get({kHuge}, vectorType.getElementType()), fn.workspace(),
                                   fn.index(0), ValueRange{});

  fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
    // Of chunks that follow each other, those with strips share them, the others share rows of lhs.
    auto split = [&](Value index, Value count) {
      Value outer = arith::DivUIOp::create(b, index, count);
      return std::pair(outer, arith::SubIOp::create(b, index, mul(outer, count)).getResult());
    };
    auto [outer, inner] = split(chunk, plan.hasStrips() ? blockCount : groupCount);
    auto [batch, middle] = split(outer, plan.hasStrips() ? groupCount : blockCount);
    Value group = plan.hasStrips() ? middle : inner, block = plan.hasStrips() ? inner : middle;
    SmallVector<Value> batchIndex = fn.delinearize(batch, plan.batches);
    Value lhsBase = fn.index(0), rhsBase = fn.index(0);
    for (auto [k, i] : llvm::enumerate(batchIndex)) {
      lhsBase = add(lhsBase, mul(i, fn.materialize(plan.lhs.strides[plan.lhsBatch[k]])));
      if (!plan.packed)
        rhsBase = add(rhsBase, mul(i, fn.materialize(plan.rhs.strides[plan.rhsBatch[k]])));
    }
    Value column = mul(group, fn.index(tileColumns));
    Value rhsStep;
    if (plan.packed) {
      Value panelIndex = arith::DivUIOp::create(b, column, fn.index(panel));
      Value inPanel = arith::RemUIOp::create(b, column, fn.index(panel));
      Value flatPanel = add(mul(batch, fn.materialize(panels)), panelIndex);
      rhsBase = add(mul(flatPanel, fn.materialize(stripElements)), inPanel);
    } else if (plan.hasStrips()) {
      // One strip for all chunks of a call, where it stays in cache.
      stripBase = mul(fn.begin(), fn.materialize(stripElements));
      Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, chunk, fn.begin());
      Value isOther = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, block, fn.index(0));
      auto make = scf::IfOp::create(b, arith::OrIOp::create(b, isFirst, isOther), /*withElseRegion=*/false);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(make.thenBlock());
      emitStrip(rhsBase, column);
      rhsBase = stripBase;
    } else {
      rhsBase = add(rhsBase, column);
      rhsStep = fn.materialize(plan.rhsK.stride);
    }

    Value rowBegin = mul(block, fn.materialize(blockRows));
    Value rowEnd = arith::MinSIOp::create(b, add(rowBegin, fn.materialize(blockRows)), rowCount);
    emitRows(rowBegin, rowEnd, column, lhsBase, rhsBase, rhsStep, batchIndex);
  });
  fn.finish();

  EmittedKernel emitted;
  emitted.function = fn.function;
  emitted.chunks = dims.mul(dims.product(plan.batches), dims.mul(blocks, groups));
  if (plan.hasStrips())
    emitted.workspaceBytes = dims.mul(dims.mul(emitted.chunks, stripElements), dims.constant(width));
  DimExpr work = dims.mul(dims.product(plan.batches), dims.mul(plan.rows, dims.mul(plan.columns, plan.k)));
  if (int64_t macs = constantOr(work, 0))
    emitted.estimatedNs = static_cast<double>(macs) / spec.costs().tiledMacsPerNs;
  return emitted;
}

/// The right operand's input, if it is packed at compile time unless a schedule says otherwise.
static SmallVector<int64_t> packedInputs(KernelSpec &spec, DotGeneralOp dot) {
  auto argument = dyn_cast<BlockArgument>(dot.getRhs());
  if (argument && packsContraction(spec, argument.getArgNumber()))
    return {static_cast<int64_t>(argument.getArgNumber())};
  return {};
}

Plan sinter::cpu::planContraction(KernelSpec &spec, ScheduleAttr given) {
  auto dot = dyn_cast_or_null<DotGeneralOp>(findShapedRoot(spec));
  if (!dot || !hasMicroKernel(dot) || spec.target().vectorBytes < 16)
    return Plan::refuse(
        "its root is no product of f32 or f64, its results have several shapes, or the target no vectors");
  Plan plan;
  plan.packing = packedInputs(spec, dot);
  std::optional<ContractionPlan> product =
      ContractionPlan::of(spec, dot, given ? given.getPacking() : ArrayRef<int64_t>(plan.packing));
  if (!product)
    return Plan::refuse("an operand is computed, or neither its columns nor the sum are contiguous");
  if (!canBuildAfter(spec, dot))
    return Plan::refuse("what follows the product cannot be built element by element");
  // Lanes run along the last result axis; several column axes would need lanes across axes unless all merge.
  ResultAxes axes(spec, dot, *product);
  if (!axes.mergesColumns || axes.columnAxes == 0 ||
      (axes.columnAxes > 1 && axes.sizes.back() == spec.dims.constant(1)))
    return Plan::refuse("its columns are none, or several axes that cannot be walked as one");
  int64_t width = byteWidth(getElementTypeOrSelf(dot.getResult())), most = spec.target().lanes(width);
  // Without columns to vectorize (matrix times vector on the right) scalar loops are as good.
  int64_t columns = constantOr(spec.dims, product->columns, ShapedType::kDynamic);
  if (columns != ShapedType::kDynamic && columns < most / 2)
    return Plan::refuse("it has fewer columns than half a vector");
  plan.setLanes(most, 16 / width);

  int64_t lanes = lanesOr(given, most), panel = spec.target().panelBytes / width, vectorsPerPanel = panel / lanes;
  int64_t panels = columns == ShapedType::kDynamic ? 1 : llvm::divideCeil(columns, panel);
  // A strip or a packed panel is one panel wide; wider tiles need more panels side by side, which only packed constants
  // have.
  int64_t vectors = product->hasStrips() ? vectorsPerPanel : panels * vectorsPerPanel;
  int64_t rowStride = constantOr(spec.dims, product->lhsRows.stride, 1);
  bool conflicting = rowStride * width % 4096 == 0 && rowStride != 0;
  int64_t rows = constantOr(spec.dims, product->rows, ShapedType::kDynamic);
  RegisterTile tile = chooseTile(spec.target(), rows, vectors, conflicting);
  // The last tile overlaps the one before it: no tile is higher than the result.
  int64_t highest = rows == ShapedType::kDynamic ? kMostTileRows : std::clamp<int64_t>(rows, 1, kMostTileRows);
  plan.addTile(tile.rows, std::max(tile.rows, highest));
  plan.addTile(tile.vectors, std::max(tile.vectors, std::min(vectors, kMostTileVectors)), vectors);
  plan.setChunk(spec.costs().contractionMacs);
  if (std::optional<ArrayRef<int64_t>> zeros = spec.kernel.getZeros())
    plan.zeros.assign(zeros->begin(), zeros->end());
  return plan;
}

EmittedKernel sinter::cpu::emitContraction(KernelSpec &spec, ModuleOp module, StringRef name) {
  auto dot = cast<DotGeneralOp>(findShapedRoot(spec));
  ContractionPlan plan = *ContractionPlan::of(spec, dot, spec.schedule().getPacking());
  KernelFunction fn(spec, module, name, {.workspace = plan.hasStrips()});
  return ContractionEmitter(fn, dot, plan).emit();
}

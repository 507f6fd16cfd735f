// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cuda/ProductResult.h"
#include "backends/cpu/emit/General.h"
#include "ir/Shapes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

/// Tiles one above the other that follow each other.
constexpr int64_t kTilesInGroup = 8;

ProductResult::ProductResult(cuda::KernelSpec &spec, const MatrixProduct &product, const ProductTypes &types,
                             const ProductTile &tile)
    : spec(spec), dims(spec.dims), product(product), types(types), tile(tile) {
  auto tilesOf = [&](DimExpr size, int64_t of) { return dims.resolve(dims.ceilDiv(size, dims.constant(of))); };
  tilesDown = tilesOf(product.rowCount, tile.rows * tile.blocks);
  tilesAcross = tilesOf(product.columnCount, tile.columns);
  DimExpr perBatch = dims.mul(tilesDown, tilesAcross);
  tiles = dims.resolve(dims.mul(dims.mul(perBatch, product.batchCount), dims.constant(tile.parts)));
  results = dims.mul(dims.mul(product.rowCount, product.columnCount), product.batchCount);
}

bool ProductResult::divides(DimExpr size, int64_t by) {
  size = dims.resolve(size);
  return size.isConstant() && size.constant() % by == 0;
}

ProductResult::Place ProductResult::place(TileBuilder &t, Value number, Value rank) {
  cpu::KernelFunction &fn = t.fn;
  SmallVector<Value> at = fn.delinearize(
      number, {dims.constant(tile.parts), product.batchCount, dims.resolve(dims.mul(tilesDown, tilesAcross))});
  Value down = fn.materialize(tilesDown), across = fn.materialize(tilesAcross);
  const int64_t inGroupDown = kTilesInGroup / tile.blocks;
  Value perGroup = t.mul(across, inGroupDown), group = arith::DivUIOp::create(t.b, at[2], perGroup);
  Value firstOfGroup = t.mul(group, inGroupDown);
  Value height = t.min(t.sub(down, firstOfGroup), fn.index(inGroupDown));
  Value inGroup = t.sub(at[2], t.mul(group, perGroup));
  Value column = arith::DivUIOp::create(t.b, inGroup, height);
  Value row = t.add(firstOfGroup, t.sub(inGroup, t.mul(column, height)));
  if (tile.blocks > 1)
    row = t.add(t.mul(row, tile.blocks), rank);
  return {at[0], at[1], row, column, fn.delinearize(at[1], product.batches), rank};
}

void ProductResult::prepare(TileBuilder &t) {
  for (unsigned i = 0; i < spec.kernel.getNumResults(); ++i)
    isAligned.push_back(t.isAligned(t.fn.result(i)));
}

/// The first element of a part's sums of a batch in the workspace.
Value ProductResult::startOfPart(TileBuilder &t, Value part, ArrayRef<Value> batch) {
  Value at = part;
  for (auto [i, size] : llvm::zip(batch, product.batches))
    at = t.add(t.mul(at, t.fn.materialize(size)), i);
  return t.mul(t.mul(at, t.fn.materialize(product.rowCount)), t.fn.materialize(product.columnCount));
}

ProductResult::Finished ProductResult::finished(TileBuilder &t, cpu::KernelElements &elements, ArrayRef<Value> batch,
                                                Value row, Value column, Value sums, int64_t lanes) {
  Value root = product.root->getResult(0), value = cpu::narrow(t.b, t.b.getLoc(), sums, product.resultType);
  elements.install(root, [value](ArrayRef<LaneIndex>) { return value; });
  Finished done{{}, product.resultIndex(t.fn, elements, batch, row, column, lanes)};
  for (unsigned i = 0; i < spec.kernel.getNumResults(); ++i)
    done.values.push_back(elements.load(spec.yielded(i), done.index));
  return done;
}

void ProductResult::finishRun(TileBuilder &t, ArrayRef<Value> batch, Value row, Value column, Value sums,
                              int64_t lanes) {
  cpu::KernelElements elements(t.fn, lanes);
  auto [values, index] = finished(t, elements, batch, row, column, sums, lanes);
  for (unsigned i = 0; i < values.size(); ++i) {
    Value result = values[i];
    if (lanes == 1 || getElementTypeOrSelf(result).isInteger(1)) {
      elements.storeResult(i, result, index);
      continue;
    }
    Value spread = isa<VectorType>(result.getType()) ? result : elements.splat(result);
    auto store = [&, &index = index] {
      SmallVector<Value> at = llvm::map_to_vector(index, [](const LaneIndex &each) { return each.base; });
      int64_t width = getElementTypeOrSelf(spread).getIntOrFloatBitWidth() / 8;
      Value offset = t.mul(t.fn.offset(at, spec.sizes->dims(product.root->getResult(0))), width);
      t.store(spread, t.behind(t.global(t.fn.result(i)), offset), width * lanes);
    };
    t.when(isAligned[i], store, [&, &index = index] { elements.storeResult(i, spread, index); });
  }
}

void ProductResult::forPieces(TileBuilder &t, ArrayRef<TileCore::Run> runs, ValueRange sums, const SlabPlace &forA,
                              const SlabPlace &forB, function_ref<void(const Piece &)> body) {
  bool always = divides(product.rowCount, tile.rows * tile.blocks) && divides(product.columnCount, tile.columns);
  for (const TileCore::Run &run : runs) {
    auto lanes = static_cast<int64_t>(run.sums.size());
    if (!product.hasRunsOf(spec, lanes))
      lanes = 1;
    for (size_t first = 0; first < run.sums.size(); first += static_cast<size_t>(lanes)) {
      Value row = t.add(forA.free, run.row), column = t.add(t.add(forB.free, run.column), static_cast<int64_t>(first));
      auto finish = [&] {
        SmallVector<Value> elements;
        for (unsigned sum : ArrayRef(run.sums).slice(first, static_cast<size_t>(lanes)))
          elements.push_back(sums[sum]);
        Value value =
            lanes == 1 ? elements.front()
                       : vector::FromElementsOp::create(t.b, VectorType::get({lanes}, types.sum), elements).getResult();
        body({run, first, lanes, row, column, value});
      };
      if (always)
        finish();
      else
        t.when(t.both(t.less(row, forA.freeEnd), t.less(column, forB.freeEnd)), finish);
    }
  }
}

void ProductResult::storeRuns(TileBuilder &t, ArrayRef<TileCore::Run> runs, ValueRange sums, const SlabPlace &forA,
                              const SlabPlace &forB, Value part) {
  forPieces(t, runs, sums, forA, forB, [&](const Piece &piece) {
    if (tile.parts == 1)
      return finishRun(t, forA.batch, piece.row, piece.column, piece.sums, piece.lanes);
    Value at = t.add(t.mul(piece.row, t.fn.materialize(product.columnCount)), piece.column);
    int64_t width = types.sum.getIntOrFloatBitWidth() / 8;
    at = t.mul(t.add(startOfPart(t, part, forA.batch), at), width);
    t.store(piece.sums, t.behind(t.global(t.fn.workspace()), at), width * piece.lanes);
  });
}

void ProductResult::takeRuns(TileBuilder &t, ArrayRef<TileCore::Run> runs, ValueRange sums, const SlabPlace &forA,
                             const SlabPlace &forB, function_ref<void(const TileCore::Run &, size_t, Value)> take) {
  forPieces(t, runs, sums, forA, forB, [&](const Piece &piece) {
    cpu::KernelElements elements(t.fn, piece.lanes);
    Value value = finished(t, elements, forA.batch, piece.row, piece.column, piece.sums, piece.lanes).values.front();
    take(piece.run, piece.first, piece.lanes == 1 || isa<VectorType>(value.getType()) ? value : elements.splat(value));
  });
}

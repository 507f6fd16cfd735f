// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cuda/AttentionTiles.h"
#include "backends/cpu/emit/General.h"
#include "ir/Attention.h"
#include "ir/Shapes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include <cmath>

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

namespace {
/// An operand [..., rows, k] as rows of a head: in its memory, or in that of a cache that a table picks them out of.
class HeadSide final : public ProductSide {
public:
  HeadSide(cuda::KernelSpec &spec, Value operand) : operand(operand), sizes(spec.sizes->dims(operand)) {
    type = getElementTypeOrSelf(operand);
    kInner = true;
    steps = {sizes.back()};
    std::optional<GatheredRows> rows = GatheredRows::of(operand);
    cache = rows ? rows->cache() : Value();
    auto memory = dyn_cast<BlockArgument>(cache ? cache : operand);
    // Of a size that only running tells an axis may be empty, which the gather asks for each element.
    if (memory && (!cache || tensorTypeOf(cache).hasStaticShape()))
      copied = memory.getArgNumber();
  }
  Value element(cpu::KernelFunction &fn, cpu::KernelElements &elements, ArrayRef<Value> batch, Value free, Value k,
                Value &) override {
    return elements.load(operand, indexOf(fn, elements, batch, free, k));
  }
  Value offset(cpu::KernelFunction &fn, ArrayRef<Value> batch, Value free, Value k, Value &) override {
    if (cache) {
      // Where the ops between would read the cache. Behind the last row there is no position.
      SmallVector<Value> place;
      cpu::KernelElements elements(fn, 1);
      elements.install(cache, [&](ArrayRef<LaneIndex> at) -> Value {
        for (const LaneIndex &i : at)
          place.push_back(i.base);
        return arith::ConstantOp::create(fn.b, fn.b.getZeroAttr(cpu::storageType(type)));
      });
      Value last = arith::SubIOp::create(fn.b, fn.materialize(sizes[sizes.size() - 2]), fn.index(1));
      Value row = arith::MinSIOp::create(fn.b, free, last);
      elements.load(operand, indexOf(fn, elements, batch, row, k));
      return fn.offset(place, fn.spec.sizes->dims(cache));
    }
    return fn.offset({batch.front(), free, k}, {fn.spec.dims.constant(1), sizes[sizes.size() - 2], sizes.back()});
  }

private:
  SmallVector<LaneIndex> indexOf(cpu::KernelFunction &fn, cpu::KernelElements &elements, ArrayRef<Value> batch,
                                 Value free, Value k) {
    SmallVector<LaneIndex> index = elements.uniform(fn.delinearize(batch.front(), ArrayRef(sizes).drop_back(2)));
    index.append({elements.uniform(free), elements.uniform(k)});
    return index;
  }

  Value operand, cache; // null where there is none
  Dims sizes;
};
} // namespace

AttentionTiles::AttentionTiles(cpu::SingleKernel &k, const AttentionShape &shape, const AttentionTile &tile)
    : k(k), fn(k.fn), b(k.b), t(k.fn), shape(shape), tile(tile), thread(t.threadNumber()), fold(shape.fold(tile)),
      ownHeads(fold == 1 ? shape.heads : shape.keyHeads),
      ownRows(k.dims().resolve(k.dims().mul(shape.rows, k.dims().constant(fold)))) {
  types.a = types.b = shape.type;
  types.sum = cpu::accumulatorType(shape.type);
}

//===- Slabs and products -----------------------------------------------------------------------===//

AttentionTiles::Rows AttentionTiles::rowsOf(unsigned operand, int64_t slabRows) {
  auto &spec = static_cast<cuda::KernelSpec &>(fn.spec);
  Value tensor = shape.root->getOperand(operand);
  Dims sizes = spec.sizes->dims(tensor);
  Rows rows{std::make_unique<HeadSide>(spec, tensor), nullptr, spec.dims.resolve(sizes[sizes.size() - 2]),
            spec.dims.resolve(sizes.back()).constant()};
  SlabLayout layout = SlabLayout::ofRows(slabRows, shape.padded(rows.size), shape.bytes(), shape.core);
  rows.loader = std::make_unique<SlabLoader>(t, *rows.side, layout, shape.type, tile.threads(shape.core), thread);
  return rows;
}

void AttentionTiles::bring(Rows &rows, Value head, Value first, Value slab) {
  rows.loader->bring({{head}, first, fn.materialize(rows.count), fn.index(rows.size)}, fn.index(0), slab);
}

std::unique_ptr<TileCore> AttentionTiles::coreOf(int64_t columns, int64_t over, const SlabLayout &a,
                                                 const SlabLayout &of) {
  ProductTile product{tile.own, columns, over, tile.inner, shape.core == Core::Warps ? columns : columns / 8};
  return TileCore::of(shape.core, t, product, types, a, of, thread);
}

std::unique_ptr<TileCore> AttentionTiles::coreOfScores(const Rows &own, const Rows &others) {
  return coreOf(tile.other, others.loader->layout.k, own.loader->layout, others.loader->layout);
}

std::unique_ptr<TileCore> AttentionTiles::coreOfHeld(const Rows &others) {
  SlabLayout layout = others.loader->layout;
  return coreOf(layout.k, tile.other, layout, layout.turned());
}

AttentionTiles::Values AttentionTiles::addHeld(TileCore &core, ValueRange held, Value slab, ValueRange sums) {
  if (shape.core == Core::Warps)
    return core.multiplyHeld(held, slab, sums);
  // No chain of additions is longer than a slab.
  Values total = core.multiplyHeld(held, slab, zeros(core));
  for (auto [value, sum] : llvm::zip(total, sums))
    value = plus(sum, value);
  return total;
}

//===- Words ------------------------------------------------------------------------------------===//

Value AttentionTiles::number(double value) { return arith::ConstantOp::create(b, b.getFloatAttr(types.sum, value)); }

Value AttentionTiles::power(Value exponent) {
  // 2^-22 at most, far below what shares of 16 bits are rounded by.
  if (shape.core == Core::Warps)
    return t.intrinsic("llvm.nvvm.ex2.approx.ftz", types.sum, exponent);
  return math::Exp2Op::create(b, exponent);
}

Value AttentionTiles::isEqual(Value x, double y) {
  return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x, number(y));
}

void AttentionTiles::meet() { NVVM::Barrier0Op::create(b); }
void AttentionTiles::endGroup() { NVVM::CpAsyncCommitGroupOp::create(b); }
void AttentionTiles::waitForOwnCopies() { NVVM::CpAsyncWaitGroupOp::create(b, 0); }
void AttentionTiles::waitForCopies() {
  waitForOwnCopies();
  meet();
}

//===- Scores -----------------------------------------------------------------------------------===//

void AttentionTiles::forEach(const Grid &grid, function_ref<void(unsigned, Value, Value)> body) {
  for (const TileCore::Run &run : grid.core.runs())
    for (auto [n, i] : llvm::enumerate(run.sums)) {
      Value other = t.add(run.column, static_cast<int64_t>(n));
      body(i, t.add(grid.query, grid.ownsKeys ? other : run.row), t.add(grid.key, grid.ownsKeys ? run.row : other));
    }
}

/// In units of log2(e), as scores are.
Value AttentionTiles::biasAt(Value head, Value query, Value key) {
  Value bias = shape.bias();
  Dims sizes = fn.spec.sizes->dims(bias), strides = fn.spec.dims.strides(sizes);
  Value row = t.min(query, t.add(fn.materialize(ownRows), -1));
  if (fold > 1)
    head = t.add(t.mul(head, fold), t.div(row, shape.rows.constant()));
  SmallVector<Value> position = fn.delinearize(head, shape.batch);
  position.append({rowInHead(row), t.min(key, t.add(fn.materialize(shape.keys), -1))});
  Value at = fn.index(0);
  for (auto [i, size, stride] : llvm::zip(position, sizes, strides)) {
    DimExpr known = fn.spec.dims.resolve(size);
    if (known.isConstant() && known.constant() == 1)
      continue;
    Value step = known.isConstant() ? i : select(t.less(fn.index(1), fn.materialize(known)), i, fn.index(0));
    at = t.add(at, t.mul(step, fn.materialize(stride)));
  }
  Value element = fn.load(fn.input(cast<BlockArgument>(bias).getArgNumber()), at, shape.type);
  return times(cpu::widen(b, b.getLoc(), element, types.sum, false), number(M_LOG2E));
}

AttentionTiles::Values AttentionTiles::scoresOf(const Grid &grid, ValueRange products) {
  Values scores(products);
  Value scale = number(shape.scale * M_LOG2E);
  forEach(grid, [&](unsigned i, Value query, Value key) {
    scores[i] = shape.bias() ? math::FmaOp::create(b, scores[i], scale, biasAt(grid.head, query, key)).getResult()
                             : times(scores[i], scale);
  });
  return scores;
}

bool AttentionTiles::divides(DimExpr size, int64_t by) {
  size = fn.spec.dims.resolve(size);
  return size.isConstant() && size.constant() % by == 0;
}

/// Whether some row of the tile does not count some key of it; null if that cannot be. Own positions behind the last
/// one may count anything: what they sum is their own, and is not stored.
Value AttentionTiles::crosses(const Grid &grid) {
  int64_t rows = grid.ownsKeys ? grid.other : grid.own, keys = grid.ownsKeys ? grid.own : grid.other;
  Value across;
  auto also = [&](Value condition) { across = across ? t.either(across, condition) : condition; };
  if (shape.after) // the last key of the first row
    also(t.less(t.add(grid.query, *shape.after), t.add(grid.key, keys - 1)));
  if (shape.before)
    also(t.less(grid.key, t.add(grid.query, rows - 1 - *shape.before)));
  if (!grid.ownsKeys && !divides(shape.keys, keys))
    also(t.less(fn.materialize(shape.keys), t.add(grid.key, keys)));
  if (grid.ownsKeys && !divides(ownRows, rows))
    also(t.less(fn.materialize(ownRows), t.add(grid.query, rows)));
  return across;
}

/// Of an own position: the others that count for it, from the thread's first column of the tile on.
AttentionTiles::Interval AttentionTiles::countedBy(const Grid &grid, Value own, Value column) {
  Value first = t.add(grid.ownsKeys ? grid.query : grid.key, column),
        end = fn.materialize(grid.ownsKeys ? ownRows : shape.keys);
  own = grid.ownsKeys ? own : rowInHead(own);
  std::optional<int64_t> before = grid.ownsKeys ? shape.after : shape.before,
                         after = grid.ownsKeys ? shape.before : shape.after;
  if (after)
    end = t.min(end, t.add(own, *after + 1));
  // A tile has few columns: words of 32 bits hold them.
  auto column32 = [&](Value position) -> Value {
    Value within = t.max(t.min(t.sub(position, first), fn.index(grid.other)), fn.index(0));
    return arith::TruncIOp::create(b, b.getI32Type(), t.i64(within));
  };
  return {before ? column32(t.add(own, -*before)) : Value(), column32(end)};
}

AttentionTiles::Values AttentionTiles::counted(const Grid &grid, ValueRange values, double otherwise) {
  Value across = crosses(grid);
  if (!across)
    return Values(values);
  auto branch = scf::IfOp::create(b, values.getTypes(), across, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, values);
  b.setInsertionPointToStart(branch.thenBlock());
  Values results(values);
  auto scores = static_cast<unsigned>(grid.core.numSums());
  SmallVector<TileCore::Run> runs = grid.core.runs();
  size_t perRow = runs.size() / static_cast<size_t>(grid.core.numRows());
  Interval counts;
  for (auto [nth, run] : llvm::enumerate(runs)) {
    Value first = runs[nth / perRow * perRow].column; // others are a constant behind it
    if (nth % perRow == 0)
      counts = countedBy(grid, t.add(grid.ownsKeys ? grid.key : grid.query, run.row), first);
    for (auto [n, sum] : llvm::enumerate(run.sums)) {
      Value behind = t.sub(t.add(run.column, static_cast<int64_t>(n)), first);
      Value other = arith::TruncIOp::create(b, b.getI32Type(), t.i64(behind)), there = t.less(other, counts.end);
      if (counts.begin)
        there = t.both(there, arith::CmpIOp::create(b, arith::CmpIPredicate::sle, counts.begin, other));
      for (unsigned i = sum; i < results.size(); i += scores)
        results[i] = select(there, results[i], number(otherwise));
    }
  }
  scf::YieldOp::create(b, results);
  return Values(branch.getResults());
}

Value AttentionTiles::firstKey(Value row) {
  return shape.before ? within(t.add(row, -*shape.before), shape.keys) : fn.index(0);
}
Value AttentionTiles::keysEnd(Value row, int64_t rows) {
  return shape.after ? within(t.add(row, rows + *shape.after), shape.keys) : fn.materialize(shape.keys);
}
Value AttentionTiles::firstRow(Value key) {
  return shape.after ? within(t.add(key, -*shape.after), shape.rows) : fn.index(0);
}
Value AttentionTiles::rowsEnd(Value key, int64_t keys) {
  return shape.before ? within(t.add(key, keys + *shape.before), shape.rows) : fn.materialize(shape.rows);
}

//===- Results ----------------------------------------------------------------------------------===//

void AttentionTiles::storeRows(TileCore &core, ValueRange sums, ArrayRef<Value> factors, unsigned result, Value head,
                               DimExpr count, Value first, int64_t size) {
  Value buffer = k.buffer(result), memory = t.global(buffer), aligned = t.isAligned(buffer);
  SmallVector<TileCore::Run> runs = core.runs();
  size_t perRow = runs.size() / static_cast<size_t>(core.numRows());
  for (auto [nth, run] : llvm::enumerate(runs)) {
    Value row = t.add(first, run.row), factor = factors[factors.size() == 1 ? 0 : nth / perRow];
    t.when(t.both(t.less(row, fn.materialize(count)), t.less(run.column, fn.index(size))), [&] {
      Values values;
      for (unsigned i : run.sums)
        values.push_back(times(sums[i], factor));
      auto lanes = static_cast<int64_t>(values.size());
      Value together =
          shape.core == Core::Warps
              ? t.pack(shape.type, values[0], values[1])
              : vector::FromElementsOp::create(b, VectorType::get({lanes}, shape.type), values).getResult();
      Value at = t.add(t.mul(rowAt(head, count, row), size), run.column);
      Value place = t.behind(memory, t.mul(at, shape.bytes()));
      t.when(
          aligned, [&] { t.store(together, place, lanes * shape.bytes()); },
          [&] { t.store(together, place, shape.bytes()); });
    });
  }
}

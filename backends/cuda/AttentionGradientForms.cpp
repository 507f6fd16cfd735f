// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The backward part of attention by mma.sync and by threads: slabs of others come by cp.async, two in shared memory at
// once.

#include "backends/cuda/AttentionForms.h"
#include "backends/cuda/AttentionGradient.h"
#include "ir/Normalization.h"
#include <cmath>

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

namespace {
class AttentionGradientEmitter : GradientTiles {
public:
  AttentionGradientEmitter(cpu::SingleKernel &k, const AttentionShape &shape, const AttentionTile &tile)
      : GradientTiles(k, shape, tile) {}
  void emit();

private:
  struct Sums { // of each score's row
    Values logs, rows;
  };
  Sums sumsOf(const Grid &grid, bool withRows);
  void emitTask(const Task &task, const Place &at);

  Value memory;
};
} // namespace

/// Sums of logarithms in units of log2(e), and of dy y. Places behind the last row are read as the last row's.
AttentionGradientEmitter::Sums AttentionGradientEmitter::sumsOf(const Grid &grid, bool withRows) {
  Value last = t.add(fn.materialize(shape.rows), -1);
  Sums sums{Values(grid.core.numSums()), Values(grid.core.numSums())};
  llvm::DenseMap<int64_t, std::pair<Value, Value>> known; // by row of the thread's, or by its column
  SmallVector<TileCore::Run> runs = grid.core.runs();
  size_t perRow = runs.size() / static_cast<size_t>(grid.core.numRows());
  for (auto [nth, run] : llvm::enumerate(runs))
    for (auto [n, i] : llvm::enumerate(run.sums)) {
      auto column = static_cast<int64_t>(nth % perRow * run.sums.size() + n);
      auto &[logs, ofRows] = known[grid.ownsKeys ? column : static_cast<int64_t>(nth / perRow)];
      if (!logs) {
        Value row = t.add(grid.query, grid.ownsKeys ? t.add(run.column, static_cast<int64_t>(n)) : run.row);
        row = t.min(row, last);
        logs = times(ofRow(kLogSums, grid.head, row), number(M_LOG2E));
        ofRows = withRows ? ofRow(kRowSums, grid.head, row) : Value();
      }
      sums.logs[i] = logs;
      sums.rows[i] = ofRows;
    }
  return sums;
}

void AttentionGradientEmitter::emitTask(const Task &task, const Place &at) {
  const auto &[pass, wanted, heads, blocks] = task;
  auto [head, first] = at;
  Rows deep = rowsOf(pass.deep, tile.own), wide = rowsOf(pass.wide, tile.own);
  Rows otherDeep = rowsOf(pass.otherDeep, tile.other), otherWide = rowsOf(pass.otherWide, tile.other);
  auto scores = coreOfScores(deep, otherDeep), slopes = coreOfScores(wide, otherWide);
  auto byShares = coreOfHeld(otherWide), bySlopes = coreOfHeld(otherDeep);
  Value slabDeep = memory, slabWide = t.behind(memory, fn.index(bytesOf(deep)));
  int64_t ownBytes = bytesOf(deep) + bytesOf(wide), stageBytes = bytesOf(otherDeep) + bytesOf(otherWide);
  Others others = othersOf(pass, at);
  Value length = t.max(t.sub(others.end, others.begin), fn.index(0));
  Value perHead = t.div(t.add(length, tile.other - 1), tile.other), count = t.mul(perHead, others.heads);
  auto stageOf = [&](Value step) -> std::pair<Value, Value> {
    Value place = t.add(t.mul(t.rem(step, 2), stageBytes), ownBytes);
    return {t.behind(memory, place), t.behind(memory, t.add(place, bytesOf(otherDeep)))};
  };
  auto placeOfSlab = [&](Value step) -> std::pair<Value, Value> { // head and first position
    Value nth = arith::DivUIOp::create(b, step, perHead);
    Value slab = t.sub(step, t.mul(nth, perHead));
    return {t.add(others.head, nth), t.add(others.begin, t.mul(slab, tile.other))};
  };
  auto bringOthers = [&](Value step) {
    t.when(t.less(step, count), [&] {
      auto [itsHead, position] = placeOfSlab(step);
      bring(otherDeep, itsHead, position, stageOf(step).first);
      bring(otherWide, itsHead, position, stageOf(step).second);
    });
    endGroup();
  };
  meet(); // what an earlier chunk left has been read
  bring(deep, head, first, slabDeep);
  if (wanted.slopes)
    bring(wide, head, first, slabWide);
  bringOthers(fn.index(0));
  Sums sums;
  if (!pass.ownsKeys)
    sums = sumsOf({*scores, head, first, fn.index(0), false, tile.own, tile.other}, wanted.slopes);
  Values fresh = wanted.shares ? zeros(*byShares) : Values();
  size_t ofShares = fresh.size();
  if (wanted.slopes)
    llvm::append_range(fresh, zeros(*bySlopes));
  Values totals = fn.loop(fn.index(0), count, 1, fresh, [&](Value step, ValueRange carried) -> Values {
    waitForCopies(); // of this step; the slabs of the one before have been read
    bringOthers(t.add(step, 1));
    auto [itsHead, position] = placeOfSlab(step);
    auto [stageDeep, stageWide] = stageOf(step);
    Grid grid{*scores,
              pass.ownsKeys ? itsHead : head,
              pass.ownsKeys ? position : first,
              pass.ownsKeys ? first : position,
              pass.ownsKeys,
              tile.own,
              tile.other};
    if (pass.ownsKeys)
      sums = sumsOf(grid, wanted.slopes);
    Values held = scoresOf(grid, scores->multiply(slabDeep, stageDeep, zeros(*scores)));
    size_t numScores = held.size();
    for (auto [share, logs] : llvm::zip(held, sums.logs))
      share = power(minus(share, logs));
    if (wanted.slopes)
      for (auto [i, slope] : llvm::enumerate(slopes->multiply(slabWide, stageWide, zeros(*slopes))))
        held.push_back(times(held[i], minus(slope, sums.rows[i])));
    held = counted(grid, held, 0); // both: 0 times what may be no number
    Values next;
    if (wanted.shares)
      next = addHeld(*byShares, ArrayRef(held).take_front(numScores), stageWide, carried.take_front(ofShares));
    if (wanted.slopes)
      llvm::append_range(
          next, addHeld(*bySlopes, ArrayRef(held).drop_front(numScores), stageDeep, carried.drop_front(ofShares)));
    return next;
  });
  waitForOwnCopies(); // own rows, where no others came by
  storeSums(task, byShares.get(), bySlopes.get(), totals, at);
}

void AttentionGradientEmitter::emit() {
  DimContext &dims = k.dims();
  memory = t.shared("slabs", shape.sharedBytes(tile));
  k.chunks = dims.constant(0);
  fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
    for (const Task &task : tasks(shape.isSplit(tile))) {
      DimExpr before = k.chunks;
      k.chunks = dims.resolve(dims.add(before, dims.mul(task.heads, task.blocks)));
      Value begin = fn.materialize(before), end = fn.materialize(k.chunks);
      t.when(t.both(t.less(t.add(begin, -1), chunk), t.less(chunk, end)),
             [&] { emitTask(task, placeOf(task, t.sub(chunk, begin))); });
    }
  });
}

cpu::EmittedKernel cuda::emitAttentionGradient(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol, Core core,
                                               const AttentionTile &tile) {
  std::string refusal;
  AttentionShape shape = *AttentionShape::of(spec, core, /*isGradient=*/true, refusal);
  cpu::SingleKernel k(spec, module, symbol, shape.root);
  AttentionGradientEmitter(k, shape, tile).emit();
  return k.finish();
}

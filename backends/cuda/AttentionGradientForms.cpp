// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The backward part of attention in two passes (Dao, FlashAttention-2, 2023), each of which forms scores again from the
// sums of logarithms. A block owns some keys, or some rows; the others go by in slabs, two in shared memory at once.
//
//     own keys (k, v):     for each slab of rows:  p = 2^(s - sums);  dv += p^T dy;   ds = p (dy v^T - row_sums);  dk
//     += ds^T q own rows (q, dy):    for each slab of keys:  p, ds likewise; dq += ds k
//
// Each result is summed by one block in the order of slabs: there are no atomics, and the bits are the same each time.
// Of keys a block goes over the rows of all heads that they serve. Where dk and dv do not fit into registers together,
// they are tasks of their own.

#include "backends/cuda/AttentionForms.h"
#include "backends/cuda/AttentionTiles.h"
#include "ir/Normalization.h"
#include <cmath>

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

namespace {
enum Operand : unsigned { kQuery, kKey, kValue, kCotangent, kLogSums, kRowSums };
enum Result : unsigned { kQueryGradient, kKeyGradient, kValueGradient };

/// One of the two passes: operands of which a block has rows of its own, and those that go by. `deep` ones are summed
/// over for scores, `wide` ones for their slopes.
struct Pass {
  bool ownsKeys;
  unsigned deep, wide, otherDeep, otherWide;
};
constexpr Pass kKeys{true, kKey, kValue, kQuery, kCotangent}, kRows{false, kQuery, kCotangent, kKey, kValue};

class AttentionGradientEmitter : AttentionTiles {
public:
  AttentionGradientEmitter(cpu::SingleKernel &k, const AttentionShape &shape, const AttentionTile &tile)
      : AttentionTiles(k, shape, tile) {}
  void emit();

private:
  /// What a block adds up: own rows times others' wide rows by p, times others' deep rows by ds.
  struct Wanted {
    bool shares, slopes;
  };
  /// The slabs that go by: from position `begin` on of each head from `head` on.
  struct Others {
    Value head, begin, perHead, count; // slabs of a head, of all
  };
  struct Sums { // of each score's row
    Values logs, rows;
  };
  struct Task {
    Pass pass;
    Wanted wanted;
    DimExpr heads, blocks;
  };

  SmallVector<Task> tasks();
  Others othersOf(const Pass &pass, Value head, Value first);
  Sums sumsOf(const Grid &grid, bool withRows);
  void emitPass(const Pass &pass, Wanted wanted, Value head, Value first);

  Value memory;
};
} // namespace

AttentionGradientEmitter::Others AttentionGradientEmitter::othersOf(const Pass &pass, Value head, Value first) {
  Value low = pass.ownsKeys ? firstRow(first) : firstKey(first);
  Value end = pass.ownsKeys ? rowsEnd(first, tile.own) : keysEnd(first, tile.own);
  Others others;
  others.begin = t.mul(t.div(low, tile.other), tile.other);
  Value length = t.max(t.sub(end, others.begin), fn.index(0));
  others.perHead = t.div(t.add(length, tile.other - 1), tile.other);
  others.head = pass.ownsKeys ? t.mul(head, shape.groups) : t.div(head, shape.groups);
  others.count = pass.ownsKeys ? t.mul(others.perHead, shape.groups) : others.perHead;
  return others;
}

/// Sums of logarithms in units of log2(e), and of dy y. Places behind the last row are read as the last row's.
AttentionGradientEmitter::Sums AttentionGradientEmitter::sumsOf(const Grid &grid, bool withRows) {
  Value last = t.add(fn.materialize(shape.rows), -1);
  auto read = [&](unsigned operand, Value row) {
    Value buffer = fn.input(cast<BlockArgument>(shape.root->getOperand(operand)).getArgNumber());
    return fn.load(buffer, rowAt(grid.head, shape.rows, row), types.sum);
  };
  Sums sums{Values(grid.core.numSums()), Values(grid.core.numSums())};
  llvm::DenseMap<int64_t, std::pair<Value, Value>> known; // by row of the thread's, or by its column
  SmallVector<TileCore::Run> runs = grid.core.runs();
  size_t perRow = runs.size() / static_cast<size_t>(grid.core.numRows());
  for (auto [nth, run] : llvm::enumerate(runs))
    for (auto [n, i] : llvm::enumerate(run.sums)) {
      auto column = static_cast<int64_t>(nth % perRow * run.sums.size() + n);
      auto &[logs, ofRow] = known[grid.ownsKeys ? column : static_cast<int64_t>(nth / perRow)];
      if (!logs) {
        Value row = t.add(grid.query, grid.ownsKeys ? t.add(run.column, static_cast<int64_t>(n)) : run.row);
        row = t.min(row, last);
        logs = times(read(kLogSums, row), number(M_LOG2E));
        ofRow = withRows ? read(kRowSums, row) : Value();
      }
      sums.logs[i] = logs;
      sums.rows[i] = ofRow;
    }
  return sums;
}

void AttentionGradientEmitter::emitPass(const Pass &pass, Wanted wanted, Value head, Value first) {
  Rows deep = rowsOf(pass.deep, tile.own), wide = rowsOf(pass.wide, tile.own);
  Rows otherDeep = rowsOf(pass.otherDeep, tile.other), otherWide = rowsOf(pass.otherWide, tile.other);
  auto scores = coreOfScores(deep, otherDeep), slopes = coreOfScores(wide, otherWide);
  auto byShares = coreOfHeld(otherWide), bySlopes = coreOfHeld(otherDeep);
  Value slabDeep = memory, slabWide = t.behind(memory, fn.index(bytesOf(deep)));
  int64_t ownBytes = bytesOf(deep) + bytesOf(wide), stageBytes = bytesOf(otherDeep) + bytesOf(otherWide);
  Others others = othersOf(pass, head, first);
  auto stageOf = [&](Value step) -> std::pair<Value, Value> {
    Value at = t.add(t.mul(t.rem(step, 2), stageBytes), ownBytes);
    return {t.behind(memory, at), t.behind(memory, t.add(at, bytesOf(otherDeep)))};
  };
  auto placeOf = [&](Value step) -> std::pair<Value, Value> { // head and first position
    Value nth = arith::DivUIOp::create(b, step, others.perHead);
    Value slab = t.sub(step, t.mul(nth, others.perHead));
    return {t.add(others.head, nth), t.add(others.begin, t.mul(slab, tile.other))};
  };
  auto bringOthers = [&](Value step) {
    t.when(t.less(step, others.count), [&] {
      auto [itsHead, position] = placeOf(step);
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
  Values totals = fn.loop(fn.index(0), others.count, 1, fresh, [&](Value step, ValueRange carried) -> Values {
    waitForCopies(); // of this step; the slabs of the one before have been read
    bringOthers(t.add(step, 1));
    auto [itsHead, position] = placeOf(step);
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
    size_t count = held.size();
    for (auto [share, logs] : llvm::zip(held, sums.logs))
      share = power(minus(share, logs));
    if (wanted.slopes)
      for (auto [i, slope] : llvm::enumerate(slopes->multiply(slabWide, stageWide, zeros(*slopes))))
        held.push_back(times(held[i], minus(slope, sums.rows[i])));
    held = counted(grid, held, 0); // both: 0 times what may be no number
    Values next;
    if (wanted.shares)
      next = addHeld(*byShares, ArrayRef(held).take_front(count), stageWide, carried.take_front(ofShares));
    if (wanted.slopes)
      llvm::append_range(next,
                         addHeld(*bySlopes, ArrayRef(held).drop_front(count), stageDeep, carried.drop_front(ofShares)));
    return next;
  });
  waitForOwnCopies(); // own rows, where no others came by
  DimExpr count = pass.ownsKeys ? shape.keys : shape.rows;
  if (wanted.shares)
    storeRows(*byShares, ArrayRef(totals).take_front(ofShares), number(1), kValueGradient, head, count, first,
              shape.width);
  if (wanted.slopes)
    storeRows(*bySlopes, ArrayRef(totals).drop_front(ofShares), number(shape.scale),
              pass.ownsKeys ? kKeyGradient : kQueryGradient, head, count, first, shape.depth);
}

SmallVector<AttentionGradientEmitter::Task> AttentionGradientEmitter::tasks() {
  DimContext &dims = k.dims();
  auto blocksOf = [&](DimExpr size) { return dims.resolve(dims.ceilDiv(size, dims.constant(tile.own))); };
  SmallVector<Task> all;
  auto addKeys = [&](bool values, bool keys) {
    if (values || keys)
      all.push_back({kKeys, {values, keys}, shape.keyHeads, blocksOf(shape.keys)});
  };
  bool isSplit = shape.isSplit(tile), ofValues = k.isYielded(kValueGradient), ofKeys = k.isYielded(kKeyGradient);
  addKeys(ofValues, ofKeys && !isSplit);
  if (isSplit)
    addKeys(false, ofKeys);
  if (k.isYielded(kQueryGradient))
    all.push_back({kRows, {false, true}, shape.heads, blocksOf(shape.rows)});
  return all;
}

void AttentionGradientEmitter::emit() {
  DimContext &dims = k.dims();
  memory = t.shared("slabs", shape.sharedBytes(tile));
  k.chunks = dims.constant(0);
  fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
    for (const Task &task : tasks()) {
      DimExpr before = k.chunks;
      k.chunks = dims.resolve(dims.add(before, dims.mul(task.heads, task.blocks)));
      Value begin = fn.materialize(before), end = fn.materialize(k.chunks);
      t.when(t.both(t.less(t.add(begin, -1), chunk), t.less(chunk, end)), [&] {
        SmallVector<Value> at = fn.delinearize(t.sub(chunk, begin), {task.heads, task.blocks});
        // The last rows count the most keys of a causal attention: they come first.
        bool isReversed = shape.after && !task.pass.ownsKeys;
        Value block = isReversed ? t.sub(t.add(fn.materialize(task.blocks), -1), at[1]) : at[1];
        emitPass(task.pass, task.wanted, at[0], t.mul(block, tile.own));
      });
    }
  });
}

cpu::EmittedKernel cuda::emitAttentionGradient(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol, Core core) {
  std::string refusal;
  AttentionShape shape = *AttentionShape::of(spec, core, /*isGradient=*/true, refusal);
  cpu::SingleKernel k(spec, module, symbol, shape.root);
  AttentionGradientEmitter(k, shape, attentionTileOf(spec.schedule())).emit();
  return k.finish();
}

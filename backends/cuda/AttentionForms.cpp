// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention with the softmax formed while keys go by (Dao, FlashAttention-2, 2023): a block has some rows of a head,
// and scores exist as one tile in registers.
//
//     for each slab of keys:   s = scale q k^T + bias;   m' = max(m, max(s));   c = 2^(m - m');   p = 2^(s - m')
//                              l = c l + sum(p);   y = c y + p v;   m = m'
//     at the end:              y / l
//
// Queries stay in shared memory. One slab of keys and one of values take turns: values come while scores are formed,
// the next keys while shares are multiplied with values. Slabs that no row of the block counts are not asked for.

#include "backends/cuda/AttentionForms.h"
#include "backends/cuda/AttentionTiles.h"
#include "ir/Normalization.h"
#include <cmath>

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

namespace {
class AttentionEmitter : AttentionTiles {
public:
  AttentionEmitter(cpu::SingleKernel &k, const AttentionShape &shape, const AttentionTile &tile)
      : AttentionTiles(k, shape, tile), queries(rowsOf(0, tile.own)), keys(rowsOf(1, tile.other)),
        values(rowsOf(2, tile.other)), products(coreOfScores(queries, keys)), results(coreOfHeld(values)) {}
  void emit();

private:
  /// Of the rows that this thread holds, and what lies in registers of the result.
  struct State {
    Values greatest, total, result; // m, l, y
    Values all() const;
    static State of(ValueRange carried, int64_t rows);
  };
  struct Shares {
    Values held, factors; // p and c
  };
  void emitRows(Value head, Value first);
  Values scoresOfSlab(const Grid &grid);
  Shares updateSoftmax(State &state, ValueRange scores);
  void finish(State state, Value head, Value first);
  Value slab(const Rows &rows);

  Rows queries, keys, values;
  std::unique_ptr<TileCore> products, results;
  Value memory;
};
} // namespace

AttentionEmitter::Values AttentionEmitter::State::all() const {
  Values carried(greatest);
  llvm::append_range(carried, total);
  llvm::append_range(carried, result);
  return carried;
}
AttentionEmitter::State AttentionEmitter::State::of(ValueRange carried, int64_t rows) {
  return {Values(carried.take_front(rows)), Values(carried.slice(rows, rows)), Values(carried.drop_front(2 * rows))};
}

Value AttentionEmitter::slab(const Rows &rows) {
  int64_t at = &rows == &queries ? 0 : bytesOf(queries) + (&rows == &keys ? 0 : bytesOf(keys));
  return t.behind(memory, fn.index(at));
}

AttentionEmitter::Values AttentionEmitter::scoresOfSlab(const Grid &grid) {
  Values sums = products->multiply(slab(queries), slab(keys), zeros(*products));
  return counted(grid, scoresOf(grid, sums), -INFINITY);
}

/// m and l in `state`, which each thread of a row has: m of all of its keys, l of the thread's own.
AttentionEmitter::Shares AttentionEmitter::updateSoftmax(State &state, ValueRange scores) {
  SmallVector<TileCore::Run> runs = products->runs();
  size_t perRow = runs.size() / state.total.size();
  auto greater = [&](Value x, Value y) -> Value { return arith::MaxNumFOp::create(b, x, y); };
  Shares shares{Values(scores), {}};
  for (size_t row = 0; row < state.total.size(); ++row) {
    SmallVector<unsigned> mine;
    for (const TileCore::Run &run : ArrayRef(runs).slice(row * perRow, perRow))
      mine.append(run.sums.begin(), run.sums.end());
    Value greatest = scores[mine.front()], sum;
    for (unsigned i : ArrayRef(mine).drop_front())
      greatest = greater(greatest, scores[i]);
    greatest = greater(state.greatest[row], products->joinRow(greatest, greater));
    // Nothing that counts so far: all shares are zero.
    Value shift = select(isEqual(greatest, -INFINITY), number(0), greatest);
    for (unsigned i : mine) {
      shares.held[i] = power(minus(scores[i], shift));
      sum = sum ? plus(sum, shares.held[i]) : shares.held[i];
    }
    shares.factors.push_back(power(minus(state.greatest[row], shift)));
    state.total[row] = math::FmaOp::create(b, state.total[row], shares.factors.back(), sum);
    state.greatest[row] = greatest;
  }
  return shares;
}

/// y / l, and the logarithm of the sum of exponentials.
void AttentionEmitter::finish(State state, Value head, Value first) {
  SmallVector<TileCore::Run> runs = products->runs();
  Values factors;
  for (Value &total : state.total) {
    total = results->joinRow(total, [&](Value x, Value y) { return plus(x, y); });
    // Without keys there is nothing to divide: a sum of none.
    Value isNone = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, fn.materialize(shape.keys), fn.index(0));
    factors.push_back(arith::DivFOp::create(b, number(1), select(isNone, number(1), total)));
  }
  storeRows(*results, state.result, factors, 0, head, shape.rows, first, shape.width);
  if (shape.root->getNumResults() < 2 || !k.isYielded(1))
    return;
  for (auto [row, greatest, total] : llvm::enumerate(state.greatest, state.total)) {
    const TileCore::Run &run = runs[row * (runs.size() / state.total.size())];
    Value at = t.add(first, run.row);
    // One of the threads that share the row: the one that has its first column.
    Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, run.column, fn.index(0));
    t.when(t.both(t.less(at, fn.materialize(shape.rows)), isFirst), [&] {
      Value sum = times(plus(greatest, math::Log2Op::create(b, total)), number(M_LN2));
      k.store(1, select(isEqual(greatest, -INFINITY), greatest, sum), rowAt(head, shape.rows, at));
    });
  }
}

void AttentionEmitter::emitRows(Value head, Value first) {
  Value keyHead = t.div(head, shape.groups), end = keysEnd(first, tile.own);
  Value begin = t.mul(t.div(firstKey(first), tile.other), tile.other);
  meet(); // what an earlier chunk left has been read
  bring(queries, head, first, slab(queries));
  t.when(t.less(begin, end), [&] { bring(keys, keyHead, begin, slab(keys)); });
  endGroup();
  int64_t rows = products->numRows();
  State fresh{Values(rows, number(-INFINITY)), Values(rows, number(0)), zeros(*results)};
  Values last = fn.loop(begin, end, tile.other, fresh.all(), [&](Value key, ValueRange carried) -> Values {
    State state = State::of(carried, rows);
    waitForCopies(); // of keys; the values of the slab before have been read
    bring(values, keyHead, key, slab(values));
    endGroup();
    Grid grid{*products, head, first, key, /*ownsKeys=*/false, tile.own, tile.other};
    Shares shares = updateSoftmax(state, scoresOfSlab(grid));
    waitForCopies(); // of values; the keys have been read
    Value next = t.add(key, tile.other);
    t.when(t.less(next, end), [&] { bring(keys, keyHead, next, slab(keys)); });
    endGroup();
    size_t perRow = state.result.size() / static_cast<size_t>(rows);
    SmallVector<TileCore::Run> runs = results->runs();
    for (auto [nth, run] : llvm::enumerate(runs))
      for (unsigned i : run.sums)
        state.result[i] = times(state.result[i], shares.factors[nth * run.sums.size() / perRow]);
    state.result = addHeld(*results, shares.held, slab(values), state.result);
    return state.all();
  });
  waitForOwnCopies(); // queries, where there were no keys
  finish(State::of(last, rows), head, first);
}

void AttentionEmitter::emit() {
  DimContext &dims = k.dims();
  DimExpr blocks = dims.resolve(dims.ceilDiv(shape.rows, dims.constant(tile.own)));
  k.chunks = dims.mul(shape.heads, blocks);
  memory = t.shared("slabs", shape.sharedBytes(tile));
  fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
    SmallVector<Value> at = fn.delinearize(chunk, {shape.heads, blocks});
    // The last rows count the most keys of a causal attention: they come first.
    Value block = shape.after ? t.sub(t.add(fn.materialize(blocks), -1), at[1]) : at[1];
    emitRows(at[0], t.mul(block, tile.own));
  });
}

cpu::EmittedKernel cuda::emitAttention(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol, Core core) {
  std::string refusal;
  AttentionShape shape = *AttentionShape::of(spec, core, /*isGradient=*/false, refusal);
  cpu::SingleKernel k(spec, module, symbol, shape.root);
  AttentionEmitter(k, shape, attentionTileOf(spec.schedule())).emit();
  return k.finish();
}

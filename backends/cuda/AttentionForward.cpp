// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cuda/AttentionForward.h"
#include <cmath>

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

ForwardTiles::Values ForwardTiles::State::all() const {
  Values carried(greatest);
  llvm::append_range(carried, total);
  llvm::append_range(carried, result);
  return carried;
}
ForwardTiles::State ForwardTiles::State::of(ValueRange carried, int64_t rows) {
  return {Values(carried.take_front(rows)), Values(carried.slice(rows, rows)), Values(carried.drop_front(2 * rows))};
}

/// m and l in `state`, which each thread of a row has: m of all of its keys, l of the thread's own.
ForwardTiles::Shares ForwardTiles::updateSoftmax(State &state, ValueRange scores) {
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
void ForwardTiles::finish(State state, Value head, Value first) {
  SmallVector<TileCore::Run> runs = products->runs();
  Values factors;
  for (Value &total : state.total) {
    total = results->joinRow(total, [&](Value x, Value y) { return plus(x, y); });
    // Without keys there is nothing to divide: a sum of none.
    Value isNone = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, fn.materialize(shape.keys), fn.index(0));
    factors.push_back(arith::DivFOp::create(b, number(1), select(isNone, number(1), total)));
  }
  storeRows(*results, state.result, factors, 0, head, ownRows, first, shape.width);
  if (shape.root->getNumResults() < 2 || !k.isYielded(1))
    return;
  for (auto [row, greatest, total] : llvm::enumerate(state.greatest, state.total)) {
    const TileCore::Run &run = runs[row * (runs.size() / state.total.size())];
    Value at = t.add(first, run.row);
    // One of the threads that share the row: the one that has its first column.
    Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, run.column, fn.index(0));
    t.when(t.both(t.less(at, fn.materialize(ownRows)), isFirst), [&] {
      Value sum = times(plus(greatest, math::Log2Op::create(b, total)), number(M_LN2));
      k.store(1, select(isEqual(greatest, -INFINITY), greatest, sum), rowAt(head, ownRows, at));
    });
  }
}

void ForwardTiles::scaleResults(State &state, ArrayRef<Value> factors) {
  size_t perRow = state.result.size() / factors.size();
  SmallVector<TileCore::Run> runs = results->runs();
  for (auto [nth, run] : llvm::enumerate(runs))
    for (unsigned i : run.sums)
      state.result[i] = times(state.result[i], factors[nth * run.sums.size() / perRow]);
}

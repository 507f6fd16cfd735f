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
//
// A step of decoding has few rows, so few blocks, and many keys: these are cut into parts. A block leaves m, l and y of
// its part in the workspace, and a second kernel joins them in their order:
//
//     m = max(m_part);   y = sum(2^(m_part - m) y_part) / sum(2^(m_part - m) l_part)

#include "backends/cuda/AttentionForms.h"
#include "backends/cpu/emit/General.h"
#include "backends/cuda/AttentionForward.h"
#include "ir/Normalization.h"
#include <cmath>

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

namespace {
class AttentionEmitter : ForwardTiles {
public:
  AttentionEmitter(cpu::SingleKernel &k, const AttentionShape &shape, const AttentionTile &tile)
      : ForwardTiles(k, shape, tile), queries(rowsOf(0, tile.own)), keys(rowsOf(1, tile.other)),
        values(rowsOf(2, tile.other)) {
    products = coreOfScores(queries, keys);
    results = coreOfHeld(values);
  }
  void emit();

private:
  void emitRows(Value head, Value first, Value part);
  Values scoresOfSlab(const Grid &grid);
  void leave(State state, Value head, Value first, Value part);
  Value slab(const Rows &rows);

  Rows queries, keys, values;
  Value memory;
};

/// What the parts of a row leave in the workspace, in the type of sums: y of all rows of the first part, then of the
/// others; then m and l likewise.
class Parts {
public:
  Parts(TileBuilder &t, const AttentionShape &shape, int64_t count, Type type)
      : t(t), dims(t.fn.spec.dims), count(count), type(type), width(dims.constant(shape.width)),
        rows(dims.resolve(dims.mul(shape.heads, shape.rows))) {}
  int64_t numberBytes() const { return static_cast<int64_t>(type.getIntOrFloatBitWidth() / 8); }
  DimExpr bytes() {
    return dims.mul(dims.mul(rows, dims.add(width, dims.constant(2))), dims.constant(count * numberBytes()));
  }
  /// `row` counts those of all heads.
  Value result(Value part, Value row, Value column) {
    return place(t.add(t.mul(inAll(part, row), t.fn.materialize(width)), column));
  }
  Value greatest(Value part, Value row) { return place(t.add(behindResults(), t.mul(inAll(part, row), 2))); }
  Value total(Value part, Value row) { return place(t.add(behindResults(), t.add(t.mul(inAll(part, row), 2), 1))); }
  Value load(Value from) { return t.load(type, from, numberBytes()); }

  TileBuilder &t;
  DimContext &dims;
  const int64_t count;
  const Type type;
  const DimExpr width, rows;

private:
  Value inAll(Value part, Value row) { return t.add(t.mul(part, t.fn.materialize(rows)), row); }
  Value behindResults() { return t.fn.materialize(dims.mul(dims.mul(rows, width), dims.constant(count))); }
  Value place(Value number) { return t.behind(t.global(t.fn.workspace()), t.mul(number, numberBytes())); }
};
} // namespace

Value AttentionEmitter::slab(const Rows &rows) {
  int64_t at = &rows == &queries ? 0 : bytesOf(queries) + (&rows == &keys ? 0 : bytesOf(keys));
  return t.behind(memory, fn.index(at));
}

AttentionEmitter::Values AttentionEmitter::scoresOfSlab(const Grid &grid) {
  Values sums = products->multiply(slab(queries), slab(keys), zeros(*products));
  return counted(grid, scoresOf(grid, sums), -INFINITY);
}

/// What a part has found of its rows.
void AttentionEmitter::leave(State state, Value head, Value first, Value part) {
  Parts parts(t, shape, tile.parts, types.sum);
  auto isRow = [&](Value at) { return t.less(at, fn.materialize(ownRows)); };
  for (const TileCore::Run &run : results->runs()) {
    Value at = t.add(first, run.row);
    t.when(t.both(isRow(at), t.less(run.column, fn.index(shape.width))), [&] {
      Values values;
      for (unsigned i : run.sums)
        values.push_back(state.result[i]);
      auto lanes = static_cast<int64_t>(values.size());
      Value together = vector::FromElementsOp::create(b, VectorType::get({lanes}, types.sum), values);
      t.store(together, parts.result(part, rowAt(head, ownRows, at), run.column), lanes * parts.numberBytes());
    });
  }
  SmallVector<TileCore::Run> runs = products->runs();
  for (auto [row, greatest, total] : llvm::enumerate(state.greatest, state.total)) {
    const TileCore::Run &run = runs[row * (runs.size() / state.total.size())];
    Value sum = products->joinRow(total, [&](Value x, Value y) { return plus(x, y); }), at = t.add(first, run.row);
    Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, run.column, fn.index(0));
    t.when(t.both(isRow(at), isFirst), [&] {
      Value place = rowAt(head, ownRows, at);
      t.store(greatest, parts.greatest(part, place), parts.numberBytes());
      t.store(sum, parts.total(part, place), parts.numberBytes());
    });
  }
}

void AttentionEmitter::emitRows(Value head, Value first, Value part) {
  Value keyHead = fold > 1 ? head : t.div(head, shape.groups);
  Value end = fold > 1 ? keysEnd(first, shape.rows.constant()) : keysEnd(first, tile.own);
  Value begin = t.mul(t.div(firstKey(first), tile.other), tile.other);
  if (part) {
    Value slabs = t.div(t.add(t.max(t.sub(end, begin), fn.index(0)), tile.other - 1), tile.other);
    Value keysOfPart = t.mul(t.div(t.add(slabs, tile.parts - 1), tile.parts), tile.other);
    begin = t.add(begin, t.mul(part, keysOfPart));
    end = t.min(end, t.add(begin, keysOfPart));
  }
  meet(); // what an earlier chunk left has been read
  bring(queries, fold > 1 ? t.mul(head, fold) : head, first, slab(queries));
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
    scaleResults(state, shares.factors);
    state.result = addHeld(*results, shares.held, slab(values), state.result);
    return state.all();
  });
  waitForOwnCopies(); // queries, where there were no keys
  if (part)
    leave(State::of(last, rows), head, first, part);
  else
    finish(State::of(last, rows), head, first);
}

void AttentionEmitter::emit() {
  DimContext &dims = k.dims();
  queries.count = ownRows;
  DimExpr blocks = dims.resolve(dims.ceilDiv(ownRows, dims.constant(tile.own))), parts = dims.constant(tile.parts);
  k.chunks = dims.mul(dims.mul(ownHeads, blocks), parts);
  if (tile.parts > 1)
    k.workspaceBytes = Parts(t, shape, tile.parts, types.sum).bytes();
  memory = t.shared("slabs", shape.sharedBytes(tile));
  fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
    SmallVector<Value> at = fn.delinearize(chunk, {ownHeads, blocks, parts});
    // The last rows count the most keys of a causal attention: they come first.
    Value block = shape.after ? t.sub(t.add(fn.materialize(blocks), -1), at[1]) : at[1];
    emitRows(at[0], t.mul(block, tile.own), tile.parts > 1 ? at[2] : Value());
  });
}

/// A kernel after the first one: a thread has an element of a row and goes over the parts.
static void emitJoin(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol, const AttentionShape &shape,
                     const AttentionTile &tile, DimExpr chunks) {
  cpu::SingleKernel k(spec, module, symbol, shape.root, {.workspace = true});
  cpu::KernelFunction &fn = k.fn;
  ImplicitLocOpBuilder &b = k.b;
  TileBuilder t(fn);
  Type type = cpu::accumulatorType(shape.type);
  Parts parts(t, shape, tile.parts, type);
  auto number = [&](double value) -> Value { return arith::ConstantOp::create(b, b.getFloatAttr(type, value)); };
  auto isEqual = [&](Value x, double y) -> Value {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x, number(y));
  };
  auto select = [&](Value condition, Value x, Value y) -> Value { return arith::SelectOp::create(b, condition, x, y); };
  Value thread = t.threadNumber(), end = fn.materialize(k.dims().mul(parts.rows, parts.width));
  fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
    Value step = t.mul(fn.materialize(chunks), kJoinThreads);
    auto loop = scf::ForOp::create(b, t.add(t.mul(chunk, kJoinThreads), thread), end, step);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> at = fn.delinearize(loop.getInductionVar(), {parts.rows, parts.width});
    auto overParts = [&](ValueRange init, function_ref<SmallVector<Value>(Value, ValueRange)> body) {
      return fn.loop(fn.index(0), fn.index(tile.parts), 1, init, body);
    };
    Value greatest = overParts(number(-INFINITY), [&](Value part, ValueRange so) -> SmallVector<Value> {
      return {arith::MaxNumFOp::create(b, so[0], parts.load(parts.greatest(part, at[0])))};
    })[0];
    // Nothing that counts: no part has a share.
    Value shift = select(isEqual(greatest, -INFINITY), number(0), greatest);
    SmallVector<Value> sums = overParts({number(0), number(0)}, [&](Value part, ValueRange so) -> SmallVector<Value> {
      Value less = arith::SubFOp::create(b, parts.load(parts.greatest(part, at[0])), shift);
      Value factor = math::Exp2Op::create(b, less);
      return {math::FmaOp::create(b, factor, parts.load(parts.result(part, at[0], at[1])), so[0]),
              math::FmaOp::create(b, factor, parts.load(parts.total(part, at[0])), so[1])};
    });
    // Without keys there is nothing to divide: a sum of none.
    Value isNone = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, fn.materialize(shape.keys), fn.index(0));
    Value result = arith::DivFOp::create(b, sums[0], select(isNone, number(1), sums[1]));
    k.store(0, cpu::narrow(b, b.getLoc(), result, shape.type), loop.getInductionVar());
    if (shape.root->getNumResults() < 2 || !k.isYielded(1))
      return;
    k.ifThen(arith::CmpIOp::create(b, arith::CmpIPredicate::eq, at[1], fn.index(0)), [&] {
      Value logs = arith::AddFOp::create(b, greatest, math::Log2Op::create(b, sums[1]));
      Value inTheirUnits = arith::MulFOp::create(b, logs, number(M_LN2));
      k.store(1, select(isEqual(greatest, -INFINITY), greatest, inTheirUnits), at[0]);
    });
  });
  fn.finish();
}

cpu::EmittedKernel cuda::emitAttention(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol, Core core,
                                       const AttentionTile &tile) {
  std::string refusal;
  AttentionShape shape = *AttentionShape::of(spec, core, /*isGradient=*/false, refusal);
  cpu::SingleKernel k(spec, module, symbol, shape.root, {.workspace = tile.parts > 1});
  AttentionEmitter(k, shape, tile).emit();
  if (tile.parts > 1)
    emitJoin(spec, module, (symbol + kJoinSuffix).str(), shape, tile, k.chunks);
  return k.finish();
}

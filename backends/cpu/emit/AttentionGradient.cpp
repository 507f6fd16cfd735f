// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The backward part of attention, which computes blocks of shares again from the sums of their exponentials
// (Dao, FlashAttention-2, 2023), so that memory is linear in rows and keys:
//
//   for each block of keys and rows:   p = exp(scale q k^T + bias - sums);   ds = scale p (dy v^T - row sums)
//                                      dv += p^T dy;   dk += ds^T q;   dq += ds k
//
// All five products are register tiles. With enough heads of keys a task is one of them, with its heads of queries, and
// each block is formed once. With fewer, tasks are blocks of keys (for dk and dv) and blocks of rows (for dq), and each
// block is formed twice: seven products, but no two tasks add to the same place. Which of both is decided by sizes
// alone, and the order in which a place is added to is that of blocks: results do not depend on threads.
//
// Where pairs of bf16 are multiplied, p and ds are f32 for a panel of keys and the rows of a block, and are rounded
// from there, p in pairs of rows, ds in pairs of rows and of keys:
//
//   p, ds   [rows / 2][keys][2]      ds   [rows][keys]
//
// Gradients of 16 bits are summed in the workspace: those of a block of keys, and dq of a block of rows. dq of a head
// of bf16 has the upper halves of its sums in the result.
//
//   tile      rows and vectors of a register tile, keys of a block      chunk     rows of a block

#include "backends/cpu/emit/AttentionBlocks.h"
#include "ir/Normalization.h"
#include <numeric>

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

namespace {

constexpr int64_t kMostKeys = 1024;

class AttentionGradientEmitter : AttentionBlocks {
public:
  AttentionGradientEmitter(SingleKernel &k, AttentionGradientOp op, const ProductForm &form)
      : AttentionBlocks(k, op, form, 6), op(op) {
    ScheduleAttr schedule = k.fn.spec.schedule();
    keys = schedule.getTile()[2];
    blockRows = schedule.getChunk();
    pitch = keys + lanes; // a multiple of 4 KiB would have rows share cache sets
  }
  void emit();

private:
  enum Operand { kQuery, kKey, kValue, kCotangent, kLogSums, kRowSums };
  enum Result { kQueryGradient, kKeyGradient, kValueGradient };

  /// Where a task's blocks lie in the workspace, in elements.
  struct Room {
    Value keys, values, shares, slopes; // k^T, v^T, p, ds
    // Where products read copies: q, dy and k as rows or columns of products, and gradients before they are rounded.
    Value queries, cotangents, queryColumns, cotangentColumns, keyColumns;
    Value queryGradient, keyGradient, valueGradient;
    Value slopeRows, panel; // where pairs are multiplied: ds by rows; p and then ds of a panel as f32
  };
  /// A head of keys, and a block of them: rows of the matrices.
  struct Keys {
    Value head, first, count;
  };
  /// A head of queries, and a block of rows.
  struct Rows {
    Value head, first, count;
  };
  /// The operands of a block of rows, as left and as right sides.
  struct Operands {
    Left queries, cotangents;
    Right queryColumns, cotangentColumns;
  };
  DimExpr layOut();
  Room roomOf(Value chunk);
  /// The row of all rows (of all heads) that is `row` of the block.
  Value rowAt(const Rows &rows, Value row) { return k.add(k.add(k.mul(rows.head, rowCount), rows.first), row); }
  Value keyAt(const Keys &at, Value key) { return k.add(k.add(k.mul(at.head, keyCount), at.first), key); }
  /// `body` for all blocks of keys that count for a row in [low, low + count), and the reverse.
  void forKeyBlocks(Value head, Value low, Value high, llvm::function_ref<void(const Keys &)> body);
  void forRowBlocks(Value head, Value low, Value high, llvm::function_ref<void(const Rows &)> body);
  void turnKeys(const Room &room, const Keys &at);
  /// Copies of a block of rows, if products need them; `areSummedOver` for products that give dk and dv, too.
  Operands operandsOf(const Room &room, const Rows &rows, bool areSummedOver);
  Value sharePlace(const Room &room, Value column, Value line);
  Value slopePlace(const Room &room, Value column, Value line);
  void roundPairs(const Room &room, const Keys &at, Value column, Value row, int64_t tile, bool areSlopes);
  void formShares(const Room &room, const Keys &at, const Rows &rows, const Left &queries, Value bias, Value column,
                  Value row, int64_t tile);
  void formSlopes(const Room &room, const Keys &at, const Rows &rows, const Left &cotangents, Value column, Value row,
                  int64_t tile);
  /// Tiles of the block's rows; where rows are multiplied in pairs, those that are left go by pairs, and one may
  /// remain.
  void forRowTiles(const Rows &rows, llvm::function_ref<void(Value, int64_t)> body);
  /// p and ds of a block, then `use`; nothing where no row counts any of the keys.
  void withBlock(const Room &room, const Keys &at, const Rows &rows, const Operands &operands,
                 llvm::function_ref<void()> use);
  void addToKeys(const Room &room, const Keys &at, const Rows &rows, const Operands &operands);
  void addToQueries(const Room &room, const Keys &at, const Rows &rows, const Right &keyColumns, const Sums &sums);
  Right keyColumnsOf(const Room &room, const Keys &at);
  /// dq of a head in f32 would be as large as two tensors of 16 bits.
  bool splitsQueries() const { return takesHeads && form.a == Number::bf16; }
  Sums sumsOf(Result result, Value row, Value columns, Value place);
  void clear(Result result, const Sums &sums, Value rows, Value columns);
  /// Gives the sums of `rows` rows from row `row` of all on to the result, if they are not there yet.
  void finish(Result result, const Sums &sums, Value row, Value rows, Value columns);

  void emitKeyBlock(const Room &room, const Keys &at, llvm::function_ref<void(const Rows &)> use);
  void emitHead(const Room &room, Value head);
  void emitKeys(const Room &room, Value task);
  void emitQueries(const Room &room, Value task);

  AttentionGradientOp op;
  int64_t keys, blockRows, pitch;
  bool takesHeads = false; // a task is a head of keys
  DimExpr roomSize;
  DimExpr keyBlocks, rowBlocks;
  Room places; // from the begin of a task's room
};

} // namespace

/// Elements of a task's room.
DimExpr AttentionGradientEmitter::layOut() {
  DimContext &dims = k.dims();
  DimExpr elements = dims.constant(0);
  auto reserve = [&](DimExpr count) {
    Value place = k.size(elements);
    elements = dims.add(elements, count);
    return place;
  };
  DimExpr block = dims.constant(static_cast<int64_t>(llvm::alignTo(blockRows, form.kPack)) * pitch / form.kPack);
  places.keys = reserve(turnedRoom(keys, depthSize));
  places.values = reserve(turnedRoom(keys, widthSize));
  places.shares = reserve(block);
  places.slopes = reserve(block);
  if (hasPairs()) {
    places.slopeRows = reserve(block);
    places.panel = reserve(dims.constant(blockRows * panel));
    places.queryColumns = reserve(rightRoom(blockRows, depthSize));
    places.cotangentColumns = reserve(rightRoom(blockRows, widthSize));
  }
  if (isShort()) {
    places.queries = reserve(leftRoom(blockRows, depthSize));
    places.cotangents = reserve(leftRoom(blockRows, widthSize));
    places.keyColumns = reserve(rightRoom(keys, depthSize));
    DimExpr rows = takesHeads ? dims.mul(rowSize, dims.constant(groups)) : dims.constant(blockRows);
    DimExpr sums = dims.mul(rows, depthSize);
    places.queryGradient = reserve(splitsQueries() ? dims.ceilDiv(sums, dims.constant(2)) : sums);
    places.keyGradient = reserve(dims.mul(dims.constant(keys), depthSize));
    places.valueGradient = reserve(dims.mul(dims.constant(keys), widthSize));
  }
  return elements;
}

AttentionGradientEmitter::Room AttentionGradientEmitter::roomOf(Value chunk) {
  Value base = k.mul(chunk, k.size(roomSize));
  Room room = places;
  for (Value *place : {&room.keys, &room.values, &room.shares, &room.slopes, &room.queries, &room.cotangents,
                       &room.queryColumns, &room.cotangentColumns, &room.keyColumns, &room.queryGradient,
                       &room.keyGradient, &room.valueGradient, &room.slopeRows, &room.panel})
    if (*place)
      *place = k.add(base, *place);
  return room;
}

void AttentionGradientEmitter::forKeyBlocks(Value head, Value low, Value high, function_ref<void(const Keys &)> body) {
  k.fn.loop(low, high, keys, [&](Value first) { body({head, first, k.min(k.sub(high, first), index(keys))}); });
}

void AttentionGradientEmitter::forRowBlocks(Value head, Value low, Value high, function_ref<void(const Rows &)> body) {
  k.fn.loop(low, high, blockRows,
            [&](Value first) { body({head, first, k.min(k.sub(high, first), index(blockRows))}); });
}

void AttentionGradientEmitter::turnKeys(const Room &room, const Keys &at) {
  Value first = keyAt(at, index(0));
  turn(kKey, k.mul(first, depth), depthSize, at.count, room.keys);
  turn(kValue, k.mul(first, width), widthSize, at.count, room.values);
}

AttentionGradientEmitter::Operands AttentionGradientEmitter::operandsOf(const Room &room, const Rows &rows,
                                                                        bool areSummedOver) {
  Value first = rowAt(rows, index(0)), query = k.mul(first, depth), cotangent = k.mul(first, width);
  Operands operands;
  operands.queries = leftRows(kQuery, query, rows.count, depthSize, room.queries);
  operands.cotangents = leftRows(kCotangent, cotangent, rows.count, widthSize, room.cotangents);
  if (!areSummedOver)
    return operands;
  if (!hasPairs()) {
    operands.queryColumns = rightOf(operands.queries, depthSize);
    operands.cotangentColumns = rightOf(operands.cotangents, widthSize);
  } else {
    operands.queryColumns = rightRows(kQuery, query, rows.count, depthSize, room.queryColumns);
    operands.cotangentColumns = rightRows(kCotangent, cotangent, rows.count, widthSize, room.cotangentColumns);
  }
  return operands;
}

AttentionGradientEmitter::Right AttentionGradientEmitter::keyColumnsOf(const Room &room, const Keys &at) {
  return rightRows(kKey, k.mul(keyAt(at, index(0)), depth), at.count, depthSize, room.keyColumns);
}

/// Where f32 or f64 shares and slopes of a line are formed, from `column` of the block on.
Value AttentionGradientEmitter::sharePlace(const Room &room, Value column, Value line) {
  if (hasPairs())
    return k.add(room.panel, k.mul(line, index(panel)));
  return k.add(room.shares, k.add(k.mul(line, index(pitch)), column));
}

Value AttentionGradientEmitter::slopePlace(const Room &room, Value column, Value line) {
  if (hasPairs())
    return sharePlace(room, column, line);
  return k.add(room.slopes, k.add(k.mul(line, index(pitch)), column));
}

/// Rounds a tile's shares or slopes; those behind the last key and beside a last row without a partner become 0.
void AttentionGradientEmitter::roundPairs(const Room &room, const Keys &at, Value column, Value row, int64_t tile,
                                          bool areSlopes) {
  Value pairs = heldPlace(areSlopes ? room.slopes : room.shares),
        rows = areSlopes ? heldPlace(room.slopeRows) : Value();
  SmallVector<int64_t> order;
  for (int64_t lane = 0; lane < lanes; ++lane)
    order.append({lane, lanes + lane});
  auto roundRows = [&](Value line, bool hasPartner) {
    for (int64_t v = 0; v < vectors; ++v) {
      Value lane = index(v * lanes), first = k.add(column, lane);
      Value mask = firstLanes(k.max(k.sub(at.count, first), index(0)));
      auto take = [&](Value of) -> Value {
        Value value = rounded(masked(load(work, k.add(sharePlace(room, column, of), lane)), mask));
        if (rows)
          store(value, held, k.add(k.add(rows, k.mul(of, index(pitch))), first));
        return value;
      };
      Value even = take(line), odd;
      if (hasPartner)
        odd = take(k.add(line, index(1)));
      else
        odd = arith::ConstantOp::create(b, b.getZeroAttr(even.getType()));
      store(vector::ShuffleOp::create(b, even, odd, order), held,
            k.add(k.add(pairs, k.mul(line, index(pitch))), k.mul(first, index(2))));
    }
  };
  if (tile == 1)
    roundRows(row, false);
  else
    k.fn.loop(row, k.add(row, index(tile)), 2, [&](Value line) { roundRows(line, true); });
}

/// p for a register tile, 0 where a row does not count a key. What is behind the last key is not read.
void AttentionGradientEmitter::formShares(const Room &room, const Keys &at, const Rows &rows, const Left &queries,
                                          Value bias, Value column, Value row, int64_t tile) {
  SmallVector<Value> sums = timesPanel(queries, row, tile, panelOf(room.keys, column, depthSize), depthSize);
  auto place = [&](Value line) { return sharePlace(room, column, line); };
  for (int64_t r = 0; r < tile; ++r)
    for (int64_t v = 0; v < vectors; ++v)
      store(sums[r * vectors + v], work, k.add(place(k.add(row, index(r))), index(v * lanes)));
  // A loop over what is hot: the code of exponentials exists once.
  Value from = k.add(at.first, column);
  k.fn.loop(row, k.add(row, index(tile)), 1, [&](Value line) {
    Value scale = spread(number(op.getScale().convertToDouble()));
    Value shift = arith::NegFOp::create(b, scalar(input(kLogSums), rowAt(rows, line)));
    for (int64_t v = 0; v < vectors; ++v) {
      Value lane = index(v * lanes), at1 = k.add(place(line), lane), offset = spread(shift);
      if (bias) {
        Value biasAt = biasRow ? k.add(bias, k.mul(line, biasRow)) : bias;
        Value mask = firstLanes(k.max(k.sub(at.count, k.add(column, lane)), index(0)));
        offset = arith::AddFOp::create(b, offset, biasLanes(biasAt, k.add(from, lane), mask, spread(number(0))));
      }
      Value score = vector::FMAOp::create(b, load(work, at1), scale, offset);
      store(math::ExpOp::create(b, score), work, at1);
    }
  });
  Value first = k.add(rows.first, row);
  if (Value across = crosses(from, first, tile))
    k.ifThen(across, [&] {
      for (int64_t r = 0; r < tile; ++r)
        hide(place(k.add(row, index(r))), from, k.add(first, index(r)), number(0));
    });
  if (hasPairs())
    roundPairs(room, at, column, row, tile, /*areSlopes=*/false);
}

/// ds for a register tile, from its p.
void AttentionGradientEmitter::formSlopes(const Room &room, const Keys &at, const Rows &rows, const Left &cotangents,
                                          Value column, Value row, int64_t tile) {
  SmallVector<Value> sums = timesPanel(cotangents, row, tile, panelOf(room.values, column, widthSize), widthSize);
  Value scale = spread(number(op.getScale().convertToDouble()));
  for (int64_t r = 0; r < tile; ++r) {
    Value line = k.add(row, index(r)), total = spread(scalar(input(kRowSums), rowAt(rows, line)));
    for (int64_t v = 0; v < vectors; ++v) {
      Value lane = index(v * lanes);
      Value share = arith::MulFOp::create(b, load(work, k.add(sharePlace(room, column, line), lane)), scale);
      store(arith::MulFOp::create(b, share, arith::SubFOp::create(b, sums[r * vectors + v], total)), work,
            k.add(slopePlace(room, column, line), lane));
    }
  }
  Value from = k.add(at.first, column), first = k.add(rows.first, row);
  if (Value across = crosses(from, first, tile))
    k.ifThen(across, [&] { // 0 times what may be no number
      for (int64_t r = 0; r < tile; ++r)
        hide(slopePlace(room, column, k.add(row, index(r))), from, k.add(first, index(r)), number(0));
    });
  if (hasPairs())
    roundPairs(room, at, column, row, tile, /*areSlopes=*/true);
}

void AttentionGradientEmitter::forRowTiles(const Rows &rows, function_ref<void(Value, int64_t)> body) {
  if (!hasPairs())
    return forTiles(index(0), rows.count, body);
  Value tiles = whole(rows.count, tileRows), pairs = whole(rows.count, form.kPack);
  k.fn.loop(index(0), tiles, tileRows, [&](Value row) { body(row, tileRows); });
  k.fn.loop(tiles, pairs, form.kPack, [&](Value row) { body(row, form.kPack); });
  k.fn.loop(pairs, rows.count, 1, [&](Value row) { body(row, 1); });
}

void AttentionGradientEmitter::withBlock(const Room &room, const Keys &at, const Rows &rows, const Operands &operands,
                                         function_ref<void()> use) {
  Value bias;
  if (this->bias)
    bias = biasOffset(rows.head, rows.first);
  auto form = [&] {
    // Rows of a tile of keys may count what rows of this tile do not: `slack` of them around are formed, too.
    auto unlessOutside = [&](Value column, Value row, int64_t tile, function_ref<void()> body) {
      Value outside = isOutside(k.add(at.first, column), k.add(rows.first, row), tile, tileRows);
      if (outside)
        k.ifThen(k.negate(outside), body);
      else
        body();
    };
    k.fn.loop(index(0), at.count, panel, [&](Value column) {
      forRowTiles(rows, [&](Value row, int64_t tile) {
        unlessOutside(column, row, tile,
                      [&] { formShares(room, at, rows, operands.queries, bias, column, row, tile); });
      });
      forRowTiles(rows, [&](Value row, int64_t tile) {
        unlessOutside(column, row, tile, [&] { formSlopes(room, at, rows, operands.cotangents, column, row, tile); });
      });
    });
    use();
  };
  if (bias && biasColumns)
    k.ifThen(k.negate(isHidden(bias, rows.count, at.first, at.count)), form);
  else
    form();
}

/// dv += p^T dy and dk += ds^T q.
void AttentionGradientEmitter::addToKeys(const Room &room, const Keys &at, const Rows &rows, const Operands &operands) {
  forTiles(index(0), at.count, [&](Value key, int64_t tile) {
    Value low = index(0), high = rows.count;
    if (hasBand()) {
      Value first = k.add(at.first, key);
      low = k.min(k.max(k.sub(firstRow(first), rows.first), index(0)), rows.count);
      high = k.min(k.max(k.sub(rowsEnd(first, index(tile)), rows.first), low), rows.count);
    }
    auto add = [&](Result result, Value from, const Right &right, Value place, Value columns) {
      if (!k.isYielded(result))
        return;
      SmallVector<Value> starts;
      for (int64_t r = 0; r < tile; ++r)
        starts.push_back(heldPlace(k.add(from, k.add(key, index(r)))));
      Sums sums = sumsOf(result, keyAt(at, index(0)), columns, place);
      addProduct(sums.from(*this, k.mul(key, columns)), held, starts, index(pitch * form.kPack), right, low, high,
                 blockRows, {});
    };
    add(kValueGradient, room.shares, operands.cotangentColumns, room.valueGradient, width);
    add(kKeyGradient, room.slopes, operands.queryColumns, room.keyGradient, depth);
  });
}

/// dq += ds k; `sums` are those of the block's first row on.
void AttentionGradientEmitter::addToQueries(const Room &room, const Keys &at, const Rows &rows, const Right &keyColumns,
                                            const Sums &sums) {
  if (!k.isYielded(kQueryGradient))
    return;
  forTiles(index(0), rows.count, [&](Value row, int64_t tile) {
    Value low = index(0), high = at.count;
    if (hasBand()) {
      Value first = k.add(rows.first, row);
      low = k.min(k.max(k.sub(firstKey(first), at.first), index(0)), at.count);
      high = k.min(k.max(k.sub(keysEnd(first, tile), at.first), low), at.count);
    }
    SmallVector<Value> starts;
    for (int64_t r = 0; r < tile; ++r) {
      Value line = k.mul(k.add(row, index(r)), index(pitch));
      starts.push_back(k.add(heldPlace(hasPairs() ? room.slopeRows : room.slopes), line));
    }
    addProduct(sums.from(*this, k.mul(row, depth)), held, starts, hasPairs() ? index(form.kPack) : Value(), keyColumns,
               low, high, keys, {});
  });
}

AttentionGradientEmitter::Sums AttentionGradientEmitter::sumsOf(Result result, Value row, Value columns, Value place) {
  if (!k.isYielded(result))
    return {};
  if (isShort() && !(result == kQueryGradient && splitsQueries()))
    return {work, place, Value()};
  return {k.buffer(result), k.mul(row, columns), isShort() ? k.mul(place, index(2)) : Value()};
}

void AttentionGradientEmitter::clear(Result result, const Sums &sums, Value rows, Value columns) {
  if (k.isYielded(result))
    clearSums(sums, k.mul(rows, columns));
}

void AttentionGradientEmitter::finish(Result result, const Sums &sums, Value row, Value rows, Value columns) {
  if (isShort() && k.isYielded(result))
    narrowSums(sums, k.buffer(result), k.mul(row, columns), k.mul(rows, columns));
}

/// dk and dv of a block of keys, with what `use` does of each block of rows.
void AttentionGradientEmitter::emitKeyBlock(const Room &room, const Keys &at, function_ref<void(const Rows &)> use) {
  Value row = keyAt(at, index(0)), firstHead = k.mul(at.head, index(groups));
  Sums ofKeys = sumsOf(kKeyGradient, row, depth, room.keyGradient);
  Sums ofValues = sumsOf(kValueGradient, row, width, room.valueGradient);
  clear(kKeyGradient, ofKeys, at.count, depth);
  clear(kValueGradient, ofValues, at.count, width);
  turnKeys(room, at);
  k.fn.loop(firstHead, k.add(firstHead, index(groups)), 1, [&](Value queries) {
    forRowBlocks(queries, firstRow(at.first), rowsEnd(at.first, at.count), [&](const Rows &rows) {
      Operands operands = operandsOf(room, rows, /*areSummedOver=*/true);
      withBlock(room, at, rows, operands, [&] {
        addToKeys(room, at, rows, operands);
        use(rows);
      });
    });
  });
  finish(kKeyGradient, ofKeys, row, at.count, depth);
  finish(kValueGradient, ofValues, row, at.count, width);
}

/// A head of keys with all heads of queries that it serves.
void AttentionGradientEmitter::emitHead(const Room &room, Value head) {
  Value firstRow = k.mul(k.mul(head, index(groups)), rowCount), rows = k.mul(rowCount, index(groups));
  Sums ofQueries = sumsOf(kQueryGradient, firstRow, depth, room.queryGradient);
  clear(kQueryGradient, ofQueries, rows, depth);
  forKeyBlocks(head, index(0), keyCount, [&](const Keys &at) {
    Right keyColumns = keyColumnsOf(room, at);
    emitKeyBlock(room, at, [&](const Rows &block) {
      Value before = k.mul(k.sub(rowAt(block, index(0)), firstRow), depth);
      addToQueries(room, at, block, keyColumns, ofQueries.from(*this, before));
    });
  });
  finish(kQueryGradient, ofQueries, firstRow, rows, depth);
}

/// dk and dv of a block of keys.
void AttentionGradientEmitter::emitKeys(const Room &room, Value task) {
  Value blocks = k.size(keyBlocks), head = arith::DivUIOp::create(b, task, blocks);
  Value first = k.mul(k.sub(task, k.mul(head, blocks)), index(keys));
  emitKeyBlock(room, {head, first, k.min(k.sub(keyCount, first), index(keys))}, [](const Rows &) {});
}

/// dq of a block of rows.
void AttentionGradientEmitter::emitQueries(const Room &room, Value task) {
  Value blocks = k.size(rowBlocks), head = arith::DivUIOp::create(b, task, blocks);
  Value first = k.mul(k.sub(task, k.mul(head, blocks)), index(blockRows));
  Rows rows{head, first, k.min(k.sub(rowCount, first), index(blockRows))};
  Value row = rowAt(rows, index(0));
  Sums sums = sumsOf(kQueryGradient, row, depth, room.queryGradient);
  clear(kQueryGradient, sums, rows.count, depth);
  Operands operands = operandsOf(room, rows, /*areSummedOver=*/false);
  forKeyBlocks(arith::DivUIOp::create(b, head, index(groups)), firstKey(first), keysEnd(first, rows.count),
               [&](const Keys &at) {
                 turnKeys(room, at);
                 Right keyColumns = keyColumnsOf(room, at);
                 withBlock(room, at, rows, operands, [&] { addToQueries(room, at, rows, keyColumns, sums); });
               });
  finish(kQueryGradient, sums, row, rows.count, depth);
}

void AttentionGradientEmitter::emit() {
  DimContext &dims = k.dims();
  DimExpr heads = dims.product(batch), keyHeads = dims.floorDiv(heads, dims.constant(groups));
  keyBlocks = dims.ceilDiv(keySize, dims.constant(keys));
  rowBlocks = dims.ceilDiv(rowSize, dims.constant(blockRows));
  bool wantsQueries = k.isYielded(kQueryGradient), wantsKeys = k.isYielded(kKeyGradient) || k.isYielded(kValueGradient);
  takesHeads =
      keyHeads.isConstant() && keyHeads.constant() >= k.fn.spec.costs().attentionHeads && wantsQueries && wantsKeys;
  roomSize = layOut();
  int64_t chunks = attentionChunks(k.fn.spec, op, (2 * blockRows * pitch + 128 * keys) * byteWidth(type));
  auto share = [&](DimExpr tasks) { return dims.ceilDiv(tasks, dims.constant(chunks)); };
  if (takesHeads) {
    k.chunkRows(keyHeads, share(keyHeads), [&](Value head, Value chunk) { emitHead(roomOf(chunk), head); });
  } else {
    DimExpr ofKeys = wantsKeys ? dims.mul(keyHeads, keyBlocks) : dims.constant(0);
    DimExpr tasks = wantsQueries ? dims.add(ofKeys, dims.mul(heads, rowBlocks)) : ofKeys;
    Value keyTasks = k.size(ofKeys);
    k.chunkRows(tasks, share(tasks), [&](Value task, Value chunk) {
      Value isOfKeys = k.less(task, keyTasks);
      if (wantsKeys)
        k.ifThen(isOfKeys, [&] { emitKeys(roomOf(chunk), task); });
      if (wantsQueries)
        k.ifThen(k.negate(isOfKeys), [&] { emitQueries(roomOf(chunk), k.sub(task, keyTasks)); });
    });
  }
  k.workspaceBytes = dims.mul(dims.mul(k.chunks, roomSize), dims.constant(byteWidth(type)));
}

//===- plan ----------------------------------------------------------------------------------===//

Plan sinter::cpu::planAttentionGradient(KernelSpec &spec, ScheduleAttr) {
  auto root = dyn_cast_or_null<AttentionGradientOp>(singleRoot(spec));
  if (!root || !isAttentionOfFloats(root))
    return Plan::refuse("it is no attention_gradient of floats alone");
  if (!llvm::all_of(root->getOperands(), llvm::IsaPred<BlockArgument>))
    return Plan::refuse("an operand is computed");
  for (Value result : root->getResults())
    if (llvm::count(yieldsOf(spec), result) > 1)
      return Plan::refuse("a result is yielded twice");
  Plan plan;
  ProductForm form = attentionForm(spec.target(), root);
  int64_t bytes = widthOf(form.sum);
  planAttentionTile(spec, plan, bytes);
  plan.tile[0].least = plan.tile[0].multiple = form.kPack; // of rows
  int64_t panel = plan.tile[1].chosen * plan.lanes.chosen;
  // Blocks of keys are whole tiles in both ways that they are read; shares and slopes take a sixth of the second-level
  // cache, as keys, values, their gradients and rows lie there, too.
  int64_t step = std::lcm(panel, plan.tile[0].chosen), most = spec.costs().attentionKeyBytes / bytes;
  int64_t keys = most >= step ? most / step * step : panel;
  int64_t rows = std::min(spec.costs().attentionRows, spec.target().l2Bytes / 12 / (keys * bytes));
  if (form.a != form.sum)
    rows = std::min(rows, spec.costs().shortAttentionGradientRows);
  plan.addTile(keys, kMostKeys);
  plan.tile.back().least = plan.tile.back().multiple = panel;
  plan.setChunk(std::max<int64_t>(rows / 6 * 6, 6));
  return plan;
}

EmittedKernel sinter::cpu::emitAttentionGradient(KernelSpec &spec, ModuleOp module, StringRef name) {
  auto root = cast<AttentionGradientOp>(singleRoot(spec));
  ProductForm form = attentionForm(spec.target(), root);
  SingleKernel k(spec, module, name, root, {/*sizes=*/false, /*workspace=*/true});
  AttentionGradientEmitter(k, root, form).emit();
  return k.finish();
}

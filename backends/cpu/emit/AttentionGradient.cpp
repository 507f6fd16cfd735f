// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The backward part of attention by register tiles. Blocks of shares are formed again from the sums of their
// exponentials (Dao, FlashAttention-2, 2023), so that memory is linear in rows and keys:
//
//   for each block of keys and rows:   p = exp(scale q k^T + bias - sums);   ds = scale p (dy v^T - row sums)
//                                      dv += p^T dy;   dk += ds^T q;   dq += ds k
//
// Where pairs of bf16 are multiplied, p and ds are f32 for a panel of keys and the rows of a block, and are rounded
// from there, p in pairs of rows, ds in pairs of rows and of keys:
//
//   p, ds   [rows / 2][keys][2]      ds   [rows][keys]
//
//   tile      rows and vectors of a register tile, keys of a block      chunk     rows of a block

#include "backends/cpu/emit/AttentionGradientTasks.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

namespace {

class RegisterEmitter : public AttentionGradientTasks {
public:
  RegisterEmitter(SingleKernel &k, AttentionGradientOp op, const ProductForm &form)
      : AttentionGradientTasks(k, op, form) {
    pitch = keys + lanes; // a multiple of 4 KiB would have rows share cache sets
    roomGuess = 2 * blockRows * pitch + 128 * keys;
  }

private:
  /// Where a task's blocks lie in the workspace, in elements.
  struct Room {
    Value keys, values, shares, slopes; // k^T, v^T, p, ds
    // Where products read copies: q, dy and k as rows or columns of products, and gradients before they are rounded.
    Value queries, cotangents, queryColumns, cotangentColumns, keyColumns;
    Value keyGradient, valueGradient;
    Value slopeRows, panel; // where pairs are multiplied: ds by rows; p and then ds of a panel as f32
  };
  void layOut(llvm::function_ref<Value(DimExpr)> reserve) override;
  void moveTo(Value begin) override;
  void takeKeys(const Keys &at) override;
  void takeKeyColumns(const Keys &at) override;
  void takeRows(const Rows &rows, bool areSummedOver) override;
  void formBlock(const Keys &at, const Rows &rows, Value bias) override;
  void beginKeys(const Keys &at) override;
  void addToKeys(const Keys &at, const Rows &rows) override;
  void endKeys(const Keys &at) override;
  void addToQueries(const Keys &at, const Rows &rows, const Sums &sums) override;

  Sums keySums(const Keys &at) { return sumsOf(kKeyGradient, keyAt(at, index(0)), depth, room.keyGradient); }
  Sums valueSums(const Keys &at) { return sumsOf(kValueGradient, keyAt(at, index(0)), width, room.valueGradient); }
  Value sharePlace(Value column, Value line);
  Value slopePlace(Value column, Value line);
  void roundPairs(const Keys &at, Value column, Value row, int64_t tile, bool areSlopes);
  void formShares(const Keys &at, const Rows &rows, Value bias, Value column, Value row, int64_t tile);
  void formSlopes(const Keys &at, const Rows &rows, Value column, Value row, int64_t tile);
  /// Tiles of the block's rows; where rows are multiplied in pairs, those that are left go by pairs, and one may
  /// remain.
  void forRowTiles(const Rows &rows, llvm::function_ref<void(Value, int64_t)> body);

  int64_t pitch;
  Room places, room; // from the begin of a task's room, and of the workspace
  // The operands of a block of rows as left and as right sides, and k as the right side of dq.
  Left queries, cotangents;
  Right queryColumns, cotangentColumns, keyColumns;
};

} // namespace

void RegisterEmitter::layOut(function_ref<Value(DimExpr)> reserve) {
  DimContext &dims = k.dims();
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
    places.keyGradient = reserve(dims.mul(dims.constant(keys), depthSize));
    places.valueGradient = reserve(dims.mul(dims.constant(keys), widthSize));
  }
}

void RegisterEmitter::moveTo(Value begin) {
  room = places;
  for (Value *place :
       {&room.keys, &room.values, &room.shares, &room.slopes, &room.queries, &room.cotangents, &room.queryColumns,
        &room.cotangentColumns, &room.keyColumns, &room.keyGradient, &room.valueGradient, &room.slopeRows, &room.panel})
    if (*place)
      *place = k.add(begin, *place);
}

void RegisterEmitter::takeKeys(const Keys &at) {
  Value first = keyAt(at, index(0));
  turn(kKey, k.mul(first, depth), depthSize, at.count, room.keys);
  turn(kValue, k.mul(first, width), widthSize, at.count, room.values);
}

void RegisterEmitter::takeKeyColumns(const Keys &at) {
  keyColumns = rightRows(kKey, k.mul(keyAt(at, index(0)), depth), at.count, depthSize, room.keyColumns);
}

void RegisterEmitter::takeRows(const Rows &rows, bool areSummedOver) {
  Value first = rowAt(rows, index(0)), query = k.mul(first, depth), cotangent = k.mul(first, width);
  queries = leftRows(kQuery, query, rows.count, depthSize, room.queries);
  cotangents = leftRows(kCotangent, cotangent, rows.count, widthSize, room.cotangents);
  if (!areSummedOver)
    return;
  if (!hasPairs()) {
    queryColumns = rightOf(queries, depthSize);
    cotangentColumns = rightOf(cotangents, widthSize);
  } else {
    queryColumns = rightRows(kQuery, query, rows.count, depthSize, room.queryColumns);
    cotangentColumns = rightRows(kCotangent, cotangent, rows.count, widthSize, room.cotangentColumns);
  }
}

/// Where f32 or f64 shares and slopes of a line are formed, from `column` of the block on.
Value RegisterEmitter::sharePlace(Value column, Value line) {
  if (hasPairs())
    return k.add(room.panel, k.mul(line, index(panel)));
  return k.add(room.shares, k.add(k.mul(line, index(pitch)), column));
}

Value RegisterEmitter::slopePlace(Value column, Value line) {
  if (hasPairs())
    return sharePlace(column, line);
  return k.add(room.slopes, k.add(k.mul(line, index(pitch)), column));
}

/// Rounds a tile's shares or slopes; those behind the last key and beside a last row without a partner become 0.
void RegisterEmitter::roundPairs(const Keys &at, Value column, Value row, int64_t tile, bool areSlopes) {
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
        Value value = rounded(masked(load(work, k.add(sharePlace(column, of), lane)), mask));
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
void RegisterEmitter::formShares(const Keys &at, const Rows &rows, Value bias, Value column, Value row, int64_t tile) {
  SmallVector<Value> sums = timesPanel(queries, row, tile, panelOf(room.keys, column, depthSize), depthSize, vectors);
  auto place = [&](Value line) { return sharePlace(column, line); };
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
    roundPairs(at, column, row, tile, /*areSlopes=*/false);
}

/// ds for a register tile, from its p.
void RegisterEmitter::formSlopes(const Keys &at, const Rows &rows, Value column, Value row, int64_t tile) {
  SmallVector<Value> sums =
      timesPanel(cotangents, row, tile, panelOf(room.values, column, widthSize), widthSize, vectors);
  Value scale = spread(number(op.getScale().convertToDouble()));
  for (int64_t r = 0; r < tile; ++r) {
    Value line = k.add(row, index(r)), total = spread(scalar(input(kRowSums), rowAt(rows, line)));
    for (int64_t v = 0; v < vectors; ++v) {
      Value lane = index(v * lanes);
      Value share = arith::MulFOp::create(b, load(work, k.add(sharePlace(column, line), lane)), scale);
      store(arith::MulFOp::create(b, share, arith::SubFOp::create(b, sums[r * vectors + v], total)), work,
            k.add(slopePlace(column, line), lane));
    }
  }
  Value from = k.add(at.first, column), first = k.add(rows.first, row);
  if (Value across = crosses(from, first, tile))
    k.ifThen(across, [&] { // 0 times what may be no number
      for (int64_t r = 0; r < tile; ++r)
        hide(slopePlace(column, k.add(row, index(r))), from, k.add(first, index(r)), number(0));
    });
  if (hasPairs())
    roundPairs(at, column, row, tile, /*areSlopes=*/true);
}

void RegisterEmitter::forRowTiles(const Rows &rows, function_ref<void(Value, int64_t)> body) {
  if (!hasPairs())
    return forTiles(index(0), rows.count, body);
  Value tiles = whole(rows.count, tileRows), pairs = whole(rows.count, form.kPack);
  k.fn.loop(index(0), tiles, tileRows, [&](Value row) { body(row, tileRows); });
  k.fn.loop(tiles, pairs, form.kPack, [&](Value row) { body(row, form.kPack); });
  k.fn.loop(pairs, rows.count, 1, [&](Value row) { body(row, 1); });
}

void RegisterEmitter::formBlock(const Keys &at, const Rows &rows, Value bias) {
  // Rows of a tile of keys may count what rows of this tile do not: `slack` of them around are formed, too.
  auto unlessOutside = [&](Value column, Value row, int64_t tile, function_ref<void()> body) {
    Value outside = isOutside(k.add(at.first, column), k.add(rows.first, row), tile, tileRows);
    k.ifThen(outside ? k.negate(outside) : Value(), body);
  };
  k.fn.loop(index(0), at.count, panel, [&](Value column) {
    forRowTiles(rows, [&](Value row, int64_t tile) {
      unlessOutside(column, row, tile, [&] { formShares(at, rows, bias, column, row, tile); });
    });
    forRowTiles(rows, [&](Value row, int64_t tile) {
      unlessOutside(column, row, tile, [&] { formSlopes(at, rows, column, row, tile); });
    });
  });
}

void RegisterEmitter::beginKeys(const Keys &at) {
  clear(kKeyGradient, keySums(at), at.count, depth);
  clear(kValueGradient, valueSums(at), at.count, width);
}

void RegisterEmitter::addToKeys(const Keys &at, const Rows &rows) {
  forTiles(index(0), at.count, [&](Value key, int64_t tile) {
    auto [low, high] = rowsOf(at, rows, key, index(tile));
    auto add = [&, low = low, high = high](Result result, Value from, const Right &right, const Sums &sums,
                                           Value columns) {
      if (!k.isYielded(result))
        return;
      SmallVector<Value> starts;
      for (int64_t r = 0; r < tile; ++r)
        starts.push_back(heldPlace(k.add(from, k.add(key, index(r)))));
      addProduct(sums.from(*this, k.mul(key, columns)), held, starts, index(pitch * form.kPack), right, low, high,
                 blockRows, {});
    };
    add(kValueGradient, room.shares, cotangentColumns, valueSums(at), width);
    add(kKeyGradient, room.slopes, queryColumns, keySums(at), depth);
  });
}

void RegisterEmitter::endKeys(const Keys &at) {
  Value row = keyAt(at, index(0));
  finish(kKeyGradient, keySums(at), row, at.count, depth);
  finish(kValueGradient, valueSums(at), row, at.count, width);
}

void RegisterEmitter::addToQueries(const Keys &at, const Rows &rows, const Sums &sums) {
  if (!k.isYielded(kQueryGradient))
    return;
  forTiles(index(0), rows.count, [&](Value row, int64_t tile) {
    auto [low, high] = keysOf(at, rows, row, index(tile));
    SmallVector<Value> starts;
    for (int64_t r = 0; r < tile; ++r) {
      Value line = k.mul(k.add(row, index(r)), index(pitch));
      starts.push_back(k.add(heldPlace(hasPairs() ? room.slopeRows : room.slopes), line));
    }
    addProduct(sums.from(*this, k.mul(row, depth)), held, starts, hasPairs() ? index(form.kPack) : Value(), keyColumns,
               low, high, keys, {});
  });
}

void sinter::cpu::emitAttentionGradientByRegisters(SingleKernel &k, AttentionGradientOp op, const ProductForm &form) {
  RegisterEmitter(k, op, form).emit();
}

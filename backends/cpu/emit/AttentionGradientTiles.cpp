// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The backward part of attention by tiles of matrix units (Tiles.h). A tile reads rows along what is summed over, and
// columns in pairs of it. So that neither shares nor their slopes have to be turned, dk and dv are formed as their
// transposes, from rows of q^T and dy^T, which are turned once for a block of rows, and are turned when all is summed:
//
//   product          rows                columns                          sums
//   s  = q k^T       q [row][d]          k [panel][d / 2][32 keys][2]     32 rows by 32 keys, f32
//   dp = dy v^T      dy [row][e]         v, likewise                      32 rows by 32 keys
//   dv^T += dy^T p   dy^T [e][rows]      p [rows / 2][keys][2]            [e][keys]
//   dk^T += q^T ds   q^T [d][rows]       ds, likewise                     [d][keys]
//   dq += ds k       ds [row][keys]      k [panel][keys / 2][columns][2]  32 rows by a panel of columns
//
// p and ds are formed in registers from the squares of s and dp, and rounded in pairs of rows (p, ds) and by rows (ds).
// Squares of which no row counts a key are left out, by all products alike.
//
//   tile      32 rows and 2 vectors of a tile, keys of a block      chunk     rows of a block

#include "backends/cpu/emit/AttentionGradientTasks.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

namespace {

class TileEmitter : public AttentionGradientTasks {
public:
  TileEmitter(SingleKernel &k, AttentionGradientOp op, const ProductForm &form) : AttentionGradientTasks(k, op, form) {
    int64_t all = roundUp(depthSize.constant()) + roundUp(widthSize.constant());
    roomGuess = (keys + blockRows) * all + 2 * keys * blockRows;
  }

private:
  /// Where a task's blocks lie in the workspace, in elements.
  struct Room {
    Value keys, values, keyColumns; // k and v as columns of s and dp, k as columns of dq
    Value queries, cotangents, turnedQueries, turnedCotangents;
    Value scores, slopes;                    // the squares of s and dp; and of dq
    Value sharePairs, slopePairs, slopeRows; // p and ds
    Value keyGradient, valueGradient;        // dk^T, dv^T
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

  /// Whole tiles of rows.
  int64_t roundUp(int64_t count) const { return static_cast<int64_t>(llvm::alignTo(count, tileRows)); }
  int64_t columnsOf(DimExpr size) const { return roundUp(size.constant()); }
  int64_t depthSteps(DimExpr size) const { return form.words(size.constant()) * form.kPack / form.kStep; }
  Left turnRows(unsigned operand, const Rows &rows, DimExpr columns, Value place);
  void formSquare(const Keys &at, const Rows &rows, Value bias, Value column, Value row);
  void roundSquare(const Keys &at, const Rows &rows, Value bias, Value column, Value row, bool areAllCounted);
  Value formScore(const Keys &at, const Rows &rows, Value bias, Value column, Value line, int64_t v, Value mask);
  void addSquare(const Rows &rows, Value row, Value column, int64_t count, const Sums &sums);
  void writeTurned(Result result, const Keys &at, Value from, DimExpr columns);

  Room places, room; // from the begin of a task's room, and of the workspace
  Left queries, cotangents, turnedQueries, turnedCotangents;
  Right keyColumns;
};

} // namespace

//===- the room ------------------------------------------------------------------------------===//

void TileEmitter::layOut(function_ref<Value(DimExpr)> reserve) {
  DimContext &dims = k.dims();
  auto elements = [&](int64_t count) { return reserve(dims.constant(count)); };
  places.keys = reserve(turnedRoom(keys, depthSize));
  places.values = reserve(turnedRoom(keys, widthSize));
  places.keyColumns = reserve(rightRoom(keys, depthSize));
  places.queries = reserve(leftRoom(blockRows, depthSize));
  places.cotangents = reserve(leftRoom(blockRows, widthSize));
  places.turnedQueries = elements(columnsOf(depthSize) * blockRows / form.kPack);
  places.turnedCotangents = elements(columnsOf(widthSize) * blockRows / form.kPack);
  places.scores = elements(tileRows * panel);
  places.slopes = elements(tileRows * panel);
  places.sharePairs = elements(blockRows * keys / form.kPack);
  places.slopePairs = elements(blockRows * keys / form.kPack);
  places.slopeRows = elements(blockRows * keys / form.kPack);
  places.keyGradient = elements(columnsOf(depthSize) * keys);
  places.valueGradient = elements(columnsOf(widthSize) * keys);
}

void TileEmitter::moveTo(Value begin) {
  room = places;
  for (Value *place : {&room.keys, &room.values, &room.keyColumns, &room.queries, &room.cotangents, &room.turnedQueries,
                       &room.turnedCotangents, &room.scores, &room.slopes, &room.sharePairs, &room.slopePairs,
                       &room.slopeRows, &room.keyGradient, &room.valueGradient})
    *place = k.add(begin, *place);
}

//===- operands ------------------------------------------------------------------------------===//

void TileEmitter::takeKeys(const Keys &at) {
  Value first = keyAt(at, index(0));
  turn(kKey, k.mul(first, depth), depthSize, at.count, room.keys);
  turn(kValue, k.mul(first, width), widthSize, at.count, room.values);
}

void TileEmitter::takeKeyColumns(const Keys &at) {
  if (k.isYielded(kQueryGradient))
    keyColumns = rightRows(kKey, k.mul(keyAt(at, index(0)), depth), at.count, depthSize, room.keyColumns);
}

/// Columns of a block of rows as rows, with zeros behind the last one.
AttentionBlocks::Left TileEmitter::turnRows(unsigned operand, const Rows &rows, DimExpr columns, Value place) {
  Value count = k.size(columns), base = k.mul(rowAt(rows, index(0)), count), pitch = index(blockRows);
  RowSource source{input(operand), base, rows.count, index(1), count, /*isContiguous=*/false, /*isTransposed=*/true};
  Value whole = k.mul(stepsOf(rows.count), index(form.kStep));
  emitRowCopy(k.fn, form, source, index(0), count, whole, pitch, held, heldPlace(place));
  return {held, heldPlace(place), pitch};
}

void TileEmitter::takeRows(const Rows &rows, bool areSummedOver) {
  Value first = rowAt(rows, index(0));
  queries = leftRows(kQuery, k.mul(first, depth), rows.count, depthSize, room.queries);
  cotangents = leftRows(kCotangent, k.mul(first, width), rows.count, widthSize, room.cotangents);
  if (areSummedOver && k.isYielded(kKeyGradient))
    turnedQueries = turnRows(kQuery, rows, depthSize, room.turnedQueries);
  if (areSummedOver && k.isYielded(kValueGradient))
    turnedCotangents = turnRows(kCotangent, rows, widthSize, room.turnedCotangents);
}

//===- shares and slopes ---------------------------------------------------------------------===//

void TileEmitter::formBlock(const Keys &at, const Rows &rows, Value bias) {
  k.fn.loop(index(0), at.count, panel, [&](Value column) {
    k.fn.loop(index(0), rows.count, tileRows, [&](Value row) {
      Value outside = isOutside(k.add(at.first, column), k.add(rows.first, row), tileRows, 0);
      k.ifThen(outside ? k.negate(outside) : Value(), [&] { formSquare(at, rows, bias, column, row); });
    });
  });
}

/// p and ds of 32 rows by 32 keys.
void TileEmitter::formSquare(const Keys &at, const Rows &rows, Value bias, Value column, Value row) {
  Value pitch = index(panel), wordPitch = index(panel * form.kPack);
  multiplyTiles(queries, row, {panelOf(room.keys, column, depthSize), wordPitch}, vectors, index(0),
                index(depthSteps(depthSize)), {room.scores, pitch}, /*adds=*/false);
  multiplyTiles(cotangents, row, {panelOf(room.values, column, widthSize), wordPitch}, vectors, index(0),
                index(depthSteps(widthSize)), {room.slopes, pitch}, /*adds=*/false);
  auto isLess = [&](Value count, Value first, int64_t wanted) { return k.less(count, k.add(first, index(wanted))); };
  Value isPart = k.either(isLess(at.count, column, panel), isLess(rows.count, row, tileRows));
  if (Value across = crosses(k.add(at.first, column), k.add(rows.first, row), tileRows))
    isPart = k.either(isPart, across);
  k.fn.branch(
      isPart, [&] { roundSquare(at, rows, bias, column, row, false); },
      [&] { roundSquare(at, rows, bias, column, row, true); });
}

/// A vector of scores, less the sum of logarithms of their row.
Value TileEmitter::formScore(const Keys &at, const Rows &rows, Value bias, Value column, Value line, int64_t v,
                             Value mask) {
  Value row = k.min(line, k.sub(rows.count, index(1))), lane = index(v * lanes);
  Value offset = spread(arith::NegFOp::create(b, scalar(input(kLogSums), rowAt(rows, row))));
  if (bias) {
    Value biasAt = biasRow ? k.add(bias, k.mul(row, biasRow)) : bias;
    if (!mask)
      mask = firstLanes(index(lanes));
    Value taken = biasLanes(biasAt, k.add(k.add(at.first, column), lane), mask, spread(number(0)));
    offset = arith::AddFOp::create(b, offset, taken);
  }
  Value inSquare = arith::RemUIOp::create(b, line, index(tileRows));
  Value score = load(work, k.add(room.scores, k.add(k.mul(inSquare, index(panel)), lane)));
  return vector::FMAOp::create(b, score, spread(number(op.getScale().convertToDouble())), offset);
}

/// Rounds p and ds of a square; what is not counted becomes 0.
void TileEmitter::roundSquare(const Keys &at, const Rows &rows, Value bias, Value column, Value row,
                              bool areAllCounted) {
  SmallVector<int64_t> order;
  for (int64_t lane = 0; lane < lanes; ++lane)
    order.append({lane, lanes + lane});
  Value scale = spread(number(op.getScale().convertToDouble()));
  k.fn.loop(index(0), index(tileRows), 2, [&](Value pair) {
    Value line = k.add(row, pair);
    for (int64_t v = 0; v < vectors; ++v) {
      Value first = k.add(column, index(v * lanes)), shares[2], slopes[2];
      for (int64_t r = 0; r < 2; ++r) {
        Value own = k.add(line, index(r)), mask;
        if (!areAllCounted) {
          Value position = k.sub(k.add(rows.first, own), at.first), high = at.count, low;
          if (before)
            low = k.sub(k.sub(position, index(*before)), column);
          if (after)
            high = k.min(high, k.add(position, index(*after + 1)));
          high = k.select(k.less(own, rows.count), k.sub(high, column), index(0));
          mask = lanesWithin(v, low, high);
        }
        Value share = masked(math::ExpOp::create(b, formScore(at, rows, bias, column, own, v, mask)), mask);
        Value in = k.add(room.slopes, k.add(k.mul(k.add(pair, index(r)), index(panel)), index(v * lanes)));
        Value total = scalar(input(kRowSums), rowAt(rows, k.min(own, k.sub(rows.count, index(1)))));
        Value distance = arith::SubFOp::create(b, load(work, in), spread(total));
        Value slope = arith::MulFOp::create(b, arith::MulFOp::create(b, share, scale), distance);
        shares[r] = rounded(share);
        slopes[r] = rounded(masked(slope, mask)); // 0 times what may be no number
        store(slopes[r], held, k.add(heldPlace(room.slopeRows), k.add(k.mul(own, index(keys)), first)));
      }
      Value place = k.add(k.mul(line, index(keys)), k.mul(first, index(2)));
      store(vector::ShuffleOp::create(b, shares[0], shares[1], order), held, k.add(heldPlace(room.sharePairs), place));
      store(vector::ShuffleOp::create(b, slopes[0], slopes[1], order), held, k.add(heldPlace(room.slopePairs), place));
    }
  });
}

//===- sums ----------------------------------------------------------------------------------===//

void TileEmitter::beginKeys(const Keys &) {
  auto clearAll = [&](Result result, Value place, DimExpr columns) {
    if (k.isYielded(result))
      fill(work, place, index(columnsOf(columns) * keys), number(0));
  };
  clearAll(kKeyGradient, room.keyGradient, depthSize);
  clearAll(kValueGradient, room.valueGradient, widthSize);
}

void TileEmitter::addToKeys(const Keys &at, const Rows &rows) {
  k.fn.loop(index(0), at.count, panel, [&](Value column) {
    auto [low, high] = rowsOf(at, rows, column, index(panel));
    Value begin = arith::DivUIOp::create(b, low, index(form.kStep)), end = stepsOf(high);
    end = k.select(k.less(low, high), end, begin);
    auto add = [&](Result result, const Left &turned, Value pairs, DimExpr columns, Value sums) {
      if (!k.isYielded(result))
        return;
      Words words{k.add(heldPlace(pairs), heldPlace(column)), index(keys * form.kPack)};
      k.fn.loop(index(0), index(columnsOf(columns)), tileRows, [&](Value row) {
        multiplyTiles(turned, row, words, vectors, begin, end,
                      {k.add(sums, k.add(k.mul(row, index(keys)), column)), index(keys)}, /*adds=*/true);
      });
    };
    k.ifThen(hasBand() ? k.less(begin, end) : Value(), [&] {
      add(kValueGradient, turnedCotangents, room.sharePairs, widthSize, room.valueGradient);
      add(kKeyGradient, turnedQueries, room.slopePairs, depthSize, room.keyGradient);
    });
  });
}

void TileEmitter::endKeys(const Keys &at) {
  writeTurned(kKeyGradient, at, room.keyGradient, depthSize);
  writeTurned(kValueGradient, at, room.valueGradient, widthSize);
}

/// The sums from `from` on, [columns][keys], as rows of a result.
void TileEmitter::writeTurned(Result result, const Keys &at, Value from, DimExpr columns) {
  if (!k.isYielded(result))
    return;
  Value count = k.size(columns), firstRow = keyAt(at, index(0));
  auto narrow = VectorType::get({lanes}, typeOf(form.a, b.getContext()));
  k.fn.loop(index(0), at.count, lanes, [&](Value key) {
    k.fn.loop(index(0), count, lanes, [&](Value column) {
      SmallVector<Value> rows;
      for (int64_t i = 0; i < lanes; ++i)
        rows.push_back(load(work, k.add(from, k.add(k.mul(k.add(column, index(i)), index(keys)), key))));
      for (auto [i, turned] : llvm::enumerate(transposeVectors(b, rows))) {
        Value own = k.add(key, index(static_cast<int64_t>(i)));
        Value mask = firstLanes(k.select(k.less(own, at.count), k.sub(count, column), index(0)));
        Value place = k.add(k.mul(k.add(firstRow, own), count), column);
        vector::MaskedStoreOp::create(b, k.buffer(result), ValueRange{place}, mask,
                                      arith::TruncFOp::create(b, narrow, turned));
      }
    });
  });
}

void TileEmitter::addToQueries(const Keys &at, const Rows &rows, const Sums &sums) {
  if (!k.isYielded(kQueryGradient))
    return;
  Left slopes{held, heldPlace(room.slopeRows), index(keys)};
  int64_t stripWidth = keyColumns.vectors * lanes;
  k.fn.loop(index(0), rows.count, tileRows, [&](Value row) {
    auto [low, high] = keysOf(at, rows, row, index(tileRows));
    Value begin = arith::DivUIOp::create(b, low, index(form.kStep)), end = stepsOf(high);
    k.ifThen(hasBand() ? k.less(low, high) : Value(), [&] {
      k.fn.loop(index(0), depth, stripWidth, [&](Value column) {
        Words words{k.add(keyColumns.base, heldPlace(k.mul(column, keyColumns.words))), index(stripWidth * form.kPack)};
        multiplyTiles(slopes, row, words, keyColumns.vectors, begin, end, {room.scores, index(stripWidth)},
                      /*adds=*/false);
        addSquare(rows, row, column, keyColumns.vectors, sums);
      });
    });
  });
}

/// Adds the square of dq to its sums.
void TileEmitter::addSquare(const Rows &rows, Value row, Value column, int64_t count, const Sums &sums) {
  bool isWhole = depthSize.constant() % (count * lanes) == 0;
  k.fn.loop(index(0), k.min(k.sub(rows.count, row), index(tileRows)), 1, [&](Value line) {
    for (int64_t v = 0; v < count; ++v) {
      Value first = k.add(column, index(v * lanes)), place = k.add(k.mul(k.add(row, line), depth), first);
      Value mask = isWhole ? Value() : firstLanes(k.max(k.sub(depth, first), index(0)));
      Value square = load(work, k.add(room.scores, k.add(k.mul(line, index(count * lanes)), index(v * lanes))));
      storeSums(arith::AddFOp::create(b, loadSums(sums, place, mask), square), sums, place, mask);
    }
  });
}

void sinter::cpu::emitAttentionGradientByTiles(SingleKernel &k, AttentionGradientOp op, const ProductForm &form) {
  TileEmitter(k, op, form).emit();
}

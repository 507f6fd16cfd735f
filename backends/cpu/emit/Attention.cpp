// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention with the softmax formed while keys go by (Milakov & Gimelshein 2018; Dao et al. 2022), so that scores exist
// for one block of rows and keys at a time:
//
//   for each block of keys:   s = scale q k^T + bias;   m' = max(m, max(s));   c = exp(m - m');   p = exp(s - m')
//                             l = c l + sum(p);   y = c y + p v;   m = m'
//   at the end:               y / l
//
// Both products are register tiles, or tiles of matrix units. Keys are transposed into the workspace a block at a time,
// y grows in the result's own memory, or in the workspace where that is of 16 bits. Where pairs or tiles of bf16 are
// multiplied, p is rounded in place, and l is the sum of what it was. By tiles, scores are those of 32 rows, which y
// takes before the next ones. Blocks of a bias of -inf alone are left out. A row without any key that counts is 0 / 0,
// as a softmax of -inf alone is.
//
// Rows go by in strips whose scores stay in the first-level cache. Where one block holds all keys, nothing is carried
// from one to the next, and y is written once, times 1 / l. Such a block may be long, while a head's keys and values
// stay in the second-level cache.
//
// A share below the least normal number counts as none: y differs by less than n times that number of the greatest v,
// and the units that multiply take a hundred times as long for what is smaller (-100 as a mask makes shares of 4e-44).
//
//   tile      rows and vectors of a register tile, keys of a block      chunk     rows that share a block of keys

#include "backends/cpu/emit/AttentionBlocks.h"
#include "backends/cpu/emit/AttentionPlaces.h"
#include "backends/cpu/emit/MathLanes.h"
#include "ir/Composer.h"
#include "ir/Contraction.h"
#include "ir/Elementwise.h"
#include "ir/Normalization.h"
#include "ir/Shape.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

namespace {
/// Vectors of a row of scores that are formed side by side, where the row does not fit into registers.
constexpr int64_t kVectorsTogether = 8;

class AttentionEmitter : AttentionBlocks {
public:
  AttentionEmitter(SingleKernel &k, AttentionOp op, const ProductForm &form)
      : AttentionBlocks(k, op, form, 3), op(op), resultPlace(placeOfResult(k.fn.spec, op->getResult(0))) {
    ScheduleAttr schedule = k.fn.spec.schedule();
    keys = schedule.getTile()[2];
    blockRows = schedule.getChunk();
    // By tiles: rows a multiple of 1 KiB apart share cache sets, and whole panels grow.
    pitch = form.isTiled() ? keys + lanes : keys;
    if (form.isTiled())
      resultWidth = index(static_cast<int64_t>(llvm::alignTo(widthSize.constant(), panel)));
    else
      resultWidth = width;
    for (unsigned i = 0; i < 3; ++i) {
      operandPlaces.push_back(*placeOfInput(k.fn.spec, op->getOperand(i)));
      if (operandPlaces.back().isMoved)
        pitches[i] = k.size(operandPlaces.back().strides.rbegin()[1]);
    }
    resultPitch = resultPlace.isMoved ? k.size(resultPlace.strides.rbegin()[1]) : width;
    isWhole = !isShort() && keySize.isConstant() && keySize.constant() > 0 && keySize.constant() <= keys;
    scoreVectors = isWhole ? llvm::divideCeil(keySize.constant(), lanes) : keys / lanes;
    // A strip in a quarter of the first-level cache, or in half of it beside a part of a block's keys.
    int64_t strip = k.fn.spec.target().l1Bytes / (isWhole ? 4 : 2) / (keys * byteWidth(type));
    stripRows = std::clamp<int64_t>(strip / tileRows * tileRows, tileRows, llvm::alignTo(blockRows, tileRows));
  }
  void emit();

private:
  /// What one block of rows works on; offsets are in elements.
  struct Rows {
    Value query, key, value, result, sums, bias;    // first elements
    Value row, count;                               // position of the first in its head; how many
    Value turned, scores, greatest, total, factors; // in the workspace: k^T, s, m, l, c
    Value queries, values;                          // copies of q and v there
    Value greatestOfStrip, shifts, added;           // by tiles: greatest scores, what is taken off, sums of p
    Left left;                                      // q
    Sums y;
  };
  struct Block { // of keys
    Value key, count;
    Right values;
  };

  void formScores(const Rows &at, const Block &block, Value column, int64_t wide, Value row, int64_t rows);
  Value greater(Value x, Value y);
  Value greatestLane(Value lanesOf);
  void updateSoftmax(const Rows &at, Value row);
  void addValues(const Rows &at, const Block &block, Value row, int64_t rows);
  SmallVector<Value> scoresFrom(Value first) { return scoresFrom(first, scoreVectors); }
  SmallVector<Value> scoresFrom(Value first, int64_t count);
  Value shareOf(Value distance);
  Value addLanes(Value sums) { return vector::ReductionOp::create(b, vector::CombiningKind::ADD, sums); }
  Value sharesFrom(Value first, ArrayRef<Value> distances);
  /// What `body` makes of all scores from `first` on, some vectors of them at a time and what it made of those before.
  Value overRow(Value first, Value initial,
                function_ref<Value(Value place, ArrayRef<Value> scores, Value before)> body);
  // By tiles. Scores lack their factor, if it is positive and there is no bias.
  bool isUnscaled() { return op.getScale().convertToDouble() > 0 && !bias; }
  void takeStrip(const Rows &at, const Block &block, Value row);
  void findGreatest(const Rows &at, const Block &block, Value row, Value rows);
  void findGreatestOf(const Rows &at, const Block &block, Value row, Value line, bool areAllCounted);
  void updateStrip(const Rows &at, Value row, Value rows);
  void finishRow(const Rows &at, Value row);
  void emitRows(const Rows &at);
  /// A row of scores that became shares: the greatest one, whether none counts, what was taken off, the sum of shares.
  struct RowShares {
    Value greatest, isNone, shift, total;
  };
  RowShares sharesOfRow(Value first, Value least);
  void formShares(const Rows &at, Value row); // where all keys are one block
  Rows stripOf(const Rows &at, Value line);
  void takeStrips(const Rows &at, const Block &block);
  Value headOffset(const AttentionPlace &place, Value head, bool isOfKeys, Value size);

  AttentionOp op;
  int64_t keys, blockRows, pitch; // pitch: from row to row of scores
  Value resultWidth;              // elements of a row of y
  SmallVector<AttentionPlace, 3> operandPlaces;
  AttentionPlace resultPlace;
  Value resultPitch; // from row to row of the result
  bool isWhole = false;
  int64_t scoreVectors; // of a row of scores
  int64_t stripRows;    // whose scores are formed before their shares are multiplied
};
} // namespace

/// s for `rows` rows and `wide` vectors of keys from `column` of the block on, where a panel begins, -inf behind the
/// last key and for keys that a row does not count.
void AttentionEmitter::formScores(const Rows &at, const Block &block, Value column, int64_t wide, Value row,
                                  int64_t rows) {
  auto place = [&](int64_t r) { return k.add(at.scores, k.add(k.mul(k.add(row, index(r)), index(keys)), column)); };
  Value first = k.add(at.row, row), from = k.add(block.key, column);
  auto multiply = [&] {
    SmallVector<Value> sums = timesPanel(at.left, row, rows, panelOf(at.turned, column, depthSize), depthSize, wide);
    Value scale = spread(number(op.getScale().convertToDouble())), infinity = spread(never());
    for (int64_t v = 0; v < wide; ++v) {
      Value lane = index(v * lanes), mask = firstLanes(k.max(k.sub(block.count, k.add(column, lane)), index(0)));
      for (int64_t r = 0; r < rows; ++r) {
        Value score = arith::MulFOp::create(b, sums[r * wide + v], scale);
        if (at.bias) {
          Value offset = biasRow ? k.add(at.bias, k.mul(k.add(row, index(r)), biasRow)) : at.bias;
          score = arith::AddFOp::create(b, score, biasLanes(offset, k.add(from, lane), mask, infinity));
        }
        store(k.select(mask, score, infinity), work, k.add(place(r), lane));
      }
    }
    if (Value across = crosses(from, first, rows))
      k.ifThen(across, [&] {
        for (int64_t r = 0; r < rows; ++r)
          hide(place(r), from, k.add(first, index(r)), never());
      });
  };
  Value outside = isOutside(from, first, rows, 0);
  if (!outside)
    return multiply();
  k.ifThen(outside, [&] {
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t v = 0; v < wide; ++v)
        store(spread(never()), work, k.add(place(r), index(v * lanes)));
  });
  k.ifThen(k.negate(outside), multiply);
}

/// A NaN among scores becomes one of the sum of exponentials, whatever is taken off.
Value AttentionEmitter::greater(Value x, Value y) { return MathLanes(b, x.getType(), {}).greater(x, y); }

/// The greatest lane.
Value AttentionEmitter::greatestLane(Value lanesOf) {
  for (int64_t half = lanes / 2; half > 0; half /= 2) {
    SmallVector<int64_t> low = llvm::to_vector(llvm::seq<int64_t>(0, half)),
                         high = llvm::to_vector(llvm::seq<int64_t>(half, 2 * half));
    lanesOf = greater(vector::ShuffleOp::create(b, lanesOf, lanesOf, low),
                      vector::ShuffleOp::create(b, lanesOf, lanesOf, high));
  }
  return vector::ExtractOp::create(b, lanesOf, ArrayRef<int64_t>{0});
}

/// What lies from `first` on, a row of scores.
SmallVector<Value> AttentionEmitter::scoresFrom(Value first, int64_t count) {
  SmallVector<Value> scores;
  for (int64_t v = 0; v < count; ++v)
    scores.push_back(load(work, k.add(first, index(v * lanes))));
  return scores;
}

/// As a tree: a chain would wait for every step.
static Value combine(SmallVector<Value> values, function_ref<Value(Value, Value)> with) {
  while (values.size() > 1) {
    SmallVector<Value> pairs;
    for (size_t i = 0; i + 1 < values.size(); i += 2)
      pairs.push_back(with(values[i], values[i + 1]));
    if (values.size() % 2)
      pairs.push_back(values.back());
    values = std::move(pairs);
  }
  return values.front();
}

/// exp of a distance from the greatest score.
Value AttentionEmitter::shareOf(Value distance) {
  MathLanes m(b, distance.getType(), {.fuses = k.fn.spec.target().hasFma});
  return buildShare(m, distance);
}

/// p in place of scores from `first` on; returns the sum by lanes, which is that of p before they are rounded.
Value AttentionEmitter::sharesFrom(Value first, ArrayRef<Value> distances) {
  SmallVector<Value> shares;
  for (auto [v, distance] : llvm::enumerate(distances)) {
    shares.push_back(shareOf(distance));
    store(rounded(shares.back()), held, k.add(heldPlace(first), index(static_cast<int64_t>(v) * lanes)));
  }
  return combine(shares, [&](Value x, Value y) { return arith::AddFOp::create(b, x, y).getResult(); });
}

Value AttentionEmitter::overRow(Value first, Value initial, function_ref<Value(Value, ArrayRef<Value>, Value)> body) {
  int64_t whole = scoreVectors / kVectorsTogether * kVectorsTogether;
  auto part = [&](Value column, int64_t count, Value before) {
    Value place = k.add(first, column);
    return body(place, scoresFrom(place, count), before);
  };
  Value result = k.fn.loop(index(0), index(whole * lanes), kVectorsTogether * lanes, initial,
                           [&](Value column, ValueRange before) {
                             return SmallVector<Value>{part(column, kVectorsTogether, before[0])};
                           })[0];
  return whole == scoreVectors ? result : part(index(whole * lanes), scoreVectors - whole, result);
}

/// p in place of the scores from `first` on, over the greatest of them and `least`, if that is given. Half of the
/// registers hold a row meanwhile, or it is read twice.
AttentionEmitter::RowShares AttentionEmitter::sharesOfRow(Value first, Value least) {
  RowShares row;
  auto greatestOf = [&](ArrayRef<Value> scores) {
    return combine(SmallVector<Value>(scores), [&](Value x, Value y) { return greater(x, y); });
  };
  auto shiftOf = [&](Value lanesOf) {
    row.greatest = greatestLane(lanesOf);
    if (least)
      row.greatest = greater(least, row.greatest);
    // Nothing that counts so far: all exponentials are zero.
    row.isNone = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, row.greatest, never());
    row.shift = k.select(row.isNone, number(0), row.greatest);
    return spread(row.shift);
  };
  auto shares = [&](Value place, SmallVector<Value> scores, Value shift) {
    for (Value &score : scores)
      score = arith::SubFOp::create(b, score, shift);
    return sharesFrom(place, scores);
  };
  if (scoreVectors <= k.fn.spec.target().vectorRegisters / 2) {
    SmallVector<Value> scores = scoresFrom(first);
    row.total = addLanes(shares(first, scores, shiftOf(greatestOf(scores))));
    return row;
  }
  Value shift = shiftOf(overRow(first, spread(never()), [&](Value, ArrayRef<Value> scores, Value before) {
    return greater(before, greatestOf(scores));
  }));
  row.total = addLanes(overRow(first, spread(number(0)), [&](Value place, ArrayRef<Value> scores, Value before) {
    return arith::AddFOp::create(b, before, shares(place, SmallVector<Value>(scores), shift)).getResult();
  }));
  return row;
}

/// p in place of s, and m, l and c of a row.
void AttentionEmitter::updateSoftmax(const Rows &at, Value row) {
  Value old = scalar(work, k.add(at.greatest, row));
  RowShares shares = sharesOfRow(k.add(at.scores, k.mul(row, index(keys))), old);
  Value factor = shareOf(arith::SubFOp::create(b, old, shares.shift));
  Value total = scalar(work, k.add(at.total, row));
  total = arith::AddFOp::create(b, arith::MulFOp::create(b, total, factor), shares.total);
  store(shares.greatest, work, k.add(at.greatest, row));
  store(total, work, k.add(at.total, row));
  store(factor, work, k.add(at.factors, row));
}

/// y = c y + p v for `rows` rows and a block of keys.
void AttentionEmitter::addValues(const Rows &at, const Block &block, Value row, int64_t rows) {
  SmallVector<Value> shares, factors;
  for (int64_t r = 0; r < rows; ++r) {
    Value line = k.add(row, index(r));
    shares.push_back(heldPlace(k.add(at.scores, k.mul(line, index(keys)))));
    factors.push_back(scalar(work, k.add(at.factors, line)));
  }
  auto [low, high] = countedKeys(block.key, block.count, k.add(at.row, row), index(rows));
  addProduct(at.y.from(*this, k.mul(row, at.y.pitch)), held, shares, hasPairs() ? index(form.kPack) : Value(),
             block.values, low, high, isWhole ? keySize.constant() : keys, factors, /*begins=*/isWhole);
}

/// What a block of keys adds to 32 rows from `row` of their block on, by tiles.
void AttentionEmitter::takeStrip(const Rows &at, const Block &block, Value row) {
  Value rows = k.min(k.sub(at.count, row), index(tileRows)), first = k.add(at.row, row);
  auto [low, high] = countedKeys(block.key, block.count, first, rows);
  k.ifThen(hasBand() ? k.less(low, high) : Value(), [&, low = low, high = high] {
    Value begin = whole(low, panel), depthSteps = index(form.words(depthSize.constant()) * form.kPack / form.kStep);
    k.fn.loop(begin, high, panel, [&](Value column) {
      Words turned{panelOf(at.turned, column, depthSize), index(panel * form.kPack)};
      multiplyTiles(at.left, row, turned, vectors, index(0), depthSteps, {k.add(at.scores, column), index(pitch)},
                    /*adds=*/false);
    });
    findGreatest(at, block, row, rows);
    updateStrip(at, row, rows);
    Left shares{held, heldPlace(at.scores), heldPlace(index(pitch))};
    Value steps = stepsOf(high), firstStep = arith::DivUIOp::create(b, low, index(form.kStep));
    int64_t stripWidth = block.values.vectors * lanes;
    k.fn.loop(index(0), width, stripWidth, [&](Value column) {
      Words values{k.add(block.values.base, heldPlace(k.mul(column, block.values.words))),
                   index(stripWidth * form.kPack)};
      Value to = k.add(at.y.first, k.add(k.mul(row, resultWidth), column));
      multiplyTiles(shares, index(0), values, block.values.vectors, firstStep, steps, {to, resultWidth},
                    /*adds=*/true);
    });
  });
}

/// The greatest score of each of `rows` rows from `row` of their block on. Where each of them counts all keys nothing
/// is masked.
void AttentionEmitter::findGreatest(const Rows &at, const Block &block, Value row, Value rows) {
  auto find = [&](bool areAllCounted) {
    k.fn.loop(index(0), rows, 1, [&](Value line) { findGreatestOf(at, block, row, line, areAllCounted); });
  };
  if (!isUnscaled())
    return find(false);
  Value isPart = k.less(block.count, index(keys)), first = k.add(at.row, row);
  if (after) // the first row counts the fewest keys
    isPart = k.either(isPart, k.less(k.add(first, index(*after)), k.add(block.key, index(keys - 1))));
  if (before)
    isPart = k.either(isPart, k.less(k.add(block.key, index(*before)), k.add(first, k.sub(rows, index(1)))));
  k.fn.branch(isPart, [&] { find(false); }, [&] { find(true); });
}

/// The same of row `line` of a strip that begins at `row`; scores that it does not count become -inf.
void AttentionEmitter::findGreatestOf(const Rows &at, const Block &block, Value row, Value line, bool areAllCounted) {
  Value place = k.add(at.scores, k.mul(line, index(pitch))), inBlock = k.add(row, line);
  SmallVector<Value> scores = scoresFrom(place);
  Value position = k.sub(k.add(at.row, inBlock), block.key), low, high = block.count;
  if (before)
    low = k.sub(position, index(*before));
  if (after)
    high = k.min(high, k.add(position, index(*after + 1)));
  for (int64_t v = 0; !areAllCounted && v < keys / lanes; ++v) {
    Value mask = lanesWithin(v, low, high), infinity = spread(never());
    if (!isUnscaled())
      scores[v] = arith::MulFOp::create(b, scores[v], spread(number(op.getScale().convertToDouble())));
    if (at.bias) {
      Value offset = biasRow ? k.add(at.bias, k.mul(inBlock, biasRow)) : at.bias;
      Value bias = biasLanes(offset, k.add(block.key, index(v * lanes)), mask, infinity);
      scores[v] = arith::AddFOp::create(b, scores[v], bias);
    }
    scores[v] = k.select(mask, scores[v], infinity);
    store(scores[v], work, k.add(place, index(v * lanes)));
  }
  Value most = combine(scores, [&](Value x, Value y) { return greater(x, y); });
  store(greatestLane(most), work, k.add(at.greatestOfStrip, line));
}

/// The softmax of `rows` rows from `row` of their block on, and their y times c. What is one number a row is formed for
/// a vector of rows, so that no row waits for it.
void AttentionEmitter::updateStrip(const Rows &at, Value row, Value rows) {
  Value scale = number(op.getScale().convertToDouble());
  for (int64_t v = 0; v < tileRows; v += lanes) {
    Value inBlock = k.add(row, index(v)), old = load(work, k.add(at.greatest, inBlock));
    Value most = load(work, k.add(at.greatestOfStrip, index(v)));
    if (isUnscaled())
      most = arith::MulFOp::create(b, most, spread(scale));
    Value greatest = greater(old, most);
    Value isNone = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, greatest, spread(never()));
    Value shift = k.select(isNone, spread(number(0)), greatest);
    store(greatest, work, k.add(at.greatest, inBlock));
    store(shift, work, k.add(at.shifts, index(v)));
    store(shareOf(arith::SubFOp::create(b, old, shift)), work, k.add(at.factors, inBlock));
  }
  k.fn.loop(index(0), rows, 1, [&](Value line) {
    Value place = k.add(at.scores, k.mul(line, index(pitch))), inBlock = k.add(row, line);
    Value shift = scalar(work, k.add(at.shifts, line));
    SmallVector<Value> distances = scoresFrom(place);
    Value taken = spread(isUnscaled() ? arith::NegFOp::create(b, shift).getResult() : shift);
    for (Value &distance : distances)
      distance = isUnscaled() ? vector::FMAOp::create(b, distance, spread(scale), taken).getResult()
                              : arith::SubFOp::create(b, distance, taken).getResult();
    store(addLanes(sharesFrom(place, distances)), work, k.add(at.added, line));
    Value factor = spread(scalar(work, k.add(at.factors, inBlock))), y = k.add(at.y.first, k.mul(inBlock, resultWidth));
    k.fn.loop(index(0), resultWidth, lanes,
              [&](Value i) { store(arith::MulFOp::create(b, load(work, k.add(y, i)), factor), work, k.add(y, i)); });
  });
  for (int64_t v = 0; v < tileRows; v += lanes) {
    Value inBlock = k.add(row, index(v)), total = k.add(at.total, inBlock);
    Value kept = arith::MulFOp::create(b, load(work, total), load(work, k.add(at.factors, inBlock)));
    store(arith::AddFOp::create(b, kept, load(work, k.add(at.added, index(v)))), work, total);
  }
}

/// y / l, and m + log(l).
void AttentionEmitter::finishRow(const Rows &at, Value row) {
  Value total = scalar(work, k.add(at.total, row));
  Sums y = at.y.from(*this, k.mul(row, at.y.pitch));
  auto divide = [&](Value value, Value by, Value place) {
    store(arith::DivFOp::create(b, value, by), y.buffer, place);
  };
  // Without keys there is nothing to divide: a sum of none.
  k.ifThen(k.less(index(0), keyCount), [&] {
    forRange(
        width, [&](Value i) { divide(load(y.buffer, k.add(y.first, i)), spread(total), k.add(y.first, i)); },
        [&](Value i) { divide(scalar(y.buffer, k.add(y.first, i)), total, k.add(y.first, i)); });
  });
  if (isShort())
    narrowSums(y, k.buffer(0), k.add(at.result, k.mul(row, resultPitch)), width);
  if (at.sums) {
    Value greatest = scalar(work, k.add(at.greatest, row));
    Value isNone = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, greatest, never());
    Value sum = arith::AddFOp::create(b, greatest, math::LogOp::create(b, total));
    k.store(1, k.select(isNone, greatest, sum), k.add(at.sums, row));
  }
}

/// p in place of s, and 1 / l of a row, all keys of which are there.
void AttentionEmitter::formShares(const Rows &at, Value row) {
  RowShares shares = sharesOfRow(k.add(at.scores, k.mul(row, index(keys))), Value());
  store(arith::DivFOp::create(b, number(1), shares.total), work, k.add(at.factors, row));
  if (at.sums) {
    Value sum = arith::AddFOp::create(b, shares.greatest, math::LogOp::create(b, shares.total));
    k.store(1, k.select(shares.isNone, shares.greatest, sum), k.add(at.sums, row));
  }
}

/// A strip of the rows, from row `line` on.
AttentionEmitter::Rows AttentionEmitter::stripOf(const Rows &at, Value line) {
  Rows strip = at;
  strip.row = k.add(at.row, line);
  strip.count = k.min(k.sub(at.count, line), index(stripRows));
  strip.left.first = k.add(at.left.first, k.mul(line, at.left.pitch));
  strip.y = at.y.from(*this, k.mul(line, at.y.pitch));
  for (Value Rows::*place : {&Rows::greatest, &Rows::total, &Rows::factors})
    strip.*place = k.add(at.*place, line);
  if (at.sums)
    strip.sums = k.add(at.sums, line);
  if (at.bias && biasRow)
    strip.bias = k.add(at.bias, k.mul(line, biasRow));
  return strip;
}

/// What the rows take of a block of keys, strip by strip.
void AttentionEmitter::takeStrips(const Rows &at, const Block &block) {
  k.fn.loop(index(0), at.count, stripRows, [&](Value line) {
    Rows strip = stripOf(at, line);
    auto formPanel = [&](Value column, int64_t wide) {
      forTiles(index(0), strip.count,
               [&](Value row, int64_t rows) { formScores(strip, block, column, wide, row, rows); });
    };
    int64_t wholePanels = scoreVectors / vectors * panel;
    k.fn.loop(index(0), index(wholePanels), panel, [&](Value column) { formPanel(column, vectors); });
    if (scoreVectors % vectors)
      formPanel(index(wholePanels), scoreVectors % vectors);
    k.fn.loop(index(0), strip.count, 1,
              [&](Value row) { isWhole ? formShares(strip, row) : updateSoftmax(strip, row); });
    forTiles(index(0), strip.count, [&](Value row, int64_t rows) { addValues(strip, block, row, rows); });
  });
}

void AttentionEmitter::emitRows(const Rows &at) {
  if (isWhole) {
    Value count = index(keySize.constant());
    turn(1, at.key, depthSize, count, at.turned);
    return takeStrips(at, {index(0), count, rightRows(2, at.value, count, widthSize, at.values)});
  }
  if (resultPlace.isMoved && !isShort())
    k.fn.loop(index(0), at.count, 1,
              [&](Value row) { clearSums(at.y.from(*this, k.mul(row, at.y.pitch)), resultWidth); });
  else
    clearSums(at.y, k.mul(at.count, resultWidth));
  fill(work, at.greatest, at.count, never());
  fill(work, at.total, at.count, number(0));
  Value low = index(0), high = keyCount;
  if (hasBand()) {
    low = firstKey(at.row);
    high = keysEnd(at.row, at.count);
  }
  k.fn.loop(low, high, keys, [&](Value key) {
    Value count = k.min(k.sub(high, key), index(keys));
    bool mayHide = at.bias && biasColumns;
    k.ifThen(mayHide ? k.negate(isHidden(at.bias, at.count, key, count)) : Value(), [&] {
      turn(1, k.add(at.key, k.mul(key, pitchOf(1, depthSize))), depthSize, count, at.turned);
      Value values = k.add(at.value, k.mul(key, pitchOf(2, widthSize)));
      Block block{key, count, rightRows(2, values, count, widthSize, at.values)};
      if (form.isTiled())
        return k.fn.loop(index(0), at.count, tileRows, [&](Value row) { takeStrip(at, block, row); });
      takeStrips(at, block);
    });
  });
  k.fn.loop(index(0), at.count, 1, [&](Value row) { finishRow(at, row); });
}

/// The first element of a head, whose matrix has `size` elements where it is not moved.
Value AttentionEmitter::headOffset(const AttentionPlace &place, Value head, bool isOfKeys, Value size) {
  if (!place.isMoved)
    return k.mul(isOfKeys ? arith::DivUIOp::create(b, head, index(groups)).getResult() : head, size);
  SmallVector<Value> position = k.fn.delinearize(head, batch);
  if (isOfKeys && groups > 1)
    position.back() = arith::DivUIOp::create(b, position.back(), index(groups));
  Value offset = k.size(place.first);
  for (auto [i, stride] : llvm::zip(position, place.strides))
    offset = k.add(offset, k.mul(i, k.size(stride)));
  return offset;
}

void AttentionEmitter::emit() {
  DimContext &dims = k.dims();
  DimExpr blocks = dims.ceilDiv(rowSize, dims.constant(blockRows)), tasks = dims.mul(dims.product(batch), blocks);
  Value blockCount = k.size(blocks);
  DimExpr elements = dims.constant(0);
  auto reserve = [&](DimExpr count) {
    Value place = k.size(elements);
    elements = dims.add(elements, count);
    return place;
  };
  int64_t scoreRows = form.isTiled() ? tileRows : stripRows;
  Value turned = reserve(turnedRoom(keys, depthSize)), scores = reserve(dims.constant(scoreRows * pitch));
  Value greatest = reserve(dims.constant(blockRows)), total = reserve(dims.constant(blockRows));
  Value factors = reserve(dims.constant(blockRows)), ofStrip = reserve(dims.constant(tiles ? 3 * tileRows : 0));
  Value queries, values, grown;
  if (isShort()) {
    queries = reserve(leftRoom(blockRows, depthSize));
    values = reserve(rightRoom(keys, widthSize));
    DimExpr columns =
        form.isTiled() ? dims.mul(dims.ceilDiv(widthSize, dims.constant(panel)), dims.constant(panel)) : widthSize;
    grown = reserve(dims.mul(columns, dims.constant(blockRows)));
  }
  Value elementCount = k.size(elements);
  int64_t guess =
      scoreRows * pitch + 3 * blockRows + 64 * keys + (isShort() ? 64 * (keys + 2 * blockRows) / form.kPack : 0);
  int64_t chunks = attentionChunks(k.fn.spec, op, guess * byteWidth(type));
  k.chunkRows(tasks, dims.ceilDiv(tasks, dims.constant(chunks)), [&](Value task, Value chunk) {
    Value head = arith::DivUIOp::create(b, task, blockCount);
    Rows at;
    at.row = k.mul(k.sub(task, k.mul(head, blockCount)), index(blockRows));
    at.count = k.min(k.sub(rowCount, at.row), index(blockRows));
    Value rows = k.add(k.mul(head, rowCount), at.row);
    auto rowOf = [&](Value first, Value pitch) { return k.add(first, k.mul(at.row, pitch)); };
    auto operandOf = [&](unsigned i, bool isOfKeys, Value count, Value columns) {
      return headOffset(operandPlaces[i], head, isOfKeys, k.mul(count, columns));
    };
    at.query = rowOf(operandOf(0, false, rowCount, depth), pitchOf(0, depthSize));
    at.result = rowOf(headOffset(resultPlace, head, false, k.mul(rowCount, width)), resultPitch);
    at.key = operandOf(1, true, keyCount, depth);
    at.value = operandOf(2, true, keyCount, width);
    if (op.getSums() && k.isYielded(1))
      at.sums = rows;
    if (bias)
      at.bias = biasOffset(head, at.row);
    auto placeOf = [&](Value place) { return k.add(k.mul(chunk, elementCount), place); };
    at.turned = placeOf(turned);
    at.scores = placeOf(scores);
    at.greatest = placeOf(greatest);
    at.total = placeOf(total);
    at.factors = placeOf(factors);
    at.greatestOfStrip = placeOf(ofStrip);
    at.shifts = k.add(at.greatestOfStrip, index(tileRows));
    at.added = k.add(at.shifts, index(tileRows));
    at.y = {k.buffer(0), at.result, Value(), resultPitch};
    if (isShort()) {
      at.queries = placeOf(queries);
      at.values = placeOf(values);
      at.y = {work, placeOf(grown), Value(), resultWidth};
    }
    at.left = leftRows(0, at.query, at.count, depthSize, at.queries);
    emitRows(at);
  });
  if (tiles)
    tiles->release();
  k.workspaceBytes = dims.mul(dims.mul(k.chunks, elements), dims.constant(byteWidth(type)));
}

EmittedKernel sinter::cpu::emitAttention(KernelSpec &spec, ModuleOp module, StringRef name) {
  auto root = cast<AttentionOp>(attentionRoot(spec));
  ProductForm form = attentionForm(spec, root);
  SingleKernel k(spec, module, name, root, {/*sizes=*/false, /*workspace=*/true});
  AttentionEmitter(k, root, form).emit();
  EmittedKernel emitted = k.finish();
  emitted.usesTiles = form.isTiled();
  return emitted;
}

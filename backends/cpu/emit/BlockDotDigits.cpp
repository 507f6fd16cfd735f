// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of digits times four-bit codes (BlockDot.cpp): where bytes are multiplied four at a time, sums of 32 bits take
// them at once; pairs of bytes are added in 16 bits, and these to 32 before they could overflow.

#include "backends/cpu/emit/BlockDotEmitter.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// Codes are asked for so far ahead: hardware does not look beyond a page.
constexpr int64_t kBytesAhead = 4096;

/// The codes of word `word` of block `block` as bytes, four elements of the block and one vector of columns at a time.
void BlockDotEmitter::forCodes(const Columns &columns, Value block, Value word, Codes use) {
  auto bytes = VectorType::get({4 * lanes}, b.getI8Type());
  Value line = add(mul(block, this->block / kWordCodes), word);
  SmallVector<Value> words;
  for (int64_t j = 0; j < columns.vectors; ++j)
    words.push_back(wordsAt(columns, line, j));
  for (int64_t half : {0, 1}) {
    Value element = add(mul(word, kWordCodes), fn.index(half * kHalfCodes));
    for (auto [j, codes] : llvm::enumerate(words)) {
      Value low = half ? arith::ShRUIOp::create(b, codes, splatInt(4)).getResult() : codes;
      low = arith::AndIOp::create(b, low, splatInt(0x0F0F0F0F));
      use(element, static_cast<int64_t>(j), vector::BitCastOp::create(b, bytes, low));
    }
  }
}

/// Adds the products of block `block` with the digits of `rows` to `sums` [row][vector][digit], four bytes at a time.
SmallVector<Value> BlockDotEmitter::addDots(const Columns &columns, Value block, ArrayRef<Value> rows,
                                            ArrayRef<Value> sums) {
  return fn.loop(fn.index(0), fn.index(this->block / kWordCodes), 1, sums, [&](Value word, ValueRange carried) {
    SmallVector<Value> next(carried);
    forCodes(columns, block, word, [&](Value element, int64_t j, Value codes) {
      for (auto [i, row] : llvm::enumerate(rows))
        for (int64_t digit = 0; digit < digitCount(); ++digit) {
          Value &sum = next[(static_cast<int64_t>(i) * columns.vectors + j) * digitCount() + digit];
          sum = digitRows->addCodes(row, block, element, digit, codes, sum);
        }
    });
    return next;
  });
}

/// Adds the products of word `word` of block `block` with the digits of `rows`, two bytes at a time, to `sums`
/// [row][vector][digit] of 16 bits.
void BlockDotEmitter::addPairsOfWord(const Columns &columns, Value block, Value word, ArrayRef<Value> rows,
                                     MutableArrayRef<Value> sums) {
  Value line = add(mul(block, this->block / kWordCodes), word);
  Value ahead = add(wordPlace(columns, line, 0), fn.index(kBytesAhead / 4));
  memref::PrefetchOp::create(b, wordsOf, ahead, /*isWrite=*/false, /*localityHint=*/3, /*isDataCache=*/true);
  forCodes(columns, block, word, [&](Value element, int64_t j, Value codes) {
    for (auto [i, row] : llvm::enumerate(rows))
      for (int64_t digit = 0; digit < digitCount(); ++digit) {
        Value &sum = sums[(static_cast<int64_t>(i) * columns.vectors + j) * digitCount() + digit];
        sum = add(sum, digitRows->pairsOf(row, block, element, digit, codes));
      }
  });
}

/// The same for the whole block, to `sums` [row][vector][sum of a block]: sums of 16 bits are added to them before
/// these could overflow.
SmallVector<Value> BlockDotEmitter::addPairs(const Columns &columns, Value block, ArrayRef<Value> rows,
                                             ArrayRef<Value> sums) {
  int64_t words = this->block / kWordCodes, atOnce = std::min(words, DigitRows::kPairSums / 2);
  int64_t places = static_cast<int64_t>(rows.size()) * columns.vectors;
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(VectorType::get({2 * lanes}, b.getI16Type())));
  auto addWords = [&](Value low, ValueRange before) {
    SmallVector<Value> pairs(places * digitCount(), zero), next;
    // Of more sums without a loop LLVM would change the order, so that registers do not hold what is spread.
    if (rows.size() == 1 && digitCount() == 1)
      for (int64_t word = 0; word < atOnce; ++word)
        addPairsOfWord(columns, block, add(low, fn.index(word)), rows, pairs);
    else
      pairs = fn.loop(fn.index(0), fn.index(atOnce), 1, pairs, [&](Value word, ValueRange carried) {
        SmallVector<Value> added(carried);
        addPairsOfWord(columns, block, add(low, word), rows, added);
        return added;
      });
    SmallVector<Value> sums(before);
    int64_t count = digitRows->sumCount();
    for (int64_t at = 0; at < places; ++at)
      llvm::append_range(next, digitRows->addPairs(ArrayRef(pairs).slice(at * digitCount(), digitCount()),
                                                   ArrayRef(sums).slice(at * count, count)));
    return next;
  };
  if (atOnce == words)
    return addWords(fn.index(0), sums);
  return fn.loop(fn.index(0), fn.index(words), atOnce, sums, addWords);
}

/// Adds the products of block `block`, of vectors of columns from vector `from` of them on, as many as registers hold,
/// with the digits of `height` rows from `row` on to `totals` [row][vector of all columns].
void BlockDotEmitter::addDigits(const Columns &all, int64_t from, Value block, Value row, int64_t height,
                                MutableArrayRef<Value> totals) {
  Columns columns{all.panelIndex, all.first + from, std::min(fewVectors, all.vectors - from)};
  int64_t count = digitRows->sumCount();
  SmallVector<Value> sums(height * columns.vectors * count), rows;
  auto placeOfSum = [&](int64_t i, int64_t j) { return (i * columns.vectors + j) * count; };
  Value place = firstRow ? arith::SubIOp::create(b, row, firstRow).getResult() : row;
  for (int64_t i = 0; i < height; ++i)
    rows.push_back(add(place, fn.index(i)));
  for (int64_t j = 0; j < columns.vectors; ++j) {
    Value zero = zeros ? zerosAt(placeOf(columns, block, j))
                       : arith::ConstantOp::create(b, b.getI32IntegerAttr(kUsualZero)).getResult();
    for (int64_t i = 0; i < height; ++i)
      llvm::copy(digitRows->startOf(rows[i], block, zero, lanes), sums.begin() + placeOfSum(i, j));
  }
  sums = DigitRows::arePairs(fn.spec.target()) ? addPairs(columns, block, rows, sums)
                                               : addDots(columns, block, rows, sums);
  for (int64_t i = 0; i < height; ++i) {
    Value factor = digitRows->factorOf(rows[i], block, lanes);
    for (int64_t j = 0; j < columns.vectors; ++j) {
      Value at = placeOf(columns, block, j);
      Value scale = vector::LoadOp::create(b, floats, fn.input(scales), ValueRange{at});
      Value sum = digitRows->join(ArrayRef(sums).slice(placeOfSum(i, j), count));
      Value &total = totals[i * all.vectors + from + j];
      total = vector::FMAOp::create(b, sum, arith::MulFOp::create(b, scale, factor), total);
    }
  }
}

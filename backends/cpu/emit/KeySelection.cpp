// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Candidates: the few elements of a row among which those are that are kept. Element i belongs to group i mod g, for
// some more groups g than elements are kept (k). A bound that the best keys of k groups reach is reached by k elements,
// so that no other element is looked at. Both passes over the row are in lanes, and a row of any order costs no more
// than they do and a sort of what they find.

#include "backends/cpu/emit/KeyOrder.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// Groups for each element that is kept.
static constexpr int64_t kGroupsForKept = 2;
/// Vectors of groups, where the row has as many as are worth it, so that one does not wait for the other.
static constexpr int64_t kGroupVectors = 4, kRowForGroups = 16;
/// Bounds that let in 1 / kSlack more groups than required are close enough.
static constexpr int64_t kSlack = 4;

static Value compare(ImplicitLocOpBuilder &b, arith::CmpIPredicate predicate, Value x, Value y) {
  return arith::CmpIOp::create(b, predicate, x, y);
}

/// A key that the best keys of `kept` groups or somewhat more are not beyond. Their keys lie in [bests, bests +
/// groups).
Value KeyOrder::boundOf(Value keys, Value bests, Value groups, Value kept) {
  auto vectorType = VectorType::get({lanes}, keyType);
  Value zero = k.fn.index(0);
  auto bestsAt = [&](Value j) -> Value {
    return vector::LoadOp::create(b, vectorType, keys, ValueRange{k.add(bests, j)});
  };
  Value some = bestsAt(zero);
  SmallVector<Value> range =
      k.fn.loop(zero, groups, lanes, ValueRange{some, some}, [&](Value j, ValueRange carried) -> SmallVector<Value> {
        Value here = bestsAt(j);
        return {arith::MinSIOp::create(b, carried[0], here), arith::MaxSIOp::create(b, carried[1], here)};
      });
  Value low = vector::ReductionOp::create(b, vector::CombiningKind::MINSI, range[0]);
  Value high = vector::ReductionOp::create(b, vector::CombiningKind::MAXSI, range[1]);
  high = k.select(k.less(k.fn.index(1), kept), high, low);
  Value most = k.add(kept, arith::DivUIOp::create(b, kept, k.fn.index(kSlack)));
  return k
      .whileLoop(
          {low, high}, [&](ValueRange carried) { return k.less(carried[0], carried[1]); },
          [&](ValueRange carried) -> SmallVector<Value> {
            Value half = arith::ShRUIOp::create(b, k.sub(carried[1], carried[0]), bits(keyType, 1));
            Value middle = k.add(carried[0], half), limit = vector::BroadcastOp::create(b, vectorType, middle);
            Value none = arith::ConstantOp::create(b, b.getZeroAttr(vectorType));
            Value found = k.fn.loop(zero, groups, lanes, ValueRange{none},
                                    [&](Value j, ValueRange counts) -> SmallVector<Value> {
                                      Value isIn = compare(b, arith::CmpIPredicate::sle, bestsAt(j), limit);
                                      return {k.add(counts[0], arith::ExtUIOp::create(b, vectorType, isIn))};
                                    })
                              .front();
            Value count = arith::IndexCastOp::create(
                b, b.getIndexType(), vector::ReductionOp::create(b, vector::CombiningKind::ADD, found).getResult());
            Value isTooLow = k.less(count, kept), isTooHigh = k.less(most, count);
            Value beyond = k.add(middle, bits(keyType, 1));
            return {k.select(isTooLow, beyond, k.select(isTooHigh, carried[0], middle)),
                    k.select(isTooLow, carried[1], middle)};
          })
      .back();
}

Value KeyOrder::selectCandidates(Value first, Value kept, Load load, Load loadLanes) {
  auto vectorType = VectorType::get({lanes}, keyType);
  Value keys = signedKeys(), zero = k.fn.index(0), n = k.size(length), step = k.fn.index(lanes);
  Value base = k.mul(first, k.fn.index(64 / keyType.getWidth()));
  Value bests = k.add(base, k.add(n, step));
  int64_t vectors = kGroupVectors;
  if (length.isConstant())
    vectors = std::clamp<int64_t>(length.constant() / (kRowForGroups * lanes), 1, kGroupVectors);
  Value groups = k.mul(kept, k.fn.index(kGroupsForKept));
  groups = k.max(k.mul(arith::CeilDivUIOp::create(b, groups, step), step), k.fn.index(vectors * lanes));
  k.fn.loop(zero, groups, lanes, [&](Value j) {
    vector::StoreOp::create(b, bits(vectorType, (int64_t(1) << (keyType.getWidth() - 1)) - 1), keys,
                            ValueRange{k.add(bests, j)});
  });
  storeKeys(keys, base, load, loadLanes, zero, [&](Value own, ValueRange carried) -> SmallVector<Value> {
    Value at = k.add(bests, carried[0]), next = k.add(carried[0], step);
    Value best = vector::LoadOp::create(b, vectorType, keys, ValueRange{at});
    vector::StoreOp::create(b, arith::MinSIOp::create(b, best, own), keys, ValueRange{at});
    return {k.select(k.less(next, groups), next, zero)};
  });
  return storeCandidates(keys, base, boundOf(keys, bests, groups, kept), kept);
}

/// Of the elements whose keys are alike to the bound, only the first `kept` can be among those that are kept: behind
/// them only those before it are candidates, and none if no key can be before it.
Value KeyOrder::storeCandidates(Value keys, Value base, Value bound, Value kept) {
  using P = arith::CmpIPredicate;
  auto vectorType = VectorType::get({lanes}, keyType);
  Type word = b.getI64Type(), index = b.getIndexType();
  Value zero = k.fn.index(0), one = k.fn.index(1), n = k.size(length), step = k.fn.index(lanes);
  Value best = bits(keyType, int64_t(1) << (keyType.getWidth() - 1));
  Value isBest = compare(b, P::eq, bound, best);
  Value below = k.select(isBest, best, k.sub(bound, bits(keyType, 1)));
  // The element at hand, the candidates so far, those alike to the bound that are left, the bound, the end.
  SmallVector<Value> last = k.whileLoop(
      {zero, zero, kept, bound, n}, [&](ValueRange carried) { return k.less(carried[0], carried[4]); },
      [&](ValueRange carried) -> SmallVector<Value> {
        Value own = vector::LoadOp::create(b, vectorType, keys, ValueRange{k.add(base, carried[0])});
        Value isIn = compare(b, P::sle, own, vector::BroadcastOp::create(b, vectorType, carried[3]));
        Value packed =
            vector::BitCastOp::create(b, VectorType::get({1}, b.getIntegerType(static_cast<unsigned>(lanes))), isIn);
        Value lanesIn = arith::ExtUIOp::create(b, word, vector::ExtractOp::create(b, packed, 0).getResult());
        SmallVector<Value> next = k.fn.choose(
            compare(b, P::ne, lanesIn, records.word(0)), {index, index, keyType, index},
            [&]() -> SmallVector<Value> {
              SmallVector<Value> found = k.whileLoop(
                  {lanesIn, carried[1], carried[2]},
                  [&](ValueRange state) { return compare(b, P::ne, state[0], records.word(0)); },
                  [&](ValueRange state) -> SmallVector<Value> {
                    Value lane = arith::IndexCastOp::create(
                        b, index, math::CountTrailingZerosOp::create(b, state[0]).getResult());
                    Value position = k.add(carried[0], lane);
                    Value key = memref::LoadOp::create(b, keys, ValueRange{k.add(base, position)});
                    Value isAlike = compare(b, P::eq, key, bound);
                    // A vector goes beyond the end, and what lies there may be alike to the bound.
                    Value exists = k.both(k.less(position, n), k.either(k.negate(isAlike), k.less(zero, state[2])));
                    Value whole = flipSign(key);
                    if (keyType != word)
                      whole = arith::ExtUIOp::create(b, word, whole);
                    records.store({whole, position}, second, state[1]); // the next one overwrites it if it is none
                    return {arith::AndIOp::create(b, state[0], k.sub(state[0], records.word(1))),
                            k.select(exists, k.add(state[1], one), state[1]),
                            k.select(k.both(exists, isAlike), k.sub(state[2], one), state[2])};
                  });
              Value isLeft = k.less(zero, found[2]);
              return {found[1], found[2], k.select(isLeft, bound, below),
                      k.select(k.either(isLeft, k.negate(isBest)), n, zero)};
            },
            [&]() -> SmallVector<Value> { return {carried[1], carried[2], carried[3], carried[4]}; });
        next.insert(next.begin(), k.add(carried[0], step));
        return next;
      });
  return last[1];
}

void KeyOrder::emitRanksOfCandidates(Value first, Value count, Value kept, Load load, Take take) {
  Value keys = signedKeys(), zero = k.fn.index(0);
  Value base = k.mul(first, k.fn.index(64 / keyType.getWidth())), ranks = k.add(base, k.add(count, k.fn.index(lanes)));
  k.fn.loop(zero, count, 1, [&](Value i) {
    Value key = records.load(second, i).key;
    if (keyType != key.getType())
      key = arith::TruncIOp::create(b, keyType, key);
    memref::StoreOp::create(b, flipSign(key), keys, ValueRange{k.add(base, i)});
  });
  rankKeys(keys, base, ranks, count);
  k.fn.loop(zero, count, 1, [&](Value i) {
    Value stored = memref::LoadOp::create(b, keys, ValueRange{k.add(ranks, i)});
    Value rank = arith::IndexCastOp::create(b, b.getIndexType(), stored);
    k.ifThen(k.less(rank, kept), [&] {
      Value position = records.load(second, i).position;
      take(rank, load(position), position);
    });
  });
}

/// Copies those of `count` records whose leading bits are not beyond those of the last one that is kept, in their
/// order; returns how many there are.
Value KeyOrder::keepLeading(Value from, Value to, Value count, Value kept) {
  int64_t leading = std::min(kBoundBits, width);
  Value zero = k.fn.index(0), one = k.fn.index(1), shift = records.word(width - leading);
  clearCounts(int64_t(1) << leading);
  k.fn.loop(zero, count, 1,
            [&](Value i) { increment(k.add(counts, records.bitsFrom(records.load(from, i).key, shift, leading))); });
  // The first group with which there are enough.
  Value bound =
      k.whileLoop(
           {zero, k.loadWord(workspace, counts)}, [&](ValueRange carried) { return k.less(carried[1], kept); },
           [&](ValueRange carried) -> SmallVector<Value> {
             Value next = k.add(carried[0], one);
             return {next, k.add(carried[1], k.loadWord(workspace, k.add(counts, next)))};
           })
          .front();
  return k.fn
      .loop(zero, count, 1, ValueRange{zero},
            [&](Value i, ValueRange carried) -> SmallVector<Value> {
              Records::Record record = records.load(from, i);
              records.store(record, to, carried.front()); // the next one overwrites it if it is not taken
              Value isBeyond = k.less(bound, records.bitsFrom(record.key, shift, leading));
              return {k.select(isBeyond, carried.front(), k.add(carried.front(), one))};
            })
      .front();
}

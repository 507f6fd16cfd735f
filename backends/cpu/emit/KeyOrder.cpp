// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/KeyOrder.h"
#include "ir/Reduction.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

static constexpr int64_t kDigitBits = 8, kDigits = 1 << kDigitBits;
/// In a row of so many elements a lane, ranks are as fast as digits.
static constexpr int64_t kRankedForLane = 16;
/// Of a row of so many elements a lane and so many for each that is kept, candidates are selected before they are
/// ranked.
static constexpr int64_t kSelectedForLane = 4, kSelectedForKept = 8;
static constexpr int64_t kPositions = int64_t(1) << 32; // that a record of one word tells apart

/// Booleans have one bit.
static int64_t widthOf(Type elementType) { return elementType.getIntOrFloatBitWidth(); }

/// Digits of the keys of elements of `width` bits.
static int64_t digitsOf(int64_t width) { return (width + kDigitBits - 1) / kDigitBits; }

static int64_t keyBits(Type elementType) { return widthOf(elementType) > 32 ? 64 : 32; }

int64_t sinter::cpu::keyLanes(const Target &target, Type elementType) { return target.lanes(keyBits(elementType) / 8); }

/// Records of rows of `length` elements are of one word; of unknown ones, too (areNarrow).
static bool isNarrow(Type elementType, DimExpr length) {
  return keyBits(elementType) < 64 && !(length.isConstant() && length.constant() >= kPositions);
}

KeyOrder::KeyOrder(SingleKernel &k, Type elementType, bool descending, DimExpr length, bool keepsAll, int64_t lanes)
    : records(k, isNarrow(elementType, k.dims().resolve(length))), k(k), b(k.b), elementType(elementType),
      descending(descending), length(k.dims().resolve(length)), keepsAll(keepsAll), lanes(lanes),
      width(widthOf(elementType)), keyType(b.getIntegerType(static_cast<unsigned>(keyBits(elementType)))),
      workspace(k.workspaceWords()) {}

DimExpr KeyOrder::words() {
  DimContext &dims = k.dims();
  int64_t counted = std::max(digitsOf(width) * kDigits, keepsAll ? 0 : kBounds);
  bool isShort = length.isConstant() && length.constant() <= kRankedForLane * lanes;
  return dims.add(dims.mul(length, dims.constant(2 * records.words)),
                  dims.constant(4 * lanes + (isShort ? 0 : counted)));
}

void KeyOrder::emit(Value first, Value kept, Load load, Take take, Load loadLanes) {
  second = k.add(first, k.add(k.mul(k.size(length), k.fn.index(records.words)), k.fn.index(2 * lanes)));
  counts = k.add(first, k.add(k.mul(k.size(length), k.fn.index(2 * records.words)), k.fn.index(4 * lanes)));
  int64_t ranked = kRankedForLane * lanes;
  auto ranks = [&] {
    std::optional<int64_t> few = getConstantIntValue(kept);
    if (!keepsAll && length.isConstant() && length.constant() >= kSelectedForLane * lanes && few &&
        *few * kSelectedForKept <= length.constant())
      return emitRanksOfCandidates(first, selectCandidates(first, kept, load, loadLanes), kept, load, take);
    emitRanks(first, kept, load, take, loadLanes);
  };
  auto digits = [&] { emitDigits(first, kept, load, take, loadLanes); };
  if (length.isConstant())
    return length.constant() <= ranked ? ranks() : digits();
  k.fn.branch(k.less(k.size(length), k.fn.index(ranked + 1)), ranks, [&] {
    if (Value fit = areNarrow())
      k.fn.branch(fit, digits, [&] { emitMerges(first, kept, load, take); });
    else
      digits();
  });
}

void KeyOrder::emitPositions(Value first, Value to, Load load) {
  emit(first, k.size(length), load,
       [&](Value rank, Value, Value position) { k.storeWord(workspace, position, k.add(to, rank)); });
}

Value KeyOrder::areNarrow() {
  return records.words == 2 || length.isConstant() ? Value() : k.less(k.size(length), k.fn.index(kPositions));
}

OrderedRows::OrderedRows(SingleKernel &k)
    : k(k), operand(k.root->getOperand(0)), axis(axisOf(k.root)), sizes(k.sizesOf(operand)), others(sizes),
      resultSizes(k.sizesOf(k.root->getResult(0))) {
  auto sort = dyn_cast<SortOp>(k.root);
  keepsAll = sort != nullptr;
  descending = sort ? sort.getDescending() : cast<TopKOp>(k.root).getLargest();
  others.erase(others.begin() + axis);
}

int64_t OrderedRows::axisOf(Operation *root) {
  auto sort = dyn_cast<SortOp>(root);
  return static_cast<int64_t>(sort ? sort.getAxis() : cast<TopKOp>(root).getAxis());
}

bool OrderedRows::isRoot(Operation *root) { return isa_and_nonnull<SortOp, TopKOp>(root); }

Type OrderedRows::elementType() const { return getElementTypeOrSelf(operand); }

SmallVector<Value> OrderedRows::at(ArrayRef<Value> outer, Value position) const {
  SmallVector<Value> index(outer);
  index.insert(index.begin() + axis, position);
  return index;
}

Value OrderedRows::load(ArrayRef<Value> outer, Value position) const { return k.element(operand, at(outer, position)); }

void OrderedRows::store(ArrayRef<Value> outer, Value rank, Value value, Value position) const {
  Value offset = k.fn.offset(at(outer, rank), resultSizes);
  k.store(0, value, offset);
  k.store(1, k.asInt64(position), offset);
}

//===- keys ----------------------------------------------------------------------------------===//

Value KeyOrder::bits(Type type, int64_t value) {
  IntegerAttr number = b.getIntegerAttr(getElementTypeOrSelf(type), value);
  if (auto vectorType = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(b, DenseElementsAttr::get(vectorType, Attribute(number)));
  return arith::ConstantOp::create(b, number);
}

Value KeyOrder::ones(Type type) { return bits(type, -1); }

/// Unsigned numbers of an element or a vector of them; NaN is the greatest in both directions, both zeros are one.
Value KeyOrder::keyOf(Value element) {
  auto withElements = [&](Type type) -> Type {
    auto vectorType = dyn_cast<VectorType>(element.getType());
    return vectorType ? vectorType.clone(type) : type;
  };
  Type integer = withElements(b.getIntegerType(static_cast<unsigned>(width))), wide = withElements(keyType);
  Value key = element;
  if (auto floatType = dyn_cast<FloatType>(elementType)) {
    using P = arith::CmpIPredicate;
    int64_t sign = int64_t(1) << (width - 1);
    key = arith::BitcastOp::create(b, integer, element);
    // As integers, so that 16-bit numbers need not be converted.
    Value magnitude = arith::AndIOp::create(b, key, arith::XOrIOp::create(b, ones(integer), bits(integer, sign)));
    int64_t infinity = APFloat::getInf(floatType.getFloatSemantics()).bitcastToAPInt().getSExtValue();
    Value isNan = arith::CmpIOp::create(b, P::sgt, magnitude, bits(integer, infinity));
    Value isZero = arith::CmpIOp::create(b, P::eq, magnitude, bits(integer, 0));
    key = k.select(isZero, bits(integer, 0), key);
    Value flipped =
        arith::OrIOp::create(b, arith::ShRSIOp::create(b, key, bits(integer, width - 1)), bits(integer, sign));
    key = arith::XOrIOp::create(b, key, descending ? arith::XOrIOp::create(b, flipped, ones(integer)) : flipped);
    key = k.select(isNan, ones(integer), key);
  } else {
    bool isSigned = width > 1 && !isUnsigned(elementType);
    if (isSigned)
      key = arith::XOrIOp::create(b, key, bits(integer, int64_t(1) << (width - 1)));
    if (descending)
      key = arith::XOrIOp::create(b, key, ones(integer));
  }
  return integer == wide ? key : arith::ExtUIOp::create(b, wide, key).getResult();
}

/// From unsigned to signed numbers of the same order, which vectors compare, and back.
Value KeyOrder::flipSign(Value key) {
  return arith::XOrIOp::create(b, key, bits(key.getType(), int64_t(1) << (keyType.getWidth() - 1)));
}

Value KeyOrder::signedKeys() {
  return memref::ViewOp::create(b, MemRefType::get({kHuge}, keyType), k.fn.workspace(), k.fn.index(0), ValueRange{});
}

SmallVector<Value> KeyOrder::storeKeys(Value keys, Value base, Load load, Load loadLanes, ValueRange init, Seen seen) {
  auto vectorType = VectorType::get({lanes}, keyType);
  Value zero = k.fn.index(0), n = k.size(length), whole = zero;
  if (loadLanes)
    whole = k.sub(n, arith::RemUIOp::create(b, n, k.fn.index(lanes)));
  Value worst = bits(vectorType, (int64_t(1) << (keyType.getWidth() - 1)) - 1);
  vector::StoreOp::create(b, worst, keys, ValueRange{k.add(base, n)});
  SmallVector<Value> carried(init);
  if (loadLanes)
    carried = k.fn.loop(zero, whole, lanes, init, [&](Value i, ValueRange carried) {
      Value own = flipSign(keyOf(loadLanes(i)));
      vector::StoreOp::create(b, own, keys, ValueRange{k.add(base, i)});
      return seen ? seen(own, carried) : SmallVector<Value>();
    });
  k.fn.loop(whole, n, 1,
            [&](Value i) { memref::StoreOp::create(b, flipSign(keyOf(load(i))), keys, ValueRange{k.add(base, i)}); });
  if (!seen)
    return carried;
  return k.fn.loop(whole, n, lanes, carried, [&](Value i, ValueRange carried) {
    return seen(vector::LoadOp::create(b, vectorType, keys, ValueRange{k.add(base, i)}), carried);
  });
}

//===- ranks ---------------------------------------------------------------------------------===//

/// How many of the keys in [low, high) go before each of `own`; `Ties` says where those stand that are alike.
Value KeyOrder::countBefore(Value keys, Value base, Value low, Value high, Value own, Value ownPositions, Value count,
                            Ties ties) {
  using P = arith::CmpIPredicate;
  Type vectorType = own.getType();
  auto compare = [&](P predicate, Value x, Value y) -> Value { return arith::CmpIOp::create(b, predicate, x, y); };
  return k.fn
      .loop(low, high, 1, ValueRange{count},
            [&](Value j, ValueRange carried) -> SmallVector<Value> {
              Value key = memref::LoadOp::create(b, keys, ValueRange{k.add(base, j)});
              Value other = vector::BroadcastOp::create(b, vectorType, key);
              Value isBefore = compare(ties == Ties::Before ? P::sle : P::slt, other, own);
              if (ties == Ties::ByPosition) {
                Value position = vector::BroadcastOp::create(b, vectorType, arith::IndexCastOp::create(b, keyType, j));
                isBefore =
                    k.either(isBefore, k.both(compare(P::eq, other, own), compare(P::slt, position, ownPositions)));
              }
              return {arith::AddIOp::create(b, carried.front(), arith::ExtUIOp::create(b, vectorType, isBefore))};
            })
      .front();
}

void KeyOrder::rankKeys(Value keys, Value base, Value ranks, Value n) {
  Value zero = k.fn.index(0);
  auto vectorType = VectorType::get({lanes}, keyType);
  SmallVector<Attribute> numbers;
  for (int64_t lane = 0; lane < lanes; ++lane)
    numbers.push_back(b.getIntegerAttr(keyType, lane));
  Value iota = arith::ConstantOp::create(b, DenseElementsAttr::get(vectorType, numbers));
  k.fn.loop(zero, n, lanes, [&](Value i) {
    Value own = vector::LoadOp::create(b, vectorType, keys, ValueRange{k.add(base, i)});
    Value start = vector::BroadcastOp::create(b, vectorType, arith::IndexCastOp::create(b, keyType, i));
    Value positions = arith::AddIOp::create(b, start, iota);
    Value end = k.min(k.add(i, k.fn.index(lanes)), n);
    Value rank = arith::ConstantOp::create(b, b.getZeroAttr(vectorType));
    rank = countBefore(keys, base, zero, i, own, positions, rank, Ties::Before);
    rank = countBefore(keys, base, i, end, own, positions, rank, Ties::ByPosition);
    rank = countBefore(keys, base, end, n, own, positions, rank, Ties::Behind);
    vector::StoreOp::create(b, rank, keys, ValueRange{k.add(ranks, i)});
  });
}

void KeyOrder::emitRanks(Value first, Value kept, Load load, Take take, Load loadLanes) {
  Value keys = signedKeys(), n = k.size(length);
  Value base = k.mul(first, k.fn.index(64 / keyType.getWidth()));
  Value ranks = k.add(base, k.add(n, k.fn.index(lanes))); // behind the keys and what a vector reads beyond them
  storeKeys(keys, base, load, loadLanes);
  rankKeys(keys, base, ranks, n);
  k.fn.loop(k.fn.index(0), n, 1, [&](Value i) {
    Value stored = memref::LoadOp::create(b, keys, ValueRange{k.add(ranks, i)});
    Value rank = arith::IndexCastOp::create(b, b.getIndexType(), stored);
    k.ifThen(keepsAll ? Value() : k.less(rank, kept), [&] { take(rank, load(i), i); });
  });
}

//===- digits --------------------------------------------------------------------------------===//

Records::Record KeyOrder::makeRecord(Value element, Value position) {
  Value key = keyOf(element);
  if (keyType.getWidth() < 64)
    key = arith::ExtUIOp::create(b, b.getI64Type(), key);
  return {key, position};
}

Records::Record Records::load(Value base, Value at) {
  Value from = k.add(base, words == 1 ? at : k.mul(at, k.fn.index(2)));
  Value whole = memref::LoadOp::create(b, workspace, ValueRange{from});
  if (words == 2)
    return {whole, k.loadWord(workspace, k.add(from, k.fn.index(1)))};
  Value low = arith::AndIOp::create(b, whole, word(kPositions - 1));
  Value key = arith::ShRUIOp::create(b, whole, word(32));
  return {key, arith::IndexCastOp::create(b, b.getIndexType(), low)};
}

void Records::store(const Record &record, Value base, Value at) {
  Value to = k.add(base, words == 1 ? at : k.mul(at, k.fn.index(2)));
  Value whole = record.key;
  if (words == 1) {
    Value high = arith::ShLIOp::create(b, whole, word(32));
    whole = arith::OrIOp::create(b, high, k.asInt64(record.position));
  } else {
    k.storeWord(workspace, record.position, k.add(to, k.fn.index(1)));
  }
  memref::StoreOp::create(b, whole, workspace, ValueRange{to});
}

Value Records::bitsFrom(Value key, Value shift, int64_t count) {
  Value low = arith::ShRUIOp::create(b, key, shift);
  low = arith::AndIOp::create(b, low, word((int64_t(1) << count) - 1));
  return arith::IndexCastOp::create(b, b.getIndexType(), low);
}

void KeyOrder::clearCounts(int64_t count) {
  k.fn.loop(k.fn.index(0), k.fn.index(count), 1,
            [&](Value i) { k.storeWord(workspace, k.fn.index(0), k.add(counts, i)); });
}

void KeyOrder::increment(Value at) { k.storeWord(workspace, k.add(k.loadWord(workspace, at), k.fn.index(1)), at); }

/// Sorts `count` records, at least one; returns where they begin.
Value KeyOrder::sortRecords(Value from, Value to, Value count) {
  Value zero = k.fn.index(0), digitBits = k.fn.index(kDigitBits);
  int64_t digits = digitsOf(width);
  clearCounts(digits * kDigits);
  auto place = [&](Value digit, Value key) {
    Value value = records.bitsFrom(key, k.asInt64(k.mul(digit, digitBits)), kDigitBits);
    return k.add(k.add(counts, k.mul(digit, k.fn.index(kDigits))), value);
  };
  k.fn.loop(zero, count, 1, [&](Value i) {
    Value key = records.load(from, i).key;
    for (int64_t digit = 0; digit < digits; ++digit)
      increment(place(k.fn.index(digit), key));
  });
  auto move = [&](Value digit, Value source, Value target) {
    Value start = k.add(counts, k.mul(digit, k.fn.index(kDigits)));
    k.fn.loop(zero, k.fn.index(kDigits), 1, ValueRange{zero}, [&](Value i, ValueRange before) -> SmallVector<Value> {
      Value at = k.add(start, i), here = k.loadWord(workspace, at);
      k.storeWord(workspace, before.front(), at);
      return {k.add(before.front(), here)};
    });
    k.fn.loop(zero, count, 1, [&](Value i) {
      Records::Record record = records.load(source, i);
      Value at = place(digit, record.key);
      records.store(record, target, k.loadWord(workspace, at));
      increment(at);
    });
  };
  return k.fn
      .loop(zero, k.fn.index(digits), 1, ValueRange{from, to},
            [&](Value digit, ValueRange carried) -> SmallVector<Value> {
              Value alike = k.loadWord(workspace, place(digit, records.load(carried[0], zero).key));
              auto moved = scf::IfOp::create(b, carried.getTypes(), k.less(alike, count), /*withElseRegion=*/true);
              OpBuilder::InsertionGuard guard(b);
              b.setInsertionPointToStart(moved.thenBlock());
              move(digit, carried[0], carried[1]);
              scf::YieldOp::create(b, ValueRange{carried[1], carried[0]});
              b.setInsertionPointToStart(moved.elseBlock());
              scf::YieldOp::create(b, carried);
              return llvm::to_vector_of<Value>(moved.getResults());
            })
      .front();
}

void KeyOrder::emitDigits(Value first, Value kept, Load load, Take take, Load loadLanes) {
  Value zero = k.fn.index(0), n = k.size(length);
  auto all = [&]() -> SmallVector<Value> {
    k.fn.loop(zero, n, 1, [&](Value i) { records.store(makeRecord(load(i), i), first, i); });
    return {first, second, n};
  };
  // Where the records lie that are to be sorted, where others may, and how many there are.
  SmallVector<Value> sorted;
  if (keepsAll) {
    sorted = all();
  } else {
    Type index = b.getIndexType();
    Type types[] = {index, index, index};
    Value areFew = k.less(k.mul(kept, k.fn.index(kCandidates)), n);
    sorted = k.fn.choose(
        areFew, types,
        [&]() -> SmallVector<Value> {
          Value count = selectCandidates(first, kept, load, loadLanes);
          return k.fn.choose(
              k.less(count, k.fn.index(kRankedForLane * lanes + 1)), types,
              [&]() -> SmallVector<Value> {
                emitRanksOfCandidates(first, count, kept, load, take);
                return {first, second, zero};
              },
              [&]() -> SmallVector<Value> {
                return k.fn.choose(
                    k.less(k.mul(kept, k.fn.index(kCandidates)), count), types,
                    [&]() -> SmallVector<Value> { return {first, second, keepLeading(second, first, count, kept)}; },
                    [&]() -> SmallVector<Value> { return {second, first, count}; });
              });
        },
        all);
  }
  k.ifThen(keepsAll ? Value() : k.less(zero, sorted[2]), [&] {
    Value from = sortRecords(sorted[0], sorted[1], sorted[2]);
    k.fn.loop(zero, k.min(kept, sorted[2]), 1, [&](Value rank) {
      Value position = records.load(from, rank).position;
      take(rank, load(position), position);
    });
  });
}

//===- merges --------------------------------------------------------------------------------===//

void KeyOrder::emitMerges(Value first, Value kept, Load load, Take take) {
  Value n = k.size(length);
  Value sorted = k.mergeSort(workspace, first, n,
                             [&](Value x, Value y) { return k.before(elementType, load(x), load(y), descending); });
  k.fn.loop(k.fn.index(0), k.min(kept, n), 1, [&](Value rank) {
    Value position = k.loadWord(workspace, k.add(sorted, rank));
    take(rank, load(position), position);
  });
}

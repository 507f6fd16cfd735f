// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// scatter_elements and scatter_nd: the operand is copied (by the schedule, unless result and operand are one buffer),
// then updates are combined one after the other, so that equal positions combine in index order. Positions outside are
// skipped.
//
// Sums in which one place may take more updates than one chain of additions holds (BlockSums.h) are formed in f64 where
// there are no more places than updates. Others first count updates, by places modulo a number of buckets. Where no
// bucket has more, nothing else changes. Otherwise updates are put in order of their buckets, and those of a long
// bucket in order of their places; the updates of one place are then summed by blocks and added at once.

#include "backends/cpu/emit/BlockSums.h"
#include "backends/cpu/emit/General.h"
#include "backends/cpu/emit/Single.h"
#include "ir/Indexing.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

constexpr int64_t kBuckets = 4096;
/// Elements that are always worth sums in f64.
constexpr int64_t kFewElements = 4096;

namespace {
class ScatterEmitter {
public:
  ScatterEmitter(SingleKernel &k, Operation *root);

  void copyOperand();
  void emit(int64_t longest);
  /// Bytes that `emit` needs.
  DimExpr workspaceBytes();

private:
  /// Where the update at `index` goes, on the axes that positions choose; clears `inside` when it goes nowhere.
  SmallVector<Value> placeOf(ArrayRef<Value> index, Value &inside);
  Value onAxis(Value position, Value size, Value &inside);
  /// `body(rest, from, to)` for the elements of a slice: its position, that in the updates, and the result's offset.
  void overSlice(ArrayRef<Value> index, ArrayRef<Value> place,
                 llvm::function_ref<void(ArrayRef<Value> rest, ArrayRef<Value> from, Value to)> body);
  void combineAt(Value to, Value update);
  void update(ArrayRef<Value> index);
  Value truth() { return arith::ConstantIntOp::create(k.b, k.b.getI1Type(), 1); }

  void emitWide();
  Value countBuckets();
  void emitByPlace(int64_t longest);
  void sumBucket(Value begin, Value count);
  SmallVector<Value> indexOf(Value number) { return k.fn.delinearize(number, indices); }
  /// Where update `number` goes, as one number.
  Value flatPlace(Value number) {
    Value inside = truth();
    return k.fn.offset(placeOf(indexOf(number), inside), chosen);
  }
  Value wordAt(Value at) { return k.loadWord(words, at); }

  SingleKernel &k;
  ScatterElementsOp elements;
  ScatterNdOp slices;
  Value operand, positions, updates;
  Combiner combiner;
  Type type, accumulator;
  Dims sizes, indices, chosen,
      slice; // of the operand; what numbers the updates; axes that positions choose; the others
  DimExpr count;
  bool isWide = false; // sums in f64
  Value words;         // ends of buckets, numbers of updates, room to sort these
};
} // namespace

ScatterEmitter::ScatterEmitter(SingleKernel &k, Operation *root)
    : k(k), elements(dyn_cast<ScatterElementsOp>(root)), slices(dyn_cast<ScatterNdOp>(root)),
      operand(root->getOperand(0)), positions(root->getOperand(1)), updates(root->getOperand(2)),
      combiner(elements ? elements.getCombiner() : slices.getCombiner()), type(getElementTypeOrSelf(operand)),
      accumulator(accumulatorType(type)), sizes(k.sizesOf(operand)), indices(k.sizesOf(positions)) {
  size_t length = sizes.size();
  if (slices) {
    length = cast<RankedTensorType>(positions.getType()).getShape().back();
    indices.pop_back();
  }
  chosen.assign(sizes.begin(), sizes.begin() + length);
  slice.assign(sizes.begin() + length, sizes.end());
  DimContext &dims = k.dims();
  count = dims.product(indices);
  DimExpr places = dims.resolve(dims.product(chosen)), elements = dims.resolve(dims.product(sizes));
  DimExpr updates = dims.resolve(count);
  isWide = places.isConstant() && elements.isConstant() &&
           (elements.constant() <= kFewElements || (updates.isConstant() && places.constant() <= updates.constant()));
}

void ScatterEmitter::copyOperand() {
  k.nest(sizes, [&](ArrayRef<Value> at) { k.store(0, k.element(operand, at), k.fn.offset(at, sizes)); });
}

/// result[to] = result[to] combined with `update`.
void ScatterEmitter::combineAt(Value to, Value update) {
  if (combiner != Combiner::set) {
    // Of booleans, or and and are what sums and products come to.
    Combiner combined = combiner;
    if (type.isInteger(1) && combiner == Combiner::add)
      combined = Combiner::logical_or;
    if (type.isInteger(1) && combiner == Combiner::mul)
      combined = Combiner::logical_and;
    bool wide = isUnsigned(type);
    Location loc = k.b.getLoc();
    Value old = widen(k.b, loc, k.loadResult(0, to), accumulator, wide);
    Value next = combine(k.b, loc, combined, type, old, widen(k.b, loc, update, accumulator, wide));
    update = narrow(k.b, loc, next, type);
  }
  k.store(0, update, to);
}

/// A position from the end where negative; clears `inside` when it is not on the axis.
Value ScatterEmitter::onAxis(Value position, Value size, Value &inside) {
  position = k.select(k.less(position, k.fn.index(0)), k.add(position, size), position);
  inside = k.both(inside, k.inRange(position, size));
  return position;
}

SmallVector<Value> ScatterEmitter::placeOf(ArrayRef<Value> index, Value &inside) {
  if (slices) {
    SmallVector<Value> tuple(index), place;
    tuple.push_back({});
    for (auto [axis, size] : llvm::enumerate(chosen)) {
      tuple.back() = k.fn.index(axis);
      place.push_back(onAxis(k.indexElement(positions, tuple), k.size(size), inside));
    }
    return place;
  }
  SmallVector<Value> place(index);
  for (auto [axis, position] : llvm::enumerate(place)) {
    if (axis == elements.getAxis())
      position = onAxis(k.indexElement(positions, index), k.size(sizes[axis]), inside);
    else if (!sizes[axis].isConstant() || !indices[axis].isConstant())
      inside = k.both(inside, k.inRange(position, k.size(sizes[axis])));
  }
  return place;
}

void ScatterEmitter::overSlice(ArrayRef<Value> index, ArrayRef<Value> place,
                               llvm::function_ref<void(ArrayRef<Value>, ArrayRef<Value>, Value)> body) {
  k.nest(slice, [&](ArrayRef<Value> rest) {
    SmallVector<Value> from(index), to(place);
    llvm::append_range(from, rest);
    llvm::append_range(to, rest);
    body(rest, from, k.fn.offset(to, sizes));
  });
}

void ScatterEmitter::update(ArrayRef<Value> index) {
  Value inside = truth();
  SmallVector<Value> place = placeOf(index, inside);
  k.ifThen(inside, [&] {
    overSlice(index, place,
              [&](ArrayRef<Value>, ArrayRef<Value> from, Value to) { combineAt(to, k.element(updates, from)); });
  });
}

//===- long sums -----------------------------------------------------------------------------===//

DimExpr ScatterEmitter::workspaceBytes() {
  DimContext &dims = k.dims();
  if (isWide)
    return dims.mul(dims.product(sizes), dims.constant(8));
  return dims.mul(dims.add(dims.mul(count, dims.constant(3)), dims.constant(kBuckets)), dims.constant(8));
}

/// Sums of narrower floats, in f64.
void ScatterEmitter::emitWide() {
  ImplicitLocOpBuilder &b = k.b;
  Location loc = b.getLoc();
  Type f64 = b.getF64Type();
  Value sums = memref::ViewOp::create(b, MemRefType::get({kHuge}, f64), k.fn.workspace(), k.fn.index(0), ValueRange{});
  auto widened = [&](Value value) -> Value {
    return arith::ExtFOp::create(b, f64, widen(b, loc, value, accumulator, /*isUnsigned=*/false));
  };
  Value zero = k.fn.index(0), elements = k.size(k.dims().product(sizes));
  k.fn.loop(zero, elements, 1,
            [&](Value at) { memref::StoreOp::create(b, widened(k.loadResult(0, at)), sums, ValueRange{at}); });
  k.nest(indices, [&](ArrayRef<Value> index) {
    Value inside = truth();
    SmallVector<Value> place = placeOf(index, inside);
    k.ifThen(inside, [&] {
      overSlice(index, place, [&](ArrayRef<Value>, ArrayRef<Value> from, Value to) {
        Value old = memref::LoadOp::create(b, sums, ValueRange{to});
        Value next = arith::AddFOp::create(b, old, widened(k.element(updates, from)));
        memref::StoreOp::create(b, next, sums, ValueRange{to});
      });
    });
  });
  k.fn.loop(zero, elements, 1, [&](Value at) {
    Value sum = arith::TruncFOp::create(b, accumulator, memref::LoadOp::create(b, sums, ValueRange{at}).getResult());
    k.store(0, narrow(b, loc, sum, type), at);
  });
}

/// Writes the number of updates of each bucket; returns the greatest.
Value ScatterEmitter::countBuckets() {
  Value zero = k.fn.index(0), one = k.fn.index(1), buckets = k.fn.index(kBuckets);
  k.fn.loop(zero, buckets, 1, [&](Value i) { k.storeWord(words, zero, i); });
  k.fn.loop(zero, k.size(count), 1, [&](Value number) {
    Value inside = truth();
    SmallVector<Value> place = placeOf(indexOf(number), inside);
    k.ifThen(inside, [&] {
      Value bucket = arith::RemUIOp::create(k.b, k.fn.offset(place, chosen), buckets);
      k.storeWord(words, k.add(wordAt(bucket), one), bucket);
    });
  });
  return k.fn
      .loop(zero, buckets, 1, zero,
            [&](Value i, ValueRange carried) -> SmallVector<Value> { return {k.max(carried[0], wordAt(i))}; })
      .front();
}

/// The updates `count` numbers from `begin` on, of one bucket: in order of their places, each place's sum at once.
void ScatterEmitter::sumBucket(Value begin, Value number) {
  Value zero = k.fn.index(0), one = k.fn.index(1);
  Value room = k.add(k.fn.index(kBuckets), k.size(count));
  auto placeAt = [&](Value i) { return flatPlace(wordAt(k.add(begin, i))); };
  Value first = placeAt(zero);
  Value isOnePlace = k.fn.loop(zero, number, 1, truth(),
                               [&](Value i, ValueRange carried) -> SmallVector<Value> {
                                 Value isSame = arith::CmpIOp::create(k.b, arith::CmpIPredicate::eq, placeAt(i), first);
                                 return {k.both(carried[0], isSame)};
                               })
                         .front();
  auto order = scf::IfOp::create(k.b, TypeRange{k.b.getIndexType()}, isOnePlace, /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(k.b);
    k.b.setInsertionPointToStart(order.thenBlock());
    k.fn.loop(zero, number, 1, [&](Value i) { k.storeWord(words, i, k.add(room, i)); });
    scf::YieldOp::create(k.b, room);
    k.b.setInsertionPointToStart(order.elseBlock());
    Value sorted = k.mergeSort(words, room, number, [&](Value x, Value y) { return k.less(placeAt(x), placeAt(y)); });
    scf::YieldOp::create(k.b, sorted);
  }
  Value sorted = order.getResult(0);
  auto numberAt = [&](Value i) { return wordAt(k.add(begin, wordAt(k.add(sorted, i)))); };
  k.whileLoop(
      zero, [&](ValueRange carried) { return k.less(carried[0], number); },
      [&](ValueRange carried) -> SmallVector<Value> {
        Value first = carried[0], firstNumber = numberAt(first), target = flatPlace(firstNumber);
        Value end = k.whileLoop(
            k.add(first, one),
            [&](ValueRange at) {
              Value last = k.sub(number, one), more = k.less(at[0], number);
              Value place = flatPlace(numberAt(k.min(at[0], last)));
              return k.both(more, arith::CmpIOp::create(k.b, arith::CmpIPredicate::eq, place, target));
            },
            [&](ValueRange at) -> SmallVector<Value> { return {k.add(at[0], one)}; })[0];
        Value inside = truth();
        SmallVector<Value> index = indexOf(firstNumber), place = placeOf(index, inside);
        overSlice(index, place, [&](ArrayRef<Value> rest, ArrayRef<Value>, Value to) {
          Value none = identityOf(k.fn, Combiner::add, type);
          Location loc = k.b.getLoc();
          Value sum = sumRange(
              k.fn, zero, k.sub(end, first), count, kProductBlock, none, none,
              [&](Value x, Value y) { return joinFloats(k.b, x, y); },
              [&](Value low, Value high, ValueRange start) {
                return k.fn.loop(low, high, 1, start, [&](Value i, ValueRange total) -> SmallVector<Value> {
                  SmallVector<Value> from = indexOf(numberAt(k.add(first, i)));
                  llvm::append_range(from, rest);
                  Value value = widen(k.b, loc, k.element(updates, from), accumulator, false);
                  return {arith::AddFOp::create(k.b, total[0], value)};
                });
              })[0];
          Value old = widen(k.b, loc, k.loadResult(0, to), accumulator, false);
          k.store(0, narrow(k.b, loc, arith::AddFOp::create(k.b, old, sum), type), to);
        });
        return {end};
      });
}

/// Updates in order of their buckets. The counts of buckets are there.
void ScatterEmitter::emitByPlace(int64_t longest) {
  Value zero = k.fn.index(0), one = k.fn.index(1), buckets = k.fn.index(kBuckets);
  // Counts become begins, and begins become ends as numbers come in.
  k.fn.loop(zero, buckets, 1, buckets, [&](Value i, ValueRange carried) -> SmallVector<Value> {
    Value held = wordAt(i);
    k.storeWord(words, carried[0], i);
    return {k.add(carried[0], held)};
  });
  k.fn.loop(zero, k.size(count), 1, [&](Value number) {
    Value inside = truth();
    SmallVector<Value> place = placeOf(indexOf(number), inside);
    k.ifThen(inside, [&] {
      Value bucket = arith::RemUIOp::create(k.b, k.fn.offset(place, chosen), buckets);
      Value at = wordAt(bucket);
      k.storeWord(words, number, at);
      k.storeWord(words, k.add(at, one), bucket);
    });
  });
  k.fn.loop(zero, buckets, 1, buckets, [&](Value i, ValueRange carried) -> SmallVector<Value> {
    Value begin = carried[0], end = wordAt(i), held = k.sub(end, begin);
    Value isShort = k.less(held, k.fn.index(longest + 1));
    k.ifThen(isShort, [&] { k.fn.loop(begin, end, 1, [&](Value at) { update(indexOf(wordAt(at))); }); });
    k.ifThen(k.negate(isShort), [&] { sumBucket(begin, held); });
    return {end};
  });
}

/// No place takes more than `longest` updates one by one.
void ScatterEmitter::emit(int64_t longest) {
  auto oneByOne = [&] { k.nest(indices, [&](ArrayRef<Value> index) { update(index); }); };
  if (longest == kNoBlocks)
    return oneByOne();
  if (isWide)
    return emitWide();
  words = k.workspaceWords();
  Value isShort = k.less(countBuckets(), k.fn.index(longest + 1));
  k.ifThen(isShort, oneByOne);
  k.ifThen(k.negate(isShort), [&] { emitByPlace(longest); });
}

/// Updates of one place that are added one by one at most. Narrow floats would be rounded after each.
static int64_t longestChain(KernelSpec &spec, Operation *root) {
  auto combiner = isa<ScatterElementsOp>(root) ? cast<ScatterElementsOp>(root).getCombiner()
                                               : cast<ScatterNdOp>(root).getCombiner();
  Type type = getElementTypeOrSelf(root->getOperand(0));
  if (combiner != Combiner::add || !isa<FloatType>(type) || type.isF64())
    return kNoBlocks;
  int64_t longest = accumulatorType(type) == type ? kProductBlock : 1;
  Dims indices = spec.sizes->dims(root->getOperand(1));
  if (isa<ScatterNdOp>(root))
    indices.pop_back();
  DimExpr count = spec.dims.resolve(spec.dims.product(indices));
  return count.isConstant() && count.constant() <= longest ? kNoBlocks : longest;
}

bool sinter::cpu::emitScatter(KernelSpec &spec, ModuleOp module, StringRef name, Operation *root,
                              EmittedKernel &emitted) {
  if (!isa<ScatterElementsOp, ScatterNdOp>(root))
    return false;
  int64_t longest = longestChain(spec, root);
  SingleKernel k(spec, module, name, root, {/*sizes=*/false, /*workspace=*/longest != kNoBlocks});
  // An input that nothing else reads is left to the schedule, which may give it and the result one buffer.
  auto operand = dyn_cast<BlockArgument>(root->getOperand(0));
  bool copies = spec.options.optLevel == 0 || !operand || !operand.hasOneUse() || spec.kernel.getNumResults() != 1;
  ScatterEmitter scatter(k, root);
  if (copies)
    scatter.copyOperand();
  scatter.emit(longest);
  if (longest != kNoBlocks)
    k.workspaceBytes = scatter.workspaceBytes();
  emitted = k.finish();
  if (copies)
    return true;
  emitted.updates = static_cast<int64_t>(operand.getArgNumber());
  DimExpr count = spec.dims.resolve(spec.dims.product(spec.sizes->dims(root->getOperand(2))));
  if (count.isConstant())
    emitted.estimatedNs = 1 + 2 * static_cast<double>(count.constant());
  return true;
}

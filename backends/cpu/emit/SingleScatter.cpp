// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// scatter_elements and scatter_nd: the operand is copied (by the schedule, unless result and operand are one buffer),
// then updates are combined one after the other, so that equal positions combine in index order. Positions outside are
// skipped.
//
// Sums in which one place may take more updates than one chain of additions holds (BlockSums.h) count the updates of
// each group of places. When a group has taken as many as a chain holds, the sums of its places move to slots of their
// own and the places start again from nothing; slots are in f64 (RunningTotal.h), and come back to their places at the
// end. Most places never have a slot, so that there are few: a group's for `longest + 1` updates at most. Sums of few
// elements are all in f64.

#include "backends/cpu/emit/BlockSums.h"
#include "backends/cpu/emit/General.h"
#include "backends/cpu/emit/RunningTotal.h"
#include "backends/cpu/emit/Single.h"
#include "ir/Indexing.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// Elements that are always worth sums in f64.
constexpr int64_t kFewElements = 4096;
/// Places that are counted together, and move to their slots together: their counts stay in the first-level cache.
constexpr int64_t kGroup = 4;

namespace {
class ScatterEmitter {
public:
  ScatterEmitter(SingleKernel &k, Operation *root);

  void copyOperand();
  void emit(int64_t longest);
  /// Bytes that `emit` needs.
  DimExpr workspaceBytes(int64_t longest);

private:
  struct Room;
  Room room(int64_t longest);
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
  void emitCounted(int64_t longest);
  void spill(Value flat);
  Value slotOf(Value flat);
  /// `body(at, to)` for the elements of a slot: its place in `sums`, and the result's offset.
  void overSlot(Value slot, ArrayRef<Value> place, llvm::function_ref<void(Value at, Value to)> body);
  SmallVector<Value> loadSums(Value at);
  void storeSums(ValueRange values, Value at);

  SingleKernel &k;
  ScatterElementsOp elements;
  ScatterNdOp slices;
  Value operand, positions, updates;
  Combiner combiner;
  Type type, accumulator;
  Dims sizes, indices, chosen,
      slice; // of the operand; what numbers the updates; axes that positions choose; the others
  DimExpr count;
  bool isWide;     // all sums in f64
  int64_t carried; // floats that a sum in a slot consists of
  // Number of slots, the slot of each place (0: none), the place of each slot from 1 on.
  Value words;
  Value sums; // of slots: as many floats for each element as RunningTotal carries
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
  count = k.dims().product(indices);
  carried = type.isF64() ? 2 : 1;
  DimExpr elements = k.dims().resolve(k.dims().product(sizes));
  isWide = !type.isF64() && elements.isConstant() && elements.constant() <= kFewElements;
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

/// Bytes: one a group of places for its count, then words, then floats.
struct ScatterEmitter::Room {
  DimExpr counts, words, sums;
};

ScatterEmitter::Room ScatterEmitter::room(int64_t longest) {
  DimContext &dims = k.dims();
  if (isWide)
    return {dims.mul(dims.product(sizes), dims.constant(8)), dims.constant(0), dims.constant(0)};
  DimExpr places = dims.product(chosen), groups = dims.ceilDiv(places, dims.constant(kGroup));
  DimExpr slots = dims.min(places, dims.mul(dims.floorDiv(count, dims.constant(longest + 1)), dims.constant(kGroup)));
  DimExpr line = dims.constant(64), word = dims.constant(8);
  DimExpr floats = dims.mul(dims.mul(slots, dims.product(slice)), dims.constant(carried));
  return {dims.mul(dims.ceilDiv(groups, line), line),
          dims.mul(dims.add(dims.add(places, slots), dims.constant(2)), word), dims.mul(floats, word)};
}

DimExpr ScatterEmitter::workspaceBytes(int64_t longest) {
  Room bytes = room(longest);
  return k.dims().add(k.dims().add(bytes.counts, bytes.words), bytes.sums);
}

SmallVector<Value> ScatterEmitter::loadSums(Value at) {
  SmallVector<Value> values;
  for (int64_t i = 0; i < carried; ++i)
    values.push_back(memref::LoadOp::create(k.b, sums, ValueRange{k.add(at, k.fn.index(i))}));
  return values;
}

void ScatterEmitter::storeSums(ValueRange values, Value at) {
  for (auto [i, value] : llvm::enumerate(values))
    memref::StoreOp::create(k.b, value, sums, ValueRange{k.add(at, k.fn.index(i))});
}

void ScatterEmitter::overSlot(Value slot, ArrayRef<Value> place, llvm::function_ref<void(Value, Value)> body) {
  Value first = k.mul(k.sub(slot, k.fn.index(1)), k.size(k.dims().product(slice)));
  overSlice({}, place, [&](ArrayRef<Value> rest, ArrayRef<Value>, Value to) {
    body(k.mul(k.add(first, k.fn.offset(rest, slice)), k.fn.index(carried)), to);
  });
}

/// The slot of a place, a new one if it has none.
Value ScatterEmitter::slotOf(Value flat) {
  Value zero = k.fn.index(0), one = k.fn.index(1), places = k.size(k.dims().product(chosen));
  Value slots = k.loadWord(words, zero);
  auto isZero = [&](Value x) { return arith::CmpIOp::create(k.b, arith::CmpIPredicate::eq, x, zero); };
  k.ifThen(isZero(slots),
           [&] { k.fn.loop(one, k.add(places, one), 1, [&](Value at) { k.storeWord(words, zero, at); }); });
  Value entry = k.add(flat, one);
  k.ifThen(isZero(k.loadWord(words, entry)), [&] {
    Value slot = k.add(slots, one);
    k.storeWord(words, slot, zero);
    k.storeWord(words, slot, entry);
    k.storeWord(words, flat, k.add(places, slot));
    Value size = k.size(k.dims().product(slice));
    k.fn.loop(k.mul(slots, size), k.mul(slot, size), 1, [&](Value i) {
      RunningTotal total(k.fn, Combiner::add, type);
      storeSums(total.start, k.mul(i, k.fn.index(carried)));
    });
  });
  return k.loadWord(words, entry);
}

/// Moves the sum of a place to its slot.
void ScatterEmitter::spill(Value flat) {
  overSlot(slotOf(flat), k.fn.delinearize(flat, chosen), [&](Value at, Value to) {
    RunningTotal total(k.fn, Combiner::add, type);
    storeSums(total.next(loadSums(at), k.loadResult(0, to)), at);
    k.store(0, arith::ConstantOp::create(k.b, k.b.getFloatAttr(type, -0.0)), to);
  });
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

void ScatterEmitter::emitCounted(int64_t longest) {
  ImplicitLocOpBuilder &b = k.b;
  Value zero = k.fn.index(0), one = k.fn.index(1), places = k.size(k.dims().product(chosen));
  auto view = [&](Type type, Value from) -> Value {
    return memref::ViewOp::create(b, MemRefType::get({kHuge}, type), k.fn.workspace(), from, ValueRange{});
  };
  Room bytes = room(longest);
  Value counts = view(b.getI8Type(), zero);
  words = view(b.getI64Type(), k.size(bytes.counts));
  sums = view(b.getF64Type(), k.size(k.dims().add(bytes.counts, bytes.words)));
  Value groups = k.size(k.dims().ceilDiv(k.dims().product(chosen), k.dims().constant(kGroup)));
  // How many updates a group takes until its places move to their slots, the one that finds it full included.
  auto count = [&](int64_t number) { return arith::ConstantIntOp::create(b, b.getI8Type(), number); };
  Value fresh = count(longest + 1);
  k.fn.loop(zero, groups, 1, [&](Value at) { memref::StoreOp::create(b, fresh, counts, ValueRange{at}); });
  k.storeWord(words, zero, zero);
  k.nest(indices, [&](ArrayRef<Value> index) {
    Value inside = truth();
    SmallVector<Value> place = placeOf(index, inside);
    k.ifThen(inside, [&] {
      Value group = arith::DivUIOp::create(b, k.fn.offset(place, chosen), k.fn.index(kGroup));
      Value left = arith::SubIOp::create(b, memref::LoadOp::create(b, counts, ValueRange{group}), count(1));
      memref::StoreOp::create(b, left, counts, ValueRange{group});
      k.ifThen(arith::CmpIOp::create(b, arith::CmpIPredicate::eq, left, count(0)), [&] {
        Value low = k.mul(group, k.fn.index(kGroup)), high = k.min(k.add(low, k.fn.index(kGroup)), places);
        k.fn.loop(low, high, 1, [&](Value flat) { spill(flat); });
        memref::StoreOp::create(b, count(longest), counts, ValueRange{group});
      });
      overSlice(index, place,
                [&](ArrayRef<Value>, ArrayRef<Value> from, Value to) { combineAt(to, k.element(updates, from)); });
    });
  });
  k.fn.loop(one, k.add(k.loadWord(words, zero), one), 1, [&](Value slot) {
    SmallVector<Value> place = k.fn.delinearize(k.loadWord(words, k.add(places, slot)), chosen);
    overSlot(slot, place, [&](Value at, Value to) {
      RunningTotal total(k.fn, Combiner::add, type);
      k.store(0, total.value(total.next(loadSums(at), k.loadResult(0, to))), to);
    });
  });
}

/// No place takes more than `longest` updates one by one.
void ScatterEmitter::emit(int64_t longest) {
  if (longest != kNoBlocks)
    return isWide ? emitWide() : emitCounted(longest);
  k.nest(indices, [&](ArrayRef<Value> index) { update(index); });
}

/// Updates of one place that are added one by one at most. Narrow floats would be rounded after each.
static int64_t longestChain(KernelSpec &spec, Operation *root) {
  auto combiner = isa<ScatterElementsOp>(root) ? cast<ScatterElementsOp>(root).getCombiner()
                                               : cast<ScatterNdOp>(root).getCombiner();
  Type type = getElementTypeOrSelf(root->getOperand(0));
  if (combiner != Combiner::add || !isa<FloatType>(type))
    return kNoBlocks;
  int64_t longest = accumulatorType(type) == type ? kSumBlock : 1;
  Dims indices = spec.sizes->dims(root->getOperand(1));
  if (isa<ScatterNdOp>(root))
    indices.pop_back();
  DimExpr count = spec.dims.resolve(spec.dims.product(indices));
  return count.isConstant() && count.constant() <= longest ? kNoBlocks : longest;
}

Plan sinter::cpu::planScatter(KernelSpec &spec, ScheduleAttr) {
  if (!isa_and_nonnull<ScatterElementsOp, ScatterNdOp>(singleRoot(spec)))
    return Plan::refuse("it is no scatter alone");
  return {};
}

EmittedKernel sinter::cpu::emitScatter(KernelSpec &spec, ModuleOp module, StringRef name) {
  Operation *root = singleRoot(spec);
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
    k.workspaceBytes = scatter.workspaceBytes(longest);
  EmittedKernel emitted = k.finish();
  if (copies)
    return emitted;
  emitted.updates = static_cast<int64_t>(operand.getArgNumber());
  DimExpr count = spec.dims.resolve(spec.dims.product(spec.sizes->dims(root->getOperand(2))));
  if (count.isConstant())
    emitted.estimatedNs = spec.costs().updateCallNs + spec.costs().scatteredNs * static_cast<double>(count.constant());
  return emitted;
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// scatter_elements and scatter_nd: the operand is copied (by the schedule, unless result and operand are one buffer),
// then updates are combined one after the other, so that equal positions combine in index order. Positions outside are
// skipped. Slices are combined in lanes along their last axis.
//
// Where single elements are updated, the positions of a run of updates are looked at in vectors before, and the updates
// look at them one by one only where one is negative or outside.
//
// Sums in which one place may take more updates than one chain of additions holds (BlockSums.h) count the updates of
// each group of places. When a group has taken as many as a chain holds, the sums of its places move to a slot of their
// own and the places start again from nothing; slots are in f64 (RunningTotal.h), and come back to their places at the
// end. Most groups never have a slot, so that there are few: one for `longest + 1` updates at most. Sums of few
// elements are all in f64, of very few in several copies that updates take in turns: one need not wait for the one
// before it where both go to one place, as those of a histogram do.
//
// A scatter of many updates is split where its parts have nothing to do with each other: scatter_elements by rows of
// the first axis, unless positions lie there, scatter_nd by a part of each slice, for which each chunk goes through all
// positions. A chunk counts for itself, so that sums are the same for any number of threads.

#include "backends/cpu/emit/BlockSums.h"
#include "backends/cpu/emit/General.h"
#include "backends/cpu/emit/LaneLoop.h"
#include "backends/cpu/emit/RunningTotal.h"
#include "backends/cpu/emit/ScatterForm.h"
#include "backends/cpu/emit/ScatterParts.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// Elements that are always worth sums in f64, and those that are when each takes a few updates.
constexpr int64_t kFewElements = 4096, kFewUpdatedOften = 32768, kOften = 4;
/// Places that are counted together at least and at most: their counts stay in the first-level cache.
constexpr int64_t kSmallestGroup = 4, kLargestGroup = 32;
/// Updates whose positions are looked at together.
constexpr int64_t kRun = 512;
/// Copies of sums, and elements that have any: they stay in the first-level cache, and cost nothing beside the updates.
constexpr int64_t kCopies = 4, kCopiedElements = 512, kUpdatedToCopy = 64;
static_assert(kRun % kCopies == 0);

namespace {
class ScatterEmitter : ScatterForm {
public:
  explicit ScatterEmitter(SingleKernel &k);

  /// The whole kernel; `copies` says that the result begins as a copy of the operand. No place takes more than
  /// `longest` updates one by one.
  void emit(bool copies, int64_t longest);

private:
  void copyOperand();
  void emitUpdates(int64_t longest);
  DimExpr workspaceBytes(int64_t longest);
  struct Room;
  Room room(int64_t longest);
  using Update = llvm::function_ref<void(ArrayRef<Value> index, ArrayRef<Value> place)>;
  /// Calls `body` for each update in order, unless it goes nowhere: its index and where it goes, on the axes that
  /// positions choose.
  void overUpdates(Update body);
  bool looksAhead();
  void checkRuns(ArrayRef<Value> outer, Update body);
  bool hasCopies();
  /// No position of the updates in [low, low + kRun) on the last axis is negative or outside.
  Value isRunInside(ArrayRef<Value> outer, Value low);
  void updateAt(ArrayRef<Value> index, bool isKnownInside, Update body);
  /// `body(rest, from, to)` for the elements of a slice, or its part: the position there, that in the updates, and the
  /// result's offset.
  void overSlice(ArrayRef<Value> index, ArrayRef<Value> place,
                 llvm::function_ref<void(ArrayRef<Value> rest, ArrayRef<Value> from, Value to)> body);
  /// `old` combined with `update`, scalars or vectors.
  Value combined(Value old, Value update);
  void combineAt(Value to, Value update);
  int64_t lanesOfSlice();
  void combineSlice(ArrayRef<Value> index, ArrayRef<Value> place);

  void emitWide();
  void emitCounted(int64_t longest);
  int64_t groupSize(int64_t longest);
  DimExpr groups() { return k.dims().ceilDiv(k.dims().product(part.chosen), k.dims().constant(group)); }
  DimExpr slotSize() { return k.dims().mul(k.dims().product(part.slice), k.dims().constant(group)); }
  /// A position of the whole, from one of the part at hand: axis `first` of the result is its first one.
  SmallVector<Value> inWhole(ArrayRef<Value> position, int64_t first);
  Value flatInPart(Value flat) { return rowsBegin ? k.sub(flat, rowsBegin) : flat; }
  Value flatInWhole(Value flat) { return rowsBegin ? k.add(flat, rowsBegin) : flat; }
  int64_t firstOfSlice() const { return static_cast<int64_t>(chosen.size()); }
  void spill(Value number);
  Value slotOf(Value number);
  /// `body(at, to)` for the elements of the places of group `number`: where they are in `sums`, and in the result.
  void overSlot(Value slot, Value number, llvm::function_ref<void(Value at, Value to)> body);
  SmallVector<Value> loadSums(Value at);
  void storeSums(ValueRange values, Value at);

  Type accumulator;
  ScatterParts parts;
  struct {
    Dims sizes, indices, chosen, slice; // what those of the whole are for one part
  } part;
  Value begin, rowsBegin;       // where the part at hand begins on its axis; of rows, where in the result
  Value roomBegin;              // in the workspace
  DimExpr count;                // of a part's updates
  bool isWide;                  // all sums in f64
  int64_t carried;              // floats that a sum in a slot consists of
  int64_t copies = 1, copy = 0; // of all sums; the one that the update at hand goes to
  int64_t group = kSmallestGroup;
  // Number of slots, the slot of each group (0: none), the group of each slot from 1 on.
  Value words;
  Value sums; // of slots: as many floats for each element as RunningTotal carries
};
} // namespace

ScatterEmitter::ScatterEmitter(SingleKernel &k) : ScatterForm(k), accumulator(accumulatorType(type)) {
  carried = type.isF64() ? 2 : 1;
  DimExpr all = k.dims().resolve(k.dims().product(sizes)), updated = k.dims().resolve(k.dims().product(indices));
  bool isUpdatedOften = all.isConstant() && updated.isConstant() && all.constant() <= kFewUpdatedOften &&
                        updated.constant() / kOften >= all.constant();
  isWide = !type.isF64() && all.isConstant() && (all.constant() <= kFewElements || isUpdatedOften);
  parts = ScatterParts::of(*this, /*sharesSums=*/isWide);
  part = {parts.sizesOf(k.dims(), sizes, 0), parts.axis == 0 ? parts.sizesOf(k.dims(), indices, 0) : indices,
          parts.sizesOf(k.dims(), chosen, 0), parts.sizesOf(k.dims(), slice, firstOfSlice())};
  count = k.dims().product(part.indices);
}

SmallVector<Value> ScatterEmitter::inWhole(ArrayRef<Value> position, int64_t first) {
  SmallVector<Value> whole(position);
  if (int64_t axis = parts.axis - first; begin && axis >= 0 && axis < static_cast<int64_t>(whole.size()))
    whole[axis] = k.add(whole[axis], begin);
  return whole;
}

void ScatterEmitter::copyOperand() {
  k.nest(part.sizes, [&](ArrayRef<Value> position) {
    SmallVector<Value> at = inWhole(position, 0);
    k.store(0, k.element(operand, at), k.fn.offset(at, sizes));
  });
}

Value ScatterEmitter::combined(Value old, Value update) {
  bool wide = isUnsigned(type);
  Location loc = k.b.getLoc();
  Value next = combine(k.b, loc, combiner(), type, widen(k.b, loc, old, accumulator, wide),
                       widen(k.b, loc, update, accumulator, wide));
  return narrow(k.b, loc, next, type);
}

/// result[to] = result[to] combined with `update`.
void ScatterEmitter::combineAt(Value to, Value update) {
  k.store(0, combiner() == Combiner::set ? update : combined(k.loadResult(0, to), update), to);
}

/// Lanes along the last axis of slices; 1 where they are single elements, or cannot be built in lanes.
int64_t ScatterEmitter::lanesOfSlice() {
  if (slice.empty() || type.isInteger(1) || k.fn.spec.options.optLevel == 0 ||
      !KernelElements(k.fn, 2).canBuild(updates))
    return 1;
  int64_t lanes = k.fn.spec.target().lanes(std::max(byteWidth(type), byteWidth(accumulator)));
  DimExpr last = k.dims().resolve(part.slice.back());
  while (last.isConstant() && lanes > last.constant() && lanes > 1)
    lanes /= 2;
  return lanes;
}

/// The result's slice at `place`, combined with the update at `index`.
void ScatterEmitter::combineSlice(ArrayRef<Value> index, ArrayRef<Value> place) {
  int64_t lanes = lanesOfSlice();
  if (lanes == 1)
    return overSlice(index, place,
                     [&](ArrayRef<Value>, ArrayRef<Value> from, Value to) { combineAt(to, k.element(updates, from)); });
  k.nest(ArrayRef(part.slice).drop_back(), [&](ArrayRef<Value> outer) {
    LaneLoop(k.fn, part.slice.back(), lanes).forEach([&](KernelElements &elements, Value column) {
      SmallVector<Value> inPart(outer);
      inPart.push_back(column);
      SmallVector<Value> rest = inWhole(inPart, firstOfSlice());
      auto at = [&](ArrayRef<Value> before) {
        SmallVector<LaneIndex> position = elements.uniform(before);
        llvm::append_range(position, elements.uniform(ArrayRef(rest).drop_back()));
        position.push_back(LaneLoop::at(elements, rest.back()));
        return position;
      };
      Value update = elements.load(updates, at(index));
      for (unsigned i : k.resultsOf(0)) {
        Value next = combiner() == Combiner::set ? update : combined(elements.loadResult(i, at(place)), update);
        elements.storeResult(i, next, at(place));
      }
    });
  });
}

void ScatterEmitter::updateAt(ArrayRef<Value> index, bool isKnownInside, Update body) {
  Value inside = truth();
  SmallVector<Value> place = placeOf(index, isKnownInside, inside);
  k.ifThen(inside, [&] { body(index, place); });
}

void ScatterEmitter::overUpdates(Update body) {
  // Rows are the first axis of updates, too, and never their last one; parts of slices are none of their axes.
  auto at = [&](ArrayRef<Value> index) { return elements ? inWhole(index, 0) : SmallVector<Value>(index); };
  if (!looksAhead())
    return k.nest(part.indices, [&](ArrayRef<Value> index) { updateAt(at(index), /*isKnownInside=*/false, body); });
  k.nest(ArrayRef(part.indices).drop_back(), [&](ArrayRef<Value> outer) { checkRuns(at(outer), body); });
}

/// Beside larger slices the positions cost nothing.
bool ScatterEmitter::looksAhead() {
  if (k.fn.spec.options.optLevel == 0 || indices.empty() || (slices && chosen.size() != 1))
    return false;
  DimExpr moved = k.dims().resolve(k.dims().product(slice)), row = k.dims().resolve(indices.back());
  return (elements || (moved.isConstant() && moved.constant() == 1)) && !(row.isConstant() && row.constant() < kRun) &&
         lanesOfKernel(k.fn.spec, row, 8) > 1 && KernelElements(k.fn, 2).canBuild(positions);
}

void ScatterEmitter::checkRuns(ArrayRef<Value> outer, Update body) {
  Value end = k.size(indices.back());
  k.fn.loop(k.fn.index(0), end, kRun, [&](Value low) {
    Value whole = k.add(low, k.fn.index(kRun)), high = k.min(whole, end);
    auto isWhole = scf::IfOp::create(
        k.b, k.less(end, whole), [&](OpBuilder &b, Location loc) { scf::YieldOp::create(b, loc, k.negate(truth())); },
        [&](OpBuilder &b, Location loc) { scf::YieldOp::create(b, loc, isRunInside(outer, low)); });
    auto updates = [&](Value from, Value to, bool isKnownInside) {
      int64_t together = isKnownInside ? copies : 1;
      k.fn.loop(from, to, together, [&](Value i) {
        for (copy = 0; copy < together; ++copy) {
          SmallVector<Value> index(outer);
          index.push_back(k.add(i, k.fn.index(copy)));
          updateAt(index, isKnownInside, body);
        }
        copy = 0;
      });
    };
    k.fn.branch(
        isWhole.getResult(0), [&] { updates(low, whole, /*isKnownInside=*/true); },
        [&] { updates(low, high, /*isKnownInside=*/false); });
  });
}

Value ScatterEmitter::isRunInside(ArrayRef<Value> outer, Value low) {
  ImplicitLocOpBuilder &b = k.b;
  int64_t lanes = lanesOfKernel(k.fn.spec, indices.back(), 8), together = std::min<int64_t>(4 * lanes, kRun);
  KernelElements vectors(k.fn, lanes);
  Value size = k.size(slices ? chosen.front() : sizes[elements.getAxis()]);
  Value last = vectors.splat(k.sub(size, k.fn.index(1)));
  Value none = arith::ConstantOp::create(b, b.getZeroAttr(last.getType()));
  // The sign of x | (last - x) says that x is negative or more than the last.
  Value signs = k.fn.loop(low, k.add(low, k.fn.index(kRun)), together, ValueRange{none},
                          [&](Value from, ValueRange carried) -> SmallVector<Value> {
                            Value seen = carried.front();
                            for (int64_t first = 0; first < together; first += lanes) {
                              SmallVector<LaneIndex> at = vectors.uniform(outer);
                              at.push_back(LaneLoop::at(vectors, k.add(from, k.fn.index(first))));
                              if (slices)
                                at.push_back(vectors.constant(0));
                              Value x = vectors.toValue(vectors.fromValue(vectors.load(positions, at)));
                              Value above = arith::SubIOp::create(b, last, x);
                              seen = arith::OrIOp::create(b, seen, arith::OrIOp::create(b, x, above));
                            }
                            return {seen};
                          })
                    .front();
  auto integers = VectorType::get({lanes}, b.getI64Type());
  Value all = vector::ReductionOp::create(b, vector::CombiningKind::OR,
                                          arith::IndexCastOp::create(b, integers, signs).getResult());
  return arith::CmpIOp::create(b, arith::CmpIPredicate::sge, all, arith::ConstantIntOp::create(b, b.getI64Type(), 0));
}

void ScatterEmitter::overSlice(ArrayRef<Value> index, ArrayRef<Value> place,
                               llvm::function_ref<void(ArrayRef<Value>, ArrayRef<Value>, Value)> body) {
  k.nest(part.slice, [&](ArrayRef<Value> rest) {
    SmallVector<Value> from(index), to(place), whole = inWhole(rest, firstOfSlice());
    llvm::append_range(from, whole);
    llvm::append_range(to, whole);
    body(rest, from, k.fn.offset(to, sizes));
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
    return {dims.mul(dims.product(part.sizes), dims.constant(8 * (hasCopies() ? kCopies : 1))), dims.constant(0),
            dims.constant(0)};
  DimExpr slots = dims.min(groups(), dims.floorDiv(count, dims.constant(longest + 1)));
  DimExpr line = dims.constant(64), word = dims.constant(8);
  DimExpr floats = dims.mul(dims.mul(slots, slotSize()), dims.constant(carried));
  return {dims.mul(dims.ceilDiv(groups(), line), line),
          dims.mul(dims.add(dims.add(groups(), slots), dims.constant(2)), word), dims.mul(floats, word)};
}

/// Larger groups have fewer counts to go through, but move to their slots more often: a group should not expect more
/// than half of what a chain holds.
int64_t ScatterEmitter::groupSize(int64_t longest) {
  DimExpr updated = k.dims().resolve(count), places = k.dims().resolve(k.dims().product(part.chosen));
  int64_t size = kSmallestGroup;
  if (!updated.isConstant() || !places.isConstant())
    return size;
  auto expected = [&](int64_t of) {
    return static_cast<double>(of) * static_cast<double>(updated.constant()) / static_cast<double>(places.constant());
  };
  while (size < kLargestGroup && 2 * expected(2 * size) <= static_cast<double>(longest))
    size *= 2;
  return size;
}

DimExpr ScatterEmitter::workspaceBytes(int64_t longest) {
  group = groupSize(longest);
  Room bytes = room(longest);
  DimExpr all = k.dims().add(k.dims().add(bytes.counts, bytes.words), bytes.sums), line = k.dims().constant(64);
  return k.dims().mul(k.dims().ceilDiv(all, line), line);
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

void ScatterEmitter::overSlot(Value slot, Value number, llvm::function_ref<void(Value, Value)> body) {
  Value first = k.mul(k.sub(slot, k.fn.index(1)), k.size(slotSize()));
  Value low = k.mul(number, k.fn.index(group));
  Value high = k.min(k.add(low, k.fn.index(group)), k.size(k.dims().product(part.chosen)));
  k.fn.loop(low, high, 1, [&](Value flat) {
    Value from = k.add(first, k.mul(k.sub(flat, low), k.size(k.dims().product(part.slice))));
    SmallVector<Value> place = inWhole(k.fn.delinearize(flat, part.chosen), 0);
    overSlice({}, place, [&](ArrayRef<Value> rest, ArrayRef<Value>, Value to) {
      body(k.mul(k.add(from, k.fn.offset(rest, part.slice)), k.fn.index(carried)), to);
    });
  });
}

/// The slot of a group, a new one if it has none.
Value ScatterEmitter::slotOf(Value number) {
  Value zero = k.fn.index(0), one = k.fn.index(1), all = k.size(groups());
  Value slots = k.loadWord(words, zero);
  auto isZero = [&](Value x) { return arith::CmpIOp::create(k.b, arith::CmpIPredicate::eq, x, zero); };
  k.ifThen(isZero(slots), [&] { k.fn.loop(one, k.add(all, one), 1, [&](Value at) { k.storeWord(words, zero, at); }); });
  Value entry = k.add(number, one);
  k.ifThen(isZero(k.loadWord(words, entry)), [&] {
    Value slot = k.add(slots, one);
    k.storeWord(words, slot, zero);
    k.storeWord(words, slot, entry);
    k.storeWord(words, number, k.add(all, slot));
    Value size = k.size(slotSize());
    k.fn.loop(k.mul(slots, size), k.mul(slot, size), 1, [&](Value i) {
      RunningTotal total(k.fn, Combiner::add, type);
      storeSums(total.start, k.mul(i, k.fn.index(carried)));
    });
  });
  return k.loadWord(words, entry);
}

/// Moves the sums of a group to its slot.
void ScatterEmitter::spill(Value number) {
  overSlot(slotOf(number), number, [&](Value at, Value to) {
    RunningTotal total(k.fn, Combiner::add, type);
    storeSums(total.next(loadSums(at), k.loadResult(0, to)), at);
    k.store(0, arith::ConstantOp::create(k.b, k.b.getFloatAttr(type, -0.0)), to);
  });
}

bool ScatterEmitter::hasCopies() {
  DimExpr all = k.dims().resolve(k.dims().product(part.sizes)), updated = k.dims().resolve(count);
  return isWide && all.isConstant() && updated.isConstant() && all.constant() <= kCopiedElements &&
         updated.constant() / kUpdatedToCopy >= all.constant() && looksAhead();
}

/// Sums of narrower floats, in f64.
void ScatterEmitter::emitWide() {
  ImplicitLocOpBuilder &b = k.b;
  Location loc = b.getLoc();
  Type f64 = b.getF64Type();
  Value sums = memref::ViewOp::create(b, MemRefType::get({kHuge}, f64), k.fn.workspace(), roomBegin, ValueRange{});
  auto widened = [&](Value value) -> Value {
    return arith::ExtFOp::create(b, f64, widen(b, loc, value, accumulator, /*isUnsigned=*/false));
  };
  Value zero = k.fn.index(0), elements = k.size(k.dims().product(part.sizes));
  copies = hasCopies() ? kCopies : 1;
  auto inCopy = [&](Value at, int64_t number) { return k.add(at, k.mul(elements, k.fn.index(number))); };
  k.fn.loop(zero, elements, 1, [&](Value at) {
    memref::StoreOp::create(b, widened(k.loadResult(0, flatInWhole(at))), sums, ValueRange{at});
    for (int64_t other = 1; other < copies; ++other) {
      Value nothing = arith::ConstantOp::create(b, b.getF64FloatAttr(-0.0));
      memref::StoreOp::create(b, nothing, sums, ValueRange{inCopy(at, other)});
    }
  });
  overUpdates([&](ArrayRef<Value> index, ArrayRef<Value> place) {
    overSlice(index, place, [&](ArrayRef<Value>, ArrayRef<Value> from, Value to) {
      Value mine = inCopy(flatInPart(to), copy), old = memref::LoadOp::create(b, sums, ValueRange{mine});
      Value next = arith::AddFOp::create(b, old, widened(k.element(updates, from)));
      memref::StoreOp::create(b, next, sums, ValueRange{mine});
    });
  });
  k.fn.loop(zero, elements, 1, [&](Value at) {
    Value sum = memref::LoadOp::create(b, sums, ValueRange{at});
    for (int64_t other = 1; other < copies; ++other)
      sum = arith::AddFOp::create(b, sum, memref::LoadOp::create(b, sums, ValueRange{inCopy(at, other)}));
    k.store(0, narrow(b, loc, arith::TruncFOp::create(b, accumulator, sum), type), flatInWhole(at));
  });
}

void ScatterEmitter::emitCounted(int64_t longest) {
  ImplicitLocOpBuilder &b = k.b;
  Value zero = k.fn.index(0), one = k.fn.index(1);
  auto view = [&](Type type, Value from) -> Value {
    return memref::ViewOp::create(b, MemRefType::get({kHuge}, type), k.fn.workspace(), k.add(roomBegin, from),
                                  ValueRange{});
  };
  group = groupSize(longest);
  Room bytes = room(longest);
  Value counts = view(b.getI8Type(), zero);
  words = view(b.getI64Type(), k.size(bytes.counts));
  sums = view(b.getF64Type(), k.size(k.dims().add(bytes.counts, bytes.words)));
  // How many updates a group takes until its places move to their slot, the one that finds it full included.
  auto count = [&](int64_t number) { return arith::ConstantIntOp::create(b, b.getI8Type(), number); };
  Value fresh = count(longest + 1);
  k.fn.loop(zero, k.size(groups()), 1, [&](Value at) { memref::StoreOp::create(b, fresh, counts, ValueRange{at}); });
  k.storeWord(words, zero, zero);
  overUpdates([&](ArrayRef<Value> index, ArrayRef<Value> place) {
    Value flat = flatInPart(k.fn.offset(place, chosen)), number = arith::DivUIOp::create(b, flat, k.fn.index(group));
    Value left = arith::SubIOp::create(b, memref::LoadOp::create(b, counts, ValueRange{number}), count(1));
    memref::StoreOp::create(b, left, counts, ValueRange{number});
    k.ifThen(arith::CmpIOp::create(b, arith::CmpIPredicate::eq, left, count(0)), [&] {
      spill(number);
      memref::StoreOp::create(b, count(longest), counts, ValueRange{number});
    });
    combineSlice(index, place);
  });
  k.fn.loop(one, k.add(k.loadWord(words, zero), one), 1, [&](Value slot) {
    overSlot(slot, k.loadWord(words, k.add(k.size(groups()), slot)), [&](Value at, Value to) {
      RunningTotal total(k.fn, Combiner::add, type);
      k.store(0, total.value(total.next(loadSums(at), k.loadResult(0, to))), to);
    });
  });
}

void ScatterEmitter::emitUpdates(int64_t longest) {
  if (longest != kNoBlocks)
    return isWide ? emitWide() : emitCounted(longest);
  overUpdates([&](ArrayRef<Value> index, ArrayRef<Value> place) { combineSlice(index, place); });
}

void ScatterEmitter::emit(bool copies, int64_t longest) {
  DimContext &dims = k.dims();
  DimExpr bytes = longest == kNoBlocks ? dims.constant(0) : workspaceBytes(longest);
  auto emitPart = [&] {
    if (copies)
      copyOperand();
    emitUpdates(longest);
  };
  roomBegin = k.fn.index(0);
  if (parts.count == 1) {
    emitPart();
  } else {
    k.fn.loop(k.fn.begin(), k.fn.end(), 1, [&](Value chunk) {
      begin = k.mul(chunk, k.fn.index(parts.size));
      roomBegin = k.mul(chunk, k.size(bytes));
      if (parts.axis == 0)
        rowsBegin = k.mul(begin, k.size(dims.product(ArrayRef(sizes).drop_front())));
      emitPart();
    });
    k.chunks = dims.constant(parts.count);
  }
  if (longest != kNoBlocks)
    k.workspaceBytes = dims.mul(bytes, dims.constant(parts.count));
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
  if (!ScatterForm::isRoot(singleRoot(spec)))
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
  ScatterEmitter(k).emit(copies, longest);
  EmittedKernel emitted = k.finish();
  if (copies)
    return emitted;
  emitted.updates = static_cast<int64_t>(operand.getArgNumber());
  DimExpr count = spec.dims.resolve(spec.dims.product(spec.sizes->dims(root->getOperand(2))));
  if (count.isConstant())
    emitted.estimatedNs = spec.costs().updateCallNs + spec.costs().scatteredNs * static_cast<double>(count.constant());
  return emitted;
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nonzero, compress, unique and non_max_suppression: a first pass counts what stays, because rows of the result cannot
// be placed before their number is known; then it is written. One chunk, in order.

#include "backends/cpu/emit/KeyOrder.h"
#include "ir/Indexing.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// Number of positions of `sizes` for which `keep` holds; `visit` sees each of them with its number.
static Value countKept(SingleKernel &k, ArrayRef<DimExpr> sizes, function_ref<Value(ArrayRef<Value>)> keep,
                       function_ref<void(ArrayRef<Value>, Value)> visit) {
  SmallVector<Value> position;
  std::function<Value(Value)> level = [&](Value count) -> Value {
    if (position.size() < sizes.size())
      return k.fn
          .loop(k.fn.index(0), k.size(sizes[position.size()]), 1, ValueRange{count},
                [&](Value i, ValueRange carried) -> SmallVector<Value> {
                  position.push_back(i);
                  Value next = level(carried.front());
                  position.pop_back();
                  return {next};
                })
          .front();
    Value kept = keep(position);
    if (visit)
      k.ifThen(kept, [&] { visit(position, count); });
    return k.add(count, k.select(kept, k.fn.index(1), k.fn.index(0)));
  };
  return level(k.fn.index(0));
}

static EmittedKernel emitNonzero(SingleKernel &k, NonzeroOp op) {
  Dims sizes = k.sizesOf(op.getOperand());
  auto keep = [&](ArrayRef<Value> at) -> Value {
    Value value = k.element(op.getOperand(), at);
    if (value.getType().isInteger(1))
      return value;
    Value zero = arith::ConstantOp::create(k.b, k.b.getZeroAttr(value.getType()));
    if (isa<FloatType>(value.getType()))
      return arith::CmpFOp::create(k.b, arith::CmpFPredicate::UNE, value, zero);
    return arith::CmpIOp::create(k.b, arith::CmpIPredicate::ne, value, zero);
  };
  Value total = countKept(k, sizes, keep, nullptr);
  countKept(k, sizes, keep, [&](ArrayRef<Value> at, Value number) {
    for (auto [axis, position] : llvm::enumerate(at))
      k.store(0, k.asInt64(position), k.add(k.mul(k.fn.index(axis), total), number));
  });
  k.writeSizes({{0, 1, total}});
  DimContext &dims = k.dims();
  return k.finish({dims.mul(dims.product(sizes), dims.constant(sizes.size()))});
}

/// Copies slices of `axis` to result 0, which has `count` of them: slice `from` of the operand becomes slice `to`.
static void copySlice(SingleKernel &k, Value operand, int64_t axis, Value count, Value from, Value to) {
  Dims sizes = k.sizesOf(operand), rest = sizes;
  rest[axis] = k.dims().constant(1);
  k.nest(rest, [&](ArrayRef<Value> at) {
    Value offset = k.fn.index(0);
    for (auto [i, position] : llvm::enumerate(at)) {
      bool isAxis = static_cast<int64_t>(i) == axis;
      offset = k.add(k.mul(offset, isAxis ? count : k.size(sizes[i])), isAxis ? to : position);
    }
    SmallVector<Value> source(at);
    source[axis] = from;
    k.store(0, k.element(operand, source), offset);
  });
}

/// The sizes of result 0, which has `count` slices of `axis` and otherwise the operand's sizes.
static SmallVector<SingleKernel::WrittenSize> sizesOfSlices(SingleKernel &k, Value operand, int64_t axis, Value count) {
  SmallVector<SingleKernel::WrittenSize> written;
  for (auto [i, size] : llvm::enumerate(k.sizesOf(operand)))
    written.push_back({0, static_cast<int64_t>(i), static_cast<int64_t>(i) == axis ? count : k.size(size)});
  return written;
}

static EmittedKernel emitCompress(SingleKernel &k, CompressOp op) {
  int64_t axis = op.getAxis();
  Dims sizes = k.sizesOf(op.getOperand());
  // A mask that is longer than the axis selects nothing there.
  Dims looked{k.dims().min(k.sizesOf(op.getMask())[0], sizes[axis])};
  auto keep = [&](ArrayRef<Value> at) { return k.element(op.getMask(), at); };
  Value total = countKept(k, looked, keep, nullptr);
  countKept(k, looked, keep,
            [&](ArrayRef<Value> at, Value number) { copySlice(k, op.getOperand(), axis, total, at[0], number); });
  k.writeSizes(sizesOfSlices(k, op.getOperand(), axis, total));
  return k.finish({k.dims().product(sizes)});
}

//===- unique --------------------------------------------------------------------------------===//

/// Slice x of the axis goes before slice y: the first elements that differ decide.
static Value sliceBefore(SingleKernel &k, Value operand, int64_t axis, Value x, Value y) {
  Dims rest = k.sizesOf(operand);
  rest[axis] = k.dims().constant(1);
  Type type = getElementTypeOrSelf(operand);
  Value no = arith::ConstantIntOp::create(k.b, k.b.getI1Type(), 0);
  SmallVector<Value> position;
  std::function<SmallVector<Value>(ValueRange)> level = [&](ValueRange state) -> SmallVector<Value> {
    if (position.size() < rest.size()) {
      if (static_cast<int64_t>(position.size()) == axis) {
        position.push_back(x);
        SmallVector<Value> next = level(state);
        position.pop_back();
        return next;
      }
      return k.fn.loop(k.fn.index(0), k.size(rest[position.size()]), 1, state,
                       [&](Value i, ValueRange carried) -> SmallVector<Value> {
                         position.push_back(i);
                         SmallVector<Value> next = level(carried);
                         position.pop_back();
                         return next;
                       });
    }
    SmallVector<Value> other(position);
    other[axis] = y;
    Value a = k.element(operand, position), b = k.element(operand, other);
    Value open = k.negate(state[0]), isBefore = k.before(type, a, b, false);
    Value decided = k.either(state[0], k.either(isBefore, k.before(type, b, a, false)));
    return {decided, k.either(state[1], k.both(open, isBefore))};
  };
  return level(ValueRange{no, no})[1];
}

/// Sorts the slices of the axis stably. Returns where their numbers begin in the workspace, whose first two words for
/// each slice, and those from `scratch` words a slice on, are free; adds what it takes there to `taken`.
static Value sortSlices(SingleKernel &k, UniqueOp op, int64_t scratch, DimExpr &taken) {
  Value operand = op.getOperand(), zero = k.fn.index(0);
  int64_t axis = op.getAxis();
  Dims sizes = k.sizesOf(operand), rest = sizes;
  rest.erase(rest.begin() + axis);
  DimExpr ofSlice = k.dims().resolve(k.dims().product(rest));
  Value n = k.size(sizes[axis]);
  if (!ofSlice.isConstant() || ofSlice.constant() != 1)
    return k.mergeSort(k.workspaceWords(), zero, n,
                       [&](Value x, Value y) { return sliceBefore(k, operand, axis, x, y); });
  Type type = getElementTypeOrSelf(operand);
  KeyOrder order(k, type, /*descending=*/false, sizes[axis], /*keepsAll=*/true, keyLanes(k.fn.spec.target(), type));
  order.emitPositions(k.mul(n, k.fn.index(scratch)), zero, [&](Value position) {
    SmallVector<Value> at(sizes.size(), zero);
    at[axis] = position;
    return k.element(operand, at);
  });
  taken = k.dims().add(taken, order.words());
  return zero;
}

static EmittedKernel emitUnique(SingleKernel &k, UniqueOp op) {
  Value operand = op.getOperand();
  int64_t axis = op.getAxis();
  Dims sizes = k.sizesOf(operand);
  DimExpr length = sizes[axis];
  Value n = k.size(length), zero = k.fn.index(0), one = k.fn.index(1);
  Value words = k.workspaceWords();
  auto isBefore = [&](Value x, Value y) { return sliceBefore(k, operand, axis, x, y); };
  constexpr int64_t parts = 6; // words of a slice
  DimExpr taken = k.dims().mul(length, k.dims().constant(parts));
  Value sorted = sortSlices(k, op, parts, taken);
  // Behind what holds the order: the group of each slice, then of each group its first slice, size and final number.
  auto part = [&](int64_t i) { return k.mul(n, k.fn.index(i)); };
  Value groupOf = part(2), firstOf = part(3), countOf = part(4), numberOf = part(5);
  Value groups =
      k.fn.loop(zero, n, 1, ValueRange{zero},
                [&](Value i, ValueRange carried) -> SmallVector<Value> {
                  Value slice = k.loadWord(words, k.add(sorted, i));
                  Value previous = k.loadWord(words, k.add(sorted, k.max(k.sub(i, one), zero)));
                  Value isNew = k.either(arith::CmpIOp::create(k.b, arith::CmpIPredicate::eq, i, zero),
                                         isBefore(previous, slice));
                  Value groups = k.add(carried.front(), k.select(isNew, one, zero)), group = k.sub(groups, one);
                  k.storeWord(words, group, k.add(groupOf, slice));
                  k.ifThen(isNew, [&] {
                    k.storeWord(words, slice, k.add(firstOf, group)); // a run of equals begins with the first of them
                    k.storeWord(words, zero, k.add(countOf, group));
                  });
                  Value count = k.loadWord(words, k.add(countOf, group));
                  k.storeWord(words, k.add(count, one), k.add(countOf, group));
                  return {groups};
                })
          .front();
  if (op.getSorted()) {
    k.fn.loop(zero, groups, 1, [&](Value group) { k.storeWord(words, group, k.add(numberOf, group)); });
  } else {
    // Groups are numbered as their first slices come by.
    k.fn.loop(zero, n, 1, ValueRange{zero}, [&](Value slice, ValueRange carried) -> SmallVector<Value> {
      Value group = k.loadWord(words, k.add(groupOf, slice));
      Value first = k.loadWord(words, k.add(firstOf, group));
      Value isFirst = arith::CmpIOp::create(k.b, arith::CmpIPredicate::eq, first, slice);
      k.ifThen(isFirst, [&] { k.storeWord(words, carried.front(), k.add(numberOf, group)); });
      return {k.add(carried.front(), k.select(isFirst, one, zero))};
    });
  }
  k.fn.loop(zero, groups, 1, [&](Value group) {
    Value number = k.loadWord(words, k.add(numberOf, group)), first = k.loadWord(words, k.add(firstOf, group));
    if (k.isYielded(0))
      copySlice(k, operand, axis, groups, first, number);
    k.store(1, k.asInt64(first), number);
    k.store(3, k.asInt64(k.loadWord(words, k.add(countOf, group))), number);
  });
  k.fn.loop(zero, n, 1, [&](Value slice) {
    Value group = k.loadWord(words, k.add(groupOf, slice));
    k.store(2, k.asInt64(k.loadWord(words, k.add(numberOf, group))), slice);
  });
  SmallVector<SingleKernel::WrittenSize> written = sizesOfSlices(k, operand, axis, groups);
  written.append({{1, 0, groups}, {2, 0, n}, {3, 0, groups}});
  k.writeSizes(written);
  k.workspaceBytes = k.dims().mul(taken, k.dims().constant(8));
  return k.finish({k.dims().product(sizes), length, length, length});
}

//===- non-maximum suppression ---------------------------------------------------------------===//

namespace {
struct Corners {
  Value y1, x1, y2, x2;
};

/// Arithmetic of f32 scalars, or of `lanes` of them.
struct BoxMath {
  ImplicitLocOpBuilder &b;
  Value add(Value x, Value y) const { return arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) const { return arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) const { return arith::MulFOp::create(b, x, y); }
  Value min(Value x, Value y) const { return arith::MinNumFOp::create(b, x, y); }
  Value max(Value x, Value y) const { return arith::MaxNumFOp::create(b, x, y); }
  Value above(Value x, Value y) const { return arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, x, y); }
  Value number(float value) const { return arith::ConstantOp::create(b, b.getF32FloatAttr(value)); }
  Value area(const Corners &c) const { return mul(sub(c.y2, c.y1), sub(c.x2, c.x1)); }
};

/// The boxes of a class that stay: their numbers, and in columns beside each other their corners and areas, which a
/// candidate is compared with in lanes.
class KeptBoxes {
public:
  /// At word `first` of the workspace, for up to `count` boxes.
  KeptBoxes(SingleKernel &k, Value first, DimExpr count)
      : k(k), b(k.b), m{k.b}, lanes(k.fn.spec.target().lanes(4)), vectorType(VectorType::get({lanes}, b.getF32Type())),
        pitch(k.dims().add(count, k.dims().constant(lanes))), base(k.mul(first, k.fn.index(2))) {
    auto type = MemRefType::get({kHuge}, b.getF32Type());
    columns = memref::ViewOp::create(b, type, k.fn.workspace(), k.fn.index(0), ValueRange{});
  }

  /// Words of the workspace.
  DimExpr words() { return k.dims().mul(pitch, k.dims().constant((kColumns + 1) / 2)); }

  void add(const Corners &box, Value number);
  /// One of the first `count` boxes overlaps `box` by more than `threshold` of their union.
  Value cover(const Corners &box, Value count, Value threshold);

private:
  static constexpr int64_t kColumns = 5;
  Value at(int64_t column, Value number) {
    return k.add(k.add(base, k.mul(k.fn.index(column), k.size(pitch))), number);
  }
  Value spread(Value value) { return vector::BroadcastOp::create(b, vectorType, value); }

  SingleKernel &k;
  ImplicitLocOpBuilder &b;
  BoxMath m;
  int64_t lanes;
  VectorType vectorType;
  DimExpr pitch;
  Value base, columns;
};
} // namespace

void KeptBoxes::add(const Corners &box, Value number) {
  for (auto [column, value] : llvm::enumerate(SmallVector<Value>{box.y1, box.x1, box.y2, box.x2, m.area(box)}))
    memref::StoreOp::create(b, value, columns, ValueRange{at(static_cast<int64_t>(column), number)});
}

Value KeptBoxes::cover(const Corners &box, Value count, Value threshold) {
  Value no = arith::ConstantIntOp::create(b, b.getI1Type(), 0), zero = spread(m.number(0));
  Corners a{spread(box.y1), spread(box.x1), spread(box.y2), spread(box.x2)};
  Value area = m.area(a), least = spread(threshold);
  return k.whileLoop(
      {k.fn.index(0), no}, [&](ValueRange state) { return k.both(k.less(state[0], count), k.negate(state[1])); },
      [&](ValueRange state) -> SmallVector<Value> {
        SmallVector<Value> c;
        for (int64_t column = 0; column < kColumns; ++column)
          c.push_back(vector::LoadOp::create(b, vectorType, columns, ValueRange{at(column, state[0])}));
        Value height = m.sub(m.min(a.y2, c[2]), m.max(a.y1, c[0])), width = m.sub(m.min(a.x2, c[3]), m.max(a.x1, c[1]));
        Value sane = k.both(k.both(m.above(height, zero), m.above(width, zero)),
                            k.both(m.above(area, zero), m.above(c[4], zero)));
        Value common = m.mul(height, width), whole = m.sub(m.add(area, c[4]), common);
        Value covers = k.both(sane, m.above(arith::DivFOp::create(b, common, whole), least));
        Value isThere = vector::CreateMaskOp::create(b, VectorType::get({lanes}, b.getI1Type()),
                                                     ValueRange{k.sub(count, state[0])});
        Value any = vector::ReductionOp::create(b, vector::CombiningKind::OR, k.both(covers, isThere));
        return {k.add(state[0], k.fn.index(lanes)), any};
      })[1];
}

static Corners readBox(SingleKernel &k, NonMaxSuppressionOp op, Value batch, Value box) {
  BoxMath m{k.b};
  Value v[4];
  for (int64_t i = 0; i < 4; ++i)
    v[i] = k.element(op.getBoxes(), {batch, box, k.fn.index(i)});
  if (op.getCenterPointBox()) {
    Value height = m.mul(v[3], m.number(0.5f)), width = m.mul(v[2], m.number(0.5f));
    return {m.sub(v[1], height), m.sub(v[0], width), m.add(v[1], height), m.add(v[0], width)};
  }
  return {m.min(v[0], v[2]), m.min(v[1], v[3]), m.max(v[0], v[2]), m.max(v[1], v[3])};
}

static EmittedKernel emitSuppression(SingleKernel &k, NonMaxSuppressionOp op) {
  DimContext &dims = k.dims();
  Dims sizes = k.sizesOf(op.getScores());
  Value count = k.size(sizes[2]), zero = k.fn.index(0), one = k.fn.index(1);
  Value words = k.workspaceWords();
  Value most = k.indexElement(op.getMaxPerClass(), {});
  Value threshold = k.element(op.getIouThreshold(), {}), least = k.element(op.getScoreThreshold(), {});
  BoxMath m{k.b};
  // In the workspace: boxes by falling score, what sorts them, the boxes that stay.
  Type type = k.b.getF32Type();
  KeyOrder order(k, type, /*descending=*/true, sizes[2], /*keepsAll=*/true, keyLanes(k.fn.spec.target(), type));
  DimExpr behindOrder = dims.add(sizes[2], order.words());
  KeptBoxes kept(k, k.size(behindOrder), sizes[2]);
  auto keepOfClass = [&](Value batch, Value kind, Value before) {
    auto score = [&](Value box) { return k.element(op.getScores(), {batch, kind, box}); };
    order.emitPositions(count, zero, score);
    // Those with too low a score come last.
    Value candidates = k.fn.loop(zero, count, 1, ValueRange{zero},
                                 [&](Value box, ValueRange found) -> SmallVector<Value> {
                                   return {k.add(found[0], k.select(m.above(score(box), least), one, zero))};
                                 })
                           .front();
    return k.whileLoop(
        {zero, zero}, [&](ValueRange state) { return k.both(k.less(state[0], candidates), k.less(state[1], most)); },
        [&](ValueRange state) -> SmallVector<Value> {
          Value number = state[1], box = k.loadWord(words, state[0]);
          Corners corners = readBox(k, op, batch, box);
          Value stays = k.negate(kept.cover(corners, number, threshold));
          k.ifThen(stays, [&] {
            kept.add(corners, number);
            Value row = k.mul(k.add(before, number), k.fn.index(3));
            for (auto [column, value] : llvm::enumerate(SmallVector<Value>{batch, kind, box}))
              k.store(0, k.asInt64(value), k.add(row, k.fn.index(column)));
          });
          return {k.add(state[0], one), k.add(number, k.select(stays, one, zero))};
        })[1];
  };
  Value total = k.fn.loop(zero, k.size(sizes[0]), 1, ValueRange{zero},
                          [&](Value batch, ValueRange outer) {
                            return k.fn.loop(zero, k.size(sizes[1]), 1, outer,
                                             [&](Value kind, ValueRange before) -> SmallVector<Value> {
                                               return {k.add(before[0], keepOfClass(batch, kind, before[0]))};
                                             });
                          })
                    .front();
  k.writeSizes({{0, 0, total}});
  k.workspaceBytes = dims.mul(dims.add(behindOrder, kept.words()), dims.constant(8));
  return k.finish({dims.mul(dims.product(sizes), dims.constant(3))});
}

Plan sinter::cpu::planSelection(KernelSpec &spec, ScheduleAttr) {
  if (!isa_and_nonnull<NonzeroOp, CompressOp, UniqueOp, NonMaxSuppressionOp>(singleRoot(spec)))
    return Plan::refuse("it is no op alone whose result's size depends on data");
  return {};
}

EmittedKernel sinter::cpu::emitSelection(KernelSpec &spec, ModuleOp module, StringRef name) {
  Operation *root = singleRoot(spec);
  SingleKernel k(spec, module, name, root, {/*sizes=*/true, /*workspace=*/isa<UniqueOp, NonMaxSuppressionOp>(root)});
  return llvm::TypeSwitch<Operation *, EmittedKernel>(root)
      .Case([&](NonzeroOp op) { return emitNonzero(k, op); })
      .Case([&](CompressOp op) { return emitCompress(k, op); })
      .Case([&](UniqueOp op) { return emitUnique(k, op); })
      .Case([&](NonMaxSuppressionOp op) { return emitSuppression(k, op); });
}

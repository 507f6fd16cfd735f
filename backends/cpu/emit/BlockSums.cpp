// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/BlockSums.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// Sums on the stack at most; with more than 2^15 blocks the oldest ones are a chain.
constexpr int64_t kMostLevels = 16;

int64_t sinter::cpu::blockOf(Combiner combiner, Type elementType) {
  return combiner == Combiner::add && isa<FloatType>(elementType) ? kSumBlock : kNoBlocks;
}

Value sinter::cpu::joinFloats(ImplicitLocOpBuilder &b, Value x, Value y) { return arith::AddFOp::create(b, x, y); }

SummedAxis sinter::cpu::summedAxis(KernelFunction &fn, DimExpr size) {
  size = fn.spec.dims.resolve(size);
  return {fn.index(0), fn.materialize(size), size.isConstant() ? size.constant() : ShapedType::kDynamic};
}

/// Sums on the stack of so many blocks.
static int64_t levelsOf(int64_t blocks) {
  if (blocks == ShapedType::kDynamic)
    return kMostLevels;
  return std::min<int64_t>(kMostLevels, llvm::Log2_64(std::max<int64_t>(blocks - 1, 1)) + 1);
}

namespace {
/// The sums of finished blocks that wait for their partner.
class SumStack {
public:
  /// For accumulators like `fresh` (scalars and vectors of one element type) and `blocks` blocks, in memory of its own
  /// or where `part` says.
  SumStack(KernelFunction &fn, ValueRange fresh, int64_t blocks, Join join, const SumPart *part = nullptr);

  /// The height once `number` blocks are finished, and not all.
  Value heightAfter(Value number);

  /// Joins the sums of block `number` (from 0 on) with those that it completes, of block `last` with all, and puts them
  /// on the stack unless they are the last. Returns them and the new height.
  SmallVector<Value> finish(ValueRange sums, Value number, Value last, Value height);

private:
  /// A one for each sum from the top on that block `number` takes.
  Value takenBy(Value number);
  /// Joins with what lies on top for each one at the end of `bits`. Returns the sums and the height.
  SmallVector<Value> joinOnes(ValueRange sums, Value height, Value bits);
  void store(ValueRange sums, Value level);
  Value at(Value level, size_t accumulator) {
    Value base = arith::MulIOp::create(b, level, fn.index(levelElements));
    if (place)
      base = arith::AddIOp::create(b, base, place);
    return arith::AddIOp::create(b, base, fn.index(offsets[accumulator]));
  }

  KernelFunction &fn;
  ImplicitLocOpBuilder &b;
  Join join;
  Value memory, place; // from where on; null: the begin
  int64_t levels, levelElements = 0;
  SmallVector<int64_t> offsets; // of each accumulator within a level
};
} // namespace

SumStack::SumStack(KernelFunction &fn, ValueRange fresh, int64_t blocks, Join join, const SumPart *part)
    : fn(fn), b(fn.b), join(join), levels(levelsOf(blocks)) {
  for (Value value : fresh) {
    offsets.push_back(levelElements);
    auto vector = dyn_cast<VectorType>(value.getType());
    levelElements += vector ? vector.getNumElements() : 1;
  }
  if (part) {
    assert(levels < kMostLevels && "a sum that is computed in parts has a known number of blocks");
    memory = part->memory;
    place = part->place;
    return;
  }
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&fn.function.getBody().front());
  auto type = MemRefType::get({levels * levelElements}, getElementTypeOrSelf(fresh.front().getType()));
  memory = memref::AllocaOp::create(b, type, b.getI64IntegerAttr(64));
}

Value SumStack::heightAfter(Value number) {
  if (!place)
    return fn.index(0);
  Value ones = fn.index(0); // of the number
  for (int64_t level = 0; level < levels; ++level) {
    Value bits = arith::ShRUIOp::create(b, number, fn.index(level));
    ones = arith::AddIOp::create(b, ones, arith::AndIOp::create(b, bits, fn.index(1)));
  }
  return ones;
}

SmallVector<Value> SumStack::joinOnes(ValueRange sums, Value height, Value bits) {
  SmallVector<Value> carried(sums);
  carried.append({height, bits});
  SmallVector<Type> types = llvm::map_to_vector(carried, [](Value value) { return value.getType(); });
  auto loop = scf::WhileOp::create(
      b, types, carried,
      [&](OpBuilder &, Location, ValueRange values) {
        Value last = arith::AndIOp::create(b, values.back(), fn.index(1));
        Value isOne = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, last, fn.index(0));
        scf::ConditionOp::create(b, isOne, values);
      },
      [&](OpBuilder &, Location, ValueRange values) {
        SmallVector<Value> next(values);
        Value &top = next[sums.size()];
        top = arith::SubIOp::create(b, top, fn.index(1));
        next.back() = arith::ShRUIOp::create(b, values.back(), fn.index(1));
        for (size_t i = 0; i < sums.size(); ++i) {
          Value before, from = at(top, i);
          if (auto vector = dyn_cast<VectorType>(values[i].getType()))
            before = vector::LoadOp::create(b, vector, memory, ValueRange{from});
          else
            before = memref::LoadOp::create(b, memory, ValueRange{from});
          next[i] = join(before, values[i]);
        }
        scf::YieldOp::create(b, next);
      });
  return llvm::to_vector_of<Value>(loop.getResults().drop_back());
}

Value SumStack::takenBy(Value number) {
  if (levels < kMostLevels)
    return number;
  // Of a stack that holds no more, the sum at the bottom is joined whenever all others are.
  int64_t low = (int64_t(1) << (levels - 1)) - 1;
  Value kept = arith::AndIOp::create(b, number, fn.index(low));
  Value full = arith::OrIOp::create(b, kept, fn.index(low + 1));
  Value isFull = arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, number, fn.index(low));
  return arith::SelectOp::create(b, isFull, full, number);
}

void SumStack::store(ValueRange sums, Value level) {
  for (size_t i = 0; i < sums.size(); ++i) {
    Value to = at(level, i);
    if (isa<VectorType>(sums[i].getType()))
      vector::StoreOp::create(b, sums[i], memory, ValueRange{to});
    else
      memref::StoreOp::create(b, sums[i], memory, ValueRange{to});
  }
}

SmallVector<Value> SumStack::finish(ValueRange sums, Value number, Value last, Value height) {
  // One loop joins in both cases: it holds each accumulator, and a tile has many.
  Value isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, number, last);
  Value all = arith::SubIOp::create(b, arith::ShLIOp::create(b, fn.index(1), height), fn.index(1));
  SmallVector<Value> next = joinOnes(sums, height, arith::SelectOp::create(b, isLast, all, takenBy(number)));
  Value &top = next.back();
  // The last sums are never stored: a sum of one block stays in registers.
  Value waits = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, number, last);
  fn.ifThen(waits, [&] { store(ValueRange(next).drop_back(), top); });
  top = arith::AddIOp::create(b, top, fn.index(1));
  return next;
}

SmallVector<Value> sinter::cpu::sumRange(KernelFunction &fn, Value low, Value high, DimExpr size, int64_t block,
                                         ValueRange init, ValueRange fresh, Join join,
                                         llvm::function_ref<SmallVector<Value>(Value, Value, ValueRange)> body) {
  size = fn.spec.dims.resolve(size);
  bool isKnown = size.isConstant();
  if (block == kNoBlocks || (isKnown && size.constant() <= block))
    return body(low, high, init);
  ImplicitLocOpBuilder &b = fn.b;
  SumStack stack(fn, fresh, isKnown ? llvm::divideCeil(size.constant(), block) : ShapedType::kDynamic, join);
  bool startsFresh = llvm::equal(init, fresh);
  Value rounded = arith::AddIOp::create(b, high, fn.index(block - 1));
  Value blocks = arith::DivUIOp::create(b, rounded, fn.index(block)),
        last = arith::SubIOp::create(b, blocks, fn.index(1));
  SmallVector<Value> carried(init);
  carried.push_back(fn.index(0));
  carried = fn.loop(fn.index(0), blocks, 1, carried, [&](Value number, ValueRange values) -> SmallVector<Value> {
    SmallVector<Value> start(fresh);
    if (!startsFresh) {
      Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, number, fn.index(0));
      for (auto [value, first] : llvm::zip(start, init))
        value = arith::SelectOp::create(b, isFirst, first, value);
    }
    Value from = arith::MulIOp::create(b, number, fn.index(block));
    Value to = arith::MinSIOp::create(b, arith::AddIOp::create(b, from, fn.index(block)), high);
    SmallVector<Value> sums = body(arith::MaxSIOp::create(b, from, low), to, start);
    return stack.finish(sums, number, last, values.back());
  });
  carried.pop_back();
  return carried;
}

NestBlocks::NestBlocks(ArrayRef<int64_t> most, int64_t length, int64_t block) : outside(most.size()) {
  // The inner axes that fit into one chain; an eighth more is not worth a block.
  int64_t longest = block == kNoBlocks ? block : block + block / 8;
  for (; outside > 0; --outside) {
    int64_t positions = most[outside - 1];
    if (block != kNoBlocks && (positions == ShapedType::kDynamic || positions > longest / std::max<int64_t>(length, 1)))
      break;
    if (block != kNoBlocks)
      length *= std::max<int64_t>(positions, 1);
  }
  if (outside == 0)
    return;
  perBlock = std::max<int64_t>(1, block / std::max<int64_t>(length, 1));
  blocks = most[outside - 1];
  if (blocks != ShapedType::kDynamic) { // blocks of one size
    int64_t positions = std::max<int64_t>(blocks, 1);
    blocks = llvm::divideCeil(positions, perBlock);
    perBlock = llvm::divideCeil(positions, blocks);
  }
  for (int64_t positions : most.take_front(outside - 1))
    blocks =
        blocks == ShapedType::kDynamic || positions == ShapedType::kDynamic ? ShapedType::kDynamic : blocks * positions;
}

int64_t NestBlocks::levels() const { return levelsOf(blocks); }

/// How many blocks walks over `axes` make, of which the last goes on by `perBlock`.
static Value countBlocks(KernelFunction &fn, ArrayRef<SummedAxis> axes, int64_t perBlock) {
  ImplicitLocOpBuilder &b = fn.b;
  Value count = fn.index(1);
  for (const SummedAxis &axis : axes) {
    Value size = arith::MaxSIOp::create(b, arith::SubIOp::create(b, axis.high, axis.low), fn.index(0));
    if (&axis == &axes.back())
      size = arith::DivUIOp::create(b, arith::AddIOp::create(b, size, fn.index(perBlock - 1)), fn.index(perBlock));
    count = arith::MulIOp::create(b, count, size);
  }
  return count;
}

Value SumPart::isLast(KernelFunction &fn, ArrayRef<SummedAxis> axes) const {
  ImplicitLocOpBuilder &b = fn.b;
  Value all;
  for (auto [range, axis] : llvm::zip(positions, axes)) {
    Value last = arith::SubIOp::create(b, axis.high, fn.index(1));
    last = arith::MaxSIOp::create(b, last, fn.index(0));
    for (auto [predicate, end] :
         {std::pair(arith::CmpIPredicate::sge, range.first), std::pair(arith::CmpIPredicate::slt, range.second)}) {
      Value isInside = arith::CmpIOp::create(b, predicate, last, end);
      all = all ? arith::AndIOp::create(b, all, isInside).getResult() : isInside;
    }
  }
  return all;
}

/// Those positions of `axes` that lie in `part`.
static SmallVector<SummedAxis> takePart(KernelFunction &fn, ArrayRef<SummedAxis> axes, const SumPart &part) {
  SmallVector<SummedAxis> taken(axes);
  for (auto [axis, range] : llvm::zip(taken, part.positions)) {
    axis.low = arith::MaxSIOp::create(fn.b, axis.low, range.first);
    axis.high = arith::MinSIOp::create(fn.b, axis.high, range.second);
  }
  return taken;
}

/// How many blocks of `axes` lie in front of `taken`, a part of the first `parted` of them.
static Value blocksBefore(KernelFunction &fn, ArrayRef<SummedAxis> axes, ArrayRef<SummedAxis> taken, size_t parted,
                          int64_t perBlock) {
  ImplicitLocOpBuilder &b = fn.b;
  Value number = fn.index(0);
  for (size_t i = 0; i < parted; ++i) {
    Value positions = arith::SubIOp::create(b, taken[i].low, axes[i].low);
    Value inner = countBlocks(fn, axes.drop_front(i + 1), perBlock);
    number = arith::AddIOp::create(b, number, arith::MulIOp::create(b, positions, inner));
  }
  return number;
}

SmallVector<Value> sinter::cpu::sumNest(KernelFunction &fn, ArrayRef<SummedAxis> axes, int64_t length, int64_t block,
                                        ValueRange fresh, Join join,
                                        llvm::function_ref<SmallVector<Value>(ArrayRef<Value>, ValueRange)> step,
                                        const SumPart *part) {
  ImplicitLocOpBuilder &b = fn.b;
  SmallVector<SummedAxis> taken = part ? takePart(fn, axes, *part) : SmallVector<SummedAxis>(axes);
  SmallVector<Value> position;
  // The axes from `axis` to before `end`, then `inner`.
  using Inner = llvm::function_ref<SmallVector<Value>(ValueRange)>;
  std::function<SmallVector<Value>(size_t, size_t, ValueRange, Inner)> nest =
      [&](size_t axis, size_t end, ValueRange carried, Inner inner) -> SmallVector<Value> {
    if (axis == end)
      return inner(carried);
    return fn.loop(taken[axis].low, taken[axis].high, 1, carried, [&](Value i, ValueRange values) {
      position.push_back(i);
      SmallVector<Value> next = nest(axis + 1, end, values, inner);
      position.pop_back();
      return next;
    });
  };
  auto innermost = [&](ValueRange carried) { return step(position, carried); };

  NestBlocks nested(llvm::map_to_vector(axes, [](const SummedAxis &axis) { return axis.most; }), length, block);
  assert((!part || part->positions.size() <= nested.single()) && "parts of a sum are whole blocks");
  if (nested.outside == 0)
    return nest(0, axes.size(), fresh, innermost);

  // The next axis is walked in blocks, and outer ones go on with the stack that it leaves.
  ArrayRef<SummedAxis> outer = axes.take_front(nested.outside);
  const SummedAxis &walked = taken[nested.outside - 1];
  SumStack stack(fn, fresh, nested.blocks, join, part);
  Value last = arith::SubIOp::create(b, countBlocks(fn, outer, nested.perBlock), fn.index(1));
  Value first = part ? blocksBefore(fn, outer, taken, part->positions.size(), nested.perBlock) : fn.index(0);
  SmallVector<Value> carried(fresh);
  carried.append({stack.heightAfter(first), first}); // height, finished blocks
  carried = nest(0, nested.outside - 1, carried, [&](ValueRange outer) {
    return fn.loop(
        walked.low, walked.high, nested.perBlock, outer, [&](Value from, ValueRange values) -> SmallVector<Value> {
          Value number = values.back(), height = values[fresh.size()];
          SmallVector<Value> sums;
          if (nested.perBlock == 1) {
            position.push_back(from);
            sums = nest(nested.outside, axes.size(), fresh, innermost);
            position.pop_back();
          } else {
            Value to =
                arith::MinSIOp::create(b, arith::AddIOp::create(b, from, fn.index(nested.perBlock)), walked.high);
            sums = fn.loop(from, to, 1, fresh, [&](Value i, ValueRange partial) {
              position.push_back(i);
              SmallVector<Value> next = nest(nested.outside, axes.size(), partial, innermost);
              position.pop_back();
              return next;
            });
          }
          SmallVector<Value> next = stack.finish(sums, number, last, height);
          next.push_back(arith::AddIOp::create(b, number, fn.index(1)));
          return next;
        });
  });
  carried.truncate(fresh.size());
  return carried;
}

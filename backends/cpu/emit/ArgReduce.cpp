// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The position of the greatest or least element along an axis. Lanes hold the best of the elements that they have seen
// and where those lay: along the axis itself where it is the innermost one, some vectors at a time, or along the
// innermost one, where each lane is a column of its own.
//
//   chunk     a run of rows, or of groups of columns

#include "backends/cpu/emit/ArgReduce.h"
#include "backends/cpu/emit/ColumnGroups.h"
#include "backends/cpu/emit/General.h"
#include "backends/cpu/emit/KernelElements.h"
#include "ir/Composer.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

Value sinter::cpu::winsOver(ImplicitLocOpBuilder &b, ArgReduceOp op, Value value, Value best) {
  Type elementType = elementTypeOf(op.getOperand());
  bool max = op.getCombiner() == Combiner::max, last = op.getLast();
  if (isa<FloatType>(elementType)) {
    using P = arith::CmpFPredicate;
    Value bestIsNumber = arith::CmpFOp::create(b, P::ORD, best, best);
    if (!last) // the greater one, or NaN, unless NaN was before
      return arith::AndIOp::create(b, arith::CmpFOp::create(b, max ? P::UGT : P::ULT, value, best), bestIsNumber);
    Value isNan = arith::CmpFOp::create(b, P::UNO, value, value);
    return arith::OrIOp::create(b, arith::CmpFOp::create(b, max ? P::OGE : P::OLE, value, best), isNan);
  }
  using P = arith::CmpIPredicate;
  P predicate = isUnsigned(elementType) ? (max ? (last ? P::uge : P::ugt) : (last ? P::ule : P::ult))
                                        : (max ? (last ? P::sge : P::sgt) : (last ? P::sle : P::slt));
  return arith::CmpIOp::create(b, predicate, value, best);
}

namespace {

/// The best of the elements that were seen, and their positions: vectors of a type, or scalars.
struct Best {
  Value value, position;
};

class ArgReduceEmitter {
public:
  ArgReduceEmitter(KernelSpec &spec, ModuleOp module, StringRef name, ArgReduceOp op)
      : fn(spec, module, name, {}), b(fn.b), op(op), lanes(spec.schedule().getLanes()),
        axis(static_cast<int64_t>(op.getAxis())), held(accumulatorType(elementTypeOf(op.getOperand()))),
        others(spec.sizes->dims(op.getOperand())) {
    length = others[axis].constant();
    others.erase(others.begin() + axis);
  }

  EmittedKernel emit();

private:
  void emitRow(ArrayRef<Value> outer);
  void emitColumns(ArrayRef<Value> outer, Value column);
  Value load(ArrayRef<LaneIndex> others, LaneIndex along, int64_t lanesHere);
  Value splat(Value scalar) {
    return vector::BroadcastOp::create(b, VectorType::get({lanes}, scalar.getType()), scalar);
  }
  /// An index as i32, in all lanes.
  Value splatPosition(Value index) { return splat(arith::IndexCastOp::create(b, b.getI32Type(), index)); }
  Best select(Value second, Best x, Best y) {
    return {arith::SelectOp::create(b, second, y.value, x.value),
            arith::SelectOp::create(b, second, y.position, x.position)};
  }
  /// `next` lies behind `best`.
  Best take(Best best, Best next) { return select(winsOver(b, op, next.value, best.value), best, next); }
  Best join(Best x, Best y);
  Value joinLanes(Best best);
  /// Computes what follows from the positions `found` and writes it there.
  void store(Value found, ArrayRef<LaneIndex> index, int64_t lanesHere);

  KernelFunction fn;
  ImplicitLocOpBuilder &b;
  ArgReduceOp op;
  int64_t lanes, axis, length;
  Type held;
  Dims others;
};

} // namespace

Value ArgReduceEmitter::load(ArrayRef<LaneIndex> others, LaneIndex along, int64_t lanesHere) {
  KernelElements elements(fn, lanesHere);
  SmallVector<LaneIndex> index(others);
  index.insert(index.begin() + axis, along);
  Value value = elements.load(op.getOperand(), index);
  if (lanesHere > 1 && !isa<VectorType>(value.getType()))
    value = splat(value);
  return widen(b, b.getLoc(), value, held, isUnsigned(elementTypeOf(op.getOperand())));
}

/// Of two of which either may lie before the other.
Best ArgReduceEmitter::join(Best x, Best y) {
  // What wins against an equal one if it lies behind loses if it lies before.
  Value behind = winsOver(b, op, y.value, x.value), before = winsOver(b, op, x.value, y.value);
  Value isBehind = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, y.position, x.position);
  Value one = arith::ConstantOp::create(b, b.getOneAttr(before.getType()));
  Value second = arith::SelectOp::create(b, isBehind, behind, arith::XOrIOp::create(b, before, one));
  return select(second, x, y);
}

Value ArgReduceEmitter::joinLanes(Best best) {
  for (int64_t half = lanes / 2; half > 0; half /= 2) {
    auto part = [&](Value vector, int64_t from) -> Value {
      return vector::ShuffleOp::create(b, vector, vector, llvm::to_vector(llvm::seq(from, from + half)));
    };
    best = join({part(best.value, 0), part(best.position, 0)}, {part(best.value, half), part(best.position, half)});
  }
  return vector::ExtractOp::create(b, best.position, ArrayRef<int64_t>{0});
}

void ArgReduceEmitter::store(Value found, ArrayRef<LaneIndex> index, int64_t lanesHere) {
  KernelElements elements(fn, lanesHere);
  elements.install(op.getResult(), [&](ArrayRef<LaneIndex>) { return found; });
  elements.storeResults(index);
}

void ArgReduceEmitter::emitRow(ArrayRef<Value> outer) {
  SmallVector<LaneIndex> index = KernelElements(fn, 1).uniform(outer);
  auto lane = llvm::to_vector_of<int32_t>(llvm::seq<int64_t>(0, lanes));
  Value iota = arith::ConstantOp::create(b, b.getI32VectorAttr(lane));
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(iota.getType()));
  // All lanes begin with the first element. A lane's position is kept as that of its vector.
  Best first{splat(load(index, {fn.index(0), 0, nullptr}, 1)), arith::SubIOp::create(b, zero, iota)};
  auto step = [&](Best best, Value column) {
    return take(best, {load(index, {column, 1, nullptr}, lanes), splatPosition(column)});
  };

  int64_t unroll = length >= 8 * lanes ? 4 : 1, whole = length / (unroll * lanes) * unroll * lanes;
  SmallVector<Value> carried;
  for (int64_t u = 0; u < unroll; ++u)
    carried.append({first.value, first.position});
  carried = fn.loop(fn.index(0), fn.index(whole), unroll * lanes, carried, [&](Value column, ValueRange seen) {
    SmallVector<Value> next;
    for (int64_t u = 0; u < unroll; ++u) {
      Value at = arith::AddIOp::create(b, column, fn.index(u * lanes));
      Best best = step({seen[2 * u], seen[2 * u + 1]}, at);
      next.append({best.value, best.position});
    }
    return next;
  });
  SmallVector<Best> parts;
  for (int64_t u = 0; u < unroll; ++u)
    parts.push_back({carried[2 * u], carried[2 * u + 1]});
  // What vectors leave over, and at last a vector that ends where the row does.
  for (int64_t at = whole, u = 0; at < length; at += lanes, ++u)
    parts[u % unroll] = step(parts[u % unroll], fn.index(std::min(at, length - lanes)));
  for (Best &part : parts)
    part.position = arith::AddIOp::create(b, part.position, iota);
  while (parts.size() > 1) {
    Best last = parts.pop_back_val();
    parts.back() = join(parts.back(), last);
  }
  Value found = joinLanes(parts.front());
  store(arith::ExtSIOp::create(b, b.getI64Type(), found), index, 1);
}

void ArgReduceEmitter::emitColumns(ArrayRef<Value> outer, Value column) {
  SmallVector<LaneIndex> index = KernelElements(fn, lanes).uniform(outer);
  index.push_back({column, 1, nullptr});
  auto at = [&](Value position) -> Best {
    return {load(index, {position, 0, nullptr}, lanes), splatPosition(position)};
  };
  Best first = at(fn.index(0));
  SmallVector<Value> carried = fn.loop(fn.index(1), fn.index(length), 1, ValueRange{first.value, first.position},
                                       [&](Value position, ValueRange seen) -> SmallVector<Value> {
                                         Best best = take({seen[0], seen[1]}, at(position));
                                         return {best.value, best.position};
                                       });
  store(arith::ExtSIOp::create(b, VectorType::get({lanes}, b.getI64Type()), carried[1]), index, lanes);
}

EmittedKernel ArgReduceEmitter::emit() {
  DimContext &dims = fn.spec.dims;
  bool alongAxis = axis == static_cast<int64_t>(others.size());
  std::optional<ColumnGroups> groups;
  if (!alongAxis)
    groups.emplace(fn, others, lanes);
  DimExpr units = alongAxis ? dims.product(others) : groups->count();
  int64_t perUnit = alongAxis ? length : length * lanes;
  int64_t perChunk = std::max<int64_t>(1, fn.spec.schedule().getChunk() / perUnit);
  Value all = fn.materialize(units), step = fn.index(perChunk);
  fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
    Value low = arith::MulIOp::create(b, chunk, step);
    Value high = arith::MinSIOp::create(b, arith::AddIOp::create(b, low, step), all);
    fn.loop(low, high, 1, [&](Value unit) {
      if (alongAxis)
        emitRow(fn.delinearize(unit, others));
      else
        groups->visit(unit, [&](ArrayRef<Value> outer, Value column) { emitColumns(outer, column); });
    });
  });
  fn.finish();

  EmittedKernel emitted;
  emitted.function = fn.function;
  emitted.chunks = dims.ceilDiv(units, dims.constant(perChunk));
  emitted.estimate(fn.spec, dims.mul(dims.product(others), dims.constant(length)), 1 / fn.spec.costs().windowTapsPerNs);
  return emitted;
}

static ArgReduceOp rootOf(KernelSpec &spec) {
  bool several = false;
  auto op = dyn_cast_or_null<ArgReduceOp>(findRoot(spec, several));
  return several ? ArgReduceOp() : op;
}

Plan sinter::cpu::planArgReduce(KernelSpec &spec, ScheduleAttr) {
  ArgReduceOp op = rootOf(spec);
  if (!op)
    return Plan::refuse("its root is no arg_reduce");
  Type element = elementTypeOf(op.getOperand());
  int64_t lanes = spec.target().lanes(std::max<int64_t>(4, byteWidth(accumulatorType(element))));
  constexpr int64_t most = std::numeric_limits<int32_t>::max(); // positions in lanes have 32 bits
  Dims sizes = spec.sizes->dims(op.getOperand());
  DimExpr length = spec.dims.resolve(sizes[op.getAxis()]), inner = spec.dims.resolve(sizes.back());
  if (lanes < 2 || element.isInteger(1) || !length.isConstant() || length.constant() < 1 || length.constant() > most ||
      !inner.isConstant() || inner.constant() < lanes)
    return Plan::refuse("its axes are short or known at run time only, or the target has no vectors");
  auto isGiven = [&](Value value) { return value == op.getResult(); };
  auto follows = [&](unsigned i) {
    return canBuild(spec.yielded(i), isGiven) && spec.sizes->sameShape(op.getResult(), spec.yielded(i));
  };
  if (!canBuild(op.getOperand(), isGiven) || !llvm::all_of(llvm::seq(spec.kernel.getNumResults()), follows))
    return Plan::refuse("what it reads, or what follows from it, is not made element by element");
  Plan plan;
  plan.setLanes(lanes, /*least=*/2);
  plan.setChunk(spec.costs().reducedElements);
  return plan;
}

EmittedKernel sinter::cpu::emitArgReduce(KernelSpec &spec, ModuleOp module, StringRef name) {
  return ArgReduceEmitter(spec, module, name, rootOf(spec)).emit();
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions in lanes. When the innermost axis is reduced the lanes run along it and each result element is one
// accumulation; otherwise the lanes run along the innermost axis that stays, and each lane is a result element.
// Pointwise producers are computed as they are read, pointwise consumers on the result in registers.
//
//   chunk     a run of result elements (or vectors of them)

#include "backends/cpu/emit/General.h"
#include "backends/cpu/emit/LaneLoop.h"
#include "ir/Composer.h"
#include "ir/Reduction.h"
#include "ir/Shape.h"
#include "ir/Shapes.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// Operand elements that a chunk combines.
constexpr int64_t kChunkElements = 1 << 15;

namespace {
class ReduceEmitter {
public:
  ReduceEmitter(KernelFunction &fn, ReduceOp op)
      : fn(fn), b(fn.b), op(op), sizes(fn.spec.sizes->dims(op.getOperand())), rank(sizes.size()),
        elementType(elementTypeOf(op.getOperand())), accumulator(accumulatorType(elementType)) {
    reduced.append(op.getAxes().begin(), op.getAxes().end());
    llvm::sort(reduced);
    kept = otherAxes(rank, reduced);
  }
  EmittedKernel emit();

private:
  void mergeReducedAxes();
  Value identity() { return identityOf(fn, op.getCombiner(), elementType); }
  Value combined(Value x, Value y) { return combine(b, b.getLoc(), op.getCombiner(), elementType, x, y); }
  Value read(KernelElements &elements, ArrayRef<LaneIndex> index) {
    Value value = elements.load(op.getOperand(), index);
    if (elements.lanes > 1 && !isa<VectorType>(value.getType()))
      value = elements.splat(value);
    return widen(b, b.getLoc(), value, accumulator, isUnsigned(elementType));
  }
  /// Loops over the reduced axes in `axes`, outermost first, then `inner` with their positions.
  SmallVector<Value> nest(ArrayRef<int64_t> axes, ValueRange carried,
                          llvm::function_ref<SmallVector<Value>(ArrayRef<Value>, ValueRange)> inner);
  void alongRow(Value flat);
  void acrossRows(Value row);
  void store(KernelElements &elements, Value total, ArrayRef<LaneIndex> index);

  KernelFunction &fn;
  ImplicitLocOpBuilder &b;
  ReduceOp op;
  Dims sizes;
  int64_t rank;
  Type elementType, accumulator;
  SmallVector<int64_t> reduced, kept;
  int64_t lanes = 1;
};
} // namespace

/// Adjacent reduced axes are walked as one when the operand is read in place: then the last one's index spans them all.
void ReduceEmitter::mergeReducedAxes() {
  for (Operation &other : fn.spec.body().without_terminator())
    if (&other != op && !isa<Pointwise, ConstantOp>(other))
      return;
  for (size_t k = reduced.size(); k-- > 1;)
    if (reduced[k - 1] + 1 == reduced[k]) {
      sizes[reduced[k]] = fn.spec.dims.mul(sizes[reduced[k - 1]], sizes[reduced[k]]);
      reduced[k - 1] = reduced[k];
      reduced.erase(reduced.begin() + k);
    }
}

SmallVector<Value> ReduceEmitter::nest(ArrayRef<int64_t> axes, ValueRange carried,
                                       llvm::function_ref<SmallVector<Value>(ArrayRef<Value>, ValueRange)> inner) {
  SmallVector<Value> position;
  std::function<SmallVector<Value>(ValueRange)> build = [&](ValueRange values) -> SmallVector<Value> {
    if (position.size() == axes.size())
      return inner(position, values);
    Value size = fn.materialize(sizes[axes[position.size()]]);
    return fn.loop(fn.index(0), size, 1, values, [&](Value i, ValueRange next) {
      position.push_back(i);
      SmallVector<Value> results = build(next);
      position.pop_back();
      return results;
    });
  };
  return build(carried);
}

void ReduceEmitter::store(KernelElements &elements, Value total, ArrayRef<LaneIndex> index) {
  Value value = narrow(b, b.getLoc(), total, elementType);
  elements.install(op.getResult(), [value](ArrayRef<LaneIndex>) { return value; });
  for (unsigned i = 0; i < fn.spec.kernel.getNumResults(); ++i)
    elements.storeResult(i, elements.load(fn.spec.yielded(i), index), index);
}

/// One result element: lanes along the innermost axis, which is reduced.
void ReduceEmitter::alongRow(Value flat) {
  Dims keptSizes;
  for (int64_t axis : kept)
    keptSizes.push_back(sizes[axis]);
  SmallVector<Value> outer = fn.delinearize(flat, keptSizes);
  LaneLoop row(fn, sizes[reduced.back()], lanes);
  SmallVector<Value> totals =
      nest(ArrayRef(reduced).drop_back(), row.accumulators(identity()), [&](ArrayRef<Value> at, ValueRange carried) {
        return row.accumulate(carried, [&](KernelElements &elements, Value column, Value total) {
          SmallVector<LaneIndex> index(rank, elements.constant(0));
          for (auto [axis, i] : llvm::zip(kept, outer))
            index[axis] = elements.uniform(i);
          for (auto [k, i] : llvm::enumerate(at))
            index[reduced[k]] = elements.uniform(i);
          index[reduced.back()] = LaneLoop::at(elements, column);
          return combined(total, read(elements, index));
        });
      });
  Value total = row.finish(totals, [&](Value x, Value y) { return combined(x, y); });
  KernelElements elements(fn, 1);
  SmallVector<LaneIndex> index;
  for (Value i : outer)
    index.push_back(elements.uniform(i));
  store(elements, total, index);
}

/// The vectors of one row of results: lanes along the innermost axis, which stays.
void ReduceEmitter::acrossRows(Value row) {
  Dims outerSizes;
  for (int64_t axis : ArrayRef(kept).drop_back())
    outerSizes.push_back(sizes[axis]);
  SmallVector<Value> outer = fn.delinearize(row, outerSizes);
  LaneLoop columns(fn, sizes[kept.back()], lanes);
  columns.forEach([&](KernelElements &elements, Value column) {
    Value start = identity();
    if (elements.lanes > 1)
      start = elements.splat(start);
    Value mask = elements.mask;
    Value total = nest(reduced, ValueRange{start}, [&](ArrayRef<Value> at, ValueRange carried) -> SmallVector<Value> {
      KernelElements inner(fn, elements.lanes);
      inner.mask = mask;
      SmallVector<LaneIndex> index(rank, inner.constant(0));
      for (auto [axis, i] : llvm::zip(kept, outer))
        index[axis] = inner.uniform(i);
      index[kept.back()] = LaneLoop::at(inner, column);
      for (auto [k, i] : llvm::enumerate(at))
        index[reduced[k]] = inner.uniform(i);
      return {combined(carried[0], read(inner, index))};
    })[0];
    SmallVector<LaneIndex> index;
    for (Value i : outer)
      index.push_back(elements.uniform(i));
    index.push_back(LaneLoop::at(elements, column));
    store(elements, total, index);
  });
}

EmittedKernel ReduceEmitter::emit() {
  DimContext &dims = fn.spec.dims;
  bool inner = llvm::is_contained(reduced, rank - 1);
  DimExpr one = dims.constant(1), units = one, perUnit = one;
  for (int64_t axis : kept)
    units = dims.mul(units, sizes[axis]);
  for (int64_t axis : reduced)
    perUnit = dims.mul(perUnit, sizes[axis]);
  DimExpr work = dims.mul(units, perUnit);
  if (inner)
    mergeReducedAxes();
  DimExpr laneAxis = sizes[inner ? reduced.back() : kept.back()];
  if (!inner) {
    units =
        dims.product(ArrayRef(llvm::map_to_vector(ArrayRef(kept).drop_back(), [&](int64_t k) { return sizes[k]; })));
    perUnit = dims.mul(perUnit, laneAxis);
  }
  lanes = lanesOfKernel(fn.spec, laneAxis, byteWidth(accumulator));
  DimExpr perChunk = dims.max(one, dims.floorDiv(dims.constant(kChunkElements), dims.max(perUnit, one)));
  Value step = fn.materialize(perChunk), count = fn.materialize(units);
  fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
    Value low = arith::MulIOp::create(b, chunk, step);
    Value high = arith::MinSIOp::create(b, arith::AddIOp::create(b, low, step), count);
    fn.loop(low, high, 1, [&](Value unit) { inner ? alongRow(unit) : acrossRows(unit); });
  });
  fn.finish();
  EmittedKernel emitted;
  emitted.function = fn.function;
  emitted.chunks = dims.ceilDiv(units, perChunk);
  work = dims.resolve(work);
  if (work.isConstant())
    emitted.estimatedNs = 0.1 * static_cast<double>(work.constant());
  return emitted;
}

std::optional<EmittedKernel> sinter::cpu::emitReduce(KernelSpec &spec, ModuleOp module, StringRef name) {
  bool several = false;
  auto op = dyn_cast_or_null<ReduceOp>(findRoot(spec, several));
  if (!op || several || op.getAxes().empty())
    return std::nullopt;
  for (unsigned i = 0; i < spec.kernel.getNumResults(); ++i)
    if (!spec.sizes->sameShape(op.getResult(), spec.yielded(i)))
      return std::nullopt;
  KernelFunction fn(spec, module, name, {});
  KernelElements probe(fn, 1);
  probe.install(op.getResult(), nullptr);
  bool complete = probe.canBuild(op.getOperand());
  for (unsigned i = 0; i < spec.kernel.getNumResults(); ++i)
    complete &= probe.canBuild(spec.yielded(i));
  if (!complete) {
    fn.function.erase();
    return std::nullopt;
  }
  return ReduceEmitter(fn, op).emit();
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Softmax and layer norm over the innermost axis: two reductions over a row, then a pass that writes it, with the row
// in cache. Cheap producers are computed again in each pass; consumers are computed in registers in the last one. The
// exponentials of a softmax wait in a result's own memory for their sum. f16 and bf16 are f32 inside, rounded once.
//
//   chunk     a few rows

#include "backends/cpu/emit/General.h"
#include "backends/cpu/emit/LaneLoop.h"
#include "backends/cpu/emit/MathLanes.h"
#include "backends/cpu/emit/RowForm.h"
#include "backends/cpu/emit/RowWalk.h"
#include "backends/cpu/emit/TakenForms.h"
#include "ir/Composer.h"
#include "ir/Normalization.h"
#include "ir/Shapes.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

bool sinter::cpu::hasRowTemplate(Operation *op) {
  if (!isa<SoftmaxOp, LayerNormOp>(op))
    return false;
  RankedTensorType type = tensorTypeOf(op->getOperand(0));
  auto axis =
      static_cast<int64_t>(isa<SoftmaxOp>(op) ? cast<SoftmaxOp>(op).getAxis() : cast<LayerNormOp>(op).getAxis());
  return isa<FloatType>(type.getElementType()) && axis == type.getRank() - 1;
}

namespace {
class RowEmitter {
public:
  RowEmitter(KernelFunction &fn, Operation *root)
      : fn(fn), b(fn.b), root(root), sizes(fn.spec.sizes->dims(root->getOperand(0))),
        stored(elementTypeOf(root->getOperand(0))), type(accumulatorType(stored)) {}
  EmittedKernel emit(DimExpr perChunk, WalkRow walkRow);

private:
  SmallVector<LaneIndex> indexOf(KernelElements &elements, Value column) {
    SmallVector<LaneIndex> index = elements.uniform(outer);
    index.push_back(LaneLoop::at(elements, column));
    return index;
  }
  Value like(KernelElements &elements, Value scalar) { return elements.lanes > 1 ? elements.splat(scalar) : scalar; }
  /// In the type that the row is computed in.
  Value read(KernelElements &elements, Value tensor, ArrayRef<LaneIndex> index) {
    Value value = widen(b, b.getLoc(), elements.load(tensor, index), type, /*isUnsigned=*/false);
    return elements.lanes > 1 && !isa<VectorType>(value.getType()) ? elements.splat(value) : value;
  }
  Value read(KernelElements &elements, Value column, Value tensor) {
    return read(elements, tensor, indexOf(elements, column));
  }
  /// A parameter that has the row's axis alone.
  Value readParameter(KernelElements &elements, Value column, Value tensor) {
    return read(elements, tensor, LaneLoop::at(elements, column));
  }
  /// Combines `value(elements, column)` over the row, by `join` if that is given.
  Value reduceRow(RowWalk &row, Combiner combiner, llvm::function_ref<Value(KernelElements &, Value)> value,
                  Join join = nullptr) {
    auto usual = [&](Value x, Value y) { return combine(b, b.getLoc(), combiner, type, x, y); };
    if (!join)
      join = usual;
    return row.combine(
        identityOf(fn, combiner, type), blockOf(combiner, type), join,
        [&](KernelElements &elements, Value column, Value total) { return join(total, value(elements, column)); });
  }
  /// Stores every result of the row's shape, where result 0 of the root is `value`.
  void storeRow(KernelElements &elements, Value column, Value value) {
    value = narrow(b, b.getLoc(), value, stored);
    elements.install(root->getResult(0), [value](ArrayRef<LaneIndex>) { return value; });
    SmallVector<LaneIndex> index = indexOf(elements, column);
    for (unsigned i : rowResults)
      elements.storeResult(i, elements.load(fn.spec.yielded(i), index), index);
  }
  void softmaxRow(SoftmaxOp op, RowWalk &row);
  void layerNormRow(LayerNormOp op, RowWalk &row);
  void storeStatistic(Value scalar, Value statistic);

  KernelFunction &fn;
  ImplicitLocOpBuilder &b;
  Operation *root;
  Dims sizes;
  Type stored, type; // of the row's elements, and what they are computed in
  SmallVector<Value> outer;
  SmallVector<unsigned> rowResults;
};
} // namespace

void RowEmitter::softmaxRow(SoftmaxOp op, RowWalk &row) {
  Value x = op.getOperand();
  // Where an element is NaN, so are its exponential and the sum.
  Value greatest = reduceRow(
      row, Combiner::max, [&](KernelElements &e, Value column) { return read(e, column, x); },
      [&](Value a, Value c) { return MathLanes(b, a.getType(), {}).greater(a, c); });
  auto shifted = [&](KernelElements &e, Value column) -> Value {
    return arith::SubFOp::create(b, read(e, column, x), like(e, greatest));
  };
  auto exponentialOf = [&](KernelElements &e, Value column) {
    Value distance = shifted(e, column);
    MathLanes m(b, distance.getType(), {.fuses = fn.spec.target().hasFma});
    return buildNegativeExp(m, distance);
  };
  // Where they are not kept, a result of the same type holds the exponentials in between: each element is overwritten
  // after it was read.
  std::optional<unsigned> scratch;
  for (unsigned i : rowResults)
    if (elementTypeOf(fn.spec.yielded(i)) == type && !scratch)
      scratch = i;
  if (op.getLogarithm() || row.keepsElements())
    scratch.reset();
  llvm::DenseMap<KernelElements *, Value> kept;
  Value total = reduceRow(row, Combiner::add, [&](KernelElements &e, Value column) -> Value {
    Value exponential = exponentialOf(e, column);
    if (scratch)
      e.storeResult(*scratch, exponential, indexOf(e, column));
    if (row.keepsElements())
      kept[&e] = exponential;
    return exponential;
  });
  Value one = arith::ConstantOp::create(b, b.getFloatAttr(type, 1.0));
  Value factor =
      op.getLogarithm() ? math::LogOp::create(b, total).getResult() : arith::DivFOp::create(b, one, total).getResult();
  row.forEach([&](KernelElements &e, Value column) {
    Value value;
    if (op.getLogarithm()) {
      value = arith::SubFOp::create(b, shifted(e, column), like(e, factor));
    } else {
      Value exponential = row.keepsElements() ? kept.lookup(&e)
                          : scratch           ? e.loadResult(*scratch, indexOf(e, column))
                                              : exponentialOf(e, column);
      value = arith::MulFOp::create(b, exponential, like(e, factor));
    }
    storeRow(e, column, value);
  });
}

/// `statistic`, a result of the root with the row's axis of size 1, where the kernel yields it.
void RowEmitter::storeStatistic(Value scalar, Value statistic) {
  KernelElements elements(fn, 1);
  SmallVector<LaneIndex> index = elements.uniform(outer);
  index.push_back(elements.constant(0));
  for (unsigned i = 0; i < fn.spec.kernel.getNumResults(); ++i)
    if (fn.spec.yielded(i) == statistic)
      elements.storeResult(i, narrow(b, b.getLoc(), scalar, stored), index);
}

void RowEmitter::layerNormRow(LayerNormOp op, RowWalk &row) {
  Value x = op.getOperand();
  Value length = arith::IndexCastOp::create(b, b.getI64Type(), fn.materialize(sizes.back()));
  Value count = arith::SIToFPOp::create(b, type, length);
  Value mean = arith::ConstantOp::create(b, b.getFloatAttr(type, 0.0));
  if (op.getCenter()) {
    Value sum = reduceRow(row, Combiner::add, [&](KernelElements &e, Value column) { return read(e, column, x); });
    mean = arith::DivFOp::create(b, sum, count);
  }
  auto centered = [&](KernelElements &e, Value column) -> Value {
    Value value = read(e, column, x);
    return op.getCenter() ? arith::SubFOp::create(b, value, like(e, mean)).getResult() : value;
  };
  Value squares = reduceRow(row, Combiner::add, [&](KernelElements &e, Value column) -> Value {
    Value value = centered(e, column);
    return arith::MulFOp::create(b, value, value);
  });
  Value variance = arith::DivFOp::create(b, squares, count);
  Value epsilon = arith::ConstantOp::create(b, b.getFloatAttr(type, op.getEpsilon().convertToDouble()));
  Value one = arith::ConstantOp::create(b, b.getFloatAttr(type, 1.0));
  Value deviation = math::SqrtOp::create(b, arith::AddFOp::create(b, variance, epsilon));
  Value inverse = arith::DivFOp::create(b, one, deviation);
  row.forEach([&](KernelElements &e, Value column) {
    Value value = arith::MulFOp::create(b, centered(e, column), like(e, inverse));
    Value scale = op.getScale() ? readParameter(e, column, op.getScale()) : Value();
    Value bias = op.getBias() ? readParameter(e, column, op.getBias()) : Value();
    if (scale && bias)
      value = math::FmaOp::create(b, value, scale, bias);
    else if (scale)
      value = arith::MulFOp::create(b, value, scale);
    else if (bias)
      value = arith::AddFOp::create(b, value, bias);
    storeRow(e, column, value);
  });
  row.once([&] {
    storeStatistic(mean, op.getMean());
    storeStatistic(inverse, op.getInverseDeviation());
  });
}

EmittedKernel RowEmitter::emit(DimExpr perChunk, WalkRow walkRow) {
  DimContext &dims = fn.spec.dims;
  for (unsigned i = 0; i < fn.spec.kernel.getNumResults(); ++i) {
    Value yielded = fn.spec.yielded(i);
    if (yielded.getDefiningOp() != root || yielded == root->getResult(0))
      rowResults.push_back(i);
  }
  Dims outerSizes(sizes.begin(), sizes.end() - 1);
  DimExpr rows = dims.product(outerSizes), length = sizes.back();
  Value step = fn.materialize(perChunk), count = fn.materialize(rows);
  fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
    Value low = arith::MulIOp::create(b, chunk, step);
    Value high = arith::MinSIOp::create(b, arith::AddIOp::create(b, low, step), count);
    fn.loop(low, high, 1, [&](Value flat) {
      outer = fn.delinearize(flat, outerSizes);
      walkRow(length, [&](RowWalk &row) {
        if (auto softmax = dyn_cast<SoftmaxOp>(root))
          softmaxRow(softmax, row);
        else
          layerNormRow(cast<LayerNormOp>(root), row);
      });
    });
  });
  fn.finish();
  EmittedKernel emitted;
  emitted.function = fn.function;
  emitted.chunks = dims.ceilDiv(rows, perChunk);
  emitted.estimate(fn.spec, dims.mul(rows, length), fn.spec.costs().rowNs);
  return emitted;
}

bool sinter::cpu::isRow(KernelSpec &spec) {
  bool several = false;
  Operation *root = findRoot(spec, several);
  if (!root || several || !hasRowTemplate(root))
    return false;
  auto isGiven = [&](Value value) { return value == root->getResult(0); };
  return llvm::all_of(root->getOperands(), [&](Value operand) { return canBuild(operand, isGiven); }) &&
         llvm::all_of(llvm::seq(spec.kernel.getNumResults()), [&](unsigned i) {
           Value yielded = spec.yielded(i);
           bool isStatistic = yielded.getDefiningOp() == root && !isGiven(yielded);
           return isStatistic || (canBuild(yielded, isGiven) && spec.sizes->sameShape(root->getResult(0), yielded));
         });
}

Plan sinter::cpu::planRow(KernelSpec &spec, ScheduleAttr) {
  if (!isRow(spec))
    return Plan::refuse("it is no softmax or layer norm along the last axis");
  bool several = false;
  Value operand = findRoot(spec, several)->getOperand(0);
  Plan plan;
  plan.setLanes(
      lanesOfKernel(spec, spec.sizes->dims(operand).back(), byteWidth(accumulatorType(elementTypeOf(operand)))));
  plan.setChunk(spec.costs().rowElements);
  return plan;
}

EmittedKernel sinter::cpu::emitRows(KernelFunction &fn, DimExpr rowsPerChunk, WalkRow walkRow) {
  bool several = false;
  return RowEmitter(fn, findRoot(fn.spec, several)).emit(rowsPerChunk, walkRow);
}

namespace {
class LaneWalk final : public RowWalk {
public:
  LaneWalk(KernelFunction &fn, DimExpr length, int64_t lanes) : row(fn, length, lanes) {}
  Value combine(Value identity, int64_t block, Join join, Step step) override {
    return row.combine({}, identity, block, join,
                       [&](ArrayRef<Value>, KernelElements &elements, Value column, Value total) {
                         return step(elements, column, total);
                       });
  }
  void forEach(function_ref<void(KernelElements &, Value)> body) override { row.forEach(body); }
  void once(function_ref<void()> body) override { body(); }

private:
  LaneLoop row;
};
} // namespace

EmittedKernel sinter::cpu::emitRow(KernelSpec &spec, ModuleOp module, StringRef name) {
  KernelFunction fn(spec, module, name, {});
  bool several = false;
  DimContext &dims = spec.dims;
  DimExpr one = dims.constant(1), length = spec.sizes->dims(findRoot(spec, several)->getOperand(0)).back();
  DimExpr perChunk = dims.max(one, dims.floorDiv(dims.constant(spec.schedule().getChunk()), dims.max(length, one)));
  return emitRows(fn, perChunk, [&](DimExpr length, function_ref<void(RowWalk &)> body) {
    LaneWalk walk(fn, length, spec.schedule().getLanes());
    body(walk);
  });
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cumulative, det and arg_reduce_window: loops that carry what they have seen.

#include "backends/cpu/emit/ColumnGroups.h"
#include "backends/cpu/emit/General.h"
#include "backends/cpu/emit/RunningTotal.h"
#include "backends/cpu/emit/Single.h"
#include "ir/Contraction.h"
#include "ir/Reduction.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// Lanes along the innermost axis where `op` runs along another one: each is a column of its own. 1 where it has too
/// few.
static int64_t columnLanes(KernelSpec &spec, CumulativeOp op) {
  Type element = getElementTypeOrSelf(op.getOperand());
  int64_t lanes = spec.target().lanes(std::max(byteWidth(element), byteWidth(accumulatorType(element))));
  Dims sizes = spec.sizes->dims(op.getOperand());
  DimExpr inner = spec.dims.resolve(sizes.back());
  bool hasColumns = op.getAxis() + 1 < sizes.size() && inner.isConstant() && inner.constant() >= lanes;
  return hasColumns && !element.isInteger(1) ? lanes : 1;
}

static void emitColumns(SingleKernel &k, CumulativeOp op, int64_t lanes) {
  DimContext &dims = k.dims();
  int64_t axis = op.getAxis();
  Dims others = k.sizesOf(op.getOperand());
  DimExpr length = others[axis];
  others.erase(others.begin() + axis);
  ColumnGroups groups(k.fn, others, lanes);
  auto run = [&](ArrayRef<Value> outer, Value column) {
    RunningTotal total(k.fn, op.getCombiner(), getElementTypeOrSelf(op.getOperand()), lanes);
    k.fn.loop(k.fn.index(0), k.size(length), 1, total.start, [&](Value i, ValueRange carried) -> SmallVector<Value> {
      KernelElements elements(k.fn, lanes);
      SmallVector<LaneIndex> at = elements.uniform(outer);
      Value along = op.getReverse() ? k.sub(k.sub(k.size(length), k.fn.index(1)), i) : i;
      at.insert(at.begin() + axis, elements.uniform(along));
      at.push_back({column, 1, nullptr});
      Value value = elements.load(op.getOperand(), at);
      if (!isa<VectorType>(value.getType()))
        value = elements.splat(value);
      SmallVector<Value> next = total.next(carried, value);
      Value result = total.value(op.getExclusive() ? carried : ValueRange(next));
      for (unsigned yielded : k.resultsOf(0))
        elements.storeResult(yielded, result, at);
      return next;
    });
  };
  DimExpr perGroup = dims.mul(dims.max(length, dims.constant(1)), dims.constant(lanes));
  DimExpr perChunk = dims.floorDiv(dims.constant(k.fn.spec.schedule().getChunk()), perGroup);
  k.chunkRows(groups.count(), perChunk, [&](Value number, Value) { groups.visit(number, run); });
}

static EmittedKernel emitCumulative(SingleKernel &k, CumulativeOp op) {
  if (int64_t lanes = k.fn.spec.schedule().getLanes(); lanes > 1) {
    emitColumns(k, op, lanes);
    return k.finish();
  }
  int64_t axis = op.getAxis();
  DimContext &dims = k.dims();
  Dims sizes = k.sizesOf(op.getOperand()), others = sizes;
  DimExpr length = sizes[axis];
  others.erase(others.begin() + axis);
  DimExpr perChunk = dims.floorDiv(dims.constant(k.fn.spec.schedule().getChunk()), dims.max(length, dims.constant(1)));
  k.chunkRows(dims.product(others), perChunk, [&](Value row, Value) {
    SmallVector<Value> outer = k.fn.delinearize(row, others);
    RunningTotal total(k.fn, op.getCombiner(), getElementTypeOrSelf(op.getOperand()));
    k.fn.loop(k.fn.index(0), k.size(length), 1, total.start, [&](Value i, ValueRange carried) -> SmallVector<Value> {
      SmallVector<Value> at(outer);
      at.insert(at.begin() + axis, op.getReverse() ? k.sub(k.sub(k.size(length), k.fn.index(1)), i) : i);
      SmallVector<Value> next = total.next(carried, k.element(op.getOperand(), at));
      k.store(0, total.value(op.getExclusive() ? carried : ValueRange(next)), k.fn.offset(at, sizes));
      return next;
    });
  });
  return k.finish();
}

/// Elimination with partial pivoting in f64, on a copy.
static EmittedKernel emitDeterminant(SingleKernel &k, DetOp op) {
  DimContext &dims = k.dims();
  ImplicitLocOpBuilder &b = k.b;
  Dims sizes = k.sizesOf(op.getOperand()), batch = sizes;
  DimExpr order = sizes.back();
  batch.resize(batch.size() - 2);
  Type f64 = b.getF64Type(), type = getElementTypeOrSelf(op.getOperand());
  Value matrix =
      memref::ViewOp::create(b, MemRefType::get({kHuge}, f64), k.fn.workspace(), k.fn.index(0), ValueRange{});
  Value n = k.size(order), zero = k.fn.index(0), one = k.fn.index(1);
  Value nought = arith::ConstantOp::create(b, b.getF64FloatAttr(0)),
        unit = arith::ConstantOp::create(b, b.getF64FloatAttr(1));
  auto place = [&](Value row, Value column) { return k.add(k.mul(row, n), column); };
  auto load = [&](Value row, Value column) -> Value {
    return memref::LoadOp::create(b, matrix, ValueRange{place(row, column)});
  };
  auto store = [&](Value value, Value row, Value column) {
    memref::StoreOp::create(b, value, matrix, ValueRange{place(row, column)});
  };
  k.nest(batch, [&](ArrayRef<Value> outer) {
    k.nest({order, order}, [&](ArrayRef<Value> at) {
      SmallVector<Value> index(outer);
      llvm::append_range(index, at);
      Value value = k.element(op.getOperand(), index);
      store(type.isF64() ? value : arith::ExtFOp::create(b, f64, value).getResult(), at[0], at[1]);
    });
    Value product =
        k.fn.loop(zero, n, 1, ValueRange{unit},
                  [&](Value column, ValueRange carried) -> SmallVector<Value> {
                    Value least = arith::ConstantOp::create(b, b.getF64FloatAttr(-1));
                    Value pivot = k.fn.loop(column, n, 1, ValueRange{column, least},
                                            [&](Value row, ValueRange best) -> SmallVector<Value> {
                                              Value size = math::AbsFOp::create(b, load(row, column));
                                              Value better =
                                                  arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, size, best[1]);
                                              return {k.select(better, row, best[0]), k.select(better, size, best[1])};
                                            })
                                      .front();
                    k.fn.loop(column, n, 1, [&](Value j) {
                      Value upper = load(column, j), lower = load(pivot, j);
                      store(lower, column, j);
                      store(upper, pivot, j);
                    });
                    Value head = load(column, column);
                    Value swapped = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, pivot, column);
                    Value signedHead = k.select(swapped, arith::NegFOp::create(b, head), head);
                    // Below a head of 0 there are only zeros.
                    Value isZero = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, head, nought);
                    Value divisor = k.select(isZero, unit, head);
                    k.fn.loop(k.add(column, one), n, 1, [&](Value row) {
                      Value factor = arith::DivFOp::create(b, load(row, column), divisor);
                      k.fn.loop(column, n, 1, [&](Value j) {
                        Value part = arith::MulFOp::create(b, factor, load(column, j));
                        store(arith::SubFOp::create(b, load(row, j), part), row, j);
                      });
                    });
                    return {arith::MulFOp::create(b, carried.front(), signedHead)};
                  })
            .front();
    k.store(0, type.isF64() ? product : arith::TruncFOp::create(b, type, product).getResult(),
            k.fn.offset(outer, batch));
  });
  k.workspaceBytes = dims.mul(dims.mul(order, order), dims.constant(8));
  return k.finish();
}

static EmittedKernel emitArgReduceWindow(SingleKernel &k, ArgReduceWindowOp op) {
  DimContext &dims = k.dims();
  Dims sizes = k.sizesOf(op.getOperand()), resultSizes = k.sizesOf(op.getResult()), window;
  for (int64_t size : op.getWindow())
    window.push_back(dims.constant(size));
  Type type = getElementTypeOrSelf(op.getOperand());
  ImplicitLocOpBuilder &b = k.b;
  Value none = k.fn.index(-1), zero = k.fn.index(0);
  Value nothing = arith::ConstantOp::create(b, b.getZeroAttr(signless(type)));
  // NaN is the greatest here.
  auto above = [&](Value x, Value y) -> Value {
    Value greater = k.before(type, y, x, /*descending=*/false);
    return greater;
  };
  k.chunkRows(dims.product(resultSizes), dims.constant(k.fn.spec.schedule().getChunk()), [&](Value flat, Value) {
    SmallVector<Value> at = k.fn.delinearize(flat, resultSizes), tap;
    std::function<SmallVector<Value>(ValueRange)> level = [&](ValueRange best) -> SmallVector<Value> {
      if (tap.size() < window.size())
        return k.fn.loop(zero, k.size(window[tap.size()]), 1, best, [&](Value i, ValueRange carried) {
          tap.push_back(i);
          SmallVector<Value> next = level(carried);
          tap.pop_back();
          return next;
        });
      Value inside = arith::ConstantIntOp::create(b, b.getI1Type(), 1);
      SmallVector<Value> source, clamped;
      for (size_t axis = 0; axis < window.size(); ++axis) {
        Value origin = k.sub(k.mul(at[axis], k.fn.index(op.getStrides()[axis])), k.fn.index(op.getLow()[axis]));
        Value position = k.add(origin, k.mul(tap[axis], k.fn.index(op.getDilations()[axis])));
        Value on = k.inRange(position, k.size(sizes[axis]));
        inside = k.both(inside, on);
        source.push_back(k.select(on, position, zero));
      }
      Value value = k.element(op.getOperand(), source), offset = k.fn.offset(source, sizes);
      Value better = k.either(k.less(best[0], zero), above(value, best[1]));
      Value take = k.both(inside, better);
      return {k.select(take, offset, best[0]), k.select(take, value, best[1])};
    };
    Value best = level(ValueRange{none, nothing})[0];
    k.store(0, k.asInt64(k.max(best, zero)), flat);
  });
  return k.finish();
}

Plan sinter::cpu::planRunning(KernelSpec &spec, ScheduleAttr) {
  Operation *root = singleRoot(spec);
  if (!isa_and_nonnull<CumulativeOp, DetOp, ArgReduceWindowOp>(root))
    return Plan::refuse("it is no cumulative, det or arg_reduce_window alone");
  Plan plan;
  if (auto op = dyn_cast<CumulativeOp>(root)) {
    plan.setChunk(spec.costs().cumulativeElements);
    if (int64_t lanes = columnLanes(spec, op); lanes > 1)
      plan.setLanes(lanes);
  }
  if (isa<ArgReduceWindowOp>(root))
    plan.setChunk(spec.costs().argWindowElements);
  return plan;
}

EmittedKernel sinter::cpu::emitRunning(KernelSpec &spec, ModuleOp module, StringRef name) {
  Operation *root = singleRoot(spec);
  SingleKernel k(spec, module, name, root, {/*sizes=*/false, /*workspace=*/isa<DetOp>(root)});
  return llvm::TypeSwitch<Operation *, EmittedKernel>(root)
      .Case([&](CumulativeOp op) { return emitCumulative(k, op); })
      .Case([&](DetOp op) { return emitDeterminant(k, op); })
      .Case([&](ArgReduceWindowOp op) { return emitArgReduceWindow(k, op); });
}

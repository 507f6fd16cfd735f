// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sort and top_k, one row at a time: by keys, or, for a few elements, one pass for each.

#include "backends/cpu/emit/KeyOrder.h"
#include "ir/Reduction.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// Orders each row and keeps the first elements.
static void emitByKeys(OrderedRows &rows) {
  SingleKernel &k = rows.k;
  DimContext &dims = k.dims();
  DimExpr count = dims.product(rows.others), length = rows.length(), kept = rows.resultSizes[rows.axis];
  KeyOrder order(rows, k.fn.spec.schedule().getLanes());
  DimExpr words = order.words(), one = dims.constant(1), bytes = dims.mul(words, dims.constant(8));
  const CostModel &costs = k.fn.spec.costs();
  DimExpr most = dims.max(dims.floorDiv(dims.constant(costs.orderedBytes), bytes), dims.constant(costs.orderedChunks));
  DimExpr worthwhile = dims.floorDiv(dims.constant(k.fn.spec.schedule().getChunk()), dims.max(length, one));
  k.chunkRows(count, dims.max(worthwhile, dims.ceilDiv(count, most)), [&](Value row, Value chunk) {
    SmallVector<Value> outer = k.fn.delinearize(row, rows.others);
    order.emit(
        k.mul(chunk, k.size(words)), k.size(kept), [&](Value position) { return rows.load(outer, position); },
        [&](Value rank, Value value, Value position) { rows.store(outer, rank, value, position); });
  });
  k.workspaceBytes = dims.mul(k.chunks, bytes);
}

/// Finds the first element, then the first one after it, and so on.
static void emitByPasses(OrderedRows &rows) {
  SingleKernel &k = rows.k;
  DimContext &dims = k.dims();
  DimExpr length = rows.length();
  ImplicitLocOpBuilder &b = k.b;
  Value none = k.fn.index(-1), zero = k.fn.index(0);
  Value nothing = arith::ConstantOp::create(b, b.getZeroAttr(signless(rows.elementType())));
  auto before = [&](Value x, Value y) { return k.before(rows.elementType(), x, y, rows.descending); };
  k.chunkRows(dims.product(rows.others), dims.constant(k.fn.spec.schedule().getChunk()), [&](Value row, Value) {
    SmallVector<Value> outer = k.fn.delinearize(row, rows.others);
    Value kept = k.min(k.size(rows.resultSizes[rows.axis]), k.size(length));
    k.fn.loop(zero, kept, 1, ValueRange{none, nothing}, [&](Value rank, ValueRange last) -> SmallVector<Value> {
      SmallVector<Value> best = k.fn.loop(
          zero, k.size(length), 1, ValueRange{none, nothing}, [&](Value i, ValueRange best) -> SmallVector<Value> {
            Value value = rows.load(outer, i);
            // Elements that are alike are taken by position.
            Value alike = k.both(k.negate(before(value, last[1])), k.less(last[0], i));
            Value isLeft = k.either(k.less(last[0], zero), k.either(before(last[1], value), alike));
            Value better = k.either(k.less(best[0], zero), before(value, best[1]));
            Value take = k.both(isLeft, better);
            return {k.select(take, i, best[0]), k.select(take, value, best[1])};
          });
      rows.store(outer, rank, best[1], best[0]);
      return best;
    });
  });
}

/// Few elements are kept, which so many passes find.
static bool takesPasses(KernelSpec &spec, Operation *root) {
  DimExpr kept = spec.dims.resolve(spec.sizes->dims(root->getResult(0))[OrderedRows::axisOf(root)]);
  return isa<TopKOp>(root) && kept.isConstant() && kept.constant() <= spec.costs().selectionPasses;
}

Plan sinter::cpu::planOrder(KernelSpec &spec, ScheduleAttr) {
  Operation *root = singleRoot(spec);
  if (!OrderedRows::isRoot(root))
    return Plan::refuse("it is no sort or top_k alone");
  Plan plan;
  plan.setChunk(takesPasses(spec, root) ? spec.costs().selectedRows : spec.costs().orderedElements);
  if (!takesPasses(spec, root))
    plan.setLanes(keyLanes(spec.target(), getElementTypeOrSelf(root->getOperand(0))));
  return plan;
}

EmittedKernel sinter::cpu::emitOrder(KernelSpec &spec, ModuleOp module, StringRef name) {
  Operation *root = singleRoot(spec);
  bool byPasses = takesPasses(spec, root);
  SingleKernel k(spec, module, name, root, {/*sizes=*/false, /*workspace=*/!byPasses});
  OrderedRows rows(k);
  if (byPasses)
    emitByPasses(rows);
  else
    emitByKeys(rows);
  return k.finish();
}

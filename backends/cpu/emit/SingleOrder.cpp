// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sort and top_k, one row at a time, by keys.

#include "backends/cpu/emit/KeyOrder.h"
#include "backends/cpu/emit/LaneLoop.h"
#include "ir/Reduction.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// Orders each row and keeps the first elements.
static void emitRows(const OrderedRows &rows) {
  SingleKernel &k = rows.k;
  DimContext &dims = k.dims();
  DimExpr count = dims.product(rows.others), length = rows.length(), kept = rows.resultSizes[rows.axis];
  int64_t lanes = k.fn.spec.schedule().getLanes();
  KeyOrder order(rows, lanes);
  KernelElements elements(k.fn, lanes);
  bool inLanes =
      lanes > 1 && rows.axis + 1 == static_cast<int64_t>(rows.sizes.size()) && elements.canBuild(rows.operand);
  DimExpr words = order.words(), one = dims.constant(1), bytes = dims.mul(words, dims.constant(8));
  const CostModel &costs = k.fn.spec.costs();
  DimExpr most = dims.max(dims.floorDiv(dims.constant(costs.orderedBytes), bytes), dims.constant(costs.orderedChunks));
  DimExpr worthwhile = dims.floorDiv(dims.constant(k.fn.spec.schedule().getChunk()), dims.max(length, one));
  k.chunkRows(count, dims.max(worthwhile, dims.ceilDiv(count, most)), [&](Value row, Value chunk) {
    SmallVector<Value> outer = k.fn.delinearize(row, rows.others);
    auto loadLanes = [&](Value position) {
      SmallVector<LaneIndex> at = elements.uniform(outer);
      at.push_back(LaneLoop::at(elements, position));
      Value value = elements.load(rows.operand, at);
      return isa<VectorType>(value.getType()) ? value : elements.splat(value);
    };
    order.emit(
        k.mul(chunk, k.size(words)), k.size(kept), [&](Value position) { return rows.load(outer, position); },
        [&](Value rank, Value value, Value position) { rows.store(outer, rank, value, position); },
        inLanes ? KeyOrder::Load(loadLanes) : nullptr);
  });
  k.workspaceBytes = dims.mul(k.chunks, bytes);
}

Plan sinter::cpu::planOrder(KernelSpec &spec, ScheduleAttr) {
  Operation *root = singleRoot(spec);
  if (!OrderedRows::isRoot(root))
    return Plan::refuse("it is no sort or top_k alone");
  Plan plan;
  plan.setChunk(spec.costs().orderedElements);
  plan.setLanes(keyLanes(spec.target(), getElementTypeOrSelf(root->getOperand(0))));
  return plan;
}

EmittedKernel sinter::cpu::emitOrder(KernelSpec &spec, ModuleOp module, StringRef name) {
  SingleKernel k(spec, module, name, singleRoot(spec), {/*sizes=*/false, /*workspace=*/true});
  emitRows(OrderedRows(k));
  return k.finish();
}

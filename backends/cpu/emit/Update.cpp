// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// dynamic_update_slice as the last op of a kernel: only the window is written. The schedule sees to it that the result
// holds the operand before, by giving both one buffer (a loop's carry that changes at one index is then not copied) or
// by a copy.

#include "backends/cpu/emit/KernelElements.h"
#include "backends/cpu/emit/LaneLoop.h"
#include "ir/Shape.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

static bool reads(Value value, Value argument) {
  if (value == argument)
    return true;
  Operation *op = value.getDefiningOp();
  return op && llvm::any_of(op->getOperands(), [&](Value operand) { return reads(operand, argument); });
}

static DimExpr innermost(KernelSpec &spec, const Dims &window) {
  return window.empty() ? spec.dims.constant(1) : window.back();
}

Plan sinter::cpu::planUpdate(KernelSpec &spec, ScheduleAttr) {
  auto op = spec.yielded(0).getDefiningOp<DynamicUpdateSliceOp>();
  if (!op || spec.kernel.getNumResults() != 1)
    return Plan::refuse("it does not end in one dynamic_update_slice");
  auto operand = dyn_cast<BlockArgument>(op.getOperand());
  Dims window = spec.sizes->dims(op.getUpdate());
  DimExpr count = spec.dims.resolve(spec.dims.product(window));
  if (!operand || !count.isConstant() || count.constant() > spec.costs().updateElements)
    return Plan::refuse("the updated value is no input, or the window large or of unknown size");
  // What is read of the operand must be read before it is overwritten.
  if (count.constant() > 1 && (reads(op.getUpdate(), operand) || reads(op.getStarts(), operand)))
    return Plan::refuse("it reads what it would overwrite");
  auto nothing = [](Value) { return false; };
  if (!canBuild(op.getUpdate(), nothing) || !canBuild(op.getStarts(), nothing))
    return Plan::refuse("the window's elements cannot be built one by one");
  Plan plan;
  plan.setLanes(lanesOfKernel(spec, innermost(spec, window), 1));
  return plan;
}

EmittedKernel sinter::cpu::emitUpdate(KernelSpec &spec, ModuleOp module, StringRef name) {
  auto op = spec.yielded(0).getDefiningOp<DynamicUpdateSliceOp>();
  auto operand = cast<BlockArgument>(op.getOperand());
  Dims window = spec.sizes->dims(op.getUpdate()), sizes = spec.sizes->dims(operand);
  DimExpr count = spec.dims.resolve(spec.dims.product(window)), last = innermost(spec, window);
  auto rank = static_cast<int64_t>(sizes.size());
  int64_t lanes = spec.schedule().getLanes();
  KernelFunction fn(spec, module, name, {});
  ImplicitLocOpBuilder &b = fn.b;
  fn.loop(fn.begin(), fn.end(), 1, [&](Value) {
    KernelElements scalars(fn, 1);
    SmallVector<Value> starts;
    for (int64_t axis = 0; axis < rank; ++axis) {
      LaneIndex room =
          scalars.sub(scalars.uniform(fn.materialize(sizes[axis])), scalars.uniform(fn.materialize(window[axis])));
      LaneIndex given = scalars.fromValue(scalars.load(op.getStarts(), {scalars.constant(axis)}));
      starts.push_back(scalars.max(scalars.min(given, room), scalars.constant(0)).base);
    }
    SmallVector<Value> position;
    std::function<void()> level = [&] {
      auto axis = static_cast<int64_t>(position.size());
      if (axis + 1 < rank)
        return fn.loop(fn.index(0), fn.materialize(window[axis]), 1, [&](Value i) {
          position.push_back(i);
          level();
          position.pop_back();
        });
      LaneLoop columns(fn, last, lanes);
      columns.forEach([&](KernelElements &elements, Value column) {
        SmallVector<LaneIndex> from, to;
        for (auto [i, start] : llvm::zip(position, starts)) {
          from.push_back(elements.uniform(i));
          to.push_back(elements.uniform(arith::AddIOp::create(b, start, i)));
        }
        if (rank) {
          from.push_back(LaneLoop::at(elements, column));
          to.push_back({arith::AddIOp::create(b, starts.back(), column), elements.lanes > 1 ? 1 : 0, nullptr});
        }
        elements.storeResult(0, elements.load(op.getUpdate(), from), to);
      });
    };
    level();
  });
  fn.finish();

  EmittedKernel emitted;
  emitted.function = fn.function;
  emitted.chunks = spec.dims.constant(1);
  emitted.updates = static_cast<int64_t>(operand.getArgNumber());
  emitted.estimatedNs = spec.costs().updateCallNs + spec.costs().updatedNs * static_cast<double>(count.constant());
  return emitted;
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cuda/UpdateForm.h"
#include "backends/cpu/emit/KernelElements.h"
#include "ir/Shape.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

/// True when `value` is computed from `argument`.
static bool isComputedFrom(Value value, Value argument) {
  SmallVector<Value> pending = {value};
  llvm::SmallPtrSet<Operation *, 16> seen; // paths may join
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    if (next == argument)
      return true;
    if (Operation *op = next.getDefiningOp(); op && seen.insert(op).second)
      llvm::append_range(pending, op->getOperands());
  }
  return false;
}

std::string cuda::planUpdate(cuda::KernelSpec &spec, StringRef name, ScheduleAttr &schedule) {
  auto op = spec.yielded(0).getDefiningOp<DynamicUpdateSliceOp>();
  if (!op || spec.kernel.getNumResults() != 1)
    return "it does not end in one dynamic_update_slice";
  auto operand = dyn_cast<BlockArgument>(op.getOperand());
  if (!operand)
    return "the updated value is no input";
  // Another thread may have written it.
  if (isComputedFrom(op.getUpdate(), operand) || isComputedFrom(op.getStarts(), operand))
    return "it reads what it would overwrite";
  auto nothing = [](Value) { return false; };
  if (!cpu::canBuild(op.getUpdate(), nothing) || !cpu::canBuild(op.getStarts(), nothing))
    return "the window's elements cannot be built one by one";
  schedule = ScheduleAttr::get(spec.kernel.getContext(), name, 0, {}, 0, {}, {});
  return "";
}

cpu::EmittedKernel cuda::emitUpdate(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol) {
  auto op = spec.yielded(0).getDefiningOp<DynamicUpdateSliceOp>();
  auto operand = cast<BlockArgument>(op.getOperand());
  Dims window = spec.sizes->dims(op.getUpdate()), sizes = spec.sizes->dims(operand);
  cpu::KernelFunction fn(spec, module, symbol, {});
  fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
    cpu::KernelElements elements(fn, 1);
    SmallVector<LaneIndex> from, to;
    for (auto [axis, i] : llvm::enumerate(fn.delinearize(chunk, window))) {
      LaneIndex position = elements.uniform(i);
      LaneIndex room =
          elements.sub(elements.uniform(fn.materialize(sizes[axis])), elements.uniform(fn.materialize(window[axis])));
      LaneIndex given =
          elements.fromValue(elements.load(op.getStarts(), {elements.constant(static_cast<int64_t>(axis))}));
      LaneIndex start = elements.max(elements.min(given, room), elements.constant(0));
      from.push_back(position);
      to.push_back(elements.add(start, position));
    }
    elements.storeResult(0, elements.load(op.getUpdate(), from), to);
  });
  fn.finish();
  cpu::EmittedKernel emitted;
  emitted.function = fn.function;
  emitted.chunks = spec.dims.product(window);
  emitted.updates = static_cast<int64_t>(operand.getArgNumber());
  return emitted;
}

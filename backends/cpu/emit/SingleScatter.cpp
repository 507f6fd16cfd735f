// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// scatter_elements and scatter_nd: the operand is copied (by the schedule, unless result and operand are one buffer),
// then updates are combined one after the other, so that equal positions combine in index order. Positions outside are
// skipped.

#include "backends/cpu/emit/General.h"
#include "backends/cpu/emit/Single.h"
#include "ir/Indexing.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

static void copyOperand(SingleKernel &k, Value operand) {
  Dims sizes = k.sizesOf(operand);
  k.nest(sizes, [&](ArrayRef<Value> at) { k.store(0, k.element(operand, at), k.fn.offset(at, sizes)); });
}

/// result[at] = result[at] combined with `update`.
static void applyUpdate(SingleKernel &k, Combiner combiner, Type elementType, Value update, Value at) {
  if (combiner != Combiner::set) {
    // Of booleans, or and and are what sums and products come to.
    if (elementType.isInteger(1) && combiner == Combiner::add)
      combiner = Combiner::logical_or;
    if (elementType.isInteger(1) && combiner == Combiner::mul)
      combiner = Combiner::logical_and;
    Type accumulator = accumulatorType(elementType);
    bool wide = isUnsigned(elementType);
    Location loc = k.b.getLoc();
    Value old = widen(k.b, loc, k.loadResult(0, at), accumulator, wide);
    Value next = combine(k.b, loc, combiner, elementType, old, widen(k.b, loc, update, accumulator, wide));
    update = narrow(k.b, loc, next, elementType);
  }
  k.store(0, update, at);
}

/// A position from the end where negative; clears `inside` when it is not on the axis.
static Value writePosition(SingleKernel &k, Value position, Value size, Value &inside) {
  position = k.select(k.less(position, k.fn.index(0)), k.add(position, size), position);
  inside = k.both(inside, k.inRange(position, size));
  return position;
}

static void emitElements(SingleKernel &k, ScatterElementsOp op, bool copies) {
  Value operand = op.getOperand();
  Dims sizes = k.sizesOf(operand), positions = k.sizesOf(op.getPositions());
  if (copies)
    copyOperand(k, operand);
  k.nest(positions, [&](ArrayRef<Value> index) {
    SmallVector<Value> at(index);
    Value inside = arith::ConstantIntOp::create(k.b, k.b.getI1Type(), 1);
    for (auto [axis, position] : llvm::enumerate(at)) {
      if (axis == op.getAxis())
        position = writePosition(k, k.indexElement(op.getPositions(), index), k.size(sizes[axis]), inside);
      else if (!sizes[axis].isConstant() || !positions[axis].isConstant())
        inside = k.both(inside, k.inRange(position, k.size(sizes[axis])));
    }
    k.ifThen(inside, [&] {
      applyUpdate(k, op.getCombiner(), getElementTypeOrSelf(operand), k.element(op.getUpdates(), index),
                  k.fn.offset(at, sizes));
    });
  });
}

static void emitSlices(SingleKernel &k, ScatterNdOp op, bool copies) {
  Value operand = op.getOperand();
  Dims sizes = k.sizesOf(operand), tuples = k.sizesOf(op.getPositions());
  int64_t length = cast<RankedTensorType>(op.getPositions().getType()).getShape().back();
  tuples.pop_back();
  if (copies)
    copyOperand(k, operand);
  k.nest(tuples, [&](ArrayRef<Value> index) {
    SmallVector<Value> tuple(index), at;
    tuple.push_back({});
    Value inside = arith::ConstantIntOp::create(k.b, k.b.getI1Type(), 1);
    for (int64_t axis = 0; axis < length; ++axis) {
      tuple.back() = k.fn.index(axis);
      at.push_back(writePosition(k, k.indexElement(op.getPositions(), tuple), k.size(sizes[axis]), inside));
    }
    k.ifThen(inside, [&] {
      k.nest(ArrayRef(sizes).drop_front(length), [&](ArrayRef<Value> rest) {
        SmallVector<Value> from(index), to(at);
        llvm::append_range(from, rest);
        llvm::append_range(to, rest);
        applyUpdate(k, op.getCombiner(), getElementTypeOrSelf(operand), k.element(op.getUpdates(), from),
                    k.fn.offset(to, sizes));
      });
    });
  });
}

bool sinter::cpu::emitScatter(KernelSpec &spec, ModuleOp module, StringRef name, Operation *root,
                              EmittedKernel &emitted) {
  if (!isa<ScatterElementsOp, ScatterNdOp>(root))
    return false;
  SingleKernel k(spec, module, name, root);
  // An input that nothing else reads is left to the schedule, which may give it and the result one buffer.
  auto operand = dyn_cast<BlockArgument>(root->getOperand(0));
  bool copies = spec.options.optLevel == 0 || !operand || !operand.hasOneUse() || spec.kernel.getNumResults() != 1;
  if (auto op = dyn_cast<ScatterElementsOp>(root))
    emitElements(k, op, copies);
  else
    emitSlices(k, cast<ScatterNdOp>(root), copies);
  emitted = k.finish();
  if (copies)
    return true;
  emitted.updates = static_cast<int64_t>(operand.getArgNumber());
  DimExpr count = spec.dims.resolve(spec.dims.product(spec.sizes->dims(root->getOperand(2))));
  if (count.isConstant())
    emitted.estimatedNs = 1 + 2 * static_cast<double>(count.constant());
  return true;
}

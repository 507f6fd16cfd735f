// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One element of a gather: positions are made non-negative, clamped, and read through. Positions along the lanes make
// the read a gather in hardware; positions that lanes share keep it a vector load.

#include "ir/Elements.h"
#include "ir/Indexing.h"

using namespace mlir;
using namespace sinter;

static RankedTensorType tensor(Value value) { return cast<RankedTensorType>(value.getType()); }

/// A position from `positions` as one into an axis of `operand`.
static LaneIndex readPosition(ElementBuilder &e, Value positions, ArrayRef<LaneIndex> index, Value operand,
                              int64_t axis) {
  LaneIndex position = e.fromValue(e.load(positions, index));
  Value size = e.size(operand, axis);
  LaneIndex fromEnd = e.select(e.less(position, e.constant(0)), e.add(position, e.uniform(size)), position);
  return e.clamp(fromEnd, size);
}

/// Loads unless one of the `axes` that positions index turns out empty: then there is nothing to clamp to, and the
/// element is 0.
static Value loadIfAny(ElementBuilder &e, Value operand, ArrayRef<int64_t> axes, ArrayRef<LaneIndex> index) {
  Type element = signless(tensor(operand).getElementType());
  auto zero = [&]() -> Value {
    return isa<FloatType>(element) ? e.floatConstant(element, 0) : e.intConstant(element, 0);
  };
  std::function<Value(ArrayRef<int64_t>)> from = [&](ArrayRef<int64_t> left) -> Value {
    if (left.empty())
      return e.load(operand, index);
    int64_t size = tensor(operand).getDimSize(left.front());
    if (size == 0)
      return zero();
    if (!ShapedType::isDynamic(size))
      return from(left.drop_front());
    Value any = e.less(e.constant(0), e.uniform(e.size(operand, left.front())));
    return e.choose(any, [&] { return from(left.drop_front()); }, zero);
  };
  return from(axes);
}

Value GatherOp::buildElement(ElementBuilder &elements, unsigned, ArrayRef<LaneIndex> index) {
  int64_t axis = getAxis(), depth = tensor(getPositions()).getRank();
  SmallVector<LaneIndex> source(index.take_front(axis));
  source.push_back(readPosition(elements, getPositions(), index.slice(axis, depth), getOperand(), axis));
  llvm::append_range(source, index.drop_front(axis + depth));
  return loadIfAny(elements, getOperand(), axis, source);
}

Value GatherElementsOp::buildElement(ElementBuilder &elements, unsigned, ArrayRef<LaneIndex> index) {
  int64_t axis = getAxis();
  SmallVector<LaneIndex> source(index);
  source[axis] = readPosition(elements, getPositions(), index, getOperand(), axis);
  // Elsewhere positions may be shorter than the operand, never longer; only static sizes are sure of it.
  for (int64_t k = 0, rank = index.size(); k < rank; ++k)
    if (k != axis && (tensor(getOperand()).isDynamicDim(k) || tensor(getPositions()).isDynamicDim(k)) &&
        elements.size(getOperand(), k) != elements.size(getPositions(), k))
      source[k] = elements.clamp(source[k], elements.size(getOperand(), k));
  return loadIfAny(elements, getOperand(), axis, source);
}

Value GatherNdOp::buildElement(ElementBuilder &elements, unsigned, ArrayRef<LaneIndex> index) {
  RankedTensorType positions = tensor(getPositions());
  int64_t batch = getBatchAxes(), length = positions.getShape().back(), depth = positions.getRank() - 1;
  SmallVector<LaneIndex> tuple(index.take_front(depth)), source(index.take_front(batch));
  tuple.push_back({});
  SmallVector<int64_t> axes;
  for (int64_t k = 0; k < length; ++k) {
    tuple.back() = elements.constant(k);
    axes.push_back(batch + k);
    source.push_back(readPosition(elements, getPositions(), tuple, getOperand(), batch + k));
  }
  llvm::append_range(source, index.drop_front(depth));
  return loadIfAny(elements, getOperand(), axes, source);
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/ScatterForm.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

ScatterForm::ScatterForm(SingleKernel &k)
    : k(k), elements(dyn_cast<ScatterElementsOp>(k.root)), slices(dyn_cast<ScatterNdOp>(k.root)),
      operand(k.root->getOperand(0)), positions(k.root->getOperand(1)), updates(k.root->getOperand(2)),
      type(getElementTypeOrSelf(operand)), sizes(k.sizesOf(operand)), indices(k.sizesOf(positions)) {
  size_t length = sizes.size();
  if (slices) {
    length = cast<RankedTensorType>(positions.getType()).getShape().back();
    indices.pop_back();
  }
  chosen.assign(sizes.begin(), sizes.begin() + length);
  slice.assign(sizes.begin() + length, sizes.end());
}

bool ScatterForm::isRoot(Operation *root) { return isa_and_nonnull<ScatterElementsOp, ScatterNdOp>(root); }

Combiner ScatterForm::combiner() {
  Combiner given = elements ? elements.getCombiner() : slices.getCombiner();
  if (type.isInteger(1) && given == Combiner::add)
    return Combiner::logical_or;
  return type.isInteger(1) && given == Combiner::mul ? Combiner::logical_and : given;
}

/// A position from the end where negative; clears `inside` when it is not on the axis.
Value ScatterForm::onAxis(Value position, Value size, Value &inside) {
  position = k.select(k.less(position, k.fn.index(0)), k.add(position, size), position);
  inside = k.both(inside, k.inRange(position, size));
  return position;
}

SmallVector<Value> ScatterForm::placeOf(ArrayRef<Value> index, bool isKnownInside, Value &inside) {
  auto chosenAt = [&](ArrayRef<Value> at, Value size) {
    Value position = k.indexElement(positions, at);
    return isKnownInside ? position : onAxis(position, size, inside);
  };
  if (slices) {
    SmallVector<Value> tuple(index), place;
    tuple.push_back({});
    for (auto [axis, size] : llvm::enumerate(chosen)) {
      tuple.back() = k.fn.index(axis);
      place.push_back(chosenAt(tuple, k.size(size)));
    }
    return place;
  }
  SmallVector<Value> place(index);
  for (auto [axis, position] : llvm::enumerate(place)) {
    if (axis == elements.getAxis())
      position = chosenAt(index, k.size(sizes[axis]));
    else if (!sizes[axis].isConstant() || !indices[axis].isConstant())
      inside = k.both(inside, k.inRange(position, k.size(sizes[axis])));
  }
  return place;
}

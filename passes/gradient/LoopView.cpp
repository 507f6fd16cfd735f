// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/gradient/LoopView.h"
#include "ir/Axes.h"

using namespace mlir;
using namespace sinter;

std::optional<LoopView> LoopView::of(Operation *op) {
  LoopView view{};
  view.op = op;
  auto fill = [&](auto loop) {
    view.body = &loop.getBodyRegion();
    view.carries = loop.getInit().size();
    view.captures = loop.getCaptures().size();
    view.stacks = loop.getStacks().size();
  };
  if (auto loop = dyn_cast<WhileOp>(op)) {
    fill(loop);
    view.firstResult = 1;
  } else if (auto loop = dyn_cast<ForOp>(op)) {
    fill(loop);
    view.firstInit = 3;
    view.firstArgument = 1;
  } else if (auto loop = dyn_cast<ScanOp>(op)) {
    fill(loop);
    view.sequences = loop.getSequences().size();
  } else {
    return std::nullopt;
  }
  return view;
}

SmallVector<Value> LoopView::given() const {
  SmallVector<Value> values;
  if (firstArgument)
    values.push_back(op->getOperand(0)); // the index starts at the lower bound
  llvm::append_range(values, op->getOperands().drop_front(firstInit));
  return values;
}

int64_t LoopView::stackAxis(size_t k) const {
  auto scan = dyn_cast<ScanOp>(op);
  return scan ? scan.getOutAxes()[k] : 0;
}

bool LoopView::stackReverse(size_t k) const {
  auto scan = dyn_cast<ScanOp>(op);
  return scan && scan.getOutReverse()[k];
}

RankedTensorType sinter::sliceType(Type sequence, int64_t axis) {
  auto type = cast<RankedTensorType>(sequence);
  return RankedTensorType::get(dropAxes(SmallVector<int64_t>(type.getShape()), axis), type.getElementType());
}

RankedTensorType sinter::stackType(Type slice, int64_t axis, int64_t trips) {
  auto type = cast<RankedTensorType>(slice);
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin() + axis, trips);
  return RankedTensorType::get(shape, type.getElementType());
}

LoopView LoopView::withStacks(ArrayRef<Value> values) const {
  if (values.empty())
    return *this;
  OpBuilder builder(op);
  SmallVector<Type> types(op->getResultTypes());
  int64_t trips = ShapedType::kDynamic;
  if (isa<ScanOp>(op))
    for (size_t k = 0; k < sequences; ++k)
      trips =
          meetSize(trips, cast<RankedTensorType>(sequence(k).getType()).getDimSize(sequenceAxis(k))).value_or(trips);
  for (Value value : values)
    types.push_back(stackType(value.getType(), 0, trips));

  OperationState state(op->getLoc(), op->getName(), op->getOperands(), types, op->getAttrs());
  if (auto scan = dyn_cast<ScanOp>(op)) {
    SmallVector<int64_t> axes(scan.getOutAxes());
    SmallVector<bool> reverse(scan.getOutReverse());
    axes.resize(axes.size() + values.size(), 0);
    reverse.resize(reverse.size() + values.size(), false);
    state.attributes.set("out_axes", builder.getDenseI64ArrayAttr(axes));
    state.attributes.set("out_reverse", builder.getDenseBoolArrayAttr(reverse));
  }
  for (size_t k = 0; k < op->getNumRegions(); ++k)
    state.addRegion();
  Operation *wider = builder.create(state);
  for (auto [from, to] : llvm::zip(op->getRegions(), wider->getRegions()))
    to.takeBody(from);
  LoopView view = *LoopView::of(wider);
  Operation *yield = view.terminator();
  yield->insertOperands(yield->getNumOperands(), values);
  for (auto [from, to] : llvm::zip(op->getResults(), wider->getResults()))
    from.replaceAllUsesWith(to);
  op->erase();
  return *LoopView::of(wider);
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes and moves of elements, out to ONNX.

#include "compiler/onnx/OpExport.h"
#include <limits>

using namespace mlir;

namespace sinter::onnx {

static SmallVector<int64_t> allAxes(int64_t rank) { return llvm::to_vector(llvm::seq<int64_t>(0, rank)); }

/// Static sizes, and `otherwise` where there is none.
static SmallVector<int64_t> sizesOr(RankedTensorType type, int64_t otherwise) {
  SmallVector<int64_t> sizes(type.getShape());
  for (int64_t &size : sizes)
    if (ShapedType::isDynamic(size))
      size = otherwise;
  return sizes;
}

static LogicalResult writeIota(IotaOp op, OpExport &n) {
  RankedTensorType type = n.type(op.getResult());
  int64_t axis = op.getAxis();
  std::string shape = n.of(op.getShape());
  std::string size = type.isDynamicDim(axis) ? n.at(shape, axis) : n.scalar64(type.getDimSize(axis));
  std::string line = n.cast(n.emit("Range", {n.scalar64(0), size, n.scalar64(1)}), type.getElementType());
  SmallVector<int64_t> others = allAxes(type.getRank());
  others.erase(others.begin() + axis);
  if (others.empty())
    return n.out("Identity", {line});
  return n.out("Expand", {n.unsqueeze(line, others), shape.empty() ? n.ints(type.getShape()) : shape});
}

static LogicalResult writeDim(DimOp op, OpExport &n) {
  int64_t axis = op.getAxis();
  std::string size = n.emit("Shape", {n.in(0)}, {{"start", axis}, {"end", axis + 1}});
  return n.out("Squeeze", {size, n.ints({0})});
}

static LogicalResult writeBroadcast(BroadcastOp op, OpExport &n) {
  RankedTensorType type = n.type(op.getResult());
  SmallVector<int64_t> added;
  for (int64_t axis : allAxes(type.getRank()))
    if (!llvm::is_contained(op.getAxes(), axis))
      added.push_back(axis);
  std::string value = added.empty() ? n.of(op.getOperand()) : n.unsqueeze(n.of(op.getOperand()), added);
  if (type.hasStaticShape() || !op.getShape())
    value = n.emit("Expand", {value, n.ints(sizesOr(type, 1))}); // a 1 leaves the operand's size
  if (!type.hasStaticShape() && op.getShape())
    value = n.emit("Expand", {value, n.of(op.getShape())});
  else if (!type.hasStaticShape())
    for (Value like : op.getLike())
      value = n.emit("Expand", {value, n.shapeOf(n.of(like))});
  return n.out("Identity", {value});
}

static LogicalResult writeReshape(ReshapeOp op, OpExport &n) {
  RankedTensorType type = n.type(op.getResult());
  if (op.getShape())
    return n.out("Reshape", {n.in(0), n.of(op.getShape())}, {{"allowzero", 1}});
  int64_t unknown = type.getNumDynamicDims();
  if (unknown == 0)
    return n.out("Reshape", {n.in(0), n.ints(type.getShape())}, {{"allowzero", 1}});
  if (llvm::is_contained(type.getShape(), 0))
    return n.reject("Reshape cannot find a size beside one of 0");
  // 0 copies the operand's size of that axis, -1 is what is left.
  SmallVector<int64_t> sizes(type.getShape());
  for (int64_t &size : sizes)
    if (ShapedType::isDynamic(size))
      size = --unknown ? 0 : -1;
  return n.out("Reshape", {n.in(0), n.ints(sizes)});
}

static LogicalResult writeTranspose(TransposeOp op, OpExport &n) {
  return n.out("Transpose", {n.in(0)}, {{"perm", op.getPermutation()}});
}

static LogicalResult writeSlice(SliceOp op, OpExport &n) {
  SmallVector<int64_t> limits(op.getLimits());
  for (int64_t &limit : limits)
    if (limit < 0)
      limit = std::numeric_limits<int64_t>::max();
  return n.out("Slice", {n.in(0), n.ints(op.getStarts()), n.ints(limits), n.ints(allAxes(limits.size())),
                         n.ints(op.getSteps())});
}

static LogicalResult writeRangeSlice(RangeSliceOp op, OpExport &n) {
  std::string axes = n.ints(allAxes(n.rank(op.getOperand())));
  return n.out("Slice", {n.of(op.getOperand()), n.of(op.getStarts()), n.of(op.getLimits()), axes, n.of(op.getSteps())});
}

/// Starts such that a window of `sizes` (a list) lies within the sizes of `value`.
static std::string clampStarts(OpExport &n, std::string starts, std::string value, std::string sizes, int64_t rank) {
  std::string most = n.emit("Sub", {n.shapeOf(value), sizes});
  return n.emit("Max", {n.emit("Min", {starts, most}), n.ints(SmallVector<int64_t>(rank, 0))});
}

static LogicalResult writeDynamicSlice(DynamicSliceOp op, OpExport &n) {
  std::string sizes = n.ints(op.getSizes());
  std::string starts = clampStarts(n, n.of(op.getStarts()), n.of(op.getOperand()), sizes, op.getSizes().size());
  std::string axes = n.ints(allAxes(op.getSizes().size()));
  return n.out("Slice", {n.of(op.getOperand()), starts, n.emit("Add", {starts, sizes}), axes});
}

/// Along each axis that the window does not fill: what is before, the middle with the rest replaced, what is after.
static LogicalResult writeDynamicUpdateSlice(DynamicUpdateSliceOp op, OpExport &n) {
  RankedTensorType whole = n.type(op.getOperand()), part = n.type(op.getUpdate());
  std::string update = n.of(op.getUpdate()), sizes = n.shapeOf(update);
  std::string starts = clampStarts(n, n.of(op.getStarts()), n.of(op.getOperand()), sizes, whole.getRank());
  std::string ends = n.emit("Add", {starts, sizes});
  struct Step {
    std::string before, after;
    int64_t axis;
  };
  SmallVector<Step> steps;
  std::string middle = n.of(op.getOperand());
  std::string zero = n.ints({0}), last = n.ints({std::numeric_limits<int64_t>::max()});
  for (int64_t axis : allAxes(whole.getRank())) {
    if (whole.getDimSize(axis) == part.getDimSize(axis) && !whole.isDynamicDim(axis))
      continue;
    std::string axes = n.ints({axis}), next = n.ints({axis + 1});
    std::string start = n.emit("Slice", {starts, axes, next}), end = n.emit("Slice", {ends, axes, next});
    steps.push_back({n.emit("Slice", {middle, zero, start, axes}), n.emit("Slice", {middle, end, last, axes}), axis});
    middle = n.emit("Slice", {middle, start, end, axes});
  }
  std::string value = update;
  for (const Step &step : llvm::reverse(steps))
    value = n.emit("Concat", {step.before, value, step.after}, {{"axis", step.axis}});
  return n.out("Identity", {value});
}

static const char *padMode(PadMode mode) {
  return mode == PadMode::constant  ? "constant"
         : mode == PadMode::reflect ? "reflect"
         : mode == PadMode::edge    ? "edge"
                                    : "wrap";
}

static LogicalResult writePad(PadOp op, OpExport &n) {
  if (llvm::any_of(op.getInterior(), [](int64_t zeros) { return zeros != 0; }))
    return n.reject("Pad adds nothing between elements");
  SmallVector<int64_t> pads(op.getLow());
  llvm::append_range(pads, op.getHigh());
  std::string value = op.getMode() == PadMode::constant ? n.of(op.getValue()) : "";
  return n.out("Pad", {n.of(op.getOperand()), n.ints(pads), value}, {{"mode", padMode(op.getMode())}});
}

static LogicalResult writeDynamicPad(DynamicPadOp op, OpExport &n) {
  std::string pads = n.emit("Concat", {n.of(op.getLow()), n.of(op.getHigh())}, {{"axis", 0}});
  std::string value = op.getMode() == PadMode::constant ? n.of(op.getValue()) : "";
  return n.out("Pad", {n.of(op.getOperand()), pads, value}, {{"mode", padMode(op.getMode())}});
}

static LogicalResult writeConcatenate(ConcatenateOp op, OpExport &n) {
  SmallVector<std::string> inputs;
  for (Value operand : op.getOperands())
    inputs.push_back(n.of(operand));
  return n.out("Concat", inputs, {{"axis", int64_t(op.getAxis())}});
}

static LogicalResult writeReverse(ReverseOp op, OpExport &n) {
  size_t count = op.getAxes().size();
  if (count == 0)
    return n.out("Identity", {n.in(0)});
  SmallVector<int64_t> minusOne(count, -1), least(count, std::numeric_limits<int64_t>::min());
  return n.out("Slice", {n.in(0), n.ints(minusOne), n.ints(least), n.ints(op.getAxes()), n.ints(minusOne)});
}

void exportShape(ExportTable &t) {
  t.add<IotaOp>(writeIota);
  t.add<DimOp>(writeDim);
  t.addNode<ShapeOp>("Shape");
  t.add<BroadcastOp>(writeBroadcast);
  t.add<ReshapeOp>(writeReshape);
  t.add<TransposeOp>(writeTranspose);
  t.add<SliceOp>(writeSlice);
  t.add<RangeSliceOp>(writeRangeSlice);
  t.add<DynamicSliceOp>(writeDynamicSlice);
  t.add<DynamicUpdateSliceOp>(writeDynamicUpdateSlice);
  t.add<PadOp>(writePad);
  t.add<DynamicPadOp>(writeDynamicPad);
  t.add<ConcatenateOp>(writeConcatenate);
  t.add<ReverseOp>(writeReverse);
  t.addNode<TileOp>("Tile");
}

} // namespace sinter::onnx

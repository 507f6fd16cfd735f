// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reference evaluation: elements are moved as bytes. What shape rules leave to run time is checked here.

#include "ir/Limits.h"
#include "ir/Padding.h"
#include "ir/Ranges.h"
#include "ir/Shape.h"
#include "ir/reference/Moves.h"

using namespace mlir;
using namespace sinter;

using Tensors = SmallVector<HostTensor>;

static ArrayRef<int64_t> typeShape(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

/// Replaces `?` in a result's shape by `sizes`; fails when a known size differs.
static FailureOr<SmallVector<int64_t>> resultShape(Operation *op, ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> shape(typeShape(op->getResult(0)));
  for (auto [axis, pair] : llvm::enumerate(llvm::zip(shape, sizes))) {
    auto [size, given] = pair;
    if (given < 0)
      return op->emitOpError() << "requires sizes of at least 0, got " << given << " for axis " << axis;
    std::optional<int64_t> met = meetSize(size, given);
    if (!met)
      return op->emitOpError() << "requires size " << size << " for axis " << axis << ", got " << given;
    size = *met;
  }
  return shape;
}

//===- constants and sizes -------------------------------------------------------------------===//

FailureOr<Tensors> ConstantOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  FailureOr<HostTensor> tensor = HostTensor::fromAttr(getValue());
  if (failed(tensor))
    return emitOpError() << "requires a dense value, got " << getValue();
  return Tensors{*tensor};
}

FailureOr<Tensors> IotaOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &evaluator) {
  SmallVector<int64_t> shape(typeShape(getResult()));
  if (!operands.empty()) {
    FailureOr<SmallVector<int64_t>> sizes = resultShape(*this, operands[0].toInts());
    if (failed(sizes))
      return failure();
    shape = *sizes;
  }
  Type elementType = cast<RankedTensorType>(getResult().getType()).getElementType();
  if (failed(requireRoom(*this, evaluator, elementType, shape)))
    return failure();
  HostTensor result(elementType, shape);
  std::vector<int64_t> values;
  values.reserve(result.numElements());
  forEachIndex(shape, [&](ArrayRef<int64_t> index) { values.push_back(index[getAxis()]); });
  result.assignInts(values);
  return Tensors{result};
}

FailureOr<Tensors> DimOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {
  HostTensor result(IntegerType::get(getContext(), 64), {});
  result.setInt(0, operands[0].size(getAxis()));
  return Tensors{result};
}

FailureOr<Tensors> ShapeOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {
  return Tensors{HostTensor::ofInts(IntegerType::get(getContext(), 64), operands[0].shape())};
}

//===- other shapes of the same elements -----------------------------------------------------===//

FailureOr<Tensors> BroadcastOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &evaluator) {
  const HostTensor &operand = operands[0];
  SmallVector<int64_t> source(typeShape(getResult()).size(), 1), target = source;
  for (auto [k, axis] : llvm::enumerate(getAxes()))
    source[axis] = operand.size(k);
  if (getShape()) {
    // A 1 on either side gives way to the other's size.
    for (auto [size, from, given] : llvm::zip(target, source, operands[1].toInts()))
      size = given == 1 ? from : given;
  } else {
    target.assign(getLike().empty() ? source : SmallVector<int64_t>(operands.back().shape()));
  }
  SmallVector<int64_t> shape(typeShape(getResult()));
  for (auto [size, given] : llvm::zip(shape, target))
    if (ShapedType::isDynamic(size))
      size = given;
  StridedView view{0, SmallVector<int64_t>(shape.size(), 0)};
  SmallVector<int64_t> strides = operand.strides();
  for (auto [k, axis] : llvm::enumerate(getAxes())) {
    if (operand.size(k) != 1 && operand.size(k) != shape[axis])
      return emitOpError() << "requires an operand size of 1 or " << shape[axis] << " on result axis " << axis
                           << ", got " << operand.size(k);
    view.strides[axis] = operand.size(k) == 1 ? 0 : strides[k];
  }
  if (failed(requireRoom(*this, evaluator, operand.elementType(), shape)))
    return failure();
  return Tensors{takeStrided(operand, view, shape)};
}

FailureOr<Tensors> ReshapeOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {
  SmallVector<int64_t> shape(typeShape(getResult()));
  if (operands.size() > 1) {
    FailureOr<SmallVector<int64_t>> sizes = resultShape(*this, operands[1].toInts());
    if (failed(sizes))
      return failure();
    shape = *sizes;
  }
  // A shape of sizes that no tensor has is found by the count of its elements below.
  int64_t known = 1, rest = 1,
          copied = llvm::count(shape, ShapedType::kDynamic) - (llvm::is_contained(shape, 0) ? 0 : 1);
  for (int64_t size : shape)
    known = saturatingMul(known, ShapedType::isDynamic(size) ? 1 : size);
  SmallVector<int64_t> left(operands[0].shape());
  for (auto [axis, size] : llvm::enumerate(shape))
    if (ShapedType::isDynamic(size) && copied-- > 0)
      size = axis < left.size() ? std::exchange(left[axis], 1) : 0;
  for (int64_t size : left)
    rest *= size;
  for (int64_t &size : shape)
    if (ShapedType::isDynamic(size))
      size = known == 0 ? 0 : rest / known;
  if (countElements(shape) != operands[0].numElements())
    return emitOpError() << "requires " << operands[0].numElements() << " elements, got shape " << printShape(shape);
  return Tensors{operands[0].reshaped(shape)};
}

FailureOr<Tensors> TransposeOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {
  SmallVector<int64_t> strides = operands[0].strides(), shape;
  StridedView view{0, {}};
  for (int64_t axis : getPermutation()) {
    shape.push_back(operands[0].size(axis));
    view.strides.push_back(strides[axis]);
  }
  return Tensors{takeStrided(operands[0], view, shape)};
}

FailureOr<Tensors> ReverseOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {
  StridedView view{0, operands[0].strides()};
  for (int64_t axis : getAxes()) {
    view.start += (operands[0].size(axis) - 1) * view.strides[axis];
    view.strides[axis] = -view.strides[axis];
  }
  return Tensors{takeStrided(operands[0], view, operands[0].shape())};
}

//===- parts of a tensor ---------------------------------------------------------------------===//

static HostTensor takeRanges(const HostTensor &operand, ArrayRef<AxisRange> ranges) {
  StridedView view{0, operand.strides()};
  SmallVector<int64_t> shape;
  for (auto [range, stride] : llvm::zip(ranges, view.strides)) {
    shape.push_back(range.count);
    view.start += range.start * stride;
    stride *= range.step;
  }
  return takeStrided(operand, view, shape);
}

FailureOr<Tensors> SliceOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {
  SmallVector<AxisRange> ranges;
  for (int64_t axis = 0; axis < operands[0].rank(); ++axis) {
    int64_t size = operands[0].size(axis), limit = getLimits()[axis] == -1 ? size : getLimits()[axis];
    if (limit > size)
      return emitOpError() << "requires a limit of at most the size " << size << " of axis " << axis << ", got "
                           << limit;
    ranges.push_back(resolveRange(getStarts()[axis], limit, getSteps()[axis], size));
  }
  return Tensors{takeRanges(operands[0], ranges)};
}

FailureOr<Tensors> RangeSliceOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {
  SmallVector<AxisRange> ranges;
  for (int64_t axis = 0; axis < operands[0].rank(); ++axis)
    ranges.push_back(resolveRange(operands[1].getInt(axis), operands[2].getInt(axis), operands[3].getInt(axis),
                                  operands[0].size(axis)));
  return Tensors{takeRanges(operands[0], ranges)};
}

FailureOr<Tensors> DynamicSliceOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {
  SmallVector<AxisRange> ranges;
  for (auto [axis, size] : llvm::enumerate(getSizes())) {
    int64_t room = operands[0].size(axis) - size;
    if (room < 0)
      return emitOpError() << "requires sizes within the operand's, got " << size << " and " << operands[0].size(axis)
                           << " for axis " << axis;
    ranges.push_back({std::clamp<int64_t>(operands[1].getInt(axis), 0, room), 1, size});
  }
  return Tensors{takeRanges(operands[0], ranges)};
}

FailureOr<Tensors> DynamicUpdateSliceOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {
  HostTensor result = operands[0];
  const HostTensor &update = operands[1];
  StridedView view{0, result.strides()};
  for (int64_t axis = 0; axis < result.rank(); ++axis) {
    int64_t room = result.size(axis) - update.size(axis);
    if (room < 0)
      return emitOpError() << "requires an update within the operand, got " << update.size(axis) << " and "
                           << result.size(axis) << " for axis " << axis;
    view.start += std::clamp<int64_t>(operands[2].getInt(axis), 0, room) * view.strides[axis];
  }
  copyStrided(result, view, update, {0, update.strides()}, update.shape());
  return Tensors{result};
}

//===- larger tensors ------------------------------------------------------------------------===//

/// Padding by a value: the result is filled, then the elements that stay are copied to their places.
static HostTensor padByValue(const HostTensor &operand, const HostTensor &value, ArrayRef<int64_t> low,
                             ArrayRef<int64_t> interior, ArrayRef<int64_t> shape) {
  HostTensor result(operand.elementType(), shape);
  fill(result, value);
  StridedView to{0, result.strides()}, from{0, operand.strides()};
  SmallVector<int64_t> kept;
  for (auto [axis, size] : llvm::enumerate(shape)) {
    // Elements first, first + 1, ... of the operand land at low + first * period and on, within the result.
    int64_t period = interior[axis] + 1, first = low[axis] < 0 ? (-low[axis] + period - 1) / period : 0;
    int64_t room = size - low[axis] - 1; // of the last place that an element may take
    int64_t end = room < 0 ? 0 : std::min(operand.size(axis), room / period + 1);
    kept.push_back(std::max<int64_t>(end - first, 0));
    to.start += (low[axis] + first * period) * to.strides[axis];
    from.start += first * from.strides[axis];
    to.strides[axis] *= period;
  }
  copyStrided(result, to, operand, from, kept);
  return result;
}

/// Where element `index` of a padded axis comes from.
static int64_t padPosition(PadMode mode, int64_t index, const PaddedAxis &padded) {
  int64_t at = index - padded.low, size = padded.rest;
  switch (mode) {
  case PadMode::wrap:
    return padded.removed + (at % size + size) % size;
  case PadMode::reflect:
    return padded.removed + (at < 0 ? -at : at >= size ? 2 * (size - 1) - at : at);
  default:
    return padded.removed + std::clamp<int64_t>(at, 0, size - 1);
  }
}

static FailureOr<Tensors> evaluatePad(Operation *op, Evaluator &evaluator, const HostTensor &operand,
                                      const HostTensor &value, PadMode mode, ArrayRef<int64_t> low,
                                      ArrayRef<int64_t> high, ArrayRef<int64_t> interior) {
  SmallVector<int64_t> shape;
  SmallVector<PaddedAxis> axes;
  for (auto [axis, size] : llvm::enumerate(operand.shape())) {
    shape.push_back(paddedSize(size, low[axis], high[axis], interior[axis]));
    if (shape.back() < 0)
      return op->emitOpError() << "requires a result size of at least 0, got " << shape.back() << " for axis " << axis;
    axes.push_back(splitPadding(size, low[axis], high[axis], mode == PadMode::reflect));
    if (mode != PadMode::constant && axes.back().rest < axes.back().least)
      return op->emitOpError() << "in mode " << stringifyPadMode(mode) << " requires at least " << axes.back().least
                               << " elements to take from on axis " << axis << ", got " << axes.back().rest;
  }
  if (failed(requireRoom(op, evaluator, operand.elementType(), shape)))
    return failure();
  if (mode == PadMode::constant)
    return Tensors{padByValue(operand, value, low, interior, shape)};
  SmallVector<int64_t> strides = operand.strides();
  return Tensors{takeElements(operand, shape, [&](ArrayRef<int64_t> index) {
    int64_t position = 0;
    for (auto [axis, stride] : llvm::enumerate(strides))
      position += stride * padPosition(mode, index[axis], axes[axis]);
    return position;
  })};
}

FailureOr<Tensors> PadOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &evaluator) {
  return evaluatePad(*this, evaluator, operands[0], operands[1], getMode(), getLow(), getHigh(), getInterior());
}

FailureOr<Tensors> DynamicPadOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &evaluator) {
  return evaluatePad(*this, evaluator, operands[0], operands[1], getMode(), operands[2].toInts(), operands[3].toInts(),
                     SmallVector<int64_t>(operands[0].rank(), 0));
}

FailureOr<Tensors> ConcatenateOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &evaluator) {
  int64_t axis = getAxis();
  SmallVector<int64_t> shape(operands[0].shape());
  for (const HostTensor &operand : operands.drop_front()) {
    for (auto [k, size] : llvm::enumerate(operand.shape()))
      if (static_cast<int64_t>(k) != axis && size != shape[k])
        return emitOpError() << "requires equal sizes outside of axis " << axis << ", got " << shape[k] << " and "
                             << size << " for axis " << k;
    shape[axis] = saturatingAdd(shape[axis], operand.size(axis));
  }
  if (failed(requireRoom(*this, evaluator, operands[0].elementType(), shape)))
    return failure();
  HostTensor result(operands[0].elementType(), shape);
  StridedView to{0, result.strides()};
  for (const HostTensor &operand : operands) {
    copyStrided(result, to, operand, {0, operand.strides()}, operand.shape());
    to.start += operand.size(axis) * to.strides[axis];
  }
  return Tensors{result};
}

FailureOr<Tensors> TileOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &evaluator) {
  const HostTensor &operand = operands[0];
  SmallVector<int64_t> shape, strides = operand.strides();
  for (auto [axis, repeat] : llvm::enumerate(operands[1].toInts())) {
    if (repeat < 0)
      return emitOpError() << "requires repeats of at least 0, got " << repeat << " for axis " << axis;
    shape.push_back(saturatingMul(operand.size(axis), repeat));
  }
  if (failed(requireRoom(*this, evaluator, operand.elementType(), shape)))
    return failure();
  return Tensors{takeElements(operand, shape, [&](ArrayRef<int64_t> index) {
    int64_t position = 0;
    for (auto [axis, stride] : llvm::enumerate(strides))
      position += stride * (index[axis] % operand.size(axis));
    return position;
  })};
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/gradient/SteppedLoop.h"

#include "ir/Constants.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace sinter;

Value StepBuilder::number(int64_t value) {
  HostTensor tensor(getI64Type(), {});
  tensor.setInt(0, value);
  return make<ConstantOp>(tensor.toAttr());
}

static SmallVector<int64_t> axesAfterRows(RankedTensorType type) {
  return llvm::to_vector(llvm::seq<int64_t>(1, type.getRank()));
}

Value StepBuilder::rows(Value value, int64_t count) {
  RankedTensorType type = stackType(value.getType(), 0, count);
  return make<BroadcastOp>(value, Value(), ValueRange(), axesAfterRows(type), type);
}

Value StepBuilder::rows(Value value, Value count) {
  RankedTensorType type = stackType(value.getType(), 0, ShapedType::kDynamic);
  auto single = RankedTensorType::get({1}, getI64Type());
  SmallVector<Value> sizes{make<ReshapeOp>(count, Value(), single)};
  for (int64_t axis = 0; axis + 1 < type.getRank(); ++axis)
    sizes.push_back(make<ReshapeOp>(size(value, axis), Value(), single));
  Value shape = sizes.size() == 1 ? sizes[0] : make<ConcatenateOp>(sizes, 0);
  return make<BroadcastOp>(value, shape, ValueRange(), axesAfterRows(type), type);
}

Value StepBuilder::store(Value buffer, Value value, Value place, int64_t axis) {
  int64_t rank = tensorTypeOf(buffer).getRank();
  auto zeros = [&](int64_t count) -> Value {
    return make<ConstantOp>(HostTensor::ofInts(getI64Type(), SmallVector<int64_t>(count, 0)).toAttr());
  };
  SmallVector<Value> starts;
  if (axis > 0)
    starts.push_back(zeros(axis));
  starts.push_back(make<ReshapeOp>(place, Value(), RankedTensorType::get({1}, getI64Type())));
  if (axis + 1 < rank)
    starts.push_back(zeros(rank - axis - 1));
  Value start = starts.size() == 1 ? starts[0] : make<ConcatenateOp>(starts, 0);
  SmallVector<int64_t> axes;
  for (int64_t k = 0; k < rank; ++k)
    if (k != axis)
      axes.push_back(k);
  RankedTensorType type = stackType(value.getType(), axis, 1);
  Value slice = make<BroadcastOp>(value, Value(), ValueRange(), axes, type);
  return make<DynamicUpdateSliceOp>(buffer, slice, start);
}

SmallVector<Value> sinter::inlineBody(OpBuilder &b, Location loc, Region &region, ValueRange arguments) {
  Composer composer(loc, b);
  IRMapping map;
  for (auto [argument, value] : llvm::zip(region.getArguments(), arguments))
    map.map(argument, composer.retype(value, argument.getType()));
  for (Operation &op : region.front().without_terminator())
    b.clone(op, map);
  SmallVector<Value> yields;
  for (Value value : region.front().getTerminator()->getOperands())
    yields.push_back(map.lookupOrDefault(value));
  return yields;
}

std::optional<int64_t> sinter::knownTrips(const LoopView &view) {
  if (view.sequences) {
    int64_t size = cast<RankedTensorType>(view.sequence(0).getType()).getDimSize(view.sequenceAxis(0));
    return ShapedType::isDynamic(size) ? std::nullopt : std::optional(size);
  }
  auto loop = dyn_cast<ForOp>(view.op);
  if (!loop)
    return std::nullopt;
  std::optional<SmallVector<int64_t>> lower = constantInts(loop.getLower()), upper = constantInts(loop.getUpper());
  std::optional<SmallVector<int64_t>> step = constantInts(loop.getStep());
  if (!lower || !upper || !step)
    return std::nullopt;
  auto span = static_cast<__int128>(upper->front()) - lower->front(), stride = static_cast<__int128>(step->front());
  if (stride < 0)
    span = -span, stride = -stride;
  if (span <= 0 || stride == 0)
    return 0;
  auto count = (span + stride - 1) / stride;
  if (count > std::numeric_limits<int64_t>::max())
    return std::nullopt;
  return static_cast<int64_t>(count);
}

SteppedLoop::SteppedLoop(LoopView loop, StepBuilder &b) : loop(loop) {
  for (size_t k = 0; k < loop.captures; ++k)
    outside.push_back(loop.capture(k));
  if (auto counted = dyn_cast<ForOp>(loop.op)) {
    Value lower = counted.getLower(), step = counted.getStep();
    outside.append({lower, step});
    // ceil((upper - lower) / step), which is below 0 where the step leads away; by a step of 0 the quotient is -1.
    Value way = b.sub(b.add(b.sub(counted.getUpper(), lower), step), b.make<SignOp>(step));
    count = b.make<MaxOp>(b.make<DivOp>(way, step), b.number(0));
  } else if (isa<ScanOp>(loop.op)) {
    for (size_t k = 0; k < loop.sequences; ++k)
      outside.push_back(loop.sequence(k));
    count = b.size(loop.sequence(0), loop.sequenceAxis(0));
  }
}

SmallVector<Value> SteppedLoop::step(OpBuilder &at, Value t, ValueRange carries, ValueRange outside,
                                     Value trips) const {
  StepBuilder c(loop.op->getLoc(), at);
  SmallVector<Value> arguments;
  if (isa<ForOp>(loop.op))
    arguments.push_back(c.add(outside[loop.captures], c.make<MulOp>(t, outside[loop.captures + 1])));
  llvm::append_range(arguments, carries);
  for (size_t k = 0; k < loop.sequences; ++k) {
    Value sequence = outside[loop.captures + k], place = t;
    int64_t axis = loop.sequenceAxis(k);
    if (loop.sequenceReverse(k))
      place = c.sub(c.sub(trips ? trips : c.size(sequence, axis), 1), t);
    arguments.push_back(c.make<GatherOp>(sequence, place, axis));
  }
  llvm::append_range(arguments, outside.take_front(loop.captures));
  return inlineBody(at, loop.op->getLoc(), *loop.body, arguments);
}

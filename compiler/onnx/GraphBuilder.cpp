// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/onnx/GraphBuilder.h"

#include "compiler/onnx/Limits.h"
#include "ir/Constants.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace sinter::onnx {

//===--- questions --------------------------------------------------------------------------------------------===//

RankedTensorType GraphBuilder::type(Value value) const {
  if (!value)
    return RankedTensorType::get({}, b.getF32Type()); // after a failure
  return cast<RankedTensorType>(value.getType());
}

int64_t GraphBuilder::size(Value value, int64_t axis) const {
  ArrayRef<int64_t> sizes = dims(value);
  return axis >= 0 && axis < int64_t(sizes.size()) ? sizes[axis] : ShapedType::kDynamic;
}

std::optional<HostTensor> GraphBuilder::known(Value value) const { return constantTensor(value); }

std::optional<SmallVector<int64_t>> GraphBuilder::knownInts(Value value) const {
  if (!value || !isStatic(value) || type(value).getNumElements() > kMaxSteeringElements)
    return std::nullopt;
  std::optional<HostTensor> tensor = known(value);
  if (!tensor)
    return std::nullopt;
  std::vector<int64_t> elements = tensor->toInts();
  return SmallVector<int64_t>(elements.begin(), elements.end());
}

std::optional<double> GraphBuilder::knownScalar(Value value) const {
  if (!value || !isStatic(value) || type(value).getNumElements() != 1)
    return std::nullopt;
  std::optional<HostTensor> tensor = known(value);
  return tensor ? std::optional<double>(tensor->getFloat(0)) : std::nullopt;
}

std::optional<SmallVector<int64_t>> GraphBuilder::partlyKnownInts(Value value) {
  if (!value || rank(value) != 1)
    return std::nullopt;
  if (std::optional<SmallVector<int64_t>> all = knownInts(value))
    return all;
  if (!value || !isStatic(value))
    return std::nullopt;
  int64_t length = type(value).getNumElements();
  if (length > kMaxSteeringElements)
    return std::nullopt;
  SmallVector<int64_t> out(size_t(length), ShapedType::kDynamic);
  if (std::optional<Dims> elements = shapes.contents(value))
    for (auto [k, element] : llvm::enumerate(*elements))
      out[k] = element.staticSize();
  return out;
}

SmallVector<int64_t> GraphBuilder::allAxes(Value value) const {
  return llvm::to_vector(llvm::seq<int64_t>(0, rank(value)));
}

//===--- errors -----------------------------------------------------------------------------------------------===//

LogicalResult GraphBuilder::error(const Twine &message) {
  if (!failure)
    emitError(loc) << message;
  failure = true;
  return mlir::failure();
}

LogicalResult GraphBuilder::unsupported(const Twine &message) {
  if (!failure)
    noteUnsupported(message);
  return error(message + " is not supported");
}

//===--- building ---------------------------------------------------------------------------------------------===//

SmallVector<Value> GraphBuilder::finish(OperationState &state, unsigned count, InferFn infer) {
  SmallVector<Type> types;
  MLIRContext *context = b.getContext();
  if (mlir::failed(infer(context, loc, state.operands, state.attributes.getDictionary(context),
                         state.getRawProperties(), state.regions, types)) ||
      types.size() != count) {
    if (types.size() != count && !failure)
      emitError(loc) << state.name.getStringRef() << " cannot be built";
    failure = true;
    return SmallVector<Value>(count);
  }
  state.types.assign(types.begin(), types.end());
  Operation *op = b.create(state);
  if (mlir::failed(verify(op, /*verifyRecursively=*/false))) { // element types, which shape rules do not look at
    failure = true;
    return SmallVector<Value>(count);
  }
  if (count == 1)
    return {fold(op)};
  return llvm::to_vector(llvm::map_range(op->getResults(), [](OpResult result) { return Value(result); }));
}

Value GraphBuilder::fold(Operation *op) {
  Value result = op->getResult(0);
  auto resultType = cast<RankedTensorType>(result.getType());
  if (isa<ConstantOp>(op) || !isPure(op) || !isa<IntegerType>(resultType.getElementType()) ||
      !resultType.hasStaticShape() || resultType.getRank() > 1 || resultType.getNumElements() > 64)
    return result;

  // a computation on few known elements, as it steers shapes
  SmallVector<HostTensor> operands;
  for (Value operand : op->getOperands()) {
    if (!isStatic(operand) || type(operand).getNumElements() > 64)
      break;
    std::optional<HostTensor> tensor = known(operand);
    if (!tensor)
      break;
    operands.push_back(*tensor);
  }
  Value folded;
  if (operands.size() == op->getNumOperands()) {
    Evaluator evaluator;
    ScopedDiagnosticHandler quiet(b.getContext(), [](Diagnostic &) { return success(); });
    FailureOr<SmallVector<HostTensor>> values = evaluator.run(op, operands);
    if (succeeded(values) && values->size() == 1)
      folded = constant(values->front());
  } else if (resultType.getElementType().isInteger(64)) {
    if (std::optional<Dims> elements = shapes.contents(result);
        elements && llvm::all_of(*elements, [](DimExpr element) { return element.isConstant(); })) {
      SmallVector<int64_t> values;
      for (DimExpr element : *elements)
        values.push_back(element.constant());
      folded = constant(HostTensor::ofInts(resultType.getElementType(), values).reshaped(resultType.getShape()));
    }
  }
  // the op stays when it could not be folded; when it could, dead code elimination removes it: the shape analysis may
  // remember it
  return folded ? folded : result;
}

SmallVector<Value, 2> GraphBuilder::resolve(Operand lhs, Operand rhs) {
  if (!lhs.value && rhs.value)
    lhs.value = scalar(elem(rhs.value), lhs.number);
  else if (!rhs.value && lhs.value)
    rhs.value = scalar(elem(lhs.value), rhs.number);
  return {lhs.value, rhs.value};
}

Value GraphBuilder::constant(const HostTensor &tensor) {
  if (failure)
    return {};
  return ConstantOp::create(b, loc, TypeRange(tensor.tensorType()), tensor.toAttr())->getResult(0);
}

Value GraphBuilder::scalar(Type type, double value) { return constant(HostTensor::scalar(type, value)); }

Value GraphBuilder::scalarInt(int64_t value) {
  return constant(HostTensor::ofInts(b.getI64Type(), {value}).reshaped({}));
}

Value GraphBuilder::ints(ArrayRef<int64_t> values) { return constant(HostTensor::ofInts(b.getI64Type(), values)); }

Value GraphBuilder::floats(Type type, ArrayRef<double> values) {
  HostTensor tensor(type, {int64_t(values.size())});
  tensor.assignFloats(values);
  return constant(tensor);
}

Value GraphBuilder::full(Value like, double number) { return broadcastLike(scalar(elem(like), number), like); }

Value GraphBuilder::compare(CompareKind kind, Operand lhs, Operand rhs) {
  SmallVector<Value, 2> values = resolve(lhs, rhs);
  if (!broadcastTogether(values))
    return {};
  return make<CompareOp>(values[0], values[1], kind);
}

Value GraphBuilder::select(Value pred, Operand onTrue, Operand onFalse) {
  SmallVector<Value, 2> sides = resolve(onTrue, onFalse);
  SmallVector<Value, 3> values = {pred, sides[0], sides[1]};
  if (!broadcastTogether(values))
    return {};
  return make<SelectOp>(values[0], values[1], values[2]);
}

Value GraphBuilder::convert(Value value, Type type) {
  if (!value || elem(value) == type)
    return value;
  return make<ConvertOp>(value, type);
}

//===--- moving -----------------------------------------------------------------------------------------------===//

Value GraphBuilder::reshape(Value value, ArrayRef<int64_t> sizes) {
  if (failure)
    return {};
  SmallVector<int64_t> result(sizes);
  int64_t product = 1, unknown = -1;
  for (auto [k, size] : llvm::enumerate(sizes)) {
    if (size == -1)
      unknown = int64_t(k);
    else if (__builtin_mul_overflow(product, size, &product))
      product = 0;
  }
  if (unknown >= 0) {
    std::optional<int64_t> total = countElements(dims(value));
    result[unknown] = total && product > 0 && *total % product == 0 ? *total / product : ShapedType::kDynamic;
    if (total && ShapedType::isDynamic(result[unknown])) {
      (void)error("requires a shape that " + std::to_string(*total) + " elements fit in, found " + printShape(result));
      return {};
    }
  }
  auto resultType = RankedTensorType::get(result, elem(value));
  return value.getType() == resultType && resultType.hasStaticShape() ? value
                                                                      : make<ReshapeOp>(value, Value(), resultType);
}

Value GraphBuilder::reshapeTo(Value value, Value shape) {
  if (failure)
    return {};
  std::optional<SmallVector<int64_t>> sizes = partlyKnownInts(shape);
  if (!sizes) {
    (void)unsupported("a shape operand of unknown length");
    return {};
  }
  if (llvm::count(*sizes, ShapedType::kDynamic) <= 1) {
    // one size at most is left, it follows from the number of elements (unless that is 0)
    for (int64_t &size : *sizes)
      size = ShapedType::isDynamic(size) ? -1 : size;
    if (!llvm::is_contained(*sizes, 0))
      return reshape(value, *sizes);
    for (int64_t &size : *sizes)
      size = size == -1 ? ShapedType::kDynamic : size;
  }
  auto resultType = RankedTensorType::get(*sizes, elem(value));
  return make<ReshapeOp>(value, resultType.hasStaticShape() ? Value() : shape, resultType);
}

Value GraphBuilder::unsqueeze(Value value, ArrayRef<int64_t> axes) {
  if (failure || axes.empty())
    return value;
  int64_t resultRank = rank(value) + int64_t(axes.size());
  SmallVector<int64_t> sizes, kept;
  int64_t next = 0;
  for (int64_t axis = 0; axis < resultRank; ++axis) {
    if (llvm::is_contained(axes, axis)) {
      sizes.push_back(1);
    } else {
      kept.push_back(axis);
      sizes.push_back(size(value, next++));
    }
  }
  auto type = RankedTensorType::get(sizes, elem(value));
  if (!needsSizes(type))
    return make<ReshapeOp>(value, Value(), type);
  return make<BroadcastOp>(value, Value(), ValueRange(), kept, type);
}

Value GraphBuilder::squeeze(Value value, ArrayRef<int64_t> axes) {
  if (failure || axes.empty())
    return value;
  SmallVector<int64_t> sizes, kept;
  for (int64_t axis = 0; axis < rank(value); ++axis) {
    if (llvm::is_contained(axes, axis)) {
      if (!ShapedType::isDynamic(size(value, axis)) && size(value, axis) != 1) {
        (void)error("requires axes of size 1, found " + Twine(size(value, axis)) + " at axis " + Twine(axis));
        return {};
      }
      continue;
    }
    kept.push_back(axis);
    sizes.push_back(size(value, axis));
  }
  auto type = RankedTensorType::get(sizes, elem(value));
  Value shape;
  if (needsSizes(type))
    shape = gather(shapeOf(value), ints(kept), 0);
  return make<ReshapeOp>(value, shape, type);
}

Value GraphBuilder::flatten(Value value, int64_t axis) {
  if (failure)
    return {};
  std::optional<int64_t> outer = countElements(dims(value).take_front(axis));
  std::optional<int64_t> inner = countElements(dims(value).drop_front(axis));
  if (outer && inner)
    return make<ReshapeOp>(value, Value(), RankedTensorType::get({*outer, *inner}, elem(value)));
  // a size of 0 would leave the other one open
  if (outer && *outer > 0)
    return make<ReshapeOp>(value, Value(), RankedTensorType::get({*outer, ShapedType::kDynamic}, elem(value)));
  if (inner && *inner > 0)
    return make<ReshapeOp>(value, Value(), RankedTensorType::get({ShapedType::kDynamic, *inner}, elem(value)));
  Value shape = shapeOf(value);
  Value sizes = concat({reduce(Combiner::mul, slice(shape, 0, 0, axis), {0}, true),
                        reduce(Combiner::mul, slice(shape, 0, axis, rank(value)), {0}, true)},
                       0);
  return make<ReshapeOp>(value, sizes,
                         RankedTensorType::get({ShapedType::kDynamic, ShapedType::kDynamic}, elem(value)));
}

Value GraphBuilder::transpose(Value value, ArrayRef<int64_t> permutation) {
  if (llvm::equal(permutation, llvm::seq<int64_t>(0, int64_t(permutation.size()))))
    return value;
  return make<TransposeOp>(value, permutation);
}

Value GraphBuilder::slice(Value value, int64_t axis, int64_t start, int64_t limit, int64_t step) {
  if (failure)
    return {};
  if (axis < 0 || axis >= rank(value)) {
    (void)error("requires an operand with an axis " + Twine(axis) + ", found " + printShape(dims(value)));
    return {};
  }
  SmallVector<int64_t> starts(size_t(rank(value)), 0), limits(size_t(rank(value)), -1), steps(size_t(rank(value)), 1);
  for (int64_t k = 0; k < rank(value); ++k)
    limits[k] = ShapedType::isDynamic(size(value, k)) ? -1 : size(value, k);
  starts[axis] = start;
  limits[axis] = limit == -1 ? limits[axis] : limit;
  steps[axis] = step;
  return make<SliceOp>(value, starts, limits, steps);
}

Value GraphBuilder::concat(ArrayRef<Value> values, int64_t axis) {
  if (values.size() == 1)
    return values.front();
  return make<ConcatenateOp>(ValueRange(values), axis);
}

Value GraphBuilder::gather(Value value, Value positions, int64_t axis) {
  return make<GatherOp>(value, positions, axis);
}

Value GraphBuilder::element(Value value, int64_t index) {
  if (failure || rank(value) == 0)
    return value;
  return reshape(slice(value, 0, index, index + 1), {});
}

Value GraphBuilder::pad(Value value, Value fill, ArrayRef<int64_t> low, ArrayRef<int64_t> high) {
  SmallVector<int64_t> interior(low.size(), 0);
  return make<PadOp>(value, fill, low, high, interior, PadMode::constant);
}

Value GraphBuilder::positions(Value like, int64_t axis) {
  if (failure)
    return {};
  auto resultType = RankedTensorType::get(dims(like), b.getI64Type());
  return make<IotaOp>(resultType.hasStaticShape() ? Value() : shapeOf(like), axis, resultType);
}

//===--- computing --------------------------------------------------------------------------------------------===//

Value GraphBuilder::reduce(Combiner combiner, Value value, ArrayRef<int64_t> axes, bool keepDims) {
  if (axes.empty())
    return value;
  SmallVector<int64_t> sorted(axes);
  llvm::sort(sorted);
  Value result = make<ReduceOp>(value, sorted, combiner);
  return keepDims ? unsqueeze(result, sorted) : result;
}

Type GraphBuilder::sumType(Value value) {
  return isFloat(value) && elem(value).getIntOrFloatBitWidth() < 32 ? Type(b.getF32Type()) : elem(value);
}

Value GraphBuilder::inWiderFloats(Value value, function_ref<Value(Value)> build) {
  if (failure)
    return {};
  Type type = elem(value), wide = sumType(value);
  if (type == wide)
    return build(value);
  Value result = build(convert(value, wide));
  return failure ? Value() : convert(result, type);
}

Value GraphBuilder::mean(Value value, ArrayRef<int64_t> axes, bool keepDims) {
  return inWiderFloats(value, [&](Value wide) -> Value {
    Value sum = reduce(Combiner::add, wide, axes, keepDims);
    int64_t number = 1;
    for (int64_t axis : axes)
      number = ShapedType::isDynamic(number) || ShapedType::isDynamic(size(wide, axis)) ? ShapedType::kDynamic
                                                                                        : number * size(wide, axis);
    if (!ShapedType::isDynamic(number))
      return div(sum, double(number));
    Value product;
    for (int64_t axis : axes)
      product = product ? mul(product, dim(wide, axis)) : dim(wide, axis);
    return div(sum, convert(product, elem(wide)));
  });
}

Value GraphBuilder::matmul(Value lhs, Value rhs, Type elementType) {
  if (failure)
    return {};
  if (rank(lhs) == 0 || rank(rhs) == 0) {
    (void)error("requires operands of rank 1 at least, found rank 0");
    return {};
  }
  bool rowVector = rank(lhs) == 1, columnVector = rank(rhs) == 1;
  if (columnVector && rank(lhs) > 0)
    return make<DotGeneralOp>(lhs, rhs, ArrayRef<int64_t>(), ArrayRef<int64_t>(), ArrayRef<int64_t>{rank(lhs) - 1},
                              ArrayRef<int64_t>{0}, elementType);
  if (rank(rhs) == 2) // one product: the rows of all matrices
    return make<DotGeneralOp>(lhs, rhs, ArrayRef<int64_t>(), ArrayRef<int64_t>(), ArrayRef<int64_t>{rank(lhs) - 1},
                              ArrayRef<int64_t>{0}, elementType);
  if (rowVector)
    lhs = unsqueeze(lhs, {0});

  // leading axes broadcast; sizes are compared without the last two axes
  int64_t batch = std::max(rank(lhs), rank(rhs)) - 2;
  auto lead = [&](Value value) {
    SmallVector<int64_t> front;
    for (int64_t k = 0; k < batch + 2 - rank(value); ++k)
      front.push_back(k);
    return unsqueeze(value, front);
  };
  lhs = lead(lhs);
  rhs = lead(rhs);
  if (failure)
    return {};
  auto stretch = [&](Value value, Value other) -> Value {
    SmallVector<int64_t> sizes(dims(value));
    bool changes = false, needsShape = false;
    Dims own = isStatic(value) ? Dims() : shapes.dims(value), theirs = isStatic(other) ? Dims() : shapes.dims(other);
    for (int64_t k = 0; k < batch; ++k) {
      int64_t a = size(value, k), c = size(other, k);
      if (a == c && (!ShapedType::isDynamic(a) || own[k] == theirs[k]))
        continue;
      if (c == 1)
        continue;
      changes = true;
      sizes[k] = ShapedType::isDynamic(c) && a != 1 ? a : c;
      needsShape |= ShapedType::isDynamic(sizes[k]);
    }
    if (!changes)
      return value;
    Value shape;
    if (needsShape) {
      Value ownFront = slice(shapeOf(value), 0, 0, batch), otherFront = slice(shapeOf(other), 0, 0, batch);
      shape = concat({select(compare(CompareKind::eq, ownFront, 1), otherFront, ownFront),
                      slice(shapeOf(value), 0, batch, batch + 2)},
                     0);
    }
    return make<BroadcastOp>(value, shape, ValueRange(), allAxes(value), RankedTensorType::get(sizes, elem(value)));
  };
  Value stretchedLhs = stretch(lhs, rhs);
  rhs = stretch(rhs, lhs);
  SmallVector<int64_t> batchAxes = llvm::to_vector(llvm::seq<int64_t>(0, batch));
  Value product = make<DotGeneralOp>(stretchedLhs, rhs, batchAxes, batchAxes, ArrayRef<int64_t>{batch + 1},
                                     ArrayRef<int64_t>{batch}, elementType);
  return rowVector ? squeeze(product, {batch}) : product;
}

} // namespace sinter::onnx

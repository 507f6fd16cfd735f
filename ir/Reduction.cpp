// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Reduction.h"
#include "ir/Axes.h"
#include "ir/Constants.h"

using namespace mlir;
using namespace sinter;

#define GET_OP_CLASSES
#include "ir/Reduction.cpp.inc"

void SinterDialect::registerReduction() {
  addOperations<
#define GET_OP_LIST
#include "ir/Reduction.cpp.inc"
      >();
}

static RankedTensorType tensor(ArrayRef<int64_t> shape, Type element) { return RankedTensorType::get(shape, element); }
static RankedTensorType ranked(Type type) { return cast<RankedTensorType>(type); }
static Type positionType(MLIRContext *context) { return IntegerType::get(context, 64); }

//===- shape ---------------------------------------------------------------------------------===//

LogicalResult ReduceOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, ReduceOp::Adaptor adaptor,
                                         SmallVectorImpl<Type> &inferred) {
  RankedTensorType operand = ranked(adaptor.getOperand().getType());
  if (failed(checkAxes(loc, "reduce", adaptor.getAxes(), operand.getRank()))) // C1
    return failure();
  Combiner combiner = adaptor.getCombiner();
  Type element = operand.getElementType();
  bool logical = combiner == Combiner::logical_and || combiner == Combiner::logical_or;
  if (combiner == Combiner::set || (logical && isa<FloatType>(element)) || (!logical && element.isInteger(1))) // C2
    return emitOptionalError(
        loc, "reduce requires add, mul, max or min of numbers, or and, or of integers and booleans, got ",
        stringifyCombiner(combiner), " of ", element);
  inferred.push_back(tensor(dropAxes(SmallVector<int64_t>(operand.getShape()), adaptor.getAxes()), element));
  return success();
}

LogicalResult ArgReduceOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                            ArgReduceOp::Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  RankedTensorType operand = ranked(adaptor.getOperand().getType());
  auto axis = static_cast<int64_t>(adaptor.getAxis());
  if (failed(checkAxis(loc, "arg_reduce", axis, operand.getRank()))) // C1
    return failure();
  Combiner combiner = adaptor.getCombiner();
  if (combiner != Combiner::max && combiner != Combiner::min) // C2
    return emitOptionalError(loc, "arg_reduce requires max or min, got ", stringifyCombiner(combiner));
  if (operand.getDimSize(axis) == 0) // C3
    return emitOptionalError(loc, "arg_reduce requires a non-empty axis, got size 0 of axis ", axis);
  inferred.push_back(tensor(dropAxes(SmallVector<int64_t>(operand.getShape()), axis), positionType(context)));
  return success();
}

LogicalResult CumulativeOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, CumulativeOp::Adaptor adaptor,
                                             SmallVectorImpl<Type> &inferred) {
  RankedTensorType operand = ranked(adaptor.getOperand().getType());
  if (failed(checkAxis(loc, "cumulative", adaptor.getAxis(), operand.getRank()))) // C1
    return failure();
  Combiner combiner = adaptor.getCombiner();
  if (combiner > Combiner::min) // C2
    return emitOptionalError(loc, "cumulative requires add, mul, max or min, got ", stringifyCombiner(combiner));
  inferred.push_back(operand);
  return success();
}

/// Window attributes of `op`, one entry per axis of the operand, all positive where they must be.
template <typename Adaptor>
static FailureOr<SmallVector<WindowAxis>> windowAxes(std::optional<Location> loc, StringRef op, Adaptor adaptor,
                                                     int64_t rank) {
  std::pair<StringRef, ArrayRef<int64_t>> arrays[] = {{"window", adaptor.getWindow()},
                                                      {"strides", adaptor.getStrides()},
                                                      {"low", adaptor.getLow()},
                                                      {"high", adaptor.getHigh()},
                                                      {"dilations", adaptor.getDilations()}};
  for (auto [name, array] : arrays) {
    if (static_cast<int64_t>(array.size()) != rank) // C1
      return emitOptionalError(loc, op, " requires one entry per axis in ", name, ", got ", array.size(), " for rank ",
                               rank);
    if (name == "low" || name == "high")
      continue;
    for (int64_t value : array)
      if (value < 1) // C2
        return emitOptionalError(loc, op, " requires positive ", name, ", got ", value);
  }
  SmallVector<WindowAxis> axes;
  for (int64_t k = 0; k < rank; ++k)
    axes.push_back({adaptor.getWindow()[k], adaptor.getStrides()[k], adaptor.getLow()[k], adaptor.getHigh()[k],
                    adaptor.getDilations()[k], 1});
  return axes;
}

template <typename Adaptor>
static FailureOr<SmallVector<int64_t>> windowShape(std::optional<Location> loc, StringRef op, Adaptor adaptor) {
  ArrayRef<int64_t> shape = ranked(adaptor.getOperand().getType()).getShape();
  FailureOr<SmallVector<WindowAxis>> axes = windowAxes(loc, op, adaptor, shape.size());
  if (failed(axes))
    return failure();
  SmallVector<int64_t> result;
  for (auto [axis, size] : llvm::zip(*axes, shape))
    result.push_back(axis.resultSize(size));
  return result;
}

LogicalResult ReduceWindowOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                               ReduceWindowOp::Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  FailureOr<SmallVector<int64_t>> shape = windowShape(loc, "reduce_window", adaptor);
  if (failed(shape))
    return failure();
  Combiner combiner = adaptor.getCombiner();
  if (combiner > Combiner::min) // C3
    return emitOptionalError(loc, "reduce_window requires add, mul, max or min, got ", stringifyCombiner(combiner));
  inferred.push_back(tensor(*shape, ranked(adaptor.getOperand().getType()).getElementType()));
  return success();
}

LogicalResult ArgReduceWindowOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                                  ArgReduceWindowOp::Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  FailureOr<SmallVector<int64_t>> shape = windowShape(loc, "arg_reduce_window", adaptor);
  if (failed(shape))
    return failure();
  inferred.push_back(tensor(*shape, positionType(context)));
  return success();
}

LogicalResult SortOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc, SortOp::Adaptor adaptor,
                                       SmallVectorImpl<Type> &inferred) {
  RankedTensorType operand = ranked(adaptor.getOperand().getType());
  if (failed(checkAxis(loc, "sort", adaptor.getAxis(), operand.getRank()))) // C1
    return failure();
  inferred.push_back(operand);
  inferred.push_back(tensor(operand.getShape(), positionType(context)));
  return success();
}

LogicalResult TopKOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc, TopKOp::Adaptor adaptor,
                                       SmallVectorImpl<Type> &inferred) {
  RankedTensorType operand = ranked(adaptor.getOperand().getType());
  auto axis = static_cast<int64_t>(adaptor.getAxis());
  if (failed(checkAxis(loc, "top_k", axis, operand.getRank()))) // C1
    return failure();
  SmallVector<int64_t> shape(operand.getShape());
  std::optional<SmallVector<int64_t>> constant = constantInts(adaptor.getK());
  std::optional<int64_t> k = constant ? std::optional((*constant)[0]) : std::nullopt;
  if (k && *k < 0) // C2
    return emitOptionalError(loc, "top_k requires k >= 0, got ", *k);
  bool known = k && (*k == 0 || !ShapedType::isDynamic(shape[axis]));
  shape[axis] = known ? std::min(*k, std::max<int64_t>(shape[axis], 0)) : ShapedType::kDynamic;
  inferred.push_back(tensor(shape, operand.getElementType()));
  inferred.push_back(tensor(shape, positionType(context)));
  return success();
}

//===- sizes ---------------------------------------------------------------------------------===//

SmallVector<Dims> ReduceOp::resultDims(ShapeQuery &shapes) { return {dropAxes(shapes.dims(getOperand()), getAxes())}; }
SmallVector<Dims> ArgReduceOp::resultDims(ShapeQuery &shapes) {
  return {dropAxes(shapes.dims(getOperand()), static_cast<int64_t>(getAxis()))};
}
SmallVector<Dims> CumulativeOp::resultDims(ShapeQuery &shapes) { return {shapes.dims(getOperand())}; }

template <typename WindowOp> static Dims windowDims(WindowOp op, ShapeQuery &shapes) {
  Dims dims = shapes.dims(op.getOperand());
  for (auto [k, size] : llvm::enumerate(dims))
    size = WindowAxis{op.getWindow()[k], op.getStrides()[k], op.getLow()[k], op.getHigh()[k], op.getDilations()[k], 1}
               .resultSize(shapes.context(), size);
  return dims;
}
SmallVector<Dims> ReduceWindowOp::resultDims(ShapeQuery &shapes) { return {windowDims(*this, shapes)}; }
SmallVector<Dims> ArgReduceWindowOp::resultDims(ShapeQuery &shapes) { return {windowDims(*this, shapes)}; }

SmallVector<Dims> SortOp::resultDims(ShapeQuery &shapes) {
  Dims dims = shapes.dims(getOperand());
  return {dims, dims};
}

SmallVector<Dims> TopKOp::resultDims(ShapeQuery &shapes) {
  DimContext &context = shapes.context();
  Dims dims = shapes.dims(getOperand());
  DimExpr &size = dims[getAxis()];
  if (std::optional<Dims> k = shapes.contents(getK()); k && k->size() == 1)
    size = context.min(size, context.max((*k)[0], context.constant(0)));
  else
    size = dimsOfResult(context, getValues())[getAxis()];
  return {dims, dims};
}

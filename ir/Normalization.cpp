// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Normalization.h"
#include "ir/Axes.h"

using namespace mlir;
using namespace sinter;

#define GET_OP_CLASSES
#include "ir/Normalization.cpp.inc"

void SinterDialect::registerNormalization() {
  addOperations<
#define GET_OP_LIST
#include "ir/Normalization.cpp.inc"
      >();
}

static RankedTensorType ranked(Type type) { return cast<RankedTensorType>(type); }

//===- shape ---------------------------------------------------------------------------------===//

/// A parameter has the element type and exactly the sizes (up to `?`) that the op wants.
static LogicalResult checkParameter(std::optional<Location> loc, StringRef op, StringRef name, Value value,
                                    ArrayRef<int64_t> shape, Type element) {
  if (!value)
    return success();
  RankedTensorType wanted = RankedTensorType::get(shape, element);
  if (agree(value.getType(), wanted))
    return success();
  return emitOptionalError(loc, op, " requires ", name, " of type ", wanted, ", got ", value.getType());
}

LogicalResult SoftmaxOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, SoftmaxOp::Adaptor adaptor,
                                          SmallVectorImpl<Type> &inferred) {
  RankedTensorType operand = ranked(adaptor.getOperand().getType());
  if (failed(checkAxis(loc, "softmax", adaptor.getAxis(), operand.getRank()))) // C1
    return failure();
  inferred.push_back(operand);
  return success();
}

LogicalResult LayerNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, LayerNormOp::Adaptor adaptor,
                                            SmallVectorImpl<Type> &inferred) {
  RankedTensorType operand = ranked(adaptor.getOperand().getType());
  auto axis = static_cast<int64_t>(adaptor.getAxis());
  if (failed(checkAxis(loc, "layer_norm", axis, operand.getRank()))) // C1
    return failure();
  Type element = operand.getElementType();
  ArrayRef<int64_t> row = operand.getShape().drop_front(axis);
  if (failed(checkParameter(loc, "layer_norm", "scale", adaptor.getScale(), row, element)) || // C2
      failed(checkParameter(loc, "layer_norm", "bias", adaptor.getBias(), row, element)))
    return failure();
  SmallVector<int64_t> statistics(operand.getShape());
  std::fill(statistics.begin() + axis, statistics.end(), 1);
  inferred.push_back(operand);
  inferred.append(2, RankedTensorType::get(statistics, element));
  return success();
}

LogicalResult BatchNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, BatchNormOp::Adaptor adaptor,
                                            SmallVectorImpl<Type> &inferred) {
  RankedTensorType operand = ranked(adaptor.getOperand().getType());
  if (failed(checkAxis(loc, "batch_norm", adaptor.getAxis(), operand.getRank()))) // C1
    return failure();
  Type element = operand.getElementType();
  int64_t channels = operand.getDimSize(adaptor.getAxis());
  std::pair<StringRef, Value> parameters[] = {{"scale", adaptor.getScale()},
                                              {"bias", adaptor.getBias()},
                                              {"mean", adaptor.getMean()},
                                              {"variance", adaptor.getVariance()}};
  for (auto [name, value] : parameters)
    if (failed(checkParameter(loc, "batch_norm", name, value, channels, element))) // C2
      return failure();
  inferred.push_back(operand);
  return success();
}

LogicalResult GroupNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, GroupNormOp::Adaptor adaptor,
                                            SmallVectorImpl<Type> &inferred) {
  RankedTensorType operand = ranked(adaptor.getOperand().getType());
  if (operand.getRank() < 2) // C1
    return emitOptionalError(loc, "group_norm requires an operand of rank 2 or more, got ", operand.getRank());
  int64_t channels = operand.getDimSize(1), groups = adaptor.getGroups();
  if (groups < 1 || (!ShapedType::isDynamic(channels) && channels % groups != 0)) // C2
    return emitOptionalError(loc, "group_norm requires a multiple of groups as channels, got ", channels, " for ",
                             groups, " groups");
  Type element = operand.getElementType();
  if (failed(checkParameter(loc, "group_norm", "scale", adaptor.getScale(), channels, element)) || // C3
      failed(checkParameter(loc, "group_norm", "bias", adaptor.getBias(), channels, element)))
    return failure();
  inferred.push_back(operand);
  return success();
}

LogicalResult AttentionOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, AttentionOp::Adaptor adaptor,
                                            SmallVectorImpl<Type> &inferred) {
  RankedTensorType query = ranked(adaptor.getQuery().getType()), key = ranked(adaptor.getKey().getType()),
                   value = ranked(adaptor.getValue().getType());
  int64_t rank = query.getRank();
  if (rank < 2 || key.getRank() != rank || value.getRank() != rank) // C1
    return emitOptionalError(loc, "attention requires query, key and value of one rank of 2 or more, got ", rank, ", ",
                             key.getRank(), " and ", value.getRank());
  Type element = query.getElementType();
  if (key.getElementType() != element || value.getElementType() != element) // C2
    return emitOptionalError(loc, "attention requires query, key and value of one element type, got ", element, ", ",
                             key.getElementType(), " and ", value.getElementType());
  SmallVector<int64_t> shape;
  for (int64_t k = 0; k < rank - 2; ++k) {
    std::optional<int64_t> size = meetSize(query.getDimSize(k), key.getDimSize(k));
    size = size ? meetSize(*size, value.getDimSize(k)) : size;
    if (!size) // C3
      return emitOptionalError(loc, "attention requires equal leading axes, got ", printShape(query.getShape()), ", ",
                               printShape(key.getShape()), " and ", printShape(value.getShape()));
    shape.push_back(*size);
  }
  if (!meetSize(query.getDimSize(rank - 1), key.getDimSize(rank - 1))) // C4
    return emitOptionalError(loc, "attention requires query and key of one depth, got ", query.getDimSize(rank - 1),
                             " and ", key.getDimSize(rank - 1));
  std::optional<int64_t> count = meetSize(key.getDimSize(rank - 2), value.getDimSize(rank - 2));
  if (!count) // C5
    return emitOptionalError(loc, "attention requires as many keys as values, got ", key.getDimSize(rank - 2), " and ",
                             value.getDimSize(rank - 2));
  shape.push_back(query.getDimSize(rank - 2));
  if (Value bias = adaptor.getBias()) {
    SmallVector<int64_t> scores(shape);
    scores.push_back(*count);
    RankedTensorType type = ranked(bias.getType());
    bool fits = type.getRank() == rank && type.getElementType() == element;
    for (int64_t k = 0; fits && k < rank; ++k)
      fits = type.getDimSize(k) == 1 || meetSize(type.getDimSize(k), scores[k]);
    if (!fits) // C6
      return emitOptionalError(loc, "attention requires a bias that broadcasts to ",
                               RankedTensorType::get(scores, element), ", got ", type);
  }
  shape.push_back(value.getDimSize(rank - 1));
  inferred.push_back(RankedTensorType::get(shape, element));
  return success();
}

//===- sizes ---------------------------------------------------------------------------------===//

SmallVector<Dims> SoftmaxOp::resultDims(ShapeQuery &shapes) { return {shapes.dims(getOperand())}; }
SmallVector<Dims> BatchNormOp::resultDims(ShapeQuery &shapes) { return {shapes.dims(getOperand())}; }
SmallVector<Dims> GroupNormOp::resultDims(ShapeQuery &shapes) { return {shapes.dims(getOperand())}; }

SmallVector<Dims> LayerNormOp::resultDims(ShapeQuery &shapes) {
  Dims dims = shapes.dims(getOperand()), statistics = dims;
  std::fill(statistics.begin() + getAxis(), statistics.end(), shapes.context().constant(1));
  return {dims, statistics, statistics};
}

SmallVector<Dims> AttentionOp::resultDims(ShapeQuery &shapes) {
  Dims dims = shapes.dims(getQuery());
  dims.back() = shapes.dims(getValue()).back();
  return {dims};
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shape rules and symbolic sizes. Evaluation comes in IndexingEvaluate.cpp, elements in IndexingElements.cpp.

#include "ir/Indexing.h"
#include "ir/Axes.h"
#include "ir/Checks.h"
#include "ir/External.h"
#include "ir/Sparse.h"

#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace sinter;

#define GET_OP_CLASSES
#include "ir/Indexing.cpp.inc"

void SinterDialect::registerIndexing() {
  addOperations<
#define GET_OP_LIST
#include "ir/Indexing.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/Checks.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/Sparse.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/External.cpp.inc"
      >();
}

static RankedTensorType tensor(Value value) { return cast<RankedTensorType>(value.getType()); }
static RankedTensorType withShape(RankedTensorType type, ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, type.getElementType());
}

/// Sizes of `positions` are at most those of `operand` outside of `axis`.
static LogicalResult checkAlongAxis(std::optional<Location> location, StringRef op, RankedTensorType operand,
                                    RankedTensorType positions, int64_t axis) {
  if (failed(checkAxis(location, op, axis, operand.getRank())))
    return failure();
  if (positions.getRank() != operand.getRank())
    return emitOptionalError(location, op, " requires positions of rank ", operand.getRank(), ", got ", positions);
  for (int64_t k = 0; k < operand.getRank(); ++k)
    if (k != axis && !operand.isDynamicDim(k) && !positions.isDynamicDim(k) &&
        positions.getDimSize(k) > operand.getDimSize(k))
      return emitOptionalError(location, op, " requires positions within ", operand, " outside of axis ", axis,
                               ", got ", positions);
  return success();
}

/// Length of the tuples in the last axis of `positions`.
static FailureOr<int64_t> tupleLength(std::optional<Location> location, StringRef op, RankedTensorType positions,
                                      int64_t most) {
  if (positions.getRank() == 0 || positions.isDynamicDim(positions.getRank() - 1)) {
    (void)emitOptionalError(location, op, " requires positions with a last axis of known size, got ", positions);
    return failure();
  }
  int64_t length = positions.getShape().back();
  if (length > most) {
    (void)emitOptionalError(location, op, " requires tuples of at most ", most, " positions, got ", length);
    return failure();
  }
  return length;
}

LogicalResult GatherOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensor(adaptor.getOperand());
  int64_t axis = adaptor.getAxis();
  if (failed(checkAxis(location, "gather", axis, operand.getRank())))
    return failure();
  SmallVector<int64_t> shape(operand.getShape().take_front(axis));
  llvm::append_range(shape, tensor(adaptor.getPositions()).getShape());
  llvm::append_range(shape, operand.getShape().drop_front(axis + 1));
  types.push_back(withShape(operand, shape));
  return success();
}

LogicalResult GatherElementsOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                                 SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensor(adaptor.getOperand()), positions = tensor(adaptor.getPositions());
  if (failed(checkAlongAxis(location, "gather_elements", operand, positions, adaptor.getAxis())))
    return failure();
  types.push_back(withShape(operand, positions.getShape()));
  return success();
}

LogicalResult GatherNdOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensor(adaptor.getOperand()), positions = tensor(adaptor.getPositions());
  int64_t batch = adaptor.getBatchAxes();
  if (batch < 0 || batch >= std::min(operand.getRank(), positions.getRank()))
    return emitOptionalError(location, "gather_nd requires batch_axes in [0, ",
                             std::min(operand.getRank(), positions.getRank()), "), got ", batch);
  FailureOr<int64_t> length = tupleLength(location, "gather_nd", positions, operand.getRank() - batch);
  if (failed(length))
    return failure();
  SmallVector<int64_t> shape(positions.getShape().drop_back());
  for (int64_t axis = 0; axis < batch; ++axis) {
    std::optional<int64_t> met = meetSize(shape[axis], operand.getDimSize(axis));
    if (!met)
      return emitOptionalError(location, "gather_nd requires equal batch sizes, got ", operand.getDimSize(axis),
                               " and ", shape[axis], " for axis ", axis);
    shape[axis] = *met;
  }
  llvm::append_range(shape, operand.getShape().drop_front(batch + *length));
  types.push_back(withShape(operand, shape));
  return success();
}

static LogicalResult checkUpdates(std::optional<Location> location, StringRef op, RankedTensorType operand,
                                  RankedTensorType updates, ArrayRef<int64_t> shape) {
  if (agree(withShape(operand, shape), updates))
    return success();
  return emitOptionalError(location, op, " requires updates of type ", withShape(operand, shape), ", got ", updates);
}

LogicalResult ScatterElementsOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                                  SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensor(adaptor.getOperand()), positions = tensor(adaptor.getPositions());
  if (failed(checkAlongAxis(location, "scatter_elements", operand, positions, adaptor.getAxis())) ||
      failed(checkUpdates(location, "scatter_elements", operand, tensor(adaptor.getUpdates()), positions.getShape())))
    return failure();
  types.push_back(operand);
  return success();
}

LogicalResult ScatterNdOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensor(adaptor.getOperand()), positions = tensor(adaptor.getPositions());
  FailureOr<int64_t> length = tupleLength(location, "scatter_nd", positions, operand.getRank());
  if (failed(length))
    return failure();
  SmallVector<int64_t> shape(positions.getShape().drop_back());
  llvm::append_range(shape, operand.getShape().drop_front(*length));
  if (failed(checkUpdates(location, "scatter_nd", operand, tensor(adaptor.getUpdates()), shape)))
    return failure();
  types.push_back(operand);
  return success();
}

LogicalResult NonzeroOp::inferReturnTypes(MLIRContext *context, std::optional<Location>, Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  types.push_back(RankedTensorType::get({tensor(adaptor.getOperand()).getRank(), ShapedType::kDynamic},
                                        IntegerType::get(context, 64)));
  return success();
}

LogicalResult CompressOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensor(adaptor.getOperand()), mask = tensor(adaptor.getMask());
  int64_t axis = adaptor.getAxis();
  if (failed(checkAxis(location, "compress", axis, operand.getRank())))
    return failure();
  if (mask.getRank() != 1)
    return emitOptionalError(location, "compress requires a mask of rank 1, got ", mask);
  if (!mask.isDynamicDim(0) && !operand.isDynamicDim(axis) && mask.getDimSize(0) > operand.getDimSize(axis))
    return emitOptionalError(location, "compress requires a mask of at most ", operand.getDimSize(axis),
                             " elements, got ", mask.getDimSize(0));
  SmallVector<int64_t> shape(operand.getShape());
  shape[axis] = ShapedType::kDynamic;
  types.push_back(withShape(operand, shape));
  return success();
}

LogicalResult UniqueOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensor(adaptor.getOperand());
  int64_t axis = adaptor.getAxis();
  if (failed(checkAxis(location, "unique", axis, operand.getRank())))
    return failure();
  SmallVector<int64_t> shape(operand.getShape());
  shape[axis] = ShapedType::kDynamic;
  Type i64 = IntegerType::get(context, 64);
  Type counted = RankedTensorType::get({ShapedType::kDynamic}, i64);
  types.append({withShape(operand, shape), counted, RankedTensorType::get({operand.getDimSize(axis)}, i64), counted});
  return success();
}

LogicalResult NonMaxSuppressionOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                                    Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType boxes = tensor(adaptor.getBoxes()), scores = tensor(adaptor.getScores());
  if (boxes.getRank() != 3 || !meetSize(boxes.getDimSize(2), 4))
    return emitOptionalError(location, "non_max_suppression requires boxes of shape [batch, count, 4], got ", boxes);
  if (scores.getRank() != 3 || !meetSize(scores.getDimSize(0), boxes.getDimSize(0)) ||
      !meetSize(scores.getDimSize(2), boxes.getDimSize(1)))
    return emitOptionalError(location, "non_max_suppression requires scores of shape [batch, classes, count], got ",
                             scores, " for boxes ", boxes);
  types.push_back(RankedTensorType::get({ShapedType::kDynamic, 3}, IntegerType::get(context, 64)));
  return success();
}

//===- sizes ---------------------------------------------------------------------------------===//

SmallVector<Dims> GatherOp::resultDims(ShapeQuery &shapes) {
  Dims operand = shapes.dims(getOperand()), positions = shapes.dims(getPositions());
  Dims result(ArrayRef(operand).take_front(getAxis()));
  llvm::append_range(result, positions);
  llvm::append_range(result, ArrayRef(operand).drop_front(getAxis() + 1));
  return {result};
}

SmallVector<Dims> GatherElementsOp::resultDims(ShapeQuery &shapes) { return {shapes.dims(getPositions())}; }

SmallVector<Dims> GatherNdOp::resultDims(ShapeQuery &shapes) {
  Dims operand = shapes.dims(getOperand()), positions = shapes.dims(getPositions());
  Dims result(ArrayRef(positions).drop_back());
  int64_t length = tensor(getPositions()).getShape().back();
  llvm::append_range(result, ArrayRef(operand).drop_front(getBatchAxes() + length));
  return {result};
}

SmallVector<Dims> ScatterElementsOp::resultDims(ShapeQuery &shapes) { return {shapes.dims(getOperand())}; }

SmallVector<Dims> ScatterNdOp::resultDims(ShapeQuery &shapes) { return {shapes.dims(getOperand())}; }

std::optional<Dims> GatherOp::resultContents(ShapeQuery &shapes) {
  if (tensor(getOperand()).getRank() != 1)
    return std::nullopt;
  std::optional<Dims> contents = shapes.contents(getOperand()), positions = shapes.contents(getPositions());
  if (!contents || !positions || contents->empty())
    return std::nullopt;
  Dims elements;
  int64_t size = contents->size();
  for (DimExpr position : *positions) {
    if (!position || !position.isConstant())
      return std::nullopt;
    int64_t at = position.constant() < 0 ? position.constant() + size : position.constant();
    elements.push_back((*contents)[std::clamp<int64_t>(at, 0, size - 1)]);
  }
  return elements;
}

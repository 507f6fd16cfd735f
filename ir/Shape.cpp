// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shape rules. Sizes come in ShapeSizes.cpp, folds in ShapeFold.cpp, evaluation in ShapeEvaluate.cpp, elements in
// ShapeElements.cpp.

#include "ir/Shape.h"
#include "ir/Axes.h"
#include "ir/Constants.h"
#include "ir/Lists.h"
#include "ir/Padding.h"
#include "ir/Ranges.h"

#include "ir/Storage.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace sinter;

#define GET_OP_CLASSES
#include "ir/Shape.cpp.inc"

void SinterDialect::registerShape() {
  addOperations<
#define GET_OP_LIST
#include "ir/Shape.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/Storage.cpp.inc"
      >();
}

static RankedTensorType tensor(Value value) { return cast<RankedTensorType>(value.getType()); }
static RankedTensorType withShape(RankedTensorType type, ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, type.getElementType());
}
static bool isDynamic(int64_t size) { return ShapedType::isDynamic(size); }

Value sinter::withoutReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getOperand();
  return value;
}

/// An attribute with one entry per axis.
static LogicalResult checkEntries(std::optional<Location> location, StringRef op, StringRef name,
                                  ArrayRef<int64_t> entries, int64_t rank) {
  if (static_cast<int64_t>(entries.size()) == rank)
    return success();
  return emitOptionalError(location, op, " requires one entry of ", name, " per axis (", rank, "), got ",
                           entries.size());
}

/// An operand with one element per axis.
static LogicalResult checkSizesOperand(std::optional<Location> location, StringRef op, StringRef name, Value sizes,
                                       int64_t rank) {
  if (!sizes || isListOf(tensor(sizes), rank))
    return success();
  return emitOptionalError(location, op, " requires one element of ", name, " per axis (", rank, "), got ",
                           printShape(tensor(sizes).getShape()));
}

static LogicalResult checkElementTypes(std::optional<Location> location, StringRef op, Type a, Type b) {
  if (a == b)
    return success();
  return emitOptionalError(location, op, " requires one element type, got ", a, " and ", b);
}

/// Replaces `?` in `shape` by the elements of a constant `sizes`; fails when a known size differs.
static LogicalResult refineByConstant(std::optional<Location> location, StringRef op, Value sizes,
                                      MutableArrayRef<int64_t> shape) {
  std::optional<SmallVector<int64_t>> values = constantInts(sizes);
  if (!values)
    return success();
  for (auto [axis, pair] : llvm::enumerate(llvm::zip(shape, *values))) {
    auto [size, value] = pair;
    if (value < 0)
      return emitOptionalError(location, op, " requires sizes of at least 0, got ", value, " for axis ", axis);
    std::optional<int64_t> met = meetSize(size, value);
    if (!met)
      return emitOptionalError(location, op, " requires sizes as in its type, got ", value, " and ", size, " for axis ",
                               axis);
    size = *met;
  }
  return success();
}

//===- constants and sizes -------------------------------------------------------------------===//

LogicalResult ConstantOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  auto type = dyn_cast<RankedTensorType>(adaptor.getValue().getType());
  if (!type)
    return emitOptionalError(location, "constant requires a value of tensor type, got ", adaptor.getValue().getType());
  types.push_back(type);
  return success();
}

LogicalResult IotaOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  auto type = cast<RankedTensorType>(adaptor.getType());
  SmallVector<int64_t> shape(type.getShape());
  if (failed(checkAxis(location, "iota", adaptor.getAxis(), type.getRank())) ||
      failed(checkSizesOperand(location, "iota", "shape", adaptor.getShape(), type.getRank())) ||
      failed(refineByConstant(location, "iota", adaptor.getShape(), shape)))
    return failure();
  if (!adaptor.getShape() && !type.hasStaticShape())
    return emitOptionalError(location, "iota without shape requires a static type, got ", type);
  types.push_back(withShape(type, shape));
  return success();
}

LogicalResult DimOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location, Adaptor adaptor,
                                      SmallVectorImpl<Type> &types) {
  if (failed(checkAxis(location, "dim", adaptor.getAxis(), tensor(adaptor.getOperand()).getRank())))
    return failure();
  types.push_back(RankedTensorType::get({}, IntegerType::get(context, 64)));
  return success();
}

LogicalResult ShapeOp::inferReturnTypes(MLIRContext *context, std::optional<Location>, Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  types.push_back(RankedTensorType::get({tensor(adaptor.getOperand()).getRank()}, IntegerType::get(context, 64)));
  return success();
}

//===- other shapes of the same elements -----------------------------------------------------===//

LogicalResult BroadcastOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  auto type = cast<RankedTensorType>(adaptor.getType());
  RankedTensorType operand = tensor(adaptor.getOperand());
  SmallVector<int64_t> shape(type.getShape());
  ArrayRef<int64_t> axes = adaptor.getAxes();
  int64_t rank = type.getRank();
  if (failed(checkElementTypes(location, "broadcast", operand.getElementType(), type.getElementType())) ||
      failed(checkEntries(location, "broadcast", "axes", axes, operand.getRank())) ||
      failed(checkSizesOperand(location, "broadcast", "shape", adaptor.getShape(), rank)))
    return failure();
  SmallVector<int64_t> source(rank, 1); // the operand's size on each result axis
  for (auto [k, axis] : llvm::enumerate(axes)) {
    if (axis < 0 || axis >= rank || (k > 0 && axis <= axes[k - 1]))
      return emitOptionalError(location, "broadcast requires axes that increase within [0, ", rank, "), got ", axis,
                               " as entry ", k);
    source[axis] = operand.getDimSize(k);
  }

  if (adaptor.getLike().size() > 1)
    return emitOptionalError(location, "broadcast requires at most one like, got ", adaptor.getLike().size());
  SmallVector<int64_t> target(rank, ShapedType::kDynamic); // as `shape` or `like` have it
  if (!adaptor.getLike().empty()) {
    RankedTensorType like = tensor(adaptor.getLike().front());
    if (like.getRank() != rank)
      return emitOptionalError(location, "broadcast requires a like of rank ", rank, ", got ", like);
    target.assign(like.getShape().begin(), like.getShape().end());
  }
  std::optional<SmallVector<int64_t>> sizes = constantInts(adaptor.getShape());
  if (sizes)
    target = *sizes;
  bool given = adaptor.getShape() || !adaptor.getLike().empty();

  for (int64_t axis = 0; axis < rank; ++axis) {
    int64_t size = shape[axis];
    if (isDynamic(size)) {
      if (!given && source[axis] == 1 && !llvm::is_contained(axes, axis))
        return emitOptionalError(location, "broadcast requires shape or like for the size of new axis ", axis, " of ",
                                 type);
      // A size of 1 in `shape` keeps the operand's; any other is the result's.
      if (!given || (sizes && target[axis] == 1))
        size = source[axis];
      else if (!isDynamic(target[axis]))
        size = target[axis];
      else if (!isDynamic(source[axis]) && source[axis] != 1)
        size = source[axis];
    }
    if (!isDynamic(source[axis]) && source[axis] != 1 && !meetSize(source[axis], size))
      return emitOptionalError(location, "broadcast requires an operand size of 1 or ", size, " on result axis ", axis,
                               ", got ", source[axis]);
    shape[axis] = size;
  }
  types.push_back(withShape(type, shape));
  return success();
}

LogicalResult ReshapeOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  auto type = cast<RankedTensorType>(adaptor.getType());
  RankedTensorType operand = tensor(adaptor.getOperand());
  SmallVector<int64_t> shape(type.getShape());
  if (failed(checkElementTypes(location, "reshape", operand.getElementType(), type.getElementType())) ||
      failed(checkSizesOperand(location, "reshape", "shape", adaptor.getShape(), type.getRank())) ||
      failed(refineByConstant(location, "reshape", adaptor.getShape(), shape)))
    return failure();
  std::optional<int64_t> count = countElements(operand.getShape());
  int64_t unknown = llvm::count(shape, ShapedType::kDynamic);
  bool besideZero = llvm::is_contained(shape, 0);
  // Without sizes all `?` but the last are copied, and beside a 0 the last too; else it follows from what is left.
  int64_t known = 1, copied = adaptor.getShape() ? 0 : unknown - (besideZero ? 0 : 1);
  bool lastFollows = unknown - copied == 1 && !besideZero;
  for (int64_t size : shape)
    known *= isDynamic(size) ? 1 : size;
  SmallVector<int64_t> left(operand.getShape());
  for (auto [axis, size] : llvm::enumerate(shape)) {
    if (!isDynamic(size))
      continue;
    if (copied-- > 0) {
      if (axis >= left.size() && !besideZero)
        return emitOptionalError(location, "reshape without shape requires an operand axis ", axis,
                                 " for that ? of its type, got ", operand, " for ", type);
      size = axis < left.size() ? std::exchange(left[axis], 1) : 0;
    } else if (std::optional<int64_t> rest = countElements(left); rest && lastFollows) {
      if (*rest % known != 0)
        return emitOptionalError(location, "reshape requires a number of elements that ", known, " divides, got ",
                                 *rest);
      size = *rest / known;
    }
  }
  std::optional<int64_t> resultCount = besideZero ? 0 : countElements(shape);
  if (count && resultCount && *count != *resultCount)
    return emitOptionalError(location, "reshape requires as many elements as its operand has, got ", *resultCount, " (",
                             printShape(shape), ") and ", *count, " (", printShape(operand.getShape()), ")");
  types.push_back(withShape(type, shape));
  return success();
}

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensor(adaptor.getOperand());
  int64_t rank = operand.getRank();
  if (failed(checkEntries(location, "transpose", "permutation", adaptor.getPermutation(), rank)))
    return failure();
  llvm::SmallBitVector seen(rank);
  SmallVector<int64_t> shape;
  for (int64_t axis : adaptor.getPermutation()) {
    if (axis < 0 || axis >= rank || seen.test(axis))
      return emitOptionalError(location, "transpose requires a permutation of [0, ", rank, "), got ", axis,
                               axis < 0 || axis >= rank ? "" : " twice");
    seen.set(axis);
    shape.push_back(operand.getDimSize(axis));
  }
  types.push_back(withShape(operand, shape));
  return success();
}

LogicalResult ReverseOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensor(adaptor.getOperand());
  llvm::SmallBitVector seen(operand.getRank());
  for (int64_t axis : adaptor.getAxes()) {
    if (failed(checkAxis(location, "reverse", axis, operand.getRank())))
      return failure();
    if (seen.test(axis))
      return emitOptionalError(location, "reverse requires distinct axes, got ", axis, " twice");
    seen.set(axis);
  }
  types.push_back(operand);
  return success();
}

//===- parts of a tensor ---------------------------------------------------------------------===//

LogicalResult SliceOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensor(adaptor.getOperand());
  int64_t rank = operand.getRank();
  if (failed(checkEntries(location, "slice", "starts", adaptor.getStarts(), rank)) ||
      failed(checkEntries(location, "slice", "limits", adaptor.getLimits(), rank)) ||
      failed(checkEntries(location, "slice", "steps", adaptor.getSteps(), rank)))
    return failure();
  SmallVector<int64_t> shape;
  for (int64_t axis = 0; axis < rank; ++axis) {
    int64_t start = adaptor.getStarts()[axis], limit = adaptor.getLimits()[axis], step = adaptor.getSteps()[axis];
    int64_t size = operand.getDimSize(axis);
    if (step < 1)
      return emitOptionalError(location, "slice requires steps of at least 1, got ", step, " for axis ", axis);
    if (limit == -1)
      limit = size;
    if (start < 0 || (!isDynamic(limit) && (limit < 0 || start > limit)))
      return emitOptionalError(location, "slice requires 0 <= start <= limit, got ", start, " and ", limit,
                               " for axis ", axis);
    if (!isDynamic(size) && limit > size)
      return emitOptionalError(location, "slice requires a limit of at most the size ", size, " of axis ", axis,
                               ", got ", limit);
    shape.push_back(isDynamic(limit) ? limit : limit == start ? 0 : 1 + (limit - start - 1) / step);
  }
  types.push_back(withShape(operand, shape));
  return success();
}

LogicalResult RangeSliceOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                             SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensor(adaptor.getOperand());
  int64_t rank = operand.getRank();
  if (failed(checkSizesOperand(location, "range_slice", "starts", adaptor.getStarts(), rank)) ||
      failed(checkSizesOperand(location, "range_slice", "limits", adaptor.getLimits(), rank)) ||
      failed(checkSizesOperand(location, "range_slice", "steps", adaptor.getSteps(), rank)))
    return failure();
  SmallVector<int64_t> shape(rank, ShapedType::kDynamic);
  std::optional<SmallVector<int64_t>> starts = constantInts(adaptor.getStarts()),
                                      limits = constantInts(adaptor.getLimits()),
                                      steps = constantInts(adaptor.getSteps());
  if (starts && limits && steps)
    for (int64_t axis = 0; axis < rank; ++axis)
      if (int64_t size = operand.getDimSize(axis); !isDynamic(size))
        shape[axis] = resolveRange((*starts)[axis], (*limits)[axis], (*steps)[axis], size).count;
  types.push_back(withShape(operand, shape));
  return success();
}

LogicalResult DynamicSliceOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                               SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensor(adaptor.getOperand());
  if (failed(checkSizesOperand(location, "dynamic_slice", "starts", adaptor.getStarts(), operand.getRank())) ||
      failed(checkEntries(location, "dynamic_slice", "sizes", adaptor.getSizes(), operand.getRank())))
    return failure();
  for (auto [axis, size] : llvm::enumerate(adaptor.getSizes()))
    if (size < 0 || (!operand.isDynamicDim(axis) && size > operand.getDimSize(axis)))
      return emitOptionalError(location, "dynamic_slice requires sizes within those of ", operand, ", got ", size,
                               " for axis ", axis);
  types.push_back(withShape(operand, adaptor.getSizes()));
  return success();
}

LogicalResult DynamicUpdateSliceOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                                     SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensor(adaptor.getOperand()), update = tensor(adaptor.getUpdate());
  if (failed(checkSizesOperand(location, "dynamic_update_slice", "starts", adaptor.getStarts(), operand.getRank())) ||
      failed(checkElementTypes(location, "dynamic_update_slice", operand.getElementType(), update.getElementType())))
    return failure();
  if (update.getRank() != operand.getRank())
    return emitOptionalError(location, "dynamic_update_slice requires an update of rank ", operand.getRank(), ", got ",
                             update);
  for (int64_t axis = 0; axis < operand.getRank(); ++axis)
    if (!operand.isDynamicDim(axis) && !update.isDynamicDim(axis) && update.getDimSize(axis) > operand.getDimSize(axis))
      return emitOptionalError(location, "dynamic_update_slice requires an update within ", operand, ", got ", update);
  types.push_back(operand);
  return success();
}

//===- larger tensors ------------------------------------------------------------------------===//

static LogicalResult checkFill(std::optional<Location> location, StringRef op, Value operand, Value value) {
  if (failed(checkElementTypes(location, op, tensor(operand).getElementType(), tensor(value).getElementType())))
    return failure();
  if (tensor(value).getRank() != 0)
    return emitOptionalError(location, op, " requires a value of rank 0, got ", tensor(value));
  return success();
}

/// What an axis of `size` elements becomes; `?` stays.
static LogicalResult padAxis(std::optional<Location> location, StringRef op, PadMode mode, int64_t axis, int64_t &size,
                             int64_t low, int64_t high, int64_t interior) {
  if (interior < 0)
    return emitOptionalError(location, op, " requires interior of at least 0, got ", interior, " for axis ", axis);
  if (mode != PadMode::constant) {
    if (interior != 0)
      return emitOptionalError(location, op, " in mode ", stringifyPadMode(mode), " requires interior 0, got ",
                               interior, " for axis ", axis);
    PaddedAxis padded = splitPadding(size, low, high, mode == PadMode::reflect);
    if (!isDynamic(size) && padded.rest < padded.least)
      return emitOptionalError(location, op, " in mode ", stringifyPadMode(mode), " requires at least ", padded.least,
                               " elements to take from on axis ", axis, ", got ", padded.rest);
  }
  if (isDynamic(size))
    return success();
  int64_t padded = paddedSize(size, low, high, interior);
  if (padded < 0)
    return emitOptionalError(location, op, " requires a result size of at least 0, got ", padded, " for axis ", axis);
  size = padded;
  return success();
}

LogicalResult PadOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                      SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensor(adaptor.getOperand());
  int64_t rank = operand.getRank();
  if (failed(checkFill(location, "pad", adaptor.getOperand(), adaptor.getValue())) ||
      failed(checkEntries(location, "pad", "low", adaptor.getLow(), rank)) ||
      failed(checkEntries(location, "pad", "high", adaptor.getHigh(), rank)) ||
      failed(checkEntries(location, "pad", "interior", adaptor.getInterior(), rank)))
    return failure();
  SmallVector<int64_t> shape(operand.getShape());
  for (int64_t axis = 0; axis < rank; ++axis)
    if (failed(padAxis(location, "pad", adaptor.getMode(), axis, shape[axis], adaptor.getLow()[axis],
                       adaptor.getHigh()[axis], adaptor.getInterior()[axis])))
      return failure();
  types.push_back(withShape(operand, shape));
  return success();
}

LogicalResult DynamicPadOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                             SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensor(adaptor.getOperand());
  int64_t rank = operand.getRank();
  if (failed(checkFill(location, "dynamic_pad", adaptor.getOperand(), adaptor.getValue())) ||
      failed(checkSizesOperand(location, "dynamic_pad", "low", adaptor.getLow(), rank)) ||
      failed(checkSizesOperand(location, "dynamic_pad", "high", adaptor.getHigh(), rank)))
    return failure();
  std::optional<SmallVector<int64_t>> low = constantInts(adaptor.getLow()), high = constantInts(adaptor.getHigh());
  SmallVector<int64_t> shape(rank, ShapedType::kDynamic);
  if (low && high) {
    shape.assign(operand.getShape().begin(), operand.getShape().end());
    for (int64_t axis = 0; axis < rank; ++axis)
      if (failed(
              padAxis(location, "dynamic_pad", adaptor.getMode(), axis, shape[axis], (*low)[axis], (*high)[axis], 0)))
        return failure();
  }
  types.push_back(withShape(operand, shape));
  return success();
}

LogicalResult ConcatenateOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                              SmallVectorImpl<Type> &types) {
  if (adaptor.getOperands().empty())
    return emitOptionalError(location, "concatenate requires at least one operand");
  RankedTensorType first = tensor(adaptor.getOperands().front());
  int64_t axis = adaptor.getAxis();
  if (failed(checkAxis(location, "concatenate", axis, first.getRank())))
    return failure();
  SmallVector<int64_t> shape(first.getShape());
  for (Value operand : adaptor.getOperands().drop_front()) {
    RankedTensorType type = tensor(operand);
    if (failed(checkElementTypes(location, "concatenate", first.getElementType(), type.getElementType())))
      return failure();
    if (type.getRank() != first.getRank())
      return emitOptionalError(location, "concatenate requires operands of one rank, got ", first, " and ", type);
    for (int64_t k = 0; k < first.getRank(); ++k) {
      int64_t size = type.getDimSize(k);
      if (k == axis) {
        shape[k] = isDynamic(shape[k]) || isDynamic(size) ? ShapedType::kDynamic : shape[k] + size;
        continue;
      }
      std::optional<int64_t> met = meetSize(shape[k], size);
      if (!met)
        return emitOptionalError(location, "concatenate requires equal sizes outside of axis ", axis, ", got ",
                                 shape[k], " and ", size, " for axis ", k);
      shape[k] = *met;
    }
  }
  types.push_back(withShape(first, shape));
  return success();
}

LogicalResult TileOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensor(adaptor.getOperand());
  if (failed(checkSizesOperand(location, "tile", "repeats", adaptor.getRepeats(), operand.getRank())))
    return failure();
  SmallVector<int64_t> shape(operand.getRank(), ShapedType::kDynamic);
  if (std::optional<SmallVector<int64_t>> repeats = constantInts(adaptor.getRepeats()))
    for (int64_t axis = 0; axis < operand.getRank(); ++axis) {
      int64_t repeat = (*repeats)[axis], size = operand.getDimSize(axis);
      if (repeat < 0)
        return emitOptionalError(location, "tile requires repeats of at least 0, got ", repeat, " for axis ", axis);
      if (repeat == 0 || !isDynamic(size))
        shape[axis] = repeat == 0 ? 0 : saturatingMul(repeat, size);
    }
  types.push_back(withShape(operand, shape));
  return success();
}

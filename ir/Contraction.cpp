// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Contraction.h"
#include "ir/Axes.h"

using namespace mlir;
using namespace sinter;

#define GET_OP_CLASSES
#include "ir/Contraction.cpp.inc"

void SinterDialect::registerContraction() {
  addOperations<
#define GET_OP_LIST
#include "ir/Contraction.cpp.inc"
      >();
}

static RankedTensorType ranked(Type type) { return cast<RankedTensorType>(type); }

//===- shape ---------------------------------------------------------------------------------===//

/// Floats give floats, integers integers.
static LogicalResult checkElementTypes(std::optional<Location> loc, StringRef op, Type lhs, Type rhs, Type result) {
  bool isFloat = isa<FloatType>(result);
  if (isa<FloatType>(lhs) == isFloat && isa<FloatType>(rhs) == isFloat && !result.isInteger(1) &&
      isa<FloatType, IntegerType>(result))
    return success();
  return emitOptionalError(loc, op, " requires operands and result of one kind (floats or integers), got ", lhs, ", ",
                           rhs, " and ", result);
}

/// `sizes` at `first`, then those that are neither in `first` nor in `second`.
template <typename Sizes>
static Sizes freeSizes(const Sizes &sizes, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) {
  SmallVector<int64_t> used(batch);
  used.append(contract.begin(), contract.end());
  return dropAxes(sizes, used);
}

LogicalResult DotGeneralOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, DotGeneralOp::Adaptor adaptor,
                                             SmallVectorImpl<Type> &inferred) {
  RankedTensorType lhs = ranked(adaptor.getLhs().getType()), rhs = ranked(adaptor.getRhs().getType());
  ArrayRef<int64_t> lhsBatch = adaptor.getLhsBatch(), rhsBatch = adaptor.getRhsBatch();
  ArrayRef<int64_t> lhsContract = adaptor.getLhsContract(), rhsContract = adaptor.getRhsContract();
  if (lhsBatch.size() != rhsBatch.size() || lhsContract.size() != rhsContract.size()) // C1
    return emitOptionalError(loc, "dot_general requires as many axes of lhs as of rhs, got ", lhsBatch.size(), " and ",
                             rhsBatch.size(), " batch axes, ", lhsContract.size(), " and ", rhsContract.size(),
                             " contracted axes");
  SmallVector<int64_t> lhsAxes(lhsBatch), rhsAxes(rhsBatch);
  lhsAxes.append(lhsContract.begin(), lhsContract.end());
  rhsAxes.append(rhsContract.begin(), rhsContract.end());
  if (failed(checkAxes(loc, "dot_general", lhsAxes, lhs.getRank())) || // C1
      failed(checkAxes(loc, "dot_general", rhsAxes, rhs.getRank())))
    return failure();
  SmallVector<int64_t> shape;
  for (auto [k, axes] : llvm::enumerate(llvm::zip(lhsAxes, rhsAxes))) {
    auto [lhsAxis, rhsAxis] = axes;
    std::optional<int64_t> size = meetSize(lhs.getDimSize(lhsAxis), rhs.getDimSize(rhsAxis));
    if (!size) // C2
      return emitOptionalError(loc, "dot_general requires dim(lhs, ", lhsAxis, ") = dim(rhs, ", rhsAxis, "), got ",
                               lhs.getDimSize(lhsAxis), " and ", rhs.getDimSize(rhsAxis));
    if (k < lhsBatch.size())
      shape.push_back(*size);
  }
  Type element = adaptor.getElementType();
  if (failed(checkElementTypes(loc, "dot_general", lhs.getElementType(), rhs.getElementType(), element))) // C3
    return failure();
  llvm::append_range(shape, dropAxes(SmallVector<int64_t>(lhs.getShape()), lhsAxes));
  llvm::append_range(shape, dropAxes(SmallVector<int64_t>(rhs.getShape()), rhsAxes));
  inferred.push_back(RankedTensorType::get(shape, element));
  return success();
}

/// Axis of the channels and first spatial axis of an activation.
static int64_t channelAxis(ConvLayout layout, int64_t rank) {
  return layout == ConvLayout::channels_first ? 1 : rank - 1;
}
static int64_t firstSpatial(ConvLayout layout) { return layout == ConvLayout::channels_first ? 2 : 1; }

LogicalResult ConvolutionOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                              ConvolutionOp::Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  RankedTensorType input = ranked(adaptor.getInput().getType()), filter = ranked(adaptor.getFilter().getType());
  int64_t rank = input.getRank(), spatial = rank - 2;
  if (rank < 3 || rank > 5 || filter.getRank() != rank) // C3
    return emitOptionalError(loc, "convolution requires input and filter of one rank from 3 to 5, got ", rank, " and ",
                             filter.getRank());
  std::pair<StringRef, ArrayRef<int64_t>> arrays[] = {{"strides", adaptor.getStrides()},
                                                      {"low", adaptor.getLow()},
                                                      {"high", adaptor.getHigh()},
                                                      {"input_dilation", adaptor.getInputDilation()},
                                                      {"dilation", adaptor.getDilation()}};
  for (auto [name, array] : arrays) {
    if (static_cast<int64_t>(array.size()) != spatial) // C4
      return emitOptionalError(loc, "convolution requires one entry per spatial axis in ", name, ", got ", array.size(),
                               " for ", spatial, " axes");
    for (int64_t value : array)
      if (value < 1 && name != "low" && name != "high") // C5
        return emitOptionalError(loc, "convolution requires positive ", name, ", got ", value);
  }
  auto groups = static_cast<int64_t>(adaptor.getGroups());
  ConvLayout layout = adaptor.getLayout();
  int64_t channels = input.getDimSize(channelAxis(layout, rank)), features = filter.getDimSize(0);
  int64_t filterChannels = filter.getDimSize(channelAxis(layout, rank));
  if (groups < 1 || (!ShapedType::isDynamic(channels) && !ShapedType::isDynamic(filterChannels) &&
                     channels != groups * filterChannels)) // C1
    return emitOptionalError(loc, "convolution requires input channels = groups * filter channels, got ", channels,
                             ", ", groups, " and ", filterChannels);
  if (!ShapedType::isDynamic(features) && features % groups != 0) // C2
    return emitOptionalError(loc, "convolution requires a multiple of groups as output channels, got ", features,
                             " for ", groups, " groups");
  Type element = adaptor.getElementType();
  if (failed(checkElementTypes(loc, "convolution", input.getElementType(), filter.getElementType(), element))) // C6
    return failure();
  SmallVector<int64_t> shape(rank);
  shape[0] = input.getDimSize(0);
  shape[channelAxis(layout, rank)] = features;
  for (int64_t k = 0; k < spatial; ++k) {
    int64_t axis = firstSpatial(layout) + k, size = input.getDimSize(axis), window = filter.getDimSize(axis);
    shape[axis] = ShapedType::isDynamic(window) ? ShapedType::kDynamic
                                                : WindowAxis{window,
                                                             adaptor.getStrides()[k],
                                                             adaptor.getLow()[k],
                                                             adaptor.getHigh()[k],
                                                             adaptor.getDilation()[k],
                                                             adaptor.getInputDilation()[k]}
                                                      .resultSize(size);
  }
  inferred.push_back(RankedTensorType::get(shape, element));
  return success();
}

LogicalResult DetOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, DetOp::Adaptor adaptor,
                                      SmallVectorImpl<Type> &inferred) {
  RankedTensorType operand = ranked(adaptor.getOperand().getType());
  ArrayRef<int64_t> shape = operand.getShape();
  if (shape.size() < 2 || !meetSize(shape[shape.size() - 1], shape[shape.size() - 2])) // C1
    return emitOptionalError(loc, "det requires square matrices in the last two axes, got ", printShape(shape));
  inferred.push_back(RankedTensorType::get(shape.drop_back(2), operand.getElementType()));
  return success();
}

//===- sizes ---------------------------------------------------------------------------------===//

SmallVector<Dims> DotGeneralOp::resultDims(ShapeQuery &shapes) {
  Dims lhs = shapes.dims(getLhs()), rhs = shapes.dims(getRhs()), result;
  for (auto [lhsAxis, rhsAxis] : llvm::zip(getLhsBatch(), getRhsBatch()))
    result.push_back(lhs[lhsAxis].isConstant()   ? lhs[lhsAxis]
                     : rhs[rhsAxis].isConstant() ? rhs[rhsAxis]
                                                 : lhs[lhsAxis]);
  llvm::append_range(result, freeSizes(lhs, getLhsBatch(), getLhsContract()));
  llvm::append_range(result, freeSizes(rhs, getRhsBatch(), getRhsContract()));
  return {result};
}

SmallVector<Dims> ConvolutionOp::resultDims(ShapeQuery &shapes) {
  Dims input = shapes.dims(getInput()), filter = shapes.dims(getFilter());
  auto rank = static_cast<int64_t>(input.size());
  Dims result(rank);
  result[0] = input[0];
  result[channelAxis(getLayout(), rank)] = filter[0];
  for (int64_t k = 0; k < rank - 2; ++k) {
    int64_t axis = firstSpatial(getLayout()) + k;
    // A filter whose own size is not known at compile time leaves the result's to run time.
    result[axis] = filter[axis].isConstant()
                       ? WindowAxis{filter[axis].constant(), getStrides()[k],      getLow()[k], getHigh()[k],
                                    getDilation()[k],        getInputDilation()[k]}
                             .resultSize(shapes.context(), input[axis])
                       : dimsOfResult(shapes.context(), getResult())[axis];
  }
  return {result};
}

SmallVector<Dims> DetOp::resultDims(ShapeQuery &shapes) {
  Dims dims = shapes.dims(getOperand());
  dims.pop_back_n(2);
  return {dims};
}

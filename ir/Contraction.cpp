// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Contraction.h"
#include "ir/Axes.h"
#include "ir/Blocks.h"
#include "ir/Limits.h"
#include "ir/Ranges.h"
#include "ir/reference/Loops.h"

#include <numeric>

using namespace mlir;
using namespace sinter;

#define GET_OP_CLASSES
#include "ir/Contraction.cpp.inc"

void SinterDialect::registerContraction() {
  addOperations<
#define GET_OP_LIST
#include "ir/Contraction.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/Blocks.cpp.inc"
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

/// `sizes` of the axes that are neither batch nor contracted.
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

//===- evaluate ------------------------------------------------------------------------------===//

/// Axes in the order batch, free, contracted, or batch, contracted, free.
static SmallVector<int64_t> operandOrder(int64_t rank, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract,
                                         bool contractLast) {
  SmallVector<int64_t> order(batch), free, all(rank);
  std::iota(all.begin(), all.end(), 0);
  free = freeSizes(all, batch, contract);
  order.append(contractLast ? free.begin() : contract.begin(), contractLast ? free.end() : contract.end());
  order.append(contractLast ? contract.begin() : free.begin(), contractLast ? contract.end() : free.end());
  return order;
}

static int64_t product(ArrayRef<int64_t> shape, ArrayRef<int64_t> axes) {
  int64_t count = 1;
  for (int64_t axis : axes)
    count *= shape[axis];
  return count;
}

template <typename T>
static FailureOr<HostTensor> dotGeneral(DotGeneralOp op, const HostTensor &lhs, const HostTensor &rhs,
                                        Evaluator &evaluator) {
  SmallVector<int64_t> lhsOrder = operandOrder(lhs.rank(), op.getLhsBatch(), op.getLhsContract(), true);
  SmallVector<int64_t> rhsOrder = operandOrder(rhs.rank(), op.getRhsBatch(), op.getRhsContract(), false);
  std::vector<T> a = permuted(elementsOf<T>(lhs), lhs.shape(), lhsOrder);
  std::vector<T> b = permuted(elementsOf<T>(rhs), rhs.shape(), rhsOrder);
  SmallVector<int64_t> shape;
  for (auto [lhsAxis, rhsAxis] : llvm::zip(op.getLhsBatch(), op.getRhsBatch())) {
    if (lhs.size(lhsAxis) != rhs.size(rhsAxis)) // C2
      return op.emitOpError() << "requires dim(lhs, " << lhsAxis << ") = dim(rhs, " << rhsAxis << "), got "
                              << lhs.size(lhsAxis) << " and " << rhs.size(rhsAxis);
    shape.push_back(lhs.size(lhsAxis));
  }
  int64_t batch = product(lhs.shape(), op.getLhsBatch()), depth = product(lhs.shape(), op.getLhsContract());
  if (depth != product(rhs.shape(), op.getRhsContract())) // C2
    return op.emitOpError() << "requires contracted axes of one size, got " << depth << " and "
                            << product(rhs.shape(), op.getRhsContract()) << " elements";
  SmallVector<int64_t> rows = freeSizes(SmallVector<int64_t>(lhs.shape()), op.getLhsBatch(), op.getLhsContract());
  SmallVector<int64_t> columns = freeSizes(SmallVector<int64_t>(rhs.shape()), op.getRhsBatch(), op.getRhsContract());
  llvm::append_range(shape, rows);
  llvm::append_range(shape, columns);
  if (failed(requireRoom(op, evaluator, Float64Type::get(op.getContext()), shape))) // as computed
    return failure();
  int64_t m = *countElements(rows), n = *countElements(columns);
  std::vector<T> result(batch * m * n, T(0));
  // Strips of columns keep the part of b that all rows read in cache.
  constexpr int64_t strip = 512;
  for (int64_t g = 0; g < batch; ++g)
    for (int64_t first = 0; first < n; first += strip)
      for (int64_t i = 0; i < m; ++i) {
        int64_t last = std::min(n, first + strip);
        if (!evaluator.spend(depth * (last - first) / 4))
          return outOfSteps(op);
        T *out = result.data() + (g * m + i) * n;
        for (int64_t k = 0; k < depth; ++k) {
          T x = a[(g * m + i) * depth + k];
          const T *row = b.data() + (g * depth + k) * n;
          for (int64_t j = first; j < last; ++j)
            out[j] = wrappingAdd(out[j], wrappingMul(x, row[j]));
        }
      }
  return tensorOf(op.getElementType(), shape, result);
}

template <typename T> static FailureOr<SmallVector<HostTensor>> one(FailureOr<T> result) {
  if (failed(result))
    return failure();
  return SmallVector<HostTensor>{*result};
}

FailureOr<SmallVector<HostTensor>> DotGeneralOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &evaluator) {
  return one(isa<FloatType>(getElementType()) ? dotGeneral<double>(*this, operands[0], operands[1], evaluator)
                                              : dotGeneral<int64_t>(*this, operands[0], operands[1], evaluator));
}

/// Axes of `layout` in the order of channels_first.
static SmallVector<int64_t> channelsFirstOrder(ConvLayout layout, int64_t rank) {
  SmallVector<int64_t> order{0, channelAxis(layout, rank)};
  for (int64_t k = 0; k < rank - 2; ++k)
    order.push_back(firstSpatial(layout) + k);
  return order;
}

static SmallVector<int64_t> permutedShape(ArrayRef<int64_t> shape, ArrayRef<int64_t> order) {
  return llvm::map_to_vector(order, [&](int64_t axis) { return shape[axis]; });
}

/// Images [N, C, d, h, w] as the windows see them: zeros inserted and borders added (or cut), so that the loops
/// below need no bounds.
template <typename T>
static std::vector<T> spread(const std::vector<T> &values, ArrayRef<int64_t> shape, ArrayRef<int64_t> spreadShape,
                             ArrayRef<WindowAxis> axes) {
  std::vector<T> result(*countElements(spreadShape), T(0));
  SmallVector<int64_t> strides = rowMajorStrides(spreadShape);
  auto next = values.begin();
  forEachIndex(shape, [&](ArrayRef<int64_t> index) {
    T value = *next++;
    int64_t target = index[0] * strides[0] + index[1] * strides[1];
    for (int64_t k = 0; k < 3; ++k) {
      int64_t position = index[2 + k] * axes[k].inputDilation + axes[k].low;
      if (position < 0 || position >= spreadShape[2 + k])
        return;
      target += position * strides[2 + k];
    }
    result[target] = value;
  });
  return result;
}

template <typename T>
static FailureOr<HostTensor> convolve(ConvolutionOp op, const HostTensor &input, const HostTensor &filter,
                                      Evaluator &evaluator) {
  int64_t rank = input.rank(), spatial = rank - 2, missing = 3 - spatial;
  SmallVector<int64_t> order = channelsFirstOrder(op.getLayout(), rank);
  SmallVector<int64_t> in = permutedShape(input.shape(), order), taps = permutedShape(filter.shape(), order);
  // Three spatial axes always; the missing ones are of size 1.
  in.insert(in.begin() + 2, missing, 1);
  taps.insert(taps.begin() + 2, missing, 1);
  SmallVector<WindowAxis> axes(missing);
  SmallVector<int64_t> out{in[0], taps[0]}, spreadShape{in[0], in[1]};
  for (int64_t k = 0; k < 3; ++k) {
    if (k >= missing) {
      int64_t a = k - missing;
      axes.push_back({taps[2 + k], op.getStrides()[a], op.getLow()[a], op.getHigh()[a], op.getDilation()[a],
                      op.getInputDilation()[a]});
    }
    out.push_back(axes[k].resultSize(in[2 + k]));
    spreadShape.push_back(
        std::max<int64_t>(paddedSize(in[2 + k], axes[k].low, axes[k].high, axes[k].inputDilation - 1), 0));
  }
  auto groups = static_cast<int64_t>(op.getGroups());
  if (in[1] != groups * taps[1] || taps[0] % groups != 0) // C1, C2
    return op.emitOpError() << "requires input channels = groups * filter channels, got " << in[1] << ", " << groups
                            << " and " << taps[1];
  Type computed = Float64Type::get(op.getContext());
  if (failed(requireRoom(op, evaluator, computed, spreadShape)) || failed(requireRoom(op, evaluator, computed, out)))
    return failure();
  std::vector<T> images = spread(permuted(elementsOf<T>(input), input.shape(), order), in, spreadShape, axes);
  std::vector<T> weights = permuted(elementsOf<T>(filter), filter.shape(), order);
  SmallVector<int64_t> strides = rowMajorStrides(spreadShape);
  int64_t area = out[2] * out[3] * out[4], features = out[1], window = taps[2] * taps[3] * taps[4];
  std::vector<T> result(out[0] * features * area, T(0));
  for (int64_t n = 0; n < out[0]; ++n)
    for (int64_t o = 0; o < features; ++o) {
      if (!evaluator.spend(taps[1] * window * area / 4))
        return outOfSteps(op);
      T *target = result.data() + (n * features + o) * area;
      for (int64_t c = 0; c < taps[1]; ++c) {
        const T *image = images.data() + n * strides[0] + (o / (features / groups) * taps[1] + c) * strides[1];
        const T *weight = weights.data() + (o * taps[1] + c) * window;
        for (int64_t kd = 0; kd < taps[2]; ++kd)
          for (int64_t kh = 0; kh < taps[3]; ++kh)
            for (int64_t kw = 0; kw < taps[4]; ++kw) {
              T w = *weight++;
              const T *corner = image + kd * axes[0].dilation * strides[2] + kh * axes[1].dilation * strides[3] +
                                kw * axes[2].dilation;
              T *cell = target;
              for (int64_t d = 0; d < out[2]; ++d)
                for (int64_t h = 0; h < out[3]; ++h, cell += out[4]) {
                  const T *row = corner + d * axes[0].stride * strides[2] + h * axes[1].stride * strides[3];
                  int64_t step = axes[2].stride;
                  for (int64_t x = 0; x < out[4]; ++x)
                    cell[x] = wrappingAdd(cell[x], wrappingMul(w, row[x * step]));
                }
            }
      }
    }
  // Back from channels_first.
  SmallVector<int64_t> shape(out);
  shape.erase(shape.begin() + 2, shape.begin() + 2 + missing);
  SmallVector<int64_t> back(rank);
  for (auto [k, axis] : llvm::enumerate(order))
    back[axis] = k;
  return tensorOf(op.getElementType(), permutedShape(shape, back), permuted(result, shape, back));
}

FailureOr<SmallVector<HostTensor>> ConvolutionOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &evaluator) {
  return one(isa<FloatType>(getElementType()) ? convolve<double>(*this, operands[0], operands[1], evaluator)
                                              : convolve<int64_t>(*this, operands[0], operands[1], evaluator));
}

/// Eliminates in place.
static double determinant(double *matrix, int64_t n) {
  double result = 1;
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; ++i)
      if (std::abs(matrix[i * n + k]) > std::abs(matrix[pivot * n + k]))
        pivot = i;
    if (matrix[pivot * n + k] == 0)
      return 0;
    if (pivot != k) {
      std::swap_ranges(matrix + k * n, matrix + (k + 1) * n, matrix + pivot * n);
      result = -result;
    }
    result *= matrix[k * n + k];
    for (int64_t i = k + 1; i < n; ++i) {
      double factor = matrix[i * n + k] / matrix[k * n + k];
      for (int64_t j = k; j < n; ++j)
        matrix[i * n + j] -= factor * matrix[k * n + j];
    }
  }
  return result;
}

FailureOr<SmallVector<HostTensor>> DetOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {
  const HostTensor &operand = operands[0];
  int64_t n = operand.shape().back();
  if (operand.size(operand.rank() - 2) != n) // C1
    return emitOpError() << "requires square matrices in the last two axes, got " << printShape(operand.shape());
  ArrayRef<int64_t> shape = operand.shape().drop_back(2);
  std::vector<double> values = operand.toFloats(), results(*countElements(shape));
  for (auto [k, result] : llvm::enumerate(results))
    result = determinant(values.data() + k * n * n, n);
  return SmallVector<HostTensor>{tensorOf(operand.elementType(), shape, results)};
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Normalization.h"
#include "ir/Axes.h"
#include "ir/Limits.h"
#include "ir/reference/Loops.h"

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

//===- sizes ---------------------------------------------------------------------------------===//

SmallVector<Dims> SoftmaxOp::resultDims(ShapeQuery &shapes) { return {shapes.dims(getOperand())}; }
SmallVector<Dims> BatchNormOp::resultDims(ShapeQuery &shapes) { return {shapes.dims(getOperand())}; }
SmallVector<Dims> GroupNormOp::resultDims(ShapeQuery &shapes) { return {shapes.dims(getOperand())}; }

SmallVector<Dims> LayerNormOp::resultDims(ShapeQuery &shapes) {
  Dims dims = shapes.dims(getOperand()), statistics = dims;
  std::fill(statistics.begin() + getAxis(), statistics.end(), shapes.context().constant(1));
  return {dims, statistics, statistics};
}

//===- evaluate ------------------------------------------------------------------------------===//

FailureOr<SmallVector<HostTensor>> SoftmaxOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {
  const HostTensor &operand = operands[0];
  AxisView view(operand.shape(), getAxis());
  std::vector<double> values = operand.toFloats();
  for (int64_t o = 0; o < view.outer; ++o)
    for (int64_t n = 0; n < view.inner; ++n) {
      double greatest = -std::numeric_limits<double>::infinity(), total = 0;
      for (int64_t i = 0; i < view.size; ++i)
        greatest = std::max(greatest, values[view.offset(o, i, n)]);
      for (int64_t i = 0; i < view.size; ++i)
        total += std::exp(values[view.offset(o, i, n)] - greatest);
      for (int64_t i = 0; i < view.size; ++i) {
        double &value = values[view.offset(o, i, n)];
        value = getLogarithm() ? value - greatest - std::log(total) : std::exp(value - greatest) / total;
      }
    }
  return SmallVector<HostTensor>{tensorOf(operand.elementType(), operand.shape(), values)};
}

/// Normalizes `count` elements in place; returns mean (0 unless `center`) and 1 / sqrt(variance + epsilon).
static std::pair<double, double> normalize(double *row, int64_t count, double epsilon, bool center) {
  double mean = 0, square = 0;
  for (int64_t i = 0; center && i < count; ++i)
    mean += row[i];
  mean /= count;
  for (int64_t i = 0; i < count; ++i)
    square += (row[i] - mean) * (row[i] - mean);
  double inverse = 1 / std::sqrt(square / count + epsilon);
  for (int64_t i = 0; i < count; ++i)
    row[i] = (row[i] - mean) * inverse;
  return {mean, inverse};
}

FailureOr<SmallVector<HostTensor>> LayerNormOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {
  const HostTensor &operand = operands[0];
  auto axis = static_cast<int64_t>(getAxis());
  int64_t rows = *countElements(operand.shape().take_front(axis));
  int64_t count = *countElements(operand.shape().drop_front(axis));
  auto parameter = [&](Value value, size_t position) {
    return value ? operands[position].toFloats() : std::vector<double>();
  };
  std::vector<double> scale = parameter(getScale(), 1), bias = parameter(getBias(), getScale() ? 2 : 1);
  std::vector<double> values = operand.toFloats(), means, inverses;
  for (int64_t r = 0; r < rows; ++r) {
    double *row = values.data() + r * count;
    auto [mean, inverse] = normalize(row, count, getEpsilon().convertToDouble(), getCenter());
    means.push_back(mean);
    inverses.push_back(inverse);
    for (int64_t i = 0; i < count; ++i)
      row[i] = row[i] * (scale.empty() ? 1.0 : scale[i]) + (bias.empty() ? 0.0 : bias[i]);
  }
  SmallVector<int64_t> statistics(operand.shape());
  std::fill(statistics.begin() + axis, statistics.end(), 1);
  return SmallVector<HostTensor>{tensorOf(operand.elementType(), operand.shape(), values),
                                 tensorOf(operand.elementType(), statistics, means),
                                 tensorOf(operand.elementType(), statistics, inverses)};
}

FailureOr<SmallVector<HostTensor>> BatchNormOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {
  const HostTensor &operand = operands[0];
  AxisView view(operand.shape(), getAxis());
  std::vector<double> values = operand.toFloats(), scale = operands[1].toFloats(), bias = operands[2].toFloats();
  std::vector<double> mean = operands[3].toFloats(), variance = operands[4].toFloats();
  for (int64_t o = 0; o < view.outer; ++o)
    for (int64_t c = 0; c < view.size; ++c) {
      double factor = scale[c] / std::sqrt(variance[c] + getEpsilon().convertToDouble());
      for (int64_t n = 0; n < view.inner; ++n) {
        double &value = values[view.offset(o, c, n)];
        value = (value - mean[c]) * factor + bias[c];
      }
    }
  return SmallVector<HostTensor>{tensorOf(operand.elementType(), operand.shape(), values)};
}

FailureOr<SmallVector<HostTensor>> GroupNormOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {
  const HostTensor &operand = operands[0];
  auto groups = static_cast<int64_t>(getGroups());
  if (operand.size(1) % groups != 0) // C2
    return emitOpError() << "requires a multiple of groups as channels, got " << operand.size(1) << " for " << groups
                         << " groups";
  AxisView view(operand.shape(), 1);
  std::vector<double> values = operand.toFloats(), scale = operands[1].toFloats(), bias = operands[2].toFloats();
  int64_t count = view.size / groups * view.inner;
  for (int64_t g = 0; g < view.outer * groups; ++g)
    normalize(values.data() + g * count, count, getEpsilon().convertToDouble(), true);
  for (int64_t o = 0; o < view.outer; ++o)
    for (int64_t c = 0; c < view.size; ++c)
      for (int64_t n = 0; n < view.inner; ++n) {
        double &value = values[view.offset(o, c, n)];
        value = value * scale[c] + bias[c];
      }
  return SmallVector<HostTensor>{tensorOf(operand.elementType(), operand.shape(), values)};
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Constants.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace sinter {

std::optional<HostTensor> constantTensor(Value value) {
  ElementsAttr elements;
  if (!value || !matchPattern(value, m_Constant(&elements)))
    return std::nullopt;
  FailureOr<HostTensor> tensor = HostTensor::fromAttr(elements);
  return succeeded(tensor) ? std::optional(std::move(*tensor)) : std::nullopt;
}

std::optional<SmallVector<int64_t>> constantInts(Value value) {
  std::optional<HostTensor> tensor = constantTensor(value);
  if (!tensor || tensor->isFloat())
    return std::nullopt;
  return llvm::to_vector(tensor->toInts());
}

std::optional<SmallVector<double>> constantFloats(Value value) {
  std::optional<HostTensor> tensor = constantTensor(value);
  if (!tensor || !tensor->isFloat())
    return std::nullopt;
  return llvm::to_vector(tensor->toFloats());
}

std::optional<double> uniformValue(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (op->getName().getStringRef() != "sinter.broadcast" && op->getName().getStringRef() != "sinter.reshape")
      break;
    value = op->getOperand(0);
  }
  DenseElementsAttr elements; // a resource is never worth a look: it is large
  if (!matchPattern(value, m_Constant(&elements)) || !elements.isSplat())
    return std::nullopt;
  FailureOr<HostTensor> tensor = HostTensor::fromAttr(DenseElementsAttr::get(
      RankedTensorType::get({}, elements.getElementType()), elements.getSplatValue<Attribute>()));
  if (failed(tensor))
    return std::nullopt;
  return tensor->getFloat(0);
}

static Value buildConstant(OpBuilder &builder, Location loc, Type type, TypedAttr scalar) {
  if (auto vector = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(vector, cast<Attribute>(scalar)));
  return arith::ConstantOp::create(builder, loc, scalar);
}

Value buildConstant(OpBuilder &builder, Location loc, Type type, double value) {
  Type element = getElementTypeOrSelf(type);
  if (!isa<FloatType>(element))
    return buildConstant(builder, loc, type, static_cast<int64_t>(value));
  return buildConstant(builder, loc, type, TypedAttr(builder.getFloatAttr(element, value)));
}

Value buildConstant(OpBuilder &builder, Location loc, Type type, int64_t value) {
  Type element = getElementTypeOrSelf(type);
  if (isa<FloatType>(element))
    return buildConstant(builder, loc, type, static_cast<double>(value));
  if (element.isIndex())
    return buildConstant(builder, loc, type, TypedAttr(builder.getIndexAttr(value)));
  APInt bits(element.getIntOrFloatBitWidth(), static_cast<uint64_t>(value), /*isSigned=*/true, /*implicitTrunc=*/true);
  return buildConstant(builder, loc, type, TypedAttr(builder.getIntegerAttr(element, bits)));
}

Value buildConstant(OpBuilder &builder, Location loc, Type type, int value) {
  return buildConstant(builder, loc, type, static_cast<int64_t>(value));
}

} // namespace sinter

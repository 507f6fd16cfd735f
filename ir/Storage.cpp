// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element types that nothing computes in, and the rules of `storage`.

#include "ir/Storage.h"
#include "ir/Dims.h"
#include "ir/Limits.h"
#include "ir/Lists.h"
#include "ir/Shape.h"

#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace sinter;

#define GET_OP_CLASSES
#include "ir/Storage.cpp.inc"

bool sinter::isStorageOnly(Type elementType) { return isPacked(elementType) || isFloat8(elementType); }

bool sinter::isFloat8(Type elementType) { return isa<Float8E4M3FNType, Float8E5M2Type>(elementType); }

bool sinter::isPacked(Type elementType) {
  return isa<IntegerType>(elementType) && elementType.getIntOrFloatBitWidth() == 4;
}

int64_t sinter::storedBytes(Type elementType, int64_t count) {
  return isPacked(elementType) ? count / 2 + count % 2 : count * byteWidth(elementType);
}

HostTensor sinter::fromStored(Type elementType, ArrayRef<int64_t> shape, ArrayRef<char> stored) {
  if (!isPacked(elementType))
    return HostTensor(elementType, shape, stored);
  HostTensor tensor(elementType, shape);
  assert(static_cast<int64_t>(stored.size()) == storedBytes(elementType, tensor.numElements()) &&
         "bytes and shape agree");
  char *data = tensor.data();
  for (int64_t i = 0; i < tensor.numElements(); ++i)
    data[i] = static_cast<char>(static_cast<uint8_t>(stored[i / 2]) >> (i % 2 * 4) & 15);
  return tensor;
}

std::vector<char> sinter::toStored(const HostTensor &tensor) {
  const char *data = tensor.data();
  if (!isPacked(tensor.elementType()))
    return std::vector<char>(data, data + tensor.numBytes());
  std::vector<char> stored(storedBytes(tensor.elementType(), tensor.numElements()));
  for (int64_t i = 0; i < tensor.numElements(); ++i)
    stored[i / 2] = static_cast<char>(stored[i / 2] | data[i] << (i % 2 * 4));
  return stored;
}

static RankedTensorType tensor(Value value) { return cast<RankedTensorType>(value.getType()); }

//===- shape -------------------------------------------------------------------------------------------------===//

bool sinter::isView(Operation *op) { return isa<ReshapeOp, StorageOp>(op); }

Value sinter::viewed(Value value) {
  for (Operation *op = value.getDefiningOp(); op && isView(op); op = value.getDefiningOp())
    value = op->getOperand(0);
  return value;
}

LogicalResult StorageOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  RankedTensorType from = tensor(adaptor.getOperand()), to = cast<RankedTensorType>(adaptor.getType());
  Type source = from.getElementType(), target = to.getElementType();
  bool toBytes = target.isUnsignedInteger(8) && isStorageOnly(source);
  if (!toBytes && !(source.isUnsignedInteger(8) && isStorageOnly(target)))
    return emitOptionalError(location, "storage requires ui8 and one of f8E4M3FN, f8E5M2, i4, ui4, got ", source,
                             " and ", target);
  Type stored = toBytes ? source : target;
  SmallVector<int64_t> shape(to.getShape());
  if (!isPacked(stored)) {
    std::optional<SmallVector<int64_t>> met =
        from.getRank() == to.getRank() ? meetShapes({from, to.clone(source)}) : std::nullopt;
    if (!met || adaptor.getShape())
      return emitOptionalError(location, "storage of ", stored, " requires one shape and no sizes, got ",
                               printShape(from.getShape()), " and ", printShape(shape),
                               adaptor.getShape() ? " with sizes" : "");
    types.push_back(to.clone(*met));
    return success();
  }
  RankedTensorType bytes = toBytes ? to : from, elements = toBytes ? from : to;
  std::optional<int64_t> count = countElements(elements.getShape());
  if (bytes.getRank() != 1 || (count && !meetSize(bytes.getDimSize(0), storedBytes(stored, *count))))
    return emitOptionalError(location, "storage of ", elements, " requires a list of half as many bytes, got ", bytes);
  if (adaptor.getShape() && (toBytes || to.hasStaticShape()))
    return emitOptionalError(location, "storage requires sizes only for a result of 4-bit elements with `?`");
  if (!toBytes && !adaptor.getShape() && !to.hasStaticShape())
    return emitOptionalError(location, "storage requires sizes for a result of 4-bit elements with `?`, got ", to);
  if (adaptor.getShape() && !isListOf(tensor(adaptor.getShape()), to.getRank()))
    return emitOptionalError(location, "storage requires one size per axis (", to.getRank(), "), got ",
                             printShape(tensor(adaptor.getShape()).getShape()));
  if (toBytes && count)
    shape = {storedBytes(stored, *count)};
  types.push_back(to.clone(shape));
  return success();
}

//===- sizes -------------------------------------------------------------------------------------------------===//

SmallVector<Dims> StorageOp::resultDims(ShapeQuery &shapes) {
  DimContext &context = shapes.context();
  Dims operand = shapes.dims(getOperand()), result;
  RankedTensorType type = tensor(getResult());
  if (isPacked(tensor(getOperand()).getElementType()))
    return {{context.ceilDiv(context.product(operand), context.constant(2))}};
  if (!isPacked(type.getElementType()))
    return {operand};
  std::optional<Dims> given = getShape() ? shapes.contents(getShape()) : std::nullopt;
  for (auto [axis, size] : llvm::enumerate(type.getShape()))
    result.push_back(!ShapedType::isDynamic(size) ? context.constant(size) : given ? (*given)[axis] : DimExpr());
  return {result};
}

//===- evaluate ----------------------------------------------------------------------------------------------===//

FailureOr<SmallVector<HostTensor>> StorageOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {
  const HostTensor &x = operands[0];
  Type to = tensor(getResult()).getElementType();
  ArrayRef<char> bytes(x.data(), x.numBytes());
  if (!isPacked(x.elementType()) && !isPacked(to))
    return SmallVector<HostTensor>{HostTensor(to, x.shape(), bytes)};
  if (isPacked(x.elementType())) {
    std::vector<char> stored = toStored(x);
    return SmallVector<HostTensor>{HostTensor(to, {static_cast<int64_t>(stored.size())}, stored)};
  }
  SmallVector<int64_t> shape(tensor(getResult()).getShape());
  if (operands.size() > 1)
    llvm::copy(operands[1].toInts(), shape.begin());
  std::optional<int64_t> count = countElements(shape);
  if (llvm::any_of(shape, [](int64_t size) { return size < 0; }) || !count ||
      storedBytes(to, *count) != x.numElements())
    return emitOpError() << "requires sizes of twice as many elements as there are bytes, got " << printShape(shape)
                         << " for " << x.numElements();
  return SmallVector<HostTensor>{fromStored(to, shape, bytes)};
}

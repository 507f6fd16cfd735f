// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/LowerStorage.h"
#include "ir/Elementwise.h"
#include "ir/Shape.h"
#include "ir/Shapes.h"
#include "ir/Storage.h"
#include "ir/reference/HostTensor.h"
#include "passes/BlockProducts.h"
#include "passes/StorageNumbers.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/CallInterfaces.h"

using namespace mlir;
using namespace sinter;

/// Constants of up to so many elements are bytes of one element.
static constexpr int64_t kFewElements = 256;

static bool isStored(Type type) { return isStorageOnly(getElementTypeOrSelf(type)); }

/// The type of the same value within a function.
static Type inner(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (!isStorageOnly(element))
    return type;
  bool isSigned = isPacked(element) && !isUnsigned(element);
  Type byte = IntegerType::get(type.getContext(), 8, isSigned ? IntegerType::Signless : IntegerType::Unsigned);
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? Type(tensor.clone(byte)) : byte;
}

/// The list of bytes that a tensor of 4-bit elements is kept in, or the shape of one of 8-bit floats.
static RankedTensorType bytesOf(RankedTensorType type) {
  Type byte = IntegerType::get(type.getContext(), 8, IntegerType::Unsigned);
  if (!isPacked(type.getElementType()))
    return type.clone(byte);
  std::optional<int64_t> count = countElements(type.getShape());
  return RankedTensorType::get({count ? storedBytes(type.getElementType(), *count) : ShapedType::kDynamic}, byte);
}

/// A conversion and the element types that it had.
struct Conversion {
  Operation *op;
  Type from, to;
  bool keepsBits;
};

static SmallVector<Conversion> conversionsOf(func::FuncOp function) {
  SmallVector<Conversion> found;
  auto record = [&](Operation *op, bool keepsBits) {
    Type from = getElementTypeOrSelf(op->getOperand(0)), to = getElementTypeOrSelf(op->getResult(0));
    if (isStorageOnly(from) || isStorageOnly(to))
      found.push_back({op, from, to, keepsBits});
  };
  function.walk([&](ConvertOp op) { record(op, false); });
  function.walk([&](BitcastOp op) { record(op, true); });
  return found;
}

/// Replaces a conversion whose operand has its inner type already.
static void lower(const Conversion &conversion) {
  auto [op, from, to, keepsBits] = conversion;
  OpBuilder b(op);
  Composer c(op->getLoc(), b);
  Value value = op->getOperand(0);
  Type wanted = inner(to);
  if (keepsBits) {
    value = elementTypeOf(value) == wanted ? value : c.make<BitcastOp>(value, wanted);
    if (isPacked(to))
      value = wrapTo4Bits(c, value, to);
  } else {
    if (isFloat8(from)) {
      bool isExact = to.isF32() || to.isF16() || to.isBF16();
      value = c.make<DecodeFloat8Op>(value, from, isExact ? to : c.getF32Type());
    }
    value = isPacked(to)        ? wrapTo4Bits(c, value, to)
            : isStorageOnly(to) ? encodeFloat8(c, value, to)
                                : c.convert(value, to);
  }
  op->getResult(0).replaceAllUsesWith(c.retype(value, inner(op->getResult(0).getType())));
  op->erase();
}

static void lowerConstant(ConstantOp op) {
  RankedTensorType type = op.getType();
  if (!isStored(type))
    return;
  OpBuilder b(op);
  Composer c(op.getLoc(), b);
  ElementsAttr elements = op.getValue();
  auto wanted = cast<RankedTensorType>(inner(type));
  Value value;
  if (auto dense = dyn_cast<DenseElementsAttr>(elements); dense && dense.isSplat()) {
    HostTensor one(type.getElementType(), {}, dense.getRawData().take_front(1));
    HostTensor byte(wanted.getElementType(), {});
    if (isPacked(type.getElementType()))
      byte.setInt(0, one.getInt(0));
    else
      byte.data()[0] = one.data()[0];
    value = c.make<ConstantOp>(cast<DenseElementsAttr>(byte.toAttr()).resizeSplat(wanted));
  } else if (auto resource = dyn_cast<DenseResourceElementsAttr>(elements);
             resource && !isPacked(type.getElementType())) {
    value = c.make<ConstantOp>(DenseResourceElementsAttr::get(wanted, resource.getRawHandle()));
  } else {
    FailureOr<HostTensor> tensor = HostTensor::fromAttr(elements);
    if (failed(tensor))
      return; // the verifier of what follows says so
    const HostTensor &host = *tensor;
    if (!isPacked(type.getElementType())) {
      value = c.make<ConstantOp>(
          HostTensor(wanted.getElementType(), host.shape(), ArrayRef(host.data(), host.numBytes())).toAttr("bytes"));
    } else if (host.numElements() <= kFewElements) {
      HostTensor bytes(wanted.getElementType(), host.shape());
      bytes.assignInts(host.toInts());
      value = c.make<ConstantOp>(bytes.toAttr("bytes"));
    } else {
      std::vector<char> stored = toStored(host);
      RankedTensorType list = bytesOf(type);
      value = c.make<ConstantOp>(HostTensor(list.getElementType(), list.getShape(), stored).toAttr("halves"));
      value = unpackHalves(c, value, type);
    }
  }
  op.replaceAllUsesWith(value);
  op.erase();
}

/// Results, block arguments and attributes that name a type.
static void changeTypes(Operation *op) {
  for (Value result : op->getResults())
    result.setType(inner(result.getType()));
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (BlockArgument argument : block.getArguments())
        argument.setType(inner(argument.getType()));
  for (NamedAttribute attribute : llvm::to_vector(op->getAttrs()))
    if (auto type = dyn_cast<TypeAttr>(attribute.getValue()); type && isStored(type.getValue()))
      op->setAttr(attribute.getName(), TypeAttr::get(inner(type.getValue())));
}

/// What a call passes has types that its function says.
static LogicalResult check(func::FuncOp function) {
  WalkResult walked = function.walk([](CallOpInterface call) {
    if (llvm::none_of(call->getOperandTypes(), isStored) && llvm::none_of(call->getResultTypes(), isStored))
      return WalkResult::advance();
    call.emitOpError("requires calls that pass tensors of 8-bit floats or 4-bit integers to be inlined");
    return WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}

static bool usesStored(func::FuncOp function) {
  bool uses = llvm::any_of(function.getArgumentTypes(), isStored);
  function.walk([&](Operation *op) { uses |= llvm::any_of(op->getResultTypes(), isStored); });
  return uses;
}

static void lowerArguments(func::FuncOp function) {
  OpBuilder b(&function.getBody().front(), function.getBody().front().begin());
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type || !isStored(type))
      continue;
    Composer c(argument.getLoc(), b);
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : argument.getUses())
      uses.push_back(&use);
    Value value = c.make<StorageOp>(argument, Value(), bytesOf(type));
    if (isPacked(type.getElementType()))
      value = unpackHalves(c, value, type, argument);
    for (OpOperand *use : uses)
      use->set(value);
  }
}

/// Gives `operand` of a return its outer type.
static void lowerResult(OpOperand &operand, RankedTensorType type) {
  OpBuilder b(operand.getOwner());
  Composer c(operand.get().getLoc(), b);
  Value bytes = operand.get(), sizes;
  if (isPacked(type.getElementType())) {
    if (!type.hasStaticShape())
      sizes = c.make<ShapeOp>(bytes);
    bytes = packHalves(c, bytes);
  }
  operand.set(StorageOp::create(c, type, bytes, sizes, type));
}

static LogicalResult lower(func::FuncOp function) {
  if (function.isExternal() || !usesStored(function))
    return success();
  if (failed(check(function)))
    return failure();
  formBlockProducts(function); // which read such constants as they are
  SmallVector<Conversion> conversions = conversionsOf(function);
  SmallVector<std::pair<OpOperand *, RankedTensorType>> results;
  for (OpOperand &operand : function.getBody().front().getTerminator()->getOpOperands())
    if (isStored(operand.get().getType()))
      results.emplace_back(&operand, cast<RankedTensorType>(operand.get().getType()));

  function.walk([](ConstantOp op) { lowerConstant(op); });
  lowerArguments(function);
  for (Operation &op : function.getBody().front())
    op.walk(changeTypes);
  for (const Conversion &conversion : conversions)
    lower(conversion);
  for (auto [operand, type] : results)
    lowerResult(*operand, type);
  return success();
}

LogicalResult sinter::lowerStorage(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (failed(lower(function)))
      return failure();
  return success();
}

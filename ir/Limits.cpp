// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Limits.h"
#include "ir/Shapes.h"
#include "ir/Storage.h"
#include "ir/reference/Evaluator.h"
#include "mlir/IR/Operation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace sinter {

std::optional<int64_t> countBytes(Type elementType, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> factors(shape);
  factors.push_back(byteWidth(elementType));
  return countElements(factors);
}

static bool isElement(Type type) {
  if (isa<Float64Type, Float32Type, Float16Type, BFloat16Type>(type) ||
      (isStorageOnly(type) && !type.isSignedInteger()))
    return true;
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return false;
  return integer.getWidth() == 1 ? integer.isSignless()
                                 : !integer.isSigned() && llvm::is_contained({8U, 16U, 32U, 64U}, integer.getWidth());
}

static LogicalResult verifyTypes(Operation *op, TypeRange types) {
  for (Type type : types) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      continue;
    if (tensor.getRank() > kMaxRank)
      return op->emitError() << "requires tensors of at most " << kMaxRank << " axes (kMaxRank), got "
                             << tensor.getRank();
    if (!isElement(tensor.getElementType()))
      return op->emitError()
             << "requires tensors of f64, f32, f16, bf16, f8E4M3FN, f8E5M2, i1, i4 to i64 or ui4 to ui64, got "
             << tensor.getElementType();
    SmallVector<int64_t> known = llvm::filter_to_vector(tensor.getShape(), [](int64_t size) { return size > 0; });
    std::optional<int64_t> bytes = countBytes(tensor.getElementType(), known);
    if (!bytes || *bytes > kMaxTypeBytes)
      return op->emitError() << "requires tensors of at most " << kMaxTypeBytes << " bytes (kMaxTypeBytes), got sizes "
                             << printShape(tensor.getShape());
  }
  return success();
}

LogicalResult verifyLimits(Operation *module) {
  WalkResult walked = module->walk<WalkOrder::PreOrder>([](Operation *op) {
    if (auto function = dyn_cast<FunctionOpInterface>(op);
        function && failed(verifyTypes(op, function.getArgumentTypes())))
      return WalkResult::interrupt();
    bool fits = succeeded(verifyTypes(op, op->getOperandTypes())) && succeeded(verifyTypes(op, op->getResultTypes()));
    return fits ? WalkResult::advance() : WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}

LogicalResult requireRoom(Operation *op, const Evaluator &evaluator, Type elementType, ArrayRef<int64_t> shape) {
  for (auto [axis, size] : llvm::enumerate(shape))
    if (size < 0)
      return op->emitOpError() << "requires sizes of at least 0, got " << size << " for axis " << axis;
  int64_t most = evaluator.getLimits().maxTensorBytes;
  std::optional<int64_t> bytes = countBytes(elementType, shape);
  if (!bytes || *bytes > most)
    return op->emitOpError() << "requires a result of at most " << most << " bytes (maxTensorBytes), got sizes "
                             << printShape(shape) << " of " << elementType;
  return success();
}

} // namespace sinter

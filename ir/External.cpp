// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/External.h"
#include "ir/Checks.h"
#include "ir/Limits.h"

#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace sinter;

#define GET_OP_CLASSES
#include "ir/External.cpp.inc"

/// SINTER_MAX_OP_TENSORS of the C ABI.
static constexpr size_t kMaxTensors = 64;

bool sinter::runsOnHost(Operation *op) { return isa<CallExternalOp, DebugPrintOp>(op); }

HostCalls &sinter::hostCalls() {
  static HostCalls calls;
  return calls;
}

//===- shape ---------------------------------------------------------------------------------===//

static bool isIdentifier(StringRef name) {
  return !name.empty() && !llvm::isDigit(name.front()) &&
         llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

LogicalResult CallExternalOp::verify() {
  if (!isIdentifier(getSymbol())) // C1
    return emitOpError() << "requires the name of a C function, got '" << getSymbol() << "'";
  SmallVector<int64_t> axes;
  for (Type type : getResultTypes())
    llvm::append_range(axes, cast<RankedTensorType>(type).getShape());
  ArrayRef<int64_t> dims = getDims();
  auto agrees = [](int64_t axis, int64_t size) {
    return size >= -1 && (size == -1 || ShapedType::isDynamic(axis) || axis == size);
  };
  if (dims.size() != axes.size() || !llvm::all_of(llvm::zip(axes, dims), [&](auto pair) {
        return agrees(std::get<0>(pair), std::get<1>(pair));
      })) // C2
    return emitOpError() << "requires dims for the " << axes.size() << " axes of its results, got [" << dims << "]";
  if (auto open = static_cast<size_t>(llvm::count(dims, -1)); open != getSizes().size()) // C3
    return emitOpError() << "requires a size for each of " << open << " open dims, got " << getSizes().size();
  if (size_t count = getInputs().size() + getNumResults(); getNumResults() == 0 || count > kMaxTensors) // C4
    return emitOpError() << "requires a result and at most " << kMaxTensors << " operands and results, got " << count;
  return success();
}

//===- sizes ---------------------------------------------------------------------------------===//

SmallVector<Dims> CallExternalOp::resultDims(ShapeQuery &shapes) {
  SmallVector<Dims> all;
  size_t next = 0, axis = 0;
  for (Value result : getResults()) {
    Dims dims(cast<RankedTensorType>(result.getType()).getRank());
    for (DimExpr &size : dims) {
      int64_t stated = getDims()[axis++];
      if (stated >= 0) {
        size = shapes.context().constant(stated);
        continue;
      }
      if (std::optional<Dims> known = shapes.contents(getSizes()[next++]))
        size = known->front();
    }
    all.push_back(dims);
  }
  return all;
}

//===- evaluate ------------------------------------------------------------------------------===//

FailureOr<SmallVector<HostTensor>> CallExternalOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &evaluator) {
  ArrayRef<HostTensor> sizes = operands.drop_front(getInputs().size());
  ArrayRef<int64_t> dims = getDims();
  SmallVector<HostTensor> results;
  for (Type type : getResultTypes()) {
    auto tensor = cast<RankedTensorType>(type);
    SmallVector<int64_t> shape(dims.take_front(tensor.getRank()));
    dims = dims.drop_front(tensor.getRank());
    for (int64_t &size : shape)
      if (size == -1) {
        size = sizes.front().getInt(0);
        sizes = sizes.drop_front();
      }
    if (failed(requireRoom(*this, evaluator, tensor.getElementType(), shape)))
      return failure();
    results.emplace_back(tensor.getElementType(), shape);
  }
  std::string problem = "no functions of the program are known here";
  if (auto *call = hostCalls().call)
    problem = call(getSymbol(), operands.take_front(getInputs().size()), results);
  if (!problem.empty())
    return mlir::emitError(getLoc()) << problem;
  return results;
}

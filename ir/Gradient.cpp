// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Gradient.h"
#include "ir/Composer.h"
#include "ir/Control.h"
#include "ir/Leaves.h"
#include "ir/gradient/Differentiable.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace sinter;

#define GET_OP_CLASSES
#include "ir/Gradient.cpp.inc"

void SinterDialect::registerGradient() {
  addOperations<
#define GET_OP_LIST
#include "ir/Gradient.cpp.inc"
      >();
}

//===- shape ---------------------------------------------------------------------------------===//

LogicalResult StopGradientOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                               SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getOperand().getType());
  return success();
}

LogicalResult CheckpointOp::verify() {
  if (failed(checkLeaves(*this, "argument", getBody().getArgumentTypes(), "operand", getOperandTypes()))) // C1
    return failure();
  return checkLeaves(*this, "yield", yieldedTypes(getBody()), "result", getResultTypes()); // C2
}

static SmallVector<Type> floatsOf(TypeRange types) {
  return llvm::to_vector(llvm::make_filter_range(types, isDifferentiable));
}

LogicalResult CustomVjpOp::verify() {
  TypeRange yields = yieldedTypes(getForward());
  if (failed(checkLeaves(*this, "forward argument", getForward().getArgumentTypes(), "operand",
                         getOperandTypes()))) // C1
    return failure();
  if (yields.size() < getNumResults()) // C2
    return emitOpError() << "requires a forward yield per result, got " << yields.size() << " and " << getNumResults();
  if (failed(checkLeaves(*this, "forward yield", yields.take_front(getNumResults()), "result", getResultTypes()))) // C2
    return failure();
  SmallVector<Type> given(yields.drop_front(getNumResults()));
  llvm::append_range(given, floatsOf(getResultTypes()));
  if (failed(checkLeaves(*this, "backward argument", getBackward().getArgumentTypes(),
                         "further forward yield and float result", given))) // C3
    return failure();
  return checkLeaves(*this, "backward yield", yieldedTypes(getBackward()), "float operand",
                     floatsOf(getOperandTypes())); // C4
}

//===- sizes ---------------------------------------------------------------------------------===//

SmallVector<Dims> StopGradientOp::resultDims(ShapeQuery &shapes) { return {shapes.dims(getOperand())}; }

/// Region arguments have the operands' sizes, so that what a region yields has the results'; a symbol of the region
/// is unknown outside.
static SmallVector<Dims> dimsOfResults(Operation *op, ShapeQuery &shapes) {
  SmallVector<Dims> results;
  for (OpResult result : op->getResults()) {
    Dims dims;
    for (auto [axis, size] : llvm::enumerate(cast<RankedTensorType>(result.getType()).getShape()))
      dims.push_back(ShapedType::isDynamic(size)
                         ? shapes.context().symbol({SymbolSource::Kind::Size, result, static_cast<int64_t>(axis)})
                         : shapes.context().constant(size));
    results.push_back(dims);
  }
  return results;
}

SmallVector<Dims> CheckpointOp::resultDims(ShapeQuery &shapes) { return dimsOfResults(*this, shapes); }
SmallVector<Dims> CustomVjpOp::resultDims(ShapeQuery &shapes) { return dimsOfResults(*this, shapes); }

//===- evaluate ------------------------------------------------------------------------------===//

FailureOr<SmallVector<HostTensor>> StopGradientOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {
  return SmallVector<HostTensor>(operands);
}

FailureOr<SmallVector<HostTensor>> CheckpointOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &evaluator) {
  return evaluator.run(getBody(), operands);
}

FailureOr<SmallVector<HostTensor>> CustomVjpOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &evaluator) {
  FailureOr<SmallVector<HostTensor>> yields = evaluator.run(getForward(), operands);
  if (succeeded(yields))
    yields->truncate(getNumResults());
  return yields;
}

//===- decompose -----------------------------------------------------------------------------===//

FailureOr<SmallVector<Value>> StopGradientOp::decompose(OpBuilder &builder) {
  return SmallVector<Value>{Composer(getLoc(), builder).retype(getOperand(), getType())};
}

/// A copy of the region's ops on the op's operands.
static SmallVector<Value> inlined(Operation *op, Region &region, OpBuilder &builder) {
  Composer composer(op->getLoc(), builder);
  IRMapping map;
  for (auto [argument, operand] : llvm::zip(region.getArguments(), op->getOperands()))
    map.map(argument, composer.retype(operand, argument.getType()));
  for (Operation &inner : region.front().without_terminator())
    builder.clone(inner, map);
  SmallVector<Value> results;
  for (auto [yielded, type] : llvm::zip(region.front().getTerminator()->getOperands(), op->getResultTypes()))
    results.push_back(composer.retype(map.lookupOrDefault(yielded), type));
  return results;
}

FailureOr<SmallVector<Value>> CheckpointOp::decompose(OpBuilder &builder) { return inlined(*this, getBody(), builder); }
FailureOr<SmallVector<Value>> CustomVjpOp::decompose(OpBuilder &builder) {
  return inlined(*this, getForward(), builder);
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Kernel.h"

using namespace mlir;
using namespace sinter;

#define GET_OP_CLASSES
#include "ir/Kernel.cpp.inc"

void SinterDialect::registerKernel() {
  addOperations<
#define GET_OP_LIST
#include "ir/Kernel.cpp.inc"
      >();
}

static bool shapesLoops(Operation &op) {
  return !isa<Pointwise, Elemental>(op) && !op.hasTrait<OpTrait::ConstantLike>() &&
         !op.hasTrait<OpTrait::IsTerminator>();
}

Operation *KernelOp::getRoot() {
  for (Operation &op : getBody().front())
    if (shapesLoops(op))
      return &op;
  return nullptr;
}

//===- shape ---------------------------------------------------------------------------------===//

static LogicalResult checkLeaves(KernelOp op, StringRef what, TypeRange types, StringRef other, TypeRange wanted) {
  if (types.size() != wanted.size())
    return op.emitOpError() << "requires as many " << what << "s as " << other << "s, got " << types.size() << " and "
                            << wanted.size();
  for (auto [k, pair] : llvm::enumerate(llvm::zip(types, wanted)))
    if (auto [type, otherType] = pair; !agree(type, otherType))
      return op.emitOpError() << "requires " << what << " " << k << " of the type of " << other << " " << k << ", got "
                              << type << " and " << otherType;
  return success();
}

LogicalResult KernelOp::verify() {
  Block &block = getBody().front();
  if (failed(checkLeaves(*this, "argument", block.getArgumentTypes(), "input", getInputs().getTypes())) ||       // C1
      failed(checkLeaves(*this, "yield", block.getTerminator()->getOperandTypes(), "result", getResultTypes()))) // C2
    return failure();
  Operation *root = nullptr;
  for (Operation &op : block) {
    if (!shapesLoops(op))
      continue;
    if (root) // C3
      return (emitOpError() << "requires at most one op that shapes the loop nest, got " << root->getName() << " and "
                            << op.getName())
                 .attachNote(op.getLoc())
             << "the second one is here";
    root = &op;
  }
  if (root && getKernelTemplate() == KernelTemplate::map) // C4
    return emitOpError() << "of template map requires pointwise and elemental ops only, got " << root->getName();
  return success();
}

//===- sizes ---------------------------------------------------------------------------------===//

SmallVector<Dims> KernelOp::resultDims(ShapeQuery &shapes) {
  SmallVector<Dims> results;
  for (Value value : getBody().front().getTerminator()->getOperands())
    results.push_back(shapes.dims(value));
  return results;
}

//===- evaluate ------------------------------------------------------------------------------===//

FailureOr<SmallVector<HostTensor>> KernelOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &evaluator) {
  return evaluator.run(getBody(), operands);
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Kernel.h"
#include "ir/Leaves.h"

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

LogicalResult KernelOp::verify() {
  Block &block = getBody().front();
  if (failed(checkLeaves(*this, "argument", block.getArgumentTypes(), "input", getInputs().getTypes())) || // C1
      failed(checkLeaves(*this, "yield", yieldedTypes(getBody()), "result", getResultTypes())))            // C2
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
  ScheduleAttr schedule = getScheduleAttr();
  std::pair<StringRef, ArrayRef<int64_t>> lists[] = {
      {"zeros", getZeros().value_or(ArrayRef<int64_t>())},
      {"the schedule's packing", schedule ? schedule.getPacking() : ArrayRef<int64_t>()},
      {"the schedule's zeros", schedule ? schedule.getZeros() : ArrayRef<int64_t>()}};
  for (auto [name, inputs] : lists)
    for (int64_t input : inputs)
      if (input < 0 || input >= static_cast<int64_t>(getInputs().size())) // C5
        return emitOpError() << "requires " << name << " to name inputs 0 to "
                             << static_cast<int64_t>(getInputs().size()) - 1 << ", got " << input;
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

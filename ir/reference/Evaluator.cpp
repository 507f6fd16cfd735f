// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/reference/Evaluator.h"
#include "ir/Dialect.h"
#include "ir/ElementCost.h"
#include "ir/reference/FloatState.h"
#include "ir/reference/Loops.h"

using namespace mlir;
using namespace sinter;

Evaluator::Evaluator(EvaluatorLimits limits) : limits(limits) {}

bool Evaluator::spend(int64_t steps) {
  if (limits.steps && steps > *limits.steps - spent)
    return false;
  if (__builtin_add_overflow(spent, steps, &spent))
    spent = std::numeric_limits<int64_t>::max();
  return true;
}

/// Steps for the elements that `op` reads and writes. Small tensors are not looked at more closely.
static int64_t stepsOf(Operation *op, ArrayRef<HostTensor> operands) {
  int64_t elements = 1;
  for (const HostTensor &operand : operands)
    elements += operand.numElements();
  for (Type type : op->getResultTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && tensor.hasStaticShape())
      elements += countElements(tensor.getShape()).value_or(0);
  constexpr int64_t few = 4096, additionsPerStep = 4;
  return elements <= few ? elements : elements * llvm::divideCeil(elementCost(op), additionsPerStep);
}

FailureOr<SmallVector<HostTensor>> Evaluator::run(Operation *op, ArrayRef<HostTensor> operands) {
  if (limits.steps && !spend(stepsOf(op, operands)))
    return outOfSteps(op);
  auto evaluable = dyn_cast<Evaluable>(op);
  if (!evaluable)
    return op->emitOpError("has no reference evaluation"), failure();
  DefaultFloatState floatState;
  FailureOr<SmallVector<HostTensor>> results = evaluable.evaluate(operands, *this);
  if (failed(results))
    return failure();
  assert(results->size() == op->getNumResults() && "an evaluation returns one tensor per result");
  for (auto [tensor, type] : llvm::zip(*results, op->getResultTypes()))
    if (!agree(tensor.tensorType(), type))
      return op->emitOpError() << "evaluates to " << tensor.tensorType() << ", but its type is " << type, failure();
  return results;
}

FailureOr<SmallVector<HostTensor>> Evaluator::run(Region &region, ArrayRef<HostTensor> arguments) {
  Block &block = region.front();
  DenseMap<Value, HostTensor> values;
  for (auto [argument, tensor] : llvm::zip(block.getArguments(), arguments))
    values[argument] = tensor;

  // A tensor is dropped after its last use, so that memory follows liveness.
  DenseMap<Value, unsigned> uses;
  for (Operation &op : block)
    for (Value operand : op.getOperands())
      ++uses[operand];

  for (Operation &op : block) {
    SmallVector<HostTensor> operands;
    for (Value operand : op.getOperands()) {
      operands.push_back(values.lookup(operand));
      if (--uses[operand] == 0)
        values.erase(operand);
    }
    if (op.hasTrait<OpTrait::IsTerminator>())
      return operands;
    FailureOr<SmallVector<HostTensor>> results = run(&op, operands);
    if (failed(results))
      return failure();
    for (auto [result, tensor] : llvm::zip(op.getResults(), *results))
      values[result] = std::move(tensor);
  }
  llvm_unreachable("a block ends in a terminator");
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/fuzz/programs/Shrink.h"
#include "ir/Shape.h"
#include "ir/reference/Evaluator.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::test;

static func::FuncOp mainOf(const Program &program) { return program.module.get().lookupSymbol<func::FuncOp>("main"); }

static Program copyOf(const Program &program) { return {program.module.get().clone(), program.inputs}; }

static void removeDead(func::FuncOp function) {
  SmallVector<Operation *> ops;
  for (Operation &op : function.getBody().front())
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      op->erase();
}

/// Keeps the results in `kept`.
static void keepResults(func::FuncOp function, ArrayRef<unsigned> kept) {
  Operation *end = function.getBody().front().getTerminator();
  SmallVector<Value> values;
  for (unsigned i : kept)
    values.push_back(end->getOperand(i));
  end->setOperands(values);
  function.setType(
      FunctionType::get(function.getContext(), function.getArgumentTypes(), ValueRange(values).getTypes()));
  removeDead(function);
}

/// What the reference gives for the results of `op` in the body of `main`; empty if it fails.
static SmallVector<HostTensor> valuesAt(const Program &program, size_t number) {
  Program copy = copyOf(program);
  func::FuncOp function = mainOf(copy);
  Operation *op = &*std::next(function.getBody().front().begin(), static_cast<ptrdiff_t>(number));
  Operation *end = function.getBody().front().getTerminator();
  end->setOperands(op->getResults());
  Evaluator evaluator;
  auto values = evaluator.run(function.getBody(), copy.inputs);
  return failed(values) ? SmallVector<HostTensor>() : *values;
}

void sinter::test::shrink(Program &program, llvm::function_ref<bool(const Program &)> fails) {
  auto attempt = [&](Program candidate) {
    if (!fails(candidate))
      return false;
    program = std::move(candidate);
    return true;
  };
  for (unsigned i = 0; i < mainOf(program).getNumResults(); ++i) {
    Program candidate = copyOf(program);
    keepResults(mainOf(candidate), i);
    if (attempt(std::move(candidate)))
      break;
  }
  // From the last op to the first: what an op computed becomes a constant, and what it needed goes away.
  size_t number = mainOf(program).getBody().front().getOperations().size() - 1;
  while (number-- > 0) {
    Block &block = mainOf(program).getBody().front();
    if (number >= block.getOperations().size() - 1 || isa<ConstantOp>(*std::next(block.begin(), number)))
      continue;
    SmallVector<HostTensor> values = valuesAt(program, number);
    if (values.empty())
      continue;
    Program candidate = copyOf(program);
    Operation *op = &*std::next(mainOf(candidate).getBody().front().begin(), static_cast<ptrdiff_t>(number));
    OpBuilder b(op);
    for (auto [result, value] : llvm::zip(op->getResults(), values))
      if (result.getType() == value.tensorType())
        result.replaceAllUsesWith(ConstantOp::create(b, op->getLoc(), value.toAttr()));
    removeDead(mainOf(candidate));
    attempt(std::move(candidate));
  }
}

void sinter::test::bakeInputs(Program &program) {
  func::FuncOp function = mainOf(program);
  Block &block = function.getBody().front();
  OpBuilder b = OpBuilder::atBlockBegin(&block);
  for (auto [argument, input] : llvm::zip(block.getArguments(), program.inputs))
    if (!argument.use_empty())
      argument.replaceAllUsesWith(ConstantOp::create(b, function.getLoc(), input.toAttr()));
  block.eraseArguments(0, block.getNumArguments());
  function.setType(FunctionType::get(function.getContext(), {}, function.getResultTypes()));
  program.inputs.clear();
}

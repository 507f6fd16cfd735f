// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/schedule/LoopProgram.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::schedule;

using Kind = LoopStep::Kind;

namespace {
class Reader {
public:
  LoopStep loop(RepeatOp op);

  LoopProgram program;
  bool isWhole = true; // all ops are steps

private:
  LoopOperand operand(Value value, bool isWritten = false);
  LoopOperand written(Value value) { return operand(value, /*isWritten=*/true); }
  LoopStep launch(LaunchOp op);
  LoopStep branch(ChooseOp op);
  std::vector<LoopStep> steps(Block &block);

  llvm::DenseMap<Value, unsigned> numbers;
};
} // namespace

LoopOperand Reader::operand(Value value, bool isWritten) {
  if (std::optional<int64_t> number = getConstantIntValue(value))
    return {number};
  auto [found, isNew] = numbers.try_emplace(value, static_cast<unsigned>(program.words.size()));
  if (isNew)
    program.words.push_back({value, isa<BufferType>(value.getType()) ? SINTER_WORD_READ : SINTER_WORD_SIZE});
  if (isWritten)
    program.words[found->second].role = SINTER_WORD_WRITTEN;
  return {std::nullopt, found->second};
}

LoopStep Reader::launch(LaunchOp op) {
  LoopStep step{Kind::Launch, op.getKernel().str(), {}, {}, {}};
  for (auto [i, argument] : llvm::enumerate(op.getArguments()))
    step.operands.push_back(operand(argument, llvm::is_contained(op.getWrites(), static_cast<int64_t>(i))));
  step.operands.push_back(operand(op.getChunks()));
  return step;
}

LoopStep Reader::loop(RepeatOp op) {
  LoopStep step{Kind::Loop, "", {}, {}, {}};
  step.operands.push_back(written(op.getTrips()));
  step.operands.push_back(op.getMost() ? operand(op.getMost()) : LoopOperand{-1});
  step.first = steps(op.getTest().front());
  step.operands.push_back(operand(cast<TestOp>(op.getTest().front().getTerminator()).getFlag()));
  step.second = steps(op.getBody().front());
  return step;
}

LoopStep Reader::branch(ChooseOp op) {
  LoopStep step{Kind::Branch, "", {operand(op.getFlag())}, {}, {}};
  step.first = steps(op.getThenRegion().front());
  step.second = steps(op.getElseRegion().front());
  return step;
}

std::vector<LoopStep> Reader::steps(Block &block) {
  std::vector<LoopStep> list;
  for (Operation &op : block)
    llvm::TypeSwitch<Operation *>(&op)
        .Case([&](LaunchOp launched) { list.push_back(launch(launched)); })
        .Case([&](CopyOp copy) {
          list.push_back(
              {Kind::Copy, "", {written(copy.getTo()), operand(copy.getFrom()), operand(copy.getBytes())}, {}, {}});
        })
        .Case([&](ClearOp clear) {
          list.push_back({Kind::Clear, "", {written(clear.getBuffer()), operand(clear.getBytes())}, {}, {}});
        })
        .Case([&](RepeatOp inner) { list.push_back(loop(inner)); })
        .Case([&](ChooseOp choice) { list.push_back(branch(choice)); })
        .Case<AcquireOp, ReleaseOp, TestOp, EndOp>([](Operation *) {})
        .Default([&](Operation *other) { isWhole &= isPure(other); });
  return list;
}

std::optional<LoopProgram> LoopProgram::of(RepeatOp loop) {
  Reader reader;
  reader.program.loop = reader.loop(loop);
  if (!reader.isWhole)
    return std::nullopt;
  return std::move(reader.program);
}

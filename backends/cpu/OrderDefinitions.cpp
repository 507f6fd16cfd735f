// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SROA of LLVM 22 merges vectors that are stored side by side and read as one by a tree of shuffles. It puts the tree
// where the vector of the highest address was stored, though one of a lower address may be stored, and computed, later:
//
//   store <2 x float> %high, ptr %slot+8
//   %low = fmul ...                                   ->  %both = shufflevector %low, %high   ; %low is not there yet
//   store <2 x float> %low, ptr %slot                     %low = fmul ...
//   %both = load <4 x float>, ptr %slot
//
// Nobody notices, and code that reads an undefined register comes out. All readers of the tree come after the load,
// and so after all that was stored: its parts may move down to what they read.

#include "backends/cpu/OrderDefinitions.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

/// The last operand of `instruction` that its block defines only after it, or null.
static Instruction *lateOperand(Instruction &instruction) {
  Instruction *last = nullptr;
  if (isa<PHINode>(instruction))
    return nullptr;
  for (Value *operand : instruction.operands()) {
    auto *definition = dyn_cast<Instruction>(operand);
    if (definition && definition->getParent() == instruction.getParent() && instruction.comesBefore(definition) &&
        (!last || last->comesBefore(definition)))
      last = definition;
  }
  return last;
}

bool sinter::cpu::orderDefinitions(Function &function) {
  bool changed = false;
  for (BasicBlock &block : function) {
    const size_t most = block.size(); // counted each time that it is asked for
    size_t moves = 0;                 // unreachable code may have cycles
    for (auto it = block.begin(); it != block.end() && moves <= most;) {
      Instruction &instruction = *it++;
      if (!isa<ShuffleVectorInst, BitCastInst>(instruction))
        continue;
      if (Instruction *late = lateOperand(instruction)) {
        // It is met again behind `late`, by then with readers of its own that it has overtaken.
        instruction.moveAfter(late);
        changed = true;
        ++moves;
        it = std::next(instruction.getIterator());
        for (User *user : instruction.users())
          if (auto *reader = dyn_cast<Instruction>(user);
              reader && reader->getParent() == &block && !isa<PHINode>(reader) && reader->comesBefore(&instruction))
            it = block.begin();
      }
    }
  }
  return changed;
}

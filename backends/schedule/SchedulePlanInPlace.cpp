// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which results are written over one of their inputs: of loops, of kernels in the arena, and of unknown size.

#include "backends/schedule/SchedulePlan.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::schedule;

/// True when every path from the argument to the kernel's result is pointwise: element i of the result reads element i
/// alone.
static bool isReadPointwise(Value argument) {
  SmallVector<Value> pending = {argument};
  llvm::SmallPtrSet<Operation *, 16> seen; // paths may join: each op is asked once
  while (!pending.empty())
    for (Operation *user : pending.pop_back_val().getUsers()) {
      if (isa<YieldOp>(user) || !seen.insert(user).second)
        continue;
      if (!isa<Pointwise>(user))
        return false;
      pending.push_back(user->getResult(0));
    }
  return true;
}

bool SchedulePlan::canOverwrite(KernelOp kernel, unsigned input) {
  auto launch = launches.find(kernel);
  if (launch == launches.end())
    return false;
  const KernelTraits &traits = launch->second.traits;
  bool pointwise = traits.inPlace && isReadPointwise(kernel.getBody().getArgument(input));
  if (!pointwise && traits.updates != static_cast<int64_t>(input))
    return false;
  // What is beside a part may be of others.
  if (isPart(kernel.getInputs()[input]))
    return false;
  // No other input may be a view of the same memory.
  Value source = root(kernel.getInputs()[input]);
  return llvm::count_if(kernel.getInputs(), [&](Value other) { return root(other) == source; }) == 1;
}

bool SchedulePlan::diesAt(Value value, Operation *op, OpOperand *use) {
  Block *block = op->getBlock();
  SmallVector<Value> pending = {value};
  while (!pending.empty()) {
    Value view = pending.pop_back_val();
    auto found = viewsOf.find(view);
    if (found != viewsOf.end())
      llvm::append_range(pending, found->second);
    for (OpOperand &other : view.getUses()) {
      Operation *here = block->findAncestorOpInBlock(*other.getOwner());
      // The condition of a while reads its carries before the body.
      if (!here && view != value && block->getParentOp()->isProperAncestor(other.getOwner()))
        continue;
      if (!here || op->isBeforeInBlock(here) || (here == op && &other != use))
        return false;
    }
  }
  return true;
}

bool SchedulePlan::planInPlace(LoopView &loop, unsigned j, int slot) {
  BlockArgument old = loop.bodyCarry(j);
  auto next = dyn_cast<OpResult>(root(loop.next(j)));
  if (!next || next.getOwner()->getBlock() != loop.body || bytes(next) != bytes(old) || slotOfRoot.contains(next))
    return false;
  Operation *op = next.getOwner();
  if (LoopView::isLoop(op)) {
    // An inner loop that starts from the carry and gives the next one.
    LoopView inner(op);
    unsigned m = std::distance(inner.carries.begin(), llvm::find(inner.carries, next));
    if (m == inner.init.size())
      return false;
    OpOperand &init = op->getOpOperand(inner.firstInit() + m);
    return root(init.get()) == old && diesAt(old, op, &init);
  }
  return overwriterOf(loop, j) && computeInto(next, loop.body, slot);
}

KernelOp SchedulePlan::overwriterOf(LoopView &loop, unsigned j) {
  BlockArgument old = loop.bodyCarry(j);
  auto kernel = root(loop.next(j)).getDefiningOp<KernelOp>();
  if (!kernel || kernel->getBlock() != loop.body || kernel.getInPlace()) // its parts are written before
    return {};
  for (OpOperand &operand : kernel->getOpOperands())
    if (root(operand.get()) == old)
      return canOverwrite(kernel, operand.getOperandNumber()) && diesAt(old, kernel, &operand) ? kernel : KernelOp();
  return diesAt(old, kernel, nullptr) ? kernel : KernelOp();
}

/// A loop that updates a carry in place does so in the buffer that the carry starts from, when nobody else needs that.
void SchedulePlan::takeOverInits(Block &block) {
  for (Operation &op : block) {
    if (LoopView::isLoop(&op)) {
      LoopView loop(&op);
      for (auto [j, carry] : llvm::enumerate(loops[&op].carries)) {
        OpOperand &init = op.getOpOperand(loop.firstInit() + j);
        Value start = root(init.get());
        int from = start.getParentBlock() == &block ? carrySlotOf(start) : -1;
        if (carry.kind != CarryPlan::Kind::InPlace || from < 0 || !diesAt(start, &op, &init))
          continue;
        // Of a carry of the loop around, only when this loop gives its next value.
        if (auto argument = dyn_cast<BlockArgument>(start)) {
          LoopView outer(block.getParentOp());
          bool gives = true;
          for (unsigned m = 0; gives && m < outer.init.size(); ++m)
            gives = outer.bodyCarry(m) != argument || root(outer.next(m)) == loop.carries[j];
          if (!gives)
            continue;
        }
        from = representative(from);
        if (slots[from].bytes != slots[carry.current].bytes || from == representative(carry.current))
          continue;
        slots[carry.current].mergedInto = from;
        slots[from].first = std::min(slots[from].first, slots[carry.current].first);
        slots[from].last = std::max(slots[from].last, slots[carry.current].last);
        slots[from].inLoop = true;
      }
    }
    if (!isa<KernelOp>(op))
      for (Region &region : op.getRegions())
        takeOverInits(region.front());
  }
}

/// The slot of an input that dies with the kernel at `at` and that the kernel may write slot `target` over; else -1.
int SchedulePlan::slotToReuse(KernelOp kernel, int target, int at) {
  if (slots[target].kind != Slot::Kind::Planned || slots[target].first != at)
    return -1;
  for (auto [i, input] : llvm::enumerate(kernel.getInputs())) {
    int from = slotOf(root(input));
    if (from < 0 || slots[from].kind != Slot::Kind::Planned)
      continue;
    from = representative(from);
    if (slots[from].last != at || slots[from].bytes != slots[target].bytes || !canOverwrite(kernel, i))
      continue;
    int64_t reads = llvm::count_if(kernel.getInputs(), [&](Value other) {
      int slot = slotOf(root(other));
      return slot >= 0 && representative(slot) == from;
    });
    if (reads == 1)
      return from;
  }
  return -1;
}

void SchedulePlan::reuseInPlace(Block &block) {
  for (Operation &op : block) {
    auto kernel = dyn_cast<KernelOp>(op);
    if (!kernel) {
      for (Region &region : op.getRegions())
        reuseInPlace(region.front());
      continue;
    }
    if (!launches.contains(kernel))
      continue;
    llvm::SmallSet<int, 4> taken; // each input is one result's
    for (Value result : kernel.getResults()) {
      int target = slotOf(result), from = target < 0 ? -1 : slotToReuse(kernel, target, positions[kernel]);
      if (from < 0 || !taken.insert(from).second)
        continue;
      slots[target].mergedInto = from;
      slots[from].last = std::max(slots[from].last, slots[target].last);
    }
  }
}

/// A kernel that may write its result over an input does so when the input's memory was acquired in the same block, and
/// nothing reads it afterwards: a carry of a size that is found only at run time is updated where it lies.
void SchedulePlan::takeOverDynamic(Block &block) {
  for (Operation &op : block) {
    auto kernel = dyn_cast<KernelOp>(op);
    if (!kernel) {
      for (Region &region : op.getRegions())
        takeOverDynamic(region.front());
      continue;
    }
    auto launch = launches.find(kernel);
    if (launch == launches.end() || kernel.getNumResults() != 1 || launch->second.traits.writesSizes)
      continue;
    Value result = kernel.getResult(0);
    int slot = slotOf(result);
    if (slot < 0 || slots[slot].kind != Slot::Kind::Dynamic)
      continue;
    for (OpOperand &operand : kernel->getOpOperands()) {
      Value source = root(operand.get());
      int from = slotOf(source);
      bool acquiredHere = isa<OpResult>(source) && from >= 0 && slots[from].kind == Slot::Kind::Dynamic;
      if (source.getParentBlock() != &block || !(acquiredHere || isDynamicCarry(source)) ||
          bytes(source) != bytes(result) || !canOverwrite(kernel, operand.getOperandNumber()) ||
          !diesAt(source, kernel, &operand))
        continue;
      takes[result] = source;
      moved.insert(source);
      break;
    }
  }
}

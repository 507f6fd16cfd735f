// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// States that are written where they lie. A failed or cancelled call must leave every state as it was, and nobody may
// read an old value that is gone; so the ops that write states are put after all that can fail and after all other
// readers of what they replace:
//
//   %g = kernel contraction(%x, %dy)          may be cancelled
//   %dx = kernel contraction(%dy, %w)         reads the state w
//   %m1, %w1 = kernel map(%g, %m, %w)         the first writer: from here on nothing fails
//
// A counted loop all of whose carries are states is such a writer, too, if nothing in it can fail: it is not cancelled.
//
// Otherwise ops keep their order, so that a gradient lives no longer than before. A state whose next value cannot be
// written over the old one element by element, or is needed by something that can fail, gets other memory.

#include "backends/schedule/SchedulePlan.h"
#include "ir/Composer.h"
#include "ir/Shape.h"
#include "ir/Storage.h"
#include "llvm/ADT/SetVector.h"
#include <queue>

using namespace mlir;
using namespace sinter;
using namespace sinter::schedule;

/// True when the op may end the call: it waits for memory, or looks whether the call was cancelled. Launches do so as
/// well, but not once states are written.
bool SchedulePlan::canFail(Operation *op) const {
  if (stateLoops.contains(op) || isView(op) || isa<ConstantOp, DimOp, ShapeOp>(op))
    return false;
  auto kernel = dyn_cast<KernelOp>(op);
  if (!kernel)
    return true;
  auto launch = launches.find(op);
  if (launch == launches.end())
    return false;
  DimExpr workspace = launch->second.traits.workspaceBytes;
  return launch->second.traits.writesSizes || (workspace && !knownAtEntry(workspace)) ||
         llvm::any_of(op->getResults(), [&](Value result) { return !knownAtEntry(result); });
}

/// True when carry `j` starts from the state `old`, which nothing else in the loop reads, and each trip may write over
/// it and cannot fail.
bool SchedulePlan::writesOverState(LoopView &loop, unsigned j, BlockArgument old) {
  auto isSafe = [&](Operation &op) {
    auto isStatic = [](Value value) { return tensorTypeOf(value).hasStaticShape(); };
    return !canFail(&op) && llvm::all_of(op.getOperands(), isStatic) && llvm::all_of(op.getResults(), isStatic);
  };
  if (!isa<ForOp>(loop.op) || !loop.stacks.empty() || loop.isUnchanged(j) || isRegister(loop.bodyCarry(j)) ||
      !llvm::all_of(loop.body->without_terminator(), isSafe))
    return false;
  Value next = root(loop.next(j));
  unsigned uses = 0, reads = 0;
  for (unsigned i = 0; i < loop.init.size(); ++i)
    uses += root(loop.next(i)) == next;
  for (Value operand : loop.op->getOperands())
    reads += root(operand) == old;
  KernelOp writer = overwriterOf(loop, j);
  return root(loop.init[j]) == old && uses == 1 && reads == 1 && writer &&
         choosesPlace(cast<OpResult>(next), knownAtEntry(next));
}

/// The ops of the entry block that read `value` or a view of it.
SmallVector<Operation *> SchedulePlan::readersOf(Value value) {
  Block &entry = function.getBody().front();
  SmallVector<Operation *> readers;
  SmallVector<Value> pending = {value};
  while (!pending.empty()) {
    Value view = pending.pop_back_val();
    llvm::append_range(pending, viewsOf.lookup(view));
    for (Operation *user : view.getUsers())
      if (!isView(user))
        if (Operation *here = entry.findAncestorOpInBlock(*user))
          readers.push_back(here);
  }
  return readers;
}

namespace {
/// A kernel or loop that writes the next value of `old` over it.
struct Update {
  unsigned result;
  BlockArgument old;
  Operation *writer;
};
} // namespace

/// The order of the ops of a block with each writer after the readers of what it replaces and after all that can fail,
/// as near to the given order as that allows. Incomplete when it does not.
static std::vector<Operation *> orderOf(ArrayRef<Operation *> ops, const DenseMap<Operation *, unsigned> &position,
                                        const DenseMap<Operation *, SmallVector<Operation *>> &before) {
  std::vector<SmallVector<unsigned, 4>> after(ops.size());
  std::vector<unsigned> waits(ops.size());
  auto add = [&](Operation *first, unsigned second) {
    auto found = position.find(first);
    if (found == position.end() || found->second == second)
      return;
    after[found->second].push_back(second);
    ++waits[second];
  };
  for (auto [i, op] : llvm::enumerate(ops)) {
    for (Value operand : op->getOperands())
      if (Operation *producer = operand.getDefiningOp())
        add(producer, i);
    for (Operation *first : before.lookup(op))
      add(first, i);
  }
  std::priority_queue<unsigned, std::vector<unsigned>, std::greater<>> ready;
  for (unsigned i = 0; i < ops.size(); ++i)
    if (waits[i] == 0)
      ready.push(i);
  std::vector<Operation *> order;
  while (!ready.empty()) {
    unsigned next = ready.top();
    ready.pop();
    order.push_back(ops[next]);
    for (unsigned other : after[next])
      if (--waits[other] == 0)
        ready.push(other);
  }
  return order;
}

void SchedulePlan::placeStates() {
  Block &entry = function.getBody().front();
  Operation *terminator = entry.getTerminator();
  llvm::StringMap<BlockArgument> arguments;
  for (BlockArgument argument : function.getArguments())
    if (auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "sinter.state"))
      arguments.try_emplace(name.getValue(), argument);
  auto stateOf = [&](unsigned result) {
    auto name = function.getResultAttrOfType<StringAttr>(result, "sinter.state");
    BlockArgument argument = name ? arguments.lookup(name.getValue()) : BlockArgument();
    return argument && argument.getType() == terminator->getOperand(result).getType() ? argument : BlockArgument();
  };
  DenseMap<Value, unsigned> replaced;      // states that get another value, and how many results give one
  DenseMap<Value, unsigned> firstResultOf; // by root
  for (OpOperand &operand : terminator->getOpOperands()) {
    unsigned k = operand.getOperandNumber();
    firstResultOf.try_emplace(root(operand.get()), k);
    BlockArgument old = stateOf(k);
    if (old && root(operand.get()) != old)
      ++replaced[old];
    // Memory for it must be had before states are written.
    if (!old && !knownAtEntry(operand.get()))
      return;
  }

  SmallVector<Update> updates;
  for (OpOperand &operand : terminator->getOpOperands()) {
    unsigned k = operand.getOperandNumber();
    BlockArgument old = stateOf(k);
    Value value = root(operand.get());
    if (!old || replaced.lookup(old) > 1 || (value != old && replaced.contains(value)))
      continue;
    // Other results must not be copied from what is gone by then.
    if (value != old && llvm::any_of(terminator->getOperands(), [&](Value other) { return root(other) == old; }))
      continue;
    if (auto loop = value.getDefiningOp<ForOp>(); loop && loop->getBlock() == &entry && firstResultOf[value] == k) {
      LoopView view(loop);
      auto j = static_cast<unsigned>(std::distance(view.carries.begin(), llvm::find(view.carries, value)));
      if (j < view.carries.size() && writesOverState(view, j, old)) {
        updates.push_back({k, old, loop});
        continue;
      }
    }
    auto kernel = value.getDefiningOp<KernelOp>();
    bool direct = kernel && !kernel.getInPlace() && !isRegister(value) && kernel->getBlock() == &entry &&
                  firstResultOf[value] == k && choosesPlace(cast<OpResult>(value), knownAtEntry(value));
    if (!direct) { // copied when all has been computed
      inPlaceResults[k] = old;
      continue;
    }
    bool reads = true;
    for (auto [i, input] : llvm::enumerate(kernel.getInputs()))
      reads &= root(input) != old || canOverwrite(kernel, i);
    if (reads)
      updates.push_back({k, old, kernel});
  }

  // What a loop carries is copied back when all has been computed, unless all of it is written over states.
  auto giveUp = [&](Operation *loop) {
    llvm::erase_if(updates, [&](const Update &update) {
      if (update.writer == loop)
        inPlaceResults[update.result] = update.old;
      return update.writer == loop;
    });
    stateLoops.erase(loop);
  };
  for (Operation &op : entry)
    if (LoopView::isLoop(&op)) {
      auto written = llvm::count_if(updates, [&](const Update &update) { return update.writer == &op; });
      if (written != 0 && written == static_cast<int64_t>(LoopView(&op).carries.size()))
        stateLoops.insert(&op);
      else
        giveUp(&op);
    }

  SmallVector<Operation *> ops;
  DenseMap<Operation *, unsigned> position;
  for (Operation &op : entry.without_terminator()) {
    position[&op] = ops.size();
    ops.push_back(&op);
  }
  // One of two that wait for each other gives way, the later one.
  while (!updates.empty()) {
    SmallVector<Operation *> failing = llvm::filter_to_vector(ops, [&](Operation *op) { return canFail(op); });
    DenseMap<Operation *, SmallVector<Operation *>> before;
    for (const Update &update : updates) {
      SmallVector<Operation *> &firsts = before[update.writer];
      llvm::append_range(firsts, readersOf(update.old));
      llvm::append_range(firsts, failing);
    }
    std::vector<Operation *> order = orderOf(ops, position, before);
    if (order.size() == ops.size()) {
      for (Operation *op : order)
        op->moveBefore(terminator);
      break;
    }
    // The last writer that the order did not reach.
    DenseSet<Operation *> reached(order.begin(), order.end());
    auto stuck = llvm::find_if(llvm::reverse(updates), [&](const Update &u) { return !reached.contains(u.writer); });
    if (stateLoops.contains(stuck->writer))
      giveUp(stuck->writer);
    else
      updates.erase(std::next(stuck).base());
  }
  for (const Update &update : updates) {
    inPlaceResults[update.result] = update.old;
    Value value = root(terminator->getOperand(update.result));
    writtenOver[value] = update.old;
    if (stateLoops.contains(update.writer)) {
      LoopView loop(update.writer);
      auto j = static_cast<unsigned>(std::distance(loop.carries.begin(), llvm::find(loop.carries, value)));
      writtenOver[loop.bodyCarry(j)] = update.old;
      stateCarries[value] = update.result;
    }
    if (!commit || update.writer->isBeforeInBlock(commit))
      commit = update.writer;
  }
}

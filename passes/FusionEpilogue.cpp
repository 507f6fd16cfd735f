// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What stays in the registers of a root: the pointwise ops after it, next values of states that are made of a gradient,
// narrower numbers for products that come later.

#include "ir/Attention.h"
#include "ir/Blocks.h"
#include "ir/Elementwise.h"
#include "ir/External.h"
#include "ir/Precision.h"
#include "ir/Shape.h"
#include "passes/Devices.h"
#include "passes/FusionPlanner.h"
#include "passes/SizeUses.h"

using namespace mlir;
using namespace sinter;

/// An update of a state by pointwise ops is a map of its own: that can write over the old value, once all others have
/// read it.
void FusionPlanner::findStateUpdates() {
  auto function = dyn_cast<func::FuncOp>(block.getParentOp());
  if (!function)
    return;
  llvm::StringMap<BlockArgument> states;
  for (BlockArgument argument : function.getArguments())
    if (auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "sinter.state"))
      states[name.getValue()] = argument;
  for (OpOperand &operand : block.getTerminator()->getOpOperands()) {
    auto name = function.getResultAttrOfType<StringAttr>(operand.getOperandNumber(), "sinter.state");
    BlockArgument old = name ? states.lookup(name.getValue()) : BlockArgument();
    if (!old)
      continue;
    stateResults.insert(operand.getOperandNumber());
    // Pointwise ops that the next value is made of, users before producers; then those of them that read the old one.
    llvm::SmallSetVector<Operation *, 8> backward;
    auto add = [&](Value value) {
      Operation *op = value.getDefiningOp();
      if (op && isa<Pointwise>(op) && op->getBlock() == &block)
        backward.insert(op);
    };
    add(operand.get());
    for (size_t i = 0; i < backward.size(); ++i)
      llvm::for_each(backward[i]->getOperands(), add);
    SmallVector<Operation *> sorted = backward.takeVector();
    llvm::sort(sorted, [&](Operation *a, Operation *b) { return position[a] < position[b]; });
    llvm::SmallPtrSet<Operation *, 8> readers;
    for (Operation *op : sorted)
      if (llvm::any_of(op->getOperands(), [&](Value value) {
            return value == old || (value.getDefiningOp() && readers.contains(value.getDefiningOp()));
          }))
        readers.insert(op);
    stateUpdates.insert(readers.begin(), readers.end());
  }
  // What was required once holds.
  llvm::SmallDenseSet<Value> required;
  auto mayFail = [&](Operation &op) {
    auto isOpen = [](Type type) { return !cast<RankedTensorType>(type).hasStaticShape(); };
    if (isCheck(&op))
      return required.insert(op.getOperand(0)).second;
    return op.getNumRegions() != 0 || runsOnHost(&op) || llvm::any_of(op.getResultTypes(), isOpen);
  };
  for (Operation &op : block.without_terminator())
    if (mayFail(op))
      lastFailing = position[&op];
}

/// How many of an epilogue's ops are left where the last ones only widen a small number for other kernels' epilogues,
/// such as bytes that become floats: those read the number as it is stored and widen it in registers.
size_t FusionPlanner::endBeforeWidening(ArrayRef<Operation *> members) {
  Value value = members.back()->getResult(0);
  bool isRead = llvm::all_of(value.getUsers(), [&](Operation *user) {
    auto found = groupsOf.find(user);
    return isa<Pointwise>(user) && found != groupsOf.end() &&
           llvm::all_of(found->second, [&](unsigned number) { return groups[number].aligned.contains(user); });
  });
  int64_t width = byteWidth(getElementTypeOrSelf(value)), cost = 0;
  for (size_t count = members.size(); isRead && count > 2; --count) {
    Operation *op = members[count - 1];
    llvm::SmallDenseSet<Value> read;
    for (Value operand : op->getOperands())
      if (!matchPattern(operand, m_Constant()))
        read.insert(operand);
    cost += costOf(op);
    if (!isa<Pointwise>(op) || op->getResult(0) != value || read.size() != 1 || cost > kLargeCost)
      break;
    value = *read.begin();
    if (value.getDefiningOp() == members[count - 2] && byteWidth(getElementTypeOrSelf(value)) < width)
      return count - 1;
  }
  return members.size();
}

/// True when `value` may be had where `root` stands: it lies before, or is made element by element of what does, as
/// corrections by the number of the step are.
bool FusionPlanner::isReady(Value value, Operation *root) {
  llvm::SmallSetVector<Value, 8> needed;
  needed.insert(value);
  for (size_t i = 0; i < needed.size(); ++i) {
    Operation *op = needed[i].getDefiningOp();
    if (!op || op->getBlock() != &block || position[op] < position[root])
      continue;
    if (!isMapOp(op) && !matchPattern(op, m_Constant()))
      return false;
    needed.insert_range(op->getOperands());
  }
  return true;
}

/// True when all that the block's terminator reads of `op` are next values of states.
bool FusionPlanner::givesStates(Operation *op) {
  return llvm::all_of(op->getUses(), [&](OpOperand &use) {
    return use.getOwner() != block.getTerminator() || stateResults.contains(use.getOperandNumber());
  });
}

/// A product whose result is a gradient of which nothing but next values of states is made: weights, moments. They are
/// written while the gradient is in registers, so that it never goes to memory. The product then runs after all that
/// reads these states and after all that may fail (backends/schedule), which must not lie far behind it.
void FusionPlanner::growUpdates(unsigned number) {
  Group &group = groups[number];
  Operation *root = group.root;
  // Of less, other emitters take the product, which write their results beside the states.
  constexpr int64_t fewestRows = 2, fewestColumns = 16, mostResults = 8;
  if (templateOf(root) != KernelTemplate::contraction || stateResults.empty() || hasDevices(root) ||
      position[root] < lastFailing)
    return;
  auto isPlain = [](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    return type.hasStaticShape() && type.getElementType().isF32();
  };
  auto type = cast<RankedTensorType>(root->getResult(0).getType());
  if (!isPlain(root->getResult(0)) || !llvm::all_of(root->getOperands(), isPlain) || type.getRank() != 2 ||
      type.getDimSize(0) < fewestRows || type.getDimSize(1) < fewestColumns)
    return;

  llvm::SmallSetVector<Operation *, 16> members;
  members.insert(root);
  int64_t results = 0;
  for (size_t i = 0; i < members.size(); ++i) {
    bool leaves = false;
    for (Operation *user : members[i]->getUsers()) {
      leaves |= user == block.getTerminator();
      if (user == block.getTerminator() || members.contains(user))
        continue;
      if (!isa<Pointwise>(user) || user->getNumResults() != 1 || user->hasAttr(kKeptAttr) || groupsOf.contains(user) ||
          !sizes.sameShape(user->getResult(0), root->getResult(0)))
        return;
      members.insert(user);
    }
    results += leaves;
    if (!givesStates(members[i]) || results > mostResults || static_cast<int64_t>(members.size()) > options.maxOps / 2)
      return;
  }
  for (Operation *member : members)
    for (Value operand : member->getOperands())
      if (!members.contains(operand.getDefiningOp()) && !isReady(operand, root))
        return;
  for (Operation *member : llvm::drop_begin(members))
    addEpilogue(number, member);
  group.outputs = static_cast<unsigned>(results);
  group.updatesStates = true;
}

/// Pointwise ops after a root stay in its registers as long as exactly one value leaves.
void FusionPlanner::growEpilogue(unsigned number) {
  Group &group = groups[number];
  Operation *root = group.root;
  switch (templateOf(root)) {
  case KernelTemplate::contraction:
  case KernelTemplate::convolution:
  case KernelTemplate::window:
  case KernelTemplate::reduce:
  case KernelTemplate::row:
    break;
  case KernelTemplate::attention:
    return growTransposed(number);
  default:
    return;
  }
  Value first;
  for (Value result : root->getResults()) {
    if (result.use_empty())
      continue;
    if (first)
      return;
    first = result;
  }
  if (!first)
    return;
  growUpdates(number);
  if (group.updatesStates)
    return;

  llvm::SmallSetVector<Operation *, 8> members;
  members.insert(root);
  size_t committed = 1;
  while (static_cast<int64_t>(members.size()) < options.maxOps) {
    // The next op in program order that uses a value of the group. All its values have one shape: who asks for sizes
    // may ask the kernel's result.
    Operation *next = nullptr;
    for (Operation *member : members)
      for (Operation *user : member->getUsers())
        if (!members.contains(user) && !isSize(user) && (!next || position[user] < position[next]))
          next = user;
    if (!next || isScheduleOp(next) || groupsOf.contains(next) || stateUpdates.contains(next))
      break;
    if (!isa<Pointwise>(next)) {
      // A broadcast to the size of what the group computes, for another operand of the epilogue.
      if (!isRepeated(next->getResult(0)) || members.contains(next->getOperand(0).getDefiningOp()))
        break;
    }
    if (!sizes.sameShape(next->getResult(0), first) || measuresReach(members.getArrayRef(), next))
      break;
    members.insert(next);
    bool single = llvm::all_of(members, [&](Operation *member) {
      return member == next ||
             llvm::all_of(member->getUsers(), [&](Operation *user) { return members.contains(user) || isSize(user); });
    });
    if (single && isa<Pointwise>(next))
      committed = members.size();
  }
  if (!hasDevices(root))
    committed = endBeforeWidening(members.getArrayRef().take_front(committed));
  for (Operation *member : llvm::drop_begin(members.getArrayRef().take_front(committed)))
    addEpilogue(number, member);
  addNarrowResults(number, members[committed - 1]->getResult(0));
}

/// Attention of the host writes its rows where a transpose that alone reads them would bring them.
void FusionPlanner::growTransposed(unsigned number) {
  Group &group = groups[number];
  Operation *order = orderOfRows(group.root);
  if (options.maxOps < 2 || !order || hasDevices(order) || groupsOf.contains(order))
    return;
  group.ops.insert(order);
  group.epilogue.insert(order);
  groupsOf[order].push_back(number);
  home[order] = number;
}

/// The ops that make a narrower number of each element of `value`, from `first` on: conversions to 16 bits, or what
/// makes bytes of floats. None where something else reads what lies between, or where they read what is no constant: a
/// scale may follow from `value` itself.
static SmallVector<Operation *> narrowed(Value value, Operation *first) {
  SmallVector<Operation *> chain;
  int64_t width = byteWidth(getElementTypeOrSelf(value));
  for (Operation *op = first; isa<Pointwise>(op) && op->getNumResults() == 1; op = *op->user_begin()) {
    bool readsConstants = llvm::all_of(op->getOperands(), [&](Value operand) {
      return operand == value || (!chain.empty() && operand == chain.back()->getResult(0)) || isConstant(operand) ||
             (isRepeated(operand) && isConstant(operand.getDefiningOp()->getOperand(0)));
    });
    if (!readsConstants)
      return {};
    chain.push_back(op);
    if (byteWidth(getElementTypeOrSelf(op->getResult(0))) < width)
      return chain;
    if (!op->hasOneUse())
      return {};
  }
  return {};
}

static bool isProduct(Operation *op) {
  KernelTemplate form = templateOf(op);
  return form == KernelTemplate::contraction || form == KernelTemplate::convolution;
}

/// True when a product reads `value`, perhaps padded: it is stored then. Other readers make what they read themselves.
static bool isReadByProduct(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) { return isProduct(user) || isPadding(user); });
}

/// Products read what the epilogue computes as narrower numbers: these are stored beside it, instead of by a kernel
/// that reads all of it again.
void FusionPlanner::addNarrowResults(unsigned number, Value value) {
  Group &group = groups[number];
  constexpr unsigned mostResults = 2;
  if (hasDevices(group.root) || !isProduct(group.root) || value.hasOneUse())
    return;
  for (Operation *user : value.getUsers()) {
    SmallVector<Operation *> chain = narrowed(value, user);
    bool fits = !chain.empty() && isReadByProduct(chain.back()->getResult(0)) && group.outputs < mostResults &&
                static_cast<int64_t>(group.ops.size() + chain.size()) < options.maxOps;
    // What the chain repeats to the size of another value must not wait for that value, which other kernels may make
    // of this one's.
    auto isHad = [&](Value operand) {
      Operation *op = operand.getDefiningOp();
      return group.ops.contains(op) || llvm::is_contained(chain, op) || isReady(operand, group.root);
    };
    for (Operation *op : chain)
      fits &= !groupsOf.contains(op) && !stateUpdates.contains(op) && !isScheduleOp(op) &&
              sizes.sameShape(op->getResult(0), value) && !measuresReach(group.ops.getArrayRef(), op) &&
              llvm::all_of(op->getOperands(), [&](Value operand) {
                return isHad(operand) || llvm::all_of(operand.getDefiningOp()->getOperands(), isHad);
              });
    if (!fits)
      continue;
    for (Operation *op : chain)
      addEpilogue(number, op);
    ++group.outputs;
  }
}

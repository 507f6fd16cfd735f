// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/schedule/SchedulePlan.h"
#include "backends/schedule/PlaceParts.h"
#include "ir/Checks.h"
#include "ir/External.h"
#include "ir/Shape.h"
#include "ir/Storage.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::schedule;

bool schedule::isOneElement(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.hasStaticShape() && tensor.getNumElements() == 1;
}

bool schedule::isScalarKernel(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  // No register holds a result whose bytes are looked at.
  if (!llvm::all_of(body.getArgumentTypes(), isOneElement) ||
      llvm::any_of(kernel->getUsers(), llvm::IsaPred<StorageOp>))
    return false;
  return llvm::all_of(body.without_terminator(), [](Operation &op) {
    if (!llvm::all_of(op.getResultTypes(), isOneElement))
      return false;
    if (auto constant = dyn_cast<ConstantOp>(op))
      return isa<DenseElementsAttr>(constant.getValue());
    return isa<Pointwise, ReshapeOp, BroadcastOp>(op);
  });
}

SchedulePlan::SchedulePlan(func::FuncOp function, ShapeAnalysis &sizes, const KernelLaunches &launches, bool registers,
                           bool statesInPlace)
    : function(function), sizes(sizes), launches(launches), registers(registers) {
  entrySymbols = entrySymbolsOf(function, sizes);
  Block &entry = function.getBody().front();
  aliasBlock(entry);
  if (statesInPlace)
    placeStates();
  for (OpOperand &operand : entry.getTerminator()->getOpOperands()) {
    Slot slot;
    slot.kind = Slot::Kind::Output;
    slot.output = operand.getOperandNumber();
    if (!computeInto(operand.get(), &entry, static_cast<int>(slots.size())))
      continue;
    newSlot(slot);
  }
  assignBlock(entry);
  measureBlock(entry, /*inLoop=*/false);
  takeOverInits(entry);
  reuseInPlace(entry);
  takeOverDynamic(entry);
  findReleases(entry);
}

//===- sizes ---------------------------------------------------------------------------------------===//

DenseSet<unsigned> schedule::entrySymbolsOf(func::FuncOp function, ShapeAnalysis &sizes) {
  DenseSet<unsigned> symbols;
  auto add = [&](unsigned symbol) { symbols.insert(symbol); };
  for (BlockArgument argument : function.getArguments()) {
    for (DimExpr size : sizes.dims(argument))
      DimContext::forEachSymbol(sizes.context().resolve(size), add);
    if (std::optional<Dims> contents = sizes.contents(argument))
      for (DimExpr element : *contents)
        DimContext::forEachSymbol(sizes.context().resolve(element), add);
  }
  return symbols;
}

bool SchedulePlan::knownAtEntry(DimExpr expr) const {
  bool known = true;
  DimContext::forEachSymbol(expr, [&](unsigned symbol) { known &= entrySymbols.contains(symbol); });
  return known;
}

bool SchedulePlan::knownAtEntry(Value value) const {
  return llvm::all_of(dims(value), [&](DimExpr size) { return knownAtEntry(size); });
}

Dims SchedulePlan::dims(Value value) const {
  Dims result = sizes.dims(value);
  for (DimExpr &size : result)
    size = sizes.context().resolve(size);
  return result;
}

DimExpr SchedulePlan::bytes(Value value) const {
  DimContext &context = sizes.context();
  Type element = cast<RankedTensorType>(value.getType()).getElementType();
  DimExpr count = context.product(dims(value));
  return isPacked(element) ? context.ceilDiv(count, context.constant(2))
                           : context.mul(count, context.constant(byteWidth(element)));
}

//===- views ---------------------------------------------------------------------------------------===//

Value SchedulePlan::root(Value value) const {
  for (auto it = views.find(value); it != views.end(); it = views.find(value))
    value = it->second;
  return value;
}

bool SchedulePlan::isPart(Value value) const {
  for (auto it = views.find(value); it != views.end(); it = views.find(value)) {
    if (parts.contains(value))
      return true;
    value = it->second;
  }
  return false;
}

DimExpr SchedulePlan::offsetOf(Value value) const {
  DimContext &context = sizes.context();
  DimExpr offset = context.constant(0);
  for (auto it = views.find(value); it != views.end(); it = views.find(value)) {
    if (auto part = parts.find(value); part != parts.end()) {
      auto [join, number] = part->second;
      DimExpr begin = beginOfPart(join, number, context, [&](Value sized) { return dims(sized); });
      offset =
          context.add(offset, context.mul(begin, context.constant(byteWidth(getElementTypeOrSelf(value.getType())))));
    }
    value = it->second;
  }
  return offset;
}

void SchedulePlan::aliasBlock(Block &block) {
  for (Operation &op : block) {
    if (auto kernel = dyn_cast<KernelOp>(op); kernel && kernel.getInPlace()) {
      bool isSlice = isa<SliceOp>(kernel.getBody().front().front());
      for (auto [number, input] : llvm::enumerate(kernel.getInputs())) {
        Value part = isSlice ? kernel.getResult(0) : viewed(input), whole = isSlice ? input : kernel.getResult(0);
        alias(part, whole);
        parts[part] = {kernel, static_cast<unsigned>(number)};
      }
    } else if (isView(&op)) {
      alias(op.getResult(0), op.getOperand(0));
    } else if (auto require = dyn_cast<sinter::RequireOp>(op)) {
      alias(require.getResult(), require.getValue());
    } else if (auto cond = dyn_cast<CondOp>(op)) {
      for (Region *region : {&cond.getThenRegion(), &cond.getElseRegion()})
        for (auto [argument, capture] : llvm::zip(region->getArguments(), cond.getCaptures()))
          alias(argument, capture);
    } else if (auto choice = dyn_cast<SwitchOp>(op)) {
      for (Region &region : choice.getBranches())
        for (auto [argument, capture] : llvm::zip(region.getArguments(), choice.getCaptures()))
          alias(argument, capture);
    } else if (LoopView::isLoop(&op)) {
      LoopView loop(&op);
      for (auto [i, capture] : llvm::enumerate(loop.captures)) {
        alias(loop.bodyCapture(i), capture);
        if (loop.cond)
          alias(loop.condCapture(i), capture);
      }
      for (auto [j, init] : llvm::enumerate(loop.init)) {
        if (loop.cond)
          alias(loop.condCarry(j), loop.bodyCarry(j));
        if (!loop.isUnchanged(j))
          continue;
        alias(loop.bodyCarry(j), init);
        alias(loop.carries[j], init);
      }
    }
    if (!isa<KernelOp>(op))
      for (Region &region : op.getRegions())
        aliasBlock(region.front());
  }
}

//===- slots ---------------------------------------------------------------------------------------===//

bool SchedulePlan::isRegister(Value root) const {
  // A view of its bytes has another type than the register would have.
  if (!registers || !isOneElement(root.getType()) || isStorageOnly(getElementTypeOrSelf(root.getType())) ||
      llvm::any_of(root.getUsers(), llvm::IsaPred<StorageOp>))
    return false;
  // A stack is written slice by slice, also one of a single trip.
  Operation *op = root.getDefiningOp();
  return !op || !LoopView::isLoop(op) || !llvm::is_contained(LoopView(op).stacks, root);
}

int SchedulePlan::slotOf(Value root) const {
  auto it = slotOfRoot.find(root);
  return it == slotOfRoot.end() ? -1 : it->second;
}

bool SchedulePlan::sharePlace(Value a, Value b) const {
  if (writtenOver.lookup(a) == b || writtenOver.lookup(b) == a)
    return true;
  auto place = [&](Value value) {
    int slot = slotOf(value) >= 0 ? slotOf(value) : carrySlotOf(value);
    bool fixed = slot >= 0 && (slots[slot].kind == Slot::Kind::Planned || slots[slot].kind == Slot::Kind::Output);
    return fixed ? representative(slot) : -1;
  };
  return place(a) >= 0 && place(a) == place(b);
}

int SchedulePlan::representative(int index) const {
  while (slots[index].mergedInto >= 0)
    index = slots[index].mergedInto;
  return index;
}

int SchedulePlan::newSlot(Slot slot) {
  slots.push_back(slot);
  return static_cast<int>(slots.size()) - 1;
}

bool SchedulePlan::choosesPlace(OpResult result, bool sizeKnownAtEntry) const {
  Operation *op = result.getOwner();
  if (auto kernel = dyn_cast<KernelOp>(op))
    return kernel.getInPlace() || !launches.find(op)->second.traits.writesSizes;
  if (isa<DimOp, ShapeOp>(op) || runsOnHost(op))
    return true;
  if (isa<CondOp, SwitchOp>(op))
    return sizeKnownAtEntry;
  if (LoopView::isLoop(op)) {
    LoopView loop(op);
    return sizeKnownAtEntry && !llvm::is_contained(loop.carries, result);
  }
  return false;
}

bool SchedulePlan::computeInto(Value value, Block *block, int slot) {
  auto result = dyn_cast<OpResult>(root(value));
  if (!result || isRegister(result) || result.getOwner()->getBlock() != block || slotOfRoot.contains(result) ||
      !choosesPlace(result, knownAtEntry(result)))
    return false;
  slotOfRoot[result] = slot;
  return true;
}

void SchedulePlan::assign(Value value) {
  if (slotOfRoot.contains(value) || views.contains(value))
    return;
  auto result = dyn_cast<OpResult>(value);
  Slot slot;
  if (isRegister(value)) {
    slot.kind = Slot::Kind::Register;
    slotOfRoot[value] = newSlot(slot);
    return;
  }
  slot.bytes = bytes(value);
  bool planned = knownAtEntry(value) && (!result || choosesPlace(result, true));
  slot.kind = planned ? Slot::Kind::Planned : Slot::Kind::Dynamic;
  slotOfRoot[value] = newSlot(slot);
}

void SchedulePlan::assignLoop(Operation *op) {
  LoopView loop(op);
  LoopPlan &plan = loops[op];
  MutableOperandRange inits(op, loop.firstInit(), loop.init.size());
  for (auto [j, init] : llvm::enumerate(inits)) {
    CarryPlan carry;
    BlockArgument inside = loop.bodyCarry(j);
    Slot slot;
    slot.bytes = bytes(inside);
    if (loop.isUnchanged(j)) {
      carry.kind = CarryPlan::Kind::Unchanged;
    } else if (isRegister(inside)) {
      carry.kind = CarryPlan::Kind::Register;
    } else if (knownAtEntry(inside)) {
      if (auto state = stateCarries.find(loop.carries[j]); state != stateCarries.end()) {
        slot.kind = Slot::Kind::Output;
        slot.output = state->second;
      }
      carry.current = newSlot(slot);
      Value start = root(init.get());
      if (bytes(start) == slot.bytes && diesAt(start, op, &init))
        computeInto(init.get(), op->getBlock(), carry.current);
      if (planInPlace(loop, j, carry.current)) {
        carry.kind = CarryPlan::Kind::InPlace;
        alsoIn[inside] = {carry.current};
        alsoIn[loop.carries[j]] = {carry.current};
        carrySlots[inside] = carrySlots[loop.carries[j]] = carry.current;
        plan.carries.push_back(carry);
        continue;
      }
      assert(slot.kind == Slot::Kind::Planned && "the body writes over the carry of a state");
      carry.kind = CarryPlan::Kind::Double;
      carry.next = newSlot(slot);
      alsoIn[inside] = {carry.current, carry.next};
      alsoIn[loop.carries[j]] = {carry.current, carry.next};
      Slot step;
      step.kind = Slot::Kind::Step;
      if (bytes(root(loop.next(j))) == slot.bytes &&
          computeInto(loop.next(j), loop.body, static_cast<int>(slots.size())))
        carry.step = newSlot(step);
    } else {
      carry.kind = CarryPlan::Kind::Dynamic;
    }
    plan.carries.push_back(carry);
  }
  // A carry that takes the old value of another takes its buffer: from then on any of them may hold any.
  auto isRotated = [&](unsigned j) {
    auto from = dyn_cast<BlockArgument>(root(loop.next(j)));
    return plan.carries[j].kind == CarryPlan::Kind::Double && from && from.getOwner() == loop.body &&
           alsoIn.contains(from);
  };
  if (llvm::any_of(llvm::seq<unsigned>(0, plan.carries.size()), isRotated))
    for (auto [j, carry] : llvm::enumerate(plan.carries)) {
      if (carry.kind != CarryPlan::Kind::Double)
        continue;
      SmallVector<int, 2> all;
      for (const CarryPlan &other : plan.carries)
        if (other.kind == CarryPlan::Kind::Double && slots[other.current].bytes == slots[carry.current].bytes)
          all.append({other.current, other.next});
      alsoIn[loop.bodyCarry(j)] = alsoIn[loop.carries[j]] = all;
    }
  for (auto [j, stack] : llvm::enumerate(loop.stacks)) {
    StackPlan entry;
    if (knownAtEntry(stack)) {
      entry.kind = StackPlan::Kind::Whole;
      Slot step;
      step.kind = Slot::Kind::Step;
      if (loop.stackAxis(j) == 0 && knownAtEntry(root(loop.stacked(j))) &&
          computeInto(loop.stacked(j), loop.body, static_cast<int>(slots.size())))
        entry.step = newSlot(step);
    }
    plan.stacks.push_back(entry);
  }
  if (loop.index())
    assign(loop.index());
  // Slices of the first axis are used where they lie.
  for (unsigned k = 0; k < loop.sequences.size(); ++k)
    if (loop.sequenceAxis(k) != 0 || isRegister(loop.slice(k)))
      assign(loop.slice(k));
}

void SchedulePlan::assignBlock(Block &block) {
  // Loops first: what they start from may be computed where they want it.
  for (Operation &op : block)
    if (LoopView::isLoop(&op))
      assignLoop(&op);
  for (Operation &op : block.without_terminator()) {
    if (isa<ConstantOp>(op))
      continue;
    if (LoopView::isLoop(&op)) {
      LoopView loop(&op);
      if (loop.trips)
        assign(loop.trips);
      for (auto [j, carry] : llvm::enumerate(loop.carries))
        if (loops[&op].carries[j].kind == CarryPlan::Kind::Dynamic)
          assign(carry);
      for (Value stack : loop.stacks)
        assign(stack);
    } else {
      for (Value result : op.getResults())
        assign(result);
    }
    if (isa<KernelOp>(op)) {
      auto launch = launches.find(&op);
      if (DimExpr bytes = launch == launches.end() ? DimExpr() : launch->second.traits.workspaceBytes) {
        Slot slot;
        slot.bytes = bytes;
        slot.kind = knownAtEntry(bytes) ? Slot::Kind::Planned : Slot::Kind::Dynamic;
        workspaces[&op] = newSlot(slot);
      }
      continue;
    }
    if (isa<CondOp, SwitchOp>(op))
      for (Region &region : op.getRegions())
        for (OpOperand &operand : region.front().getTerminator()->getOpOperands()) {
          int slot = slotOfRoot[op.getResult(operand.getOperandNumber())];
          Value result = op.getResult(operand.getOperandNumber());
          bool placed = slots[slot].kind != Slot::Kind::Dynamic && slots[slot].kind != Slot::Kind::Register;
          if (placed && bytes(root(operand.get())) == bytes(result))
            computeInto(operand.get(), &region.front(), slot);
        }
    for (Region &region : op.getRegions())
      assignBlock(region.front());
  }
}

//===- lives ---------------------------------------------------------------------------------------===//

void SchedulePlan::touchSlot(int slot, int at, bool inLoop) {
  slots[slot].inLoop |= inLoop;
  slots[slot].first = std::min(slots[slot].first, at);
  slots[slot].last = std::max(slots[slot].last, at);
}

void SchedulePlan::touch(Value value, int at, bool inLoop) {
  value = root(value);
  if (int slot = slotOf(value); slot >= 0)
    touchSlot(slot, at, inLoop);
  if (auto it = alsoIn.find(value); it != alsoIn.end())
    for (int slot : it->second)
      touchSlot(slot, at, inLoop);
}

void SchedulePlan::measureBlock(Block &block, bool inLoop) {
  ++position;
  for (Value argument : block.getArguments())
    touch(argument, position, inLoop);
  for (Operation &op : block) {
    int at = positions[&op] = ++position;
    auto touchAll = [&](int when) {
      for (Value operand : op.getOperands())
        touch(operand, when, inLoop);
      for (Value result : op.getResults())
        touch(result, when, inLoop);
    };
    touchAll(at);
    if (int slot = workspaceOf(&op); slot >= 0)
      touchSlot(slot, at, inLoop);
    if (isa<KernelOp>(op) || op.getNumRegions() == 0)
      continue;
    for (Region &region : op.getRegions())
      measureBlock(region.front(), inLoop || LoopView::isLoop(&op));
    touchAll(++position);
    if (LoopView::isLoop(&op))
      for (const CarryPlan &carry : loops[&op].carries)
        if (carry.kind == CarryPlan::Kind::Double || carry.kind == CarryPlan::Kind::InPlace)
          for (int slot : {carry.current, carry.next < 0 ? carry.current : carry.next}) {
            touchSlot(slot, at, /*inLoop=*/true);
            touchSlot(slot, position, /*inLoop=*/true);
          }
  }
}

//===- releases ------------------------------------------------------------------------------------===//

bool SchedulePlan::isDynamicCarry(Value root) {
  auto argument = dyn_cast<BlockArgument>(root);
  Operation *op = argument ? argument.getOwner()->getParentOp() : nullptr;
  if (!op || !LoopView::isLoop(op))
    return false;
  LoopView loop(op);
  for (auto [j, carry] : llvm::enumerate(loops[op].carries))
    if (carry.kind == CarryPlan::Kind::Dynamic && loop.bodyCarry(j) == argument)
      return true;
  return false;
}

ArrayRef<Value> SchedulePlan::releasedAfter(Operation *op) const {
  auto it = releases.find(op);
  return it == releases.end() ? ArrayRef<Value>() : ArrayRef<Value>(it->second);
}

ArrayRef<Value> SchedulePlan::releasedAtEnd(Block *block) const {
  auto it = endReleases.find(block);
  return it == endReleases.end() ? ArrayRef<Value>() : ArrayRef<Value>(it->second);
}

bool SchedulePlan::isPassedOn(OpOperand &operand) const { return passedOn.contains(&operand); }

void SchedulePlan::findReleases(Block &block) {
  Operation *terminator = block.getTerminator();
  Operation *parent = block.getParentOp();
  bool isFunction = isa<func::FuncOp>(parent);

  // What the terminator passes on.
  DenseSet<Value> passed;
  if (!isFunction && !(LoopView::isLoop(parent) && LoopView(parent).cond == &block))
    for (OpOperand &operand : terminator->getOpOperands()) {
      unsigned i = operand.getOperandNumber();
      bool dynamic;
      if (LoopView::isLoop(parent)) {
        ArrayRef<CarryPlan> carries = loops[parent].carries;
        dynamic = i < carries.size() && carries[i].kind == CarryPlan::Kind::Dynamic;
      } else {
        dynamic = slots[slotOfRoot[parent->getResult(i)]].kind == Slot::Kind::Dynamic;
      }
      Value value = root(operand.get());
      int slot = slotOf(value);
      bool isAcquired = isa<OpResult>(value) && slot >= 0 && slots[slot].kind == Slot::Kind::Dynamic;
      bool here = value.getParentBlock() == &block && (isAcquired || isDynamicCarry(value));
      if (dynamic && here && passed.insert(value).second) {
        passedOn.insert(&operand);
        if (!isAcquired)
          moved.insert(value);
      }
    }

  auto release = [&](Value value) {
    int slot = slotOf(value);
    if (slot < 0 || slots[slot].kind != Slot::Kind::Dynamic || passed.contains(value) || moved.contains(value))
      return;
    Operation *last = value.getDefiningOp();
    SmallVector<Value> pending = {value};
    while (!pending.empty()) {
      Value view = pending.pop_back_val();
      llvm::append_range(pending, viewsOf.lookup(view));
      for (Operation *user : view.getUsers()) {
        Operation *here = block.findAncestorOpInBlock(*user);
        if (here && (!last || last->isBeforeInBlock(here)))
          last = here;
      }
    }
    if (!last || last == terminator)
      endReleases[&block].push_back(value);
    else
      releases[last].push_back(value);
  };
  for (Value argument : block.getArguments())
    release(argument);
  for (Operation &op : block) {
    for (Value result : op.getResults())
      if (!views.contains(result))
        release(result);
    if (!isa<KernelOp>(op))
      for (Region &region : op.getRegions())
        findReleases(region.front());
  }
}

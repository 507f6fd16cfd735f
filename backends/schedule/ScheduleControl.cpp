// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Branches and loops of a schedule. What a region yields is already in place, or is copied; memory whose size is found
// only at run time changes hands with its pointer.

#include "backends/schedule/LoopState.h"
#include "ir/Shapes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "runtime/abi.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::schedule;

using Predicate = arith::CmpIPredicate;

/// Trips of some nanoseconds each between two looks at whether the call was cancelled; a power of two.
constexpr int64_t kBriefTrips = 256;

//===- cond, switch --------------------------------------------------------------------------------===//

LogicalResult ScheduleEmitter::emitChoice(Operation *op) {
  if (runsOnDevice(op))
    return emitDeviceChoice(cast<CondOp>(op));
  auto isDynamic = [&](Value result) { return plan.slot(plan.slotOf(result)).kind == Slot::Kind::Dynamic; };
  // The branches yield single elements and the buffers of dynamic results, then sizes that depend on the branch.
  SmallVector<Type> types;
  SmallVector<std::pair<unsigned, int64_t>> fresh;
  for (Value result : op->getResults()) {
    if (plan.isRegister(result))
      types.push_back(signless(getElementTypeOrSelf(result.getType())));
    else if (isDynamic(result))
      types.push_back(s.memoryType);
    else if (failed(place(result)))
      return failure();
  }
  DenseSet<unsigned> seen;
  for (OpResult result : op->getResults())
    for (int64_t axis : freshAxes(result))
      if (seen.insert(plan.dims(result)[axis].symbol()).second) {
        fresh.emplace_back(result.getResultNumber(), axis);
        types.push_back(s.i64Type);
      }

  FailureOr<Value> selector = element(op->getOperand(0));
  if (failed(selector))
    return failure();
  Operation *choice;
  SmallVector<Region *> branches;
  if (isa<CondOp>(op)) {
    auto branch = scf::IfOp::create(s.b, types, *selector, /*addThenBlock=*/true, /*addElseBlock=*/true);
    branches = {&branch.getThenRegion(), &branch.getElseRegion()};
    choice = branch;
  } else {
    // Of a number that names no branch, the last one is taken.
    auto cases = llvm::to_vector(llvm::seq<int64_t>(0, static_cast<int64_t>(op->getNumRegions()) - 1));
    Value index = arith::IndexCastOp::create(s.b, s.b.getIndexType(), *selector);
    auto branch = scf::IndexSwitchOp::create(s.b, types, index, cases, cases.size());
    for (Region &region : branch.getCaseRegions())
      branches.push_back(&region);
    branches.push_back(&branch.getDefaultRegion());
    choice = branch;
  }

  for (auto [region, branch] : llvm::zip_equal(op->getRegions(), branches)) {
    OpBuilder::InsertionGuard guard(s.b);
    ScheduleBuilder::Scope scope(s);
    if (branch->empty())
      branch->emplaceBlock();
    s.b.setInsertionPointToStart(&branch->front());
    Block &block = region.front();
    for (Value argument : block.getArguments())
      define(argument);
    if (failed(emitBlock(block)))
      return failure();
    SmallVector<Value> passed;
    for (OpOperand &operand : block.getTerminator()->getOpOperands()) {
      Value result = op->getResult(operand.getOperandNumber());
      if (plan.isRegister(result)) {
        FailureOr<Value> only = element(operand.get());
        if (failed(only))
          return failure();
        passed.push_back(*only);
        continue;
      }
      FailureOr<Value> from = pointer(operand.get());
      if (failed(from))
        return failure();
      Value root = plan.root(operand.get());
      if (isDynamic(result)) {
        if (plan.isPassedOn(operand)) {
          passed.push_back(*from);
          continue;
        }
        Value size = bytes(operand.get());
        passed.push_back(s.acquire(size));
        s.copy(passed.back(), *from, size);
      } else if (plan.slotOf(root) != plan.slotOf(result) || root.getParentBlock() != &block) {
        s.copy(pointers.lookup(result), *from, bytes(operand.get()));
      }
    }
    for (auto [i, axis] : fresh)
      passed.push_back(s.materialize(plan.dims(block.getTerminator()->getOperand(i))[axis]));
    releaseAll(plan.releasedAtEnd(&block));
    scf::YieldOp::create(s.b, passed);
  }

  s.b.setInsertionPointAfter(choice);
  unsigned next = 0;
  for (Value result : op->getResults())
    if (plan.isRegister(result))
      registers[result] = choice->getResult(next++);
    else if (isDynamic(result))
      pointers[result] = choice->getResult(next++);
  for (auto [i, axis] : fresh)
    s.bind(plan.dims(op->getResult(i))[axis].symbol(), choice->getResult(next++));
  return success();
}

//===- loops ---------------------------------------------------------------------------------------===//

/// ceil((upper - lower) / step), 0 when the step is 0 or leads away.
static Value countTrips(schedule::ScheduleBuilder &s, Value lower, Value upper, Value step) {
  Value zero = s.i64(0);
  Value up = s.compare(Predicate::sgt, step, zero);
  Value span = s.select(up, s.sub(upper, lower), s.sub(lower, upper));
  Value stride = s.select(up, step, s.sub(zero, step));
  Value still = s.compare(Predicate::eq, step, zero);
  stride = s.select(still, s.i64(1), stride);
  Value quotient = arith::DivUIOp::create(s.b, span, stride);
  Value rest = arith::RemUIOp::create(s.b, span, stride);
  Value more = arith::ExtUIOp::create(s.b, s.i64Type, s.compare(Predicate::ne, rest, zero));
  Value away = arith::OrIOp::create(s.b, still, s.compare(Predicate::sle, span, zero));
  return s.select(away, zero, s.add(quotient, more));
}

Value ScheduleEmitter::tripCount(LoopView &loop) {
  if (auto counted = dyn_cast<ForOp>(loop.op)) {
    SmallVector<Value> bounds;
    for (Value bound : {counted.getLower(), counted.getUpper(), counted.getStep()}) {
      FailureOr<Value> only = element(bound);
      if (failed(only))
        return Value();
      bounds.push_back(*only);
    }
    return countTrips(s, bounds[0], bounds[1], bounds[2]);
  }
  return s.materialize(plan.dims(loop.sequences.front())[loop.sequenceAxis(0)]);
}

/// True when a trip takes so little time that cancellation need not be looked for in each.
bool ScheduleEmitter::isBrief(LoopView &loop) {
  for (Region &region : loop.op->getRegions())
    if (region
            .walk([&](Operation *op) {
              if (LoopView::isLoop(op))
                return WalkResult::interrupt();
              if (!isa<KernelOp>(op))
                return WalkResult::advance();
              auto launch = launches.find(op);
              bool brief = launch == launches.end() || launch->second.traits.isBrief;
              return brief ? WalkResult::skip() : WalkResult::interrupt();
            })
            .wasInterrupted())
      return false;
  return true;
}

LogicalResult ScheduleEmitter::startLoop(LoopState &state) {
  LoopView &loop = state.loop;
  if (!loop.cond && !(state.trips = tripCount(loop)))
    return failure();
  for (auto [j, stack] : llvm::enumerate(loop.stacks))
    if (state.plan.stacks[j].kind == StackPlan::Kind::Whole && failed(place(stack)))
      return failure();
  state.init = {s.i64(0)};
  if (failed(initCarries(state)))
    return failure();
  initStacks(state);
  return success();
}

LogicalResult ScheduleEmitter::initCarries(LoopState &state) {
  LoopView &loop = state.loop;
  auto carry = [&](Value value) { state.init.push_back(value); };
  state.current.resize(loop.init.size());
  state.other.resize(loop.init.size());
  for (auto [j, init] : llvm::enumerate(loop.init)) {
    const CarryPlan &how = state.plan.carries[j];
    BlockArgument inside = loop.bodyCarry(j);
    if (how.kind == CarryPlan::Kind::Register) {
      FailureOr<Value> only = element(init);
      if (failed(only))
        return failure();
      carry(*only);
      continue;
    }
    FailureOr<Value> from = pointer(init);
    if (failed(from))
      return failure();
    SmallVector<Value> before = materializeDims(init);
    if (how.kind == CarryPlan::Kind::InPlace) {
      if (const Slot &slot = plan.slot(how.current); slot.kind == Slot::Kind::Output)
        outputPointers[how.current] = storageOf(slot.output, init); // a state, which has the type of what comes
      state.current[j] = slotPointer(how.current);
      if (!plan.sharePlace(plan.root(init), inside))
        s.copy(state.current[j], *from, bytes(init));
      continue;
    }
    if (how.kind == CarryPlan::Kind::Unchanged) {
      bindFresh(inside, [&](int64_t axis) { return before[axis]; });
      if (loop.cond)
        bindFresh(loop.condCarry(j), [&](int64_t axis) { return before[axis]; });
      bindFresh(loop.carries[j], [&](int64_t axis) { return before[axis]; });
      continue;
    }
    if (how.kind == CarryPlan::Kind::Double) {
      Value current = slotPointer(how.current);
      if (plan.slotOf(plan.root(init)) != how.current)
        s.copy(current, *from, bytes(init));
      carry(current);
      carry(slotPointer(how.next));
    } else {
      Value size = bytes(init);
      Value own = s.acquire(size);
      s.copy(own, *from, size);
      carry(own);
    }
    for (int64_t axis : freshAxes(inside)) {
      state.carrySizes.push_back({plan.dims(inside)[axis].symbol(), Value(), static_cast<unsigned>(j), axis});
      carry(before[axis]);
    }
  }
  return success();
}

void ScheduleEmitter::initStacks(LoopState &state) {
  LoopView &loop = state.loop;
  auto carry = [&](Value value) { state.init.push_back(value); };
  for (auto [j, stack] : llvm::enumerate(loop.stacks)) {
    if (state.plan.stacks[j].kind == StackPlan::Kind::Whole)
      continue;
    carry(s.acquire(s.i64(0)));
    carry(s.i64(0));
    Dims all = plan.dims(stack);
    for (int64_t axis = 0, e = static_cast<int64_t>(all.size()); axis < e; ++axis)
      if (axis != loop.stackAxis(j) && all[axis].kind() == DimExpr::Kind::Symbol && !s.isBound(all[axis])) {
        int64_t inSlice = axis - (axis > loop.stackAxis(j) ? 1 : 0);
        state.sliceSizes.push_back({all[axis].symbol(), Value(), static_cast<unsigned>(j), inSlice});
        carry(s.i64(0));
      }
  }
}

void ScheduleEmitter::bindCarried(LoopState &state, ValueRange values) {
  LoopView &loop = state.loop;
  unsigned k = 0;
  auto take = [&] { return values[k++]; };
  state.trip = take();
  auto *size = state.carrySizes.begin();
  for (unsigned j = 0; j < loop.init.size(); ++j) {
    const CarryPlan &how = state.plan.carries[j];
    if (how.kind == CarryPlan::Kind::Unchanged)
      continue;
    if (how.kind != CarryPlan::Kind::InPlace)
      state.current[j] = take();
    if (how.kind == CarryPlan::Kind::Register) {
      registers[loop.bodyCarry(j)] = state.current[j];
      continue;
    }
    if (how.kind == CarryPlan::Kind::Double)
      state.other[j] = take();
    pointers[loop.bodyCarry(j)] = state.current[j];
    for (; size != state.carrySizes.end() && size->index == j; ++size) {
      size->value = take();
      s.bind(size->symbol, size->value);
    }
    SmallVector<Value> now = materializeDims(loop.bodyCarry(j));
    if (loop.cond)
      bindFresh(loop.condCarry(j), [&](int64_t axis) { return now[axis]; });
  }
  state.stackPointer.resize(loop.stacks.size());
  state.stackCapacity.resize(loop.stacks.size());
  auto *slice = state.sliceSizes.begin();
  for (unsigned j = 0; j < loop.stacks.size(); ++j) {
    if (state.plan.stacks[j].kind == StackPlan::Kind::Whole)
      continue;
    state.stackPointer[j] = take();
    state.stackCapacity[j] = take();
    for (; slice != state.sliceSizes.end() && slice->index == j; ++slice)
      slice->value = take();
  }
}

/// The first region of a while: what it carries goes on to the second where the condition holds, else is the result.
LogicalResult ScheduleEmitter::emitCondition(LoopState &state) {
  LoopView &loop = state.loop;
  schedule::PollOp::create(s.b, state.trip, isBrief(loop) ? kBriefTrips : 1);
  for (Value argument : loop.cond->getArguments())
    define(argument);
  if (failed(emitBlock(*loop.cond)))
    return failure();
  FailureOr<Value> flag = element(loop.cond->getTerminator()->getOperand(0));
  if (failed(flag))
    return failure();
  Value go = *flag;
  auto loopOp = cast<WhileOp>(loop.op);
  if (auto limit = loopOp.getMaxTrip()) {
    Value most = s.i64(*limit), isBelow = s.compare(Predicate::slt, state.trip, most);
    if (loopOp.getOnLimit() == LimitPolicy::trap) {
      Value ends = arith::XOrIOp::create(s.b, go, arith::ConstantIntOp::create(s.b, 1, 1));
      Value fits = arith::OrIOp::create(s.b, ends, isBelow);
      auto message = loopOp->getAttrOfType<StringAttr>(kLimitMessage);
      if (message) {
        FailureOr<Value> named = message.getValue().contains("{}") ? element(loop.condCarry(0)) : s.i64(0);
        if (failed(named))
          return failure();
        s.require(fits, SINTER_RUNTIME_ERROR, message.getValue(), *named, s.i64(0));
      } else {
        s.require(fits, SINTER_RUNTIME_ERROR, "a loop requires at most {} trips, its condition still holds after {}",
                  most, state.trip);
      }
    } else {
      go = arith::AndIOp::create(s.b, go, isBelow);
    }
  }
  releaseAll(plan.releasedAtEnd(loop.cond));
  scf::ConditionOp::create(s.b, go, state.before->getArguments());
  return success();
}

LogicalResult ScheduleEmitter::emitSlice(LoopState &state, unsigned k) {
  LoopView &loop = state.loop;
  BlockArgument slice = loop.slice(k);
  Value sequence = loop.sequences[k];
  int64_t axis = loop.sequenceAxis(k);
  SmallVector<Value> all = materializeDims(sequence);
  bindFresh(slice, [&](int64_t i) { return all[i < axis ? i : i + 1]; });
  FailureOr<Value> from = pointer(sequence);
  if (failed(from))
    return failure();
  Value piece = s.i64(byteWidth(getElementTypeOrSelf(slice.getType())));
  Value outer = s.i64(1);
  for (auto [i, size] : llvm::enumerate(all)) {
    if (static_cast<int64_t>(i) < axis)
      outer = s.mul(outer, size);
    else if (static_cast<int64_t>(i) > axis)
      piece = s.mul(piece, size);
  }
  Value position = loop.sequenceReversed(k) ? s.sub(s.sub(state.trips, s.i64(1)), state.trip) : state.trip;
  Value start = s.view(*from, s.mul(position, piece));
  if (plan.isRegister(slice)) {
    registers[slice] = s.load(getElementTypeOrSelf(slice.getType()), start);
    return success();
  }
  if (plan.slotOf(slice) < 0) {
    pointers[slice] = start;
    return success();
  }
  FailureOr<Value> to = place(slice);
  if (failed(to))
    return failure();
  s.copyPieces(*to, piece, start, s.mul(all[axis], piece), piece, outer);
  return success();
}

LogicalResult ScheduleEmitter::emitStack(LoopState &state, unsigned j) {
  LoopView &loop = state.loop;
  const StackPlan &how = state.plan.stacks[j];
  Value slice = loop.stacked(j);
  bool whole = how.kind == StackPlan::Kind::Whole;
  bool inPlace = how.step >= 0 && plan.slotOf(plan.root(slice)) == how.step;
  if (inPlace)
    return success();
  if (failed(requireKnownSizes(slice)))
    return failure();
  SmallVector<Value> dims = materializeDims(slice);
  int64_t axis = loop.stackAxis(j);
  SmallVector<Value> outerSizes(dims.begin(), dims.begin() + axis), innerSizes(dims.begin() + axis, dims.end());
  innerSizes.push_back(s.i64(byteWidth(getElementTypeOrSelf(slice.getType()))));
  Value piece = s.checkedProduct(innerSizes), outer = s.checkedProduct(outerSizes);
  Value base = whole ? pointers.lookup(loop.stacks[j]) : state.stackPointer[j];

  if (!whole) {
    for (const LoopState::Size &size : state.sliceSizes) {
      if (size.index != j)
        continue;
      // The first trip decides.
      Value same = arith::OrIOp::create(s.b, s.compare(Predicate::eq, state.trip, s.i64(0)),
                                        s.compare(Predicate::eq, dims[size.axis], size.value));
      s.require(same, SINTER_RUNTIME_ERROR, "a stack of per-trip outputs requires slices of one size, got {} after {}",
                dims[size.axis], size.value);
    }
    Value needed = s.checkedProduct({outer, piece, state.trips ? state.trips : s.add(state.trip, s.i64(1))});
    auto grown = schedule::GrowOp::create(s.b, base.getType(), s.i64Type, base, state.stackCapacity[j], needed);
    base = grown.getLarger();
    state.next.append({base, grown.getLargerCapacity()});
    for (const LoopState::Size &size : state.sliceSizes)
      if (size.index == j)
        state.next.push_back(dims[size.axis]);
  }
  Value position = loop.stackReversed(j) ? s.sub(s.sub(state.trips, s.i64(1)), state.trip) : state.trip;
  Value to = s.view(base, s.mul(position, piece));
  if (isOneElement(slice.getType()))
    return copyTo(to, slice);
  FailureOr<Value> from = pointer(slice);
  if (failed(from))
    return failure();
  Value row = state.trips ? s.mul(state.trips, piece) : piece;
  s.copyPieces(to, row, *from, piece, piece, outer);
  return success();
}

/// The buffers of `carries` change roles. A carry's next value is in its other buffer, is the old value of another
/// carry, whose buffer it takes, or is copied. Buffers that hold no next value are the others of the next trip.
LogicalResult ScheduleEmitter::exchangeBuffers(LoopState &state, ArrayRef<unsigned> carries,
                                               ArrayRef<unsigned> places) {
  LoopView &loop = state.loop;
  auto bytesOf = [&](unsigned j) { return plan.slot(state.plan.carries[j].current).bytes; };
  DenseSet<Value> taken;
  for (auto [j, place] : llvm::zip(carries, places)) {
    const CarryPlan &how = state.plan.carries[j];
    Value next = loop.next(j), root = plan.root(next);
    Value holder = state.other[j];
    const unsigned *from = llvm::find_if(carries, [&](unsigned i) { return loop.bodyCarry(i) == root; });
    if (from != carries.end() && bytesOf(*from) == bytesOf(j) && !taken.contains(state.current[*from])) {
      holder = state.current[*from];
    } else if (how.step < 0 || plan.slotOf(root) != how.step) {
      FailureOr<Value> source = pointer(next);
      if (failed(source))
        return failure();
      s.copy(holder, *source, bytes(next));
    }
    taken.insert(holder);
    state.next[place] = holder;
  }
  for (auto [j, place] : llvm::zip(carries, places)) {
    Value free;
    for (unsigned i : carries)
      for (Value buffer : {state.current[i], state.other[i]})
        if (!free && bytesOf(i) == bytesOf(j) && !taken.contains(buffer))
          free = buffer;
    assert(free && "as many buffers of a size stay free as are taken");
    taken.insert(free);
    state.next[place + 1] = free;
  }
  return success();
}

LogicalResult ScheduleEmitter::emitBody(LoopState &state) {
  LoopView &loop = state.loop;
  if (auto counted = dyn_cast<ForOp>(loop.op)) {
    FailureOr<Value> lower = element(counted.getLower()), step = element(counted.getStep());
    if (failed(lower) || failed(step) || failed(setElement(loop.index(), s.add(*lower, s.mul(state.trip, *step)))))
      return failure();
  }
  for (unsigned k = 0; k < loop.sequences.size(); ++k)
    if (failed(emitSlice(state, k)))
      return failure();
  for (unsigned j = 0; j < loop.init.size(); ++j)
    if (int step = state.plan.carries[j].step; step >= 0)
      stepPointers[step] = state.other[j];
  for (unsigned j = 0; j < loop.stacks.size(); ++j)
    if (int step = state.plan.stacks[j].step; step >= 0) {
      // Whole, axis 0: the stack's first size is the number of trips.
      Value slice = s.materialize(plan.bytes(plan.root(loop.stacked(j))));
      Value position = loop.stackReversed(j) ? s.sub(s.sub(state.trips, s.i64(1)), state.trip) : state.trip;
      stepPointers[step] = s.view(pointers.lookup(loop.stacks[j]), s.mul(position, slice));
    }
  for (Value argument : loop.body->getArguments())
    define(argument);
  if (failed(emitBlock(*loop.body)))
    return failure();

  state.next = {Value()}; // the trip, which the loop counts
  SmallVector<Value> outlived;
  SmallVector<unsigned> exchanged, swaps; // carries with two buffers, and where these are in `next`
  for (unsigned j = 0; j < loop.init.size(); ++j) {
    const CarryPlan &how = state.plan.carries[j];
    if (how.kind == CarryPlan::Kind::Unchanged)
      continue;
    OpOperand &operand = loop.body->getTerminator()->getOpOperand(j);
    if (how.kind == CarryPlan::Kind::Register) {
      FailureOr<Value> only = element(operand.get());
      if (failed(only))
        return failure();
      state.next.push_back(*only);
      continue;
    }
    FailureOr<Value> from = pointer(operand.get());
    if (failed(from) || failed(requireKnownSizes(operand.get())))
      return failure();
    if (how.kind == CarryPlan::Kind::InPlace) {
      if (!plan.sharePlace(plan.root(operand.get()), loop.bodyCarry(j)))
        s.copy(state.current[j], *from, bytes(operand.get()));
      continue;
    }
    if (how.kind == CarryPlan::Kind::Double) {
      exchanged.push_back(j);
      swaps.push_back(state.next.size());
      state.next.append({state.other[j], state.current[j]});
    } else if (plan.isPassedOn(operand)) {
      state.next.push_back(*from);
    } else {
      Value size = bytes(operand.get());
      Value own = s.acquire(size);
      s.copy(own, *from, size);
      state.next.push_back(own);
    }
    if (how.kind == CarryPlan::Kind::Dynamic && !plan.movesOn(loop.bodyCarry(j)))
      outlived.push_back(state.current[j]);
    SmallVector<Value> now = materializeDims(operand.get());
    for (const LoopState::Size &size : state.carrySizes)
      if (size.index == j)
        state.next.push_back(now[size.axis]);
  }
  for (unsigned j = 0; j < loop.stacks.size(); ++j)
    if (failed(emitStack(state, j)))
      return failure();
  if (failed(exchangeBuffers(state, exchanged, swaps)))
    return failure();
  for (Value buffer : outlived)
    s.release(buffer);
  releaseAll(plan.releasedAtEnd(loop.body));
  return success();
}

LogicalResult ScheduleEmitter::emitWhile(LoopState &state) {
  SmallVector<Type> types = llvm::to_vector(ValueRange(state.init).getTypes());
  SmallVector<Location> locs(types.size(), s.b.getLoc());
  auto loop = scf::WhileOp::create(s.b, types, state.init);
  {
    OpBuilder::InsertionGuard guard(s.b);
    ScheduleBuilder::Scope scope(s);
    state.before = s.b.createBlock(&loop.getBefore(), {}, types, locs);
    bindCarried(state, state.before->getArguments());
    if (failed(emitCondition(state)))
      return failure();
  }
  {
    OpBuilder::InsertionGuard guard(s.b);
    ScheduleBuilder::Scope scope(s);
    Block *after = s.b.createBlock(&loop.getAfter(), {}, types, locs);
    bindCarried(state, after->getArguments());
    if (failed(emitBody(state)))
      return failure();
    state.next.front() = s.add(state.trip, s.i64(1));
    scf::YieldOp::create(s.b, state.next);
  }
  bindCarried(state, loop.getResults());
  return success();
}

LogicalResult ScheduleEmitter::emitCounted(LoopState &state) {
  ArrayRef<Value> carried = ArrayRef(state.init).drop_front();
  auto loop = scf::ForOp::create(s.b, s.i64(0), state.trips, s.i64(1), carried);
  {
    OpBuilder::InsertionGuard guard(s.b);
    ScheduleBuilder::Scope scope(s);
    s.b.setInsertionPointToStart(loop.getBody());
    bindCarried(state, loop.getBody()->getArguments());
    if (!plan.isStateLoop(state.loop.op))
      schedule::PollOp::create(s.b, state.trip, isBrief(state.loop) ? kBriefTrips : 1);
    if (failed(emitBody(state)))
      return failure();
    if (loop.getBody()->mightHaveTerminator())
      loop.getBody()->getTerminator()->erase();
    s.b.setInsertionPointToEnd(loop.getBody());
    scf::YieldOp::create(s.b, ArrayRef(state.next).drop_front());
  }
  SmallVector<Value> last = {state.trips};
  llvm::append_range(last, loop.getResults());
  bindCarried(state, last);
  return success();
}

LogicalResult ScheduleEmitter::emitLoop(Operation *op) {
  LoopState state(op, plan.loop(op));
  LoopView &loop = state.loop;
  bool isOnDevice = runsOnDevice(op);
  SmallVector<std::pair<unsigned, Value>> results; // symbols of the results
  auto learn = [&](Value result, int64_t axis, Value value) {
    DimExpr size = plan.dims(result)[axis];
    if (size.kind() == DimExpr::Kind::Symbol && !s.isBound(size))
      results.emplace_back(size.symbol(), value);
  };
  {
    // What a region binds is forgotten at its end, what the loop as a whole binds after its results are known.
    ScheduleBuilder::Scope outer(s);
    if (failed(startLoop(state)) || failed(isOnDevice  ? emitDeviceLoop(state)
                                           : loop.cond ? emitWhile(state)
                                                       : emitCounted(state)))
      return failure();
    for (auto [j, carry] : llvm::enumerate(loop.carries)) {
      if (state.plan.carries[j].kind == CarryPlan::Kind::Register)
        registers[carry] = state.current[j];
      else if (state.plan.carries[j].kind != CarryPlan::Kind::Unchanged)
        pointers[carry] = state.current[j];
      SmallVector<Value> last = materializeDims(loop.bodyCarry(j));
      for (auto [axis, size] : llvm::enumerate(last))
        learn(carry, static_cast<int64_t>(axis), size);
    }
    for (auto [j, stack] : llvm::enumerate(loop.stacks)) {
      if (state.plan.stacks[j].kind == StackPlan::Kind::Whole)
        continue;
      pointers[stack] = state.stackPointer[j];
      learn(stack, loop.stackAxis(j), state.trip);
      for (const LoopState::Size &size : state.sliceSizes)
        if (size.index == j)
          results.emplace_back(size.symbol, size.value);
    }
    if (loop.trips && !isOnDevice && failed(setElement(loop.trips, state.trip)))
      return failure();
  }
  for (auto [symbol, value] : results)
    s.bind(symbol, value);
  return success();
}

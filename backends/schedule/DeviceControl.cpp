// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops and branches that the back end runs in whose memory tensors lie: the host writes them into its queue once. All
// addresses and sizes in them are those of the first trip, so what a trip computes for the next one is copied back
// where two buffers would change roles on the host. Sizes need not be known when the call begins but when the host
// writes the loop: memory of such a size is acquired, and given up, as the loop is written.
//
// Checks of sizes are the host's. Those that a trip would make come before the loop, all sizes being known there, and a
// mistake is one only where the loop makes a trip:
//
//     %fits = compare ...
//     %most = select %fits, -1, 0                       none where they do not fit
//     repeat counting %trips most %most while {...} do {...}
//     if not %fits { require not the condition }

#include "backends/schedule/LoopState.h"
#include "ir/CountedLoops.h"
#include "ir/Shape.h"
#include "ir/Shapes.h"
#include "ir/Storage.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Remarks.h"
#include "runtime/abi.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::schedule;

//===- who runs it ---------------------------------------------------------------------------------===//

std::string ScheduleEmitter::kernelNeedsHost(KernelOp kernel) {
  auto found = launches.find(kernel);
  if (found == launches.end() || found->second.backend.empty())
    return ("the host computes a kernel (" + stringifyKernelTemplate(kernel.getKernelTemplate()) + ") of it").str();
  const KernelTraits &traits = found->second.traits;
  auto isKnown = [&](DimExpr size) { return !size || s.isBound(size); };
  if (!isKnown(traits.chunks) || !isKnown(traits.workspaceBytes) || !llvm::all_of(found->second.symbols, isKnown))
    return "it has sizes that only running tells";
  return "";
}

bool ScheduleEmitter::areBound(Value value) {
  return llvm::all_of(plan.dims(value), [&](DimExpr size) { return s.isBound(size); });
}

SmallVector<const SizeCheck *> ScheduleEmitter::checksOf(Block &block) {
  SmallVector<const SizeCheck *> result;
  for (Operation &op : block)
    if (auto found = checks.find(&op); found != checks.end())
      for (const SizeCheck &check : found->second)
        if (!checkedEarly.contains(keyOf(check)))
          result.push_back(&check);
  return result;
}

std::string ScheduleEmitter::regionNeedsHost(Block &block, int depth) {
  SmallVector<const SizeCheck *> due = checksOf(block);
  // What is inside of other loops and branches may not run where these do.
  if ((depth > 0 && !due.empty()) || !llvm::all_of(due, [&](const SizeCheck *check) { return isBound(*check); }))
    return "sizes are compared in it";
  for (Operation &op : block.without_terminator()) {
    if (isa<ConstantOp>(op))
      continue;
    std::string reason;
    auto kernel = dyn_cast<KernelOp>(op);
    auto reshape = dyn_cast<ReshapeOp>(op);
    if (kernel)
      reason = kernelNeedsHost(kernel);
    else if (isa<WhileOp, ForOp, ScanOp, CondOp, SwitchOp>(op))
      reason = needsHost(&op, depth + 1);
    else if (!isa<StorageOp>(op) && (!reshape || reshape.getShape()))
      reason = ("the host runs '" + op.getName().getStringRef() + "' in it").str();
    for (Value result : op.getResults()) {
      if (reason.empty() && contentSymbols.contains(result))
        reason = "sizes come from numbers that it computes";
      if (reason.empty() && !areBound(result))
        reason = "it has sizes that only running tells";
    }
    if (!reason.empty())
      return reason;
  }
  for (Value argument : block.getArguments())
    if (contentSymbols.contains(argument))
      return "sizes come from numbers that it computes";
  return "";
}

std::string ScheduleEmitter::needsHost(Operation *op, int depth) {
  if (!isa<WhileOp, CondOp>(op)) { // others become these where they can (passes/SimplifyControl)
    std::string reason = ("the host counts the trips of '" + op->getName().getStringRef() + "'").str();
    if (auto given = op->getAttrOfType<StringAttr>(kCountedByHost))
      reason += ": " + given.str();
    return reason;
  }
  if (auto loopOp = dyn_cast<WhileOp>(op)) {
    LoopView loop(op);
    if (auto given = op->getAttrOfType<StringAttr>(kCountedByHost))
      return given.str();
    if (!loop.stacks.empty())
      return "the memory of its per-trip outputs grows";
    if (depth > 0 && loopOp.getMaxTrip() && loopOp.getOnLimit() == LimitPolicy::trap)
      return "a limit of trips is an error in it";
    for (unsigned j = 0; j < loop.init.size(); ++j)
      if (!areBound(loop.bodyCarry(j)) || !areBound(loop.init[j]) || !areBound(loop.next(j)) ||
          !areBound(loop.carries[j]))
        return "a carry has sizes that only running tells";
    std::string reason = regionNeedsHost(*loop.cond, depth);
    return reason.empty() ? regionNeedsHost(*loop.body, depth) : reason;
  }
  for (Value result : op->getResults())
    if (!areBound(result))
      return "a result has sizes that only running tells";
  for (Region &region : op->getRegions())
    if (std::string reason = regionNeedsHost(region.front(), depth + 1); !reason.empty())
      return reason;
  return "";
}

bool ScheduleEmitter::runsOnDevice(Operation *op) {
  if (!runsControl)
    return false;
  std::string reason = needsHost(op);
  if (!reason.empty())
    remark::missed(op->getLoc(), remark::RemarkOpts::name("host").category("schedule"))
        << ("the host takes part in '" + op->getName().getStringRef() + "': " + reason).str();
  return reason.empty();
}

//===- while ---------------------------------------------------------------------------------------===//

LogicalResult ScheduleEmitter::emitDeviceBody(LoopState &state) {
  LoopView &loop = state.loop;
  for (unsigned j = 0; j < loop.init.size(); ++j)
    if (int step = state.plan.carries[j].step; step >= 0)
      stepPointers[step] = state.other[j];
  for (Value argument : loop.body->getArguments())
    define(argument);
  if (failed(emitBlock(*loop.body)))
    return failure();

  // Old values are read until all next ones are somewhere else, then these go where the next trip looks.
  SmallVector<std::pair<unsigned, Value>> moves;
  SmallVector<Value> outlived;
  for (unsigned j = 0; j < loop.init.size(); ++j) {
    const CarryPlan &how = state.plan.carries[j];
    if (how.kind == CarryPlan::Kind::Unchanged)
      continue;
    Value next = loop.next(j), root = plan.root(next);
    FailureOr<Value> from = pointer(next);
    if (failed(from))
      return failure();
    if (how.kind == CarryPlan::Kind::InPlace) {
      if (!plan.sharePlace(root, loop.bodyCarry(j)))
        s.copy(state.current[j], *from, bytes(next));
      continue;
    }
    bool isDynamic = how.kind == CarryPlan::Kind::Dynamic;
    if (isDynamic && *from == state.current[j]) // the op that computes it wrote over the old value
      continue;
    auto argument = dyn_cast<BlockArgument>(root);
    if ((argument && argument.getOwner() == loop.body) || llvm::is_contained(state.current, *from)) {
      Value other = isDynamic ? s.acquire(bytes(next)) : state.other[j];
      s.copy(other, *from, bytes(next));
      moves.emplace_back(j, other);
      if (isDynamic)
        outlived.push_back(other);
      continue;
    }
    moves.emplace_back(j, *from);
    if (isDynamic && plan.isPassedOn(loop.body->getTerminator()->getOpOperand(j)))
      outlived.push_back(*from);
  }
  for (auto [j, from] : moves)
    s.copy(state.current[j], from, bytes(loop.next(j)));
  for (Value buffer : outlived)
    s.release(buffer);
  releaseAll(plan.releasedAtEnd(loop.body));
  EndOp::create(s.b);
  return success();
}

LogicalResult ScheduleEmitter::emitDeviceLoop(LoopState &state) {
  LoopView &loop = state.loop;
  bindCarried(state, state.init);
  FailureOr<Value> trips = place(loop.trips);
  if (failed(trips))
    return failure();
  SmallVector<const SizeCheck *> due;
  if (devicesDepth == 0 && cast<WhileOp>(loop.op).getMaxTrip() != 0)
    due = checksOf(*loop.body);
  Value fits, most = limitTrips(state, due, fits);
  auto repeat = RepeatOp::create(s.b, *trips, most, FlatSymbolRefAttr());
  if (auto given = loop.op->getAttrOfType<BoolAttr>(kOneKernel))
    repeat->setAttr(kOneKernel, given);
  ++devicesDepth;
  {
    OpBuilder::InsertionGuard guard(s.b);
    ScheduleBuilder::Scope scope(s);
    s.b.setInsertionPointToStart(&repeat.getTest().emplaceBlock());
    for (Value argument : loop.cond->getArguments())
      define(argument);
    if (failed(emitBlock(*loop.cond)))
      return failure();
    FailureOr<Value> flag = pointer(loop.cond->getTerminator()->getOperand(0));
    if (failed(flag))
      return failure();
    releaseAll(plan.releasedAtEnd(loop.cond));
    TestOp::create(s.b, *flag);
  }
  {
    OpBuilder::InsertionGuard guard(s.b);
    ScheduleBuilder::Scope scope(s);
    s.b.setInsertionPointToStart(&repeat.getBody().emplaceBlock());
    if (failed(emitDeviceBody(state)))
      return failure();
  }
  --devicesDepth;
  if (failed(requireSizes(state, due, fits)))
    return failure();
  return checkLimit(state);
}

Value ScheduleEmitter::limitTrips(LoopState &state, ArrayRef<const SizeCheck *> due, Value &fits) {
  if (devicesDepth == 0)
    for (Operation &op : *state.loop.cond)
      emitChecks(&op);
  Value most;
  if (auto limit = cast<WhileOp>(state.loop.op).getMaxTrip())
    most = s.i64(static_cast<int64_t>(*limit));
  for (const SizeCheck *check : due)
    fits = fits ? arith::AndIOp::create(s.b, fits, holds(*check)).getResult() : holds(*check);
  return fits ? s.select(fits, most ? most : s.i64(-1), s.i64(0)) : most;
}

LogicalResult ScheduleEmitter::requireSizes(LoopState &state, ArrayRef<const SizeCheck *> due, Value fits) {
  if (!fits)
    return success();
  auto no = [&](Value holds) { return arith::XOrIOp::create(s.b, holds, arith::ConstantIntOp::create(s.b, 1, 1)); };
  auto branch = scf::IfOp::create(s.b, no(fits), /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(s.b);
  ScheduleBuilder::Scope scope(s);
  s.b.setInsertionPointToStart(&branch.getThenRegion().front());
  FailureOr<Value> flag = element(state.loop.cond->getTerminator()->getOperand(0));
  if (failed(flag))
    return failure();
  Value ends = no(*flag);
  for (const SizeCheck *check : due)
    s.require(arith::OrIOp::create(s.b, ends, holds(*check)), SINTER_INVALID_ARGUMENT, check->message,
              s.materialize(check->wanted), s.materialize(check->size));
  return success();
}

LogicalResult ScheduleEmitter::checkLimit(LoopState &state) {
  LoopView &loop = state.loop;
  auto loopOp = cast<WhileOp>(loop.op);
  if (!loopOp.getMaxTrip() || loopOp.getOnLimit() != LimitPolicy::trap)
    return success();
  FailureOr<Value> flag = element(loop.cond->getTerminator()->getOperand(0));
  if (failed(flag))
    return failure();
  Value ends = arith::XOrIOp::create(s.b, *flag, arith::ConstantIntOp::create(s.b, 1, 1));
  auto message = loopOp->getAttrOfType<StringAttr>(kLimitMessage);
  Value most = s.i64(static_cast<int64_t>(*loopOp.getMaxTrip()));
  if (!message) {
    s.require(ends, SINTER_RUNTIME_ERROR, "a loop requires at most {} trips, its condition still holds after {}", most,
              most);
    return success();
  }
  FailureOr<Value> named = message.getValue().contains("{}") ? element(loop.condCarry(0)) : s.i64(0);
  if (failed(named))
    return failure();
  s.require(ends, SINTER_RUNTIME_ERROR, message.getValue(), *named, s.i64(0));
  return success();
}

//===- cond ----------------------------------------------------------------------------------------===//

LogicalResult ScheduleEmitter::emitDeviceChoice(CondOp op) {
  for (Value result : op->getResults())
    if (failed(place(result)))
      return failure();
  FailureOr<Value> flag = pointer(op->getOperand(0));
  if (failed(flag))
    return failure();
  auto choose = ChooseOp::create(s.b, *flag);
  ++devicesDepth;
  for (auto [region, branch] : llvm::zip_equal(op->getRegions(), choose->getRegions())) {
    OpBuilder::InsertionGuard guard(s.b);
    ScheduleBuilder::Scope scope(s);
    s.b.setInsertionPointToStart(&branch.emplaceBlock());
    Block &block = region.front();
    for (Value argument : block.getArguments())
      define(argument);
    if (failed(emitBlock(block)))
      return failure();
    for (OpOperand &operand : block.getTerminator()->getOpOperands()) {
      Value result = op->getResult(operand.getOperandNumber()), root = plan.root(operand.get());
      FailureOr<Value> from = pointer(operand.get());
      if (failed(from))
        return failure();
      if (plan.slotOf(root) != plan.slotOf(result) || root.getParentBlock() != &block)
        s.copy(pointers.lookup(result), *from, bytes(operand.get()));
      if (plan.isPassedOn(operand))
        s.release(*from);
    }
    releaseAll(plan.releasedAtEnd(&block));
    EndOp::create(s.b);
  }
  --devicesDepth;
  return success();
}

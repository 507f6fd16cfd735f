// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops and branches that the back end runs in whose memory tensors lie: the host writes them into its queue once. All
// addresses and sizes in them are those of the first trip, so what a trip computes for the next one is copied back
// where two buffers would change roles on the host.

#include "backends/schedule/LoopState.h"
#include "ir/CountedLoops.h"
#include "ir/Shape.h"
#include "ir/Shapes.h"
#include "ir/Storage.h"
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
  auto isKnown = [&](DimExpr size) { return !size || plan.knownAtEntry(size); };
  if (!isKnown(traits.chunks) || !isKnown(traits.workspaceBytes) || !llvm::all_of(found->second.symbols, isKnown))
    return "it has sizes that only running tells";
  return "";
}

std::string ScheduleEmitter::regionNeedsHost(Block &block, int depth) {
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
    if (reason.empty() && checks.contains(&op))
      reason = "sizes are compared in it";
    for (Value result : op.getResults()) {
      if (reason.empty() && contentSymbols.contains(result))
        reason = "sizes come from numbers that it computes";
      if (reason.empty() && !plan.knownAtEntry(result))
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
    if (!loop.stacks.empty())
      return "the memory of its per-trip outputs grows";
    if (depth > 0 && loopOp.getMaxTrip() && loopOp.getOnLimit() == LimitPolicy::trap)
      return "a limit of trips is an error in it";
    for (const CarryPlan &carry : plan.loop(op).carries)
      if (carry.kind == CarryPlan::Kind::Dynamic)
        return "a carry has sizes that only running tells";
    std::string reason = regionNeedsHost(*loop.cond, depth);
    return reason.empty() ? regionNeedsHost(*loop.body, depth) : reason;
  }
  for (Value result : op->getResults())
    if (!plan.knownAtEntry(result))
      return "a result has sizes that only running tells";
  for (Region &region : op->getRegions())
    if (std::string reason = regionNeedsHost(region.front(), depth); !reason.empty())
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
    auto argument = dyn_cast<BlockArgument>(root);
    bool isOld = argument && argument.getOwner() == loop.body;
    if (isOld)
      s.copy(state.other[j], *from, bytes(next));
    moves.emplace_back(j, isOld ? state.other[j] : *from);
  }
  for (auto [j, from] : moves)
    s.copy(state.current[j], from, bytes(loop.next(j)));
  EndOp::create(s.b);
  return success();
}

LogicalResult ScheduleEmitter::emitDeviceLoop(LoopState &state) {
  LoopView &loop = state.loop;
  auto loopOp = cast<WhileOp>(loop.op);
  bindCarried(state, state.init);
  FailureOr<Value> trips = place(loop.trips);
  if (failed(trips))
    return failure();
  IntegerAttr most;
  if (auto limit = loopOp.getMaxTrip())
    most = s.b.getI64IntegerAttr(static_cast<int64_t>(*limit));
  auto repeat = RepeatOp::create(s.b, *trips, most);
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
    TestOp::create(s.b, *flag);
  }
  {
    OpBuilder::InsertionGuard guard(s.b);
    ScheduleBuilder::Scope scope(s);
    s.b.setInsertionPointToStart(&repeat.getBody().emplaceBlock());
    if (failed(emitDeviceBody(state)))
      return failure();
  }
  return checkLimit(state);
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
    }
    EndOp::create(s.b);
  }
  return success();
}

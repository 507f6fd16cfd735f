// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/schedule/ScheduleEmitter.h"
#include "backends/schedule/Recomputation.h"
#include "ir/CarrySizes.h"
#include "ir/Constants.h"
#include "ir/External.h"
#include "ir/Limits.h"
#include "ir/Ranges.h"
#include "ir/Shape.h"
#include "ir/Shapes.h"
#include "ir/Storage.h"
#include "runtime/abi.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::schedule;

static_assert(kMaxRank == SINTER_MAX_RANK, "a tensor of a graph fits into one of the C ABI");

ScheduleEmitter::ScheduleEmitter(func::FuncOp function, ScheduleBuilder &builder, ShapeAnalysis &sizes,
                                 const SchedulePlan &plan, const KernelLaunches &launches, const SizeChecks &checks,
                                 Weights &weights, bool runsControl)
    : function(function), s(builder), sizes(sizes), plan(plan), launches(launches), checks(checks), weights(weights),
      runsControl(runsControl) {
  DimContext &context = sizes.context();
  DenseSet<unsigned> used;
  if (!s.isOnHost())
    used = findUsedSymbols();
  for (unsigned i = 0; i < context.numSymbols(); ++i) {
    if (context.source(i).kind != SymbolSource::Kind::Content)
      continue;
    // The host would wait for a number of another memory.
    bool isUsed = s.isOnHost();
    if (!isUsed)
      DimContext::forEachSymbol(context.resolve(context.symbol(context.source(i))),
                                [&](unsigned symbol) { isUsed |= used.contains(symbol); });
    if (isUsed)
      contentSymbols[context.source(i).value].push_back(i);
  }
}

DenseSet<unsigned> ScheduleEmitter::findUsedSymbols() {
  DenseSet<unsigned> used;
  auto use = [&](DimExpr size) {
    if (size)
      DimContext::forEachSymbol(sizes.context().resolve(size), [&](unsigned symbol) { used.insert(symbol); });
  };
  auto useAll = [&](const auto &list) {
    for (DimExpr size : list)
      use(size);
  };
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Value result : op->getResults())
      useAll(plan.dims(result));
    if (isa<KernelOp>(op))
      return WalkResult::skip();
    for (Region &region : op->getRegions())
      for (Value argument : region.getArguments())
        useAll(plan.dims(argument));
    return WalkResult::advance();
  });
  for (const auto &[op, launch] : launches) {
    use(launch.traits.chunks);
    use(launch.traits.steps);
    use(launch.traits.workspaceBytes);
    useAll(launch.traits.capacity);
    useAll(launch.symbols);
  }
  for (const auto &[op, list] : checks)
    for (const SizeCheck &check : list) {
      use(check.size);
      use(check.wanted);
      useAll(check.factors);
    }
  return used;
}

//===- ops -----------------------------------------------------------------------------------------===//

void ScheduleEmitter::bindInputs() {
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    bool isState = function.getArgAttr(number, "sinter.state") != nullptr;
    pointers[argument] = schedule::InputOp::create(s.b, isState ? s.memoryType : s.bufferType, number);
    bindFresh(argument, [&](int64_t axis) { return schedule::InputSizeOp::create(s.b, s.i64Type, number, axis); });
  }
  // Kernels with a memory of their own read a copy there, or the caller's tensor if it is there; states are kept there.
  for (BlockArgument argument : function.getArguments())
    if (pointers.lookup(argument).getType() != s.memoryType && !argument.use_empty()) {
      Value size = bytes(argument), own = s.acquireFor(pointers.lookup(argument), size);
      s.copy(own, pointers.lookup(argument), size);
      pointers[argument] = own;
    }
  for (BlockArgument argument : function.getArguments()) {
    if (plan.isRegister(argument))
      registers[argument] = s.load(getElementTypeOrSelf(argument.getType()), pointers.lookup(argument));
    define(argument);
  }
}

LogicalResult ScheduleEmitter::run() {
  bindInputs();
  for (Operation &op : function.getBody().front())
    emitChecks(&op, /*early=*/true);
  placeArena();
  placeOutputs();
  Block &body = function.getBody().front();
  if (failed(emitBlock(body)) || failed(emitReturn(body.getTerminator())))
    return failure();
  schedule::ReturnOp::create(s.b);
  return success();
}

LogicalResult ScheduleEmitter::emitBlock(Block &block) {
  for (Operation &op : block.without_terminator()) {
    s.b.setLoc(op.getLoc());
    if (&op == plan.firstCommit())
      schedule::CommitOp::create(s.b);
    if (failed(emitOp(&op)))
      return failure();
    if (!isa<ConstantOp>(op))
      for (Value result : op.getResults())
        define(result);
    releaseAll(plan.releasedAfter(&op));
  }
  return success();
}

void ScheduleEmitter::emitChecks(Operation *op, bool early) {
  auto found = checks.find(op);
  if (found == checks.end() || devicesDepth > 0) // those of loops of the device were made before
    return;
  for (const SizeCheck &check : found->second) {
    if (!isBound(check) || checkedEarly.contains(keyOf(check)))
      continue;
    if (early)
      checkedEarly.insert(keyOf(check));
    s.require(holds(check), SINTER_INVALID_ARGUMENT, check.message, s.materialize(check.wanted),
              s.materialize(check.size));
  }
}

ScheduleEmitter::CheckKey ScheduleEmitter::keyOf(const SizeCheck &check) {
  DimContext &context = sizes.context();
  DimExpr all = check.kind == SizeCheck::Kind::Room ? context.product(check.factors) : check.size;
  return {static_cast<int>(check.kind), context.resolve(all).getOpaqueValue(),
          context.resolve(check.wanted).getOpaqueValue()};
}

bool ScheduleEmitter::isBound(const SizeCheck &check) {
  return s.isBound(check.size) && s.isBound(check.wanted) &&
         llvm::all_of(check.factors, [&](DimExpr size) { return s.isBound(size); });
}

Value ScheduleEmitter::holds(const SizeCheck &check) {
  using Predicate = arith::CmpIPredicate;
  if (check.kind == SizeCheck::Kind::Room) // what overflows, or is negative, is -1: above all as an unsigned number
    return s.compare(
        Predicate::ule,
        s.checkedProduct(llvm::map_to_vector(check.factors, [&](DimExpr factor) { return s.materialize(factor); })),
        s.i64(kMaxTypeBytes));
  bool isLimit = check.kind == SizeCheck::Kind::AtLeast;
  Value size = s.materialize(check.size), wanted = s.materialize(check.wanted);
  Value fits = s.compare(isLimit ? Predicate::sge : Predicate::eq, size, wanted);
  if (check.kind == SizeCheck::Kind::EqualOrOne)
    fits = arith::OrIOp::create(s.b, fits, s.compare(Predicate::eq, size, s.i64(1)));
  return fits;
}

LogicalResult ScheduleEmitter::emitRequire(sinter::RequireOp op) {
  FailureOr<Value> holds = element(op.getHolds()), found = element(op.getFound()), wanted = element(op.getWanted());
  if (failed(holds) || failed(found) || failed(wanted))
    return failure();
  s.require(*holds, SINTER_RUNTIME_ERROR, op.getMessage(), *found, *wanted);
  return success();
}

LogicalResult ScheduleEmitter::emitHostOp(Operation *op, ValueRange operands, StringRef name, bool prints) {
  SmallVector<int32_t> layout = {static_cast<int32_t>(operands.size()), static_cast<int32_t>(op->getNumResults())};
  SmallVector<Value> arguments, copies;
  SmallVector<std::pair<Value, Value>> staged; // where results belong, and where the host writes them
  auto describe = [&](Value tensor, Value buffer) {
    auto type = cast<RankedTensorType>(tensor.getType());
    layout.append({dtypeOf(type.getElementType()), static_cast<int32_t>(type.getRank())});
    arguments.push_back(buffer);
    arguments.append(materializeDims(tensor));
  };
  for (Value operand : operands) {
    FailureOr<Value> from = pointer(operand);
    if (failed(from) || failed(requireKnownSizes(operand)))
      return failure();
    Value buffer = *from;
    if (buffer.getType() != s.bufferType) {
      Value size = bytes(operand);
      copies.push_back(s.acquireOnHost(size));
      s.copy(copies.back(), buffer, size);
      buffer = copies.back();
    }
    describe(operand, buffer);
  }
  for (Value result : op->getResults()) {
    if (failed(requireKnownSizes(result)))
      return failure();
    FailureOr<Value> to = place(result);
    if (failed(to))
      return failure();
    Value buffer = *to;
    if (buffer.getType() != s.bufferType) {
      copies.push_back(s.acquireOnHost(bytes(result)));
      staged.emplace_back(buffer, copies.back());
      buffer = copies.back();
    }
    describe(result, buffer);
  }
  schedule::ExternalOp::create(s.b, name, prints, arguments, layout);
  size_t next = 0;
  for (Value result : op->getResults()) {
    if (plan.isRegister(result))
      registers[result] = s.load(getElementTypeOrSelf(result.getType()), spills.lookup(result));
    else if (next < staged.size() && pointers.lookup(result) == staged[next].first) {
      s.copy(staged[next].first, staged[next].second, bytes(result));
      ++next;
    }
  }
  for (Value copy : copies)
    s.release(copy);
  return success();
}

LogicalResult ScheduleEmitter::emitOp(Operation *op) {
  if (isa<ConstantOp>(op))
    return success();
  emitChecks(op);
  if (auto kernel = dyn_cast<KernelOp>(op))
    return emitKernel(kernel);
  if (isa<StorageOp>(op))
    return requireKnownSizes(op->getResult(0));
  if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    if (Value shape = reshape.getShape()) {
      FailureOr<Value> base = pointer(shape);
      if (failed(base))
        return failure();
      bindFresh(reshape.getResult(), [&](int64_t axis) { return s.load(s.i64Type, *base, axis * 8); });
    }
    if (failed(requireKnownSizes(reshape.getResult())))
      return failure();
    emitChecks(op); // with the sizes that the shape told
    return success();
  }
  if (auto dim = dyn_cast<DimOp>(op)) {
    emitSizes(dim.getResult(), dim.getOperand(), {static_cast<int64_t>(dim.getAxis())});
    return success();
  }
  if (auto shape = dyn_cast<ShapeOp>(op)) {
    emitSizes(shape.getResult(), shape.getOperand(),
              llvm::to_vector(llvm::seq<int64_t>(0, cast<RankedTensorType>(shape.getOperand().getType()).getRank())));
    return success();
  }
  if (auto require = dyn_cast<sinter::RequireOp>(op))
    return emitRequire(require);
  if (auto call = dyn_cast<CallExternalOp>(op))
    return emitHostOp(op, call.getInputs(), call.getSymbol(), /*prints=*/false);
  if (auto print = dyn_cast<DebugPrintOp>(op))
    return emitHostOp(op, print.getOperands(), print.getFormat(), /*prints=*/true);
  if (isa<CondOp, SwitchOp>(op))
    return emitChoice(op);
  if (LoopView::isLoop(op))
    return emitLoop(op);
  return op->emitOpError("cannot be part of a schedule: it should be in a kernel");
}

void ScheduleEmitter::emitSizes(Value result, Value of, ArrayRef<int64_t> axes) {
  Dims dims = plan.dims(of);
  if (plan.isRegister(result)) {
    registers[result] = s.materialize(dims[axes.front()]);
    return;
  }
  FailureOr<Value> to = place(result);
  for (auto [i, axis] : llvm::enumerate(axes))
    s.store(s.materialize(dims[axis]), *to, static_cast<int64_t>(i) * 8);
}

LogicalResult ScheduleEmitter::emitReturn(Operation *op) {
  for (OpOperand &operand : op->getOpOperands()) {
    Value root = plan.root(operand.get());
    unsigned index = operand.getOperandNumber();
    int slot = plan.slotOf(root) >= 0 ? plan.slotOf(root) : plan.carrySlotOf(root);
    if (slot >= 0 && plan.slot(slot).kind == Slot::Kind::Output && plan.slot(slot).output == index &&
        !lateOutputs.contains(index)) {
      s.wait(slotPointer(slot));
      continue;
    }
    if (failed(requireKnownSizes(operand.get())))
      return failure();
    Value to = storageOf(index, operand.get());
    if (root != plan.writtenOverState(index) && failed(copyTo(to, operand.get())))
      return failure();
    s.wait(to); // a call that has ended has no launches left that can fail
  }
  return success();
}

//===- entry ---------------------------------------------------------------------------------------===//

/// Makes numbers that kernels compute from sizes what they are in terms of these, so that nobody looks for them where
/// kernels write.
static void followKernels(func::FuncOp function, ShapeAnalysis &sizes) {
  DimContext &context = sizes.context();
  function.walk([&](KernelOp kernel) {
    for (OpResult result : kernel->getResults()) {
      if (getElementTypeOrSelf(result.getType()).isInteger(1))
        continue;
      std::optional<Dims> elements =
          sizes.contents(kernel.getBody().front().getTerminator()->getOperand(result.getResultNumber()));
      if (!elements)
        continue;
      for (auto [i, element] : llvm::enumerate(*elements))
        if (!isKnownOutside(kernel, element, sizes))
          element = context.symbol({SymbolSource::Kind::Content, result, static_cast<int64_t>(i)});
      sizes.bindContents(result, std::move(*elements));
    }
  });
}

void schedule::settleSizes(func::FuncOp function, ShapeAnalysis &sizes, bool runsControl) {
  if (runsControl)
    followKernels(function, sizes);
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Region &region : op->getRegions())
      for (Value argument : region.getArguments())
        sizes.dims(argument);
    if (isa<KernelOp>(op)) {
      for (Value result : op->getResults())
        sizes.dims(result);
      return WalkResult::skip();
    }
    for (Value result : op->getResults())
      sizes.dims(result);
    return WalkResult::advance();
  });
  if (runsControl)
    settleCarries(function, sizes);
}

/// True where a launch reads far more of constants than of what other launches pass it, and for some time, as products
/// with one row do: two threads then have twice the bandwidth, and little to pass each other.
static bool streamsConstants(KernelOp kernel, const KernelTraits &traits) {
  constexpr double leastNs = 8000;
  constexpr int64_t times = 8;
  auto bytesOf = [](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    return type.hasStaticShape() ? saturatingMul(type.getNumElements(), byteWidth(type.getElementType()))
                                 : std::numeric_limits<int64_t>::max();
  };
  int64_t constant = 0, passed = 0;
  for (Value input : kernel.getInputs()) {
    int64_t &of = input.getDefiningOp<ConstantOp>() ? constant : passed;
    of = saturatingAdd(of, bytesOf(input));
  }
  for (Value result : kernel.getResults())
    passed = saturatingAdd(passed, bytesOf(result));
  return traits.estimatedNs >= leastNs && constant / times >= passed;
}

/// Where most launches of a function are brief, their threads wait and pass each other what they have just written more
/// than they compute: all but long launches, and those that read constants for the most part, then stay on the calling
/// thread. Launches whose time is unknown stay out of account, and few of them pass little on.
static void joinBriefLaunches(KernelLaunches &launches) {
  constexpr double briefNs = 16000, longNs = 64000;
  constexpr int64_t fewLaunches = 8;
  auto mayFork = [](const KernelLaunch &launch) {
    const KernelTraits &traits = launch.traits;
    bool isOne = traits.chunks.isConstant() && traits.chunks.constant() <= 1;
    return launch.backend.empty() && !isOne && !traits.isShort && traits.estimatedNs > 0;
  };
  double total = 0;
  int64_t count = 0;
  for (const auto &[kernel, launch] : launches)
    if (mayFork(launch)) {
      total += launch.traits.estimatedNs;
      ++count;
    }
  if (count < fewLaunches || total >= briefNs * static_cast<double>(count))
    return;
  for (auto &[kernel, launch] : launches)
    if (mayFork(launch) && launch.traits.estimatedNs < longNs &&
        !streamsConstants(cast<KernelOp>(kernel), launch.traits))
      launch.traits.isShort = true;
}

FailureOr<Signature> schedule::emitSchedule(func::FuncOp function, ModuleOp module, StringRef entry,
                                            KernelTable &kernels, Weights &weights) {
  DimContext context;
  ShapeAnalysis sizes(context);
  settleSizes(function, sizes, kernels.runsControl());

  SizeChecks checks;
  function.walk([&](Operation *op) {
    Operation *scheduled = isa<KernelOp>(op->getParentOp()) ? op->getParentOp() : op;
    SmallVector<SizeCheck> found;
    collectSizeChecks(op, sizes, found);
    if (!found.empty())
      checks[scheduled].append(found);
  });

  StringRef memory = kernels.memory();
  bool registers = kernels.host().holdsElements() && memory.empty();
  KernelLaunches launches;
  bool ok = !function
                 .walk([&](KernelOp kernel) {
                   if (kernel.getInPlace() || (registers && isScalarKernel(kernel)))
                     return WalkResult::advance();
                   FailureOr<KernelLaunch> launch = kernels.add(kernel, sizes);
                   if (failed(launch))
                     return WalkResult::interrupt();
                   launches[kernel] = std::move(*launch);
                   return WalkResult::advance();
                 })
                 .wasInterrupted();
  if (!ok)
    return failure();
  joinBriefLaunches(launches);
  std::optional<KeepReport> keeps;
  if (auto text = function->getAttrOfType<StringAttr>(kKeepAttr)) {
    std::string error;
    std::optional<KeepPolicy> policy = KeepPolicy::parse(text.getValue(), error);
    if (!policy)
      return function.emitError() << kKeepAttr << " " << error, failure();
    FailureOr<KeepReport> report = recompute(function, *policy, sizes, launches, registers, memory.empty());
    if (failed(report))
      return failure();
    keeps = *report;
    keeps->policy = text.str();
  }
  SchedulePlan plan(function, sizes, launches, registers, /*statesInPlace=*/memory.empty());
  ScheduleBuilder builder(module, function.getLoc(), entry, function.getNumArguments(), function.getNumResults(),
                          context, memory);
  ScheduleEmitter emitter(function, builder, sizes, plan, launches, checks, weights, kernels.runsControl());
  if (failed(emitter.run()))
    return failure();
  FailureOr<Signature> signature =
      makeSignature(function, entry, plan, context, weights, /*statesOnDevice=*/!memory.empty());
  if (succeeded(signature))
    signature->keeps = std::move(keeps);
  return signature;
}

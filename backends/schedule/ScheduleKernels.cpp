// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of a schedule: launched with pointers and sizes, or of one element and built in place.

#include "backends/schedule/ScheduleEmitter.h"
#include "ir/Shape.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::schedule;

LogicalResult ScheduleEmitter::emitScalarKernel(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  DenseMap<Value, Value> elements;
  for (auto [argument, input] : llvm::zip(body.getArguments(), kernel.getInputs())) {
    FailureOr<Value> only = element(input);
    if (failed(only))
      return failure();
    elements[argument] = *only;
  }
  for (Operation &op : body.without_terminator()) {
    Value &result = elements[op.getResult(0)];
    if (isa<ConstantOp>(op)) {
      FailureOr<Value> only = element(op.getResult(0));
      if (failed(only))
        return failure();
      result = *only;
    } else if (auto pointwise = dyn_cast<Pointwise>(op)) {
      SmallVector<Value> operands = llvm::map_to_vector(op.getOperands(), [&](Value v) { return elements.lookup(v); });
      Value built = pointwise.buildBody(s.b, op.getLoc(), operands);
      elements[op.getResult(0)] = built;
    } else {
      result = elements.lookup(op.getOperand(0));
    }
  }
  for (auto [result, yielded] : llvm::zip(kernel.getResults(), body.getTerminator()->getOperands()))
    registers[result] = elements.lookup(yielded);
  return success();
}

/// True for a constant whose bytes are all 0.
static bool isZero(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  return dense && dense.isSplat() && llvm::all_of(dense.getRawData(), [](char byte) { return byte == 0; });
}

/// The input that the kernel updates, if that is zeros; else -1. The result's memory is cleared then, not copied to.
static int64_t updatedZeros(KernelOp kernel, const KernelTraits &traits) {
  return traits.updates >= 0 && isZero(kernel.getInputs()[traits.updates]) ? traits.updates : -1;
}

LogicalResult ScheduleEmitter::pointInputs(KernelOp kernel, const KernelLaunch &launch,
                                           SmallVectorImpl<Value> &values) {
  int64_t zeros = updatedZeros(kernel, launch.traits);
  Type constantType = launch.backend.empty() ? s.bufferType : s.memoryType;
  for (auto [i, input] : llvm::enumerate(kernel.getInputs())) {
    if (zeros == static_cast<int64_t>(i)) {
      values.emplace_back(); // the result's own memory, which is not known yet
      continue;
    }
    const Packing *packing = llvm::find_if(launch.packed, [&](const Packing &packing) { return packing.input == i; });
    if (packing != launch.packed.end()) {
      FailureOr<int64_t> offset = weights.add(input.getDefiningOp<ConstantOp>().getValue(), *packing);
      if (failed(offset))
        return kernel.emitOpError("requires a dense or dense_resource constant to pack");
      values.push_back(WeightOp::create(s.b, constantType, *offset));
      continue;
    }
    if (auto constant = plan.root(input).getDefiningOp<ConstantOp>(); constant && constantType != s.memoryType) {
      FailureOr<int64_t> offset = weights.add(constant.getValue());
      if (failed(offset))
        return constant.emitOpError("requires a dense or dense_resource value");
      values.push_back(WeightOp::create(s.b, constantType, *offset));
      continue;
    }
    FailureOr<Value> base = pointer(input);
    if (failed(base))
      return failure();
    values.push_back(*base);
  }
  return success();
}

LogicalResult ScheduleEmitter::placeResults(KernelOp kernel, const KernelLaunch &launch,
                                            SmallVectorImpl<Value> &values) {
  for (auto [i, result] : llvm::enumerate(kernel.getResults())) {
    if (launch.traits.writesSizes) {
      int64_t width = byteWidth(cast<RankedTensorType>(result.getType()).getElementType());
      Value room = s.checkedProduct({s.materialize(launch.traits.capacity[i]), s.i64(width)});
      values.push_back(pointers[result] = s.acquireOnHost(room));
      continue;
    }
    if (failed(requireKnownSizes(result)))
      return failure();
    FailureOr<Value> base = place(result);
    if (failed(base))
      return failure();
    values.push_back(*base);
  }
  return success();
}

void ScheduleEmitter::startUpdate(KernelOp kernel, const KernelTraits &traits, MutableArrayRef<Value> values) {
  if (traits.updates < 0)
    return;
  Value to = values[kernel.getInputs().size()];
  Value input = kernel.getInputs()[traits.updates], result = kernel.getResult(0);
  if (updatedZeros(kernel, traits) >= 0) {
    values[traits.updates] = to;
    s.clear(to, bytes(result));
  } else if (!plan.sharePlace(plan.root(input), plan.root(result)) && plan.takenOver(result) != plan.root(input)) {
    s.copy(to, values[traits.updates], bytes(result));
  }
}

SmallVector<Value> ScheduleEmitter::stageOnHost(KernelOp kernel, const KernelTraits &traits,
                                                MutableArrayRef<Value> values) {
  SmallVector<Value> staged(values.size());
  unsigned inputs = kernel.getNumOperands();
  for (unsigned i = 0; i < inputs + kernel.getNumResults(); ++i) {
    if (values[i].getType() == s.bufferType)
      continue;
    Value size = bytes(i < inputs ? kernel.getInputs()[i] : kernel.getResult(i - inputs));
    staged[i] = s.acquireOnHost(size);
    if (i < inputs || traits.updates >= 0)
      s.copy(staged[i], values[i], size);
    std::swap(staged[i], values[i]);
  }
  return staged;
}

void ScheduleEmitter::unstage(KernelOp kernel, ArrayRef<Value> staged, ArrayRef<Value> values) {
  unsigned inputs = kernel.getNumOperands();
  for (auto [i, home] : llvm::enumerate(staged)) {
    if (!home)
      continue;
    if (i >= inputs)
      s.copy(home, values[i], bytes(kernel.getResult(i - inputs)));
    s.release(values[i]);
  }
}

LogicalResult ScheduleEmitter::emitKernel(KernelOp kernel) {
  if (kernel.getInPlace())
    return success(); // it lies in what was computed, or the kernels of its parts have written it
  auto found = launches.find(kernel);
  if (found == launches.end())
    return emitScalarKernel(kernel);
  const KernelLaunch &launch = found->second;
  const KernelTraits &traits = launch.traits;

  // Everything is computed before the first argument is stored: placing may take branches, and these may launch.
  SmallVector<Value> values;
  if (failed(pointInputs(kernel, launch, values)) || failed(placeResults(kernel, launch, values)))
    return failure();
  size_t firstWritten = kernel.getNumOperands();
  Value written;
  if (traits.writesSizes) {
    written = s.local(8 * static_cast<int64_t>(launch.writtenSizes.size()));
    values.push_back(written);
  }
  int workspace = plan.workspaceOf(kernel);
  bool isStaged = launch.backend.empty() && !s.isOnHost(); // the host computes what lies elsewhere
  bool acquired = workspace >= 0 && (isStaged || plan.slot(workspace).kind == Slot::Kind::Dynamic);
  if (acquired)
    values.push_back(
        AcquireOp::create(s.b, isStaged ? s.bufferType : s.memoryType, s.materialize(traits.workspaceBytes), Value()));
  else if (workspace >= 0)
    values.push_back(slotPointer(workspace));
  Value scratch = acquired ? values.back() : Value();
  SmallVector<int64_t> writes = llvm::to_vector(llvm::seq<int64_t>(firstWritten, values.size()));
  for (DimExpr size : launch.symbols)
    values.push_back(size && s.isBound(size) ? s.materialize(size) : s.i64(-1));
  startUpdate(kernel, traits, values);
  bool isOne = traits.chunks.isConstant() && traits.chunks.constant() <= 1;
  SmallVector<Value> staged;
  if (isStaged)
    staged = stageOnHost(kernel, traits, values);
  bool isInline = launch.backend.empty() && (isOne || traits.isShort);
  Value steps = traits.steps ? s.materialize(traits.steps) : Value();
  Value forks = launch.backend.empty() && !isInline && traits.forks ? s.materialize(traits.forks) : Value();
  LaunchOp::create(s.b, launch.kernel, values, s.materialize(traits.chunks), forks, steps, writes, isInline,
                   traits.isOrdered, launch.backend.empty() ? StringAttr() : s.b.getStringAttr(launch.backend));
  if (acquired)
    s.release(scratch);
  for (Value result : kernel.getResults())
    if (plan.isRegister(result))
      registers[result] = s.load(getElementTypeOrSelf(result.getType()),
                                 traits.writesSizes ? pointers.lookup(result) : spills.lookup(result));
  for (auto [i, place] : llvm::enumerate(launch.writtenSizes)) {
    DimExpr size = plan.dims(kernel.getResult(place.first))[place.second];
    if (size.kind() == DimExpr::Kind::Symbol && !s.isBound(size))
      s.bind(size.symbol(), s.load(s.i64Type, written, static_cast<int64_t>(i) * 8));
  }
  unstage(kernel, staged, values);
  if (isStaged && traits.writesSizes)
    for (Value result : kernel.getResults()) { // its size is known now
      Value size = bytes(result), found = pointers.lookup(result);
      s.copy(pointers[result] = s.acquire(size), found, size);
      s.release(found);
    }
  return success();
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes and memory of a schedule: where each tensor's bytes lie as numbers of the call, and what they are copied to.

#include "backends/schedule/ScheduleEmitter.h"
#include "ir/Elementwise.h"
#include "ir/Shape.h"
#include "ir/Storage.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::schedule;

//===- sizes ---------------------------------------------------------------------------------------===//

SmallVector<Value> ScheduleEmitter::materializeDims(Value value) {
  return llvm::map_to_vector(plan.dims(value), [&](DimExpr size) { return s.materialize(size); });
}

Value ScheduleEmitter::bytes(Value value) {
  if (isPacked(getElementTypeOrSelf(value.getType())))
    return s.materialize(plan.bytes(value));
  SmallVector<Value> factors = materializeDims(value);
  factors.push_back(s.i64(byteWidth(cast<RankedTensorType>(value.getType()).getElementType())));
  return s.checkedProduct(factors);
}

SmallVector<int64_t> ScheduleEmitter::freshAxes(Value value) {
  SmallVector<int64_t> axes;
  for (auto [axis, size] : llvm::enumerate(plan.dims(value)))
    if (size.kind() == DimExpr::Kind::Symbol && !s.isBound(size))
      axes.push_back(static_cast<int64_t>(axis));
  return axes;
}

void ScheduleEmitter::bindFresh(Value value, function_ref<Value(int64_t)> size) {
  for (int64_t axis : freshAxes(value))
    if (DimExpr symbol = plan.dims(value)[axis]; !s.isBound(symbol))
      s.bind(symbol.symbol(), size(axis));
}

LogicalResult ScheduleEmitter::requireKnownSizes(Value value) {
  for (auto [axis, size] : llvm::enumerate(plan.dims(value)))
    if (!s.isBound(size))
      return emitError(value.getLoc())
             << "not supported: a size that only the computation of its tensor tells here, got "
             << sizes.context().print(size) << " for axis " << axis << " of " << value.getType();
  return success();
}

void ScheduleEmitter::define(Value value) {
  auto found = contentSymbols.find(value);
  if (found == contentSymbols.end())
    return;
  Type type = getElementTypeOrSelf(value.getType());
  if (isStorageOnly(type)) // nothing takes sizes from these
    return;
  int64_t width = byteWidth(type);
  Value known = registers.lookup(plan.root(value)), base;
  if (!known) {
    FailureOr<Value> where = pointer(value);
    if (failed(where))
      return;
    base = *where;
  }
  for (unsigned symbol : found->second) {
    Value word = known ? known : s.load(type, base, sizes.context().source(symbol).axis * width);
    if (word.getType() != s.i64Type)
      word = isUnsigned(type) || type.isInteger(1) ? arith::ExtUIOp::create(s.b, s.i64Type, word).getResult()
                                                   : arith::ExtSIOp::create(s.b, s.i64Type, word).getResult();
    s.bind(symbol, word);
  }
}

//===- memory --------------------------------------------------------------------------------------===//

Value ScheduleEmitter::slotPointer(int slot) {
  slot = plan.representative(slot);
  switch (plan.slot(slot).kind) {
  case Slot::Kind::Planned:
    return arenaBuffers.lookup(slot);
  case Slot::Kind::Output:
    return outputPointers.lookup(slot);
  case Slot::Kind::Step:
    return stepPointers.lookup(slot);
  case Slot::Kind::Dynamic:
  case Slot::Kind::Register:
    break;
  }
  llvm_unreachable("dynamic memory is acquired where its value is defined, registers have none");
}

Value ScheduleEmitter::partOf(Value base, Value value) { return s.view(base, s.materialize(plan.offsetOf(value))); }

FailureOr<Value> ScheduleEmitter::place(Value value) {
  if (plan.isPart(value)) {
    Value root = plan.root(value);
    FailureOr<Value> whole = pointers.contains(root) ? FailureOr<Value>(pointers.lookup(root)) : place(root);
    if (succeeded(whole))
      whole = partOf(*whole, value);
    return whole;
  }
  int slot = plan.slotOf(value);
  assert(slot >= 0 && "only values that the plan gave a slot are placed");
  Value result;
  const Slot &where = plan.slot(slot);
  if (where.kind == Slot::Kind::Register) {
    // For a kernel that stores it; the element is loaded from there at once.
    Value &spill = spills[value];
    return spill ? spill : spill = s.local(64);
  }
  if (where.kind == Slot::Kind::Output && !outputPointers.contains(slot)) {
    // The output may be a view of this value under another shape.
    Value returned = function.getBody().front().getTerminator()->getOperand(where.output);
    if ((s.isOnHost() || isState(where.output)) &&
        llvm::all_of(plan.dims(returned), [&](DimExpr size) { return s.isBound(size); })) {
      outputPointers[slot] = storageOf(where.output, returned);
    } else {
      if (failed(requireKnownSizes(value)))
        return failure();
      lateOutputs.insert(where.output);
      // Where the caller has the result in the kernels' memory, they write it there.
      bool isWhole = llvm::all_of(plan.dims(returned), [&](DimExpr size) { return s.isBound(size); }) &&
                     plan.bytes(returned) == plan.bytes(value);
      if (isWhole)
        earlyOutputs[where.output] = s.output(where.output, materializeDims(returned), /*isState=*/false);
      outputPointers[slot] = isWhole ? s.acquireFor(earlyOutputs[where.output], bytes(value)) : s.acquire(bytes(value));
    }
  }
  if (where.kind == Slot::Kind::Dynamic) {
    if (failed(requireKnownSizes(value)))
      return failure();
    Value taken = plan.takenOver(value);
    result = taken ? pointers.lookup(taken) : s.acquire(bytes(value));
  } else {
    result = slotPointer(slot);
  }
  return pointers[value] = result;
}

Value ScheduleEmitter::storageOf(unsigned output, Value returned) {
  Value early = earlyOutputs.lookup(output);
  return early ? early : s.output(output, materializeDims(returned), isState(output));
}

bool ScheduleEmitter::isState(unsigned result) { return function.getResultAttr(result, "sinter.state") != nullptr; }

/// Asks for the memory of outputs before states are written: that can fail.
void ScheduleEmitter::placeOutputs() {
  if (!plan.hasStatesInPlace())
    return;
  for (OpOperand &operand : function.getBody().front().getTerminator()->getOpOperands()) {
    unsigned k = operand.getOperandNumber();
    if (!plan.writtenOverState(k) && plan.knownAtEntry(operand.get()))
      earlyOutputs[k] = s.output(k, materializeDims(operand.get()), isState(k));
  }
}

FailureOr<Value> ScheduleEmitter::pointer(Value value) {
  if (plan.isPart(value)) {
    FailureOr<Value> whole = pointer(plan.root(value));
    if (succeeded(whole))
      whole = partOf(*whole, value);
    return whole;
  }
  value = plan.root(value);
  if (auto constant = value.getDefiningOp<ConstantOp>()) {
    FailureOr<int64_t> offset = weights.add(constant.getValue());
    if (failed(offset))
      return constant.emitOpError("requires a dense or dense_resource value");
    return s.weight(*offset);
  }
  if (Value found = pointers.lookup(value))
    return found;
  Value known = registers.lookup(value);
  assert(known && "values are placed before they are used");
  Value &spill = spills[value];
  if (!spill)
    spill = s.local(64);
  s.store(known, spill);
  return spill;
}

/// What a kernel computes its result from, through reshapes; null for other values.
static Operation *computedBy(Value root) {
  auto kernel = root.getDefiningOp<KernelOp>();
  if (!kernel)
    return nullptr;
  Value inside = kernel.getBody().front().getTerminator()->getOperand(cast<OpResult>(root).getResultNumber());
  return withoutReshapes(inside).getDefiningOp();
}

static arith::CmpIPredicate predicateOf(CompareKind kind) {
  switch (kind) {
  case CompareKind::eq:
    return arith::CmpIPredicate::eq;
  case CompareKind::ne:
    return arith::CmpIPredicate::ne;
  case CompareKind::lt:
    return arith::CmpIPredicate::slt;
  case CompareKind::le:
    return arith::CmpIPredicate::sle;
  case CompareKind::gt:
    return arith::CmpIPredicate::sgt;
  case CompareKind::ge:
    return arith::CmpIPredicate::sge;
  }
  llvm_unreachable("all kinds handled");
}

Value ScheduleEmitter::comparedSizes(Value root) {
  auto compare = dyn_cast_or_null<CompareOp>(computedBy(root));
  if (s.isOnHost() || !compare)
    return {};
  SmallVector<Value> sides;
  for (Value side : {compare.getLhs(), compare.getRhs()}) {
    std::optional<Dims> numbers;
    if (isOneElement(side.getType()) && getElementTypeOrSelf(side.getType()).isSignlessInteger(64))
      numbers = sizes.contents(side);
    if (!numbers || !s.isBound(numbers->front()))
      return {};
    sides.push_back(s.materialize(numbers->front()));
  }
  return s.compare(predicateOf(compare.getKind()), sides[0], sides[1]);
}

FailureOr<Value> ScheduleEmitter::element(Value value) {
  Type type = getElementTypeOrSelf(value.getType());
  Value root = plan.root(value);
  if (Value known = registers.lookup(root))
    return known;
  if (Value known = comparedSizes(root))
    return known;
  if (auto constant = root.getDefiningOp<ConstantOp>())
    if (auto dense = dyn_cast<DenseElementsAttr>(constant.getValue()); dense && dense.isSplat()) {
      TypedAttr number;
      if (isa<FloatType>(type))
        number = FloatAttr::get(type, dense.getSplatValue<APFloat>());
      else
        number = IntegerAttr::get(signless(type), dense.getSplatValue<APInt>());
      if (type.isSignlessInteger(64))
        return s.i64(cast<IntegerAttr>(number).getInt());
      return arith::ConstantOp::create(s.b, number).getResult();
    }
  FailureOr<Value> base = pointer(root);
  if (failed(base))
    return failure();
  return s.load(type, *base);
}

LogicalResult ScheduleEmitter::setElement(Value result, Value element) {
  if (plan.isRegister(result)) {
    registers[result] = element;
    return success();
  }
  FailureOr<Value> to = place(result);
  if (succeeded(to))
    s.store(element, *to);
  return to;
}

LogicalResult ScheduleEmitter::copyTo(Value to, Value value) {
  if (isOneElement(value.getType()) && plan.isRegister(plan.root(value))) {
    FailureOr<Value> only = element(value);
    if (succeeded(only))
      s.store(*only, to);
    return only;
  }
  FailureOr<Value> from = pointer(value);
  if (failed(from) || failed(requireKnownSizes(value)))
    return failure();
  s.copy(to, *from, bytes(value));
  return success();
}

void ScheduleEmitter::releaseAll(ArrayRef<Value> values) {
  for (Value value : values)
    s.release(pointers.lookup(value));
}

void ScheduleEmitter::placeArena() {
  SmallVector<int32_t> lives;
  SmallVector<Value> bytes;
  SmallVector<int> placed;
  for (int i = 0; i < plan.numSlots(); ++i) {
    const Slot &slot = plan.slot(i);
    if (slot.kind != Slot::Kind::Planned || slot.mergedInto >= 0 || slot.last < 0)
      continue;
    placed.push_back(i);
    lives.append({slot.first, slot.last});
    // A product of sizes is computed with an overflow check; a sum or the like is not.
    SmallVector<Value> factors;
    if (slot.bytes.kind() == DimExpr::Kind::Mul)
      factors = llvm::map_to_vector(slot.bytes.operands(), [&](DimExpr factor) { return s.materialize(factor); });
    else
      factors = {s.materialize(slot.bytes)};
    bytes.push_back(s.checkedProduct(factors));
  }
  if (placed.empty())
    return;
  auto arena = schedule::ArenaOp::create(s.b, SmallVector<Type>(placed.size(), s.memoryType), bytes, lives);
  for (auto [slot, buffer] : llvm::zip(placed, arena.getBuffers()))
    arenaBuffers[slot] = buffer;
}

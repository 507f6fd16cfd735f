// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/Schedule.h"
#include "ir/Constants.h"
#include "ir/Shape.h"
#include "ir/Shapes.h"
#include "runtime/abi.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// Launches shorter than this run on the calling thread: waking another costs as much.
constexpr double kInlineNs = 2000;

/// Buffers of at most this many bytes lie on the stack as long as all of them need no more than the second number: no
/// plan has to be looked up and LLVM sees who writes them.
constexpr int64_t kStackSlotBytes = 2048;
constexpr int64_t kStackBytes = 16384;

ScheduleEmitter::ScheduleEmitter(func::FuncOp function, ScheduleBuilder &builder, ShapeAnalysis &sizes,
                                 const SchedulePlan &plan, const DenseMap<Operation *, KernelLaunch> &launches,
                                 MutableArrayRef<KernelCode> codes, const SizeChecks &checks, Weights &weights)
    : function(function), s(builder), sizes(sizes), plan(plan), launches(launches), codes(codes), checks(checks),
      weights(weights) {
  DimContext &context = sizes.context();
  for (unsigned i = 0; i < context.numSymbols(); ++i)
    if (context.source(i).kind == SymbolSource::Kind::Content)
      contentSymbols[context.source(i).value].push_back(i);
}

//===- sizes ---------------------------------------------------------------------------------------===//

SmallVector<Value> ScheduleEmitter::materializeDims(Value value) {
  return llvm::map_to_vector(plan.dims(value), [&](DimExpr size) { return s.materialize(size); });
}

Value ScheduleEmitter::bytes(Value value) {
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
  int64_t width = byteWidth(type);
  Value known = registers.lookup(plan.root(value)), base;
  if (!known) {
    FailureOr<Value> where = pointer(value);
    if (failed(where))
      return;
    base = *where;
  }
  for (unsigned symbol : found->second) {
    Value word = known ? known : s.loadElement(type, base, sizes.context().source(symbol).axis * width);
    if (word.getType() != s.i64Type)
      word = isUnsigned(type) || type.isInteger(1) ? LLVM::ZExtOp::create(s.b, s.i64Type, word).getResult()
                                                   : LLVM::SExtOp::create(s.b, s.i64Type, word).getResult();
    s.bind(symbol, word);
  }
}

//===- memory --------------------------------------------------------------------------------------===//

Value ScheduleEmitter::slotPointer(int slot) {
  slot = plan.representative(slot);
  switch (plan.slot(slot).kind) {
  case Slot::Kind::Planned:
    if (Value fixed = fixedPointers.lookup(slot))
      return fixed;
    return s.offset(arena, s.load(s.i64Type, offsets, arenaIndex.lookup(slot) * 8));
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

FailureOr<Value> ScheduleEmitter::place(Value value) {
  int slot = plan.slotOf(value);
  assert(slot >= 0 && "only values that the plan gave a slot are placed");
  Value result;
  const Slot &where = plan.slot(slot);
  if (where.kind == Slot::Kind::Register) {
    // For a kernel that stores it; the element is loaded from there at once.
    Value &spill = spills[value];
    return spill ? spill : spill = s.stackWords(8);
  }
  if (where.kind == Slot::Kind::Output && !outputPointers.contains(slot)) {
    // The output may be a view of this value under another shape.
    Value returned = function.getBody().front().getTerminator()->getOperand(where.output);
    if (llvm::all_of(plan.dims(returned), [&](DimExpr size) { return s.isBound(size); })) {
      outputPointers[slot] = storageOf(where.output, returned);
    } else {
      if (failed(requireKnownSizes(value)))
        return failure();
      lateOutputs.insert(where.output);
      outputPointers[slot] = s.acquire(bytes(value));
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
  return early ? early : s.output(output, materializeDims(returned));
}

/// Asks for the memory of outputs before states are written: that can fail.
void ScheduleEmitter::placeOutputs() {
  if (!plan.hasStatesInPlace())
    return;
  for (OpOperand &operand : function.getBody().front().getTerminator()->getOpOperands()) {
    unsigned k = operand.getOperandNumber();
    if (!plan.writtenOverState(k) && plan.knownAtEntry(operand.get()))
      earlyOutputs[k] = s.output(k, materializeDims(operand.get()));
  }
}

FailureOr<Value> ScheduleEmitter::pointer(Value value) {
  value = plan.root(value);
  if (auto constant = value.getDefiningOp<ConstantOp>()) {
    FailureOr<int64_t> offset = weights.add(constant.getValue());
    if (failed(offset))
      return constant.emitOpError("requires a dense or dense_resource value");
    return s.offset(s.weights, *offset);
  }
  if (Value found = pointers.lookup(value))
    return found;
  Value known = registers.lookup(value);
  assert(known && "values are placed before they are used");
  Value &spill = spills[value];
  if (!spill)
    spill = s.stackWords(8);
  s.storeElement(known, spill);
  return spill;
}

FailureOr<Value> ScheduleEmitter::element(Value value) {
  Type type = getElementTypeOrSelf(value.getType());
  Value root = plan.root(value);
  if (Value known = registers.lookup(root))
    return known;
  if (auto constant = root.getDefiningOp<ConstantOp>())
    if (auto dense = dyn_cast<DenseElementsAttr>(constant.getValue()); dense && dense.isSplat()) {
      TypedAttr number;
      if (isa<FloatType>(type))
        number = FloatAttr::get(type, dense.getSplatValue<APFloat>());
      else
        number = IntegerAttr::get(signless(type), dense.getSplatValue<APInt>());
      return LLVM::ConstantOp::create(s.b, number.getType(), number).getResult();
    }
  FailureOr<Value> base = pointer(root);
  if (failed(base))
    return failure();
  return s.loadElement(type, *base);
}

LogicalResult ScheduleEmitter::setElement(Value result, Value element) {
  if (plan.isRegister(result)) {
    registers[result] = element;
    return success();
  }
  FailureOr<Value> to = place(result);
  if (succeeded(to))
    s.storeElement(element, *to);
  return to;
}

LogicalResult ScheduleEmitter::copyTo(Value to, Value value) {
  if (isOneElement(value.getType()) && plan.isRegister(plan.root(value))) {
    FailureOr<Value> only = element(value);
    if (succeeded(only))
      s.storeElement(*only, to);
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
  SmallVector<DimExpr> slotBytes;
  SmallVector<int> inLoops;
  int64_t onStack = 0;
  for (int i = 0; i < plan.numSlots(); ++i) {
    const Slot &slot = plan.slot(i);
    if (slot.kind != Slot::Kind::Planned || slot.mergedInto >= 0 || slot.last < 0)
      continue;
    if (plan.usesRegisters() && slot.bytes.isConstant() && slot.bytes.constant() <= kStackSlotBytes) {
      int64_t words = std::max<int64_t>(8, llvm::alignTo(slot.bytes.constant(), 64) / 8);
      if (onStack + words * 8 <= kStackBytes) {
        onStack += words * 8;
        fixedPointers[i] = s.stackWords(words);
        continue;
      }
    }
    if (slot.inLoop && plan.usesRegisters())
      inLoops.push_back(i);
    arenaIndex[i] = static_cast<int>(slotBytes.size());
    lives.push_back(slot.first);
    lives.push_back(slot.last);
    slotBytes.push_back(slot.bytes);
  }
  auto count = static_cast<int64_t>(slotBytes.size());
  if (count == 0)
    return;
  offsets = s.stackWords(count);
  Value table;
  if (llvm::all_of(slotBytes, [](DimExpr size) { return size.isConstant(); })) {
    table = s.constantArray(llvm::map_to_vector(slotBytes, [](DimExpr size) { return size.constant(); }));
  } else {
    table = s.stackWords(count);
    for (auto [i, size] : llvm::enumerate(slotBytes)) {
      // A product of sizes is computed with an overflow check; a sum or the like is not.
      SmallVector<Value> factors;
      if (size.kind() == DimExpr::Kind::Mul)
        factors = llvm::map_to_vector(size.operands(), [&](DimExpr factor) { return s.materialize(factor); });
      else
        factors = {s.materialize(size)};
      s.store(s.checkedProduct(factors), table, static_cast<int64_t>(i) * 8);
    }
  }
  arena = s.plan(s.constantArray(lives), count, table, offsets);
  // No trip looks its buffers up again.
  for (int slot : inLoops) {
    Value known = slotPointer(slot);
    fixedPointers[slot] = known;
  }
}

void ScheduleEmitter::bindInputs() {
  for (BlockArgument argument : function.getArguments()) {
    int64_t slot = static_cast<int64_t>(sizeof(sinter_tensor_slot)) * argument.getArgNumber();
    pointers[argument] = s.load(s.ptrType, s.inputs, slot + static_cast<int64_t>(offsetof(sinter_tensor_slot, data)));
    bindFresh(argument, [&](int64_t axis) {
      return s.load(s.i64Type, s.inputs, slot + static_cast<int64_t>(offsetof(sinter_tensor_slot, dims)) + axis * 8);
    });
  }
  for (BlockArgument argument : function.getArguments()) {
    if (plan.isRegister(argument))
      registers[argument] = s.loadElement(getElementTypeOrSelf(argument.getType()), pointers.lookup(argument));
    define(argument);
  }
}

//===- ops -----------------------------------------------------------------------------------------===//

LogicalResult ScheduleEmitter::run() {
  bindInputs();
  for (Operation &op : function.getBody().front())
    emitChecks(&op, /*early=*/true);
  placeArena();
  size_t words = 1;
  for (const auto &entry : launches) {
    auto kernel = cast<KernelOp>(entry.first);
    words = std::max(words, kernel.getNumOperands() + kernel.getNumResults() + entry.second.symbols.size() + 2);
  }
  arguments = s.stackWords(static_cast<int64_t>(words));
  placeOutputs();
  Block &body = function.getBody().front();
  if (failed(emitBlock(body)) || failed(emitReturn(body.getTerminator())))
    return failure();
  s.finish();
  return success();
}

LogicalResult ScheduleEmitter::emitBlock(Block &block) {
  for (Operation &op : block.without_terminator()) {
    s.b.setLoc(op.getLoc());
    if (&op == plan.firstCommit())
      s.beginCommit();
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
  if (found == checks.end())
    return;
  for (const SizeCheck &check : found->second) {
    std::tuple key{static_cast<int>(check.kind), check.size.getOpaqueValue(), check.wanted.getOpaqueValue()};
    if (!s.isBound(check.size) || !s.isBound(check.wanted) || checkedEarly.contains(key))
      continue;
    if (early)
      checkedEarly.insert(key);
    using Predicate = LLVM::ICmpPredicate;
    bool isLimit = check.kind == SizeCheck::Kind::AtLeast;
    Value size = s.materialize(check.size), wanted = s.materialize(check.wanted);
    Value fits = s.compare(isLimit ? Predicate::sge : Predicate::eq, size, wanted);
    if (check.kind == SizeCheck::Kind::EqualOrOne)
      fits = LLVM::OrOp::create(s.b, fits, s.compare(Predicate::eq, size, s.i64(1)));
    Block *next = s.newBlock(), *refused = s.newBlock();
    s.branch(fits, next, {}, refused, {});
    s.enter(refused);
    s.fail(SINTER_INVALID_ARGUMENT, check.message, wanted, size);
    s.enter(next);
  }
}

LogicalResult ScheduleEmitter::emitOp(Operation *op) {
  if (isa<ConstantOp>(op))
    return success();
  emitChecks(op);
  if (auto kernel = dyn_cast<KernelOp>(op))
    return emitKernel(kernel);
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

LogicalResult ScheduleEmitter::emitKernel(KernelOp kernel) {
  auto found = launches.find(kernel);
  if (found == launches.end())
    return emitScalarKernel(kernel);
  const KernelLaunch &launch = found->second;
  KernelCode &code = codes[launch.code];
  int64_t word = 0;
  auto pass = [&](Value value) { s.store(value, arguments, 8 * word++); };

  // Everything is computed before the first argument is stored: placing may take branches, and these may launch.
  SmallVector<Value> values;
  bool updatesZeros = code.emitted.updates >= 0 && isZero(kernel.getInputs()[code.emitted.updates]);
  for (auto [i, input] : llvm::enumerate(kernel.getInputs())) {
    if (updatesZeros && static_cast<int64_t>(i) == code.emitted.updates) {
      values.emplace_back(); // the result's own memory, which starts as zeros
      continue;
    }
    const Packing *packing = llvm::find_if(launch.packed, [&](const Packing &packing) { return packing.input == i; });
    if (packing != launch.packed.end()) {
      FailureOr<int64_t> offset = weights.add(input.getDefiningOp<ConstantOp>().getValue(), *packing);
      if (failed(offset))
        return kernel.emitOpError("requires a dense or dense_resource constant to pack");
      values.push_back(s.offset(s.weights, *offset));
      continue;
    }
    FailureOr<Value> base = pointer(input);
    if (failed(base))
      return failure();
    values.push_back(*base);
  }
  for (auto [i, result] : llvm::enumerate(kernel.getResults())) {
    FailureOr<Value> base;
    if (code.emitted.writesSizes) {
      int64_t width = byteWidth(cast<RankedTensorType>(result.getType()).getElementType());
      base = pointers[result] = s.acquire(s.checkedProduct({s.materialize(launch.capacity[i]), s.i64(width)}));
    } else {
      if (failed(requireKnownSizes(result)))
        return failure();
      base = place(result);
    }
    if (failed(base))
      return failure();
    values.push_back(*base);
  }
  Value written;
  if (code.emitted.writesSizes) {
    written = s.stackWords(static_cast<int64_t>(launch.writtenSizes.size()));
    values.push_back(written);
  }
  int workspace = plan.workspaceOf(kernel);
  bool acquired = workspace >= 0 && plan.slot(workspace).kind == Slot::Kind::Dynamic;
  if (workspace >= 0)
    values.push_back(acquired ? s.acquire(s.materialize(launch.workspaceBytes)) : slotPointer(workspace));
  Value scratch = acquired ? values.back() : Value();
  for (DimExpr size : launch.symbols)
    values.push_back(size && s.isBound(size) ? s.materialize(size) : s.i64(-1));
  if (int64_t updates = code.emitted.updates; updatesZeros) {
    values[updates] = values[kernel.getInputs().size()];
    s.clear(values[updates], bytes(kernel.getResult(0)));
  } else if (updates >= 0) {
    Value input = kernel.getInputs()[updates], result = kernel.getResult(0);
    if (!plan.sharePlace(plan.root(input), plan.root(result)) && plan.takenOver(result) != plan.root(input))
      s.copy(values[kernel.getInputs().size()], values[updates], bytes(result));
  }
  Value chunks = s.materialize(launch.chunks);
  bool inParallel = !(launch.chunks.isConstant() && launch.chunks.constant() <= 1) &&
                    !(code.emitted.estimatedNs > 0 && code.emitted.estimatedNs < kInlineNs);
  if (inParallel) {
    code.calledInParallel = true;
    for (Value value : values)
      pass(value);
    s.launch(code.name, arguments, chunks);
  } else {
    ++code.directCalls;
    values.append({s.i64(0), chunks});
    s.call(code.bodyName(), values);
  }
  if (acquired)
    s.release(scratch);
  for (Value result : kernel.getResults())
    if (plan.isRegister(result))
      registers[result] = s.loadElement(getElementTypeOrSelf(result.getType()),
                                        code.emitted.writesSizes ? pointers.lookup(result) : spills.lookup(result));
  for (auto [i, place] : llvm::enumerate(launch.writtenSizes)) {
    DimExpr size = plan.dims(kernel.getResult(place.first))[place.second];
    if (size.kind() == DimExpr::Kind::Symbol && !s.isBound(size))
      s.bind(size.symbol(), s.load(s.i64Type, written, static_cast<int64_t>(i) * 8));
  }
  return success();
}

LogicalResult ScheduleEmitter::emitReturn(Operation *op) {
  for (OpOperand &operand : op->getOpOperands()) {
    Value root = plan.root(operand.get());
    unsigned index = operand.getOperandNumber();
    int slot = plan.slotOf(root);
    if (slot >= 0 && plan.slot(slot).kind == Slot::Kind::Output && plan.slot(slot).output == index &&
        !lateOutputs.contains(index))
      continue;
    if (failed(requireKnownSizes(operand.get())))
      return failure();
    Value to = storageOf(index, operand.get());
    if (root != plan.writtenOverState(index) && failed(copyTo(to, operand.get())))
      return failure();
  }
  return success();
}

//===- entry ---------------------------------------------------------------------------------------===//

static std::string nameOf(DictionaryAttr attributes, const Twine &otherwise) {
  if (attributes)
    if (auto name = attributes.getAs<StringAttr>("sinter.name"))
      return name.str();
  return otherwise.str();
}

static Signature makeSignature(func::FuncOp function, StringRef entry, SchedulePlan &plan, DimContext &context) {
  Signature signature;
  signature.name = nameOf(function->getAttrDictionary(), function.getName());
  signature.entry = entry.str();
  llvm::DenseMap<const void *, int64_t> numbers;
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    Signature::Tensor input{
        nameOf(function.getArgAttrDict(i), "input" + Twine(i)), getElementTypeOrSelf(argument.getType()), {}};
    for (auto [axis, size] : llvm::enumerate(plan.dims(argument))) {
      if (size.isConstant()) {
        input.dims.push_back(size.constant());
        continue;
      }
      auto [it, isNew] = numbers.try_emplace(size.getOpaqueValue(), static_cast<int64_t>(signature.symbols.size()));
      if (isNew) {
        std::string name = size.kind() == DimExpr::Kind::Symbol ? context.name(size.symbol()).str() : "";
        signature.symbols.push_back(name.empty() ? (input.name + "_" + Twine(axis)).str() : name);
      }
      input.dims.push_back(-1 - it->second);
    }
    signature.inputs.push_back(std::move(input));
  }
  for (OpOperand &operand : function.getBody().front().getTerminator()->getOpOperands()) {
    unsigned i = operand.getOperandNumber();
    Signature::Tensor output{
        nameOf(function.getResultAttrDict(i), "output" + Twine(i)), getElementTypeOrSelf(operand.get().getType()), {}};
    for (DimExpr size : plan.dims(operand.get())) {
      auto it = numbers.find(size.getOpaqueValue());
      output.dims.push_back(size.isConstant()     ? size.constant()
                            : it != numbers.end() ? -1 - it->second
                                                  : ShapedType::kDynamic);
    }
    signature.outputs.push_back(std::move(output));
  }
  return signature;
}

/// Fills `signature.states` from the attributes of arguments and results; first values become weights.
static LogicalResult findStates(func::FuncOp function, const SchedulePlan &plan, Signature &signature,
                                Weights &weights) {
  llvm::StringMap<size_t> byName;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto name = function.getArgAttrOfType<StringAttr>(i, "sinter.state");
    if (!name)
      continue;
    auto type = cast<RankedTensorType>(function.getArgumentTypes()[i]);
    if (!type.hasStaticShape())
      return function.emitOpError("requires fixed dims for state '") << name.getValue() << "', got " << type;
    if (!byName.try_emplace(name.getValue(), signature.states.size()).second)
      return function.emitOpError("requires one argument for state '") << name.getValue() << "', got two";
    Signature::State state;
    state.name = name.str();
    state.input = static_cast<int>(i);
    if (auto initial = function.getArgAttrOfType<ElementsAttr>(i, "sinter.initial")) {
      auto dense = dyn_cast<DenseElementsAttr>(initial);
      auto given = cast<RankedTensorType>(initial.getType());
      if (given.getShape() != type.getShape() || given.getElementType() != type.getElementType())
        return function.emitOpError("requires a first value of type ")
               << type << " for state '" << name.getValue() << "', got " << given;
      // Zeros of floats may have a sign.
      bool zeros = dense && dense.isSplat() && llvm::all_of(dense.getRawData(), [](char byte) { return byte == 0; });
      FailureOr<int64_t> offset = zeros ? FailureOr<int64_t>(-1) : weights.add(initial);
      if (failed(offset))
        return function.emitOpError("requires a dense or dense_resource first value for state '")
               << name.getValue() << "'";
      state.initial = *offset;
    }
    signature.states.push_back(std::move(state));
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto name = function.getResultAttrOfType<StringAttr>(i, "sinter.state");
    if (!name)
      continue;
    auto found = byName.find(name.getValue());
    if (found == byName.end())
      return function.emitOpError("requires an argument for state '")
             << name.getValue() << "' of result " << i << ", found none";
    Signature::State &state = signature.states[found->second];
    Type from = function.getArgumentTypes()[state.input], to = function.getResultTypes()[i];
    if (state.output >= 0 || from != to)
      return function.emitOpError("requires one result of type ")
             << from << " for state '" << name.getValue() << "', got " << (state.output >= 0 ? "two" : "another type");
    state.output = static_cast<int>(i);
    state.inPlace = plan.writtenOverState(i) != nullptr;
  }
  return success();
}

FailureOr<Signature> cpu::emitSchedule(func::FuncOp function, ModuleOp module, StringRef entry, KernelTable &kernels,
                                       Weights &weights) {
  DimContext context;
  ShapeAnalysis sizes(context);
  // Sizes of everything first: ops may still find that two symbols are equal.
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

  SizeChecks checks;
  function.walk([&](Operation *op) {
    Operation *scheduled = isa<KernelOp>(op->getParentOp()) ? op->getParentOp() : op;
    SmallVector<SizeCheck> found;
    collectSizeChecks(op, sizes, found);
    if (!found.empty())
      checks[scheduled].append(found);
  });

  bool registers = kernels.kernelOptions().optLevel > 0;
  DenseMap<Operation *, KernelLaunch> launches;
  bool ok = !function
                 .walk([&](KernelOp kernel) {
                   if (registers && isScalarKernel(kernel))
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
  SchedulePlan plan(function, sizes, launches, kernels.codes(), registers);
  ScheduleBuilder builder(module, function.getLoc(), entry, context);
  ScheduleEmitter emitter(function, builder, sizes, plan, launches, kernels.codes(), checks, weights);
  if (failed(emitter.run()))
    return failure();
  Signature signature = makeSignature(function, entry, plan, context);
  if (failed(findStates(function, plan, signature, weights)))
    return failure();
  return signature;
}

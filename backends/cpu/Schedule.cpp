// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/Schedule.h"
#include "ir/Shape.h"
#include "runtime/abi.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// Launches shorter than this run on the calling thread: waking another costs as much.
constexpr double kInlineNs = 2000;

ScheduleEmitter::ScheduleEmitter(func::FuncOp function, ScheduleBuilder &builder, ShapeAnalysis &sizes,
                                 const SchedulePlan &plan, const DenseMap<Operation *, KernelLaunch> &launches,
                                 ArrayRef<KernelCode> codes, Weights &weights)
    : function(function), s(builder), sizes(sizes), plan(plan), launches(launches), codes(codes), weights(weights) {
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
  FailureOr<Value> base = pointer(value);
  if (failed(base))
    return;
  Type element = cast<RankedTensorType>(value.getType()).getElementType();
  int64_t width = byteWidth(element);
  for (unsigned symbol : found->second) {
    Value word = s.load(s.b.getIntegerType(static_cast<unsigned>(width * 8)), *base,
                        sizes.context().source(symbol).axis * width);
    if (width < 8)
      word = isUnsigned(element) || element.isInteger(1) ? LLVM::ZExtOp::create(s.b, s.i64Type, word).getResult()
                                                         : LLVM::SExtOp::create(s.b, s.i64Type, word).getResult();
    s.bind(symbol, word);
  }
}

//===- memory --------------------------------------------------------------------------------------===//

Value ScheduleEmitter::slotPointer(int slot) {
  slot = plan.representative(slot);
  switch (plan.slot(slot).kind) {
  case Slot::Kind::Planned:
    return s.offset(arena, s.load(s.i64Type, offsets, arenaIndex.lookup(slot) * 8));
  case Slot::Kind::Output:
    return outputPointers.lookup(slot);
  case Slot::Kind::Step:
    return stepPointers.lookup(slot);
  case Slot::Kind::Dynamic:
    break;
  }
  llvm_unreachable("dynamic memory is acquired where its value is defined");
}

FailureOr<Value> ScheduleEmitter::place(Value value) {
  int slot = plan.slotOf(value);
  assert(slot >= 0 && "only values that the plan gave a slot are placed");
  Value result;
  const Slot &where = plan.slot(slot);
  if (where.kind == Slot::Kind::Output && !outputPointers.contains(slot)) {
    // The output may be a view of this value under another shape.
    Value returned = function.getBody().front().getTerminator()->getOperand(where.output);
    if (llvm::all_of(plan.dims(returned), [&](DimExpr size) { return s.isBound(size); })) {
      outputPointers[slot] = s.output(where.output, materializeDims(returned));
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
    result = s.acquire(bytes(value));
  } else {
    result = slotPointer(slot);
  }
  return pointers[value] = result;
}

FailureOr<Value> ScheduleEmitter::pointer(Value value) {
  value = plan.root(value);
  if (auto constant = value.getDefiningOp<ConstantOp>()) {
    FailureOr<int64_t> offset = weights.add(constant.getValue());
    if (failed(offset))
      return constant.emitOpError("requires a dense or dense_resource value");
    return s.offset(s.weights, *offset);
  }
  Value found = pointers.lookup(value);
  assert(found && "values are placed before they are used");
  return found;
}

void ScheduleEmitter::releaseAll(ArrayRef<Value> values) {
  for (Value value : values)
    s.release(pointers.lookup(value));
}

void ScheduleEmitter::placeArena() {
  SmallVector<int32_t> lives;
  SmallVector<DimExpr> slotBytes;
  for (int i = 0; i < plan.numSlots(); ++i) {
    const Slot &slot = plan.slot(i);
    if (slot.kind != Slot::Kind::Planned || slot.mergedInto >= 0 || slot.last < 0)
      continue;
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
}

void ScheduleEmitter::bindInputs() {
  for (BlockArgument argument : function.getArguments()) {
    int64_t slot = static_cast<int64_t>(sizeof(sinter_tensor_slot)) * argument.getArgNumber();
    pointers[argument] = s.load(s.ptrType, s.inputs, slot + static_cast<int64_t>(offsetof(sinter_tensor_slot, data)));
    bindFresh(argument, [&](int64_t axis) {
      return s.load(s.i64Type, s.inputs, slot + static_cast<int64_t>(offsetof(sinter_tensor_slot, dims)) + axis * 8);
    });
  }
  for (BlockArgument argument : function.getArguments())
    define(argument);
}

//===- ops -----------------------------------------------------------------------------------------===//

LogicalResult ScheduleEmitter::run() {
  bindInputs();
  placeArena();
  size_t words = 1;
  for (const auto &entry : launches) {
    auto kernel = cast<KernelOp>(entry.first);
    words = std::max(words, kernel.getNumOperands() + kernel.getNumResults() + entry.second.symbols.size() + 2);
  }
  arguments = s.stackWords(static_cast<int64_t>(words));
  Block &body = function.getBody().front();
  if (failed(emitBlock(body)) || failed(emitReturn(body.getTerminator())))
    return failure();
  s.finish();
  return success();
}

LogicalResult ScheduleEmitter::emitBlock(Block &block) {
  for (Operation &op : block.without_terminator()) {
    s.b.setLoc(op.getLoc());
    if (failed(emitOp(&op)))
      return failure();
    if (!isa<ConstantOp>(op))
      for (Value result : op.getResults())
        define(result);
    releaseAll(plan.releasedAfter(&op));
  }
  return success();
}

LogicalResult ScheduleEmitter::emitOp(Operation *op) {
  if (isa<ConstantOp>(op))
    return success();
  if (auto kernel = dyn_cast<KernelOp>(op))
    return emitKernel(kernel);
  if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    if (Value shape = reshape.getShape()) {
      FailureOr<Value> base = pointer(shape);
      if (failed(base))
        return failure();
      bindFresh(reshape.getResult(), [&](int64_t axis) { return s.load(s.i64Type, *base, axis * 8); });
    }
    return requireKnownSizes(reshape.getResult());
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
  FailureOr<Value> to = place(result);
  Dims dims = plan.dims(of);
  for (auto [i, axis] : llvm::enumerate(axes))
    s.store(s.materialize(dims[axis]), *to, static_cast<int64_t>(i) * 8);
}

LogicalResult ScheduleEmitter::emitKernel(KernelOp kernel) {
  const KernelLaunch &launch = launches.find(kernel)->second;
  const KernelCode &code = codes[launch.code];
  int64_t word = 0;
  auto pass = [&](Value value) { s.store(value, arguments, 8 * word++); };

  // Everything is computed before the first argument is stored: placing may take branches, and these may launch.
  SmallVector<Value> values;
  for (auto [i, input] : llvm::enumerate(kernel.getInputs())) {
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
  Value chunks = s.materialize(launch.chunks);
  for (Value value : values)
    pass(value);

  bool inParallel = !(launch.chunks.isConstant() && launch.chunks.constant() <= 1) &&
                    !(code.emitted.estimatedNs > 0 && code.emitted.estimatedNs < kInlineNs);
  s.launch(code.name, arguments, chunks, inParallel);
  if (acquired)
    s.release(scratch);
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
    FailureOr<Value> from = pointer(root);
    if (failed(from) || failed(requireKnownSizes(operand.get())))
      return failure();
    Value to = s.output(index, materializeDims(operand.get()));
    s.copy(to, *from, bytes(operand.get()));
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
static LogicalResult findStates(func::FuncOp function, Signature &signature, Weights &weights) {
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
        return function.emitOpError("requires a first value of type ") << type << " for state '" << name.getValue() << "', got " << given;
      // Zeros of floats may have a sign.
      bool zeros = dense && dense.isSplat() && llvm::all_of(dense.getRawData(), [](char byte) { return byte == 0; });
      FailureOr<int64_t> offset = zeros ? FailureOr<int64_t>(-1) : weights.add(initial);
      if (failed(offset))
        return function.emitOpError("requires a dense or dense_resource first value for state '") << name.getValue() << "'";
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
      return function.emitOpError("requires an argument for state '") << name.getValue() << "' of result " << i << ", found none";
    Signature::State &state = signature.states[found->second];
    Type from = function.getArgumentTypes()[state.input], to = function.getResultTypes()[i];
    if (state.output >= 0 || from != to)
      return function.emitOpError("requires one result of type ") << from << " for state '" << name.getValue() << "', got "
             << (state.output >= 0 ? "two" : "another type");
    state.output = static_cast<int>(i);
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

  DenseMap<Operation *, KernelLaunch> launches;
  bool ok = !function
                 .walk([&](KernelOp kernel) {
                   FailureOr<KernelLaunch> launch = kernels.add(kernel, sizes);
                   if (failed(launch))
                     return WalkResult::interrupt();
                   launches[kernel] = std::move(*launch);
                   return WalkResult::advance();
                 })
                 .wasInterrupted();
  if (!ok)
    return failure();
  SchedulePlan plan(function, sizes, launches, kernels.codes());
  ScheduleBuilder builder(module, function.getLoc(), entry, context);
  for (const KernelCode &code : kernels.codes()) {
    // Each entry module declares what it calls.
    if (module.lookupSymbol(code.name))
      continue;
    OpBuilder::InsertionGuard guard(builder.b);
    builder.b.setInsertionPointToStart(module.getBody());
    auto type = LLVM::LLVMFunctionType::get(builder.i32Type,
                                            {builder.ptrType, builder.ptrType, builder.i64Type, builder.i64Type});
    auto declared = LLVM::LLVMFuncOp::create(builder.b, code.name, type);
    declared.setVisibility_(LLVM::Visibility::Hidden);
  }
  ScheduleEmitter emitter(function, builder, sizes, plan, launches, kernels.codes(), weights);
  if (failed(emitter.run()))
    return failure();
  Signature signature = makeSignature(function, entry, plan, context);
  if (failed(findStates(function, signature, weights)))
    return failure();
  return signature;
}

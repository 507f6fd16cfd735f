// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/schedule/Signature.h"
#include "backends/schedule/SchedulePlan.h"
#include "ir/Shapes.h"
#include "runtime/abi.h"
#include "runtime/dtypes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::schedule;

static std::string nameOf(DictionaryAttr attributes, const Twine &otherwise) {
  if (attributes)
    if (auto name = attributes.getAs<StringAttr>("sinter.name"))
      return name.str();
  return otherwise.str();
}

static Signature describe(func::FuncOp function, StringRef entry, const SchedulePlan &plan, const DimContext &context) {
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

FailureOr<Signature> schedule::makeSignature(func::FuncOp function, StringRef entry, const SchedulePlan &plan,
                                             const DimContext &context, Weights &weights, bool statesOnDevice) {
  Signature signature = describe(function, entry, plan, context);
  if (failed(findStates(function, plan, signature, weights)))
    return failure();
  for (Signature::State &state : signature.states)
    state.onDevice = statesOnDevice;
  return signature;
}

int32_t schedule::dtypeOf(Type type) {
  if (isa<Float8E4M3FNType, Float8E5M2Type>(type))
    return isa<Float8E5M2Type>(type) ? SINTER_F8E5M2 : SINTER_F8E4M3FN;
  if (auto real = dyn_cast<FloatType>(type))
    return real.isF64() ? SINTER_F64 : real.isF32() ? SINTER_F32 : real.isBF16() ? SINTER_BF16 : SINTER_F16;
  unsigned width = type.getIntOrFloatBitWidth();
  bool negative = !isUnsigned(type);
  switch (width) {
  case 1:
    return SINTER_I1;
  case 4:
    return negative ? SINTER_I4 : SINTER_U4;
  case 8:
    return negative ? SINTER_I8 : SINTER_U8;
  case 16:
    return negative ? SINTER_I16 : SINTER_U16;
  case 32:
    return negative ? SINTER_I32 : SINTER_U32;
  default:
    return negative ? SINTER_I64 : SINTER_U64;
  }
}

std::string schedule::symbolName(StringRef text) {
  std::string name = text.str();
  for (char &c : name)
    if (!llvm::isAlnum(c) && c != '_')
      c = '_';
  return name;
}

std::string schedule::plainName(ArrayRef<Signature> functions, size_t index, StringRef stem) {
  return functions.size() == 1 ? stem.str() : (stem + "_" + symbolName(functions[index].name)).str();
}

bool schedule::hasStates(ArrayRef<Signature> functions) {
  return llvm::any_of(functions, [](const Signature &function) { return !function.states.empty(); });
}

bool schedule::hasSeed(ArrayRef<Signature> functions) {
  return llvm::any_of(functions.front().states, [](const Signature::State &s) { return s.name == SINTER_SEED_STATE; });
}

SmallVector<bool> schedule::statePlaces(const Signature &function, bool outputs) {
  SmallVector<bool> places((outputs ? function.outputs : function.inputs).size());
  for (const Signature::State &state : function.states)
    if (int place = outputs ? state.output : state.input; place >= 0)
      places[place] = true;
  return places;
}

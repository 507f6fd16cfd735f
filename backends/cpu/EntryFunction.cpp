// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/EntryFunction.h"
#include "ir/Shapes.h"
#include "ir/SizeArithmetic.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "runtime/device.h"
#include <cstddef>
#include <limits>

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

EntryFunction::EntryFunction(ModuleOp module, Location loc, StringRef name)
    : b(loc, module.getContext()), module(module) {
  i32Type = b.getI32Type();
  i64Type = b.getI64Type();
  ptrType = LLVM::LLVMPointerType::get(b.getContext());
  b.setInsertionPointToEnd(module.getBody());
  function = LLVM::LLVMFuncOp::create(b, name, LLVM::LLVMFunctionType::get(i32Type, SmallVector<Type>(5, ptrType)),
                                      LLVM::Linkage::External);
  entry = function.addEntryBlock(b);
  ctx = entry->getArgument(0);
  inputs = entry->getArgument(1);
  weights = entry->getArgument(4);
  exit = new Block();
  function.getBody().push_back(exit);
  exit->addArgument(i32Type, loc);
  b.setInsertionPointToEnd(exit);
  LLVM::ReturnOp::create(b, exit->getArgument(0));
  enter(entry);
}

//===- arithmetic ----------------------------------------------------------------------------------===//

Value EntryFunction::i64(int64_t value) { return LLVM::ConstantOp::create(b, i64Type, b.getI64IntegerAttr(value)); }

Value EntryFunction::add(Value x, Value y) { return LLVM::AddOp::create(b, x, y); }
Value EntryFunction::sub(Value x, Value y) { return LLVM::SubOp::create(b, x, y); }
Value EntryFunction::mul(Value x, Value y) { return LLVM::MulOp::create(b, x, y); }

Value EntryFunction::compare(LLVM::ICmpPredicate predicate, Value x, Value y) {
  return LLVM::ICmpOp::create(b, predicate, x, y);
}

Value EntryFunction::select(Value condition, Value x, Value y) { return LLVM::SelectOp::create(b, condition, x, y); }

Value EntryFunction::checkedProduct(ArrayRef<Value> factors) {
  int64_t constant = 1;
  bool overflow = false;
  SmallVector<Value> rest;
  for (Value factor : factors) {
    if (auto value = getConstantIntValue(factor))
      overflow |= *value < 0 || __builtin_mul_overflow(constant, *value, &constant);
    else
      rest.push_back(factor);
  }
  if (overflow)
    return i64(-1);
  Value product = i64(constant);
  Type pair = LLVM::LLVMStructType::getLiteral(b.getContext(), {i64Type, b.getI1Type()});
  for (Value factor : rest) {
    Value both = LLVM::SMulWithOverflowOp::create(b, pair, product, factor);
    Value value = LLVM::ExtractValueOp::create(b, both, 0);
    Value over = LLVM::ExtractValueOp::create(b, both, 1);
    // A negative factor, or a product that was given up before, stays negative through the or of signs.
    Value negative = compare(LLVM::ICmpPredicate::slt, LLVM::OrOp::create(b, product, factor), i64(0));
    product = select(LLVM::OrOp::create(b, over, negative), i64(-1), value);
  }
  return product;
}

//===- sizes ---------------------------------------------------------------------------------------===//

namespace {
/// Sizes in an entry function, of type i64.
class LLVMSizes {
public:
  using Value = mlir::Value;
  using Number = SizeNumber<Value>;

  explicit LLVMSizes(EntryFunction &fn) : fn(fn), b(fn.b) {}

  Value constant(int64_t number) { return fn.i64(number); }
  Value add(Value x, Value y) { return fn.add(x, y); }
  Value mul(Value x, Value y) { return fn.mul(x, y); }
  Value min(Value x, Value y) { return LLVM::SMinOp::create(b, x, y); }
  Value max(Value x, Value y) { return LLVM::SMaxOp::create(b, x, y); }
  Value quotient(Value x, Value y) { return LLVM::SDivOp::create(b, x, y); }
  Value remainder(Value x, Value y) { return LLVM::SRemOp::create(b, x, y); }
  Value isLess(Value x, Value y) { return fn.compare(LLVM::ICmpPredicate::slt, x, y); }
  Value isEqual(Value x, Value y) { return fn.compare(LLVM::ICmpPredicate::eq, x, y); }
  Value both(Value x, Value y) { return LLVM::AndOp::create(b, x, y); }
  Value either(Value x, Value y) { return LLVM::OrOp::create(b, x, y); }
  Value select(Value condition, Value x, Value y) { return fn.select(condition, x, y); }
  Value saturatingAdd(Number x, Number y) { return LLVM::SAddSat::create(b, x.value, y.value); }
  Value saturatingMul(Number x, Number y) {
    if (x.isConstant() && x.low == -1)
      return LLVM::SSubSat::create(b, constant(0), y.value);
    Type pair = LLVM::LLVMStructType::getLiteral(b.getContext(), {fn.i64Type, b.getI1Type()});
    Value both = LLVM::SMulWithOverflowOp::create(b, pair, x.value, y.value);
    Value value = LLVM::ExtractValueOp::create(b, both, 0), over = LLVM::ExtractValueOp::create(b, both, 1);
    Value negative = isLess(LLVM::XOrOp::create(b, x.value, y.value), constant(0));
    return select(over, select(negative, constant(kLeastSize), constant(kGreatestSize)), value);
  }

private:
  EntryFunction &fn;
  ImplicitLocOpBuilder &b;
};
} // namespace

Value EntryFunction::combine(DimExpr::Kind kind, Value x, Value y) {
  auto number = [](Value value) -> SizeNumber<Value> {
    if (std::optional<int64_t> known = getConstantIntValue(value))
      return {value, *known, *known};
    return {value};
  };
  LLVMSizes sizes(*this);
  return SizeArithmetic<LLVMSizes>(sizes).combine(kind, number(x), number(y)).value;
}

//===- memory --------------------------------------------------------------------------------------===//

Value EntryFunction::load(Type type, Value base, int64_t byteOffset) {
  return LLVM::LoadOp::create(b, type, offset(base, byteOffset));
}

void EntryFunction::store(Value value, Value base, int64_t byteOffset) {
  LLVM::StoreOp::create(b, value, offset(base, byteOffset));
}

Value EntryFunction::loadElement(Type elementType, Value base, int64_t byteOffset) {
  Type type = signless(elementType);
  if (!type.isInteger(1))
    return load(type, base, byteOffset);
  Value byte = load(b.getI8Type(), base, byteOffset);
  return compare(LLVM::ICmpPredicate::ne, byte, LLVM::ConstantOp::create(b, b.getI8Type(), b.getI8IntegerAttr(0)));
}

void EntryFunction::storeElement(Value element, Value base) {
  if (element.getType().isInteger(1))
    element = LLVM::ZExtOp::create(b, b.getI8Type(), element);
  store(element, base);
}

Value EntryFunction::offset(Value base, Value bytes) {
  if (getConstantIntValue(bytes) == 0)
    return base;
  return LLVM::GEPOp::create(b, ptrType, b.getI8Type(), base, ArrayRef<LLVM::GEPArg>{bytes});
}

Value EntryFunction::stackWords(int64_t count) {
  OpBuilder::InsertionGuard guard(b);
  if (lastAlloca)
    b.setInsertionPointAfter(lastAlloca);
  else
    b.setInsertionPointToStart(entry);
  Value words = LLVM::AllocaOp::create(b, ptrType, i64Type, i64(std::max<int64_t>(count, 1)), 64);
  lastAlloca = words.getDefiningOp();
  return words;
}

void EntryFunction::copy(Value to, Value from, Value bytes) {
  if (getConstantIntValue(bytes) != 0)
    LLVM::MemcpyOp::create(b, to, from, bytes, /*isVolatile=*/false);
}

void EntryFunction::clear(Value to, Value bytes) {
  Value zero = LLVM::ConstantOp::create(b, b.getI8Type(), b.getI8IntegerAttr(0));
  if (getConstantIntValue(bytes) != 0)
    LLVM::MemsetOp::create(b, to, zero, bytes, /*isVolatile=*/false);
}
void EntryFunction::copyStrided(Value to, Value toStride, Value from, Value fromStride, Value bytes, Value count) {
  if (getConstantIntValue(count) == 1)
    return copy(to, from, bytes);
  loop(count, [&](Value i) { copy(offset(to, mul(i, toStride)), offset(from, mul(i, fromStride)), bytes); });
}

Value EntryFunction::global(StringRef name, Type type, Attribute value, unsigned alignment) {
  std::string unique = (function.getName() + "_" + name + std::to_string(numGlobals++)).str();
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    LLVM::GlobalOp::create(b, type, /*isConstant=*/true, LLVM::Linkage::Internal, unique, value, alignment);
  }
  return LLVM::AddressOfOp::create(b, ptrType, unique);
}

Value EntryFunction::constantArray(ArrayRef<int32_t> values) {
  auto attr = DenseElementsAttr::get(RankedTensorType::get(values.size(), i32Type), values);
  return global("lives", LLVM::LLVMArrayType::get(i32Type, values.size()), attr, 64);
}

Value EntryFunction::constantArray(ArrayRef<int64_t> values) {
  auto attr = DenseElementsAttr::get(RankedTensorType::get(values.size(), i64Type), values);
  return global("sizes", LLVM::LLVMArrayType::get(i64Type, values.size()), attr, 64);
}

//===- runtime -------------------------------------------------------------------------------------===//

Value EntryFunction::call(int64_t field, Type result, ArrayRef<Value> arguments) {
  SmallVector<Type> types = {ptrType};
  SmallVector<Value> operands = {load(ptrType, ctx, field), ctx};
  for (Value argument : arguments) {
    types.push_back(argument.getType());
    operands.push_back(argument);
  }
  Type returned = result ? result : LLVM::LLVMVoidType::get(b.getContext());
  auto call = LLVM::CallOp::create(b, LLVM::LLVMFunctionType::get(returned, types), operands);
  return result ? call.getResult() : Value();
}

static Value isNotNull(EntryFunction &builder, Value pointer) {
  Value null = LLVM::ZeroOp::create(builder.b, builder.ptrType);
  return builder.compare(LLVM::ICmpPredicate::ne, pointer, null);
}

static Value status(EntryFunction &builder, int32_t code) {
  return LLVM::ConstantOp::create(builder.b, builder.i32Type, builder.b.getI32IntegerAttr(code));
}

Value EntryFunction::acquire(Value bytes) {
  Value buffer = call(offsetof(sinter_context, acquire), ptrType, {bytes});
  require(isNotNull(*this, buffer), [&] { return status(*this, SINTER_OUT_OF_MEMORY); });
  return buffer;
}

std::pair<Value, Value> EntryFunction::grow(Value buffer, Value used, Value needed) {
  Value capacity = stackWords(1);
  Value larger = call(offsetof(sinter_context, grow), ptrType, {buffer, used, needed, capacity});
  require(isNotNull(*this, larger), [&] { return status(*this, SINTER_OUT_OF_MEMORY); });
  return {larger, load(i64Type, capacity)};
}

void EntryFunction::release(Value buffer) { call(offsetof(sinter_context, release), Type(), {buffer}); }

Value EntryFunction::output(unsigned index, ArrayRef<Value> sizes) {
  Value words = stackWords(SINTER_MAX_RANK);
  for (auto [axis, size] : llvm::enumerate(sizes))
    store(size, words, static_cast<int64_t>(axis) * 8);
  Value storage =
      call(offsetof(sinter_context, output), ptrType,
           {status(*this, static_cast<int32_t>(index)), words, status(*this, static_cast<int32_t>(sizes.size()))});
  require(isNotNull(*this, storage), [&] { return status(*this, SINTER_OUT_OF_MEMORY); });
  return storage;
}

Value EntryFunction::plan(Value lives, int64_t count, Value bytes, Value offsets) {
  Value base = call(offsetof(sinter_context, plan), ptrType, {lives, i64(count), bytes, offsets});
  require(isNotNull(*this, base), [&] { return status(*this, SINTER_OUT_OF_MEMORY); });
  return base;
}

void EntryFunction::pollCancelled(Value trip, int64_t every) {
  if (every > 1) {
    Block *poll = newBlock(), *next = newBlock();
    Value phase = LLVM::AndOp::create(b, trip, i64(every - 1));
    branch(compare(LLVM::ICmpPredicate::eq, phase, i64(every - 1)), poll, {}, next, {});
    enter(poll);
    pollCancelled(trip, 1);
    branch(next);
    enter(next);
    return;
  }
  Value flag = LLVM::LoadOp::create(b, i32Type, offset(ctx, static_cast<int64_t>(offsetof(sinter_context, cancelled))),
                                    /*alignment=*/4, /*isVolatile=*/true);
  require(compare(LLVM::ICmpPredicate::eq, flag, status(*this, 0)), [&] { return status(*this, SINTER_CANCELLED); });
}

Value EntryFunction::threads() {
  constexpr int64_t at = offsetof(sinter_context, threads);
  Value size = load(i32Type, ctx, offsetof(sinter_context, struct_size));
  Value isThere = compare(LLVM::ICmpPredicate::uge, size, status(*this, at + sizeof(int32_t)));
  Value known = select(isThere, offset(ctx, at), ctx); // runtimes of before have it not
  return LLVM::SExtOp::create(b, i64Type, select(isThere, load(i32Type, known), status(*this, 1)));
}

void EntryFunction::beginCommit() {
  store(status(*this, 1), ctx, static_cast<int64_t>(offsetof(sinter_context, committing)));
}

Value EntryFunction::text(StringRef characters) {
  std::string terminated = characters.str() + '\0';
  return global("message", LLVM::LLVMArrayType::get(b.getI8Type(), terminated.size()), b.getStringAttr(terminated), 1);
}

void EntryFunction::fail(int32_t code, StringRef message, Value a, Value second) {
  Value result = call(offsetof(sinter_context, fail), i32Type, {status(*this, code), text(message), a, second});
  branch(exit, result);
}

/// Hidden, because every entry module declares what other objects define.
static void declareOnce(EntryFunction &builder, ModuleOp module, StringRef name, ArrayRef<Type> arguments) {
  if (module.lookupSymbol(name))
    return;
  OpBuilder::InsertionGuard guard(builder.b);
  builder.b.setInsertionPointToStart(module.getBody());
  auto function = LLVM::LLVMFuncOp::create(builder.b, name, LLVM::LLVMFunctionType::get(builder.i32Type, arguments));
  function.setVisibility_(LLVM::Visibility::Hidden);
}

void EntryFunction::callExternal(StringRef name, bool prints, ArrayRef<int32_t> layout, Value words) {
  Value address = LLVM::ZeroOp::create(b, ptrType);
  if (!prints) {
    if (!module.lookupSymbol(name)) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(module.getBody());
      LLVM::LLVMFuncOp::create(b, name,
                               LLVM::LLVMFunctionType::get(i32Type, {i32Type, ptrType, i32Type, ptrType, ptrType}));
    }
    address = LLVM::AddressOfOp::create(b, ptrType, name);
  }
  Value result = call(offsetof(sinter_context, external), i32Type, {text(name), address, constantArray(layout), words});
  require(compare(LLVM::ICmpPredicate::eq, result, status(*this, 0)), [&] { return result; });
}

Value EntryFunction::addressOf(StringRef kernel) {
  declareOnce(*this, module, kernel, {ptrType, ptrType, i64Type, i64Type});
  return LLVM::AddressOfOp::create(b, ptrType, kernel);
}

void EntryFunction::launch(StringRef kernel, Value args, Value chunks, StringRef counted, Value forks) {
  Value address = addressOf(kernel);
  if (forks && counted.empty()) {
    Block *isShort = newBlock(), *here = newBlock(), *elsewhere = newBlock(), *done = newBlock();
    branch(compare(LLVM::ICmpPredicate::eq, forks, i64(0)), isShort, {}, elsewhere, {});
    enter(isShort); // no kernel is called for nothing
    branch(compare(LLVM::ICmpPredicate::eq, chunks, i64(0)), done, {}, here, {});
    enter(here);
    call(kernel, {ctx, args, i64(0), chunks});
    branch(done);
    enter(elsewhere);
    launch(kernel, args, chunks, counted);
    branch(done);
    return enter(done);
  }
  Value result = counted.empty()
                     ? call(offsetof(sinter_context, parallel), i32Type, {address, args, chunks})
                     : call(offsetof(sinter_context, measure), i32Type, {text(counted), address, args, chunks});
  require(compare(LLVM::ICmpPredicate::eq, result, status(*this, 0)), [&] { return result; });
}

void EntryFunction::repeat(StringRef kernel, Value args, Value chunks, Value step, Value steps) {
  Value result = call(offsetof(sinter_context, repeat), i32Type, {addressOf(kernel), args, chunks, step, steps});
  require(compare(LLVM::ICmpPredicate::eq, result, status(*this, 0)), [&] { return result; });
}

void EntryFunction::call(StringRef kernel, ArrayRef<Value> arguments) {
  declareOnce(*this, module, kernel, llvm::map_to_vector(arguments, [](Value value) { return value.getType(); }));
  Value result = LLVM::CallOp::create(b, i32Type, kernel, arguments).getResult();
  require(compare(LLVM::ICmpPredicate::eq, result, status(*this, 0)), [&] { return result; });
}

//===- other back ends -----------------------------------------------------------------------------===//

Value EntryFunction::callDevice(StringRef device, int64_t field, Type result, ArrayRef<Value> arguments) {
  std::string symbol = ("sinter_device_" + device).str();
  if (!module.lookupSymbol(symbol)) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    LLVM::GlobalOp::create(b, b.getI64Type(), /*isConstant=*/true, LLVM::Linkage::External, symbol, Attribute(), 8);
  }
  Value table = LLVM::AddressOfOp::create(b, ptrType, symbol);
  SmallVector<Type> types = {ptrType, ptrType};
  SmallVector<Value> operands = {load(ptrType, table, field), table, ctx};
  for (Value argument : arguments) {
    types.push_back(argument.getType());
    operands.push_back(argument);
  }
  Type returned = result ? result : LLVM::LLVMVoidType::get(b.getContext());
  auto made = LLVM::CallOp::create(b, LLVM::LLVMFunctionType::get(returned, types), operands);
  if (!result)
    return Value();
  Value value = made.getResult();
  if (result == i32Type)
    require(compare(LLVM::ICmpPredicate::eq, value, status(*this, 0)), [&] { return value; });
  else
    require(isNotNull(*this, value), [&] { return status(*this, SINTER_OUT_OF_MEMORY); });
  return value;
}

void EntryFunction::beginDevice(StringRef device) { callDevice(device, offsetof(sinter_device, begin), i32Type, {}); }

Value EntryFunction::acquireOn(StringRef device, Value bytes) {
  return callDevice(device, offsetof(sinter_device, acquire), ptrType, {bytes});
}

Value EntryFunction::placeOn(StringRef device, Value bytes, Value at) {
  return callDevice(device, offsetof(sinter_device, place), ptrType, {bytes, at});
}

void EntryFunction::releaseOn(StringRef device, Value buffer) {
  callDevice(device, offsetof(sinter_device, release), Type(), {buffer});
}

Value EntryFunction::weightOn(StringRef device, int64_t offset) {
  return callDevice(device, offsetof(sinter_device, weight), ptrType, {i64(offset)});
}

void EntryFunction::copyOn(StringRef device, Value to, Value from, Value bytes, int32_t direction) {
  callDevice(device, offsetof(sinter_device, copy), i32Type, {to, from, bytes, status(*this, direction)});
}

void EntryFunction::clearOn(StringRef device, Value to, Value bytes) {
  callDevice(device, offsetof(sinter_device, clear), i32Type, {to, bytes});
}

void EntryFunction::launchOn(StringRef device, StringRef kernel, Value args, ArrayRef<uint8_t> roles, Value chunks,
                             bool ordered) {
  auto text = [&](StringRef name, std::string bytes) {
    return global(name, LLVM::LLVMArrayType::get(b.getI8Type(), bytes.size()), b.getStringAttr(bytes), 1);
  };
  Value name = text("kernel", kernel.str() + '\0');
  Value words = text("roles", std::string(roles.begin(), roles.end()) + '\0');
  callDevice(device, offsetof(sinter_device, launch), i32Type,
             {name, args, words, i64(static_cast<int64_t>(roles.size())), chunks, status(*this, ordered)});
}

void EntryFunction::waitOn(StringRef device, Value buffer) {
  callDevice(device, offsetof(sinter_device, wait), i32Type, {buffer});
}

void EntryFunction::controlOn(StringRef device, int32_t part, Value buffer, Value limit) {
  if (!buffer)
    buffer = LLVM::ZeroOp::create(b, ptrType);
  if (!limit)
    limit = i64(-1);
  callDevice(device, offsetof(sinter_device, control), i32Type, {status(*this, part), buffer, limit});
}

//===- control flow --------------------------------------------------------------------------------===//

Block *EntryFunction::newBlock(ArrayRef<Type> arguments) {
  auto *block = new Block();
  function.getBody().getBlocks().insert(exit->getIterator(), block);
  for (Type type : arguments)
    block->addArgument(type, b.getLoc());
  return block;
}

void EntryFunction::branch(Block *to, ValueRange values) { LLVM::BrOp::create(b, values, to); }

void EntryFunction::branch(Value condition, Block *ifTrue, ValueRange trueValues, Block *ifFalse,
                           ValueRange falseValues) {
  LLVM::CondBrOp::create(b, condition, ifTrue, trueValues, ifFalse, falseValues);
}

void EntryFunction::require(Value condition, function_ref<Value()> status) {
  Value code = status();
  Block *next = newBlock();
  branch(condition, next, {}, exit, code);
  enter(next);
}

void EntryFunction::loop(Value count, function_ref<void(Value)> body) {
  Block *header = newBlock(i64Type), *inside = newBlock(), *after = newBlock();
  branch(header, i64(0));
  enter(header);
  Value i = header->getArgument(0);
  branch(compare(LLVM::ICmpPredicate::slt, i, count), inside, {}, after, {});
  enter(inside);
  body(i);
  branch(header, add(i, i64(1)));
  enter(after);
}

void EntryFunction::finish() { branch(exit, status(*this, SINTER_OK)); }

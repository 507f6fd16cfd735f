// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/schedule/Builder.h"
#include "ir/Shapes.h"
#include "ir/SizeArithmetic.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::schedule;

ScheduleBuilder::ScheduleBuilder(ModuleOp module, Location loc, StringRef name, unsigned inputs, unsigned outputs,
                                 DimContext &dims, StringRef memory)
    : b(loc, module.getContext()), dims(dims), outermost(known) {
  i64Type = b.getI64Type();
  bufferType = BufferType::get(b.getContext(), {});
  memoryType = memory.empty() ? bufferType : BufferType::get(b.getContext(), b.getStringAttr(memory));
  b.setInsertionPointToEnd(module.getBody());
  function = FunctionOp::create(b, name, inputs, outputs);
  b.setInsertionPointToStart(&function.getBody().emplaceBlock());
}

template <typename Make> Value ScheduleBuilder::atBegin(Make make) {
  OpBuilder::InsertionGuard guard(b);
  if (lastAtBegin)
    b.setInsertionPointAfter(lastAtBegin);
  else
    b.setInsertionPointToStart(&function.getBody().front());
  Value made = make();
  lastAtBegin = made.getDefiningOp();
  return made;
}

//===- arithmetic ----------------------------------------------------------------------------------===//

Value ScheduleBuilder::i64(int64_t value) {
  // The map's own keys for "empty" and "deleted" are the two largest numbers.
  if (value >= std::numeric_limits<int64_t>::max() - 1)
    return atBegin([&] { return arith::ConstantIntOp::create(b, i64Type, value).getResult(); });
  Value &constant = constants[value];
  if (!constant)
    constant = atBegin([&] { return arith::ConstantIntOp::create(b, i64Type, value).getResult(); });
  return constant;
}

Value ScheduleBuilder::add(Value x, Value y) {
  auto cx = getConstantIntValue(x), cy = getConstantIntValue(y);
  if (cx && cy)
    return i64(*cx + *cy);
  if (cx == 0)
    return y;
  if (cy == 0)
    return x;
  return arith::AddIOp::create(b, x, y);
}

Value ScheduleBuilder::sub(Value x, Value y) {
  auto cx = getConstantIntValue(x), cy = getConstantIntValue(y);
  if (cx && cy)
    return i64(*cx - *cy);
  if (cy == 0)
    return x;
  return arith::SubIOp::create(b, x, y);
}

Value ScheduleBuilder::mul(Value x, Value y) {
  auto cx = getConstantIntValue(x), cy = getConstantIntValue(y);
  if (cx && cy)
    return i64(*cx * *cy);
  if (cx == 1)
    return y;
  if (cy == 1)
    return x;
  return arith::MulIOp::create(b, x, y);
}

Value ScheduleBuilder::compare(arith::CmpIPredicate predicate, Value x, Value y) {
  return arith::CmpIOp::create(b, predicate, x, y);
}

Value ScheduleBuilder::select(Value condition, Value x, Value y) { return arith::SelectOp::create(b, condition, x, y); }

Value ScheduleBuilder::checkedProduct(ArrayRef<Value> factors) {
  int64_t product = 1;
  for (Value factor : factors) {
    std::optional<int64_t> known = getConstantIntValue(factor);
    if (!known)
      return ProductOp::create(b, i64Type, factors);
    if (*known < 0 || __builtin_mul_overflow(product, *known, &product))
      return i64(-1);
  }
  return i64(product);
}

//===- sizes ---------------------------------------------------------------------------------------===//

void ScheduleBuilder::bind(unsigned symbol, Value value) {
  // The symbol itself may have been replaced by one that it equals.
  DimExpr expr = dims.symbol(dims.source(symbol));
  if (expr.kind() == DimExpr::Kind::Symbol && !known.count(expr.getOpaqueValue()))
    known.insert(expr.getOpaqueValue(), value);
}

bool ScheduleBuilder::isBound(DimExpr expr) {
  bool bound = true;
  DimContext::forEachSymbol(dims.resolve(expr), [&](unsigned symbol) {
    bound &= known.count(dims.symbol(dims.source(symbol)).getOpaqueValue()) != 0;
  });
  return bound;
}

Value ScheduleBuilder::combine(DimExpr::Kind kind, Value x, Value y) {
  if (kind == DimExpr::Kind::Add && (getConstantIntValue(x) == 0 || getConstantIntValue(y) == 0))
    return add(x, y);
  if (kind == DimExpr::Kind::Mul && (getConstantIntValue(x) == 1 || getConstantIntValue(y) == 1))
    return mul(x, y);
  return SizeOp::create(b, i64Type, sizeKind(kind), x, y);
}

Value ScheduleBuilder::materialize(DimExpr expr) {
  return buildSize<Value>(
      dims, dims.resolve(expr),
      [&](DimExpr part) { return part.isConstant() ? i64(part.constant()) : known.lookup(part.getOpaqueValue()); },
      [&](DimExpr part, Value value) { known.insert(part.getOpaqueValue(), value); },
      [](DimExpr) -> Value { llvm_unreachable("sizes are bound where their value is defined, before they are used"); },
      [&](DimExpr::Kind kind, SizeNumber<Value> x, SizeNumber<Value> y) {
        return SizeNumber<Value>{combine(kind, x.value, y.value)};
      });
}

//===- memory --------------------------------------------------------------------------------------===//

Value ScheduleBuilder::view(Value buffer, Value offset) {
  return getConstantIntValue(offset) == 0 ? buffer : ViewOp::create(b, buffer.getType(), buffer, offset).getResult();
}

Value ScheduleBuilder::load(Type elementType, Value buffer, int64_t byteOffset) {
  if (buffer.getType() != bufferType) {
    Value copied = local(8);
    copy(copied, view(buffer, i64(byteOffset)), i64(byteWidth(elementType)));
    return LoadOp::create(b, signless(elementType), copied, 0);
  }
  return LoadOp::create(b, signless(elementType), buffer, byteOffset);
}

void ScheduleBuilder::store(Value element, Value buffer, int64_t byteOffset) {
  if (buffer.getType() != bufferType) {
    Value copied = local(8);
    StoreOp::create(b, element, copied, 0);
    copy(view(buffer, i64(byteOffset)), copied, i64(byteWidth(element.getType())));
    return;
  }
  StoreOp::create(b, element, buffer, byteOffset);
}

Value ScheduleBuilder::local(int64_t bytes) {
  return atBegin([&] { return LocalOp::create(b, bufferType, std::max<int64_t>(bytes, 8)).getResult(); });
}

void ScheduleBuilder::wait(Value buffer) {
  if (buffer.getType() != bufferType)
    WaitOp::create(b, buffer);
}

void ScheduleBuilder::copy(Value to, Value from, Value bytes) {
  if (getConstantIntValue(bytes) == 0)
    return;
  if (to.getType() == bufferType)
    wait(from);
  CopyOp::create(b, from, to, bytes);
}

void ScheduleBuilder::clear(Value to, Value bytes) {
  if (getConstantIntValue(bytes) != 0)
    ClearOp::create(b, to, bytes);
}

void ScheduleBuilder::copyPieces(Value to, Value toStep, Value from, Value fromStep, Value bytes, Value count) {
  if (getConstantIntValue(count) == 1) {
    copy(to, from, bytes);
  } else {
    if (to.getType() == bufferType)
      wait(from);
    CopyPiecesOp::create(b, from, fromStep, to, toStep, bytes, count);
  }
}

void ScheduleBuilder::require(Value holds, int32_t code, StringRef message, Value first, Value second) {
  RequireOp::create(b, holds, code, message, first, second);
}

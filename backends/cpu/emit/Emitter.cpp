// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/Emitter.h"
#include "ir/Shapes.h"
#include "ir/SizeArithmetic.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

Type sinter::cpu::storageType(Type elementType) {
  Type type = signless(elementType);
  return type.isInteger(1) ? IntegerType::get(type.getContext(), 8) : type;
}

Value sinter::cpu::pointerTo(ImplicitLocOpBuilder &b, Value buffer) {
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(b, buffer);
  Value number = arith::IndexCastOp::create(b, b.getI64Type(), address);
  return LLVM::IntToPtrOp::create(b, LLVM::LLVMPointerType::get(b.getContext()), number);
}

static MemRefType bufferType(Type elementType) { return MemRefType::get({kHuge}, storageType(elementType)); }

KernelFunction::KernelFunction(KernelSpec &spec, ModuleOp module, StringRef name, Extras extras)
    : spec(spec), b(spec.kernel.getLoc(), module.getContext()), sized(extras) {
  b.setInsertionPointToEnd(module.getBody());
  SmallVector<Type> types;
  for (Value input : spec.kernel.getInputs())
    types.push_back(bufferType(getElementTypeOrSelf(input)));
  for (Value result : spec.kernel.getResults())
    types.push_back(bufferType(getElementTypeOrSelf(result)));
  if (extras.sizes)
    types.push_back(MemRefType::get({kHuge}, b.getI64Type()));
  if (extras.workspace)
    types.push_back(MemRefType::get({kHuge}, b.getI8Type()));
  types.append(spec.numSymbols() + extras.step + 2, b.getIndexType());
  function = func::FuncOp::create(b, name, b.getFunctionType(types, {b.getI32Type()}));
  // No alignment beyond that of the elements is stated: buffers are 64-byte aligned, slices that a loop reads or writes
  // where they lie need not be.
  b.setInsertionPointToStart(function.addEntryBlock());
}

Value KernelFunction::input(unsigned i) { return function.getArgument(i); }
Value KernelFunction::result(unsigned i) { return function.getArgument(spec.kernel.getInputs().size() + i); }

Value KernelFunction::sizesBuffer() {
  assert(sized.sizes && "the kernel was made with a sizes buffer");
  return function.getArgument(spec.kernel.getInputs().size() + spec.kernel.getNumResults());
}

Value KernelFunction::workspace() {
  assert(sized.workspace && "the kernel was made with a workspace");
  return function.getArgument(spec.kernel.getInputs().size() + spec.kernel.getNumResults() + sized.sizes);
}

Value KernelFunction::step() {
  assert(sized.step && "the kernel was made with steps");
  return function.getArgument(sizeArgument(spec.numSymbols()));
}

Value KernelFunction::begin() { return function.getArgument(sizeArgument(spec.numSymbols()) + sized.step); }
Value KernelFunction::end() { return function.getArgument(sizeArgument(spec.numSymbols()) + sized.step + 1); }

unsigned KernelFunction::sizeArgument(unsigned position) const {
  KernelOp kernel = spec.kernel;
  return kernel.getInputs().size() + kernel.getNumResults() + sized.sizes + sized.workspace + position;
}

Value KernelFunction::index(int64_t value) { return materialize(spec.dims.constant(value)); }

Value KernelFunction::materialize(DimExpr expr) {
  expr = spec.dims.resolve(expr);
  if (Value known = materialized.lookup(expr.getOpaqueValue()))
    return known;
  // Sizes do not change while a kernel runs: they are computed once, in the entry block.
  OpBuilder::InsertionGuard guard(b);
  if (sizesEnd)
    b.setInsertionPointAfter(sizesEnd);
  else
    b.setInsertionPointToStart(&function.getBody().front());
  ArithSizes arith(b, b.getLoc());
  auto leaf = [&](DimExpr part) -> Value {
    if (part.isConstant())
      return arith.constant(part.constant());
    unsigned position = 0;
    while (position < spec.numSymbols() && spec.dims.resolve(spec.argument(position)) != part)
      ++position;
    assert(position < spec.numSymbols() && "every symbol in a kernel is one of its arguments");
    return function.getArgument(sizeArgument(position));
  };
  Value value = buildSize<Value>(
      spec.dims, expr, [&](DimExpr part) { return materialized.lookup(part.getOpaqueValue()); },
      [&](DimExpr part, Value value) { materialized[part.getOpaqueValue()] = value; }, leaf,
      [&](DimExpr::Kind kind, ArithSizes::Number x, ArithSizes::Number y) {
        return SizeArithmetic<ArithSizes>(arith).combine(kind, x, y);
      });
  if (b.getInsertionPoint() != b.getInsertionBlock()->begin())
    sizesEnd = &*std::prev(b.getInsertionPoint());
  return value;
}

int64_t sinter::cpu::constantOr(DimContext &dims, DimExpr expr, int64_t otherwise) {
  expr = dims.resolve(expr);
  return expr.isConstant() ? expr.constant() : otherwise;
}

Dims sinter::cpu::stridesOf(KernelSpec &spec, unsigned value, ArrayRef<DimExpr> sizes) {
  return spec.dims.strides(sizes, spec.kernel.stridesOf(value));
}

Value KernelFunction::offset(ArrayRef<Value> position, ArrayRef<DimExpr> sizes) {
  Value sum = index(0);
  for (auto [i, stride] : llvm::zip(position, spec.dims.strides(sizes)))
    sum = arith::AddIOp::create(b, sum, arith::MulIOp::create(b, i, materialize(stride)));
  return sum;
}

void KernelFunction::loop(Value low, Value high, int64_t step, function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(b, low, high, index(step));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

Value KernelFunction::wholeSteps(Value low, Value high, int64_t step, function_ref<void(Value)> body) {
  Value rest = arith::RemUIOp::create(b, arith::SubIOp::create(b, high, low), index(step));
  Value end = arith::SubIOp::create(b, high, rest);
  loop(low, end, step, body);
  return end;
}

SmallVector<Value> KernelFunction::loop(Value low, Value high, int64_t step, ValueRange init,
                                        function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(b, low, high, index(step), init);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!init.empty())
    scf::YieldOp::create(b, next);
  return llvm::to_vector_of<Value>(loop.getResults());
}

void KernelFunction::ifThen(Value condition, function_ref<void()> body) {
  OpBuilder::InsertionGuard guard(b);
  if (condition)
    b.setInsertionPointToStart(scf::IfOp::create(b, condition, /*withElseRegion=*/false).thenBlock());
  body();
}

void KernelFunction::branch(Value condition, function_ref<void()> then, function_ref<void()> otherwise) {
  auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  then();
  b.setInsertionPointToStart(branch.elseBlock());
  otherwise();
}

SmallVector<Value> KernelFunction::choose(Value condition, TypeRange types, Branch then, Branch otherwise) {
  auto branch = scf::IfOp::create(b, types, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, then());
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, otherwise());
  return llvm::to_vector_of<Value>(branch.getResults());
}

SmallVector<Value> KernelFunction::delinearize(Value flat, ArrayRef<DimExpr> sizes) {
  SmallVector<Value> position(sizes.size());
  for (int64_t k = static_cast<int64_t>(sizes.size()) - 1; k > 0; --k) {
    if (sizes[k].isConstant() && sizes[k].constant() == 1) {
      position[k] = index(0);
      continue;
    }
    Value size = materialize(sizes[k]);
    Value quotient = arith::DivUIOp::create(b, flat, size);
    position[k] = arith::SubIOp::create(b, flat, arith::MulIOp::create(b, quotient, size));
    flat = quotient;
  }
  if (!sizes.empty())
    position[0] = flat;
  return position;
}

Value KernelFunction::load(Value buffer, Value offset, Type elementType) {
  Value value = memref::LoadOp::create(b, buffer, ValueRange{offset});
  if (elementType.isInteger(1))
    value =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ne, value, arith::ConstantIntOp::create(b, b.getI8Type(), 0));
  return value;
}

void KernelFunction::store(Value value, Value buffer, Value offset) {
  if (value.getType().isInteger(1))
    value = arith::ExtUIOp::create(b, b.getI8Type(), value);
  memref::StoreOp::create(b, value, buffer, ValueRange{offset});
}

void KernelFunction::finish() {
  func::ReturnOp::create(b, ValueRange{arith::ConstantIntOp::create(b, b.getI32Type(), 0)});
}

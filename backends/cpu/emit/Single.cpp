// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/Single.h"
#include "backends/cpu/emit/AttentionPlaces.h"
#include "backends/cpu/emit/General.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

SingleKernel::SingleKernel(KernelSpec &spec, ModuleOp module, StringRef name, Operation *root,
                           KernelFunction::Extras extras)
    : fn(spec, module, name, extras), elements(fn, 1), b(fn.b), root(root), chunks(spec.dims.constant(1)),
      extras(extras), yields(root->getNumResults()) {
  for (unsigned i = 0; i < spec.kernel.getNumResults(); ++i)
    yields[rootResult(spec, root, i).getResultNumber()].push_back(i);
}

//===- elements ------------------------------------------------------------------------------===//

Value SingleKernel::element(Value tensor, ArrayRef<Value> position) {
  return elements.load(tensor, elements.uniform(position));
}

Value SingleKernel::indexElement(Value tensor, ArrayRef<Value> position) {
  return arith::IndexCastOp::create(b, b.getIndexType(), element(tensor, position));
}

void SingleKernel::store(unsigned result, Value value, Value offset) {
  for (unsigned i : yields[result])
    fn.store(value, fn.result(i), offset);
}

Value SingleKernel::loadResult(unsigned result, Value offset) {
  return fn.load(fn.result(yields[result].front()), offset, getElementTypeOrSelf(root->getResult(result)));
}

//===- control -------------------------------------------------------------------------------===//

void SingleKernel::nest(ArrayRef<DimExpr> sizes, function_ref<void(ArrayRef<Value>)> body) {
  SmallVector<Value> position;
  std::function<void()> level = [&] {
    if (position.size() == sizes.size())
      return body(position);
    fn.loop(fn.index(0), size(sizes[position.size()]), 1, [&](Value i) {
      position.push_back(i);
      level();
      position.pop_back();
    });
  };
  level();
}

SmallVector<Value> SingleKernel::whileLoop(ValueRange init, function_ref<Value(ValueRange)> condition,
                                           function_ref<SmallVector<Value>(ValueRange)> body) {
  auto loop = scf::WhileOp::create(
      b, init.getTypes(), init,
      [&](OpBuilder &, Location, ValueRange carried) { scf::ConditionOp::create(b, condition(carried), carried); },
      [&](OpBuilder &, Location, ValueRange carried) { scf::YieldOp::create(b, body(carried)); });
  return llvm::to_vector_of<Value>(loop.getResults());
}

void SingleKernel::chunkRows(DimExpr rows, DimExpr rowsPerChunk, function_ref<void(Value, Value)> body) {
  rowsPerChunk = dims().max(rowsPerChunk, dims().constant(1));
  chunks = dims().ceilDiv(rows, rowsPerChunk);
  fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
    Value low = mul(chunk, size(rowsPerChunk));
    Value high = min(add(low, size(rowsPerChunk)), size(rows));
    fn.loop(low, high, 1, [&](Value row) { body(row, chunk); });
  });
}

//===- arithmetic ----------------------------------------------------------------------------===//

Value SingleKernel::add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
Value SingleKernel::sub(Value x, Value y) { return arith::SubIOp::create(b, x, y); }
Value SingleKernel::mul(Value x, Value y) { return arith::MulIOp::create(b, x, y); }
Value SingleKernel::min(Value x, Value y) { return arith::MinSIOp::create(b, x, y); }
Value SingleKernel::max(Value x, Value y) { return arith::MaxSIOp::create(b, x, y); }
Value SingleKernel::less(Value x, Value y) { return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, x, y); }
Value SingleKernel::both(Value x, Value y) { return arith::AndIOp::create(b, x, y); }
Value SingleKernel::either(Value x, Value y) { return arith::OrIOp::create(b, x, y); }
Value SingleKernel::negate(Value x) {
  return arith::XOrIOp::create(b, x, arith::ConstantIntOp::create(b, b.getI1Type(), 1));
}
Value SingleKernel::select(Value condition, Value x, Value y) { return arith::SelectOp::create(b, condition, x, y); }
Value SingleKernel::asInt64(Value index) { return arith::IndexCastOp::create(b, b.getI64Type(), index); }
Value SingleKernel::inRange(Value position, Value size) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, position, size);
}

Value SingleKernel::before(Type elementType, Value x, Value y, bool descending) {
  if (!isa<FloatType>(elementType)) {
    using P = arith::CmpIPredicate;
    bool wide = isUnsigned(elementType);
    return arith::CmpIOp::create(b, descending ? (wide ? P::ugt : P::sgt) : (wide ? P::ult : P::slt), x, y);
  }
  using P = arith::CmpFPredicate;
  Value ordered = arith::CmpFOp::create(b, descending ? P::OGT : P::OLT, x, y);
  Value onlyNan = both(arith::CmpFOp::create(b, P::ORD, x, x), arith::CmpFOp::create(b, P::UNO, y, y));
  return either(ordered, onlyNan);
}

//===- orders --------------------------------------------------------------------------------===//

Value SingleKernel::workspaceWords() {
  return memref::ViewOp::create(b, MemRefType::get({kHuge}, b.getI64Type()), fn.workspace(), fn.index(0), ValueRange{});
}

Value SingleKernel::loadWord(Value words, Value at) {
  return arith::IndexCastOp::create(b, b.getIndexType(), memref::LoadOp::create(b, words, ValueRange{at}).getResult());
}

void SingleKernel::storeWord(Value words, Value index, Value at) {
  memref::StoreOp::create(b, asInt64(index), words, ValueRange{at});
}

Value SingleKernel::mergeSort(Value words, Value first, Value count, function_ref<Value(Value, Value)> isBefore) {
  fn.loop(fn.index(0), count, 1, [&](Value i) { storeWord(words, i, add(first, i)); });
  Value last = sub(count, fn.index(1)), one = fn.index(1), zero = fn.index(0);
  // Runs of `width` in `from` become runs of twice that in `to`.
  SmallVector<Value> sorted = whileLoop(
      {one, first, add(first, count)}, [&](ValueRange carried) { return less(carried[0], count); },
      [&](ValueRange carried) -> SmallVector<Value> {
        Value width = carried[0], from = carried[1], to = carried[2];
        Value twice = add(width, width);
        auto runs = scf::ForOp::create(b, zero, count, twice);
        {
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPointToStart(runs.getBody());
          Value low = runs.getInductionVar(), middle = min(add(low, width), count), high = min(add(low, twice), count);
          fn.loop(low, high, 1, ValueRange{low, middle}, [&](Value k, ValueRange heads) -> SmallVector<Value> {
            Value left = heads[0], right = heads[1];
            // A run that is used up is not compared in earnest; any position will do.
            Value x = loadWord(words, add(from, min(left, last))), y = loadWord(words, add(from, min(right, last)));
            Value rightWins = either(negate(less(left, middle)), isBefore(y, x));
            Value takeRight = both(less(right, high), rightWins);
            storeWord(words, select(takeRight, y, x), add(to, k));
            return {select(takeRight, left, add(left, one)), select(takeRight, add(right, one), right)};
          });
        }
        return {twice, to, from};
      });
  return sorted[1];
}

//===- results -------------------------------------------------------------------------------===//

void SingleKernel::writeSizes(ArrayRef<WrittenSize> sizes) {
  int64_t place = 0;
  for (unsigned i = 0; i < fn.spec.kernel.getNumResults(); ++i) {
    auto result = cast<OpResult>(fn.spec.yielded(i));
    for (auto [axis, expr] : llvm::enumerate(sizesOf(result))) {
      expr = dims().resolve(expr);
      if (expr.isConstant())
        continue;
      const WrittenSize *written = llvm::find_if(sizes, [&, axis = axis](const WrittenSize &size) {
        return size.result == result.getResultNumber() && size.axis == static_cast<int64_t>(axis);
      });
      Value value = written != sizes.end() ? written->value : size(expr);
      fn.store(asInt64(value), fn.sizesBuffer(), fn.index(place++));
    }
  }
}

EmittedKernel SingleKernel::finish(ArrayRef<DimExpr> capacity) {
  fn.finish();
  EmittedKernel emitted;
  emitted.function = fn.function;
  emitted.chunks = chunks;
  emitted.workspaceBytes = workspaceBytes;
  emitted.writesSizes = extras.sizes;
  if (extras.sizes)
    for (unsigned i = 0; i < fn.spec.kernel.getNumResults(); ++i)
      emitted.capacity.push_back(capacity[cast<OpResult>(fn.spec.yielded(i)).getResultNumber()]);
  return emitted;
}

Operation *sinter::cpu::singleRoot(KernelSpec &spec) {
  bool several = false;
  Operation *root = findRoot(spec, several);
  if (!root || several)
    return nullptr;
  for (unsigned i = 0; i < spec.kernel.getNumResults(); ++i)
    if (spec.yielded(i).getDefiningOp() != root)
      return nullptr;
  for (Value operand : root->getOperands())
    if (!canBuild(operand, [](Value) { return false; }))
      return nullptr;
  return root;
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/gradient/TripSizes.h"

using namespace mlir;
using namespace sinter;

TripSizes::TripSizes(const LoopView &loop) : loop(loop), shapes(context) {
  relate(*loop.op->getBlock());
  relate(loop.body->front());
  // A carry keeps its size where a trip yields the size that it got, or always the one of the start.
  while (true) {
    bool changed = false;
    for (size_t k = 0; k < loop.carries; ++k) {
      if (cast<RankedTensorType>(loop.carryArgument(k).getType()).hasStaticShape())
        continue;
      Dims init = shapes.dims(loop.init(k)), given = shapes.dims(loop.carryArgument(k)),
           next = shapes.dims(loop.yieldedCarry(k));
      for (size_t axis = 0; axis < given.size(); ++axis)
        if (!areEqual(next[axis], given[axis]) && !areEqual(next[axis], init[axis]))
          changed |= varying.insert({loop.carryArgument(k), static_cast<int64_t>(axis)}).second;
    }
    if (!changed)
      return;
  }
}

/// Operands of pointwise ops have one shape, whatever is known about them.
void TripSizes::relate(Block &block) {
  for (Operation &op : block) {
    if (!isa<Pointwise>(op))
      continue;
    for (Value operand : op.getOperands().drop_front()) {
      if (cast<RankedTensorType>(operand.getType()).hasStaticShape() && op.getResult(0).getType() == operand.getType())
        continue;
      for (auto [a, b] : llvm::zip(shapes.dims(op.getOperand(0)), shapes.dims(operand)))
        if (!areEqual(a, b))
          context.unify(a, b);
    }
  }
}

bool TripSizes::areEqual(DimExpr a, DimExpr b) { return a == b || context.resolve(a) == context.resolve(b); }

bool TripSizes::areSame(Value a, Value b) {
  return llvm::all_of(llvm::zip(shapes.dims(a), shapes.dims(b)),
                      [&](auto pair) { return areEqual(std::get<0>(pair), std::get<1>(pair)); });
}

bool TripSizes::isFixed(DimExpr size) {
  bool fixed = true;
  DimContext::forEachSymbol(context.resolve(size), [&](unsigned symbol) {
    SymbolSource source = context.source(symbol);
    if (!source.value || !loop.body->isAncestor(source.value.getParentRegion()))
      return;
    bool isCarry = source.kind == SymbolSource::Kind::Size && isa<BlockArgument>(source.value) &&
                   source.value.getParentRegion() == loop.body;
    fixed &= isCarry && !varying.contains({source.value, source.axis});
  });
  return fixed;
}

bool TripSizes::areFixed(Value value) {
  return cast<RankedTensorType>(value.getType()).hasStaticShape() ||
         llvm::all_of(shapes.dims(value), [&](DimExpr size) { return isFixed(size); });
}

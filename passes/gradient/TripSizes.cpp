// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/gradient/TripSizes.h"

using namespace mlir;
using namespace sinter;

TripSizes::TripSizes(const LoopView &loop) : loop(loop), shapes(context) {
  // A carry keeps its size where a trip yields the size that it got, or always the one of the start.
  while (true) {
    bool changed = false;
    for (size_t k = 0; k < loop.carries; ++k) {
      if (cast<RankedTensorType>(loop.carryArgument(k).getType()).hasStaticShape())
        continue;
      Dims init = shapes.dims(loop.init(k)), given = shapes.dims(loop.carryArgument(k)),
           next = shapes.dims(loop.yieldedCarry(k));
      for (size_t axis = 0; axis < given.size(); ++axis)
        if (next[axis] != given[axis] && next[axis] != init[axis])
          changed |= varying.insert({loop.carryArgument(k), static_cast<int64_t>(axis)}).second;
    }
    if (!changed)
      return;
  }
}

bool TripSizes::isFixed(DimExpr size) {
  bool fixed = true;
  DimContext::forEachSymbol(size, [&](unsigned symbol) {
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
  return cast<RankedTensorType>(value.getType()).hasStaticShape() || llvm::all_of(shapes.dims(value), [&](DimExpr size) {
           return isFixed(size);
         });
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/gradient/Differentiable.h"
#include "ir/Elementwise.h"

using namespace mlir;
using namespace sinter;

#include "ir/gradient/Differentiable.cpp.inc"

bool sinter::isDifferentiable(Type type) { return isa<FloatType>(getElementTypeOrSelf(type)); }

Value GradientBuilder::sum(Value a, Value b) { return !a ? b : !b ? a : make<AddOp>(a, b); }

void VjpBuilder::give(unsigned operand, Value value) {
  if (wanted.test(operand))
    given[operand] = sum(given[operand], value);
}

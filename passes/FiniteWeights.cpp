// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/FiniteWeights.h"
#include "ir/Dialect.h"

#include "mlir/IR/Matchers.h"
#include <cmath>

using namespace mlir;
using namespace sinter;

bool sinter::holdsInfiniteConstants(Value weights) {
  ElementsAttr constant;
  if (!matchPattern(weights, m_Constant(&constant)))
    return false;
  FailureOr<HostTensor> tensor = HostTensor::fromAttr(constant);
  return failed(tensor) || !llvm::all_of(tensor->toFloats(), [](double value) { return std::isfinite(value); });
}

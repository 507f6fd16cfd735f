// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/FiniteWeights.h"
#include "ir/Constants.h"

#include "mlir/IR/Matchers.h"
#include <cmath>

using namespace mlir;
using namespace sinter;

bool sinter::holdsInfiniteConstants(Value weights) {
  return matchPattern(weights, m_Constant()) && !areFiniteConstants(weights);
}

bool sinter::areFiniteConstants(Value weights) {
  std::optional<HostTensor> tensor = constantTensor(weights);
  return tensor && llvm::all_of(tensor->toFloats(), [](double value) { return std::isfinite(value); });
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/AxisGroups.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

AxisGroups sinter::cpu::groupAxes(KernelSpec &spec, ArrayRef<DimExpr> sizes, ArrayRef<bool> merges) {
  AxisGroups groups;
  DimExpr size = spec.dims.constant(1);
  int64_t begin = 0;
  for (int64_t k = 0, rank = sizes.size(); k < rank; ++k) {
    size = spec.dims.mul(size, sizes[k]);
    if (k + 1 < rank && merges[k])
      continue;
    groups.carriers.push_back(carrierAxis(spec, sizes, begin, k + 1));
    groups.innermost = begin;
    groups.sizes.push_back(size);
    begin = k + 1;
    size = spec.dims.constant(1);
  }
  return groups;
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/Packing.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

SmallVector<Packing> sinter::cpu::planPacking(KernelOp kernel, ArrayRef<bool> isConstant,
                                              const KernelOptions &options) {
  SmallVector<Packing> plans;
  if (options.optLevel == 0)
    return plans;
  if (kernel.getKernelTemplate() == KernelTemplate::contraction)
    planContractionPacking(kernel, isConstant, plans);
  if (kernel.getKernelTemplate() == KernelTemplate::convolution)
    planConvolutionPacking(kernel, isConstant, plans);
  if (kernel.getKernelTemplate() == KernelTemplate::recurrent)
    planRecurrentPacking(kernel, isConstant, options, plans);
  return plans;
}

bool sinter::cpu::isPacked(KernelOp kernel, unsigned i) {
  auto packed = kernel->getAttrOfType<DenseI64ArrayAttr>("packed");
  return packed && llvm::is_contained(packed.asArrayRef(), static_cast<int64_t>(i));
}

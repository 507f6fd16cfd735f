// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/TakenKernels.h"
#include "backends/cpu/emit/General.h"
#include "backends/cpu/emit/TakenForms.h"
#include "ir/Shape.h"

using namespace mlir;
using namespace sinter;

bool cpu::takesKernel(KernelOp kernel, ShapeAnalysis &sizes) {
  Block &body = kernel.getBody().front();
  auto numOps = llvm::count_if(body.without_terminator(), [](Operation &op) { return !isa<ConstantOp>(op); });
  if (numOps <= 1)
    return true;         // has an emitter, or is not supported at all
  KernelOptions options; // no form asks for a target
  KernelSpec spec(kernel, options, &sizes);
  return isGeneral(spec) || isRow(spec) || isWindow(spec) || isBlockDot(spec) || isAttentionKernel(spec);
}

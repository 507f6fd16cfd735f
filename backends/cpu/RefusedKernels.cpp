// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/RefusedKernels.h"
#include "backends/cpu/emit/Emitter.h"
#include "backends/cpu/emit/General.h"
#include "ir/Control.h"
#include "ir/Shape.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

static bool isRefused(KernelOp kernel, const KernelOptions &options, ShapeAnalysis &sizes) {
  Block &body = kernel.getBody().front();
  auto numOps = llvm::count_if(body.without_terminator(), [](Operation &op) { return !isa<ConstantOp>(op); });
  if (numOps <= 1)
    return false; // nothing is left to take apart
  KernelSpec spec(kernel, options, &sizes);
  if (isGeneral(spec))
    return false;
  OwningOpRef<ModuleOp> scratch = ModuleOp::create(kernel.getLoc());
  Attribute packed = kernel->getAttr("packed");
  bool refused = failed(emitKernel(spec, *scratch, "scratch"));
  if (packed)
    kernel->setAttr("packed", packed);
  return refused;
}

static void inlineBody(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  for (auto [argument, input] : llvm::zip(body.getArguments(), kernel.getInputs()))
    argument.replaceAllUsesWith(input);
  for (auto [result, value] : llvm::zip(kernel.getResults(), body.getTerminator()->getOperands()))
    result.replaceAllUsesWith(value);
  for (Operation &op : llvm::make_early_inc_range(body.without_terminator()))
    op.moveBefore(kernel);
  kernel.erase();
}

unsigned cpu::inlineRefusedKernels(ModuleOp module, const KernelOptions &options) {
  ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) { return success(); });
  SmallVector<KernelOp> refused;
  for (auto function : module.getOps<func::FuncOp>()) {
    DimContext context;
    ShapeAnalysis sizes(context);
    function.walk([&](KernelOp kernel) {
      if (isRefused(kernel, options, sizes))
        refused.push_back(kernel);
    });
  }
  llvm::for_each(refused, inlineBody);
  return refused.size();
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Register.h"
#include "backends/schedule/Backends.h"
#include "backends/schedule/ChooseSchedules.h"
#include "compiler/Pipeline.h"
#include "ir/Dialect.h"
#include "ir/gradient/Differentiable.h"
#include "passes/Passes.h"
#include "passes/SimplifyControl.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void sinter::registerDialects(DialectRegistry &registry) {
  registry.insert<SinterDialect, arith::ArithDialect, cf::ControlFlowDialect, DLTIDialect, func::FuncDialect,
                  LLVM::LLVMDialect, math::MathDialect, memref::MemRefDialect, schedule::ScheduleDialect,
                  scf::SCFDialect, vector::VectorDialect>();
  registerGradients(registry);
  for (const auto &kind : schedule::backendKinds())
    kind->registerDialects(registry);
}

void sinter::registerPasses() {
  registerTransformsPasses();
  registerSinterPasses();
  registerSimplifyControl();
  schedule::registerChooseSchedules();
  registerPipelines();
  for (const auto &kind : schedule::backendKinds())
    kind->registerPasses();
}

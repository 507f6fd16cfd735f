// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Register.h"
#include "backends/cpu/ChooseSchedules.h"
#include "backends/cpu/Lowering.h"
#include "backends/cpu/SchedulePasses.h"
#include "backends/schedule/Dialect.h"
#include "compiler/Pipeline.h"
#include "ir/Dialect.h"
#include "ir/gradient/Differentiable.h"
#include "passes/Passes.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void sinter::registerDialects(DialectRegistry &registry) {
  registry.insert<SinterDialect, arith::ArithDialect, cf::ControlFlowDialect, DLTIDialect, func::FuncDialect,
                  LLVM::LLVMDialect, math::MathDialect, memref::MemRefDialect, schedule::ScheduleDialect,
                  scf::SCFDialect, vector::VectorDialect>();
  registerGradients(registry);
  cpu::registerTranslations(registry);
}

void sinter::registerPasses() {
  registerTransformsPasses();
  registerSinterPasses();
  cpu::registerChooseSchedules();
  registerPipelines();
  cpu::registerSchedulePasses();
}

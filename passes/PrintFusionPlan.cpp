// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/FusionPlan.h"
#include "passes/Passes.h"

using namespace mlir;
using namespace sinter;

namespace sinter {
#define GEN_PASS_DEF_PRINTFUSIONPLAN
#include "passes/Passes.h.inc"
} // namespace sinter

namespace {

class PrintFusionPlan : public sinter::impl::PrintFusionPlanBase<PrintFusionPlan> {
  using PrintFusionPlanBase::PrintFusionPlanBase;

  void runOnOperation() override {
    DimContext context;
    ShapeAnalysis sizes(context);
    llvm::outs() << "@" << getOperation().getName() << "\n";
    getOperation()->walk<WalkOrder::PreOrder>(
        [&](Block *block) { planFusion(*block, sizes, {.maxOps = maxOps}).print(llvm::outs()); });
    markAllAnalysesPreserved();
  }
};

} // namespace

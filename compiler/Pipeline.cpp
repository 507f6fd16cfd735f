// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Pipeline.h"
#include "backends/cpu/ChooseSchedules.h"
#include "backends/cpu/Composites.h"
#include "backends/cpu/TakenKernels.h"
#include "passes/FormKernels.h"
#include "passes/Passes.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace sinter;

/// The only place that cleans; the passes themselves check what is legal after them.
static void endPhase(OpPassManager &pm) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createMergeEqualOps());
}

// sinter + func, as imported  ->  the same with sizes in types, constants folded, composites found
static void buildGraphPhase(OpPassManager &pm, const Options &o) {
  FoldConstantsOptions folding{.maxBytes = o.maxFoldedBytes, .maxSteps = o.maxFoldingSteps};
  pm.addNestedPass<func::FuncOp>(createExpandCheckpoints()); // nothing is differentiated from here on
  pm.addNestedPass<func::FuncOp>(createSinkConstants());
  pm.addNestedPass<func::FuncOp>(createRefineShapes()); // folders look at types
  pm.addPass(createCanonicalizerPass());                // ops with constant sizes become their static forms
  if (o.optLevel == 0) {
    pm.addNestedPass<func::FuncOp>(createDecompose([](Operation *) { return false; }));
    endPhase(pm);
    return;
  }
  pm.addNestedPass<func::FuncOp>(createFoldConstants(folding));
  pm.addNestedPass<func::FuncOp>(createTrimFilters());
  pm.addNestedPass<func::FuncOp>(createUnrollLoops({.maxTrips = o.maxUnrolledTrips, .maxOps = o.maxUnrolledOps}));
  pm.addNestedPass<func::FuncOp>(createRefineShapes()); // what folded may be a size
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createMergeEqualOps());
  pm.addNestedPass<func::FuncOp>(createSimplifyAlgebra({.fastMath = o.fastMath}));
  pm.addNestedPass<func::FuncOp>(createRecognizeComposites()); // on merged broadcasts
  pm.addNestedPass<func::FuncOp>(createFoldBatchNorm({.fastMath = o.fastMath}));
  pm.addNestedPass<func::FuncOp>(createProjectRecurrent());
  pm.addNestedPass<func::FuncOp>(createDecompose(cpu::keepsComposite));
  pm.addNestedPass<func::FuncOp>(createHoistInvariants());
  pm.addNestedPass<func::FuncOp>(createHoistProducts());
  endPhase(pm);
}

// sinter + func  ->  convolutions and pools with channels last, matrices of loops in aligned rows
static void buildLayoutPhase(OpPassManager &pm, const Options &o) {
  if (o.optLevel < 2)
    return;
  pm.addNestedPass<func::FuncOp>(createFlattenDepth());
  pm.addNestedPass<func::FuncOp>(createAssignLayout());
  pm.addNestedPass<func::FuncOp>(
      createFoldConstants({.maxBytes = o.maxFoldedBytes, .maxSteps = o.maxFoldingSteps})); // filters
  pm.addNestedPass<func::FuncOp>(
      createSimplifyAlgebra({.fastMath = o.fastMath})); // products read what is left of the transposes
  pm.addNestedPass<func::FuncOp>(createAlignMatrices());
  endPhase(pm);
}

// sinter + func  ->  functions and control flow bodies are schedules of sinter.kernel regions, each with the schedule
// of its code where the module has a target
static void buildFusedPhase(OpPassManager &pm, const Options &o) {
  if (o.optLevel > 0)
    pm.addNestedPass<func::FuncOp>(createRecomputeValues()); // late, as CSE would undo it
  pm.addNestedPass<func::FuncOp>(createFormKernels({.maxOps = o.optLevel > 0 ? o.maxFusedOps : 1}, cpu::takesKernel));
  if (o.optLevel >= 2)
    pm.addNestedPass<func::FuncOp>(createPackInvariants());
  endPhase(pm);
  pm.addNestedPass<func::FuncOp>(cpu::createChooseSchedules(o.optLevel));
}

void sinter::buildPipeline(OpPassManager &pm, const Options &options, Phase phase, Phase first) {
  if (first == Phase::Graph) {
    buildGraphPhase(pm, options);
    buildLayoutPhase(pm, options);
  }
  if (phase == Phase::Fused)
    buildFusedPhase(pm, options);
}

LogicalResult sinter::refineForGradient(func::FuncOp function, const Options &options) {
  PassManager pm(function.getContext(), func::FuncOp::getOperationName());
  pm.addPass(createRefineShapes());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createFoldConstants({.maxBytes = options.maxFoldedBytes, .maxSteps = options.maxFoldingSteps}));
  pm.addPass(createRefineShapes()); // what folded may be a size
  pm.addPass(createCanonicalizerPass());
  return pm.run(function);
}

void sinter::registerPipelines() {
  PassPipelineRegistration<>("sinter-to-graph", "imported graph to optimized graph",
                             [](OpPassManager &pm) { buildPipeline(pm, Options(), Phase::Graph); });
  PassPipelineRegistration<>("sinter-to-fused", "imported graph to kernels",
                             [](OpPassManager &pm) { buildPipeline(pm, Options(), Phase::Fused); });
}

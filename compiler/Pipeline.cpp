// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Pipeline.h"
#include "backends/schedule/Backend.h"
#include "backends/schedule/ChooseSchedules.h"
#include "ir/Normalization.h"
#include "ir/Shape.h"
#include "passes/FormKernels.h"
#include "passes/LowerPrecision.h"
#include "passes/Passes.h"
#include "passes/SimplifyControl.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace sinter;

/// The only place that cleans; the passes themselves check what is legal after them.
static void endPhase(OpPassManager &pm) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createMergeEqualOps());
}

/// The back ends that each target has code from.
using Kinds = std::vector<SmallVector<const schedule::BackendKind *>>;

static Kinds kindsOf(ArrayRef<schedule::Target> targets) {
  Kinds kinds(std::max<size_t>(targets.size(), 1));
  for (auto [target, list] : llvm::zip(targets, kinds))
    for (const auto &device : target.devices)
      list.push_back(&device->kind());
  for (auto &list : kinds)
    list.push_back(&schedule::hostBackend());
  return kinds;
}

/// A composite stays where each target's first back end has a form for it.
static CompositeFilter keptComposites(ArrayRef<schedule::Target> targets) {
  return [kinds = kindsOf(targets)](Operation *op) {
    return llvm::all_of(kinds, [&](const auto &list) { return list.front()->keepsComposite(op); });
  };
}

static KernelFilter takenKernels(ArrayRef<schedule::Target> targets) {
  return [kinds = kindsOf(targets)](KernelOp kernel, ShapeAnalysis &sizes) {
    return llvm::all_of(kinds, [&](const auto &list) {
      return llvm::any_of(list, [&](const schedule::BackendKind *kind) { return kind->takesKernel(kernel, sizes); });
    });
  };
}

/// Where one graph is for several targets, all of them have a back end that runs loops and branches by itself.
static bool runControl(ArrayRef<schedule::Target> targets) {
  return !targets.empty() && llvm::all_of(targets, [](const schedule::Target &target) {
    return llvm::any_of(target.devices,
                        [](const auto &device) { return device->kind().create(*device, 0)->runsControl(); });
  });
}

static bool areHosts(ArrayRef<schedule::Target> targets) {
  return llvm::all_of(targets, [](const schedule::Target &target) { return target.devices.empty(); });
}

// sinter + func, as imported  ->  the same with sizes in types, constants folded, composites found
static void buildGraphPhase(OpPassManager &pm, const Options &o, ArrayRef<schedule::Target> targets) {
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
  pm.addNestedPass<func::FuncOp>(createRecognizeAttention({.areConstantsKnown = false},
                                                          keptComposites(targets))); // before its masks are evaluated
  pm.addNestedPass<func::FuncOp>(createMultiplyIntegers());                          // before weights are evaluated
  pm.addNestedPass<func::FuncOp>(createFoldConstants(folding));
  pm.addNestedPass<func::FuncOp>(createTrimFilters());
  pm.addNestedPass<func::FuncOp>(createUnrollLoops({.maxTrips = o.maxUnrolledTrips, .maxOps = o.maxUnrolledOps}));
  pm.addNestedPass<func::FuncOp>(createRefineShapes()); // what folded may be a size
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createMergeEqualOps());
  pm.addNestedPass<func::FuncOp>(createSimplifyAlgebra({.fastMath = o.fastMath}));
  pm.addNestedPass<func::FuncOp>(createRecognizeComposites()); // on merged broadcasts
  pm.addNestedPass<func::FuncOp>(createRecognizeAttention({}, keptComposites(targets)));
  pm.addNestedPass<func::FuncOp>(createFoldBatchNorm({.fastMath = o.fastMath}));
  pm.addNestedPass<func::FuncOp>(createDropDenormals());
  pm.addNestedPass<func::FuncOp>(createProjectRecurrent());
  if (areHosts(targets)) // others write states beside the old ones, and a loop would copy both
    pm.addNestedPass<func::FuncOp>(createChunkRowUpdates());
  pm.addNestedPass<func::FuncOp>(createDecompose(keptComposites(targets)));
  pm.addNestedPass<func::FuncOp>(createHoistInvariants());
  pm.addNestedPass<func::FuncOp>(createHoistProducts());
  endPhase(pm);
}

// sinter + func  ->  products in the types of the module's policy; after all that recognizes ops of one type
static void buildPrecisionPhase(OpPassManager &pm, const Options &o) {
  pm.addNestedPass<func::FuncOp>(createLowerPrecision());
  if (o.optLevel > 0) // weights
    pm.addNestedPass<func::FuncOp>(createFoldConstants({.maxBytes = o.maxFoldedBytes, .maxSteps = o.maxFoldingSteps}));
}

// sinter + func  ->  convolutions and pools with channels last, matrices of loops in aligned rows
static void buildLayoutPhase(OpPassManager &pm, const Options &o, ArrayRef<schedule::Target> targets) {
  if (o.optLevel < 2)
    return;
  pm.addNestedPass<func::FuncOp>(createFlattenDepth(keptComposites(targets)));
  pm.addNestedPass<func::FuncOp>(createSplitPhases());
  pm.addNestedPass<func::FuncOp>(createSinkMoves());
  pm.addNestedPass<func::FuncOp>(createSinkResizes());
  pm.addNestedPass<func::FuncOp>(createSeparatePhases());
  pm.addNestedPass<func::FuncOp>(
      createAssignLayout({.normalizeColumns = areHosts(targets), .sampleLast = areHosts(targets)}));
  pm.addNestedPass<func::FuncOp>(
      createFoldConstants({.maxBytes = o.maxFoldedBytes, .maxSteps = o.maxFoldingSteps})); // filters
  pm.addNestedPass<func::FuncOp>(
      createSimplifyAlgebra({.fastMath = o.fastMath})); // products read what is left of the transposes
  pm.addNestedPass<func::FuncOp>(createSplitResizes()); // once transposes lie where they stay
  pm.addNestedPass<func::FuncOp>(createAlignMatrices());
  pm.addNestedPass<func::FuncOp>(createSplitProducts());
  if (o.fastMath)
    pm.addNestedPass<func::FuncOp>(createAllowWinograd());
  endPhase(pm);
}

// sinter + func  ->  functions and control flow bodies are schedules of sinter.kernel regions, each with the schedule
// of its code where the module has a target
static void buildFusedPhase(OpPassManager &pm, const Options &o, ArrayRef<schedule::Target> targets) {
  if (o.optLevel > 0) {
    pm.addNestedPass<func::FuncOp>(createWidenProducts()); // for each of several targets that start from one graph
    // Late, as CSE would undo it.
    pm.addNestedPass<func::FuncOp>(createRecomputeValues());
    pm.addNestedPass<func::FuncOp>(createNarrowActivations());
  }
  if (runControl(targets)) {
    pm.addNestedPass<func::FuncOp>(createSimplifyControl());
    pm.addNestedPass<func::FuncOp>(createSinkConstants()); // bounds of loops
  }
  pm.addNestedPass<func::FuncOp>(
      createFormKernels({.maxOps = o.optLevel > 0 ? o.maxFusedOps : 1}, takenKernels(targets)));
  if (o.optLevel >= 2)
    pm.addNestedPass<func::FuncOp>(createPackInvariants());
  endPhase(pm);
  for (const auto &list : kindsOf(targets))
    for (const schedule::BackendKind *kind : list)
      kind->addPasses(pm.nest<func::FuncOp>(), o.optLevel);
  pm.addNestedPass<func::FuncOp>(schedule::createChooseSchedules(o.optLevel));
}

void sinter::buildPipeline(OpPassManager &pm, const Options &options, Phase phase, Phase first,
                           ArrayRef<schedule::Target> targets) {
  if (first == Phase::Graph) {
    buildGraphPhase(pm, options, targets);
    buildPrecisionPhase(pm, options);
    buildLayoutPhase(pm, options, targets);
  }
  if (phase == Phase::Fused)
    buildFusedPhase(pm, options, targets);
}

/// Whether the host keeps an attention whose gradient, too, reads its sums.
static bool keepsWithGradient(Operation *attention) {
  OpBuilder b(attention->getContext());
  b.setInsertionPointAfter(attention);
  Value sums = cast<AttentionOp>(attention).getSums();
  auto reader = ReshapeOp::create(b, attention->getLoc(), sums, Value(), cast<RankedTensorType>(sums.getType()));
  bool isKept = schedule::hostBackend().keepsComposite(attention);
  reader->erase();
  return isKept;
}

LogicalResult sinter::refineForGradient(func::FuncOp function, const Options &options) {
  PassManager pm(function.getContext(), func::FuncOp::getOperationName());
  pm.addPass(createRefineShapes());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createFoldConstants({.maxBytes = options.maxFoldedBytes, .maxSteps = options.maxFoldingSteps}));
  pm.addPass(createRefineShapes()); // what folded may be a size
  pm.addPass(createCanonicalizerPass());
  if (options.optLevel > 0) // an op whose gradient is one, too
    pm.addPass(createRecognizeAttention({.straightens = false}, keepsWithGradient));
  return pm.run(function);
}

void sinter::registerPipelines() {
  PassPipelineRegistration<>("sinter-to-graph", "imported graph to optimized graph",
                             [](OpPassManager &pm) { buildPipeline(pm, Options(), Phase::Graph); });
  PassPipelineRegistration<>("sinter-to-fused", "imported graph to kernels",
                             [](OpPassManager &pm) { buildPipeline(pm, Options(), Phase::Fused); });
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Compile.h"
#include "compiler/Pipeline.h"
#include "compiler/Targets.h"
#include "ir/Limits.h"
#include "ir/reference/FloatState.h"
#include "mlir/Pass/PassManager.h"
#include "passes/InlineCalls.h"
#include "passes/LowerStorage.h"
#include <chrono>
#include <thread>

using namespace mlir;
using namespace sinter;

static std::string printModule(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  os << '\n';
  return text;
}

using Kind = schedule::Timeline::Kind;

static double now() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Runs phases `first` to `last` on `module`, which is marked as one for the first of `targets`.
static LogicalResult runPhases(ModuleOp module, ArrayRef<schedule::Target> targets, const Options &options, Phase last,
                               Phase first = Phase::Graph) {
  schedule::writeTarget(module, targets.front());
  schedule::Span span(options.timeline, Kind::Phase, "passes");
  PassManager passes(module.getContext());
  if (options.timeline)
    passes.addInstrumentation(options.timeline->passes());
  buildPipeline(passes, options, last, first, targets);
  // A pass may give a tensor more axes.
  return success(succeeded(passes.run(module)) && succeeded(verifyLimits(module)));
}

/// The phase that `module`, which may be what an earlier one printed, begins with: kernels are there once the graph is
/// fused, and the passes of graphs do not look into them.
static Phase firstPhaseOf(ModuleOp module) {
  return module.walk([](KernelOp) { return WalkResult::interrupt(); }).wasInterrupted() ? Phase::Fused : Phase::Graph;
}

/// Makes the code of one target of several, whose number is `i`.
static LogicalResult compileTarget(ModuleOp module, unsigned i, const schedule::Target &target,
                                   schedule::CodeOptions options, CompiledModule &result) {
  if (i > 0) // functions of all targets may be linked into one object
    options.prefix += "_v" + std::to_string(i);
  schedule::Devices devices(target, options.optLevel);
  auto hasMemory = [](schedule::Backend *device) { return device->hasOwnMemory(); };
  auto memories = llvm::make_filter_range(devices.list(), hasMemory);
  if (llvm::range_size(memories) > 1)
    return module.emitError("a target requires at most one back end with a memory of its own, got '")
           << (*memories.begin())->name() << "' and '" << (*std::next(memories.begin()))->name() << "'";
  FailureOr<schedule::CodeModule> code = schedule::hostBackend().compile(module, *target.host, devices.list(), options);
  if (failed(code))
    return failure();
  if (i == 0) {
    result.code = std::move(*code);
    return success();
  }
  std::string error;
  if (!haveSameSignatures(result.code.functions, code->functions, error))
    return module.emitError(error);
  result.variants.push_back({target, std::move(*code)});
  return success();
}

/// Gives kernels the schedules that the caller has for them.
static LogicalResult callOnFused(ModuleOp module, const schedule::Target &target, const Options &options,
                                 const CompileRequest &request) {
  if (!request.onFused)
    return success();
  schedule::Span span(options.timeline, Kind::Phase, "chosen schedules");
  return request.onFused(module, target);
}

CompileFault sinter::faultOf(StringRef errors) {
  auto hasAny = [&](ArrayRef<StringRef> words) {
    return llvm::any_of(words, [&](StringRef word) { return errors.contains(word); });
  };
  if (hasAny({"not supported: ", "(kMax", "(max", "size below 2^63", "checkpoints of named blocks", "for checkpoints"}))
    return CompileFault::Unsupported;
  if (errors.contains("does not fit"))
    return CompileFault::Misfit;
  if (hasAny({"no memory", "more memory", "out of memory", "Cannot allocate memory"}))
    return CompileFault::Memory;
  return CompileFault::Internal;
}

FailureOr<CompiledModule> sinter::compileGraph(ModuleOp graph, const Options &options, const CompileRequest &request) {
  DefaultFloatState floatState; // what folds does not depend on the caller's rounding mode
  CompiledModule result;
  result.timeline = options.timeline;
  std::string error;
  std::vector<schedule::Target> targets;
  schedule::Span preparing(options.timeline, Kind::Phase, "targets, calls and storage");
  if (!findTargets(graph, options.target, targets, error)) {
    graph.emitError(error);
    return failure();
  }
  result.target = targets.front();
  result.sha256 = request.sha256;
  result.optLevel = static_cast<unsigned>(options.optLevel);
  result.fastMath = options.fastMath;
  if (failed(inlineCalls(graph)) || failed(verifyLimits(graph)) || failed(lowerStorage(graph)))
    return failure();
  preparing.end();

  // The graph's phase runs by itself when somebody looks at what it leaves, or several targets start from it.
  using Last = CompileRequest::Last;
  double start = now();
  bool several = targets.size() > 1;
  Phase first = firstPhaseOf(graph);
  if (request.keepGraph || request.onGraph || request.last == Last::Graph || several) {
    schedule::Target given; // text says the next phase's only where it came with one
    (void)schedule::readTarget(graph, given, error);
    if (first == Phase::Graph && failed(runPhases(graph, targets, options, Phase::Graph)))
      return failure();
    first = Phase::Fused;
    schedule::writeTarget(graph, given);
    schedule::Span span(options.timeline, Kind::Phase, "text");
    if (request.keepGraph)
      result.graph = printModule(graph);
    if (request.onGraph)
      request.onGraph(graph);
    if (request.last == Last::Graph)
      return result;
  }
  OwningOpRef<ModuleOp> unfused; // what the other targets start from
  if (several)
    unfused = graph.clone();
  if (failed(runPhases(graph, targets.front(), options, Phase::Fused, first)))
    return failure();
  result.graphMs = now() - start;
  if (failed(callOnFused(graph, targets.front(), options, request)))
    return failure();
  if (request.keepFused || request.last == Last::Fused)
    result.fused = printModule(graph);
  if (request.last == Last::Fused)
    return result;

  schedule::CodeOptions codeOptions;
  codeOptions.optLevel = options.optLevel;
  codeOptions.threads = options.threads ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  codeOptions.prefix = request.name;
  codeOptions.keepSchedule = request.keepSchedule || request.last == Last::Schedule;
  codeOptions.keepLoops = request.keepLoops || request.last == Last::Loops;
  codeOptions.keepLLVM = request.keepLLVM;
  codeOptions.keepAssembly = request.keepAssembly;
  codeOptions.loopsOnly = request.last == Last::Schedule || request.last == Last::Loops;
  codeOptions.timeline = options.timeline;
  if (options.cachesKernels)
    codeOptions.kernelStore = {options.kernelFolder, options.kernelFolderBytes};
  start = now();
  schedule::Weights weights;
  codeOptions.weights = &weights;
  for (auto [i, target] : llvm::enumerate(targets)) {
    OwningOpRef<ModuleOp> copy;
    if (i > 0) {
      copy = unfused->clone();
      if (failed(runPhases(*copy, target, options, Phase::Fused, Phase::Fused)) ||
          failed(callOnFused(*copy, target, options, request)))
        return failure();
    }
    if (failed(compileTarget(copy ? *copy : graph, i, target, codeOptions, result)))
      return failure();
  }
  schedule::Span packing(options.timeline, Kind::Phase, "constants");
  result.code.weights = weights.take(codeOptions.threads);
  result.codeMs = now() - start;
  return result;
}

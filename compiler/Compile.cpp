// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Compile.h"
#include "compiler/Pipeline.h"
#include "compiler/Targets.h"
#include "ir/Limits.h"
#include "ir/reference/FloatState.h"
#include "mlir/Pass/PassManager.h"
#include "passes/InlineCalls.h"
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

static double now() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Makes the code of `module`, which is used up, for each of the targets.
static LogicalResult compileTargets(ModuleOp module, MutableArrayRef<cpu::Target> targets, cpu::CodeOptions options,
                                    CompiledModule &result) {
  cpu::Weights weights;
  std::string error, name = options.prefix;
  options.weights = &weights;
  for (auto [i, target] : llvm::enumerate(targets)) {
    OwningOpRef<ModuleOp> copy; // code leaves marks on its kernels
    if (i + 1 < targets.size())
      copy = module.clone();
    if (i > 0) // functions of all targets may be linked into one object
      options.prefix = name + "_v" + std::to_string(i);
    options.target = target;
    FailureOr<cpu::CodeModule> code = cpu::compileCode(copy ? *copy : module, options);
    if (failed(code))
      return failure();
    if (i == 0) {
      result.code = std::move(*code);
      continue;
    }
    if (!haveSameSignatures(result.code.functions, code->functions, error))
      return module.emitError(error);
    result.variants.push_back({target, std::move(*code)});
  }
  result.code.weights = weights.take();
  return success();
}

FailureOr<CompiledModule> sinter::compileGraph(ModuleOp graph, const Options &options, const CompileRequest &request) {
  DefaultFloatState floatState; // what folds does not depend on the caller's rounding mode
  CompiledModule result;
  std::string error;
  std::vector<cpu::Target> targets;
  if (!parseTargets(options.target, targets, error)) {
    graph.emitError(error);
    return failure();
  }
  result.target = targets.front();
  result.sha256 = request.sha256;
  result.optLevel = static_cast<unsigned>(options.optLevel);
  result.fastMath = options.fastMath;
  if (failed(inlineCalls(graph)) || failed(verifyLimits(graph)))
    return failure();

  // The fused pipeline starts with the graph's: it is only run by itself when somebody looks at what it leaves.
  using Last = CompileRequest::Last;
  double start = now();
  auto run = [&](Phase phase) {
    PassManager passes(graph.getContext());
    buildPipeline(passes, options, phase);
    // A pass may give a tensor more axes.
    return success(succeeded(passes.run(graph)) && succeeded(verifyLimits(graph)));
  };
  if (request.keepGraph || request.onGraph || request.last == Last::Graph) {
    if (failed(run(Phase::Graph)))
      return failure();
    if (request.keepGraph)
      result.graph = printModule(graph);
    if (request.onGraph)
      request.onGraph(graph);
    if (request.last == Last::Graph)
      return result;
  }
  if (failed(run(Phase::Fused)))
    return failure();
  result.graphMs = now() - start;
  if (request.keepFused || request.last == Last::Fused)
    result.fused = printModule(graph);
  if (request.last == Last::Fused)
    return result;

  cpu::CodeOptions codeOptions;
  codeOptions.target = result.target;
  codeOptions.optLevel = options.optLevel;
  codeOptions.threads = options.threads ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  codeOptions.prefix = request.name;
  codeOptions.keepSchedule = request.keepSchedule || request.last == Last::Schedule;
  codeOptions.keepLoops = request.keepLoops || request.last == Last::Loops;
  codeOptions.keepLLVM = request.keepLLVM;
  codeOptions.keepAssembly = request.keepAssembly;
  codeOptions.loopsOnly = request.last == Last::Schedule || request.last == Last::Loops;
  start = now();
  if (failed(compileTargets(graph, targets, codeOptions, result)))
    return failure();
  result.codeMs = now() - start;
  return result;
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Compile.h"
#include "compiler/Pipeline.h"
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

FailureOr<CompiledModule> sinter::compileGraph(ModuleOp graph, const Options &options, const CompileRequest &request) {
  DefaultFloatState floatState; // what folds does not depend on the caller's rounding mode
  CompiledModule result;
  std::string error;
  if (!cpu::Target::parse(options.target, result.target, error)) {
    graph.emitError(error);
    return failure();
  }
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
  codeOptions.keepLoops = request.keepLoops || request.last == Last::Loops;
  codeOptions.keepLLVM = request.keepLLVM;
  codeOptions.keepAssembly = request.keepAssembly;
  codeOptions.loopsOnly = request.last == Last::Loops;
  start = now();
  FailureOr<cpu::CodeModule> code = cpu::compileCode(graph, codeOptions);
  if (failed(code))
    return failure();
  result.codeMs = now() - start;
  result.code = std::move(*code);
  return result;
}

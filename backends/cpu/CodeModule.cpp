// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/CodeModule.h"
#include "backends/cpu/FunctionTable.h"
#include "backends/cpu/LowerSchedule.h"
#include <chrono>

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

static void printModule(std::string &text, ModuleOp module) {
  llvm::raw_string_ostream os(text);
  module.print(os);
  os << '\n';
}

/// A small kernel with more calls than this stays a function, unless LLVM thinks otherwise; with more than that it does
/// in any case. LLVM looks at one call after the other, and would make one function of a thousand products of little
/// matrices.
constexpr unsigned kMaxInlinedCalls = 4, kMostInlinedCalls = 32;

/// True when the schedule itself computes: it has small kernels or loops.
static bool isWorthOptimizing(ModuleOp module, KernelTable &kernels) {
  if (llvm::any_of(kernels.codes(), [](const KernelCode &code) { return code.isSmall; }))
    return true;
  return module
      .walk([](Operation *op) { return LoopView::isLoop(op) ? WalkResult::interrupt() : WalkResult::advance(); })
      .wasInterrupted();
}

FailureOr<CodeModule> cpu::compileCode(ModuleOp module, const CodeOptions &options) {
  auto start = std::chrono::steady_clock::now();
  CodeModule result;
  KernelOptions kernelOptions{&options.target, options.optLevel};
  KernelTable kernels(kernelOptions, options.prefix);
  Weights own, &weights = options.weights ? *options.weights : own;
  OwningOpRef<ModuleOp> schedule = ModuleOp::create(module.getLoc());
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isPrivate() || function.isDeclaration())
      continue;
    std::string entry = options.prefix + "_run_" + symbolName(function.getName());
    FailureOr<Signature> signature = emitSchedule(function, *schedule, entry, kernels, weights);
    if (failed(signature))
      return failure();
    result.functions.push_back(std::move(*signature));
  }
  if (result.functions.empty())
    return module.emitError("compilation requires a public function with a body, found none");
  result.usedWeights = weights.takeUsed();
  result.weights = own.take();
  result.scheduleMs = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();

  if (options.keepSchedule)
    printModule(result.schedule, *schedule);
  if (options.keepLoops) {
    printModule(result.loops, *schedule);
    for (KernelCode &code : kernels.codes())
      printModule(result.loops, *code.module);
  }
  if (options.loopsOnly)
    return result;
  if (failed(lowerSchedules(*schedule, options.optLevel > 0)))
    return failure();

  SmallVector<ObjectUnit> units;
  ObjectUnit &first = units.emplace_back();
  first.module = *schedule;
  first.light = !isWorthOptimizing(module, kernels);
  SmallVector<unsigned> reports = {0}; // by unit
  // Setting LLVM up takes longer than plain loops do: what is not optimized and compiled on one thread is one unit.
  bool together = options.optLevel == 0 && options.threads == 1;
  for (KernelCode &code : kernels.codes()) {
    result.kernels.push_back({code.name, code.spec->kernel.getLoc(), 0, code.uses, code.emitMs});
    if (code.isSmall || together) {
      using Inline = ObjectUnit::Part::Inline;
      Inline inlining = code.directCalls > kMostInlinedCalls                   ? Inline::Never
                        : code.isSmall && code.directCalls <= kMaxInlinedCalls ? Inline::Always
                                                                               : Inline::AsLLVMThinks;
      units.front().parts.push_back({*code.module, code.name, inlining, !code.isSmall && code.calledInParallel});
      continue;
    }
    reports.push_back(result.kernels.size() - 1);
    KernelTemplate form = code.spec->kernel.getKernelTemplate();
    ObjectUnit &unit = units.emplace_back();
    unit.module = *code.module;
    unit.kernel = code.name;
    unit.callable = code.directCalls > 0;
    unit.wrapped = code.calledInParallel;
    unit.light = form == KernelTemplate::contraction || form == KernelTemplate::convolution;
  }
  ObjectOptions objectOptions;
  objectOptions.target = &options.target;
  objectOptions.optLevel = options.optLevel;
  objectOptions.threads = options.threads;
  objectOptions.keepLLVM = options.keepLLVM;
  objectOptions.keepAssembly = options.keepAssembly;
  FailureOr<std::vector<ObjectFile>> files = compileObjects(units, objectOptions);
  if (failed(files))
    return failure();
  for (auto [i, file] : llvm::enumerate(*files)) {
    if (i > 0) {
      KernelReport &report = result.kernels[reports[i]];
      report.objectBytes = static_cast<int64_t>(file.bytes.size());
      report.lowerMs = file.lowerMs;
      report.optimizeMs = file.optimizeMs;
      report.generateMs = file.generateMs;
    }
    result.llvm += file.llvm;
    result.assembly += file.assembly;
    result.objects.push_back(std::move(file.bytes));
  }
  return result;
}

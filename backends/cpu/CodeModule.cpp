// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/CodeModule.h"
#include "backends/cpu/FunctionTable.h"
#include <chrono>

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

static void printModule(std::string &text, ModuleOp module) {
  llvm::raw_string_ostream os(text);
  module.print(os);
  os << '\n';
}

FailureOr<CodeModule> cpu::compileCode(ModuleOp module, const CodeOptions &options) {
  auto start = std::chrono::steady_clock::now();
  CodeModule result;
  KernelOptions kernelOptions{&options.target, options.optLevel};
  KernelTable kernels(kernelOptions, options.prefix);
  Weights weights;
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
  result.weights = weights.take();
  result.scheduleMs = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();

  if (options.keepLoops) {
    printModule(result.loops, *schedule);
    for (KernelCode &code : kernels.codes())
      printModule(result.loops, *code.module);
  }
  if (options.loopsOnly)
    return result;

  SmallVector<ObjectUnit> units;
  units.push_back({*schedule, "", /*light=*/true});
  for (KernelCode &code : kernels.codes()) {
    KernelTemplate form = code.spec->kernel.getKernelTemplate();
    units.push_back({*code.module, code.name, form == KernelTemplate::contraction || form == KernelTemplate::convolution});
    result.kernels.push_back({code.name, code.spec->kernel.getLoc(), 0, code.uses, code.emitMs});
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
      KernelReport &report = result.kernels[i - 1];
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

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CPU back end from end to end: functions of kernels and control flow in, object code, signatures and weights out.

#ifndef SINTER_BACKENDS_CPU_CODEMODULE_H
#define SINTER_BACKENDS_CPU_CODEMODULE_H

#include "backends/cpu/Object.h"
#include "backends/cpu/Schedule.h"

namespace sinter::cpu {

struct CodeOptions {
  Target target;
  int optLevel = 2;
  unsigned threads = 1;
  /// Symbols of the object code begin with it.
  std::string prefix = "sinter";
  bool keepSchedule = false; // text of the schedules
  bool keepLoops = false;    // text of the loops level: schedules and kernels
  bool keepLLVM = false;
  bool keepAssembly = false;
  /// Stop before machine code (with keepSchedule or keepLoops).
  bool loopsOnly = false;
  /// Constants of code for other targets, which these join; null for a block of their own.
  Weights *weights = nullptr;
};

struct KernelReport {
  std::string name;
  mlir::Location location;
  int64_t objectBytes = 0;
  unsigned uses = 0; // kernel ops that this code computes
  double emitMs = 0, lowerMs = 0, optimizeMs = 0, generateMs = 0;
};

struct CodeModule {
  std::vector<Signature> functions;
  std::vector<std::string> objects; // ELF, the schedule first
  WeightBytes weights; // 64-byte aligned, as the code requires; empty when they went to CodeOptions.weights
  std::vector<WeightRange> usedWeights;
  std::vector<KernelReport> kernels;
  double scheduleMs = 0;
  std::string schedule, loops, llvm, assembly;
};

/// Compiles every public function of `module`, which is at the fused level. The module is changed (attributes of
/// kernels).
llvm::FailureOr<CodeModule> compileCode(mlir::ModuleOp module, const CodeOptions &options);

} // namespace sinter::cpu

#endif

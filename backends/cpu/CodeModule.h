// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CPU back end from end to end: functions of kernels and control flow in, object code, signatures and weights out.

#ifndef SINTER_BACKENDS_CPU_CODEMODULE_H
#define SINTER_BACKENDS_CPU_CODEMODULE_H

#include "backends/cpu/Object.h"
#include "backends/schedule/Code.h"

namespace sinter::schedule {
class Backend;
}

namespace sinter::cpu {

using schedule::CodeModule;
using schedule::KernelReport;

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
  /// Other back ends, which are asked for each kernel before the CPU; what they refuse the CPU computes on copies.
  std::vector<schedule::Backend *> devices = {};
  /// Constants of code for other targets, which these join; null for a block of their own.
  schedule::Weights *weights = nullptr;
};

/// Compiles every public function of `module`, which is at the fused level. The module is changed (attributes of
/// kernels).
llvm::FailureOr<CodeModule> compileCode(mlir::ModuleOp module, const CodeOptions &options);

} // namespace sinter::cpu

#endif

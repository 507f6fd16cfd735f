// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CPU back end from end to end: functions of kernels and control flow in, object code, signatures and weights out.

#ifndef SINTER_BACKENDS_CPU_CODEMODULE_H
#define SINTER_BACKENDS_CPU_CODEMODULE_H

#include "backends/cpu/Object.h"
#include "backends/schedule/Backends.h"

namespace sinter::cpu {

using schedule::CodeModule;
using schedule::KernelReport;

struct CodeOptions : schedule::CodeOptions {
  Target target;
  /// Other back ends, which are asked for each kernel before the CPU; what they refuse the CPU computes on copies.
  std::vector<schedule::Backend *> devices = {};
};

/// Compiles every public function of `module`, which is at the fused level. The module is changed (attributes of
/// kernels).
llvm::FailureOr<CodeModule> compileCode(mlir::ModuleOp module, const CodeOptions &options);

} // namespace sinter::cpu

#endif

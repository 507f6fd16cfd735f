// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the code of a module is, whichever back ends made it: the host's objects, the code of others, weights, and what
// callers must know.

#ifndef SINTER_BACKENDS_SCHEDULE_CODE_H
#define SINTER_BACKENDS_SCHEDULE_CODE_H

#include "backends/schedule/Signature.h"
#include "mlir/IR/Location.h"

namespace sinter::schedule {

/// Code of a back end that is not the host's: what its runtime loads before the host's code runs. A section of a .smod.
struct CodeObject {
  std::string backend;
  std::string requirements; // of the machine, in the back end's own words
  std::string payload;
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
  std::string requirements;         // of the machine that runs the host's code, in the words of its runtime
  std::vector<std::string> objects; // ELF, the schedules first
  std::vector<CodeObject> others;   // what kernels of other back ends became
  WeightBytes weights;              // 64-byte aligned, as the code requires; empty when they went to a shared block
  std::vector<WeightRange> usedWeights;
  std::vector<KernelReport> kernels;
  double scheduleMs = 0;
  std::string schedule, loops, llvm, assembly;
};

} // namespace sinter::schedule

#endif

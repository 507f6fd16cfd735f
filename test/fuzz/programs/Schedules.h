// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Schedules drawn at random among those that the emitters allow.

#ifndef SINTER_TEST_FUZZ_PROGRAMS_SCHEDULES_H
#define SINTER_TEST_FUZZ_PROGRAMS_SCHEDULES_H

#include "mlir/IR/BuiltinOps.h"
#include <random>

namespace sinter::test {

/// Brings `module` to the fused level, for the machine that runs the test at -O2, and gives each of its kernels another
/// schedule: of any emitter that takes it. False where a pass fails.
bool drawSchedules(mlir::ModuleOp module, std::mt19937_64 &random);

} // namespace sinter::test

#endif

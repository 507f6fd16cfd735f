// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The last pass of the fused phase: every kernel gets the schedule that its code will follow.

#ifndef SINTER_BACKENDS_CPU_CHOOSESCHEDULES_H
#define SINTER_BACKENDS_CPU_CHOOSESCHEDULES_H

#include "mlir/Pass/Pass.h"

namespace sinter::cpu {

/// `sinter-choose-schedules`: asks the emitters for each kernel of a function and writes the `schedule` of the first
/// one that takes it; a schedule that is there already is checked and stays. Does nothing in a module without
/// `sinter.target`: its kernels get theirs when code is made. Kernels of one element, which become a part of the
/// function around them above -O0, get none.
std::unique_ptr<mlir::Pass> createChooseSchedules(int optLevel = 2);

void registerChooseSchedules();

} // namespace sinter::cpu

#endif

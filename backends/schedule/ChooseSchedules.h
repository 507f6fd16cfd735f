// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The last pass of the fused phase: every kernel gets the schedule that its code will follow.

#ifndef SINTER_BACKENDS_SCHEDULE_CHOOSESCHEDULES_H
#define SINTER_BACKENDS_SCHEDULE_CHOOSESCHEDULES_H

#include "mlir/Pass/Pass.h"

namespace sinter::schedule {

/// `sinter-choose-schedules`: each kernel of a function gets the `schedule` of the first back end of the module's
/// target that takes it, devices before the host; a schedule that is there already is checked and stays. Does nothing
/// in a module without `sinter.target`: its kernels get theirs when code is made. Kernels of one element, which become
/// a part of the function around them above -O0, get none.
std::unique_ptr<mlir::Pass> createChooseSchedules(int optLevel = 2);

void registerChooseSchedules();

} // namespace sinter::schedule

#endif

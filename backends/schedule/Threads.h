// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_BACKENDS_SCHEDULE_THREADS_H
#define SINTER_BACKENDS_SCHEDULE_THREADS_H

#include "llvm/ADT/STLFunctionalExtras.h"

namespace sinter::schedule {

/// Calls `work` on this thread and on up to `count - 1` others at once, and waits for all. The others take no signals,
/// which are for the host's threads; one that cannot be had is done without.
void runOnThreads(unsigned count, llvm::function_ref<void()> work);

} // namespace sinter::schedule

#endif

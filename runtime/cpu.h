// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_RUNTIME_CPU_H
#define SINTER_RUNTIME_CPU_H

#include "host.h"

/// `sinter_host_get` as far as it says what code may use: of this machine without caches and cores, which are in files.
const sinter_host *srtBriefHost(void);

/// 1 when code with these requirements may run now. The kernel gives AMX's state (8 KiB a thread that uses it) to a
/// process that asks for it, so this asks where they need it and this process decides by its machine; 0 when the kernel
/// refuses, with its reason in `why` (errno).
int srtMayRun(const sinter_host *host, const char *requirements, int *why);

/// Whether any of the requirements is an extension whose state the kernel gives on request.
int srtAsksForState(const sinter_host *host, const char *requirements);

#endif

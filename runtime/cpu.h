// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_RUNTIME_CPU_H
#define SINTER_RUNTIME_CPU_H

#include "host.h"

/// `sinter_host_get` as far as it says what code may use: of this machine without caches and cores, which are in files.
const sinter_host *srtBriefHost(void);

#endif

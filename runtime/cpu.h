// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_RUNTIME_CPU_H
#define SINTER_RUNTIME_CPU_H

#include "host.h"
#include <stddef.h>

/// Whether this process's host runs code with these requirements, as `sinter_host_runs` reads them; null is none.
/// Returns 1, or 0 with the first word that stands against it in `missing`.
int srtCpuHas(const char *requirements, char *missing, size_t missingBytes);

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_RUNTIME_CPU_H
#define SINTER_RUNTIME_CPU_H

#include <stddef.h>

/// Checks that this machine has every feature of a list: LLVM's names ("avx2 fma"), separated by spaces
/// or commas, a leading '+' allowed, names with a leading '-' skipped, and the levels x86-64,
/// x86-64-v2, x86-64-v3, x86-64-v4. Returns 1, or 0 with the first missing name in `missing`. A name
/// that this runtime does not know counts as missing.
int srtCpuHas(const char *features, char *missing, size_t missingBytes);

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The clock of all measured times. Files that include it define _GNU_SOURCE before their first header.

#ifndef SINTER_RUNTIME_CLOCK_H
#define SINTER_RUNTIME_CLOCK_H

#include <stdint.h>
#include <time.h>

/// CLOCK_MONOTONIC.
static inline int64_t srtMonotonicNs(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

#endif

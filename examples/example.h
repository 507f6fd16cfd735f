// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the small programs of this folder share: opening a module, and measuring calls.

#ifndef SINTER_EXAMPLES_EXAMPLE_H
#define SINTER_EXAMPLES_EXAMPLE_H

#include "runtime/sinter.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/// Ends the program with the runtime's message when `status` is not success.
static inline void check(sinter_status_code status) {
  if (status == SINTER_OK)
    return;
  fprintf(stderr, "%s\n", sinter_last_error());
  exit(1);
}

/// A session for the first function of the module at `path`, on one thread.
static inline sinter_session *openSession(const char *path) {
  sinter_module *module;
  sinter_session *session;
  sinter_session_options options = {.struct_size = sizeof(options), .threads = 1};
  check(sinter_module_open(path, NULL, &module));
  check(sinter_session_create(module, 0, &options, &session));
  sinter_module_close(module); // the session keeps what it needs
  return session;
}

static inline double microseconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static inline int compareDoubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/// The middle one of `count` times, which it sorts.
static inline double median(double *times, size_t count) {
  qsort(times, count, sizeof(double), compareDoubles);
  return times[count / 2];
}

#endif

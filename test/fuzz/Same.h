// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What was read is written and read again: it is the same.

#ifndef SINTER_TEST_FUZZ_SAME_H
#define SINTER_TEST_FUZZ_SAME_H

#include "runtime/sinter.h"
#include "runtime/status.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/// Ends the process where they differ.
static inline void requireSame(const sinter_tensor *one, const sinter_tensor *other) {
  int64_t count, bytes;
  srtTensorBytes(one->dtype, one->rank, one->dims, &count, &bytes);
  if (one->dtype != other->dtype || one->rank != other->rank ||
      memcmp(one->dims, other->dims, sizeof *one->dims * (size_t)one->rank) != 0 ||
      (bytes && memcmp(one->data, other->data, (size_t)bytes) != 0))
    abort();
}

#endif

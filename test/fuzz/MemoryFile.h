// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A file in memory with a path, since everything that reads untrusted bytes takes a path.

#ifndef SINTER_TEST_FUZZ_MEMORYFILE_H
#define SINTER_TEST_FUZZ_MEMORYFILE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/// Makes the file, writes its path to `path` and returns its descriptor, which the caller closes.
static inline int memoryFile(const uint8_t *data, size_t size, char path[64]) {
  int file = memfd_create("fuzz", 0);
  if (file < 0 || write(file, data, size) != (ssize_t)size)
    abort();
  snprintf(path, 64, "/proc/self/fd/%d", file);
  return file;
}

#endif

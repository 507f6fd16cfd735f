// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A file in memory with a path of the system, for readers that map it or go through what HeldFiles.h does not hold.

#ifndef SINTER_TEST_FUZZ_MEMORYFILE_H
#define SINTER_TEST_FUZZ_MEMORYFILE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/// The path of a file with these bytes. It is the same file each time: making one takes longer than reading it.
static inline const char *memoryFile(const uint8_t *data, size_t size) {
  static int file = -1;
  static char path[64];
  if (file < 0) {
    file = memfd_create("fuzz", 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  }
  if (file < 0 || pwrite(file, data, size, 0) != (ssize_t)size || ftruncate(file, (off_t)size) != 0)
    abort();
  return path;
}

#endif

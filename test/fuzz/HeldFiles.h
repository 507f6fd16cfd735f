// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files of the runtime's file functions (runtime/file.h) that lie in memory. Everything that reads untrusted bytes
// takes a path; the kernel would take as long to open one and read it as a reader takes to refuse it. Programs that
// link HeldFiles.c with its functions wrapped find the two names here, and the system's files under all others.

#ifndef SINTER_TEST_FUZZ_HELDFILES_H
#define SINTER_TEST_FUZZ_HELDFILES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The path of a file with these bytes, which stay the caller's, until the next call.
const char *givenFile(const uint8_t *data, size_t size);
/// A path to write to and read again.
const char *writtenFile(void);

#ifdef __cplusplus
}
#endif

#endif

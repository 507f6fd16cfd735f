// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How large an arena becomes, for whoever must know before anything runs: the compiler, which keeps or computes again
// what a byte budget asks for.

#ifndef SINTER_RUNTIME_ARENA_H
#define SINTER_RUNTIME_ARENA_H

#include "sinter.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Fills `*total` with the bytes of the arena in which a session will place `count` buffers of `bytes[i]` with lives
/// `lives[i]`. Returns SINTER_INVALID_ARGUMENT for a negative size, a life that ends before it starts or null,
/// SINTER_OUT_OF_MEMORY for sizes that overflow.
SINTER_API sinter_status_code sinter_arena_bytes(const sinter_buffer_life *lives, int64_t count, const int64_t *bytes,
                                                 int64_t *total);

#ifdef __cplusplus
}
#endif

#endif

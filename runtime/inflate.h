// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_RUNTIME_INFLATE_H
#define SINTER_RUNTIME_INFLATE_H

#include <stdint.h>

/// No deflate stream expands by more: a match of 258 bytes takes two bits at least.
#define SRT_INFLATE_MAX_RATIO 1032

/// Expands a raw deflate stream (RFC 1951) to exactly `outBytes` bytes. Returns null, or what is wrong.
/// Never reads or writes outside of the given ranges.
const char *srtInflate(const unsigned char *in, int64_t inBytes, unsigned char *out, int64_t outBytes);

#endif

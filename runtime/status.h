// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_RUNTIME_STATUS_H
#define SINTER_RUNTIME_STATUS_H

#include "sinter.h"

/// Bytes of a message, the terminator included; longer ones are cut.
#define SRT_MESSAGE_BYTES 512

/// Sets this thread's message and returns `code`.
sinter_status_code srtError(sinter_status_code code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/// Bytes of text that `srtDimsText` may write.
#define SRT_DIMS_TEXT_BYTES (SINTER_MAX_RANK * 21 + 1)

/// Writes dims as "2x3x4" ("scalar" for rank 0) into `text` and returns it.
const char *srtDimsText(const int64_t *dims, int32_t rank, char *text);

/// Sets `*count` to the number of elements and `*bytes` to their size. Returns 0 when a dim is negative
/// or the size does not fit in an int64_t.
int srtTensorBytes(int32_t dtype, int32_t rank, const int64_t *dims, int64_t *count, int64_t *bytes);

#endif

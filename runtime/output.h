// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files that are written whole or not at all, for all that writes: the readers' side of a name sees the old file or the
// new one, links are kept, and rights are those of the old file.

#ifndef SINTER_RUNTIME_OUTPUT_H
#define SINTER_RUNTIME_OUTPUT_H

#include "sinter.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A file while it is written. One thread at a time may use it.
typedef struct sinter_output sinter_output;

/// Begins to write `path`, which is what it was until sinter_output_finish; what processes that are no more have left
/// of writing it is removed. `executable`: whoever may read it may run it. Messages of all functions here name the
/// path.
SINTER_API sinter_status_code sinter_output_create(const char *path, int32_t executable, sinter_output **output);

/// Appends `bytes` bytes.
SINTER_API sinter_status_code sinter_output_append(sinter_output *output, const void *data, int64_t bytes);

/// Gives what was written its name when `status` is SINTER_OK, else removes it. Returns `status`, or why it has no
/// name. `output` is gone.
SINTER_API sinter_status_code sinter_output_finish(sinter_output *output, sinter_status_code status);

#ifdef __cplusplus
}
#endif

#endif

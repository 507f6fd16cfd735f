// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_RUNTIME_EXTERNAL_H
#define SINTER_RUNTIME_EXTERNAL_H

#include "sinter.h"

/// What `external` of sinter_context does; the message is this thread's.
sinter_status_code srtCallExternal(const char *name, sinter_op_fn function, const int32_t *layout,
                                   const int64_t *words);

#endif

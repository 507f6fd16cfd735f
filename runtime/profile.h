// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a session counts of its kernels, where code is compiled for it (sinter_compile_options.profile).

#ifndef SINTER_RUNTIME_PROFILE_H
#define SINTER_RUNTIME_PROFILE_H

#include "sinter.h"

typedef struct Profile {
  sinter_kernel_profile *kernels; // of malloc: the session's own memory is counted, and this is not its user's
  int32_t count, room;
} Profile;

/// Adds a call of `ns` to the kernel `name`, a constant of the module. What there is no memory for is not counted.
void srtProfileAdd(Profile *profile, const char *name, int64_t ns);
void srtProfileFree(Profile *profile);

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a session counts of its kernels, where code is compiled for it (sinter_compile_options.profile).

#ifndef SINTER_RUNTIME_PROFILE_H
#define SINTER_RUNTIME_PROFILE_H

#include "sinter.h"

typedef struct Profile {
  sinter_kernel_profile *kernels; // of malloc: the session's own memory is counted, and this is not its user's
  int32_t count, room;
  sinter_kernel_event *events; // of the last run, which began at `startNs`; null unless they are asked for
  int64_t numEvents, roomForEvents, startNs;
} Profile;

/// Adds a call of `ns` to the kernel `name`, a constant of the module. What there is no memory for is not counted.
void srtProfileAdd(Profile *profile, const char *name, int64_t ns);
/// The same for a call between two times of CLOCK_MONOTONIC, which is an event as well.
void srtProfileNote(Profile *profile, const char *name, int64_t begin, int64_t end, int32_t onDevice);
/// A run begins.
void srtProfileBegin(Profile *profile);
void srtProfileFree(Profile *profile);

#endif

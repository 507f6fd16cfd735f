// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "profile.h"
#include "session.h"
#include <stdlib.h>
#include <string.h>

void srtProfileAdd(Profile *profile, const char *name, int64_t ns) {
  sinter_kernel_profile *found = NULL;
  for (int32_t k = 0; k < profile->count && !found; ++k)
    if (profile->kernels[k].name == name || strcmp(profile->kernels[k].name, name) == 0)
      found = &profile->kernels[k];
  if (!found) {
    if (profile->count == profile->room) {
      int32_t room = profile->room ? 2 * profile->room : 16;
      sinter_kernel_profile *kernels = realloc(profile->kernels, (size_t)room * sizeof *kernels);
      if (!kernels)
        return;
      profile->kernels = kernels;
      profile->room = room;
    }
    found = &profile->kernels[profile->count++];
    *found = (sinter_kernel_profile){name, 0, 0};
  }
  ++found->calls;
  found->ns += ns;
}

void srtProfileFree(Profile *profile) { free(profile->kernels); }

sinter_status_code sinter_session_profile(const sinter_session *session, int32_t room, sinter_kernel_profile *kernels,
                                          int32_t *count) {
  if (!session || !count || room < 0 || (room && !kernels))
    return srtError(SINTER_INVALID_ARGUMENT, "profile requires a session and places for kernels and count, got null");
  sinter_status_code status = srtEnter(session);
  if (status)
    return status;
  *count = session->profile.count;
  for (int32_t k = 0; k < *count && k < room; ++k)
    kernels[k] = session->profile.kernels[k];
  srtLeave(session);
  return SINTER_OK;
}

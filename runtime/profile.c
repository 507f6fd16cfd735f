// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#define _GNU_SOURCE // clock_gettime

#include "profile.h"
#include "clock.h"
#include "session.h"
#include <inttypes.h>
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

void srtProfileNote(Profile *profile, const char *name, int64_t begin, int64_t end, int32_t onDevice) {
  srtProfileAdd(profile, name, end - begin);
  if (profile->numEvents < profile->roomForEvents)
    profile->events[profile->numEvents++] =
        (sinter_kernel_event){name, onDevice, begin - profile->startNs, end - profile->startNs};
}

void srtProfileBegin(Profile *profile) {
  profile->numEvents = 0;
  if (profile->roomForEvents)
    profile->startNs = srtMonotonicNs();
}

void srtProfileFree(Profile *profile) {
  free(profile->kernels);
  free(profile->events);
}

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

static void note(sinter_context *ctx, const char *name, int64_t begin, int64_t end, int32_t onDevice) {
  srtProfileNote(&((sinter_session *)ctx)->profile, name, begin, end, onDevice);
}

sinter_status_code sinter_session_trace(sinter_session *session, int64_t room) {
  if (!session || room < 0 || room > 1 << 24)
    return srtError(SINTER_INVALID_ARGUMENT,
                    "trace requires a session and room for 0 to 16777216 events, got %s%" PRId64,
                    session ? "" : "null and ", room);
  sinter_status_code status = srtEnter(session);
  if (status)
    return status;
  Profile *profile = &session->profile;
  sinter_kernel_event *events = room ? malloc((size_t)room * sizeof *events) : NULL;
  if (room && !events) {
    status = srtError(SINTER_OUT_OF_MEMORY, "no memory for %" PRId64 " events", room);
  } else {
    free(profile->events);
    profile->events = events;
    profile->roomForEvents = room;
    profile->numEvents = 0;
    session->context.measured = room ? note : NULL;
  }
  srtLeave(session);
  return status;
}

sinter_status_code sinter_session_events(const sinter_session *session, int64_t room, sinter_kernel_event *events,
                                         int64_t *count) {
  if (!session || !count || room < 0 || (room && !events))
    return srtError(SINTER_INVALID_ARGUMENT, "events require a session and places for events and count, got null");
  sinter_status_code status = srtEnter(session);
  if (status)
    return status;
  const Profile *profile = &session->profile;
  *count = profile->numEvents;
  for (int64_t k = 0; k < *count && k < room; ++k)
    events[k] = profile->events[k];
  srtLeave(session);
  return SINTER_OK;
}

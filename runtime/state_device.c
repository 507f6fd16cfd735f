// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// States in the memory of a module's device. The host has memory for each, too, and at least one of the two holds the
// value: it is copied when the other side wants it, so that calls one after the other copy nothing.

#include "state.h"
#include "status.h"
#include <inttypes.h>

static int64_t roomOf(const State *state) { return state->bytes ? state->bytes : SRT_ALIGNMENT; }

sinter_status_code srtStateReserveThere(State *state, int withSpare) {
  if (!state->there)
    state->there = state->device->keep(state->device, roomOf(state));
  if (state->there && withSpare && !state->spareThere)
    state->spareThere = state->device->keep(state->device, roomOf(state));
  if (state->there && (!withSpare || state->spareThere))
    return SINTER_OK;
  return srtError(SINTER_OUT_OF_MEMORY, "no memory of the device for state '%s' of %" PRId64 " bytes", state->name,
                  state->bytes);
}

void srtStateDiscardThere(State *state) {
  if (state->there)
    state->device->discard(state->device, state->there);
  if (state->spareThere)
    state->device->discard(state->device, state->spareThere);
  state->there = state->spareThere = NULL;
}

static sinter_status_code transfer(State *state, void *to, const void *from, sinter_copy direction) {
  if (!state->bytes || !state->device->transfer(state->device, to, from, state->bytes, direction))
    return SINTER_OK;
  return srtError(SINTER_RUNTIME_ERROR, "state '%s' cannot be copied %s the device", state->name,
                  direction == SINTER_COPY_TO_HOST ? "from" : "to");
}

sinter_status_code srtStateToHost(State *state) {
  if (!state->isNewerThere)
    return SINTER_OK;
  sinter_status_code status = transfer(state, state->current.data, state->there, SINTER_COPY_TO_HOST);
  if (!status)
    state->isNewerThere = 0;
  return status;
}

sinter_status_code srtStateToDevice(State *state) {
  if (!state->isNewerHere)
    return SINTER_OK;
  sinter_status_code status = transfer(state, state->there, state->current.data, SINTER_COPY_TO_DEVICE);
  if (!status)
    state->isNewerHere = 0;
  return status;
}

void srtStateSetOnHost(State *state) {
  state->isNewerHere = 1;
  state->isNewerThere = 0;
}

void srtStateSetThere(State *state) {
  state->isNewerThere = 1;
  state->isNewerHere = 0;
}

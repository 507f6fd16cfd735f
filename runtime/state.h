// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tensors that sessions keep from call to call. A store has a place for every state that the functions of a module
// name; memory comes when the first session that uses a state joins. Compiled code that cannot write a state in place
// writes a second buffer, and the two are exchanged after the call has succeeded.

#ifndef SINTER_RUNTIME_STATE_H
#define SINTER_RUNTIME_STATE_H

#include "memory.h"
#include "module.h"
#include <sys/types.h>

typedef struct State {
  const char *name;
  int32_t dtype, rank;
  const int64_t *dims;
  int64_t bytes;
  const void *initial; // null: zeros
  Block current;       // no data: no session uses it
  Block spare;         // no data: written in place, or only read
  // Of states in the memory of a device (state_device.c); null: the host has it.
  const sinter_device *device;
  void *there, *spareThere;
  int isNewerHere, isNewerThere; // what the other side has is old
  int holdsRows;                 // of a table that lies elsewhere: no file has its value
} State;

typedef struct StateStore {
  _Atomic int32_t holds; // one a session
  _Atomic int32_t busy;  // a session runs, saves or loads
  Memory memory;
  const sinter_module *module;
  pid_t owner; // the process that has its devices
  int32_t count;
  State *states;      // sorted by name
  uint64_t placement; // changes when a state gets other memory, from 1 on
  uintptr_t *extents; // begin and end of all blocks of states, sorted; for srtStatesOverlap
  int32_t numExtents; // blocks
} StateStore;

/// The states that a function lists; none in descriptions from before states.
int32_t srtNumStates(const sinter_function *function);

/// Checks what `function` says about its states.
sinter_status_code srtCheckStates(const sinter_function *function);

/// Memory of the state's device, and as much again with `withSpare`.
sinter_status_code srtStateReserveThere(State *state, int withSpare);
void srtStateDiscardThere(State *state);
/// Brings the value to the host, or to the device, if it is not there. Nothing is done for states of the host.
sinter_status_code srtStateToHost(State *state);
sinter_status_code srtStateToDevice(State *state);
/// The value on the host, or on the device, is the new one.
void srtStateSetOnHost(State *state);
void srtStateSetThere(State *state);

/// Gives `session` the states of its function, from the store of `shared` (may be null) or from a new one.
sinter_status_code srtStatesJoin(sinter_session *session, sinter_session *shared);

/// Gives the hold on the store back.
void srtStatesLeave(sinter_session *session);

/// Claims the store for the session, or says who has it.
sinter_status_code srtStatesClaim(const sinter_session *session);
void srtStatesRelease(const sinter_session *session);

/// Shows compiled code where the states lie.
sinter_status_code srtStatesPlace(sinter_session *session);

/// Exchanges the buffers of states that were written beside the old value.
void srtStatesCommit(sinter_session *session);

/// True when [begin, end) overlaps the memory of a state.
int srtStatesOverlap(const sinter_session *session, uintptr_t begin, uintptr_t end);

#endif

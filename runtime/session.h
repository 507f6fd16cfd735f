// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A session's memory: the struct and the arrays behind it are one allocation; everything else (arena,
// plans, copies, outputs, scratch) is reached from it and counted by `memory`.

#ifndef SINTER_RUNTIME_SESSION_H
#define SINTER_RUNTIME_SESSION_H

#include "memory.h"
#include "module.h"
#include "plan.h"
#include "profile.h"
#include "state.h"
#include "status.h"
#include "threads.h"
#include <sys/types.h>

/// A tensor of the caller, and the session's own memory for it.
typedef struct Binding {
  int bound;
  sinter_tensor tensor; // strides point to `strides` or are null
  int64_t strides[SINTER_MAX_RANK];
  int64_t count, bytes; // elements, and their size when dense
  uintptr_t begin, end; // range of addresses that the elements span
  int copied;           // in or out through `own`
  int32_t fromOutput;   // 1 + the output in whose session memory an input lies, else 0
  Block own;
  State *state; // the session's tensor that the function reads or replaces here; null: the caller's
  int inPlace;  // an output whose state is written where it lies
  int onDevice; // compiled code has the state in the memory of a device
  // Of the caller's tensors in the memory of the module's device (there.c).
  int there;
  void *ownThere; // of an output: the session's
  int64_t ownThereBytes;
  sinter_dlpack *given; // what is bound; its deleter is called when something else is
} Binding;

/// An output that is a state of the host: where compiled code writes it, and the last call that did.
typedef struct StateOutput {
  void *data; // null: ask its binding
  int32_t rank;
  uint32_t call;
  int64_t dims[2]; // of ranks 1 and 2: what calls compare lies here
} StateOutput;

/// The first error that compiled code reported, from any thread of the session.
typedef struct Failure {
  _Atomic int32_t claimed;
  int32_t code; // SINTER_OK: none. Read when no kernel runs
  char message[SRT_MESSAGE_BYTES];
} Failure;

struct sinter_session {
  sinter_context context; // first: compiled code's pointer to it is a pointer to the session
  Pool pool;
  sinter_module *module;
  const sinter_function *function;
  const void *weights;
  Memory memory;
  Scratch scratch;
  StateStore *store; // null when the function has no states
  Arena *arenas;
  Profile profile;
  int64_t maxTapeBytes; // 0: no limit
  Failure failure;
  _Atomic int32_t running;  // a call of some thread is in progress
  pid_t owner;              // the process whose threads its workers are
  int32_t bindingsChanged;  // everything about the bindings must be checked
  int32_t addressesChanged; // only where they are
  int32_t ran;              // the last run succeeded: outputs are valid
  int64_t fixedBytes;
  Binding *inputs;
  Binding *outputs;
  sinter_tensor_slot *inputSlots;
  sinter_tensor_slot *outputSlots;
  // Calls look at what callers bind, and at states where they moved: there may be hundreds, which stay as they are.
  int32_t *callerInputs, *callerOutputs;
  int32_t numCallerInputs, numCallerOutputs;
  int32_t numThere;          // of them that lie on the device
  StateOutput *stateOutputs; // one an output
  int32_t *swappedStates;    // those whose new value is written beside the old one
  int32_t numSwappedStates;
  uint32_t call;         // its number, from 1 on
  uint64_t statesPlaced; // the store's placement that slots and `stateOutputs` show; 0: none
  int64_t *symbols;
  int32_t *symbolInput; // which input bound the symbol, and which of its dims
  int32_t *symbolDim;
};

/// Claims the session for a call of this thread, or says why it cannot be had. Null is refused.
sinter_status_code srtEnter(const sinter_session *session);
void srtLeave(const sinter_session *session);

// Parts of calls, in a session that is claimed.
sinter_status_code srtSetInput(sinter_session *session, int32_t index, const sinter_tensor *tensor);
sinter_status_code srtSetOutput(sinter_session *session, int32_t index, const sinter_tensor *tensor);
sinter_status_code srtRun(sinter_session *session);
sinter_status_code srtOutput(const sinter_session *session, int32_t index, sinter_tensor *view);

/// Where an empty input points.
extern const char srtEmptyData[SRT_ALIGNMENT];

/// Fills the callbacks of `session->context`.
void srtContextInit(sinter_session *session);

/// Records an error once a call. May be called from kernels.
void srtContextFail(sinter_session *session, int32_t code, const char *message);

/// Checks a caller's tensor against a signature and fills `binding` with it.
sinter_status_code srtBind(Binding *binding, const sinter_tensor *tensor, const sinter_tensor_type *type,
                           const char *kind);

/// Takes over the address of a tensor that is like the bound one in all else and needs no copy; returns 0 otherwise.
/// Then addresses alone have changed.
int srtRebind(Binding *binding, const sinter_tensor *tensor);

/// The addresses that the elements of a non-empty tensor span. Returns 0 when they leave the address space.
int srtExtent(const sinter_tensor *tensor, int64_t bytes, uintptr_t *begin, uintptr_t *end);

/// Binds symbols, refuses overlaps and decides which bindings go through copies.
sinter_status_code srtBindAll(sinter_session *session);

/// Copies what must be copied before the entry runs, and fills the input slots.
sinter_status_code srtLoadInputs(sinter_session *session);

// there.c
/// The caller's tensor is no longer bound to what it was; memory of the session stays.
void srtUnbind(Binding *binding);
/// Counts what lies on the device, and refuses inputs in memory that the call writes.
sinter_status_code srtBindThere(sinter_session *session);
/// The session's memory on the device for an output; null when there is none.
void *srtReserveThere(sinter_session *session, Binding *output, int64_t bytes);
/// Gives back what bindings have, before the session ends.
void srtFreeThere(sinter_session *session);
int32_t srtIsThere(sinter_context *context, const void *address);

/// Checks the dims of the outputs and copies those that go through copies to the caller.
sinter_status_code srtStoreOutputs(sinter_session *session);

#endif

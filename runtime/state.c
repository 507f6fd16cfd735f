// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#define _GNU_SOURCE
#include "state.h"
#include "dtypes.h"
#include "safetensors.h"
#include "session.h"
#include "state_write.h"
#include "strided.h"
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int32_t srtNumStates(const sinter_function *function) {
  return function->struct_size >= offsetof(sinter_function, states) + sizeof function->states ? function->num_states
                                                                                              : 0;
}

//===- Checks ---------------------------------------------------------------------------------------===//

static int isFixed(const sinter_tensor_type *type) {
  for (int32_t d = 0; d < type->rank; ++d)
    if (type->dims[d] < 0)
      return 0;
  return 1;
}

static int sameType(const sinter_tensor_type *a, const sinter_tensor_type *b) {
  return a->dtype == b->dtype && a->rank == b->rank &&
         (a->rank == 0 || memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0);
}

sinter_status_code srtCheckStates(const sinter_function *function) {
  int32_t count = srtNumStates(function);
  if (count < 0 || count > function->num_inputs || (count && !function->states))
    return srtError(SINTER_CORRUPT, "function '%s' states %d states", function->name, count);
  for (int32_t s = 0; s < count; ++s) {
    const sinter_state *state = &function->states[s];
    int hasOutput = state->output >= 0;
    if (!state->name || state->input < 0 || state->input >= function->num_inputs || state->output < -1 ||
        state->output >= function->num_outputs || (state->flags & ~(SINTER_STATE_IN_PLACE | SINTER_STATE_ON_DEVICE)))
      return srtError(SINTER_CORRUPT, "state %d of function '%s' has no name, bad indices or unknown flags", s,
                      function->name);
    const sinter_tensor_type *type = &function->inputs[state->input];
    int64_t elements, bytes;
    if (!isFixed(type) || sinter_dtype_bits(type->dtype) == 0 ||
        !srtTensorBytes(type->dtype, type->rank, type->dims, &elements, &bytes) ||
        (hasOutput && !sameType(type, &function->outputs[state->output])))
      return srtError(SINTER_CORRUPT, "state '%s' of function '%s' requires one type with fixed dims", state->name,
                      function->name);
    if (state->initial < -1 || (state->initial >= 0 && (state->initial > function->weights_bytes ||
                                                        bytes > function->weights_bytes - state->initial)))
      return srtError(SINTER_CORRUPT,
                      "state '%s' of function '%s' requires a first value within %" PRId64 " bytes of weights",
                      state->name, function->name, function->weights_bytes);
    for (int32_t p = 0; p < s; ++p)
      if (function->states[p].input == state->input || (hasOutput && function->states[p].output == state->output) ||
          strcmp(function->states[p].name, state->name) == 0)
        return srtError(SINTER_CORRUPT, "state '%s' of function '%s' shares a name, input or output with another",
                        state->name, function->name);
  }
  return SINTER_OK;
}

//===- Stores ---------------------------------------------------------------------------------------===//

static int compareStates(const void *a, const void *b) {
  return strcmp(((const State *)a)->name, ((const State *)b)->name);
}

static State *findState(const StateStore *store, const char *name) {
  State key = {.name = name};
  return store ? bsearch(&key, store->states, (size_t)store->count, sizeof key, compareStates) : NULL;
}

static sinter_status_code makeStore(const sinter_module *module, const Memory *memory, StateStore **result) {
  size_t room = 0;
  for (int32_t f = 0; f < module->numFunctions; ++f)
    room += (size_t)srtNumStates(module->functions[f]);
  StateStore *store = calloc(1, sizeof *store);
  State *states = calloc(room + 1, sizeof *states);
  if (!store || !states) {
    free(store);
    free(states);
    return srtError(SINTER_OUT_OF_MEMORY, "no memory for states");
  }
  store->holds = 0;
  store->memory = (Memory){.hooks = memory->hooks, .noHugePages = memory->noHugePages};
  if (memory->folder && !(store->memory.folder = strdup(memory->folder))) {
    free(store);
    free(states);
    return srtError(SINTER_OUT_OF_MEMORY, "no memory for states");
  }
  store->module = module;
  store->owner = getpid();
  store->states = states;
  store->placement = 1;
  *result = store;
  int32_t count = 0;
  for (int32_t f = 0; f < module->numFunctions; ++f) {
    const sinter_function *function = module->functions[f];
    const char *weights = srtModuleWeights(module, function);
    for (int32_t s = 0; s < srtNumStates(function); ++s) {
      const sinter_state *from = &function->states[s];
      const sinter_tensor_type *type = &function->inputs[from->input];
      State *state = &states[count++];
      *state = (State){.name = from->name, .dtype = type->dtype, .rank = type->rank, .dims = type->dims};
      int64_t elements;
      srtTensorBytes(type->dtype, type->rank, type->dims, &elements, &state->bytes);
      state->initial = from->initial >= 0 ? weights + from->initial : NULL;
    }
  }
  qsort(states, (size_t)count, sizeof *states, compareStates);
  for (int32_t i = 0; i < count; ++i) {
    State *last = store->count ? &states[store->count - 1] : NULL;
    if (!last || strcmp(last->name, states[i].name) != 0) {
      states[store->count++] = states[i];
      continue;
    }
    if (last->dtype != states[i].dtype || last->rank != states[i].rank ||
        (last->rank && memcmp(last->dims, states[i].dims, (size_t)last->rank * sizeof *last->dims) != 0))
      return srtError(SINTER_CORRUPT, "functions of a module give state '%s' different types", last->name);
    if (!last->initial)
      last->initial = states[i].initial;
  }
  return SINTER_OK;
}

static void freeStore(StateStore *store) {
  for (int32_t s = 0; s < store->count; ++s) {
    srtFree(&store->memory, StateMemory, store->states[s].current.data, store->states[s].current.bytes);
    srtFree(&store->memory, StateMemory, store->states[s].spare.data, store->states[s].spare.bytes);
    if (store->owner == getpid()) // a child has no devices
      srtStateDiscardThere(&store->states[s]);
  }
  free(store->states);
  free(store->extents);
  free(store->memory.folder);
  free(store);
}

static void initialize(State *state) {
  srtStateSetOnHost(state);
  if (!state->bytes)
    return;
  if (state->initial)
    memcpy(state->current.data, state->initial, (size_t)state->bytes);
  else
    memset(state->current.data, 0, (size_t)state->bytes);
}

static sinter_status_code reserveState(StateStore *store, State *state, Block *block) {
  if (block->data || srtReserve(&store->memory, StateMemory, block, state->bytes))
    return SINTER_OK;
  return srtError(SINTER_OUT_OF_MEMORY, "no memory for state '%s' of %" PRId64 " bytes%s", state->name, state->bytes,
                  srtFolderProblem(&store->memory, StateMemory, state->bytes).text);
}

static int compareExtents(const void *a, const void *b) {
  uintptr_t first = *(const uintptr_t *)a, second = *(const uintptr_t *)b;
  return (first > second) - (first < second);
}

/// Sorts the memory of all states by address. It stays where it is but when a file is loaded.
static sinter_status_code listExtents(StateStore *store) {
  if (!store->extents)
    store->extents = calloc(4 * (size_t)store->count + 1, sizeof *store->extents);
  if (!store->extents)
    return srtError(SINTER_OUT_OF_MEMORY, "no memory for the addresses of %d states", store->count);
  store->numExtents = 0;
  for (int32_t s = 0; s < store->count; ++s) {
    const Block *blocks[] = {&store->states[s].current, &store->states[s].spare};
    for (int k = 0; k < 2; ++k)
      if (blocks[k]->data) {
        uintptr_t *extent = &store->extents[2 * store->numExtents++];
        extent[0] = (uintptr_t)blocks[k]->data;
        extent[1] = extent[0] + (uintptr_t)blocks[k]->bytes;
      }
  }
  qsort(store->extents, (size_t)store->numExtents, 2 * sizeof *store->extents, compareExtents);
  return SINTER_OK;
}

/// Ties the inputs and outputs of the session to the states of its store.
static sinter_status_code bindStates(sinter_session *session) {
  const sinter_function *function = session->function;
  for (int32_t s = 0; s < srtNumStates(function); ++s) {
    const sinter_state *from = &function->states[s];
    State *state = findState(session->store, from->name);
    int isNew = !state->current.data;
    sinter_status_code status = reserveState(session->store, state, &state->current);
    int hasSpare = from->output >= 0 && !(from->flags & SINTER_STATE_IN_PLACE);
    int onDevice = (from->flags & SINTER_STATE_ON_DEVICE) != 0;
    if (onDevice && !session->module->devices.count)
      return srtError(SINTER_CORRUPT, "state '%s' of function '%s' requires a device, its module has none", state->name,
                      function->name);
    if (!status && onDevice) {
      state->device = session->module->devices.all[0].device;
      status = srtStateReserveThere(state, hasSpare);
    } else if (!status && hasSpare) {
      status = reserveState(session->store, state, &state->spare);
    }
    if (status)
      return status;
    if (isNew)
      initialize(state);
    Binding *input = &session->inputs[from->input];
    input->state = state;
    input->onDevice = onDevice;
    input->bound = 1;
    input->tensor = (sinter_tensor){.dtype = state->dtype, .rank = state->rank};
    if (state->rank)
      memcpy(input->tensor.dims, state->dims, (size_t)state->rank * sizeof *state->dims);
    input->bytes = state->bytes;
    int64_t bytes;
    srtTensorBytes(state->dtype, state->rank, state->dims, &input->count, &bytes);
    if (from->output >= 0) {
      session->outputs[from->output].state = state;
      session->outputs[from->output].inPlace = !hasSpare;
      if (hasSpare)
        session->swappedStates[session->numSwappedStates++] = s;
      session->outputs[from->output].onDevice = onDevice;
      if (state->rank)
        memcpy(session->outputSlots[from->output].dims, state->dims, (size_t)state->rank * sizeof *state->dims);
    }
  }
  ++session->store->placement;
  return listExtents(session->store);
}

sinter_status_code srtStatesJoin(sinter_session *session, sinter_session *shared) {
  if (shared && shared->module != session->module)
    return srtError(SINTER_INVALID_ARGUMENT, "sessions that share states require one module, got two");
  if (srtNumStates(session->function) == 0)
    return SINTER_OK;
  sinter_status_code status = SINTER_OK;
  if (shared && shared->store) {
    session->store = shared->store;
    status = srtStatesClaim(session);
    if (status) {
      session->store = NULL;
      return status;
    }
  } else {
    status = makeStore(session->module, &session->memory, &session->store);
    if (session->store)
      atomic_store_explicit(&session->store->busy, 1, memory_order_relaxed);
  }
  if (session->store)
    atomic_fetch_add_explicit(&session->store->holds, 1, memory_order_relaxed);
  if (!status)
    status = bindStates(session);
  if (session->store)
    srtStatesRelease(session);
  if (status)
    srtStatesLeave(session);
  return status;
}

void srtStatesLeave(sinter_session *session) {
  StateStore *store = session->store;
  session->store = NULL;
  if (store && atomic_fetch_sub_explicit(&store->holds, 1, memory_order_acq_rel) == 1)
    freeStore(store);
}

//===- Runs -----------------------------------------------------------------------------------------===//

sinter_status_code srtStatesClaim(const sinter_session *session) {
  if (session->store && session->store->memory.folder && session->store->owner != getpid())
    return srtError(SINTER_INVALID_ARGUMENT, "states in a folder belong to the process that made them");
  if (session->store && atomic_exchange_explicit(&session->store->busy, 1, memory_order_acquire))
    return srtError(SINTER_BUSY, "states of function '%s' are in use by another session or thread",
                    session->function->name);
  return SINTER_OK;
}

void srtStatesRelease(const sinter_session *session) {
  if (session->store)
    atomic_store_explicit(&session->store->busy, 0, memory_order_release);
}

/// The input and, if it has one, the output of state `s` of the session's function, which the host has.
static void placeState(sinter_session *session, int32_t s) {
  const sinter_state *from = &session->function->states[s];
  const Binding *input = &session->inputs[from->input];
  const State *state = input->state;
  session->inputSlots[from->input].data = input->count ? state->current.data : (void *)srtEmptyData;
  if (from->output < 0)
    return;
  int inPlace = (from->flags & SINTER_STATE_IN_PLACE) != 0;
  StateOutput *output = &session->stateOutputs[from->output];
  output->data = (inPlace ? &state->current : &state->spare)->data;
  output->rank = state->rank;
  for (int32_t d = 0; d < state->rank && d < 2; ++d)
    output->dims[d] = state->dims[d];
}

sinter_status_code srtStatesPlace(sinter_session *session) {
  const sinter_function *function = session->function;
  if (!session->store)
    return SINTER_OK;
  if (session->module->devices.count) { // values may have to be copied from one side to the other
    for (int32_t s = 0; s < srtNumStates(function); ++s) {
      Binding *input = &session->inputs[function->states[s].input];
      sinter_status_code status = input->onDevice ? srtStateToDevice(input->state) : srtStateToHost(input->state);
      if (status)
        return status;
      session->inputSlots[function->states[s].input].data = input->onDevice ? input->state->there
                                                            : input->count  ? input->state->current.data
                                                                            : (void *)srtEmptyData;
    }
    return SINTER_OK;
  }
  if (session->statesPlaced == session->store->placement)
    return SINTER_OK;
  for (int32_t s = 0; s < srtNumStates(function); ++s)
    placeState(session, s);
  session->statesPlaced = session->store->placement;
  return SINTER_OK;
}

void srtStatesCommit(sinter_session *session) {
  const sinter_function *function = session->function;
  int hasDevices = session->module->devices.count > 0;
  if (!hasDevices && !session->numSwappedStates)
    return;
  if (!hasDevices) {
    for (int32_t k = 0; k < session->numSwappedStates; ++k) {
      int32_t s = session->swappedStates[k];
      State *state = session->inputs[function->states[s].input].state;
      Block old = state->current;
      state->current = state->spare;
      state->spare = old;
      placeState(session, s);
    }
    session->statesPlaced = ++session->store->placement;
    return;
  }
  for (int32_t s = 0; s < srtNumStates(function); ++s) {
    const sinter_state *from = &function->states[s];
    if (from->output < 0)
      continue;
    State *state = session->inputs[from->input].state;
    int inPlace = (from->flags & SINTER_STATE_IN_PLACE) != 0;
    if (from->flags & SINTER_STATE_ON_DEVICE) {
      void *oldThere = state->there;
      if (!inPlace) {
        state->there = state->spareThere;
        state->spareThere = oldThere;
      }
      srtStateSetThere(state);
      continue;
    }
    srtStateSetOnHost(state);
    if (inPlace)
      continue;
    Block old = state->current;
    state->current = state->spare;
    state->spare = old;
  }
}

int srtStatesOverlap(const sinter_session *session, uintptr_t begin, uintptr_t end) {
  const StateStore *store = session->store;
  if (!store)
    return 0;
  int32_t low = 0, high = store->numExtents; // the first block that ends behind `begin`: they do not overlap
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (store->extents[2 * middle + 1] <= begin)
      low = middle + 1;
    else
      high = middle;
  }
  return low < store->numExtents && store->extents[2 * low] < end;
}

//===- What callers see -----------------------------------------------------------------------------===//

int32_t sinter_session_num_states(const sinter_session *session) {
  return session ? srtNumStates(session->function) : 0;
}

const char *sinter_session_state_name(const sinter_session *session, int32_t index) {
  return index >= 0 && index < sinter_session_num_states(session) ? session->function->states[index].name : NULL;
}

/// Finds a state that has memory and claims the store.
static sinter_status_code claimState(const sinter_session *session, const char *name, State **state) {
  if (!session || !name)
    return srtError(SINTER_INVALID_ARGUMENT, "call requires a session and the name of a state, got null");
  sinter_status_code status = srtStatesClaim(session);
  if (status)
    return status;
  *state = findState(session->store, name);
  if (*state && (*state)->current.data)
    return SINTER_OK;
  srtStatesRelease(session);
  return srtError(SINTER_INVALID_ARGUMENT, "function '%s' has no state '%s'", session->function->name, name);
}

static sinter_tensor viewOf(const State *state) {
  sinter_tensor view = {.data = state->current.data, .dtype = state->dtype, .rank = state->rank};
  if (state->rank)
    memcpy(view.dims, state->dims, (size_t)state->rank * sizeof *state->dims);
  return view;
}

sinter_status_code sinter_session_state_get(const sinter_session *session, const char *name, sinter_tensor *view) {
  State *state;
  sinter_status_code status = claimState(session, name, &state);
  if (status)
    return status;
  if (view && !(status = srtStateToHost(state)))
    *view = viewOf(state);
  else if (!status)
    status = srtError(SINTER_INVALID_ARGUMENT, "state '%s' requires a place for the view, got null", name);
  srtStatesRelease(session);
  return status;
}

sinter_status_code srtStateToWrite(sinter_session *session, const char *name, sinter_tensor *view) {
  State *state;
  sinter_status_code status = claimState(session, name, &state);
  if (status)
    return status;
  status = srtStateToHost(state);
  if (!status) {
    srtStateSetOnHost(state);
    *view = viewOf(state);
  }
  srtStatesRelease(session);
  return status;
}

sinter_status_code srtStateHoldsRows(sinter_session *session, const char *name) {
  State *state;
  sinter_status_code status = claimState(session, name, &state);
  if (status)
    return status;
  state->holdsRows = 1;
  srtStatesRelease(session);
  return SINTER_OK;
}

/// Copies a tensor of the state's type, which may be a view of the state.
static sinter_status_code copyState(State *state, const sinter_tensor *value) {
  char *own = state->current.data;
  if (srtIsDense(value)) {
    memmove(own, value->data, (size_t)state->bytes);
    return SINTER_OK;
  }
  if (sinter_dtype_bytes(state->dtype) == 0)
    return srtError(SINTER_INVALID_ARGUMENT, "state '%s' of %s requires row-major elements without gaps, got strides",
                    state->name, sinter_dtype_name(state->dtype));
  uintptr_t begin, end;
  if (!srtExtent(value, state->bytes, &begin, &end))
    return srtError(SINTER_INVALID_ARGUMENT, "state '%s' requires strides inside the address space", state->name);
  int overlaps = begin < (uintptr_t)own + (uintptr_t)state->bytes && (uintptr_t)own < end;
  char *aside = overlaps ? malloc((size_t)state->bytes) : NULL;
  if (overlaps && !aside)
    return srtError(SINTER_OUT_OF_MEMORY, "no memory for %" PRId64 " bytes to set state '%s' to a view of itself",
                    state->bytes, state->name);
  srtCopyToDense(value, aside ? aside : own);
  if (aside)
    memcpy(own, aside, (size_t)state->bytes);
  free(aside);
  return SINTER_OK;
}

sinter_status_code sinter_session_state_set(sinter_session *session, const char *name, const sinter_tensor *value) {
  State *state;
  sinter_status_code status = claimState(session, name, &state);
  if (status)
    return status;
  sinter_tensor own = viewOf(state);
  if (!value || value->dtype != own.dtype || value->rank != own.rank ||
      memcmp(value->dims, own.dims, (size_t)own.rank * sizeof *own.dims) != 0 || (state->bytes && !value->data)) {
    char dims[SRT_DIMS_TEXT_BYTES], got[SRT_DIMS_TEXT_BYTES];
    int valid = value && value->rank >= 0 && value->rank <= SINTER_MAX_RANK;
    status =
        srtError(SINTER_INVALID_ARGUMENT, "state '%s' requires %s %s, got %s %s%s", name, sinter_dtype_name(own.dtype),
                 srtDimsText(own.dims, own.rank, dims), value ? sinter_dtype_name(value->dtype) : "null",
                 valid ? srtDimsText(value->dims, value->rank, got) : "", value && !value->data ? " without data" : "");
  } else if (state->bytes) {
    status = srtStateToHost(state); // of which it may be a view
    if (!status)
      status = copyState(state, value);
    if (!status)
      srtStateSetOnHost(state);
    if (!status && own.dtype == SINTER_I1)
      srtNormalizeTruths(own.data, state->bytes);
  }
  srtStatesRelease(session);
  return status;
}

static sinter_status_code claimAll(const sinter_session *session) {
  if (!session)
    return srtError(SINTER_INVALID_ARGUMENT, "call requires a session, got null");
  if (!session->store)
    return srtError(SINTER_INVALID_ARGUMENT, "function '%s' has no states", session->function->name);
  return srtStatesClaim(session);
}

sinter_status_code sinter_session_state_reset(sinter_session *session) {
  sinter_status_code status = claimAll(session);
  if (status)
    return status;
  for (int32_t s = 0; s < session->store->count; ++s)
    if (session->store->states[s].current.data && !session->store->states[s].holdsRows)
      initialize(&session->store->states[s]);
  srtStatesRelease(session);
  return SINTER_OK;
}

sinter_status_code sinter_session_save(const sinter_session *session, const char *path) {
  sinter_status_code status = claimAll(session);
  if (status)
    return status;
  const StateStore *store = session->store;
  sinter_tensor *tensors = malloc((size_t)store->count * sizeof *tensors);
  const char **names = malloc((size_t)store->count * sizeof *names);
  int32_t count = 0;
  for (int32_t s = 0; tensors && names && !status && s < store->count; ++s)
    if (store->states[s].current.data) {
      status = srtStateToHost(&store->states[s]);
      names[count] = store->states[s].name;
      tensors[count++] = viewOf(&store->states[s]);
    }
  if (!tensors || !names)
    status = srtError(SINTER_OUT_OF_MEMORY, "no memory to write '%s'", path ? path : "");
  else if (!status)
    status = sinter_safetensors_write(path, names, tensors, count);
  free(tensors);
  free(names);
  srtStatesRelease(session);
  return status;
}

/// Reads every state into `blocks`, which are exchanged with the current ones when all are there.
static sinter_status_code readStates(StateStore *store, const sinter_safetensors *file, const char *path,
                                     Block *blocks) {
  for (int32_t s = 0; s < store->count; ++s) {
    State *state = &store->states[s];
    if (!state->current.data || state->holdsRows)
      continue;
    const SafetensorsEntry *entry = srtSafetensorsFind(file, state->name);
    if (!entry)
      return srtError(SINTER_INVALID_ARGUMENT, "safetensors file '%s' requires a tensor for state '%s', found none",
                      path, state->name);
    if (entry->dtype != state->dtype || entry->rank != state->rank ||
        (state->rank && memcmp(entry->dims, state->dims, (size_t)state->rank * sizeof *state->dims) != 0)) {
      char dims[SRT_DIMS_TEXT_BYTES], got[SRT_DIMS_TEXT_BYTES];
      return srtError(SINTER_INVALID_ARGUMENT, "state '%s' requires %s %s, file '%s' has %s %s", state->name,
                      sinter_dtype_name(state->dtype), srtDimsText(state->dims, state->rank, dims), path,
                      sinter_dtype_name(entry->dtype), srtDimsText(entry->dims, entry->rank, got));
    }
    sinter_status_code status = reserveState(store, state, &blocks[s]);
    if (!status)
      status = srtSafetensorsRead(file, entry, blocks[s].data);
    if (status)
      return status;
  }
  return SINTER_OK;
}

sinter_status_code sinter_session_load(sinter_session *session, const char *path) {
  sinter_status_code status = claimAll(session);
  if (status)
    return status;
  StateStore *store = session->store;
  sinter_safetensors *file = NULL;
  Block *blocks = calloc((size_t)store->count, sizeof *blocks);
  status = blocks ? sinter_safetensors_open(path, &file) : srtError(SINTER_OUT_OF_MEMORY, "no memory to load states");
  if (!status)
    status = readStates(store, file, path, blocks);
  for (int32_t s = 0; blocks && s < store->count; ++s) {
    Block *block = &blocks[s];
    if (!status && block->data) {
      Block old = store->states[s].current;
      store->states[s].current = *block;
      srtStateSetOnHost(&store->states[s]);
      *block = old;
    }
    srtFree(&store->memory, StateMemory, block->data, block->bytes);
  }
  ++store->placement;
  if (!status)
    status = listExtents(store);
  free(blocks);
  sinter_safetensors_close(file);
  srtStatesRelease(session);
  return status;
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#define _GNU_SOURCE
#include "session.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/// More is a mistake in the caller's arithmetic.
enum { maxThreads = 1024, defaultSpinMicroseconds = 50 };

//===- Life ---------------------------------------------------------------------------------------===//

/// Hands out parts of one allocation; with a null base it only measures.
typedef struct Carver {
  char *base;
  int64_t used;
} Carver;

static void *carve(Carver *carver, int64_t count, size_t elementBytes) {
  void *part = carver->base ? carver->base + carver->used : NULL;
  carver->used += (count * (int64_t)elementBytes + SRT_ALIGNMENT - 1) / SRT_ALIGNMENT * SRT_ALIGNMENT;
  return part;
}

/// Places the session's arrays behind it. Returns the workers' array.
static pthread_t *carveSession(Carver *carver, const sinter_function *function, int32_t threads) {
  sinter_session *session = carve(carver, 1, sizeof *session), measured;
  if (!session)
    session = &measured;
  session->inputs = carve(carver, function->num_inputs, sizeof *session->inputs);
  session->outputs = carve(carver, function->num_outputs, sizeof *session->outputs);
  session->inputSlots = carve(carver, function->num_inputs, sizeof *session->inputSlots);
  session->outputSlots = carve(carver, function->num_outputs, sizeof *session->outputSlots);
  session->callerInputs = carve(carver, function->num_inputs, sizeof *session->callerInputs);
  session->callerOutputs = carve(carver, function->num_outputs, sizeof *session->callerOutputs);
  session->swappedStates = carve(carver, srtNumStates(function), sizeof *session->swappedStates);
  session->stateOutputs = carve(carver, function->num_outputs, sizeof *session->stateOutputs);
  session->symbols = carve(carver, function->num_symbols, sizeof *session->symbols);
  session->symbolInput = carve(carver, function->num_symbols, sizeof *session->symbolInput);
  session->symbolDim = carve(carver, function->num_symbols, sizeof *session->symbolDim);
  return carve(carver, threads, sizeof(pthread_t));
}

sinter_status_code sinter_session_create(sinter_module *module, int32_t index, const sinter_session_options *options,
                                         sinter_session **result) {
  if (!result)
    return srtError(SINTER_INVALID_ARGUMENT, "session creation requires a place for the session, got null");
  *result = NULL;
  if (!module)
    return srtError(SINTER_INVALID_ARGUMENT, "session creation requires a module, got null");
  const sinter_function *function = sinter_module_function(module, index);
  if (!function)
    return srtError(SINTER_INVALID_ARGUMENT, "session requires a function index below %d, got %d", module->numFunctions,
                    index);
  sinter_session_options given = {0};
  if (options) {
    if (options->struct_size < sizeof given.struct_size)
      return srtError(SINTER_INVALID_ARGUMENT, "session options require their struct_size, got %u",
                      options->struct_size);
    memcpy(&given, options, options->struct_size < sizeof given ? options->struct_size : sizeof given);
  }
  if (!given.allocator.allocate != !given.allocator.free)
    return srtError(SINTER_INVALID_ARGUMENT, "allocator requires both functions or none");
  if (given.threads < 0 || given.threads > maxThreads)
    return srtError(SINTER_INVALID_ARGUMENT, "session requires 0 to %d threads, got %d", maxThreads, given.threads);
  if (given.max_tape_bytes < 0)
    return srtError(SINTER_INVALID_ARGUMENT, "session requires a max_tape_bytes of 0 or more, got %lld",
                    (long long)given.max_tape_bytes);
  int32_t threads = given.threads ? given.threads : srtAvailableCores();
  if (threads > maxThreads)
    threads = maxThreads;

  Carver carver = {NULL, 0};
  carveSession(&carver, function, threads);
  Memory memory = {.hooks = given.allocator, .noHugePages = given.no_huge_pages, .limit = given.max_bytes};
  sinter_session *session = srtAllocate(&memory, FixedMemory, carver.used);
  if (!session)
    return srtError(SINTER_OUT_OF_MEMORY, "no memory for a session of %lld bytes", (long long)carver.used);
  memset(session, 0, (size_t)carver.used);
  session->memory = memory;
  session->fixedBytes = carver.used;
  carver = (Carver){(char *)session, 0};
  pthread_t *workers = carveSession(&carver, function, threads);
  session->module = module;
  session->function = function;
  session->weights = srtModuleWeights(module, function);
  session->bindingsChanged = 1;
  session->maxTapeBytes = given.max_tape_bytes;
  session->owner = getpid();
  srtContextInit(session);

  int32_t spin = given.spin_us == 0 ? defaultSpinMicroseconds : given.spin_us;
  sinter_status_code status = srtPoolStart(&session->pool, threads, spin, &given.executor, workers);
  if (status) {
    srtFree(&memory, FixedMemory, session, session->fixedBytes);
    return status;
  }
  if (given.folder && !(session->memory.folder = strdup(given.folder)))
    status = srtError(SINTER_OUT_OF_MEMORY, "no memory for a session");
  if (!status)
    status = srtStatesJoin(session, given.state_of);
  if (status) {
    srtPoolStop(&session->pool);
    free(session->memory.folder);
    srtFree(&memory, FixedMemory, session, session->fixedBytes);
    return status;
  }
  for (int32_t i = 0; i < function->num_inputs; ++i)
    if (!session->inputs[i].state)
      session->callerInputs[session->numCallerInputs++] = i;
  for (int32_t o = 0; o < function->num_outputs; ++o)
    if (!session->outputs[o].state)
      session->callerOutputs[session->numCallerOutputs++] = o;
  srtModuleHold(module);
  *result = session;
  return SINTER_OK;
}

void sinter_session_destroy(sinter_session *session) {
  if (!session)
    return;
  sinter_module *module = session->module;
  if (session->owner != getpid()) { // a child of the process that made it: it has none of the workers
    session->pool.threads = 1;
    // A call that another thread had begun at the fork never ends here. Its lists may be half changed, so its memory
    // stays.
    if (atomic_load_explicit(&session->running, memory_order_acquire)) {
      sinter_module_close(module);
      return;
    }
  }
  srtPoolStop(&session->pool);
  srtFreeThere(session);
  if (session->owner == getpid()) // nor has a child its devices
    srtDevicesEnd(&module->devices, &session->context);
  Memory memory = session->memory;
  for (int32_t i = 0; i < session->function->num_inputs; ++i)
    srtFree(&memory, InputMemory, session->inputs[i].own.data, session->inputs[i].own.bytes);
  for (int32_t o = 0; o < session->function->num_outputs; ++o)
    srtFree(&memory, OutputMemory, session->outputs[o].own.data, session->outputs[o].own.bytes);
  srtStatesLeave(session);
  srtArenasDestroy(&memory, &session->arenas);
  srtScratchDestroy(&memory, &session->scratch);
  srtProfileFree(&session->profile);
  srtFree(&memory, FixedMemory, session, session->fixedBytes);
  free(memory.folder);
  sinter_module_close(module);
}

const sinter_function *sinter_session_function(const sinter_session *session) {
  return session ? session->function : NULL;
}

int32_t sinter_session_threads(const sinter_session *session) { return session ? session->pool.threads : 0; }

//===- Claims -------------------------------------------------------------------------------------===//

sinter_status_code srtEnter(const sinter_session *session) {
  if (!session)
    return srtError(SINTER_INVALID_ARGUMENT, "call requires a session, got null");
  if (session->memory.folder && session->owner != getpid())
    return srtError(SINTER_INVALID_ARGUMENT, "a session with a folder belongs to the process that made it");
  // The claim is no part of what callers see as constant.
  if (!atomic_exchange_explicit(&((sinter_session *)session)->running, 1, memory_order_acquire)) {
    Pool *pool = &((sinter_session *)session)->pool;
    if (pool->executor.run) // its threads are not in a child of their process
      pool->alone = session->owner != getpid();
    return SINTER_OK;
  }
  return srtError(SINTER_BUSY,
                  session->owner == getpid() ? "session of function '%s' is in use by another thread"
                                             : "session of function '%s' was running in another thread when this "
                                               "process was forked, and cannot be used here",
                  session->function->name);
}

void srtLeave(const sinter_session *session) {
  atomic_store_explicit(&((sinter_session *)session)->running, 0, memory_order_release);
}

//===- Bindings -----------------------------------------------------------------------------------===//

static sinter_status_code setTensor(sinter_session *session, Binding *bindings, const sinter_tensor_type *types,
                                    int32_t count, int32_t index, const sinter_tensor *tensor, const char *kind) {
  if (index < 0 || index >= count)
    return srtError(SINTER_INVALID_ARGUMENT, "function '%s' requires an %s index below %d, got %d",
                    session->function->name, kind, count, index);
  if (bindings[index].state)
    return srtError(SINTER_INVALID_ARGUMENT, "%s '%s' of function '%s' is a state of the session and cannot be bound",
                    kind, types[index].name, session->function->name);
  session->bindingsChanged = 1;
  srtUnbind(&bindings[index]);
  return tensor ? srtBind(&bindings[index], tensor, &types[index], kind) : SINTER_OK;
}

sinter_status_code srtSetInput(sinter_session *session, int32_t index, const sinter_tensor *tensor) {
  const sinter_function *function = session->function;
  sinter_status_code status =
      setTensor(session, session->inputs, function->inputs, function->num_inputs, index, tensor, "input");
  if (status || !tensor)
    return status;
  // Fixed dims are known to be wrong at once.
  const sinter_tensor_type *type = &function->inputs[index];
  char got[SRT_DIMS_TEXT_BYTES];
  for (int32_t d = 0; d < type->rank; ++d)
    if (type->dims[d] >= 0 && tensor->dims[d] != type->dims[d]) {
      session->inputs[index].bound = 0;
      return srtError(SINTER_INVALID_ARGUMENT, "input '%s' requires %lld in dim %d, got %lld (%s)", type->name,
                      (long long)type->dims[d], d, (long long)tensor->dims[d],
                      srtDimsText(tensor->dims, type->rank, got));
    }
  return SINTER_OK;
}

sinter_status_code sinter_session_set_input(sinter_session *session, int32_t index, const sinter_tensor *tensor) {
  sinter_status_code status = srtEnter(session);
  if (status)
    return status;
  status = srtSetInput(session, index, tensor);
  srtLeave(session);
  return status;
}

sinter_status_code srtSetOutput(sinter_session *session, int32_t index, const sinter_tensor *tensor) {
  session->ran = 0; // a view would describe other memory than the run wrote
  return setTensor(session, session->outputs, session->function->outputs, session->function->num_outputs, index, tensor,
                   "output");
}

sinter_status_code sinter_session_set_output(sinter_session *session, int32_t index, const sinter_tensor *tensor) {
  sinter_status_code status = srtEnter(session);
  if (status)
    return status;
  status = srtSetOutput(session, index, tensor);
  srtLeave(session);
  return status;
}

sinter_status_code srtOutput(const sinter_session *session, int32_t index, sinter_tensor *view) {
  const sinter_function *function = session->function;
  if (!view || index < 0 || index >= function->num_outputs)
    return srtError(SINTER_INVALID_ARGUMENT, "function '%s' requires an output index below %d, got %d%s",
                    function->name, function->num_outputs, index, view ? "" : " and a null view");
  if (!session->ran)
    return srtError(SINTER_INVALID_ARGUMENT, "output '%s' requires a run that succeeded before",
                    function->outputs[index].name);
  const Binding *binding = &session->outputs[index];
  *view = (sinter_tensor){.data = binding->state ? binding->state->current.data : session->outputSlots[index].data,
                          .dtype = function->outputs[index].dtype,
                          .rank = function->outputs[index].rank};
  memcpy(view->dims, session->outputSlots[index].dims, sizeof view->dims);
  if (binding->onDevice)
    view->data = NULL; // sinter_session_state_get brings it
  if (binding->bound && binding->copied) {
    view->data = binding->tensor.data;
    view->strides = binding->tensor.strides;
  }
  return SINTER_OK;
}

sinter_status_code sinter_session_output(const sinter_session *session, int32_t index, sinter_tensor *view) {
  sinter_status_code status = srtEnter(session);
  if (status)
    return status;
  status = srtOutput(session, index, view);
  srtLeave(session);
  return status;
}

//===- Runs ---------------------------------------------------------------------------------------===//

/// The status of a call whose entry point returned `status`; sets the message.
static sinter_status_code mapStatus(sinter_session *session, int32_t status) {
  const Failure *failure = &session->failure;
  const char *name = session->function->name;
  if (failure->code)
    return srtError((sinter_status_code)failure->code, "%s", failure->message);
  if (status == SINTER_OK)
    return SINTER_OK;
  if (status == SINTER_CANCELLED)
    return srtError(SINTER_CANCELLED, "run of function '%s' was cancelled", name);
  if (status > 0 && status <= SINTER_RUNTIME_ERROR)
    return srtError((sinter_status_code)status, "function '%s' failed: %s", name, sinter_status_name(status));
  return srtError(SINTER_RUNTIME_ERROR, "function '%s' returned the unknown status %d", name, status);
}

static sinter_status_code runOnce(sinter_session *session) {
  session->ran = 0;
  __atomic_store_n(&session->context.cancelled, 0, __ATOMIC_RELAXED);
  session->context.committing = 0;
  session->context.threads = session->pool.threads;
  if (session->bindingsChanged || session->addressesChanged) {
    sinter_status_code status = srtBindAll(session);
    if (status)
      return status;
    session->bindingsChanged = session->addressesChanged = 0;
  }
  sinter_status_code status = srtLoadInputs(session);
  if (status)
    return status;
  for (int32_t k = 0; k < session->numCallerOutputs; ++k)
    session->outputSlots[session->callerOutputs[k]].data = NULL;
  ++session->call;
  srtProfileBegin(&session->profile);
  atomic_store_explicit(&session->failure.claimed, 0, memory_order_relaxed);
  session->failure.code = SINTER_OK;

  uint64_t floatState = srtFloatStateSetDefault();
  int32_t result = session->function->entry(&session->context, session->inputSlots, session->outputSlots,
                                            session->symbols, session->weights);
  srtFloatStateRestore(floatState);

  srtScratchEndCall(&session->memory, &session->scratch);
  status = mapStatus(session, result);
  if (!status)
    status = srtStoreOutputs(session);
  if (!status && session->store)
    srtStatesCommit(session);
  session->ran = status == SINTER_OK;
  return status;
}

sinter_status_code srtRun(sinter_session *session) {
  sinter_status_code status = srtStatesClaim(session);
  if (status)
    return status;
  status = runOnce(session);
  srtStatesRelease(session);
  return status;
}

sinter_status_code sinter_session_run(sinter_session *session) {
  sinter_status_code status = srtEnter(session);
  if (status)
    return status;
  status = srtRun(session);
  srtLeave(session);
  return status;
}

void sinter_session_cancel(sinter_session *session) {
  if (session)
    __atomic_store_n(&session->context.cancelled, 1, __ATOMIC_RELAXED);
}

sinter_status_code sinter_session_memory(const sinter_session *session, sinter_memory_report *report) {
  if (!session)
    return srtError(SINTER_INVALID_ARGUMENT, "call requires a session, got null");
  if (!report || report->struct_size < sizeof report->struct_size)
    return srtError(SINTER_INVALID_ARGUMENT, "memory report requires its struct_size");
  sinter_status_code status = srtEnter(session);
  if (status)
    return status;
  const Memory *memory = &session->memory;
  sinter_memory_report full = {.struct_size = report->struct_size,
                               .fixed_bytes = memory->held[FixedMemory],
                               .arena_bytes = memory->held[ArenaMemory],
                               .input_bytes = memory->held[InputMemory],
                               .output_bytes = memory->held[OutputMemory],
                               .scratch_bytes = memory->held[ScratchMemory],
                               .peak_bytes = memory->peak};
  if (session->store && !(status = srtStatesClaim(session))) {
    full.state_bytes = session->store->memory.total;
    srtStatesRelease(session);
  }
  srtLeave(session);
  if (status)
    return status;
  memcpy(report, &full, report->struct_size < sizeof full ? report->struct_size : sizeof full);
  return SINTER_OK;
}

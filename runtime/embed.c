// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "embed.h"
#include "session.h"
#include <stdlib.h>
#include <string.h>

sinter_session *sinter_embed_init(const sinter_function *const *functions, int32_t index, int32_t threads) {
  sinter_module *module;
  sinter_session *session = NULL;
  if (sinter_module_open_functions(functions, NULL, &module))
    return NULL;
  sinter_session_options options = {.struct_size = sizeof options, .threads = threads};
  if (sinter_session_create(module, index, &options, &session))
    session = NULL;
  sinter_module_close(module); // the session keeps what it needs
  return session;
}

/// Fills dims; returns 0 when one is known only after the call.
static int resolve(const sinter_tensor_type *type, const int64_t *symbols, void *data, sinter_tensor *tensor) {
  memset(tensor, 0, sizeof *tensor);
  tensor->data = data;
  tensor->dtype = type->dtype;
  tensor->rank = type->rank;
  for (int32_t d = 0; d < type->rank; ++d) {
    if (type->dims[d] == SINTER_DIM_UNKNOWN)
      return 0;
    tensor->dims[d] = type->dims[d] >= 0 ? type->dims[d] : symbols[-1 - type->dims[d]];
  }
  return 1;
}

/// Refuses null where compiled code or this file would use the pointer.
static sinter_status_code checkPointers(const sinter_session *session, const int64_t *symbols, void *const *pointers,
                                        int64_t *const *dims) {
  const sinter_function *function = session->function;
  if ((function->num_symbols && !symbols) || (function->num_inputs + function->num_outputs && !pointers))
    return srtError(SINTER_INVALID_ARGUMENT, "call of function '%s' requires sizes and pointers, got null",
                    function->name);
  for (int32_t k = 0; k < session->numCallerOutputs; ++k) {
    int32_t o = session->callerOutputs[k];
    sinter_tensor tensor;
    if (resolve(&function->outputs[o], symbols, NULL, &tensor))
      continue;
    if (!pointers[function->num_inputs + o] || !dims || !dims[o])
      return srtError(SINTER_INVALID_ARGUMENT, "output '%s' requires places for its address and its sizes, got null",
                      function->outputs[o].name);
  }
  return SINTER_OK;
}

/// The call, in a session that is claimed.
static sinter_status_code runClaimed(sinter_session *session, const int64_t *symbols, void *const *pointers,
                                     int64_t *const *dims) {
  const sinter_function *function = session->function;
  sinter_tensor tensor;
  sinter_status_code status = checkPointers(session, symbols, pointers, dims);
  if (status)
    return status;
  for (int32_t k = 0; k < session->numCallerInputs; ++k) {
    int32_t i = session->callerInputs[k];
    resolve(&function->inputs[i], symbols, pointers[i], &tensor);
    if (!srtRebind(&session->inputs[i], &tensor) && (status = srtSetInput(session, i, &tensor)))
      return status;
  }
  session->addressesChanged = 1;
  session->ran = 0;
  void *const *outputs = pointers + function->num_inputs;
  for (int32_t k = 0; k < session->numCallerOutputs; ++k) {
    int32_t o = session->callerOutputs[k];
    if (resolve(&function->outputs[o], symbols, outputs[o], &tensor))
      if (!srtRebind(&session->outputs[o], &tensor) && (status = srtSetOutput(session, o, &tensor)))
        return status;
  }
  if ((status = srtRun(session)))
    return status;
  for (int32_t k = 0; k < session->numCallerOutputs; ++k) {
    int32_t o = session->callerOutputs[k];
    if (resolve(&function->outputs[o], symbols, outputs[o], &tensor))
      continue;
    if ((status = srtOutput(session, o, &tensor)))
      return status;
    *(const void **)outputs[o] = tensor.data;
    memcpy(dims[o], tensor.dims, (size_t)tensor.rank * sizeof(int64_t));
  }
  return SINTER_OK;
}

int32_t sinter_embed_run(sinter_session *session, const int64_t *symbols, void *const *pointers, int64_t *const *dims) {
  sinter_status_code status = srtEnter(session);
  if (status)
    return status;
  status = runClaimed(session, symbols, pointers, dims);
  srtLeave(session);
  return status;
}

void sinter_embed_free(sinter_session *session) { sinter_session_destroy(session); }

//===- Objects with states --------------------------------------------------------------------------===//

struct sinter_embed {
  sinter_module *module;
  int32_t threads;
  _Atomic int32_t running;    // a call of some thread is in progress
  sinter_session *sessions[]; // one a function, made at its first call; the first at once
};

sinter_embed *sinter_embed_open(const sinter_function *const *functions, int32_t threads) {
  sinter_module *module;
  if (sinter_module_open_functions(functions, NULL, &module))
    return NULL;
  int32_t count = sinter_module_num_functions(module);
  sinter_embed *object = calloc(1, sizeof *object + (size_t)count * sizeof *object->sessions);
  sinter_session_options options = {.struct_size = sizeof options, .threads = threads};
  if (!object)
    srtError(SINTER_OUT_OF_MEMORY, "no memory for an object of %d functions", count);
  if (!object || sinter_session_create(module, 0, &options, &object->sessions[0])) {
    free(object);
    sinter_module_close(module);
    return NULL;
  }
  object->module = module;
  object->threads = threads;
  return object;
}

int32_t sinter_embed_call(sinter_embed *object, int32_t index, const int64_t *symbols, void *const *pointers,
                          int64_t *const *dims) {
  if (!object)
    return srtError(SINTER_INVALID_ARGUMENT, "call requires an object, got null");
  if (index < 0 || index >= sinter_module_num_functions(object->module))
    return srtError(SINTER_INVALID_ARGUMENT, "call requires a function index below %d, got %d",
                    sinter_module_num_functions(object->module), index);
  if (atomic_exchange_explicit(&object->running, 1, memory_order_acquire))
    return srtError(SINTER_BUSY, "function '%s' belongs to an object that is in use by another thread",
                    sinter_module_function(object->module, index)->name);
  sinter_status_code status = SINTER_OK;
  if (!object->sessions[index]) {
    sinter_session_options options = {
        .struct_size = sizeof options, .threads = object->threads, .state_of = object->sessions[0]};
    status = sinter_session_create(object->module, index, &options, &object->sessions[index]);
  }
  if (!status)
    status = sinter_embed_run(object->sessions[index], symbols, pointers, dims);
  atomic_store_explicit(&object->running, 0, memory_order_release);
  return status;
}

int32_t sinter_embed_save(const sinter_embed *object, const char *path) {
  return sinter_session_save(object ? object->sessions[0] : NULL, path);
}

int32_t sinter_embed_load(sinter_embed *object, const char *path) {
  return sinter_session_load(object ? object->sessions[0] : NULL, path);
}

int32_t sinter_embed_seed(sinter_embed *object, int64_t seed) {
  sinter_tensor value = {.data = &seed, .dtype = SINTER_I64};
  return sinter_session_state_set(object ? object->sessions[0] : NULL, SINTER_SEED_STATE, &value);
}

void sinter_embed_close(sinter_embed *object) {
  if (!object)
    return;
  for (int32_t f = 0; f < sinter_module_num_functions(object->module); ++f)
    sinter_session_destroy(object->sessions[f]);
  sinter_module_close(object->module);
  free(object);
}

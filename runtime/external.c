// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of the program that compiled code calls as ops: the table by which code in memory finds them, and a call.

#include "external.h"
#include "code.h"
#include "log.h"
#include "status.h"
#include "strided.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

//===- The table ----------------------------------------------------------------------------------===//

typedef struct Op {
  struct Op *next;
  sinter_op_fn function, reference;
  char name[];
} Op;

static pthread_mutex_t opsLock = PTHREAD_MUTEX_INITIALIZER;
static Op *ops; // never given back but by its own registration

static int isIdentifier(const char *name) {
  for (const char *at = name; *at; ++at) {
    int isLetter = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || *at == '_';
    if (!isLetter && !(at > name && *at >= '0' && *at <= '9'))
      return 0;
  }
  return *name != 0;
}

/// Where the entry of `name` hangs, or where the list ends.
static Op **find(const char *name) {
  Op **at = &ops;
  while (*at && strcmp((*at)->name, name) != 0)
    at = &(*at)->next;
  return at;
}

sinter_status_code sinter_op_register(const char *name, sinter_op_fn function, sinter_op_fn reference) {
  if (!name)
    return srtError(SINTER_INVALID_ARGUMENT, "registration of an op requires a name, got null");
  if (!isIdentifier(name))
    return srtError(SINTER_INVALID_ARGUMENT, "an op requires a name that is a C identifier, got '%s'", name);
  if (srtFindImport(name))
    return srtError(SINTER_INVALID_ARGUMENT, "an op requires a name that is none of the C library's, got '%s'", name);
  sinter_status_code status = SINTER_OK;
  pthread_mutex_lock(&opsLock);
  Op **at = find(name), *known = *at;
  if (!function) {
    if (known) {
      *at = known->next;
      free(known);
    }
  } else if (known) {
    if (known->function != function || (reference && known->reference && known->reference != reference))
      status = srtError(SINTER_INVALID_ARGUMENT, "op '%s' is registered with another function", name);
    else if (reference)
      known->reference = reference;
  } else {
    size_t bytes = strlen(name) + 1;
    Op *op = malloc(sizeof *op + bytes);
    if (op) {
      *op = (Op){NULL, function, reference};
      memcpy(op->name, name, bytes);
      *at = op;
    } else {
      status = srtError(SINTER_OUT_OF_MEMORY, "no memory to register op '%s'", name);
    }
  }
  pthread_mutex_unlock(&opsLock);
  return status;
}

sinter_op_fn sinter_op_find(const char *name, int32_t reference) {
  if (!name)
    return NULL;
  pthread_mutex_lock(&opsLock);
  const Op *op = *find(name);
  sinter_op_fn function = !op ? NULL : reference && op->reference ? op->reference : op->function;
  pthread_mutex_unlock(&opsLock);
  return function;
}

//===- Calls --------------------------------------------------------------------------------------===//

sinter_status_code sinter_op_call(const char *name, sinter_op_fn function, int32_t numInputs,
                                  const sinter_tensor *inputs, int32_t numOutputs, const sinter_tensor *outputs) {
  if (!name || !function || numInputs < 0 || numOutputs < 0 || (numInputs && !inputs) || (numOutputs && !outputs))
    return srtError(SINTER_INVALID_ARGUMENT, "call of an op requires its name, function and tensors, got null");
  char message[SINTER_OP_MESSAGE_BYTES] = {0};
  int32_t status = function(numInputs, inputs, numOutputs, outputs, message);
  if (status != SINTER_OK) {
    message[sizeof message - 1] = 0;
    sinter_status_code code =
        status > 0 && status <= SINTER_INTERNAL ? (sinter_status_code)status : SINTER_RUNTIME_ERROR;
    if (message[0])
      return srtError(code, "op '%s' failed: %s", name, message);
    return srtError(code, "op '%s' failed with status %d", name, status);
  }
  for (int32_t k = 0; k < numOutputs; ++k) {
    int64_t count, bytes;
    if (outputs[k].dtype == SINTER_I1 && srtTensorBytes(SINTER_I1, outputs[k].rank, outputs[k].dims, &count, &bytes) &&
        count)
      srtNormalizeTruths(outputs[k].data, bytes);
  }
  return SINTER_OK;
}

/// The tensors that compiled code describes, in order.
static void readTensors(const int32_t *layout, const int64_t *words, sinter_tensor *tensors) {
  int32_t count = layout[0] + layout[1];
  for (int32_t k = 0; k < count; ++k) {
    sinter_tensor *tensor = &tensors[k];
    *tensor =
        (sinter_tensor){.data = (void *)(uintptr_t)*words++, .dtype = layout[2 + 2 * k], .rank = layout[3 + 2 * k]};
    memcpy(tensor->dims, words, (size_t)tensor->rank * sizeof *words);
    words += tensor->rank;
  }
}

sinter_status_code srtCallExternal(const char *name, sinter_op_fn function, const int32_t *layout,
                                   const int64_t *words) {
  sinter_tensor tensors[SINTER_MAX_OP_TENSORS];
  readTensors(layout, words, tensors);
  if (!function)
    return sinter_debug_print(name, layout[0], tensors);
  return sinter_op_call(name, function, layout[0], tensors, layout[1], tensors + layout[0]);
}

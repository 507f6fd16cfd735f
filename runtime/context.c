// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What compiled code may call: the functions of sinter_context.

#define _GNU_SOURCE
#include "clock.h"
#include "external.h"
#include "session.h"
#include "tape.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void srtContextFail(sinter_session *session, int32_t code, const char *message) {
  Failure *failure = &session->failure;
  if (atomic_exchange_explicit(&failure->claimed, 1, memory_order_relaxed))
    return;
  failure->code = code;
  snprintf(failure->message, sizeof failure->message, "%s", message);
}

static int32_t parallel(sinter_context *context, sinter_kernel_fn fn, const int64_t *args, int64_t chunks) {
  return srtPoolRun(&((sinter_session *)context)->pool, context, fn, args, chunks);
}

static int32_t repeat(sinter_context *context, sinter_kernel_fn fn, const int64_t *args, int64_t chunks, int64_t *step,
                      int64_t steps) {
  return srtPoolRepeat(&((sinter_session *)context)->pool, context, fn, args, chunks, step, steps);
}

static uint8_t *plan(sinter_context *context, const sinter_buffer_life *lives, int64_t count, const int64_t *bytes,
                     int64_t *offsets) {
  sinter_session *session = (sinter_session *)context;
  uint8_t *base = srtArenaPlan(&session->memory, &session->arenas, lives, count, bytes, offsets);
  if (!base)
    srtContextFail(session, SINTER_OUT_OF_MEMORY, sinter_last_error());
  return base;
}

/// Records `what`, and the session's own limit if it has one.
static void failForMemory(sinter_session *session, const char *what) {
  char text[SRT_MESSAGE_BYTES];
  if (session->memory.limit)
    snprintf(text, sizeof text, "%s beside %" PRId64 " under a limit of %" PRId64, what, session->memory.total,
             session->memory.limit);
  srtContextFail(session, SINTER_OUT_OF_MEMORY, session->memory.limit ? text : what);
}

static void *acquire(sinter_context *context, int64_t bytes) {
  sinter_session *session = (sinter_session *)context;
  void *buffer = srtScratchAcquire(&session->memory, &session->scratch, bytes);
  if (!buffer) {
    char text[SRT_MESSAGE_BYTES];
    snprintf(text, sizeof text, "no memory for a buffer of %" PRId64 " bytes", bytes);
    failForMemory(session, text);
  }
  return buffer;
}

static void release(sinter_context *context, void *buffer) {
  srtScratchRelease(&((sinter_session *)context)->scratch, buffer);
}

static void *grow(sinter_context *context, void *buffer, int64_t used, int64_t needed, int64_t *capacity) {
  sinter_session *session = (sinter_session *)context;
  int64_t limit = session->maxTapeBytes ? session->maxTapeBytes : INT64_MAX / 8;
  void *tape = srtTapeGrow(&session->memory, &session->scratch, buffer, used, needed, limit, capacity);
  if (tape)
    return tape;
  char text[SRT_MESSAGE_BYTES];
  int64_t others = srtTapeBytesBeside(&session->scratch, buffer);
  if (needed < 0 || needed > limit - others) {
    snprintf(text, sizeof text,
             "function '%s' requires more than its max_tape_bytes of %" PRId64
             " for what loops store of their trips, asked for %" PRId64,
             session->function->name, limit, needed < 0 ? INT64_MAX : others + needed);
    srtContextFail(session, SINTER_OUT_OF_MEMORY, text);
    return NULL;
  }
  snprintf(text, sizeof text, "no memory for %" PRId64 " bytes of what a loop of function '%s' stores of its trips",
           needed, session->function->name);
  failForMemory(session, text);
  return NULL;
}

/// The session's memory of output `index` is about to be replaced. Inputs that are views of it, which
/// were copied before the entry ran, are no longer set; others may lie in the new memory by chance.
static void loseViews(sinter_session *session, int32_t index) {
  for (int32_t i = 0; i < session->function->num_inputs; ++i)
    if (session->inputs[i].fromOutput == index + 1)
      session->inputs[i].bound = 0;
  session->bindingsChanged = 1;
}

static int sameDims(const int64_t *a, const int64_t *b, int32_t rank) {
  for (int32_t d = 0; d < rank; ++d)
    if (a[d] != b[d])
      return 0;
  return 1;
}

static void *output(sinter_context *context, int32_t index, const int64_t *dims, int32_t rank) {
  sinter_session *session = (sinter_session *)context;
  char text[SRT_MESSAGE_BYTES], dimsText[SRT_DIMS_TEXT_BYTES], roomText[SRT_DIMS_TEXT_BYTES];
  if (index < 0 || index >= session->function->num_outputs) {
    snprintf(text, sizeof text, "function '%s' requires an output index below %d, its code produced output %d",
             session->function->name, session->function->num_outputs, index);
    srtContextFail(session, SINTER_RUNTIME_ERROR, text);
    return NULL;
  }
  StateOutput *known = &session->stateOutputs[index];
  Binding *binding = &session->outputs[index];
  if (known->data && rank == known->rank && sameDims(dims, rank <= 2 ? known->dims : binding->state->dims, rank)) {
    known->call = session->call;
    return known->data;
  }
  const sinter_tensor_type *type = &session->function->outputs[index];
  sinter_tensor_slot *slot = &session->outputSlots[index];
  int64_t count, bytes;
  if (rank != type->rank) {
    snprintf(text, sizeof text, "output '%s' requires rank %d, its code produced rank %d (%s)", type->name, type->rank,
             rank, srtDimsText(dims, rank, dimsText));
    srtContextFail(session, SINTER_RUNTIME_ERROR, text);
    return NULL;
  }
  if (!srtTensorBytes(type->dtype, rank, dims, &count, &bytes)) { // the caller's sizes lead to such ones
    snprintf(text, sizeof text, "output '%s' requires dims of 0 or more and a size below 2^63 bytes, got %s %s",
             type->name, srtDimsText(dims, rank, dimsText), sinter_dtype_name(type->dtype));
    srtContextFail(session, SINTER_INVALID_ARGUMENT, text);
    return NULL;
  }
  if (rank > 0)
    memcpy(slot->dims, dims, (size_t)rank * sizeof *dims);

  if (binding->state) { // its dims are fixed: what does not agree with them is found when the call ends
    known->call = session->call;
    if (bytes == binding->state->bytes && binding->onDevice)
      return slot->data = binding->inPlace ? binding->state->there : binding->state->spareThere;
    if (bytes == binding->state->bytes)
      return slot->data = (binding->inPlace ? &binding->state->current : &binding->state->spare)->data;
    snprintf(text, sizeof text, "state '%s' requires %" PRId64 " bytes, its code produced %" PRId64,
             binding->state->name, binding->state->bytes, bytes);
    srtContextFail(session, SINTER_RUNTIME_ERROR, text);
    return NULL;
  }
  if (binding->there && !binding->bound) {
    void *room = srtReserveThere(session, binding, bytes);
    if (!room) {
      snprintf(text, sizeof text, "no memory of the device for output '%s' of %" PRId64 " bytes", type->name, bytes);
      srtContextFail(session, SINTER_OUT_OF_MEMORY, text);
    }
    return slot->data = room;
  }
  if (binding->bound) {
    int fits = binding->tensor.strides
                   ? rank == 0 || memcmp(binding->tensor.dims, dims, (size_t)rank * sizeof *dims) == 0
                   : bytes <= binding->bytes;
    if (!fits) {
      snprintf(text, sizeof text, "output '%s' requires room for %s %s, got %s%s", type->name,
               srtDimsText(dims, rank, dimsText), sinter_dtype_name(type->dtype),
               srtDimsText(binding->tensor.dims, rank, roomText), binding->tensor.strides ? " with strides" : "");
      srtContextFail(session, SINTER_INVALID_ARGUMENT, text);
      return NULL;
    }
    if (!binding->copied && binding->tensor.data)
      return slot->data = binding->tensor.data;
  }
  if (!binding->own.data || bytes > binding->own.bytes)
    loseViews(session, index);
  if (!srtReserve(&session->memory, OutputMemory, &binding->own, bytes)) {
    snprintf(text, sizeof text, "no memory for output '%s' of %" PRId64 " bytes", type->name, bytes);
    srtContextFail(session, SINTER_OUT_OF_MEMORY, text);
    return NULL;
  }
  return slot->data = binding->own.data;
}

/// Writes `message` with its first two "{}" replaced.
static void expand(const char *message, int64_t a, int64_t b, char *text, size_t size) {
  const int64_t values[2] = {a, b};
  size_t used = 0;
  for (int next = 0; *message && used + 1 < size;) {
    if (next < 2 && message[0] == '{' && message[1] == '}') {
      int length = snprintf(text + used, size - used, "%" PRId64, values[next++]);
      used += (size_t)length < size - used ? (size_t)length : size - used - 1;
      message += 2;
      continue;
    }
    text[used++] = *message++;
  }
  text[used] = 0;
}

static int32_t fail(sinter_context *context, int32_t code, const char *message, int64_t a, int64_t b) {
  char text[SRT_MESSAGE_BYTES];
  expand(message, a, b, text, sizeof text);
  srtContextFail((sinter_session *)context, code, text);
  return code;
}

static int32_t external(sinter_context *context, const char *name, sinter_op_fn function, const int32_t *layout,
                        const int64_t *words) {
  int32_t status = srtCallExternal(name, function, layout, words);
  if (status)
    srtContextFail((sinter_session *)context, status, sinter_last_error());
  return status;
}

static int32_t measure(sinter_context *context, const char *name, sinter_kernel_fn fn, const int64_t *args,
                       int64_t chunks) {
  int64_t begin = srtMonotonicNs();
  int32_t status = parallel(context, fn, args, chunks);
  srtProfileNote(&((sinter_session *)context)->profile, name, begin, srtMonotonicNs(), 0);
  return status;
}

void srtContextInit(sinter_session *session) {
  session->context = (sinter_context){
      .abi_version = SINTER_ABI_VERSION,
      .struct_size = sizeof(sinter_context),
      .session = session,
      .parallel = parallel,
      .plan = plan,
      .acquire = acquire,
      .release = release,
      .output = output,
      .fail = fail,
      .grow = grow,
      .external = external,
      .measure = measure,
      .repeat = repeat,
      .is_there = srtIsThere,
  };
}

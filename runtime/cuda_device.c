// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What compiled code calls (device.h).

#include "cuda_device.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGE_BYTES 512

static Program *programOf(const sinter_device *device) { return (Program *)(uintptr_t)device; }

//===- Calls of compiled code ---------------------------------------------------------------------===//

/// Records that `what` failed, with the driver's words, and returns the status.
static int32_t failed(const Program *program, sinter_context *ctx, const char *what, int error) {
  if (error == -SINTER_CANCELLED)
    return SINTER_CANCELLED;
  char text[MESSAGE_BYTES];
  snprintf(text, sizeof text, "back end cuda: %s: %s", what, srtCudaErrorText(&program->driver, error));
  return ctx->fail(ctx, error == CUDA_OUT_OF_MEMORY ? SINTER_OUT_OF_MEMORY : SINTER_RUNTIME_ERROR, text, 0, 0);
}

/// The session of a call, made where there is none yet; null without memory.
static Session *sessionOf(Program *program, const sinter_context *ctx) {
  static _Thread_local struct {
    uint64_t program, epoch;
    const sinter_context *context;
    Session *session;
  } last;
  uint64_t epoch = __atomic_load_n(&program->epoch, __ATOMIC_ACQUIRE);
  if (last.context == ctx && last.program == program->id && last.epoch == epoch)
    return last.session;
  pthread_mutex_lock(&program->mutex);
  Session *session = program->sessions;
  while (session && session->context != ctx)
    session = session->next;
  if (!session && (session = calloc(1, sizeof *session))) {
    session->context = ctx;
    session->staged = STAGING_BEGIN;
    session->next = program->sessions;
    program->sessions = session;
  }
  pthread_mutex_unlock(&program->mutex);
  if (session) {
    last.program = program->id;
    last.epoch = epoch;
    last.context = ctx;
    last.session = session;
  }
  return session;
}

static int32_t noMemory(sinter_context *ctx) {
  return ctx->fail(ctx, SINTER_OUT_OF_MEMORY, "back end cuda: the host has no memory for a call", 0, 0);
}

/// Hands over what was recorded, if it need not, or must not, wait for more.
static int advance(Program *program, Session *session) {
  if (session->depth > 0)
    return 0;
  if (session->record.numItems > ITEMS_OF_A_GRAPH)
    session->tooLong = 1;
  if (program->usesGraphs && !session->tooLong && !session->times.isOn)
    return 0;
  int error = srtCudaEnter(program);
  if (!error) {
    error = srtCudaFlush(program, session);
    srtCudaLeave(program);
  }
  return error;
}

/// Hands over what was recorded and waits for it.
static int finish(Program *program, Session *session) {
  if (session->record.numItems == 0 && !session->isBusy)
    return 0;
  int error = srtCudaEnter(program);
  if (!error) {
    error = srtCudaFinish(program, session);
    srtCudaLeave(program);
  }
  return error;
}

static int32_t begin(const sinter_device *device, sinter_context *ctx) {
  Program *program = programOf(device);
  Session *session = sessionOf(program, ctx);
  if (!session)
    return noMemory(ctx);
  // What a call that failed recorded is forgotten.
  session->record.numItems = session->record.numWords = session->depth = 0;
  int error = finish(program, session);
  if (error == -SINTER_CANCELLED) // the call before
    error = 0;
  session->staged = STAGING_BEGIN;
  for (int32_t i = 0; i < session->nextHeld; ++i)
    session->held[i]->isLive = 0;
  session->tooLong = session->nextHeld = 0;
  srtCudaTimesBegin(program, session);
  if (session->isHeldIncomplete) {
    pthread_mutex_lock(&program->mutex);
    for (int32_t i = 0; i < program->numBuffers; ++i)
      if (program->buffers[i]->session == session)
        program->buffers[i]->isLive = 0;
    pthread_mutex_unlock(&program->mutex);
    session->isHeldIncomplete = 0;
  }
  return error ? failed(program, ctx, "a call cannot begin", error) : 0;
}

static void end(const sinter_device *device, sinter_context *ctx) {
  Program *program = programOf(device);
  pthread_mutex_lock(&program->mutex);
  Session **at = &program->sessions, *session;
  while ((session = *at) && session->context != ctx)
    at = &session->next;
  if (session) {
    *at = session->next;
    __atomic_add_fetch(&program->epoch, 1, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&program->mutex);
  if (!session)
    return;
  if (srtCudaEnter(program) == 0) {
    if (session->isBusy)
      program->driver.streamSynchronize(program->stream);
    srtCudaFreeGraphs(program, session);
    srtCudaTimesFree(program, session);
    if (session->staging)
      program->driver.hostFree(session->staging);
    srtCudaLeave(program);
  }
  pthread_mutex_lock(&program->mutex);
  srtCudaGiveUp(program, session);
  pthread_mutex_unlock(&program->mutex);
  srtCudaFreeRecord(&session->record);
  free(session->held);
  free(session);
}

/// Remembers that the call acquired the buffer at this place. Not to have it costs a search the next time.
static void hold(Session *session, Buffer *buffer) {
  if (session->nextHeld == session->roomForHeld) {
    int32_t room = session->roomForHeld ? 2 * session->roomForHeld : 64;
    Buffer **held = realloc(session->held, (size_t)room * sizeof *held);
    if (!held) {
      session->isHeldIncomplete = 1;
      return;
    }
    session->held = held;
    session->roomForHeld = room;
  }
  session->held[session->nextHeld++] = buffer;
  session->numHeld = session->nextHeld;
}

static void *acquire(const sinter_device *device, sinter_context *ctx, int64_t bytes) {
  Program *program = programOf(device);
  Session *session = sessionOf(program, ctx);
  if (!session) {
    noMemory(ctx);
    return NULL;
  }
  Buffer *buffer = session->nextHeld < session->numHeld ? session->held[session->nextHeld] : NULL;
  int64_t least = bytes >= 0 && bytes < 64 ? 64 : bytes;
  if (buffer && !buffer->isLive && buffer->bytes >= least && buffer->bytes / 2 <= least) {
    buffer->isLive = 1;
    ++session->nextHeld;
    return (void *)(uintptr_t)buffer->address;
  }
  int error = srtCudaEnter(program);
  if (!error) {
    error = srtCudaTake(program, bytes, session, &buffer);
    if (error == CUDA_OUT_OF_MEMORY && bytes >= 0 && session->depth == 0) { // what is idle may be what is missing
      error = srtCudaFinish(program, session);
      pthread_mutex_lock(&program->mutex);
      srtCudaTrim(program, session);
      pthread_mutex_unlock(&program->mutex);
      if (!error)
        error = srtCudaTake(program, bytes, session, &buffer);
    }
    srtCudaLeave(program);
  }
  if (error) {
    char what[64];
    snprintf(what, sizeof what, "a buffer of %" PRId64 " bytes", bytes);
    failed(program, ctx, what, error);
    return NULL;
  }
  hold(session, buffer);
  return (void *)(uintptr_t)buffer->address;
}

static void release(const sinter_device *device, sinter_context *ctx, void *address) {
  Program *program = programOf(device);
  (void)ctx;
  pthread_mutex_lock(&program->mutex);
  Buffer *buffer = srtCudaFind(program, (uintptr_t)address);
  if (buffer && buffer->address == (uintptr_t)address)
    buffer->isLive = 0;
  pthread_mutex_unlock(&program->mutex);
}

static void *weight(const sinter_device *device, sinter_context *ctx, int64_t offset) {
  (void)ctx;
  return (void *)(uintptr_t)(programOf(device)->weights + (uint64_t)offset);
}

static void fillRoles(Session *session, const Item *item, int first, int second, int third) {
  uint8_t *roles = session->record.roles + item->firstWord;
  const int given[] = {first, second, third};
  for (int32_t i = 0; i < item->numWords; ++i)
    roles[i] = (uint8_t)given[i];
}

/// Adds an item of up to three words with their roles. An error of the driver.
static int add(Program *program, Session *session, ItemKind kind, int32_t number, int32_t numWords,
               const int64_t words[3], const int roles[3]) {
  Item *item = srtCudaAdd(session, kind, number, 0, numWords);
  if (!item)
    return CUDA_OUT_OF_MEMORY;
  memcpy(session->record.words + item->firstWord, words, (size_t)numWords * sizeof *words);
  fillRoles(session, item, roles[0], roles[1], roles[2]);
  return advance(program, session);
}

/// Memory that the host and the device see, if there is none yet.
static void share(Program *program, Session *session) {
  if (session->staging || session->stagingFailed)
    return;
  void *host = NULL;
  if (program->driver.hostAlloc(&host, STAGING_BYTES, CUDA_HOST_MAPPED))
    session->stagingFailed = 1; // copies go without
  else
    session->staging = host;
  if (host) {
    memset(host, 0, STAGING_BEGIN);
    if (program->driver.hostAddress(&session->stop, host, 0))
      session->stop = 0;
  }
}

/// Loops look there whether they go on. A status.
static int32_t shareStop(Program *program, Session *session, sinter_context *ctx) {
  if (session->stop)
    return 0;
  int error = srtCudaEnter(program);
  if (!error) {
    share(program, session);
    srtCudaLeave(program);
  }
  if (!error && session->stop)
    return 0;
  return failed(program, ctx, "memory of the host that the GPU reads", error ? error : CUDA_OUT_OF_MEMORY);
}

/// Memory of the host that the device reads when it comes to that; null where there is none of so many bytes.
static void *stage(Program *program, Session *session, int64_t bytes) {
  if (!program->usesGraphs || bytes > STAGING_BYTES / 2)
    return NULL;
  share(program, session);
  int64_t rounded = (bytes + 15) / 16 * 16;
  if (!session->staging || session->staged + rounded > STAGING_BYTES)
    return NULL;
  void *at = session->staging + session->staged;
  session->staged += rounded;
  return at;
}

/// The host's bytes go by themselves: they are many, or memory for staging is used up.
static int copyNow(Program *program, Session *session, void *to, const void *from, int64_t bytes) {
  int error = srtCudaFlush(program, session);
  int32_t mark = srtCudaTimeBegin(program, session, "copy to the device");
  if (!error)
    error = program->driver.copyToDevice((uintptr_t)to, from, (size_t)bytes, program->stream);
  srtCudaTimeEnd(program, session, mark);
  session->isBusy = 1;
  // The host's memory may be pinned: then the driver reads it after the call has returned.
  return error ? error : srtCudaFinish(program, session);
}

/// False when an item of the record reads or writes the buffer that `to` lies in.
static int isUntouched(Program *program, const Session *session, const void *to) {
  const Record *record = &session->record;
  if (record->numWords > 1024)
    return 0; // it would take long to find out
  pthread_mutex_lock(&program->mutex);
  const Buffer *buffer = srtCudaFind(program, (uintptr_t)to);
  pthread_mutex_unlock(&program->mutex);
  for (int32_t i = 0; buffer && i < record->numWords; ++i)
    if (record->roles[i] != SINTER_WORD_SIZE &&
        (CudaAddress)record->words[i] - buffer->address < (CudaAddress)buffer->bytes)
      return 0;
  return buffer != NULL;
}

static int copyToDevice(Program *program, Session *session, void *to, const void *from, int64_t bytes) {
  int error = srtCudaEnter(program);
  if (error)
    return error;
  void *staged = stage(program, session, bytes);
  if (staged) {
    memcpy(staged, from, (size_t)bytes);
    srtCudaLeave(program);
    return add(program, session, ITEM_COPY, SINTER_COPY_TO_DEVICE, 3,
               (const int64_t[]){(int64_t)(uintptr_t)to, (int64_t)(uintptr_t)staged, bytes},
               (const int[]){SINTER_WORD_WRITTEN, SINTER_WORD_SIZE, SINTER_WORD_SIZE});
  }
  if (session->depth > 0) {
    error = CUDA_OUT_OF_MEMORY; // loops of the device copy nothing that is not there before
  } else if (session->record.numItems && isUntouched(program, session, to)) {
    // Before what is recorded, which goes on to be one graph.
    error = program->driver.copyToDevice((uintptr_t)to, from, (size_t)bytes, program->stream);
    if (!error)
      error = program->driver.streamSynchronize(program->stream);
  } else {
    error = copyNow(program, session, to, from, bytes);
  }
  srtCudaLeave(program);
  return error;
}

static int copyToHost(Program *program, Session *session, void *to, const void *from, int64_t bytes) {
  int error = srtCudaEnter(program);
  if (error)
    return error;
  error = srtCudaFinish(program, session);
  int32_t mark = srtCudaTimeBegin(program, session, "copy to the host");
  if (!error)
    error = program->driver.copyToHost(to, (uintptr_t)from, (size_t)bytes, program->stream);
  srtCudaTimeEnd(program, session, mark);
  if (!error)
    error = program->driver.streamSynchronize(program->stream);
  if (!error)
    srtCudaTimesReport(program, session);
  srtCudaLeave(program);
  return error;
}

/// Whether the caller's tensor at this address lies on the device.
static int isThere(sinter_context *ctx, const void *address) {
  size_t end = offsetof(sinter_context, is_there) + sizeof ctx->is_there;
  return ctx->struct_size >= end && ctx->is_there && ctx->is_there(ctx, address);
}

static int32_t copy(const sinter_device *device, sinter_context *ctx, void *to, const void *from, int64_t bytes,
                    int32_t direction) {
  Program *program = programOf(device);
  Session *session = sessionOf(program, ctx);
  if (!session)
    return noMemory(ctx);
  if (bytes == 0)
    return 0;
  int error = 0;
  if (direction == SINTER_COPY_TO_DEVICE && to != from && !isThere(ctx, from)) {
    error = copyToDevice(program, session, to, from, bytes);
  } else if (direction == SINTER_COPY_TO_HOST && to != from && !isThere(ctx, to)) {
    error = copyToHost(program, session, to, from, bytes);
  } else {
    if (to != from)
      error = add(program, session, ITEM_COPY, SINTER_COPY_WITHIN, 3,
                  (const int64_t[]){(int64_t)(uintptr_t)to, (int64_t)(uintptr_t)from, bytes},
                  (const int[]){SINTER_WORD_WRITTEN, SINTER_WORD_READ, SINTER_WORD_SIZE});
    if (!error && direction == SINTER_COPY_TO_HOST)
      error = finish(program, session);
  }
  return error ? failed(program, ctx, "a copy", error) : 0;
}

static int32_t clear(const sinter_device *device, sinter_context *ctx, void *to, int64_t bytes) {
  Program *program = programOf(device);
  Session *session = sessionOf(program, ctx);
  if (!session)
    return noMemory(ctx);
  if (bytes == 0)
    return 0;
  int error = add(program, session, ITEM_CLEAR, 0, 2, (const int64_t[]){(int64_t)(uintptr_t)to, bytes, 0},
                  (const int[]){SINTER_WORD_WRITTEN, SINTER_WORD_SIZE, SINTER_WORD_SIZE});
  return error ? failed(program, ctx, "zeros", error) : 0;
}

/// The kernel's number, or -1. The same text has the same address as a rule.
static int32_t findKernel(Program *program, Session *session, const char *name) {
  KnownKernel *known = &session->known[((uintptr_t)name / 8) % KNOWN_KERNELS];
  if (known->name == name)
    return known->number;
  for (int32_t i = 0; i < program->numKernels; ++i)
    if (strcmp(program->kernels[i].name, name) == 0) {
      *known = (KnownKernel){name, i};
      return i;
    }
  return -1;
}

static int32_t launch(const sinter_device *device, sinter_context *ctx, const char *name, const int64_t *words,
                      const uint8_t *roles, int64_t numWords, int64_t chunks, int32_t ordered) {
  Program *program = programOf(device);
  Session *session = sessionOf(program, ctx);
  (void)ordered; // no launch of ours is
  if (!session)
    return noMemory(ctx);
  if (chunks <= 0)
    return 0;
  int32_t kernel = findKernel(program, session, name);
  int32_t loops = kernel >= 0 && program->kernels[kernel].loops; // then one more word says where it looks
  if (kernel < 0 || numWords + loops >= WORDS_OF_A_LAUNCH)
    return ctx->fail(ctx, SINTER_RUNTIME_ERROR, "back end cuda has no such kernel of {} words", numWords, 0);
  int32_t number = program->kernels[kernel].wide;
  const Kernel *wide = &program->kernels[number];
  if (number && (uint64_t)chunks >= wide->leastChunks && (!wide->mostChunks || (uint64_t)chunks <= wide->mostChunks) &&
      srtCudaMapsFit(wide, words))
    kernel = number;
  int32_t status = loops ? shareStop(program, session, ctx) : 0;
  if (status)
    return status;
  const Item *item = srtCudaAdd(session, ITEM_KERNEL, kernel, chunks, (int32_t)numWords + loops);
  if (!item)
    return noMemory(ctx);
  memcpy(session->record.words + item->firstWord, words, (size_t)numWords * sizeof *words);
  memcpy(session->record.roles + item->firstWord, roles, (size_t)numWords);
  if (loops) {
    session->record.words[item->firstWord + numWords] = (int64_t)session->stop;
    session->record.roles[item->firstWord + numWords] = SINTER_WORD_SIZE;
  }
  int error = advance(program, session);
  return error ? failed(program, ctx, name, error) : 0;
}

static int32_t waitFor(const sinter_device *device, sinter_context *ctx, void *buffer) {
  Program *program = programOf(device);
  Session *session = sessionOf(program, ctx);
  (void)buffer;
  if (!session)
    return noMemory(ctx);
  int error = finish(program, session);
  return error ? failed(program, ctx, "a kernel or a copy", error) : 0;
}

static int32_t control(const sinter_device *device, sinter_context *ctx, int32_t part, void *buffer, int64_t limit) {
  static const ItemKind kinds[] = {ITEM_LOOP, ITEM_TEST, ITEM_LOOP_END, ITEM_IF, ITEM_ELSE, ITEM_IF_END};
  Program *program = programOf(device);
  Session *session = sessionOf(program, ctx);
  if (!session)
    return noMemory(ctx);
  int begins = part == SINTER_CONTROL_LOOP || part == SINTER_CONTROL_BRANCH;
  int ends = part == SINTER_CONTROL_LOOP_END || part == SINTER_CONTROL_BRANCH_END;
  int32_t status = begins && session->depth == 0 && program->usesControl ? shareStop(program, session, ctx) : 0;
  if (status)
    return status;
  session->depth += begins;
  session->depth -= ends;
  int isRead = part == SINTER_CONTROL_TEST || part == SINTER_CONTROL_BRANCH;
  int numWords = part == SINTER_CONTROL_LOOP ? 2 : isRead;
  int error = add(program, session, kinds[part], 0, numWords, (const int64_t[]){(int64_t)(uintptr_t)buffer, limit, 0},
                  (const int[]){isRead ? SINTER_WORD_READ : SINTER_WORD_WRITTEN, SINTER_WORD_SIZE, SINTER_WORD_SIZE});
  return error ? failed(program, ctx, "a loop or a branch", error) : 0;
}

//===- States -------------------------------------------------------------------------------------===//

/// The program itself stands for the session, so that no call gives the memory up.
static void *keep(const sinter_device *device, int64_t bytes) {
  Program *program = programOf(device);
  Buffer *buffer = NULL;
  int error = srtCudaEnter(program);
  if (error)
    return NULL;
  error = srtCudaTake(program, bytes, program, &buffer);
  if (error == CUDA_OUT_OF_MEMORY && bytes >= 0) {
    pthread_mutex_lock(&program->mutex);
    srtCudaTrim(program, NULL);
    pthread_mutex_unlock(&program->mutex);
    error = srtCudaTake(program, bytes, program, &buffer);
  }
  srtCudaLeave(program);
  return error ? NULL : (void *)(uintptr_t)buffer->address;
}

static void discard(const sinter_device *device, void *address) {
  Program *program = programOf(device);
  pthread_mutex_lock(&program->mutex);
  Buffer *buffer = srtCudaFind(program, (uintptr_t)address);
  if (buffer && buffer->address == (uintptr_t)address) {
    buffer->session = NULL;
    buffer->isLive = 0;
  }
  pthread_mutex_unlock(&program->mutex);
}

static int32_t transfer(const sinter_device *device, void *to, const void *from, int64_t bytes, int32_t direction) {
  Program *program = programOf(device);
  if (bytes == 0)
    return SINTER_OK;
  int error = srtCudaEnter(program);
  if (error)
    return SINTER_RUNTIME_ERROR;
  error = direction == SINTER_COPY_TO_DEVICE
              ? program->driver.copyToDevice((uintptr_t)to, from, (size_t)bytes, program->stream)
              : program->driver.copyToHost(to, (uintptr_t)from, (size_t)bytes, program->stream);
  if (!error)
    error = program->driver.streamSynchronize(program->stream);
  srtCudaLeave(program);
  return error ? SINTER_RUNTIME_ERROR : SINTER_OK;
}

//===- Tensors of callers ---------------------------------------------------------------------------===//

/// Kernels of some forms read vectors where addresses are such multiples; those of the rest are asked at each launch.
#define PLACE_ALIGNMENT 64

static void *place(const sinter_device *device, sinter_context *ctx, int64_t bytes, void *at) {
  int isUsable = bytes > 0 && isThere(ctx, at) && (uintptr_t)at % PLACE_ALIGNMENT == 0;
  return isUsable ? at : acquire(device, ctx, bytes);
}

static int32_t holds(const sinter_device *device, const void *address, int64_t bytes, char *why) {
  Program *program = programOf(device);
  unsigned kind = 0;
  int ordinal = -1, last = -1;
  int error = srtCudaEnter(program);
  if (error) {
    srtCudaExplain(why, 0, "%s", srtCudaErrorText(&program->driver, error));
    return 0;
  }
  const CudaDriver *driver = &program->driver;
  CudaAddress begin = (uintptr_t)address, end = begin + (uint64_t)bytes - 1;
  if (driver->pointerGet(&kind, CUDA_POINTER_MEMORY_TYPE, begin) || kind != CUDA_MEMORY_DEVICE)
    srtCudaExplain(why, 0, "its address is not memory of a GPU");
  else if (driver->pointerGet(&ordinal, CUDA_POINTER_DEVICE, begin) || ordinal != program->ordinal)
    srtCudaExplain(why, 0, "it lies on another GPU, number %d, than cuda:%d", ordinal, program->ordinal);
  else if (driver->pointerGet(&last, CUDA_POINTER_DEVICE, end) || last != program->ordinal)
    srtCudaExplain(why, 0, "the memory at its address ends before its %" PRId64 " bytes do", bytes);
  srtCudaLeave(program);
  return last >= 0 && last == program->ordinal;
}

static void settle(const sinter_device *device) {
  Program *program = programOf(device);
  if (srtCudaEnter(program) == 0) {
    program->driver.contextSynchronize();
    srtCudaLeave(program);
  }
}

void srtCudaFillDevice(sinter_device *device) {
  *device = (sinter_device){.version = SINTER_DEVICE_VERSION,
                            .struct_size = sizeof *device,
                            .begin = begin,
                            .acquire = acquire,
                            .release = release,
                            .weight = weight,
                            .copy = copy,
                            .clear = clear,
                            .launch = launch,
                            .wait = waitFor,
                            .end = end,
                            .keep = keep,
                            .discard = discard,
                            .transfer = transfer,
                            .control = control,
                            .place = place,
                            .holds = holds,
                            .settle = settle};
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a session asked for since the host last waited, and its way to the driver without a graph.

#include "cuda_device.h"
#include <stdlib.h>
#include <string.h>

void srtCudaFreeRecord(Record *record) {
  free(record->items);
  free(record->words);
  free(record->roles);
  memset(record, 0, sizeof *record);
}

static int reserve(Record *record, int32_t numWords) {
  if (record->numItems == record->roomForItems) {
    int32_t room = record->roomForItems ? 2 * record->roomForItems : 64;
    Item *items = realloc(record->items, (size_t)room * sizeof *items);
    if (!items)
      return 0;
    record->items = items;
    record->roomForItems = room;
  }
  if (record->numWords + numWords > record->roomForWords) {
    int32_t room = 2 * record->roomForWords + numWords + 256;
    int64_t *words = realloc(record->words, (size_t)room * sizeof *words);
    if (!words)
      return 0;
    record->words = words;
    uint8_t *roles = realloc(record->roles, (size_t)room);
    if (!roles)
      return 0;
    record->roles = roles;
    record->roomForWords = room;
  }
  return 1;
}

Item *srtCudaAdd(Session *session, ItemKind kind, int32_t number, int64_t chunks, int32_t numWords) {
  Record *record = &session->record;
  if (!reserve(record, numWords))
    return NULL;
  Item *item = &record->items[record->numItems++];
  *item = (Item){(int32_t)kind, number, record->numWords, numWords, chunks};
  record->numWords += numWords;
  return item;
}

void srtCudaGeometry(const Kernel *kernel, int64_t chunks, uint32_t *blocks, uint32_t *threads) {
  *threads = kernel->threads;
  *blocks = kernel->blocks;
  if (kernel->isWide) {
    if (kernel->perCluster && (uint64_t)chunks * kernel->cluster < kernel->blocks)
      *blocks = (uint32_t)chunks * kernel->cluster;
    return;
  }
  int64_t count = chunks;
  if (!kernel->perBlock) {
    if (chunks < *threads)
      *threads = (uint32_t)(chunks + 31) / 32 * 32;
    count = (chunks - 1) / *threads + 1;
  }
  *blocks = (uint32_t)(count > INT32_MAX ? INT32_MAX : count);
}

void srtCudaLetLoop(Session *session) {
  *(volatile uint32_t *)(uintptr_t)session->staging = session->context->cancelled && !session->context->committing;
  session->hasLoops = 1;
}

/// Waits for loops that nobody but the host can stop.
static int waitForLoops(Program *program, Session *session) {
  volatile uint32_t *stop = (volatile uint32_t *)(uintptr_t)session->staging;
  int error;
  while ((error = program->driver.streamQuery(program->stream)) == CUDA_NOT_READY)
    if (session->context->cancelled && !session->context->committing)
      *stop = 1;
  return error;
}

//===- Without a graph -----------------------------------------------------------------------------===//

static int issueKernel(Program *program, const Item *item, const int64_t *words) {
  void *parameters[WORDS_OF_A_LAUNCH + MAPS_OF_A_KERNEL];
  CudaMap maps[MAPS_OF_A_KERNEL];
  int64_t chunks = item->chunks;
  for (int32_t i = 0; i < item->numWords; ++i)
    parameters[i] = (void *)(uintptr_t)&words[i];
  parameters[item->numWords] = &chunks;
  const Kernel *kernel = &program->kernels[item->number], *end = program->kernels + program->numKernels;
  int error = srtCudaEncodeMaps(&program->driver, kernel, words, maps);
  for (int32_t i = 0; i < kernel->numMaps; ++i)
    parameters[item->numWords + 1 + i] = &maps[i];
  if (error)
    return error;
  do { // it walks over all chunks, whatever the grid
    uint32_t blocks, threads;
    srtCudaGeometry(kernel, chunks, &blocks, &threads);
    error = program->driver.launch(kernel->function, blocks, 1, 1, threads, 1, 1, kernel->sharedBytes, program->stream,
                                   parameters, NULL);
  } while (!error && ++kernel < end && kernel->follows);
  return error;
}

int32_t srtCudaFindNext(const Record *record, int32_t at) {
  int32_t depth = 0;
  for (int32_t i = at + 1; i < record->numItems; ++i) {
    int32_t kind = record->items[i].kind;
    if (depth == 0 && kind >= ITEM_TEST && kind != ITEM_IF)
      return i;
    depth += (kind == ITEM_LOOP || kind == ITEM_IF) - (kind == ITEM_LOOP_END || kind == ITEM_IF_END);
  }
  return record->numItems;
}

/// The byte at `flag`, when all before it is done.
static int readFlag(Program *program, int64_t flag, uint8_t *value) {
  int error = program->driver.copyToHost(value, (CudaAddress)flag, 1, program->stream);
  return error ? error : program->driver.streamSynchronize(program->stream);
}

static int issueLoop(Program *program, Session *session, int32_t begin, int32_t test, int32_t end) {
  const Record *record = &session->record;
  const int64_t *words = record->words;
  CudaAddress trips = (CudaAddress)words[record->items[begin].firstWord];
  int64_t limit = words[record->items[begin].firstWord + 1], trip = 0;
  for (;; ++trip) {
    uint8_t flag;
    int error = srtCudaIssue(program, session, begin + 1, test);
    if (!error)
      error = readFlag(program, words[record->items[test].firstWord], &flag);
    if (error)
      return error;
    if (session->context->cancelled && !session->context->committing)
      return -SINTER_CANCELLED;
    if (!flag || (limit >= 0 && trip >= limit))
      break;
    if ((error = srtCudaIssue(program, session, test + 1, end)))
      return error;
  }
  int error = program->driver.copyToDevice(trips, &trip, sizeof trip, program->stream);
  return error ? error : program->driver.streamSynchronize(program->stream);
}

static const char *nameOf(const Program *program, const Item *item) {
  return item->kind == ITEM_KERNEL            ? program->kernels[item->number].name
         : item->kind == ITEM_CLEAR           ? "zeros"
         : item->number == SINTER_COPY_WITHIN ? "copy within the device"
                                              : "copy to the device";
}

int srtCudaIssue(Program *program, Session *session, int32_t from, int32_t to) {
  const Record *record = &session->record;
  const CudaDriver *driver = &program->driver;
  int error = 0;
  for (int32_t i = from; i < to && !error; ++i) {
    const Item *item = &record->items[i];
    const int64_t *words = record->words + item->firstWord;
    int32_t mark = item->kind < ITEM_LOOP ? srtCudaTimeBegin(program, session, nameOf(program, item)) : -1;
    if (item->kind == ITEM_KERNEL) {
      int loops = program->kernels[item->number].loops;
      if (loops)
        srtCudaLetLoop(session);
      error = issueKernel(program, item, words);
      if (loops && !error) // what comes next might wait for it, and not look whether the call was cancelled
        error = waitForLoops(program, session);
    } else if (item->kind == ITEM_COPY) {
      error = item->number == SINTER_COPY_WITHIN
                  ? driver->copyWithin((CudaAddress)words[0], (CudaAddress)words[1], (size_t)words[2], program->stream)
                  : driver->copyToDevice((CudaAddress)words[0], (const void *)(uintptr_t)words[1], (size_t)words[2],
                                         program->stream);
    } else if (item->kind == ITEM_CLEAR) {
      error = driver->fill((CudaAddress)words[0], 0, (size_t)words[1], program->stream);
    } else {
      int32_t middle = srtCudaFindNext(record, i), end = srtCudaFindNext(record, middle);
      if (item->kind == ITEM_LOOP) {
        error = issueLoop(program, session, i, middle, end);
      } else {
        uint8_t flag;
        error = readFlag(program, words[0], &flag);
        if (!error)
          error =
              flag ? srtCudaIssue(program, session, i + 1, middle) : srtCudaIssue(program, session, middle + 1, end);
      }
      i = end;
    }
    srtCudaTimeEnd(program, session, mark);
  }
  return error;
}

int srtCudaFlush(Program *program, Session *session) {
  Record *record = &session->record;
  if (record->numItems == 0)
    return 0;
  session->isBusy = 1;
  int hasControl = 0;
  for (int32_t i = 0; i < record->numItems && !hasControl; ++i)
    hasControl = record->items[i].kind >= ITEM_LOOP;
  int isGraph = program->usesGraphs && (program->usesControl || !hasControl) && !session->tooLong &&
                !session->times.isOn && (record->numItems > 1 || hasControl);
  int error = isGraph ? srtCudaRunGraph(program, session) : srtCudaIssue(program, session, 0, record->numItems);
  record->numItems = record->numWords = 0;
  return error;
}

int srtCudaFinish(Program *program, Session *session) {
  int error = srtCudaFlush(program, session);
  if (!error && session->isBusy) {
    if (session->hasLoops)
      error = waitForLoops(program, session);
    if (!error)
      error = program->driver.streamSynchronize(program->stream);
    session->isBusy = 0;
    if (!error && session->hasLoops && *(volatile uint32_t *)(uintptr_t)session->staging)
      error = -SINTER_CANCELLED;
    session->hasLoops = 0;
    if (!error)
      srtCudaTimesReport(program, session);
  }
  session->staged = STAGING_BEGIN;
  session->tooLong = 0;
  return error;
}

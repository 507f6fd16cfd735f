// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When kernels and copies of a traced call ran: events on the stream before and behind each.

#define _GNU_SOURCE // clock_gettime

#include "clock.h"
#include "cuda_device.h"
#include <stdlib.h>
#include <string.h>

/// Whether the session's call is traced.
static int isTraced(const Program *program, const sinter_context *ctx) {
  size_t end = offsetof(sinter_context, measured) + sizeof ctx->measured;
  return program->driver.hasEvents && ctx->struct_size >= end && ctx->measured;
}

static int make(Program *program, CudaEvent *event) {
  return *event ? 0 : program->driver.eventCreate(event, CUDA_EVENT_DEFAULT);
}

void srtCudaTimesBegin(Program *program, Session *session) {
  Times *times = &session->times;
  times->isOn = times->count = 0;
  if (!isTraced(program, session->context) || srtCudaEnter(program))
    return;
  if (!times->marks)
    times->marks = calloc(TIMES_AT_ONCE, sizeof *times->marks);
  // The stream is idle: the event happens at once.
  times->isOn = times->marks && !make(program, &times->origin) &&
                !program->driver.eventRecord(times->origin, program->stream) &&
                !program->driver.streamSynchronize(program->stream);
  times->originNs = srtMonotonicNs();
  srtCudaLeave(program);
}

void srtCudaTimesReport(Program *program, Session *session) {
  Times *times = &session->times;
  const CudaDriver *driver = &program->driver;
  sinter_context *ctx = (sinter_context *)(uintptr_t)session->context;
  for (int32_t i = 0; i < times->count; ++i) {
    const TimeMark *mark = &times->marks[i];
    float begin = 0, end = 0; // milliseconds
    if (driver->eventElapsed(&begin, times->origin, mark->begin) ||
        driver->eventElapsed(&end, times->origin, mark->end))
      continue;
    ctx->measured(ctx, mark->name, times->originNs + (int64_t)((double)begin * 1e6),
                  times->originNs + (int64_t)((double)end * 1e6), 1);
  }
  times->count = 0;
}

int32_t srtCudaTimeBegin(Program *program, Session *session, const char *name) {
  Times *times = &session->times;
  if (!times->isOn)
    return -1;
  if (times->count == TIMES_AT_ONCE) {
    if (program->driver.streamSynchronize(program->stream))
      return -1; // who waits next is told
    srtCudaTimesReport(program, session);
  }
  TimeMark *mark = &times->marks[times->count];
  if (make(program, &mark->begin) || make(program, &mark->end) ||
      program->driver.eventRecord(mark->begin, program->stream))
    return -1;
  mark->name = name;
  return times->count;
}

void srtCudaTimeEnd(Program *program, Session *session, int32_t mark) {
  if (mark >= 0 && !program->driver.eventRecord(session->times.marks[mark].end, program->stream))
    session->times.count = mark + 1;
}

void srtCudaTimesFree(Program *program, Session *session) {
  Times *times = &session->times;
  for (int32_t i = 0; times->marks && i < TIMES_AT_ONCE; ++i) {
    if (times->marks[i].begin)
      program->driver.eventDestroy(times->marks[i].begin);
    if (times->marks[i].end)
      program->driver.eventDestroy(times->marks[i].end);
  }
  if (times->origin)
    program->driver.eventDestroy(times->origin);
  free(times->marks);
  memset(times, 0, sizeof *times);
}

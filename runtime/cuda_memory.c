// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory of a GPU that a module has: buffers, sorted by address, each of one session or of nobody.

#include "cuda_device.h"
#include <stdlib.h>
#include <string.h>

/// The number of buffers that begin at `address` or before it.
static int32_t countBefore(const Program *program, CudaAddress address) {
  int32_t low = 0, high = program->numBuffers;
  while (low < high) {
    int32_t middle = (low + high) / 2;
    if (program->buffers[middle]->address <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

Buffer *srtCudaFind(Program *program, CudaAddress address) {
  int32_t before = countBefore(program, address);
  Buffer *buffer = before ? program->buffers[before - 1] : NULL;
  return buffer && address < buffer->address + (CudaAddress)buffer->bytes ? buffer : NULL;
}

void srtCudaTrim(Program *program, Session *session) {
  int32_t kept = 0;
  for (int32_t i = 0; i < program->numBuffers; ++i) {
    Buffer *buffer = program->buffers[i];
    if (buffer->session && (buffer->session != session || buffer->isLive)) {
      program->buffers[kept++] = buffer;
      continue;
    }
    program->driver.memFree(buffer->address);
    free(buffer);
  }
  program->numBuffers = kept;
  if (session) { // what it named may be gone
    session->numHeld = session->nextHeld = 0;
    session->isHeldIncomplete = 1;
  }
}

void srtCudaGiveUp(Program *program, const void *session) {
  for (int32_t i = 0; i < program->numBuffers; ++i)
    if (program->buffers[i]->session == session) {
      program->buffers[i]->session = NULL;
      program->buffers[i]->isLive = 0;
    }
}

/// The smallest idle buffer of the session, else of nobody, that is not larger than twice what is needed.
static Buffer *findIdle(Program *program, int64_t bytes, const void *owner) {
  Buffer *best = NULL;
  for (int32_t i = 0; i < program->numBuffers; ++i) {
    Buffer *buffer = program->buffers[i];
    if (buffer->isLive || (buffer->session && buffer->session != owner) || buffer->bytes < bytes ||
        buffer->bytes / 2 > bytes)
      continue;
    int isBetter = !best || (buffer->session && !best->session) ||
                   (!buffer->session == !best->session && buffer->bytes < best->bytes);
    if (isBetter)
      best = buffer;
  }
  return best;
}

/// Memory that is new.
static int addBuffer(Program *program, int64_t bytes, Buffer **result) {
  if (program->numBuffers == program->roomForBuffers) {
    int32_t room = program->roomForBuffers ? 2 * program->roomForBuffers : 16;
    Buffer **buffers = realloc(program->buffers, (size_t)room * sizeof *buffers);
    if (!buffers)
      return CUDA_OUT_OF_MEMORY;
    program->buffers = buffers;
    program->roomForBuffers = room;
  }
  Buffer *buffer = malloc(sizeof *buffer);
  if (!buffer)
    return CUDA_OUT_OF_MEMORY;
  *buffer = (Buffer){0, bytes, NULL, 0};
  int error = program->driver.memAlloc(&buffer->address, (size_t)bytes);
  if (error) {
    free(buffer);
    return error;
  }
  int32_t at = countBefore(program, buffer->address);
  memmove(&program->buffers[at + 1], &program->buffers[at], (size_t)(program->numBuffers - at) * sizeof(Buffer *));
  program->buffers[at] = *result = buffer;
  ++program->numBuffers;
  return 0;
}

int srtCudaTake(Program *program, int64_t bytes, const void *owner, Buffer **result) {
  int64_t rounded;
  if (bytes < 0 || __builtin_add_overflow(bytes, 63, &rounded))
    return CUDA_OUT_OF_MEMORY;
  rounded = rounded < 64 ? 64 : rounded / 64 * 64;
  int error = 0;
  pthread_mutex_lock(&program->mutex);
  Buffer *buffer = findIdle(program, rounded, owner);
  if (!buffer)
    error = addBuffer(program, rounded, &buffer);
  if (!error) {
    buffer->session = owner;
    buffer->isLive = 1;
    *result = buffer;
  }
  pthread_mutex_unlock(&program->mutex);
  return error;
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "HeldFiles.h"
#include "runtime/file.h"
#include "runtime/status.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
  const char *path;
  const uint8_t *data;
  size_t size;
} Held;

enum { given, written, numHeld };
static Held files[numHeld] = {{.path = "memory/given"}, {.path = "memory/written"}};
static uint8_t *room; // of what is written
static size_t roomBytes;

/// Descriptors of these files begin where the system has none.
static const int firstDescriptor = 1 << 30;

const char *givenFile(const uint8_t *data, size_t size) {
  files[given].data = data;
  files[given].size = size;
  return files[given].path;
}

const char *writtenFile(void) { return files[written].path; }

static Held *named(const char *path) {
  for (int i = 0; i < numHeld; ++i)
    if (strcmp(path, files[i].path) == 0)
      return &files[i];
  return NULL;
}

static Held *opened(int file) { return file < firstDescriptor ? NULL : &files[file - firstDescriptor]; }

#define WRAPPED(result, function, ...)                                                                                 \
  result __real_##function(__VA_ARGS__);                                                                               \
  result __wrap_##function(__VA_ARGS__);                                                                               \
  result __wrap_##function(__VA_ARGS__)

WRAPPED(sinter_status_code, srtOpenFile, const char *path, int *file, int64_t *bytes) {
  const Held *held = named(path);
  if (!held)
    return __real_srtOpenFile(path, file, bytes);
  *file = firstDescriptor + (int)(held - files);
  *bytes = (int64_t)held->size;
  return SINTER_OK;
}

WRAPPED(sinter_status_code, srtReadAt, int file, int64_t offset, void *data, int64_t bytes, const char *path) {
  const Held *held = opened(file);
  if (!held)
    return __real_srtReadAt(file, offset, data, bytes, path);
  int64_t size = (int64_t)held->size;
  if (bytes > 0 && (offset < 0 || offset > size || bytes > size - offset))
    return srtError(offset < 0 ? SINTER_IO : SINTER_CORRUPT, "'%s' does not have what is read of it", path);
  if (bytes > 0)
    memcpy(data, held->data + offset, (size_t)bytes);
  return SINTER_OK;
}

WRAPPED(sinter_status_code, srtCreateFile, const char *path, NewFile *file) {
  Held *held = named(path);
  if (held != &files[written])
    return __real_srtCreateFile(path, file);
  held->size = 0;
  *file = (NewFile){.file = firstDescriptor + written, .path = path};
  return SINTER_OK;
}

WRAPPED(sinter_status_code, srtWriteAll, int file, const void *data, int64_t bytes, const char *path) {
  Held *held = opened(file);
  if (!held)
    return __real_srtWriteAll(file, data, bytes, path);
  size_t size = held->size + (size_t)bytes;
  if (size > roomBytes) {
    held->data = room = realloc(room, roomBytes = 2 * size);
    if (!room)
      abort();
  }
  if (bytes > 0)
    memcpy(room + held->size, data, (size_t)bytes);
  held->size = size;
  return SINTER_OK;
}

WRAPPED(sinter_status_code, srtFinishFile, NewFile *file, sinter_status_code status) {
  return opened(file->file) ? status : __real_srtFinishFile(file, status);
}

WRAPPED(int, close, int file) { return opened(file) ? 0 : __real_close(file); }

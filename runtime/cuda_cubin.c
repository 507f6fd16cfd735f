// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code of a GPU that need not be compiled when it is loaded.
//
// A module may hold cubins behind its PTX, made by ptxas when it was compiled, each `\n=== cubin PART GENERATION
// BYTES\n` and its bytes: PART is "all" for the first PTX, "wide" for that of sm_90a beside it. A GPU runs those of its
// own generation, and of lower numbers behind the same first digits (sm_86 runs what is for sm_80), but for an "a" at
// the end. Where none fits, or the driver is too old for it, the PTX is compiled.
//
// SINTER_CUDA_CACHE of the environment names a folder in which what the driver makes of PTX is kept, found again by the
// PTX, the generation and the driver's version. Damaged files are made anew. Without it the driver has a cache of its
// own (CUDA_CACHE_PATH).

#include "cuda_device.h"
#include "hash.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CUBIN_MARK "\n=== cubin "

typedef struct Cubin {
  char part[8], generation[16];
  const char *bytes;
  int64_t size;
} Cubin;

/// Reads the entry at `*at`, which goes behind it; 0 at the end, negative for what makes no sense.
static int readCubin(const char **at, const char *end, Cubin *cubin) {
  if (*at == end)
    return 0;
  size_t mark = sizeof CUBIN_MARK - 1;
  const char *line = *at + mark;
  // The PTX ends with a zero in place of the first mark's first byte.
  if ((size_t)(end - *at) < mark || memcmp(*at + 1, &CUBIN_MARK[1], mark - 1) != 0)
    return -1;
  const char *next = memchr(line, '\n', (size_t)(end - line));
  char text[64];
  if (!next || next - line >= (ptrdiff_t)sizeof text)
    return -1;
  memcpy(text, line, (size_t)(next - line));
  text[next - line] = 0;
  if (sscanf(text, "%7s %15s %" SCNd64, cubin->part, cubin->generation, &cubin->size) != 3 || cubin->size <= 0 ||
      cubin->size > end - (next + 1))
    return -1;
  cubin->bytes = next + 1;
  *at = cubin->bytes + cubin->size;
  return 1;
}

int32_t srtCudaTakeCubins(Program *program, char *ptx, char *why) {
  char *first = strstr(ptx, CUBIN_MARK);
  program->cubins = NULL;
  if (!first && ptx + strlen(ptx) == program->code + program->codeBytes)
    return SINTER_OK;
  const char *at = first, *end = program->code + program->codeBytes;
  Cubin cubin;
  int found = first ? 1 : -1;
  while (found > 0)
    found = readCubin(&at, end, &cubin);
  if (found < 0)
    return srtCudaExplain(why, SINTER_CORRUPT, "its code has a cubin that makes no sense");
  *first = 0;
  program->cubins = first;
  return SINTER_OK;
}

/// How well code for a generation fits a GPU: 0 for not at all, else the higher the better.
static int fits(const char *generation, int major, int minor) {
  int number = 0;
  char exact = 0;
  if (sscanf(generation, "sm_%d%c", &number, &exact) < 1 || number / 10 != major || number % 10 > minor)
    return 0;
  return exact && number % 10 != minor ? 0 : number % 10 + 1;
}

/// The cubin of a part that the GPU runs best, or null in `bytes`.
static Cubin findCubin(const Program *program, const char *part, int major, int minor) {
  Cubin best = {.bytes = NULL}, cubin;
  const char *at = program->cubins, *end = program->code + program->codeBytes;
  for (int most = 0; at && readCubin(&at, end, &cubin) > 0;) {
    int fit = strcmp(cubin.part, part) == 0 ? fits(cubin.generation, major, minor) : 0;
    if (fit > most) {
      most = fit;
      best = cubin;
    }
  }
  return best;
}

/// Loads a cubin, whose address in the file may be odd; an error of the driver.
static int loadImage(Program *program, const void *bytes, int64_t size, CudaModule *module) {
  void *copy = malloc((size_t)size);
  if (!copy)
    return CUDA_OUT_OF_MEMORY;
  memcpy(copy, bytes, (size_t)size);
  int error = program->driver.moduleLoad(module, copy, 0, NULL, NULL);
  free(copy);
  if (error)
    *module = NULL;
  return error;
}

//===- the cache ------------------------------------------------------------------------------------===//

/// Before the bytes in a file.
typedef struct CacheHead {
  char magic[16];
  int64_t bytes;
  uint64_t hash;
} CacheHead;
#define CACHE_MAGIC "sinter cubin 1\n"

#define PATH_BYTES 4096

static int nameInCache(const Program *program, const char *folder, const char *ptx, int major, int minor,
                       char path[PATH_BYTES]) {
  int version = 0;
  program->driver.driverVersion(&version);
  int64_t bytes = (int64_t)strlen(ptx);
  int length = snprintf(path, PATH_BYTES, "%s/%016" PRIx64 "%016" PRIx64 "-sm_%d%d-%d.cubin", folder,
                        srtXxh64(ptx, bytes, 0), srtXxh64(ptx, bytes, 1), major, minor, version);
  return length > 0 && length < PATH_BYTES;
}

/// Loads what a file has; 0 when it was not there, or was damaged.
static int loadFile(Program *program, const char *path, CudaModule *module) {
  FILE *file = fopen(path, "rb");
  if (!file)
    return 0;
  CacheHead head;
  char *bytes = NULL;
  int isRead = fread(&head, sizeof head, 1, file) == 1 && memcmp(head.magic, CACHE_MAGIC, sizeof head.magic) == 0 &&
               head.bytes > 0 && head.bytes <= INT32_MAX && (bytes = malloc((size_t)head.bytes)) != NULL &&
               fread(bytes, (size_t)head.bytes, 1, file) == 1 && srtXxh64(bytes, head.bytes, 0) == head.hash;
  fclose(file);
  if (isRead)
    isRead = loadImage(program, bytes, head.bytes, module) == 0;
  free(bytes);
  return isRead;
}

/// Keeps a cubin. Others see all of the file or none; where there is no room the next load compiles again.
static void writeFile(const char *path, const void *bytes, int64_t size) {
  static uint64_t numWritten;
  char written[PATH_BYTES + 64];
  snprintf(written, sizeof written, "%s.%ld-%" PRIu64, path, (long)getpid(),
           __atomic_add_fetch(&numWritten, 1, __ATOMIC_RELAXED));
  CacheHead head = {CACHE_MAGIC, size, srtXxh64(bytes, size, 0)};
  FILE *file = fopen(written, "wb");
  if (!file)
    return;
  int isWritten = fwrite(&head, sizeof head, 1, file) == 1 && fwrite(bytes, (size_t)size, 1, file) == 1;
  isWritten &= fclose(file) == 0;
  if (!isWritten || rename(written, path) != 0)
    remove(written);
}

/// Has the driver make a cubin of PTX, keeps and loads it; 0 when that does not work.
static int compileForCache(Program *program, const char *ptx, const char *path, CudaModule *module) {
  CudaDriver *driver = &program->driver;
  CudaLink link = NULL;
  void *image = NULL;
  size_t size = 0;
  if (driver->linkCreate(0, NULL, NULL, &link))
    return 0;
  int error = driver->linkAdd(link, CUDA_INPUT_PTX, (void *)(uintptr_t)ptx, strlen(ptx) + 1, "kernels", 0, NULL, NULL);
  if (!error)
    error = driver->linkComplete(link, &image, &size);
  if (!error)
    error = loadImage(program, image, (int64_t)size, module);
  if (!error)
    writeFile(path, image, (int64_t)size);
  driver->linkDestroy(link); // with the image
  return error == 0;
}

int32_t srtCudaLoadReady(Program *program, const char *part, const char *ptx, CudaModule *module, char *why) {
  int major = 0, minor = 0;
  program->driver.deviceGetAttribute(&major, CUDA_ATTRIBUTE_MAJOR, program->handle);
  program->driver.deviceGetAttribute(&minor, CUDA_ATTRIBUTE_MINOR, program->handle);
  *module = NULL;
  Cubin cubin = findCubin(program, part, major, minor);
  if (cubin.bytes && loadImage(program, cubin.bytes, cubin.size, module) == 0)
    return SINTER_OK;
  const char *folder = getenv("SINTER_CUDA_CACHE");
  char path[PATH_BYTES];
  if (!folder || !*folder || !program->driver.hasLinks)
    return SINTER_OK;
  if ((mkdir(folder, 0777) != 0 && errno != EEXIST) || access(folder, W_OK | X_OK) != 0 ||
      !nameInCache(program, folder, ptx, major, minor, path))
    return srtCudaExplain(why, SINTER_INVALID_ARGUMENT, "SINTER_CUDA_CACHE requires a folder for code, got '%.100s'",
                          folder);
  if (!loadFile(program, path, module))
    compileForCache(program, ptx, path, module);
  return SINTER_OK;
}

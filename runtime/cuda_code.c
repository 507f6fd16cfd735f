// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module's code (backends/cuda/CudaBackend.h): lines that say how its kernels are launched, the PTX, and perhaps the
// PTX of wide kernels, which sm_90a alone has. SINTER_CUDA_WGMMA=off of the environment leaves these out.

#include "cuda_device.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int32_t srtCudaExplain(char *why, int32_t status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(why, SINTER_DRIVER_TEXT_BYTES, format, arguments);
  va_end(arguments);
  return status;
}

/// Reads `wide NAME THREADS BYTES CHUNKS [BLOCKS [MOST]]` and `map ...`, whose kernel is in `*last` already; false for
/// other lines. The line behind goes to `*line`.
static int readWide(Kernel *last, char **line) {
  char *next = strchr(*line, '\n');
  if (strncmp(*line, "map ", 4) == 0) {
    if (!last || !last->isWide || last->numMaps == MAPS_OF_A_KERNEL ||
        !srtCudaReadMap(*line + 4, &last->maps[last->numMaps]))
      return 0;
    ++last->numMaps;
    *line = next + 1;
    return 1;
  }
  char *name = *line + 5, *space = strchr(name, ' ');
  if (!next || strncmp(*line, "wide ", 5) != 0 || !space || space > next)
    return 0;
  *next = 0;
  last->cluster = 1;
  int numbers = sscanf(space, "%" SCNu32 " %" SCNu32 " %" SCNu64 " %" SCNu32 " %" SCNu64, &last->threads,
                       &last->sharedBytes, &last->leastChunks, &last->cluster, &last->mostChunks);
  *next = '\n';
  if (numbers < 2 || last->threads == 0 || last->threads > 1024 || last->cluster == 0 || last->cluster > 8)
    return 0;
  *space = 0;
  last->perCluster = numbers == 5;
  last->name = name;
  last->isWide = last->perBlock = 1;
  *line = next + 1;
  return 1;
}

/// Room for one more kernel; null without memory.
static Kernel *addKernel(Program *program) {
  Kernel *kernels = realloc(program->kernels, (size_t)(program->numKernels + 1) * sizeof *kernels);
  if (!kernels)
    return NULL;
  program->kernels = kernels;
  Kernel *kernel = &kernels[program->numKernels++];
  memset(kernel, 0, sizeof *kernel);
  return kernel;
}

int32_t srtCudaReadKernels(Program *program, char **ptx, char *why) {
  char *line = program->code;
  int32_t first = 0; // the kernel that what follows belongs to
  while (*line && *line != '\n') {
    char *next = strchr(line, '\n'), *name = line, *space;
    if (*line == 'w' || *line == 'm') {
      int isMap = *line == 'm';
      if (!isMap && !addKernel(program))
        return srtCudaExplain(why, SINTER_OUT_OF_MEMORY, "no memory for its kernels");
      Kernel *last = program->numKernels ? &program->kernels[program->numKernels - 1] : NULL;
      if (!readWide(last, &line))
        return srtCudaExplain(why, SINTER_CORRUPT, "its code has a wide kernel or a tensor map that makes no sense");
      if (!isMap && program->numKernels > 1)
        program->kernels[first].wide = program->numKernels - 1;
      continue;
    }
    int follows = program->numKernels > 0 && strncmp(line, "then ", 5) == 0, loops = strncmp(line, "loop ", 5) == 0;
    if (!next || !(follows || loops || strncmp(line, "kernel ", 7) == 0) ||
        !(space = strchr(name += follows || loops ? 5 : 7, ' ')) || space > next)
      return srtCudaExplain(why, SINTER_CORRUPT, "its code requires a line for each kernel");
    Kernel *kernel = addKernel(program);
    if (!kernel)
      return srtCudaExplain(why, SINTER_OUT_OF_MEMORY, "no memory for its kernels");
    kernel->name = name;
    if (!follows)
      first = program->numKernels - 1;
    kernel->follows = follows;
    kernel->loops = loops;
    char form[8];
    if (sscanf(space, " %7s %4" SCNu32, form, &kernel->threads) != 2 || kernel->threads == 0 ||
        kernel->threads > 1024 || (strcmp(form, "thread") != 0 && strcmp(form, "block") != 0))
      return srtCudaExplain(why, SINTER_CORRUPT, "its code requires 'thread' or 'block' and up to 1024 threads");
    kernel->perBlock = form[0] == 'b';
    *space = 0;
    line = next + 1;
  }
  *ptx = *line ? line + 1 : line;
  return SINTER_OK;
}

/// A part of the code. `isTooNew`, where it is not null, takes the place of an error of a driver that does not know the
/// PTX's version.
static int32_t loadModule(Program *program, const char *part, const char *ptx, CudaModule *module, int *isTooNew,
                          char *why) {
  int32_t status = srtCudaLoadReady(program, part, ptx, module, why);
  if (status || *module)
    return status;
  char log[4096] = "";
  int options[] = {CUDA_JIT_ERROR_LOG, CUDA_JIT_ERROR_LOG_BYTES};
  void *values[] = {log, (void *)(uintptr_t)sizeof log};
  int error = program->driver.moduleLoad(module, ptx, 2, options, values);
  if (!error)
    return SINTER_OK;
  *module = NULL;
  if (isTooNew && error == CUDA_UNSUPPORTED_PTX) {
    *isTooNew = 1;
    return SINTER_OK;
  }
  log[sizeof log - 1] = 0;
  return srtCudaExplain(why, error == CUDA_OUT_OF_MEMORY ? SINTER_OUT_OF_MEMORY : SINTER_UNSUPPORTED,
                        "GPU cuda:%d does not take its code: %s%s%.160s", program->ordinal,
                        srtCudaErrorText(&program->driver, error), *log ? ": " : "", log);
}

/// Of a multiprocessor, where clusters compute chunks; they walk over all of them, however many there are.
#define BLOCKS_AT_ONCE 8

/// As many blocks as multiprocessors, or clusters as these hold of small blocks, with the shared memory that the kernel
/// asks for. An error of the driver.
static int prepareWide(Program *program, Kernel *kernel) {
  int count = 0;
  int error = program->driver.deviceGetAttribute(&count, CUDA_ATTRIBUTE_MULTIPROCESSORS, program->handle);
  kernel->blocks = count > 0 ? (uint32_t)count : 1;
  if (kernel->perCluster)
    kernel->blocks *= BLOCKS_AT_ONCE;
  uint32_t clusters = kernel->blocks / kernel->cluster;
  kernel->blocks = (clusters ? clusters : 1) * kernel->cluster;
  return error ? error
               : program->driver.functionSet(kernel->function, CUDA_FUNCTION_DYNAMIC_SHARED, (int)kernel->sharedBytes);
}

#define WIDE_PTX "\n=== sm_90a\n"

int32_t srtCudaLoadCode(Program *program, char *ptx, char *why) {
  int major = 0, minor = 0;
  program->driver.deviceGetAttribute(&major, CUDA_ATTRIBUTE_MAJOR, program->handle);
  program->driver.deviceGetAttribute(&minor, CUDA_ATTRIBUTE_MINOR, program->handle);
  const char *given = getenv("SINTER_CUDA_WGMMA");
  int isOff = given && strcmp(given, "off") == 0;
  if (given && *given && !isOff && strcmp(given, "on") != 0)
    return srtCudaExplain(why, SINTER_INVALID_ARGUMENT, "SINTER_CUDA_WGMMA requires on or off, got '%.60s'", given);
  int isWide = !isOff && program->driver.hasWide && major == 9 && minor == 0;
  int32_t status = srtCudaTakeCubins(program, ptx, why);
  if (status)
    return status;
  char *widePtx = strstr(ptx, WIDE_PTX);
  if (widePtx) {
    *widePtx = 0;
    widePtx += sizeof WIDE_PTX - 1;
  }
  int isTooNew = 0;
  status = loadModule(program, "all", ptx, &program->module, NULL, why);
  if (!status && widePtx && isWide)
    status = loadModule(program, "wide", widePtx, &program->wideModule, &isTooNew, why);
  if (status)
    return status;
  isWide &= !isTooNew; // the kernels beside them run
  for (int32_t i = 0; i < program->numKernels; ++i) {
    Kernel *kernel = &program->kernels[i];
    if (!isWide)
      kernel->wide = 0;
    if (kernel->isWide && !isWide)
      continue;
    CudaModule module = kernel->isWide && widePtx ? program->wideModule : program->module;
    int error = program->driver.moduleGetFunction(&kernel->function, module, kernel->name);
    if (error)
      return srtCudaExplain(why, SINTER_CORRUPT, "its code has no kernel %.100s", kernel->name);
    if (kernel->isWide && (error = prepareWide(program, kernel)))
      return srtCudaExplain(why, SINTER_UNSUPPORTED, "GPU cuda:%d does not run kernel %.100s: %s", program->ordinal,
                            kernel->name, srtCudaErrorText(&program->driver, error));
  }
  return SINTER_OK;
}

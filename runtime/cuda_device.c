// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The driver of back end "cuda" (driver.h), a library of its own: a module's kernels on one GPU.
//
// One stream runs everything in the order in which the host asked for it, so that launches need no further order and
// memory that was given back may be handed out at once: who gets it is behind who had it. Sessions share the stream and
// the pool of memory.

#include "cuda_driver.h"
#include "driver.h"
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Kernel {
  const char *name;
  CudaFunction function;
  uint32_t threads;
  int32_t perBlock; // a chunk is what a block computes
  int32_t follows;  // runs behind the one before it
} Kernel;

typedef struct Buffer {
  CudaAddress address;
  int64_t bytes;
  const void *session; // null: nobody's
} Buffer;

typedef struct Program {
  sinter_device device; // first: what host code has the address of
  CudaDriver driver;
  int32_t ordinal;
  int handle, hasContext;
  CudaContext context;
  CudaModule module;
  CudaStream stream;
  CudaAddress weights;
  char *code; // with a 0 behind each kernel's name and at the end
  Kernel *kernels;
  int32_t numKernels;
  pthread_mutex_t mutex; // of the pool
  Buffer *buffers;
  int32_t numBuffers, roomForBuffers;
} Program;

#define WORDS_OF_A_LAUNCH 512
#define MESSAGE_BYTES 512

static Program *programOf(const sinter_device *device) { return (Program *)(uintptr_t)device; }

//===- Calls of compiled code ---------------------------------------------------------------------===//

/// Records that `what` failed, with the driver's words, and returns the status.
static int32_t failed(const Program *program, sinter_context *ctx, const char *what, int error) {
  char text[MESSAGE_BYTES];
  snprintf(text, sizeof text, "back end cuda: %s: %s", what, srtCudaErrorText(&program->driver, error));
  return ctx->fail(ctx, error == CUDA_OUT_OF_MEMORY ? SINTER_OUT_OF_MEMORY : SINTER_RUNTIME_ERROR, text, 0, 0);
}

/// Work is done on the program's context, whatever else the thread uses.
static int enter(Program *program) { return program->driver.pushContext(program->context); }
static void leave(Program *program) {
  CudaContext context;
  program->driver.popContext(&context);
}

static void giveUp(Program *program, const void *session) {
  pthread_mutex_lock(&program->mutex);
  for (int32_t i = 0; i < program->numBuffers; ++i)
    if (program->buffers[i].session == session)
      program->buffers[i].session = NULL;
  pthread_mutex_unlock(&program->mutex);
}

static int32_t begin(const sinter_device *device, sinter_context *ctx) {
  Program *program = programOf(device);
  giveUp(program, ctx);
  int error = enter(program);
  if (!error) {
    error = program->driver.streamSynchronize(program->stream);
    leave(program);
  }
  return error ? failed(program, ctx, "a call cannot begin", error) : 0;
}

static void end(const sinter_device *device, sinter_context *ctx) { giveUp(programOf(device), ctx); }

static void freeIdle(Program *program) {
  int32_t kept = 0;
  for (int32_t i = 0; i < program->numBuffers; ++i) {
    if (program->buffers[i].session)
      program->buffers[kept++] = program->buffers[i];
    else
      program->driver.memFree(program->buffers[i].address);
  }
  program->numBuffers = kept;
}

/// The smallest buffer of the pool that is not larger than twice what is needed.
static Buffer *findIdle(Program *program, int64_t bytes) {
  Buffer *best = NULL;
  for (int32_t i = 0; i < program->numBuffers; ++i) {
    Buffer *buffer = &program->buffers[i];
    if (!buffer->session && buffer->bytes >= bytes && buffer->bytes / 2 <= bytes &&
        (!best || buffer->bytes < best->bytes))
      best = buffer;
  }
  return best;
}

static Buffer *addBuffer(Program *program) {
  if (program->numBuffers == program->roomForBuffers) {
    int32_t room = program->roomForBuffers ? 2 * program->roomForBuffers : 16;
    Buffer *buffers = realloc(program->buffers, (size_t)room * sizeof *buffers);
    if (!buffers)
      return NULL;
    program->buffers = buffers;
    program->roomForBuffers = room;
  }
  return &program->buffers[program->numBuffers];
}

/// With the mutex: memory that nobody has, for `session`. Returns an error of the driver.
static int take(Program *program, int64_t bytes, const void *session, CudaAddress *address) {
  Buffer *buffer = findIdle(program, bytes);
  if (!buffer) {
    if (!addBuffer(program))
      return CUDA_OUT_OF_MEMORY;
    int error = program->driver.memAlloc(address, (size_t)bytes);
    if (error == CUDA_OUT_OF_MEMORY) { // what the pool holds may be what is missing
      freeIdle(program);
      error = program->driver.memAlloc(address, (size_t)bytes);
    }
    if (error)
      return error;
    buffer = &program->buffers[program->numBuffers++];
    *buffer = (Buffer){*address, bytes, NULL};
  }
  buffer->session = session;
  *address = buffer->address;
  return 0;
}

/// Memory of at least `bytes` for `session`. Returns an error of the driver.
static int allocate(Program *program, int64_t bytes, const void *session, CudaAddress *address) {
  int64_t rounded;
  if (bytes < 0 || __builtin_add_overflow(bytes, 63, &rounded))
    return CUDA_OUT_OF_MEMORY;
  int error = enter(program);
  if (error)
    return error;
  pthread_mutex_lock(&program->mutex);
  error = take(program, rounded < 64 ? 64 : rounded / 64 * 64, session, address);
  pthread_mutex_unlock(&program->mutex);
  leave(program);
  return error;
}

static void *acquire(const sinter_device *device, sinter_context *ctx, int64_t bytes) {
  Program *program = programOf(device);
  CudaAddress address = 0;
  int error = allocate(program, bytes, ctx, &address);
  if (error) {
    char what[64];
    snprintf(what, sizeof what, "a buffer of %" PRId64 " bytes", bytes);
    failed(program, ctx, what, error);
    return NULL;
  }
  return (void *)(uintptr_t)address;
}

static void release(const sinter_device *device, sinter_context *ctx, void *address) {
  Program *program = programOf(device);
  (void)ctx;
  pthread_mutex_lock(&program->mutex);
  for (int32_t i = 0; i < program->numBuffers; ++i)
    if (program->buffers[i].address == (uintptr_t)address)
      program->buffers[i].session = NULL;
  pthread_mutex_unlock(&program->mutex);
}

static void *weight(const sinter_device *device, sinter_context *ctx, int64_t offset) {
  (void)ctx;
  return (void *)(uintptr_t)(programOf(device)->weights + (uint64_t)offset);
}

static int32_t copy(const sinter_device *device, sinter_context *ctx, void *to, const void *from, int64_t bytes,
                    int32_t direction) {
  Program *program = programOf(device);
  if (bytes == 0)
    return 0;
  CudaDriver *driver = &program->driver;
  CudaStream stream = program->stream;
  int error = enter(program);
  if (!error) {
    if (direction == SINTER_COPY_WITHIN)
      error = driver->copyWithin((uintptr_t)to, (uintptr_t)from, (size_t)bytes, stream);
    else if (direction == SINTER_COPY_TO_DEVICE)
      error = driver->copyToDevice((uintptr_t)to, from, (size_t)bytes, stream);
    else
      error = driver->copyToHost(to, (uintptr_t)from, (size_t)bytes, stream);
    // The host's memory may be pinned: then the driver reads and writes it after the call has returned.
    if (!error && direction != SINTER_COPY_WITHIN)
      error = driver->streamSynchronize(stream);
    leave(program);
  }
  return error ? failed(program, ctx, "a copy", error) : 0;
}

static int32_t clear(const sinter_device *device, sinter_context *ctx, void *to, int64_t bytes) {
  Program *program = programOf(device);
  if (bytes == 0)
    return 0;
  int error = enter(program);
  if (!error) {
    error = program->driver.fill((uintptr_t)to, 0, (size_t)bytes, program->stream);
    leave(program);
  }
  return error ? failed(program, ctx, "zeros", error) : 0;
}

/// Launches one kernel, which walks over all chunks, whatever the grid. Returns an error of the driver.
static int launchOne(Program *program, const Kernel *kernel, int64_t chunks, void **parameters) {
  uint32_t threads = kernel->threads;
  int64_t blocks = chunks;
  if (!kernel->perBlock) {
    if (chunks < threads)
      threads = (uint32_t)(chunks + 31) / 32 * 32;
    blocks = (chunks - 1) / threads + 1;
  }
  if (blocks > INT32_MAX)
    blocks = INT32_MAX;
  return program->driver.launch(kernel->function, (uint32_t)blocks, 1, 1, threads, 1, 1, 0, program->stream, parameters,
                                NULL);
}

static int32_t launch(const sinter_device *device, sinter_context *ctx, const char *name, const int64_t *words,
                      const uint8_t *roles, int64_t numWords, int64_t chunks, int32_t ordered) {
  Program *program = programOf(device);
  (void)roles, (void)ordered; // one stream orders all
  if (chunks <= 0)
    return 0;
  const Kernel *kernel = program->kernels, *end = kernel + program->numKernels;
  while (kernel < end && strcmp(kernel->name, name))
    ++kernel;
  if (kernel == end || numWords >= WORDS_OF_A_LAUNCH)
    return ctx->fail(ctx, SINTER_RUNTIME_ERROR, "back end cuda has no such kernel of {} words", numWords, 0);
  void *parameters[WORDS_OF_A_LAUNCH];
  for (int64_t i = 0; i < numWords; ++i)
    parameters[i] = (void *)(uintptr_t)&words[i];
  parameters[numWords] = &chunks;
  int error = enter(program);
  if (!error) {
    do
      error = launchOne(program, kernel, chunks, parameters);
    while (!error && ++kernel < end && kernel->follows);
    leave(program);
  }
  return error ? failed(program, ctx, name, error) : 0;
}

static int32_t waitFor(const sinter_device *device, sinter_context *ctx, void *buffer) {
  Program *program = programOf(device);
  (void)buffer;
  int error = enter(program);
  if (!error) {
    error = program->driver.streamSynchronize(program->stream);
    leave(program);
  }
  return error ? failed(program, ctx, "a kernel", error) : 0;
}

//===- States -------------------------------------------------------------------------------------===//

/// The program itself stands for the session, so that no call gives the memory up.
static void *keep(const sinter_device *device, int64_t bytes) {
  Program *program = programOf(device);
  CudaAddress address = 0;
  return allocate(program, bytes, program, &address) ? NULL : (void *)(uintptr_t)address;
}

static void discard(const sinter_device *device, void *buffer) { release(device, NULL, buffer); }

static int32_t transfer(const sinter_device *device, void *to, const void *from, int64_t bytes, int32_t direction) {
  Program *program = programOf(device);
  if (bytes == 0)
    return SINTER_OK;
  int error = enter(program);
  if (error)
    return SINTER_RUNTIME_ERROR;
  error = direction == SINTER_COPY_TO_DEVICE
              ? program->driver.copyToDevice((uintptr_t)to, from, (size_t)bytes, program->stream)
              : program->driver.copyToHost(to, (uintptr_t)from, (size_t)bytes, program->stream);
  if (!error)
    error = program->driver.streamSynchronize(program->stream);
  leave(program);
  return error ? SINTER_RUNTIME_ERROR : SINTER_OK;
}

//===- Loading ------------------------------------------------------------------------------------===//

/// Writes the reason and returns the status.
__attribute__((format(printf, 3, 4))) static int32_t explain(char *why, int32_t status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(why, SINTER_DRIVER_TEXT_BYTES, format, arguments);
  va_end(arguments);
  return status;
}

/// Reads the lines before the PTX, which `*ptx` then is.
static int32_t readKernels(Program *program, const char **ptx, char *why) {
  char *line = program->code;
  while (*line && *line != '\n') {
    char *next = strchr(line, '\n'), *name = line, *space;
    int follows = program->numKernels > 0 && strncmp(line, "then ", 5) == 0;
    if (!next || !(follows || strncmp(line, "kernel ", 7) == 0) || !(space = strchr(name += follows ? 5 : 7, ' ')) ||
        space > next)
      return explain(why, SINTER_CORRUPT, "its code requires a line for each kernel");
    Kernel *kernels = realloc(program->kernels, (size_t)(program->numKernels + 1) * sizeof *kernels);
    if (!kernels)
      return explain(why, SINTER_OUT_OF_MEMORY, "no memory for its kernels");
    program->kernels = kernels;
    Kernel *kernel = &kernels[program->numKernels++];
    memset(kernel, 0, sizeof *kernel);
    kernel->name = name;
    kernel->follows = follows;
    char form[8];
    if (sscanf(space, " %7s %4" SCNu32, form, &kernel->threads) != 2 || kernel->threads == 0 ||
        kernel->threads > 1024 || (strcmp(form, "thread") != 0 && strcmp(form, "block") != 0))
      return explain(why, SINTER_CORRUPT, "its code requires 'thread' or 'block' and up to 1024 threads");
    kernel->perBlock = form[0] == 'b';
    *space = 0;
    line = next + 1;
  }
  *ptx = *line ? line + 1 : line;
  return SINTER_OK;
}

static int32_t loadCode(Program *program, const char *ptx, char *why) {
  char log[4096] = "";
  int options[] = {CUDA_JIT_ERROR_LOG, CUDA_JIT_ERROR_LOG_BYTES};
  void *values[] = {log, (void *)(uintptr_t)sizeof log};
  int error = program->driver.moduleLoad(&program->module, ptx, 2, options, values);
  if (error) {
    program->module = NULL;
    log[sizeof log - 1] = 0;
    return explain(why, error == CUDA_OUT_OF_MEMORY ? SINTER_OUT_OF_MEMORY : SINTER_UNSUPPORTED,
                   "GPU cuda:%d does not take its code: %s%s%.160s", program->ordinal,
                   srtCudaErrorText(&program->driver, error), *log ? ": " : "", log);
  }
  for (int32_t i = 0; i < program->numKernels; ++i) {
    Kernel *kernel = &program->kernels[i];
    error = program->driver.moduleGetFunction(&kernel->function, program->module, kernel->name);
    if (error)
      return explain(why, SINTER_CORRUPT, "its code has no kernel %.100s", kernel->name);
  }
  return SINTER_OK;
}

static int32_t loadWeights(Program *program, const void *weights, int64_t bytes, char *why) {
  CudaDriver *driver = &program->driver;
  int error = driver->memAlloc(&program->weights, bytes ? (size_t)bytes : 64); // empty constants have an address, too
  if (error)
    program->weights = 0;
  else if (bytes)
    error = driver->copyToDevice(program->weights, weights, (size_t)bytes, program->stream);
  if (!error)
    error = driver->streamSynchronize(program->stream);
  if (error)
    return explain(why, error == CUDA_OUT_OF_MEMORY ? SINTER_OUT_OF_MEMORY : SINTER_RUNTIME_ERROR,
                   "%" PRId64 " bytes of weights on GPU cuda:%d: %s", bytes, program->ordinal,
                   srtCudaErrorText(driver, error));
  return SINTER_OK;
}

static int32_t start(Program *program, char *why) {
  CudaDriver *driver = &program->driver;
  int32_t status = srtCudaDriverOpen(driver, why);
  if (!status)
    status = srtCudaFindDevice(driver, &program->ordinal, &program->handle, why);
  if (status)
    return status;
  int error = driver->primaryRetain(&program->context, program->handle);
  if (error)
    return explain(why, SINTER_UNSUPPORTED, "GPU cuda:%d has no context: %s", program->ordinal,
                   srtCudaErrorText(driver, error));
  program->hasContext = 1;
  error = enter(program);
  if (!error) {
    error = driver->streamCreate(&program->stream, 0);
    leave(program);
  }
  return error ? explain(why, SINTER_UNSUPPORTED, "GPU cuda:%d has no stream: %s", program->ordinal,
                         srtCudaErrorText(driver, error))
               : SINTER_OK;
}

static void unload(const sinter_driver *driver, const sinter_device *device) {
  (void)driver;
  Program *program = programOf(device);
  CudaDriver *cuda = &program->driver;
  if (program->hasContext) {
    if (enter(program) == 0) {
      if (program->stream) {
        cuda->streamSynchronize(program->stream);
        cuda->streamDestroy(program->stream);
      }
      for (int32_t i = 0; i < program->numBuffers; ++i)
        cuda->memFree(program->buffers[i].address);
      if (program->weights)
        cuda->memFree(program->weights);
      if (program->module)
        cuda->moduleUnload(program->module);
      leave(program);
    }
    cuda->primaryRelease(program->handle);
  }
  srtCudaDriverClose(cuda);
  pthread_mutex_destroy(&program->mutex);
  free(program->buffers);
  free(program->kernels);
  free(program->code);
  free(program);
}

static int32_t load(const sinter_driver *driver, const sinter_device_code *code, const sinter_device **device,
                    char *why) {
  Program *program = calloc(1, sizeof *program);
  char *copied = malloc((size_t)code->bytes + 1);
  if (!program || !copied) {
    free(program);
    free(copied);
    return explain(why, SINTER_OUT_OF_MEMORY, "no memory for its code");
  }
  memcpy(copied, code->payload, (size_t)code->bytes);
  copied[code->bytes] = 0;
  program->code = copied;
  pthread_mutex_init(&program->mutex, NULL);
  program->device = (sinter_device){SINTER_DEVICE_VERSION,
                                    sizeof(sinter_device),
                                    begin,
                                    acquire,
                                    release,
                                    weight,
                                    copy,
                                    clear,
                                    launch,
                                    waitFor,
                                    end,
                                    keep,
                                    discard,
                                    transfer};
  const char *ptx = NULL;
  int32_t status = readKernels(program, &ptx, why);
  if (!status)
    status = start(program, why);
  if (!status && enter(program) == 0) {
    status = loadCode(program, ptx, why);
    if (!status)
      status = loadWeights(program, code->weights, code->weight_bytes, why);
    leave(program);
  }
  if (status)
    unload(driver, &program->device);
  else
    *device = &program->device;
  return status;
}

/// `requirements`: "sm_80", which newer generations have as well.
static int32_t runs(const sinter_driver *driver, const char *requirements, char *why) {
  (void)driver;
  CudaDriver cuda;
  int32_t ordinal, device, major = 0, minor = 0, required = 0;
  if (sscanf(requirements, "sm_%d", &required) != 1) {
    explain(why, 0, "it requires a generation of GPUs that this driver does not know");
    return 0;
  }
  if (srtCudaDriverOpen(&cuda, why))
    return 0;
  int32_t status = srtCudaFindDevice(&cuda, &ordinal, &device, why);
  if (!status) {
    cuda.deviceGetAttribute(&major, CUDA_ATTRIBUTE_MAJOR, device);
    cuda.deviceGetAttribute(&minor, CUDA_ATTRIBUTE_MINOR, device);
    if (10 * major + minor < required)
      status = explain(why, 1, "GPU cuda:%d is of generation sm_%d", ordinal, 10 * major + minor);
  }
  srtCudaDriverClose(&cuda);
  return status == 0;
}

__attribute__((visibility("default"))) extern const sinter_driver sinter_driver_cuda;
const sinter_driver sinter_driver_cuda = {
    SINTER_DRIVER_VERSION, sizeof(sinter_driver), "cuda", NULL, runs, load, unload};

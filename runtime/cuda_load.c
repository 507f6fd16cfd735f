// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The driver of back end "cuda" (driver.h), a library of its own: loads a module's kernels and weights on one GPU
// (cuda_device.h).
//
// SINTER_CUDA_GRAPHS of the environment: `off` has every call made at once, without graphs, and the host asked in each
// trip of a loop; `launches` has graphs, but the host asked. Results have the same bits.

#include "cuda_control.h"
#include "cuda_device.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int srtCudaEnter(Program *program) { return program->driver.pushContext(program->context); }
void srtCudaLeave(Program *program) {
  CudaContext context;
  program->driver.popContext(&context);
}

/// Graphs where the driver has them, and loops in them where it has these.
static int32_t startGraphs(Program *program, char *why) {
  CudaDriver *driver = &program->driver;
  const char *given = getenv("SINTER_CUDA_GRAPHS");
  int isOff = given && strcmp(given, "off") == 0, isLaunches = given && strcmp(given, "launches") == 0;
  if (given && *given && !isOff && !isLaunches && strcmp(given, "on") != 0)
    return srtCudaExplain(why, SINTER_INVALID_ARGUMENT, "SINTER_CUDA_GRAPHS requires on, launches or off, got '%.60s'",
                          given);
  program->usesGraphs = driver->hasGraphs && !isOff;
  if (!program->usesGraphs || !driver->hasControl || isLaunches)
    return SINTER_OK;
  // A driver that has the functions and does not take the module is one whose GPU has no such nodes.
  if (driver->moduleLoad(&program->control, SINTER_CUDA_CONTROL_PTX, 0, NULL, NULL))
    program->control = NULL;
  else
    program->usesControl = driver->moduleGetFunction(&program->loopKernel, program->control, "sinter_loop") == 0 &&
                           driver->moduleGetFunction(&program->branchKernel, program->control, "sinter_branch") == 0;
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
    return srtCudaExplain(why, error == CUDA_OUT_OF_MEMORY ? SINTER_OUT_OF_MEMORY : SINTER_RUNTIME_ERROR,
                          "%" PRId64 " bytes of weights on GPU cuda:%d: %s", bytes, program->ordinal,
                          srtCudaErrorText(driver, error));
  return SINTER_OK;
}

/// A stream of our own, unless the program gave one.
static int32_t startStream(Program *program, char *why) {
  int error = srtCudaEnter(program);
  if (!error) {
    if (program->stream) // which waits for nothing long, and tells what is no stream of this context
      error = program->driver.streamSynchronize(program->stream);
    else if ((error = program->driver.streamCreate(&program->stream, 0)) == 0)
      program->hasStream = 1;
    srtCudaLeave(program);
  }
  return error ? srtCudaExplain(why, SINTER_UNSUPPORTED, "GPU cuda:%d has no stream: %s", program->ordinal,
                                srtCudaErrorText(&program->driver, error))
               : SINTER_OK;
}

static int32_t start(Program *program, const sinter_device_choice *choice, char *why) {
  CudaDriver *driver = &program->driver;
  int32_t status = srtCudaDriverOpen(driver, why);
  if (!status)
    status = srtCudaFindDevice(driver, choice, &program->ordinal, &program->handle, why);
  if (status)
    return status;
  if (choice)
    program->stream = choice->stream;
  if (choice && choice->context) {
    program->context = choice->context;
    return startStream(program, why);
  }
  int error = driver->primaryRetain(&program->context, program->handle);
  if (error)
    return srtCudaExplain(why, SINTER_UNSUPPORTED, "GPU cuda:%d has no context: %s", program->ordinal,
                          srtCudaErrorText(driver, error));
  program->hasContext = 1;
  return startStream(program, why);
}

static void unload(const sinter_driver *driver, const sinter_device *device) {
  (void)driver;
  Program *program = (Program *)(uintptr_t)device;
  CudaDriver *cuda = &program->driver;
  if (program->context) {
    if (srtCudaEnter(program) == 0) {
      if (program->stream)
        cuda->streamSynchronize(program->stream);
      if (program->hasStream)
        cuda->streamDestroy(program->stream);
      for (int32_t i = 0; i < program->numBuffers; ++i)
        cuda->memFree(program->buffers[i]->address);
      if (program->weights)
        cuda->memFree(program->weights);
      if (program->module)
        cuda->moduleUnload(program->module);
      if (program->wideModule)
        cuda->moduleUnload(program->wideModule);
      if (program->control)
        cuda->moduleUnload(program->control);
      srtCudaLeave(program);
    }
    if (program->hasContext)
      cuda->primaryRelease(program->handle);
  }
  srtCudaDriverClose(cuda);
  pthread_mutex_destroy(&program->mutex);
  for (int32_t i = 0; i < program->numBuffers; ++i)
    free(program->buffers[i]);
  free(program->buffers);
  free(program->kernels);
  free(program->code);
  free(program);
}

static int32_t load(const sinter_driver *driver, const sinter_device_code *code, const sinter_device **device,
                    char *why) {
  static uint64_t numPrograms;
  Program *program = calloc(1, sizeof *program);
  char *copied = malloc((size_t)code->bytes + 1);
  if (!program || !copied) {
    free(program);
    free(copied);
    return srtCudaExplain(why, SINTER_OUT_OF_MEMORY, "no memory for its code");
  }
  memcpy(copied, code->payload, (size_t)code->bytes);
  copied[code->bytes] = 0;
  program->code = copied;
  program->codeBytes = code->bytes;
  program->id = __atomic_add_fetch(&numPrograms, 1, __ATOMIC_RELAXED);
  pthread_mutex_init(&program->mutex, NULL);
  srtCudaFillDevice(&program->device);
  char *ptx = NULL;
  int32_t status = srtCudaReadKernels(program, &ptx, why);
  if (!status)
    status = start(program, code->choice, why);
  int error = status ? 0 : srtCudaEnter(program);
  if (error) {
    status = srtCudaExplain(why, SINTER_RUNTIME_ERROR, "GPU cuda:%d: %s", program->ordinal,
                            srtCudaErrorText(&program->driver, error));
  } else if (!status) {
    status = srtCudaLoadCode(program, ptx, why);
    if (!status)
      status = startGraphs(program, why);
    if (!status)
      status = loadWeights(program, code->weights, code->weight_bytes, why);
    srtCudaLeave(program);
  }
  program->device.stream = program->stream;
  program->device.type = 2; // DLPack's kDLCUDA
  program->device.number = program->ordinal;
  if (status)
    unload(driver, &program->device);
  else
    *device = &program->device;
  return status;
}

/// `requirements`: "sm_80", which newer generations have as well, or "sm_90a", which none has.
static int32_t runsOn(const sinter_driver *driver, const sinter_device_choice *choice, const char *requirements,
                      char *why) {
  (void)driver;
  CudaDriver cuda;
  int32_t ordinal, device, major = 0, minor = 0, required = 0;
  char exact = 0;
  if (sscanf(requirements, "sm_%d%c", &required, &exact) < 1) {
    srtCudaExplain(why, 0, "it requires a generation of GPUs that this driver does not know");
    return 0;
  }
  if (srtCudaDriverOpen(&cuda, why))
    return 0;
  int32_t status = srtCudaFindDevice(&cuda, choice, &ordinal, &device, why);
  if (!status) {
    cuda.deviceGetAttribute(&major, CUDA_ATTRIBUTE_MAJOR, device);
    cuda.deviceGetAttribute(&minor, CUDA_ATTRIBUTE_MINOR, device);
    int32_t have = 10 * major + minor;
    if (have < required || (exact == 'a' && have != required))
      status = srtCudaExplain(why, 1, "GPU cuda:%d is of generation sm_%d", ordinal, have);
  }
  srtCudaDriverClose(&cuda);
  return status == 0;
}

static int32_t runs(const sinter_driver *driver, const char *requirements, char *why) {
  return runsOn(driver, NULL, requirements, why);
}

__attribute__((visibility("default"))) extern const sinter_driver sinter_driver_cuda;
const sinter_driver sinter_driver_cuda = {
    SINTER_DRIVER_VERSION, sizeof(sinter_driver), "cuda", NULL, runs, load, unload, runsOn, srtCudaDescribe};

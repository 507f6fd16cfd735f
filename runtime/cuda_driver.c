// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "cuda_driver.h"
#include "driver.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *srtCudaErrorText(const CudaDriver *driver, int error) {
  const char *text = NULL;
  return driver->getErrorString(error, &text) == 0 && text ? text : "unknown error";
}

int32_t srtCudaDriverOpen(CudaDriver *driver, char *why) {
  memset(driver, 0, sizeof *driver);
  const char *path = getenv("SINTER_CUDA_DRIVER");
  if (!path || !*path)
    path = "libcuda.so.1";
  driver->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!driver->library) {
    snprintf(why, SINTER_DRIVER_TEXT_BYTES, "it requires the NVIDIA driver: %s", dlerror());
    return SINTER_UNSUPPORTED;
  }
#define CUDA_FIND(field, name, parameters)                                                                             \
  *(void **)&driver->field = dlsym(driver->library, #name);                                                            \
  if (!driver->field) {                                                                                                \
    snprintf(why, SINTER_DRIVER_TEXT_BYTES, "it requires an NVIDIA driver with %s, which %.100s has not", #name,       \
             path);                                                                                                    \
    srtCudaDriverClose(driver);                                                                                        \
    return SINTER_UNSUPPORTED;                                                                                         \
  }
  CUDA_FUNCTIONS(CUDA_FIND)
#undef CUDA_FIND
  driver->hasGraphs = 1;
#define CUDA_FIND_GRAPHS(field, name, parameters)                                                                      \
  *(void **)&driver->field = dlsym(driver->library, #name);                                                            \
  driver->hasGraphs &= driver->field != NULL;
  CUDA_GRAPH_FUNCTIONS(CUDA_FIND_GRAPHS)
#undef CUDA_FIND_GRAPHS
  driver->hasControl = driver->hasGraphs;
#define CUDA_FIND_CONTROL(field, name, parameters)                                                                     \
  *(void **)&driver->field = dlsym(driver->library, #name);                                                            \
  driver->hasControl &= driver->field != NULL;
  CUDA_CONTROL_FUNCTIONS(CUDA_FIND_CONTROL)
#undef CUDA_FIND_CONTROL
  driver->hasWide = 1;
#define CUDA_FIND_WIDE(field, name, parameters)                                                                        \
  *(void **)&driver->field = dlsym(driver->library, #name);                                                            \
  driver->hasWide &= driver->field != NULL;
  CUDA_WIDE_FUNCTIONS(CUDA_FIND_WIDE)
#undef CUDA_FIND_WIDE
  int error = driver->init(0);
  if (!error)
    return SINTER_OK;
  snprintf(why, SINTER_DRIVER_TEXT_BYTES, "the NVIDIA driver does not start: %.100s", srtCudaErrorText(driver, error));
  srtCudaDriverClose(driver);
  return SINTER_UNSUPPORTED;
}

void srtCudaDriverClose(CudaDriver *driver) {
  if (driver->library)
    dlclose(driver->library);
  driver->library = NULL;
}

int32_t srtCudaFindDevice(const CudaDriver *driver, int32_t *ordinal, int *device, char *why) {
  const char *given = getenv("SINTER_CUDA_DEVICE");
  char *end = NULL;
  long number = given && *given ? strtol(given, &end, 10) : 0;
  int count = 0, error = driver->deviceGetCount(&count);
  if (error || (end && *end) || number < 0 || number >= count) {
    snprintf(why, SINTER_DRIVER_TEXT_BYTES, "it requires GPU number %.20s of %d", given ? given : "0", count);
    return SINTER_UNSUPPORTED;
  }
  *ordinal = (int32_t)number;
  error = driver->deviceGet(device, *ordinal);
  if (!error)
    return SINTER_OK;
  snprintf(why, SINTER_DRIVER_TEXT_BYTES, "GPU cuda:%d: %.100s", *ordinal, srtCudaErrorText(driver, error));
  return SINTER_UNSUPPORTED;
}

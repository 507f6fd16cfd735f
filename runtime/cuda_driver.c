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
  driver->hasEvents = 1;
#define CUDA_FIND_EVENT(field, name, parameters)                                                                       \
  *(void **)&driver->field = dlsym(driver->library, #name);                                                            \
  driver->hasEvents &= driver->field != NULL;
  CUDA_EVENT_FUNCTIONS(CUDA_FIND_EVENT)
#undef CUDA_FIND_EVENT
  driver->hasLinks = 1;
#define CUDA_FIND_LINK(field, name, parameters)                                                                        \
  *(void **)&driver->field = dlsym(driver->library, #name);                                                            \
  driver->hasLinks &= driver->field != NULL;
  CUDA_LINK_FUNCTIONS(CUDA_FIND_LINK)
#undef CUDA_FIND_LINK
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

/// The number of the device that a context of the program is of; negative for none.
static long numberOfContext(const CudaDriver *driver, CudaContext context, int count) {
  int its = -1, device = 0;
  CudaContext popped;
  if (driver->pushContext(context) == 0) {
    if (driver->contextDevice(&its))
      its = -1;
    driver->popContext(&popped);
  }
  for (int number = 0; its >= 0 && number < count; ++number)
    if (driver->deviceGet(&device, number) == 0 && device == its)
      return number;
  return -1;
}

int32_t srtCudaFindDevice(const CudaDriver *driver, const sinter_device_choice *choice, int32_t *ordinal, int *device,
                          char *why) {
  const char *given = choice && (choice->number || choice->context) ? NULL : getenv("SINTER_CUDA_DEVICE");
  char *end = NULL;
  long number = given && *given ? strtol(given, &end, 10) : choice && choice->number ? choice->number - 1 : 0;
  int count = 0, error = driver->deviceGetCount(&count);
  if (!error && choice && choice->context) {
    long its = numberOfContext(driver, choice->context, count);
    if (its < 0 || (choice->number && its != number)) {
      snprintf(why, SINTER_DRIVER_TEXT_BYTES,
               its < 0 ? "the context that is given is not one of the NVIDIA driver"
                       : "the context that is given is one of GPU cuda:%ld, asked for is cuda:%ld",
               its, number);
      return SINTER_INVALID_ARGUMENT;
    }
    number = its;
  }
  if (error || (end && *end) || number < 0 || number >= count) {
    if (given)
      snprintf(why, SINTER_DRIVER_TEXT_BYTES, "it requires GPU number %.20s of %d", given, count);
    else
      snprintf(why, SINTER_DRIVER_TEXT_BYTES, "it requires GPU number %ld of %d", number, count);
    return SINTER_UNSUPPORTED;
  }
  *ordinal = (int32_t)number;
  error = driver->deviceGet(device, *ordinal);
  if (!error)
    return SINTER_OK;
  snprintf(why, SINTER_DRIVER_TEXT_BYTES, "GPU cuda:%d: %.100s", *ordinal, srtCudaErrorText(driver, error));
  return SINTER_UNSUPPORTED;
}

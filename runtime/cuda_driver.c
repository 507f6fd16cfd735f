// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "cuda_driver.h"
#include "cuda_device.h"
#include "status.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *srtCudaErrorText(const CudaDriver *driver, int error) {
  const char *text = NULL;
  return driver->getErrorString(error, &text) == 0 && text ? text : "unknown error";
}

int32_t srtCudaDriverOpen(CudaDriver *driver, const char *path) {
  memset(driver, 0, sizeof *driver);
  if (!path)
    path = getenv("SINTER_CUDA_DRIVER");
  if (!path || !*path)
    path = "libcuda.so.1";
  driver->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!driver->library)
    return srtError(SINTER_UNSUPPORTED, "back end cuda requires the NVIDIA driver, got %s", dlerror());
#define CUDA_FIND(field, name, parameters)                                                                             \
  *(void **)&driver->field = dlsym(driver->library, #name);                                                            \
  if (!driver->field) {                                                                                                \
    srtCudaDriverClose(driver);                                                                                        \
    return srtError(SINTER_UNSUPPORTED, "back end cuda requires a driver with %s, got %s without it", #name, path);    \
  }
  CUDA_FUNCTIONS(CUDA_FIND)
#undef CUDA_FIND
  int error = driver->init(0);
  if (error) {
    int32_t status = srtError(SINTER_UNSUPPORTED, "back end cuda cannot start the NVIDIA driver: %s",
                              srtCudaErrorText(driver, error));
    srtCudaDriverClose(driver);
    return status;
  }
  return SINTER_OK;
}

void srtCudaDriverClose(CudaDriver *driver) {
  if (driver->library)
    dlclose(driver->library);
  driver->library = NULL;
}

int32_t srtCudaFindDevice(const CudaDriver *driver, int32_t ordinal, int *device) {
  int count = 0, error = driver->deviceGetCount(&count);
  if (error || ordinal < 0 || ordinal >= count)
    return srtError(SINTER_UNSUPPORTED, "requires GPU cuda:%d, got %d of them", ordinal, count);
  error = driver->deviceGet(device, ordinal);
  return error ? srtError(SINTER_UNSUPPORTED, "GPU cuda:%d: %s", ordinal, srtCudaErrorText(driver, error)) : SINTER_OK;
}

static void describe(const CudaDriver *driver, int device, CudaDescription *description) {
  memset(description, 0, sizeof *description);
  driver->deviceGetName(description->name, sizeof description->name, device);
  driver->deviceGetAttribute(&description->major, CUDA_ATTRIBUTE_MAJOR, device);
  driver->deviceGetAttribute(&description->minor, CUDA_ATTRIBUTE_MINOR, device);
  driver->deviceGetAttribute(&description->multiprocessors, CUDA_ATTRIBUTE_MULTIPROCESSORS, device);
  driver->deviceGetAttribute(&description->shared_bytes, CUDA_ATTRIBUTE_SHARED_OPTIN, device);
  size_t bytes = 0;
  driver->deviceTotalMem(&bytes, device);
  description->memory_bytes = (int64_t)bytes;
}

int32_t srtCudaDescribe(const CudaOptions *options, CudaDescription *description) {
  CudaDriver driver;
  int32_t status = srtCudaDriverOpen(&driver, options ? options->driver : NULL);
  if (status)
    return status;
  int device;
  status = srtCudaFindDevice(&driver, options ? options->ordinal : 0, &device);
  if (!status)
    describe(&driver, device, description);
  srtCudaDriverClose(&driver);
  return status;
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of the CUDA driver that the runtime calls, found by name at run time. Types and numbers are those of
// the driver's documented interface (CUDA Driver API, 64 bits).

#ifndef SINTER_RUNTIME_CUDA_DRIVER_H
#define SINTER_RUNTIME_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef uint64_t CudaAddress;
typedef struct CudaContext_ *CudaContext;
typedef struct CudaModule_ *CudaModule;
typedef struct CudaFunction_ *CudaFunction;
typedef struct CudaStream_ *CudaStream;

enum {
  CUDA_OUT_OF_MEMORY = 2,
  CUDA_NO_DEVICE = 100,
  CUDA_ATTRIBUTE_MULTIPROCESSORS = 16,
  CUDA_ATTRIBUTE_MAJOR = 75,
  CUDA_ATTRIBUTE_MINOR = 76,
  CUDA_ATTRIBUTE_SHARED_OPTIN = 97,
  CUDA_JIT_ERROR_LOG = 5,
  CUDA_JIT_ERROR_LOG_BYTES = 6
};

/// X(field, name in the library, parameters); all return 0 or an error's number.
#define CUDA_FUNCTIONS(X)                                                                                              \
  X(init, cuInit, (unsigned flags))                                                                                    \
  X(getErrorString, cuGetErrorString, (int error, const char **text))                                                  \
  X(deviceGetCount, cuDeviceGetCount, (int *count))                                                                    \
  X(deviceGet, cuDeviceGet, (int *device, int ordinal))                                                                \
  X(deviceGetName, cuDeviceGetName, (char *name, int bytes, int device))                                               \
  X(deviceGetAttribute, cuDeviceGetAttribute, (int *value, int attribute, int device))                                 \
  X(deviceTotalMem, cuDeviceTotalMem_v2, (size_t *bytes, int device))                                                  \
  X(primaryRetain, cuDevicePrimaryCtxRetain, (CudaContext * context, int device))                                      \
  X(primaryRelease, cuDevicePrimaryCtxRelease_v2, (int device))                                                        \
  X(pushContext, cuCtxPushCurrent_v2, (CudaContext context))                                                           \
  X(popContext, cuCtxPopCurrent_v2, (CudaContext * context))                                                           \
  X(moduleLoad, cuModuleLoadDataEx,                                                                                    \
    (CudaModule * module, const void *image, unsigned count, int *options, void **values))                             \
  X(moduleUnload, cuModuleUnload, (CudaModule module))                                                                 \
  X(moduleGetFunction, cuModuleGetFunction, (CudaFunction * function, CudaModule module, const char *name))            \
  X(memAlloc, cuMemAlloc_v2, (CudaAddress * address, size_t bytes))                                                    \
  X(memFree, cuMemFree_v2, (CudaAddress address))                                                                      \
  X(copyToDevice, cuMemcpyHtoDAsync_v2, (CudaAddress to, const void *from, size_t bytes, CudaStream stream))           \
  X(copyToHost, cuMemcpyDtoHAsync_v2, (void *to, CudaAddress from, size_t bytes, CudaStream stream))                   \
  X(copyWithin, cuMemcpyDtoDAsync_v2, (CudaAddress to, CudaAddress from, size_t bytes, CudaStream stream))             \
  X(fill, cuMemsetD8Async, (CudaAddress to, unsigned char value, size_t bytes, CudaStream stream))                     \
  X(streamCreate, cuStreamCreate, (CudaStream * stream, unsigned flags))                                               \
  X(streamDestroy, cuStreamDestroy_v2, (CudaStream stream))                                                            \
  X(streamSynchronize, cuStreamSynchronize, (CudaStream stream))                                                       \
  X(launch, cuLaunchKernel,                                                                                            \
    (CudaFunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,          \
     unsigned blockZ, unsigned sharedBytes, CudaStream stream, void **parameters, void **extra))

typedef struct CudaDriver {
  void *library;
#define CUDA_FIELD(field, name, parameters) int(*field) parameters;
  CUDA_FUNCTIONS(CUDA_FIELD)
#undef CUDA_FIELD
} CudaDriver;

/// Opens what SINTER_CUDA_DRIVER of the environment names, else libcuda.so.1, and starts it. Returns a status, with the
/// reason in `why` (SINTER_DRIVER_TEXT_BYTES).
int32_t srtCudaDriverOpen(CudaDriver *driver, char *why);
void srtCudaDriverClose(CudaDriver *driver);
/// The GPU that SINTER_CUDA_DEVICE of the environment names by its number, else the first. Returns a status as above.
int32_t srtCudaFindDevice(const CudaDriver *driver, int32_t *ordinal, int *device, char *why);
/// The driver's words for an error.
const char *srtCudaErrorText(const CudaDriver *driver, int error);

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of back end "cuda" on an NVIDIA GPU. The driver is opened at run time: nothing of CUDA is needed to build or
// to link, and a machine without a GPU gets a message.

#ifndef SINTER_RUNTIME_CUDA_DEVICE_H
#define SINTER_RUNTIME_CUDA_DEVICE_H

#include "device.h"
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct CudaOptions {
  /// Path of the driver's library; null: that of the environment's SINTER_CUDA_DRIVER, else libcuda.so.1.
  const char *driver;
  int32_t ordinal; // which GPU
} CudaOptions;

/// Loads the code of a module (backends/cuda/CudaBackend.h says what it looks like) and its weights to a GPU. `*device`
/// is what compiled host code calls, on one thread at a time; `srtCudaClose` ends it. `options` may be null. Returns a
/// status with the message set.
int32_t srtCudaOpen(const char *code, size_t code_bytes, const void *weights, int64_t weights_bytes,
                    const CudaOptions *options, const sinter_device **device);
void srtCudaClose(const sinter_device *device);

/// What is known of a GPU.
typedef struct CudaDescription {
  char name[128];
  int32_t major, minor; // compute capability
  int32_t multiprocessors;
  int32_t shared_bytes; // that a block may use
  int64_t memory_bytes;
} CudaDescription;

/// Describes GPU `options->ordinal`. Returns a status with the message set.
int32_t srtCudaDescribe(const CudaOptions *options, CudaDescription *description);

#ifdef __cplusplus
}
#endif

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What there is for people who look (sinter doctor): the driver and its GPUs.

#include "cuda_device.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define LEAST_GENERATION 80

/// Text that grows up to the end of a buffer.
typedef struct Text {
  char *at, *end;
} Text;

__attribute__((format(printf, 2, 3))) static void say(Text *text, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text->at, (size_t)(text->end - text->at), format, arguments);
  va_end(arguments);
  if (length > 0)
    text->at = length < text->end - text->at ? text->at + length : text->end - 1;
}

static const char *yesOrNo(int is) { return is ? "yes" : "no"; }

static void describeDriver(const CudaDriver *cuda, Text *text) {
  const char *path = getenv("SINTER_CUDA_DRIVER");
  int version = 0;
  say(text, "driver %s", path && *path ? path : "libcuda.so.1");
  if (cuda->hasLinks && cuda->driverVersion(&version) == 0)
    say(text, " for CUDA %d.%d", version / 1000, version % 1000 / 10);
  say(text, ", graphs %s, loops and branches in them %s, tensor maps %s\n", yesOrNo(cuda->hasGraphs),
      yesOrNo(cuda->hasControl), yesOrNo(cuda->hasWide));
}

static void describeDevice(const CudaDriver *cuda, int number, Text *text) {
  int device = 0, major = 0, minor = 0, multiprocessors = 0, shared = 0;
  char name[128] = "";
  size_t bytes = 0;
  int error = cuda->deviceGet(&device, number);
  if (!error)
    error = cuda->deviceGetName(name, sizeof name, device);
  if (!error)
    error = cuda->deviceTotalMem(&bytes, device);
  if (error) {
    say(text, "cuda:%d: %s\n", number, srtCudaErrorText(cuda, error));
    return;
  }
  cuda->deviceGetAttribute(&major, CUDA_ATTRIBUTE_MAJOR, device);
  cuda->deviceGetAttribute(&minor, CUDA_ATTRIBUTE_MINOR, device);
  cuda->deviceGetAttribute(&multiprocessors, CUDA_ATTRIBUTE_MULTIPROCESSORS, device);
  cuda->deviceGetAttribute(&shared, CUDA_ATTRIBUTE_SHARED_OPTIN, device);
  say(text, "cuda:%d: %s, sm_%d, %d multiprocessors, %.1f GiB, %d KB of shared memory for a block", number, name,
      10 * major + minor, multiprocessors, (double)bytes / (1 << 30), shared / 1024);
  if (10 * major + minor < LEAST_GENERATION)
    say(text, "; too old: code for GPUs requires sm_%d", LEAST_GENERATION);
  say(text, "\n");
}

int32_t srtCudaDescribe(const sinter_driver *driver, char *text, int64_t bytes, char *why) {
  (void)driver;
  CudaDriver cuda;
  int32_t status = srtCudaDriverOpen(&cuda, why);
  if (status)
    return status;
  int count = 0, error = cuda.deviceGetCount(&count);
  if (error)
    status = srtCudaExplain(why, SINTER_UNSUPPORTED, "%s", srtCudaErrorText(&cuda, error));
  Text lines = {text, text + bytes};
  *text = 0;
  if (!status)
    describeDriver(&cuda, &lines);
  for (int number = 0; number < count && !status; ++number)
    describeDevice(&cuda, number, &lines);
  srtCudaDriverClose(&cuda);
  return status;
}

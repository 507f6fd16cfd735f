// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of the CUDA driver that the runtime calls, found by name at run time. Types and numbers are those of
// the driver's documented interface (CUDA Driver API, 64 bits).

#ifndef SINTER_RUNTIME_CUDA_DRIVER_H
#define SINTER_RUNTIME_CUDA_DRIVER_H

#include "driver.h"
#include <stddef.h>
#include <stdint.h>

typedef uint64_t CudaAddress;
typedef struct CudaContext_ *CudaContext;
typedef struct CudaModule_ *CudaModule;
typedef struct CudaFunction_ *CudaFunction;
typedef struct CudaStream_ *CudaStream;
typedef struct CudaEvent_ *CudaEvent;
#define CUDA_EVENT_DEFAULT 0
typedef struct CudaLink_ *CudaLink;
typedef struct CudaGraph_ *CudaGraph;
typedef struct CudaNode_ *CudaNode;
typedef struct CudaGraphExec_ *CudaGraphExec;

/// A tensor map, opaque.
typedef struct CudaMap {
  _Alignas(64) uint8_t bytes[128];
} CudaMap;

typedef struct CudaKernelNode {
  CudaFunction function;
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
  void **parameters, **extra;
  void *kernel;
  CudaContext context;
} CudaKernelNode;

/// One side of a copy of graphs.
typedef struct CudaCopySide {
  size_t xBytes, y, z, level;
  int type; // CUDA_MEMORY_HOST or CUDA_MEMORY_DEVICE
  void *host;
  CudaAddress device;
  void *array, *reserved;
  size_t pitch, height;
} CudaCopySide;
typedef struct CudaCopyNode {
  CudaCopySide from, to;
  size_t bytes, height, depth;
} CudaCopyNode;

typedef struct CudaFillNode {
  CudaAddress to;
  size_t pitch;
  unsigned value, elementBytes;
  size_t width, height;
} CudaFillNode;

/// What cuGraphAddNode takes, for conditional nodes.
typedef struct CudaConditionalNode {
  int type; // CUDA_NODE_CONDITIONAL
  int reserved0[3];
  uint64_t handle;
  int kind; // CUDA_CONDITIONAL_IF or CUDA_CONDITIONAL_WHILE
  unsigned size;
  CudaGraph *bodies; // filled by the driver
  CudaContext context;
  long long reserved1[26];
} CudaConditionalNode;

enum {
  CUDA_OUT_OF_MEMORY = 2,
  CUDA_NOT_READY = 600,
  CUDA_MEMORY_HOST = 1,
  CUDA_MEMORY_DEVICE = 2,
  CUDA_NODE_CONDITIONAL = 13,
  CUDA_CONDITIONAL_IF = 0,
  CUDA_CONDITIONAL_WHILE = 1,
  CUDA_HOST_MAPPED = 2, // of hostAlloc: kernels read and write the memory, too
  CUDA_NO_DEVICE = 100,
  CUDA_UNSUPPORTED_PTX = 222, // of a newer version
  CUDA_ATTRIBUTE_MULTIPROCESSORS = 16,
  CUDA_ATTRIBUTE_MAJOR = 75,
  CUDA_ATTRIBUTE_MINOR = 76,
  CUDA_ATTRIBUTE_SHARED_OPTIN = 97,
  CUDA_FUNCTION_DYNAMIC_SHARED = 8,
  CUDA_POINTER_MEMORY_TYPE = 2,
  CUDA_POINTER_DEVICE = 9,
  CUDA_MAP_U8 = 0,
  CUDA_MAP_F16 = 6,
  CUDA_MAP_BF16 = 9,
  CUDA_MAP_SWIZZLE_128 = 3,
  CUDA_MAP_L2_256 = 3,
  CUDA_INPUT_PTX = 1,
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
  X(contextDevice, cuCtxGetDevice, (int *device))                                                                      \
  X(contextSynchronize, cuCtxSynchronize, (void))                                                                      \
  X(pointerGet, cuPointerGetAttribute, (void *value, int attribute, CudaAddress address))                              \
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

/// Those of graphs, which drivers have from 12.0 on; null where one is missing.
#define CUDA_GRAPH_FUNCTIONS(X)                                                                                        \
  X(hostAlloc, cuMemHostAlloc, (void **host, size_t bytes, unsigned flags))                                            \
  X(hostFree, cuMemFreeHost, (void *host))                                                                             \
  X(hostAddress, cuMemHostGetDevicePointer_v2, (CudaAddress * address, void *host, unsigned flags))                    \
  X(streamQuery, cuStreamQuery, (CudaStream stream))                                                                   \
  X(graphCreate, cuGraphCreate, (CudaGraph * graph, unsigned flags))                                                   \
  X(graphDestroy, cuGraphDestroy, (CudaGraph graph))                                                                   \
  X(graphAddKernel, cuGraphAddKernelNode_v2,                                                                           \
    (CudaNode * node, CudaGraph graph, const CudaNode *after, size_t count, const CudaKernelNode *parameters))         \
  X(graphAddCopy, cuGraphAddMemcpyNode,                                                                                \
    (CudaNode * node, CudaGraph graph, const CudaNode *after, size_t count, const CudaCopyNode *parameters,            \
     CudaContext context))                                                                                             \
  X(graphAddFill, cuGraphAddMemsetNode,                                                                                \
    (CudaNode * node, CudaGraph graph, const CudaNode *after, size_t count, const CudaFillNode *parameters,            \
     CudaContext context))                                                                                             \
  X(graphInstantiate, cuGraphInstantiateWithFlags, (CudaGraphExec * exec, CudaGraph graph, unsigned long long flags))  \
  X(graphLaunch, cuGraphLaunch, (CudaGraphExec exec, CudaStream stream))                                               \
  X(execDestroy, cuGraphExecDestroy, (CudaGraphExec exec))                                                             \
  X(execSetKernel, cuGraphExecKernelNodeSetParams_v2,                                                                  \
    (CudaGraphExec exec, CudaNode node, const CudaKernelNode *parameters))                                             \
  X(execSetCopy, cuGraphExecMemcpyNodeSetParams,                                                                       \
    (CudaGraphExec exec, CudaNode node, const CudaCopyNode *parameters, CudaContext context))                          \
  X(execSetFill, cuGraphExecMemsetNodeSetParams,                                                                       \
    (CudaGraphExec exec, CudaNode node, const CudaFillNode *parameters, CudaContext context))

/// Those of loops and branches within graphs, which drivers have from 12.4 on.
#define CUDA_CONTROL_FUNCTIONS(X)                                                                                      \
  X(conditionCreate, cuGraphConditionalHandleCreate,                                                                   \
    (uint64_t *handle, CudaGraph graph, CudaContext context, unsigned initial, unsigned flags))                        \
  X(graphAddNode, cuGraphAddNode_v2,                                                                                   \
    (CudaNode * node, CudaGraph graph, const CudaNode *after, const void *edges, size_t count,                         \
     CudaConditionalNode *parameters))

/// Those of wide kernels, which drivers have from 12.0 on.
#define CUDA_WIDE_FUNCTIONS(X)                                                                                         \
  X(functionSet, cuFuncSetAttribute, (CudaFunction function, int attribute, int value))                                \
  X(mapEncode, cuTensorMapEncodeTiled,                                                                                 \
    (CudaMap * map, int type, uint32_t rank, void *address, const uint64_t *sizes, const uint64_t *strides,            \
     const uint32_t *box, const uint32_t *elementStrides, int interleave, int swizzle, int promotion, int fill))

/// Those that tell when something on a stream happened.
#define CUDA_EVENT_FUNCTIONS(X)                                                                                        \
  X(eventCreate, cuEventCreate, (CudaEvent * event, unsigned flags))                                                   \
  X(eventDestroy, cuEventDestroy_v2, (CudaEvent event))                                                                \
  X(eventRecord, cuEventRecord, (CudaEvent event, CudaStream stream))                                                  \
  X(eventElapsed, cuEventElapsedTime, (float *milliseconds, CudaEvent from, CudaEvent to))

/// Those that make code of PTX.
#define CUDA_LINK_FUNCTIONS(X)                                                                                         \
  X(driverVersion, cuDriverGetVersion, (int *version))                                                                 \
  X(linkCreate, cuLinkCreate_v2, (unsigned count, int *options, void **values, CudaLink *link))                        \
  X(linkAdd, cuLinkAddData_v2,                                                                                         \
    (CudaLink link, int type, void *data, size_t bytes, const char *name, unsigned count, int *options,                \
     void **values))                                                                                                   \
  X(linkComplete, cuLinkComplete, (CudaLink link, void **image, size_t *bytes))                                        \
  X(linkDestroy, cuLinkDestroy, (CudaLink link))

typedef struct CudaDriver {
  void *library;
  int32_t hasGraphs, hasControl, hasWide; // all functions of graphs; those of loops and branches as well
  int32_t hasEvents, hasLinks;
#define CUDA_FIELD(field, name, parameters) int(*field) parameters;
  CUDA_FUNCTIONS(CUDA_FIELD)
  CUDA_GRAPH_FUNCTIONS(CUDA_FIELD)
  CUDA_CONTROL_FUNCTIONS(CUDA_FIELD)
  CUDA_WIDE_FUNCTIONS(CUDA_FIELD)
  CUDA_EVENT_FUNCTIONS(CUDA_FIELD)
  CUDA_LINK_FUNCTIONS(CUDA_FIELD)
#undef CUDA_FIELD
} CudaDriver;

/// Opens what SINTER_CUDA_DRIVER of the environment names, else libcuda.so.1, and starts it. Returns a status, with the
/// reason in `why` (SINTER_DRIVER_TEXT_BYTES).
int32_t srtCudaDriverOpen(CudaDriver *driver, char *why);
void srtCudaDriverClose(CudaDriver *driver);
/// The GPU that `choice` names, or whose context it gives; else the one of the number in SINTER_CUDA_DEVICE of the
/// environment, else the first. `choice` may be null. Returns a status as above.
int32_t srtCudaFindDevice(const CudaDriver *driver, const sinter_device_choice *choice, int32_t *ordinal, int *device,
                          char *why);
/// The driver's words for an error.
const char *srtCudaErrorText(const CudaDriver *driver, int error);

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory: allocations, copies, fills.
#include "State.h"

#include <cstdlib>
#include <cstring>

using namespace sinter::ptx;

SINTER_CUDA_API CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t bytes) {
  Call call;
  if (!call)
    return call.status;
  if (!bytes)
    return CUDA_ERROR_INVALID_VALUE;
  if (injected(Allocations))
    return CUDA_ERROR_OUT_OF_MEMORY;
  std::string name = "allocation " + std::to_string(driver().calls[Allocations]);
  Region *region = call.context->memory.allocate(bytes, name);
  if (!region)
    return CUDA_ERROR_OUT_OF_MEMORY;
  call.context->allocations[region->base] = name + " of " + std::to_string(bytes) + " bytes";
  *out = region->base;
  return CUDA_SUCCESS;
}
SINTER_CUDA_API CUresult cuMemFree_v2(CUdeviceptr address) {
  Call call(false);
  if (!address)
    return CUDA_SUCCESS;
  if (!call.context)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (!call.context->allocations.erase(address)) {
    tell("free: nothing is allocated at this address: " + call.context->memory.describe(address, 1));
    return CUDA_ERROR_INVALID_VALUE;
  }
  call.context->memory.release(address);
  return call.context->error;
}
SINTER_CUDA_API CUresult cuMemAllocAsync(CUdeviceptr *out, size_t bytes, CUstream) { return cuMemAlloc_v2(out, bytes); }
SINTER_CUDA_API CUresult cuMemFreeAsync(CUdeviceptr address, CUstream) { return cuMemFree_v2(address); }
SINTER_CUDA_API CUresult cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t bytes, CUmemoryPool, CUstream) {
  return cuMemAlloc_v2(out, bytes);
}
SINTER_CUDA_API CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice) {
  return *pool = &driver(), CUDA_SUCCESS;
}
SINTER_CUDA_API CUresult cuMemPoolSetAttribute(CUmemoryPool, int, void *) { return CUDA_SUCCESS; }
SINTER_CUDA_API CUresult cuMemPoolTrimTo(CUmemoryPool, size_t) { return CUDA_SUCCESS; }
SINTER_CUDA_API CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
  Call call;
  if (call) {
    *total = call.context->memory.limit;
    *free = *total - call.context->memory.used();
  }
  return call.status;
}
SINTER_CUDA_API CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr address) {
  Call call;
  if (!call)
    return call.status;
  Region *region = call.context->memory.holding(address, 1);
  if (!region)
    return CUDA_ERROR_NOT_FOUND;
  if (base)
    *base = region->base;
  if (size)
    *size = region->size;
  return CUDA_SUCCESS;
}
// Of the memory at an address, in any context: 1 its context, 2 where it is, 9 the device.
SINTER_CUDA_API CUresult cuPointerGetAttribute(void *value, int attribute, CUdeviceptr address) {
  Call call(false);
  if (!call)
    return call.status;
  for (Context *context : driver().contexts) {
    Region *region = context->memory.holding(address, 1);
    if (!region)
      continue;
    bool isHost = !region->ownData;
    if (attribute == 1)
      std::memcpy(value, &context, sizeof context);
    else if (attribute == 2)
      *static_cast<unsigned *>(value) = isHost ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    else if (attribute == 9)
      *static_cast<int *>(value) = context->device;
    else
      return CUDA_ERROR_NOT_SUPPORTED;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE; // the host's own memory, as of an allocation that is gone
}
SINTER_CUDA_API CUresult cuMemHostAlloc(void **out, size_t bytes, unsigned flags) {
  Call call;
  if (!call)
    return call.status;
  if (!bytes)
    return CUDA_ERROR_INVALID_VALUE;
  if (injected(Allocations) || !(*out = std::malloc(bytes)))
    return CUDA_ERROR_OUT_OF_MEMORY;
  Region *region = flags & 2 ? call.context->memory.map(*out, bytes, "memory of the host") : nullptr;
  call.context->hostAllocations[*out] = region ? region->base : 0;
  return CUDA_SUCCESS;
}
SINTER_CUDA_API CUresult cuMemAllocHost_v2(void **out, size_t bytes) { return cuMemHostAlloc(out, bytes, 0); }
SINTER_CUDA_API CUresult cuMemFreeHost(void *host) {
  Call call(false);
  if (!call.context)
    return CUDA_ERROR_INVALID_CONTEXT;
  auto found = call.context->hostAllocations.find(host);
  if (found == call.context->hostAllocations.end()) {
    tell("free: no memory of the host is allocated at this address");
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (found->second)
    call.context->memory.release(found->second);
  call.context->hostAllocations.erase(found);
  std::free(host);
  return CUDA_SUCCESS;
}
SINTER_CUDA_API CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *address, void *host, unsigned) {
  Call call;
  if (!call)
    return call.status;
  auto found = call.context->hostAllocations.find(host);
  if (found == call.context->hostAllocations.end() || !found->second)
    return CUDA_ERROR_INVALID_VALUE;
  return *address = found->second, CUDA_SUCCESS;
}
SINTER_CUDA_API CUresult cuMemHostRegister_v2(void *, size_t, unsigned) { return Call().status; }
SINTER_CUDA_API CUresult cuMemHostUnregister(void *) { return Call().status; }

// Copies, as a three-dimensional one of one row.
static CUresult copy(CUstream stream, CUdeviceptr toDevice, void *toHost, CUdeviceptr fromDevice, const void *fromHost,
                     size_t bytes) {
  Call call;
  if (!call)
    return call.status;
  CUDA_MEMCPY3D c{};
  c.dstMemoryType = toHost ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  c.srcMemoryType = fromHost ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  c.dstHost = toHost;
  c.dstDevice = toDevice;
  c.srcHost = fromHost;
  c.srcDevice = fromDevice;
  c.WidthInBytes = bytes;
  c.Height = c.Depth = 1;
  if (toHost)
    ++driver().counts["to host"];
  return submit(*call.context, stream, c);
}
SINTER_CUDA_API CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
  return copy(nullptr, to, nullptr, 0, from, bytes);
}
SINTER_CUDA_API CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
  return copy(nullptr, 0, to, from, nullptr, bytes);
}
SINTER_CUDA_API CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return copy(nullptr, to, nullptr, from, nullptr, bytes);
}
SINTER_CUDA_API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream s) {
  return copy(s, to, nullptr, 0, from, bytes);
}
SINTER_CUDA_API CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream s) {
  return copy(s, 0, to, from, nullptr, bytes);
}
SINTER_CUDA_API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream s) {
  return copy(s, to, nullptr, from, nullptr, bytes);
}

static bool isDevice(uint64_t address) { return address >= kDeviceBase && address < kDeviceBase + (uint64_t(1) << 44); }
SINTER_CUDA_API CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream s) {
  return copy(s, to, isDevice(to) ? nullptr : reinterpret_cast<void *>(to), from,
              isDevice(from) ? nullptr : reinterpret_cast<const void *>(from), bytes);
}
SINTER_CUDA_API CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return cuMemcpyAsync(to, from, bytes, nullptr);
}

static CUresult fill(CUstream stream, CUdeviceptr to, size_t pitch, unsigned value, unsigned bytes, size_t width,
                     size_t height) {
  Call call;
  if (!call)
    return call.status;
  return submit(*call.context, stream, FillWork{to, pitch, value, bytes, width, height});
}
SINTER_CUDA_API CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t n) {
  return fill(nullptr, to, 0, value, 1, n, 1);
}
SINTER_CUDA_API CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t n) {
  return fill(nullptr, to, 0, value, 2, n, 1);
}
SINTER_CUDA_API CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t n) {
  return fill(nullptr, to, 0, value, 4, n, 1);
}
SINTER_CUDA_API CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t n, CUstream s) {
  return fill(s, to, 0, value, 1, n, 1);
}
SINTER_CUDA_API CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t n, CUstream s) {
  return fill(s, to, 0, value, 2, n, 1);
}
SINTER_CUDA_API CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t n, CUstream s) {
  return fill(s, to, 0, value, 4, n, 1);
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Initialization, the device, contexts, errors, and the look-up of functions.
#include "State.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <utility>

namespace sinter::ptx {

Driver &driver() {
  static Driver &one = *new Driver; // outlives whatever runs at exit
  return one;
}
const Device &deviceOf(const Context &context) { return driver().devices[size_t(context.device)].device; }
std::vector<Context *> &contextStack() {
  static thread_local std::vector<Context *> stack;
  return stack;
}

void tell(const std::string &line) {
  driver().report += line + "\n";
  if (const char *path = std::getenv("SINTER_PTX_REPORT")) {
    if (FILE *file = std::fopen(path, "a")) {
      std::fprintf(file, "%s\n", line.c_str());
      std::fclose(file);
    }
  } else
    std::fprintf(stderr, "ptx machine: %s\n", line.c_str());
}

bool injected(Injected kind) {
  Driver &d = driver();
  uint64_t call = ++d.calls[kind];
  return call == d.failAt[kind] || (kind == Allocations && d.exhaustedFrom && call >= d.exhaustedFrom);
}

CUresult errorOf(FaultKind kind) {
  switch (kind) {
  case FaultKind::OutOfBounds:
  case FaultKind::UseAfterFree:
  case FaultKind::ReadOnly:
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  case FaultKind::Misaligned:
    return CUDA_ERROR_MISALIGNED_ADDRESS;
  case FaultKind::Deadlock:
    return CUDA_ERROR_LAUNCH_TIMEOUT;
  case FaultKind::Launch:
    return CUDA_ERROR_INVALID_VALUE;
  default:
    return CUDA_ERROR_LAUNCH_FAILED;
  }
}

void finishDeferred() {
  if (std::unique_ptr<Deferred> work = std::move(driver().deferred))
    work->finish(); // what failed became the context's error
}

Call::Call(bool needsContext) : lock(driver().mutex) {
  finishDeferred();
  if (!driver().initialized) {
    status = CUDA_ERROR_NOT_INITIALIZED;
    return;
  }
  context = contextStack().empty() ? nullptr : contextStack().back();
  if (context && !driver().contexts.contains(context))
    context = nullptr;
  if (!needsContext)
    return;
  status = !context ? CUDA_ERROR_INVALID_CONTEXT : context->error;
}

void endContext(Context *context) {
  for (const auto &[address, name] : context->allocations)
    tell("leak: " + name + " was not freed when its context ended");
  for (LoadedModule *module : context->modules)
    delete module;
  for (Stream *stream : context->streams)
    delete stream;
  for (Event *event : context->events)
    delete event;
  if (!context->executables.empty())
    tell("leak: " + std::to_string(context->executables.size()) +
         " executable graphs were not destroyed when their context ended");
  for (Executable *executable : context->executables)
    delete executable;
  for (Graph *graph : driver().graphs)
    if (graph->context == context && !graph->owned) {
      tell("leak: a graph of " + std::to_string(graph->nodes.size()) +
           " nodes was not destroyed when its context ended");
      graph->context = nullptr; // told once
    }
  for (Link *link : driver().links)
    if (std::exchange(link->context, link->context == context ? nullptr : link->context) == context)
      tell("leak: a link was not destroyed when its context ended");
  if (!context->hostAllocations.empty())
    tell("leak: " + std::to_string(context->hostAllocations.size()) +
         " host allocations were not freed when their context ended");
  for (auto [host, address] : context->hostAllocations)
    std::free(host);
  driver().contexts.erase(context);
  delete context;
}

static void readInjections() {
  static const char *names[] = {"alloc", "copy", "launch", "module"};
  const char *text = std::getenv("SINTER_PTX_FAIL"); // alloc:3,launch:2
  for (int kind = 0; text && kind < 4; ++kind)
    if (const char *at = std::strstr(text, names[kind]))
      driver().failAt[kind] = std::strtoull(at + std::strlen(names[kind]) + 1, nullptr, 10);
}

/// sm_80, or several with commas between.
static void readDevices() {
  const char *text = std::getenv("SINTER_PTX_DEVICE");
  for (size_t i = 0; text && *text; ++i) {
    unsigned number = unsigned(std::strtoul(text + (std::strncmp(text, "sm_", 3) ? 0 : 3), nullptr, 10));
    if (i == driver().devices.size())
      driver().devices.emplace_back();
    if (Device &device = driver().devices[i].device; number >= 50) {
      device.major = number / 10;
      device.minor = number % 10;
      device.maxSharedOptin = number == 80 ? 163 * 1024 : number >= 90 ? 227 * 1024 : 99 * 1024;
      device.sharedPerMultiprocessor = device.maxSharedOptin + 1024;
    }
    const char *comma = std::strchr(text, ',');
    text = comma ? comma + 1 : nullptr;
  }
}

static DeviceState *findDevice(CUdevice device) {
  bool isThere = device >= 0 && size_t(device) < driver().devices.size();
  return isThere ? &driver().devices[size_t(device)] : nullptr;
}

} // namespace sinter::ptx

using namespace sinter::ptx;

SINTER_CUDA_API CUresult cuInit(unsigned flags) {
  std::lock_guard lock(driver().mutex);
  if (flags)
    return CUDA_ERROR_INVALID_VALUE;
  if (!driver().initialized) {
    readInjections();
    readDevices();
  }
  driver().initialized = true;
  return CUDA_SUCCESS;
}
SINTER_CUDA_API CUresult cuDriverGetVersion(int *version) { return *version = 13000, CUDA_SUCCESS; }
SINTER_CUDA_API CUresult cuDeviceGetCount(int *count) {
  Call call(false);
  return *count = int(driver().devices.size()), call.status;
}
SINTER_CUDA_API CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  Call call(false);
  if (call && !findDevice(ordinal))
    return CUDA_ERROR_INVALID_DEVICE;
  return *device = ordinal, call.status;
}
SINTER_CUDA_API CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
  Call call(false);
  const DeviceState *state = findDevice(device);
  if (!state)
    return CUDA_ERROR_INVALID_DEVICE;
  std::snprintf(name, size_t(length), "PTX machine sm_%u%u", state->device.major, state->device.minor);
  return call.status;
}
SINTER_CUDA_API CUresult cuDeviceGetUuid_v2(char *uuid, CUdevice device) {
  return std::memset(uuid, 0x51 + device, 16), CUDA_SUCCESS;
}
SINTER_CUDA_API CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice) {
  Call call(false);
  return *bytes = Memory().limit, call.status;
}
SINTER_CUDA_API CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device) {
  Call call(false);
  const DeviceState *state = findDevice(device);
  if (!state)
    return CUDA_ERROR_INVALID_DEVICE;
  const Device &d = state->device;
  static const std::map<int, int> fixed = {{2, 1024},     {3, 1024},  {4, 64},        {5, 0x7fffffff}, {6, 65535},
                                           {7, 65535},    {10, 32},   {12, 65536},    {13, 1000000},   {31, 1},
                                           {36, 1000000}, {37, 4096}, {38, 32 << 20}, {39, 2048},      {41, 1},
                                           {82, 65536},   {95, 1},    {106, 32},      {111, 1024},     {115, 1}};
  switch (attribute) {
  case 1:
    *value = int(d.maxThreads);
    break;
  case 8:
    *value = int(d.maxShared);
    break;
  case 16:
    *value = int(d.multiprocessors);
    break;
  case 75:
    *value = int(d.major);
    break;
  case 76:
    *value = int(d.minor);
    break;
  case 81:
    *value = int(d.sharedPerMultiprocessor);
    break;
  case 97:
    *value = int(d.maxSharedOptin);
    break;
  default: {
    auto it = fixed.find(attribute);
    *value = it == fixed.end() ? 0 : it->second;
  }
  }
  return call.status;
}

static CUresult makeContext(CUcontext *out, CUdevice device) {
  uint64_t &top = findDevice(device)->top;
  if (!top)
    top = kDeviceBase + uint64_t(device) * kDeviceSpan;
  auto *context = new Context(device, &top);
  driver().contexts.insert(context);
  *out = context;
  return CUDA_SUCCESS;
}
SINTER_CUDA_API CUresult cuCtxCreate_v2(CUcontext *out, unsigned, CUdevice device) {
  Call call(false);
  if (!call || !findDevice(device))
    return call ? CUDA_ERROR_INVALID_DEVICE : call.status;
  makeContext(out, device);
  contextStack().push_back(*out);
  return CUDA_SUCCESS;
}
SINTER_CUDA_API CUresult cuCtxCreate_v4(CUcontext *out, void *, unsigned flags, CUdevice device) {
  return cuCtxCreate_v2(out, flags, device);
}
SINTER_CUDA_API CUresult cuCtxDestroy_v2(CUcontext context) {
  Call call(false);
  if (!driver().contexts.contains(context) || context->primary)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (!contextStack().empty() && contextStack().back() == context)
    contextStack().pop_back();
  endContext(context);
  return CUDA_SUCCESS;
}
SINTER_CUDA_API CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device) {
  Call call(false);
  DeviceState *state = findDevice(device);
  if (!call || !state)
    return call ? CUDA_ERROR_INVALID_DEVICE : call.status;
  if (!state->primary) {
    makeContext(&state->primary, device);
    state->primary->primary = true;
  }
  ++state->primaryUsers;
  *out = state->primary;
  return CUDA_SUCCESS;
}
SINTER_CUDA_API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  Call call(false);
  DeviceState *state = findDevice(device);
  if (!state || !state->primary || !state->primaryUsers)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (--state->primaryUsers == 0) {
    endContext(state->primary);
    state->primary = nullptr;
  }
  return CUDA_SUCCESS;
}
SINTER_CUDA_API CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active) {
  Call call(false);
  const DeviceState *state = findDevice(device);
  return *flags = 0, *active = state && state->primary, state ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
SINTER_CUDA_API CUresult cuCtxPushCurrent_v2(CUcontext context) {
  Call call(false);
  if (!driver().contexts.contains(context))
    return CUDA_ERROR_INVALID_CONTEXT;
  contextStack().push_back(context);
  return CUDA_SUCCESS;
}
SINTER_CUDA_API CUresult cuCtxPopCurrent_v2(CUcontext *out) {
  if (contextStack().empty())
    return CUDA_ERROR_INVALID_CONTEXT;
  if (out)
    *out = contextStack().back();
  contextStack().pop_back();
  return CUDA_SUCCESS;
}
SINTER_CUDA_API CUresult cuCtxSetCurrent(CUcontext context) {
  Call call(false);
  if (context && !driver().contexts.contains(context))
    return CUDA_ERROR_INVALID_CONTEXT;
  if (!contextStack().empty())
    contextStack().pop_back();
  if (context)
    contextStack().push_back(context);
  return call.status;
}
SINTER_CUDA_API CUresult cuCtxGetCurrent(CUcontext *out) {
  Call call(false);
  return *out = call.context, call.status;
}
SINTER_CUDA_API CUresult cuCtxGetDevice(CUdevice *device) {
  Call call;
  return *device = call ? call.context->device : 0, call.status;
}
SINTER_CUDA_API CUresult cuCtxSynchronize() {
  Call call;
  ++driver().counts["wait"];
  return call.status;
}

struct ErrorName {
  CUresult code;
  const char *name, *text;
};
static const ErrorName kErrors[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {CUDA_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain"},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "too many resources requested for launch"},
    {CUDA_ERROR_LAUNCH_TIMEOUT, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {CUDA_ERROR_MISALIGNED_ADDRESS, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",
     "too many blocks in cooperative launch"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE",
     "the graph update was not performed"},
};
SINTER_CUDA_API CUresult cuGetErrorName(CUresult error, const char **name) {
  for (const ErrorName &known : kErrors)
    if (known.code == error)
      return *name = known.name, CUDA_SUCCESS;
  return *name = nullptr, CUDA_ERROR_INVALID_VALUE;
}
SINTER_CUDA_API CUresult cuGetErrorString(CUresult error, const char **text) {
  for (const ErrorName &known : kErrors)
    if (known.code == error)
      return *text = known.text, CUDA_SUCCESS;
  return *text = nullptr, CUDA_ERROR_INVALID_VALUE;
}

// The newest version of a name that this library has.
SINTER_CUDA_API CUresult cuGetProcAddress_v2(const char *symbol, void **out, int, uint64_t, int *status) {
  Dl_info self;
  void *found = nullptr;
  if (dladdr(reinterpret_cast<void *>(&cuInit), &self)) {
    void *library = dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!library)
      library = dlopen(nullptr, RTLD_LAZY); // linked into the program
    for (const char *version : {"_v4", "_v3", "_v2", ""})
      if (library && !found)
        found = dlsym(library, (std::string(symbol) + version).c_str());
    if (library)
      dlclose(library);
  }
  *out = found;
  if (status)
    *status = found ? 0 : 1;
  return found || status ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

// What only this library has.
/// All that was told since the last reset, a line each.
SINTER_CUDA_API const char *sinterPtxReport() { return driver().report.c_str(); }
/// What kernels printed.
SINTER_CUDA_API const char *sinterPtxPrinted() { return driver().printed.c_str(); }
SINTER_CUDA_API void sinterPtxReset() {
  driver().report.clear();
  driver().printed.clear();
  driver().counts.clear();
}
/// Makes the n-th call from now fail; kinds are alloc, copy, launch, module. 0 makes none fail.
SINTER_CUDA_API void sinterPtxFail(const char *kind, uint64_t n) {
  static const char *names[] = {"alloc", "copy", "launch", "module"};
  if (!std::strcmp(kind, "memory"))
    driver().exhaustedFrom = n ? driver().calls[Allocations] + n : 0;
  for (int k = 0; k < 4; ++k)
    if (!std::strcmp(kind, names[k]))
      driver().failAt[k] = n ? driver().calls[k] + n : 0;
}
/// Calls since the last reset: "wait" for the device, copies "to host", "launch" of single kernels and of "graph",
/// graphs that were "build" (instantiated) with so many "edge"s between their nodes, and nodes that were "update"d.
SINTER_CUDA_API uint64_t sinterPtxCount(const char *what) {
  auto found = driver().counts.find(what);
  return found == driver().counts.end() ? 0 : found->second;
}
/// Whether graphs with loops run while the host goes on, a trip for each cuStreamQuery.
SINTER_CUDA_API void sinterPtxDefer(int defers) {
  std::lock_guard lock(driver().mutex);
  finishDeferred();
  driver().defersLoops = defers != 0;
}
/// Instructions of threads that ran so far.
SINTER_CUDA_API uint64_t sinterPtxInstructions() { return driver().instructions; }

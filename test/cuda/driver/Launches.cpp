// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Modules, functions, launches, streams, events.
#include "State.h"
#include "test/cuda/machine/TensorMap.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string_view>

using namespace sinter::ptx;

/// What linking makes: like a cubin, and its PTX behind the generation that it is for.
static const char kLinked[] = "\x7f"
                              "ELF of the machine, sm_";

static CUresult loadModule(Context &context, CUmodule *out, const char *image, std::string &log) {
  if (injected(Modules))
    return CUDA_ERROR_OUT_OF_MEMORY;
  if (!std::memcmp(image, kLinked, 4)) {
    if (std::strncmp(image, kLinked, sizeof kLinked - 1) != 0) {
      log = "the machine runs PTX, got a cubin";
      return CUDA_ERROR_INVALID_IMAGE;
    }
    char *end = nullptr;
    const unsigned made = unsigned(std::strtoul(image + sizeof kLinked - 1, &end, 10));
    const Device &device = deviceOf(context);
    if (made / 10 != device.major || made % 10 > device.minor)
      return CUDA_ERROR_NO_BINARY_FOR_GPU;
    ++driver().counts["cubin"];
    image = end + 1;
  }
  auto loaded = std::make_unique<LoadedModule>();
  loaded->context = &context;
  try {
    loaded->module = load(image, "module.ptx", context.memory);
  } catch (const ParseError &error) {
    log = error.what();
    tell(log);
    return CUDA_ERROR_INVALID_PTX;
  }
  const Program &program = *loaded->module->program;
  if (const char *newest = std::getenv("SINTER_PTX_VERSION");
      newest && program.version > std::atof(newest) * 10 + 0.5) {
    log = "module.ptx: .version is above " + std::string(newest);
    return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  }
  const unsigned target = unsigned(std::strtoul(program.target.c_str() + 3, nullptr, 10)),
                 have = deviceOf(context).major * 10 + deviceOf(context).minor;
  if (target > have || (program.target.ends_with('a') && target != have)) {
    log = "module.ptx: .target " + program.target + " on a device of sm_" + std::to_string(have);
    tell(log);
    return CUDA_ERROR_INVALID_PTX;
  }
  for (const auto &function : program.functions)
    if (function->isEntry && function->isDefined)
      loaded->functions[function->name] =
          std::make_unique<LoadedFunction>(LoadedFunction{loaded.get(), loaded->module->find(function->name)});
  *out = loaded.get();
  context.modules.insert(loaded.release());
  return CUDA_SUCCESS;
}

SINTER_CUDA_API CUresult cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned count, int *options,
                                            void **values) {
  Call call;
  if (!call)
    return call.status;
  std::string log;
  CUresult status = loadModule(*call.context, out, static_cast<const char *>(image), log);
  char *buffer = nullptr;
  void **size = nullptr;
  for (unsigned n = 0; n < count; ++n)
    if (options[n] == 5) // CU_JIT_ERROR_LOG_BUFFER
      buffer = static_cast<char *>(values[n]);
    else if (options[n] == 6) // ..._SIZE_BYTES
      size = &values[n];
    else if (options[n] == 3 && values[n])
      *static_cast<char *>(values[n]) = 0;
  if (buffer && size) {
    size_t room = reinterpret_cast<uintptr_t>(*size);
    size_t used = room ? size_t(snprintf(buffer, room, "%s", log.c_str())) : 0;
    *size = reinterpret_cast<void *>(uintptr_t(std::min(used, room)));
  }
  return status;
}
//===- linking: one PTX becomes what cuModuleLoadData takes ----------------------------------------===//

SINTER_CUDA_API CUresult cuLinkCreate_v2(unsigned, int *, void **, Link **out) {
  Call call;
  if (!call)
    return call.status;
  const Device &device = deviceOf(*call.context);
  *out = new Link{call.context, kLinked + std::to_string(device.major * 10 + device.minor) + "\n"};
  driver().links.insert(*out);
  return CUDA_SUCCESS;
}
SINTER_CUDA_API CUresult cuLinkAddData_v2(Link *link, int type, void *data, size_t bytes, const char *, unsigned, int *,
                                          void **) {
  Call call;
  if (!call)
    return call.status;
  if (!driver().links.contains(link) || type != 1 /* CU_JIT_INPUT_PTX */ || !bytes ||
      static_cast<const char *>(data)[bytes - 1] != 0)
    return CUDA_ERROR_INVALID_VALUE;
  try { // what is no PTX is told here
    parse(static_cast<const char *>(data), "module.ptx");
  } catch (const ParseError &) {
    return CUDA_ERROR_INVALID_PTX;
  }
  link->image.append(static_cast<const char *>(data), bytes);
  return CUDA_SUCCESS;
}
SINTER_CUDA_API CUresult cuLinkComplete(Link *link, void **image, size_t *bytes) {
  Call call;
  if (!call)
    return call.status;
  if (!driver().links.contains(link))
    return CUDA_ERROR_INVALID_HANDLE;
  ++driver().counts["link"];
  *image = link->image.data();
  *bytes = link->image.size();
  return CUDA_SUCCESS;
}
SINTER_CUDA_API CUresult cuLinkDestroy(Link *link) {
  Call call(false);
  if (!driver().links.erase(link))
    return CUDA_ERROR_INVALID_HANDLE;
  delete link;
  return CUDA_SUCCESS;
}

SINTER_CUDA_API CUresult cuModuleLoadData(CUmodule *out, const void *image) {
  return cuModuleLoadDataEx(out, image, 0, nullptr, nullptr);
}
SINTER_CUDA_API CUresult cuModuleUnload(CUmodule module) {
  Call call(false);
  if (!call.context || !call.context->modules.erase(module))
    return CUDA_ERROR_INVALID_HANDLE;
  for (auto &[name, region] : module->module->variables)
    call.context->memory.release(region->base);
  delete module;
  return CUDA_SUCCESS;
}
SINTER_CUDA_API CUresult cuModuleGetFunction(CUfunction *out, CUmodule module, const char *name) {
  Call call;
  if (!call)
    return call.status;
  if (!call.context->modules.contains(module))
    return CUDA_ERROR_INVALID_HANDLE;
  auto it = module->functions.find(name);
  if (it == module->functions.end())
    return CUDA_ERROR_NOT_FOUND;
  return *out = it->second.get(), CUDA_SUCCESS;
}
SINTER_CUDA_API CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, CUmodule module, const char *name) {
  Call call;
  if (!call)
    return call.status;
  if (!call.context->modules.contains(module))
    return CUDA_ERROR_INVALID_HANDLE;
  auto it = module->module->variables.find(name);
  if (it == module->module->variables.end())
    return CUDA_ERROR_NOT_FOUND;
  if (address)
    *address = it->second->base;
  if (bytes)
    *bytes = it->second->size;
  return CUDA_SUCCESS;
}
SINTER_CUDA_API CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction function) {
  Call call;
  const Function &f = *function->code->function;
  switch (attribute) {
  case 0:
    *value = f.requiredThreads[0] ? int(f.requiredThreads[0] * f.requiredThreads[1] * f.requiredThreads[2])
             : f.maxThreads[0]    ? int(f.maxThreads[0] * f.maxThreads[1] * f.maxThreads[2])
                                  : 1024;
    break;
  case 1:
    *value = int(f.staticShared);
    break;
  case 3:
    *value = int(f.localBytes);
    break;
  case 4:
    *value = 32;
    break; // nobody allocates registers here
  case 5:
    *value = int(function->module->module->program->version);
    break;
  case 6:
    *value = int(deviceOf(*function->module->context).major * 10 + deviceOf(*function->module->context).minor);
    break;
  case 8:
    *value = int(function->maxDynamicShared);
    break;
  default:
    *value = 0;
  }
  return call.status;
}
SINTER_CUDA_API CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value) {
  Call call;
  if (attribute == 8) {
    if (value < 0 ||
        uint64_t(value) + function->code->function->staticShared > deviceOf(*function->module->context).maxSharedOptin)
      return CUDA_ERROR_INVALID_VALUE;
    function->maxDynamicShared = unsigned(value);
  }
  return call.status;
}
SINTER_CUDA_API CUresult cuFuncSetCacheConfig(CUfunction, int) { return Call().status; }
SINTER_CUDA_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int threads,
                                                                     size_t dynamicShared) {
  Call call;
  *blocks = threads > 0 ? int(residentBlocks(deviceOf(*function->module->context), *function->code, unsigned(threads),
                                             uint32_t(dynamicShared)))
                        : 0;
  return call.status;
}
SINTER_CUDA_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction function,
                                                                              int threads, size_t dynamicShared,
                                                                              unsigned) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, dynamicShared);
}

SINTER_CUDA_API CUresult cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *address,
                                                const uint64_t *sizes, const uint64_t *strides, const uint32_t *box,
                                                const uint32_t *elementStrides, int interleave, int swizzle, int,
                                                int fill) {
  Call call(false);
  if (!call)
    return call.status;
  bool knowsMaps = false; // the call has no context
  for (const DeviceState &state : driver().devices)
    knowsMaps |= state.device.major >= 9;
  if (!knowsMaps)
    return CUDA_ERROR_NOT_SUPPORTED;
  TensorMap made;
  std::string why;
  if (!TensorMap::encode(made, type, rank, reinterpret_cast<uintptr_t>(address), sizes, strides, box, elementStrides,
                         interleave, swizzle, fill, why)) {
    tell("wrong tensor map: " + why);
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::memset(map, 0, 128);
  std::memcpy(map, &made, sizeof made);
  return CUDA_SUCCESS;
}

CUresult sinter::ptx::kernelWork(const CUDA_KERNEL_NODE_PARAMS &p, KernelWork &work) {
  if (!p.func)
    return CUDA_ERROR_INVALID_HANDLE;
  work.function = p.func;
  work.grid = {p.gridDimX, p.gridDimY, p.gridDimZ};
  work.block = {p.blockDimX, p.blockDimY, p.blockDimZ};
  work.dynamicShared = p.sharedMemBytes;
  const Function &f = *p.func->code->function;
  if (!work.grid.count() || !work.block.count()) {
    tell("wrong launch: kernel " + f.name + ": a grid or a block of no threads");
    return CUDA_ERROR_INVALID_VALUE;
  }
  work.params.assign(f.paramBytes, 0);
  if (p.kernelParams) {
    for (size_t n = 0; n < f.params.size(); ++n)
      std::memcpy(work.params.data() + f.params[n]->offset, p.kernelParams[n], f.params[n]->size);
  } else if (p.extra) { // CU_LAUNCH_PARAM_BUFFER_POINTER, _SIZE, END
    const void *buffer = nullptr;
    size_t size = 0;
    for (void **at = p.extra; *at; at += 2)
      if (reinterpret_cast<uintptr_t>(*at) == 1)
        buffer = at[1];
      else if (reinterpret_cast<uintptr_t>(*at) == 2)
        size = *static_cast<size_t *>(at[1]);
    work.params.resize(size); // checked by the launch
    if (buffer)
      std::memcpy(work.params.data(), buffer, size);
  } else if (!f.params.empty())
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

SINTER_CUDA_API CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **params,
                                          void **extra) {
  Call call;
  if (!call)
    return call.status;
  KernelWork work;
  CUDA_KERNEL_NODE_PARAMS p{function,
                            config->gridDimX,
                            config->gridDimY,
                            config->gridDimZ,
                            config->blockDimX,
                            config->blockDimY,
                            config->blockDimZ,
                            config->sharedMemBytes,
                            params,
                            extra,
                            nullptr,
                            nullptr};
  if (CUresult status = kernelWork(p, work))
    return status;
  for (unsigned n = 0; n < config->numAttrs; ++n)
    if (config->attrs[n].id == 4)
      work.cluster = {config->attrs[n].value.cluster[0], config->attrs[n].value.cluster[1],
                      config->attrs[n].value.cluster[2]};
    else if (config->attrs[n].id == 2)
      work.cooperative = config->attrs[n].value.cooperative != 0;
  if (work.cooperative && work.grid.count() > uint64_t(deviceOf(*call.context).multiprocessors) *
                                                  residentBlocks(deviceOf(*call.context), *function->code,
                                                                 unsigned(work.block.count()), work.dynamicShared))
    return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
  ++driver().counts["launch"];
  return submit(*call.context, config->hStream, std::move(work));
}
SINTER_CUDA_API CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                        unsigned bz, unsigned shared, CUstream stream, void **params, void **extra) {
  CUlaunchConfig config{gx, gy, gz, bx, by, bz, shared, stream, nullptr, 0};
  return cuLaunchKernelEx(&config, f, params, extra);
}
SINTER_CUDA_API CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                                   unsigned by, unsigned bz, unsigned shared, CUstream stream,
                                                   void **params) {
  CUlaunchAttribute cooperative{};
  cooperative.id = 2;
  cooperative.value.cooperative = 1;
  CUlaunchConfig config{gx, gy, gz, bx, by, bz, shared, stream, &cooperative, 1};
  return cuLaunchKernelEx(&config, f, params, nullptr);
}
SINTER_CUDA_API CUresult cuLaunchHostFunc(CUstream stream, void (*function)(void *), void *data) {
  Call call;
  return call ? submit(*call.context, stream, HostWork{function, data}) : call.status;
}

SINTER_CUDA_API CUresult cuStreamCreate(CUstream *out, unsigned) {
  Call call;
  if (!call)
    return call.status;
  *out = new Stream{call.context, nullptr};
  call.context->streams.insert(*out);
  return CUDA_SUCCESS;
}
SINTER_CUDA_API CUresult cuStreamCreateWithPriority(CUstream *out, unsigned flags, int) {
  return cuStreamCreate(out, flags);
}
SINTER_CUDA_API CUresult cuStreamDestroy_v2(CUstream stream) {
  Call call(false);
  if (!call.context || !call.context->streams.erase(stream))
    return CUDA_ERROR_INVALID_HANDLE;
  delete stream;
  return CUDA_SUCCESS;
}
SINTER_CUDA_API CUresult cuStreamSynchronize(CUstream stream) {
  Call call;
  ++driver().counts["wait"];
  if (call && isCapturing(stream))
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  return call.status;
}
SINTER_CUDA_API CUresult cuStreamQuery(CUstream) {
  std::lock_guard lock(driver().mutex);
  if (driver().deferred && !driver().deferred->step()) {
    ++driver().counts["not ready"];
    return CUDA_ERROR_NOT_READY;
  }
  return Call().status;
}
SINTER_CUDA_API CUresult cuStreamWaitEvent(CUstream, CUevent, unsigned) { return Call().status; }
SINTER_CUDA_API CUresult cuStreamBeginCapture_v2(CUstream stream, int) {
  Call call;
  if (!call || !call.context->streams.contains(stream) || stream->capture)
    return call ? CUDA_ERROR_INVALID_VALUE : call.status;
  stream->capture = std::make_unique<Graph>();
  return CUDA_SUCCESS;
}
SINTER_CUDA_API CUresult cuStreamEndCapture(CUstream stream, CUgraph *out) {
  Call call;
  if (!call || !call.context->streams.contains(stream) || !stream->capture)
    return call ? CUDA_ERROR_INVALID_VALUE : call.status;
  *out = stream->capture.release();
  driver().graphs.insert(*out);
  return CUDA_SUCCESS;
}
SINTER_CUDA_API CUresult cuStreamIsCapturing(CUstream stream, int *status) {
  Call call;
  *status = isCapturing(stream);
  return call.status;
}

/// Milliseconds; with SINTER_PTX_CLOCK=instructions one nanosecond for each instruction that a thread has executed.
static double now() {
  static const char *clock = std::getenv("SINTER_PTX_CLOCK");
  if (clock && std::string_view(clock) == "instructions")
    return double(driver().instructions) * 1e-6;
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
SINTER_CUDA_API CUresult cuEventCreate(CUevent *out, unsigned) {
  Call call;
  if (!call)
    return call.status;
  *out = new Event{call.context};
  call.context->events.insert(*out);
  return CUDA_SUCCESS;
}
SINTER_CUDA_API CUresult cuEventDestroy_v2(CUevent event) {
  Call call(false);
  if (!call.context || !call.context->events.erase(event))
    return CUDA_ERROR_INVALID_HANDLE;
  delete event;
  return CUDA_SUCCESS;
}
SINTER_CUDA_API CUresult cuEventRecord(CUevent event, CUstream) {
  Call call;
  if (call && !call.context->events.contains(event))
    return CUDA_ERROR_INVALID_HANDLE;
  event->time = now();
  event->recorded = true;
  return call.status;
}
SINTER_CUDA_API CUresult cuEventSynchronize(CUevent) {
  Call call;
  ++driver().counts["wait"];
  return call.status;
}
SINTER_CUDA_API CUresult cuEventQuery(CUevent) { return Call().status; }
SINTER_CUDA_API CUresult cuEventElapsedTime_v2(float *ms, CUevent from, CUevent to) {
  Call call;
  if (!from->recorded || !to->recorded)
    return CUDA_ERROR_INVALID_HANDLE;
  *ms = float(to->time - from->time);
  return call.status;
}
SINTER_CUDA_API CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to) {
  return cuEventElapsedTime_v2(ms, from, to);
}

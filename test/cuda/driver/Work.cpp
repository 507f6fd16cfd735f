// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What streams and graphs do.
#include "State.h"

#include <cstring>

namespace sinter::ptx {

static CUresult runKernel(Context &context, const KernelWork &work) {
  if (injected(Launches))
    return context.error = CUDA_ERROR_LAUNCH_FAILED;
  if (work.function->module->context != &context) {
    tell("wrong launch: kernel " + work.function->code->function->name + ": its module is of another context");
    return CUDA_ERROR_INVALID_HANDLE;
  }
  Launch launch;
  launch.module = work.function->module->module.get();
  launch.code = work.function->code;
  launch.device = deviceOf(context);
  launch.memory = &context.memory;
  launch.grid = work.grid;
  launch.block = work.block;
  launch.cluster = work.cluster;
  launch.dynamicShared = work.dynamicShared;
  launch.params = work.params;
  launch.print = [](std::string_view text) { driver().printed += text; };
  launch.setConditional = [&](uint64_t handle, uint32_t value) {
    auto it = driver().conditions.find(handle);
    if (it == driver().conditions.end())
      throw Fault(FaultKind::Invalid, launch.name(), 0,
                  "invalid: kernel " + launch.name() + ": no conditional handle " + std::to_string(handle));
    it->second.value = value;
  };
  launch.pause = Deferred::beforeTrip; // it may be a loop by itself
  if (launch.code->hasProducts)
    ++driver().counts["wgmma"];
  if (clusterOf(launch).count() > 1)
    ++driver().counts["cluster"];
  try {
    if (work.dynamicShared + launch.code->function->staticShared > launch.device.maxShared &&
        work.dynamicShared > work.function->maxDynamicShared)
      throw Fault(FaultKind::Launch, launch.name(), 0,
                  "wrong launch: kernel " + launch.name() + ": " + std::to_string(work.dynamicShared) +
                      " bytes of dynamic shared memory, " + std::to_string(work.function->maxDynamicShared) +
                      " were allowed with cuFuncSetAttribute");
    execute(launch);
  } catch (const Fault &fault) {
    tell(fault.what());
    if (fault.kind == FaultKind::Launch)
      return CUDA_ERROR_INVALID_VALUE; // the context lives on
    context.error = errorOf(fault.kind);
    driver().instructions += launch.threadInstructions;
    return CUDA_SUCCESS; // told by the next call that waits, as on a device
  }
  driver().instructions += launch.threadInstructions;
  driver().counts["bulk byte"] += launch.bulkBytes;
  return CUDA_SUCCESS;
}

// The bytes of a copy's side; `valid` is null for the host.
static bool side(Context &context, int type, uint64_t device, void *host, uint64_t offset, size_t bytes,
                 const char *what, uint8_t *&data, uint8_t *&valid) {
  valid = nullptr;
  if (type == CU_MEMORYTYPE_HOST) {
    data = static_cast<uint8_t *>(host) + offset;
    return true;
  }
  Region *region = context.memory.holding(device + offset, bytes);
  if (!region) {
    Region *freed = context.memory.find(device + offset);
    bool after = freed && freed->freed && freed->holds(device + offset, bytes);
    tell(std::string(after ? "use after free" : "out of bounds") + ": " + what + " of " + std::to_string(bytes) +
         " bytes: " + context.memory.describe(device + offset, bytes));
    return false;
  }
  data = region->data + (device + offset - region->base);
  valid = region->valid + (device + offset - region->base);
  return true;
}

static CUresult runCopy(Context &context, const CUDA_MEMCPY3D &c) {
  ++driver().counts["copy"];
  if (injected(Copies))
    return CUDA_ERROR_OUT_OF_MEMORY;
  for (size_t z = 0; z < c.Depth; ++z)
    for (size_t y = 0; y < c.Height && c.WidthInBytes; ++y) {
      uint8_t *to, *from, *toValid, *fromValid;
      uint64_t toAt = c.dstXInBytes + c.dstPitch * (c.dstY + y + c.dstHeight * (c.dstZ + z));
      uint64_t fromAt = c.srcXInBytes + c.srcPitch * (c.srcY + y + c.srcHeight * (c.srcZ + z));
      if (!side(context, c.dstMemoryType, c.dstDevice, c.dstHost, toAt, c.WidthInBytes, "copy to the device", to,
                toValid) ||
          !side(context, c.srcMemoryType, c.srcDevice, const_cast<void *>(c.srcHost), fromAt, c.WidthInBytes,
                "copy from the device", from, fromValid))
        return CUDA_ERROR_INVALID_VALUE;
      std::memmove(to, from, c.WidthInBytes);
      if (toValid && fromValid)
        std::memmove(toValid, fromValid, c.WidthInBytes);
      else if (toValid)
        std::memset(toValid, 1, c.WidthInBytes);
    }
  return CUDA_SUCCESS;
}

static CUresult runFill(Context &context, const FillWork &w) {
  if (w.bytes != 1 && w.bytes != 2 && w.bytes != 4)
    return CUDA_ERROR_INVALID_VALUE;
  for (size_t row = 0; row < w.height && w.width; ++row) {
    uint8_t *to, *valid;
    if (w.to % w.bytes ||
        !side(context, CU_MEMORYTYPE_DEVICE, w.to, nullptr, row * w.pitch, w.width * w.bytes, "memset", to, valid))
      return CUDA_ERROR_INVALID_VALUE;
    for (size_t n = 0; n < w.width; ++n)
      std::memcpy(to + n * w.bytes, &w.value, w.bytes);
    std::memset(valid, 1, w.width * w.bytes);
  }
  return CUDA_SUCCESS;
}

static CUresult runConditional(Context &context, const ConditionalWork &work) {
  auto it = driver().conditions.find(work.handle);
  if (it == driver().conditions.end())
    return CUDA_ERROR_INVALID_HANDLE;
  Condition &condition = it->second;
  if (work.type == 1) {
    while (condition.value) {
      Deferred::beforeTrip();
      if (CUresult status = runGraph(context, *work.bodies[0]))
        return status;
    }
    return CUDA_SUCCESS;
  }
  const size_t which = work.type == 2 ? condition.value : condition.value ? 0 : 1;
  return which < work.bodies.size() ? runGraph(context, *work.bodies[which]) : CUDA_SUCCESS;
}

CUresult perform(Context &context, const Work &work) {
  if (context.error)
    return context.error;
  if (auto *kernel = std::get_if<KernelWork>(&work))
    return runKernel(context, *kernel);
  if (auto *copy = std::get_if<CUDA_MEMCPY3D>(&work))
    return runCopy(context, *copy);
  if (auto *fill = std::get_if<FillWork>(&work))
    return runFill(context, *fill);
  if (auto *host = std::get_if<HostWork>(&work)) {
    host->call(host->data);
    return CUDA_SUCCESS;
  }
  if (auto *child = std::get_if<ChildWork>(&work))
    return runGraph(context, *child->graph);
  if (auto *conditional = std::get_if<ConditionalWork>(&work))
    return runConditional(context, *conditional);
  return CUDA_SUCCESS;
}

CUresult submit(Context &context, Stream *stream, Work work) {
  if (isMade(stream)) {
    if (!context.streams.contains(stream))
      return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture) {
      auto node = std::make_unique<Node>();
      node->work = std::move(work);
      if (!stream->capture->nodes.empty())
        node->after.push_back(stream->capture->nodes.back().get());
      stream->capture->nodes.push_back(std::move(node));
      return CUDA_SUCCESS;
    }
  }
  if (driver().defersLoops && std::holds_alternative<KernelWork>(work)) {
    driver().deferred =
        std::make_unique<Deferred>([&context, work = std::move(work)] { return perform(context, work); });
    return CUDA_SUCCESS;
  }
  return perform(context, work);
}

// Each once those before it are done; of those that may run, the one that was made last: programs as a rule make nodes
// in an order that is right, which would hide that a dependency is missing.
CUresult runGraph(Context &context, const Graph &graph) {
  std::map<const Node *, size_t> waiting; // for how many others
  std::map<const Node *, std::vector<size_t>> followers;
  std::set<size_t> ready;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node &node = *graph.nodes[n];
    waiting[&node] = node.after.size();
    for (const Node *before : node.after)
      followers[before].push_back(n);
    if (node.after.empty())
      ready.insert(n);
  }
  size_t done = 0;
  for (; !ready.empty(); ++done) {
    const size_t last = *ready.rbegin();
    ready.erase(last);
    const Node *node = graph.nodes[last].get();
    if (CUresult status = perform(context, node->work))
      return status;
    for (size_t follower : followers[node])
      if (--waiting[graph.nodes[follower].get()] == 0)
        ready.insert(follower);
  }
  return done == graph.nodes.size() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; // a cycle
}

} // namespace sinter::ptx

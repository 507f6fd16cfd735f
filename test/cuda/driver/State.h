// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the driver keeps: contexts, modules, streams, graphs. Work is done when it is submitted; a fault becomes the
// context's error, which later calls return, as the real driver does.
#pragma once

#include "Abi.h"
#include "Deferred.h"
#include "test/cuda/machine/Machine.h"

#include <mutex>
#include <set>
#include <variant>

#define SINTER_CUDA_API extern "C" __attribute__((visibility("default")))

namespace sinter::ptx {

struct LoadedFunction {
  LoadedModule *module;
  const Code *code;
  unsigned maxDynamicShared = 48 * 1024;
};
struct LoadedModule {
  Context *context;
  std::unique_ptr<Module> module;
  std::map<std::string, std::unique_ptr<LoadedFunction>> functions;
};

/// PTX that becomes an image.
struct Link {
  Context *context;
  std::string image;
};

struct KernelWork {
  LoadedFunction *function;
  Dim3 grid, block, cluster;
  uint32_t dynamicShared;
  std::vector<uint8_t> params;
  bool cooperative = false;
};
struct FillWork {
  CUdeviceptr to;
  size_t pitch;
  unsigned value, bytes;
  size_t width, height;
};
struct HostWork {
  void (*call)(void *);
  void *data;
};
struct ChildWork {
  std::shared_ptr<Graph> graph;
};
struct ConditionalWork {
  uint64_t handle;
  int type;
  std::vector<std::shared_ptr<Graph>> bodies;
  std::vector<Graph *> handles; // what phGraph_out points to
};
using Work = std::variant<std::monostate, KernelWork, CUDA_MEMCPY3D, FillWork, HostWork, ChildWork, ConditionalWork>;

struct Node {
  Work work;
  std::vector<Node *> after;
};
struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;
  bool owned = false;         // by a node
  Context *context = nullptr; // where it was made
};
struct Executable {
  Context *context;
  std::shared_ptr<Graph> graph;
  std::map<const Node *, Node *> copies; // of the nodes that it was made from
};
struct Condition {
  uint32_t value = 0, initial = 0;
  bool assign = false;
  Graph *graph = nullptr; // which has its node
  bool isTaken = false;   // by a node
};
struct Stream {
  Context *context;
  std::unique_ptr<Graph> capture;
};
/// Whether it was made, and is not one of the context's own: 0, or 1 and 2, the legacy and the per-thread stream.
inline bool isMade(const Stream *stream) { return reinterpret_cast<uintptr_t>(stream) > 2; }
inline bool isCapturing(const Stream *stream) { return isMade(stream) && stream->capture; }
struct Event {
  Context *context;
  double time = 0; // ms
  bool recorded = false;
};

struct Context {
  Context(CUdevice device, uint64_t *top) : memory(unsigned(device), top), device(device) {}
  Memory memory;
  CUdevice device;
  CUresult error = CUDA_SUCCESS;
  std::set<LoadedModule *> modules;
  std::set<Stream *> streams;
  std::set<Event *> events;
  std::set<Executable *> executables;
  std::map<void *, CUdeviceptr> hostAllocations;  // 0: kernels do not see it
  std::map<CUdeviceptr, std::string> allocations; // still held
  bool primary = false;
};

/// One of the devices that SINTER_PTX_DEVICE names.
struct DeviceState {
  Device device;
  Context *primary = nullptr;
  unsigned primaryUsers = 0;
  uint64_t top = 0; // of the addresses that were given out
};

struct Driver {
  std::recursive_mutex mutex;
  bool initialized = false;
  std::vector<DeviceState> devices = std::vector<DeviceState>(1);
  std::set<Context *> contexts;
  std::set<Graph *> graphs;
  std::set<Link *> links;
  std::map<uint64_t, Condition> conditions;
  uint64_t nextCondition = 1;
  std::string report, printed;
  uint64_t calls[4] = {}, failAt[4] = {}; // allocations, copies, launches, modules
  uint64_t exhaustedFrom = 0;             // the first allocation of all that fail
  uint64_t instructions = 0;
  std::map<std::string, uint64_t> counts; // of calls that tests ask about
  bool defersLoops = false;
  std::unique_ptr<Deferred> deferred; // a graph or a kernel that is not done
};
enum Injected { Allocations, Copies, Launches, Modules };

Driver &driver();
const Device &deviceOf(const Context &context);
std::vector<Context *> &contextStack(); // of this thread
/// Adds a line to the report, and to the file that SINTER_PTX_REPORT names; to stderr if that is not set.
void tell(const std::string &line);
/// Counts a call; true if it is one that was asked to fail.
bool injected(Injected kind);
CUresult errorOf(FaultKind kind);

/// What each call begins with: the lock, the end of a graph that is not done, and the current context if it is fit for
/// work.
class Call {
public:
  explicit Call(bool needsContext = true);
  CUresult status = CUDA_SUCCESS;
  Context *context = nullptr;
  explicit operator bool() const { return status == CUDA_SUCCESS; }

private:
  std::lock_guard<std::recursive_mutex> lock;
};

/// Waits for the graph or the kernel that is not done.
void finishDeferred();
CUresult perform(Context &context, const Work &work);
/// Does the work, or adds it to the graph that the stream captures.
CUresult submit(Context &context, Stream *stream, Work work);
CUresult runGraph(Context &context, const Graph &graph);
CUresult kernelWork(const CUDA_KERNEL_NODE_PARAMS &params, KernelWork &work);
void endContext(Context *context);

} // namespace sinter::ptx

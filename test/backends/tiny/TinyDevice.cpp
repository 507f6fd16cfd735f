// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TinyDevice.h"
#include "runtime/device.h"
#include <condition_variable>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <thread>
#include <unistd.h>

using namespace sinter;

namespace {
/// Where the device's memory begins for the host: nothing is mapped there.
constexpr int64_t kBegin = int64_t(1) << 46;
constexpr int64_t kBytes = int64_t(1) << 26;

struct Task {
  std::function<int32_t()> run;
  std::vector<int64_t> reads, writes; // buffers, by where they begin
  bool ordered = false, isLaunch = false;
  std::string kernel;
};

bool meet(const std::vector<int64_t> &a, const std::vector<int64_t> &b) {
  for (int64_t x : a)
    for (int64_t y : b)
      if (x == y)
        return true;
  return false;
}

bool mustFollow(const Task &task, const Task &earlier) {
  return meet(task.writes, earlier.writes) || meet(task.writes, earlier.reads) || meet(task.reads, earlier.writes) ||
         (task.ordered && earlier.ordered);
}

class Device {
public:
  Device() : memory(kBytes) {}
  ~Device() {
    {
      std::lock_guard lock(mutex);
      ends = true;
    }
    changed.notify_all();
    if (worker.joinable())
      worker.join();
    if (library)
      dlclose(library);
  }

  bool load(std::string_view payload, const char *weights, size_t weightBytes, std::string &error) {
    begin();
    char path[] = "/tmp/sinter-tiny-XXXXXX";
    int file = mkstemp(path);
    bool written = file >= 0 && write(file, payload.data(), payload.size()) == static_cast<ssize_t>(payload.size());
    if (file >= 0)
      close(file);
    if (library)
      dlclose(library);
    library = written ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
    unlink(path);
    if (!library) {
      error = "cannot load the code of back end tiny";
      return false;
    }
    trace = {};
    buffers.clear();
    firstFree = (static_cast<int64_t>(weightBytes) + 127) / 64 * 64;
    std::memcpy(memory.data(), weights, weightBytes);
    buffers[0] = firstFree; // the weights
    if (!worker.joinable())
      worker = std::thread([this] { work(); });
    return true;
  }

  void begin() {
    waitFor([](const Task &) { return true; });
    std::lock_guard lock(mutex);
    status = 0;
    if (!buffers.empty())
      buffers.erase(std::next(buffers.begin()), buffers.end());
  }

  void *acquire(int64_t bytes) {
    std::lock_guard lock(mutex);
    int64_t size = (std::max<int64_t>(bytes, 1) + 63) / 64 * 64, at = firstFree;
    for (auto [offset, taken] : buffers) // first fit
      if (offset >= firstFree) {
        if (offset - at >= size)
          break;
        at = offset + taken;
      }
    if (bytes < 0 || at + size > kBytes)
      return nullptr;
    buffers[at] = size;
    std::memset(memory.data() + at, 0xCD, size);
    return reinterpret_cast<void *>(kBegin + at);
  }

  /// The buffer that an address lies in; -1 for one that is not the device's.
  int64_t bufferOf(int64_t address, int64_t bytes = 0) {
    std::lock_guard lock(mutex);
    int64_t offset = address - kBegin;
    auto after = buffers.upper_bound(offset);
    if (offset < 0 || after == buffers.begin())
      return -1;
    auto [begin, size] = *std::prev(after);
    return offset + bytes <= begin + size ? begin : -1;
  }
  char *real(int64_t address) { return memory.data() + (address - kBegin); }

  void push(Task task) {
    std::lock_guard lock(mutex);
    trace.launches += task.isLaunch;
    if (task.ordered)
      trace.ordered.push_back(task.kernel);
    queue.push_back(std::move(task));
  }

  /// Until nothing in the queue is `awaited`. The worker runs only while somebody waits, so that the queue is long.
  void waitFor(const std::function<bool(const Task &)> &awaited) {
    std::unique_lock lock(mutex);
    ++waiting;
    changed.notify_all();
    changed.wait(lock, [&] {
      for (const Task &task : queue)
        if (awaited(task))
          return false;
      return true;
    });
    --waiting;
  }

  bool isBusy(int64_t buffer) {
    std::lock_guard lock(mutex);
    for (const Task &task : queue)
      if (meet({buffer}, task.writes))
        return true;
    return false;
  }

  void *library = nullptr;
  tiny::Trace trace;
  int32_t status = 0;
  std::mutex mutex;
  std::map<int64_t, int64_t> buffers; // where they begin, and bytes

private:
  void work() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [&] { return ends || (waiting && !queue.empty()); });
      if (ends)
        return;
      // The newest that no older one keeps waiting.
      auto chosen = queue.end();
      for (auto task = queue.begin(); task != queue.end(); ++task) {
        bool isReady = true;
        for (auto earlier = queue.begin(); earlier != task; ++earlier)
          isReady &= !mustFollow(*task, *earlier);
        if (isReady)
          chosen = task;
      }
      for (auto earlier = queue.begin(); earlier != chosen; ++earlier)
        if (earlier->isLaunch && chosen->isLaunch) {
          ++trace.overtaken;
          break;
        }
      if (chosen->ordered)
        trace.running.push_back(chosen->kernel);
      auto run = chosen->run;
      lock.unlock();
      int32_t code = run();
      lock.lock();
      status = status ? status : code;
      queue.erase(chosen);
      changed.notify_all();
    }
  }

  std::vector<char> memory;
  int64_t firstFree = 0;
  std::list<Task> queue;
  std::condition_variable changed;
  std::thread worker;
  int waiting = 0;
  bool ends = false;
};

Device &device() {
  static Device one;
  return one;
}

int64_t wordOf(const void *pointer) { return reinterpret_cast<int64_t>(pointer); }

int32_t refuse(sinter_context *ctx, const char *message) { return ctx->fail(ctx, SINTER_RUNTIME_ERROR, message, 0, 0); }

int32_t begin(const sinter_device *, sinter_context *) {
  device().begin();
  return 0;
}

void *acquire(const sinter_device *, sinter_context *ctx, int64_t bytes) {
  void *buffer = device().acquire(bytes);
  if (!buffer)
    ctx->fail(ctx, SINTER_OUT_OF_MEMORY, "back end tiny has no memory for a buffer of {} bytes", bytes, 0);
  return buffer;
}

void release(const sinter_device *, sinter_context *, void *buffer) {
  int64_t at = device().bufferOf(wordOf(buffer));
  Task task;
  task.writes = {at};
  task.run = [at] {
    std::lock_guard lock(device().mutex);
    device().buffers.erase(at);
    return 0;
  };
  device().push(std::move(task));
}

void *weight(const sinter_device *, sinter_context *, int64_t offset) {
  return reinterpret_cast<void *>(kBegin + offset);
}

int32_t copy(const sinter_device *, sinter_context *ctx, void *to, const void *from, int64_t bytes, int32_t direction) {
  Task task;
  if (direction != SINTER_COPY_TO_HOST)
    task.writes = {device().bufferOf(wordOf(to), bytes)};
  if (direction != SINTER_COPY_TO_DEVICE)
    task.reads = {device().bufferOf(wordOf(from), bytes)};
  if ((!task.writes.empty() && task.writes[0] < 0) || (!task.reads.empty() && task.reads[0] < 0))
    return refuse(ctx, "a copy leaves the memory of back end tiny");
  switch (direction) {
  case SINTER_COPY_TO_DEVICE: {
    ++device().trace.copiesIn;
    std::string taken(static_cast<const char *>(from), static_cast<size_t>(bytes));
    task.run = [to = device().real(wordOf(to)), taken] {
      std::memcpy(to, taken.data(), taken.size());
      return 0;
    };
    break;
  }
  case SINTER_COPY_TO_HOST:
    ++device().trace.copiesOut;
    if (device().isBusy(task.reads[0]))
      return refuse(ctx, "a copy from back end tiny requires a wait before it");
    std::memcpy(to, device().real(wordOf(from)), static_cast<size_t>(bytes));
    return 0;
  default:
    task.run = [to = device().real(wordOf(to)), from = device().real(wordOf(from)), bytes] {
      std::memmove(to, from, static_cast<size_t>(bytes));
      return 0;
    };
  }
  device().push(std::move(task));
  return 0;
}

int32_t clear(const sinter_device *, sinter_context *ctx, void *to, int64_t bytes) {
  Task task;
  task.writes = {device().bufferOf(wordOf(to), bytes)};
  if (task.writes[0] < 0)
    return refuse(ctx, "back end tiny is to clear what is not its own");
  task.run = [to = device().real(wordOf(to)), bytes] {
    std::memset(to, 0, static_cast<size_t>(bytes));
    return 0;
  };
  device().push(std::move(task));
  return 0;
}

int32_t launch(const sinter_device *, sinter_context *ctx, const char *kernel, const int64_t *words,
               const uint8_t *roles, int64_t numWords, int64_t, int32_t ordered) {
  auto function = reinterpret_cast<int32_t (*)(const int64_t *)>(dlsym(device().library, kernel));
  if (!function)
    return refuse(ctx, "back end tiny has no such kernel");
  Task task;
  std::vector<int64_t> arguments(words, words + numWords);
  for (int64_t i = 0; i < numWords; ++i) {
    if (roles[i] == SINTER_WORD_SIZE)
      continue;
    int64_t buffer = device().bufferOf(words[i]);
    if (buffer < 0)
      return refuse(ctx, "back end tiny got an address that is not its own");
    (roles[i] == SINTER_WORD_WRITTEN ? task.writes : task.reads).push_back(buffer);
    arguments[static_cast<size_t>(i)] = wordOf(device().real(words[i]));
  }
  task.kernel = kernel;
  task.isLaunch = true;
  task.ordered = ordered != 0;
  task.run = [function, arguments] { return function(arguments.data()); };
  device().push(std::move(task));
  return 0;
}

int32_t wait(const sinter_device *, sinter_context *, void *buffer) {
  int64_t at = device().bufferOf(wordOf(buffer));
  ++device().trace.waits;
  device().waitFor([at](const Task &task) { return meet({at}, task.reads) || meet({at}, task.writes); });
  return device().status;
}
} // namespace

bool tiny::loadDevice(std::string_view payload, const char *weights, size_t weightBytes, std::string &error) {
  return device().load(payload, weights, weightBytes, error);
}

tiny::Trace tiny::traceDevice() {
  device().waitFor([](const Task &) { return true; });
  return device().trace;
}

extern "C" {
__attribute__((visibility("default"))) extern const sinter_device sinter_device_tiny;
const sinter_device sinter_device_tiny = {
    SINTER_DEVICE_VERSION, sizeof(sinter_device), begin, acquire, release, weight, copy, clear, launch, wait};
}

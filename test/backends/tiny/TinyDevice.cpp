// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TinyDevice.h"
#include "runtime/driver.h"
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <string_view>
#include <thread>
#include <unistd.h>

using namespace sinter;

namespace {
/// Where the memory of device n begins for the host, n * kStride further: nothing is mapped there.
constexpr int64_t kFirst = int64_t(1) << 46, kStride = int64_t(1) << 30;
constexpr int64_t kBytes = int64_t(1) << 26;

std::atomic<int> numAcquires, failingAcquire, numDevices;

struct Task {
  std::function<int32_t()> run;
  std::vector<int64_t> reads, writes; // buffers, by where they begin
  bool ordered = false, isLaunch = false;
  std::string kernel;
  const void *session = nullptr;
};

struct Buffer {
  int64_t bytes;
  const void *session; // null: the weights
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

class Device : public sinter_device {
public:
  Device(const sinter_device &functions, int number)
      : sinter_device(functions), base(kFirst + number * kStride), memory(kBytes) {
    ++numDevices;
  }
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
    --numDevices;
  }

  bool load(const sinter_device_code &code) {
    std::string_view payload(static_cast<const char *>(code.payload), static_cast<size_t>(code.bytes));
    if (payload.substr(0, 4) != "tiny" || payload.size() < 16 ||
        std::stoull(std::string(payload.substr(4, 12))) != payload.size() - 16)
      return false;
    payload.remove_prefix(16);
    char path[] = "/tmp/sinter-tiny-XXXXXX";
    int file = mkstemp(path);
    bool written = file >= 0 && write(file, payload.data(), payload.size()) == static_cast<ssize_t>(payload.size());
    if (file >= 0)
      close(file);
    library = written ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
    unlink(path);
    if (!library)
      return false;
    firstFree = (code.weight_bytes + 127) / 64 * 64;
    if (code.weight_bytes)
      std::memcpy(memory.data(), code.weights, static_cast<size_t>(code.weight_bytes));
    buffers[0] = {firstFree, nullptr};
    worker = std::thread([this] { work(); });
    return true;
  }

  /// What the session had is given up.
  void begin(const void *session) {
    waitFor([=](const Task &task) { return task.session == session; });
    std::lock_guard lock(mutex);
    status.erase(session);
    std::erase_if(buffers, [=](const auto &entry) { return entry.second.session == session; });
  }

  void *acquire(int64_t bytes, const void *session) {
    if (++numAcquires == failingAcquire)
      return nullptr;
    std::lock_guard lock(mutex);
    int64_t size = (std::max<int64_t>(bytes, 1) + 63) / 64 * 64, at = firstFree;
    for (auto [offset, buffer] : buffers) // first fit
      if (offset >= firstFree) {
        if (offset - at >= size)
          break;
        at = offset + buffer.bytes;
      }
    if (bytes < 0 || at + size > kBytes)
      return nullptr;
    buffers[at] = {size, session};
    std::memset(memory.data() + at, 0xCD, size);
    return reinterpret_cast<void *>(base + at);
  }

  /// The buffer that an address lies in; -1 for one that is not the device's.
  int64_t bufferOf(int64_t address, int64_t bytes = 0) {
    std::lock_guard lock(mutex);
    int64_t offset = address - base;
    auto after = buffers.upper_bound(offset);
    if (offset < 0 || after == buffers.begin())
      return -1;
    auto [begin, buffer] = *std::prev(after);
    return offset + bytes <= begin + buffer.bytes ? begin : -1;
  }
  char *real(int64_t address) { return memory.data() + (address - base); }

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
  std::map<const void *, int32_t> status; // by session
  std::mutex mutex;
  std::map<int64_t, Buffer> buffers; // by where they begin
  const int64_t base;

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
      const void *session = chosen->session;
      lock.unlock();
      int32_t code = run();
      lock.lock();
      if (code && !status[session])
        status[session] = code;
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

Device *newest; // of those that are loaded

Device &of(const sinter_device *device) { return *const_cast<Device *>(static_cast<const Device *>(device)); }

int64_t wordOf(const void *pointer) { return reinterpret_cast<int64_t>(pointer); }

int32_t refuse(sinter_context *ctx, const char *message) { return ctx->fail(ctx, SINTER_RUNTIME_ERROR, message, 0, 0); }

int32_t begin(const sinter_device *self, sinter_context *ctx) {
  of(self).begin(ctx);
  return 0;
}

void end(const sinter_device *self, sinter_context *ctx) { of(self).begin(ctx); }

void *acquire(const sinter_device *self, sinter_context *ctx, int64_t bytes) {
  void *buffer = of(self).acquire(bytes, ctx);
  if (!buffer)
    ctx->fail(ctx, SINTER_OUT_OF_MEMORY, "back end tiny has no memory for a buffer of {} bytes", bytes, 0);
  return buffer;
}

void release(const sinter_device *self, sinter_context *ctx, void *buffer) {
  int64_t at = of(self).bufferOf(wordOf(buffer));
  Task task;
  task.session = ctx;
  task.writes = {at};
  task.run = [at, &device = of(self)] {
    std::lock_guard lock(device.mutex);
    device.buffers.erase(at);
    return 0;
  };
  of(self).push(std::move(task));
}

void *weight(const sinter_device *self, sinter_context *, int64_t offset) {
  return reinterpret_cast<void *>(of(self).base + offset);
}

int32_t copy(const sinter_device *self, sinter_context *ctx, void *to, const void *from, int64_t bytes,
             int32_t direction) {
  Task task;
  task.session = ctx;
  if (direction != SINTER_COPY_TO_HOST)
    task.writes = {of(self).bufferOf(wordOf(to), bytes)};
  if (direction != SINTER_COPY_TO_DEVICE)
    task.reads = {of(self).bufferOf(wordOf(from), bytes)};
  if ((!task.writes.empty() && task.writes[0] < 0) || (!task.reads.empty() && task.reads[0] < 0))
    return refuse(ctx, "a copy leaves the memory of back end tiny");
  switch (direction) {
  case SINTER_COPY_TO_DEVICE: {
    ++of(self).trace.copiesIn;
    std::string taken(static_cast<const char *>(from), static_cast<size_t>(bytes));
    task.run = [to = of(self).real(wordOf(to)), taken] {
      std::memcpy(to, taken.data(), taken.size());
      return 0;
    };
    break;
  }
  case SINTER_COPY_TO_HOST:
    ++of(self).trace.copiesOut;
    if (of(self).isBusy(task.reads[0]))
      return refuse(ctx, "a copy from back end tiny requires a wait before it");
    std::memcpy(to, of(self).real(wordOf(from)), static_cast<size_t>(bytes));
    return 0;
  default:
    task.run = [to = of(self).real(wordOf(to)), from = of(self).real(wordOf(from)), bytes] {
      std::memmove(to, from, static_cast<size_t>(bytes));
      return 0;
    };
  }
  of(self).push(std::move(task));
  return 0;
}

int32_t clear(const sinter_device *self, sinter_context *ctx, void *to, int64_t bytes) {
  Task task;
  task.session = ctx;
  task.writes = {of(self).bufferOf(wordOf(to), bytes)};
  if (task.writes[0] < 0)
    return refuse(ctx, "back end tiny is to clear what is not its own");
  task.run = [to = of(self).real(wordOf(to)), bytes] {
    std::memset(to, 0, static_cast<size_t>(bytes));
    return 0;
  };
  of(self).push(std::move(task));
  return 0;
}

int32_t launch(const sinter_device *self, sinter_context *ctx, const char *kernel, const int64_t *words,
               const uint8_t *roles, int64_t numWords, int64_t, int32_t ordered) {
  auto function = reinterpret_cast<int32_t (*)(const int64_t *)>(dlsym(of(self).library, kernel));
  if (!function)
    return refuse(ctx, "back end tiny has no such kernel");
  Task task;
  task.session = ctx;
  std::vector<int64_t> arguments(words, words + numWords);
  for (int64_t i = 0; i < numWords; ++i) {
    if (roles[i] == SINTER_WORD_SIZE)
      continue;
    int64_t buffer = of(self).bufferOf(words[i]);
    if (buffer < 0)
      return refuse(ctx, "back end tiny got an address that is not its own");
    (roles[i] == SINTER_WORD_WRITTEN ? task.writes : task.reads).push_back(buffer);
    arguments[static_cast<size_t>(i)] = wordOf(of(self).real(words[i]));
  }
  task.kernel = kernel;
  task.isLaunch = true;
  task.ordered = ordered != 0;
  task.run = [function, arguments] { return function(arguments.data()); };
  of(self).push(std::move(task));
  return 0;
}

int32_t wait(const sinter_device *self, sinter_context *ctx, void *buffer) {
  int64_t at = of(self).bufferOf(wordOf(buffer));
  ++of(self).trace.waits;
  of(self).waitFor([at](const Task &task) { return meet({at}, task.reads) || meet({at}, task.writes); });
  std::lock_guard lock(of(self).mutex);
  return of(self).status[ctx];
}

void *keep(const sinter_device *self, int64_t bytes) { return of(self).acquire(bytes, self); }

void discard(const sinter_device *self, void *buffer) {
  of(self).waitFor([](const Task &) { return true; });
  int64_t at = of(self).bufferOf(wordOf(buffer));
  std::lock_guard lock(of(self).mutex);
  of(self).buffers.erase(at);
}

int32_t transfer(const sinter_device *self, void *to, const void *from, int64_t bytes, int32_t direction) {
  Device &device = of(self);
  ++device.trace.transfers;
  device.waitFor([](const Task &) { return true; });
  bool isIn = direction == SINTER_COPY_TO_DEVICE;
  if (device.bufferOf(wordOf(isIn ? to : from), bytes) < 0)
    return SINTER_RUNTIME_ERROR;
  std::memcpy(isIn ? device.real(wordOf(to)) : to, isIn ? from : device.real(wordOf(from)), static_cast<size_t>(bytes));
  return 0;
}

void *place(const sinter_device *device, sinter_context *ctx, int64_t bytes, void *) {
  return acquire(device, ctx, bytes);
}

constexpr sinter_device kFunctions = {SINTER_DEVICE_VERSION,
                                      sizeof(sinter_device),
                                      begin,
                                      acquire,
                                      release,
                                      weight,
                                      copy,
                                      clear,
                                      launch,
                                      wait,
                                      end,
                                      keep,
                                      discard,
                                      transfer,
                                      nullptr,
                                      place,
                                      nullptr,
                                      nullptr,
                                      nullptr,
                                      0,
                                      0};

int32_t runs(const sinter_driver *, const char *requirements, char *why) {
  std::snprintf(why, SINTER_DRIVER_TEXT_BYTES, "this machine has tiny-1");
  return std::strcmp(requirements, "tiny-1") == 0;
}

int32_t load(const sinter_driver *, const sinter_device_code *code, const sinter_device **result, char *why) {
  static std::atomic<int> number;
  auto device = std::make_unique<Device>(kFunctions, number++);
  if (!device->load(*code)) {
    std::snprintf(why, SINTER_DRIVER_TEXT_BYTES, "its length is not what it says");
    return SINTER_CORRUPT;
  }
  *result = newest = device.release();
  return 0;
}

void unload(const sinter_driver *, const sinter_device *device) {
  newest = newest == device ? nullptr : newest;
  delete &of(device);
}

const sinter_driver driver = {
    SINTER_DRIVER_VERSION, sizeof(sinter_driver), "tiny", nullptr, runs, load, unload, nullptr, nullptr};
} // namespace

void tiny::registerDriver() { sinter_driver_register("tiny", &driver); }

tiny::Trace tiny::traceDevice() {
  if (!newest)
    return {};
  newest->waitFor([](const Task &) { return true; });
  return newest->trace;
}

void tiny::failAcquire(int call) {
  numAcquires = 0;
  failingAcquire = call;
}

int tiny::countDevices() { return numDevices; }

int tiny::countBuffers() {
  std::lock_guard lock(newest->mutex);
  return static_cast<int>(newest->buffers.size()) - 1;
}

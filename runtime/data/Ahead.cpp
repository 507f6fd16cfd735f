// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// map and prefetch: threads that take records from the input in order, one at a time, work on them, and put the results
// into slots from which they are handed on in the same order. What is saved is where the first record not handed on is.

#include "Upstream.h"
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

using namespace sinter::data;

static double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

namespace {
/// On the reader's own thread.
class Mapped : public Iterator {
public:
  Mapped(std::unique_ptr<Iterator> input, Dataset::MapAt function, int64_t epoch)
      : input(std::move(input)), function(std::move(function)), epoch(epoch) {}
  bool next(Record &record) override {
    Record read;
    if (!input.next(read))
      return false;
    record = function(read, {epoch, input.attempts() - 1});
    ++passed;
    return true;
  }
  void save(StateWriter &writer) const override { input.saveHere(writer); }
  void load(StateReader &reader) override { input.load(reader); }
  void report(std::vector<StageStatistics> &stages) const override {
    input.report(stages);
    stages.push_back({.stage = "map", .records = passed});
  }

private:
  Upstream input;
  Dataset::MapAt function;
  int64_t epoch, passed = 0;
};

class Ahead : public Iterator {
public:
  Ahead(std::unique_ptr<Iterator> input, Dataset::MapAt function, int64_t epoch, int threads, int capacity,
        const char *name)
      : input(std::move(input)), function(std::move(function)), epoch(epoch), numThreads(threads), name(name),
        slots(static_cast<size_t>(capacity)) {}

  ~Ahead() override {
    {
      std::lock_guard lock(mutex);
      isStopping = true;
    }
    room.notify_all();
    for (std::thread &worker : workers)
      worker.join();
  }

  bool next(Record &record) override {
    start();
    std::unique_lock lock(mutex);
    Slot &slot = slots[static_cast<size_t>(delivered) % slots.size()];
    auto isReady = [&] { return slot.isReady || (isAtEnd && delivered >= end); };
    if (!isReady()) {
      double from = now();
      ready.wait(lock, isReady);
      waitedForData += now() - from;
    }
    if (!slot.isReady)
      return false;
    std::exception_ptr error = slot.error;
    if (!slot.isFatal) { // else it stays, and is thrown again
      record = std::move(slot.record);
      slot = {};
      ++delivered;
    }
    lock.unlock();
    room.notify_all();
    if (error)
      std::rethrow_exception(error);
    ++passed;
    return true;
  }

  void save(StateWriter &writer) const override {
    std::lock_guard reading(inputMutex);
    std::lock_guard lock(mutex);
    input.save(writer, delivered);
  }

  void load(StateReader &reader) override { delivered = input.load(reader); }

  void report(std::vector<StageStatistics> &stages) const override {
    std::lock_guard reading(inputMutex);
    std::lock_guard lock(mutex);
    input.report(stages);
    stages.push_back(
        {.stage = name, .records = passed, .secondsForData = waitedForData, .secondsForConsumer = waitedForRoom});
  }

private:
  struct Slot {
    bool isReady = false, isFatal = false;
    Record record;
    std::exception_ptr error;
  };

  void start() {
    if (!workers.empty())
      return;
    for (int t = 0; t < numThreads; ++t)
      workers.emplace_back([this] { work(); });
  }

  /// Reads the next record; its number, or -1 at the end or when it is time to stop.
  int64_t readOne(Slot &result) {
    std::unique_lock reading(inputMutex);
    int64_t number, taken;
    for (;;) {
      number = input.attempts();
      std::unique_lock lock(mutex);
      if (isStopping || isAtEnd)
        return -1;
      taken = delivered;
      auto hasRoom = [&] { return isStopping || isAtEnd || number < delivered + static_cast<int64_t>(slots.size()); };
      if (hasRoom())
        break;
      // Not while holding the input: save() needs it, and its caller is who makes room.
      reading.unlock();
      double from = now();
      room.wait(lock, hasRoom);
      waitedForRoom += now() - from;
      lock.unlock();
      reading.lock();
    }
    if (number % static_cast<int64_t>(slots.size()) == 0) {
      input.mark();
      input.forgetBefore(taken);
    }
    try {
      if (input.next(result.record))
        return number;
    } catch (const Error &error) {
      result.error = std::current_exception();
      result.isFatal = !error.skippable();
    } catch (...) {
      result.error = std::current_exception();
      result.isFatal = true;
    }
    std::lock_guard lock(mutex);
    if (!result.error || result.isFatal) {
      isAtEnd = true;
      end = number + (result.error ? 1 : 0);
    }
    return result.error ? number : -1;
  }

  void work() {
    for (;;) {
      Slot result;
      int64_t number = readOne(result);
      if (number >= 0 && !result.error) {
        try {
          result.record = function(result.record, {epoch, number});
        } catch (...) {
          result.error = std::current_exception();
        }
      }
      bool isAwaited = number < 0;
      if (number >= 0) {
        std::lock_guard lock(mutex);
        result.isReady = true;
        slots[static_cast<size_t>(number) % slots.size()] = std::move(result);
        isAwaited = number == delivered; // who reads waits for no other
      }
      if (isAwaited)
        ready.notify_all();
      if (number < 0) {
        room.notify_all();
        return;
      }
    }
  }

  mutable std::mutex inputMutex; // taken before `mutex`
  Upstream input;
  Dataset::MapAt function;
  int64_t epoch;
  int numThreads;
  const char *name;

  mutable std::mutex mutex; // all that follows
  std::condition_variable room, ready;
  std::vector<Slot> slots;
  std::vector<std::thread> workers;
  int64_t delivered = 0, end = 0, passed = 0;
  bool isAtEnd = false, isStopping = false;
  double waitedForData = 0, waitedForRoom = 0;
};
} // namespace

static Record unchanged(const Record &record, Position) { return record; }

Dataset Dataset::mapAt(MapAt function, MapOptions options) const {
  if (options.threads < 0 || options.capacity < 0)
    throw Error(SINTER_INVALID_ARGUMENT, "map requires threads and a capacity of 0 or more");
  return Dataset(
      std::make_shared<FunctionStage>(node, "map", [=](const Node &input, int64_t epoch) -> std::unique_ptr<Iterator> {
        if (options.threads == 0)
          return std::make_unique<Mapped>(input.begin(epoch), function, epoch);
        return std::make_unique<Ahead>(input.begin(epoch), function, epoch, options.threads,
                                       options.capacity ? options.capacity : options.threads * 4, "map");
      }));
}

Dataset Dataset::map(Map function, MapOptions options) const {
  return mapAt([function = std::move(function)](const Record &record, Position) { return function(record); }, options);
}

Dataset Dataset::prefetch(int records) const {
  if (records < 1)
    throw Error(SINTER_INVALID_ARGUMENT, "prefetch requires 1 record or more, got " + std::to_string(records));
  return Dataset(std::make_shared<FunctionStage>(node, "map", [=](const Node &input, int64_t epoch) {
    return std::make_unique<Ahead>(input.begin(epoch), unchanged, epoch, 1, records, "prefetch");
  }));
}

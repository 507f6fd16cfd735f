// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// map and prefetch: threads that take records from the input in order, one at a time, into slots, work on them there,
// and hand them on in the same order. Whoever waits for a record does the same work meanwhile: it reads where nobody
// does, and works on what is read. What is saved is where the first record not handed on is.

#include "Upstream.h"
#include <algorithm>
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

/// Without a function records stay what they are.
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
    Slot &slot = slotOf(delivered);
    auto isReady = [&] { return slot.state == Slot::Ready || (isAtEnd && delivered >= end); };
    if (!isReady()) {
      double from = now();
      while (!isReady())
        if (!step(lock, consumer)) {
          isAwaiting = true;
          ready.wait(lock);
          isAwaiting = false;
        }
      waitedForData += now() - from;
    }
    if (slot.state != Slot::Ready)
      return false;
    std::exception_ptr error = slot.error;
    Record taken;
    if (!slot.isFatal) { // else it stays, and is thrown again
      taken = std::move(slot.record);
      slot = {};
      ++delivered;
    }
    // Who sleeps for want of room is woken for more than one record: that costs a call of the kernel.
    bool wakes = numIdle > 0 && 2 * numFree() >= static_cast<int64_t>(slots.size());
    lock.unlock();
    if (wakes)
      room.notify_all();
    record = std::move(taken); // what it was is given back, which takes time
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
  static constexpr int consumer = -1, anybody = -2; // beside the numbers of workers

  struct Slot {
    enum State { Empty, Read, Taken, Ready } state = Empty; // Taken: somebody works on it
    bool isFatal = false;
    int reader = 0; // the thread
    Record record;
    std::exception_ptr error;
  };

  /// How long something takes.
  struct Times {
    double sum = 0, count = 0;
    void add(double seconds) { sum += seconds, ++count; }
    double mean() const { return count > 0 ? sum / count : 0; }
  };

  using Lock = std::unique_lock<std::mutex>;

  Slot &slotOf(int64_t number) { return slots[static_cast<size_t>(number) % slots.size()]; }
  int64_t numFree() const { return delivered + static_cast<int64_t>(slots.size()) - numRead; }

  void start() {
    if (!workers.empty())
      return;
    numRead = firstRead = input.attempts();
    for (int t = 0; t < numThreads; ++t)
      workers.emplace_back([this, t] { work(t); });
  }

  void work(int thread) {
    Lock lock(mutex);
    while (!isStopping && !(isAtEnd && find(anybody) < 0)) {
      if (step(lock, thread))
        continue;
      double from = now();
      bool isFull = numFree() == 0;
      ++numIdle;
      room.wait(lock);
      --numIdle;
      waitedForRoom += isFull ? now() - from : 0;
    }
  }

  /// Reads a record or works on one, if there is something to do that nobody else does. Records that come from a
  /// window, say, lie in the cache of who has read that: it takes them all, works on them first, and others read the
  /// next window.
  bool step(Lock &lock, int thread) {
    bool mayRead = !isReading && !isAtEnd && !isStopping && numFree() > 0 && (thread != consumer || isQuickToRead());
    if (mayRead && isAtHand && thread == lastReader)
      return readOne(lock, thread), true;
    int64_t number = find(thread);
    if (number < 0 && mayRead && !isAtHand)
      return readOne(lock, thread), true;
    if (number < 0)
      number = find(anybody);
    if (number >= 0)
      return workOnOne(lock, number), true;
    if (mayRead)
      readOne(lock, thread);
    return mayRead;
  }

  /// Whoever waits for a record may read others where that is not what everybody will wait for.
  bool isQuickToRead() const { return reading.mean() < working.mean(); }

  /// The first record that is read and that nobody works on yet, of those that a thread has read; -1 where there is
  /// none.
  int64_t find(int thread) {
    firstRead = std::max(firstRead, delivered);
    while (firstRead < numRead && slotOf(firstRead).state != Slot::Read)
      ++firstRead;
    for (int64_t number = firstRead; number < numRead; ++number)
      if (const Slot &slot = slotOf(number); slot.state == Slot::Read && (thread == anybody || slot.reader == thread))
        return number;
    return -1;
  }

  /// `lock` is open meanwhile.
  void readOne(Lock &lock, int thread) {
    isReading = true;
    lastReader = thread;
    int64_t number = numRead, oldest = delivered;
    lock.unlock();
    double from = now();
    Slot slot;
    bool isThere = read(number, oldest, slot), nextIsAtHand = input.isAtHand();
    double seconds = now() - from;
    lock.lock();
    reading.add(seconds);
    isReading = false;
    isAtHand = nextIsAtHand;
    if (isThere) {
      slot.reader = thread;
      slot.state = function && !slot.error ? Slot::Read : Slot::Ready;
      isAtEnd = slot.isFatal;
      slotOf(number) = std::move(slot);
      numRead = number + 1;
    }
    isAtEnd |= !isThere;
    if (isAtEnd) {
      end = numRead;
      room.notify_all();
    } else if (numIdle > 0) {
      room.notify_one(); // there is something to work on, or to read
    }
    if (isAwaiting)
      ready.notify_one();
  }

  /// Reads the record of a number, or the error that stands there. False at the end.
  bool read(int64_t number, int64_t oldest, Slot &slot) {
    std::lock_guard lock(inputMutex);
    try {
      if (number % static_cast<int64_t>(slots.size()) == 0) {
        input.mark();
        input.forgetBefore(oldest);
      }
      return input.next(slot.record);
    } catch (const Error &error) {
      slot.error = std::current_exception();
      slot.isFatal = !error.skippable();
    } catch (...) {
      slot.error = std::current_exception();
      slot.isFatal = true;
    }
    return true;
  }

  /// `lock` is open meanwhile.
  void workOnOne(Lock &lock, int64_t number) {
    Slot &slot = slotOf(number); // nobody else looks at it before it is ready
    slot.state = Slot::Taken;
    lock.unlock();
    double from = now();
    try {
      slot.record = function(slot.record, {epoch, number});
    } catch (...) {
      slot.error = std::current_exception();
    }
    double seconds = now() - from;
    lock.lock();
    working.add(seconds);
    slot.state = Slot::Ready;
    if (isAwaiting && number == delivered)
      ready.notify_one();
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
  int64_t delivered = 0, numRead = 0, end = 0, passed = 0;
  int64_t firstRead = 0;                    // no record before it waits for somebody to work on it
  int lastReader = anybody, numIdle = 0;    // workers that wait for `room`
  bool isReading = false, isAtHand = false; // the input: somebody reads it; its next record is
  bool isAwaiting = false;                  // the consumer waits for `ready`
  bool isAtEnd = false, isStopping = false;
  Times reading, working;
  double waitedForData = 0, waitedForRoom = 0;
};
} // namespace

Dataset Dataset::mapAt(MapAt function, MapOptions options) const {
  if (options.threads < 0 || options.capacity < 0)
    throw Error(SINTER_INVALID_ARGUMENT, "map requires threads and a capacity of 0 or more");
  std::string text = options.text.empty() ? "map" : "map " + options.text;
  return Dataset(
      std::make_shared<FunctionStage>(node, text, [=](const Node &input, int64_t epoch) -> std::unique_ptr<Iterator> {
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
    return std::make_unique<Ahead>(input.begin(epoch), nullptr, epoch, 1, records, "prefetch");
  }));
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sessions on threads of the program.

#include "Functions.h"
#include <atomic>
#include <chrono>
#include <fstream>
#include <gtest/gtest.h>
#include <mutex>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

using namespace sinter::test;

namespace {

using Task = void (*)(void *data, int32_t index);

template <typename T> T *pointer(int64_t word) { return reinterpret_cast<T *>(word); }
template <typename T> int64_t word(T *pointer) { return reinterpret_cast<int64_t>(pointer); }

/// What the entry runs; of its thread.
struct Job {
  sinter_kernel_fn kernel;
  std::vector<int64_t> args;
  int64_t chunks;
  int repeats = 1;
};
thread_local Job job;

int32_t runKernel(sinter_context *context, const sinter_tensor_slot *, sinter_tensor_slot *, const int64_t *,
                  const void *) {
  for (int i = 0; i < job.repeats; ++i)
    if (int32_t status = context->parallel(context, job.kernel, job.args.data(), job.chunks))
      return status;
  return SINTER_OK;
}

int32_t countKernel(sinter_context *, const int64_t *args, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    pointer<std::atomic<int>>(args[0])[i].fetch_add(1, std::memory_order_relaxed);
  return SINTER_OK;
}

void onThreads(void *, Task task, void *data, int32_t count) {
  std::vector<std::thread> threads;
  for (int32_t k = 0; k < count; ++k)
    threads.emplace_back(task, data, k);
  for (auto &thread : threads)
    thread.join();
}
void onTheCaller(void *, Task task, void *data, int32_t count) {
  for (int32_t k = 0; k < count; ++k)
    task(data, k);
}
void backwards(void *, Task task, void *data, int32_t count) {
  for (int32_t k = count - 1; k >= 0; --k)
    task(data, k);
}
void onOneOther(void *, Task task, void *data, int32_t) { std::thread(task, data, 5).join(); }
void nothing(void *, Task, void *, int32_t) {}

struct Kind {
  const char *name;
  void (*run)(void *, Task, void *, int32_t);
};
constexpr Kind kinds[] = {{"threads", onThreads},
                          {"the caller", onTheCaller},
                          {"backwards", backwards},
                          {"one other", onOneOther},
                          {"nothing", nothing}};

TEST(Executor, EveryChunkRunsOnceHoweverItCalls) {
  Function function(runKernel, {}, {});
  for (const Kind &kind : kinds)
    for (int threads : {1, 2, 5}) {
      Session session(function, threads, {}, 0, {kind.run, nullptr});
      ASSERT_EQ(session.status, SINTER_OK);
      EXPECT_EQ(sinter_session_threads(session), threads);
      for (int64_t chunks : {0, 1, 2, 7, 17, 4099}) {
        std::vector<std::atomic<int>> counts(static_cast<size_t>(chunks) + 1);
        job = {countKernel, {word(counts.data())}, chunks, 20};
        ASSERT_EQ(sinter_session_run(session), SINTER_OK);
        for (int64_t i = 0; i < chunks; ++i)
          ASSERT_EQ(counts[static_cast<size_t>(i)], 20) << kind.name << ", chunk " << i << " of " << chunks;
        EXPECT_EQ(counts[static_cast<size_t>(chunks)], 0);
      }
    }
}

struct Counted {
  int calls = 0;
  int32_t most = 0;
  static void run(void *user, Task task, void *data, int32_t count) {
    auto *self = static_cast<Counted *>(user);
    ++self->calls;
    self->most = std::max(self->most, count);
    onThreads(nullptr, task, data, count);
  }
};

TEST(Executor, IsAskedForAtMostAsManyThreadsAsTheSessionHas) {
  Function function(runKernel, {}, {});
  Counted counted;
  Session session(function, 3, {}, 0, {Counted::run, &counted});
  std::vector<std::atomic<int>> counts(1000);
  job = {countKernel, {word(counts.data())}, 1000};
  EXPECT_EQ(sinter_session_run(session), SINTER_OK);
  EXPECT_EQ(counted.calls, 1);
  EXPECT_EQ(counted.most, 3);
  job = {countKernel, {word(counts.data())}, 1}; // one chunk is not worth a thread
  EXPECT_EQ(sinter_session_run(session), SINTER_OK);
  EXPECT_EQ(counted.calls, 1);
}

/// Threads that run kernels.
std::set<pthread_t> seen;
std::mutex seenLock;
int32_t noteThread(sinter_context *, const int64_t *, int64_t, int64_t) {
  std::lock_guard lock(seenLock);
  seen.insert(pthread_self());
  return SINTER_OK;
}

int numThreads() {
  int count = 0;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("Threads:", 0) == 0)
      count = std::stoi(line.substr(8));
  return count;
}

TEST(Executor, ASessionMakesNoThreadsOfItsOwn) {
  Function function(runKernel, {}, {});
  int before = numThreads();
  Session session(function, 8, {}, 0, {onTheCaller, nullptr});
  EXPECT_EQ(numThreads(), before);
  seen.clear();
  job = {noteThread, {}, 100};
  EXPECT_EQ(sinter_session_run(session), SINTER_OK);
  EXPECT_EQ(seen, std::set<pthread_t>{pthread_self()});
}

int32_t failAt(sinter_context *, const int64_t *args, int64_t begin, int64_t end) {
  return begin <= args[0] && args[0] < end ? SINTER_INVALID_ARGUMENT : SINTER_OK;
}

TEST(Executor, TellsTheStatusOfAnyThread) {
  Function function(runKernel, {}, {});
  for (const Kind &kind : kinds) {
    Session session(function, 4, {}, 0, {kind.run, nullptr});
    for (int64_t chunk : {0, 50, 99}) {
      job = {failAt, {chunk}, 100};
      EXPECT_EQ(sinter_session_run(session), SINTER_INVALID_ARGUMENT) << kind.name;
    }
    job = {failAt, {-1}, 100};
    EXPECT_EQ(sinter_session_run(session), SINTER_OK) << kind.name;
  }
}

int32_t cancelKernel(sinter_context *, const int64_t *args, int64_t, int64_t) {
  sinter_session_cancel(pointer<sinter_session>(args[0]));
  return SINTER_OK;
}

TEST(Executor, ACallThatIsCancelledEnds) {
  Function function(runKernel, {}, {});
  for (const Kind &kind : kinds) {
    Session session(function, 3, {}, 0, {kind.run, nullptr});
    job = {cancelKernel, {word(session.session)}, 1000, 1000000};
    EXPECT_EQ(sinter_session_run(session), SINTER_CANCELLED) << kind.name;
  }
}

#if defined(__x86_64__)
int32_t floatStateKernel(sinter_context *, const int64_t *args, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    pointer<unsigned>(args[0])[i] = _mm_getcsr() & ~0x3Fu;
  return SINTER_OK;
}

const unsigned odd = 0x1F80 | 0x8040 | 0x6000; // flush to zero, denormals are zero, round to zero
unsigned afterwards;
void onAnOddThread(void *, Task task, void *data, int32_t) {
  std::thread([&] {
    _mm_setcsr(odd);
    task(data, 1);
    afterwards = _mm_getcsr();
  }).join();
}

TEST(Executor, FloatingPointControlOfItsThreadsIsDefaultInsideAndRestored) {
  Function function(runKernel, {}, {});
  Session session(function, 2, {}, 0, {onAnOddThread, nullptr});
  std::vector<unsigned> states(12);
  job = {floatStateKernel, {word(states.data())}, 12};
  EXPECT_EQ(sinter_session_run(session), SINTER_OK);
  EXPECT_EQ(states, std::vector<unsigned>(12, 0x1F80));
  EXPECT_EQ(afterwards, odd);
}
#endif

struct Shared {
  sinter_shared_threads *threads = nullptr;
  explicit Shared(int32_t workers) { EXPECT_EQ(sinter_shared_threads_create(workers, &threads), SINTER_OK); }
  ~Shared() { sinter_shared_threads_destroy(threads); }
  operator sinter_executor() const { return sinter_shared_threads_executor(threads); }
};

TEST(SharedThreads, RunSessionsOfSeveralThreadsAtOnce) {
  Function function(runKernel, {}, {});
  Shared shared(2);
  int before = numThreads();
  std::vector<std::thread> users;
  std::atomic<int> most{0};
  for (int u = 0; u < 4; ++u)
    users.emplace_back([&] {
      std::vector<std::atomic<int>> counts(67);
      for (int s = 0; s < 10; ++s) {
        Session session(function, 3, {}, 0, shared);
        job = {countKernel, {word(counts.data())}, 67, 50};
        EXPECT_EQ(sinter_session_run(session), SINTER_OK);
        most = std::max(most.load(), numThreads());
      }
      for (auto &count : counts)
        EXPECT_EQ(count, 500);
    });
  for (auto &user : users)
    user.join();
  EXPECT_LE(most, before + 4); // as many as there are users: sessions bring none
}

int32_t waitForTwo(sinter_context *, const int64_t *args, int64_t, int64_t) {
  auto *inside = pointer<std::atomic<int>>(args[0]);
  inside->fetch_add(1);
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (*inside < 2)
    if (std::chrono::steady_clock::now() > end)
      return SINTER_OUT_OF_MEMORY;
  return SINTER_OK;
}

TEST(SharedThreads, AnIdleWorkerHelps) {
  Function function(runKernel, {}, {});
  Shared shared(1);
  Session session(function, 2, {}, 0, shared);
  for (int tries = 0;; ++tries) { // the worker may not have begun to wait yet
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::atomic<int> inside{0};
    seen.clear();
    job = {noteThread, {}, 100};
    ASSERT_EQ(sinter_session_run(session), SINTER_OK);
    job = {waitForTwo, {word(&inside)}, 2};
    if (sinter_session_run(session) == SINTER_OK)
      break;
    ASSERT_LT(tries, 3);
  }
}

TEST(SharedThreads, AChildProcessWorksOnItsOwn) {
  Function function(runKernel, {}, {});
  Shared shared(3);
  std::vector<std::atomic<int>> counts(50);
  Session session(function, 4, {}, 0, shared);
  job = {countKernel, {word(counts.data())}, 50};
  ASSERT_EQ(sinter_session_run(session), SINTER_OK);
  pid_t child = fork();
  if (child == 0) { // without the workers
    int status = sinter_session_run(session);
    for (auto &count : counts)
      status |= count != 2;
    sinter_session_destroy(session);
    sinter_shared_threads_destroy(shared.threads);
    _exit(status);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(SharedThreads, AChildProcessAsksNoExecutor) {
  Function function(runKernel, {}, {});
  Counted counted;
  Session session(function, 4, {}, 0, {Counted::run, &counted});
  std::vector<std::atomic<int>> counts(50);
  job = {countKernel, {word(counts.data())}, 50};
  ASSERT_EQ(sinter_session_run(session), SINTER_OK);
  pid_t child = fork();
  if (child == 0)
    _exit(sinter_session_run(session) || counted.calls != 1);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(SharedThreads, RefuseNumbersThatNobodyMeans) {
  sinter_shared_threads *threads;
  EXPECT_EQ(sinter_shared_threads_create(-1, &threads), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(std::string(sinter_last_error()), "shared threads require 0 to 1023 workers, got -1");
  EXPECT_EQ(sinter_shared_threads_create(1024, &threads), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(threads, nullptr);
}

} // namespace

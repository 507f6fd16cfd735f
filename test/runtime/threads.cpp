// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Functions.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

using namespace sinter::test;

namespace {

/// What `runKernel` starts.
struct Job {
  sinter_kernel_fn kernel;
  std::vector<int64_t> args;
  int64_t chunks;
  int repeats = 1;
};
Job job;

int32_t runKernel(sinter_context *context, const sinter_tensor_slot *, sinter_tensor_slot *, const int64_t *,
                  const void *) {
  for (int i = 0; i < job.repeats; ++i)
    if (int32_t status = context->parallel(context, job.kernel, job.args.data(), job.chunks))
      return status;
  return SINTER_OK;
}

template <typename T> T *pointer(int64_t word) { return reinterpret_cast<T *>(word); }
template <typename T> int64_t word(T *pointer) { return reinterpret_cast<int64_t>(pointer); }

int32_t countKernel(sinter_context *, const int64_t *args, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    pointer<std::atomic<int>>(args[0])[i].fetch_add(1, std::memory_order_relaxed);
  return SINTER_OK;
}

TEST(Threads, EveryChunkRunsOnce) {
  Function function(runKernel, {}, {});
  for (int threads : {1, 2, 3, 8}) {
    Session session(function, threads);
    ASSERT_EQ(session.status, SINTER_OK);
    EXPECT_EQ(sinter_session_threads(session), threads);
    for (int64_t chunks : {0, 1, 2, 3, 7, 16, 17, 1000, 4099}) {
      std::vector<std::atomic<int>> counts(static_cast<size_t>(chunks) + 1);
      job = {countKernel, {word(counts.data())}, chunks, 20};
      ASSERT_EQ(sinter_session_run(session), SINTER_OK);
      for (int64_t i = 0; i < chunks; ++i)
        ASSERT_EQ(counts[static_cast<size_t>(i)], 20) << threads << " threads, chunk " << i << " of " << chunks;
      EXPECT_EQ(counts[static_cast<size_t>(chunks)], 0);
    }
  }
}

int32_t countCalls(sinter_context *, const int64_t *args, int64_t begin, int64_t end) {
  pointer<std::atomic<int>>(args[0])->fetch_add(1, std::memory_order_relaxed);
  pointer<std::atomic<int64_t>>(args[1])->fetch_add(end - begin, std::memory_order_relaxed);
  return SINTER_OK;
}

// Calls make again what their chunks share: a strip, a padded copy.
TEST(Threads, ManyChunksRunInFewCalls) {
  Function function(runKernel, {}, {});
  for (auto [threads, most] : {std::pair{1, 16}, {2, 16}, {8, 64}}) {
    Session session(function, threads);
    for (int64_t chunks : {4096, 100000}) {
      std::atomic<int> calls{0};
      std::atomic<int64_t> run{0};
      job = {countCalls, {word(&calls), word(&run)}, chunks};
      ASSERT_EQ(sinter_session_run(session), SINTER_OK);
      EXPECT_EQ(run, chunks);
      EXPECT_LE(calls, most) << threads << " threads, " << chunks << " chunks";
    }
  }
}

/// Partial sums in f32, one per chunk.
int32_t sumKernel(sinter_context *, const int64_t *args, int64_t begin, int64_t end) {
  for (int64_t c = begin; c < end; ++c) {
    float sum = 0;
    for (int64_t i = c * args[2]; i < (c + 1) * args[2]; ++i)
      sum += pointer<const float>(args[0])[i];
    pointer<float>(args[1])[c] = sum;
  }
  return SINTER_OK;
}

TEST(Threads, ResultsAreBitEqualForEveryThreadCount) {
  const int64_t chunks = 37, perChunk = 211;
  std::vector<float> x(chunks * perChunk), expected, partial(chunks);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = 1.0f / static_cast<float>(i + 1);
  Function function(runKernel, {}, {});
  for (int threads : {1, 2, 3, 5, 8}) {
    Session session(function, threads);
    job = {sumKernel, {word(x.data()), word(partial.data()), perChunk}, chunks};
    for (int repeat = 0; repeat < 50; ++repeat) {
      std::fill(partial.begin(), partial.end(), -1.0f);
      ASSERT_EQ(sinter_session_run(session), SINTER_OK);
      if (expected.empty())
        expected = partial;
      ASSERT_EQ(partial, expected);
    }
  }
}

int32_t failingKernel(sinter_context *context, const int64_t *args, int64_t begin, int64_t end) {
  if (begin <= args[0] && args[0] < end)
    return context->fail(context, SINTER_RUNTIME_ERROR, "index {} is outside of [0, {})", args[0], args[1]);
  return SINTER_OK;
}

TEST(Threads, AnErrorOfAnyChunkEndsTheCall) {
  Function function(runKernel, {}, {});
  for (int threads : {1, 4}) {
    Session session(function, threads);
    for (int64_t bad : {0, 13, 99}) {
      job = {failingKernel, {bad, 7}, 100};
      EXPECT_EQ(sinter_session_run(session), SINTER_RUNTIME_ERROR);
      EXPECT_EQ(lastError(), "index " + std::to_string(bad) + " is outside of [0, 7)");
    }
    job = {failingKernel, {-1, 7}, 100};
    EXPECT_EQ(sinter_session_run(session), SINTER_OK);
  }
}

/// The number of the step is the second word.
int32_t stepKernel(sinter_context *, const int64_t *args, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    auto &counts = pointer<std::atomic<int>>(args[0])[i];
    EXPECT_EQ(counts.load(std::memory_order_relaxed), args[1]) << "each step before ran this chunk once";
    counts.fetch_add(1, std::memory_order_relaxed);
  }
  return args[1] == args[2] ? SINTER_RUNTIME_ERROR : SINTER_OK;
}

int32_t runSteps(sinter_context *context, const sinter_tensor_slot *, sinter_tensor_slot *, const int64_t *,
                 const void *) {
  return context->repeat(context, job.kernel, job.args.data(), job.chunks, &job.args[1], job.repeats);
}

TEST(Threads, EachStepRunsAfterTheOneBefore) {
  Function function(runSteps, {}, {});
  for (int threads : {1, 2, 3, 8}) {
    Session session(function, threads);
    for (int64_t chunks : {1, 2, 7, 32, 1000}) {
      std::vector<std::atomic<int>> counts(static_cast<size_t>(chunks));
      auto run = [&](int64_t failsAt) {
        for (auto &count : counts)
          count = 0;
        job = {stepKernel, {word(counts.data()), -1, failsAt}, chunks, 50};
        return sinter_session_run(session);
      };
      ASSERT_EQ(run(-1), SINTER_OK) << lastError();
      for (auto &count : counts)
        ASSERT_EQ(count, 50);
      ASSERT_EQ(run(20), SINTER_RUNTIME_ERROR);
      for (auto &count : counts)
        ASSERT_LE(count, 21);
    }
  }
}

TEST(Threads, OnOneThreadAStepIsOneCall) {
  Function function(runSteps, {}, {});
  Session session(function, 1);
  static std::vector<int64_t> ends;
  ends.clear();
  job = {[](sinter_context *, const int64_t *, int64_t begin, int64_t end) -> int32_t {
           EXPECT_EQ(begin, 0);
           ends.push_back(end);
           return SINTER_OK;
         },
         {0, -1},
         100,
         3};
  ASSERT_EQ(sinter_session_run(session), SINTER_OK);
  EXPECT_EQ(ends, (std::vector<int64_t>{100, 100, 100}));
}

int32_t statusKernel(sinter_context *, const int64_t *args, int64_t, int64_t) { return static_cast<int32_t>(args[0]); }

TEST(Threads, AStatusWithoutAMessageGetsOne) {
  Function function(runKernel, {}, {});
  Session session(function, 3);
  job = {statusKernel, {SINTER_RUNTIME_ERROR}, 20};
  EXPECT_EQ(sinter_session_run(session), SINTER_RUNTIME_ERROR);
  EXPECT_EQ(lastError(), "function 'main' failed: runtime error");
  job = {statusKernel, {-5}, 20};
  EXPECT_EQ(sinter_session_run(session), SINTER_RUNTIME_ERROR);
  EXPECT_EQ(lastError(), "function 'main' returned the unknown status -5");
}

int32_t nestedKernel(sinter_context *context, const int64_t *args, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    if (int32_t status = context->parallel(context, countKernel, args, 10))
      return status;
  return SINTER_OK;
}

TEST(Threads, NestedRegionsRunInline) {
  Function function(runKernel, {}, {});
  Session session(function, 4);
  std::vector<std::atomic<int>> counts(10);
  job = {nestedKernel, {word(counts.data())}, 30};
  ASSERT_EQ(sinter_session_run(session), SINTER_OK);
  for (auto &count : counts)
    EXPECT_EQ(count, 30);
}

std::atomic<int> arrivals;

/// Ends when a second thread is inside, too, or was: a minute later none will come.
int32_t recordThreadKernel(sinter_context *, const int64_t *args, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    pointer<std::thread::id>(args[0])[i] = std::this_thread::get_id();
  ++arrivals;
  for (int wait = 0; arrivals < 2 && wait < 60000; ++wait)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return SINTER_OK;
}

TEST(Threads, SleepingWorkersWakeUp) {
  Function function(runKernel, {}, {});
  for (int32_t spin : {-1, 20}) {
    Session session(function, 3, {}, spin);
    for (int repeat = 0; repeat < 5; ++repeat) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5)); // all workers sleep now
      std::vector<std::thread::id> ids(24);
      job = {recordThreadKernel, {word(ids.data())}, 24};
      arrivals = 0;
      ASSERT_EQ(sinter_session_run(session), SINTER_OK);
      std::sort(ids.begin(), ids.end());
      EXPECT_GE(std::unique(ids.begin(), ids.end()) - ids.begin(), 2);
    }
  }
}

TEST(Threads, IdleWorkersUseNoTime) {
  Function function(runKernel, {}, {});
  Session session(function, 4);
  std::vector<std::atomic<int>> counts(100);
  job = {countKernel, {word(counts.data())}, 100};
  ASSERT_EQ(sinter_session_run(session), SINTER_OK);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  clock_t before = clock(); // of all threads
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(static_cast<double>(clock() - before) / CLOCKS_PER_SEC, 0.05);
}

TEST(Threads, ManySmallRegionsInARow) {
  Function function(runKernel, {}, {});
  Session session(function, 2);
  std::vector<std::atomic<int>> counts(3);
  job = {countKernel, {word(counts.data())}, 3, 20000};
  ASSERT_EQ(sinter_session_run(session), SINTER_OK);
  for (auto &count : counts)
    EXPECT_EQ(count, 20000);
}

/// Regions of 2 chunks and of `chunks` take turns.
int32_t alternate(sinter_context *context, const sinter_tensor_slot *, sinter_tensor_slot *, const int64_t *,
                  const void *) {
  for (int i = 0; i < job.repeats; ++i)
    if (int32_t status = context->parallel(context, job.kernel, job.args.data(), i % 2 ? job.chunks : 2))
      return status;
  return SINTER_OK;
}

// A worker that is late for a region of few blocks must not take blocks of the next one for its own, before that began:
// the caller waited forever for as many as there are.
TEST(Threads, ManyChunksFollowFew) {
  constexpr int regions = 2000000;
  Function function(alternate, {}, {});
  Session session(function, 24);
  std::vector<std::atomic<int>> counts(40);
  job = {countKernel, {word(counts.data())}, 40, regions};
  ASSERT_EQ(sinter_session_run(session), SINTER_OK);
  for (size_t i = 0; i < counts.size(); ++i)
    EXPECT_EQ(counts[i], i < 2 ? regions : regions / 2) << i;
}

std::atomic<bool> started;

/// Ends when the run is cancelled; the pool sees the request before the next block.
int32_t waitKernel(sinter_context *context, const int64_t *, int64_t, int64_t) {
  started = true;
  while (!__atomic_load_n(&context->cancelled, __ATOMIC_RELAXED))
    std::this_thread::yield();
  return SINTER_OK;
}

TEST(Threads, CancelStopsARun) {
  Function function(runKernel, {}, {});
  for (int threads : {1, 3}) {
    Session session(function, threads);
    started = false;
    job = {waitKernel, {}, 1000};
    std::thread canceller([&] {
      while (!started)
        std::this_thread::yield();
      sinter_session_cancel(session);
    });
    EXPECT_EQ(sinter_session_run(session), SINTER_CANCELLED);
    EXPECT_EQ(lastError(), "run of function 'main' was cancelled");
    canceller.join();
    // Without a run in progress it has no effect.
    sinter_session_cancel(session);
    job = {failingKernel, {-1, 0}, 10};
    EXPECT_EQ(sinter_session_run(session), SINTER_OK);
  }
}

TEST(Threads, ASecondThreadIsRefusedDuringARun) {
  Function function(runKernel, {}, {});
  Session session(function, 1);
  started = false;
  job = {waitKernel, {}, 40};
  std::thread other([&] {
    while (!started)
      std::this_thread::yield();
    EXPECT_EQ(sinter_session_run(session), SINTER_BUSY);
    EXPECT_EQ(lastError(), "session of function 'main' is in use by another thread");
    sinter_session_cancel(session);
  });
  EXPECT_EQ(sinter_session_run(session), SINTER_CANCELLED);
  other.join();
}

TEST(Threads, SessionsOfOneModuleRunSideBySide) {
  Function function(runKernel, {}, {});
  sinter_module *module;
  ASSERT_EQ(sinter_module_open_function(&function.function, nullptr, &module), SINTER_OK);
  std::vector<std::atomic<int>> counts(64);
  job = {countKernel, {word(counts.data())}, 64, 100};
  std::vector<std::thread> users;
  for (int u = 0; u < 4; ++u)
    users.emplace_back([&] {
      sinter_session_options options = {};
      options.struct_size = sizeof options;
      options.threads = 2;
      sinter_session *session;
      ASSERT_EQ(sinter_session_create(module, 0, &options, &session), SINTER_OK);
      EXPECT_EQ(sinter_session_run(session), SINTER_OK);
      sinter_session_destroy(session);
    });
  for (auto &user : users)
    user.join();
  sinter_module_close(module);
  for (auto &count : counts)
    EXPECT_EQ(count, 400);
}

TEST(Threads, AChildProcessWorksOnItsOwn) {
  Function function(runKernel, {}, {});
  Session session(function, 3);
  std::vector<std::atomic<int>> counts(50);
  job = {countKernel, {word(counts.data())}, 50};
  ASSERT_EQ(sinter_session_run(session), SINTER_OK);
  pid_t child = fork();
  if (child == 0) { // without the workers
    int status = sinter_session_run(session);
    for (auto &count : counts)
      status |= count != 2;
    _exit(status);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

#if defined(__x86_64__)
int32_t floatStateKernel(sinter_context *, const int64_t *args, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    pointer<unsigned>(args[0])[i] = _mm_getcsr() & ~0x3Fu;
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return SINTER_OK;
}

TEST(Threads, FloatingPointControlIsDefaultInsideAndRestored) {
  unsigned before = _mm_getcsr();
  unsigned odd = 0x1F80 | 0x8040 | 0x6000; // flush to zero, denormals are zero, round to zero
  _mm_setcsr(odd);
  Function function(runKernel, {}, {});
  Session session(function, 3);
  std::vector<unsigned> states(12);
  job = {floatStateKernel, {word(states.data())}, 12};
  EXPECT_EQ(sinter_session_run(session), SINTER_OK);
  unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_EQ(after, odd);
  EXPECT_EQ(states, std::vector<unsigned>(12, 0x1F80));
}
#endif

} // namespace

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#define _GNU_SOURCE
#include "threads.h"
#include "clock.h"
#include "status.h"
#include <inttypes.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

//===- The machine --------------------------------------------------------------------------------===//

void srtPauseCore(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb" ::: "memory"); // `yield` does nothing on most cores
#endif
}

/// Most blocks of a job, as `claim` counts them.
#define SRT_MOST_BLOCKS 0xFFFF

/// Sleeps while `*word == value`. May wake for no reason.
static void futexWait(_Atomic uint32_t *word, uint32_t value) {
  syscall(SYS_futex, (void *)word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futexWake(_Atomic uint32_t *word, int count) {
  syscall(SYS_futex, (void *)word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

uint64_t srtFloatStateSetDefault(void) {
#if defined(__x86_64__)
  uint64_t old = _mm_getcsr();
  _mm_setcsr(0x1F80); // all exceptions masked, round to nearest, denormals kept
  return old;
#elif defined(__aarch64__)
  uint64_t old, clear = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(old));
  __asm__ volatile("msr fpcr, %0" ::"r"(clear));
  return old;
#else
#error "floating-point control state: x86-64 and aarch64 only"
#endif
}

void srtFloatStateRestore(uint64_t state) {
#if defined(__x86_64__)
  _mm_setcsr((unsigned)state);
#elif defined(__aarch64__)
  __asm__ volatile("msr fpcr, %0" ::"r"(state));
#endif
}

/// The CPU quota of a container in percent of one core; 0 without one.
static int32_t quotaPercent(void) {
  FILE *file = fopen("/sys/fs/cgroup/cpu.max", "re");
  if (!file)
    return 0;
  int64_t quota = 0, period = 0;
  int numRead = fscanf(file, "%" SCNd64 " %" SCNd64, &quota, &period); // "max 100000" reads nothing
  fclose(file);
  if (numRead != 2 || quota <= 0 || period <= 0 || quota > INT64_MAX / 100 || quota * 100 / period >= INT32_MAX)
    return 0;
  int64_t percent = quota * 100 / period;
  return percent > 0 ? (int32_t)percent : 1;
}

void srtCoreLimits(int32_t *affinityCores, int32_t *quota) {
  cpu_set_t set;
  *affinityCores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0; // fails above 1024 cores
  *quota = quotaPercent();
}

int32_t srtUsableCores(int32_t online, int32_t affinity, int32_t quota) {
  int32_t cores = affinity > 0 ? affinity : online;
  int32_t allowed = quota > 0 ? (quota - 1) / 100 + 1 : cores; // a part of a core is one
  if (cores > allowed)
    cores = allowed;
  return cores > 0 ? cores : 1;
}

int32_t srtAvailableCores(void) {
  int32_t affinity, quota;
  srtCoreLimits(&affinity, &quota);
  return srtUsableCores(affinity ? 0 : (int32_t)sysconf(_SC_NPROCESSORS_ONLN), affinity, quota);
}

//===- Jobs ---------------------------------------------------------------------------------------===//

static void setStatus(Pool *pool, int32_t status) {
  int32_t none = SINTER_OK;
  atomic_compare_exchange_strong_explicit(&pool->status, &none, status, memory_order_relaxed, memory_order_relaxed);
}

static int32_t isCancelled(const sinter_context *context) {
  return __atomic_load_n(&context->cancelled, __ATOMIC_RELAXED) && !context->committing;
}

/// Claims blocks of job `epoch` from one end and runs them until there are none, then reports how many it ran.
static void work(Pool *pool, uint32_t epoch, int fromBack) {
  sinter_kernel_fn fn = atomic_load_explicit(&pool->fn, memory_order_relaxed);
  sinter_context *context = atomic_load_explicit(&pool->context, memory_order_relaxed);
  const int64_t *args = atomic_load_explicit(&pool->args, memory_order_relaxed);
  int64_t chunks = atomic_load_explicit(&pool->chunks, memory_order_relaxed);
  int64_t chunksPerBlock = atomic_load_explicit(&pool->chunksPerBlock, memory_order_relaxed);
  uint32_t blocks = (uint32_t)atomic_load_explicit(&pool->blocks, memory_order_acquire);

  uint32_t numRun = 0;
  uint64_t claim = atomic_load_explicit(&pool->claim, memory_order_acquire);
  for (;;) {
    uint32_t front = claim & 0xFFFF, back = claim >> 16 & 0xFFFF;
    if ((uint32_t)(claim >> 32) != epoch || front + back >= blocks)
      break;
    // Many at once while there are many: calls of few blocks make again what blocks beside each other share.
    uint32_t count = (blocks - front - back) / (2 * (uint32_t)pool->threads);
    if (count < 1)
      count = 1;
    uint64_t next = claim + (fromBack ? (uint64_t)count << 16 : count);
    if (!atomic_compare_exchange_weak_explicit(&pool->claim, &claim, next, memory_order_acq_rel, memory_order_acquire))
      continue;
    if (isCancelled(context))
      setStatus(pool, SINTER_CANCELLED);
    if (atomic_load_explicit(&pool->status, memory_order_relaxed) == SINTER_OK) {
      int64_t begin = (int64_t)(fromBack ? blocks - back - count : front) * chunksPerBlock;
      int64_t end = chunks - begin < count * chunksPerBlock ? chunks : begin + count * chunksPerBlock;
      int32_t status = fn(context, args, begin, end);
      if (status != SINTER_OK)
        setStatus(pool, status);
    }
    numRun += count;
    claim = atomic_load_explicit(&pool->claim, memory_order_acquire);
  }
  if (numRun == 0)
    return;
  uint32_t done = atomic_fetch_add(&pool->done, numRun) + numRun;
  if (done == blocks && atomic_load(&pool->callerSleeps))
    futexWake(&pool->done, 1);
}

/// Waits until `*word != value`: spins for the pool's time, then sleeps. `sleepers` counts the sleepers, so
/// that whoever changes the word knows that it must wake them.
static void waitWhileEqual(Pool *pool, _Atomic uint32_t *word, uint32_t value, _Atomic int32_t *sleepers) {
  if (pool->spinMicroseconds > 0) {
    int64_t deadline = 0;
    for (uint32_t i = 1;; ++i) {
      if (atomic_load_explicit(word, memory_order_acquire) != value)
        return;
      srtPauseCore();
      if (i % 64)
        continue;
      int64_t now = srtMonotonicNs();
      if (!deadline)
        deadline = now + (int64_t)pool->spinMicroseconds * 1000;
      else if (now >= deadline)
        break;
    }
  }
  // Sequentially consistent, as is the other side: either it sees the sleeper or this sees the new value.
  atomic_fetch_add(sleepers, 1);
  while (atomic_load(word) == value)
    futexWait(word, value);
  atomic_fetch_sub(sleepers, 1);
}

static void *workerMain(void *argument) {
  Pool *pool = argument;
  srtFloatStateSetDefault(); // a new thread inherits its creator's
  int fromBack = atomic_fetch_add_explicit(&pool->started, 1, memory_order_relaxed) % 2 == 0;
  for (uint32_t seen = 0;;) {
    waitWhileEqual(pool, &pool->epoch, seen, &pool->sleeping);
    if (atomic_load_explicit(&pool->stop, memory_order_acquire))
      return NULL;
    seen = atomic_load_explicit(&pool->epoch, memory_order_acquire);
    work(pool, seen, fromBack);
  }
}

/// What a thread of the program does for the job that runs.
static void hostTask(void *data, int32_t index) {
  Pool *pool = data;
  uint64_t floats = srtFloatStateSetDefault();
  work(pool, atomic_load_explicit(&pool->epoch, memory_order_acquire), index % 2 != 0);
  srtFloatStateRestore(floats);
}

/// One thread, one block or a busy pool. In pieces of about a millisecond, so that a cancelled call ends soon; calls of
/// few chunks make again what chunks beside each other share.
static int32_t runInline(sinter_context *context, sinter_kernel_fn fn, const int64_t *args, int64_t chunks) {
  int64_t piece = chunks / 16 + 1, start = chunks > piece ? srtMonotonicNs() : 0;
  for (int64_t begin = 0; begin < chunks;) {
    if (isCancelled(context))
      return SINTER_CANCELLED;
    int64_t end = chunks - begin < piece ? chunks : begin + piece;
    int32_t status = fn(context, args, begin, end);
    if (status != SINTER_OK)
      return status;
    begin = end;
    if (begin >= chunks)
      break;
    int64_t now = srtMonotonicNs(), times = 1000000 / (now - start + 1);
    piece = times > 64 ? piece * 64 : times > 1 ? piece * times : piece;
    start = now;
  }
  return SINTER_OK;
}

/// Whether a job runs on the calling thread alone.
static int runsInline(Pool *pool, int64_t chunks) {
  return chunks <= 1 || pool->threads <= 1 || atomic_load_explicit(&pool->busy, memory_order_relaxed);
}

int32_t srtPoolRepeat(Pool *pool, sinter_context *context, sinter_kernel_fn fn, const int64_t *args, int64_t chunks,
                      int64_t *step, int64_t steps) {
  for (*step = 0; *step < steps; ++*step) {
    if (isCancelled(context))
      return SINTER_CANCELLED;
    int32_t status =
        runsInline(pool, chunks) ? fn(context, args, 0, chunks) : srtPoolRun(pool, context, fn, args, chunks);
    if (status != SINTER_OK)
      return status;
  }
  return SINTER_OK;
}

int32_t srtPoolRun(Pool *pool, sinter_context *context, sinter_kernel_fn fn, const int64_t *args, int64_t chunks) {
  if (runsInline(pool, chunks))
    return runInline(context, fn, args, chunks);

  // Sixteen blocks a thread even out what is uneven; what a chunk computes does not depend on its block.
  int64_t chunksPerBlock = chunks / ((int64_t)pool->threads * 16);
  if (chunksPerBlock < 1)
    chunksPerBlock = 1;
  int64_t blocks = (chunks - 1) / chunksPerBlock + 1;
  if (blocks > SRT_MOST_BLOCKS) { // of thousands of threads
    chunksPerBlock = (chunks - 1) / SRT_MOST_BLOCKS + 1;
    blocks = (chunks - 1) / chunksPerBlock + 1;
  }
  // Whoever still looks for blocks of the job before must find none, however many this one has: no claim of it succeeds
  // once the number of blocks can be seen.
  uint32_t epoch = atomic_load_explicit(&pool->epoch, memory_order_relaxed) + 1;
  atomic_store(&pool->claim, (uint64_t)epoch << 32 | 0xFFFFFFFF);
  atomic_store_explicit(&pool->fn, fn, memory_order_relaxed);
  atomic_store_explicit(&pool->context, context, memory_order_relaxed);
  atomic_store_explicit(&pool->args, args, memory_order_relaxed);
  atomic_store_explicit(&pool->chunks, chunks, memory_order_relaxed);
  atomic_store_explicit(&pool->chunksPerBlock, chunksPerBlock, memory_order_relaxed);
  atomic_store_explicit(&pool->blocks, blocks, memory_order_release);
  atomic_store_explicit(&pool->busy, 1, memory_order_relaxed);
  atomic_store_explicit(&pool->status, SINTER_OK, memory_order_relaxed);
  atomic_store_explicit(&pool->done, 0, memory_order_relaxed);
  atomic_store_explicit(&pool->claim, (uint64_t)epoch << 32, memory_order_release);
  atomic_store(&pool->epoch, epoch);
  if (pool->executor.run && !pool->alone)
    pool->executor.run(pool->executor.user, hostTask, pool, (int32_t)(blocks < pool->threads ? blocks : pool->threads));
  int32_t sleeping = atomic_load(&pool->sleeping);
  if (sleeping > 0)
    futexWake(&pool->epoch, blocks - 1 < sleeping ? (int)(blocks - 1) : sleeping);

  work(pool, epoch, 0);
  uint32_t done;
  while ((done = atomic_load_explicit(&pool->done, memory_order_acquire)) != (uint32_t)blocks)
    waitWhileEqual(pool, &pool->done, done, &pool->callerSleeps);
  atomic_store_explicit(&pool->busy, 0, memory_order_relaxed);
  return atomic_load_explicit(&pool->status, memory_order_relaxed);
}

//===- Life ---------------------------------------------------------------------------------------===//

void srtPoolStop(Pool *pool) {
  atomic_store_explicit(&pool->stop, 1, memory_order_release);
  atomic_fetch_add(&pool->epoch, 1);
  futexWake(&pool->epoch, INT32_MAX);
  for (int32_t i = 0; i + 1 < pool->threads && !pool->executor.run; ++i)
    pthread_join(pool->workers[i], NULL);
  pool->threads = 1;
}

sinter_status_code srtPoolStart(Pool *pool, int32_t threads, int32_t spinMicroseconds, const sinter_executor *executor,
                                pthread_t *workers) {
  memset(pool, 0, sizeof *pool);
  pool->threads = 1;
  pool->spinMicroseconds = spinMicroseconds;
  pool->workers = workers;
  pool->executor = *executor;
  if (executor->run) {
    pool->threads = threads;
    return SINTER_OK;
  }
  // Signals are for the host's threads.
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  int error = 0;
  for (int32_t i = 0; i + 1 < threads && !error; ++i) {
    error = pthread_create(&workers[i], NULL, workerMain, pool);
    if (!error)
      pool->threads = i + 2;
  }
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  if (!error)
    return SINTER_OK;
  int32_t started = pool->threads;
  srtPoolStop(pool);
  return srtError(SINTER_OUT_OF_MEMORY, "session requires %d threads, got %d: %s", threads, started, strerror(error));
}

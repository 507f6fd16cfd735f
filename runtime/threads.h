// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A fork-join pool. The caller posts a job, takes part in it and returns when all its blocks are done;
// workers that come too late have nothing to do and are not waited for.
//
// One word, `claim`, holds the job's number and how many blocks were taken from either end. A thread owns a
// block when its compare-and-swap moves that word from its own job's number; so a late worker can never touch
// a newer job, and the fields that it read before the swap are the ones of its job. (A job's fields are
// overwritten only after all its blocks are done, which needs the block that the swap just took.)
//
// The caller takes from the front, workers in turn from the back and the front: what a loop runs again and
// again then mostly meets the cache that it was in before.
//
// Each session has its own pool: sessions then never wait for each other, and a pool is busy exactly
// when a kernel of its own session runs. Idle workers sleep, so that sessions at rest cost no time. With an executor
// the program's threads are the workers: what they do for a job is the same, and who comes too late has nothing to do.

#ifndef SINTER_RUNTIME_THREADS_H
#define SINTER_RUNTIME_THREADS_H

#include "sinter.h"
#include <pthread.h>
#include <stdatomic.h>

#define SRT_CACHE_LINE 64

typedef struct Pool {
  // Written by the session's thread, read by workers after `epoch` moved: one cache line in all, since each
  // line costs a transfer between cores.
  _Alignas(SRT_CACHE_LINE) _Atomic(sinter_kernel_fn) fn;
  _Atomic(sinter_context *) context;
  _Atomic(const int64_t *) args;
  _Atomic int64_t chunks;
  _Atomic int64_t chunksPerBlock;
  _Atomic int64_t blocks;
  _Atomic int32_t busy; // a job runs; kernels that call `parallel` see it and run inline

  _Atomic uint32_t epoch; // number of the latest job; workers sleep on it
  _Atomic int32_t stop;
  _Atomic int32_t sleeping; // workers asleep
  _Atomic int32_t started;  // workers that have run

  // job number << 32 | blocks taken from the back << 16 | from the front
  _Alignas(SRT_CACHE_LINE) _Atomic uint64_t claim;
  _Alignas(SRT_CACHE_LINE) _Atomic uint32_t done; // blocks done; the caller may sleep on it
  _Atomic int32_t callerSleeps;
  _Atomic int32_t status; // first error of the job

  _Alignas(SRT_CACHE_LINE) int32_t threads; // the caller included
  int32_t spinMicroseconds;
  int32_t alone;            // the executor's threads are those of another process: a fork was between
  sinter_executor executor; // with a `run`: in place of workers
  pthread_t *workers;
} Pool;

/// Starts `threads - 1` workers, none with an executor. `workers` is room for as many and stays the caller's.
sinter_status_code srtPoolStart(Pool *pool, int32_t threads, int32_t spinMicroseconds, const sinter_executor *executor,
                                pthread_t *workers);

/// Joins the workers. Not during a job.
void srtPoolStop(Pool *pool);

/// What sinter_context.parallel does. Returns the first non-zero status, or SINTER_CANCELLED.
int32_t srtPoolRun(Pool *pool, sinter_context *context, sinter_kernel_fn fn, const int64_t *args, int64_t chunks);

/// What sinter_context.repeat does. Returns as srtPoolRun does.
int32_t srtPoolRepeat(Pool *pool, sinter_context *context, sinter_kernel_fn fn, const int64_t *args, int64_t chunks,
                      int64_t *step, int64_t steps);

/// Cores that this process may use: its affinity mask, and a container's CPU quota rounded up.
int32_t srtAvailableCores(void);

/// Cores in the affinity mask (0: not told) and the CPU quota of the container in percent of one core (0: none).
void srtCoreLimits(int32_t *affinity, int32_t *quota);

/// Threads that a process with these limits can keep busy: at least 1.
int32_t srtUsableCores(int32_t online, int32_t affinity, int32_t quota);

/// Tells the core that its thread waits for another.
void srtPauseCore(void);

/// Sets the default floating-point control state on this thread and returns the old one.
uint64_t srtFloatStateSetDefault(void);
void srtFloatStateRestore(uint64_t state);

#endif

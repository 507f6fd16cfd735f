// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Workers that several sessions share. Who has work puts an entry, which lies on its stack, into a list; idle workers
// join entries that have calls left. The owner makes a call itself, takes its entry out of the list, and waits for the
// workers that have joined. One lock guards everything: it is taken twice for each call, and a call is a large part of
// a kernel.

#define _GNU_SOURCE
#include "clock.h"
#include "sinter.h"
#include "status.h"
#include "threads.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Entry {
  void (*task)(void *data, int32_t index);
  void *data;
  int32_t next, count; // calls that began, all calls
  int32_t inside;      // workers in a call
  pthread_cond_t left; // `inside` became 0
  struct Entry *after;
} Entry;

struct sinter_shared_threads {
  pthread_mutex_t lock;
  pthread_cond_t work;
  Entry *first;
  _Atomic uint32_t posted; // entries so far; idle workers look at it before they sleep
  _Atomic int32_t idle;
  int32_t stop;
  int32_t workers;
  pid_t owner;
  pthread_t threads[];
};

/// What a worker that has nothing to do waits for before it sleeps: a kernel's next one mostly comes within this time.
enum { spinMicroseconds = 50, mostWorkers = 1023 };

static Entry *entryWithCalls(const sinter_shared_threads *threads) {
  for (Entry *entry = threads->first; entry; entry = entry->after)
    if (entry->next < entry->count)
      return entry;
  return NULL;
}

/// Waits without the lock until entries were posted, for a short time.
static void spin(sinter_shared_threads *threads) {
  uint32_t seen = atomic_load_explicit(&threads->posted, memory_order_relaxed);
  pthread_mutex_unlock(&threads->lock);
  for (int64_t end = srtMonotonicNs() + spinMicroseconds * 1000;
       atomic_load_explicit(&threads->posted, memory_order_acquire) == seen && srtMonotonicNs() < end;)
    srtPauseCore();
  pthread_mutex_lock(&threads->lock);
}

static void *workerMain(void *argument) {
  sinter_shared_threads *threads = argument;
  pthread_mutex_lock(&threads->lock);
  for (int spun = 0; !threads->stop;) {
    Entry *entry = entryWithCalls(threads);
    if (!entry) {
      atomic_fetch_add(&threads->idle, 1);
      if (spun)
        pthread_cond_wait(&threads->work, &threads->lock);
      else
        spin(threads);
      atomic_fetch_sub(&threads->idle, 1);
      spun = !spun;
      continue;
    }
    spun = 0;
    int32_t index = entry->next++;
    ++entry->inside;
    pthread_mutex_unlock(&threads->lock);
    entry->task(entry->data, index);
    pthread_mutex_lock(&threads->lock);
    if (--entry->inside == 0)
      pthread_cond_signal(&entry->left);
  }
  pthread_mutex_unlock(&threads->lock);
  return NULL;
}

static void run(void *user, void (*task)(void *data, int32_t index), void *data, int32_t count) {
  sinter_shared_threads *threads = user;
  // Where nobody is idle the session's thread does all of it.
  if (count <= 1 || atomic_load(&threads->idle) == 0 || threads->owner != getpid())
    return;
  Entry entry = {.task = task, .data = data, .next = 1, .count = count, .left = PTHREAD_COND_INITIALIZER};
  pthread_mutex_lock(&threads->lock);
  entry.after = threads->first;
  threads->first = &entry;
  atomic_fetch_add_explicit(&threads->posted, 1, memory_order_release);
  for (int32_t i = 1; i < count && i <= threads->workers; ++i)
    pthread_cond_signal(&threads->work);
  pthread_mutex_unlock(&threads->lock);

  task(data, 0);

  pthread_mutex_lock(&threads->lock);
  Entry **place = &threads->first;
  while (*place != &entry)
    place = &(*place)->after;
  *place = entry.after;
  while (entry.inside > 0)
    pthread_cond_wait(&entry.left, &threads->lock);
  pthread_mutex_unlock(&threads->lock);
}

sinter_executor sinter_shared_threads_executor(sinter_shared_threads *threads) {
  return (sinter_executor){threads ? run : NULL, threads};
}

void sinter_shared_threads_destroy(sinter_shared_threads *threads) {
  if (!threads)
    return;
  if (threads->owner == getpid()) { // a child has none of them
    pthread_mutex_lock(&threads->lock);
    threads->stop = 1;
    atomic_fetch_add_explicit(&threads->posted, 1, memory_order_release);
    pthread_cond_broadcast(&threads->work);
    pthread_mutex_unlock(&threads->lock);
    for (int32_t i = 0; i < threads->workers; ++i)
      pthread_join(threads->threads[i], NULL);
  }
  free(threads);
}

sinter_status_code sinter_shared_threads_create(int32_t workers, sinter_shared_threads **result) {
  if (!result)
    return srtError(SINTER_INVALID_ARGUMENT, "shared threads require a place for them, got null");
  *result = NULL;
  if (workers < 0 || workers > mostWorkers)
    return srtError(SINTER_INVALID_ARGUMENT, "shared threads require 0 to %d workers, got %d", mostWorkers, workers);
  if (workers == 0)
    workers = srtAvailableCores() - 1;
  sinter_shared_threads *threads = calloc(1, sizeof *threads + (size_t)workers * sizeof(pthread_t));
  if (!threads)
    return srtError(SINTER_OUT_OF_MEMORY, "no memory for %d threads", workers);
  pthread_mutex_init(&threads->lock, NULL);
  pthread_cond_init(&threads->work, NULL);
  threads->owner = getpid();
  // Signals are for the host's threads.
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  int error = 0;
  while (threads->workers < workers && !error) {
    error = pthread_create(&threads->threads[threads->workers], NULL, workerMain, threads);
    threads->workers += !error;
  }
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  if (!error) {
    *result = threads;
    return SINTER_OK;
  }
  int32_t started = threads->workers;
  sinter_shared_threads_destroy(threads);
  return srtError(SINTER_OUT_OF_MEMORY, "shared threads require %d workers, got %d: %s", workers, started,
                  strerror(error));
}

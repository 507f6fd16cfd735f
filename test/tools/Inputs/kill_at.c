// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Preloaded into a program: sends it a signal at a chosen one of its calls that change files, so that a test kills it at
// the same moments in each run. What a killed program leaves depends on these calls alone. KILL_AT is the number of the
// call, from 1 on (0: none), and KILL_SIGNAL the signal (9 without). Of a write, half has happened. KILL_COUNT names a
// file for the number of calls that a program made which ended by itself.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static _Atomic long calls;

static long number(const char *name, long otherwise) {
  const char *text = getenv(name);
  return text ? atol(text) : otherwise;
}

/// Counts a call; true when it is the chosen one.
static int isChosen(void) { return ++calls == number("KILL_AT", 0); }
static void sendSignal(void) { kill(getpid(), (int)number("KILL_SIGNAL", SIGKILL)); }

#define NEXT(function) ((__typeof__(&function))dlsym(RTLD_NEXT, #function))

ssize_t write(int file, const void *data, size_t bytes) {
  if (file <= 2) // messages
    return NEXT(write)(file, data, bytes);
  if (!isChosen())
    return NEXT(write)(file, data, bytes);
  ssize_t written = NEXT(write)(file, data, (bytes + 1) / 2);
  sendSignal();
  return written;
}
ssize_t pwrite(int file, const void *data, size_t bytes, off_t at) {
  if (!isChosen())
    return NEXT(pwrite)(file, data, bytes, at);
  ssize_t written = NEXT(pwrite)(file, data, (bytes + 1) / 2, at);
  sendSignal();
  return written;
}
int rename(const char *from, const char *to) {
  if (isChosen())
    sendSignal();
  return NEXT(rename)(from, to);
}
int unlink(const char *path) {
  if (isChosen())
    sendSignal();
  return NEXT(unlink)(path);
}
int fsync(int file) {
  if (isChosen())
    sendSignal();
  return NEXT(fsync)(file);
}
int ftruncate(int file, off_t bytes) {
  if (isChosen())
    sendSignal();
  return NEXT(ftruncate)(file, bytes);
}

__attribute__((destructor)) static void end(void) {
  const char *path = getenv("KILL_COUNT");
  FILE *file = path ? fopen(path, "w") : NULL;
  if (!file)
    return;
  fprintf(file, "%ld\n", (long)calls);
  fclose(file);
}

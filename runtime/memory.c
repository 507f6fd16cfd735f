// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#define _GNU_SOURCE
#include "memory.h"
#include "tape.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

/// From here on memory is mapped, on a huge page boundary where the kernel grants them.
static const int64_t mapThreshold = 2 << 20;
static const int64_t hugePageBytes = 2 << 20;

static int64_t roundUp(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

/// What is mapped for `bytes`: whole pages, so that up to 2 MiB at the end are no huge page but nothing is wasted.
static int64_t mappedBytes(int64_t bytes) { return roundUp(bytes, sysconf(_SC_PAGESIZE)); }

/// Maps `bytes` at a multiple of the huge page size: maps more, then cuts both ends off.
static void *mapAligned(int64_t bytes, int hugePages) {
  int64_t size = mappedBytes(bytes);
  char *start = mmap(NULL, (size_t)(size + hugePageBytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED)
    return NULL;
  int64_t lead = (int64_t)(-(uintptr_t)start & (uintptr_t)(hugePageBytes - 1));
  if (lead)
    munmap(start, (size_t)lead);
  munmap(start + lead + size, (size_t)(hugePageBytes - lead));
  if (hugePages)
    madvise(start + lead, (size_t)size, MADV_HUGEPAGE); // advice: without huge pages it is only slower
  return start + lead;
}

/// From here on states and arenas lie in the folder, if there is one: below it a page or two would be read for each.
static const int64_t folderThreshold = 64 << 10;

static int isInFolder(const Memory *memory, MemoryUse use, int64_t bytes) {
  return memory->folder && (use == StateMemory || use == ArenaMemory) && bytes >= folderThreshold;
}

/// A file that no folder lists: its space is free again when nothing maps it, however the process ends.
static int openUnnamed(const char *folder) {
  int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
    return file;
  char path[PATH_MAX];
  if (snprintf(path, sizeof path, "%s/sinter-XXXXXX", folder) >= (int)sizeof path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  file = mkostemp(path, O_CLOEXEC);
  if (file >= 0)
    unlink(path);
  return file;
}

/// Maps a file in `folder`. The disk has its space before anything is written: a full one is an error here instead of
/// a signal there. Null with errno.
static void *mapFile(const char *folder, int64_t bytes) {
  int file = openUnnamed(folder);
  if (file < 0)
    return NULL;
  int problem = posix_fallocate(file, 0, mappedBytes(bytes));
  void *start = MAP_FAILED;
  if (!problem)
    start = mmap(NULL, (size_t)mappedBytes(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (!problem && start == MAP_FAILED)
    problem = errno;
  close(file);
  errno = problem;
  return problem ? NULL : start;
}

FolderProblem srtFolderProblem(const Memory *memory, MemoryUse use, int64_t bytes) {
  int problem = errno;
  FolderProblem result = {""};
  if (isInFolder(memory, use, bytes))
    snprintf(result.text, sizeof result.text, " in folder '%.200s': %s", memory->folder, strerror(problem));
  return result;
}

/// Memory and swap of the machine, or what the container may have. The system promises more than that, and kills the
/// process that uses it.
static int64_t machineBytes(void) {
  static _Atomic int64_t known;
  int64_t bytes = known;
  if (bytes)
    return bytes;
  struct sysinfo info;
  bytes = INT64_MAX / 4;
  if (sysinfo(&info) == 0)
    bytes = ((int64_t)info.totalram + (int64_t)info.totalswap) * (int64_t)info.mem_unit;
  int64_t most;
  FILE *file = fopen("/sys/fs/cgroup/memory.max", "re");
  if (file && fscanf(file, "%" SCNd64, &most) == 1 && most > 0 && most < bytes)
    bytes = most;
  if (file)
    fclose(file);
  known = bytes;
  return bytes;
}

static int fits(const Memory *memory, MemoryUse use, int64_t bytes) {
  return !memory->limit || use == StateMemory || bytes <= memory->limit - memory->total;
}

static void count(Memory *memory, MemoryUse use, int64_t bytes) {
  memory->held[use] += bytes;
  memory->total += bytes;
  if (memory->total > memory->peak)
    memory->peak = memory->total;
}

int srtCharge(Memory *memory, MemoryUse use, int64_t bytes) {
  if (bytes > 0 && !fits(memory, use, bytes))
    return 0;
  count(memory, use, bytes);
  return 1;
}

void *srtAllocate(Memory *memory, MemoryUse use, int64_t bytes) {
  if (bytes <= 0 || bytes > INT64_MAX / 4 || !fits(memory, use, bytes))
    return NULL;
  int inFolder = isInFolder(memory, use, bytes);
  if (!inFolder && !memory->hooks.allocate && bytes >= mapThreshold && bytes > machineBytes() - memory->total)
    return NULL;
  void *pointer = NULL;
  if (inFolder)
    pointer = mapFile(memory->folder, bytes);
  else if (memory->hooks.allocate)
    pointer = memory->hooks.allocate(memory->hooks.user, (size_t)bytes, SRT_ALIGNMENT);
  else if (bytes >= mapThreshold)
    pointer = mapAligned(bytes, !memory->noHugePages);
  else
    pointer = aligned_alloc(SRT_ALIGNMENT, (size_t)roundUp(bytes, SRT_ALIGNMENT));
  if (pointer)
    count(memory, use, bytes);
  return pointer;
}

void srtFree(Memory *memory, MemoryUse use, void *pointer, int64_t bytes) {
  if (!pointer)
    return;
  count(memory, use, -bytes);
  if (isInFolder(memory, use, bytes))
    munmap(pointer, (size_t)mappedBytes(bytes));
  else if (memory->hooks.allocate)
    memory->hooks.free(memory->hooks.user, pointer, (size_t)bytes);
  else if (bytes >= mapThreshold)
    munmap(pointer, (size_t)mappedBytes(bytes));
  else
    free(pointer);
}

int srtReserve(Memory *memory, MemoryUse use, Block *block, int64_t bytes) {
  if (block->data && block->bytes >= bytes)
    return 1;
  // Freed first: old and new need not fit at once.
  srtFree(memory, use, block->data, block->bytes);
  block->bytes = 0;
  block->data = srtAllocate(memory, use, bytes > 0 ? bytes : SRT_ALIGNMENT);
  if (!block->data)
    return 0;
  block->bytes = bytes > 0 ? bytes : SRT_ALIGNMENT;
  return 1;
}

//===- Scratch ------------------------------------------------------------------------------------===//

/// Buffers that no call used for this many calls are freed.
static const uint32_t idleCalls = 64;

/// The first size class that holds `bytes` (>= 256), and its size: 256, 320, 384, 448, 512, 640 ...
static int32_t sizeClassOf(int64_t bytes, int64_t *classBytes) {
  int power = 63 - __builtin_clzll((unsigned long long)bytes);
  int64_t step = INT64_C(1) << (power - 2);
  int64_t quarter = (bytes - (INT64_C(1) << power) + step - 1) / step; // 0 to 4
  *classBytes = (INT64_C(1) << power) + quarter * step;
  return (int32_t)((power - 8) * 4 + quarter);
}

void *srtScratchAcquire(Memory *memory, Scratch *scratch, int64_t bytes) {
  if (bytes < 0 || bytes > INT64_MAX / 8)
    return NULL;
  int64_t needed = bytes + SRT_ALIGNMENT;
  if (needed < 256)
    needed = 256;
  int64_t classBytes;
  int32_t sizeClass = sizeClassOf(needed, &classBytes);
  if (sizeClass >= SRT_NUM_SIZE_CLASSES)
    return NULL;

  // A buffer of up to twice the size is better than a new one.
  ScratchBuffer *buffer = NULL;
  for (int32_t i = sizeClass; !buffer && i <= sizeClass + 4 && i < SRT_NUM_SIZE_CLASSES; ++i) {
    buffer = scratch->idle[i];
    if (buffer)
      scratch->idle[i] = buffer->next;
  }
  if (!buffer) {
    buffer = srtAllocate(memory, ScratchMemory, classBytes);
    if (!buffer)
      return NULL;
    *buffer = (ScratchBuffer){.bytes = classBytes, .sizeClass = sizeClass};
  }
  return srtScratchTake(scratch, buffer);
}

void *srtScratchTake(Scratch *scratch, ScratchBuffer *buffer) {
  buffer->lastCall = scratch->call;
  buffer->next = scratch->busy;
  buffer->link = &scratch->busy;
  if (buffer->next)
    buffer->next->link = &buffer->next;
  scratch->busy = buffer;
  return (char *)buffer + SRT_ALIGNMENT;
}

ScratchBuffer *srtScratchHeader(void *pointer) { return (ScratchBuffer *)((char *)pointer - SRT_ALIGNMENT); }

void srtScratchRelease(Scratch *scratch, void *pointer) {
  if (!pointer)
    return;
  ScratchBuffer *buffer = srtScratchHeader(pointer);
  *buffer->link = buffer->next;
  if (buffer->next)
    buffer->next->link = buffer->link;
  buffer->link = NULL;
  if (buffer->sizeClass == SRT_TAPE_CLASS) {
    srtTapeRest(scratch, buffer);
    return;
  }
  buffer->next = scratch->idle[buffer->sizeClass];
  scratch->idle[buffer->sizeClass] = buffer;
}

static void freeIdle(Memory *memory, Scratch *scratch, uint32_t minIdleCalls) {
  for (int32_t i = 0; i < SRT_NUM_SIZE_CLASSES; ++i) {
    ScratchBuffer **link = &scratch->idle[i];
    while (*link) {
      ScratchBuffer *buffer = *link;
      if (scratch->call - buffer->lastCall < minIdleCalls) {
        link = &buffer->next;
        continue;
      }
      *link = buffer->next;
      srtFree(memory, ScratchMemory, buffer, buffer->bytes);
    }
  }
}

void srtScratchEndCall(Memory *memory, Scratch *scratch) {
  while (scratch->busy)
    srtScratchRelease(scratch, (char *)scratch->busy + SRT_ALIGNMENT);
  if (++scratch->call % idleCalls == 0) {
    freeIdle(memory, scratch, idleCalls);
    srtTapesFree(memory, scratch, idleCalls);
  }
}

void srtScratchDestroy(Memory *memory, Scratch *scratch) {
  while (scratch->busy)
    srtScratchRelease(scratch, (char *)scratch->busy + SRT_ALIGNMENT);
  freeIdle(memory, scratch, 0);
  srtTapesFree(memory, scratch, 0);
}

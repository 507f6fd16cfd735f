// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#define _GNU_SOURCE
#include "tape.h"
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Static_assert(sizeof(ScratchBuffer) <= SRT_ALIGNMENT, "the header must leave the buffer aligned");

/// A tape grows by a quarter, but at least and at most by these.
static const int64_t leastStep = 4096 - SRT_ALIGNMENT, greatestStep = 64 << 20;
static const int64_t hugePageBytes = 2 << 20;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t roundUp(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

int64_t srtTapeBytesBeside(const Scratch *scratch, void *buffer) {
  const ScratchBuffer *tape = srtScratchHeader(buffer);
  return scratch->tapeBytes - (tape->sizeClass == SRT_TAPE_CLASS ? tape->granted : 0);
}

void srtTapeRest(Scratch *scratch, ScratchBuffer *tape) {
  scratch->tapeBytes -= tape->granted;
  tape->granted = 0;
}

static void freeTape(Memory *memory, ScratchBuffer *tape) {
  int64_t bytes = tape->bytes;
  if (!tape->reserved) {
    srtFree(memory, ScratchMemory, tape, bytes);
    return;
  }
  munmap(tape, (size_t)tape->reserved);
  srtCharge(memory, ScratchMemory, -bytes);
}

void srtTapesFree(Memory *memory, Scratch *scratch, uint32_t minIdleCalls) {
  for (ScratchBuffer **link = &scratch->tapes; *link;) {
    ScratchBuffer *tape = *link;
    if (tape->link || scratch->call - tape->lastCall < minIdleCalls) {
      link = &tape->nextTape;
      continue;
    }
    *link = tape->nextTape;
    freeTape(memory, tape);
  }
}

/// Addresses for `bytes`, and as many more as a tape may ever want on this machine, if there are so many.
static void *reserve(int64_t bytes, int64_t limit, int64_t *reserved) {
  int64_t most = (int64_t)sysconf(_SC_PHYS_PAGES) * (int64_t)sysconf(_SC_PAGESIZE);
  int64_t wanted = roundUp(least(limit, most) + SRT_ALIGNMENT, hugePageBytes);
  for (; wanted >= bytes; wanted = roundUp(wanted / 2, hugePageBytes)) {
    void *start = mmap(NULL, (size_t)wanted, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start != MAP_FAILED) {
      *reserved = wanted;
      return start;
    }
    if (wanted == hugePageBytes)
      break;
  }
  return NULL;
}

/// Puts memory behind the first `bytes` of `reserved` addresses from `start` on; there is some behind the first
/// `*ready`, which is updated. Returns 0 when there is none.
static int commit(Memory *memory, char *start, int64_t reserved, int64_t bytes, int64_t *ready) {
  int64_t page = (int64_t)sysconf(_SC_PAGESIZE);
  bytes = least(roundUp(bytes, bytes < hugePageBytes ? page : hugePageBytes), reserved);
  int64_t more = bytes - *ready;
  if (!srtCharge(memory, ScratchMemory, more))
    return 0;
  if (mprotect(start + *ready, (size_t)more, PROT_READ | PROT_WRITE)) {
    srtCharge(memory, ScratchMemory, -more);
    return 0;
  }
  if (!memory->noHugePages && bytes >= hugePageBytes)
    madvise(start, (size_t)bytes, MADV_HUGEPAGE); // advice: without huge pages it is only slower
  *ready = bytes;
  return 1;
}

static int hasRoom(Memory *memory, ScratchBuffer *tape, int64_t bytes) {
  return tape->bytes >= bytes ||
         (tape->reserved >= bytes && commit(memory, (char *)tape, tape->reserved, bytes, &tape->bytes));
}

/// A new tape that has room for `bytes`, the header included.
static ScratchBuffer *makeTape(Memory *memory, int64_t bytes, int64_t limit) {
  ScratchBuffer header = {.sizeClass = SRT_TAPE_CLASS}, *tape = NULL;
  if (!memory->hooks.allocate)
    tape = reserve(bytes, limit, &header.reserved);
  if (!tape) {
    tape = srtAllocate(memory, ScratchMemory, bytes);
    header.bytes = bytes;
  } else if (!commit(memory, (char *)tape, header.reserved, bytes, &header.bytes)) {
    munmap(tape, (size_t)header.reserved);
    tape = NULL;
  }
  if (tape)
    *tape = header;
  return tape;
}

/// The first idle tape with room for `bytes`, which may need memory, or a new one.
static ScratchBuffer *findTape(Memory *memory, Scratch *scratch, int64_t bytes, int64_t limit) {
  ScratchBuffer **link = &scratch->tapes;
  for (; *link; link = &(*link)->nextTape) {
    ScratchBuffer *tape = *link;
    if (!tape->link && hasRoom(memory, tape, bytes))
      return tape;
  }
  return *link = makeTape(memory, bytes, limit);
}

void *srtTapeGrow(Memory *memory, Scratch *scratch, void *buffer, int64_t used, int64_t needed, int64_t limit,
                  int64_t *capacity) {
  ScratchBuffer *old = srtScratchHeader(buffer);
  int64_t room = limit - srtTapeBytesBeside(scratch, buffer);
  if (needed < 0 || needed > room || needed > INT64_MAX / 8)
    return NULL;
  // What is replaced rather than extended doubles.
  int64_t step = memory->hooks.allocate ? needed : least(needed / 4, greatestStep);
  int64_t wanted = least(needed + (step < leastStep ? leastStep : step), room);
  int64_t bytes = wanted + SRT_ALIGNMENT;
  ScratchBuffer *tape = old;
  int isTape = old->sizeClass == SRT_TAPE_CLASS;
  if (isTape && !hasRoom(memory, old, bytes) && hasRoom(memory, old, needed + SRT_ALIGNMENT)) {
    wanted = needed; // under a limit of the session's memory
  } else if (!isTape || old->bytes < bytes) {
    tape = findTape(memory, scratch, bytes, limit);
    if (!tape) {
      wanted = needed;
      tape = findTape(memory, scratch, needed + SRT_ALIGNMENT, limit);
    }
    if (!tape)
      return NULL;
    if (used > 0)
      memcpy((char *)tape + SRT_ALIGNMENT, buffer, (size_t)used);
    srtScratchRelease(scratch, buffer);
    srtScratchTake(scratch, tape);
  }
  scratch->tapeBytes += wanted - tape->granted;
  tape->granted = wanted;
  *capacity = wanted;
  return (char *)tape + SRT_ALIGNMENT;
}

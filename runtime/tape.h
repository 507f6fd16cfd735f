// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What loops of unknown length store of their trips. A tape has far more addresses than it needs at first; memory comes
// behind them in steps, a quarter more than is needed and at most 64 MiB at once. So what was written never moves, lies
// in one piece, and is found by its trip alone, and no step copies.
//
// Tapes stay with the session from call to call, in the order in which they were made: a program that asks for them
// in the same order gets the same ones, and allocates nothing the second time.
//
// With a caller's allocator, and where there are no addresses to be had, a tape is ordinary memory that is replaced
// when it is full.

#ifndef SINTER_RUNTIME_TAPE_H
#define SINTER_RUNTIME_TAPE_H

#include "memory.h"

/// Lies in the 64 bytes before the buffer that compiled code sees.
struct ScratchBuffer {
  ScratchBuffer *next;
  ScratchBuffer **link; // what points here while busy
  int64_t bytes;        // with memory behind them, these 64 included
  int32_t sizeClass;    // SRT_TAPE_CLASS: a tape
  uint32_t lastCall;
  // Of tapes:
  int64_t granted;  // to compiled code, while busy
  int64_t reserved; // addresses; 0: ordinary memory
  ScratchBuffer *nextTape;
};
#define SRT_TAPE_CLASS (-1)

ScratchBuffer *srtScratchHeader(void *buffer);

/// Puts a buffer among the busy ones of this call and returns what compiled code sees.
void *srtScratchTake(Scratch *scratch, ScratchBuffer *buffer);

/// A tape of at least `needed` bytes that begins with the first `used` bytes of `buffer`, which came from
/// srtScratchAcquire or from here and is given up; mostly it is the same tape. `*capacity` says how many bytes it has:
/// all of them, without what other busy tapes were granted, are at most `limit`. Null when memory runs out or `needed`
/// is more than that; then `buffer` stays.
void *srtTapeGrow(Memory *memory, Scratch *scratch, void *buffer, int64_t used, int64_t needed, int64_t limit,
                  int64_t *capacity);

/// Bytes of busy tapes but those of `buffer`, which may be none.
int64_t srtTapeBytesBeside(const Scratch *scratch, void *buffer);

/// A busy tape is no longer used.
void srtTapeRest(Scratch *scratch, ScratchBuffer *tape);

/// Frees idle tapes that no call used for `minIdleCalls` calls.
void srtTapesFree(Memory *memory, Scratch *scratch, uint32_t minIdleCalls);

#endif

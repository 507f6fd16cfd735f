// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a session's bytes come from. All of them pass through one `Memory`, which counts them by use
// and calls the caller's hooks if there are any.

#ifndef SINTER_RUNTIME_MEMORY_H
#define SINTER_RUNTIME_MEMORY_H

#include "sinter.h"

#define SRT_ALIGNMENT 64

typedef enum MemoryUse {
  FixedMemory,
  ArenaMemory,
  InputMemory,
  OutputMemory,
  ScratchMemory,
  StateMemory,
  NumMemoryUses
} MemoryUse;

typedef struct Memory {
  sinter_allocator hooks; // functions are null: the system's
  int32_t noHugePages;
  char *folder; // where large states and arenas lie (sinter_session_options.folder); null: nowhere
  int64_t held[NumMemoryUses];
  int64_t total;
  int64_t peak;
  int64_t limit; // of total; 0: none
} Memory;

/// `bytes` (> 0) aligned to 64, not initialized; null when memory runs out or the limit is passed. No message, but
/// srtFolderProblem.
void *srtAllocate(Memory *memory, MemoryUse use, int64_t bytes);

/// Counts `bytes` (or gives them back, when negative) that were had without srtAllocate. Returns 0 and counts nothing
/// when the limit is passed.
int srtCharge(Memory *memory, MemoryUse use, int64_t bytes);

/// `bytes` is what was asked for. Null is ignored.
void srtFree(Memory *memory, MemoryUse use, void *pointer, int64_t bytes);

/// " in folder '...': why" after an allocation that failed and would have been in the folder, else "".
typedef struct FolderProblem {
  char text[320];
} FolderProblem;
FolderProblem srtFolderProblem(const Memory *memory, MemoryUse use, int64_t bytes);

/// A block that is grown by replacing it; its content is lost.
typedef struct Block {
  void *data;
  int64_t bytes;
} Block;

/// Makes `block` at least `bytes` large. Returns 0 and leaves an empty block when memory runs out.
int srtReserve(Memory *memory, MemoryUse use, Block *block, int64_t bytes);

/// Buffers whose size is known late, recycled from call to call by size class (four to a doubling) so
/// that a steady state does not allocate.
#define SRT_NUM_SIZE_CLASSES 192
typedef struct ScratchBuffer ScratchBuffer;
typedef struct Scratch {
  ScratchBuffer *busy;
  ScratchBuffer *idle[SRT_NUM_SIZE_CLASSES];
  ScratchBuffer *tapes; // all of them, in the order in which they were made
  uint32_t call;        // number of the current call, to free what has long been idle
  int64_t tapeBytes;    // of busy tapes, as granted
} Scratch;

/// `bytes` (>= 0) aligned to 64, or null when memory runs out. No message.
void *srtScratchAcquire(Memory *memory, Scratch *scratch, int64_t bytes);
void srtScratchRelease(Scratch *scratch, void *buffer);

/// Recycles everything at the end of a call.
void srtScratchEndCall(Memory *memory, Scratch *scratch);
void srtScratchDestroy(Memory *memory, Scratch *scratch);

#endif

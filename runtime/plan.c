// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "plan.h"
#include "arena.h"
#include "status.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/// Plans kept for one `lives` table; the least recently used goes first.
enum { maxPlansPerArena = 16 };

/// A plan within this share of the lower bound is good enough to stop.
static const int64_t slackDivisor = 50;

//===- Placement ----------------------------------------------------------------------------------===//

typedef struct Candidate {
  int64_t key; // larger goes first
  int32_t index;
} Candidate;

typedef struct Placed {
  int64_t offset, end;
  int32_t first, last;
} Placed;

static int64_t aligned(int64_t bytes) { return (bytes + SRT_ALIGNMENT - 1) & ~(int64_t)(SRT_ALIGNMENT - 1); }

static int largerFirst(const void *a, const void *b) {
  const Candidate *x = a, *y = b;
  if (x->key != y->key)
    return x->key > y->key ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

static int byPosition(const void *a, const void *b) {
  const PlanEvent *x = a, *y = b;
  if (x->position != y->position)
    return x->position < y->position ? -1 : 1;
  return x->bytes < y->bytes ? -1 : x->bytes > y->bytes; // ends before starts
}

int64_t srtPlanLowerBound(const sinter_buffer_life *lives, int64_t count, const int64_t *bytes, PlanEvent *events) {
  for (int64_t i = 0; i < count; ++i) {
    events[2 * i] = (PlanEvent){lives[i].first, aligned(bytes[i])};
    events[2 * i + 1] = (PlanEvent){(int64_t)lives[i].last + 1, -aligned(bytes[i])};
  }
  qsort(events, (size_t)(2 * count), sizeof *events, byPosition);
  int64_t live = 0, most = 0;
  for (int64_t i = 0; i < 2 * count; ++i) {
    live += events[i].bytes;
    if (live > most)
      most = live;
  }
  return most;
}

/// Places the candidates in order, each into the smallest gap that fits between the buffers that live
/// with it, else above them. Returns the bytes used.
static int64_t place(const Candidate *order, int64_t count, const sinter_buffer_life *lives, const int64_t *bytes,
                     Placed *placed, int64_t *offsets) {
  int64_t total = 0, numPlaced = 0;
  for (int64_t c = 0; c < count; ++c) {
    int32_t index = order[c].index;
    int64_t size = aligned(bytes[index]);
    offsets[index] = 0;
    if (size == 0)
      continue;
    int32_t first = lives[index].first, last = lives[index].last;
    int64_t end = 0, best = -1, bestGap = INT64_MAX;
    for (int64_t p = 0; p < numPlaced; ++p) { // in order of offset
      if (placed[p].last < first || placed[p].first > last)
        continue;
      int64_t gap = placed[p].offset - end;
      if (gap >= size && gap < bestGap) {
        best = end;
        bestGap = gap;
      }
      if (placed[p].end > end)
        end = placed[p].end;
    }
    if (best < 0)
      best = end;
    offsets[index] = best;
    if (best + size > total)
      total = best + size;
    int64_t at = numPlaced++;
    for (; at > 0 && placed[at - 1].offset > best; --at)
      placed[at] = placed[at - 1];
    placed[at] = (Placed){best, best + size, first, last};
  }
  return total;
}

enum { BySize, ByArea, ByLength, ByStart, NumOrders };

static int64_t orderKey(int order, sinter_buffer_life life, int64_t size) {
  int64_t length = (int64_t)life.last - life.first + 1, area;
  switch (order) {
  case ByArea:
    return __builtin_mul_overflow(length, size, &area) ? INT64_MAX : area;
  case ByLength:
    return length;
  case ByStart:
    return -(int64_t)life.first;
  default:
    return size;
  }
}

sinter_status_code srtPlan(Memory *memory, const sinter_buffer_life *lives, int64_t count, const int64_t *bytes,
                           int64_t *offsets, int64_t *total) {
  *total = 0;
  if (count < 0 || count > INT32_MAX)
    return srtError(SINTER_INVALID_ARGUMENT, "plan requires 0 to %d buffers, got %" PRId64, INT32_MAX, count);
  int64_t sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (bytes[i] < 0)
      return srtError(SINTER_INVALID_ARGUMENT, "buffer %" PRId64 " requires a size of 0 or more bytes, got %" PRId64, i,
                      bytes[i]);
    if (lives[i].last < lives[i].first)
      return srtError(SINTER_INVALID_ARGUMENT, "buffer %" PRId64 " requires a life, got [%d, %d]", i, lives[i].first,
                      lives[i].last);
    if (bytes[i] > INT64_MAX / 4 || __builtin_add_overflow(sum, aligned(bytes[i]), &sum) || sum > INT64_MAX / 4)
      return srtError(SINTER_OUT_OF_MEMORY, "the sizes of %" PRId64 " buffers overflow", count);
  }
  if (count == 0)
    return SINTER_OK;

  int64_t work = count * (int64_t)(sizeof(Candidate) + sizeof(Placed) + 2 * sizeof(PlanEvent) + sizeof(int64_t));
  char *room = srtAllocate(memory, FixedMemory, work);
  if (!room)
    return srtError(SINTER_OUT_OF_MEMORY, "no memory for %" PRId64 " bytes to plan the arena", work);
  PlanEvent *events = (PlanEvent *)room;
  Placed *placed = (Placed *)(events + 2 * count);
  Candidate *order = (Candidate *)(placed + count);
  int64_t *trial = (int64_t *)(order + count);

  int64_t bound = srtPlanLowerBound(lives, count, bytes, events);
  int64_t best = INT64_MAX;
  for (int o = 0; o < NumOrders && best > bound + bound / slackDivisor; ++o) {
    for (int64_t i = 0; i < count; ++i)
      order[i] = (Candidate){orderKey(o, lives[i], bytes[i]), (int32_t)i};
    qsort(order, (size_t)count, sizeof *order, largerFirst);
    int64_t used = place(order, count, lives, bytes, placed, trial);
    if (used < best) {
      best = used;
      memcpy(offsets, trial, (size_t)count * sizeof *offsets);
    }
  }
  *total = best;
  srtFree(memory, FixedMemory, room, work);
  return SINTER_OK;
}

sinter_status_code sinter_arena_bytes(const sinter_buffer_life *lives, int64_t count, const int64_t *bytes,
                                      int64_t *total) {
  if (!total || (count > 0 && (!lives || !bytes)))
    return srtError(SINTER_INVALID_ARGUMENT, "an arena's size requires lives, sizes and a place for it, got null");
  Memory memory = {0};
  int64_t work = count > 0 && count <= INT32_MAX ? count * (int64_t)sizeof(int64_t) : 0;
  int64_t *offsets = work ? srtAllocate(&memory, FixedMemory, work) : NULL;
  if (work && !offsets)
    return srtError(SINTER_OUT_OF_MEMORY, "no memory for %" PRId64 " bytes to plan the arena", work);
  sinter_status_code status = srtPlan(&memory, lives, count, bytes, offsets, total);
  srtFree(&memory, FixedMemory, offsets, work);
  return status;
}

//===- Cache --------------------------------------------------------------------------------------===//

struct CachedPlan {
  CachedPlan *next;
  int64_t total;
  int64_t sizesAndOffsets[]; // count sizes, then count offsets
};

static int64_t planBytes(int64_t count) { return (int64_t)sizeof(CachedPlan) + 2 * count * (int64_t)sizeof(int64_t); }

/// Moves the plan for `bytes` to the front and returns it; null when there is none.
static CachedPlan *findPlan(Arena *arena, const int64_t *bytes) {
  for (CachedPlan **link = &arena->plans; *link; link = &(*link)->next) {
    CachedPlan *plan = *link;
    if (memcmp(plan->sizesAndOffsets, bytes, (size_t)arena->count * sizeof *bytes) != 0)
      continue;
    *link = plan->next;
    plan->next = arena->plans;
    arena->plans = plan;
    return plan;
  }
  return NULL;
}

static CachedPlan *makePlan(Memory *memory, Arena *arena, const int64_t *bytes) {
  CachedPlan *plan = srtAllocate(memory, FixedMemory, planBytes(arena->count));
  if (!plan) {
    srtError(SINTER_OUT_OF_MEMORY, "no memory for %" PRId64 " bytes to keep an arena plan", planBytes(arena->count));
    return NULL;
  }
  memcpy(plan->sizesAndOffsets, bytes, (size_t)arena->count * sizeof *bytes);
  if (srtPlan(memory, arena->lives, arena->count, bytes, plan->sizesAndOffsets + arena->count, &plan->total)) {
    srtFree(memory, FixedMemory, plan, planBytes(arena->count));
    return NULL;
  }
  plan->next = arena->plans;
  arena->plans = plan;

  CachedPlan **link = &arena->plans;
  for (int kept = 0; *link; ++kept) {
    CachedPlan *old = *link;
    if (kept < maxPlansPerArena) {
      link = &old->next;
      continue;
    }
    *link = old->next;
    srtFree(memory, FixedMemory, old, planBytes(arena->count));
  }
  return plan;
}

uint8_t *srtArenaPlan(Memory *memory, Arena **arenas, const sinter_buffer_life *lives, int64_t count,
                      const int64_t *bytes, int64_t *offsets) {
  if (count < 0 || count > INT32_MAX) {
    srtError(SINTER_INVALID_ARGUMENT, "plan requires 0 to %d buffers, got %" PRId64, INT32_MAX, count);
    return NULL;
  }
  int64_t none = 0;
  if (count == 0) // null pointers are fine then, but not for memcmp and memcpy
    bytes = offsets = &none;
  Arena *arena = *arenas;
  while (arena && (arena->lives != lives || arena->count != count))
    arena = arena->next;
  if (!arena) {
    arena = srtAllocate(memory, FixedMemory, sizeof *arena);
    if (!arena) {
      srtError(SINTER_OUT_OF_MEMORY, "no memory for %zu bytes to describe an arena", sizeof *arena);
      return NULL;
    }
    *arena = (Arena){.next = *arenas, .lives = lives, .count = count};
    *arenas = arena;
  }

  CachedPlan *plan = findPlan(arena, bytes);
  if (!plan)
    plan = makePlan(memory, arena, bytes);
  if (!plan)
    return NULL;
  if (!srtReserve(memory, ArenaMemory, &arena->block, plan->total)) {
    srtError(SINTER_OUT_OF_MEMORY, "no memory for an arena of %" PRId64 " bytes%s", plan->total,
             srtFolderProblem(memory, ArenaMemory, plan->total).text);
    return NULL;
  }
  memcpy(offsets, plan->sizesAndOffsets + count, (size_t)count * sizeof *offsets);
  return arena->block.data;
}

void srtArenasDestroy(Memory *memory, Arena **arenas) {
  while (*arenas) {
    Arena *arena = *arenas;
    *arenas = arena->next;
    while (arena->plans) {
      CachedPlan *plan = arena->plans;
      arena->plans = plan->next;
      srtFree(memory, FixedMemory, plan, planBytes(arena->count));
    }
    srtFree(memory, ArenaMemory, arena->block.data, arena->block.bytes);
    srtFree(memory, FixedMemory, arena, sizeof *arena);
  }
}

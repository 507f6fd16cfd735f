// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arena planning: offsets for buffers of given sizes and lives, so that buffers that live at the same
// time do not share bytes. This is dynamic storage allocation, which is NP-hard; greedy best fit by
// size is within a few percent of the lower bound on real graphs. Where it is not, other orders are
// tried and the smallest result wins. Plans are cached, so this runs once per set of sizes.

#ifndef SINTER_RUNTIME_PLAN_H
#define SINTER_RUNTIME_PLAN_H

#include "memory.h"

/// Fills `offsets` (multiples of 64) and `*total`. Returns SINTER_INVALID_ARGUMENT for a negative size,
/// a life that ends before it starts or a sum that overflows, SINTER_OUT_OF_MEMORY; the message is set.
sinter_status_code srtPlan(Memory *memory, const sinter_buffer_life *lives, int64_t count, const int64_t *bytes,
                           int64_t *offsets, int64_t *total);

/// The most bytes that live at one schedule position, each buffer rounded up to 64: no plan can be
/// smaller. `events` is room for 2 * count pairs.
typedef struct PlanEvent {
  int64_t position;
  int64_t bytes;
} PlanEvent;
int64_t srtPlanLowerBound(const sinter_buffer_life *lives, int64_t count, const int64_t *bytes, PlanEvent *events);

/// The memory of one `lives` table and the plans made for it, the latest used first. Each table has
/// its own memory, so that a schedule may plan several tables during a call.
typedef struct CachedPlan CachedPlan;
typedef struct Arena Arena;
struct Arena {
  Arena *next;
  const sinter_buffer_life *lives;
  int64_t count;
  CachedPlan *plans;
  Block block;
};

/// What sinter_context.plan does. Null with the message set when it fails.
uint8_t *srtArenaPlan(Memory *memory, Arena **arenas, const sinter_buffer_life *lives, int64_t count,
                      const int64_t *bytes, int64_t *offsets);
void srtArenasDestroy(Memory *memory, Arena **arenas);

#endif

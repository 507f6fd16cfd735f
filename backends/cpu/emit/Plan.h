// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an emitter says of a kernel before any code is written: the schedule that it would choose and what others it
// takes, or why it declines. Plans look at the kernel, its sizes and the target and build no IR.

#ifndef SINTER_BACKENDS_CPU_EMIT_PLAN_H
#define SINTER_BACKENDS_CPU_EMIT_PLAN_H

#include "backends/cpu/KernelSpec.h"
#include <string>

namespace sinter::cpu {

/// One number of a schedule: what is chosen, and what may be forced.
struct Choice {
  int64_t chosen = 0; // 0: the emitter does not choose it
  int64_t least = 1, most = 0;
  int64_t divides = 0;  // it must divide this; 0: no matter
  int64_t multiple = 1; // it must be a multiple of this

  bool allows(int64_t value) const {
    return value >= least && value <= most && value % multiple == 0 && (divides == 0 || divides % value == 0);
  }
};

struct Plan {
  std::string refusal; // empty when the emitter takes the kernel
  Choice lanes;        // a power of two
  llvm::SmallVector<Choice, 3> tile;
  Choice chunk;
  llvm::SmallVector<int64_t> packing, zeros;
  bool needsPacking = false; // what `packing` lists must be packed

  static Plan refuse(llvm::StringRef why) {
    Plan plan;
    plan.refusal = why.str();
    return plan;
  }
  bool takes() const { return refusal.empty(); }
  /// Sets lanes, of which a schedule may have fewer, but not fewer than `least`.
  void setLanes(int64_t chosen, int64_t least = 1) { lanes = {chosen, std::min(least, chosen), chosen, 0, 1}; }
  void setChunk(int64_t chosen, int64_t multiple = 1) { chunk = {chosen, multiple, kMostWork, 0, multiple}; }
  void addTile(int64_t chosen, int64_t most, int64_t divides = 0) { tile.push_back({chosen, 1, most, divides, 1}); }

  ScheduleAttr schedule(mlir::MLIRContext *context, llvm::StringRef emitter) const;
  /// What `given` lacks to be a schedule of the plan's emitter, as "requires ..., got ..."; empty for nothing.
  std::string check(ScheduleAttr given) const;

  static constexpr int64_t kMostWork = int64_t(1) << 40;
};

/// The lanes of `given`, if it has them; else `chosen`. What else a plan offers depends on them.
inline int64_t lanesOr(ScheduleAttr given, int64_t chosen) {
  return given && given.getLanes() > 0 && given.getLanes() <= chosen ? given.getLanes() : chosen;
}

} // namespace sinter::cpu

#endif

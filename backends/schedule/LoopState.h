// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop while its schedule is written, by the host or by the back end that runs it.

#ifndef SINTER_BACKENDS_SCHEDULE_LOOPSTATE_H
#define SINTER_BACKENDS_SCHEDULE_LOOPSTATE_H

#include "backends/schedule/ScheduleEmitter.h"

namespace sinter::schedule {

/// The loop under construction. It carries the trip and what changes; `next` collects what the body passes on, in the
/// same order.
struct ScheduleEmitter::LoopState {
  explicit LoopState(mlir::Operation *op, const LoopPlan &plan) : loop(op), plan(plan) {}

  struct Size {
    unsigned symbol;   // of the body's argument or of the stack
    mlir::Value value; // now
    unsigned index;    // carry or stack
    int64_t axis;      // of the carry, or of the stack's slice
  };

  LoopView loop;
  const LoopPlan &plan;
  mlir::Value trips; // of counted loops
  mlir::Value trip;
  mlir::Block *before = nullptr; // the first block of a while
  llvm::SmallVector<mlir::Value> init, next;
  llvm::SmallVector<mlir::Value> current, other; // per carry: buffers now
  llvm::SmallVector<Size> carrySizes, sliceSizes;
  llvm::SmallVector<mlir::Value> stackPointer, stackCapacity;
};

} // namespace sinter::schedule

#endif

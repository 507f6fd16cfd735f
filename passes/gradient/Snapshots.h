// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Carries of a few trips, kept as rows of buffers that loops carry and update in place, and where binomial
// checkpointing places them.

#ifndef SINTER_PASSES_GRADIENT_SNAPSHOTS_H
#define SINTER_PASSES_GRADIENT_SNAPSHOTS_H

#include "passes/gradient/SteppedLoop.h"

namespace sinter {

struct Snapshots {
  /// For each carry [slots, shape of the carry].
  llvm::SmallVector<mlir::Value> buffers;
  /// i64 [slots]: the trips that begin with them, ascending.
  mlir::Value places;
  /// Rank-0 i64: how many slots are in use, from the first on.
  mlir::Value count;

  /// One snapshot of `carries`, those that trip 0 begins with, and room for `slots` (an int64_t or a rank-0 i64).
  template <typename Count> static Snapshots start(StepBuilder &b, mlir::ValueRange carries, Count slots) {
    Snapshots kept;
    for (mlir::Value carry : carries)
      kept.buffers.push_back(b.rows(carry, slots));
    kept.places = b.rows(b.number(0), slots);
    kept.count = b.number(1);
    return kept;
  }

  /// As loops carry them: buffers, places, count.
  llvm::SmallVector<mlir::Value> values() const;
  static Snapshots of(mlir::ValueRange values);

  /// With `carries`, those that `trip` begins with, in the next slot, which must be free.
  Snapshots keep(StepBuilder &b, mlir::ValueRange carries, mlir::Value trip) const;
  /// Every second one of `slots` in use.
  Snapshots thin(StepBuilder &b, int64_t slots) const;
  /// The carries of slot `k`.
  llvm::SmallVector<mlir::Value> load(StepBuilder &b, mlir::Value k) const;
};

/// Where to keep the next carries on the way from trip `from` to `to`, with `free` slots (all rank-0 i64): `to` when
/// none is of use. With s = free + 1 slots C(s + r, r) trips are reversed by going over each at most r times; the first
/// part is what r - 1 times do (Griewank & Walther 2000).
mlir::Value nextPlace(StepBuilder &b, mlir::Value from, mlir::Value to, mlir::Value free);

} // namespace sinter

#endif

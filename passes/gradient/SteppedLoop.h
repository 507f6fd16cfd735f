// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop whose trips are built one at a time, to run again from kept carries. What a trip reads from outside is passed
// on into other regions, so it is one list of values: captures, then the bounds of a for or the sequences of a scan.

#ifndef SINTER_PASSES_GRADIENT_STEPPEDLOOP_H
#define SINTER_PASSES_GRADIENT_STEPPEDLOOP_H

#include "ir/Composer.h"
#include "ir/Ops.h"
#include "passes/gradient/LoopView.h"

namespace sinter {

/// Rank-0 i64 arithmetic and rows of buffers.
class StepBuilder : public Composer {
public:
  using Composer::Composer;
  mlir::Value number(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b) { return make<AddOp>(a, b); }
  mlir::Value sub(mlir::Value a, mlir::Value b) { return make<SubOp>(a, b); }
  mlir::Value add(mlir::Value a, int64_t b) { return add(a, number(b)); }
  mlir::Value sub(mlir::Value a, int64_t b) { return sub(a, number(b)); }
  mlir::Value compare(CompareKind kind, mlir::Value a, mlir::Value b) { return make<CompareOp>(a, b, kind); }
  mlir::Value both(mlir::Value a, mlir::Value b) { return make<AndOp>(a, b); }
  mlir::Value pick(mlir::Value pred, mlir::Value a, mlir::Value b) { return make<SelectOp>(pred, a, b); }

  /// `count` rows like `value`.
  mlir::Value rows(mlir::Value value, int64_t count);
  mlir::Value rows(mlir::Value value, mlir::Value count);
  mlir::Value load(mlir::Value buffer, mlir::Value row) { return make<GatherOp>(buffer, row, 0); }
  /// `value` instead of slice `place` along `axis`.
  mlir::Value store(mlir::Value buffer, mlir::Value value, mlir::Value place, int64_t axis = 0);
};

/// Ops of a region on given values, up to and including its yields.
llvm::SmallVector<mlir::Value> inlineBody(mlir::OpBuilder &builder, mlir::Location loc, mlir::Region &region,
                                          mlir::ValueRange arguments);

/// True for a for or scan: a while has a second region, its condition.
inline bool countsTrips(const LoopView &loop) { return loop.op->getNumRegions() == 1; }
/// The number of trips of a for or scan, where it is known.
std::optional<int64_t> knownTrips(const LoopView &loop);

class SteppedLoop {
public:
  /// Builds how many trips there are at `builder`.
  SteppedLoop(LoopView loop, StepBuilder &builder);

  const LoopView loop;
  /// What step() reads besides carries.
  llvm::SmallVector<mlir::Value> outside;
  /// Trips of a for or scan; null for a while.
  mlir::Value count;

  /// Trip `t` (any value for a while): next carries, then per-trip outputs. `trips`: their number, if it is at hand.
  llvm::SmallVector<mlir::Value> step(mlir::OpBuilder &at, mlir::Value t, mlir::ValueRange carries,
                                      mlir::ValueRange outside, mlir::Value trips = {}) const;
};

} // namespace sinter

#endif

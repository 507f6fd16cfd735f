// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts from which policies with snapshots (CheckpointPolicy.h) write a loop and its backward scan anew: the
// forward loop keeps carries of a few trips, and the backward loop runs forward from these again. What a policy puts
// together of them is in ExpandPeriod.cpp and ExpandSnapshots.cpp.

#ifndef SINTER_PASSES_GRADIENT_PAIREXPANSION_H
#define SINTER_PASSES_GRADIENT_PAIREXPANSION_H

#include "passes/gradient/LoopPair.h"
#include "passes/gradient/Snapshots.h"

namespace sinter {

class PairExpansion {
public:
  using Values = llvm::SmallVector<mlir::Value>;

  /// Builds at `start`, which is before the loop.
  PairExpansion(LoopPair pair, mlir::OpBuilder &start);

  LoopPair pair;
  mlir::Location loc;
  /// The number of carries.
  size_t n;
  /// Where the next loop is built.
  StepBuilder b;
  SteppedLoop stepped;
  /// What a trip reads from outside; the builders below are handed it as `captured`, inside of regions.
  Values captures;

  //===- the forward loop's parts

  bool isCounted() const { return stepped.count != nullptr; }
  Values inits();
  /// Whether another trip of the while runs after `trips`.
  mlir::Value goesOn(StepBuilder &at, mlir::ValueRange carries, mlir::ValueRange captured, mlir::Value trips);
  Values nextCarries(mlir::OpBuilder &at, mlir::Value t, mlir::ValueRange carries, mlir::ValueRange captured);
  /// Of a trip's yields those that others than the scan read.
  Values keptOf(mlir::ValueRange yields);
  /// The carries that trip `to` begins with, from those of trip `from`.
  Values advance(StepBuilder &at, mlir::Value from, mlir::Value to, mlir::ValueRange carries,
                 mlir::ValueRange captured);
  /// Trips of the while until it ends or `most` have run in all, `trips` before: carries and the number of trips.
  std::pair<Values, mlir::Value> runUpTo(StepBuilder &at, mlir::ValueRange carries, mlir::ValueRange captured,
                                         mlir::Value trips, mlir::Value most);
  /// `trips` and `more`; for a while that must not reach its limit at most that, for trap() to see.
  mlir::Value mostTrips(StepBuilder &at, mlir::Value trips, mlir::Value more);
  /// `carries`, but an error as before where a while that must not reach its limit has and would go on.
  Values trap(Values carries, mlir::Value trips);

  //===- whole forward loops; each takes the place of the old one

  /// The loop as it was, without what it stacked for the scan; the number of trips.
  mlir::Value forwardPlain();

  /// Of trip `t`, which was kept, the next one to keep; `count` snapshots are in use.
  using PlaceBuilder =
      llvm::function_ref<mlir::Value(StepBuilder &at, mlir::Value t, mlir::Value last, mlir::Value count)>;
  /// The for or scan as forwardPlain() has it, which on its way keeps the carries that trip `place` begins with, then
  /// those of the trips that `next` names; those of the last trip only if `keepsLast`.
  Snapshots forwardCounted(const Snapshots &start, mlir::Value place, bool keepsLast, PlaceBuilder next);

  /// `carries`, `trips` and `stacks`, which are those of pair.kept, take the place of the loop's results.
  void replaceForward(mlir::ValueRange carries, mlir::Value trips, mlir::ValueRange stacks);

  //===- the backward scan's parts

  /// What reverseTrip reads from outside: sequences that the loop did not stack, then the scan's captures.
  Values scanOutside();
  /// One reversed trip, `t` as the forward loop counts: the next cotangents. Of `yields`, which are as the trip yields
  /// them, the saved stacks are read.
  Values reverseTrip(mlir::OpBuilder &at, mlir::ValueRange cotangents, mlir::ValueRange yields,
                     mlir::ValueRange outside, mlir::Value t);
  /// `results` take the place of the scan's; erases both loops.
  void finish(mlir::ValueRange results);

private:
  using TripBuilder = llvm::function_ref<Values(mlir::OpBuilder &, mlir::ValueRange index, mlir::ValueRange carried,
                                                mlir::ValueRange slices, mlir::ValueRange captured)>;
  Values buildCounted(mlir::ValueRange init, mlir::Value further, TripBuilder trip);
  Values ownTrip(mlir::OpBuilder &inner, mlir::ValueRange index, mlir::ValueRange carries, mlir::ValueRange slices,
                 mlir::ValueRange captured);

  WhileOp whileLoop() { return llvm::cast<WhileOp>(pair.loop.op); }
  /// The limit that the while must not reach.
  std::optional<int64_t> trapLimit();
  mlir::Value holds(mlir::OpBuilder &at, mlir::ValueRange carries, mlir::ValueRange captured);
  llvm::SmallVector<unsigned> otherSequences();
};

/// `parts` one after the other.
PairExpansion::Values concat(std::initializer_list<mlir::ValueRange> parts);

/// period(K): K trips run again at a time, with stacks.
void expandPeriod(PairExpansion &expansion);
/// binomial(SLOTS) and online(SLOTS): one trip is reversed at a time, from the last snapshot before it.
void expandSnapshots(PairExpansion &expansion);
/// binomial(1), of which carries may change their sizes: each trip is run to from the start.
void expandFromStart(PairExpansion &expansion);

} // namespace sinter

#endif

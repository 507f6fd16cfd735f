// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a loop keeps for its gradient: the attribute `sinter.memory` of the op, a string.
//
//   all              every value that the backward part reads (the default)
//   recompute        the fewest bytes a trip; all else is computed again
//   period(K)        the carries of each K-th trip; K trips are run again at a time
//   binomial(SLOTS)  SLOTS snapshots of the carries, placed once the number of trips is known (Griewank & Walther 2000)
//   online(SLOTS)    SLOTS snapshots of the carries, placed while the loop runs (every 2^k-th trip, thinned out on the
//                    way); binomial where the number of trips is known before, as in for and scan
//   implicit         the gradient of the fixed point that a while has come to, whatever its trips were
//
// All but implicit give the same bits. Where a carry changes its size, it is binomial(1) whatever is stated.

#ifndef SINTER_PASSES_GRADIENT_CHECKPOINTPOLICY_H
#define SINTER_PASSES_GRADIENT_CHECKPOINTPOLICY_H

#include "mlir/IR/Operation.h"
#include <optional>

namespace sinter {

/// Which stacks of a loop its gradient added, as numbers.
inline constexpr llvm::StringLiteral kStacksForGradient = "sinter.stacks_for_gradient";

/// On a loop of which carries change their sizes: nothing of its trips can be stacked, so that each runs again from the
/// loop's start, and the pair of loops is expanded as soon as it is built.
inline constexpr llvm::StringLiteral kRunsFromStart = "sinter.runs_from_start";
/// Expands loops with that attribute. What keeps one from it is a diagnostic.
llvm::LogicalResult expandLoopsFromStart(mlir::Operation *function);

/// On loops that a stated policy expands, and on what becomes of them: they are not unrolled. Numbers of a trip that
/// are known would be merged and folded in copies, but not where the same trip runs in another loop; policies agree to
/// the bit.
inline constexpr llvm::StringLiteral kStaysRolled = "sinter.stays_rolled";

struct CheckpointPolicy {
  enum class Kind { All, Recompute, Period, Binomial, Online, Implicit };
  Kind kind = Kind::All;
  /// K or SLOTS, at least 1.
  int64_t count = 0;

  /// Nothing when the text is none of the above.
  static std::optional<CheckpointPolicy> parse(llvm::StringRef text);
  /// The policy of an op; `all` without an attribute. Fails with a diagnostic at the op.
  static llvm::FailureOr<CheckpointPolicy> of(mlir::Operation *op);
  /// Snapshots of the carries: what ExpandCheckpoints rewrites.
  bool hasSnapshots() const { return kind == Kind::Period || kind == Kind::Binomial || kind == Kind::Online; }
};

} // namespace sinter

#endif

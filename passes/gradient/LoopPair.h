// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop whose gradient has been built, with the scan that walks what it stacked in reverse: what a policy with
// snapshots writes anew.

#ifndef SINTER_PASSES_GRADIENT_LOOPPAIR_H
#define SINTER_PASSES_GRADIENT_LOOPPAIR_H

#include "passes/gradient/CheckpointPolicy.h"
#include "passes/gradient/LoopView.h"

namespace sinter {

struct LoopPair {
  LoopView loop;
  /// Null when nothing reads what the gradient stacked.
  ScanOp scan;
  CheckpointPolicy policy;
  /// Stacks that only the scan walks: numbers of the loop's stacks and of the scan's sequences.
  llvm::SmallVector<std::pair<unsigned, unsigned>> saved = {};
  /// Numbers of the stacks that others read, ascending.
  llvm::SmallVector<unsigned> kept = {};

  /// The scan that reads stacks of `loop` in reverse. Nothing where snapshots cannot replace the stacks; `reason` then
  /// says why, as a clause.
  static std::optional<LoopPair> find(LoopView loop, const CheckpointPolicy &policy, llvm::StringRef &reason);
};

} // namespace sinter

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which ops of a block become one kernel. A kernel has at most one root (the op that is neither pointwise nor
// elemental and shapes the loop nest), producers before it and an epilogue after it:
//
//   %b = broadcast %bias              producer of the epilogue (not of the product)
//   %d = dot_general %x, %w           root, template contraction
//   %s = add %d, %b                   epilogue
//   %r = max %s, %zero                epilogue; the kernel's result
//
// The plan is made in two walks. From the last root to the first, each takes as its epilogue the pointwise ops after
// it, as long as one value leaves. A gradient that only next values of states are made of takes these as its epilogue,
// however many leave. Then, from the last op to the first, each remaining pointwise or elemental op joins the kernels
// that use it, if what they would recompute is cheap; else it starts a map kernel of its own. A value that is also used
// elsewhere is a further result of its kernel. Groups stay convex: no path leaves one and comes back.

#ifndef SINTER_PASSES_FUSIONPLAN_H
#define SINTER_PASSES_FUSIONPLAN_H

#include "ir/Dialect.h"
#include "llvm/Support/raw_ostream.h"

namespace sinter {

struct FusionOptions {
  /// Most ops in one kernel; 1 turns fusion off.
  int64_t maxOps = 64;
};

struct FusionGroup {
  KernelTemplate kernelTemplate = KernelTemplate::map;
  /// Null for a map.
  mlir::Operation *root = nullptr;
  /// In program order. A cheap op that several kernels use is in each of them.
  llvm::SmallVector<mlir::Operation *> ops;
  /// Where the kernel will stand: the last op, or the root of one that updates states, whose operands live no longer.
  mlir::Operation *place = nullptr;
  /// Values that are used outside, in program order.
  llvm::SmallVector<mlir::Value> results;
};

struct FusionPlan {
  std::vector<FusionGroup> groups;

  /// One line per group: template, ops, root in brackets, number of results.
  void print(llvm::raw_ostream &os) const;
};

/// True for what a schedule holds beside kernels: constants, views, sizes, control flow, terminators.
bool isScheduleOp(mlir::Operation *op);

/// The template of a kernel whose root is `op`; map for pointwise and elemental ops.
KernelTemplate templateOf(mlir::Operation *op);

/// Plans one block; blocks of nested regions are planned by themselves. Every op that is not a schedule op is in at
/// least one group.
FusionPlan planFusion(mlir::Block &block, ShapeAnalysis &sizes, const FusionOptions &options);

} // namespace sinter

#endif

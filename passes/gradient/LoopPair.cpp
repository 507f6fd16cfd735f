// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/gradient/LoopPair.h"
#include "passes/gradient/TripSizes.h"

using namespace mlir;
using namespace sinter;

/// Which sequence of a scan `use` is, where the scan walks stack `k` of `loop` from the last trip to the first.
static std::optional<unsigned> walkedSequence(const LoopView &loop, size_t k, OpOperand &use) {
  auto scan = dyn_cast<ScanOp>(use.getOwner());
  if (!scan || scan->getBlock() != loop.op->getBlock())
    return std::nullopt;
  int64_t sequence = static_cast<int64_t>(use.getOperandNumber()) - scan.getInit().size();
  bool isWalked = sequence >= 0 && sequence < static_cast<int64_t>(scan.getSequences().size()) &&
                  scan.getAxes()[sequence] == loop.stackAxis(k) && scan.getReverse()[sequence] != loop.stackReverse(k);
  return isWalked ? std::optional<unsigned>(sequence) : std::nullopt;
}

std::optional<LoopPair> LoopPair::find(LoopView loop, const CheckpointPolicy &policy, StringRef &reason) {
  LoopPair pair{loop, {}, policy};
  ArrayRef<int64_t> made;
  if (auto numbers = loop.op->getAttrOfType<DenseI64ArrayAttr>(kStacksForGradient))
    made = numbers;
  for (size_t k = loop.stacks; k-- > 0;) { // those of the gradient come last
    bool isSaved = true;
    for (OpOperand &use : loop.stack(k).getUses())
      isSaved &= walkedSequence(loop, k, use) && (!pair.scan || pair.scan == use.getOwner());
    if (!isSaved && llvm::is_contained(made, static_cast<int64_t>(k))) {
      reason = "its per-trip values are read other than by one backward pass";
      return std::nullopt;
    }
    if (!isSaved) {
      pair.kept.insert(pair.kept.begin(), k);
      continue;
    }
    for (OpOperand &use : loop.stack(k).getUses()) {
      pair.scan = cast<ScanOp>(use.getOwner());
      pair.saved.emplace_back(k, *walkedSequence(loop, k, use));
    }
  }
  if (!pair.scan)
    return pair;
  if (!pair.scan.getStacks().empty()) {
    reason = "its backward pass has per-trip outputs";
    return std::nullopt;
  }
  TripSizes sizes(loop);
  for (size_t k = 0; k < loop.carries && !loop.op->hasAttr(kRunsFromStart); ++k)
    if (!sizes.areFixed(loop.carryArgument(k))) {
      reason = "the size of a carry changes from trip to trip";
      return std::nullopt;
    }
  return pair;
}

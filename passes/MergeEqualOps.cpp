// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR's elimination of common subexpressions looks ops up by name, attributes, operands and types. All kernels that
// read one value and give results of one type are alike to it, and each is compared with each: thousands of kernels
// take minutes. With a digest of its regions as an attribute an op is compared with those that are most likely equal.

#include "ir/Kernel.h"
#include "ir/Precision.h"
#include "passes/Passes.h"

#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"

using namespace mlir;
using namespace sinter;

namespace sinter {
#define GEN_PASS_DEF_MERGEEQUALOPS
#include "passes/Passes.h.inc"
} // namespace sinter

/// On ops with regions while they are compared.
static constexpr llvm::StringLiteral kDigest = "sinter.digest";

/// A number that is the same for equal regions: values count by their places.
static llvm::hash_code digestOf(Operation *op) {
  DenseMap<Value, size_t> places;
  auto placeOf = [&](Value value) { return places.try_emplace(value, places.size()).first->second; };
  llvm::hash_code digest(0);
  op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
    for (Region &region : inner->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          digest = llvm::hash_combine(digest, placeOf(argument), argument.getType());
    if (inner == op)
      return;
    digest = llvm::hash_combine(digest, inner->getName(), inner->hashProperties());
    for (Value operand : inner->getOperands())
      digest = llvm::hash_combine(digest, placeOf(operand));
    for (Value result : inner->getResults())
      digest = llvm::hash_combine(digest, placeOf(result), result.getType());
  });
  return digest;
}

namespace {

class MergeEqualOps : public sinter::impl::MergeEqualOpsBase<MergeEqualOps> {
  using MergeEqualOpsBase::MergeEqualOpsBase;

  void runOnOperation() override {
    Builder b(&getContext());
    getOperation()->walk([&](Operation *op) {
      if (op == getOperation() || op->getNumRegions() == 0)
        return;
      auto digest = static_cast<int64_t>(static_cast<size_t>(digestOf(op)));
      op->setDiscardableAttr(kDigest, b.getI64IntegerAttr(digest));
    });
    IRRewriter rewriter(&getContext());
    eliminateCommonSubExpressions(rewriter, getAnalysis<DominanceInfo>(), getOperation());
    getOperation()->walk([](Operation *op) {
      op->removeDiscardableAttr(kDigest);
      if (isa<KernelOp>(op))
        op->removeDiscardableAttr(kAgainAttr);
    });
  }
};

} // namespace

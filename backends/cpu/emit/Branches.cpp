// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/Branches.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Rewrite/PatternApplicator.h"

using namespace mlir;

FrozenRewritePatternSet sinter::cpu::branchPatterns(MLIRContext *context) {
  RewritePatternSet patterns(context);
  populateSCFToControlFlowConversionPatterns(patterns);
  return std::move(patterns);
}

void sinter::cpu::lowerToBranches(Operation *root, const FrozenRewritePatternSet &patterns) {
  SmallVector<Operation *> ops;
  root->walk<WalkOrder::PreOrder, ReverseIterator>([&](Operation *op) {
    if (isa_and_nonnull<scf::SCFDialect>(op->getDialect()) && !op->hasTrait<OpTrait::IsTerminator>())
      ops.push_back(op);
  });
  PatternApplicator applicator(patterns);
  applicator.applyDefaultCostModel();
  PatternRewriter rewriter(root->getContext());
  for (Operation *op : ops) {
    rewriter.setInsertionPoint(op);
    (void)applicator.matchAndRewrite(op, rewriter); // what is left fails in the conversion, which says so
  }
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Kernel.h"
#include "passes/Passes.h"

using namespace mlir;
using namespace sinter;

namespace sinter {
#define GEN_PASS_DEF_DECOMPOSE
#include "passes/Passes.h.inc"
} // namespace sinter

namespace {

class Decompose : public sinter::impl::DecomposeBase<Decompose> {
public:
  using DecomposeBase::DecomposeBase;
  explicit Decompose(CompositeFilter filter) : filter(std::move(filter)) {}

private:
  /// What a kernel holds was kept when the kernel was formed.
  bool isKept(Operation *op) const {
    return isa<KernelOp>(op->getParentOp()) || (filter && filter(op)) ||
           llvm::is_contained(keep, op->getName().stripDialect());
  }

  void runOnOperation() override {
    // A decomposition may hold composites again (a cell's scan does not, an attention of a later op set might). Those
    // in an op's regions are taken before it, as they go with it.
    SmallVector<Decomposable> work;
    auto collect = [&](Operation *root) {
      root->walk<WalkOrder::PreOrder>([&](Decomposable op) { work.push_back(op); });
    };
    collect(getOperation());
    while (!work.empty()) {
      Decomposable op = work.pop_back_val();
      if (isKept(op))
        continue;
      OpBuilder builder(op);
      Operation *before = op->getPrevNode();
      FailureOr<SmallVector<Value>> results = op.decompose(builder);
      if (failed(results)) {
        op->emitOpError("has no decomposition in this form");
        return signalPassFailure();
      }
      for (Operation *made = before ? before->getNextNode() : &op->getBlock()->front(); made != op;
           made = made->getNextNode())
        collect(made);
      op->replaceAllUsesWith(*results);
      op->erase();
    }
  }

  CompositeFilter filter;
};

} // namespace

std::unique_ptr<Pass> sinter::createDecompose(CompositeFilter keep) {
  return std::make_unique<Decompose>(std::move(keep));
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Control.h"
#include "ir/ControlFlow.h"
#include "ir/Shape.h"
#include "passes/Passes.h"

using namespace mlir;
using namespace sinter;

namespace sinter {
#define GEN_PASS_DEF_SINKCONSTANTS
#include "passes/Passes.h.inc"
} // namespace sinter

namespace {

class SinkConstants : public sinter::impl::SinkConstantsBase<SinkConstants> {
  void runOnOperation() override {
    // Outer regions first: what arrives there goes on into inner ones.
    getOperation()->walk<WalkOrder::PreOrder>([](Operation *op) {
      std::optional<Control> control = controlOf(op);
      if (!control)
        return;
      for (auto [k, value] : llvm::enumerate(control->captures)) {
        auto constant = value.getDefiningOp<ConstantOp>();
        if (!constant)
          continue;
        for (Region &region : op->getRegions()) {
          BlockArgument argument = region.getArgument(control->firstCapture + k);
          if (argument.use_empty())
            continue;
          OpBuilder b = OpBuilder::atBlockBegin(&region.front());
          argument.replaceAllUsesWith(b.clone(*constant)->getResult(0));
        }
      }
    });
  }
};

} // namespace

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Training with decay leaves denormals where nothing reads a channel: its weights, which back ends drop when they pack
// them, and its bias. Then y = 0 + 1e-40 at each pixel, and x86 computes all that follows in microcode, a hundred
// cycles each.

#include "ir/Contraction.h"
#include "ir/Denormals.h"
#include "ir/Elementwise.h"
#include "ir/Shape.h"
#include "passes/Passes.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace sinter;

namespace sinter {
#define GEN_PASS_DEF_DROPDENORMALS
#include "passes/Passes.h.inc"
} // namespace sinter

/// `attr` with zeros for denormals, if it has any beside ordinary numbers.
static std::optional<HostTensor> withoutDenormals(ElementsAttr attr) {
  FailureOr<HostTensor> tensor = HostTensor::fromAttr(attr);
  if (failed(tensor) ||
      !zeroDenormals(attr.getElementType(), {tensor->data(), static_cast<size_t>(tensor->numBytes())}))
    return std::nullopt;
  return std::move(*tensor);
}

namespace {

struct DropFromBias : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AddOp op, PatternRewriter &b) const override {
    for (unsigned bias : {0, 1}) {
      Operation *product = op->getOperand(1 - bias).getDefiningOp();
      auto broadcast = op->getOperand(bias).getDefiningOp<BroadcastOp>();
      ElementsAttr attr;
      if (!isa_and_nonnull<ConvolutionOp, DotGeneralOp>(product) || !broadcast ||
          !matchPattern(broadcast.getOperand(), m_Constant(&attr)))
        continue;
      std::optional<HostTensor> dropped = withoutDenormals(attr);
      if (!dropped)
        continue;
      b.setInsertionPoint(broadcast);
      Value constant = ConstantOp::create(b, broadcast.getLoc(), dropped->tensorType(), dropped->toAttr("bias"));
      IRMapping mapping;
      mapping.map(broadcast.getOperand(), constant);
      Value repeated = b.clone(*broadcast, mapping)->getResult(0);
      b.modifyOpInPlace(op, [&] { op->setOperand(bias, repeated); });
      return success();
    }
    return b.notifyMatchFailure(op, "it adds no constant with denormals to a product");
  }
};

class DropDenormals : public sinter::impl::DropDenormalsBase<DropDenormals> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<DropFromBias>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Contraction.h"
#include "ir/Elementwise.h"
#include "ir/Recurrent.h"
#include "ir/Shape.h"
#include "passes/Passes.h"

using namespace mlir;
using namespace sinter;

namespace sinter {
#define GEN_PASS_DEF_PROJECTRECURRENT
#include "passes/Passes.h.inc"
} // namespace sinter

/// x[t, b, i] w[g, i] (+ bias[g]), for all steps at once.
static Value project(OpBuilder &b, Location loc, Value x, Value w, Value bias) {
  Type element = cast<RankedTensorType>(x.getType()).getElementType();
  Value product = DotGeneralOp::create(b, loc, x, w, ArrayRef<int64_t>{}, ArrayRef<int64_t>{}, ArrayRef<int64_t>{2},
                                       ArrayRef<int64_t>{1}, element);
  if (!bias)
    return product;
  auto type = cast<RankedTensorType>(product.getType());
  Value spread = BroadcastOp::create(b, loc, bias, Value(), type.hasStaticShape() ? ValueRange() : ValueRange(product),
                                     ArrayRef<int64_t>{2}, type);
  return AddOp::create(b, loc, product, spread);
}

template <typename Cell> static void projectCell(Cell op, MutableOperandRange bias) {
  if (!op.getW())
    return;
  OpBuilder b(op);
  Value biasValue = bias.empty() ? Value() : bias[0].get();
  Value projected = project(b, op.getLoc(), op.getX(), op.getW(), biasValue);
  bias.clear();
  op.getWMutable().clear();
  op.getXMutable().assign(projected);
}

namespace {
struct ProjectRecurrent : sinter::impl::ProjectRecurrentBase<ProjectRecurrent> {
  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      if (auto lstm = dyn_cast<LstmOp>(op))
        projectCell(lstm, lstm.getBiasMutable());
      else if (auto gru = dyn_cast<GruOp>(op))
        projectCell(gru, gru.getInputBiasMutable());
      else if (auto rnn = dyn_cast<RnnOp>(op))
        projectCell(rnn, rnn.getBiasMutable());
    });
  }
};
} // namespace

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which convolutions Winograd's method may compute: a note for back ends, since whether it is faster depends on the
// machine. The graph's values are the same but for their errors.

#include "ir/Composer.h"
#include "ir/Contraction.h"
#include "ir/Shape.h"
#include "passes/FiniteWeights.h"
#include "passes/Passes.h"

using namespace mlir;
using namespace sinter;

namespace sinter {
#define GEN_PASS_DEF_ALLOWWINOGRAD
#include "passes/Passes.h.inc"
} // namespace sinter

static bool isAllowed(ConvolutionOp op) {
  RankedTensorType filter = tensorTypeOf(op.getFilter());
  auto isOne = [](int64_t value) { return value == 1; };
  if (filter.getRank() != 4 || !filter.hasStaticShape() || op.getGroups() != 1 ||
      !llvm::all_of(op.getStrides(), isOne) || !llvm::all_of(op.getDilation(), isOne) ||
      !llvm::all_of(op.getInputDilation(), isOne))
    return false;
  int64_t first = op.getLayout() == ConvLayout::channels_first ? 2 : 1;
  bool isF32 = getElementTypeOrSelf(op.getInput()).isF32() && filter.getElementType().isF32() &&
               getElementTypeOrSelf(op.getResult()).isF32();
  // A weight that is infinite or NaN would spread over more results than it meets.
  return isF32 && filter.getDimSize(first) == 3 && filter.getDimSize(first + 1) == 3 &&
         areFiniteConstants(op.getFilter());
}

namespace {

class AllowWinograd : public sinter::impl::AllowWinogradBase<AllowWinograd> {
  void runOnOperation() override {
    getOperation().walk([](ConvolutionOp op) {
      if (isAllowed(op))
        op->setDiscardableAttr(kWinogradAttr, UnitAttr::get(op.getContext()));
    });
  }
};

} // namespace

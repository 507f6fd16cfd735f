// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of few results whose sums are long, as gradients of weights over all pixels of all images are:
//
//   dot [M.., K..], [M.., N..] over M.. -> [K.., N..]    =
//   the sum over P of  dot [P, M / P, K..], [P, M / P, N..] over M / P -> [P, K.., N..]
//
// The results fill few chunks, and each reads all rows of both operands: threads wait, and pull the rows that others
// wrote out of their caches, which have to pull them back for what they write next. Each product of P is of rows that
// follow each other, which mostly one thread made.

#include "ir/Composer.h"
#include "ir/Ops.h"
#include "ir/Shape.h"
#include "passes/Devices.h"
#include "passes/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace sinter;

namespace sinter {
#define GEN_PASS_DEF_SPLITPRODUCTS
#include "passes/Passes.h.inc"
} // namespace sinter

/// Products that a sum is of, at most and at least, and the rows of each at least.
constexpr int64_t kMostParts = 32, kLeastParts = 8, kLeastRows = 64;
/// Multiply-adds that are worth a kernel more.
constexpr int64_t kLeastMacs = 1 << 20;
/// How many times fewer elements all partial results are than the operands.
constexpr int64_t kFewerResults = 4;

/// The greatest number of parts that divides `rows`, where each operand's row and the results have so many elements; 0
/// where none pays.
static int64_t partsOf(int64_t rows, int64_t rowElements, int64_t results) {
  int64_t elements = 0;
  if (llvm::MulOverflow(rows, rowElements, elements))
    return 0;
  int64_t most = std::min({kMostParts, rows / kLeastRows, elements / std::max<int64_t>(results, 1) / kFewerResults});
  while (most >= kLeastParts && rows % most != 0)
    --most;
  return most >= kLeastParts ? most : 0;
}

namespace {
struct SplitLongProduct : OpRewritePattern<DotGeneralOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DotGeneralOp op, PatternRewriter &b) const override {
    auto lhs = tensorTypeOf(op.getLhs()), rhs = tensorTypeOf(op.getRhs()), type = tensorTypeOf(op);
    Type element = type.getElementType();
    if (hasDevices(op) || !lhs.hasStaticShape() || !rhs.hasStaticShape() || !(element.isF32() || element.isF64()))
      return b.notifyMatchFailure(op, "sizes are not known, partial sums would be rounded, or a device may run it");
    auto summed = static_cast<int64_t>(op.getLhsContract().size());
    if (!op.getLhsBatch().empty() || op.getLhsContract() != op.getRhsContract() || summed == lhs.getRank() ||
        summed == rhs.getRank() || !llvm::all_of(op.getLhsContract(), [&](int64_t axis) { return axis < summed; }))
      return b.notifyMatchFailure(op, "its sums are not along the first axes of matrices");
    int64_t rows = ShapedType::getNumElements(lhs.getShape().take_front(summed)),
            lhsRow = ShapedType::getNumElements(lhs.getShape().drop_front(summed)),
            rhsRow = ShapedType::getNumElements(rhs.getShape().drop_front(summed));
    int64_t results = 0, macs = 0;
    bool isHuge = llvm::MulOverflow(lhsRow, rhsRow, results) || llvm::MulOverflow(rows, results, macs);
    int64_t parts = isHuge || macs < kLeastMacs ? 0 : partsOf(rows, lhsRow + rhsRow, results);
    if (parts == 0)
      return b.notifyMatchFailure(op, "its sums are short, or its results many");
    Composer c(op.getLoc(), b);
    auto split = [&](Value operand, RankedTensorType from) {
      SmallVector<int64_t> sizes{parts, rows / parts};
      llvm::append_range(sizes, from.getShape().drop_front(summed));
      return c.reshape(operand, from.clone(sizes));
    };
    int64_t batch[] = {0}, contract[] = {1};
    Value products = c.make<DotGeneralOp>(split(op.getLhs(), lhs), split(op.getRhs(), rhs), ArrayRef(batch),
                                          ArrayRef(batch), ArrayRef(contract), ArrayRef(contract), op.getElementType());
    b.replaceOp(op, c.reduce(products, {0}, Combiner::add));
    return success();
  }
};

class SplitProducts : public sinter::impl::SplitProductsBase<SplitProducts> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<SplitLongProduct>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace

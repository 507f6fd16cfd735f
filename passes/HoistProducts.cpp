// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of a loop that no trip waits for are one product over all trips:
//
//   y_t = x_t w     of slices of a walked sequence x:  Y = X w before the loop, which walks Y
//   stack of v_t w                                  :  the loop stacks v_t, V w after it
//
// for a matrix w that the trips share. The first is the input's share of a recurrent cell's gates, the second its
// gradient. A trip's few rows read all of w; the whole product reads it once for many rows.

#include "ir/Composer.h"
#include "ir/Contraction.h"
#include "ir/Shape.h"
#include "passes/Passes.h"
#include "passes/gradient/LoopView.h"

using namespace mlir;
using namespace sinter;

namespace sinter {
#define GEN_PASS_DEF_HOISTPRODUCTS
#include "passes/Passes.h.inc"
} // namespace sinter

/// A stack of factors may be so many times as large as one of products.
constexpr int64_t kMostGrowth = 4;

/// What `value` of a loop's body is in every trip: a constant of the body, or what a capture of the same type is
/// outside. Null for what trips make.
static Value findShared(const LoopView &loop, Value value) {
  if (value.getDefiningOp<ConstantOp>())
    return value;
  for (size_t k = 0; k < loop.captures; ++k)
    if (value == loop.captureArgument(k))
      return loop.capture(k).getType() == value.getType() ? loop.capture(k) : Value();
  return {};
}

/// The same as a value at `b`, outside of the loop.
static Value readShared(const LoopView &loop, Value value, OpBuilder &b) {
  Value shared = findShared(loop, value);
  auto constant = shared.getDefiningOp<ConstantOp>();
  return constant && shared == value ? b.clone(*constant)->getResult(0) : shared;
}

/// True for x w with a shared w, where x has rows: the sum's order then does not depend on how many.
static bool isProductWithShared(const LoopView &loop, DotGeneralOp dot) {
  return dot && dot.getLhsBatch().empty() && tensorTypeOf(dot.getLhs()).getRank() >= 2 &&
         tensorTypeOf(dot.getRhs()).getRank() >= 2 && dot->getBlock() == &loop.body->front() &&
         findShared(loop, dot.getRhs()) && !findShared(loop, dot.getLhs());
}

/// The product with all trips of the first factor at once, which lie along `axis`.
static Value multiplyAll(OpBuilder &b, DotGeneralOp dot, Value all, int64_t axis, Value shared) {
  SmallVector<int64_t> contract;
  for (int64_t k : dot.getLhsContract())
    contract.push_back(k < axis ? k : k + 1);
  return DotGeneralOp::create(b, dot.getLoc(), all, shared, ArrayRef<int64_t>(), ArrayRef<int64_t>(), contract,
                              dot.getRhsContract(), dot.getElementType());
}

//===- before the loop -----------------------------------------------------------------------===//

/// Walks Y = X w instead of multiplying in each trip.
static void walkProduct(ScanOp scan, size_t k, DotGeneralOp dot) {
  LoopView loop = *LoopView::of(scan);
  int64_t axis = loop.sequenceAxis(k);
  bool reverse = loop.sequenceReverse(k);
  OpBuilder b(scan);
  Value product = multiplyAll(b, dot, loop.sequence(k), axis, readShared(loop, dot.getRhs(), b));
  // The trips' place among the free axes.
  int64_t place = axis;
  for (int64_t summed : dot.getLhsContract())
    place -= summed < axis;
  size_t number = loop.carries + loop.sequences;
  scan.getSequencesMutable().append(product);
  SmallVector<int64_t> axes(scan.getAxes());
  SmallVector<bool> reverses(scan.getReverse());
  axes.push_back(place);
  reverses.push_back(reverse);
  BlockArgument slice = loop.body->insertArgument(number, dot.getType(), dot.getLoc());
  dot.getResult().replaceAllUsesWith(slice);
  dot.erase();
  if (BlockArgument old = loop.body->getArgument(loop.carries + k); old.use_empty()) {
    loop.body->eraseArgument(loop.carries + k);
    scan.getSequencesMutable().erase(k);
    axes.erase(axes.begin() + static_cast<int64_t>(k));
    reverses.erase(reverses.begin() + static_cast<int64_t>(k));
  }
  scan.setAxes(axes);
  scan.setReverse(reverses);
}

static bool hoistProduct(ScanOp scan) {
  LoopView loop = *LoopView::of(scan);
  for (size_t k = 0; k < loop.sequences; ++k) {
    BlockArgument slice = loop.sequenceArgument(k);
    if (slice.getType() != sliceType(loop.sequence(k).getType(), loop.sequenceAxis(k)))
      continue;
    for (Operation *user : slice.getUsers())
      if (auto dot = dyn_cast<DotGeneralOp>(user); dot && dot.getLhs() == slice && isProductWithShared(loop, dot)) {
        walkProduct(scan, k, dot);
        return true;
      }
  }
  return false;
}

//===- after the loop ------------------------------------------------------------------------===//

/// True when what the loop would stack instead is no burden: it is stacked already, or no larger by far. How often a
/// while runs is not known, so there nothing may grow.
static bool mayStack(const LoopView &loop, size_t k, DotGeneralOp dot) {
  Value factor = dot.getLhs();
  for (size_t other = 0; other < loop.stacks; ++other)
    if (loop.yieldedStack(other) == factor && loop.stackAxis(other) == 0 &&
        loop.stackReverse(other) == loop.stackReverse(k))
      return true;
  RankedTensorType from = tensorTypeOf(factor), to = dot.getType();
  int64_t growth = isa<WhileOp>(loop.op) ? 1 : kMostGrowth;
  return from.hasStaticShape() && to.hasStaticShape() && from.getNumElements() <= growth * to.getNumElements();
}

static void sinkProducts(Operation *op) {
  LoopView loop = *LoopView::of(op);
  for (size_t k = 0; k < loop.stacks; ++k) {
    auto dot = loop.yieldedStack(k).getDefiningOp<DotGeneralOp>();
    OpResult stack = loop.stack(k);
    if (!isProductWithShared(loop, dot) || !dot->hasOneUse() || loop.stackAxis(k) != 0 || !mayStack(loop, k, dot))
      continue;
    OpBuilder b(op->getContext());
    b.setInsertionPointAfter(op);
    Type before = stack.getType();
    stack.setType(stackType(dot.getLhs().getType(), 0, tensorTypeOf(stack).getDimSize(0)));
    Value product = multiplyAll(b, dot, stack, 0, readShared(loop, dot.getRhs(), b));
    stack.replaceAllUsesExcept(product, product.getDefiningOp());
    product.setType(before);
    loop.terminator()->setOperand(loop.carries + k, dot.getLhs());
    dot.erase();
  }
}

namespace {

class HoistProducts : public sinter::impl::HoistProductsBase<HoistProducts> {
  void runOnOperation() override {
    SmallVector<Operation *> loops;
    getOperation()->walk<WalkOrder::PostOrder>([&](Operation *op) {
      if (LoopView::of(op))
        loops.push_back(op);
    });
    for (Operation *loop : loops) {
      if (auto scan = dyn_cast<ScanOp>(loop))
        while (hoistProduct(scan)) {
        }
      sinkProducts(loop);
    }
  }
};

} // namespace

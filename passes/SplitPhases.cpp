// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A convolution whose input has zeros between its elements (a transposed convolution), its filter as long as they are
// apart, multiplies three zeros for each element where they are two apart along two axes. Every result meets one tap
// that is no zero:
//
//   out[s * i + a, o] = sum over c of x[i, c] * w[o, s - 1 - a, c]      s: elements are so far apart; a < s: the phase
//
// So it is a product with the filters of all phases side by side, after which the phases are put in their places. What
// follows element by element is computed before that, with the product.

#include "ir/Composer.h"
#include "ir/Contraction.h"
#include "ir/Shape.h"
#include "passes/Passes.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include <cmath>

using namespace mlir;
using namespace sinter;

namespace sinter {
#define GEN_PASS_DEF_SPLITPHASES
#include "passes/Passes.h.inc"
} // namespace sinter

static Value reshaped(OpBuilder &b, Location loc, Value value, ArrayRef<int64_t> shape) {
  RankedTensorType type = tensorTypeOf(value).clone(shape);
  return ReshapeOp::create(b, loc, type, value, Value(), type);
}

static bool areFinite(const HostTensor &tensor) {
  return llvm::all_of(tensor.toFloats(), [](double value) { return std::isfinite(value); });
}

/// `operand` of a pointwise op on results of `op`, for the op on `product`, whose last axis has `phases` times the
/// channels: what is the same everywhere, or for a channel. Null for others.
static Value operandOfProduct(OpBuilder &b, Value operand, int64_t channelAxis, Value product, int64_t phases) {
  Location loc = operand.getLoc();
  Composer c(loc, b);
  SplatElementsAttr splat;
  if (matchPattern(operand, m_Constant(&splat))) {
    RankedTensorType type = tensorTypeOf(product).clone(splat.getElementType());
    return ConstantOp::create(b, loc, type, splat.resizeSplat(type));
  }
  auto broadcast = operand.getDefiningOp<BroadcastOp>();
  if (!broadcast)
    return {};
  Value source = broadcast.getOperand();
  if (broadcast.getAxes().empty())
    return c.spread(source, product, {});
  if (broadcast.getAxes() != ArrayRef{channelAxis} ||
      tensorTypeOf(source).getDimSize(0) * phases != tensorTypeOf(product).getShape().back())
    return {};
  Value ofPhases = ConcatenateOp::create(b, loc, SmallVector<Value>(phases, source), 0);
  return c.spread(ofPhases, product, {tensorTypeOf(product).getRank() - 1});
}

/// Computes on `product` what follows `op` element by element. Returns the op whose result that is, in other places,
/// with `product` set to it; those between are in `replaced`.
static Operation *hoistPointwise(PatternRewriter &b, ConvolutionOp op, Value &product, int64_t phases,
                                 SmallVectorImpl<Operation *> &replaced) {
  int64_t channelAxis = op.getLayout() == ConvLayout::channels_first ? 1 : op.getType().getRank() - 1;
  Operation *last = op;
  while (last->hasOneUse()) {
    Operation *next = *last->user_begin();
    if (!isa<Pointwise>(next) || next->getNumResults() != 1 || next->getResult(0).getType() != op.getType())
      break;
    b.setInsertionPoint(next);
    SmallVector<Value> operands;
    for (Value operand : next->getOperands())
      operands.push_back(operand == last->getResult(0) ? product
                                                       : operandOfProduct(b, operand, channelAxis, product, phases));
    if (!llvm::all_of(operands, [](Value operand) { return operand; }))
      break;
    Operation *moved = b.clone(*next);
    moved->setOperands(operands);
    moved->getResult(0).setType(product.getType());
    product = moved->getResult(0);
    replaced.push_back(last);
    last = next;
  }
  b.setInsertionPointAfter(last);
  return last;
}

namespace {

struct SplitConvolution : OpRewritePattern<ConvolutionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConvolutionOp op, PatternRewriter &b) const override {
    Location loc = op.getLoc();
    bool isFirst = op.getLayout() == ConvLayout::channels_first;
    RankedTensorType input = tensorTypeOf(op.getInput()), filter = tensorTypeOf(op.getFilter()), result = op.getType();
    if (!input.hasStaticShape() || !filter.hasStaticShape() || !result.hasStaticShape())
      return b.notifyMatchFailure(op, "sizes are known at run time only");
    if (input.getNumElements() == 0 || filter.getNumElements() == 0)
      return b.notifyMatchFailure(op, "multiplies nothing");
    if (!isa<FloatType>(result.getElementType()) || op.getGroups() > 1)
      return b.notifyMatchFailure(op, "is not on floats, or has groups");
    int64_t axes = input.getRank() - 2;
    ArrayRef<int64_t> apart = op.getInputDilation();
    for (int64_t k = 0; k < axes; ++k)
      if (filter.getDimSize(isFirst ? k + 2 : k + 1) != apart[k] || op.getLow()[k] != apart[k] - 1 ||
          op.getHigh()[k] != apart[k] - 1 || op.getStrides()[k] != 1 || op.getDilation()[k] != 1)
        return b.notifyMatchFailure(op, "results meet other numbers of taps");
    if (llvm::all_of(apart, [](int64_t distance) { return distance == 1; }))
      return b.notifyMatchFailure(op, "has no zeros between elements");
    // What is infinite or NaN makes NaN of the zeros that it would have met.
    ElementsAttr weights;
    if (matchPattern(op.getFilter(), m_Constant(&weights))) {
      FailureOr<HostTensor> tensor = HostTensor::fromAttr(weights);
      if (failed(tensor) || !areFinite(*tensor))
        return b.notifyMatchFailure(op, "a weight is infinite or NaN");
    }

    SmallVector<int64_t> toLast{0}, toFirst{0, axes + 1}, taps;
    for (int64_t k = 0; k < axes; ++k) {
      toLast.push_back(k + 2);
      toFirst.push_back(k + 1);
      taps.push_back(k + 1);
    }
    toLast.push_back(1);
    auto last = [&](Value value) { return isFirst ? Value(TransposeOp::create(b, loc, value, toLast)) : value; };
    Value x = last(op.getInput()), w = last(op.getFilter());
    ArrayRef<int64_t> sizes = tensorTypeOf(x).getShape();
    int64_t outputs = filter.getDimSize(0), channels = sizes.back(), phases = 1;
    for (int64_t distance : apart)
      phases *= distance;

    // The taps of a phase are as far from the end as it is from the begin: [O, taps..., C] to [phases..., O] x [C].
    w = ReverseOp::create(b, loc, w, taps);
    SmallVector<int64_t> phasesFirst(taps), one(axes + 2, 1);
    phasesFirst.append({0, axes + 1});
    one.front() = phases * outputs;
    one.back() = channels;
    w = reshaped(b, loc, TransposeOp::create(b, loc, w, phasesFirst), one);

    ConvolutionOp product = op.clone();
    b.insert(product);
    product->setOperands({x, w});
    SmallVector<int64_t> places(sizes), none(axes, 0), ones(axes, 1);
    places.back() = phases * outputs;
    product.getResult().setType(result.clone(places));
    product.setLayout(ConvLayout::channels_last);
    product.setLow(none);
    product.setHigh(none);
    product.setInputDilation(ones);
    Value results = product;
    SmallVector<Operation *> replaced;
    Operation *end = hoistPointwise(b, op, results, phases, replaced);

    // [N, i..., a..., O] to [N, i, a, ..., O].
    SmallVector<int64_t> split(sizes.drop_back()), order{0}, joined{sizes.front()};
    llvm::append_range(split, apart);
    split.push_back(outputs);
    for (int64_t k = 0; k < axes; ++k) {
      order.append({k + 1, k + 1 + axes});
      joined.push_back(sizes[k + 1] * apart[k]);
    }
    order.push_back(2 * axes + 1);
    joined.push_back(outputs);
    Value placed = TransposeOp::create(b, loc, reshaped(b, loc, results, split), order);
    placed = reshaped(b, loc, placed, joined);
    b.replaceOp(end, isFirst ? Value(TransposeOp::create(b, loc, placed, toFirst)) : placed);
    for (Operation *before : llvm::reverse(replaced))
      b.eraseOp(before);
    return success();
  }
};

class SplitPhases : public sinter::impl::SplitPhasesBase<SplitPhases> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<SplitConvolution>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A convolution whose input has zeros between its elements (a transposed convolution) meets elements with some taps
// only, and which ones they are repeats: results that are as far apart as elements are meet the same. So there is a
// convolution for each phase r < s, by a part of the filter and without zeros, and their results alternate. Along one
// axis, with taps d apart, g the greatest common divisor of s and d, and k0 the first tap for which s divides
// r + k0 d - low:
//
//   out[s m + r] = sum over j of x[m + j d / g + (r + k0 d - low) / s] * w[k0 + j s / g]
//
// A phase without such a tap is zero.

#include "ir/Composer.h"
#include "ir/Contraction.h"
#include "ir/Shape.h"
#include "passes/FiniteWeights.h"
#include "passes/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include <numeric>

using namespace mlir;
using namespace sinter;

namespace sinter {
#define GEN_PASS_DEF_SEPARATEPHASES
#include "passes/Passes.h.inc"
} // namespace sinter

namespace {

/// The taps of a phase along one axis: `count` of them, `step` apart from `first` on, which meet elements `dilation`
/// apart of an input with borders `low` and `high`.
struct PhaseTaps {
  int64_t first, step, count, dilation, low, high;
};

} // namespace

/// `phase` of spatial axis `k`, whose results are `places`; `input`, `taps`: sizes along that axis.
static PhaseTaps tapsOf(ConvolutionOp op, int64_t k, int64_t phase, int64_t places, int64_t input, int64_t taps) {
  int64_t apart = op.getInputDilation()[k], dilation = op.getDilation()[k], shared = std::gcd(apart, dilation);
  auto from = [&](int64_t tap) { return phase + tap * dilation - op.getLow()[k]; };
  PhaseTaps part{0, apart / shared, 0, dilation / shared, 0, 0};
  while (part.first < taps && from(part.first) % apart != 0)
    ++part.first;
  if (part.first == taps)
    return part;
  part.count = (taps - part.first - 1) / part.step + 1;
  part.low = -from(part.first) / apart;
  part.high = places + (part.count - 1) * part.dilation - part.low - input;
  return part;
}

namespace {

struct SeparateConvolution : OpRewritePattern<ConvolutionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConvolutionOp op, PatternRewriter &b) const override {
    RankedTensorType input = tensorTypeOf(op.getInput()), filter = tensorTypeOf(op.getFilter()), result = op.getType();
    if (!input.hasStaticShape() || !filter.hasStaticShape() || !result.hasStaticShape())
      return b.notifyMatchFailure(op, "sizes are known at run time only");
    if (input.getNumElements() == 0 || filter.getNumElements() == 0 || result.getNumElements() == 0)
      return b.notifyMatchFailure(op, "multiplies nothing");
    if (!isa<FloatType>(result.getElementType()))
      return b.notifyMatchFailure(op, "is not on floats");
    ArrayRef<int64_t> apart = op.getInputDilation();
    int64_t phases = std::accumulate(apart.begin(), apart.end(), int64_t{1}, std::multiplies<>());
    constexpr int64_t kMostPhases = 16; // each is a kernel
    if (phases == 1 || phases > kMostPhases)
      return b.notifyMatchFailure(op, "has no zeros between elements, or too many");
    if (llvm::any_of(op.getStrides(), [](int64_t stride) { return stride != 1; }))
      return b.notifyMatchFailure(op, "leaves results out");
    if (holdsInfiniteConstants(op.getFilter()))
      return b.notifyMatchFailure(op, "a weight is infinite or NaN");

    Composer c(op.getLoc(), b);
    int64_t rank = input.getRank(), space = op.getLayout() == ConvLayout::channels_first ? 2 : 1;
    SmallVector<int64_t> places(result.getShape());
    for (int64_t k = 0; k < rank - 2; ++k)
      places[space + k] = llvm::divideCeil(result.getDimSize(space + k), apart[k]);
    SmallVector<Value> parts;
    for (int64_t phase = 0; phase < phases; ++phase)
      parts.push_back(convolvePhase(c, op, phase, result.clone(places)));
    Value all = c.interleave(parts, apart, space);
    for (int64_t k = 0; k < rank - 2; ++k)
      if (int64_t size = result.getDimSize(space + k); size != tensorTypeOf(all).getDimSize(space + k))
        all = c.slice(all, space + k, 0, size);
    b.replaceOp(op, all);
    return success();
  }

  /// The results of one phase, which counts along all axes in row-major order.
  static Value convolvePhase(Composer &c, ConvolutionOp op, int64_t phase, RankedTensorType type) {
    RankedTensorType input = tensorTypeOf(op.getInput()), filter = tensorTypeOf(op.getFilter());
    int64_t rank = input.getRank(), space = op.getLayout() == ConvLayout::channels_first ? 2 : 1;
    SmallVector<int64_t> starts(rank, 0), limits(filter.getShape()), steps(rank, 1), ones(rank - 2, 1), none(rank - 2);
    SmallVector<int64_t> low(none), high(none), dilation(none);
    for (int64_t k = rank - 3; k >= 0; --k) {
      int64_t axis = space + k, apart = op.getInputDilation()[k];
      PhaseTaps taps =
          tapsOf(op, k, phase % apart, type.getDimSize(axis), input.getDimSize(axis), filter.getDimSize(axis));
      phase /= apart;
      if (taps.count == 0)
        return c.make<BroadcastOp>(c.scalar(type.getElementType(), 0), Value(), ValueRange(), ArrayRef<int64_t>(),
                                   type);
      starts[axis] = taps.first;
      limits[axis] = taps.first + (taps.count - 1) * taps.step + 1;
      steps[axis] = taps.step;
      low[k] = taps.low;
      high[k] = taps.high;
      dilation[k] = taps.dilation;
    }
    Value part = c.make<SliceOp>(op.getFilter(), starts, limits, steps);
    return c.make<ConvolutionOp>(op.getInput(), part, ones, low, high, ones, dilation, op.getGroups(), op.getLayout(),
                                 op.getElementType());
  }
};

class SeparatePhases : public sinter::impl::SeparatePhasesBase<SeparatePhases> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<SeparateConvolution>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

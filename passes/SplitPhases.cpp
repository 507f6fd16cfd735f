// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A convolution whose input has zeros between its elements (a transposed convolution) multiplies three zeros for each
// element where they are two apart along two axes. If its filter is a multiple of the distance s, each result meets as
// many taps that are no zero, T, and s results in a row meet the same elements, each by taps of its own:
//
//   out[s * (m - 1) + 1 + b + low, o] = sum over u < T, c of x[m + u, c] * w[o, s * u + s - 1 - b, c]
//   b < s: the phase
//
// So it is a convolution by T taps with the filters of all phases side by side, after which the phases are put in their
// places and what is beyond the ends is left out. What follows element by element is computed before that, with the
// sums. An axis of one element has no zeros between elements: all that its filter reaches is one window there.

#include "ir/AxisOrder.h"
#include "ir/Composer.h"
#include "ir/Contraction.h"
#include "ir/Shape.h"
#include "passes/FiniteWeights.h"
#include "passes/HoistPointwise.h"
#include "passes/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace sinter;

namespace sinter {
#define GEN_PASS_DEF_SPLITPHASES
#include "passes/Passes.h.inc"
} // namespace sinter

namespace {

/// One spatial axis: `taps` windows' taps of `phases` results in a row.
struct AxisPhases {
  int64_t phases, taps;
  int64_t low, high;      // elements around the input that windows reach
  int64_t windows, start; // how many windows; the first result, counted from the first one of the first window
  int64_t length;         // of the results
};

struct SplitConvolution : OpRewritePattern<ConvolutionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConvolutionOp op, PatternRewriter &b) const override;
};

} // namespace

/// Nothing where results meet other numbers of taps, or windows would begin behind the first element.
static std::optional<AxisPhases> phasesOf(ConvolutionOp op, int64_t k) {
  int64_t spatial = op.getLayout() == ConvLayout::channels_first ? k + 2 : k + 1;
  int64_t size = tensorTypeOf(op.getInput()).getDimSize(spatial), length = op.getType().getDimSize(spatial);
  int64_t filter = tensorTypeOf(op.getFilter()).getDimSize(spatial), low = op.getLow()[k];
  AxisPhases axis{};
  axis.phases = size == 1 && length >= filter ? filter : op.getInputDilation()[k];
  if (filter % axis.phases != 0 || op.getStrides()[k] != 1 || (op.getDilation()[k] != 1 && filter != 1) || low < 0 ||
      length == 0)
    return std::nullopt;
  axis.taps = filter / axis.phases;
  axis.low = low / axis.phases;
  axis.windows = llvm::divideCeilSigned(length - 1 - low, axis.phases) + axis.low + 1;
  axis.high = axis.windows - size - axis.low + axis.taps - 1;
  axis.start = axis.phases * (axis.low + 1) - low - 1;
  axis.length = length;
  return axis.high < 0 ? std::nullopt : std::optional(axis);
}

/// [O, taps..., C] to [phases..., O] x [taps of a phase..., C]: the taps of a phase are as far from the end of each
/// window as it is from the begin.
static Value filtersOfPhases(OpBuilder &b, Location loc, Value w, ArrayRef<AxisPhases> axes) {
  ArrayRef<int64_t> sizes = tensorTypeOf(w).getShape();
  int64_t outputs = sizes.front(), channels = sizes.back(), count = outputs;
  SmallVector<int64_t> parts{outputs}, reversed, order, last{0}, joined{0};
  for (auto [k, axis] : llvm::enumerate(axes)) {
    parts.append({axis.taps, axis.phases});
    reversed.push_back(static_cast<int64_t>(2 * k + 2));
    last.push_back(static_cast<int64_t>(2 * k + 1));
    joined.push_back(axis.taps);
    count *= axis.phases;
  }
  parts.push_back(channels);
  last.push_back(static_cast<int64_t>(parts.size()) - 1);
  joined.push_back(channels);
  joined.front() = count;
  order = reversed;
  llvm::append_range(order, last);
  w = ReverseOp::create(b, loc, reshaped(b, loc, w, parts), reversed);
  return reshaped(b, loc, TransposeOp::create(b, loc, w, order), joined);
}

/// [N, windows..., phases..., O] to the results in their places, [N, ..., O].
static Value placePhases(OpBuilder &b, Location loc, Value results, ArrayRef<AxisPhases> axes) {
  ArrayRef<int64_t> sizes = tensorTypeOf(results).getShape();
  auto count = static_cast<int64_t>(axes.size());
  int64_t outputs = sizes.back();
  SmallVector<int64_t> split(sizes.drop_back()), order{0}, joined{sizes.front()}, starts{0}, limits{sizes.front()};
  for (auto [k, axis] : llvm::enumerate(axes)) {
    outputs /= axis.phases;
    split.push_back(axis.phases);
    order.append({static_cast<int64_t>(k) + 1, static_cast<int64_t>(k) + 1 + count});
    joined.push_back(axis.windows * axis.phases);
    starts.push_back(axis.start);
    limits.push_back(axis.start + axis.length);
  }
  for (SmallVector<int64_t> *list : {&split, &joined, &limits})
    list->push_back(outputs);
  starts.push_back(0);
  order.push_back(2 * count + 1);
  Value placed = reshaped(b, loc, TransposeOp::create(b, loc, reshaped(b, loc, results, split), order), joined);
  if (limits == joined && llvm::all_of(starts, [](int64_t start) { return start == 0; }))
    return placed;
  return SliceOp::create(b, loc, placed, starts, limits, SmallVector<int64_t>(starts.size(), 1));
}

LogicalResult SplitConvolution::matchAndRewrite(ConvolutionOp op, PatternRewriter &b) const {
  Location loc = op.getLoc();
  bool isFirst = op.getLayout() == ConvLayout::channels_first;
  RankedTensorType input = tensorTypeOf(op.getInput()), filter = tensorTypeOf(op.getFilter()), result = op.getType();
  if (!input.hasStaticShape() || !filter.hasStaticShape() || !result.hasStaticShape())
    return b.notifyMatchFailure(op, "sizes are known at run time only");
  if (input.getNumElements() == 0 || filter.getNumElements() == 0)
    return b.notifyMatchFailure(op, "multiplies nothing");
  bool isSummed = isa<FloatType>(result.getElementType()) || result.getElementType().isInteger(32);
  if (!isSummed || op.getGroups() > 1)
    return b.notifyMatchFailure(op, "is neither on floats nor on bytes, or has groups");
  int64_t rank = input.getRank(), phases = 1;
  SmallVector<AxisPhases> axes;
  double before = 1, after = 1; // products of a pair of channels
  for (int64_t k = 0; k < rank - 2; ++k) {
    std::optional<AxisPhases> axis = phasesOf(op, k);
    if (!axis)
      return b.notifyMatchFailure(op, "results meet other numbers of taps");
    axes.push_back(*axis);
    phases *= axis->phases;
    before *= static_cast<double>(axis->length * axis->taps * axis->phases);
    after *= static_cast<double>(axis->windows * axis->phases * axis->taps);
  }
  constexpr double least = 0.75; // phases have to be put in their places
  if (after > least * before)
    return b.notifyMatchFailure(op, "has no zeros between elements, or few");
  if (holdsInfiniteConstants(op.getFilter()))
    return b.notifyMatchFailure(op, "a weight is infinite or NaN");

  SmallVector<int64_t> toLast = channelsToLast(rank), toFirst = channelsToFirst(rank);
  auto last = [&](Value value) { return isFirst ? Value(TransposeOp::create(b, loc, value, toLast)) : value; };
  Value x = last(op.getInput()), w = filtersOfPhases(b, loc, last(op.getFilter()), axes);

  ConvolutionOp sums = op.clone();
  b.insert(sums);
  sums->setOperands({x, w});
  SmallVector<int64_t> sizes{input.getDimSize(0)}, low, high, ones(axes.size(), 1);
  for (const AxisPhases &axis : axes) {
    sizes.push_back(axis.windows);
    low.push_back(axis.low);
    high.push_back(axis.high);
  }
  sizes.push_back(tensorTypeOf(w).getDimSize(0));
  sums.getResult().setType(result.clone(sizes));
  sums.setLayout(ConvLayout::channels_last);
  sums.setLow(low);
  sums.setHigh(high);
  sums.setInputDilation(ones);
  sums.setDilation(ones);
  Value results = sums;
  SmallVector<Operation *> replaced;
  Operation *end = hoistPointwise(b, op, results, phases, replaced);
  Value placed = placePhases(b, loc, results, axes);
  b.replaceOp(end, isFirst ? Value(TransposeOp::create(b, loc, placed, toFirst)) : placed);
  for (Operation *earlier : llvm::reverse(replaced))
    b.eraseOp(earlier);
  return success();
}

namespace {

class SplitPhases : public sinter::impl::SplitPhasesBase<SplitPhases> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<SplitConvolution>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instance and group normalization arrive as layer_norm of one row for each channel, or group of channels, of an image.
// With channels last such a row is a column, or several: sums go down the columns, with lanes along channels, and the
// transposes before and after vanish.
//
//   to_first -> layer_norm -> to_last        mean: sum of columns; deviation: sum of squares; (x - mean) * inverse

#include "ir/Composer.h"
#include "ir/Elementwise.h"
#include "ir/Normalization.h"
#include "passes/ChannelsLast.h"
#include "passes/Producers.h"

using namespace mlir;
using namespace sinter;

namespace {

/// Images [samples, places, channels] whose channels are normalized in `groups` groups.
struct GroupedImages {
  Composer &c;
  int64_t samples, places, channels, groups;

  int64_t perGroup() const { return channels / groups; }

  RankedTensorType type(ArrayRef<int64_t> shape, Value like) const {
    return RankedTensorType::get(shape, elementTypeOf(like));
  }

  /// The average of each group: [samples, groups].
  Value average(Value images) const {
    Value sums = c.reduce(images, {1}, Combiner::add);
    if (perGroup() > 1)
      sums = c.reduce(c.reshape(sums, type({samples, groups, perGroup()}, sums)), {2}, Combiner::add);
    return c.make<DivOp>(sums, c.fill(static_cast<double>(places * perGroup()), sums));
  }

  /// A number of each group in all its channels and places.
  Value spread(Value ofGroups, Value images) const {
    if (perGroup() > 1) {
      RankedTensorType repeated = type({samples, groups, perGroup()}, ofGroups);
      Value all = c.make<BroadcastOp>(ofGroups, Value(), ValueRange(), ArrayRef<int64_t>{0, 1}, repeated);
      ofGroups = c.reshape(all, type({samples, channels}, ofGroups));
    }
    return c.spread(ofGroups, images, {0, 2});
  }
};

struct NormalizeColumns : OpRewritePattern<LayerNormOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(LayerNormOp op, PatternRewriter &b) const override {
    Value source = op.getOperand();
    if (ReshapeOp reshape = reshapeOf(source))
      source = reshape.getOperand();
    TransposeOp found = layoutTranspose(source);
    RankedTensorType rows = tensorTypeOf(op.getOperand());
    if (!found || rows.getRank() != 3 || op.getAxis() != 2 || op.getScale() || op.getBias() || !op.getCenter())
      return b.notifyMatchFailure(op, "is not of rows of channels that lie last");
    Value last = found.getOperand();
    RankedTensorType type = tensorTypeOf(last);
    Type element = type.getElementType();
    if (!type.hasStaticShape() || !rows.hasStaticShape() || !(element.isF32() || element.isF64()))
      return b.notifyMatchFailure(op, "sizes are known at run time only, or floats are short");
    int64_t samples = type.getDimSize(0), channels = type.getShape().back(), groups = rows.getDimSize(1);
    if (rows.getDimSize(0) != samples || type.getNumElements() == 0 || channels < kFewestChannels ||
        channels % groups != 0)
      return b.notifyMatchFailure(op, "a row is no image of whole channels, or of few");

    Composer c(op.getLoc(), b);
    GroupedImages images{c, samples, type.getNumElements() / samples / channels, channels, groups};
    Value x = c.reshape(last, images.type({samples, images.places, channels}, last));
    Value mean = images.average(x);
    Value centered = c.make<SubOp>(x, images.spread(mean, x));
    Value variance = images.average(c.make<MulOp>(centered, centered));
    Value inverse = c.make<RsqrtOp>(c.make<AddOp>(variance, c.fill(op.getEpsilon().convertToDouble(), variance)));
    Value result = c.make<MulOp>(centered, images.spread(inverse, x));
    Value first = c.make<TransposeOp>(result, ArrayRef<int64_t>{0, 2, 1});
    auto statistic = [&](Value value) { return c.reshape(value, images.type({samples, groups, 1}, value)); };
    b.replaceOp(op, {c.reshape(first, rows), statistic(mean), statistic(inverse)});
    return success();
  }

  /// Fewer leave lanes along channels empty.
  static constexpr int64_t kFewestChannels = 8;
};

} // namespace

void sinter::populateNormalizationOfColumns(RewritePatternSet &patterns) {
  patterns.add<NormalizeColumns>(patterns.getContext());
}

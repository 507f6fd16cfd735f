// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/FilterOrder.h"
#include "ir/Shape.h"

using namespace mlir;
using namespace sinter;

/// [taps..., C, O] -> [O, taps..., C], or with `behind` axes more at the end, which stay.
static bool bringsTapsBack(TransposeOp op, int64_t behind) {
  ArrayRef<int64_t> permutation = op.getPermutation();
  int64_t last = static_cast<int64_t>(permutation.size()) - 1 - behind;
  if (last < 1 || permutation[0] != last)
    return false;
  return llvm::equal(permutation.slice(1, last), llvm::seq<int64_t>(0, last)) &&
         (behind == 0 || permutation.back() == last + 1);
}

std::optional<FilterOrder> sinter::filterOrderOf(Value filter) {
  if (auto transpose = filter.getDefiningOp<TransposeOp>(); transpose && bringsTapsBack(transpose, 0))
    return FilterOrder{transpose.getOperand()};
  auto reshape = filter.getDefiningOp<ReshapeOp>();
  auto transpose = reshape ? reshape.getOperand().getDefiningOp<TransposeOp>() : TransposeOp();
  if (!transpose || !bringsTapsBack(transpose, 1) || !reshape.getType().hasStaticShape())
    return std::nullopt;
  ArrayRef<int64_t> split = transpose.getType().getShape(), whole = reshape.getType().getShape();
  if (split.size() != whole.size() + 1 || split.back() != 2 || !llvm::equal(split.drop_back(2), whole.drop_back()))
    return std::nullopt;
  return FilterOrder{transpose.getOperand(), split.back()};
}

bool sinter::isFilterOrder(Operation *op) {
  if (!op || !op->hasOneUse() || !isa<TransposeOp, ReshapeOp>(op))
    return false;
  OpOperand &use = *op->use_begin();
  if (isa<ConvolutionOp>(use.getOwner()))
    return use.getOperandNumber() == 1 && filterOrderOf(op->getResult(0)).has_value();
  return isa<TransposeOp>(op) && isa<ReshapeOp>(use.getOwner()) && isFilterOrder(use.getOwner());
}

int64_t sinter::filterPack(ConvolutionOp op) {
  auto filter = cast<RankedTensorType>(op.getFilter().getType());
  bool isPaired = op.getLayout() == ConvLayout::channels_last && filter.getElementType().isBF16() &&
                  getElementTypeOrSelf(op.getInput()).isBF16() && op.getType().getElementType().isF32();
  return isPaired && !ShapedType::isDynamic(filter.getShape().back()) && filter.getShape().back() % 2 == 0 ? 2 : 1;
}

namespace {
/// What `value` is by transposes and reversals of another: axis k of `value` is axis axes[k] of `source`, from its end
/// where reversed[axes[k]].
struct MovedAxes {
  Value source;
  SmallVector<int64_t> axes;
  SmallVector<bool> reversed; // by axis of the source
};
} // namespace

static MovedAxes movedAxes(Value value) {
  int64_t rank = tensorTypeOf(value).getRank();
  MovedAxes moved{value, llvm::to_vector(llvm::seq<int64_t>(0, rank)), SmallVector<bool>(rank, false)};
  for (Operation *op = value.getDefiningOp(); isa_and_nonnull<TransposeOp, ReverseOp>(op);
       op = moved.source.getDefiningOp()) {
    if (auto transpose = dyn_cast<TransposeOp>(op)) {
      SmallVector<bool> was(moved.reversed);
      for (auto [k, axis] : llvm::enumerate(transpose.getPermutation()))
        moved.reversed[axis] = was[k];
      for (int64_t &axis : moved.axes)
        axis = transpose.getPermutation()[axis];
    } else {
      for (int64_t axis : cast<ReverseOp>(op).getAxes())
        moved.reversed[axis] = !moved.reversed[axis];
    }
    moved.source = op->getOperand(0);
  }
  return moved;
}

static Value transposed(Composer &c, Value value, ArrayRef<int64_t> permutation) {
  if (llvm::equal(permutation, llvm::seq<int64_t>(0, static_cast<int64_t>(permutation.size()))))
    return value;
  SmallVector<int64_t> shape;
  for (int64_t axis : permutation)
    shape.push_back(tensorTypeOf(value).getDimSize(axis));
  return c.make<TransposeOp>(tensorTypeOf(value).clone(shape), value, permutation);
}

Value sinter::orderFilter(Composer &c, Value filter, int64_t pack) {
  RankedTensorType type = tensorTypeOf(filter);
  int64_t rank = type.getRank();
  // What is moved already is moved once: [O, taps..., C] are axes of the source, and pairs are split off there.
  MovedAxes moved = movedAxes(filter);
  Value source = moved.source;
  if (pack > 1) {
    int64_t channels = moved.axes.back();
    SmallVector<int64_t> split(tensorTypeOf(source).getShape());
    split[channels] /= pack;
    split.insert(split.begin() + channels + 1, pack);
    RankedTensorType splitType = type.clone(split);
    source = ReshapeOp::create(c, splitType, source, Value(), splitType);
    moved.reversed.insert(moved.reversed.begin() + channels + 1, moved.reversed[channels]);
    for (int64_t &axis : moved.axes)
      axis += axis > channels;
    moved.axes.push_back(channels + 1);
  }
  SmallVector<int64_t> reversed, there, back{rank - 1};
  for (auto [axis, isReversed] : llvm::enumerate(moved.reversed))
    if (isReversed)
      reversed.push_back(static_cast<int64_t>(axis));
  if (!reversed.empty())
    source = c.make<ReverseOp>(source, reversed);
  for (int64_t k = 1; k < rank; ++k) {
    there.push_back(moved.axes[k]);
    back.push_back(k - 1);
  }
  there.push_back(moved.axes[0]);
  if (pack > 1) {
    there.push_back(moved.axes.back());
    back.push_back(rank);
  }
  Value ordered = transposed(c, transposed(c, source, there), back);
  return pack == 1 ? ordered : ReshapeOp::create(c, type, ordered, Value(), type).getResult();
}

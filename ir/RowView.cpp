// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/RowView.h"
#include "ir/Shape.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace sinter;

std::optional<int64_t> sinter::positionOf(GatherOp gather) {
  DenseElementsAttr position;
  if (tensorTypeOf(gather.getPositions()).getRank() != 0 || !matchPattern(gather.getPositions(), m_Constant(&position)))
    return std::nullopt;
  int64_t number = position.getSplatValue<APInt>().getSExtValue();
  int64_t size = tensorTypeOf(gather.getOperand()).getDimSize(static_cast<int64_t>(gather.getAxis()));
  return number >= 0 && number < size ? std::optional(number) : std::nullopt;
}

bool sinter::hasKnownRows(RankedTensorType type) {
  return type.getRank() > 0 && !ShapedType::isDynamicShape(type.getShape().drop_front());
}

/// The product of all sizes that are known.
static int64_t knownElements(ArrayRef<int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes)
    product *= ShapedType::isDynamic(size) ? 1 : size;
  return product;
}

/// The view under another shape of as many elements; false where axes that lie apart would be joined. Open sizes are
/// equal where all others have equal products.
static bool reshape(RowView &view, ArrayRef<int64_t> shape) {
  if (knownElements(view.sizes) != knownElements(shape))
    return false;
  SmallVector<int64_t> sizes, strides, result(shape.size(), 1);
  for (auto [size, stride] : llvm::zip(view.sizes, view.strides))
    if (size != 1) {
      sizes.push_back(size);
      strides.push_back(stride);
    }
  size_t given = 0, made = 0;
  while (given < sizes.size()) {
    // Axes [given, end) become axes [made, madeEnd).
    size_t end = given + 1, madeEnd = made + 1;
    for (int64_t left = sizes[given], right = shape[made]; left != right;) {
      if (ShapedType::isDynamic(left) || ShapedType::isDynamic(right))
        return false;
      int64_t more = left < right ? sizes[end++] : shape[madeEnd++];
      if (ShapedType::isDynamic(more))
        return false;
      left < right ? left *= more : right *= more;
    }
    for (size_t k = given; k + 1 < end; ++k)
      if (strides[k] != strides[k + 1] * sizes[k + 1])
        return false;
    result[madeEnd - 1] = strides[end - 1];
    for (size_t k = madeEnd - 1; k > made; --k)
      result[k - 1] = result[k] * shape[k];
    given = end;
    made = madeEnd;
  }
  view.sizes.assign(shape.begin(), shape.end());
  view.strides = result;
  return true;
}

/// The view of what `op` gives, where `view` is that of its operand; false where it has none.
static bool step(RowView &view, Operation *op) {
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    RowView from = view;
    for (auto [k, axis] : llvm::enumerate(transpose.getPermutation())) {
      view.sizes[k] = from.sizes[axis];
      view.strides[k] = from.strides[axis];
    }
    return true;
  }
  if (auto gather = dyn_cast<GatherOp>(op)) {
    std::optional<int64_t> position = positionOf(gather);
    auto axis = static_cast<int64_t>(gather.getAxis());
    if (!position)
      return false;
    view.first += *position * view.strides[axis];
    view.sizes.erase(view.sizes.begin() + axis);
    view.strides.erase(view.strides.begin() + axis);
    return true;
  }
  if (auto slice = dyn_cast<SliceOp>(op)) {
    for (auto [axis, start, step] : llvm::enumerate(slice.getStarts(), slice.getSteps())) {
      bool isOpen = ShapedType::isDynamic(view.sizes[axis]);
      if (step <= 0 || (isOpen && (start != 0 || step != 1))) // counted from the end, maybe
        return false;
      view.first += start * view.strides[axis];
      view.strides[axis] *= step;
    }
    view.sizes.assign(slice.getType().getShape().begin(), slice.getType().getShape().end());
    return true;
  }
  return isa<ReshapeOp>(op) && reshape(view, tensorTypeOf(op->getResult(0)).getShape());
}

std::optional<RowView> RowView::of(Value value) {
  auto isKnown = [](Value tensor) {
    ArrayRef<int64_t> shape = tensorTypeOf(tensor).getShape();
    return llvm::count_if(shape, ShapedType::isDynamic) <= 1 && !llvm::is_contained(shape, 0);
  };
  auto whole = [](Value tensor) -> std::optional<RowView> {
    if (tensorTypeOf(tensor).getRank() > 0 && !hasKnownRows(tensorTypeOf(tensor)))
      return std::nullopt;
    RowView view{tensor, 0, SmallVector<int64_t>(tensorTypeOf(tensor).getShape()), {}};
    view.strides.assign(view.sizes.size(), 1);
    for (size_t k = view.sizes.size(); k > 1; --k)
      view.strides[k - 2] = view.strides[k - 1] * view.sizes[k - 1];
    return view;
  };
  if (!isKnown(value))
    return std::nullopt;
  SmallVector<Operation *> ops;
  Value base = value;
  for (Operation *op = base.getDefiningOp();
       op && isa<TransposeOp, GatherOp, SliceOp, ReshapeOp>(op) && isKnown(op->getOperand(0));
       op = base.getDefiningOp()) {
    ops.push_back(op);
    base = op->getOperand(0);
  }
  std::optional<RowView> view = whole(base);
  for (Operation *op : llvm::reverse(ops))
    if (!view || !step(*view, op))
      view = whole(op->getResult(0));
  return view;
}

namespace {
/// An axis of the base as a view needs it: one of the view's, or one of which it has one position.
struct Digit {
  int64_t size, axis, position; // axis: of the view, or -1
};
} // namespace

/// The axes of the view's base, or nothing where some of them would be read in part.
static std::optional<SmallVector<Digit>> digitsOf(const RowView &view) {
  SmallVector<int64_t> order;
  for (auto [axis, size] : llvm::enumerate(view.sizes))
    if (size != 1)
      order.push_back(static_cast<int64_t>(axis));
  llvm::sort(order, [&](int64_t a, int64_t b) { return view.strides[a] > view.strides[b]; });
  SmallVector<Digit> digits;
  int64_t outer = tensorTypeOf(view.base).getNumElements(), rest = view.first;
  for (int64_t axis : order) {
    int64_t span = view.sizes[axis] * view.strides[axis];
    if (outer % span != 0 || rest / span >= outer / span)
      return std::nullopt;
    if (outer != span)
      digits.push_back({outer / span, -1, rest / span});
    rest %= span;
    digits.push_back({view.sizes[axis], axis, 0});
    outer = view.strides[axis];
  }
  return outer == 1 && rest == 0 ? std::optional(digits) : std::nullopt;
}

Value sinter::straightened(Composer &c, Value value) {
  std::optional<RowView> view = RowView::of(value);
  Value from = value;
  while (Operation *op = from.getDefiningOp()) {
    if (!isa<TransposeOp, GatherOp, SliceOp>(op))
      break;
    from = op->getOperand(0);
  }
  auto first = from.getDefiningOp<ReshapeOp>();
  if (!view || view->sizes.empty() || ShapedType::isDynamicShape(view->sizes) || from == view->base ||
      (first && first.getOperand() == view->base))
    return value;
  std::optional<SmallVector<Digit>> digits = digitsOf(*view);
  if (!digits || view->sizes.back() == 1 || view->strides.back() != 1)
    return value;

  // Axes of size 1 come first.
  SmallVector<int64_t> shape(llvm::count(view->sizes, 1), 1), permutation(view->sizes.size());
  for (const Digit &digit : *digits)
    shape.push_back(digit.size);
  auto units = static_cast<int64_t>(llvm::count(view->sizes, 1));
  Value result = c.reshape(view->base, RankedTensorType::get(shape, elementTypeOf(value)));
  for (size_t k = digits->size(); k > 0; --k)
    if (const Digit &digit = (*digits)[k - 1]; digit.axis < 0)
      result = c.make<GatherOp>(result, c.scalar(c.getI64Type(), static_cast<double>(digit.position)),
                                units + static_cast<int64_t>(k) - 1);
  int64_t place = units, unit = 0;
  for (const Digit &digit : *digits)
    if (digit.axis >= 0)
      permutation[digit.axis] = place++;
  for (auto [axis, size] : llvm::enumerate(view->sizes))
    if (size == 1)
      permutation[axis] = unit++;
  if (!llvm::is_sorted(permutation))
    result = c.make<TransposeOp>(result, permutation);
  return result;
}

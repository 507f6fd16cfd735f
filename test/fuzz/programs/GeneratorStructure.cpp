// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps that move, combine and contract elements.

#include "ir/Contraction.h"
#include "ir/Elementwise.h"
#include "ir/Indexing.h"
#include "ir/Normalization.h"
#include "ir/Reduction.h"
#include "ir/Shape.h"
#include "test/fuzz/programs/Generator.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::test;

static SmallVector<int64_t> iota(int64_t count) { return llvm::to_vector(llvm::seq<int64_t>(0, count)); }

void RegionGenerator::movement() {
  Known k = pick([](const Known &) { return true; });
  int64_t rank = k.rank(), elements = k.type().getNumElements();
  SmallVector<int64_t> shape(k.shape());
  auto each = [&](llvm::function_ref<int64_t(int64_t size)> draw) {
    SmallVector<int64_t> list;
    for (int64_t size : shape)
      list.push_back(draw(size));
    return list;
  };
  switch (below(9)) {
  case 0: {
    SmallVector<int64_t> permutation = iota(rank);
    std::shuffle(permutation.begin(), permutation.end(), random);
    return giveMoved(c.make<TransposeOp>(k.value, permutation), k);
  }
  case 1: { // two axes become one, or one becomes two
    if (rank >= 2 && coin()) {
      int64_t axis = static_cast<int64_t>(below(rank - 1));
      shape[axis] *= shape[axis + 1];
      shape.erase(shape.begin() + axis + 1);
    } else {
      shape.insert(shape.begin() + below(rank + 1), 1);
      if (rank && shape.back() % 2 == 0 && shape.back()) {
        shape.back() /= 2;
        shape.push_back(2);
      }
    }
    if (shape.size() > 5)
      return;
    return giveMoved(c.make<ReshapeOp>(k.value, Value(), RankedTensorType::get(shape, k.element())), k);
  }
  case 2: {
    SmallVector<int64_t> starts = each([&](int64_t size) { return static_cast<int64_t>(below(size + 1)) / 2; }), limits;
    for (int64_t axis = 0; axis < rank; ++axis)
      limits.push_back(starts[axis] + static_cast<int64_t>(below(shape[axis] - starts[axis] + 1)));
    if (llvm::any_of(llvm::zip(starts, limits), [](auto pair) { return std::get<0>(pair) == std::get<1>(pair); }))
      limits = shape;
    return giveMoved(c.make<SliceOp>(k.value, starts, limits, each([&](int64_t) { return 1 + below(2); })), k);
  }
  case 3: {
    Known fill = pick([&](const Known &other) { return other.rank() == 0 && other.element() == k.element(); });
    if (!fill.value)
      return;
    auto amount = [&](int64_t) { return static_cast<int64_t>(below(3)); };
    SmallVector<int64_t> low = each(amount), high = each(amount), interior = each(amount);
    return give(c.make<PadOp>(k.value, fill.value, low, high, interior, PadMode::constant), k.exact && fill.exact,
                std::max(k.bound, fill.bound));
  }
  case 4: {
    Known other = pickLike(k);
    if (!rank)
      return;
    SmallVector<Value> operands{k.value, other.value, k.value};
    return give(c.make<ConcatenateOp>(operands, static_cast<int64_t>(below(rank))), k.exact && other.exact,
                std::max(k.bound, other.bound));
  }
  case 5: {
    SmallVector<int64_t> axes;
    for (int64_t axis = 0; axis < rank; ++axis)
      if (coin())
        axes.push_back(axis);
    return giveMoved(c.make<ReverseOp>(k.value, axes), k);
  }
  case 6: { // a new axis in front, repeated
    if (elements > kMaxElements / 3 || rank > 3)
      return;
    SmallVector<int64_t> axes;
    for (int64_t axis = 0; axis < rank; ++axis)
      axes.push_back(axis + 1);
    shape.insert(shape.begin(), 3);
    return giveMoved(
        c.make<BroadcastOp>(k.value, Value(), ValueRange(), axes, RankedTensorType::get(shape, k.element())), k);
  }
  case 7: {
    SmallVector<int64_t> sizes = each([&](int64_t size) { return size > 1 ? size - 1 : size; });
    return giveMoved(c.make<DynamicSliceOp>(k.value, pickPositions({rank}), sizes), k);
  }
  default: { // a window of the value itself, somewhere else in it
    SmallVector<int64_t> sizes = each([&](int64_t size) { return size > 1 ? size - 1 : size; });
    Value window = c.make<DynamicSliceOp>(k.value, pickPositions({rank}), sizes);
    Known other = pickLike(k);
    return give(c.make<DynamicUpdateSliceOp>(other.value, window, pickPositions({rank})), k.exact && other.exact,
                std::max(k.bound, other.bound));
  }
  }
}

void RegionGenerator::indexing() {
  Known k = pick([](const Known &other) { return other.rank() > 0 && other.type().getNumElements() > 0; });
  if (!k.value)
    return;
  int64_t rank = k.rank(), axis = static_cast<int64_t>(below(rank));
  SmallVector<int64_t> shape(k.shape());
  switch (below(4)) {
  case 0:
    return giveMoved(c.make<GatherOp>(k.value, pickPositions({3}), axis), k);
  case 1: {
    shape[axis] = 2;
    return giveMoved(c.make<GatherElementsOp>(k.value, pickPositions(shape), axis), k);
  }
  case 2: {
    Value positions = pickPositions({3, 1});
    return giveMoved(c.make<GatherNdOp>(k.value, positions, 0), k);
  }
  default: {
    shape[axis] = 2;
    Value positions = pickPositions(shape);
    Known other = pickLike(k);
    Value updates = c.make<GatherElementsOp>(other.value, positions, axis);
    bool adds = coin() && !k.isBool();
    return give(c.make<ScatterElementsOp>(k.value, positions, updates, axis, adds ? Combiner::add : Combiner::set),
                k.exact && other.exact, adds ? k.bound + 2 * other.bound : std::max(k.bound, other.bound));
  }
  }
}

void RegionGenerator::reduction() {
  Known k = pick([](const Known &other) { return other.rank() > 0; });
  if (!k.value)
    return;
  int64_t rank = k.rank(), axis = static_cast<int64_t>(below(rank)), elements = k.type().getNumElements();
  if (k.isBool())
    return give(c.make<ReduceOp>(k.value, iota(rank), coin() ? Combiner::logical_and : Combiner::logical_or));
  switch (below(6)) {
  case 0:
  case 1: {
    SmallVector<int64_t> axes;
    for (int64_t other = 0; other < rank; ++other)
      if (other == axis || coin())
        axes.push_back(other);
    return give(c.make<ReduceOp>(k.value, axes, Combiner::add), k.exact, k.bound * static_cast<double>(elements));
  }
  case 2: {
    if (!k.type().getDimSize(axis))
      return; // infinity
    return giveMoved(c.make<ReduceOp>(k.value, axis, coin() ? Combiner::max : Combiner::min), k);
  }
  case 3: {
    if (k.isFloat()) // a product of a few elements near 1
      return give(c.make<ReduceOp>(c.make<AddOp>(number(k, 1), c.make<MulOp>(number(k, 0.1), c.make<TanhOp>(k.value))),
                                   axis, Combiner::mul),
                  false, std::pow(1.1, k.type().getDimSize(axis)));
    return give(c.make<ReduceOp>(k.value, axis, Combiner::mul));
  }
  case 4:
    return give(c.make<CumulativeOp>(k.value, axis, Combiner::add, coin(), coin()), k.exact,
                k.bound * static_cast<double>(elements));
  default: {
    SmallVector<int64_t> ones(rank, 1), zeros(rank, 0), window(rank, 1), low(rank, 0);
    window[axis] = std::min<int64_t>(2, k.type().getDimSize(axis));
    if (!window[axis])
      return;
    bool sums = coin();
    if (sums) // padding of a maximum holds -infinity
      low[axis] = 1;
    return give(c.make<ReduceWindowOp>(k.value, sums ? Combiner::add : Combiner::max, window, ones, low, zeros, ones),
                k.exact, k.bound * 2);
  }
  }
}

/// Values of a sort are continuous; positions are not. Where a derivative is what matters, elements that are equal but
/// for rounding are moved apart.
void RegionGenerator::order() {
  Known k = pick([](const Known &other) { return other.rank() > 0 && !other.isBool(); });
  if (!k.value)
    return;
  int64_t axis = static_cast<int64_t>(below(k.rank()));
  if (options.differentiable && k.isFloat()) {
    Value ramp = c.make<MulOp>(c.make<IotaOp>(Value(), axis, k.type()), number(k, 0.0913));
    k = {c.make<AddOp>(k.value, ramp), false, k.bound + 0.1 * static_cast<double>(k.type().getDimSize(axis))};
  }
  bool exact = k.exact || options.differentiable;
  switch (below(3)) {
  case 0: {
    auto op = SortOp::create(c, k.value, axis, coin());
    giveMoved(op.getValues(), k);
    if (exact)
      give(op.getPositions());
    return;
  }
  case 1: {
    if (!k.type().getDimSize(axis))
      return;
    auto op = TopKOp::create(c, k.value, index(std::min<int64_t>(2, k.type().getDimSize(axis))), axis, coin());
    giveMoved(op.getValues(), k);
    if (exact)
      give(op.getPositions());
    return;
  }
  default:
    if (exact && k.type().getDimSize(axis))
      give(c.make<ArgReduceOp>(k.value, axis, coin() ? Combiner::max : Combiner::min, coin()));
  }
}

/// k times the identity, n x n.
static Value diagonal(Composer &c, Type element, int64_t n, double k) {
  HostTensor table(element, {n, n});
  for (int64_t i = 0; i < n; ++i)
    table.setFloat(i * (n + 1), k);
  return c.make<ConstantOp>(table.toAttr());
}

/// A positive definite matrix a a^T + 1.5 I with eigenvalues in [1.5, 1.5 + n], its factor, and a system with either.
void RegionGenerator::factorization() {
  Known a = pick([](const Known &k) { return k.isFloat() && k.rank() == 2 && k.type().getNumElements() > 0; });
  if (!a.value)
    return;
  int64_t n = a.shape()[0];
  double scale = 1 / (std::max(a.bound, 1.0) * std::max(a.bound, 1.0) * static_cast<double>(a.shape()[1]));
  Value square = c.make<DotGeneralOp>(a.value, a.value, ArrayRef<int64_t>(), ArrayRef<int64_t>(), ArrayRef<int64_t>(1),
                                      ArrayRef<int64_t>(1), a.element());
  Value small = c.make<MulOp>(square, c.fill(scale, square));
  bool lower = coin(), transpose = coin();
  Value factor = c.make<CholeskyOp>(c.make<AddOp>(small, diagonal(c, a.element(), n, 1.5)), lower);
  give(factor, false, std::sqrt(1.5 + static_cast<double>(n)));
  // Not a factor: a system of a matrix with itself has whole numbers but for rounding, and a jump there is noise.
  Known b = pick([&](const Known &k) {
    return k.isFloat() && k.element() == a.element() && k.rank() == 2 && k.shape()[0] == n &&
           !k.value.getDefiningOp<CholeskyOp>();
  });
  if (!b.value)
    return;
  double growth = std::sqrt(static_cast<double>(n));
  if (coin()) // the inverse of a unit triangle whose other elements are 1/8 at most
    return give(c.make<TriangularSolveOp>(c.make<MulOp>(small, c.fill(0.125, small)), b.value, lower, transpose, true),
                false, b.bound * std::pow(1.125, n));
  give(c.make<TriangularSolveOp>(factor, b.value, lower, transpose, false), false, b.bound * growth);
}

void RegionGenerator::contraction() {
  if (below(4) == 0)
    return factorization();
  Known a = pick([](const Known &k) { return k.isFloat() && k.rank() >= 1; });
  if (!a.value)
    return;
  double bound = a.bound;
  if (a.rank() == 4 && coin()) { // a convolution with filters out of a cumulative table of cosines
    SmallVector<int64_t> ones(2, 1), pads(2, static_cast<int64_t>(below(2))), strides(2, 1 + below(2));
    auto type = RankedTensorType::get({2, a.shape()[1], 3, 2}, a.element());
    Value filter = c.make<CosOp>(c.make<IotaOp>(Value(), below(2) ? 3 : 1, type));
    if (a.shape()[1] && a.shape()[2] >= 3 && a.shape()[3] >= 2)
      give(c.make<ConvolutionOp>(a.value, filter, strides, pads, pads, ones, ones, 1, ConvLayout::channels_first,
                                 a.element()),
           false, bound * 6 * static_cast<double>(a.shape()[1]));
    return;
  }
  int64_t axis = static_cast<int64_t>(below(a.rank())), size = a.shape()[axis];
  Known b = pick([&](const Known &k) {
    return k.element() == a.element() && llvm::is_contained(k.shape(), size) && k.rank() + a.rank() <= 6;
  });
  if (!b.value)
    return;
  int64_t other = std::distance(b.shape().begin(), llvm::find(b.shape(), size));
  bool batch = a.rank() >= 2 && b.rank() >= 2 && axis > 0 && other > 0 && a.shape()[0] == b.shape()[0] && coin();
  SmallVector<int64_t> batches;
  if (batch)
    batches.push_back(0);
  give(c.make<DotGeneralOp>(a.value, b.value, batches, batches, ArrayRef<int64_t>(axis), ArrayRef<int64_t>(other),
                            a.element()),
       false, bound * b.bound * static_cast<double>(size));
}

void RegionGenerator::normalization() {
  Known k =
      pick([](const Known &other) { return other.isFloat() && other.rank() > 0 && other.type().getNumElements() > 0; });
  if (!k.value)
    return;
  int64_t axis = static_cast<int64_t>(below(k.rank()));
  switch (below(4)) {
  case 0:
    return give(c.make<SoftmaxOp>(k.value, axis, false), false, 1);
  case 3: { // cross entropy: the mean of what stands at some positions
    SmallVector<int64_t> shape(k.shape());
    shape[axis] = 1;
    Value logarithms = c.make<SoftmaxOp>(k.value, axis, true);
    Value chosen = c.make<GatherElementsOp>(logarithms, pickPositions(shape), axis);
    Value total = c.make<ReduceOp>(chosen, iota(k.rank()), Combiner::add);
    double count = static_cast<double>(*countElements(shape));
    return give(c.make<DivOp>(total, c.fill(-count, total)), false, 2 * k.bound + 8);
  }
  case 1:
    return give(c.make<SoftmaxOp>(k.value, axis, true), false, 2 * k.bound + 8);
  default: // epsilon bounds the slope where a row is constant
    return give(c.make<LayerNormOp>(k.value, Value(), Value(), axis, llvm::APFloat(0.1), coin()), false,
                std::sqrt(static_cast<double>(k.type().getNumElements())));
  }
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of tensors: the cotangent of one factor is the contraction of dy with the other.

#include "ir/Contraction.h"
#include "ir/Elementwise.h"
#include "ir/Indexing.h"
#include "ir/Reduction.h"
#include "ir/Shape.h"
#include "ir/gradient/LinearRule.h"
#include "ir/gradient/Moves.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::gradient;

namespace {

/// ty = f(tx, w) + f(x, tw)
template <typename OpT> static void pushProduct(OpT op, JvpBuilder &t) {
  for (unsigned i = 0; i < 2; ++i)
    if (Value tangent = t.tangent(i))
      t.set(
          0,
          rebuild(t, op, i == 0 ? ValueRange{tangent, t.operand(1)} : ValueRange{t.operand(0), tangent})->getResult(0));
}

// dot_general: d lhs[b, i, k] = sum_j dy[b, i, j] rhs[b, k, j], d rhs[b, k, j] = sum_i lhs[b, i, k] dy[b, i, j]
struct DotGeneralRule : Rule<DotGeneralRule, DotGeneralOp> {
  static SmallVector<int64_t> freeAxes(int64_t rank, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) {
    SmallVector<int64_t> used(batch);
    llvm::append_range(used, contract);
    return otherAxes(rank, used);
  }
  /// Entries of `axes` in the order in which `keys` increase.
  static SmallVector<int64_t> sortedBy(ArrayRef<int64_t> axes, ArrayRef<int64_t> keys) {
    SmallVector<int64_t> order = axisRange(0, axes.size());
    llvm::sort(order, [&](int64_t a, int64_t b) { return keys[a] < keys[b]; });
    return llvm::map_to_vector(order, [&](int64_t k) { return axes[k]; });
  }

  LogicalResult vjp(DotGeneralOp op, VjpBuilder &g) const {
    Value dy = g.cotangent();
    if (!dy)
      return success();
    Value lhs = g.operand(0), rhs = g.operand(1);
    ArrayRef<int64_t> lhsBatch = op.getLhsBatch(), rhsBatch = op.getRhsBatch();
    ArrayRef<int64_t> lhsContract = op.getLhsContract(), rhsContract = op.getRhsContract();
    SmallVector<int64_t> lhsFree = freeAxes(tensorTypeOf(lhs).getRank(), lhsBatch, lhsContract);
    SmallVector<int64_t> rhsFree = freeAxes(tensorTypeOf(rhs).getRank(), rhsBatch, rhsContract);
    // Axes of dy: batch, free of lhs, free of rhs.
    auto batch = static_cast<int64_t>(lhsBatch.size()), split = batch + static_cast<int64_t>(lhsFree.size());
    SmallVector<int64_t> dyBatch = axisRange(0, batch), dyLhs = axisRange(batch, split),
                         dyRhs = axisRange(split, tensorTypeOf(dy).getRank());
    if (g.wants(0)) {
      Value product = g.make<DotGeneralOp>(dy, rhs, dyBatch, rhsBatch, dyRhs, rhsFree, elementTypeOf(lhs));
      SmallVector<int64_t> axes(lhsBatch); // of lhs, in the order of the product's
      llvm::append_range(axes, lhsFree);
      llvm::append_range(axes, sortedBy(lhsContract, rhsContract));
      g.give(0, gradient::transpose(g, product, inversePermutation(axes)));
    }
    if (g.wants(1)) {
      Value product = g.make<DotGeneralOp>(lhs, dy, lhsBatch, dyBatch, lhsFree, dyLhs, elementTypeOf(rhs));
      SmallVector<int64_t> axes(rhsBatch);
      llvm::append_range(axes, sortedBy(rhsContract, lhsContract));
      llvm::append_range(axes, rhsFree);
      g.give(1, gradient::transpose(g, product, inversePermutation(axes)));
    }
    return success();
  }
  LogicalResult jvp(DotGeneralOp op, JvpBuilder &t) const {
    pushProduct(op, t);
    return success();
  }
};

// convolution, y[n, o, p] = sum_{c, k} x'[n, c, p s + k d - low] w[o, c, k] with x' the input with zeros between
//   dx'[n, c, q] = sum_{o, k} dy'[n, o, q + low - k d] w[o, c, k]: a convolution of dy' (dy with s - 1 zeros between)
//   with w
//     flipped in space and with its channels exchanged, at every input_dilation-th place
//   dw[o, c, k] = sum_{n, p} dy[n, o, p] x'[n, c, p s + k d - low]: for each k a matrix product over samples and places
struct ConvolutionRule : Rule<ConvolutionRule, ConvolutionOp> {
  struct Form {
    mutable ConvolutionOp op; // accessors of ops are not const
    int64_t rank, channel, space;
    Form(ConvolutionOp op)
        : op(op), rank(tensorTypeOf(op.getInput()).getRank()),
          channel(op.getLayout() == ConvLayout::channels_first ? 1 : rank - 1),
          space(op.getLayout() == ConvLayout::channels_first ? 2 : 1) {}
    int64_t spatial() const { return rank - 2; }
    bool isSpace(int64_t axis) const { return axis >= space && axis < space + spatial(); }
    /// One entry per axis, `values` on the spatial ones.
    SmallVector<int64_t> onSpace(ArrayRef<int64_t> values, int64_t elsewhere) const {
      SmallVector<int64_t> all(rank, elsewhere);
      llvm::copy(values, all.begin() + space);
      return all;
    }
  };

  static LogicalResult checkFilter(const Form &form) {
    RankedTensorType filter = tensorTypeOf(form.op.getFilter());
    for (int64_t k = 0; k < form.rank; ++k)
      if (filter.isDynamicDim(k) && (form.isSpace(k) || form.op.getGroups() > 1))
        return form.op->emitOpError("requires a filter of static sizes for its gradient, got ") << filter;
    return success();
  }

  /// w [O, C / G, k] -> [C, O / G, k flipped], in its layout
  static Value exchanged(const Form &form, Composer &c, Value w) {
    RankedTensorType type = tensorTypeOf(w);
    auto groups = static_cast<int64_t>(form.op.getGroups());
    SmallVector<int64_t> order = axisRange(0, form.rank);
    if (groups == 1) {
      std::swap(order[0], order[form.channel]);
      w = gradient::transpose(c, w, order);
    } else {
      // [G, O / G, ..., C / G, ...] with the channels exchanged behind the group
      SmallVector<int64_t> split(type.getShape()), merged;
      int64_t features = type.getDimSize(0) / groups, channels = type.getDimSize(form.channel);
      split[0] = features;
      split.insert(split.begin(), groups);
      w = reshapeTo(c, w, split);
      order = axisRange(0, form.rank + 1);
      std::swap(order[1], order[form.channel + 1]);
      w = gradient::transpose(c, w, order);
      merged.assign(type.getShape().begin(), type.getShape().end());
      merged[0] = groups * channels;
      merged[form.channel] = features;
      w = reshapeTo(c, w, merged);
    }
    return c.make<ReverseOp>(w, axisRange(form.space, form.space + form.spatial()));
  }

  static Value pullInput(const Form &form, VjpBuilder &g, Value dy) {
    ConvolutionOp op = form.op;
    Value x = g.operand(0), w = g.operand(1);
    RankedTensorType type = tensorTypeOf(x), small = tensorTypeOf(dy), filter = tensorTypeOf(w);
    SmallVector<int64_t> low, high, ones(form.spatial(), 1), interior;
    for (int64_t k = 0; k < form.spatial(); ++k) {
      int64_t axis = form.space + k, n = type.getDimSize(axis), m = small.getDimSize(axis);
      int64_t stride = op.getStrides()[k], reach = op.getDilation()[k] * (filter.getDimSize(axis) - 1);
      interior.push_back(stride - 1);
      low.push_back(reach - op.getLow()[k]);
      // So that the result has n elements; where n is not known, at least that many.
      bool known = !ShapedType::isDynamic(n) && !ShapedType::isDynamic(m) && m > 0 && n > 0;
      high.push_back(known ? (n - 1) * op.getInputDilation()[k] - (m - 1) * stride + op.getLow()[k]
                           : reach - op.getHigh()[k] + stride - 1);
    }
    if (llvm::any_of(interior, [](int64_t k) { return k > 0; })) {
      SmallVector<int64_t> none(form.rank, 0);
      dy = g.make<PadOp>(dy, g.scalar(elementTypeOf(dy), 0), none, none, form.onSpace(interior, 0));
    }
    Value dx = g.make<ConvolutionOp>(dy, exchanged(form, g, w), op.getInputDilation(), low, high, ones,
                                     op.getDilation(), op.getGroups(), op.getLayout(), elementTypeOf(x));
    return trim(g, dx, x);
  }

  /// x' with its borders, so that place p of tap k is element p s + k d.
  static Value bordered(const Form &form, Composer &c, Value x) {
    ConvolutionOp op = form.op;
    SmallVector<int64_t> interior = llvm::map_to_vector(op.getInputDilation(), [](int64_t d) { return d - 1; });
    auto isZero = [](int64_t k) { return k == 0; };
    if (llvm::all_of(interior, isZero) && llvm::all_of(op.getLow(), isZero) && llvm::all_of(op.getHigh(), isZero))
      return x;
    return c.make<PadOp>(x, c.scalar(elementTypeOf(x), 0), form.onSpace(op.getLow(), 0), form.onSpace(op.getHigh(), 0),
                         form.onSpace(interior, 0));
  }
  /// The elements of `x` that tap `at` meets, in the spatial sizes of `dy`.
  static Value tap(const Form &form, Composer &c, Value x, Value dy, ArrayRef<int64_t> at) {
    RankedTensorType type = tensorTypeOf(x), small = tensorTypeOf(dy);
    SmallVector<int64_t> starts(form.rank, 0), limits(form.rank, -1), steps = form.onSpace(form.op.getStrides(), 1);
    bool isStatic = true;
    for (int64_t axis = 0; axis < form.rank; ++axis) {
      if (!type.isDynamicDim(axis))
        limits[axis] = type.getDimSize(axis);
      int64_t k = axis - form.space;
      if (k < 0 || k >= form.spatial())
        continue;
      starts[axis] = at[k] * form.op.getDilation()[k];
      isStatic &= !type.isDynamicDim(axis) && !small.isDynamicDim(axis);
      limits[axis] = starts[axis] + (small.getDimSize(axis) - 1) * steps[axis] + 1;
    }
    if (isStatic)
      return c.make<SliceOp>(x, starts, limits, steps);
    SmallVector<Value> ends;
    for (int64_t axis = 0; axis < form.rank; ++axis) {
      int64_t k = axis - form.space;
      bool isSpace = k >= 0 && k < form.spatial();
      Value size = c.size(isSpace ? dy : x, axis);
      if (isSpace) {
        size = c.make<MulOp>(c.make<SubOp>(size, constantSize(c, 1)), constantSize(c, steps[axis]));
        size = c.make<AddOp>(size, constantSize(c, starts[axis] + 1));
      }
      ends.push_back(size);
    }
    Value taken = c.make<RangeSliceOp>(x, constantSizes(c, starts), joinSizes(c, ends), constantSizes(c, steps));
    SmallVector<int64_t> shape(type.getShape());
    for (int64_t axis = form.space; axis < form.space + form.spatial(); ++axis)
      shape[axis] = small.getDimSize(axis);
    return c.retype(taken, RankedTensorType::get(shape, type.getElementType()));
  }

  static Value pullFilter(const Form &form, VjpBuilder &g, Value dy) {
    ConvolutionOp op = form.op;
    Value w = g.operand(1), x = bordered(form, g, g.operand(0));
    RankedTensorType filter = tensorTypeOf(w);
    auto groups = static_cast<int64_t>(op.getGroups());
    int64_t features = filter.getDimSize(0), channels = filter.getDimSize(form.channel);
    SmallVector<int64_t> window(filter.getShape().slice(form.space, form.spatial()));
    SmallVector<int64_t> summed = otherAxes(form.rank, form.channel), one(filter.getShape());
    for (int64_t k = 0; k < form.spatial(); ++k)
      one[form.space + k] = 1;
    SmallVector<Value> taps;
    forEachIndex(window, [&](ArrayRef<int64_t> at) {
      Value taken = tap(form, g, x, dy, at), product;
      if (groups == 1) {
        product = g.make<DotGeneralOp>(dy, taken, ArrayRef<int64_t>(), ArrayRef<int64_t>(), summed, summed,
                                       elementTypeOf(w)); // [O, C]
      } else if (channels == 1 && features == groups) {
        product = g.convert(g.reduce(g.make<MulOp>(dy, g.convert(taken, elementTypeOf(dy))), summed, Combiner::add),
                            elementTypeOf(w)); // [O]
      } else {
        // The channels as [group, channel of the group]
        Value parted = parts(form, g, taken, groups, channels),
              dyParted = parts(form, g, dy, groups, features / groups);
        SmallVector<int64_t> over = otherAxes(form.rank + 1, {form.channel, form.channel + 1});
        product = g.make<DotGeneralOp>(dyParted, parted, form.channel, form.channel, over, over, elementTypeOf(w));
      }
      SmallVector<Value> sizes;
      if (llvm::count(one, ShapedType::kDynamic) > 1)
        sizes = {g.size(w, 0), g.size(w, form.channel)};
      RankedTensorType type = RankedTensorType::get(one, elementTypeOf(w));
      Value shape;
      if (!sizes.empty()) {
        SmallVector<Value> entries(form.rank, constantSize(g, 1));
        entries[0] = sizes[0];
        entries[form.channel] = sizes[1];
        shape = joinSizes(g, entries);
      }
      taps.push_back(g.make<ReshapeOp>(product, shape, type));
    });
    return stacked(form, g, taps, window);
  }
  /// Taps [O, C, 1, 1] (or [O, 1, 1, C]) in row-major order as one filter.
  static Value stacked(const Form &form, Composer &c, SmallVector<Value> taps, ArrayRef<int64_t> window) {
    for (int64_t k = form.spatial() - 1; k >= 0; --k) {
      SmallVector<Value> rows;
      for (size_t at = 0; at < taps.size(); at += window[k])
        rows.push_back(window[k] == 1 ? taps[at]
                                      : c.make<ConcatenateOp>(ArrayRef(taps).slice(at, window[k]), form.space + k));
      taps = rows;
    }
    return taps[0];
  }
  static Value parts(const Form &form, Composer &c, Value value, int64_t groups, int64_t channels) {
    SmallVector<int64_t> shape(tensorTypeOf(value).getShape());
    shape[form.channel] = channels;
    shape.insert(shape.begin() + form.channel, groups);
    RankedTensorType type = RankedTensorType::get(shape, elementTypeOf(value));
    Value sizes;
    if (type.getNumDynamicDims() > 1) {
      SmallVector<Value> entries;
      for (int64_t axis = 0; axis < form.rank; ++axis) {
        if (axis == form.channel)
          entries.append({constantSize(c, groups), constantSize(c, channels)});
        else
          entries.push_back(c.size(value, axis));
      }
      sizes = joinSizes(c, entries);
    }
    return c.make<ReshapeOp>(value, sizes, type);
  }

  LogicalResult vjp(ConvolutionOp op, VjpBuilder &g) const {
    Value dy = g.cotangent();
    if (!dy)
      return success();
    Form form(op);
    if (failed(checkFilter(form)))
      return failure();
    bool isEmpty = llvm::any_of(op.getType().getShape(), [](int64_t size) { return size == 0; }) ||
                   llvm::any_of(tensorTypeOf(op.getFilter()).getShape(), [](int64_t size) { return size == 0; });
    if (isEmpty) // every derivative is a sum of nothing
      return success();
    if (g.wants(0))
      g.give(0, pullInput(form, g, dy));
    if (g.wants(1))
      g.give(1, pullFilter(form, g, dy));
    return success();
  }
  LogicalResult jvp(ConvolutionOp op, JvpBuilder &t) const {
    pushProduct(op, t);
    return success();
  }
};

// det: d x_ij = dy * cofactor_ij, (-1)^(i + j) times the determinant without row i and column j: right for singular
// matrices, too
struct DetRule : Rule<DetRule, DetOp> {
  static FailureOr<Value> cofactors(DetOp op, GradientBuilder &b) {
    Value x = b.operand(0);
    RankedTensorType type = tensorTypeOf(x);
    int64_t rank = type.getRank(), n = std::max(type.getDimSize(rank - 1), type.getDimSize(rank - 2));
    if (ShapedType::isDynamic(n))
      return op->emitOpError("requires matrices of static size for its gradient, got ") << type, failure();
    if (n <= 1)
      return b.fill(1, x);
    // Row i: all numbers but i.
    HostTensor table(b.getI64Type(), {n, n - 1}), signs(type.getElementType(), {n, n});
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) {
        if (j + 1 < n)
          table.setInt(i * (n - 1) + j, j < i ? j : j + 1);
        signs.setFloat(i * n + j, (i + j) % 2 ? -1 : 1);
      }
    Value others = b.make<ConstantOp>(table.toAttr());
    Value rows = b.make<GatherOp>(x, others, rank - 2);  // [..., i, row, column]
    Value minors = b.make<GatherOp>(rows, others, rank); // [..., i, row, j, column]
    SmallVector<int64_t> order = axisRange(0, rank + 2);
    std::swap(order[rank - 1], order[rank]);
    Value determinants = b.make<DetOp>(gradient::transpose(b, minors, order)); // [..., i, j]
    Value sign = b.spread(b.make<ConstantOp>(signs.toAttr()), determinants, {rank - 2, rank - 1});
    return Value(Term(b, determinants) * Term(b, sign));
  }
  LogicalResult vjp(DetOp op, VjpBuilder &g) const {
    Value dy = g.cotangent();
    if (!dy || !g.wants(0))
      return success();
    FailureOr<Value> factors = cofactors(op, g);
    if (failed(factors))
      return failure();
    int64_t rank = tensorTypeOf(*factors).getRank();
    g.give(0, Term(g, dy).spread(*factors, axisRange(0, rank - 2)) * Term(g, *factors));
    return success();
  }
  LogicalResult jvp(DetOp op, JvpBuilder &t) const {
    Value tx = t.tangent();
    if (!tx)
      return success();
    FailureOr<Value> factors = cofactors(op, t);
    if (failed(factors))
      return failure();
    int64_t rank = tensorTypeOf(tx).getRank();
    t.set(0, t.reduce(Term(t, tx) * Term(t, *factors), {rank - 2, rank - 1}, Combiner::add));
    return success();
  }
};

} // namespace

void sinter::attachContractionGradients(MLIRContext &context) {
  attach<DotGeneralRule, ConvolutionRule, DetRule>(context);
}

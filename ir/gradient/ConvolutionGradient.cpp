// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/AxisOrder.h"
#include "ir/Contraction.h"
#include "ir/Elementwise.h"
#include "ir/LiveTaps.h"
#include "ir/Reduction.h"
#include "ir/Shape.h"
#include "ir/gradient/LinearRule.h"
#include "ir/gradient/Moves.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::gradient;

namespace {

// convolution, y[n, o, p] = sum_{c, k} x'[n, c, p s + k d - low] w[o, c, k] with x' the input with zeros between
//   dx'[n, c, q] = sum_{o, k} dy'[n, o, q + low - k d] w[o, c, k]: a convolution of dy' (dy with s - 1 zeros between)
//     with w flipped in space and with its channels exchanged, at every input_dilation-th place
//   dw[o, c, k] = sum_{n, p} dy[n, o, p] x'[n, c, p s + k d - low]: for each k a matrix product over samples and places
// All of it is built with channels last, where the products have long rows; the transposes around it meet those that
// the layout pass puts around the convolution.
struct ConvolutionRule : Rule<ConvolutionRule, ConvolutionOp> {
  struct Form {
    mutable ConvolutionOp op; // accessors of ops are not const
    int64_t rank, channel, space = 1;
    Value x, w, dy;
    SmallVector<int64_t> first; // the permutation to the op's own layout

    Form(ConvolutionOp op, VjpBuilder &g)
        : op(op), rank(tensorTypeOf(op.getInput()).getRank()), channel(rank - 1), x(g.operand(0)), w(g.operand(1)),
          dy(g.cotangent()), first(axisRange(0, rank)) {
      if (op.getLayout() == ConvLayout::channels_last)
        return;
      first = channelsToFirst(rank);
      SmallVector<int64_t> last = inversePermutation(first);
      x = gradient::transpose(g, x, last);
      w = gradient::transpose(g, w, last);
      dy = gradient::transpose(g, dy, last);
    }
    Value back(Composer &c, Value value) const { return gradient::transpose(c, value, first); }
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
    RankedTensorType filter = tensorTypeOf(form.w);
    for (int64_t k = 0; k < form.rank; ++k)
      if (filter.isDynamicDim(k) && (form.isSpace(k) || form.op.getGroups() > 1))
        return form.op->emitOpError("requires a filter of static sizes for its gradient, got ")
               << tensorTypeOf(form.op.getFilter());
    return success();
  }

  /// w [O, k, C / G] -> [C, k flipped, O / G]
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

  /// A strided convolution's dx place by place: all q = s m + r for one r see the taps k = r + low modulo s only,
  /// without zeros between the elements of dy. So there is a convolution of stride 1 for each r, by a part of w, and
  /// their results alternate:
  ///   dx[s m + r] = sum_j dy[m + t - j] w[k0 + s j] with k0 = (r + low) mod s, t = (r + low - k0) / s
  static Value pullByPhases(const Form &form, Composer &c) {
    ConvolutionOp op = form.op;
    RankedTensorType type = tensorTypeOf(form.x), small = tensorTypeOf(form.dy), filter = tensorTypeOf(form.w);
    SmallVector<int64_t> ones(form.spatial(), 1), part(type.getShape());
    ArrayRef<int64_t> strides = op.getStrides();
    for (int64_t k = 0; k < form.spatial(); ++k)
      part[form.space + k] = llvm::divideCeil(type.getDimSize(form.space + k), strides[k]);
    SmallVector<Value> phases;
    forEachIndex(strides, [&](ArrayRef<int64_t> phase) {
      SmallVector<int64_t> starts(form.rank, 0), limits(filter.getShape()), steps = form.onSpace(strides, 1), low, high;
      bool isEmpty = false;
      for (int64_t k = 0; k < form.spatial(); ++k) {
        int64_t axis = form.space + k, shifted = phase[k] + op.getLow()[k], stride = strides[k];
        int64_t first = ((shifted % stride) + stride) % stride, t = (shifted - first) / stride;
        int64_t taps = first < limits[axis] ? (limits[axis] - first - 1) / stride + 1 : 0;
        isEmpty |= taps == 0;
        starts[axis] = std::min(first, limits[axis]);
        low.push_back(taps - 1 - t);
        high.push_back(part[axis] - small.getDimSize(axis) - low.back() + taps - 1);
      }
      if (isEmpty) {
        RankedTensorType zeros = RankedTensorType::get(part, type.getElementType());
        phases.push_back(
            c.make<BroadcastOp>(c.scalar(type.getElementType(), 0), Value(), ValueRange(), ArrayRef<int64_t>(), zeros));
        return;
      }
      Value taps = exchanged(form, c, c.make<SliceOp>(form.w, starts, limits, steps));
      phases.push_back(c.make<ConvolutionOp>(form.dy, taps, ones, low, high, ones, ones, op.getGroups(),
                                             ConvLayout::channels_last, type.getElementType()));
    });
    return trim(c, c.interleave(phases, strides, form.space), form.x);
  }

  static Value pullInput(const Form &form, VjpBuilder &g) {
    ConvolutionOp op = form.op;
    Value x = form.x, w = form.w, dy = form.dy;
    auto isOne = [](int64_t k) { return k == 1; };
    if (!llvm::all_of(op.getStrides(), isOne) && llvm::all_of(op.getInputDilation(), isOne) &&
        llvm::all_of(op.getDilation(), isOne) && tensorTypeOf(x).hasStaticShape() &&
        tensorTypeOf(dy).hasStaticShape() && tensorTypeOf(w).hasStaticShape())
      return pullByPhases(form, g);
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
                                     op.getDilation(), op.getGroups(), ConvLayout::channels_last, elementTypeOf(x));
    return trim(g, dx, x);
  }

  /// x' with the borders that taps `live` need, so that place p of the k-th of them is element p s + k d.
  static Value bordered(const Form &form, Composer &c, Value x, ArrayRef<TapRange> live) {
    ConvolutionOp op = form.op;
    SmallVector<int64_t> interior = llvm::map_to_vector(op.getInputDilation(), [](int64_t d) { return d - 1; });
    SmallVector<int64_t> low(op.getLow()), high(op.getHigh());
    for (auto [k, range] : llvm::enumerate(live)) {
      low[k] -= range.begin * op.getDilation()[k];
      high[k] -= (tensorTypeOf(form.w).getDimSize(form.space + k) - range.end) * op.getDilation()[k];
    }
    auto isZero = [](int64_t k) { return k == 0; };
    if (llvm::all_of(interior, isZero) && llvm::all_of(low, isZero) && llvm::all_of(high, isZero))
      return x;
    return c.make<PadOp>(x, c.scalar(elementTypeOf(x), 0), form.onSpace(low, 0), form.onSpace(high, 0),
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

  static Value pullFilter(const Form &form, VjpBuilder &g) {
    ConvolutionOp op = form.op;
    // Taps that only meet padding have no gradient.
    SmallVector<TapRange> live = liveTaps(op);
    Value dy = form.dy, w = form.w, x = bordered(form, g, form.x, live);
    RankedTensorType filter = tensorTypeOf(w);
    auto groups = static_cast<int64_t>(op.getGroups());
    int64_t features = filter.getDimSize(0), channels = filter.getDimSize(form.channel);
    SmallVector<int64_t> window, summed = otherAxes(form.rank, form.channel), one(filter.getShape());
    for (TapRange range : live)
      window.push_back(range.end - range.begin);
    for (int64_t k = 0; k < form.spatial(); ++k)
      one[form.space + k] = 1;
    // Columns are what a product has vectors of: [O, C], or where C would not fill them [C, O], exchanged at the end.
    constexpr int64_t kFewChannels = 32;
    bool exchanged = groups == 1 && !ShapedType::isDynamic(features) && !ShapedType::isDynamic(channels) &&
                     channels < std::min(features, kFewChannels);
    if (exchanged)
      std::swap(one[0], one[form.channel]);
    SmallVector<Value> taps;
    forEachIndex(window, [&](ArrayRef<int64_t> at) {
      Value taken = tap(form, g, x, dy, at), product;
      if (groups == 1) {
        Value rows = exchanged ? taken : dy, columns = exchanged ? dy : taken;
        product = g.make<DotGeneralOp>(rows, columns, ArrayRef<int64_t>(), ArrayRef<int64_t>(), summed, summed,
                                       elementTypeOf(w));
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
      RankedTensorType type = RankedTensorType::get(one, elementTypeOf(w));
      Value shape;
      if (needsSizes(type)) {
        SmallVector<Value> entries(form.rank, constantSize(g, 1));
        entries[0] = g.size(w, 0);
        entries[form.channel] = g.size(w, form.channel);
        shape = joinSizes(g, entries);
      }
      taps.push_back(g.make<ReshapeOp>(product, shape, type));
    });
    Value dw = stacked(form, g, taps, window);
    if (exchanged) {
      SmallVector<int64_t> order = axisRange(0, form.rank);
      std::swap(order[0], order[form.channel]);
      dw = gradient::transpose(g, dw, order);
    }
    SmallVector<int64_t> before, after, none(form.rank, 0);
    for (auto [k, range] : llvm::enumerate(live)) {
      before.push_back(range.begin);
      after.push_back(filter.getDimSize(form.space + k) - range.end);
    }
    auto isZero = [](int64_t k) { return k == 0; };
    if (llvm::all_of(before, isZero) && llvm::all_of(after, isZero))
      return dw;
    return g.make<PadOp>(dw, g.scalar(elementTypeOf(dw), 0), form.onSpace(before, 0), form.onSpace(after, 0), none);
  }
  /// Taps [O, 1, 1, C] in row-major order as one filter.
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
    if (needsSizes(type)) {
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
    if (!g.cotangent())
      return success();
    Form form(op, g);
    if (failed(checkFilter(form)))
      return failure();
    bool isEmpty = llvm::any_of(op.getType().getShape(), [](int64_t size) { return size == 0; }) ||
                   llvm::any_of(tensorTypeOf(op.getFilter()).getShape(), [](int64_t size) { return size == 0; });
    if (isEmpty) // every derivative is a sum of nothing
      return success();
    if (g.wants(0))
      g.give(0, form.back(g, pullInput(form, g)));
    if (g.wants(1))
      g.give(1, form.back(g, pullFilter(form, g)));
    return success();
  }
  LogicalResult jvp(ConvolutionOp op, JvpBuilder &t) const {
    pushProduct(t);
    return success();
  }
};

} // namespace

void sinter::attachConvolutionGradient(MLIRContext &context) { attach<ConvolutionRule>(context); }

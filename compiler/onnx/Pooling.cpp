// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/onnx/Families.h"
#include "compiler/onnx/Windows.h"

using namespace mlir;

namespace sinter::onnx {

/// One entry per axis: `lead` for batch and channels, then the spatial ones.
static SmallVector<int64_t> withLead(ArrayRef<int64_t> spatial, int64_t lead) {
  SmallVector<int64_t> out = {lead, lead};
  out.append(spatial.begin(), spatial.end());
  return out;
}

static SmallVector<int64_t> plus(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  SmallVector<int64_t> out;
  for (auto [x, y] : llvm::zip(a, b))
    out.push_back(x + y);
  return out;
}

/// What leaves the other operand of a maximum as it is.
static double leastOf(Type type) {
  if (isa<FloatType>(type))
    return -std::numeric_limits<double>::infinity();
  return type.isUnsignedInteger() ? 0 : -std::exp2(double(type.getIntOrFloatBitWidth() - 1));
}

/// `x` with the combiner's identity where pads are open.
static Value padOpen(OpImport &n, Combiner combiner, Value x, const Window &w) {
  if (n.failed() || !w.isOpen())
    return x;
  return padOpen(n, x, w, n.scalar(n.elem(x), combiner == Combiner::max ? leastOf(n.elem(x)) : 0));
}

static Value reduceWindow(OpImport &n, Combiner combiner, Value x, const Window &w) {
  x = padOpen(n, combiner, x, w);
  return n.make<ReduceWindowOp>(x, combiner, withLead(w.kernel, 1), withLead(w.strides, 1), withLead(w.low, 0),
                                withLead(plus(w.high, w.extra), 0), withLead(w.dilations, 1));
}

static SmallVector<int64_t> spatialAxes(OpImport &n, Value x) {
  return llvm::to_vector(llvm::seq<int64_t>(2, std::max<int64_t>(n.rank(x), 2)));
}

/// Row-major positions in `padded`, which is `x` with the open pads of `w`, as those in `x`.
static Value withoutPads(OpImport &n, Value at, Value padded, Value x, const Window &w) {
  SmallVector<Value> places;
  for (int64_t axis = n.rank(x) - 1; axis > 0 && !n.failed(); --axis) {
    Value size = n.broadcastLike(n.dim(padded, axis), at), low = n.scalarInt(0);
    if (axis > 1 && w.openLow[axis - 2].tensor)
      low = n.reshape(w.openLow[axis - 2].tensor, {});
    places.push_back(n.sub(n.make<RemOp>(at, size), low));
    at = n.div(at, size);
  }
  for (int64_t axis = 1; axis < n.rank(x) && !n.failed(); ++axis)
    at = n.add(n.mul(at, n.dim(x, axis)), places[n.rank(x) - 1 - axis]);
  return at;
}

static LogicalResult importMaxPool(OpImport &n) {
  Value x = n.in(0);
  FailureOr<Window> w = readWindow(n, x, std::nullopt);
  if (failed(w) || failed(n.out(reduceWindow(n, Combiner::max, x, *w))))
    return failure();
  if (!n.wants(1))
    return success();
  Value padded = padOpen(n, Combiner::max, x, *w);
  Value at = n.make<ArgReduceWindowOp>(padded, withLead(w->kernel, 1), withLead(w->strides, 1), withLead(w->low, 0),
                                       withLead(plus(w->high, w->extra), 0), withLead(w->dilations, 1));
  if (w->isOpen())
    at = withoutPads(n, at, padded, x, *w);
  if (n.intAttr("storage_order", 0)) {
    // the places in a plane are counted down the columns
    if (n.rank(x) != 4)
      return n.unsupported("storage_order 1 for other ranks than 4");
    Value height = n.dim(x, 2), width = n.dim(x, 3), area = n.mul(height, width);
    if (n.failed())
      return failure();
    Value areas = n.broadcastLike(area, at), widths = n.broadcastLike(width, at);
    Value inside = n.make<RemOp>(at, areas);
    Value row = n.div(inside, widths), column = n.make<RemOp>(inside, widths);
    at = n.add(n.sub(at, inside), n.add(n.mul(column, height), row));
  }
  return n.out(at);
}

static Value averageOf(OpImport &n, Value x) {
  FailureOr<Window> w = readWindow(n, x, std::nullopt);
  if (failed(w))
    return {};
  Value sum = reduceWindow(n, Combiner::add, x, *w);
  int64_t area = 1;
  for (int64_t size : w->kernel)
    area *= size;
  bool includePads = n.intAttr("count_include_pad", 0) != 0;
  bool hasExtra = llvm::any_of(w->extra, [](int64_t pad) { return pad != 0; });
  if (!w->isPadded() || (includePads && !hasExtra))
    return n.div(sum, double(area));
  // the elements under each window: a sum of ones over one plane
  SmallVector<Size> plane = {n.fixed(1), n.fixed(1)};
  for (int64_t axis = 2; axis < n.rank(x); ++axis)
    plane.push_back(n.sizeOf(x, axis));
  Value ones = n.spread(n.scalar(n.elem(x), 1), plane);
  Window counted = *w;
  if (includePads) {
    // padding counts, what ceil mode adds does not
    ones = n.pad(ones, n.scalar(n.elem(x), 1), withLead(w->low, 0), withLead(w->high, 0));
    ones = padOpen(n, ones, *w, n.scalar(n.elem(x), 1));
    counted.low.assign(w->low.size(), 0);
    counted.high = counted.low;
    counted.openLow.assign(w->low.size(), n.fixed(0));
    counted.openHigh = counted.openLow;
  }
  Value count = reduceWindow(n, Combiner::add, ones, counted);
  return n.div(sum, n.broadcastLike(count, sum));
}

Value averagePool(OpImport &n, Value x) {
  return n.inWiderFloats(x, [&](Value wide) { return averageOf(n, wide); });
}

static LogicalResult importAveragePool(OpImport &n) { return n.out(averagePool(n, n.in(0))); }

/// (sum |x|^p)^(1/p), `sum` being what adds the elements.
static Value normOf(OpImport &n, Value narrow, double p, llvm::function_ref<Value(Value)> sum) {
  return n.inWiderFloats(narrow, [&](Value x) -> Value {
    if (p == 1)
      return sum(n.make<AbsOp>(x));
    if (p == 2)
      return n.make<SqrtOp>(sum(n.mul(x, x)));
    return n.binary<PowOp>(sum(n.binary<PowOp>(n.make<AbsOp>(x), p)), 1 / p);
  });
}

static double exponentOf(OpImport &n) { return n.version < 2 ? n.floatAttr("p", 2) : double(n.intAttr("p", 2)); }

static LogicalResult importLpPool(OpImport &n) {
  FailureOr<Window> w = readWindow(n, n.in(0), std::nullopt);
  if (failed(w))
    return failure();
  return n.out(normOf(n, n.in(0), exponentOf(n), [&](Value x) { return reduceWindow(n, Combiner::add, x, *w); }));
}

static LogicalResult importGlobalLpPool(OpImport &n) {
  Value x = n.in(0);
  return n.out(
      normOf(n, x, exponentOf(n), [&](Value y) { return n.reduce(Combiner::add, y, spatialAxes(n, x), true); }));
}

static LogicalResult importMaxUnpool(OpImport &n) {
  Value x = n.in(0), at = n.in(1);
  FailureOr<Window> w = readWindow(n, x, std::nullopt);
  if (failed(w))
    return failure();
  SmallVector<Size> sizes = {n.sizeOf(x, 0), n.sizeOf(x, 1)};
  Size total = n.times(sizes[0], sizes[1]);
  for (size_t k = 0; k < w->kernel.size(); ++k) {
    Size steps = n.times(n.plus(n.sizeOf(x, int64_t(k) + 2), -1), n.fixed(w->strides[k]));
    sizes.push_back(n.plus(steps, w->kernel[k] - w->low[k] - w->high[k]));
    total = n.times(total, sizes.back());
  }
  Value zeros = n.spread(n.scalar(n.elem(x), 0), {total});
  Value flat = n.make<ScatterElementsOp>(zeros, n.reshape(at, {-1}), n.reshape(x, {-1}), int64_t(0), Combiner::set);
  Value result = n.reshapeSizes(flat, sizes);
  if (!n.in(2))
    return n.out(result);
  // the positions are those of the inferred shape; a larger one adds zeros at the ends
  Value wanted = n.convert(n.in(2), n.b.getI64Type());
  Value high = n.sub(wanted, n.shapeOf(result));
  Value low = n.ints(SmallVector<int64_t>(size_t(n.rank(x)), 0));
  return n.out(n.make<DynamicPadOp>(result, n.scalar(n.elem(x), 0), low, high, PadMode::constant));
}

void registerPooling(Registry &r) {
  r.add("MaxPool", 1, 1, importMaxPool);
  r.addContrib("NhwcMaxPool", 1, [](OpImport &n) { return importChannelsLast(n, importMaxPool); });
  r.add("AveragePool", 1, 1, importAveragePool);
  r.add("LpPool", 1, 1, importLpPool);
  r.add("GlobalMaxPool", 1, 1,
        [](OpImport &n) { return n.out(n.reduce(Combiner::max, n.in(0), spatialAxes(n, n.in(0)), true)); });
  r.add("GlobalAveragePool", 1, 1, [](OpImport &n) { return n.out(n.mean(n.in(0), spatialAxes(n, n.in(0)), true)); });
  r.add("GlobalLpPool", 1, 1, importGlobalLpPool);
  r.add("MaxUnpool", 9, 2, importMaxUnpool);
}

} // namespace sinter::onnx

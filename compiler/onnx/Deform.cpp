// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Windows as columns: a convolution whose windows read at places that the model computes, and windows added up into
// the image that they come from. Both are moves, gathers and products of the dialect, which brings their gradients.

#include "compiler/onnx/Windows.h"
#include "ir/Ranges.h"

using namespace mlir;

namespace sinter::onnx {

//===--- DeformConv ---------------------------------------------------------------------------------------------===//

/// Where each tap reads along spatial axis `axis` of two: [batch, groups, 1, taps, rows, columns] in `type`.
static Value placesOf(OpImport &n, const Window &window, Value offsets, int64_t axis, Type type) {
  if (n.failed())
    return {};
  SmallVector<double> taps;
  for (int64_t i = 0; i < window.kernel[0]; ++i)
    for (int64_t j = 0; j < window.kernel[1]; ++j)
      taps.push_back(double((axis == 0 ? i : j) * window.dilations[axis] - window.low[axis]));
  Value own = n.unsqueeze(n.squeeze(n.slice(offsets, 3, axis, axis + 1), {3}), {2});
  Value starts = n.mul(n.convert(n.positions(own, 4 + axis), type), double(window.strides[axis]));
  return n.add(n.add(starts, own), n.reshape(n.floats(type, taps), {1, 1, 1, int64_t(taps.size()), 1, 1}));
}

static LogicalResult importDeformConv(OpImport &n) {
  Value x = n.in(0), filter = n.in(1), offsets = n.in(2), bias = n.in(3), mask = n.in(4);
  if (n.rank(x) != 4)
    return n.unsupported("deformed convolution over " + Twine(n.rank(x) - 2) + " axes");
  if (n.rank(filter) != 4 || n.rank(offsets) != 4)
    return n.error("requires a filter and offsets of rank 4, found " + printShape(n.dims(filter)) + " and " +
                   printShape(n.dims(offsets)));
  int64_t channels = n.size(x, 1), groups = n.intAttr("group", 1), offsetGroups = n.intAttr("offset_group", 1);
  if (!n.isStatic(filter) || ShapedType::isDynamic(channels))
    return n.unsupported("a filter or a number of channels known only at run time");
  FailureOr<Window> window = readWindow(n, x, n.dims(filter).drop_front(2));
  if (failed(window))
    return failure();
  int64_t taps = saturatingMul(window->kernel[0], window->kernel[1]), outputs = n.size(filter, 0);
  if (groups < 1 || channels % groups != 0 || outputs % groups != 0 || n.size(filter, 1) != channels / groups)
    return n.error("requires groups that divide " + Twine(channels) + " and " + Twine(outputs) +
                   " channels and a filter for one, found " + Twine(groups) + " and " + printShape(n.dims(filter)));
  if (offsetGroups < 1 || channels % offsetGroups != 0)
    return n.error("requires an offset_group that divides " + Twine(channels) + " channels, found " +
                   Twine(offsetGroups));

  // All below: [batch, offset groups, channels of one, taps, rows, columns].
  Type type = n.elem(x), i64 = n.b.getI64Type();
  Type wide = type.isF64() ? type : n.b.getF32Type();
  Size batch = n.sizeOf(x, 0), rows = n.sizeOf(offsets, 2), columns = n.sizeOf(offsets, 3);
  Size height = n.sizeOf(x, 2), width = n.sizeOf(x, 3), image = n.times(height, width), places = n.times(rows, columns);
  int64_t perGroup = channels / offsetGroups;
  auto all = [&](int64_t each) {
    return SmallVector<Size>{batch, n.fixed(offsetGroups), n.fixed(each), n.fixed(taps), rows, columns};
  };
  offsets = n.convert(n.reshapeSizes(offsets, {batch, n.fixed(offsetGroups), n.fixed(taps), n.fixed(2), rows, columns}),
                      wide);
  Value y = placesOf(n, *window, offsets, 0, wide), xAt = placesOf(n, *window, offsets, 1, wide);
  Value pixels = n.reshapeSizes(x, {batch, n.fixed(offsetGroups), n.fixed(perGroup), image});

  auto corner = [&](int64_t down, int64_t right) {
    auto along = [&](Value at, int64_t by, int64_t axis) -> std::pair<Value, Value> { // position and weight
      Value low = n.make<FloorOp>(at), size = n.dim(x, axis), fraction = n.sub(at, low);
      Value position = n.add(low, double(by)), last = n.sub(n.convert(size, wide), 1);
      Value inside =
          n.binary<AndOp>(n.compare(CompareKind::ge, position, 0), n.compare(CompareKind::le, position, last));
      Value weight = n.select(inside, by ? fraction : n.sub(1, fraction), 0);
      return {n.convert(n.max(n.min(position, last), 0), i64), weight};
    };
    auto [row, rowWeight] = along(y, down, 2);
    auto [column, columnWeight] = along(xAt, right, 3);
    Value position = n.add(n.mul(row, n.dim(x, 3)), column);
    position = n.expand(position, n.shapeTensor(all(perGroup)));
    position =
        n.reshapeSizes(position, {batch, n.fixed(offsetGroups), n.fixed(perGroup), n.times(n.fixed(taps), places)});
    Value read = n.make<GatherElementsOp>(pixels, position, int64_t(3));
    return n.mul(n.convert(n.reshapeSizes(read, all(perGroup)), wide), n.mul(rowWeight, columnWeight));
  };
  Value read = n.add(n.add(corner(0, 0), corner(0, 1)), n.add(corner(1, 0), corner(1, 1)));
  if (mask)
    read = n.mul(read, n.convert(n.reshapeSizes(mask, all(1)), wide));

  Value taken =
      n.reshapeSizes(n.convert(read, type), {batch, n.fixed(groups), n.fixed(channels / groups * taps), places});
  Value weights = n.reshape(filter, {1, groups, outputs / groups, channels / groups * taps});
  Value result = n.reshapeSizes(n.matmul(weights, taken, type), {batch, n.fixed(outputs), rows, columns});
  return n.out(bias ? n.add(result, alongChannels(n, bias, result)) : result);
}

//===--- Col2Im -------------------------------------------------------------------------------------------------===//

/// Windows whose size only running tells: each element is added where it comes from, and what lies outside of the image
/// behind it.
static LogicalResult scatterWindows(OpImport &n, Value x, Value image, Value block, ArrayRef<int64_t> strides,
                                    ArrayRef<int64_t> dilations, ArrayRef<int64_t> pads) {
  auto spatial = int64_t(strides.size());
  SmallVector<int64_t> room; // that the pads add to, less what the last window takes
  for (int64_t k = 0; k < spatial; ++k)
    room.push_back(pads[k] + pads[spatial + k] + dilations[k] - 1);
  Value reach = n.sub(n.add(image, n.ints(room)), n.mul(block, n.ints(dilations)));
  Value windows = n.add(n.div(reach, n.ints(strides)), 1);
  Value total = n.reduce(Combiner::mul, image, {0}, true), taps = n.reduce(Combiner::mul, block, {0}, true);
  Size batch = n.sizeOf(x, 0), count{ShapedType::kDynamic, n.mul(taps, n.reduce(Combiner::mul, windows, {0}, true))};
  Size channels{ShapedType::kDynamic, n.div(n.slice(n.shapeOf(x), 0, 1, 2), taps)};

  Value places = n.concat({block, windows}, 0), at = n.expand(n.scalarInt(0), places), inside;
  for (int64_t k = 0; k < spatial && !n.failed(); ++k) {
    Value tap = n.positions(at, k), window = n.positions(at, spatial + k), size = n.element(image, k);
    Value place = n.sub(n.add(n.mul(tap, double(dilations[k])), n.mul(window, double(strides[k]))), double(pads[k]));
    Value fits = n.binary<AndOp>(n.compare(CompareKind::ge, place, 0), n.compare(CompareKind::lt, place, size));
    at = n.add(n.mul(at, size), place);
    inside = inside ? n.binary<AndOp>(inside, fits) : fits;
  }
  at = n.reshapeSizes(n.select(inside, at, n.element(total, 0)), {count});
  Value positions = n.expand(at, n.shapeTensor({batch, channels, count}));
  Value zeros = n.spread(n.scalar(n.elem(x), 0), {batch, channels, {ShapedType::kDynamic, n.add(total, 1)}});
  Value sums = n.make<ScatterElementsOp>(zeros, positions, n.reshapeSizes(x, {batch, channels, count}), int64_t(2),
                                         Combiner::add);
  Value kept = n.make<RangeSliceOp>(
      sums, n.ints({0, 0, 0}),
      n.concat({n.ints({std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::max()}), total}, 0),
      n.ints({1, 1, 1}));
  return n.out(n.reshapeTo(kept, n.concat({n.shapeTensor({batch, channels}), image}, 0)));
}

static LogicalResult importCol2Im(OpImport &n) {
  Value x = n.in(0), imageSizes = n.convert(n.in(1), n.b.getI64Type()),
        blockSizes = n.convert(n.in(2), n.b.getI64Type());
  if (n.rank(x) != 3 || n.rank(imageSizes) != 1 || n.rank(blockSizes) != 1)
    return n.error("requires columns of rank 3 and two lists of sizes, found " + printShape(n.dims(x)) + ", " +
                   printShape(n.dims(imageSizes)) + " and " + printShape(n.dims(blockSizes)));
  int64_t spatial = n.size(blockSizes, 0);
  if (ShapedType::isDynamic(spatial))
    return n.unsupported("a number of axes known only at run time");
  SmallVector<int64_t> one(size_t(spatial), 1), none(size_t(2 * spatial), 0);
  SmallVector<int64_t> strides = n.intsAttr("strides").value_or(one), dilations = n.intsAttr("dilations").value_or(one),
                       pads = n.intsAttr("pads").value_or(none);
  if (spatial < 1 || n.size(imageSizes, 0) != spatial || int64_t(strides.size()) != spatial ||
      int64_t(dilations.size()) != spatial || int64_t(pads.size()) != 2 * spatial)
    return n.error("requires an image, a block, strides and dilations of one length and two pads an axis, found " +
                   Twine(n.size(imageSizes, 0)) + ", " + Twine(spatial) + ", " + Twine(strides.size()) + ", " +
                   Twine(dilations.size()) + " and " + Twine(pads.size()));
  constexpr int64_t most = int64_t(1) << 31, mostTaps = 256; // a tap is an op
  auto isOutside = [](int64_t value, int64_t least) { return value < least || value > most; };
  for (int64_t k = 0; k < spatial; ++k)
    if (isOutside(strides[k], 1) || isOutside(dilations[k], 1) || isOutside(pads[k], 0) ||
        isOutside(pads[spatial + k], 0))
      return n.error("requires positive strides and dilations and pads of at least 0 on axis " + Twine(k));
  std::optional<SmallVector<int64_t>> image = n.knownInts(imageSizes), block = n.knownInts(blockSizes);
  if (!image || !block || ShapedType::isDynamic(n.size(x, 1)) ||
      llvm::any_of(*block, [](int64_t size) { return size > mostTaps; }))
    return scatterWindows(n, x, imageSizes, blockSizes, strides, dilations, pads);
  int64_t taps = 1;
  for (int64_t k = 0; k < spatial; ++k) {
    if (isOutside((*image)[k], 1) || isOutside((*block)[k], 1))
      return n.error("requires positive sizes of image and block, found " + Twine((*image)[k]) + " and " +
                     Twine((*block)[k]) + " on axis " + Twine(k));
    taps = saturatingMul(taps, (*block)[k]);
  }
  if (n.size(x, 1) % taps != 0)
    return n.error("requires columns of a multiple of " + Twine(taps) + " elements, found " + Twine(n.size(x, 1)));

  // [batch, channels, taps..., windows...]; then each axis by itself: its taps lie `dilation` apart, its windows
  // `stride`.
  SmallVector<Size> sizes{n.sizeOf(x, 0), n.fixed(n.size(x, 1) / taps)};
  for (int64_t size : *block)
    sizes.push_back(n.fixed(size));
  for (int64_t k = 0; k < spatial; ++k) {
    int64_t room = (*image)[k] + pads[k] + pads[spatial + k] - dilations[k] * ((*block)[k] - 1) - 1;
    if (room < 0)
      return n.error("requires a block within the image and its pads on axis " + Twine(k));
    sizes.push_back(n.fixed(room / strides[k] + 1));
  }
  Value rest = n.reshapeSizes(x, sizes), zero = n.scalar(n.elem(x), 0);
  for (int64_t k = 0; k < spatial && !n.failed(); ++k) {
    int64_t rank = n.rank(rest), axis = rank - spatial + k, windows = n.size(rest, axis);
    Value sum;
    for (int64_t tap = 0; tap < (*block)[k] && !n.failed(); ++tap) {
      SmallVector<int64_t> low(size_t(rank) - 1, 0), high = low, interior = low;
      low[axis - 1] = tap * dilations[k] - pads[k];
      interior[axis - 1] = strides[k] - 1;
      high[axis - 1] = (*image)[k] - low[axis - 1] - ((windows - 1) * strides[k] + 1);
      Value part = n.squeeze(n.slice(rest, 2, tap, tap + 1), {2});
      part = n.make<PadOp>(part, zero, low, high, interior, PadMode::constant);
      sum = sum ? n.add(sum, part) : part;
    }
    rest = sum;
  }
  return n.out(rest);
}

void registerDeform(Registry &r) {
  r.add("DeformConv", 19, 3, importDeformConv);
  r.add("Col2Im", 18, 3, importCol2Im);
}

} // namespace sinter::onnx

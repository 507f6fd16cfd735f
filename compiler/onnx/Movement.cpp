// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moving elements around: their order, parts of them, and more around them.

#include "compiler/onnx/OpImport.h"
#include "ir/Ranges.h"

using namespace mlir;

namespace sinter::onnx {

static LogicalResult importTranspose(OpImport &n) {
  int64_t rank = n.rank(n.in(0));
  SmallVector<int64_t> permutation;
  for (int64_t k = rank; k-- > 0;)
    permutation.push_back(k);
  if (std::optional<SmallVector<int64_t>> given = n.intsAttr("perm")) {
    if (int64_t(given->size()) != rank)
      return n.error("requires a permutation of " + Twine(rank) + " axes, found " + Twine(given->size()));
    permutation = *given;
    if (failed(n.normalizeAxes(permutation, rank)))
      return failure();
  }
  return n.out(n.transpose(n.in(0), permutation));
}

static LogicalResult importConcat(OpImport &n) {
  int64_t axis = n.axisAttr("axis", n.version < 4 ? 1 : 0, n.rank(n.in(0)));
  if (axis < 0)
    return failure();
  return n.out(n.concat(n.ins(), axis));
}

static LogicalResult importSplit(OpImport &n) {
  Value x = n.in(0);
  int64_t axis = n.axisAttr("axis", 0, n.rank(x));
  if (axis < 0)
    return failure();
  int64_t size = n.size(x, axis);
  std::optional<SmallVector<int64_t>> parts;
  if (n.in(1)) {
    // As many lengths as outputs, which the reader has limited.
    std::optional<HostTensor> lengths = n.known(n.in(1));
    if (lengths && lengths->numElements() == int64_t(n.numOutputs()))
      parts = llvm::to_vector(lengths->toInts());
    else
      parts = n.knownInts(n.in(1));
    if (!parts) { // run time: the parts' number is known, their places are running sums
      Value lengths = n.convert(n.in(1), n.b.getI64Type());
      if (n.size(lengths, 0) != int64_t(n.numOutputs()))
        return n.error("requires one length an output, found shape " + printShape(n.dims(lengths)));
      Value ends = n.make<CumulativeOp>(lengths, int64_t(0), Combiner::add, false, false);
      Value starts = n.sub(ends, lengths);
      for (unsigned k = 0; k < n.numOutputs() && !n.failed(); ++k) {
        auto place = [&](Value from, int64_t otherwise) {
          SmallVector<Value> entries;
          for (int64_t a = 0; a < n.rank(x); ++a)
            entries.push_back(a == axis ? n.slice(from, 0, k, k + 1) : n.ints({otherwise}));
          return n.concat(entries, 0);
        };
        if (failed(n.out(n.make<RangeSliceOp>(x, place(starts, 0), place(ends, std::numeric_limits<int64_t>::max()),
                                              n.ints(SmallVector<int64_t>(size_t(n.rank(x)), 1))))))
          return failure();
      }
      return success(!n.failed());
    }
  } else if (std::optional<SmallVector<int64_t>> given = n.intsAttr("split")) {
    parts = given;
  }
  int64_t count = n.version >= 18 ? n.intAttr("num_outputs", n.numOutputs()) : n.numOutputs();
  if (parts && int64_t(parts->size()) != int64_t(n.numOutputs()))
    return n.error("requires one length an output, found " + Twine(parts->size()));
  if (!parts) {
    if (ShapedType::isDynamic(size)) {
      if (count != 1)
        return n.unsupported("equal parts of a size known only at run time");
      return n.out(x);
    }
    if (count < 1)
      return n.error("requires at least one part, found " + Twine(count));
    if (count != int64_t(n.numOutputs()))
      return n.error("requires as many outputs as num_outputs says, " + Twine(count) + ", found " +
                     Twine(n.numOutputs()));
    int64_t chunk = (size + count - 1) / count;
    if (n.version < 18 && size % count != 0)
      return n.error("requires parts of one size, found " + Twine(size) + " elements for " + Twine(count));
    parts.emplace();
    for (int64_t k = 0; k < count; ++k)
      parts->push_back(std::clamp<int64_t>(size - k * chunk, 0, chunk));
  }
  int64_t start = 0;
  for (int64_t part : *parts) {
    if (part < 0 || (!ShapedType::isDynamic(size) && part > size - start))
      return n.error("requires parts that add up to " + Twine(size) + ", found more");
    if (failed(n.out(n.slice(x, axis, start, start + part))))
      return failure();
    start += part;
  }
  return success();
}

/// Spreads `values`, one for each of `axes`, over all axes of a tensor of rank `rank`; `otherwise` elsewhere.
static Value spreadOverAxes(OpImport &n, Value values, Value axes, int64_t rank, int64_t otherwise) {
  if (!axes && n.size(values, 0) == rank)
    return values;
  if (!axes)
    axes = n.ints(llvm::to_vector(llvm::seq<int64_t>(0, std::max<int64_t>(n.size(values, 0), 0))));
  Value base = n.ints(SmallVector<int64_t>(size_t(rank), otherwise));
  return n.make<ScatterElementsOp>(base, axes, values, int64_t(0), Combiner::set);
}

/// Slices `x` along those of `axes` of which all is known (`?` is what is not), and notes them in `done`.
static LogicalResult sliceKnownAxes(OpImport &n, Value &x, ArrayRef<int64_t> axes, ArrayRef<int64_t> starts,
                                    ArrayRef<int64_t> ends, ArrayRef<int64_t> steps, MutableArrayRef<bool> done) {
  int64_t rank = n.rank(x);
  SmallVector<int64_t> low(size_t(rank), 0), high, stride(size_t(rank), 1), reversed;
  for (int64_t k = 0; k < rank; ++k)
    high.push_back(ShapedType::isDynamic(n.size(x, k)) ? -1 : n.size(x, k));
  bool any = false;
  for (int64_t k = 0; k < int64_t(axes.size()); ++k) {
    int64_t axis = axes[k], size = n.size(x, axis), start = starts[k], end = ends[k], step = steps[k];
    if (step == 0)
      return n.error("requires steps other than 0, found 0");
    if (ShapedType::isDynamic(start) || ShapedType::isDynamic(end))
      continue;
    if (ShapedType::isDynamic(size)) {
      // all of an axis, which exporters like to write
      if (start == 0 && step == 1 && end >= std::numeric_limits<int32_t>::max())
        done[k] = true;
      continue;
    }
    done[k] = true;
    any = true;
    auto place = [&](int64_t at, int64_t least, int64_t most) {
      return std::clamp<int64_t>(at < 0 ? at + size : at, least, most);
    };
    if (step > 0) {
      low[axis] = place(start, 0, size);
      high[axis] = std::max(place(end, 0, size), low[axis]);
    } else {
      start = place(start, -1, size - 1);
      // an end below -size means: past the first element
      end = end < -size ? -1 : place(end, -1, size - 1);
      reversed.push_back(axis);
      low[axis] = size - 1 - start;
      high[axis] = std::max(size - 1 - end, low[axis]);
      step = step == std::numeric_limits<int64_t>::min() ? std::numeric_limits<int64_t>::max() : -step;
    }
    stride[axis] = std::min<int64_t>(step, std::max<int64_t>(size, 1));
  }
  if (!reversed.empty()) {
    llvm::sort(reversed);
    x = n.make<ReverseOp>(x, reversed);
  }
  if (any)
    x = n.make<SliceOp>(x, low, high, stride);
  return success();
}

static LogicalResult importSlice(OpImport &n) {
  Value x = n.in(0), starts, ends, axes, steps;
  Type i64 = n.b.getI64Type();
  if (n.version < 10) {
    std::optional<SmallVector<int64_t>> from = n.intsAttr("starts"), to = n.intsAttr("ends"), at = n.intsAttr("axes");
    if (!from || !to)
      return n.error("requires starts and ends, found none");
    starts = n.ints(*from);
    ends = n.ints(*to);
    axes = at ? n.ints(*at) : Value();
  } else {
    if (!n.in(1) || !n.in(2))
      return n.error("requires starts and ends, found none");
    starts = n.convert(n.in(1), i64);
    ends = n.convert(n.in(2), i64);
    axes = n.in(3) ? n.convert(n.in(3), i64) : Value();
    steps = n.in(4) ? n.convert(n.in(4), i64) : Value();
  }
  if (n.failed())
    return failure();
  int64_t rank = n.rank(x), count = n.size(starts, 0);
  if (ShapedType::isDynamic(count))
    return n.unsupported("starts of unknown length");
  if (n.rank(starts) != 1 || n.rank(ends) != 1 || n.size(ends, 0) != count || (axes && n.size(axes, 0) != count) ||
      (steps && n.size(steps, 0) != count) || (!axes && count > rank))
    return n.error("requires starts, ends, axes and steps of one length, found " + printShape(n.dims(starts)) +
                   " and " + printShape(n.dims(ends)));

  // static where everything about an axis is known
  std::optional<SmallVector<int64_t>> knownAxes =
      axes ? n.knownInts(axes) : llvm::to_vector(llvm::seq<int64_t>(0, count));
  std::optional<SmallVector<int64_t>> from = n.partlyKnownInts(starts), to = n.partlyKnownInts(ends);
  std::optional<SmallVector<int64_t>> by = steps ? n.knownInts(steps) : SmallVector<int64_t>(size_t(count), 1);
  SmallVector<bool> done(size_t(count), false);
  if (knownAxes && failed(n.normalizeAxes(*knownAxes, rank)))
    return failure();
  if (knownAxes && from && to && by && failed(sliceKnownAxes(n, x, *knownAxes, *from, *to, *by, done)))
    return failure();
  SmallVector<int64_t> rest;
  for (int64_t k = 0; k < count; ++k)
    if (!done[k])
      rest.push_back(k);
  if (rest.empty())
    return n.out(x);
  auto keepRest = [&](Value values) {
    if (!values || int64_t(rest.size()) == count)
      return values;
    return n.gather(values, n.ints(rest), 0);
  };
  if (!axes)
    axes = n.ints(llvm::to_vector(llvm::seq<int64_t>(0, count)));
  if (!steps)
    steps = n.ints(SmallVector<int64_t>(size_t(count), 1));
  axes = keepRest(axes);
  return n.out(n.make<RangeSliceOp>(x, spreadOverAxes(n, keepRest(starts), axes, rank, 0),
                                    spreadOverAxes(n, keepRest(ends), axes, rank, std::numeric_limits<int64_t>::max()),
                                    spreadOverAxes(n, keepRest(steps), axes, rank, 1)));
}

static LogicalResult importPad(OpImport &n) {
  Value x = n.in(0), pads, value, axes;
  int64_t rank = n.rank(x);
  Type i64 = n.b.getI64Type();
  if (n.version < 11) {
    std::optional<SmallVector<int64_t>> given = n.intsAttr(n.version < 2 ? "paddings" : "pads");
    if (!given)
      return n.error("requires pads, found none");
    pads = n.ints(*given);
    value = n.scalar(n.elem(x), n.floatAttr("value", 0));
  } else {
    if (!n.in(1))
      return n.error("requires pads, found none");
    pads = n.convert(n.in(1), i64);
    value = n.in(2) ? n.reshape(n.in(2), {}) : n.scalar(n.elem(x), 0);
    axes = n.in(3) ? n.convert(n.in(3), i64) : Value();
  }
  if (n.failed())
    return failure();
  StringRef modeName = n.stringAttr("mode", "constant");
  std::optional<PadMode> mode = llvm::StringSwitch<std::optional<PadMode>>(modeName)
                                    .Case("constant", PadMode::constant)
                                    .Case("reflect", PadMode::reflect)
                                    .Case("edge", PadMode::edge)
                                    .Case("wrap", PadMode::wrap)
                                    .Default(std::nullopt);
  if (!mode)
    return n.unsupported("mode '" + modeName + "'");
  if (n.rank(pads) == 2) // the earliest test models
    pads = n.reshape(pads, {-1});
  int64_t half = n.size(pads, 0);
  if (ShapedType::isDynamic(half))
    return n.unsupported("pads of unknown length");
  if (half % 2 != 0 || (axes ? n.size(axes, 0) != half / 2 : half / 2 != rank))
    return n.error("requires two pads an axis, found " + Twine(half) + " for rank " + Twine(rank));
  half /= 2;
  Value low = spreadOverAxes(n, n.slice(pads, 0, 0, half), axes, rank, 0);
  Value high = spreadOverAxes(n, n.slice(pads, 0, half, 2 * half), axes, rank, 0);
  std::optional<SmallVector<int64_t>> before = n.knownInts(low), after = n.knownInts(high);
  if (!before || !after)
    return n.out(n.make<DynamicPadOp>(x, value, low, high, *mode));
  return n.out(n.make<PadOp>(x, value, *before, *after, SmallVector<int64_t>(size_t(rank), 0), *mode));
}

static LogicalResult importTile(OpImport &n) {
  Value x = n.in(0), repeats = n.convert(n.in(1), n.b.getI64Type());
  if (n.rank(repeats) != 1 || (n.size(repeats, 0) != n.rank(x) && !ShapedType::isDynamic(n.size(repeats, 0))))
    return n.error("requires one repeat an axis, found " + printShape(n.dims(repeats)) + " for rank " +
                   Twine(n.rank(x)));
  return n.out(n.make<TileOp>(x, repeats));
}

static LogicalResult importCenterCropPad(OpImport &n) {
  Value x = n.in(0);
  SmallVector<int64_t> axes = n.intsAttr("axes").value_or(n.allAxes(x));
  std::optional<SmallVector<int64_t>> sizes = n.knownInts(n.in(1));
  if (failed(n.normalizeAxes(axes, n.rank(x))))
    return failure();
  if (!sizes || !n.isStatic(x)) {
    // crop and pad: half of the difference at the start, rounded toward 0, the rest at the end
    Value wanted = n.convert(n.in(1), n.b.getI64Type()), own = n.gather(n.shapeOf(x), n.ints(axes), 0);
    if (n.rank(wanted) != 1 || n.size(wanted, 0) != int64_t(axes.size()))
      return n.error("requires one size an axis, found " + printShape(n.dims(wanted)));
    Value difference = n.sub(wanted, own), low = n.div(difference, 2), at = n.ints(axes);
    Value high = spreadOverAxes(n, n.sub(difference, low), at, n.rank(x), 0);
    return n.out(n.make<DynamicPadOp>(x, n.scalar(n.elem(x), 0), spreadOverAxes(n, low, at, n.rank(x), 0), high,
                                      PadMode::constant));
  }
  if (sizes->size() != axes.size())
    return n.error("requires one size an axis, found " + Twine(sizes->size()));
  SmallVector<int64_t> low(size_t(n.rank(x)), 0), high = low;
  for (auto [axis, size] : llvm::zip(axes, *sizes)) {
    if (size < 0)
      return n.error("requires sizes of at least 0, found " + Twine(size));
    int64_t own = n.size(x, axis), difference = size - own;
    // crop and pad: the odd element goes to the end
    low[axis] = difference >= 0 ? difference / 2 : -((own - size) / 2);
    high[axis] = difference - low[axis];
  }
  return n.out(n.pad(x, n.scalar(n.elem(x), 0), low, high));
}

static LogicalResult importDepthToSpace(OpImport &n) {
  Value x = n.in(0);
  int64_t block = n.intAttr("blocksize", 0);
  if (n.rank(x) != 4 || block < 1)
    return n.error("requires rank 4 and a positive blocksize, found " + printShape(n.dims(x)) + " and " + Twine(block));
  Size batch = n.sizeOf(x, 0), channels = n.over(n.sizeOf(x, 1), saturatingMul(block, block)), height = n.sizeOf(x, 2),
       width = n.sizeOf(x, 3);
  Size blocks = n.fixed(block);
  bool depthFirst = n.stringAttr("mode", "DCR") == "DCR";
  if (depthFirst)
    x = n.transpose(n.reshapeSizes(x, {batch, blocks, blocks, channels, height, width}), {0, 3, 4, 1, 5, 2});
  else
    x = n.transpose(n.reshapeSizes(x, {batch, channels, blocks, blocks, height, width}), {0, 1, 4, 2, 5, 3});
  return n.out(n.reshapeSizes(x, {batch, channels, n.times(height, blocks), n.times(width, blocks)}));
}

static LogicalResult importSpaceToDepth(OpImport &n) {
  Value x = n.in(0);
  int64_t block = n.intAttr("blocksize", 0);
  if (n.rank(x) != 4 || block < 1)
    return n.error("requires rank 4 and a positive blocksize, found " + printShape(n.dims(x)) + " and " + Twine(block));
  Size batch = n.sizeOf(x, 0), channels = n.sizeOf(x, 1), height = n.over(n.sizeOf(x, 2), block),
       width = n.over(n.sizeOf(x, 3), block), blocks = n.fixed(block);
  x = n.reshapeSizes(x, {batch, channels, height, blocks, width, blocks});
  bool depthFirst = n.stringAttr("mode", "DCR") == "DCR";
  x = n.transpose(x, depthFirst ? ArrayRef<int64_t>{0, 3, 5, 1, 2, 4} : ArrayRef<int64_t>{0, 1, 3, 5, 2, 4});
  return n.out(n.reshapeSizes(x, {batch, n.times(channels, n.fixed(saturatingMul(block, block))), height, width}));
}

void registerMovement(Registry &r) {
  r.add("Transpose", 1, 1, importTranspose);
  r.add("Concat", 1, 1, importConcat);
  r.add("Split", 2, 1, importSplit);
  r.add("Slice", 1, 1, importSlice);
  r.add("Pad", 1, 1, importPad);
  r.addContrib("Pad", 2, importPad, 13);
  r.add("Tile", 6, 2, importTile);
  r.add("CenterCropPad", 18, 2, importCenterCropPad);
  r.add("DepthToSpace", 1, 1, importDepthToSpace);
  r.add("SpaceToDepth", 1, 1, importSpaceToDepth);
}

} // namespace sinter::onnx

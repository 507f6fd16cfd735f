// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/onnx/Windows.h"
#include "ir/Checks.h"
#include "ir/Ranges.h"

using namespace mlir;

namespace sinter::onnx {

/// A list attribute of one positive entry per spatial axis.
static FailureOr<SmallVector<int64_t>> spatialAttr(OpImport &n, StringRef name, int64_t spatial) {
  SmallVector<int64_t> values = n.intsAttr(name).value_or(SmallVector<int64_t>(size_t(spatial), 1));
  if (int64_t(values.size()) != spatial)
    return n.error("requires " + Twine(spatial) + " " + name + ", found " + Twine(values.size()));
  for (int64_t value : values)
    if (value < 1 || value > kMaxWindow)
      return n.error("requires positive " + name + " of at most " + Twine(kMaxWindow) + ", found " + Twine(value));
  return values;
}

/// Sizes that arithmetic on them cannot overflow.
static LogicalResult requireWindow(OpImport &n, ArrayRef<int64_t> sizes, StringRef what, int64_t least = -kMaxWindow) {
  for (int64_t size : sizes)
    if (size < least || size > kMaxWindow)
      return n.error("requires " + what + " of sizes from " + Twine(least) + " to " + Twine(kMaxWindow) + ", found " +
                     Twine(size));
  return success();
}

/// The pads of auto_pad along an axis whose size only the call tells. There is a window for every `stride` elements,
/// also for fewer at the end, and each one ends `reach` elements after its start.
static void setOpenPads(OpImport &n, Window &window, int64_t axis, Size size, int64_t reach, bool isUpper) {
  int64_t stride = window.strides[axis];
  if (reach == 1)
    return;
  Size ends = n.plus(n.times(n.plus(n.over(n.plus(size, stride - 1), stride), -1), n.fixed(stride)), reach);
  if (n.failed())
    return;
  Value total = n.sub(ends.tensor, size.tensor);
  if (reach < stride)
    total = n.max(total, 0);
  Size half{ShapedType::kDynamic, n.div(total, 2)}, rest{ShapedType::kDynamic, n.sub(total, half.tensor)};
  window.openLow[axis] = isUpper ? half : rest;
  window.openHigh[axis] = isUpper ? rest : half;
}

Value padOpen(OpImport &n, Value x, const Window &window, Value fill) {
  if (n.failed() || !window.isOpen())
    return x;
  SmallVector<Size> low(2, n.fixed(0)), high(low);
  low.append(window.openLow);
  high.append(window.openHigh);
  return n.make<DynamicPadOp>(x, fill, n.shapeTensor(low), n.shapeTensor(high), PadMode::constant);
}

FailureOr<Window> readWindow(OpImport &n, Value x, std::optional<ArrayRef<int64_t>> kernel) {
  int64_t spatial = n.rank(x) - 2;
  if (spatial < 1)
    return n.error("requires an operand of rank 3 at least, found " + printShape(n.dims(x)));
  Window window;
  if (n.attribute("kernel_shape")) {
    FailureOr<SmallVector<int64_t>> given = spatialAttr(n, "kernel_shape", spatial);
    if (failed(given))
      return failure();
    window.kernel = *given;
    if (kernel && !llvm::equal(*kernel, window.kernel))
      return n.error("requires kernel_shape " + printShape(*kernel) + ", found " + printShape(window.kernel));
  } else if (kernel) {
    window.kernel.assign(kernel->begin(), kernel->end());
    if (failed(requireWindow(n, window.kernel, "a filter", 0)))
      return failure();
  } else {
    return n.error("requires the attribute 'kernel_shape'");
  }
  FailureOr<SmallVector<int64_t>> strides = spatialAttr(n, "strides", spatial);
  FailureOr<SmallVector<int64_t>> dilations = spatialAttr(n, "dilations", spatial);
  if (failed(strides) || failed(dilations))
    return failure();
  window.strides = *strides;
  window.dilations = *dilations;
  window.low.assign(size_t(spatial), 0);
  window.high = window.extra = window.low;
  window.openLow.assign(size_t(spatial), n.fixed(0));
  window.openHigh = window.openLow;

  StringRef autoPad = n.stringAttr("auto_pad", "NOTSET");
  bool isSame = autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER";
  if (isSame) {
    for (int64_t k = 0; k < spatial; ++k) {
      int64_t size = n.size(x, k + 2), reach = (window.kernel[k] - 1) * window.dilations[k] + 1;
      int64_t stride = window.strides[k], total;
      if (stride == 1) {
        total = reach - 1;
      } else if (ShapedType::isDynamic(size)) {
        setOpenPads(n, window, k, n.sizeOf(x, k + 2), reach, autoPad == "SAME_UPPER");
        continue;
      } else {
        total = std::max<int64_t>(((size + stride - 1) / stride - 1) * stride + reach - size, 0);
      }
      window.low[k] = autoPad == "SAME_UPPER" ? total / 2 : total - total / 2;
      window.high[k] = total - window.low[k];
    }
  } else if (autoPad == "NOTSET" || autoPad.empty()) {
    if (std::optional<SmallVector<int64_t>> pads = n.intsAttr("pads"); pads && !pads->empty()) {
      if (int64_t(pads->size()) != 2 * spatial)
        return n.error("requires " + Twine(2 * spatial) + " pads, found " + Twine(pads->size()));
      for (int64_t pad : *pads)
        if (pad < 0 || pad > kMaxWindow)
          return n.error("requires pads from 0 to " + Twine(kMaxWindow) + ", found " + Twine(pad));
      window.low.assign(pads->begin(), pads->begin() + spatial);
      window.high.assign(pads->begin() + spatial, pads->end());
    }
  } else if (autoPad != "VALID") {
    return n.error("requires auto_pad NOTSET, VALID, SAME_UPPER or SAME_LOWER, found '" + autoPad + "'");
  }

  if (n.intAttr("ceil_mode", 0) && !isSame) { // SAME already has a window for the last elements
    for (int64_t k = 0; k < spatial; ++k) {
      // floor((size + stride - 1) / stride) is the ceiling; a window that would start in the end's padding is dropped,
      // which is to say that no more than `reach - 1` elements behind the last one are read.
      int64_t size = n.size(x, k + 2), reach = (window.kernel[k] - 1) * window.dilations[k] + 1;
      window.extra[k] = std::max<int64_t>(std::min(window.strides[k], reach - window.high[k]) - 1, 0);
      if (ShapedType::isDynamic(size))
        continue;
      int64_t padded = size + window.low[k] + window.high[k] - reach, stride = window.strides[k];
      if (padded < 0)
        continue;
      int64_t count = (padded + stride - 1) / stride + 1;
      if ((count - 1) * stride >= size + window.low[k])
        --count;
      window.extra[k] = std::max<int64_t>((count - 1) * stride - padded, 0);
    }
  }
  return window;
}

Value alongChannels(OpImport &n, Value bias, Value like) {
  if (n.failed())
    return {};
  return n.broadcastLike(bias, like, {1});
}

/// `x` [N, C, spatial...] of as many channels as a filter says, where it leaves their number open.
static Value withChannels(OpImport &n, Value x, int64_t channels) {
  if (n.failed() || !ShapedType::isDynamic(n.size(x, 1)))
    return x;
  Value found = n.dim(x, 1), wanted = n.scalarInt(channels);
  x = n.make<RequireOp>(n.compare(CompareKind::eq, found, wanted), x, found, wanted,
                        "convolution got {} input channels, requires {} by its filters");
  if (n.failed())
    return x;
  SmallVector<Size> sizes;
  for (int64_t axis = 0; axis < n.rank(x); ++axis)
    sizes.push_back(axis == 1 ? n.fixed(channels) : n.sizeOf(x, axis));
  return n.reshapeSizes(x, sizes);
}

Value convolve(OpImport &n, Value x, Value filter, Type elementType, Value fill) {
  if (n.failed())
    return {};
  if (n.rank(filter) != n.rank(x)) {
    (void)n.error("requires a filter of rank " + Twine(n.rank(x)) + ", found " + printShape(n.dims(filter)));
    return {};
  }
  if (n.rank(filter) < 3) {
    (void)n.error("requires a filter of rank 3 at least, found " + printShape(n.dims(filter)));
    return {};
  }
  if (!n.isStatic(filter)) {
    (void)n.unsupported("a filter whose shape is known only at run time");
    return {};
  }
  int64_t groups = n.intAttr("group", 1);
  if (groups >= 1 && groups <= kMaxWindow && n.size(filter, 1) <= kMaxWindow)
    x = withChannels(n, x, groups * n.size(filter, 1));
  if (n.failed())
    return {};
  FailureOr<Window> window = readWindow(n, x, n.dims(filter).drop_front(2));
  if (failed(window))
    return {};
  SmallVector<int64_t> ones(window->kernel.size(), 1);
  x = padOpen(n, x, *window, fill || n.failed() ? fill : n.scalar(n.elem(x), 0));
  if (fill && window->isPadded()) {
    SmallVector<int64_t> low{0, 0}, high{0, 0};
    low.append(window->low);
    high.append(window->high);
    x = n.pad(x, fill, low, high);
    window->low.assign(ones.size(), 0);
    window->high.assign(ones.size(), 0);
  }
  return n.make<ConvolutionOp>(x, filter, window->strides, window->low, window->high, ones, window->dilations, groups,
                               ConvLayout::channels_first, elementType);
}

LogicalResult importChannelsLast(OpImport &n, ImportFn import) {
  int64_t rank = n.rank(n.in(0));
  if (rank < 3)
    return n.error("requires an operand of rank 3 at least, found " + printShape(n.dims(n.in(0))));
  SmallVector<int64_t> second = n.allAxes(n.in(0)), last = second;
  std::rotate(second.begin() + 1, second.end() - 1, second.end());
  std::rotate(last.begin() + 1, last.begin() + 2, last.end());
  n.inputs[0] = n.transpose(n.in(0), second);
  if (failed(import(n)))
    return failure();
  n.outputs[0] = n.transpose(n.outputs[0], last);
  return success(!n.failed());
}

static LogicalResult importConv(OpImport &n) {
  Value x = n.in(0), bias = n.in(2);
  Value result = convolve(n, x, n.in(1), n.elem(x));
  if (bias && result)
    result = n.add(result, alongChannels(n, bias, result));
  return n.out(result);
}

/// A depthwise convolution that looks back only, at the end of the last call's input first.
static LogicalResult importCausalConvWithState(OpImport &n) {
  Value x = n.in(0), filter = n.in(1), bias = n.in(2), past = n.in(3);
  if (n.rank(x) != 3 || n.rank(filter) != 3 || !n.isStatic(filter))
    return n.error("requires operands of rank 3 and a filter of known shape, found " + printShape(n.dims(x)) + " and " +
                   printShape(n.dims(filter)));
  StringRef activation = n.stringAttr("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish")
    return n.error("requires activation none, silu or swish, found '" + activation + "'");
  int64_t channels = n.size(filter, 0), before = n.size(filter, 2) - 1;
  Value padded = past ? n.concat({past, x}, 2) : n.pad(x, n.scalar(n.elem(x), 0), {0, 0, before}, {0, 0, 0});
  SmallVector<int64_t> one{1}, zero{0};
  Value result =
      n.make<ConvolutionOp>(padded, filter, one, zero, zero, one, one, channels, ConvLayout::channels_first, n.elem(x));
  if (bias && result)
    result = n.add(result, alongChannels(n, bias, result));
  if (activation != "none" && !n.failed()) {
    Value wide = n.convert(result, n.elem(x).isF64() ? n.elem(x) : n.b.getF32Type());
    result = n.convert(n.mul(wide, n.make<LogisticOp>(wide)), n.elem(x));
  }
  if (n.failed() || failed(n.out(result)))
    return failure();
  if (!n.wants(1))
    return success();
  // The last elements, as many as the filter looks back.
  Value end = n.dim(padded, 2),
        positions = n.add(n.positions(n.slice(padded, 2, 0, before), 2), n.sub(end, double(before)));
  return n.out(n.make<GatherElementsOp>(padded, positions, int64_t(2)));
}

static LogicalResult importConvTranspose(OpImport &n) {
  Value x = n.in(0), filter = n.in(1), bias = n.in(2);
  int64_t spatial = n.rank(x) - 2, groups = n.intAttr("group", 1);
  if (spatial < 1 || n.rank(filter) != n.rank(x))
    return n.error("requires operands of one rank of at least 3, found " + printShape(n.dims(x)) + " and " +
                   printShape(n.dims(filter)));
  if (!n.isStatic(filter))
    return n.unsupported("a filter whose shape is known only at run time");
  int64_t in = n.size(filter, 0), outPerGroup = n.size(filter, 1);
  if (groups < 1 || groups > kMaxWindow || in % groups != 0)
    return n.error("requires channels in " + Twine(groups) + " groups, found " + Twine(in));
  x = withChannels(n, x, in);
  if (n.failed())
    return failure();
  FailureOr<SmallVector<int64_t>> strides = spatialAttr(n, "strides", spatial);
  FailureOr<SmallVector<int64_t>> dilations = spatialAttr(n, "dilations", spatial);
  if (failed(strides) || failed(dilations))
    return failure();
  SmallVector<int64_t> kernel(n.dims(filter).drop_front(2));
  SmallVector<int64_t> outputPadding = n.intsAttr("output_padding").value_or(SmallVector<int64_t>(size_t(spatial), 0));
  SmallVector<int64_t> pads = n.intsAttr("pads").value_or(SmallVector<int64_t>(size_t(2 * spatial), 0));
  std::optional<SmallVector<int64_t>> shape = n.intsAttr("output_shape");
  if (shape && int64_t(shape->size()) == spatial + 2)
    shape->erase(shape->begin(), shape->begin() + 2);
  if (int64_t(outputPadding.size()) != spatial || int64_t(pads.size()) != 2 * spatial ||
      (shape && int64_t(shape->size()) != spatial))
    return n.error("requires output_padding, pads and output_shape for " + Twine(spatial) + " spatial axes");
  if (failed(requireWindow(n, kernel, "a filter", 0)) || failed(requireWindow(n, outputPadding, "output_padding")) ||
      failed(requireWindow(n, pads, "pads")) || (shape && failed(requireWindow(n, *shape, "an output_shape"))))
    return failure();

  // a convolution of the input with zeros between its elements, by the mirrored filter with inputs and outputs
  // exchanged
  StringRef autoPad = n.stringAttr("auto_pad", "NOTSET");
  bool same = autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER";
  SmallVector<int64_t> low, high, ones(size_t(spatial), 1);
  for (int64_t k = 0; k < spatial; ++k) {
    int64_t reach = (kernel[k] - 1) * (*dilations)[k], size = n.size(x, k + 2), begin = pads[k],
            end = pads[k + spatial];
    if (shape || same) {
      if (shape && ShapedType::isDynamic(size))
        return n.unsupported("output_shape with a size known only at run time");
      if (shape && failed(requireWindow(n, size, "an operand", 0)))
        return failure();
      // stride * (size - 1) + output padding + reach + 1 - wanted
      int64_t total = shape ? (*strides)[k] * (size - 1) + outputPadding[k] + reach + 1 - (*shape)[k]
                            : reach + 1 + outputPadding[k] - (*strides)[k];
      if (!shape)
        total = std::max<int64_t>(total, 0);
      // a deficit lengthens the end, as output padding does
      int64_t half = std::max<int64_t>(total, 0) / 2;
      begin = autoPad == "SAME_UPPER" ? half : std::max<int64_t>(total, 0) - half;
      end = total - begin;
    }
    low.push_back(reach - begin);
    high.push_back(reach - end + outputPadding[k]);
  }
  SmallVector<int64_t> split = {groups, in / groups, outPerGroup}, exchanged = {0, 2, 1};
  SmallVector<int64_t> joined = {saturatingMul(groups, outPerGroup), in / groups}, mirrored;
  for (int64_t k = 0; k < spatial; ++k) {
    split.push_back(kernel[k]);
    joined.push_back(kernel[k]);
    exchanged.push_back(k + 3);
    mirrored.push_back(k + 2);
  }
  filter = n.reshape(n.transpose(n.reshape(filter, split), exchanged), joined);
  filter = n.make<ReverseOp>(filter, mirrored);
  Value result = n.make<ConvolutionOp>(x, filter, ones, low, high, *strides, *dilations, groups,
                                       ConvLayout::channels_first, n.elem(x));
  if (bias && result)
    result = n.add(result, alongChannels(n, bias, result));
  return n.out(result);
}

void registerConvolution(Registry &r) {
  registerDeform(r);
  r.add("Conv", 1, 2, importConv);
  r.addContrib("NhwcConv", 2, [](OpImport &n) {
    // Filters have their channels last, too.
    int64_t rank = n.rank(n.in(1));
    SmallVector<int64_t> second = n.allAxes(n.in(1));
    if (rank > 2)
      std::rotate(second.begin() + 1, second.end() - 1, second.end());
    n.inputs[1] = n.transpose(n.in(1), second);
    return importChannelsLast(n, importConv);
  });
  r.add("CausalConvWithState", 27, 2, importCausalConvWithState);
  r.add("ConvTranspose", 1, 2, importConvTranspose);
}

} // namespace sinter::onnx

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a convolution reads: which kernels are convolutions that tiles compute, how their filters are packed, their
// sizes, and the padded copy of their input.

#include "backends/cpu/emit/ChannelLanes.h"
#include "backends/cpu/emit/Convolution.h"
#include "backends/cpu/emit/General.h"
#include "backends/cpu/emit/Packing.h"
#include "backends/cpu/emit/Tiles.h"
#include "ir/Constants.h"
#include "ir/FilterOrder.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

ConvolutionOp sinter::cpu::convolutionOf(KernelSpec &spec) {
  bool several = false;
  auto op = dyn_cast_or_null<ConvolutionOp>(findRoot(spec, several));
  return several ? ConvolutionOp() : op;
}

bool sinter::cpu::isDepthwise(ConvolutionOp op) {
  auto filter = cast<RankedTensorType>(op.getFilter().getType());
  return op.getGroups() > 1 && filter.getShape().back() == 1 &&
         filter.getDimSize(0) == static_cast<int64_t>(op.getGroups());
}

PadOp sinter::cpu::paddingOf(ConvolutionOp op) {
  auto pad = op.getInput().getDefiningOp<PadOp>();
  auto isOne = [](int64_t distance) { return distance == 1; };
  auto isNone = [](int64_t added) { return added == 0; };
  auto padsInside = [](ArrayRef<int64_t> added) {
    return added.front() == 0 && added.back() == 0 && llvm::all_of(added, [](int64_t n) { return n >= 0; });
  };
  bool isPlain = pad && pad.getMode() == PadMode::constant && llvm::all_of(pad.getInterior(), isNone) &&
                 padsInside(pad.getLow()) && padsInside(pad.getHigh()) && uniformValue(pad.getValue());
  return isPlain && llvm::all_of(op.getLow(), isNone) && llvm::all_of(op.getHigh(), isNone) &&
                 llvm::all_of(op.getInputDilation(), isOne)
             ? pad
             : PadOp();
}

BlockArgument sinter::cpu::convolvedInput(ConvolutionOp op) {
  PadOp pad = paddingOf(op);
  return dyn_cast<BlockArgument>(pad ? pad.getOperand() : op.getInput());
}

BlockArgument sinter::cpu::filterInput(ConvolutionOp op) {
  if (auto argument = dyn_cast<BlockArgument>(op.getFilter()))
    return argument;
  std::optional<FilterOrder> order = filterOrderOf(op.getFilter());
  return order ? dyn_cast<BlockArgument>(order->source) : BlockArgument();
}

bool sinter::cpu::walksDepth(ConvolutionOp op) {
  auto input = cast<RankedTensorType>(op.getInput().getType()),
       filter = cast<RankedTensorType>(op.getFilter().getType());
  Type element = getElementTypeOrSelf(op.getResult());
  bool isKnown = input.hasStaticShape() && filter.hasStaticShape() && input.getRank() == 5;
  bool isPlain = (element.isF32() || element.isF64()) && input.getElementType() == element &&
                 filter.getElementType() == element && op.getGroups() == 1;
  if (!isKnown || !isPlain || input.getNumElements() == 0 || filter.getNumElements() == 0)
    return false;
  bool isFirst = op.getLayout() == ConvLayout::channels_first;
  ArrayRef<int64_t> taps = filter.getShape().drop_front();
  int64_t channels = isFirst ? taps.front() : taps.back();
  taps = isFirst ? taps.drop_front() : taps.drop_back();
  auto isFew = [](int64_t added) { return added >= 0 && added < ConvolutionShape::mostTaps; };
  bool padsFew = llvm::all_of(op.getLow(), isFew) && llvm::all_of(op.getHigh(), isFew);
  bool padsTaps = llvm::all_of(llvm::seq<unsigned>(1, 3), [&](unsigned axis) {
    return taps[axis] > 1 || (op.getLow()[axis] == 0 && op.getHigh()[axis] == 0);
  });
  bool isDense = llvm::all_of(op.getInputDilation(), [](int64_t distance) { return distance == 1; }) &&
                 op.getDilation().back() == 1;
  return taps.front() > 1 && llvm::all_of(taps, [](int64_t size) { return size <= ConvolutionShape::mostTaps; }) &&
         padsFew && padsTaps && isDense && channels >= ConvolutionShape::leastSkipped;
}

bool sinter::cpu::hasConvolutionKernel(ConvolutionOp op) {
  auto filter = cast<RankedTensorType>(op.getFilter().getType());
  bool hasAxes = filter.getRank() == 5 ? isa<BlockArgument>(op.getFilter()) && !paddingOf(op) && walksDepth(op)
                                       : filter.getRank() >= 3 && filter.getRank() <= 4;
  return op.getLayout() == ConvLayout::channels_last && filter.hasStaticShape() && hasAxes && convolvedInput(op) &&
         filterInput(op);
}

std::optional<schedule::RowWalk> sinter::cpu::walkOf(KernelSpec &spec, const ConvolutionShape &shape,
                                                     DimExpr rowsOfBlock, int64_t leastRows, int64_t parts) {
  ConvolutionOp op = shape.op;
  BlockArgument input = convolvedInput(op);
  auto keepsPlaces = [&](Operation &inner) {
    return isa<ConstantOp, BroadcastOp, ConvolutionOp, PadOp>(inner) || isa<Pointwise>(inner);
  };
  bool hasDepth = shape.depth != 1 || shape.outDepth != 1 || shape.kernelD != 1;
  if (hasDepth || spec.kernel.getStrides() || spec.kernel.getNumResults() != 1 || !input.hasOneUse() ||
      !llvm::all_of(spec.body().without_terminator(), keepsPlaces) ||
      !spec.sizes->sameShape(spec.body().getTerminator()->getOperand(0), op.getResult()))
    return std::nullopt;
  DimExpr one = spec.dims.constant(1);
  bool alongRow = constantOr(spec.dims, shape.outHeight, 0) == 1; // its pixels are the rows
  DimExpr sizes[] = {shape.images,
                     alongRow ? shape.outWidth : shape.outHeight,
                     alongRow ? one : shape.outWidth,
                     alongRow ? shape.width : shape.height,
                     alongRow ? one : shape.width,
                     rowsOfBlock};
  SmallVector<int64_t> known;
  for (DimExpr size : sizes)
    known.push_back(constantOr(spec.dims, size, 0));
  if (llvm::is_contained(known, 0))
    return std::nullopt;
  auto widthOfElement = [](Value value) { return byteWidth(getElementTypeOrSelf(value.getType())); };
  schedule::RowWalk walk;
  walk.images = known[0];
  walk.rows = known[1];
  walk.rowBytes = known[2] * shape.outChannels * widthOfElement(spec.kernel.getResult(0));
  walk.rowsOfBlock = known[5];
  walk.parts = parts;
  walk.leastRows = leastRows;
  walk.input = input.getArgNumber();
  walk.inputRows = known[3];
  walk.inputRowBytes = known[4] * shape.channels * widthOfElement(input);
  walk.stride = alongRow ? shape.strideW : shape.strideH;
  walk.before = alongRow ? shape.lowW : shape.lowH;
  walk.reach = alongRow ? (shape.kernelW - 1) * shape.dilationW + 1 : (shape.kernelH - 1) * shape.dilationH + 1;
  return walk;
}

/// Steps of k of tiles for one run of `run` elements: the largest that divides it.
static int64_t stepOfRun(const ProductForm &form, int64_t run) {
  int64_t step = std::min(form.kStep, run);
  while (run % step != 0 || step % form.kPack != 0)
    --step;
  return step;
}

/// The form by tiles, unless most of what tiles multiply would be zeros, or a filter that is no constant does not lie
/// as tiles read it.
static std::optional<ProductForm> chooseTiledForm(KernelSpec &spec, ConvolutionOp op, const ProductForm &form) {
  std::optional<ProductForm> tiled = cpu::tiledFormOf(spec.target(), form);
  auto filter = cast<RankedTensorType>(op.getFilter().getType());
  if (!tiled || !mayBeTiled(spec.kernel.getScheduleAttr(), 2) || isDepthwise(op) || !hasConvolutionKernel(op) ||
      filter.getNumElements() == 0)
    return std::nullopt;
  ArrayRef<int64_t> sizes = filter.getShape();
  int64_t channels = sizes.back(), pitch = tiled->paddedChannels(channels), taps = 1;
  for (int64_t size : sizes.drop_front().drop_back())
    taps *= size;
  int64_t kernelW = sizes[sizes.size() - 2], groupOut = sizes.front() / static_cast<int64_t>(op.getGroups());
  bool isInPlace = !isa<BlockArgument>(op.getFilter());
  if (isInPlace && (pitch != channels || groupOut % kTileColumns != 0))
    return std::nullopt;
  int64_t dilationW = op.getDilation().back(), most = tiled->kStep;
  tiled->kStep = stepOfRun(*tiled, dilationW == 1 ? kernelW * pitch : pitch);
  int64_t steps = taps * pitch / tiled->kStep, columns = llvm::alignTo(groupOut, kTileColumns);
  double useful = static_cast<double>(taps * channels) / (steps * most) * groupOut / columns;
  constexpr double leastUseful = 0.1; // registers' tiles are some ten times slower
  return useful < leastUseful ? std::nullopt : tiled;
}

std::optional<ProductForm> sinter::cpu::productFormOf(KernelSpec &spec, ConvolutionOp op, std::string &refusal) {
  std::optional<ProductForm> form =
      productFormOf(spec.target(), getElementTypeOrSelf(op.getInput()), getElementTypeOrSelf(op.getFilter()),
                    getElementTypeOrSelf(op.getResult()), refusal, pairsOf(op));
  std::optional<ProductForm> tiled = form ? chooseTiledForm(spec, op, *form) : std::nullopt;
  return tiled ? tiled : form;
}

/// [O, kh, kw, c] of a constant: k is (kh, kw, c), with zeros beyond the channels.
static Panels filterPanels(RankedTensorType source, int64_t groups, int64_t panel, const ProductForm &form) {
  int64_t taps = ShapedType::getNumElements(source.getShape().drop_front().drop_back());
  int64_t channels = source.getShape().back(), pitch = form.paddedChannels(channels), run = taps * channels;
  int64_t perGroup = source.getDimSize(0) / groups;
  Panels panels{form, panel, byteWidth(source.getElementType()), {}, {}, {}};
  for (int64_t g = 0; g < groups; ++g)
    panels.batches.push_back(g * perGroup * run);
  for (int64_t tap = 0; tap < taps; ++tap)
    for (int64_t c = 0; c < pitch; ++c)
      panels.ks.push_back(c < channels ? tap * channels + c : Panels::kNone);
  for (int64_t n = 0; n < perGroup; ++n)
    panels.places.push_back(n * run);
  return panels;
}

Panels sinter::cpu::panelsOf(KernelSpec &spec, ConvolutionOp op, RankedTensorType source, const ProductForm &form) {
  return filterPanels(source, static_cast<int64_t>(op.getGroups()), spec.target().panelBytes / widthOf(form.sum), form);
}

/// [C, kh, kw, 1] becomes [kh][kw][C].
static PackedForm packDepthwise(RankedTensorType source) {
  int64_t channels = source.getDimSize(0), taps = ShapedType::getNumElements(source.getShape().drop_front());
  int64_t width = byteWidth(source.getElementType());
  return {taps * channels * width, [=](const char *from, char *to) {
            for (int64_t tap = 0; tap < taps; ++tap)
              for (int64_t c = 0; c < channels; ++c, to += width)
                std::memcpy(to, from + (c * taps + tap) * width, width);
          }};
}

Packing sinter::cpu::packConvolution(KernelSpec &spec, unsigned input) {
  ConvolutionOp op = convolutionOf(spec);
  if (isDepthwise(op))
    return dropDenormals({input, "depthwise", packDepthwise});
  std::string refusal;
  ProductForm form = *productFormOf(spec, op, refusal);
  int64_t groups = op.getGroups(), panel = spec.target().panelBytes / widthOf(form.sum);
  if (std::optional<ChannelLanes> lanes = channelLanesOf(spec.target(), op, form)) {
    std::string tag = "channels;" + std::to_string(groups) + ";" + std::to_string(lanes->lanes) + ";" +
                      std::to_string(lanes->columns);
    return dropDenormals({input, tag, [groups, lanes = *lanes](RankedTensorType source) {
                            return packForChannelLanes(source, groups, lanes);
                          }});
  }
  std::string tag = "filter;" + std::to_string(groups) + ";" + std::to_string(panel) + ";" + form.packingTag();
  return dropDenormals({input, tag, [groups, panel, form](RankedTensorType source) {
                          return filterPanels(source, groups, panel, form).packed();
                        }});
}

Plan sinter::cpu::planFilter(KernelSpec &spec) {
  ConvolutionOp op = convolutionOf(spec);
  if (!op || !hasConvolutionKernel(op) || spec.target().vectorBytes < 16)
    return Plan::refuse(
        "its root is no convolution with channels last and a static filter, or the target has no vectors");
  if (cast<RankedTensorType>(op.getFilter().getType()).getNumElements() == 0)
    return Plan::refuse("its filter has no elements");
  std::string refusal;
  std::optional<ProductForm> form = productFormOf(spec, op, refusal);
  if (!form)
    return Plan::refuse(refusal);
  Plan plan;
  if (auto filter = dyn_cast<BlockArgument>(op.getFilter())) {
    if (!canBePacked(spec, filter))
      return Plan::refuse("a filter that is no constant does not come in an order that lanes read");
    plan.packing = {static_cast<int64_t>(filter.getArgNumber())};
    plan.needsPacking = true;
  } else if (int64_t pack = filterOrderOf(op.getFilter())->pack;
             form->flips || form->group || pack != form->kPack ||
             (pack == 1 && form->step != ProductForm::Step::fused)) {
    return Plan::refuse("a filter of its types has to be packed, and is no constant");
  }
  unsigned input = convolvedInput(op).getArgNumber();
  if (ArrayRef<int64_t> strides = spec.kernel.stridesOf(input);
      !strides.empty() &&
      (strides.back() != -1 || llvm::any_of(strides.drop_back(2), [](int64_t stride) { return stride != -1; })))
    return Plan::refuse("its input lies in a larger buffer, and not pixel by pixel");
  if (!spec.kernel.stridesOf(filterInput(op).getArgNumber()).empty())
    return Plan::refuse("its filter lies in a larger buffer");
  if (!spec.sizes->dims(op.getInput()).back().isConstant())
    return Plan::refuse("the number of channels is not known");
  for (unsigned i = 0; i < spec.kernel.getNumResults(); ++i)
    if (!spec.sizes->sameShape(op.getResult(), spec.yielded(i)))
      return Plan::refuse("its results have several shapes");
  if (!canBuildAfter(spec, op))
    return Plan::refuse("what follows the convolution cannot be built element by element");
  plan.setLanes(spec.target().lanes(widthOf(form->sum)), form->leastLanes());
  return plan;
}

ConvolutionShape::ConvolutionShape(KernelSpec &spec, ConvolutionOp op) : op(op) {
  DimContext &dims = spec.dims;
  Dims input = spec.sizes->dims(convolvedInput(op)), result = spec.sizes->dims(op.getResult());
  ArrayRef<int64_t> filter = cast<RankedTensorType>(op.getFilter().getType()).getShape();
  bool flat = input.size() == 3;
  DimExpr one = dims.constant(1);
  if (input.size() == 5) {
    depth = input[1].constant();
    outDepth = result[1].constant();
    kernelD = filter[1];
    strideD = op.getStrides()[0];
    lowD = op.getLow()[0];
    dilationD = op.getDilation()[0];
  }
  images = dims.resolve(input[0]);
  height = flat ? one : dims.resolve(input.end()[-3]);
  width = dims.resolve(input.end()[-2]);
  channels = input.back().constant();
  ArrayRef<int64_t> strides = spec.kernel.stridesOf(convolvedInput(op).getArgNumber());
  pixelPitch = strides.empty() || strides.end()[-2] < 0 ? channels : strides.end()[-2];
  outHeight = flat ? one : dims.resolve(result.end()[-3]);
  outWidth = dims.resolve(result.end()[-2]);
  outChannels = filter[0];
  auto pick = [&](ArrayRef<int64_t> values, int64_t neutral, int64_t &vertical, int64_t &horizontal) {
    vertical = flat ? neutral : values.end()[-2];
    horizontal = values.back();
  };
  pick(op.getStrides(), 1, strideH, strideW);
  pick(op.getLow(), 0, lowH, lowW);
  pick(op.getHigh(), 0, highH, highW);
  pick(op.getInputDilation(), 1, inputDilationH, inputDilationW);
  pick(op.getDilation(), 1, dilationH, dilationW);
  if (PadOp pad = paddingOf(op)) {
    pick(pad.getLow().drop_front().drop_back(), 0, lowH, lowW);
    pick(pad.getHigh().drop_front().drop_back(), 0, highH, highW);
    fill = *uniformValue(pad.getValue());
  }
  kernelH = flat ? 1 : filter.end()[-3];
  kernelW = filter.end()[-2];
  needsCopy = lowH || lowW || highH || highW || inputDilationH != 1 || inputDilationW != 1;
  auto extent = [&](DimExpr size, int64_t dilation, int64_t low, int64_t high) {
    DimExpr spread = dims.add(dims.mul(dims.sub(size, one), dims.constant(dilation)), one);
    return dims.add(spread, dims.constant(low + high));
  };
  paddedHeight = extent(height, inputDilationH, lowH, highH);
  paddedWidth = extent(width, inputDilationW, lowW, highW);
}

/// Of `taps` along an axis of `size` elements, those that lie inside for position `at` of the result.
static SummedAxis tapsInside(KernelFunction &fn, Value at, int64_t stride, int64_t low, int64_t dilation, int64_t taps,
                             DimExpr size) {
  ImplicitLocOpBuilder &b = fn.b;
  // A tap lies inside where 0 <= top + tap * dilation < size.
  Value first = arith::MulIOp::create(b, at, fn.index(stride));
  Value top = arith::SubIOp::create(b, first, fn.index(low));
  Value distances = fn.index(dilation), zero = fn.index(0), all = fn.index(taps);
  auto tapsAbove = [&](Value position) {
    Value distance = arith::SubIOp::create(b, position, top);
    Value above = arith::CeilDivSIOp::create(b, distance, distances);
    return arith::MinSIOp::create(b, arith::MaxSIOp::create(b, above, zero), all).getResult();
  };
  return {tapsAbove(zero), tapsAbove(fn.materialize(size)), taps};
}

SummedAxis sinter::cpu::filterRowsInside(KernelFunction &fn, const ConvolutionShape &shape, Value row) {
  return tapsInside(fn, row, shape.strideH, shape.lowH, shape.dilationH, shape.kernelH, shape.height);
}

SummedAxis sinter::cpu::filterPlanesInside(KernelFunction &fn, const ConvolutionShape &shape, Value plane) {
  return tapsInside(fn, plane, shape.strideD, shape.lowD, shape.dilationD, shape.kernelD,
                    fn.spec.dims.constant(shape.depth));
}

SmallVector<TapRun> sinter::cpu::tapRuns(const ConvolutionShape &shape, int64_t start, int64_t wide, bool follow) {
  int64_t width = shape.width.staticSize();
  SmallVector<TapRun> runs;
  for (int64_t tap = 0; tap < shape.kernelW; ++tap) {
    // Pixel i reads column (start + i) * stride + distance.
    int64_t distance = start * shape.strideW - shape.lowW + tap * shape.dilationW;
    int64_t first = std::clamp<int64_t>(llvm::divideCeil(std::max<int64_t>(-distance, 0), shape.strideW), 0, wide);
    int64_t end = std::clamp<int64_t>(llvm::divideCeil(std::max<int64_t>(width - distance, 0), shape.strideW), 0, wide);
    if (first >= end)
      continue;
    if (follow && !runs.empty() && runs.back().endTap == tap && runs.back().first == first && runs.back().end == end)
      ++runs.back().endTap;
    else
      runs.push_back({tap, tap + 1, first, end});
  }
  return runs;
}

SmallVector<int64_t> sinter::cpu::bordersOf(const ConvolutionShape &shape, ArrayRef<int64_t> tiles, int64_t wide) {
  SmallVector<int64_t> starts;
  for (int64_t start : tiles) {
    SmallVector<TapRun> runs = tapRuns(shape, start, wide, false);
    int64_t taps = 0; // that all pixels find inside
    for (const TapRun &run : runs)
      taps += run.first == 0 && run.end == wide;
    if (taps < shape.kernelW)
      starts.push_back(start);
  }
  return starts;
}

/// Elements of a short vector that holds several pixels of `channels` each, which are spread in registers to `pitch`
/// each; 0 where it does not, or pixels do not follow each other.
static int64_t lanesOfPixels(const ConvolutionShape &shape, int64_t channels, int64_t pitch, const ProductForm &form) {
  int64_t lanes = 16 / widthOf(form.a);
  bool holdsSeveral = channels < pitch && lanes % pitch == 0 && lanes > pitch;
  bool follow = channels == shape.channels && channels == shape.pixelPitch && shape.inputDilationW == 1 &&
                shape.lowW >= 0 && shape.highW >= 0;
  return holdsSeveral && follow ? lanes : 0;
}

/// The elements [low, high) in vectors of `lanes` elements at most, as few as there may be.
static void forVectors(int64_t low, int64_t high, int64_t lanes, function_ref<void(int64_t, int64_t)> visit) {
  for (int64_t size; low < high; low += size) {
    size = static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>(std::min(lanes, high - low))));
    visit(low, size);
  }
}

/// Stores a vector, or one element.
static void storeElements(KernelFunction &fn, Value value, Value buffer, Value at) {
  if (isa<VectorType>(value.getType()))
    vector::StoreOp::create(fn.b, value, buffer, ValueRange{at});
  else
    memref::StoreOp::create(fn.b, value, buffer, ValueRange{at});
}

void sinter::cpu::emitPaddedRows(KernelFunction &fn, const ConvolutionShape &shape, Value source, Value imageBase,
                                 Value target, Value targetBase, Value rowBegin, Value rowCount, Value channelBegin,
                                 int64_t channels, int64_t pitch, int64_t lanes, const ProductForm &form) {
  ImplicitLocOpBuilder &b = fn.b;
  auto add = [&](Value x, Value y) { return arith::AddIOp::create(b, x, y).getResult(); };
  auto mul = [&](Value x, Value y) { return arith::MulIOp::create(b, x, y).getResult(); };
  Type element = typeOf(form.a, b.getContext());
  auto vectorType = VectorType::get({lanes}, element);
  Value width = fn.materialize(shape.paddedWidth), zeroIndex = fn.index(0);
  Value beyond = toRow(b, form, buildConstant(b, b.getLoc(), vectorType, shape.fill));
  // Where padded position p comes from: (p - low) / dilation, when that is whole and inside.
  auto inside = [&](Value position, int64_t low, int64_t dilation, DimExpr size, Value &from) {
    Value shifted = arith::SubIOp::create(b, position, fn.index(low));
    Value valid = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, shifted, zeroIndex);
    from = shifted;
    if (dilation != 1) {
      from = arith::DivSIOp::create(b, shifted, fn.index(dilation));
      Value whole = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, mul(from, fn.index(dilation)), shifted);
      valid = arith::AndIOp::create(b, valid, whole);
    }
    Value below = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, from, fn.materialize(size));
    return arith::AndIOp::create(b, valid, below).getResult();
  };
  fn.loop(zeroIndex, rowCount, 1, [&](Value r) {
    Value fromRow;
    Value rowInside = inside(add(rowBegin, r), shape.lowH, shape.inputDilationH, shape.height, fromRow);
    Value rowTarget = add(targetBase, mul(r, mul(width, fn.index(pitch))));
    Value rowSource = add(imageBase, mul(mul(fromRow, fn.materialize(shape.width)), fn.index(shape.pixelPitch)));
    auto copyColumns = [&](Value begin, Value end) {
      fn.loop(begin, end, 1, [&](Value c) {
        Value fromColumn;
        Value columnInside = inside(c, shape.lowW, shape.inputDilationW, shape.width, fromColumn);
        Value to = add(rowTarget, mul(c, fn.index(pitch)));
        int64_t whole = channels / lanes * lanes;
        auto copyPixel = [&] {
          Value from = add(add(rowSource, mul(fromColumn, fn.index(shape.pixelPitch))), channelBegin);
          auto copy = [&](Value i, int64_t size) {
            Value at = add(from, i);
            Value value = size == 1
                              ? memref::LoadOp::create(b, source, ValueRange{at}).getResult()
                              : vector::LoadOp::create(b, VectorType::get({size}, element), source, ValueRange{at});
            storeElements(fn, toRow(b, form, value), target, add(to, i));
          };
          fn.loop(zeroIndex, fn.index(whole), lanes, [&](Value i) { copy(i, lanes); });
          forVectors(whole, channels, lanes, [&](int64_t i, int64_t size) { copy(fn.index(i), size); });
        };
        auto fill = [&](int64_t low, int64_t high) {
          forVectors(low, high, lanes, [&](int64_t i, int64_t size) {
            Type type = size == 1 ? element : VectorType::get({size}, element);
            Value value = toRow(b, form, buildConstant(b, b.getLoc(), type, shape.fill));
            storeElements(fn, value, target, add(to, fn.index(i)));
          });
        };
        auto fillPixel = [&] {
          fn.loop(zeroIndex, fn.index(whole), lanes, [&](Value i) { storeElements(fn, beyond, target, add(to, i)); });
          fill(whole, channels);
        };
        fn.branch(arith::AndIOp::create(b, rowInside, columnInside), copyPixel, fillPixel);
        fill(channels, pitch);
      });
    };
    int64_t spread = lanesOfPixels(shape, channels, pitch, form);
    if (spread == 0)
      return copyColumns(zeroIndex, width);

    // A step reads `spread` elements, of which it takes those of whole pixels; it stays in the row.
    int64_t pixels = spread / pitch;
    SmallVector<int64_t> places; // of the elements of a row's vector; `spread` is what is beyond
    for (int64_t k = 0; k < spread; ++k)
      places.push_back(k % pitch < channels ? k / pitch * channels + k % pitch : spread);
    auto spreadType = VectorType::get({spread}, element);
    Value sourceBeyond = buildConstant(b, b.getLoc(), spreadType, shape.fill);
    Value left = arith::SubIOp::create(b, mul(fn.materialize(shape.width), fn.index(channels)), fn.index(spread));
    Value steps = arith::MaxSIOp::create(
        b, add(arith::FloorDivSIOp::create(b, left, fn.index(pixels * channels)), fn.index(1)), zeroIndex);
    Value begin = fn.index(shape.lowW);
    Value end = arith::SelectOp::create(b, rowInside, add(begin, mul(steps, fn.index(pixels))), begin);
    copyColumns(zeroIndex, begin);
    fn.loop(begin, end, pixels, [&](Value c) {
      Value from = add(rowSource, mul(arith::SubIOp::create(b, c, begin), fn.index(channels)));
      Value read = vector::LoadOp::create(b, spreadType, source, ValueRange{from});
      Value spread = vector::ShuffleOp::create(b, read, sourceBeyond, places);
      Value to = add(rowTarget, mul(c, fn.index(pitch)));
      vector::StoreOp::create(b, toRow(b, form, spread), target, ValueRange{to});
    });
    copyColumns(end, width);
  });
}

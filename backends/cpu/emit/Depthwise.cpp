// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Depthwise convolution, channels last: lanes are channels. A tile is a few output pixels of one channel vector; the
// inputs of one filter row are loaded once and used by every pixel that they touch.
//
//   chunk     one image, a few output rows (so that their padded input stays in the second-level cache), all channels

#include "backends/cpu/emit/BlockSums.h"
#include "backends/cpu/emit/Convolution.h"
#include "backends/cpu/emit/MicroKernel.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// Pixels of a tile that may be forced.
constexpr int64_t kMostPixels = 14;

/// Bytes of padded input of a chunk: so many that at most a third of the rows that it copies are a neighbour's, too, as
/// long as half of the second-level cache holds them.
static int64_t chooseChunk(KernelSpec &spec, ConvolutionShape &shape) {
  int64_t usual = spec.costs().depthwiseBytes, width = spec.dims.resolve(shape.paddedWidth).staticSize();
  if (!shape.needsCopy || width == ShapedType::kDynamic)
    return usual;
  int64_t shared = std::max<int64_t>((shape.kernelH - 1) * shape.dilationH + 1 - shape.strideH, 0);
  int64_t rows = llvm::divideCeil(2 * shared, shape.strideH) * shape.strideH;
  int64_t rowBytes = width * shape.channels * byteWidth(getElementTypeOrSelf(shape.op.getInput()));
  return std::clamp(rows * rowBytes, usual, std::max(usual, spec.target().l2Bytes / 2));
}

Plan sinter::cpu::planDepthwise(KernelSpec &spec, ScheduleAttr) {
  Plan plan = planFilter(spec);
  if (!plan.takes())
    return plan;
  ConvolutionOp op = convolutionOf(spec);
  if (!isDepthwise(op))
    return Plan::refuse("it is not depthwise");
  // Accumulators and the inputs of one filter row fit the registers.
  ConvolutionShape shape(spec, op);
  int64_t pixels = spec.target().vectorRegisters > 16 ? 7 : 4;
  if (int64_t size = shape.outWidth.staticSize(); size != ShapedType::kDynamic)
    pixels = std::clamp<int64_t>(size, 1, pixels);
  plan.addTile(pixels, kMostPixels);
  plan.setChunk(chooseChunk(spec, shape));
  return plan;
}

/// Channels are lanes, so that nothing has to lie side by side: elements are converted where they are loaded.
static ProductForm depthwiseForm(KernelSpec &spec, ConvolutionOp op) {
  std::string refusal;
  ProductForm form = *productFormOf(spec, op, refusal);
  if (form.step == ProductForm::Step::fused && !form.copiesRows())
    return form;
  form.step = ProductForm::Step::converted;
  form.row = form.a;
  form.kPack = form.kStep = 1;
  form.flips = false;
  return form;
}

EmittedKernel sinter::cpu::emitDepthwise(KernelSpec &spec, ModuleOp module, StringRef name) {
  ConvolutionOp op = convolutionOf(spec);
  KernelFunction fn(spec, module, name, {.workspace = ConvolutionShape(spec, op).needsCopy});
  ImplicitLocOpBuilder &b = fn.b;
  DimContext &dims = fn.spec.dims;
  ConvolutionShape shape(fn.spec, op);
  ProductForm form = depthwiseForm(spec, op);
  int64_t width = widthOf(form.a), lanes = spec.schedule().getLanes(), channels = shape.channels;
  auto vectorType = VectorType::get({lanes}, typeOf(form.sum, b.getContext()));
  auto add = [&](Value x, Value y) { return arith::AddIOp::create(b, x, y).getResult(); };
  auto mul = [&](Value x, Value y) { return arith::MulIOp::create(b, x, y).getResult(); };

  DimExpr one = dims.constant(1);
  int64_t reach = (shape.kernelH - 1) * shape.dilationH + 1;
  DimExpr rowBytes = dims.mul(shape.paddedWidth, dims.constant(channels * width * shape.strideH));
  DimExpr blockRows = dims.max(one, dims.floorDiv(dims.constant(spec.schedule().getChunk()), dims.max(rowBytes, one)));
  DimExpr blocks = dims.ceilDiv(shape.outHeight, blockRows);
  DimExpr inputRows =
      dims.add(dims.mul(dims.sub(dims.min(blockRows, shape.outHeight), one), dims.constant(shape.strideH)),
               dims.constant(reach));
  DimExpr copyElements = dims.mul(inputRows, dims.mul(shape.paddedWidth, dims.constant(channels)));

  Value source = fn.input(convolvedInput(op).getArgNumber());
  Value filter = fn.input(filterInput(op).getArgNumber());
  Value copy = source;
  if (shape.needsCopy)
    copy = memref::ViewOp::create(b, MemRefType::get({kHuge}, typeOf(form.a, b.getContext())), fn.workspace(),
                                  fn.index(0), ValueRange{});
  Value blockCount = fn.materialize(blocks), outHeight = fn.materialize(shape.outHeight),
        outWidth = fn.materialize(shape.outWidth);
  Value paddedRow = fn.materialize(dims.mul(shape.paddedWidth, dims.constant(channels)));
  Value imageElements = mul(mul(fn.materialize(shape.height), fn.materialize(shape.width)), fn.index(channels));

  int64_t pixels = spec.schedule().getTile().front();
  auto emitTile = [&](int64_t wide, Value image, Value row, Value x, Value channel, Value mask, Value rowBase) {
    auto load = [&](Value buffer, Number number, Value at) -> Value {
      auto type = VectorType::get({lanes}, typeOf(number, b.getContext()));
      if (!mask)
        return toSum(b, form, vector::LoadOp::create(b, type, buffer, ValueRange{at}), number);
      Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type));
      return toSum(b, form, vector::MaskedLoadOp::create(b, type, buffer, ValueRange{at}, mask, zero), number);
    };
    Value pixelBase = add(add(rowBase, mul(x, fn.index(shape.strideW * channels))), channel);
    auto join = [&](Value x, Value y) { return joinFloats(b, x, y); };
    auto overWidth = [&](ArrayRef<Value> at, ValueRange carried) -> SmallVector<Value> {
      Value kh = at.front();
      SmallVector<Value> next(carried);
      SmallVector<SmallVector<Value>> parts; // of a long row
      Value inputRow = add(pixelBase, mul(mul(kh, fn.index(shape.dilationH)), paddedRow));
      Value filterRow = add(mul(kh, fn.index(shape.kernelW * channels)), channel);
      std::map<int64_t, Value> inputs; // by pixel offset
      for (int64_t kw = 0; kw < shape.kernelW; ++kw) {
        if (kw > 0 && kw % kProductBlock == 0 && form.sumsByBlocks()) {
          parts.push_back(next);
          next = zeroAccumulators(fn, vectorType, wide);
        }
        Value tap = load(filter, form.b, add(filterRow, fn.index(kw * channels)));
        for (int64_t i = 0; i < wide; ++i) {
          int64_t at = i * shape.strideW + kw * shape.dilationW;
          Value &input = inputs[at];
          if (!input)
            input = load(copy, form.a, add(inputRow, fn.index(at * channels)));
          next[i] = multiplyAdd(b, form, input, tap, next[i]);
        }
      }
      for (; !parts.empty(); parts.pop_back())
        for (auto [sum, part] : llvm::zip(next, parts.back()))
          sum = join(part, sum);
      return next;
    };
    int64_t length = std::min(shape.kernelW, kProductBlock), block = form.sumsByBlocks() ? kProductBlock : kNoBlocks;
    SmallVector<Value> sums = sumNest(fn, summedAxis(fn, dims.constant(shape.kernelH)), length, block,
                                      zeroAccumulators(fn, vectorType, wide), join, overWidth);
    emitTileEpilogue(
        fn, op.getResult(), sums, wide, 1, vectorType,
        [&](KernelElements &elements, Value i) {
          int64_t rank = fn.spec.sizes->dims(op.getResult()).size();
          SmallVector<LaneIndex> index(rank, elements.constant(0));
          index[0] = elements.uniform(image);
          index[rank - 2] = elements.uniform(add(x, i));
          if (rank == 4)
            index[1] = elements.uniform(row);
          return index;
        },
        channel, [&](Value) { return mask; });
  };

  fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
    Value image = arith::DivUIOp::create(b, chunk, blockCount);
    Value block = arith::SubIOp::create(b, chunk, mul(image, blockCount));
    Value low = mul(block, fn.materialize(blockRows));
    Value high = arith::MinSIOp::create(b, add(low, fn.materialize(blockRows)), outHeight);
    Value imageBase = mul(image, imageElements), base = imageBase, firstRow = fn.index(0);
    if (shape.needsCopy) {
      base = mul(fn.begin(), fn.materialize(copyElements)); // the same place for all chunks of a call
      firstRow = mul(low, fn.index(shape.strideH));
      Value last = arith::SubIOp::create(b, arith::SubIOp::create(b, high, low), fn.index(1));
      emitPaddedRows(fn, shape, source, imageBase, copy, base, firstRow,
                     add(mul(last, fn.index(shape.strideH)), fn.index(reach)), fn.index(0), channels, channels, lanes,
                     form);
    }
    fn.loop(low, high, 1, [&](Value row) {
      Value inputRow = arith::SubIOp::create(b, mul(row, fn.index(shape.strideH)), firstRow);
      Value rowBase = add(base, mul(inputRow, paddedRow));
      auto overPixels = [&](Value channel, Value mask) {
        Value tail = arith::RemUIOp::create(b, outWidth, fn.index(pixels));
        Value whole = arith::SubIOp::create(b, outWidth, tail);
        fn.loop(fn.index(0), whole, pixels, [&](Value x) { emitTile(pixels, image, row, x, channel, mask, rowBase); });
        if (pixels > 1)
          fn.loop(whole, outWidth, 1, [&](Value x) { emitTile(1, image, row, x, channel, mask, rowBase); });
      };
      int64_t wholeChannels = channels / lanes * lanes;
      if (wholeChannels)
        fn.loop(fn.index(0), fn.index(wholeChannels), lanes, [&](Value channel) { overPixels(channel, nullptr); });
      if (channels != wholeChannels) {
        auto maskType = VectorType::get({lanes}, b.getI1Type());
        Value mask = vector::CreateMaskOp::create(b, maskType, ValueRange{fn.index(channels - wholeChannels)});
        overPixels(fn.index(wholeChannels), mask);
      }
    });
  });
  fn.finish();

  EmittedKernel emitted;
  emitted.function = fn.function;
  emitted.chunks = dims.mul(shape.images, blocks);
  if (shape.needsCopy)
    emitted.workspaceBytes = dims.mul(dims.mul(emitted.chunks, copyElements), dims.constant(width));
  DimExpr outputs = dims.resolve(dims.mul(shape.images, dims.mul(shape.outHeight, shape.outWidth)));
  if (outputs.isConstant())
    emitted.estimatedNs = static_cast<double>(outputs.constant()) * channels * shape.kernelH * shape.kernelW /
                          spec.costs().streamedMacsPerNs;
  return emitted;
}

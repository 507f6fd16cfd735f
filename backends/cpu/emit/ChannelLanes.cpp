// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/ChannelLanes.h"
#include "ir/Shape.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// Pixels of the largest tile of so many columns.
static int64_t mostPixels(const Target &target, int64_t columns) {
  // Accumulators, the fewer of pixels and columns, and one of the others live at once.
  int64_t most = 1;
  while ((most + 1) * columns + std::min(most + 1, columns) + 1 < target.vectorRegisters)
    ++most;
  return most;
}

/// Columns of a tile: as many of a group's as load a vector for two multiply-adds at most, or all if none do.
static int64_t chooseColumns(const Target &target, int64_t columns) {
  auto loadsLittle = [&](int64_t ofTile) {
    int64_t pixels = mostPixels(target, ofTile);
    return 2 * (pixels + ofTile) <= pixels * ofTile;
  };
  for (int64_t ofTile = columns; ofTile > 1; --ofTile)
    if (columns % ofTile == 0 && loadsLittle(ofTile))
      return ofTile;
  return columns;
}

/// Lanes for the channels of `groups` groups of `channels` each, and how many of these share a vector; no lanes where
/// vectors would have channels that do not exist.
static ChannelLanes arrange(const Target &target, const ProductForm &product, int64_t groups, int64_t channels,
                            int64_t columns) {
  int64_t most = target.lanes(widthOf(product.sum)), lanes = most;
  if (groups > 1 && channels == columns && channels > 1 && channels < most && llvm::isPowerOf2_64(channels)) {
    auto all = static_cast<int64_t>(llvm::bit_ceil(static_cast<uint64_t>(groups)));
    int64_t together = std::min(most / channels, all);
    return {together * channels, together, columns};
  }
  while (channels % lanes != 0)
    lanes /= 2;
  return {lanes, 1, chooseColumns(target, columns)};
}

std::optional<ChannelLanes> sinter::cpu::channelLanesOf(const Target &target, ConvolutionOp op,
                                                        const ProductForm &product) {
  auto filter = cast<RankedTensorType>(op.getFilter().getType());
  bool isPlain = product.step == ProductForm::Step::fused && isFloat(product.sum) && product.a == product.sum &&
                 product.b == product.sum && !product.copiesRows();
  if (!isPlain || !isa<BlockArgument>(op.getFilter()) || filter.getNumElements() == 0)
    return std::nullopt;
  auto groups = static_cast<int64_t>(op.getGroups());
  int64_t channels = filter.getShape().back(), columns = filter.getDimSize(0) / groups;
  ChannelLanes form = arrange(target, product, groups, channels, columns);
  if (form.lanes < product.leastLanes() || form.columns > form.lanes)
    return std::nullopt;
  int64_t taps = ShapedType::getNumElements(filter.getShape().drop_front().drop_back());
  // Instructions for one pixel of the groups of a vector. To add up lanes takes about three for each column, and some
  // for each tile of them. One vector of columns loads an element for each multiply-add, which takes a sixteenth more.
  int64_t tiles = columns / form.columns, vectors = llvm::divideCeil(columns, target.lanes(widthOf(product.sum)));
  int64_t ofChannels = taps * columns * llvm::divideCeil(channels, form.channels()) + 3 * columns + 8 * tiles;
  int64_t ofColumns = form.groups * taps * channels * vectors;
  if (vectors == 1)
    ofColumns += ofColumns / 16;
  // The last tile of a row computes some pixels again. Pixels are one row where there is one tap.
  ArrayRef<int64_t> result = cast<RankedTensorType>(op.getType()).getShape();
  if (int64_t width = result[result.size() - 2]; taps > 1 && width > 0) {
    int64_t pixels = chooseChannelPixels(target, width, form.columns);
    ofChannels = ofChannels * static_cast<int64_t>(llvm::alignTo(width, pixels)) / width;
  }
  return ofChannels <= ofColumns ? std::optional(form) : std::nullopt;
}

PackedForm sinter::cpu::packForChannelLanes(RankedTensorType source, int64_t groups, const ChannelLanes &form) {
  int64_t taps = ShapedType::getNumElements(source.getShape().drop_front().drop_back());
  int64_t channels = source.getShape().back(), together = form.groups * channels,
          width = byteWidth(source.getElementType());
  int64_t columns = source.getDimSize(0) / groups, tiles = columns / form.columns;
  int64_t blocks = llvm::divideCeil(groups, form.groups), bytes = blocks * taps * together * columns * width;
  return {bytes, [=](const char *from, char *to) {
            for (int64_t tile = 0; tile < blocks * tiles; ++tile)
              for (int64_t tap = 0; tap < taps; ++tap)
                for (int64_t first = 0; first < together; first += form.lanes)
                  for (int64_t column = 0; column < form.columns; ++column)
                    for (int64_t at = first; at < first + form.lanes; ++at, to += width) {
                      int64_t group = tile / tiles * form.groups + at / channels;
                      int64_t run = (group * columns + tile % tiles * form.columns + column) * taps + tap;
                      if (group < groups)
                        std::memcpy(to, from + (run * channels + at % channels) * width, width);
                    }
          }};
}

int64_t sinter::cpu::chooseChannelPixels(const Target &target, int64_t width, int64_t columns) {
  int64_t most = mostPixels(target, columns);
  if (width == ShapedType::kDynamic)
    return std::min<int64_t>(most, 8);
  if (width <= most)
    return std::max<int64_t>(width, 1);
  // The last tile reaches back; a step of a tile takes its multiply-adds or its loads, and an end for all steps.
  constexpr int64_t ofEnd = 4;
  auto cost = [&](int64_t pixels) {
    return llvm::divideCeil(width, pixels) * (std::max(pixels * columns, pixels + columns) + ofEnd);
  };
  int64_t best = most;
  for (int64_t pixels = most - 1; pixels > 0; --pixels)
    if (cost(pixels) < cost(best))
      best = pixels;
  return best;
}

SmallVector<Value> sinter::cpu::emitChannelSteps(KernelFunction &fn, const MicroOperands &operands,
                                                 VectorType vectorType, Value mask, Value low, Value high,
                                                 ValueRange accumulators) {
  ImplicitLocOpBuilder &b = fn.b;
  auto noWrap = arith::IntegerOverflowFlags::nsw | arith::IntegerOverflowFlags::nuw;
  auto add = [&](Value x, Value y) { return arith::AddIOp::create(b, x, y, noWrap).getResult(); };
  size_t columns = operands.bVectors.size(), pixels = operands.aRows.size();
  auto step = [&](Value k, ValueRange carried) {
    SmallVector<Value> sums(carried);
    Value ofPixels = arith::MulIOp::create(b, k, operands.aStride, noWrap);
    Value ofColumns = arith::MulIOp::create(b, k, operands.bStride, noWrap);
    auto loadPixel = [&](size_t i) -> Value {
      Value at = add(operands.aRows[i], ofPixels);
      if (!mask)
        return vector::LoadOp::create(b, vectorType, operands.a, ValueRange{at});
      Value zero = arith::ConstantOp::create(b, b.getZeroAttr(vectorType));
      return vector::MaskedLoadOp::create(b, vectorType, operands.a, ValueRange{at}, mask, zero);
    };
    auto loadColumn = [&](size_t j) -> Value {
      return vector::LoadOp::create(b, vectorType, operands.b, ValueRange{add(operands.bVectors[j], ofColumns)});
    };
    auto multiply = [&](size_t i, size_t j, Value pixel, Value column) {
      Value &sum = sums[i * columns + j];
      sum = multiplyAdd(b, operands.form, pixel, column, sum);
    };
    // The fewer stay in registers.
    if (pixels <= columns) {
      auto all = llvm::map_to_vector(llvm::seq(pixels), loadPixel);
      for (size_t j = 0; j < columns; ++j) {
        Value column = loadColumn(j);
        for (size_t i = 0; i < pixels; ++i)
          multiply(i, j, all[i], column);
      }
    } else {
      auto all = llvm::map_to_vector(llvm::seq(columns), loadColumn);
      for (size_t i = 0; i < pixels; ++i) {
        Value pixel = loadPixel(i);
        for (size_t j = 0; j < columns; ++j)
          multiply(i, j, pixel, all[j]);
      }
    }
    return sums;
  };
  std::optional<int64_t> first = getConstantIntValue(low), end = getConstantIntValue(high);
  if (first && end && *end == *first + 1)
    return step(low, accumulators);
  return fn.loop(low, high, 1, accumulators, step);
}

/// Lanes of x and y, of which lanes with a 0 in bit `bit` become sums of x, others sums of y. Each adds two lanes that
/// differ in that bit, or, in bit 0 of at least four, in bit 1, whose place bit 0 takes then: interleaving is one
/// instruction.
static Value addHalves(ImplicitLocOpBuilder &b, Value x, Value y, int64_t bit, bool interleaves) {
  int64_t lanes = cast<VectorType>(x.getType()).getNumElements(), distance = int64_t(1) << bit;
  SmallVector<int64_t> low, high;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    int64_t source = lane & distance ? lanes : 0;
    if (interleaves) {
      low.push_back(source + (lane & ~int64_t(3)) + (lane >> 1 & 1));
      high.push_back(low.back() + 2);
    } else {
      low.push_back(source + (lane & ~distance));
      high.push_back(source + (lane | distance));
    }
  }
  return arith::AddFOp::create(b, vector::ShuffleOp::create(b, x, y, low), vector::ShuffleOp::create(b, x, y, high));
}

Value sinter::cpu::addChannelLanes(ImplicitLocOpBuilder &b, ValueRange accumulators, const ChannelLanes &form) {
  int64_t bits = llvm::Log2_64(form.channels());
  // Bit 3 before bit 2: halves are one instruction, quarters that interleave are not.
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, bits));
  if (bits == 4)
    std::swap(order[2], order[3]);
  // Accumulator number `lane` ends in that lane, by bits.
  SmallVector<Value> sums(int64_t(1) << bits);
  llvm::copy(accumulators, sums.begin());
  for (int64_t bit : order)
    for (size_t i = 0; i < sums.size(); ++i) {
      size_t other = i | size_t(1) << bit;
      if (other == i || !sums[i])
        continue;
      sums[i] = addHalves(b, sums[i], sums[other] ? sums[other] : sums[i], bit, bit == 0 && bits > 1);
      sums[other] = nullptr;
    }
  return sums.front();
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cuda/TensorMaps.h"
#include "backends/cuda/TileMemory.h"
#include "backends/cuda/WgmmaInstructions.h"
#include "ir/Shapes.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

/// Axes of a tensor map.
constexpr size_t kMostRank = 5, kMostFactors = 5;

std::string cuda::mapNumberOf(cuda::KernelSpec &spec, DimExpr size, unsigned firstSize) {
  size = spec.dims.resolve(size);
  SmallVector<DimExpr> factors = {size};
  if (size.kind() == DimExpr::Kind::Mul)
    factors.assign(size.operands().begin(), size.operands().end());
  int64_t number = 1;
  std::string words;
  size_t count = 0;
  for (DimExpr factor : factors) {
    if (factor.isConstant()) {
      number *= factor.constant();
      continue;
    }
    unsigned position = 0;
    while (position < spec.numSymbols() && spec.dims.resolve(spec.argument(position)) != factor)
      ++position;
    if (position == spec.numSymbols() || ++count > kMostFactors)
      return "";
    words += "*w" + std::to_string(firstSize + position);
  }
  return std::to_string(number) + words;
}

/// How far apart elements of an axis are, roughly: more factors that only running tells are further.
static std::pair<size_t, int64_t> distanceOf(DimContext &dims, DimExpr stride) {
  stride = dims.resolve(stride);
  if (stride.isConstant())
    return {0, stride.constant()};
  if (stride.kind() != DimExpr::Kind::Mul)
    return {1, 1};
  std::pair<size_t, int64_t> distance = {0, 1};
  for (DimExpr factor : stride.operands())
    if (factor.isConstant())
      distance.second *= factor.constant();
    else
      ++distance.first;
  return distance;
}

MapLine cuda::mapOf(cuda::KernelSpec &spec, const ProductSide &side, Type element, int64_t boxRows, unsigned firstSize,
                    std::string &refusal) {
  if (!side.panel || !side.copied || side.encoding || signless(side.type) != element) {
    refusal = "an operand is computed, converted or no matrix in memory";
    return {};
  }
  return mapOf(spec, *side.panel, *side.copied, element, boxRows, firstSize, refusal);
}

MapLine cuda::mapOf(cuda::KernelSpec &spec, ProductSide::Panel panel, unsigned word, Type element, int64_t boxRows,
                    unsigned firstSize, std::string &refusal) {
  MapLine line;
  DimContext &dims = spec.dims;
  const int64_t width = element.getIntOrFloatBitWidth() / 8, perChunk = kChunkBytes / width;
  auto constantOf = [&](DimExpr size) {
    size = dims.resolve(size);
    return size.isConstant() ? std::optional(size.constant()) : std::nullopt;
  };
  if (constantOf(panel.outer) == 1) // its distance is not looked at
    panel.outerStride = dims.mul(dims.ceilDiv(panel.inner, dims.constant(perChunk)), dims.constant(perChunk));
  line.axes = {{MapLine::Axis::Inner, panel.inner, dims.constant(1), {}},
               {MapLine::Axis::Outer, panel.outer, panel.outerStride, {}}};
  for (const ProductSide::Panel::Batches &batches : panel.batches)
    line.axes.push_back({MapLine::Axis::Batch, batches.size, batches.stride, batches.axis});
  if (line.axes.size() > kMostRank) {
    refusal = "batches of an operand are at more than three distances";
    return line;
  }
  auto key = [&](const MapLine::Axis &axis) {
    return std::tuple(distanceOf(dims, axis.stride), axis.kind, axis.batch.value_or(0));
  };
  llvm::sort(MutableArrayRef(line.axes).drop_front(),
             [&](const MapLine::Axis &x, const MapLine::Axis &y) { return key(x) < key(y); });
  std::string sizes, strides, box;
  for (const MapLine::Axis &axis : line.axes) {
    bool isInner = axis.kind == MapLine::Axis::Inner;
    if (std::optional<int64_t> known = constantOf(axis.stride);
        !isInner && known && (*known % perChunk || *known == 0)) {
      refusal = "rows of an operand are no multiples of 16 bytes apart";
      return line;
    }
    std::string size = mapNumberOf(spec, axis.size, firstSize),
                stride = mapNumberOf(spec, dims.mul(axis.stride, dims.constant(width)), firstSize);
    if (size.empty() || stride.empty()) {
      refusal = "only running tells a size of an operand, which is no product of sizes";
      return line;
    }
    sizes += (isInner ? "" : ",") + size;
    strides += isInner ? "" : (strides.empty() ? "" : ",") + stride;
    box += isInner                             ? std::to_string(kSwizzleBytes / width)
           : axis.kind == MapLine::Axis::Outer ? "," + std::to_string(boxRows)
                                               : ",1";
  }
  llvm::raw_string_ostream(line.text) << "map " << word
                                      << (element.isF16()    ? " f16 "
                                          : element.isBF16() ? " bf16 "
                                                             : " u8 ")
                                      << sizes << " " << strides << " " << box << "\n";
  return line;
}

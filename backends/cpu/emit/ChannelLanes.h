// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions of few columns: vectors hold input channels, not columns. A step multiplies a vector of a pixel's
// channels by one of the filter for each column and adds to an accumulator for each pixel and column; behind the last
// step the lanes of an accumulator are added up. A few output channels would fill a few lanes of a vector, while input
// channels fill all of them. So do those of several small groups side by side, each of which adds up lanes of its own:
//
//   4 accumulators of groups of 4     c0 c1 c2 c3 | c0 c1 c2 c3 | c0 c1 c2 c3 | c0 c1 c2 c3
//   one vector of results             o0 o1 o2 o3 | o0 o1 o2 o3 | o0 o1 o2 o3 | o0 o1 o2 o3

#ifndef SINTER_BACKENDS_CPU_EMIT_CHANNELLANES_H
#define SINTER_BACKENDS_CPU_EMIT_CHANNELLANES_H

#include "backends/cpu/emit/MicroKernel.h"
#include "backends/cpu/emit/Packing.h"
#include "ir/Contraction.h"

namespace sinter::cpu {

struct ChannelLanes {
  int64_t lanes;
  int64_t groups;  // side by side in a vector, which has all of their channels; 1: a vector has some of one's
  int64_t columns; // of a tile, which has all of its groups' where these lie side by side

  /// Channels of a group in a vector.
  int64_t channels() const { return lanes / groups; }
};

/// The lanes of `op`, which multiplies by `product`, if they are to hold input channels: where that takes fewer
/// instructions than columns in lanes.
std::optional<ChannelLanes> channelLanesOf(const Target &target, ConvolutionOp op, const ProductForm &product);

/// [O, kh, kw, c] of a constant becomes [groups side by side][tile of columns][kh][kw][vector of c][column][lanes],
/// zero for groups behind the last one.
PackedForm packForChannelLanes(mlir::RankedTensorType source, int64_t groups, const ChannelLanes &form);

/// Pixels of a tile for rows of `width` results (ShapedType::kDynamic: unknown), or for as many as there may be.
int64_t chooseChannelPixels(const Target &target, int64_t width, int64_t columns);

/// acc[pixel * columns + column] += sums over the steps [low, high) of `operands`, whose rows are pixels, and whose
/// vectors of b are columns. `mask`: channels that exist, or null for all.
llvm::SmallVector<mlir::Value> emitChannelSteps(KernelFunction &fn, const MicroOperands &operands,
                                                mlir::VectorType vectorType, mlir::Value mask, mlir::Value low,
                                                mlir::Value high, mlir::ValueRange accumulators);

/// A vector of the results of a pixel, [group][column], of its accumulators, one for each column. Lanes behind the
/// columns hold anything.
mlir::Value addChannelLanes(mlir::ImplicitLocOpBuilder &b, mlir::ValueRange accumulators, const ChannelLanes &form);

} // namespace sinter::cpu

#endif

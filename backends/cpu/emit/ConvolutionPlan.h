// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is known of a convolution before its code: how its operands lie, what is copied, and the tile.

#ifndef SINTER_BACKENDS_CPU_EMIT_CONVOLUTIONPLAN_H
#define SINTER_BACKENDS_CPU_EMIT_CONVOLUTIONPLAN_H

#include "backends/cpu/emit/ChannelLanes.h"
#include "backends/cpu/emit/Convolution.h"

namespace sinter::cpu {

/// How register tiles walk a filter: rows of it, in each `count` runs of `length` steps, in parts of which each is one
/// chain of a sum, or some of a chain.
struct FilterRuns {
  int64_t tapSteps;       // of a tap
  int64_t count, length;  // one run for all taps of a row where nothing lies between the channels of neighbouring ones
  int64_t step;           // elements of the filter from step to step
  int64_t inputStep;      // of the input
  int64_t rowFilter;      // from row to row
  int64_t header;         // in front of a panel
  int64_t block;          // steps of a chain
  int64_t parts, perPart; // of a run
};

/// What is known of a convolution before its tile is chosen.
struct ConvolutionForm {
  ConvolutionForm(KernelSpec &spec, ConvolutionOp op);

  ConvolutionOp op;
  ConvolutionShape shape;
  ProductForm product;
  std::optional<ChannelLanes> channelLanes; // groups side by side in them are one here
  int64_t panel, groups, groupIn, groupOut;
  int64_t pixelStride; // elements from one pixel to the next where tiles read
  int64_t pitch;       // channels of a group, whole steps of them
  bool flattened = false;
  bool skips;   // what lies beyond the image is left out, and nothing is copied for it
  bool inPlace; // the filter is read as [kh][kw][channels][O], or as [kh][kw][channels / 2][O][2]

  /// Whether rows may share accumulators of the last of a group's vectors.
  bool canShareLast(int64_t lanes) const;
  /// Multiply-adds for one pixel and column.
  int64_t sumLength() const;
  /// Columns of a tile of `vectors` vectors.
  int64_t tileColumns(int64_t vectors, int64_t lanes) const { return channelLanes ? groupOut : vectors * lanes; }
  /// Whether the channels of a group that taps side by side read lie side by side, too.
  bool tapsFollow() const { return shape.dilationW == 1 && pixelStride == pitch; }
  FilterRuns filterRuns() const;

private:
  bool canSkip(const Target &target) const;
};

/// Rows and pixels of output, and vectors of channels.
struct ConvolutionTile {
  int64_t high, wide, vectors;
};

} // namespace sinter::cpu

#endif

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
  int64_t panel;          // elements of a panel, with its header
  int64_t block;          // steps of a chain
  int64_t parts, perPart; // of a run
};

/// Rows and pixels of output, and vectors of channels.
struct ConvolutionTile {
  int64_t high, wide, vectors;
};

/// How a chunk goes through panels that the second-level cache does not hold, or not beside the next one while they
/// come from beyond it: all of its tiles multiply one part of their panel before the next. The sums wait as SumPart
/// says.
struct FilterParts {
  /// Of a position of each axis of the sum, from the outermost on, of which a part has one; of the last, some.
  llvm::SmallVector<int64_t> steps;
  int64_t positions = 1;     // of that one, at most
  int64_t placeElements = 0; // of what waits of a tile's sums

  explicit operator bool() const { return !steps.empty(); }
};

/// The results of a chunk, for one image, group and tile of channels.
struct ConvolutionBlocks {
  bool alongRow;  // a run of pixels, as there is one row only, else some rows
  DimExpr walked; // pixels of the row, or rows
  DimExpr length; // of a block, whole tiles of them
  /// Tiles of a row, or of a block of a row; of a block; of all blocks. 0 where sizes are not known.
  int64_t tilesOfRow, tiles, tilesOfImage;
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
  DimExpr openImages; // their number, where only running tells it, else null
  bool skips;         // what lies beyond the image is left out, and nothing is copied for it
  bool inPlace;       // the filter is read as [kh][kw][channels][O], or as [kh][kw][channels / 2][O][2]

  /// Lanes of a vector of columns.
  int64_t columnLanes(const Target &target) const;
  /// Whether rows may share accumulators of the last of a group's vectors.
  bool canShareLast(int64_t lanes) const;
  /// Multiply-adds for one pixel and column.
  int64_t sumLength() const;
  /// Columns of a tile of `vectors` vectors.
  int64_t tileColumns(int64_t vectors, int64_t lanes) const {
    return channelLanes ? channelLanes->columns * channelLanes->groups : vectors * lanes;
  }
  /// Whether the channels of a group that taps side by side read lie side by side, too.
  bool tapsFollow() const { return shape.dilationW == 1 && pixelStride == pitch; }
  FilterRuns filterRuns() const;
  int64_t filterRows() const { return shape.kernelD * shape.kernelH; }
  /// Positions of what a tile's sum goes over: planes and rows of the filter, runs of a row, parts of a run. What is of
  /// size 1 is none.
  llvm::SmallVector<int64_t> summedSizes(const FilterRuns &runs) const;
  /// Blocks of chunks of `chunk` multiply-adds.
  ConvolutionBlocks blocksOf(DimContext &dims, const ConvolutionTile &tile, int64_t lanes, DimExpr chunk) const;
  /// All pixels of the result; of one image, where only their number is not known. Nothing where more is not.
  std::optional<int64_t> knownPixels(DimContext &dims) const;
  /// The same as an expression, of all images.
  DimExpr pixels(DimContext &dims) const;
  /// How chunks of `tiles` tiles go through panels.
  FilterParts filterParts(const Target &target, const ConvolutionTile &tile, int64_t lanes, int64_t tiles) const;

private:
  bool canSkip(const Target &target) const;
};

/// What the kernel's schedule makes of it.
struct ScheduledConvolution : ConvolutionForm {
  ScheduledConvolution(KernelSpec &spec, ConvolutionOp op);

  int64_t lanes;
  ConvolutionTile tile;
  FilterRuns runs;
  ConvolutionBlocks blocks;
  FilterParts parts;
};

} // namespace sinter::cpu

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What direct and depthwise convolution share: the sizes of a convolution and its padded copy.

#ifndef SINTER_BACKENDS_CPU_EMIT_CONVOLUTION_H
#define SINTER_BACKENDS_CPU_EMIT_CONVOLUTION_H

#include "backends/cpu/emit/BlockSums.h"
#include "backends/cpu/emit/Emitter.h"
#include "backends/cpu/emit/Panels.h"
#include "ir/Contraction.h"
#include "ir/Shape.h"

namespace sinter::cpu {

/// The convolution that shapes the kernel, or null.
ConvolutionOp convolutionOf(KernelSpec &spec);
/// One input and one output channel per group.
bool isDepthwise(ConvolutionOp op);
/// Channels last, one or two spatial axes, or three as `walksDepth` says, a static filter, operands that are kernel
/// inputs (the filter perhaps with its taps first).
bool hasConvolutionKernel(ConvolutionOp op);
/// Whether tiles walk the depth, the first of three spatial axes, of a convolution in either layout once its filter is
/// packed: they copy nothing, so what is beyond the image is one of few zeros.
bool walksDepth(ConvolutionOp op);
/// The kernel input that is convolved, perhaps with its ends padded first (`paddingOf`); null for any other input.
mlir::BlockArgument convolvedInput(ConvolutionOp op);
/// The op that adds elements of one number at the ends of the spatial axes, or null.
PadOp paddingOf(ConvolutionOp op);
/// The kernel input that the filter is, or is the transpose of: [taps..., C, O] for a filter [O, taps..., C]. Null for
/// any other filter.
mlir::BlockArgument filterInput(ConvolutionOp op);

/// Sizes with three spatial axes; one spatial axis has height 1, and two have depth 1.
struct ConvolutionShape {
  ConvolutionShape(KernelSpec &spec, ConvolutionOp op);
  /// Filters of at most so many taps an axis, on at least so many channels, leave out zeros around images.
  static constexpr int64_t mostTaps = 7, leastSkipped = 8;

  ConvolutionOp op;
  DimExpr images, height, width, outHeight, outWidth;
  int64_t depth = 1, outDepth = 1, kernelD = 1, strideD = 1, lowD = 0, dilationD = 1;
  /// Of the input once padded and spread by its dilation.
  DimExpr paddedHeight, paddedWidth;
  int64_t channels, outChannels, kernelH, kernelW;
  /// Elements from one pixel of the input to the next: more than channels where it is a part of a larger buffer.
  int64_t pixelPitch;
  int64_t strideH, strideW, lowH, lowW, highH, highW, inputDilationH, inputDilationW, dilationH, dilationW;
  /// Padding or input dilation: kernels read a padded copy.
  bool needsCopy;
  /// What is beyond the input's ends.
  double fill = 0;
};

/// How blocks of `rowsOfBlock` rows of the result, or of pixels where it has one row, go through a convolution, of
/// which the last computes at least `leastRows`. Nothing where a size is not known or operands are parts of larger
/// buffers.
std::optional<schedule::RowWalk> walkOf(KernelSpec &spec, const ConvolutionShape &shape, DimExpr rowsOfBlock,
                                        int64_t leastRows, int64_t parts);

/// Copies padded rows [rowBegin, rowBegin + rowCount) of one image to `target` at `targetBase` as
/// [row][paddedWidth][pitch], channels [channelBegin, channelBegin + channels) of the source, as rows of `form` hold
/// them. What is beyond `channels` is zero. `imageBase` addresses the image in `source`.
void emitPaddedRows(KernelFunction &fn, const ConvolutionShape &shape, mlir::Value source, mlir::Value imageBase,
                    mlir::Value target, mlir::Value targetBase, mlir::Value rowBegin, mlir::Value rowCount,
                    mlir::Value channelBegin, int64_t channels, int64_t pitch, int64_t lanes, const ProductForm &form);

/// The rows of the filter that lie inside of the image for row `row` of the result.
SummedAxis filterRowsInside(KernelFunction &fn, const ConvolutionShape &shape, mlir::Value row);
/// The same of its planes, for plane `plane` of the result.
SummedAxis filterPlanesInside(KernelFunction &fn, const ConvolutionShape &shape, mlir::Value plane);

/// Taps [firstTap, endTap) of a row of the filter, which pixels [first, end) of a tile find inside of the image.
struct TapRun {
  int64_t firstTap, endTap, first, end;
};
/// All taps of a tile of `wide` pixels that begins at pixel `start` of a row of known width, in runs; those that no
/// pixel finds inside are in none. One run of all taps and pixels: nothing of the tile lies outside. `follow` says that
/// what a pixel reads by a tap lies behind what it reads by the one before; where it does not, runs are of one tap.
llvm::SmallVector<TapRun> tapRuns(const ConvolutionShape &shape, int64_t start, int64_t wide, bool follow);
/// Those of the begins of tiles of `wide` pixels of a row whose tiles find taps outside of the image.
llvm::SmallVector<int64_t> bordersOf(const ConvolutionShape &shape, llvm::ArrayRef<int64_t> tiles, int64_t wide);

/// How a register tile multiplies the operands; nothing with the reason in `refusal`.
std::optional<ProductForm> productFormOf(KernelSpec &spec, ConvolutionOp op, std::string &refusal);

/// How a constant of type `source` is packed as the filter.
Panels panelsOf(KernelSpec &spec, ConvolutionOp op, mlir::RankedTensorType source, const ProductForm &form);

/// What both ask of a kernel: lanes and packing, or why it is none of theirs.
Plan planFilter(KernelSpec &spec);

} // namespace sinter::cpu

#endif

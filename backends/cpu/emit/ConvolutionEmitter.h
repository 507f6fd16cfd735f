// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The code of one convolution: tiles of pixels with their operands and epilogue (ConvolutionTiles.cpp), and the chunks
// that go through them (Convolution.cpp).

#ifndef SINTER_BACKENDS_CPU_EMIT_CONVOLUTIONEMITTER_H
#define SINTER_BACKENDS_CPU_EMIT_CONVOLUTIONEMITTER_H

#include "backends/cpu/emit/AxisGroups.h"
#include "backends/cpu/emit/BlockSums.h"
#include "backends/cpu/emit/ConvolutionPlan.h"
#include "backends/cpu/emit/General.h"
#include "backends/cpu/emit/MicroKernel.h"
#include "backends/cpu/emit/Tiles.h"

namespace sinter::cpu {

/// `high` rows of `wide` pixels of the result, from (row, pixel) on.
struct PixelTile {
  int64_t high, wide;
  mlir::Value row, pixel;
  llvm::SmallVector<mlir::Value> rowBases = {}; // what the first pixel of each row reads first
  bool isWhole = true;                          // all rows exist, in the last tile, too
  bool sharesLast = false;                      // MicroOperands
  mlir::Value ahead = {};                       // nextPanel
  int64_t aheadStride = 0;
};

/// Steps [from, to) of a run of row `kh` of plane `kd` of the filter, and of column `kw` where runs are of one tap
/// (else null).
struct Steps {
  mlir::Value kd, kh, kw, from, to;
};

class ConvolutionEmitter : ScheduledConvolution {
public:
  ConvolutionEmitter(KernelFunction &fn, const ScheduledConvolution &scheduled)
      : ScheduledConvolution(scheduled), fn(fn), b(fn.b), dims(fn.spec.dims),
        vectorType(mlir::VectorType::get({lanes}, typeOf(product.sum, b.getContext()))),
        masked(tileColumns(tile.vectors, lanes) % lanes != 0 || groupOut % lanes != 0 || hasPartOfGroups()) {
    if (flattened)
      pixelAxes = groupPixelAxes();
  }
  EmittedKernel emit();

private:
  mlir::Value add(mlir::Value x, mlir::Value y) { return mlir::arith::AddIOp::create(b, x, y); }
  mlir::Value mul(mlir::Value x, mlir::Value y) { return mlir::arith::MulIOp::create(b, x, y); }
  int64_t constantOr(DimExpr expr, int64_t otherwise) { return cpu::constantOr(dims, expr, otherwise); }
  void emitPixels(int64_t high, int64_t wide, mlir::Value row, mlir::Value begin, mlir::Value end);
  /// `high` rows of `wide` pixels at (row, pixel), columns from `column` on within the group. `number` is that of the
  /// tile among those of its block, where it does not follow from the place.
  void emitTile(int64_t high, int64_t wide, mlir::Value row, mlir::Value pixel, mlir::Value number = {});
  bool computesOnce();
  int64_t chooseLower();
  llvm::SmallVector<int64_t> tilesOfRow(int64_t wide);
  mlir::Value numberOfTile(mlir::Value row, mlir::Value pixel, mlir::Value begin);
  std::pair<mlir::Value, int64_t> nextPanel(mlir::Value row, mlir::Value pixel, int64_t steps, int64_t stepElements,
                                            int64_t grain);
  std::pair<mlir::Value, int64_t> nextPart(mlir::Value number);
  void finishTile(const PixelTile &at, llvm::SmallVector<mlir::Value> sums);
  void prefetchResults(int64_t high, int64_t wide, mlir::Value row, mlir::Value pixel);
  mlir::Value placeInTiles(mlir::Value i);
  int64_t pixelsOfTile();
  void emitTiles(mlir::Value row, mlir::Value pixel);
  mlir::Value rowBase(mlir::Value row, mlir::Value pixel);
  mlir::Value rowElements();
  mlir::Value planeElements();
  llvm::SmallVector<mlir::Value> findRowsInside(const PixelTile &at, mlir::Value kh);
  int64_t vectorOffset(int64_t j);
  mlir::Value orderAt(int64_t j, mlir::Value filterOffset);
  MicroOperands filterAt(const PixelTile &at, Steps &steps, mlir::Value &inputOffset);
  llvm::SmallVector<mlir::Value> multiply(const PixelTile &at, int64_t lowRow, int64_t endRow, const TapRun &taps,
                                          Steps steps, mlir::ValueRange sums);
  llvm::SmallVector<mlir::Value> multiplyRuns(const PixelTile &at, llvm::ArrayRef<TapRun> taps, int64_t lowRow,
                                              int64_t endRow, const Steps &steps, mlir::ValueRange sums);
  llvm::SmallVector<mlir::Value> multiplyInside(const PixelTile &at, llvm::ArrayRef<int64_t> starts, int64_t lowRow,
                                                int64_t endRow, const Steps &steps, mlir::ValueRange sums);
  llvm::SmallVector<mlir::Value> multiplyRows(const PixelTile &at, const Steps &steps, mlir::ValueRange sums);
  llvm::SmallVector<mlir::Value> addExtraWords(const PixelTile &at, mlir::ValueRange sums);
  llvm::SmallVector<mlir::Value> startsOf(const PixelTile &at);
  llvm::SmallVector<SummedAxis> summedAxes(const PixelTile &at);
  llvm::SmallVector<mlir::Value> sumTile(const PixelTile &at, llvm::ArrayRef<SummedAxis> axes);
  void inParts(llvm::function_ref<void()> walkTiles);
  /// Axes in front of those of an image.
  int64_t planeAxes() const { return shape.kernelD > 1 ? 2 : 0; }
  /// Whether a tile holds all pixels.
  bool isOneTile() {
    DimExpr pixels = dims.mul(dims.mul(shape.images, shape.outHeight), shape.outWidth);
    return shape.outDepth * constantOr(pixels, 0) == tile.high * tile.wide;
  }
  AxisGroups groupPixelAxes();
  llvm::SmallVector<LaneIndex> resultIndex(KernelElements &elements, mlir::Value row, mlir::Value pixel);
  mlir::Value columnMask(mlir::Value at, int64_t pack);
  /// Whether the last vector has channels of fewer groups than the others.
  bool hasPartOfGroups() const { return groups * groupIn != shape.channels; }
  /// Vectors of results of a pixel of a tile.
  int64_t resultVectors() const { return channelLanes ? 1 : vectors; }
  void copyRows(mlir::Value source, mlir::Value imageBase, mlir::Value copy, mlir::Value rows,
                mlir::Value channelBegin);

  KernelFunction &fn;
  mlir::ImplicitLocOpBuilder &b;
  DimContext &dims;
  mlir::VectorType vectorType;
  AxisGroups pixelAxes;          // of a flattened one
  SumPart part;                  // at hand, where there are several
  bool masked;                   // the last vector of a group
  int64_t lower = chooseLower(); // of the last tiles along a row
  std::optional<TileSums> tiles; // of forms that multiply tiles
  // Of the chunk being emitted.
  int64_t vectors;         // of a pixel's accumulators
  mlir::Value channelMask; // of what pixels read, where the last vector has fewer groups
  bool isLastTile;         // of a group's columns
  mlir::Value image, plane, group, column, filterBase;
  mlir::Value panelBase;                   // of the panel that filterBase lies in
  mlir::Value blockBegin;                  // its first row, or pixel where it goes along a row
  mlir::Value partPlaces;                  // of the sums of its tiles that wait for the next part
  bool panelsOutside;                      // blocks of a panel follow each other, not panels of a block
  mlir::Value input, inputBase, inputRow0; // inputBase addresses (row inputRow0, pixel 0, first channel of the group)
};

} // namespace sinter::cpu

#endif

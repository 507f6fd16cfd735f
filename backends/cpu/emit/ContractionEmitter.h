// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The code of one matrix product: register tiles with their operands and epilogue (Contraction.cpp), and the chunks
// that go through them (ContractionChunks.cpp).

#ifndef SINTER_BACKENDS_CPU_EMIT_CONTRACTIONEMITTER_H
#define SINTER_BACKENDS_CPU_EMIT_CONTRACTIONEMITTER_H

#include "backends/cpu/emit/ContractionPlan.h"
#include "backends/cpu/emit/MicroKernel.h"
#include "backends/cpu/emit/PartialTiles.h"
#include "backends/cpu/emit/Tiles.h"

namespace sinter::cpu {

/// Writes the body of `fn` for `dot`; both and `plan` outlive it.
class ContractionEmitter {
public:
  ContractionEmitter(KernelFunction &fn, DotGeneralOp dot, const ContractionPlan &plan);

  EmittedKernel emit();

private:
  mlir::Value add(mlir::Value x, mlir::Value y) { return mlir::arith::AddIOp::create(b, x, y); }
  mlir::Value mul(mlir::Value x, mlir::Value y) { return mlir::arith::MulIOp::create(b, x, y); }
  int64_t constantOr(DimExpr expr, int64_t otherwise) { return cpu::constantOr(dims, expr, otherwise); }
  void emitStrip(mlir::Value base, mlir::Value columnBegin);
  void copyRows(mlir::Value begin, mlir::Value end, mlir::Value lhsBase);
  std::pair<mlir::Value, mlir::Value> findColumns(mlir::Value group, mlir::Value batch, mlir::Value rhsBase);
  void emitGroup(mlir::Value group, std::pair<mlir::Value, mlir::Value> rhs, mlir::Value lhsBase, mlir::Value rowBegin,
                 mlir::Value rowEnd, llvm::ArrayRef<mlir::Value> batchIndex);
  void emitGroups(mlir::Value first, mlir::Value end, mlir::Value batch, mlir::Value lhsBase, mlir::Value rhsBase,
                  mlir::Value rowBegin, mlir::Value rowEnd, llvm::ArrayRef<mlir::Value> batchIndex);
  void chooseBlocks(DimExpr groups);
  /// Says what of the last tiles is lower, once blocks of rows are chosen.
  void chooseLower();
  EmittedKernel emitPanelChunks();
  EmittedKernel emitRowChunks();
  EmittedKernel emitCopiedOnce();
  DimExpr rowBlocks(DimExpr chunks);
  /// Places for sums of the tiles of a block; tiles of open rows may be one more (OpenTiles.h).
  DimExpr placesPerBlock() {
    return dims.add(tilesPerBlock, dims.constant(dims.resolve(plan.rows).isConstant() ? 0 : 1));
  }
  EmittedKernel finish(DimExpr chunks, DimExpr workspaceBytes);
  /// Quotient and rest.
  std::pair<mlir::Value, mlir::Value> split(mlir::Value index, mlir::Value count);
  std::pair<mlir::Value, mlir::Value> basesOf(llvm::ArrayRef<mlir::Value> batchIndex);
  mlir::Value orderAt(mlir::Value first, mlir::Value column);
  void emitTile(const RegisterTile &tile, mlir::Value row, mlir::Value column, mlir::Value lhsBase, mlir::Value rhsBase,
                mlir::Value rhsStep, llvm::ArrayRef<mlir::Value> batchIndex);
  void emitTiles(mlir::Value row, int64_t vectors, mlir::Value lhsBase, mlir::Value rhsBase, mlir::Value column,
                 llvm::ArrayRef<mlir::Value> batchIndex);
  void emitRows(const RegisterTile &tile, mlir::Value rowBegin, mlir::Value rowEnd, mlir::Value column,
                mlir::Value lhsBase, mlir::Value rhsBase, mlir::Value rhsStep, llvm::ArrayRef<mlir::Value> batchIndex);
  void prefetchPanels(MicroOperands &operands, mlir::Value rhsBase);
  void moveToBlock(MicroOperands &operands);
  void prefetchEpilogue(const RegisterTile &tile, mlir::Value row, mlir::Value column,
                        llvm::ArrayRef<mlir::Value> batchIndex);
  mlir::Value flatPosition(mlir::Value row, mlir::Value column, llvm::ArrayRef<mlir::Value> batchIndex);
  bool mayHoldZeros(unsigned input);
  bool mayOverwrite();
  mlir::BlockArgument zeroFactor();
  mlir::Value nonzeroEnd(const RegisterTile &tile, mlir::BlockArgument factor, mlir::Value row, mlir::Value column,
                         llvm::ArrayRef<mlir::Value> batchIndex);
  llvm::SmallVector<LaneIndex> resultIndex(KernelElements &elements, llvm::ArrayRef<mlir::Value> batchIndex,
                                           mlir::Value row);
  mlir::Value columnMask(mlir::Value column);

  KernelFunction &fn;
  mlir::ImplicitLocOpBuilder &b;
  KernelSpec &spec;
  DimContext &dims;
  DotGeneralOp dot;
  const ContractionPlan &plan;
  const ProductForm &form;
  int64_t width = 4, lanes = 16, panel = 32;
  DimExpr steps, stripElements, rowPitch;
  mlir::VectorType vectorType; // of sums
  RegisterTile tile;
  int64_t lastVectors;     // of the last tile of columns
  DimExpr tilesPerBlock;   // of rows
  int64_t lower = 0;       // the last tiles that have one row less (lowerTiles)
  mlir::Value tileOfBlock; // the number of the one at hand
  bool masked = false;
  bool overwrites = false;                 // results may lie where the epilogue reads: no tile overlaps another
  bool walksAxes = false;                  // rows or columns cannot be walked as one in the epilogue
  std::optional<TileSums> tiles;           // of forms that multiply tiles
  int64_t blockSteps = 0;                  // of k, where it is walked in blocks
  std::optional<PartialTiles> partials;    // where it is
  mlir::Value stepBegin, stepEnd;          // of the block at hand: where it begins, how many there are
  mlir::Value firstPlace;                  // of the tiles of a block of rows and a group of panels
  mlir::Value strip, stripBase;            // the columns of this chunk that are not read where they lie
  mlir::Value copies, copyBase, copyBegin; // the rows that this chunk copied, from row `copyBegin` on
  Dims resultSizes;
  int64_t rowAxes = 0;
};

} // namespace sinter::cpu

#endif

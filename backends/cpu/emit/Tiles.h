// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products by matrix units that hold tiles of 16 rows of 64 bytes in registers of their own (AMX): one instruction
// multiplies 16 rows by 16 columns over 32 bf16 or 64 bytes of k. What a kernel uses of the eight tiles:
//
//            b: t6        t7            16 columns of words each, [k / kPack][columns][kPack] as other forms read
//    a: t4   sums: t0     t1
//       t5         t2     t3            16 rows each (fewer where the kernel's tile has fewer), at any distance
//
// The shapes of tiles are set once, when the kernel's function begins (some 200 cycles), and given back at its end, as
// the operating system saves tiles that are in use. Tiles are not values of the program: instructions name them, so
// nothing has to be allocated, and code is right without optimizations, too. Sums go through memory (`hot`) to what
// follows the product, since no other instruction reads tiles.
//
// Sources: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2 (LDTILECFG, TDPBF16PS, TDPBSSD).
// TDPBF16PS rounds to nearest and takes and gives zeros for denormal numbers, whatever MXCSR says.

#ifndef SINTER_BACKENDS_CPU_EMIT_TILES_H
#define SINTER_BACKENDS_CPU_EMIT_TILES_H

#include "backends/cpu/emit/KernelElements.h"
#include "backends/cpu/emit/MicroKernel.h"
#include "backends/cpu/emit/ProductForm.h"

namespace sinter::cpu {

inline constexpr int64_t kTileRows = 16, kTileBytes = 64, kTileColumns = 16;

/// The register tile of a product by tiles: at most two by two of them.
RegisterTile chooseTileOfTiles(int64_t rows, int64_t vectors);

/// Where one sum reads. Offsets are elements from the buffers' begins.
struct TileOperands {
  mlir::Value a, b;                      // flat buffers
  llvm::SmallVector<mlir::Value> aTiles; // the first row of each tile of rows at k = 0
  llvm::SmallVector<mlir::Value> bTiles; // each vector of columns at k = 0
  mlir::Value aPitch, bPitch;            // from row to row; from word to word of k
  mlir::Value ahead;                     // element offset in b of what comes after the sum, or null
  int64_t aheadStride = 0;               // prefetch it into L2, so many elements a step
  int64_t prefetchSteps = 0;             // prefetch b that many steps ahead; 0: do not
};

/// The tiles of one kernel's function.
class TileSums {
public:
  /// Rows of both tiles of rows, at most 16 each (no second one: null), and how many of both hold results.
  struct Rows {
    DimExpr first, second, all;
  };
  /// `rows` rows, at most `most`, on as many tiles as `most` needs. Where fewer rows are there than one tile holds when
  /// the code runs, the second computes the last of them again.
  static Rows split(DimContext &dims, DimExpr rows, int64_t most);

  /// Sets the shapes of the tiles at the begin of the function.
  TileSums(KernelFunction &fn, const ProductForm &form, Rows rows, int64_t vectors);

  /// How many tiles of rows there are, and the first row of tile `i` within the kernel's tile.
  int64_t rowTiles() const { return isHigh ? 2 : 1; }
  mlir::Value firstRow(int64_t i);

  /// A sum over k of `vectors` vectors of columns: `begin`, `addProducts` as often as needed, `end`. `folds`: `fold` is
  /// called between, so that no chain of additions is long.
  void begin(int64_t vectors, bool folds);
  /// Adds `steps` steps of k, from `operands` on.
  void addProducts(const TileOperands &operands, mlir::Value steps);
  void fold();
  void end();
  /// The same where sums lie in memory, `pitch` elements from row to row, the first at `at`: `load` in place of `begin`
  /// goes on with them, `store` in place of `end` leaves them there.
  void load(mlir::Value buffer, mlir::Value at, mlir::Value pitch, int64_t vectors);
  void store(mlir::Value buffer, mlir::Value at, mlir::Value pitch);
  /// All of this for one run of `steps` steps.
  void addInBlocks(const TileOperands &operands, DimExpr steps, int64_t vectors);

  /// Applies what follows `root` to the sums and stores the kernel's results (emitTileEpilogue). Rows of tiles that
  /// hold no results are left out where `results` is how many do and `place` in which row each is.
  void finish(mlir::Value root,
              llvm::function_ref<llvm::SmallVector<LaneIndex>(KernelElements &, mlir::Value row)> rowIndex,
              mlir::Value column, llvm::function_ref<mlir::Value(mlir::Value)> mask, mlir::Value results = {},
              llvm::function_ref<mlir::Value(mlir::Value)> place = nullptr);

  /// Gives the tiles back; call once, before the function returns.
  void release();

  /// Steps of k in one chain of additions.
  int64_t blockSteps(int64_t steps) const;

private:
  mlir::Value pointer(mlir::Value buffer, mlir::Value offset, Number number);
  mlir::Value bytes(mlir::Value elements, Number number);
  void call(llvm::StringRef name, llvm::ArrayRef<int64_t> tiles, mlir::ValueRange others = {});
  void clear();
  void moveSums(llvm::StringRef instruction, mlir::Value buffer, mlir::Value at, mlir::Value pitch);
  void storeTo(mlir::Value buffer) { store(buffer, fn.index(0), fn.index(vectors * kTileColumns)); }
  void addScratch();
  /// Memory of the function for the sums of a tile, made when it is asked for first.
  mlir::Value sumsIn(mlir::Value &buffer);

  KernelFunction &fn;
  mlir::ImplicitLocOpBuilder &b;
  const ProductForm form;
  int64_t mostVectors, vectors = 0;
  bool isHigh, isFolding = false;
  mlir::VectorType vectorType;
  mlir::Value rowCount, half; // rows with results; the first row of the second tile
  mlir::Value hot, scratch;   // [row][vectors * 16] of sums
};

} // namespace sinter::cpu

#endif

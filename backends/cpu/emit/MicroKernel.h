// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The register tile that matrix products and convolutions share: `rows` rows by `vectors` vectors of accumulators, one
// step of k a broadcast of each row's scalar (or word) and one FMA (or dot product) per accumulator (ProductForm.h).
//
// What matters, measured: per row one scalar load and broadcast, then its FMAs (the other order spills); k is not
// unrolled; no more than registers - vectors - 1 accumulators. Seven rows by two vectors of 16 registers are two too
// many for that: their multiply-adds read the second vector from memory (heldVectors), .9 of the peak where tiles of
// four rows would compute eight.

#ifndef SINTER_BACKENDS_CPU_EMIT_MICROKERNEL_H
#define SINTER_BACKENDS_CPU_EMIT_MICROKERNEL_H

#include "backends/cpu/emit/KernelElements.h"
#include "backends/cpu/emit/ProductForm.h"

namespace sinter::cpu {

struct RegisterTile {
  int64_t rows = 0;
  int64_t vectors = 0;
};

/// What may be forced: more than any register file holds, but code of a reasonable size. Of packed columns, vectors
/// divide the most, so that each tile begins where a panel does, or lies in one.
inline constexpr int64_t kMostTileRows = 30, kMostTileVectors = 8;

/// The vectors of the last tile, of a result with `vectors`, of which each other tile has `width`.
inline int64_t lastTileVectors(int64_t vectors, int64_t width) { return (vectors + width - 1) % width + 1; }

/// What limits a tile.
struct TileLimits {
  /// Rows of the left operand lie a multiple of 4 KiB apart, so that they share cache sets: at most as many rows as the
  /// cache has ways.
  bool conflicting = false;
  int64_t parts = 1;         // vectors of b in registers for each one that is loaded
  int64_t others = 0;        // registers of a step beside these, sums and what is broadcast
  bool joinsWords = false;   // steps load little for what they multiply
  bool sharesLast = false;   // two rows will share accumulators of the last vector (MicroOperands)
  bool staysNarrow = false;  // no wider tile makes up for rows that are few because they conflict
  bool mayBeLower = false;   // the last tiles may be (lowerTiles)
  bool readsColumns = false; // multiply-adds may take vectors of b from memory (canReadColumns)
};

/// Whether multiply-adds of this form have an operand in memory that is as b lies there.
bool canReadColumns(const Target &target, const ProductForm &form);

/// What a form's steps say of it, where a result has `vectors`.
TileLimits limitsOf(const ProductForm &form, int64_t vectors);

/// How many loads of `vectors` of b (one for each joined word) a step beside `sums` live accumulators keeps in
/// registers: all, unless its multiply-adds can read others from memory and registers are too few. All where not even
/// one would fit.
int64_t heldVectors(const Target &target, const ProductForm &form, int64_t sums, int64_t vectors);

/// The tile for `rows` result rows (ShapedType::kDynamic: unknown) by `vectors` vectors of columns, of which the last
/// tile may have fewer.
RegisterTile chooseTile(const Target &target, int64_t rows, int64_t vectors, TileLimits limits);

/// `tile`, or one of up to `widest` vectors that fills the registers and takes less time for all of `rows` by
/// `vectors`, where a load takes half of a multiply-add's. Tiles as wide as high load least for each: one of 6 x 4
/// vectors 10 for 24, of 13 x 2 15 for 26. Its vectors divide `divided`; 0: no matter.
RegisterTile widenTile(const Target &target, RegisterTile tile, int64_t rows, int64_t widest, int64_t vectors,
                       const TileLimits &limits, int64_t divided = 0);

/// Bytes of a step of which one line is asked for where the second-level cache is (MicroOperands).
inline constexpr int64_t kPrefetchedBytes = 512;

/// What one k loop reads. A step of k takes `form.kPack` elements of it.
struct MicroOperands {
  explicit MicroOperands(const ProductForm &form) : form(form) {}

  ProductForm form;
  mlir::Value a;                           // flat buffer of the left operand
  llvm::SmallVector<mlir::Value> aRows;    // element offset of each row at k = 0
  mlir::Value aStride;                     // elements from step to step (null: 1)
  mlir::Value b;                           // flat buffer of the right operand
  llvm::SmallVector<mlir::Value> bVectors; // element offset of each vector at k = 0
  mlir::Value bStride;                     // elements from step to step
  llvm::SmallVector<mlir::Value> bMasks;   // per vector; empty or null entries: whole vectors
  llvm::SmallVector<mlir::Value> bOrders;  // per vector, element offset of the panel's orders, where form has groups
  mlir::Value firstOrder;                  // the step that has the first of these (null: 0)
  std::function<mlir::Value(mlir::Value)> groupAt; // where the group of a step lies in a, if not where k says
  int64_t prefetchRows = 0;                        // prefetch b that many k ahead; 0: do not
  bool prefetchesIntoL2 = false;                   // rather than L1, and one line of kPrefetchedBytes rather than each
  mlir::Value ahead;                               // element offset in b of what comes after the sum, or null
  int64_t aheadStride = 0;                         // prefetch it into L2, so many elements a step
  int64_t otherSums = 0;                           // accumulators that are live, too
  int64_t prefetchSteps = 0;                       // prefetch a into L2 that many k ahead, of all rows; 0: do not

  /// Prefetches b, which comes from beyond a cache. What is read `once` comes at the speed of memory, which hardware
  /// nearly reaches by itself: requests for all lines take places in its queues, those for few cost nothing.
  void prefetchPanels(bool once) {
    prefetchesIntoL2 = once;
    prefetchRows = once ? 512 : 128;
  }

  /// Columns of the last vector fill at most half of it, so rows share its accumulators two by two: the first in the
  /// low half of the lanes, the second in the high one. The rows are even in number, and nothing is masked.
  bool sharesLast = false;
  int64_t ownVectors() const { return static_cast<int64_t>(bVectors.size()) - sharesLast; }
};

/// Where rows may share accumulators of a last vector with so many columns in it: it would waste half of its FMAs or
/// more, and others keep loads busy meanwhile.
bool canShareLast(const ProductForm &form, int64_t vectors, int64_t lanes, int64_t columnsOfLast);

/// How many accumulators a tile has.
inline int64_t tileAccumulators(int64_t rows, int64_t vectors, bool sharesLast) {
  return rows * vectors - (sharesLast ? rows / 2 : 0);
}

/// The accumulators of a tile without sharing, as emitTileEpilogue takes them. What lanes beyond the columns hold of
/// the last vector means nothing.
llvm::SmallVector<mlir::Value> unshareLast(KernelFunction &fn, mlir::ValueRange accumulators, int64_t rows,
                                           int64_t vectors, mlir::VectorType vectorType);

/// Asks the second-level cache for the elements of `buffer` that step `step` is to bring of what lies `ahead`, `stride`
/// of them.
void prefetchAhead(KernelFunction &fn, const ProductForm &form, mlir::Value buffer, mlir::Value ahead, mlir::Value step,
                   int64_t stride);

/// acc[row * vectors + vector] += sum over steps in [low, high); returns the new accumulators, which are of
/// `vectorType`. Where rows share those of the last vector these come behind all others, one for two rows.
llvm::SmallVector<mlir::Value> emitMicroKernel(KernelFunction &fn, const MicroOperands &operands,
                                               mlir::VectorType vectorType, mlir::Value low, mlir::Value high,
                                               mlir::ValueRange accumulators);

/// The same of the extra words of each panel (ProductForm::extras), behind `words` words of k; `offsetOf` gives the
/// distance in a of an element of k.
llvm::SmallVector<mlir::Value> emitExtraWords(KernelFunction &fn, MicroOperands operands, mlir::VectorType vectorType,
                                              mlir::Value words, mlir::ValueRange accumulators,
                                              llvm::function_ref<mlir::Value(mlir::Value)> offsetOf);

/// The same from `starts` (zeros if there are none), long sums of floats by blocks (BlockSums.h). `size` is what is
/// known of `high`.
llvm::SmallVector<mlir::Value> emitBlockedMicroKernel(KernelFunction &fn, const MicroOperands &operands,
                                                      mlir::VectorType vectorType, mlir::Value low, mlir::Value high,
                                                      DimExpr size, mlir::ValueRange starts = {});

/// Applies what follows `root` in the kernel to a tile of its result and stores the kernel's results. `rowIndex` gives
/// the result index of tile row `row` (0 is the first; an index value) with any entry for the last axis, which is
/// `column` + lanes. `mask` gives the lanes that exist from a column on, or null for all. `results`, if it is given,
/// says how many of the rows hold results: whole groups of `group` rows.
void emitTileEpilogue(KernelFunction &fn, mlir::Value root, llvm::ArrayRef<mlir::Value> accumulators, int64_t rows,
                      int64_t vectors, mlir::VectorType vectorType,
                      llvm::function_ref<llvm::SmallVector<LaneIndex>(KernelElements &, mlir::Value row)> rowIndex,
                      mlir::Value column, llvm::function_ref<mlir::Value(mlir::Value)> mask, mlir::Value results = {},
                      int64_t group = 1);

/// The same where the tile's accumulators lie in `hot`, [rows][vectors] of `vectorType`; those of row `row` in row
/// `place(row)`, if that is given.
void emitHotEpilogue(KernelFunction &fn, mlir::Value root, mlir::Value hot, mlir::Value rows, int64_t vectors,
                     mlir::VectorType vectorType,
                     llvm::function_ref<llvm::SmallVector<LaneIndex>(KernelElements &, mlir::Value row)> rowIndex,
                     mlir::Value column, llvm::function_ref<mlir::Value(mlir::Value)> mask,
                     llvm::function_ref<mlir::Value(mlir::Value)> place = nullptr);

/// Asks for the lines that the epilogue of a tile of `root`'s result reads and writes, which the sum over k leaves time
/// to bring: `places` are the elements of its rows' first columns in the result, which lie there row by row.
void prefetchEpilogue(KernelFunction &fn, mlir::Operation *root, llvm::ArrayRef<mlir::Value> places, int64_t vectors,
                      int64_t lanes);

/// `count` zero vectors.
llvm::SmallVector<mlir::Value> zeroAccumulators(KernelFunction &fn, mlir::VectorType vectorType, int64_t count);

/// Transposes `lanes` vectors of `lanes` elements in registers by interleaving (lanes a power of two).
llvm::SmallVector<mlir::Value> transposeVectors(mlir::ImplicitLocOpBuilder &b, llvm::ArrayRef<mlir::Value> rows);

} // namespace sinter::cpu

#endif

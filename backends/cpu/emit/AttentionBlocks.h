// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the forward and the backward part of attention share: register tiles over keys and values, turned keys, and
// which keys a row counts.
//
// Scores, exponentials and sums are f32 or f64. Operands of 16 bits are copied into the workspace a block at a time,
// in the order in which products read them (ProductForm.h): as f32, or, where the target multiplies pairs or tiles of
// bf16, as pairs of neighbours of what is summed over. Shares are rounded to bf16 for these products alone.

#ifndef SINTER_BACKENDS_CPU_EMIT_ATTENTIONBLOCKS_H
#define SINTER_BACKENDS_CPU_EMIT_ATTENTIONBLOCKS_H

#include "backends/cpu/emit/MicroKernel.h"
#include "backends/cpu/emit/Single.h"
#include "backends/cpu/emit/Strips.h"
#include "backends/cpu/emit/Tiles.h"

namespace sinter::cpu {

class AttentionBlocks {
protected:
  /// `op` is an attention or an attention_gradient, `bias` the place of its bias among the operands.
  AttentionBlocks(SingleKernel &k, mlir::Operation *op, const ProductForm &form, unsigned bias);

  // Small words.
  mlir::Value index(int64_t value) { return k.fn.index(value); }
  mlir::Value number(double value);
  mlir::Value never() { return number(-std::numeric_limits<double>::infinity()); }
  mlir::Value spread(mlir::Value scalar);
  /// What an operand is, or is moved from.
  mlir::Value input(unsigned operand);
  mlir::Value load(mlir::Value buffer, mlir::Value at);
  mlir::Value scalar(mlir::Value buffer, mlir::Value at);
  void store(mlir::Value value, mlir::Value buffer, mlir::Value at);
  mlir::Value firstLanes(mlir::Value count);
  /// Lanes of vector `v` that lie in [low, high) of a row; `low` may be null.
  mlir::Value lanesWithin(int64_t v, mlir::Value low, mlir::Value high);
  /// `count` rounded down to a multiple of `step`.
  mlir::Value whole(mlir::Value count, int64_t step);

  /// `body(first, rows)` for register tiles of rows in [low, high), then for single rows. `low` is a multiple of a
  /// tile.
  void forTiles(mlir::Value low, mlir::Value high, llvm::function_ref<void(mlir::Value, int64_t)> body);
  /// `atVector(i)` and `atRest(i)` for [0, count) by vectors, then one by one.
  void forRange(mlir::Value count, llvm::function_ref<void(mlir::Value)> atVector,
                llvm::function_ref<void(mlir::Value)> atRest);
  void fill(mlir::Value buffer, mlir::Value first, mlir::Value count, mlir::Value scalar);
  /// Zeros in the vectors of `value` that `mask` leaves out (null: nothing).
  mlir::Value masked(mlir::Value value, mlir::Value mask);

  // Operands of products. Places in the workspace are in elements of `type`, which holds kPack elements of `held`.

  /// Operands are of 16 bits: results are summed in more.
  bool isShort() const { return form.a != form.sum; }
  bool hasPairs() const { return form.kPack > 1; }
  mlir::Value heldPlace(mlir::Value place) { return k.mul(place, index(form.kPack)); }
  /// Rows of a left operand: row r begins at first + r * pitch, elements of a sum follow each other.
  struct Left {
    mlir::Value buffer, first, pitch;
  };
  /// Columns of a right operand: element (i, column) is at base + i * pitch + column, or in panels of a copy.
  struct Right {
    mlir::Value buffer, base, width;
    mlir::Value pitch; // from row to row; `width`, if there are panels
    int64_t vectors;   // of columns in a register tile, and of a panel
    DimExpr size;      // what is known of `width`
    mlir::Value words; // of what is summed over, in a panel; null: there are no panels
  };
  /// `count` rows of `columns` elements from element `base` of an operand on, so many elements apart as `pitches` says;
  /// copied to `place` where products need it.
  Left leftRows(unsigned operand, mlir::Value base, mlir::Value count, DimExpr columns, mlir::Value place);
  /// From row to row of such an operand.
  mlir::Value pitchOf(unsigned operand, DimExpr columns);
  /// The same as what is summed over.
  Right rightRows(unsigned operand, mlir::Value base, mlir::Value count, DimExpr columns, mlir::Value place);
  /// The same, which `leftRows` gave, where that is a copy that both can read.
  Right rightOf(const Left &rows, DimExpr columns);
  /// Elements of the workspace for so many rows, and for rows that are turned.
  DimExpr leftRoom(int64_t rows, DimExpr columns);
  DimExpr rightRoom(int64_t rows, DimExpr columns);
  DimExpr turnedRoom(int64_t rows, DimExpr columns);
  /// `count` rows of `depth` elements from element `base` of an operand on, as columns of panels at `place`;
  /// what is behind the last is no matter.
  void turn(unsigned operand, mlir::Value base, DimExpr depth, mlir::Value count, mlir::Value place);
  /// Where the panel of column `column`, a multiple of `panel`, begins.
  mlir::Value panelOf(mlir::Value place, mlir::Value column, DimExpr depth);
  /// Rows [row, row + rows) of `a` times the first `wide` vectors of one panel of turned rows.
  llvm::SmallVector<mlir::Value> timesPanel(const Left &a, mlir::Value row, int64_t rows, mlir::Value panelFirst,
                                            DimExpr depth, int64_t wide);
  /// Where a result grows, from its first element on. f32 sums of a result of bf16 may have their upper halves there
  /// and their lower ones in the workspace.
  struct Sums {
    mlir::Value buffer, first;
    mlir::Value lowFirst; // in halves of the workspace, or null
    mlir::Value pitch;    // from row to row; null: rows of a product follow each other
    Sums from(AttentionBlocks &blocks, mlir::Value element) const;
  };
  mlir::Value loadSums(const Sums &sums, mlir::Value element, mlir::Value mask);
  void storeSums(mlir::Value value, const Sums &sums, mlir::Value element, mlir::Value mask);
  /// Sums of row r and each column (times factors[r], if given) += the sum over i in [low, high) of
  /// a[starts[r] + i / kPack * stride] b[i][column]. Of pairs both are added. With `begins`, the latter (times
  /// factors[r]) takes the place of the sums.
  void addProduct(const Sums &sums, mlir::Value a, llvm::ArrayRef<mlir::Value> starts, mlir::Value stride,
                  const Right &b, mlir::Value low, mlir::Value high, int64_t mostSteps,
                  llvm::ArrayRef<mlir::Value> factors, bool begins = false);

  // Products by tiles: 32 rows by the columns of a panel. Copies are whole tiles, what they hold behind the last row or
  // column is no matter.

  /// Steps of a product for so many elements of k.
  mlir::Value stepsOf(mlir::Value count) {
    return mlir::arith::DivUIOp::create(b, k.add(count, index(form.kStep - 1)), index(form.kStep));
  }
  /// Words of a column follow each other at `pitch` elements of `held`, those of its neighbours beside them.
  struct Words {
    mlir::Value first, pitch;
  };
  /// Sums in the workspace, `pitch` elements from row to row.
  struct Square {
    mlir::Value first, pitch;
  };
  /// Rows [row, row + 32) of `a` times `count` vectors of columns over steps [low, high); added to `to` or put there.
  void multiplyTiles(const Left &a, mlir::Value row, const Words &words, int64_t count, mlir::Value low,
                     mlir::Value high, const Square &to, bool adds);

  /// Numbers of scores as products read them.
  mlir::Value rounded(mlir::Value value);
  void clearSums(const Sums &sums, mlir::Value count);
  /// Writes `count` sums to `result`, from element `to` on.
  void narrowSums(const Sums &sums, mlir::Value result, mlir::Value to, mlir::Value count);

  // Which keys rows count. Rows are positions in their head, `rows` of them from `row` on; keys likewise.
  bool hasBand() const { return before || after; }
  /// The first key that a row from `row` on counts, and one behind the last; within [0, keyCount].
  mlir::Value firstKey(mlir::Value row);
  mlir::Value keysEnd(mlir::Value row, mlir::Value rows);
  /// Of the `count` keys from `key` on those that some of the rows count, as [low, high) from `key` on.
  std::pair<mlir::Value, mlir::Value> countedKeys(mlir::Value key, mlir::Value count, mlir::Value row,
                                                  mlir::Value rows);
  /// The first row that counts a key from `key` on, and one behind the last; within [0, rowCount].
  mlir::Value firstRow(mlir::Value key);
  mlir::Value rowsEnd(mlir::Value key, mlir::Value keys);
  /// No row of a tile is within `slack` of counting a key of the panel at `key`. Null if that cannot be.
  mlir::Value isOutside(mlir::Value key, mlir::Value row, int64_t rows, int64_t slack);
  /// Some row of a tile does not count some key of the panel at `key`. Null if that cannot be.
  mlir::Value crosses(mlir::Value key, mlir::Value row, int64_t rows);
  /// Writes `value` to the places of work[at ...], a row of `panel` elements for the keys from `key` on, that `row`
  /// does not count.
  void hide(mlir::Value at, mlir::Value key, mlir::Value row, mlir::Value value);

  mlir::Value biasOffset(mlir::Value head, mlir::Value row);
  /// True where the bias at `offset` is -inf for all of `rows` rows and the `count` keys from `key` on.
  mlir::Value isHidden(mlir::Value offset, mlir::Value rows, mlir::Value key, mlir::Value count);
  /// The bias at `offset`, which is of a row, for the lanes from `key` on; `otherwise` where `mask` is false.
  mlir::Value biasLanes(mlir::Value offset, mlir::Value key, mlir::Value mask, mlir::Value otherwise);
  mlir::Value maskedBias(mlir::Value at, mlir::Value mask, mlir::Value otherwise);
  mlir::Value widened(mlir::Value value);

  SingleKernel &k;
  mlir::ImplicitLocOpBuilder &b;
  ProductForm form;
  mlir::Type type; // of scores and sums
  mlir::VectorType vector;
  int64_t lanes, tileRows, vectors, panel; // panel: columns of a register tile
  std::optional<int64_t> before, after;
  int64_t groups; // heads of queries to one of keys
  Dims batch;     // leading axes of queries
  DimExpr rowSize, keySize, depthSize, widthSize;
  mlir::Value rowCount, keyCount, depth, width;       // m, n, d, e
  llvm::SmallDenseMap<unsigned, mlir::Value> pitches; // from row to row of operands whose rows do not follow each other
  unsigned biasOperand;
  mlir::Value bias;               // null if there is none
  mlir::Value biasRow;            // elements from row to row, null: the same for all
  bool biasColumns = false;       // it differs from key to key
  mlir::Value work, held, halves; // the workspace, as `type`, as what steps of products read, and as i16
  std::optional<TileSums> tiles;  // of products by tiles

private:
  int64_t columnVectors(DimExpr columns) const;
  /// Left rows are read where they lie: they are what steps read, and whole words.
  bool readsRows(DimExpr columns) const;
};

/// f32, f64, f16 or bf16.
bool isAttentionOfFloats(mlir::Operation *op);
/// How the products of such an attention, which is the kernel's root, multiply: by tiles where the target has them for
/// its type, unless the kernel's schedule asks for registers.
ProductForm attentionForm(KernelSpec &spec, mlir::Operation *op);
/// What the kernel yields.
llvm::SmallVector<mlir::Value> yieldsOf(KernelSpec &spec);
/// Lanes, the register tile and its bounds, which both parts have.
void planAttentionTile(KernelSpec &spec, Plan &plan, const ProductForm &form);
/// How many chunks of so many bytes of workspace there are: their memory stays small beside what the kernel reads and
/// writes.
int64_t attentionChunks(KernelSpec &spec, mlir::Operation *op, int64_t workspaceBytes);

} // namespace sinter::cpu

#endif

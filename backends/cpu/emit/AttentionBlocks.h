// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the forward and the backward part of attention share: register tiles over keys and values, turned keys, and
// which keys a row counts.

#ifndef SINTER_BACKENDS_CPU_EMIT_ATTENTIONBLOCKS_H
#define SINTER_BACKENDS_CPU_EMIT_ATTENTIONBLOCKS_H

#include "backends/cpu/emit/MicroKernel.h"
#include "backends/cpu/emit/Single.h"

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
  mlir::Value input(unsigned operand);
  mlir::Value load(mlir::Value buffer, mlir::Value at);
  mlir::Value scalar(mlir::Value buffer, mlir::Value at);
  void store(mlir::Value value, mlir::Value buffer, mlir::Value at);
  mlir::Value firstLanes(mlir::Value count);
  /// `count` rounded down to a multiple of `step`.
  mlir::Value whole(mlir::Value count, int64_t step);

  /// `body(first, rows)` for register tiles of rows in [low, high), then for single rows. `low` is a multiple of a
  /// tile.
  void forTiles(mlir::Value low, mlir::Value high, llvm::function_ref<void(mlir::Value, int64_t)> body);
  /// `atVector(i)` and `atRest(i)` for [0, count) by vectors, then one by one.
  void forRange(mlir::Value count, llvm::function_ref<void(mlir::Value)> atVector,
                llvm::function_ref<void(mlir::Value)> atRest);
  void fill(mlir::Value buffer, mlir::Value first, mlir::Value count, mlir::Value scalar);
  /// The first `count` rows of a matrix with rows of `depth` elements that begins at from[base], as columns of panels:
  /// element i of row j goes to work[to + panelOf(j, depth) + i * panel + j % panel].
  void turn(mlir::Value from, mlir::Value base, mlir::Value depth, mlir::Value count, mlir::Value to);
  /// Where the panel of column `column`, a multiple of `panel`, begins.
  mlir::Value panelOf(mlir::Value column, mlir::Value depth) { return k.mul(column, depth); }
  /// Rows at `aRows` of buffer `a` times one panel.
  llvm::SmallVector<mlir::Value> timesPanel(mlir::Value a, llvm::ArrayRef<mlir::Value> aRows, mlir::Value panelFirst,
                                            mlir::Value depth, DimExpr depthSize);
  /// result[first + r * width + column] (times factors[r], if given) += the sum over steps in [low, high) of
  /// a[aRows[r] + step * aStride] b[base + step * width + column], for all columns of [0, width).
  void addProduct(mlir::Value result, mlir::Value first, mlir::Value width, mlir::Value a,
                  llvm::ArrayRef<mlir::Value> aRows, mlir::Value aStride, mlir::Value b, mlir::Value base,
                  mlir::Value low, mlir::Value high, int64_t mostSteps, llvm::ArrayRef<mlir::Value> factors);

  // Which keys rows count. Rows are positions in their head, `rows` of them from `row` on; keys likewise.
  bool hasBand() const { return before || after; }
  /// The first key that a row from `row` on counts, and one behind the last; within [0, keyCount].
  mlir::Value firstKey(mlir::Value row);
  mlir::Value keysEnd(mlir::Value row, int64_t rows);
  mlir::Value keysEnd(mlir::Value row, mlir::Value rows);
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

  SingleKernel &k;
  mlir::ImplicitLocOpBuilder &b;
  ProductForm form;
  mlir::Type type;
  mlir::VectorType vector;
  int64_t lanes, tileRows, vectors, panel; // panel: columns of a register tile
  std::optional<int64_t> before, after;
  int64_t groups; // heads of queries to one of keys
  Dims batch;     // leading axes of queries
  DimExpr rowSize, keySize, depthSize, widthSize;
  mlir::Value rowCount, keyCount, depth, width; // m, n, d, e
  unsigned biasOperand;
  mlir::Value bias;         // null if there is none
  mlir::Value biasRow;      // elements from row to row, null: the same for all
  bool biasColumns = false; // it differs from key to key
  mlir::Value work;
};

/// f32 or f64.
bool isAttentionOfFloats(mlir::Operation *op);
/// What the kernel yields.
llvm::SmallVector<mlir::Value> yieldsOf(KernelSpec &spec);
/// Lanes, the register tile and its bounds, which both parts have.
void planAttentionTile(KernelSpec &spec, Plan &plan, int64_t bytes);
/// How many chunks of so many elements of workspace there are: their memory stays small beside what the kernel reads
/// and writes.
int64_t attentionChunks(KernelSpec &spec, mlir::Operation *op, int64_t workspaceElements);

} // namespace sinter::cpu

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the forward and the backward part of attention share on a GPU: rows of a head in shared memory, tiles of scores
// that threads hold, which keys a row counts, results.
//
// A thread holds whole runs of scores (TileCore), so a row's maximum and sum are those of few threads of one warp, and
// shares are the next product's operand where they are. Scores are kept in units of log2(e): 2^s is one instruction.

#ifndef SINTER_BACKENDS_CUDA_ATTENTIONTILES_H
#define SINTER_BACKENDS_CUDA_ATTENTIONTILES_H

#include "backends/cpu/emit/Single.h"
#include "backends/cuda/AttentionShape.h"
#include "backends/cuda/TileCore.h"

namespace sinter::cuda {

class AttentionTiles {
protected:
  using Value = mlir::Value;
  using Values = llvm::SmallVector<mlir::Value>;

  AttentionTiles(cpu::SingleKernel &k, const AttentionShape &shape, const AttentionTile &tile);

  /// Rows of one operand of the root, which lie in shared memory as they do in their tensor.
  struct Rows {
    std::unique_ptr<ProductSide> side;
    std::unique_ptr<SlabLoader> loader;
    DimExpr count; // of a head
    int64_t size;  // numbers of one
  };
  Rows rowsOf(unsigned operand, int64_t slabRows);
  /// Asks for `slabRows` rows of a head from `first` on; zeros behind the last.
  void bring(Rows &rows, Value head, Value first, Value slab);
  static int64_t bytesOf(const Rows &rows) { return rows.loader->layout.bytes(); }

  /// Own rows times `columns` columns, over `k` numbers.
  std::unique_ptr<TileCore> coreOf(int64_t columns, int64_t k, const SlabLayout &a, const SlabLayout &b);
  /// The product of own rows and others, number by number.
  std::unique_ptr<TileCore> coreOfScores(const Rows &own, const Rows &others);
  /// What threads hold of scores, times others' rows.
  std::unique_ptr<TileCore> coreOfHeld(const Rows &others);

  /// `sums` and the product of what threads hold and a slab of others.
  Values addHeld(TileCore &core, mlir::ValueRange held, Value slab, mlir::ValueRange sums);

  // Small words.
  Value number(double value);
  Values zeros(const TileCore &core) { return Values(core.numSums(), number(0)); }
  Value power(Value exponent); // of 2
  Value times(Value x, Value y) { return mlir::arith::MulFOp::create(b, x, y); }
  Value plus(Value x, Value y) { return mlir::arith::AddFOp::create(b, x, y); }
  Value minus(Value x, Value y) { return mlir::arith::SubFOp::create(b, x, y); }
  Value select(Value condition, Value x, Value y) { return mlir::arith::SelectOp::create(b, condition, x, y); }
  Value isEqual(Value x, double y);
  void meet();             // of all threads
  void endGroup();         // of copies
  void waitForOwnCopies(); // all that this thread asked for
  void waitForCopies();    // all, of all threads

  /// A tile of scores: own rows are queries or keys, from `query` and `key` on.
  struct Grid {
    TileCore &core;
    Value head, query, key; // head of queries, in units of `fold`
    bool ownsKeys = false;
    int64_t own, other;
  };
  /// `body(i, query, key)` for each score i that this thread holds, at positions in its head.
  void forEach(const Grid &grid, llvm::function_ref<void(unsigned, Value, Value)> body);
  /// Products of queries and keys as scores.
  Values scoresOf(const Grid &grid, mlir::ValueRange products);
  /// `values`, which have one or more for each score, `otherwise` where a row does not count a key or there is none.
  Values counted(const Grid &grid, mlir::ValueRange values, double otherwise);

  // Which keys rows count. Rows are positions in their head, `rows` of them from `row` on; keys likewise. Results are
  // within [0, count].
  Value firstKey(Value row);
  Value keysEnd(Value row, int64_t rows);
  Value firstRow(Value key);
  Value rowsEnd(Value key, int64_t keys);

  /// The flat place of a row of a head, or of what there is one of a row.
  Value rowAt(Value head, DimExpr count, Value row) { return t.add(t.mul(head, fn.materialize(count)), row); }
  /// Writes the block's sums, each times the factor of its row (one, or one for each of `numRows`), to rows of `size`
  /// numbers of result `result`.
  void storeRows(TileCore &core, mlir::ValueRange sums, llvm::ArrayRef<Value> factors, unsigned result, Value head,
                 DimExpr count, Value first, int64_t size);

  cpu::SingleKernel &k;
  cpu::KernelFunction &fn;
  mlir::ImplicitLocOpBuilder &b;
  TileBuilder t;
  const AttentionShape &shape;
  const AttentionTile tile;
  ProductTypes types;
  Value thread;
  // Heads of queries that a block takes as one; their number, and the rows of so many.
  const int64_t fold;
  const DimExpr ownHeads, ownRows;

private:
  Value biasAt(Value head, Value query, Value key);
  Value crosses(const Grid &grid);
  struct Interval {
    Value begin, end; // null: no bound
  };
  Interval countedBy(const Grid &grid, Value own, Value column);
  Value rowInHead(Value row) { return fold == 1 ? row : t.rem(row, shape.rows.constant()); }
  bool divides(DimExpr size, int64_t by);
  Value within(Value x, DimExpr count) { return t.min(t.max(x, fn.index(0)), fn.materialize(count)); }
};

} // namespace sinter::cuda

#endif

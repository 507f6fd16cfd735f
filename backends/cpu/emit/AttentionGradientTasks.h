// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The backward part of attention as tasks over blocks of keys and of rows, whatever multiplies (AttentionGradient.cpp:
// register tiles, AttentionGradientTiles.cpp: tiles of matrix units). With enough heads of keys a task is one of them,
// with its heads of queries, and each block is formed once. With fewer, tasks are blocks of keys (for dk and dv) and
// blocks of rows (for dq), and each block is formed twice: seven products, but no two tasks add to the same place.
// Which of both is decided by sizes alone, and the order in which a place is added to is that of blocks: results do not
// depend on threads.
//
// Gradients of 16 bits are summed in the workspace: those of a block of keys, and dq of a block of rows. dq of a head
// of bf16 has the upper halves of its sums in the result.

#ifndef SINTER_BACKENDS_CPU_EMIT_ATTENTIONGRADIENTTASKS_H
#define SINTER_BACKENDS_CPU_EMIT_ATTENTIONGRADIENTTASKS_H

#include "backends/cpu/emit/AttentionBlocks.h"
#include "ir/Normalization.h"

namespace sinter::cpu {

class AttentionGradientTasks : protected AttentionBlocks {
public:
  AttentionGradientTasks(SingleKernel &k, AttentionGradientOp op, const ProductForm &form);
  virtual ~AttentionGradientTasks() = default;
  /// The whole kernel's loops.
  void emit();

protected:
  enum Operand { kQuery, kKey, kValue, kCotangent, kLogSums, kRowSums };
  enum Result { kQueryGradient, kKeyGradient, kValueGradient };

  /// A head of keys, and a block of them: rows of the matrices.
  struct Keys {
    mlir::Value head, first, count;
  };
  /// A head of queries, and a block of rows.
  struct Rows {
    mlir::Value head, first, count;
  };

  // What multiplies. Places in the workspace are elements from the begin of a task's room on; `moveTo` is called before
  // others, for each task, with that begin.

  /// Reserves places: `reserve(count)` gives the next one.
  virtual void layOut(llvm::function_ref<mlir::Value(DimExpr)> reserve) = 0;
  virtual void moveTo(mlir::Value begin) = 0;
  /// Copies of keys and values as products need them that give scores and their gradients.
  virtual void takeKeys(const Keys &at) = 0;
  /// The same of keys for products that give dq.
  virtual void takeKeyColumns(const Keys &at) = 0;
  /// Copies of a block of rows, if products need them; `areSummedOver` for products that give dk and dv, too.
  virtual void takeRows(const Rows &rows, bool areSummedOver) = 0;
  /// p and ds of a block. `bias` is the offset of its first row, or null.
  virtual void formBlock(const Keys &at, const Rows &rows, mlir::Value bias) = 0;
  /// dv += p^T dy and dk += ds^T q, which `beginKeys` clears and `endKeys` writes to the results.
  virtual void beginKeys(const Keys &at) = 0;
  virtual void addToKeys(const Keys &at, const Rows &rows) = 0;
  virtual void endKeys(const Keys &at) = 0;
  /// dq += ds k; `sums` are those of the block's first row on.
  virtual void addToQueries(const Keys &at, const Rows &rows, const Sums &sums) = 0;

  /// The row of all rows (of all heads) that is `row` of the block.
  mlir::Value rowAt(const Rows &rows, mlir::Value row) {
    return k.add(k.add(k.mul(rows.head, rowCount), rows.first), row);
  }
  mlir::Value keyAt(const Keys &at, mlir::Value key) { return k.add(k.add(k.mul(at.head, keyCount), at.first), key); }
  /// Where the elements of a result that begin with row `row` are summed: in place, or at `place` in the workspace.
  Sums sumsOf(Result result, mlir::Value row, mlir::Value columns, mlir::Value place);
  void clear(Result result, const Sums &sums, mlir::Value rows, mlir::Value columns);
  /// Gives the sums of `rows` rows from row `row` of all on to the result, if they are not there yet.
  void finish(Result result, const Sums &sums, mlir::Value row, mlir::Value rows, mlir::Value columns);
  /// The rows of a block that count keys of the `count` from `key` of its keys on, as [low, high); and the reverse.
  std::pair<mlir::Value, mlir::Value> rowsOf(const Keys &at, const Rows &rows, mlir::Value key, mlir::Value count);
  std::pair<mlir::Value, mlir::Value> keysOf(const Keys &at, const Rows &rows, mlir::Value row, mlir::Value count);

  AttentionGradientOp op;
  int64_t keys, blockRows;
  int64_t roomGuess = 0;     // elements of a task's room, by which chunks are counted
  bool takesHeads = false;   // a task is a head of keys
  mlir::Value queryGradient; // dq in the workspace, if it is there
  mlir::Value roomBegin;     // of the task

private:
  /// `body` for all blocks of keys that count for a row in [low, low + count), and the reverse.
  void forKeyBlocks(mlir::Value head, mlir::Value low, mlir::Value high, llvm::function_ref<void(const Keys &)> body);
  void forRowBlocks(mlir::Value head, mlir::Value low, mlir::Value high, llvm::function_ref<void(const Rows &)> body);
  /// p and ds of a block, then `use`; nothing where no row counts any of the keys.
  void withBlock(const Keys &at, const Rows &rows, llvm::function_ref<void()> use);
  /// dk and dv of a block of keys, with what `use` does of each block of rows.
  void emitKeyBlock(const Keys &at, llvm::function_ref<void(const Rows &)> use);
  void emitHead(mlir::Value head);
  void emitKeys(mlir::Value task);
  void emitQueries(mlir::Value task);
  void enter(mlir::Value chunk);
  /// dq of a head in f32 would be as large as two tensors of 16 bits.
  bool splitsQueries() const { return takesHeads && form.a == Number::bf16; }
  mlir::Value queryPlace() { return queryGradient ? k.add(roomBegin, queryGradient) : mlir::Value(); }

  DimExpr roomSize, keyBlocks, rowBlocks;
};

/// Both ways to multiply.
void emitAttentionGradientByRegisters(SingleKernel &k, AttentionGradientOp op, const ProductForm &form);
void emitAttentionGradientByTiles(SingleKernel &k, AttentionGradientOp op, const ProductForm &form);

} // namespace sinter::cpu

#endif

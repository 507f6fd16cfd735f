// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stable order of a row by keys: integers whose order is that of the elements. A short row is ranked, each element
// by how many go before it, in lanes. A long one is sorted by one byte of the keys after the other, from the last, and
// bytes that all keys share are left out. Where few are kept of many, those that are greater than a bound are left
// out first (KeySelection.cpp).

#ifndef SINTER_BACKENDS_CPU_EMIT_KEYORDER_H
#define SINTER_BACKENDS_CPU_EMIT_KEYORDER_H

#include "backends/cpu/emit/Single.h"

namespace sinter::cpu {

/// Leading bits of keys that decide which elements may be kept: of f32 the sign, the exponent and two more.
inline constexpr int64_t kBoundBits = 11, kBounds = 1 << kBoundBits;
/// Candidates are looked for where so many times the elements that are kept are there.
inline constexpr int64_t kCandidates = 4;

/// Lanes of the keys of `elementType` that the target's vectors have.
int64_t keyLanes(const Target &target, mlir::Type elementType);

/// The rows along one axis of a sort's or top-k's operand, and where what is kept of them goes.
struct OrderedRows {
  SingleKernel &k;
  mlir::Value operand;
  int64_t axis;
  Dims sizes, others, resultSizes; // others: all but the axis
  bool descending, keepsAll;

  /// Of the root of `k`, which `isRoot`.
  explicit OrderedRows(SingleKernel &k);
  static bool isRoot(mlir::Operation *root);
  static int64_t axisOf(mlir::Operation *root);

  DimExpr length() const { return sizes[axis]; }
  mlir::Type elementType() const;
  llvm::SmallVector<mlir::Value> at(llvm::ArrayRef<mlir::Value> outer, mlir::Value position) const;
  mlir::Value load(llvm::ArrayRef<mlir::Value> outer, mlir::Value position) const;
  void store(llvm::ArrayRef<mlir::Value> outer, mlir::Value rank, mlir::Value value, mlir::Value position) const;
};

/// Keys with positions, in the workspace: in one word (64 bits) each where both fit into halves of it.
class Records {
public:
  struct Record {
    mlir::Value key, position; // a word; an index
  };
  Records(SingleKernel &k, bool isNarrow) : words(isNarrow ? 1 : 2), k(k), b(k.b), workspace(k.workspaceWords()) {}

  const int64_t words; // of a record
  /// The record `at` of those that begin at word `base`.
  Record load(mlir::Value base, mlir::Value at);
  void store(const Record &record, mlir::Value base, mlir::Value at);
  /// `count` bits of a key from bit `shift` (a word) on, as an index.
  mlir::Value bitsFrom(mlir::Value key, mlir::Value shift, int64_t count);
  mlir::Value word(int64_t value) { return mlir::arith::ConstantOp::create(b, b.getI64IntegerAttr(value)); }

private:
  SingleKernel &k;
  mlir::ImplicitLocOpBuilder &b;
  mlir::Value workspace;
};

class KeyOrder {
public:
  using Load = llvm::function_ref<mlir::Value(mlir::Value position)>;
  /// What is done with the element of a rank.
  using Take = llvm::function_ref<void(mlir::Value rank, mlir::Value value, mlir::Value position)>;

  /// Rows have `length` elements. `keepsAll` says that all of them are kept, whatever the row.
  KeyOrder(SingleKernel &k, mlir::Type elementType, bool descending, DimExpr length, bool keepsAll, int64_t lanes);
  explicit KeyOrder(const OrderedRows &rows, int64_t lanes)
      : KeyOrder(rows.k, rows.elementType(), rows.descending, rows.length(), rows.keepsAll, lanes) {}

  /// Words (of 64 bits) of workspace that a row requires.
  DimExpr words();
  /// Calls `take` with the first `kept` elements, in any order of their ranks. The workspace begins at word `first`.
  /// `loadLanes`, if there is one, loads `lanes` elements from a position on.
  void emit(mlir::Value first, mlir::Value kept, Load load, Take take, Load loadLanes = nullptr);

  /// Writes the positions of all elements, in their order, to words [to, to + length) of the workspace.
  void emitPositions(mlir::Value first, mlir::Value to, Load load);

  // What an order of another kind is made of.
  Records records;
  int64_t keyWidth() const { return width; }
  Records::Record makeRecord(mlir::Value element, mlir::Value position);
  /// Whether positions fit into the records of rows of this length, where only running tells it; else null.
  mlir::Value areNarrow();
  /// A merge sort, of rows of any length.
  void emitMerges(mlir::Value first, mlir::Value kept, Load load, Take take);

private:
  // Keys.
  mlir::Value keyOf(mlir::Value element);
  mlir::Value ones(mlir::Type type);
  mlir::Value bits(mlir::Type type, int64_t value);
  mlir::Value flipSign(mlir::Value key);
  mlir::Value signedKeys(); // the workspace as such
  /// What is done with each vector of keys: takes and returns what is carried.
  using Seen = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value own, mlir::ValueRange carried)>;
  /// Writes the signed keys of the row from keys[base] on, and a vector of the greatest one behind them.
  llvm::SmallVector<mlir::Value> storeKeys(mlir::Value keys, mlir::Value base, Load load, Load loadLanes,
                                           mlir::ValueRange init = {}, Seen seen = nullptr);

  // Short rows.
  void emitRanks(mlir::Value first, mlir::Value kept, Load load, Take take, Load loadLanes);
  enum class Ties { Before, ByPosition, Behind };
  mlir::Value countBefore(mlir::Value keys, mlir::Value base, mlir::Value low, mlir::Value high, mlir::Value own,
                          mlir::Value ownPositions, mlir::Value count, Ties ties);
  /// Writes the ranks of `n` signed keys from keys[base] on to keys[ranks, ranks + n).
  void rankKeys(mlir::Value keys, mlir::Value base, mlir::Value ranks, mlir::Value n);

  // Few elements of many.
  /// Stores the records of candidates, by position, from word `second` on; returns how many there are.
  mlir::Value selectCandidates(mlir::Value first, mlir::Value kept, Load load, Load loadLanes);
  mlir::Value boundOf(mlir::Value keys, mlir::Value bests, mlir::Value groups, mlir::Value kept);
  mlir::Value storeCandidates(mlir::Value keys, mlir::Value base, mlir::Value bound, mlir::Value kept);
  void emitRanksOfCandidates(mlir::Value first, mlir::Value count, mlir::Value kept, Load load, Take take);
  mlir::Value keepLeading(mlir::Value from, mlir::Value to, mlir::Value count, mlir::Value kept);

  // Long rows.
  void emitDigits(mlir::Value first, mlir::Value kept, Load load, Take take, Load loadLanes);
  void clearCounts(int64_t count);
  void increment(mlir::Value at);
  mlir::Value sortRecords(mlir::Value from, mlir::Value to, mlir::Value count);

  SingleKernel &k;
  mlir::ImplicitLocOpBuilder &b;
  mlir::Type elementType;
  bool descending;
  DimExpr length;
  bool keepsAll;
  int64_t lanes, width;
  mlir::IntegerType keyType;
  mlir::Value workspace, second, counts; // the words where the other half of the records begins, and where counts do
};

} // namespace sinter::cpu

#endif

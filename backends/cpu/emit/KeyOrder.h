// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stable order of a row by keys: integers whose order is that of the elements. A short row is ranked, each element
// by how many go before it, in lanes. A long one is sorted by one byte of the keys after the other, from the last, and
// bytes that all keys share are left out. Where few are kept of many, those that are greater than a bound are left
// out first.

#ifndef SINTER_BACKENDS_CPU_EMIT_KEYORDER_H
#define SINTER_BACKENDS_CPU_EMIT_KEYORDER_H

#include "backends/cpu/emit/Single.h"

namespace sinter::cpu {

/// Lanes of the keys of `elementType` that the target's vectors have.
int64_t keyLanes(const Target &target, mlir::Type elementType);

class KeyOrder {
public:
  using Load = llvm::function_ref<mlir::Value(mlir::Value position)>;
  /// What is done with the element of a rank.
  using Take = llvm::function_ref<void(mlir::Value rank, mlir::Value value, mlir::Value position)>;

  /// Rows have `length` elements. `keepsAll` says that all of them are kept, whatever the row.
  KeyOrder(SingleKernel &k, mlir::Type elementType, bool descending, DimExpr length, bool keepsAll, int64_t lanes);

  /// Words (of 64 bits) of workspace that a row requires.
  DimExpr words();
  /// Calls `take` with the first `kept` elements, in any order of their ranks. The workspace begins at word `first`.
  void emit(mlir::Value first, mlir::Value kept, Load load, Take take);

private:
  // Keys.
  mlir::Value keyOf(mlir::Value element);
  mlir::Value ones(mlir::Type type);
  mlir::Value bits(mlir::Type type, int64_t value);

  // Short rows.
  void emitRanks(mlir::Value first, mlir::Value kept, Load load, Take take);
  enum class Ties { Before, ByPosition, Behind };
  mlir::Value countBefore(mlir::Value keys, mlir::Value base, mlir::Value low, mlir::Value high, mlir::Value own,
                          mlir::Value ownPositions, mlir::Value count, Ties ties);

  // Long rows. A record is a key and a position, in one word where both fit.
  struct Record {
    mlir::Value key, position; // a word; an index
  };
  void emitDigits(mlir::Value first, mlir::Value kept, Load load, Take take);
  Record loadRecord(mlir::Value base, mlir::Value at);
  void storeRecord(const Record &record, mlir::Value base, mlir::Value at);
  mlir::Value bitsFrom(mlir::Value key, mlir::Value shift, int64_t count);
  void clearCounts(int64_t count);
  void increment(mlir::Value at);
  mlir::Value keepCandidates(mlir::Value from, mlir::Value to, mlir::Value kept);
  mlir::Value sortRecords(mlir::Value from, mlir::Value to, mlir::Value count);

  /// Rows that are longer than positions of 32 bits, whose number only running tells.
  void emitMerges(mlir::Value first, mlir::Value kept, Load load, Take take);

  SingleKernel &k;
  mlir::ImplicitLocOpBuilder &b;
  mlir::Type elementType;
  bool descending;
  DimExpr length;
  bool keepsAll;
  int64_t lanes, width, recordWords;
  mlir::IntegerType keyType;
  mlir::Value workspace, counts; // counts: the word where they begin
};

} // namespace sinter::cpu

#endif

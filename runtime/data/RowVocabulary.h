// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows for ids that nobody knew before: users, items, words of a stream. An id gets a row when it has been seen often
// enough, and loses it when it has not been seen for long; the rows are those of a table that is as large as stated.
//
//   vocabulary.rowsOf(ids, rows);                     // row 0 is that of all ids without one
//   for (int64_t row : vocabulary.evict({.age = 10'000, .count = 5}))
//     cache.forget(row);                              // the next id there starts anew

#ifndef SINTER_RUNTIME_DATA_ROWVOCABULARY_H
#define SINTER_RUNTIME_DATA_ROWVOCABULARY_H

#include "Error.h"
#include "RowMap.h"
#include <span>
#include <string>
#include <utility>

namespace sinter::data {

class RowVocabulary {
public:
  struct Options {
    int64_t rows = 0;       // of the table, row 0 with them
    int64_t admitAfter = 1; // an id has a row from this occurrence on
    /// Ids that are counted and have no row. When there are as many, all counts are halved and those at zero are
    /// forgotten.
    int64_t candidates = int64_t(1) << 20;
  };
  struct Eviction {
    int64_t age = 0;           // batches since an id was seen, at least
    int64_t count = INT64_MAX; // occurrences of it, fewer than these
  };

  explicit RowVocabulary(Options options);
  /// Reads what `save` wrote. Throws with the file's name where it is damaged.
  explicit RowVocabulary(const std::string &path);

  /// The row of each id. `learns`: this is a batch of training, which counts ids and gives them rows; a new id takes
  /// the lowest row that is free, and row 0 where none is.
  void rowsOf(std::span<const int64_t> ids, std::span<int64_t> rows, bool learns = true);
  /// Takes rows away from ids, which may be admitted again, and returns them, ascending.
  std::vector<int64_t> evict(const Eviction &which);
  /// Ids that have a row.
  int64_t size() const { return static_cast<int64_t>(uses.size()); }
  /// Occurrences that found no row while learning.
  int64_t unknown() const { return refused; }

  /// A safetensors file: `settings`, i64 [4], `ids` and `rows`, i64 [n], by row, `counts` and `seen`, i64 [n], and the
  /// candidates with their counts.
  void save(const std::string &path) const;

private:
  struct Use {
    int64_t row, id, count, seen;
  };

  int64_t admit(int64_t id);
  int64_t takeFree();
  void checkOptions() const;

  // What is in memory depends on the ids, not on the rows that the table has.
  Options options;
  RowMap useOf, candidates;                      // places in `uses`; occurrences
  std::vector<Use> uses;                         // in no stated order
  std::vector<std::pair<int64_t, int64_t>> free; // ranges of rows, from and to, a heap of the lowest
  int64_t batch = 0, refused = 0;
};

} // namespace sinter::data

#endif

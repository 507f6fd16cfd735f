// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What feeds a training step from a table: its rows in batches, through feature columns, never all in memory. Which
// rows a step sees is a function of its number and the seed, as with arrays.

#ifndef SINTER_TOOLS_SINTER_TABLEFEED_H
#define SINTER_TOOLS_SINTER_TABLEFEED_H

#include "runtime/data/Columns.h"
#include "tools/sinter/Command.h"
#include <optional>

namespace sinter::tool {

class TableFeed {
public:
  /// Rows move within windows of this many.
  static constexpr int64_t windowRows = 65536;

  /// Reads the columns' description and counts the rows of the table, in one pass. Throws Stop.
  TableFeed(const std::string &table, const std::string &columns);

  int64_t rows() const { return numRows; }
  /// Throws Stop unless the columns make `type`, the step's input of that name, of every batch.
  void require(const sinter_tensor_type &type) const;

  /// Goes to batch `first` of an epoch: batches of `size` rows, with a seed in an order of its own.
  void begin(int64_t epoch, int64_t first, int64_t size, std::optional<uint64_t> seed);
  /// Makes the next batch the current one, which has `rows` rows.
  void next(int64_t rows);
  /// The column for an input, in its rank; valid until next().
  sinter_tensor column(const sinter_tensor_type &type) const;

private:
  std::string table, description;
  data::FeatureColumns columns;
  data::Record sample; // a batch of the first rows
  int64_t numRows = 0;
  std::unique_ptr<data::Iterator> batches;
  data::Record batch;
};

} // namespace sinter::tool

#endif

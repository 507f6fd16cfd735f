// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Feeds a training step from a table: its rows in batches, through feature columns, never all in memory.

#ifndef SINTER_TOOLS_SINTER_TABLEFEED_H
#define SINTER_TOOLS_SINTER_TABLEFEED_H

#include "runtime/data/Columns.h"
#include "tools/sinter/RecordFeed.h"

namespace sinter::tool {

class TableFeed : public RecordFeed {
public:
  /// Rows move within windows of this many.
  static constexpr int64_t windowRows = 65536;

  /// Reads the columns' description and counts the rows of the table, in one pass. Throws Stop.
  TableFeed(const std::string &table, const std::string &columns);

  int64_t rows() const override { return numRows; }
  /// Throws Stop unless the columns make `type`, the step's input of that name, of every batch.
  void require(const sinter_tensor_type &type) override;

  /// The column for an input, in its rank; valid until next().
  sinter_tensor column(const sinter_tensor_type &type) const override;

protected:
  data::Dataset batches(int64_t first, int64_t size, std::optional<uint64_t> seed) const override;

private:
  std::string description;
  data::FeatureColumns columns;
  data::Record sample; // a batch of the first rows
  int64_t numRows = 0;
};

} // namespace sinter::tool

#endif

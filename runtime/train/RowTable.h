// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_RUNTIME_TRAIN_ROWTABLE_H
#define SINTER_RUNTIME_TRAIN_ROWTABLE_H

#include "../data/RowCache.h"
#include <memory>
#include <string>

namespace sinter::train {

/// A table larger than memory that a configuration names, as rows in a folder and a cache of them in the states of a
/// session.
struct RowTable {
  std::string input{}; // the step's, which looks rows up
  std::unique_ptr<data::RowStore> store{};
  std::unique_ptr<data::RowCache> cache{};

  /// What was looked up so far, as a line.
  std::string describe() const;
};

/// Opens what `text` says, "@FOLDER,table=STATE,rows=N,bound=B,stored=f32|bf16|i8,shards=N,seed=N,readers=N": the table
/// of the state, whose rows are the slots, and of its moments, which are the states optimizer.*.STATE of as many rows.
/// A folder without rows is made, which requires `rows`; of one that has some, what is said must be so. Throws
/// data::Error that names the input. `session` must outlive the table.
RowTable openRows(sinter_session *session, const std::string &input, const std::string &text);

/// The same for a session that only reads rows. `states` is the file that its other states are read from, may be empty:
/// the rows are required to be of its step, if it is of one. A folder without rows is made from the files beside the
/// best checkpoint `states`.
RowTable readRows(sinter_session *session, const std::string &input, const std::string &text,
                  const std::string &states);

} // namespace sinter::train

#endif

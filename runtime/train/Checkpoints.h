// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A folder of checkpoints: `step-000000001200.safetensors` and its like, the newest few, and `best.safetensors`. Each
// has all states under their names, so that sinter_session_load and torch read it, too, and beside them what else a
// training needs to go on to the same bits, with a checksum of everything. A file appears whole or not at all. The rows
// of tables larger than memory that belong to `best.safetensors` of step 1200 are in files
// `best-000000001200-INPUT-00001-of-00002.safetensors`, which RowStore::restore reads.

#ifndef SINTER_RUNTIME_TRAIN_CHECKPOINTS_H
#define SINTER_RUNTIME_TRAIN_CHECKPOINTS_H

#include "../sinter.h"
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace sinter::train {

/// States in which a step counts: moves, batches where gradients are summed over several, and those that moved nothing.
constexpr const char *kStepState = "optimizer.step", *kBatchesState = "optimizer.batches",
                     *kSkippedState = "optimizer.skipped";

/// Where a training stands, beside its states.
struct Position {
  int64_t step = -1;                   // -1: a file of states alone, which know their own
  std::string dataSignature{}, data{}; // of the data and the iterator within an epoch; empty: from the epoch's start
  double best = std::numeric_limits<double>::quiet_NaN(); // of the metric that is watched
  int64_t bestStep = 0, worse = 0;                        // validations since the best one
};

class Checkpoints {
public:
  /// Makes the folder. Throws data::Error where nothing can be written there, and, unless `goesOn`, where it has
  /// checkpoints of another training.
  Checkpoints(std::string folder, int64_t keep, bool goesOn);

  /// The states of the sessions, which share them, as the newest checkpoint; older ones than the newest `keep`, and
  /// those of later steps, which a training that went back has given up, are removed.
  void write(std::span<sinter_session *const> sessions, const Position &position) const;
  /// Files of rows (rowsOfBest) of the step are written before; those of other steps are removed.
  void writeBest(std::span<sinter_session *const> sessions, const Position &position) const;
  /// rowsBeside of the best checkpoint.
  std::string rowsOfBest(int64_t step, const std::string &input) const;

  /// The checkpoints of a folder, newest first.
  static std::vector<std::string> list(const std::string &folder);

private:
  std::string folder;
  int64_t keep;
};

/// What the files begin with that lie in `folder` beside the best checkpoint, of this step, with the rows that `input`
/// looks up; slashes of its name are underscores.
std::string rowsBeside(const std::string &folder, int64_t step, std::string input);

/// How many steps were done when `path` was written, a checkpoint or a file of a step's states; -1 for others.
int64_t stepOfStates(const std::string &path);

/// Loads the states of `session` from a file that a session or a training has saved, or from the newest checkpoint of a
/// folder. One that is damaged is passed over, told by `warn`. Throws data::Error where none can be taken, or it is of
/// another model: a state is missing, or of other sizes.
Position resume(sinter_session *session, const std::string &path, const std::function<void(const std::string &)> &warn);

} // namespace sinter::train

#endif
